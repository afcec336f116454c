//! `git shiftlog sync`, run by its own name.

fn main() -> std::process::ExitCode {
    shiftlog::command::program::start("sync")
}
