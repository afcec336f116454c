//! `git shiftlog purge`.

fn main() -> std::process::ExitCode {
    shiftlog::command::purge::run()
}
