//! What repositories that were made to do harm cost: memory and time of each reading command on each of them.

#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "it is shared with the tests, and a measurement that cannot go on should say where"
)]
#[path = "../it/corpus.rs"]
mod corpus;

use std::path::Path;
use std::time::Instant;

use self::corpus::{CASES, COMMANDS, MAX_KIB, Maker, measured, questions};
use super::stage::{Stage, program};

/// The longest that a command may take, in seconds: of processor time, so that other work on the machine does not count.
/// Each answer of the server may take as long.
const MAX_SECS: f64 = 2.0;

/// Prints a table, and says whether everything is within its bounds.
pub fn hostile() -> bool {
    let mut is_within = true;
    for (name, make) in CASES {
        let stage = Stage::new();
        let root = stage.home().to_owned();
        let git = move |top: &Path| {
            let mut command = std::process::Command::new("git");
            command.current_dir(top).env("HOME", &root).env("GIT_CONFIG_NOSYSTEM", "1");
            for (name, value) in [("NAME", "Bench"), ("EMAIL", "bench@example.com")] {
                command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
            }
            command
        };
        make(&Maker::new(stage.top(), Box::new(git)));
        println!("{name}");
        let mut largest = (0, 0.0, 0.0);
        for args in COMMANDS {
            let command = stage.command(&program(&format!("git-shiftlog-{}", args[0])), &args[1..]);
            let input = if args[0] == "mcp" { questions() } else { String::new() };
            // The first line only begins the conversation.
            let answers = input.lines().skip(1).count().max(1) as f64;
            let started = Instant::now();
            let (output, used) = measured(command, input);
            let secs = started.elapsed().as_secs_f64() / answers;
            let (peak_kib, cpu_secs) = (used.peak_kib, used.cpu_secs / answers);
            let is_over =
                peak_kib > MAX_KIB || cpu_secs > MAX_SECS || output.status.code().is_none_or(|code| code > 128);
            is_within &= !is_over;
            largest = (largest.0.max(peak_kib), f64::max(largest.1, cpu_secs), f64::max(largest.2, secs));
            if is_over {
                println!(
                    "  {}: {} MiB, {cpu_secs:.2} s of processor time, {secs:.2} s  ABOVE THE BAR",
                    args.join(" "),
                    peak_kib >> 10
                );
            }
        }
        println!("  at most {} MiB, {:.2} s of processor time, {:.2} s", largest.0 >> 10, largest.1, largest.2);
    }
    is_within
}
