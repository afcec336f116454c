//! `git shiftlog init`.

fn main() -> std::process::ExitCode {
    shiftlog::command::init::run()
}
