//! `git shiftlog install-docs`, run by its own name.

fn main() -> std::process::ExitCode {
    shiftlog::command::program::start("install-docs")
}
