//! The `pre-push` hook: it stops a push that would publish conversations which are not shared, and starts a push of the shared
//! ones in the background.

use std::path::Path;
use std::time::{Duration, Instant};

use super::input::standard_input;
use super::{leave_terminal, open, start_beside, start_beside_worktrees};
use crate::capture::process::{self, Process};
use crate::capture::{Leave, State, hook_recorder};
use crate::cli;
use crate::error::{Error, Result};
use crate::git::{Asking, Repository};
use crate::outside;
use crate::record;
use crate::setup;
use crate::share::guard::{self, UserPush};
use crate::share::purge;
use crate::share::sync::{self, Level};

/// How long Git may take to say which refs are pushed. Without all of them a push may have to be stopped, so it gets more time.
const REFS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a push of the user's may take; what it leaves unsent, the next push or `sync` sends.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(600);
/// The pause between two looks whether it has ended; between two looks at the remote it grows.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How many refs are named that a push must not fill.
const MAX_NAMED: usize = 3;
/// How many of its refs are looked for on the remote.
const MAX_ARRIVALS: usize = 200;

/// The beginning of the warning that a push goes although it could not be looked at: our own failure stops nothing.
pub const UNCHECKED: &str = "cannot tell whether this push takes conversations along";

/// Whether the user's push goes on.
pub enum Push {
    Goes,
    Stops,
}

/// Stops a push that would publish what is not to be shared. Otherwise starts a push of ours, which goes when the user's has
/// arrived, and for which the user's does not wait; not with `is_off`.
pub fn run_pre_push(here: &Path, remote: &str, is_off: bool) -> Result<Push> {
    let input = standard_input(REFS_TIMEOUT);
    let moves = String::from_utf8_lossy(&input.bytes);
    let repo = match open(here) {
        Ok(repo) => repo,
        // A push that was stopped can be made again; what was published cannot be taken back.
        Err(error) if guard::names_ours(&moves) => {
            let error = Error::other("this push takes conversations along, and whether they are shared cannot be read")
                .because(error);
            cli::error(&error.hint("'git push --no-verify' pushes them"));
            return Ok(Push::Stops);
        }
        Err(error) => return Err(Error::other(UNCHECKED).because(error)),
    };
    let level = Level::of(&repo, remote);
    let (guarded, notes_ref) = (UserPush::of(remote, &moves), record::notes_ref(&repo));
    // A level that cannot be read shares nothing.
    let shared = Level::of_push(&repo, remote).unwrap_or_default();
    if purge::is_unfinished(&repo) && guarded.barred(&repo, &notes_ref, Level::None).is_some() {
        cli::error(&Error::other("this push takes conversations along, and a purge was interrupted or is running"));
        cli::hint(&repo, "'git shiftlog fsck' finishes it; 'git push --no-verify' pushes what was to be removed");
        return Ok(Push::Stops);
    }
    let is_allowed = || repo.config_bool("shiftlog.allowMirror") == Some(true);
    if let Some(barred) = guarded.barred(&repo, &notes_ref, shared) {
        if let Err(error) = level {
            cli::warning(&error.to_string());
        }
        let push = tell_of_refs(&repo, &barred, shared, is_allowed());
        if let Push::Goes = push {
            remember_sent(&repo, &guarded, &notes_ref);
        }
        return Ok(push);
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
    // Where the user's push takes our refs along, ours would only be in its way.
    if guarded.moves_our_refs(&repo) {
        remember_sent(&repo, &guarded, &notes_ref);
        return Ok(Push::Goes);
    }
    let level = level?;
    // '.' is this repository.
    if is_off || remote.is_empty() || remote == "." {
        return Ok(Push::Goes);
    }
    if !State::new(&repo.common_dir()).is_idle() {
        cli::tell(&repo, &hook_recorder(&repo, &notes_ref, Leave::Nothing).finish());
    }
    if level == Level::None || !sync::has_news(&repo, &notes_ref, remote, level)? {
        return Ok(Push::Goes);
    }
    let pushing = process::pushing().map_or_else(String::new, Process::to_word);
    let mut words = vec!["git", "push-now", remote, &pushing];
    words.extend(guarded.arrivals().into_iter().take(MAX_ARRIVALS).flat_map(|(name, hex)| [name, hex]));
    // Git takes a relative address from the top of the worktree.
    let is_relative = |url: &String| !url.contains(':') && !url.starts_with('/');
    let urls = ["url", "pushurl"].map(|key| repo.config_strings(&format!("remote.{remote}.{key}"))).concat();
    match urls.is_empty() || urls.iter().any(is_relative) {
        true => start_beside(&words)?,
        false => start_beside_worktrees(&repo, &words)?,
    }
    Ok(Push::Goes)
}

/// Writes down which of our refs a push sends, so that a later purge names the remote.
fn remember_sent(repo: &Repository, push: &UserPush<'_>, notes_ref: &str) {
    if let Err(error) = sync::Known::add(repo, push.sent(repo, notes_ref)) {
        State::new(&repo.common_dir()).log(&format!("warning: {error}"));
    }
}

/// Tells that a push takes conversations along that are not to be shared, and to which refs, and whether it goes.
fn tell_of_refs(repo: &Repository, refs: &[&str], level: Level, is_allowed: bool) -> Push {
    let what = match level {
        Level::None => "this push takes conversations along, and sharing is off",
        Level::Notes | Level::All => "this push takes refs along that are not shared: of conversations only notes are",
    };
    if is_allowed {
        cli::warning(what);
        return Push::Goes;
    }
    cli::error(&Error::other(what));
    let names: Vec<String> = refs.iter().take(MAX_NAMED).map(|name| outside::line(name)).collect();
    match refs.len().saturating_sub(MAX_NAMED) {
        _ if refs.is_empty() => cli::hint(repo, "a branch has commits of them among those that the push adds"),
        0 => cli::hint(repo, &format!("they would go to {}", names.join(", "))),
        more => cli::hint(repo, &format!("they would go to {} and {more} more", names.join(", "))),
    }
    cli::hint(repo, "push branches and tags by name, as in 'git push <remote> <branch>', to leave them out");
    cli::hint(
        repo,
        "'git push --no-verify' lets them go once, 'git config shiftlog.allowMirror true' always: whoever can read the remote reads them",
    );
    Push::Stops
}

/// Pushes what is shared with a remote, in the background, when the user's push has arrived there. `words` are the process of that
/// push, then the names of refs and their new ids on the remote.
pub fn push_now(here: &Path, remote: &str, words: &[&str]) -> Result<()> {
    leave_terminal();
    let repo = open(here)?;
    let was_set_up = setup::is_written_down(&repo);
    let (pushing, arrivals) =
        words.split_first().map_or((None, words), |(word, rest)| (Process::from_word(word), rest));
    let (arrivals, _) = arrivals.as_chunks::<2>();
    if !has_arrived(&repo, remote, pushing, arrivals) {
        State::new(&repo.common_dir())
            .log(&format!("pushed nothing to {remote}: the push before it is not seen to have arrived"));
        return Ok(());
    }
    // Meanwhile the user can have run 'deinit', which leaves no log, or changed what is shared.
    if was_set_up && !setup::is_written_down(&repo) {
        return Ok(());
    }
    let repo = open(here)?;
    sync::push_quietly(&repo, &record::notes_ref(&repo), remote);
    Ok(())
}

/// Waits until a push of the user's has ended, and says whether one of its refs has arrived. A push that another hook or the
/// server refuses takes no conversation along. Git notes in its copy of the remote's branch what has arrived; where there is
/// none, the remote is asked. Where processes cannot be seen, that is done until it has a ref.
fn has_arrived(repo: &Repository, remote: &str, pushing: Option<Process>, arrivals: &[[&str; 2]]) -> bool {
    let until = Instant::now() + ARRIVAL_TIMEOUT;
    let names: Vec<&str> = arrivals.iter().map(|[name, _]| *name).collect();
    let is_noted = |[name, hex]: &[&str; 2]| {
        let copy = format!("refs/remotes/{remote}/{}", name.strip_prefix("refs/heads/").unwrap_or(name));
        matches!(repo.tip(&copy), Ok(Some(tip)) if repo.parse_id(hex) == Some(tip.commit_id))
    };
    let is_there = || {
        if arrivals.iter().any(is_noted) {
            return true;
        }
        let theirs = repo.remote_refs(remote, &names, Asking::Until(until)).unwrap_or_default();
        theirs.iter().any(|(name, id)| arrivals.contains(&[name.as_str(), id.to_string().as_str()]))
    };
    let has_time = |pause: Duration| Instant::now() + pause < until;
    let mut pause = FIRST_PAUSE;
    if let Some(pushing) = pushing {
        while pushing.is_alive() && has_time(pause) {
            std::thread::sleep(pause);
        }
        // A push that only deletes refs, or finds nothing to push, has nothing to look for.
        return !pushing.is_alive() && (arrivals.is_empty() || is_there());
    }
    while !arrivals.is_empty() && !is_there() {
        if !has_time(pause) {
            return false;
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
    true
}
