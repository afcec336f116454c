//! Finding a program of the suite and running it in place of this one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Runs a program in place of this one.
///
/// # Errors
///
/// If it cannot be run; otherwise this does not return.
pub fn replace(program: &Path, args: impl IntoIterator<Item = OsString>) -> std::io::Result<ExitCode> {
    Err(Command::new(program).args(args).exec())
}

/// Finds a program beside this one, then where Git keeps its own, then on `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    // A name from the command line becomes part of a path only as one plain component.
    if name.contains(['/', '\\']) {
        return None;
    }
    let file =
        |dir: &Path| Some(dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))).filter(|path| path.is_file());
    let beside = || file(std::env::current_exe().ok()?.parent()?);
    let libexec = || {
        let dir = std::env::var_os("GIT_EXEC_PATH").map(PathBuf::from).or_else(|| {
            let output = Command::new("git").arg("--exec-path").output().ok()?;
            Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()))
        })?;
        file(&dir)
    };
    let on_path = || std::env::split_paths(&std::env::var_os("PATH")?).find_map(|dir| file(&dir));
    beside().or_else(libexec).or_else(on_path)
}
