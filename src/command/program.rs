//! Finding a program of the suite and becoming it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cli;
use crate::error::Error;
use crate::git::git;

/// Runs `git-shiftlog <name> <args>`, in which all commands are, in place of this program.
///
/// This is all that `git-shiftlog-<name>` does: Git, manual pages and people know it by this name, and the code is
/// installed once.
pub fn start(name: &str) -> ExitCode {
    let Some(program) = find("git-shiftlog") else {
        return cli::finish(Err(
            Error::other("cannot find the program 'git-shiftlog'").hint("install it beside 'git-shiftlog-*'")
        ));
    };
    let args = std::iter::once(name.into()).chain(std::env::args_os().skip(1));
    replace(&program, args.collect())
}

/// Runs a program in place of this one.
pub(super) fn replace(program: &Path, args: Vec<OsString>) -> ExitCode {
    let mut command = Command::new(program);
    command.args(args);
    #[cfg(unix)]
    let failure = std::os::unix::process::CommandExt::exec(&mut command);
    #[cfg(not(unix))]
    let failure = match command.status() {
        Ok(status) => return ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(error) => error,
    };
    cli::finish(Err(Error::other(format!("cannot run '{}'", program.display())).because(failure)))
}

/// Finds a program beside this one, then where Git keeps its own, then on `PATH`.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    // A name from the command line becomes part of a path only as one plain component.
    if name.contains(['/', '\\']) {
        return None;
    }
    let file =
        |dir: &Path| Some(dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))).filter(|path| path.is_file());
    let beside = || file(std::env::current_exe().ok()?.parent()?);
    let libexec = || {
        let dir = std::env::var_os("GIT_EXEC_PATH").map(PathBuf::from).or_else(|| {
            let output = git(["--exec-path"]).capture().ok()?;
            Some(PathBuf::from(String::from_utf8_lossy(&output).trim_end().to_owned()))
        })?;
        file(&dir)
    };
    let on_path = || std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| file(&dir));
    beside().or_else(libexec).or_else(on_path)
}
