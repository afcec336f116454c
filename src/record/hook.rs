//! What hooks do: a commit was made, history was rewritten, an agent reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::capture::Ahead;
use super::link::{self, Change, Evidence};
use super::process;
use super::recorder::{Recorder, Stretch};
use super::state::{Live, Open, State};
use super::{Note, Record};
use crate::agent::{self, Agent, Event, Found, Payload};
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{Location, ObjectId, ReflogEntry};
use crate::notes;
use crate::transcript::SessionKey;

/// A session whose hooks have been silent for so long counts as over.
const IDLE_SECS: i64 = 6 * 60 * 60;
/// The state of a session that is over is kept so long: for commits made by hand afterwards, and so that its transcript
/// in the agent's store is not taken for a new one.
const KEEP_SECS: i64 = 3 * 24 * 60 * 60;
/// How far back `post-commit` looks for transcripts in the agents' own stores.
const RECENT_SECS: i64 = 12 * 60 * 60;
/// How many movements of HEAD one tool call may make.
const MAX_MOVES: usize = 200;

/// Says, without opening the repository, whether a commit has no session to look at.
pub fn is_idle(location: &Location) -> bool {
    let state = State::new(&location.common_dir);
    state.is_idle()
        && undiscovered(&state, location.worktree.as_deref(), &[], None).is_empty()
        && !super::agents::may_be_defined(location)
}

/// Starts to look at the transcripts of the live sessions, for [`Recorder::with_ahead`]; `None` if that takes no time.
pub fn look_ahead(location: &Location) -> Option<Ahead> {
    let worktree = location.worktree.clone();
    let look_around =
        move |agent: &dyn Agent| worktree.as_deref().map(|worktree| recent(agent, worktree)).unwrap_or_default();
    Ahead::start(State::new(&location.common_dir).sessions(), look_around)
}

fn recent(agent: &dyn Agent, worktree: &Path) -> Vec<Found> {
    agent.recent(worktree, Time::now().seconds - RECENT_SECS)
}

/// Returns the sessions whose transcripts agents wrote lately in a worktree, and of which neither `known` nor what is
/// settled has all.
fn undiscovered(state: &State, worktree: Option<&Path>, known: &[Live], ahead: Option<&Ahead>) -> Vec<Live> {
    let Some(worktree) = worktree else { return Vec::new() };
    let mut sessions = Vec::new();
    let mut elsewhere = None;
    for agent in agent::all() {
        let seen = ahead.and_then(|ahead| ahead.recent(agent.name()));
        for found in seen.unwrap_or_else(|| recent(agent, worktree)) {
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

impl Recorder<'_> {
    /// Records the live sessions that belong to the commit at HEAD, which was just made.
    ///
    /// # Errors
    ///
    /// If the repository cannot be read. A session that fails is a warning.
    pub fn after_commit(&mut self) -> Result<()> {
        let Some(commit_id) = self.repo.head()?.commit_id else { return Ok(()) };
        let last_move = self.repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id);
        let is_new_work = match &last_move {
            Some(entry) => entry.is_new_work(),
            None => self.repo.commit(commit_id)?.parent_ids.len() < 2,
        };
        if self.repo.is_mid_operation() || !is_new_work {
            self.state.log(&format!("left {commit_id} alone: it is old work or a merge"));
            return Ok(());
        }
        let mut sessions = self.state.sessions();
        let before = sessions.clone();
        sessions.extend(undiscovered(&self.state, self.repo.worktree(), &sessions, self.ahead.as_ref()));
        let ran = runners(&sessions);
        let outcome = self.link_commit(commit_id, &mut sessions, &ran, None);
        // Agents without hooks never say that a session begins, which is when the others are looked after.
        self.close_forgotten(&mut sessions, None);
        // What was recorded before a failure must be known next time, or it would be recorded twice.
        self.save_changed(&before, &sessions).and(outcome)
    }

    /// Writes down the sessions that are not as they were, and forgets those that no commit can need any more.
    fn save_changed(&self, before: &[Live], sessions: &[Live]) -> Result<()> {
        // Without our lock, another process may have changed it since it was read.
        if self.hindrance().is_some() {
            return Ok(());
        }
        let now = Time::now().seconds;
        for (index, live) in sessions.iter().enumerate() {
            if live.is_over && now - live.seen > KEEP_SECS {
                self.state.forget(&live.key());
            } else if before.get(index) != Some(live) {
                self.state.save(live)?;
            }
        }
        Ok(())
    }

    /// Records the sessions that belong to a commit. `ran` are those known to have run it, in the tool call `call`.
    fn link_commit(
        &mut self,
        commit_id: ObjectId,
        sessions: &mut [Live],
        ran: &[SessionKey],
        call: Option<&str>,
    ) -> Result<()> {
        let commit = self.repo.commit(commit_id)?;
        let parent = commit.parent_ids.first().and_then(|parent| self.repo.commit(*parent).ok());
        let worktree = self.repo.worktree().map(std::path::Path::to_owned);
        let mut change = Change {
            paths: Vec::new(),
            parent_time: parent.map_or(i64::MIN, |parent| parent.committer.time.seconds),
            worktree: worktree.clone(),
        };
        let mut news = Vec::new();
        for live in sessions.iter_mut() {
            news.push(self.catch_up(live, true, true).unwrap_or_else(|error| {
                self.state.log(&format!("warning: {}: {error}", live.key()));
                None
            }));
        }
        let said: Vec<(usize, &Stretch<'_>)> =
            news.iter().enumerate().filter_map(|(index, stretch)| Some((index, stretch.as_ref()?))).collect();
        // The paths only tell something about sessions that did not run the commit.
        if said.iter().any(|(_, stretch)| !ran.contains(&stretch.key)) {
            // A partial clone may lack a tree; then the other evidence decides.
            change.paths = self.repo.changed_paths(&commit).unwrap_or_else(|error| {
                self.state.log(&format!("warning: {error}"));
                Vec::new()
            });
        }
        let evidence = |(index, stretch): &(usize, &'_ Stretch<'_>)| {
            (ran.contains(&stretch.key), sessions[*index].worktree == worktree)
        };
        let evidence: Vec<Evidence<'_>> = said
            .iter()
            .map(|said| {
                let (has_run_it, is_in_worktree) = evidence(said);
                Evidence { has_run_it, is_in_worktree, tally: &said.1.survey.tally }
            })
            .collect();
        let chosen: Vec<usize> =
            link::choose(&change, &evidence).into_iter().map(|position| said[position].0).collect();
        for (index, (live, news)) in sessions.iter_mut().zip(news).enumerate() {
            let mut has_answer = false;
            if let Some(mut stretch) = news.filter(|_| chosen.contains(&index)) {
                stretch.commit_ids.push(commit_id);
                has_answer = stretch.survey.answers.iter().any(|answer| Some(&*answer.call_id) == call);
                self.record_stretch(&mut stretch, &mut live.progress);
                self.record_sub_agents(Some(commit_id), live)?;
            }
            if ran.contains(&live.key()) && !has_answer {
                live.open = Some(Open { commit: commit_id.to_string(), call: call.map(str::to_owned) });
            }
        }
        Ok(())
    }

    /// Carries notes from rewritten commits to what became of them, as our own union.
    ///
    /// Git's own copy (`notes.rewriteRef`) may have run before; doing it again changes nothing. `command` is `amend`
    /// or `rebase`; `notes.rewrite.<command>=false` is honoured.
    ///
    /// # Errors
    ///
    /// As [`notes::edit`].
    pub fn after_rewrite(&mut self, command: &str, pairs: &[(ObjectId, ObjectId)]) -> Result<()> {
        if self.repo.config_bool(&format!("notes.rewrite.{command}")) == Some(false) || pairs.is_empty() {
            return Ok(());
        }
        // Git's own copy has no signature.
        self.repo.sign_tip(&self.notes_ref, "Notes added by 'git ", self.deadline)?;
        let message = format!("shiftlog: notes carried over by {command}\n");
        notes::edit(self.repo, &self.notes_ref, &message, self.deadline, |editor| {
            let mut merged: BTreeMap<ObjectId, Note> = BTreeMap::new();
            for (old, new) in pairs {
                let Some(note) = editor.get(*old)? else { continue };
                merged.entry(*new).or_default().merge(&Note::parse(&note));
            }
            for (new, mut note) in merged {
                let there = editor.get(new)?;
                note.merge(&Note::parse(there.as_deref().unwrap_or_default()));
                let bytes = note.to_bytes();
                if there.as_deref() != Some(&bytes[..]) {
                    editor.replace(new, &bytes)?;
                }
            }
            Ok(())
        })?;
        self.state.log(&format!("carried notes over {} rewritten commits ({command})", pairs.len()));
        Ok(())
    }

    /// Takes in what a hook of an agent reports.
    ///
    /// # Errors
    ///
    /// If the repository or our own state cannot be read or written.
    pub fn agent_event(&mut self, agent: &dyn Agent, name: &str, payload: &Payload) -> Result<()> {
        let Some(session_id) = payload.session_id() else {
            self.state.log(&format!("{} {name}: the payload names no session", agent.name()));
            return Ok(());
        };
        let key = SessionKey::new(agent.name(), session_id);
        let event = Event::of(payload.event().unwrap_or(name));
        let mut sessions = self.state.sessions();
        let before = sessions.clone();
        let position = sessions.iter().position(|live| live.key() == key).unwrap_or_else(|| {
            sessions.push(self.state.session(&key).unwrap_or_else(|| new_live(&key, PathBuf::new())));
            sessions.len() - 1
        });
        self.refresh(&mut sessions[position], agent, payload);
        // Not every agent says that a session is taken up again.
        sessions[position].is_over = false;
        if event == Event::SessionStart {
            self.close_forgotten(&mut sessions, Some(position));
            self.state.forget_settled(Time::now().seconds - KEEP_SECS);
        }
        let moves = self.moves_of_head(&mut sessions[position]);
        if event == Event::AfterTool
            && !moves.is_empty()
            && let Err(error) = self.after_tool(&mut sessions, position, &moves, payload)
        {
            self.warn(error);
        }
        let live = &mut sessions[position];
        let is_turn_over = event != Event::AfterTool;
        if live.open.is_some()
            && let Err(error) = self.catch_up(live, is_turn_over, false)
        {
            self.warn(error);
        }
        // Nobody waits when a turn is over.
        if is_turn_over
            && live.progress.is_granted
            && let Err(error) = self.look_again(live)
        {
            self.warn(error);
        }
        if event == Event::SessionEnd {
            live.is_over = true;
            if let Err(error) = self.archive_session(live) {
                self.warn(error);
            }
        }
        self.save_changed(&before, &sessions)
    }

    /// Brings what is known of a session up to date with its newest hook.
    fn refresh(&self, live: &mut Live, agent: &dyn Agent, payload: &Payload) {
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
        let worktree = self.repo.worktree().map(std::path::Path::to_owned);
        if worktree.is_some() && live.worktree != worktree {
            (live.worktree, live.head) = (worktree, None);
        }
        live.process = process::caller().or(live.process);
    }

    /// Returns how HEAD moved since the session's last hook, oldest first, and remembers where it is.
    ///
    /// If it is not known where HEAD was (no hook has run before, or the session has gone to another worktree), nothing
    /// counts as a move: what the reflog holds is somebody else's.
    fn moves_of_head(&self, live: &mut Live) -> Vec<ReflogEntry> {
        // A branch without commits is a known place too.
        let head = self.repo.head().ok().and_then(|head| head.commit_id).map(|id| id.to_string()).unwrap_or_default();
        let Some(before) = live.head.replace(head.clone()).filter(|before| *before != head) else { return Vec::new() };
        let log = self.repo.head_reflog(MAX_MOVES);
        let before_id = self.repo.parse_id(&before).unwrap_or_else(|| self.repo.null_id());
        let Some(last) = log.iter().position(|entry| entry.old_id == before_id) else { return Vec::new() };
        log.into_iter().take(last + 1).rev().collect()
    }

    /// Records the commits that a tool call made, unless Git's own hook did, and waits for the call's result.
    fn after_tool(
        &mut self,
        sessions: &mut [Live],
        position: usize,
        moves: &[ReflogEntry],
        payload: &Payload,
    ) -> Result<()> {
        let worktree = sessions[position].worktree.clone();
        let is_alone = sessions.iter().filter(|live| live.worktree == worktree && !live.is_over).count() == 1;
        let key = sessions[position].key();
        let mut is_rebase = self.repo.is_mid_operation();
        let mut commits = Vec::new();
        for entry in moves {
            if entry.message.starts_with(b"rebase") {
                is_rebase =
                    !entry.message.starts_with(b"rebase (finish)") && !entry.message.starts_with(b"rebase (abort)");
            } else if !is_rebase && entry.is_new_work() {
                commits.push(entry.new_id);
            }
        }
        for (index, commit_id) in commits.iter().enumerate() {
            let commit = commit_id.to_string();
            let is_last = index + 1 == commits.len();
            if let Some(open) = sessions[position].open.as_mut().filter(|open| open.commit == commit) {
                open.call = payload.call_id().map(str::to_owned);
                continue;
            }
            // Somebody else can have committed while the tool ran.
            let has_run_it = payload.response_mentions(&commit[..7]) || (is_alone && payload.may_commit());
            match notes::get(self.repo, &self.notes_ref, *commit_id)? {
                // One result is there for all commits of the call; it goes to the last.
                Some(note) if has_run_it && is_last => {
                    sessions[position].open = self.reopened(&sessions[position], &commit, &note, payload.call_id());
                }
                Some(_) => {}
                None => {
                    let ran = if has_run_it { vec![key.clone()] } else { Vec::new() };
                    self.link_commit(*commit_id, sessions, &ran, payload.call_id())?;
                }
            }
        }
        Ok(())
    }

    /// Returns what to wait for when Git's hook recorded the commit without knowing that a tool call was running.
    fn reopened(&self, live: &Live, commit: &str, note: &[u8], call: Option<&str>) -> Option<Open> {
        let recorded = live.progress.recorded.segment.as_deref();
        let note = Note::parse(note);
        let is_its_own = |record: &Record| record.key() == live.key() && Some(&*record.through) == recorded;
        note.records().any(is_its_own).then(|| Open { commit: commit.to_owned(), call: call.map(str::to_owned) })
    }

    /// Archives sessions whose agent is gone.
    fn close_forgotten(&mut self, sessions: &mut [Live], current: Option<usize>) {
        let now = Time::now().seconds;
        for (index, live) in sessions.iter_mut().enumerate() {
            if Some(index) == current {
                continue;
            }
            // A hook's process may have been a shell that ended right after it: at a commit that says nothing.
            let is_gone = if current.is_some() { !is_going_on(live, now) } else { now - live.seen > IDLE_SECS };
            if !live.is_over && is_gone {
                live.is_over = true;
                if let Err(error) = self.archive_session(live) {
                    self.state.log(&format!("warning: {}: {error}", live.key()));
                }
            }
        }
    }
}

/// Says whether a session is going on at `now` (epoch), as far as its hooks have told.
pub(super) fn is_going_on(live: &Live, now: i64) -> bool {
    let is_gone = live.process.is_some_and(|process| !process.is_alive()) || now - live.seen > IDLE_SECS;
    !live.is_over && !is_gone
}

pub(super) fn new_live(key: &SessionKey, transcript: PathBuf) -> Live {
    Live {
        agent: key.agent.clone(),
        session: key.id.clone(),
        transcript,
        model: None,
        worktree: None,
        process: None,
        seen: Time::now().seconds,
        is_over: false,
        head: None,
        progress: super::state::Progress::default(),
        sub_agents: BTreeMap::new(),
        open: None,
    }
}

/// Returns the session of an agent that the environment of this process names.
fn runner(agent: &dyn Agent) -> Option<SessionKey> {
    Some(SessionKey::new(agent.name(), agent.session_of_environment()?))
}

/// Returns the sessions that must have run the commit whose hook this process is: the agent says so in the
/// environment, or its process is above ours.
fn runners(sessions: &[Live]) -> Vec<SessionKey> {
    let named = agent::all().filter_map(runner);
    // A variable may have come from another agent that started this one.
    let named: Vec<SessionKey> = named.filter(|key| sessions.iter().any(|live| live.key() == *key)).collect();
    if !named.is_empty() {
        return named;
    }
    let above = process::above(sessions.iter().filter_map(|live| live.process));
    let above = sessions.iter().filter(|live| live.process.is_some_and(|process| above.contains(&process)));
    // One agent process can have had several sessions, one after the other; the latest is the one that acts.
    above.max_by_key(|live| live.seen).map(Live::key).into_iter().collect()
}
