//! `git shiftlog doctor`.

fn main() -> std::process::ExitCode {
    shiftlog::command::doctor::run()
}
