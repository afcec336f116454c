//! `git shiftlog keys`.

fn main() -> std::process::ExitCode {
    shiftlog::command::keys::run()
}
