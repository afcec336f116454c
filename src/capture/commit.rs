//! A commit was made: which sessions led to it, and recording them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::availability::{Availability, availability};
use super::awaited::{Patience, extend_awaited_record, has_record};
use super::carry;
use super::choose::{self, Candidate, CommitFacts, CommitKind, kind_of_entry, kind_of_move};
use super::increment::Increment;
use super::late::record_late;
use super::left_edits::{self, carry_left_edits};
use super::new_commit::NewCommit;
use super::new_words::record_sub_agents;
use super::pending::{self, Pending, PendingCommit};
use super::put_aside::with_pending_hint;
use super::recorder::Recorder;
use super::same_call::{led_to, record_again, words_of};
use super::sessions::{
    KEEP_SECS, close_abandoned, find_runners, named_by_environment, recent_unreported, save_changed,
};
use super::state::State;
use super::taken_back::carry_taken_back;
use super::told;
use super::tracked::{AwaitedResult, TrackedSession};
use crate::agent;
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Commit, Location, ObjectId, ReflogEntry, Repository, last_move, was_reset_lately};
use crate::transcript::SessionKey;

/// Says, without opening the repository, whether a commit has nothing to record.
pub fn is_idle(location: &Location) -> bool {
    let state = State::new(&location.common_dir);
    state.is_idle()
        && !carry::may_have_sources(location)
        && !was_reset_lately(location)
        && !agent::all().any(|agent| agent.session_of_environment().is_some())
        && recent_unreported(&state, location.worktree.as_deref(), &[]).is_empty()
        && !crate::capture::agents::may_be_defined(location)
}

/// Returns how the commit at HEAD was made; `None` if rewriting history made it.
fn kind_of_head(repo: &Repository, commit: &Commit, last_move: Option<&ReflogEntry>) -> Option<CommitKind> {
    match last_move {
        _ if repo.is_mid_operation() => None,
        Some(last_move) => kind_of_entry(repo, last_move),
        None => Some(if commit.parent_ids.len() < 2 { CommitKind::Plain } else { CommitKind::Merge }),
    }
}

/// Returns the commit at HEAD and the reflog entry of the move to it, if the reflog has it.
fn head_of(repo: &Repository) -> Result<Option<(Commit, Option<ReflogEntry>)>> {
    let Some(commit_id) = repo.head()?.commit_id else { return Ok(None) };
    let last_move = repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id);
    Ok(Some((repo.commit(commit_id)?, last_move)))
}

/// Leaves the commit at HEAD to the after-tool hook of the session that made it, if that hook will run. Returns whether
/// it will.
///
/// That hook also sees the result of the tool call, so the commit is recorded once. If it does not run, the next command
/// or hook records the commit. The repository is not opened, since that would take most of the time.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn leave_to_agent(location: &Location) -> Result<bool> {
    let state = State::new(&location.common_dir);
    let sessions = state.sessions();
    let runners = find_runners(&sessions, location.worktree.as_deref());
    let has_tool_hooks = |key: &SessionKey| sessions.iter().any(|live| live.key() == *key && live.has_tool_hooks);
    if runners.is_empty() || !runners.iter().all(has_tool_hooks) {
        return Ok(false);
    }
    // Without a reflog the repository must be opened to know what HEAD names.
    let Some(last_move) = last_move(location) else { return Ok(false) };
    let kind = kind_of_move(&last_move).filter(|_| !location.is_mid_operation());
    // The commit itself says what it is where its entry does not.
    if kind.is_none() && last_move.is_unknown() && !location.is_mid_operation() {
        return Ok(false);
    }
    if let Some(kind) = kind {
        let made = NewCommit::made_in(location.worktree.clone(), runners);
        let new_commit = NewCommit { commit_ids: vec![last_move.new_id], kind, ..made };
        keep_commit(&state, &new_commit, &sessions, &[])?;
    }
    Ok(true)
}

/// Returns the present length of each session's transcript in bytes, by the session's name.
fn transcript_bytes(sessions: &[TrackedSession]) -> BTreeMap<String, u64> {
    let length = |live: &TrackedSession| {
        let file = live.transcript.metadata().ok().filter(std::fs::Metadata::is_file);
        file.map_or(u64::MAX, |file| file.len())
    };
    sessions.iter().map(|live| (live.key().to_string(), length(live))).collect()
}

/// Writes a pending file for a commit and the sessions to examine, and returns its path. `unreported` are those of the
/// sessions that our state does not know.
pub(super) fn keep_commit(
    state: &State,
    new_commit: &NewCommit,
    sessions: &[TrackedSession],
    unreported: &[TrackedSession],
) -> Result<PathBuf> {
    let Some((commit_id, rewritten)) = new_commit.commit_ids.split_first() else {
        return Err(Error::other("there is no commit to keep"));
    };
    let pending = PendingCommit {
        shiftlog: 1,
        commit: commit_id.to_string(),
        rewritten: rewritten.iter().map(ToString::to_string).collect(),
        time: new_commit.time,
        runners: new_commit.runners.iter().map(ToString::to_string).collect(),
        transcript_bytes: transcript_bytes(sessions),
        kind: new_commit.kind,
        worktree: new_commit.worktree.clone(),
        unreported: unreported.to_vec(),
    };
    pending::keep(state, &Pending::Commit(pending), b"")
}

/// Records the commit at HEAD, which was just made: carries records of the commits that it was made of, and records the
/// live sessions that belong to it.
///
/// # Errors
///
/// If the repository cannot be read. A session that fails is a warning.
pub fn after_commit(recorder: &mut Recorder<'_>) -> Result<()> {
    let Some((commit, last_move)) = head_of(recorder.repo)? else { return Ok(()) };
    let is_squash = carry::carry_at_once(recorder, &commit, last_move.as_ref()).unwrap_or_else(|error| {
        recorder.warn(error);
        false
    });
    match kind_of_head(recorder.repo, &commit, last_move.as_ref()) {
        Some(CommitKind::Plain) if is_squash => record_live_sessions(recorder, commit.commit_id, CommitKind::Squash)?,
        Some(kind) => record_live_sessions(recorder, commit.commit_id, kind)?,
        None => {
            recorder.state.log(&format!("no session recorded on {}: it rewrites older commits", commit.commit_id));
        }
    }
    carry_taken_back(recorder, &[commit.commit_id])
}

/// Records the merge at HEAD, if Git has just made one without running `post-commit`.
///
/// # Errors
///
/// As [`after_commit`].
pub fn after_merge(recorder: &mut Recorder<'_>) -> Result<()> {
    match merge_at_head(recorder.repo) {
        Some(commit_id) => record_live_sessions(recorder, commit_id, CommitKind::Merge),
        None => Ok(()),
    }
}

/// Records the live sessions that belong to a commit that was just made.
///
/// A pending file is written first, so that the next hook or command records the commit if this process is killed.
fn record_live_sessions(recorder: &mut Recorder<'_>, commit_id: ObjectId, kind: CommitKind) -> Result<()> {
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    sessions.extend(recent_unreported(&recorder.state, recorder.repo.worktree(), &sessions));
    sessions.extend(named_by_environment(&recorder.state, recorder.repo.worktree(), &sessions));
    let hindrance = recorder.hindrance();
    if sessions.is_empty() && hindrance.as_ref().is_none_or(|error| error.kind() == Kind::Busy) {
        return Ok(());
    }
    let runners = find_runners(&sessions, recorder.repo.worktree());
    let new_commit = NewCommit { commit_ids: vec![commit_id], kind, ..NewCommit::made_here(recorder.repo, runners) };
    let path = keep_commit(&recorder.state, &new_commit, &sessions, &sessions[before.len()..])?;
    if let Some(error) = hindrance {
        recorder.warn(with_pending_hint(error, &path));
        return Ok(());
    }
    crate::git::fault_point("left");
    for live in &mut sessions[before.len()..] {
        if let Err(error) = record_late(recorder, live) {
            recorder.state.log(&format!("warning: {}: {error}", live.key()));
        }
    }
    recorder.begin(Some(path.clone()));
    let outcome = record_commit(recorder, &new_commit, &mut sessions);
    recorder.place = None;
    // Abandoned sessions are usually closed when another session starts, but agents without hooks never report a start.
    close_abandoned(recorder, &mut sessions, None);
    // Also after a failure: a session that was recorded before it would otherwise be recorded twice.
    save_changed(recorder, &before, &sessions)?;
    match outcome {
        Err(error) if error.kind() == Kind::Busy => pending::keep_sessions(&path, &recorder.waiting),
        // The pending file stays, for another attempt.
        Err(error) if error.kind() == Kind::Storage => Err(error),
        outcome => {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
            let is_recorded = |live: &TrackedSession| recorder.report.recorded.contains(&(commit_id, live.key()));
            if !sessions.iter().all(is_recorded) {
                recorder.state.mark_examined(commit_id)?;
            }
            outcome
        }
    }
}

/// Records on a commit those of `sessions` that belong to it, and their sub-agents. A session that ran the commit and
/// whose transcript lacks the tool call's result yet is left to wait for that result.
///
/// # Errors
///
/// [`Kind::Busy`] if the transcript of a session could not be read within the deadline, or its words could not be
/// kept; the other sessions are recorded.
pub(super) fn record_commit(
    recorder: &mut Recorder<'_>,
    new_commit: &NewCommit,
    sessions: &mut [TrackedSession],
) -> Result<()> {
    let Some(commit_id) = new_commit.commit_ids.first().copied() else { return Ok(()) };
    let commit = recorder.repo.commit(commit_id)?;
    let kind = if commit.parent_ids.len() > 1 { CommitKind::Merge } else { new_commit.kind };
    if kind == CommitKind::Merge && new_commit.runners.is_empty() {
        recorder.state.log(&format!("no session recorded on {commit_id}: no session made this merge"));
        return Ok(());
    }
    if let Some(parent_id) = commit.parent_ids.first()
        && let Err(error) = recorder.take_over_records(*parent_id, sessions)
    {
        recorder.state.log(&format!("warning: {error}"));
    }
    let awaited: Vec<_> = sessions.iter().map(|live| live.awaited_result.clone()).collect();
    let (increments, mut outcome) = unrecorded_increments(recorder, new_commit, sessions);
    let same_call = record_same_call(recorder, new_commit, &commit, sessions, &increments, awaited);
    let chosen = choose_sessions(recorder, new_commit, &commit, kind, sessions, &increments);
    let (call_id, hex) = (new_commit.call_id.as_deref(), commit_id.to_string());
    for (index, (live, increment)) in sessions.iter_mut().zip(increments).enumerate() {
        let (mut has_result, mut committing_call) = (false, same_call.get(&live.key()).cloned().flatten());
        if let Some(mut increment) = increment.filter(|_| chosen.contains(&index)) {
            increment.commit_ids.extend(&new_commit.commit_ids);
            has_result = increment.survey.results.iter().any(|result| Some(&*result.call_id) == call_id);
            increment.rules = told::told(recorder, live, &increment, new_commit.time);
            recorder.record_increment(&mut increment, &mut live.progress);
            if recorder.waiting.contains(&live.key().to_string()) {
                outcome = Err(Error::new(Kind::Busy, format!("{} could not be kept", live.key())));
            }
            let edited = &increment.survey.tally.edited_paths;
            if let Err(error) = left_edits::remember(recorder, live, new_commit.worktree.as_deref(), commit_id, edited)
            {
                recorder.state.log(&format!("warning: {}: {error}", live.key()));
            }
            record_sub_agents(recorder, Some(commit_id), live)?;
            if increment.survey.has_words() {
                live.last_words = Some(words_of(recorder, &live.key(), commit_id, &increment));
            }
            // The next words follow this commit, not an earlier one.
            live.awaited_result = None;
            let is_answered = || increment.survey.results.iter().any(|result| result.tells_of_making(&hex));
            committing_call = increment.survey.committing_call().map(str::to_owned).or(committing_call);
            if !live.is_reported_by_hooks() && !is_answered() {
                live.awaited_result = new_commit.awaited(committing_call.clone(), true);
            }
        }
        if has_result {
            live.answered_commit = Some(hex.clone());
        }
        // A commit may be looked at again because another session had to wait.
        let is_answered = live.answered_commit.as_ref() == Some(&hex);
        // Of a session that must wait, the result is awaited once the commit is recorded.
        if new_commit.runners.contains(&live.key()) && !is_answered && !recorder.must_wait(&live.key()) {
            // Where no hook of the agent runs, the transcript may tell which call it is.
            live.awaited_result = new_commit.awaited(call_id.map(str::to_owned).or(committing_call), false);
        }
        warn_of_left_out(recorder, live);
    }
    if kind == CommitKind::Plain
        && let Err(error) = carry_left_edits(recorder, &commit, new_commit.worktree.as_deref(), sessions)
    {
        recorder.warn(error);
    }
    outcome
}

/// Records on a commit the last words of those sessions that made it by the same call as an earlier commit. Returns these
/// sessions, each with the id of that call if it is known.
fn record_same_call(
    recorder: &mut Recorder<'_>,
    new_commit: &NewCommit,
    commit: &Commit,
    sessions: &[TrackedSession],
    increments: &[Option<Increment<'_>>],
    awaited: Vec<Option<AwaitedResult>>,
) -> BTreeMap<SessionKey, Option<String>> {
    let mut same_call = BTreeMap::new();
    for ((live, increment), awaited) in sessions.iter().zip(increments).zip(awaited) {
        let Some(words) = &live.last_words else { continue };
        if recorder.must_wait(&live.key()) || !led_to(recorder.repo, live, words, new_commit, commit, awaited.as_ref())
        {
            continue;
        }
        match record_again(recorder, live, words, commit.commit_id, increment.as_ref()) {
            Ok(true) => drop(same_call.insert(live.key(), awaited.and_then(|awaited| awaited.call))),
            Ok(false) => {}
            Err(error) => recorder.warn(error),
        }
    }
    same_call
}

/// Warns, once for each transcript, if a part of a session or of its sub-agents is not recorded.
fn warn_of_left_out(recorder: &mut Recorder<'_>, live: &mut TrackedSession) {
    let name = |id: &String| SessionKey::new(&live.agent, id);
    let sub_agents = live.sub_agents.iter_mut().map(|(id, progress)| (name(id), progress));
    let own = (name(&live.session), &mut live.progress);
    for (key, progress) in std::iter::once(own).chain(sub_agents) {
        if let Some(left_out) = progress.left_out.as_mut().filter(|left_out| !left_out.is_warned) {
            left_out.is_warned = true;
            let what = format!("the transcript of {key} is not recorded to its end");
            recorder.warn(Error::new(Kind::Unsupported, what).because(left_out.why.clone()));
        }
    }
}

/// Completes the records of earlier commits with results that came late, then reads the words of each session since it was
/// last recorded, up to the moment of the commit: one entry for each session, `None` if there are no new words or the
/// transcript cannot be read now. Also returns [`Kind::Busy`] if a session must
/// wait: for time, or for a transcript that cannot be read at the moment, as long as the session's state is kept.
fn unrecorded_increments<'r>(
    recorder: &mut Recorder<'r>,
    new_commit: &NewCommit,
    sessions: &mut [TrackedSession],
) -> (Vec<Option<Increment<'r>>>, Result<()>) {
    let is_recent = new_commit.time > Time::now().seconds - KEEP_SECS;
    let mut increments = Vec::new();
    let mut outcome = Ok(());
    for live in sessions.iter_mut() {
        let name = live.key().to_string();
        let limit = new_commit.transcript_bytes.as_ref().map(|lengths| lengths.get(&name).copied());
        let has_begun_later = limit == Some(None);
        if has_begun_later {
            increments.push(None);
            continue;
        }
        if recorder.must_wait(&live.key()) {
            // Its earlier words are not stored yet, and storing them would use up the time of the other sessions. The
            // pending file of the commit says how far its words go, so they are not kept once more for each commit.
            outcome = Err(Error::new(Kind::Busy, format!("{name} waits for an earlier capture")));
            increments.push(None);
            continue;
        }
        // If the same session ran an earlier commit and this one, the earlier result comes first.
        let has_run_it = new_commit.runners.contains(&live.key());
        let patience = if has_run_it { Patience::Over } else { Patience::Turn };
        // The length of a document at the commit says nothing about its lines, but whether it has been written since.
        let length = || live.transcript.metadata().map_or(u64::MAX, |file| file.len());
        let is_written_since = limit.flatten().is_some_and(|noted| noted != u64::MAX && noted != length());
        let is_cut = is_written_since && new_commit.call_id.is_none() && live.is_rendered();
        let increment = extend_awaited_record(recorder, live, patience, true, limit.flatten());
        let increment = increment.and_then(|increment| match increment {
            Some(increment) if is_cut => increment.before_open_prompt(),
            increment => Ok(increment),
        });
        increments.push(increment.unwrap_or_else(|error| {
            recorder.state.log(&format!("warning: {name}: {error}"));
            // A missing file, or one that is not a transcript, is not waited for.
            let had_words = limit.flatten().is_some_and(|length| length > 0);
            let is_away = || {
                let agent = agent::find(&live.agent);
                agent.is_some_and(|agent| availability(agent, &live.transcript) == Availability::Unreachable)
            };
            let is_away = error.kind() == Kind::Missing && had_words && is_away();
            let may_pass = (matches!(error.kind(), Kind::Other | Kind::Storage) || is_away) && is_recent;
            if error.kind() == Kind::Busy || may_pass {
                recorder.waiting.insert(name);
                outcome = Err(Error::new(Kind::Busy, "a transcript cannot be read now").because(error));
            } else if error.kind() == Kind::Missing && had_words {
                recorder.warn(was_deleted(&name));
            }
            None
        }));
    }
    (increments, outcome)
}

/// The warning that a transcript was deleted before it was stored.
pub(super) fn was_deleted(session: &str) -> Error {
    Error::other(format!("the transcript of {session} was deleted before it could be stored"))
}

/// Returns the positions in `sessions` of those that belong to the commit; see [`choose::choose`].
fn choose_sessions(
    recorder: &Recorder<'_>,
    new_commit: &NewCommit,
    commit: &Commit,
    kind: CommitKind,
    sessions: &[TrackedSession],
    increments: &[Option<Increment<'_>>],
) -> Vec<usize> {
    let has_run_it = |increment: &Increment<'_>| new_commit.runners.contains(&increment.key);
    let parent = commit.parent_ids.first().and_then(|parent| recorder.repo.commit(*parent).ok());
    let mut facts = CommitFacts {
        kind,
        paths: Vec::new(),
        parent_time: parent.map_or(i64::MIN, |parent| parent.committer.time.seconds),
        worktree: new_commit.worktree.clone(),
        is_runner_recorded: is_runner_recorded(recorder, new_commit),
    };
    // Changed paths matter only for sessions that did not run the commit.
    if increments.iter().flatten().any(|increment| !has_run_it(increment)) {
        // A partial clone may lack a tree; then the choice is made without paths.
        facts.paths = recorder.repo.changed_paths(commit).unwrap_or_else(|error| {
            recorder.state.log(&format!("warning: {error}"));
            Vec::new()
        });
    }
    let mut positions = Vec::new();
    let mut candidates = Vec::new();
    for (index, (live, increment)) in sessions.iter().zip(increments).enumerate() {
        let Some(increment) = increment else { continue };
        positions.push(index);
        candidates.push(Candidate {
            has_run_it: has_run_it(increment),
            is_in_worktree: live.worktree == new_commit.worktree,
            tally: &increment.survey.tally,
        });
    }
    choose::choose(&facts, &candidates).into_iter().map(|chosen| positions[chosen]).collect()
}

/// Says whether a session that ran the commit was recorded when others had to wait. It is not in the pending file then, or,
/// if its own hook recorded it meanwhile, the commit has its record.
fn is_runner_recorded(recorder: &Recorder<'_>, new_commit: &NewCommit) -> bool {
    let Some(waiting) = &new_commit.transcript_bytes else { return false };
    let has_record = |runner: &SessionKey| {
        new_commit.commit_ids.iter().any(|commit_id| has_record(recorder, *commit_id, runner).unwrap_or(false))
    };
    new_commit.runners.iter().any(|runner| !waiting.contains_key(&runner.to_string()) || has_record(runner))
}

/// Returns the merge at HEAD, if Git has just made it without asking for a message: then `post-merge` is the only hook
/// that runs.
pub fn merge_at_head(repo: &Repository) -> Option<ObjectId> {
    let commit_id = repo.head().ok()?.commit_id?;
    let last_move = repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id)?;
    (last_move.is_merge() && !repo.is_rebasing()).then_some(commit_id)
}
