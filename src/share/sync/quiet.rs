//! The background push after a push of the user's: one at a time, with a time limit.

use std::fs::File;
use std::time::{Duration, Instant};

use super::{Exchange, Level, Syncer, foreseen, notes_name};
use crate::capture::State;
use crate::error::Result;
use crate::git::private;
use crate::git::{Asking, Repository};
use crate::share::purge;
use crate::{archive, hex};

/// How long a background push may take.
const QUIET_TIMEOUT: Duration = Duration::from_secs(600);
/// How many times a background push starts again because more was recorded meanwhile.
const MAX_QUIET_PUSHES: u32 = 3;

/// Pushes to a remote in the background, and logs the result.
///
/// One background push runs for each remote. A second one leaves its work to the first.
pub fn push_quietly(repo: &Repository, notes_ref: &str, remote: &str) {
    let state = State::new(&repo.common_dir());
    let Some(_running) = only_one(&state, remote) else {
        return state.log(&format!("left the push to {remote} to the one that is under way"));
    };
    if purge::is_unfinished(repo) {
        return state.log("warning: pushed nothing: a purge was interrupted; 'git shiftlog sync' finishes it");
    }
    for _ in 0..MAX_QUIET_PUSHES {
        let level = Level::of(repo, remote);
        if matches!(level, Ok(Level::None)) {
            return state.log(&format!("pushed nothing to {remote}: nothing is shared with it now"));
        }
        let pushed = level.and_then(|level| {
            let plan = Exchange { pull: Level::None, push: level, is_dry_run: false };
            let synced =
                Syncer::new(repo, notes_ref, Asking::Until(Instant::now() + QUIET_TIMEOUT)).sync(remote, plan)?;
            Ok((synced, level))
        });
        let has_more = match pushed {
            Ok((synced, level)) => {
                let sent = synced.sent;
                state.log(&format!("pushed {} notes, {} segments to {remote}", sent.notes, sent.segments));
                synced.refused.iter().for_each(|error| state.log(&format!("warning: {error}")));
                synced.left_out.iter().for_each(|entry| state.log(&format!("warning: {entry}")));
                synced.refused.is_empty() && has_news(repo, notes_ref, remote, level).unwrap_or(false)
            }
            Err(error) => {
                state.log(&format!("warning: cannot push to {remote}: {error}"));
                false
            }
        };
        if !has_more {
            return;
        }
    }
}

/// Takes the lock for a background push to a remote; `None` if another process holds it.
fn only_one(state: &State, remote: &str) -> Option<File> {
    let path = state.root().join(format!("pushing-{}", hex::xxh3(remote.as_bytes())));
    if !path.exists() {
        private::write(&path, b"").ok()?;
    }
    let file = File::options().write(true).open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

/// Says whether there is something to push to `remote`, judged by the fetched refs. Does not contact the remote.
///
/// # Errors
///
/// If a ref cannot be read.
pub fn has_news(repo: &Repository, notes_ref: &str, remote: &str, level: Level) -> Result<bool> {
    if foreseen::is_unsure(repo, remote) {
        return Ok(true);
    }
    let pairs = [(notes_ref, notes_name(notes_ref), Level::Notes), (archive::REF, "sessions".into(), Level::All)];
    for (name, last, needed) in pairs {
        let tracking = repo.tracking_ref(remote, &last);
        let ours = repo.tip(name)?.map(|tip| tip.commit_id);
        if level >= needed && ours.is_some() && ours != repo.tip(&tracking)?.map(|tip| tip.commit_id) {
            return Ok(true);
        }
    }
    Ok(false)
}
