//! What it costs to count words and lines.

use super::ROUNDS;
use super::sample::{Bar, Sample, compare, report, time};
use super::stage::program;
use super::{find, why};

/// Reads all words. The bar is a time for a gigabyte.
pub fn words() -> bool {
    let (stage, megabytes) = find::words();
    let ours = || stage.command(&program("git-shiftlog-stats"), &["--words", "main"]);
    let times: Vec<_> = (0..ROUNDS / 20).map(|_| time(ours())).collect();
    let bar = Sample::one(4000.0 * megabytes as f64 / 1024.0);
    let what = format!("stats --words, {megabytes} MB");
    let is_quick = report(&what, &Sample::of_times(&times), &bar, "ms", "the bar", Bar::Ratio(1.0));
    find::memory(ours(), &what) && is_quick
}

/// Counts the lines that agents wrote.
pub fn lines() -> bool {
    let stage = why::stage();
    let ours = || stage.command(&program("git-shiftlog-stats"), &["--lines", "main"]);
    let pairs = compare(ROUNDS / 6, ours, || stage.git(&["log", "-p", "-w", "main"]));
    let what = format!("stats --lines, {} recorded commits", why::COMMITS);
    pairs.report(&what, "git log -p -w", Bar::Ratio(3.0))
}
