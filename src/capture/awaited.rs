//! The result of the tool call that made a commit: the agent writes it after the commit was recorded, into the transcript of the
//! session or of the sub-agent that made the call, or at the end of its session without any further hook.

use super::availability::{Availability, availability};
use super::increment::Increment;
use super::new_words::{archive_session, unrecorded, unrecorded_in};
use super::reading::{Extent, Survey};
use super::recorder::Recorder;
use super::sessions::save_changed;
use super::state::State;
use super::tracked::TrackedSession;
use crate::agent;
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::notes;
use crate::record::Note;
use crate::transcript::SessionKey;

/// How long a commit waits for a result that may be another process's, by its own time.
const UNSURE_SECS: i64 = 60 * 60;

/// Whether an awaited result can still be written. An agent may write it after the hooks for its tool and its turn have run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Patience {
    /// The result can still be written.
    Turn,
    /// The session has ended: if its transcript has results, the awaited one is among them; otherwise the agent has not
    /// written them yet.
    Session,
    /// The result is written by now, or never will be.
    Over,
}

/// Extends the record that waits for a tool result, if the transcript has that result now. Then returns the
/// words of the session since then, as [`unrecorded`] does, with the same `limit`.
///
/// `patience` says whether the result can still be written. If no result names the call or the commit, the first one
/// counts as soon as it cannot.
///
/// `has_next_commit` says that a further commit was made, which gets the words behind the result.
///
/// # Errors
///
/// If the transcript cannot be read.
pub(super) fn extend_awaited_record<'r>(
    recorder: &mut Recorder<'r>,
    live: &mut TrackedSession,
    patience: Patience,
    has_next_commit: bool,
    limit: Option<u64>,
) -> Result<Option<Increment<'r>>> {
    if live.awaited_result.as_ref().is_some_and(|awaited| awaited.is_of_sub_agent) {
        extend_record_of_sub_agent(recorder, live)?;
    }
    let increment = unrecorded(recorder, live, limit)?;
    let Some(awaited) = live.awaited_result.clone() else { return Ok(increment) };
    // An agent may write nothing before its commit: then all that led to it stands before the result.
    let commit_ids = awaited.commit_ids(recorder.repo);
    let mut has_record = false;
    for commit_id in &commit_ids {
        has_record |= self::has_record(recorder, *commit_id, &live.key())?;
    }
    // No words led to the commit: a person made it in a terminal that the agent had opened. The words of a sub-agent are in
    // another transcript.
    let first_time = increment.as_ref().and_then(|increment| increment.survey.tally.first_time);
    let is_later = awaited.time > 0 && first_time.is_some_and(|time| time > awaited.time);
    // The same shows a prompt that alone came later.
    let survey = increment.as_ref().map(|increment| &increment.survey);
    let is_next_prompt = patience != Patience::Turn && survey.is_some_and(Survey::is_prompt_alone);
    if !has_record && awaited.call.is_none() && (is_later || is_next_prompt) && !awaited.is_of_sub_agent {
        live.awaited_result = None;
        return Ok(increment);
    }
    // The words of the next turn belong to what follows.
    let end = survey.and_then(|survey| survey.open_prompt.or(Some(survey.until)));
    // Once there is a further prompt, the result is written or never will be, and the first one is another call's.
    let has_prompt = increment.as_ref().is_some_and(|increment| increment.survey.tally.turns > 0);
    let is_next_turn = has_prompt && has_record;
    let may_guess = patience != Patience::Turn && !is_next_turn && !awaited.is_of_sub_agent && !awaited.is_unsure;
    let guess = || {
        let increment = increment.as_ref().filter(|_| may_guess)?;
        match has_record {
            true => increment.survey.results.first().map(|result| result.end),
            false => end.filter(|_| !has_next_commit),
        }
    };
    let wanted = survey
        .filter(|_| !awaited.is_of_sub_agent)
        .and_then(|survey| survey.result_of(&awaited))
        .map(|result| result.end);
    let until = wanted.or_else(guess);
    // What was there when the session ended may lack the end.
    let is_all = wanted.is_some() || has_record;
    if until.is_some() && is_all || is_next_turn || patience == Patience::Over {
        live.awaited_result = None;
    }
    if until.is_some() && is_all {
        live.answered_commit = Some(awaited.commit.clone());
    }
    let Some(until) = until.filter(|_| !commit_ids.is_empty()) else { return Ok(increment) };
    let Some(mut increment) = increment else { return Ok(None) };
    // Archived text is not split again, so all of it goes with this commit. A rendered transcript is kept whole if
    // possible, because its last line is about the whole document.
    let is_whole = !has_next_commit && !is_next_turn && agent::named(&live.agent)?.is_rendered(&live.transcript);
    let until = if is_whole { end.unwrap_or(until) } else { until.max(increment.reading.kept()) };
    increment.commit_ids.extend(commit_ids);
    increment.end_at(until)?;
    // The increment begins where the existing record ends, so the two records are joined.
    recorder.record_increment(&mut increment, &mut live.progress);
    unrecorded(recorder, live, limit)
}

/// Says whether a commit has a record of a session.
///
/// # Errors
///
/// [`Kind::Busy`] if the notes ref is damaged: words wait until it is repaired. Another kind if the note cannot be read.
pub(super) fn has_record(recorder: &Recorder<'_>, commit_id: ObjectId, key: &SessionKey) -> Result<bool> {
    let (repo, notes_ref) = (recorder.repo, &recorder.notes_ref);
    let waits = |error: Error| Error::new(Kind::Busy, format!("'{notes_ref}' cannot be read now")).because(error);
    let Some(tip) = repo.tip(notes_ref).map_err(waits)? else { return Ok(false) };
    notes::blobs_at(repo, tip.tree_id, commit_id).map_err(waits)?;
    let note = notes::get_at(repo, tip.tree_id, commit_id)?;
    Ok(note.is_some_and(|note| Note::parse_unjoined(&note).has_session(key)))
}

/// Extends a sub-agent's record of a commit through the awaited result, if a sub-agent's transcript has it. Then the
/// session waits no longer.
///
/// # Errors
///
/// If a transcript cannot be read.
pub(super) fn extend_record_of_sub_agent(recorder: &mut Recorder<'_>, live: &mut TrackedSession) -> Result<()> {
    let Some(awaited) = live.awaited_result.clone() else { return Ok(()) };
    let commit_ids = awaited.commit_ids(recorder.repo);
    if commit_ids.is_empty() {
        return Ok(());
    }
    let agent = agent::named(&live.agent)?;
    for found in agent.sub_agents(&live.transcript) {
        let key = SessionKey::new(&live.agent, &found.session_id);
        let progress = live.sub_agents.entry(found.session_id).or_default();
        let increment = unrecorded_in(recorder, key, agent, &found.transcript, Extent::Complete, progress)?;
        let Some(mut increment) = increment else { continue };
        let Some(result) = increment.survey.result_of(&awaited) else { continue };
        let until = result.end.max(increment.reading.kept());
        increment.commit_ids.extend(commit_ids);
        if !agent.is_rendered(&found.transcript) {
            increment.end_at(until)?;
        }
        recorder.record_increment(&mut increment, progress);
        live.awaited_result = None;
        live.answered_commit = Some(awaited.commit);
        return Ok(());
    }
    Ok(())
}

/// Says whether the last commit of a session waits for words, and no hook will tell that the agent has written them.
pub fn awaits_words(state: &State) -> bool {
    state.sessions().iter().any(is_awaiting)
}

fn is_awaiting(live: &TrackedSession) -> bool {
    let is_gone = || live.process.is_some_and(|process| !process.is_alive());
    let is_there =
        || agent::find(&live.agent).is_some_and(|agent| availability(agent, &live.transcript) == Availability::Present);
    live.awaited_result.is_some() && (live.is_over || !live.is_reported_by_hooks() || is_gone()) && is_there()
}

/// Records what sessions have written about their last commits after their last hooks, or without any hook.
///
/// # Errors
///
/// If our own state cannot be written.
pub(super) fn record_awaited_results(recorder: &mut Recorder<'_>) -> Result<()> {
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    for live in sessions.iter_mut().filter(|live| is_awaiting(live)) {
        if recorder.must_wait(&live.key()) {
            continue;
        }
        // A process that has ended proves nothing: it may have been a shell of the agent's.
        let patience = if live.is_over { Patience::Session } else { Patience::Turn };
        let extended = extend_awaited_record(recorder, live, patience, false, None);
        let extended = extended.and_then(|_| extend_record_of_sub_agent(recorder, live));
        if live.awaited_result.as_ref().is_some_and(|awaited| awaited.is_unsure && is_old(recorder, &awaited.commit)) {
            live.awaited_result = None;
        }
        let archived = extended.and_then(|()| if live.is_over { archive_session(recorder, live) } else { Ok(()) });
        if let Err(error) = archived {
            recorder.state.log(&format!("warning: {}: {error}", live.key()));
        }
    }
    save_changed(recorder, &before, &sessions)
}

/// Says whether a commit is too old to wait for a result that may never come.
fn is_old(recorder: &Recorder<'_>, commit: &str) -> bool {
    let commit = recorder.repo.parse_id(commit).and_then(|commit_id| recorder.repo.commit(commit_id).ok());
    commit.is_none_or(|commit| commit.committer.time.seconds < Time::now().seconds - UNSURE_SECS)
}
