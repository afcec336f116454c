//! `git shiftlog doctor`, run by its own name.

fn main() -> std::process::ExitCode {
    shiftlog::command::program::start("doctor")
}
