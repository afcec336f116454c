//! Removing what is recorded, after a question, and finishing a removal that was interrupted.

mod told;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use self::told::{count, list, plan_value, print_json, result_value, tell, tell_what_has_it, tell_what_is_left};
use super::open;
use crate::archive::{self, Archive};
use crate::capture::{self, Lock, State};
use crate::cli::{self, Outcome, Progress};
use crate::error::{Error, Kind, Result};
use crate::git::date::{Format, Time};
use crate::git::sign::SignatureState as Signed;
use crate::git::{ObjectId, Repository};
use crate::outside;
use crate::progress::silent;
use crate::record::{self, Reader, may_be_fetched};
use crate::share::purge::{self, Purged, Target, carry_out, is_unfinished, named_by_others, plan, preview};
use crate::share::sync;
use crate::transcript::SessionKey;
use crate::upkeep::verify::{Verified, verify};

/// How long to wait for hooks that are running.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The conversations that a command removes, and the options of the removal.
pub(super) struct RemovalRequest {
    pub notes_ref: String,
    pub target: Target,
    pub refusal: Refusal,
    /// An interrupted purge that the command has finished before; `None` if there was none.
    pub finished: Option<Purged>,
    /// Whether nothing is removed.
    pub is_dry_run: bool,
    /// Whether the user has agreed already.
    pub is_confirmed: bool,
    pub is_json: bool,
}

/// When a removal is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    Never,
    /// If nothing of what is recorded would be left.
    OfEverything,
    Always,
}

/// Removes what is wanted, and says what is gone and what is left.
///
/// # Errors
///
/// As [`plan`] and [`carry_out`]; also if it is refused, if words are still to be fetched, or if nobody can be asked.
pub(super) fn remove(repo: &Repository, wanted: &RemovalRequest) -> Result<Outcome> {
    let notes_ref = wanted.notes_ref.as_str();
    let is_received = matches!(wanted.target, Target::Received { .. });
    if !wanted.is_dry_run {
        // What waits, and what was fetched, may hold it too.
        cli::tell(repo, &capture::recorder(repo, notes_ref).finish());
        sync::join_fetched(repo, notes_ref)?;
    } else {
        open::warn_of_waiting(repo);
    }
    let mut progress = Progress::new(!wanted.is_json);
    let planned =
        preview(repo, notes_ref, &wanted.target, &mut |title, done, total| progress.tell(title, done, total))?;
    progress.end();
    for segment_id in &planned.unreadable {
        cli::warning(&format!("segment {segment_id} is damaged, and may have the words: it stays as it is"));
    }
    if !planned.unreadable.is_empty() {
        cli::hint(repo, "'git shiftlog fsck --repair' repairs what can be repaired; then run this again");
    }
    for session in &planned.unrecorded {
        let what = "has matches that are not recorded yet, and its next commit will have them";
        cli::warning(&format!("session {session} {what}; run this again after that commit"));
    }
    if is_received && !wanted.is_json {
        list(&planned)?;
    }
    if wanted.is_json && wanted.is_dry_run {
        print_json(plan_value(&planned, true))?;
    }
    if planned.is_empty() {
        let again = if wanted.is_dry_run { None } else { remove_fetched_again(repo, notes_ref)? };
        let finished = again.as_ref().or(wanted.finished.as_ref());
        if wanted.is_json && !wanted.is_dry_run {
            let nothing = Purged::default();
            print_json(result_value(&planned, finished.unwrap_or(&nothing)))?;
        }
        if let Some(finished) = finished {
            if !is_received && !wanted.is_json {
                cli::warning("nothing else that is recorded matches");
            }
            return Ok(if finished.is_complete() { Outcome::Done } else { Outcome::No });
        }
        let is_left_alone = !planned.received.is_empty();
        let error = Error::new(
            Kind::Missing,
            match is_received {
                true if is_left_alone => "others have removed something, and none of its marks is accepted",
                true => "others have removed nothing that is recorded here",
                false => "nothing that is recorded matches",
            },
        );
        let error = match captured_before(&wanted.target) {
            Some(before) => Error::new(Kind::Missing, format!("nothing was {before}")),
            None => error,
        };
        let error = match wanted.is_dry_run && sync::has_unjoined(repo, notes_ref) {
            true => error
                .hint("'git shiftlog sync pull' joins the notes that were fetched; a dry run does not look at them"),
            false => error,
        };
        let error = match is_left_alone {
            true => error.hint("git -c shiftlog.trustPurges=all shiftlog purge --received    # accepts these marks"),
            false => error,
        };
        // What is removed for good is named in full.
        let whole = match &wanted.target {
            Target::Session(id) => Reader::beside(repo, notes_ref).find_session(id).ok().flatten(),
            _ => None,
        };
        cli::error(&match whole {
            Some((key, _)) => error.hint(format!("the whole id is needed: --session={}", outside::shell(&key.id))),
            None => error,
        });
        return Ok(Outcome::No);
    }
    refuse_before_others(repo, &wanted.target, &planned)?;
    // The segments that a record follows are known only where they are.
    let may_come_back = planned.absent > 0 && may_be_fetched(repo);
    let is_refused = match wanted.refusal {
        Refusal::Never => false,
        Refusal::Always => true,
        Refusal::OfEverything => is_everything(repo, is_received, &planned)?,
    };
    if !wanted.is_json {
        // Nothing is removed before somebody has agreed.
        let before = captured_before(&wanted.target);
        tell(&planned, before, wanted.is_dry_run || is_refused || may_come_back || !wanted.is_confirmed)?;
    }
    if wanted.is_dry_run {
        if is_refused {
            cli::warning("this is everything that is recorded here: it is removed only with --all");
        }
        if may_come_back {
            cli::warning(&format!("{}; nothing is removed before they are", words_elsewhere(&planned)));
        }
        return Ok(Outcome::Done);
    }
    if is_refused {
        return Err(Error::other("refusing to remove everything that is recorded here")
            .hint("'git shiftlog purge --all' with the same options does it"));
    }
    if may_come_back {
        return Err(Error::other(words_elsewhere(&planned))
            .hint("'git shiftlog sync pull --all' fetches transcripts that others share"));
    }
    if !wanted.is_confirmed && !is_confirmed(&wanted.target)? {
        return Ok(Outcome::No);
    }
    // While somebody thought about it, a session may have gone on: look again, and let no hook in between.
    let (_exchanges, _lock) = (sync::lock_against_exchanges(repo)?, lock(repo)?);
    let unrecorded = planned.unrecorded;
    let mut planned = plan(repo, notes_ref, &wanted.target, &mut silent())?;
    planned.unrecorded = unrecorded;
    planned.signed = signed(repo, notes_ref, &planned.noted);
    let mut purged = carry_out(repo, notes_ref, &planned)?;
    if wanted.is_json {
        purged.objects += wanted.finished.as_ref().map_or(0, |finished| finished.objects);
    }
    report(repo, wanted, &planned, &purged)?;
    Ok(if purged.is_complete() && planned.unreadable.is_empty() { Outcome::Done } else { Outcome::No })
}

/// Says whether only marks with a trusted signature are accepted: `shiftlog.trustPurges`.
pub(super) fn only_signed(repo: &Repository) -> Result<bool> {
    match repo.config_string("shiftlog.trustPurges").as_deref() {
        None | Some("all") => Ok(false),
        Some("signed") => Ok(true),
        Some(other) => {
            Err(Error::other(format!("bad value '{other}' for shiftlog.trustPurges")).hint("it is 'all' or 'signed'"))
        }
    }
}

/// Refuses a purge of a part of a session of which others have purged words that are still here: what is left would be stored under
/// new ids, with these words, and no mark names those ids.
fn refuse_before_others(repo: &Repository, target: &Target, plan: &purge::Removal<'_>) -> Result<()> {
    if matches!(target, Target::Session(_) | Target::Received { .. }) {
        return Ok(());
    }
    let named = named_by_others(repo, only_signed(repo)?)?;
    match plan.sessions.intersection(&named).next() {
        None => Ok(()),
        Some(session) => Err(Error::other(format!(
            "others have removed words of session {session}, and this would store them again"
        ))
        .hint("'git shiftlog purge --received' removes them here, too; then run this again")),
    }
}

/// Returns the records of some commits that have a good signature, if records are signed here.
fn signed(repo: &Repository, notes_ref: &str, commit_ids: &[ObjectId]) -> HashSet<(ObjectId, SessionKey)> {
    if !repo.signs(notes_ref) {
        return HashSet::new();
    }
    let verified = verify(repo, notes_ref, commit_ids).unwrap_or_default().records;
    let (good, other): (Vec<_>, Vec<_>) = verified.iter().partition(|each| each.signature.state == Signed::Good);
    let keys = |verified: Vec<&Verified>| -> HashSet<(ObjectId, SessionKey)> {
        verified.into_iter().map(|each| (each.commit_id, each.key.clone())).collect()
    };
    &keys(good) - &keys(other)
}

/// Says of how many conversations words may still be fetched.
fn words_elsewhere(plan: &purge::Removal<'_>) -> String {
    format!("the words of {} are not here yet", count(plan.absent, "conversation"))
}

/// Says whether a plan leaves nothing of what is recorded.
fn is_everything(repo: &Repository, is_received: bool, plan: &purge::Removal<'_>) -> Result<bool> {
    let segments = Archive::new(repo).listing(archive::REF)?.len();
    // Words that follow the last commit of a session are on no commit: a selection of all commits does not name them. What
    // an earlier tool recorded has its words in the notes. What others have removed is listed by them.
    let is_every_note = plan.notes > 0 && plan.notes_left == 0 && !is_received;
    Ok(segments > 0 && plan.dropped == segments || is_every_note)
}

fn lock(repo: &Repository) -> Result<Lock> {
    State::new(&repo.common_dir()).lock(Instant::now() + LOCK_TIMEOUT)
}

/// Finishes a purge that was interrupted, and says so, before a command that stores or sends something.
///
/// # Errors
///
/// As [`carry_out`].
pub(super) fn finish_before(repo: &Repository, is_dry_run: bool) -> Result<()> {
    if is_unfinished(repo) {
        finish_first(repo, is_dry_run)?;
    }
    Ok(())
}

/// As [`finish_interrupted`]; a dry run only says that there is such a purge.
///
/// # Errors
///
/// As [`carry_out`].
pub(super) fn finish_first(repo: &Repository, is_dry_run: bool) -> Result<Option<Purged>> {
    if !is_dry_run {
        return finish_interrupted(repo);
    }
    if is_unfinished(repo) {
        cli::warning("a purge was interrupted; 'git shiftlog fsck' finishes it");
    }
    Ok(None)
}

/// Finishes a purge that was interrupted, and says so. Returns what has become of it; `None` if there was none.
///
/// # Errors
///
/// As [`carry_out`].
fn finish_interrupted(repo: &Repository) -> Result<Option<Purged>> {
    let (is_unfinished, finished) = {
        // One that is running holds the lock.
        let _lock = lock(repo)?;
        (is_unfinished(repo), purge::finish_interrupted(repo)?)
    };
    let Some(purged) = finished else { return Ok(None) };
    let gone = format!("{} gone from this repository", count(purged.objects, "object"));
    if is_unfinished {
        cli::warning(&format!("a purge was interrupted; it is finished now: {gone}"));
    } else if purged.objects > 0 {
        cli::warning(&format!("what an earlier purge had left is removed now: {gone}"));
    }
    tell_what_is_left(repo, &purged);
    tell_what_has_it(repo, &record::notes_ref(repo), &purged);
    Ok(Some(purged))
}

/// Removes what an earlier purge has removed and was fetched again since, and says so; `None` if there is nothing.
///
/// # Errors
///
/// As [`carry_out`].
pub(super) fn remove_fetched_again(repo: &Repository, notes_ref: &str) -> Result<Option<Purged>> {
    if !purge::is_fetched_again(repo)? {
        return Ok(None);
    }
    let (_exchanges, _lock) = (sync::lock_against_exchanges(repo)?, lock(repo)?);
    let Some(purged) = purge::remove_fetched_again(repo, notes_ref)? else { return Ok(None) };
    let gone = format!("{} gone from this repository", count(purged.objects, "object"));
    cli::warning(&format!("words that were purged had been fetched again, and are removed now: {gone}"));
    tell_what_is_left(repo, &purged);
    tell_what_has_it(repo, notes_ref, &purged);
    Ok(Some(purged))
}

/// Returns words that say which date is meant, if the target is one.
fn captured_before(target: &Target) -> Option<String> {
    let Target::Before(seconds) = *target else { return None };
    if seconds == i64::MAX {
        return Some("captured before now".into());
    }
    let (day, clock) = Format::LOCAL.day_and_clock(Time { seconds, offset: 0 });
    Some(format!("captured before {day} {clock}"))
}

/// Asks on the terminal; without one, somebody must have said so before.
fn is_confirmed(target: &Target) -> Result<bool> {
    let what = captured_before(target).map_or("it".into(), |before| format!("what was {before}"));
    let answer = cli::confirm(&format!("This cannot be undone. Remove {what}?"))?;
    answer.ok_or_else(|| Error::other("refusing to purge without a terminal; use --yes"))
}

fn report(repo: &Repository, wanted: &RemovalRequest, plan: &purge::Removal<'_>, purged: &Purged) -> Result<()> {
    if wanted.is_json {
        return print_json(result_value(plan, purged));
    }
    cli::print(&format!("{} gone from this repository\n", count(purged.objects, "object")))?;
    tell_what_is_left(repo, purged);
    if plan.has_texts {
        let what = "an instruction file or evidence had the words, too";
        cli::warning(&format!("{what}; remove them from the file as well, or they are stored again"));
    }
    tell_what_has_it(repo, &wanted.notes_ref, purged);
    Ok(())
}
