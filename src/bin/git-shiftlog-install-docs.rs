//! `git shiftlog install-docs`, run by its own name.

mod start;

fn main() -> std::process::ExitCode {
    start::start("install-docs")
}
