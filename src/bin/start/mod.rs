//! The program `git-shiftlog-<name>` runs `git-shiftlog <name> <args>`, which contains all commands, in place of itself.
//!
//! Git, manual pages and people know a command by the name of its program, and the code is installed once. These programs
//! link the standard library alone, and little of it: one function of the crate would bring the unwinding tables of all of
//! it along, which no linker takes out again.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Runs a command in place of this program: with the `git-shiftlog` beside it, or else with the one that Git finds.
pub fn start(name: &str) -> ExitCode {
    let beside = std::env::current_exe().ok().map(|path| path.with_file_name("git-shiftlog"));
    let beside = beside.filter(|path| path.is_file());
    let mut command = Command::new(beside.as_ref().map_or(OsStr::new("git"), |path| path.as_os_str()));
    if beside.is_none() {
        command.arg(OsStr::new("shiftlog"));
    }
    command.arg(OsStr::new(name));
    for arg in std::env::args_os().skip(1) {
        command.arg(arg.as_os_str());
    }
    let error = command.exec();
    // A message that cannot be written has nobody to read it.
    let _ = writeln!(std::io::stderr(), "fatal: cannot run 'git-shiftlog': {error}");
    ExitCode::from(128)
}
