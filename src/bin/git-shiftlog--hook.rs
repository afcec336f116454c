//! What every hook runs.

fn main() -> std::process::ExitCode {
    shiftlog::command::hook::run()
}
