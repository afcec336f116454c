//! Finding sessions: from reports of hooks, from the agents' own stores, and from the environment.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::new_words::archive_session;
use super::process;
use super::recorder::Recorder;
use super::state::State;
use super::tracked::TrackedSession;
use crate::agent::{self, Agent, FoundTranscript};
use crate::error::Result;
use crate::git::date::Time;
use crate::git::git;
use crate::git::private::{self, modified_secs};
use crate::transcript::SessionKey;

/// A session without a hook for this long counts as ended.
const IDLE_SECS: i64 = 6 * 60 * 60;

/// How long the state of an ended session is kept: for commits that are made by hand later, and so that its transcript
/// in the agent's store is not taken for a new session.
pub(super) const KEEP_SECS: i64 = 3 * 24 * 60 * 60;

/// How much of a transcript is read for the directory that its session ran in.
const HEAD_BYTES: u64 = 256 << 10;

/// How old a transcript in an agent's store may be for `post-commit` to read it.
pub(super) const RECENT_SECS: i64 = 12 * 60 * 60;

/// Returns the sessions in an agent's own store that ran in a worktree lately, since there is the repository.
fn recent(agent: &dyn Agent, worktree: &Path, made: i64) -> Vec<FoundTranscript> {
    let mut found = agent.recent(worktree, made.max(Time::now().seconds - RECENT_SECS));
    found.retain(|found| !is_checked_out(&found.transcript, worktree));
    found
}

/// Says whether a transcript is a tracked file of the working tree. Such a file came with a commit and describes no work
/// in this clone.
pub fn is_checked_out(transcript: &Path, worktree: &Path) -> bool {
    let Ok(below) = transcript.strip_prefix(worktree) else { return false };
    // A session may be a part of a file.
    let file = below.ancestors().find(|path| worktree.join(path).symlink_metadata().is_ok_and(|file| !file.is_dir()));
    let Some(file) = file else { return false };
    let spec = format!(":(top,literal){}", file.display());
    let args = [OsStr::new("-C"), worktree.as_os_str(), "ls-files".as_ref(), "--".as_ref(), spec.as_ref()];
    git(args).capture().is_ok_and(|listed| !listed.is_empty())
}

/// Says whether a session ran in another repository that is below the top of a worktree.
fn ran_in_nested(transcript: &Path, worktree: &Path) -> bool {
    let mut head = Vec::new();
    let read = private::open(transcript).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let Some(directory) = read.ok().and_then(|_| agent::directory(&head)) else { return false };
    let mut between = Path::new(&directory).ancestors().take_while(|folder| *folder != worktree);
    Path::new(&directory).starts_with(worktree) && between.any(|folder| folder.join(".git").exists())
}

/// Returns when a repository was created (epoch), if the file system knows it. Earlier sessions in the same directory belong to
/// another repository.
fn made(state: &State) -> Option<i64> {
    let common_dir = state.root().parent()?;
    let made = common_dir.metadata().ok()?.created().ok()?;
    i64::try_from(made.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Returns the sessions in the agents' own stores that ran in a worktree lately, without those in `known` and those
/// whose words are all recorded.
pub(crate) fn recent_unreported(
    state: &State,
    worktree: Option<&Path>,
    known: &[TrackedSession],
) -> Vec<TrackedSession> {
    let Some(worktree) = worktree else { return Vec::new() };
    let mut sessions = Vec::new();
    let mut others = None;
    let made = made(state).unwrap_or(i64::MIN);
    for agent in agent::all() {
        for found in recent(agent, worktree, made) {
            let key = SessionKey::new(agent.name(), &found.session_id);
            if known.iter().any(|live| live.key() == key) {
                continue;
            }
            let live = match state.session(&key) {
                // The session that makes the commit may not have written its words yet.
                Some(live)
                    if (live.has_nothing_new() || live.is_settled_and_unchanged())
                        && session_in_environment(agent).as_ref() != Some(&key) =>
                {
                    continue;
                }
                Some(live) => live,
                None => {
                    // Finding out where a session ran can cost reading its whole transcript.
                    let others = others.get_or_insert_with(|| state.sessions_of_other_worktrees(worktree));
                    if others.contains(&key) {
                        continue;
                    }
                    let is_nested = found.transcript.is_file() && ran_in_nested(&found.transcript, worktree);
                    match agent.ran_in(&found.transcript, worktree).map(|ran_here| ran_here && !is_nested) {
                        Some(true) => new_live(&key, found.transcript),
                        Some(false) => {
                            others.add(&key);
                            continue;
                        }
                        None => continue,
                    }
                }
            };
            sessions.push(TrackedSession { worktree: Some(worktree.to_owned()), ..live });
        }
    }
    sessions
}

/// Saves the sessions that differ from `before`, and removes the state of those that no commit can need.
pub(super) fn save_changed(
    recorder: &Recorder<'_>,
    before: &[TrackedSession],
    sessions: &[TrackedSession],
) -> Result<()> {
    // Without our lock, another process may have changed the files since they were read.
    if recorder.hindrance().is_some() {
        return Ok(());
    }
    let now = Time::now().seconds;
    for (index, live) in sessions.iter().enumerate() {
        if live.is_over && now - live.seen > KEEP_SECS {
            recorder.state.forget(&live.key());
        } else if before.get(index) != Some(live) {
            recorder.state.save(live)?;
        }
    }
    Ok(())
}

/// Marks the sessions of agents that no longer run as ended, and archives their words. `current` is the position of the
/// session whose hook this is; `None` at a commit.
pub(super) fn close_abandoned(recorder: &mut Recorder<'_>, sessions: &mut [TrackedSession], current: Option<usize>) {
    let now = Time::now().seconds;
    for (index, live) in sessions.iter_mut().enumerate() {
        if Some(index) == current {
            continue;
        }
        // At a commit a dead process proves nothing: it may have been a shell that ended right after the hook.
        let is_gone = if current.is_some() { !is_going_on(live, now) } else { now - live.seen > IDLE_SECS };
        if !live.is_over && is_gone {
            live.is_over = true;
            if let Err(error) = archive_session(recorder, live) {
                recorder.state.log(&format!("warning: {}: {error}", live.key()));
            }
        }
    }
}

/// Says whether a session is running at `now` (epoch), as far as its hooks and its process show.
pub(crate) fn is_going_on(live: &TrackedSession, now: i64) -> bool {
    let is_gone = live.process.is_some_and(|process| !process.is_alive()) || now - live.seen > IDLE_SECS;
    !live.is_over && !is_gone
}

/// Says whether a session that the environment names may still be running: a terminal that an agent once opened keeps
/// the variable.
fn may_be_running(live: &TrackedSession) -> bool {
    // An ended session may write its last lines within the second of its end.
    let is_written = || agent::find(&live.agent).is_some_and(|a| a.is_written_since(&live.transcript, live.seen + 1));
    !live.is_over || is_written()
}

pub(crate) fn new_live(key: &SessionKey, transcript: PathBuf) -> TrackedSession {
    TrackedSession {
        agent: key.agent.clone(),
        session: key.id.clone(),
        transcript,
        model: None,
        worktree: None,
        directory: None,
        process: None,
        seen: Time::now().seconds,
        is_over: false,
        has_tool_hooks: false,
        head: None,
        progress: crate::capture::progress::Progress::default(),
        sub_agents: BTreeMap::new(),
        awaited_result: None,
        answered_commit: None,
        last_words: None,
        left_edits: Vec::new(),
    }
}

/// Returns the session of an agent that an environment variable of this process names.
pub(super) fn session_in_environment(agent: &dyn Agent) -> Option<SessionKey> {
    Some(SessionKey::new(agent.name(), agent.session_of_environment()?))
}

/// Returns the sessions that the environment names and that `known` does not have: their agent was started in another
/// directory, so its hooks report to another repository.
///
/// Returns none if the environment also names a known session: the others are then taken for agents that started its
/// agent.
pub(super) fn named_by_environment(
    state: &State,
    worktree: Option<&Path>,
    known: &[TrackedSession],
) -> Vec<TrackedSession> {
    let named: Vec<_> = agent::all().filter_map(|agent| Some((agent, session_in_environment(agent)?))).collect();
    if named.iter().any(|(_, key)| known.iter().any(|live| live.key() == *key)) {
        return Vec::new();
    }
    // A terminal that an agent once opened keeps the variable.
    let oldest = Time::now().seconds - RECENT_SECS;
    let is_recent = |live: &TrackedSession| modified_secs(&live.transcript).is_none_or(|written| written >= oldest);
    let find = |(agent, key): (&'static dyn Agent, SessionKey)| {
        let directory = worktree.unwrap_or(Path::new("."));
        let found = || {
            let transcript = agent.transcript(&key.id, directory)?;
            let Some(parent) = agent.parent_session(&transcript) else { return Some(new_live(&key, transcript)) };
            // What a sub-agent does belongs to the session that started it.
            let parent = SessionKey::new(agent.name(), &parent);
            let is_known = known.iter().any(|live| live.key() == parent);
            let transcript = if is_known { None } else { agent.transcript(&parent.id, directory) };
            Some(new_live(&parent, transcript?))
        };
        state.session(&key).or_else(found)
    };
    let may_run = |live: &TrackedSession| is_recent(live) && may_be_running(live);
    named.into_iter().filter_map(find).filter(may_run).collect()
}

/// Returns the sessions that have run the `git commit` whose hook this process is: the sessions that the environment names,
/// or the session whose agent is an ancestor of this process. A sub-agent may have its own id and hooks, but no transcript:
/// its work belongs to the session of the same process that has a transcript. `worktree` is that of the commit.
pub(super) fn find_runners(sessions: &[TrackedSession], worktree: Option<&Path>) -> Vec<SessionKey> {
    let named = agent::all().filter_map(session_in_environment);
    // A variable may be inherited from another agent that started this one.
    let known = |key: SessionKey| sessions.iter().find(|live| live.key() == key && may_be_running(live));
    let (named, without): (Vec<_>, Vec<_>) = named.filter_map(known).partition(|live| has_transcript(live));
    if !named.is_empty() {
        return named.into_iter().map(TrackedSession::key).collect();
    }
    let ancestors = process::ancestors_among(sessions.iter().filter_map(|live| live.process));
    let has_ancestor = |live: &&TrackedSession| live.process.is_some_and(|process| ancestors.contains(&process));
    // One agent process can run sessions in several worktrees, and in one worktree several in turn: the latest is the active
    // one.
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = worktree.map(whole);
    let is_here = |live: &TrackedSession| live.worktree.as_deref().map(whole) == here;
    let rank = |live: &&TrackedSession| (has_transcript(live), !live.is_over, is_here(live), live.seen);
    let latest = sessions.iter().filter(has_ancestor).max_by_key(rank);
    match latest.filter(|latest| has_transcript(latest) || without.is_empty()) {
        Some(latest) => vec![latest.key()],
        None => without.into_iter().map(TrackedSession::key).collect(),
    }
}

/// Says whether a session has a transcript. An agent may write it only after the first hooks of the session have run.
fn has_transcript(live: &TrackedSession) -> bool {
    let is_there = || {
        let directory = live.worktree.as_deref().unwrap_or(Path::new("."));
        agent::find(&live.agent).is_some_and(|agent| agent.transcript(&live.session, directory).is_some())
    };
    !live.transcript.as_os_str().is_empty() || is_there()
}
