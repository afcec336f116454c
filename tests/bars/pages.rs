//! What an export costs, beside `show --json` of the same session.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::ROUNDS;
use super::sample::{Bar, Pairs, Sample, report, time};
use super::stage::{Stage, append, program};
use super::words::transcript;

/// Makes a repository whose commit has a session of 10 MB with a prompt for each 50 KB.
pub fn stage() -> Stage {
    let stage = Stage::new();
    let path = stage.home().join("s1.jsonl");
    let mut seed = 23;
    for turn in 0..200 {
        let prompt =
            json!({ "type": "user", "message": { "role": "user", "content": format!("go on with part {turn}") } });
        append(&path, &format!("{prompt}\n{}", transcript(50 << 10, &mut seed)));
    }
    stage.event("SessionStart", &path, 1);
    stage.run(stage.hook(1));
    stage
}

/// That session as a page, and its prompts and last answers alone.
pub fn pages() -> bool {
    let stage = stage();
    let (page, focused) = (stage.home().join("page.html"), stage.home().join("focused.html"));
    let export = |file: &std::path::Path, view: &str| {
        let file = format!("--output={}", file.display());
        stage.command(&program("git-shiftlog-export"), &["--html", "-f", &file, view, "HEAD"])
    };
    let json = || {
        let mut command = stage.command(&program("git-shiftlog-show"), &["--json", "HEAD"]);
        command.stdout(Stdio::null());
        command
    };
    stage.run(export(&focused, "--view=focused"));
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS / 6 {
        pairs.measure(|| time(export(&page, "--view=normal")), || time(json()));
    }
    let is_quick = pairs.report("export --html of a 10 MB session", "show --json of it", Bar::Ratio(3.0));
    let mut child = export(&page, "--view=normal").spawn().expect("it runs");
    let mut peak_kib = 0_u64;
    while child.try_wait().expect("it ends").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
        peak_kib = peak_kib.max(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let peak = Sample::one(peak_kib as f64 / 1024.0);
    let is_lean = report("memory of it", &peak, &Sample::one(64.0), "MiB", "the bar", Bar::Ratio(1.0));
    let kilobytes = |path| Sample::one(fs::metadata(path).expect("it is there").len() as f64 / 1e3);
    let shown = shown_bytes(&fs::read_to_string(&page).expect("it is there"));
    let most = Sample::one((1.5 * shown as f64 + 60e3) / 1e3);
    let is_small = report("size of the page", &kilobytes(&page), &most, "kB", "the bar", Bar::Ratio(1.0));
    report(
        "size of prompts and last answers",
        &kilobytes(&focused),
        &Sample::one(150.0),
        "kB",
        "the bar",
        Bar::Ratio(1.0),
    ) && is_quick
        && is_lean
        && is_small
}

/// Returns the length of the text that a page shows.
fn shown_bytes(page: &str) -> usize {
    let (mut shown, mut rest) = (0, page);
    while let Some((text, tag)) = rest.split_once('<') {
        shown += text.len();
        rest = tag.split_once('>').map_or("", |(_, after)| after);
        // Nobody reads what these have.
        for element in ["style", "script"] {
            if tag.starts_with(element) {
                rest = rest.split_once("</").map_or("", |(_, end)| end.split_once('>').map_or("", |(_, after)| after));
            }
        }
    }
    shown + rest.len()
}
