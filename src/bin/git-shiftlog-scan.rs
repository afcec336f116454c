//! `git shiftlog scan`.

fn main() -> std::process::ExitCode {
    shiftlog::command::scan::run()
}
