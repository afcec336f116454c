//! `git shiftlog`.

fn main() -> std::process::ExitCode {
    shiftlog::command::dispatch::run()
}
