//! The bars: what we cost beside Git, measured in one run. `cargo bench` prints the ratios.
//!
//! Two commands run in turn, so that a noisy machine disturbs both alike. Medians are compared, and printed with their
//! quartiles. What is beyond its bar is marked, and the exit code says so. The home has two thousand old sessions of
//! several agents in it.

mod commits;
mod counted;
mod find;
mod home;
mod hooks;
mod hostile;
mod kept;
mod pages;
mod readers;
mod redaction;
mod repositories;
mod rules;
mod sample;
mod stage;
mod web;
mod why;
mod words;

/// How often each command runs.
const ROUNDS: usize = 60;

/// A bar: its name, and what measures it.
type Row = (&'static str, fn() -> bool);

const ROWS: [Row; 28] = [
    ("idle", hooks::idle_hook),
    ("old", hooks::old_sessions),
    ("live", hooks::live_sessions),
    ("busy", hooks::busy_hook),
    ("agents", hooks::agents),
    ("commit", commits::agent_commit),
    ("amend", commits::amend),
    ("rebase", commits::rebase),
    ("show", readers::show),
    ("log", readers::log),
    ("stats", readers::stats),
    ("words", counted::words),
    ("lines", counted::lines),
    ("why", why::why),
    ("far", why::far),
    ("growth", hooks::growth),
    ("memory", hooks::memory),
    ("pages", pages::pages),
    ("web", web::web),
    ("mcp", readers::mcp),
    ("sync", readers::sync),
    ("remap", readers::remap),
    ("verify", readers::verify),
    ("fsck", readers::fsck),
    ("find", find::find),
    ("rules", rules::rules),
    ("hostile", hostile::hostile),
    ("redaction", redaction::redaction),
];

fn main() {
    // `cargo test --benches` runs this without `--bench`; a measurement is no test.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let installed = tempfile::tempdir().expect("a temporary directory");
    stage::install(installed.path());
    // 'cargo bench -- log' measures one alone.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let chosen = ROWS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name));
    let failed = chosen.filter(|(_, row)| !row()).count();
    drop(installed);
    if failed > 0 {
        println!("{failed} above the bar");
        std::process::exit(1);
    }
}
