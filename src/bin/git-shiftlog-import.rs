//! `git shiftlog import`.

fn main() -> std::process::ExitCode {
    shiftlog::command::import::run()
}
