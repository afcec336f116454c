//! `git shiftlog log`.

fn main() -> std::process::ExitCode {
    shiftlog::command::log::run()
}
