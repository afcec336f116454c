//! `git shiftlog evidence`, run by its own name.

mod start;

fn main() -> std::process::ExitCode {
    start::start("evidence")
}
