//! The hooks of agents: a session starts or ends, a turn ends, a tool call has ended.

use std::path::PathBuf;

use bstr::ByteSlice as _;

use super::awaited::{Patience, extend_awaited_record, extend_record_of_sub_agent, has_record};
use super::choose::{CommitKind, kind_of_entry};
use super::commit::{keep_commit, record_commit};
use super::new_commit::{NewCommit, OfCall};
use super::new_words::archive_session;
use super::pending::{self, PendingCommit};
use super::process;
use super::recorder::Recorder;
use super::rewritten;
use super::same_call::MAX_CALL_SECS;
use super::sessions::{KEEP_SECS, close_abandoned, new_live, save_changed};
use super::taken_back::carry_taken_back;
use super::tool_call::{AtStop, CallCommit, ToolCall};
use super::tracked::TrackedSession;
use crate::agent::{self, Agent, Event, Payload};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, ReflogEntry, Repository};
use crate::notes;
use crate::record::Note;
use crate::transcript::SessionKey;

/// How many moves of HEAD are read after one tool call.
const MAX_MOVES: usize = 200;

/// Handles one hook of an agent: updates the state of the session, and records commits that it has made.
///
/// # Errors
///
/// If the repository or our own state cannot be read or written.
pub fn agent_event(recorder: &mut Recorder<'_>, agent: &dyn Agent, name: &str, payload: &Payload) -> Result<()> {
    let Some(session_id) = payload.session_id() else {
        recorder.state.log(&format!("{} {name}: the payload names no session", agent.name()));
        return Ok(());
    };
    let key = SessionKey::new(agent.name(), session_id);
    let event = Event::of(payload.event().unwrap_or(name));
    // Without our lock no state may be changed. The next hook of the session will see the same moves of HEAD.
    if recorder.hindrance().is_some() {
        return if event == Event::AfterTool { keep_commits_of_call(recorder, &key, payload) } else { Ok(()) };
    }
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    let position = sessions.iter().position(|live| live.key() == key).unwrap_or_else(|| {
        sessions.push(recorder.state.session(&key).unwrap_or_else(|| new_live(&key, PathBuf::new())));
        sessions.len() - 1
    });
    update_from_payload(recorder, &mut sessions[position], agent, payload);
    // Not every agent has a hook for a session that is resumed.
    sessions[position].is_over = false;
    sessions[position].has_tool_hooks |= event == Event::AfterTool;
    if event == Event::SessionStart {
        close_abandoned(recorder, &mut sessions, Some(position));
        recorder.state.forget_settled(Time::now().seconds - KEEP_SECS);
    }
    let moves = moves_of_head(recorder, &mut sessions[position]);
    let amends = rewritten::amends(recorder.repo, &moves);
    rewritten::follow(&mut sessions, &amends);
    // Before the call is recorded: an amend is carried only while its new commit has no note, and recording writes one.
    let amends = rewritten::without_carried(recorder, amends);
    if event == Event::AfterTool
        && let Err(error) = after_tool(recorder, &mut sessions, position, &moves, payload)
    {
        recorder.warn(error);
    }
    if let Err(error) = amends.and_then(|amends| rewritten::after_rewrite(recorder, "amend", &amends)) {
        recorder.warn(error);
    }
    let made: Vec<ObjectId> = moves.iter().filter(|entry| entry.is_new_work()).map(|entry| entry.new_id).collect();
    if let Err(error) = carry_taken_back(recorder, &made) {
        recorder.warn(error);
    }
    let live = &mut sessions[position];
    let has_call = live.awaited_result.as_ref().is_some_and(|awaited| awaited.call.is_some());
    let patience = match event {
        Event::SessionStart => Patience::Over,
        // A document or a database is written whole, or while the session runs; a file of lines may be written late.
        Event::SessionEnd if agent.is_rendered(&live.transcript) => Patience::Over,
        Event::SessionEnd => Patience::Session,
        Event::Alive if !has_call => Patience::Session,
        Event::AfterTool | Event::Alive => Patience::Turn,
    };
    // What waits behind an earlier capture is recorded with its own commit.
    let may_extend = !recorder.must_wait(&key);
    if may_extend
        && live.awaited_result.is_some()
        && let Err(error) = extend_awaited_record(recorder, live, patience, false, None)
    {
        recorder.warn(error);
    }
    if may_extend
        && live.awaited_result.is_some()
        && let Err(error) = extend_record_of_sub_agent(recorder, live)
    {
        recorder.warn(error);
    }
    if event == Event::SessionEnd {
        live.is_over = true;
        if let Err(error) = archive_session(recorder, live) {
            recorder.warn(error);
        }
    }
    crate::git::fault_point("settled");
    save_changed(recorder, &before, &sessions)
}

/// Updates the state of a session from the payload of its hook.
fn update_from_payload(recorder: &Recorder<'_>, live: &mut TrackedSession, agent: &dyn Agent, payload: &Payload) {
    live.seen = Time::now().seconds;
    let directory = payload.directory();
    // A hook of a sub-agent names the session, but may tell its own model and transcript.
    let is_of_session = payload.sub_agent().is_none();
    live.model = payload.model().filter(|_| is_of_session).map(str::to_owned).or_else(|| live.model.take());
    if let Some(transcript) = payload.transcript().filter(|_| is_of_session) {
        live.transcript = agent.fullest(transcript, &live.session);
    } else if live.transcript.as_os_str().is_empty()
        && let Some(found) = directory.as_deref().and_then(|directory| agent.transcript(&live.session, directory))
    {
        live.transcript = found;
    }
    let worktree = recorder.repo.worktree().map(std::path::Path::to_owned);
    if worktree.is_some() && live.worktree != worktree {
        (live.worktree, live.head) = (worktree, None);
    }
    if is_of_session && directory.is_some() {
        live.directory = directory.filter(|directory| Some(directory) != live.worktree.as_ref());
    }
    live.process = process::caller().or(live.process);
}

/// Returns the moves of HEAD since the session's last hook, oldest first, and remembers where HEAD is now.
///
/// Returns none if the earlier place of HEAD is unknown (the session's first hook, or a change of worktree): other
/// processes made the moves in the reflog.
fn moves_of_head(recorder: &Recorder<'_>, live: &mut TrackedSession) -> Vec<ReflogEntry> {
    // On an unborn branch HEAD is remembered as an empty string.
    let head = recorder.repo.head().ok().and_then(|head| head.commit_id).map(|id| id.to_string()).unwrap_or_default();
    let Some(before) = live.head.replace(head.clone()).filter(|before| *before != head) else { return Vec::new() };
    let log = recorder.repo.head_reflog(MAX_MOVES);
    let before_id = recorder.repo.parse_id(&before).unwrap_or_else(|| recorder.repo.null_id());
    let Some(last) = log.iter().position(|entry| entry.old_id == before_id) else { return Vec::new() };
    log.into_iter().take(last + 1).rev().collect()
}

/// Records the commits that a tool call made, unless `post-commit` has recorded them, and makes the session wait for the
/// call's result in its transcript.
///
/// Commits that `post-commit` left for this session are recorded oldest first, in all worktrees. A
/// commit of another call that is still running waits for the hook of that call, unless a later commit is recorded now.
fn after_tool(
    recorder: &mut Recorder<'_>,
    sessions: &mut [TrackedSession],
    position: usize,
    moves: &[ReflogEntry],
    payload: &Payload,
) -> Result<()> {
    let call = ToolCall::new(recorder.repo, sessions, position, payload)?;
    let (commits, has_pending) = commits_of_call(recorder, &call.key, moves);
    let is_known_to_git_hooks = agent::find(&call.key.agent).is_some_and(|agent| !agent.variables().is_empty());
    // A call of the session that ended before the sub-agent's hook ran may have been taken for the one that committed.
    if call.is_of_sub_agent()
        && let Some(awaited) = sessions[position].awaited_result.as_mut()
        && payload.response_mentions(awaited.commit.get(..7).unwrap_or(&awaited.commit))
    {
        (awaited.call, awaited.is_of_sub_agent) = (call.call_id(), true);
    } else if call.is_of_sub_agent()
        && let Some(head) = call.head.filter(|head| call.names(*head))
        && has_record(recorder, head, &call.key)?
    {
        sessions[position].awaited_result = Some(call.awaited(head, None));
    }
    let last = commits.iter().rposition(|commit| call.may_have_made(commit));
    let noted_of = |commit: &CallCommit| commit.pending.as_ref().map(|(_, pending)| noted_length(pending, &call.key));
    let last_noted = last.and_then(|last| noted_of(&commits[last]));
    let mut undone = Vec::new();
    let mut earlier: Vec<(ObjectId, Option<Noted>)> = Vec::new();
    for (index, commit) in commits.into_iter().enumerate() {
        let is_last = last == Some(index);
        let hex = commit.commit_id.to_string();
        if let Some(awaited) = sessions[position].awaited_result.as_mut().filter(|awaited| awaited.commit == hex) {
            // The result of this call belongs to the last of its commits. An earlier one was made by a call whose hook could
            // not do anything, and waits for the result of that call.
            if is_last {
                (awaited.call, awaited.is_of_sub_agent) = (call.call_id(), call.is_of_sub_agent());
            }
            continue;
        }
        match &commit.pending {
            // Whoever looks on while a rebase is stopped has not made its commits.
            _ if commit.stop.is_some() && !call.has_made(&commit) => continue,
            _ if commit.stop.is_some() => {}
            // Made by another call that is still running.
            Some(_) if last.is_none_or(|last| index > last) => continue,
            // `post-commit` runs here and left this commit to no session, so no session of ours made it. Its id may be in what
            // `git log` printed.
            None if has_pending && !call.reports(commit.commit_id) => continue,
            // `post-commit` gave this commit to no session. Somebody may have made it between two calls, whatever words the
            // command has, if `post-commit` knows the calls of this agent.
            None if recorder.state.is_examined(commit.commit_id)
                && !call.tells_of_making(commit.commit_id)
                && (is_known_to_git_hooks || !call.has_made(&commit)) =>
            {
                continue;
            }
            // What was said about an undone commit belongs to the commit that the call made in its place.
            Some((path, pending)) if !is_last && call.has_undone(recorder.repo, commit.commit_id, pending) => {
                undone.push((commit.commit_id, path.clone()));
                continue;
            }
            _ => {}
        }
        let undone_ids: Vec<ObjectId> = undone.iter().map(|(commit_id, _)| *commit_id).collect();
        let noted = noted_of(&commit);
        let is_same_call = |before: &Option<Noted>| match (before, noted) {
            (Some((length, time)), Some((other, later))) => *length == other && later - time <= MAX_CALL_SECS,
            _ => true,
        };
        if !earlier.last().is_none_or(|(_, before)| is_same_call(before)) {
            earlier.clear();
        }
        let made: Vec<ObjectId> = earlier.iter().map(|(commit_id, _)| *commit_id).collect();
        // An earlier commit may be that of a call whose hook could not do anything.
        let is_of_call =
            is_last || noted.is_none() || noted.map(|(length, _)| length) == last_noted.map(|(length, _)| length);
        let place = PlaceInCall { is_last, is_of_call, made, undone: &undone_ids };
        recorder.begin(commit.pending.as_ref().map(|(path, _)| path.clone()));
        let recorded = record_commit_of_call(recorder, sessions, position, &call, &commit, place);
        recorder.place = None;
        recorded?;
        earlier.push((commit.commit_id, noted));
        for path in undone.drain(..).map(|(_, path)| path).chain(commit.pending.map(|(path, _)| path)) {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
    }
    Ok(())
}

/// How long a session's transcript was when a commit was made, and when that was. As long as the length is the same, nothing was
/// said.
type Noted = (Option<u64>, i64);

/// Returns what a pending commit notes of a session.
fn noted_length(pending: &PendingCommit, key: &SessionKey) -> Noted {
    (pending.transcript_bytes.get(&key.to_string()).copied(), pending.time)
}

/// Keeps the commits that a tool call made in pending files when no state may be changed: the next hook of the session does
/// not know the call. Leaves out those that `post-commit` has recorded, examined or kept.
fn keep_commits_of_call(recorder: &Recorder<'_>, key: &SessionKey, payload: &Payload) -> Result<()> {
    let mut sessions = recorder.state.sessions();
    let Some(position) = sessions.iter().position(|live| live.key() == *key) else { return Ok(()) };
    let moves = moves_of_head(recorder, &mut sessions[position]);
    let call = ToolCall::new(recorder.repo, &sessions, position, payload)?;
    for commit in commits_of_call(recorder, key, &moves).0 {
        let note = notes::get(recorder.repo, &recorder.notes_ref, commit.commit_id)?;
        let is_carried = note.map_or(Ok(true), |note| commit.is_carried(recorder, &note))?;
        let is_examined = recorder.state.is_examined(commit.commit_id);
        if commit.pending.is_none() && is_carried && !is_examined && call.has_made(&commit) {
            let commit_ids = std::iter::once(commit.commit_id).chain(commit.became).collect();
            let made = NewCommit::made_here(recorder.repo, vec![key.clone()]);
            keep_commit(&recorder.state, &NewCommit { commit_ids, kind: commit.kind, ..made }, &sessions, &[])?;
        }
    }
    Ok(())
}

/// Returns the commits that a tool call of a session may have made, oldest first, and whether `post-commit` left any of
/// them for this session. Those made in other worktrees come first.
fn commits_of_call(recorder: &Recorder<'_>, key: &SessionKey, moves: &[ReflogEntry]) -> (Vec<CallCommit>, bool) {
    let mut left = pending::commits_left_to(&recorder.state, key);
    left.retain(|(_, pending)| pending.is_there(recorder.repo));
    let has_pending = !left.is_empty();
    let mut here = Vec::new();
    for (entry, kind, stop) in commits_of_moves(moves, recorder.repo) {
        let (commit_id, hex) = (entry.new_id, entry.new_id.to_string());
        let amended = ReflogEntry::is_amend_message(entry.message.as_bstr()).then_some(entry.old_id);
        let pending = left.iter().position(|(_, pending)| pending.commit == hex).map(|index| left.remove(index));
        here.push(CallCommit { commit_id, kind, became: None, stop, amended, pending });
    }
    if here.iter().any(|commit| commit.stop.is_some()) {
        let replaced = recorder.repo.replaced_in_rebase();
        here.iter_mut().for_each(|commit| commit.became = replaced.get(&commit.commit_id).copied());
    }
    let elsewhere = left.into_iter().filter_map(|(path, pending)| {
        let commit_id = recorder.repo.parse_id(&pending.commit)?;
        Some(CallCommit {
            commit_id,
            kind: pending.kind,
            became: None,
            stop: None,
            amended: None,
            pending: Some((path, pending)),
        })
    });
    (elsewhere.chain(here).collect(), has_pending)
}

/// Where a commit stands among those of its tool call.
struct PlaceInCall<'a> {
    is_last: bool,
    /// Whether it is one of this call: nothing was written between it and the last.
    is_of_call: bool,
    /// The commits before it.
    made: Vec<ObjectId>,
    /// The commits that the call has undone since then.
    undone: &'a [ObjectId],
}

/// Records one commit of a tool call, and with it the commits that the call has undone. If the session is recorded there
/// already, it only waits for the call's result.
///
/// A call has one result, which belongs to the last of its commits.
fn record_commit_of_call(
    recorder: &mut Recorder<'_>,
    sessions: &mut [TrackedSession],
    position: usize,
    call: &ToolCall<'_>,
    commit: &CallCommit,
    place: PlaceInCall<'_>,
) -> Result<()> {
    let is_last = place.is_last;
    let pending = commit.pending.as_ref().map(|(_, pending)| pending);
    let has_made = call.has_made(commit);
    let note = notes::get(recorder.repo, &recorder.notes_ref, commit.commit_id)?;
    // The note of an amended commit may have only what was carried to it.
    let is_recorded = match (&note, pending) {
        (None, _) => false,
        // No other hook records a session there.
        (Some(_), None) if commit.stop.is_some() => false,
        (Some(note), None) => {
            !is_last || recorder.state.is_examined(commit.commit_id) || !commit.is_carried(recorder, note)?
        }
        // Without its name there, the session was recorded while others had to wait.
        (Some(note), Some(pending)) if !pending.transcript_bytes.contains_key(&call.key.to_string()) => {
            Note::parse_unjoined(note).has_session(&call.key)
        }
        (Some(note), Some(_)) => {
            let own = &mut sessions[position..=position];
            recorder.recover_progress(&call.key, &mut own[0].progress);
            recorder.take_over_records(commit.commit_id, own)?;
            is_last && ends_with_record(&own[0], note) && !commit.is_carried(recorder, note)?
        }
    };
    if let Some(note) = note.filter(|_| is_recorded) {
        if has_made && is_last {
            let live = &mut sessions[position];
            // Whoever records a commit of another session takes along what has been answered meanwhile.
            let is_answered = live.answered_commit == Some(commit.commit_id.to_string());
            let may_wait = !is_answered && ends_with_record(live, &note);
            live.awaited_result = may_wait.then(|| call.awaited(commit.commit_id, pending));
        }
        return Ok(());
    }
    let mut new_commit = match pending {
        Some(pending) => NewCommit::from_pending(recorder.repo, pending),
        None => {
            let runners = if has_made { vec![call.key.clone()] } else { Vec::new() };
            let (commit_ids, kind) = (vec![commit.commit_id], commit.kind);
            NewCommit { commit_ids, kind, ..NewCommit::made_here(recorder.repo, runners) }
        }
    };
    let length = pending.and_then(|pending| noted_length(pending, &call.key).0);
    let call_id = call.call_id().filter(|_| place.is_of_call);
    new_commit.of_call = Some(OfCall { call: call_id, made: place.made, length });
    if let Some(lengths) = new_commit.transcript_bytes.as_mut().filter(|_| is_last) {
        // The result of the call stands behind the length that was noted at the commit.
        lengths.insert(call.key.to_string(), u64::MAX);
    }
    new_commit.commit_ids.extend(place.undone.iter().copied().chain(commit.became));
    new_commit.call_id = call.call_id().filter(|_| pending.is_none() || is_last);
    new_commit.is_of_sub_agent = call.is_of_sub_agent();
    let outcome = record_commit(recorder, &new_commit, sessions);
    if pending.is_none() && outcome.as_ref().is_err_and(|error| error.kind() == Kind::Busy) {
        // Where Git's hooks do not run, nobody else has written the commit down.
        let path = keep_commit(&recorder.state, &new_commit, sessions, &[])?;
        pending::keep_sessions(&path, &recorder.waiting)?;
    }
    outcome?;
    if pending.is_some() && !is_last {
        sessions[position].awaited_result = None;
    }
    Ok(())
}

/// Says whether a note has a record of this session that ends where the session was last recorded: then `post-commit`
/// wrote that record without knowing of the tool call.
fn ends_with_record(live: &TrackedSession, note: &[u8]) -> bool {
    let recorded = live.progress.recorded.segment.as_deref();
    Note::parse(note).has_record_through(&live.key(), recorded)
}

/// Returns the moves of HEAD that made commits, oldest first, and how. Of a rebase these are the commits that somebody made
/// where it had stopped. Those that it made by itself are left out, and with them any that a command of its list may have made
/// since it went on.
fn commits_of_moves<'m>(
    moves: &'m [ReflogEntry],
    repo: &Repository,
) -> Vec<(&'m ReflogEntry, CommitKind, Option<AtStop>)> {
    let is_rebasing = repo.is_rebasing();
    let first = moves.iter().find(|entry| entry.is_of_rebase());
    let mut is_stopped = first.map_or(is_rebasing, |first| !first.begins_rebase());
    let mut is_left_out = !is_rebasing && repo.is_mid_operation();
    let mut commits = Vec::new();
    for entry in moves {
        if entry.is_of_rebase() {
            if entry.is_continued() {
                commits.push((entry, CommitKind::Plain, Some(AtStop::Continued)));
            }
            if entry.aborts_rebase() {
                commits.retain(|(_, _, stop)| stop.is_none());
            }
            (is_stopped, is_left_out) = (false, !entry.ends_rebase());
        } else if !is_left_out {
            let stop = is_stopped.then_some(AtStop::Committed);
            commits.extend(kind_of_entry(repo, entry).map(|kind| (entry, kind, stop)));
        }
    }
    commits
}
