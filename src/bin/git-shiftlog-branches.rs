//! `git shiftlog branches`.

fn main() -> std::process::ExitCode {
    shiftlog::command::branches::run()
}
