//! Which process is which: whether the agent that a hook ran for is above us now.
//!
//! Read from `/proc`; where there is none, nothing is known and the other evidence decides.

use std::io::Read as _;

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
    // A hook asks for half a dozen: one step each, where reading to the end of a file of unknown size takes seven.
    let mut bytes = [0; 1024];
    let length = std::fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    // The name is in parentheses and may itself hold spaces and parentheses; proc_pid_stat(5).
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    Some(Status { name, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
}

/// Returns the processes above this one, nearest first, with their names.
fn ancestors() -> Vec<(Process, String)> {
    let mut found = Vec::new();
    let mut pid = status(std::process::id()).map_or(0, |status| status.parent);
    while pid > 1 && found.len() < 64 {
        let Some(status) = status(pid) else { break };
        found.push((Process { pid, started: status.started }, status.name));
        pid = status.parent;
    }
    found
}

/// Returns the process that runs this hook: the nearest one above us that does not just pass a command on.
pub fn caller() -> Option<Process> {
    let ours = |name: &str| PASSERS_ON.contains(&name) || name.starts_with("git-shiftlog");
    ancestors().into_iter().find(|(_, name)| !ours(name)).map(|(process, _)| process)
}

/// Returns the processes above this one, nearest first.
pub fn lineage() -> Vec<Process> {
    ancestors().into_iter().map(|(process, _)| process).collect()
}

impl Process {
    /// Says whether the process is still there. Without `/proc` every process counts as alive.
    pub fn is_alive(self) -> bool {
        !std::path::Path::new("/proc/self/stat").exists()
            || status(self.pid).is_some_and(|status| status.started == self.started)
    }
}
