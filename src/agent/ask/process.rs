//! Running an agent on its own: an empty directory, an environment without Git's variables, an end at a given time.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::super::ALL;
use crate::git::child::{self, Streams};
use crate::git::temporary;

/// The longest answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 1 << 20;
/// The largest output on stderr that is read, in bytes.
const MAX_STDERR_BYTES: u64 = 64 << 20;

/// How an agent ended, and what it printed.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    /// The last part of it.
    pub stderr: String,
}

/// Runs an agent until it ends, at most for `limit`. Says why it was ended, or could not be run.
pub fn run(
    program: &Path,
    words: &[String],
    environment: &[(&str, &str)],
    input: &str,
    limit: Duration,
) -> Result<Ended, String> {
    let failed = |error: io::Error| error.to_string();
    let directory = temporary::directory().map_err(failed)?;
    let guard = Guard::new(directory.path());
    let mut command = command(program, words, directory.path(), guard.group());
    let Streams { mut stdout, mut stderr } = Streams::of(&mut command, input.as_bytes()).map_err(failed)?;
    command.envs(environment.iter().copied());
    let status = wait(command.spawn().map_err(failed)?, guard, limit, &stdout, &stderr)?;
    let length = stderr.metadata().map_or(0, |metadata| metadata.len());
    let stderr = text(&mut stderr, length.saturating_sub(MAX_ANSWER_BYTES));
    Ok(Ended { status, stdout: text(&mut stdout, 0), stderr })
}

/// Returns the command that runs an agent in the process group of its guard, or for 0 in one of its own.
fn command(program: &Path, words: &[String], directory: &Path, group: i32) -> Command {
    let mut command = Command::new(program);
    command.args(words).current_dir(directory).env("PWD", directory).env_remove("OLDPWD");
    let is_gits = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("GIT_");
    for name in std::env::vars_os().map(|(name, _)| name).filter(is_gits) {
        command.env_remove(name);
    }
    // The agent must not take itself for a part of the session that runs this process.
    ALL.iter().flat_map(|agent| agent.variables()).for_each(|name| {
        command.env_remove(name);
    });
    command.env("SHIFTLOG_HOOK", "off");
    command.process_group(group);
    command
}

/// Returns the text of a file from `start` on, at most as long as an answer may be.
fn text(file: &mut File, start: u64) -> String {
    let mut bytes = Vec::new();
    let _ = file.seek(SeekFrom::Start(start)).and_then(|_| file.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until a child ends; ends it when the time is over, or when its output is too long. Its whole process group is
/// ended too.
fn wait(mut child: Child, guard: Guard, limit: Duration, stdout: &File, stderr: &File) -> Result<ExitStatus, String> {
    let group = if guard.group() == 0 { child::group(&child) } else { guard.group() };
    let deadline = Instant::now() + limit;
    let is_over = |file: &File, max: u64| file.metadata().is_ok_and(|metadata| metadata.len() > max);
    // What fills a disk gets no time for it.
    let mut grace = Duration::ZERO;
    let reason = loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                // What it leaves behind, and the guard.
                child::end_group(group, Duration::ZERO);
                return Ok(status);
            }
            Err(error) => break error.to_string(),
            Ok(None) if Instant::now() >= deadline => {
                grace = child::GRACE;
                let seconds = limit.as_secs();
                break format!("no answer within {seconds} second{}", if seconds == 1 { "" } else { "s" });
            }
            Ok(None) if is_over(stdout, MAX_ANSWER_BYTES) || is_over(stderr, MAX_STDERR_BYTES) => {
                break "it says too much".to_owned();
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    child::end_group(group, grace);
    let _ = child.kill();
    let _ = child.wait();
    Err(reason)
}

/// Ends an agent and removes its directory when this process is gone before it is: Ctrl-C reaches our own process group,
/// and the agent has another. It is there first, and the agent begins in its group: there is no moment without it.
struct Guard(Option<Child>);

impl Guard {
    fn new(directory: &Path) -> Self {
        // It reads a word from us when all is well, and the end of its input when we are no more.
        let mut command = Command::new("sh");
        let script = "trap '' TERM; read -r done && exit; kill -s TERM 0; sleep 1; rm -rf -- \"$1\"; kill -s KILL 0";
        command.args(["-c", script, "sh"]).arg(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        Guard(command.spawn().ok())
    }

    /// Returns the number of its process group; 0 if there is no guard.
    fn group(&self) -> i32 {
        self.0.as_ref().map_or(0, child::group)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut guard) = self.0.take() {
            let _ = guard.stdin.take().map(|mut stdin| stdin.write_all(b"done\n"));
            let _ = guard.wait();
        }
    }
}
