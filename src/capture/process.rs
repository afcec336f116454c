//! Processes: whether the agent that ran an earlier hook is an ancestor of this process.
//!
//! Reads `/proc`; on systems without it nothing is known, and sessions are chosen by other evidence.

use std::io::Read as _;
use std::os::unix::process::parent_id;

use serde::{Deserialize, Serialize};

/// A process id with the process's start time, which tells it from a later process with the same id.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Process {
    pid: u32,
    started: u64,
}

/// Programs that only run another command; the agent is further up.
const WRAPPERS: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox", "env", "timeout", "git"];

struct Status {
    name: String,
    /// Whether the process has ended, and nobody has asked how.
    is_over: bool,
    parent: u32,
    started: u64,
}

fn status(pid: u32) -> Option<Status> {
    // One `read` is enough, and a commit waits for it; reading a file of unknown size to its end takes seven system
    // calls.
    let mut bytes = [0; 1024];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    // The name is in parentheses and may itself hold spaces and parentheses; proc_pid_stat(5).
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let is_over = matches!(fields.first(), Some(&"Z" | &"X"));
    Some(Status { name, is_over, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// Returns the ancestors of this process with their names, nearest first. Each is read when the iterator reaches it.
fn ancestors() -> impl Iterator<Item = (Process, String)> {
    let step = |pid: u32| Some((pid, status(pid).filter(|_| pid > 1)?));
    let all = std::iter::successors(step(parent_id()), move |(_, status)| step(status.parent));
    all.take(64).map(|(pid, status)| (Process { pid, started: status.started }, status.name))
}

/// Returns the words of the command line of each ancestor of this process, nearest first.
pub fn command_lines_above() -> impl Iterator<Item = Vec<String>> {
    ancestors().map(|(process, _)| words(process))
}

/// Returns the ancestor of this process that is `git push`; under an alias, the nearest one that is Git.
pub fn pushing() -> Option<Process> {
    let above: Vec<Process> = ancestors().filter(|(_, name)| name == "git").map(|(process, _)| process).collect();
    let is_push = |process: &&Process| words(**process).iter().any(|word| word == "push");
    above.iter().find(is_push).or(above.first()).copied()
}

/// Words in the command line of a process that serves several sessions of an agent and stays behind when they end.
const SERVICES: &[&str] = &["app-server", "--cline-hub-daemon"];

/// Returns the process that runs this hook: the nearest ancestor that is neither a wrapper nor a program of ours. `None` if
/// that process serves several sessions, since it does not identify one of them.
pub fn caller() -> Option<Process> {
    let ours = |name: &str| WRAPPERS.contains(&name) || name.starts_with("git-shiftlog");
    let (process, _) = ancestors().find(|(_, name)| !ours(name))?;
    let is_service = || words(process).iter().any(|word| SERVICES.contains(&word.as_str()));
    (!is_service()).then_some(process)
}

/// Returns the words of the command line of a process.
fn words(process: Process) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns those of these processes that are ancestors of this one. Reads no further up than the last of them.
pub fn ancestors_among(processes: impl Iterator<Item = Process>) -> Vec<Process> {
    let mut wanted: Vec<Process> = processes.collect();
    let mut ancestors = ancestors().map(|(process, _)| process);
    let mut found = Vec::new();
    while !wanted.is_empty()
        && let Some(process) = ancestors.next()
    {
        found.extend(wanted.iter().find(|wanted| **wanted == process).copied());
        wanted.retain(|wanted| *wanted != process);
    }
    found
}

impl Process {
    /// Returns the process that [`Process::to_word`] has written.
    pub fn from_word(word: &str) -> Option<Self> {
        let (pid, started) = word.split_once('@')?;
        Some(Process { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    /// Returns the process as a word for a command line.
    pub fn to_word(self) -> String {
        format!("{}@{}", self.pid, self.started)
    }

    /// Says whether the process is still running. Without `/proc` every process counts as running.
    pub fn is_alive(self) -> bool {
        !std::path::Path::new("/proc/self/stat").exists()
            || status(self.pid).is_some_and(|status| status.started == self.started && !status.is_over)
    }
}
