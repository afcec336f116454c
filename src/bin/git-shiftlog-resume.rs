//! `git shiftlog resume`.

fn main() -> std::process::ExitCode {
    shiftlog::command::resume::run()
}
