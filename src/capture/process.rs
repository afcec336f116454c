//! Which process is which: whether the agent that a hook ran for is above us now.
//!
//! Read from `/proc`; where there is none, nothing is known and the other evidence decides.

use std::io::Read as _;
use std::os::unix::process::parent_id;

use serde::{Deserialize, Serialize};

/// A process, told apart from a later one with the same number by its start time.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Process {
    pid: u32,
    started: u64,
}

/// Programs that only pass a command on; the agent is whoever started them.
const PASSERS_ON: &[&str] = &["sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "busybox", "env", "timeout", "git"];

struct Status {
    name: String,
    parent: u32,
    started: u64,
}

fn status(pid: u32) -> Option<Status> {
    // A hook asks for a few: one step each, where reading to the end of a file of unknown size takes seven.
    let mut bytes = [0; 1024];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    // The name is in parentheses and may itself hold spaces and parentheses; proc_pid_stat(5).
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Status { name, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// Returns the processes above this one, nearest first, with their names. Each is asked for when it is wanted.
fn ancestors() -> impl Iterator<Item = (Process, String)> {
    let step = |pid: u32| Some((pid, status(pid).filter(|_| pid > 1)?));
    let all = std::iter::successors(step(parent_id()), move |(_, status)| step(status.parent));
    all.take(64).map(|(pid, status)| (Process { pid, started: status.started }, status.name))
}

/// Returns the process that runs this hook: the nearest one above us that does not just pass a command on.
pub fn caller() -> Option<Process> {
    let ours = |name: &str| PASSERS_ON.contains(&name) || name.starts_with("git-shiftlog");
    ancestors().find(|(_, name)| !ours(name)).map(|(process, _)| process)
}

/// Returns those of these processes that are above this one. Looks no further than to the last of them.
pub fn above(processes: impl Iterator<Item = Process>) -> Vec<Process> {
    let mut wanted: Vec<Process> = processes.collect();
    let mut above = ancestors().map(|(process, _)| process);
    let mut found = Vec::new();
    while !wanted.is_empty()
        && let Some(process) = above.next()
    {
        found.extend(wanted.iter().find(|wanted| **wanted == process).copied());
        wanted.retain(|wanted| *wanted != process);
    }
    found
}

impl Process {
    /// Says whether the process is still there. Without `/proc` every process counts as alive.
    pub fn is_alive(self) -> bool {
        !std::path::Path::new("/proc/self/stat").exists()
            || status(self.pid).is_some_and(|status| status.started == self.started)
    }
}
