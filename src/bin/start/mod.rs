//! The program `git-shiftlog-<name>` runs `git-shiftlog <name> <args>`, which contains all commands, in place of itself.
//!
//! Git, manual pages and people know a command by the name of its program, and the code is installed once. These programs
//! link the standard library alone: one function of the crate would bring the unwinding tables of all of it along, which
//! no linker takes out again.

#[path = "../../command/program.rs"]
mod program;

use std::io::Write as _;
use std::process::ExitCode;

/// Runs a command in place of this program.
pub fn start(name: &str) -> ExitCode {
    let args = std::iter::once(name.into()).chain(std::env::args_os().skip(1));
    let reason = match program::find("git-shiftlog") {
        Some(path) => match program::replace(&path, args) {
            Ok(code) => return code,
            Err(error) => format!("cannot run 'git-shiftlog': {error}"),
        },
        None => format!("cannot find the program 'git-shiftlog': install it beside 'git-shiftlog-{name}'"),
    };
    // A message that cannot be written has nobody to read it.
    let _ = writeln!(std::io::stderr(), "fatal: {reason}");
    ExitCode::from(128)
}
