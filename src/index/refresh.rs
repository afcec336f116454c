//! Bringing the index up to date in the background, after a commit, for whoever has set `shiftlog.index=commit`.

use std::path::Path;
use std::time::Duration;

use super::files::{Project, below};
use super::lock;
use super::scan::{AGAIN, Scan, choose};
use super::worktree::WorktreeFiles;
use crate::error::{Error, Kind, Result};
use crate::git::Repository;

/// How long an agent may take for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// Says whether the index of a working tree is to follow its commits. Costs one look at the disk where there is no index.
///
/// # Errors
///
/// If the repository cannot be opened.
pub fn is_wanted(here: &Path, top: &Path) -> Result<bool> {
    Ok(below(top).is_some() && Repository::open(here)?.config_string("shiftlog.index").as_deref() == Some("commit"))
}

/// Asks an agent about what has changed since the last scan. If another process is scanning, creates `.history/again` and
/// returns. Returns what is to be logged.
///
/// # Errors
///
/// As [`Scan::new`] and [`Scan::run`].
pub fn refresh(repo: &Repository, project: &Project) -> Result<Vec<String>> {
    project.require()?;
    let ask = choose(repo, None)?;
    let again = project.history().join(AGAIN);
    let mut logged = Vec::new();
    loop {
        // Whoever has the lock looks for this file when it has given the lock back, so that either of us goes on.
        lock::touch(&again)?;
        let plan = match Scan::new(repo, project, ask) {
            Err(error) if error.kind() == Kind::Busy => return Ok(logged),
            plan => plan?,
        };
        if !plan.is_empty() {
            let before = WorktreeFiles::take(repo)?;
            let ran = plan.run(None, ANSWER_LIMIT, |_, _| {});
            let strays = before.changed_since(repo, ask.name)?.map(|strays| format!("index: {strays}"));
            let changed = match (ran, strays) {
                (Err(error), Some(strays)) => return Err(Error::new(error.kind(), format!("{error}; {strays}"))),
                (ran, strays) => {
                    logged.extend(strays);
                    ran?
                }
            };
            let files = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
            logged.push(format!("index: told {} of {} files, changed {files}", ask.name, plan.changes().len()));
        }
        drop(plan);
        if !again.exists() {
            return Ok(logged);
        }
    }
}

/// Says whether a commit was made while a scan ran, and is not in the index yet.
pub fn is_waiting(repo: &Repository, project: &Project) -> bool {
    project.history().join(AGAIN).exists() && repo.config_string("shiftlog.index").as_deref() == Some("commit")
}
