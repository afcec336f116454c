//! A commit was made: which sessions led to it, and recording them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::aside::{Stretch, kept_at};
use super::carry;
use super::choose::{self, Change, Evidence, Making};
use super::pending::{self, Link, Pending};
use super::recorder::Recorder;
use super::sessions::{close_forgotten, runners, save_changed, started_outside, undiscovered};
use super::state::{Live, Open, State};
use crate::agent;
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, Location, ObjectId, ReflogEntry, Repository, last_move};
use crate::transcript::SessionKey;

/// Says, without opening the repository, whether a commit has nothing to record.
pub fn is_idle(location: &Location) -> bool {
    let state = State::new(&location.common_dir);
    state.is_idle()
        && !carry::may_have_sources(location)
        && !agent::all().any(|agent| agent.session_of_environment().is_some())
        && undiscovered(&state, location.worktree.as_deref(), &[]).is_empty()
        && !crate::capture::agents::may_be_defined(location)
}

/// Returns how the commit was made that HEAD moved to; `None` if that was neither new work nor a merge.
pub(super) fn making_of(last_move: &ReflogEntry) -> Option<Making> {
    match last_move {
        entry if entry.is_new_work() => Some(Making::Plain),
        entry => entry.is_merge().then_some(Making::Merge),
    }
}

/// Returns how the commit at HEAD was made, if it is new work or a merge and not the result of rewriting history.
fn making_of_head(repo: &Repository, commit: &Commit, last_move: Option<&ReflogEntry>) -> Option<Making> {
    match last_move {
        _ if repo.is_mid_operation() => None,
        Some(last_move) => making_of(last_move),
        None => Some(if commit.parent_ids.len() < 2 { Making::Plain } else { Making::Merge }),
    }
}

/// Returns the commit at HEAD, and how HEAD came there.
fn head_of(repo: &Repository) -> Result<Option<(Commit, Option<ReflogEntry>)>> {
    let Some(commit_id) = repo.head()?.commit_id else { return Ok(None) };
    let last_move = repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id);
    Ok(Some((repo.commit(commit_id)?, last_move)))
}

/// Leaves the commit at HEAD to the session that made it, if a hook of that session follows at once; says whether it did.
///
/// That hook sees the answer of the tool call too, so the commit is recorded once. If it does not come, the next command or
/// hook records it. The repository is not opened for this: that would take longer than everything else.
///
/// # Errors
///
/// [`Kind::Storage`] when the disk is full or read-only.
pub fn leave_to_agent(location: &Location) -> Result<bool> {
    let state = State::new(&location.common_dir);
    let sessions = state.sessions();
    let ran = runners(&sessions);
    let follows = |key: &SessionKey| sessions.iter().any(|live| live.key() == *key && live.has_tool_hooks);
    if ran.is_empty() || !ran.iter().all(follows) {
        return Ok(false);
    }
    // Without a reflog the repository must be opened to know what HEAD names.
    let Some(last_move) = last_move(location) else { return Ok(false) };
    if let Some(making) = making_of(&last_move).filter(|_| !location.is_mid_operation()) {
        let (commit_ids, worktree) = (vec![last_move.new_id], location.worktree.clone());
        leave_commit(&state, &Made { commit_ids, making, worktree, ran, call: None, ends: None }, &sessions, &[])?;
    }
    Ok(true)
}

/// Returns how long each session's transcript is in bytes, by the session's name.
fn ends(sessions: &[Live]) -> BTreeMap<String, u64> {
    let length = |live: &Live| live.transcript.metadata().map_or(u64::MAX, |file| file.len());
    sessions.iter().map(|live| (live.key().to_string(), length(live))).collect()
}

/// Writes down that a commit was made and which sessions are to be looked at, for a later hook or command to record it;
/// returns the file. `others` are sessions that our state does not know.
fn leave_commit(state: &State, made: &Made, sessions: &[Live], others: &[Live]) -> Result<PathBuf> {
    let Some((commit_id, rewritten)) = made.commit_ids.split_first() else {
        return Err(Error::other("there is no commit to leave"));
    };
    let link = Link {
        shiftlog: 1,
        commit: commit_id.to_string(),
        rewritten: rewritten.iter().map(ToString::to_string).collect(),
        ran: made.ran.iter().map(ToString::to_string).collect(),
        ends: ends(sessions),
        making: made.making,
        worktree: made.worktree.clone(),
        others: others.to_vec(),
    };
    pending::keep(state, &Pending::Link(link), b"")
}

/// A commit that was made, and what is known of how.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The commit, and what it became since by amending or rebasing.
    pub commit_ids: Vec<ObjectId>,
    pub making: Making,
    /// The top of the working tree that it was made in.
    pub worktree: Option<PathBuf>,
    /// The sessions that are known to have run it.
    pub ran: Vec<SessionKey>,
    /// The tool call that ran it.
    pub call: Option<String>,
    /// The length of each session's transcript when it was made, by the session's name, if that was not just now.
    pub ends: Option<BTreeMap<String, u64>>,
}

impl Made {
    /// Returns what is known of a commit that these sessions have just made here.
    pub fn here(repo: &Repository, ran: Vec<SessionKey>) -> Self {
        let worktree = repo.worktree().map(Path::to_owned);
        Made { commit_ids: Vec::new(), making: Making::Plain, worktree, ran, call: None, ends: None }
    }

    /// Returns what was written down of a commit; see [`leave_commit`].
    pub fn of(repo: &Repository, link: &Link) -> Self {
        let hexes = std::iter::once(&link.commit).chain(&link.rewritten);
        let is_here = |id: &ObjectId| repo.commit(*id).is_ok();
        let key = |name: &String| name.split_once('/').map(|(agent, id)| SessionKey::new(agent, id));
        Made {
            commit_ids: hexes.filter_map(|hex| repo.parse_id(hex)).filter(is_here).collect(),
            making: link.making,
            worktree: link.worktree.clone().or_else(|| repo.worktree().map(Path::to_owned)),
            ran: link.ran.iter().filter_map(key).collect(),
            call: None,
            ends: Some(link.ends.clone()),
        }
    }
}

/// Records the live sessions that belong to the commit at HEAD, which was just made.
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
    match making_of_head(recorder.repo, &commit, last_move.as_ref()) {
        Some(Making::Plain) if is_squash => link_live(recorder, commit.commit_id, Making::Squash),
        Some(making) => link_live(recorder, commit.commit_id, making),
        None => {
            recorder.state.log(&format!("left {} alone: it is old work", commit.commit_id));
            Ok(())
        }
    }
}

/// Records on the merge at HEAD the sessions that made it, if Git has just made one by itself.
///
/// # Errors
///
/// As [`after_commit`].
pub fn after_merge(recorder: &mut Recorder<'_>) -> Result<()> {
    match merge_at_head(recorder.repo) {
        Some(commit_id) => link_live(recorder, commit_id, Making::Merge),
        None => Ok(()),
    }
}

/// Records the live sessions that belong to a commit that was just made.
///
/// What is to be done is written down first: whatever ends this process, the next hook or command does it.
fn link_live(recorder: &mut Recorder<'_>, commit_id: ObjectId, making: Making) -> Result<()> {
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    sessions.extend(undiscovered(&recorder.state, recorder.repo.worktree(), &sessions));
    sessions.extend(started_outside(&recorder.state, recorder.repo.worktree(), &sessions));
    let hindrance = recorder.hindrance();
    if sessions.is_empty() && hindrance.as_ref().is_none_or(|error| error.kind() == Kind::Busy) {
        return Ok(());
    }
    let ran = runners(&sessions);
    let made = Made { commit_ids: vec![commit_id], making, ..Made::here(recorder.repo, ran) };
    let path = leave_commit(&recorder.state, &made, &sessions, &sessions[before.len()..])?;
    if let Some(error) = hindrance {
        recorder.warn(kept_at(error, &path));
        return Ok(());
    }
    crate::git::fault_point("left");
    let outcome = link_commit(recorder, &made, &mut sessions);
    // Agents without hooks never say that a session begins, which is when the others are looked after.
    close_forgotten(recorder, &mut sessions, None);
    // What was recorded before a failure must be known next time, or it would be recorded twice.
    save_changed(recorder, &before, &sessions)?;
    match outcome {
        Err(error) if error.kind() == Kind::Busy => pending::keep_sessions(&path, &recorder.waiting),
        // It stays written down, and is tried again.
        Err(error) if error.kind() == Kind::Storage => Err(error),
        outcome => {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
            let has_part = |live: &Live| recorder.report.recorded.contains(&(commit_id, live.key()));
            if !sessions.iter().all(has_part) {
                recorder.state.note_judged(commit_id)?;
            }
            outcome
        }
    }
}

/// Records the sessions that belong to a commit.
///
/// A session whose news could not be read within the deadline is [`Kind::Busy`], after the others are recorded.
pub(super) fn link_commit(recorder: &mut Recorder<'_>, made: &Made, sessions: &mut [Live]) -> Result<()> {
    let Some(commit_id) = made.commit_ids.first().copied() else { return Ok(()) };
    let commit = recorder.repo.commit(commit_id)?;
    let making = if commit.parent_ids.len() > 1 { Making::Merge } else { made.making };
    if making == Making::Merge && made.ran.is_empty() {
        recorder.state.log(&format!("left {commit_id} alone: no session made this merge"));
        return Ok(());
    }
    let parent = commit.parent_ids.first().and_then(|parent| recorder.repo.commit(*parent).ok());
    let (ran, call) = (&made.ran, made.call.as_deref());
    let mut change = Change {
        making,
        paths: Vec::new(),
        parent_time: parent.map_or(i64::MIN, |parent| parent.committer.time.seconds),
        worktree: made.worktree.clone(),
    };
    let mut news = Vec::new();
    let mut unfinished = Ok(());
    for live in sessions.iter_mut() {
        let limit = made.ends.as_ref().map(|ends| ends.get(&live.key().to_string()).copied());
        if limit == Some(None) {
            // It began after the commit.
            news.push(None);
            continue;
        }
        if recorder.waiting.contains(&live.key().to_string()) {
            // What it said before waits, and would take the time of the others.
            unfinished = Err(Error::new(Kind::Busy, format!("{} waits for an earlier capture", live.key())));
            news.push(None);
            continue;
        }
        news.push(recorder.catch_up(live, true, true, limit.flatten()).unwrap_or_else(|error| {
            recorder.state.log(&format!("warning: {}: {error}", live.key()));
            if error.kind() == Kind::Busy {
                recorder.waiting.insert(live.key().to_string());
                unfinished = Err(error);
            }
            None
        }));
    }
    let said: Vec<(usize, &Stretch<'_>)> =
        news.iter().enumerate().filter_map(|(index, stretch)| Some((index, stretch.as_ref()?))).collect();
    // The paths only tell something about sessions that did not run the commit.
    if said.iter().any(|(_, stretch)| !ran.contains(&stretch.key)) {
        // A partial clone may lack a tree; then the other evidence decides.
        change.paths = recorder.repo.changed_paths(&commit).unwrap_or_else(|error| {
            recorder.state.log(&format!("warning: {error}"));
            Vec::new()
        });
    }
    let evidence = |(index, stretch): &(usize, &'_ Stretch<'_>)| {
        (ran.contains(&stretch.key), sessions[*index].worktree == made.worktree)
    };
    let evidence: Vec<Evidence<'_>> = said
        .iter()
        .map(|said| {
            let (has_run_it, is_in_worktree) = evidence(said);
            Evidence { has_run_it, is_in_worktree, tally: &said.1.survey.tally }
        })
        .collect();
    let chosen: Vec<usize> = choose::choose(&change, &evidence).into_iter().map(|position| said[position].0).collect();
    for (index, (live, news)) in sessions.iter_mut().zip(news).enumerate() {
        let mut has_answer = false;
        if let Some(mut stretch) = news.filter(|_| chosen.contains(&index)) {
            stretch.commit_ids.extend(&made.commit_ids);
            has_answer = stretch.survey.answers.iter().any(|answer| Some(&*answer.call_id) == call);
            recorder.record_stretch(&mut stretch, &mut live.progress);
            recorder.record_sub_agents(Some(commit_id), live)?;
        }
        if ran.contains(&live.key()) && !has_answer {
            live.open = Some(Open { commit: commit_id.to_string(), call: call.map(str::to_owned) });
        }
    }
    unfinished
}

/// Returns the merge at HEAD, if Git has just made it by itself, so that no other hook than `post-merge` runs.
pub fn merge_at_head(repo: &Repository) -> Option<ObjectId> {
    let commit_id = repo.head().ok()?.commit_id?;
    let last_move = repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id)?;
    (last_move.is_merge() && !repo.is_rebasing()).then_some(commit_id)
}
