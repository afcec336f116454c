//! An agent reports: what its session is doing, and what became of its tool calls.

use std::path::PathBuf;

use super::choose::Making;
use super::commit::{Made, link_commit, making_of};
use super::pending::{self, Link};
use super::process;
use super::recorder::Recorder;
use super::sessions::{KEEP_SECS, close_forgotten, new_live, save_changed};
use super::state::{Live, Open};
use crate::agent::{Agent, Event, Payload};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, ReflogEntry};
use crate::notes;
use crate::record::{Note, Record};
use crate::transcript::SessionKey;

/// How many movements of HEAD one tool call may make.
const MAX_MOVES: usize = 200;

/// Takes in what a hook of an agent reports.
///
/// # Errors
///
/// If the repository or our own state cannot be read or written.
pub fn agent_event(recorder: &mut Recorder<'_>, agent: &dyn Agent, name: &str, payload: &Payload) -> Result<()> {
    let Some(session_id) = payload.session_id() else {
        recorder.state.log(&format!("{} {name}: the payload names no session", agent.name()));
        return Ok(());
    };
    // Another process has our lock. The next hook of the session finds out what this one would have.
    if recorder.hindrance().is_some() {
        return Ok(());
    }
    let key = SessionKey::new(agent.name(), session_id);
    let event = Event::of(payload.event().unwrap_or(name));
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    let position = sessions.iter().position(|live| live.key() == key).unwrap_or_else(|| {
        sessions.push(recorder.state.session(&key).unwrap_or_else(|| new_live(&key, PathBuf::new())));
        sessions.len() - 1
    });
    refresh(recorder, &mut sessions[position], agent, payload);
    // Not every agent says that a session is taken up again.
    sessions[position].is_over = false;
    sessions[position].has_tool_hooks |= event == Event::AfterTool;
    if event == Event::SessionStart {
        close_forgotten(recorder, &mut sessions, Some(position));
        recorder.state.forget_settled(Time::now().seconds - KEEP_SECS);
    }
    let moves = moves_of_head(recorder, &mut sessions[position]);
    if event == Event::AfterTool
        && let Err(error) = after_tool(recorder, &mut sessions, position, &moves, payload)
    {
        recorder.warn(error);
    }
    let live = &mut sessions[position];
    let is_turn_over = event != Event::AfterTool;
    if live.open.is_some()
        && let Err(error) = recorder.catch_up(live, is_turn_over, false, None)
    {
        recorder.warn(error);
    }
    if event == Event::SessionEnd {
        live.is_over = true;
        if let Err(error) = recorder.archive_session(live) {
            recorder.warn(error);
        }
    }
    save_changed(recorder, &before, &sessions)
}

/// Brings what is known of a session up to date with its newest hook.
fn refresh(recorder: &Recorder<'_>, live: &mut Live, agent: &dyn Agent, payload: &Payload) {
    live.seen = Time::now().seconds;
    let directory = payload.directory();
    live.model = payload.model().map(str::to_owned).or_else(|| live.model.take());
    if let Some(transcript) = payload.transcript() {
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
    live.process = process::caller().or(live.process);
}

/// Returns how HEAD moved since the session's last hook, oldest first, and remembers where it is.
///
/// If it is not known where HEAD was (no hook has run before, or the session has gone to another worktree), nothing
/// counts as a move: what the reflog holds is somebody else's.
fn moves_of_head(recorder: &Recorder<'_>, live: &mut Live) -> Vec<ReflogEntry> {
    // A branch without commits is a known place too.
    let head = recorder.repo.head().ok().and_then(|head| head.commit_id).map(|id| id.to_string()).unwrap_or_default();
    let Some(before) = live.head.replace(head.clone()).filter(|before| *before != head) else { return Vec::new() };
    let log = recorder.repo.head_reflog(MAX_MOVES);
    let before_id = recorder.repo.parse_id(&before).unwrap_or_else(|| recorder.repo.null_id());
    let Some(last) = log.iter().position(|entry| entry.old_id == before_id) else { return Vec::new() };
    log.into_iter().take(last + 1).rev().collect()
}

/// Records the commits that a tool call made, unless Git's own hook did, and waits for the call's result.
///
/// Those that Git's hook left for this session are recorded oldest first, wherever they were made. One that another
/// call made, which ran at the same time, waits for its own hook, unless a later one is recorded now.
fn after_tool(
    recorder: &mut Recorder<'_>,
    sessions: &mut [Live],
    position: usize,
    moves: &[ReflogEntry],
    payload: &Payload,
) -> Result<()> {
    let worktree = sessions[position].worktree.clone();
    let is_alone = sessions.iter().filter(|live| live.worktree == worktree && !live.is_over).count() == 1;
    let key = sessions[position].key();
    let mut links = pending::links_of(&recorder.state, &key);
    let has_links = !links.is_empty();
    let mut commits = Vec::new();
    for (commit_id, making) in commits_of(moves, recorder.repo.is_mid_operation()) {
        let hex = commit_id.to_string();
        let link = links.iter().position(|(_, link)| link.commit == hex).map(|index| links.remove(index));
        commits.push((commit_id, making, link));
    }
    let elsewhere = links
        .into_iter()
        .filter_map(|(path, link)| Some((recorder.repo.parse_id(&link.commit)?, link.making, Some((path, link)))));
    commits.splice(0..0, elsewhere.collect::<Vec<_>>());
    let is_seen = |commit_id: &ObjectId| payload.response_mentions(&commit_id.to_hex_with_len(7).to_string());
    let is_own = |commit_id: &ObjectId| is_seen(commit_id) || payload.may_commit() || !payload.tells_input();
    // What the call undid itself belongs to the commit that it made instead.
    let head = recorder.repo.head()?.commit_id;
    let is_undone = |link: &Link, commit_id: ObjectId| {
        let is_reached = |head| recorder.repo.merge_base(commit_id, head).is_ok_and(|base| base == Some(commit_id));
        link.worktree.as_deref() == recorder.repo.worktree() && head.is_some_and(|head| !is_reached(head))
    };
    let mut undone = Vec::new();
    let last_own = commits.iter().rposition(|(commit_id, ..)| is_own(commit_id));
    for (index, (commit_id, making, link)) in commits.into_iter().enumerate() {
        let commit = commit_id.to_string();
        let is_last = last_own == Some(index);
        if let Some(open) = sessions[position].open.as_mut().filter(|open| open.commit == commit) {
            open.call = payload.call_id().map(str::to_owned);
            continue;
        }
        // Somebody else can have committed while the tool ran.
        let has_run_it = link.is_some() || is_seen(&commit_id) || (is_alone && payload.may_commit());
        match &link {
            // A call that ran at the same time; the one that committed is still to come.
            Some(_) if last_own.is_none_or(|last| index > last) => continue,
            // Git's hook runs here, and knows who made this one.
            None if has_links && !is_seen(&commit_id) => continue,
            None if !has_run_it && recorder.state.is_judged(commit_id) => continue,
            _ => {}
        }
        if let Some((path, _)) = link.as_ref().filter(|(_, link)| !is_last && is_undone(link, commit_id)) {
            undone.push((commit_id, path.clone()));
            continue;
        }
        let note = notes::get(recorder.repo, &recorder.notes_ref, commit_id)?;
        let has_part = |note: &Vec<u8>| Note::parse_lines(note).records().any(|record| record.key() == key);
        match note.filter(|note| link.is_none() || has_part(note)) {
            // One result is there for all commits of the call; it goes to the last.
            Some(note) if has_run_it && is_last => {
                sessions[position].open = reopened(recorder, &sessions[position], &commit, &note, payload.call_id());
            }
            Some(_) => {}
            None => {
                let ran = if has_run_it { vec![key.clone()] } else { Vec::new() };
                let here = Made { commit_ids: vec![commit_id], making, ..Made::here(recorder.repo, ran) };
                let mut made = link.as_ref().map_or(here, |(_, link)| Made::of(recorder.repo, link));
                if let Some(ends) = made.ends.as_mut().filter(|_| is_last) {
                    // The answer of the call goes to the last commit that it made.
                    ends.insert(key.to_string(), u64::MAX);
                }
                made.commit_ids.extend(undone.iter().map(|(commit_id, _)| *commit_id));
                made.call = payload.call_id().filter(|_| link.is_none() || is_last).map(str::to_owned);
                link_commit(recorder, &made, sessions)?;
                if link.is_some() && !is_last {
                    sessions[position].open = None;
                }
            }
        }
        let done = undone.drain(..).map(|(_, path)| path).chain(link.map(|(path, _)| path));
        for path in done {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
    }
    Ok(())
}

/// Returns what to wait for when Git's hook recorded the commit without knowing that a tool call was running.
fn reopened(_recorder: &Recorder<'_>, live: &Live, commit: &str, note: &[u8], call: Option<&str>) -> Option<Open> {
    let recorded = live.progress.recorded.segment.as_deref();
    let note = Note::parse(note);
    let is_its_own = |record: &Record| record.key() == live.key() && Some(&*record.through) == recorded;
    note.records().any(is_its_own).then(|| Open { commit: commit.to_owned(), call: call.map(str::to_owned) })
}

/// Returns the commits that movements of HEAD made, and how, oldest first; those of a rebase are old work.
fn commits_of(moves: &[ReflogEntry], is_mid_operation: bool) -> Vec<(ObjectId, Making)> {
    let mut is_rebase = is_mid_operation;
    let mut commits = Vec::new();
    for entry in moves {
        if entry.message.starts_with(b"rebase") {
            is_rebase = !entry.message.starts_with(b"rebase (finish)") && !entry.message.starts_with(b"rebase (abort)");
        } else if !is_rebase {
            commits.extend(making_of(entry).map(|making| (entry.new_id, making)));
        }
    }
    commits
}
