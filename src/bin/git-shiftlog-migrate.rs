//! `git shiftlog migrate`.

fn main() -> std::process::ExitCode {
    shiftlog::command::migrate::run()
}
