//! Recording a session on commits that it made before its transcript was written.

use super::choose::kind_of_entry;
use super::new_words::{record_sub_agents, unrecorded};
use super::recorder::Recorder;
use super::tracked::TrackedSession;
use crate::agent;
use crate::error::Result;
use crate::git::{ObjectId, ReflogEntry};
use crate::notes;

/// How many moves of HEAD are looked at for commits that a session made before its transcript was written.
const MAX_MOVES: usize = 50;

/// Records a session on the commits before HEAD that it made before its transcript was written, as some agents do after
/// their answer. These are the commits without a note whose ids are in results of Git commands.
///
/// # Errors
///
/// If the transcript, the reflog's commits or the notes cannot be read.
pub(super) fn record_late(recorder: &mut Recorder<'_>, live: &mut TrackedSession) -> Result<()> {
    if live.progress.stored.segment.is_some() || live.awaited_result.is_some() || recorder.must_wait(&live.key()) {
        return Ok(());
    }
    let mut moves = recorder.repo.head_reflog(MAX_MOVES);
    moves.reverse();
    let last = recorder.repo.head()?.commit_id;
    let is_made = |entry: &&ReflogEntry| Some(entry.new_id) != last && kind_of_entry(recorder.repo, entry).is_some();
    let made = moves.iter().filter(is_made);
    let made: Vec<ObjectId> = made.map(|entry| entry.new_id).collect();
    record_on_named_commits(recorder, live, &made, true)
}

/// Records a session on commits, oldest first, that have no note and whose ids are in the results of the calls that made
/// them. Commits that were made by one command get the same record, since that command has one result.
///
/// `has_next_commit` says that a further commit was made, which gets the words behind the last result.
///
/// # Errors
///
/// If the transcript, the commits or the notes cannot be read.
pub(super) fn record_on_named_commits(
    recorder: &mut Recorder<'_>,
    live: &mut TrackedSession,
    commit_ids: &[ObjectId],
    has_next_commit: bool,
) -> Result<()> {
    let is_rendered = agent::named(&live.agent)?.is_rendered(&live.transcript);
    while let Some(mut increment) = unrecorded(recorder, live, None)? {
        // What a session read of older commits may look like what Git prints of a new one.
        let begun = increment.survey.tally.first_time.unwrap_or(i64::MIN);
        let mut named = Vec::new();
        for commit_id in commit_ids {
            let is_new = recorder.repo.commit(*commit_id).is_ok_and(|made| made.committer.time.seconds >= begun);
            let hex = commit_id.to_string();
            let result = increment.survey.results.iter().find(|result| result.tells_of_making(&hex));
            if let Some(result) = result.filter(|_| is_new)
                && notes::get(recorder.repo, &recorder.notes_ref, *commit_id)?.is_none()
            {
                named.push((result.end, *commit_id));
            }
        }
        let Some(first) = named.iter().map(|(end, _)| *end).min() else { return Ok(()) };
        let of_first = named.iter().filter(|(end, _)| *end == first).map(|(_, commit_id)| *commit_id);
        increment.commit_ids.extend(of_first);
        // The last line of a rendered transcript is about the whole document.
        let is_whole = is_rendered && !has_next_commit && increment.commit_ids.len() == named.len();
        let until = if is_whole { increment.until } else { first.max(increment.reading.kept()) };
        increment.end_at(until)?;
        let (last, before) = (increment.commit_ids.last().copied(), live.progress.recorded.clone());
        recorder.record_increment(&mut increment, &mut live.progress);
        record_sub_agents(recorder, last, live)?;
        // What could not be stored waits in a pending file.
        if is_whole || live.progress.recorded == before {
            return Ok(());
        }
    }
    Ok(())
}
