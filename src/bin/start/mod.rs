//! The program `git-shiftlog-<name>` runs `git-shiftlog <name> <args>`, which contains all commands, in place of itself.
//!
//! Git, manual pages and people know a command by the name of its program, and the code is installed once. These programs
//! link the standard library alone, and little of it: one function of the crate would bring the unwinding tables of all of
//! it along, which no linker takes out again.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Runs a command in place of this program: with the `git-shiftlog` beside it, or else with the one that Git finds.
pub fn start(name: &str) -> ExitCode {
    let args = std::env::args_os().skip(1);
    let error = match beside() {
        Some(path) => Command::new(path).arg(name).args(args).exec(),
        None => Command::new("git").args(["shiftlog", name]).args(args).exec(),
    };
    // A message that cannot be written has nobody to read it.
    let _ = writeln!(std::io::stderr(), "fatal: cannot run 'git-shiftlog': {error}");
    ExitCode::from(128)
}

fn beside() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.join("git-shiftlog");
    path.is_file().then_some(path)
}
