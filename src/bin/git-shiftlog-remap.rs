//! `git shiftlog remap`, run by its own name.

fn main() -> std::process::ExitCode {
    shiftlog::command::program::start("remap")
}
