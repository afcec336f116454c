//! Commits that no hook reported, found in transcripts that name them: an agent may hide Git's hooks from its commands, be
//! started in a directory above the repository, or write a session after its answer.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use super::choose::kind_of_entry;
use super::late::record_on_named_commits;
use super::recorder::Recorder;
use super::sessions::{RECENT_SECS, is_checked_out, is_going_on, new_live};
use super::state::State;
use super::tracked::TrackedSession;
use crate::agent::{self, Agent};
use crate::git::date::Time;
use crate::git::private::{self, modified_secs};
use crate::git::{ObjectId, ReflogEntry, Repository, Worktree, last_move, locate};
use crate::notes;
use crate::transcript::SessionKey;

/// How many moves of HEAD are looked at.
const MAX_MOVES: usize = 20;

/// How many digits of a commit's id a session must name.
const SHORT_ID_DIGITS: usize = 7;

/// How much of a transcript is searched at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// How long the search in a database may take.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// Commits without a note, and the sessions that may have made them.
pub struct Unseen {
    /// The commits, oldest first.
    commit_ids: Vec<ObjectId>,
    sessions: Vec<TrackedSession>,
    searched: Searched,
}

/// Finds sessions that name a recent commit without a note; `None` if there are none. Reads only sessions that were written
/// after that commit and after the last search, and that ran in the working tree, below it or above it.
///
/// Costs a few lookups where the newest commits have notes. Stores nothing but when it searched.
pub fn unseen(repo: &Repository, notes_ref: &str) -> Option<Unseen> {
    let state = State::new(&repo.common_dir());
    let worktree = repo.worktree().filter(|_| state.root().join("installed").is_file())?;
    let now = Time::now().seconds;
    let commits = without_note(repo, notes_ref, now - RECENT_SECS);
    let oldest = commits.iter().map(|(_, made)| *made).min()?;
    let mut searched = Searched::read(&state);
    let since = searched.replace(worktree, now).map_or(oldest, |before| before.max(oldest));
    let commit_ids: Vec<ObjectId> = commits.into_iter().map(|(commit_id, _)| commit_id).collect();
    let names: Vec<String> = commit_ids.iter().map(|id| id.to_hex_with_len(SHORT_ID_DIGITS).to_string()).collect();
    let mut sessions = written_since(&state, worktree, since);
    sessions.retain(|live| agent::find(&live.agent).is_some_and(|agent| names_one(agent, &live.transcript, &names)));
    if sessions.is_empty() {
        searched.write();
        return None;
    }
    Some(Unseen { commit_ids, sessions, searched })
}

/// Returns the tops of the other worktrees whose HEAD has lately moved to a commit that has no note.
pub fn other_worktrees(repo: &Repository, notes_ref: &str) -> Vec<PathBuf> {
    let since = Time::now().seconds - RECENT_SECS;
    let is_wanted = |worktree: &Worktree| {
        let is_recent = modified_secs(&worktree.git_dir.join("logs/HEAD")).is_some_and(|moved| moved >= since);
        let last = || last_move(&locate(&worktree.top)?);
        let is_unseen = |last: ReflogEntry| notes::get(repo, notes_ref, last.new_id).is_ok_and(|note| note.is_none());
        is_recent && last().is_some_and(is_unseen)
    };
    let others = repo.worktrees().into_iter().filter(|worktree| Some(&*worktree.top) != repo.worktree());
    others.filter(is_wanted).map(|worktree| worktree.top).collect()
}

/// Returns the commits that HEAD moved to lately and that have no note, oldest first, with the time of each (epoch).
fn without_note(repo: &Repository, notes_ref: &str, since: i64) -> Vec<(ObjectId, i64)> {
    let mut commits = Vec::new();
    let moves = repo.head_reflog(MAX_MOVES);
    // What led to a commit that was amended led to the one in its place.
    let is_amended = |id| moves.iter().any(|entry| entry.old_id == id && entry.message.starts_with(b"commit (amend)"));
    let is_wanted = |entry: &&ReflogEntry| kind_of_entry(repo, entry).is_some() && !is_amended(entry.new_id);
    for entry in moves.iter().filter(is_wanted) {
        let Ok(commit) = repo.commit(entry.new_id) else { continue };
        let made = commit.committer.time.seconds;
        if made >= since && notes::get(repo, notes_ref, entry.new_id).is_ok_and(|note| note.is_none()) {
            commits.push((entry.new_id, made));
        }
    }
    commits.reverse();
    commits
}

/// Returns the sessions that were written since `seconds` (epoch) and ran in a worktree, below it or above it. Leaves out
/// running sessions that report to hooks, and sessions without new words.
fn written_since(state: &State, worktree: &Path, seconds: i64) -> Vec<TrackedSession> {
    let now = Time::now().seconds;
    let mut sessions: Vec<TrackedSession> = Vec::new();
    for directory in worktree.ancestors().filter(|directory| directory.parent().is_some()) {
        for agent in agent::all() {
            for found in agent.recent(directory, seconds) {
                let key = SessionKey::new(agent.name(), &found.session_id);
                let is_known = sessions.iter().any(|live| live.key() == key);
                if is_known
                    || is_checked_out(&found.transcript, worktree)
                    || agent.ran_in(&found.transcript, directory) != Some(true)
                {
                    continue;
                }
                let live = state.session(&key).unwrap_or_else(|| TrackedSession {
                    worktree: (directory == worktree).then(|| worktree.to_owned()),
                    ..new_live(&key, found.transcript)
                });
                let reports = live.is_reported_by_hooks() && is_going_on(&live, now);
                if !live.has_nothing_new() && !reports {
                    sessions.push(live);
                }
            }
        }
    }
    sessions
}

/// Says whether a transcript has one of some words in it.
fn names_one(agent: &dyn Agent, transcript: &Path, words: &[String]) -> bool {
    let has_one = |text: &[u8]| words.iter().any(|word| text.contains_str(word));
    let Some(mut file) = transcript.is_file().then(|| private::open(transcript).ok()).flatten() else {
        return agent.read_until(transcript, Some(Instant::now() + TIME_LIMIT)).is_ok_and(|text| has_one(&text));
    };
    let (mut block, mut kept) = (vec![0; BLOCK_BYTES], 0);
    while let Ok(read @ 1..) = file.read(&mut block[kept..]) {
        let end = kept + read;
        if has_one(&block[..end]) {
            return true;
        }
        // A word may go on in the next block.
        kept = end.min(SHORT_ID_DIGITS);
        block.copy_within(end - kept..end, 0);
    }
    false
}

/// When each worktree's sessions were last searched (epoch).
struct Searched {
    path: PathBuf,
    times: BTreeMap<PathBuf, i64>,
}

impl Searched {
    fn read(state: &State) -> Self {
        let path = state.root().join("searched");
        let times = private::read_whole(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Searched { path, times: times.unwrap_or_default() }
    }

    /// Sets the time of a worktree, and returns the one before.
    fn replace(&mut self, worktree: &Path, now: i64) -> Option<i64> {
        self.times.retain(|_, time| *time >= now - RECENT_SECS && *time <= now);
        self.times.insert(worktree.to_owned(), now)
    }

    /// Writes the times. A failure costs only time at the next search.
    fn write(&self) {
        if let Ok(bytes) = serde_json::to_vec(&self.times) {
            let _ = private::write(&self.path, &bytes);
        }
    }
}

/// Records the sessions that were found on the commits that they tell of having made.
pub fn record_unseen(recorder: &mut Recorder<'_>, unseen: Unseen) {
    if recorder.hindrance().is_some() {
        return;
    }
    for found in unseen.sessions {
        // A hook may have recorded it meanwhile.
        let mut live = recorder.state.session(&found.key()).unwrap_or(found);
        let before = live.progress.recorded.clone();
        if recorder.must_wait(&live.key()) {
            continue;
        }
        let told = record_on_named_commits(recorder, &mut live, &unseen.commit_ids, false);
        let saved = if live.progress.recorded == before { Ok(()) } else { recorder.state.save(&live) };
        if let Err(error) = told.and(saved) {
            recorder.state.log(&format!("warning: {}: {error}", live.key()));
        }
    }
    unseen.searched.write();
}
