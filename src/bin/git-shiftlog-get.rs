//! `git shiftlog get`.

fn main() -> std::process::ExitCode {
    shiftlog::command::get::run()
}
