//! The sessions that run: those that hooks have reported, and those that agents' own stores or the environment tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::process;
use super::recorder::Recorder;
use super::state::{Live, State};
use crate::agent::{self, Agent, Found};
use crate::error::Result;
use crate::git::date::Time;
use crate::transcript::SessionKey;

/// A session whose hooks have been silent for so long counts as over.
const IDLE_SECS: i64 = 6 * 60 * 60;

/// The state of a session that is over is kept so long: for commits made by hand afterwards, and so that its transcript
/// in the agent's store is not taken for a new one.
pub(super) const KEEP_SECS: i64 = 3 * 24 * 60 * 60;

/// How far back `post-commit` looks for transcripts in the agents' own stores.
pub(super) const RECENT_SECS: i64 = 12 * 60 * 60;

fn recent(agent: &dyn Agent, worktree: &Path) -> Vec<Found> {
    agent.recent(worktree, Time::now().seconds - RECENT_SECS)
}

/// Returns the sessions whose transcripts agents wrote lately in a worktree, and of which neither `known` nor what is
/// settled has all.
pub(super) fn undiscovered(state: &State, worktree: Option<&Path>, known: &[Live]) -> Vec<Live> {
    let Some(worktree) = worktree else { return Vec::new() };
    let mut sessions = Vec::new();
    let mut elsewhere = None;
    for agent in agent::all() {
        for found in recent(agent, worktree) {
            let key = SessionKey::new(agent.name(), &found.session_id);
            if known.iter().any(|live| live.key() == key) {
                continue;
            }
            let live = match state.session(&key) {
                // Who makes the commit may not have written down why, yet.
                Some(live) if (live.has_no_news() || live.is_left()) && runner(agent).as_ref() != Some(&key) => {
                    continue;
                }
                Some(live) => live,
                None => {
                    // To find out where a session ran can cost a look at all of its transcript.
                    let elsewhere = elsewhere.get_or_insert_with(|| state.elsewhere(worktree));
                    if elsewhere.contains(&key) {
                        continue;
                    }
                    match agent.ran_in(&found.transcript, worktree) {
                        Some(true) => new_live(&key, found.transcript),
                        Some(false) => {
                            elsewhere.add(&key);
                            continue;
                        }
                        None => continue,
                    }
                }
            };
            sessions.push(Live { worktree: Some(worktree.to_owned()), ..live });
        }
    }
    sessions
}

/// Writes down the sessions that are not as they were, and forgets those that no commit can need any more.
pub(super) fn save_changed(recorder: &Recorder<'_>, before: &[Live], sessions: &[Live]) -> Result<()> {
    // Without our lock, another process may have changed it since it was read.
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

/// Archives sessions whose agent is gone.
pub(super) fn close_forgotten(recorder: &mut Recorder<'_>, sessions: &mut [Live], current: Option<usize>) {
    let now = Time::now().seconds;
    for (index, live) in sessions.iter_mut().enumerate() {
        if Some(index) == current {
            continue;
        }
        // A hook's process may have been a shell that ended right after it: at a commit that says nothing.
        let is_gone = if current.is_some() { !is_going_on(live, now) } else { now - live.seen > IDLE_SECS };
        if !live.is_over && is_gone {
            live.is_over = true;
            if let Err(error) = recorder.archive_session(live) {
                recorder.state.log(&format!("warning: {}: {error}", live.key()));
            }
        }
    }
}

/// Says whether a session is going on at `now` (epoch), as far as its hooks have told.
pub(crate) fn is_going_on(live: &Live, now: i64) -> bool {
    let is_gone = live.process.is_some_and(|process| !process.is_alive()) || now - live.seen > IDLE_SECS;
    !live.is_over && !is_gone
}

/// Says whether a session that the environment names can have run anything lately: the variable stays behind in a terminal
/// that an agent once opened.
fn may_go_on(live: &Live) -> bool {
    // Its last lines can be written in the second in which it ends.
    let is_written = || agent::find(&live.agent).is_some_and(|a| a.is_written_since(&live.transcript, live.seen + 1));
    !live.is_over || is_written()
}

pub(crate) fn new_live(key: &SessionKey, transcript: PathBuf) -> Live {
    Live {
        agent: key.agent.clone(),
        session: key.id.clone(),
        transcript,
        model: None,
        worktree: None,
        process: None,
        seen: Time::now().seconds,
        is_over: false,
        has_tool_hooks: false,
        head: None,
        progress: crate::capture::state::Progress::default(),
        sub_agents: BTreeMap::new(),
        open: None,
    }
}

/// Returns the session of an agent that the environment of this process names.
pub(super) fn runner(agent: &dyn Agent) -> Option<SessionKey> {
    Some(SessionKey::new(agent.name(), agent.session_of_environment()?))
}

/// Returns the sessions that the environment of this process names and that are not known here: their agent was started
/// above this repository or in another one, so that its hooks report elsewhere.
///
/// If one of those that are known is named too, the others are taken for agents that started its agent.
pub(super) fn started_outside(state: &State, worktree: Option<&Path>, known: &[Live]) -> Vec<Live> {
    let named: Vec<_> = agent::all().filter_map(|agent| Some((agent, runner(agent)?))).collect();
    if named.iter().any(|(_, key)| known.iter().any(|live| live.key() == *key)) {
        return Vec::new();
    }
    // The variable stays behind in a terminal that an agent once opened.
    let oldest = Time::now().seconds - RECENT_SECS;
    let is_recent = |live: &Live| {
        let written = live.transcript.metadata().and_then(|file| file.modified()).ok();
        let age = written.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        age.is_none_or(|age| i64::try_from(age.as_secs()).is_ok_and(|written| written >= oldest))
    };
    let find = |(agent, key): (&'static dyn Agent, SessionKey)| {
        let directory = worktree.unwrap_or(Path::new("."));
        let found = || Some(new_live(&key, agent.transcript(&key.id, directory)?));
        state.session(&key).or_else(found)
    };
    let may_run = |live: &Live| is_recent(live) && may_go_on(live);
    named.into_iter().filter_map(find).filter(may_run).collect()
}

/// Returns the sessions that must have run the commit whose hook this process is: the agent says so in the
/// environment, or its process is above ours.
pub(super) fn runners(sessions: &[Live]) -> Vec<SessionKey> {
    let named = agent::all().filter_map(runner);
    // A variable may have come from another agent that started this one.
    let is_known = |key: &SessionKey| sessions.iter().any(|live| live.key() == *key && may_go_on(live));
    let named: Vec<SessionKey> = named.filter(is_known).collect();
    if !named.is_empty() {
        return named;
    }
    let above = process::above(sessions.iter().filter_map(|live| live.process));
    let above = sessions.iter().filter(|live| live.process.is_some_and(|process| above.contains(&process)));
    // One agent process can have had several sessions, one after the other; the latest is the one that acts.
    above.max_by_key(|live| live.seen).map(Live::key).into_iter().collect()
}
