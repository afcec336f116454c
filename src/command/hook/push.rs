//! The `pre-push` hook: it stops a push that would publish conversations which are not shared, and starts a push of the shared
//! ones in the background.

use std::path::Path;
use std::time::Duration;

use super::input::standard_input;
use super::{leave_terminal, open, start_beside};
use crate::capture::{Leave, State, hook_recorder};
use crate::cli;
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::record;
use crate::share::guard::UserPush;
use crate::share::sync::{self, Level};

/// How long Git may take to say which refs are pushed. Without all of them a push may have to be stopped, so it gets more time.
const REFS_TIMEOUT: Duration = Duration::from_secs(10);

/// The beginning of the warning that a push goes although it could not be looked at: our own failure stops nothing.
pub const UNCHECKED: &str = "cannot tell whether this push takes conversations along";

/// Whether the user's push goes on.
pub enum Push {
    Goes,
    Stops,
}

/// Stops a push that would publish what is not to be shared. Otherwise starts a push of ours beside the user's, which does
/// not wait for it and does not learn how it ends; not with `is_off`.
pub fn run_pre_push(here: &Path, remote: &str, is_off: bool) -> Result<Push> {
    let input = standard_input(REFS_TIMEOUT);
    let moves = String::from_utf8_lossy(&input.bytes);
    let repo = open(here).map_err(|error| Error::other(UNCHECKED).because(error))?;
    let level = Level::of(&repo, remote);
    let (guarded, notes_ref) = (UserPush::of(remote, &moves), record::notes_ref(&repo));
    let shared = level.as_ref().copied().unwrap_or_default();
    let is_allowed = || repo.config_bool("shiftlog.allowMirror") == Some(true);
    if guarded.publishes_more_than(&repo, &notes_ref, shared) {
        // A level that cannot be read shares nothing.
        if let Err(error) = level {
            cli::warning(&error.to_string());
        }
        return Ok(tell_of_refs(&repo, shared, is_allowed()));
    }
    if !input.is_whole && shared < Level::All && !is_allowed() {
        cli::error(&Error::other(format!("{UNCHECKED}: the list of its refs did not end")));
        cli::hint(
            &repo,
            "the hook that runs 'git-shiftlog--hook git pre-push' must hand its standard input on, and close it",
        );
        cli::hint(&repo, "'git push --no-verify' pushes without this check");
        return Ok(Push::Stops);
    }
    let level = level?;
    if is_off || remote.is_empty() {
        return Ok(Push::Goes);
    }
    if !State::new(&repo.common_dir()).is_idle() {
        cli::tell(&repo, &hook_recorder(&repo, &notes_ref, Leave::Nothing).finish());
    }
    // Where the user's push takes our refs along, ours would only be in its way.
    if level == Level::None || guarded.moves_our_refs(&repo) || !sync::has_news(&repo, &notes_ref, remote, level)? {
        return Ok(Push::Goes);
    }
    start_beside(&["git", "push-now", remote]).map(|()| Push::Goes)
}

/// Tells that a push takes conversations along that are not to be shared, and whether it goes.
fn tell_of_refs(repo: &Repository, level: Level, is_allowed: bool) -> Push {
    let what = match level {
        Level::None => "this push takes conversations along, and sharing is off",
        Level::Notes | Level::All => "this push takes transcripts along, and only notes are shared",
    };
    if is_allowed {
        cli::warning(what);
        return Push::Goes;
    }
    cli::error(&Error::other(what));
    cli::hint(repo, "push branches and tags by name, as in 'git push <remote> --all', to leave them out");
    cli::hint(
        repo,
        "'git push --no-verify' lets them go once, 'git config shiftlog.allowMirror true' always: whoever can read the remote reads them",
    );
    Push::Stops
}

/// Pushes what is shared with a remote, in the background.
pub fn push_now(here: &Path, remote: &str) -> Result<()> {
    leave_terminal();
    let repo = open(here)?;
    sync::push_quietly(&repo, &record::notes_ref(&repo), remote);
    Ok(())
}
