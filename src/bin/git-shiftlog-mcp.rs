//! `git shiftlog mcp`.

fn main() -> std::process::ExitCode {
    shiftlog::command::mcp::run()
}
