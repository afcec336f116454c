//! `git shiftlog sync`.

fn main() -> std::process::ExitCode {
    shiftlog::command::sync::run()
}
