//! `git shiftlog show`.

fn main() -> std::process::ExitCode {
    shiftlog::command::show::run()
}
