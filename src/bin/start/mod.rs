//! The program `git-shiftlog-<name>` runs `git-shiftlog <name> <args>`, which contains all commands, in place of itself.
//!
//! Git, manual pages and people know a command by the name of its program, and the code is installed once. These programs
//! link little beside the standard library: one function of the crate would bring the unwinding tables of all of it along,
//! which no linker takes out again, and what the library has for starting processes is 21 kB in each of them.

use std::ffi::{CString, OsString};
use std::io::{Error, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::process::ExitCode;

/// Runs a command in place of this program: with the `git-shiftlog` beside it, or else with the one that Git finds.
pub fn start(name: &str) -> ExitCode {
    let beside = std::env::current_exe().ok().map(|path| path.with_file_name("git-shiftlog"));
    let mut words = match beside.filter(|path| path.is_file()) {
        Some(path) => vec![path.into_os_string().into_vec()],
        None => ["git", "shiftlog"].map(Vec::from).to_vec(),
    };
    words.push(name.into());
    words.extend(std::env::args_os().skip(1).map(OsString::into_vec));
    // No argument of a program has a null byte.
    let words: Vec<CString> = words.into_iter().filter_map(|word| CString::new(word).ok()).collect();
    let Err(error) = nix::unistd::execvp(&words[0], &words);
    let error = Error::from(error);
    // A message that cannot be written has nobody to read it.
    let _ = writeln!(std::io::stderr(), "fatal: cannot run 'git-shiftlog': {error}");
    ExitCode::from(128)
}
