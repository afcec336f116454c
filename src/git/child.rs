//! Child processes that may not ask anybody, and that end in time.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::temporary;

/// How long a process has to clean up when its time is over.
pub const GRACE: Duration = Duration::from_millis(300);

/// How often it is looked whether a child has ended.
const POLL: Duration = Duration::from_millis(3);

/// The output of a child, in temporary files. A process that inherits a pipe can keep it open after the child has
/// ended, and a pipe that nobody reads stops its writer; neither happens with a file.
pub struct Streams {
    /// The child's standard output.
    pub stdout: File,
    /// The child's standard error.
    pub stderr: File,
}

impl Streams {
    /// Connects a command to new files, of which the one for standard input holds `input`.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written.
    pub fn of(command: &mut Command, input: &[u8]) -> io::Result<Self> {
        let mut stdin = temporary::file()?;
        stdin.write_all(input)?;
        stdin.rewind()?;
        let streams = Streams { stdout: temporary::file()?, stderr: temporary::file()? };
        command.stdin(stdin).stdout(streams.stdout.try_clone()?).stderr(streams.stderr.try_clone()?);
        Ok(streams)
    }
}

/// Finds a program on `PATH`. Directories that `PATH` names from the current one do not count: the program runs in another
/// directory, or in that of a project which could bring a program of this name.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    let mut candidates =
        std::env::split_paths(&path).filter(|directory| directory.is_absolute()).map(|directory| directory.join(&name));
    candidates.find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Keeps a command from asking for a password, on the terminal or in a window of an askpass program.
///
/// Standard input does not matter: ssh and gpg open the terminal by its name. In a process group of the background that
/// would stop them, and they would neither go on nor fail.
pub fn forbid_asking(command: &mut Command) {
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "");
    // Since OpenSSH 8.4, 'force' makes ssh and ssh-keygen run this program in place of asking on the terminal.
    command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
    // The terminal on which the agent of GnuPG would ask.
    command.env_remove("GPG_TTY");
}

/// Waits for a child that leads a process group, at most until `deadline`; then ends the group and returns `None`.
///
/// # Errors
///
/// If the system cannot tell whether the child has ended.
pub fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            end_group(group(child), GRACE);
            return child.wait().map(|_| None);
        }
        std::thread::sleep(POLL);
    }
}

/// Returns the number of the process group that a child leads.
pub fn group(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap_or_default()
}

/// Ends all processes of a group, which have `grace` to clean up. Its leader must not have been waited for.
pub fn end_group(group: i32, grace: Duration) {
    let Some(group) = Pid::from_raw(group) else { return };
    let _ = kill_process_group(group, Signal::TERM);
    // A process that was stopped, because it asked on a terminal in the background, gets the signal when it goes on.
    let _ = kill_process_group(group, Signal::CONT);
    std::thread::sleep(grace);
    let _ = kill_process_group(group, Signal::KILL);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn what_was_stopped_or_takes_no_notice_ends_too() {
        for script in
            ["kill -STOP $$", "trap '' TERM; kill -STOP $$; sleep 600", "trap '' TERM; sleep 600 & wait; wait"]
        {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped()).process_group(0);
            let mut child = command.spawn().unwrap();
            let status = wait_until(&mut child, Instant::now() + Duration::from_millis(50)).unwrap();
            assert!(status.is_none(), "{script}");
            // It ends when nobody is left who could write to it.
            child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        }
    }

    #[test]
    fn a_process_that_keeps_the_output_open_does_not_keep_us_waiting() {
        let mut command = Command::new("sh");
        let streams = Streams::of(&mut command, b"word").unwrap();
        let mut child = command.args(["-c", "sleep 600 & cat; kill -STOP $!"]).process_group(0).spawn().unwrap();
        let status = wait_until(&mut child, Instant::now() + Duration::from_secs(600)).unwrap();
        end_group(group(&child), Duration::ZERO);
        assert!(status.unwrap().success());
        assert_eq!(streams.stdout.metadata().unwrap().len(), 4);
    }
}
