//! `git shiftlog add`.

fn main() -> std::process::ExitCode {
    shiftlog::command::add::run()
}
