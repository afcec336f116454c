//! `git shiftlog summarise`.

fn main() -> std::process::ExitCode {
    shiftlog::command::summarise::run()
}
