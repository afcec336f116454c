//! `git shiftlog verify`.

fn main() -> std::process::ExitCode {
    shiftlog::command::verify::run()
}
