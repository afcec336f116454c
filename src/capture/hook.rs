//! What hooks do: a commit was made, history was rewritten, an agent reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::choose::{self, Change, Evidence, Making};
use super::pending::{self, Link, Pending};
use super::recorder::{Recorder, Stretch, kept_at};
use super::state::{Live, Open, State};
use super::{carry, process};
use crate::agent::{self, Agent, Event, Found, Payload};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Commit, Location, ObjectId, ReflogEntry, Repository, last_move};
use crate::notes;
use crate::record::{Note, Record};
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

/// Says, without opening the repository, whether a commit has nothing to record.
pub fn is_idle(location: &Location) -> bool {
    let state = State::new(&location.common_dir);
    state.is_idle()
        && !carry::may_have_sources(location)
        && !agent::all().any(|agent| agent.session_of_environment().is_some())
        && undiscovered(&state, location.worktree.as_deref(), &[]).is_empty()
        && !crate::capture::agents::may_be_defined(location)
}

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

/// Returns how the commit at HEAD was made, if it is new work or a merge and not the result of rewriting history.
fn making_of_head(repo: &Repository, commit: &Commit, last_move: Option<&ReflogEntry>) -> Option<Making> {
    match last_move {
        _ if repo.is_mid_operation() => None,
        Some(entry) if entry.is_new_work() => Some(Making::Plain),
        Some(entry) => entry.is_merge().then_some(Making::Merge),
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
    let making = match &last_move {
        _ if location.is_mid_operation() => None,
        entry if entry.is_new_work() => Some(Making::Plain),
        entry => entry.is_merge().then_some(Making::Merge),
    };
    if let Some(making) = making {
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
    fn here(repo: &Repository, ran: Vec<SessionKey>) -> Self {
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

impl Recorder<'_> {
    /// Records the live sessions that belong to the commit at HEAD, which was just made.
    ///
    /// # Errors
    ///
    /// If the repository cannot be read. A session that fails is a warning.
    pub fn after_commit(&mut self) -> Result<()> {
        let Some((commit, last_move)) = head_of(self.repo)? else { return Ok(()) };
        let is_squash = self.carry_at_once(&commit, last_move.as_ref()).unwrap_or_else(|error| {
            self.warn(error);
            false
        });
        match making_of_head(self.repo, &commit, last_move.as_ref()) {
            Some(Making::Plain) if is_squash => self.link_live(commit.commit_id, Making::Squash),
            Some(making) => self.link_live(commit.commit_id, making),
            None => {
                self.state.log(&format!("left {} alone: it is old work", commit.commit_id));
                Ok(())
            }
        }
    }

    /// Records on the merge at HEAD the sessions that made it, if Git has just made one by itself.
    ///
    /// # Errors
    ///
    /// As [`Recorder::after_commit`].
    pub fn after_merge(&mut self) -> Result<()> {
        match merge_at_head(self.repo) {
            Some(commit_id) => self.link_live(commit_id, Making::Merge),
            None => Ok(()),
        }
    }

    /// Records the live sessions that belong to a commit that was just made.
    ///
    /// What is to be done is written down first: whatever ends this process, the next hook or command does it.
    fn link_live(&mut self, commit_id: ObjectId, making: Making) -> Result<()> {
        let mut sessions = self.state.sessions();
        let before = sessions.clone();
        sessions.extend(undiscovered(&self.state, self.repo.worktree(), &sessions));
        sessions.extend(started_outside(&self.state, self.repo.worktree(), &sessions));
        let hindrance = self.hindrance();
        if sessions.is_empty() && hindrance.as_ref().is_none_or(|error| error.kind() == Kind::Busy) {
            return Ok(());
        }
        let ran = runners(&sessions);
        let made = Made { commit_ids: vec![commit_id], making, ..Made::here(self.repo, ran) };
        let path = leave_commit(&self.state, &made, &sessions, &sessions[before.len()..])?;
        if let Some(error) = hindrance {
            self.warn(kept_at(error, &path));
            return Ok(());
        }
        crate::git::fault_point("left");
        let outcome = self.link_commit(&made, &mut sessions);
        // Agents without hooks never say that a session begins, which is when the others are looked after.
        self.close_forgotten(&mut sessions, None);
        // What was recorded before a failure must be known next time, or it would be recorded twice.
        self.save_changed(&before, &sessions)?;
        match outcome {
            Err(error) if error.kind() == Kind::Busy => Ok(()),
            outcome => {
                std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
                let has_part = |live: &Live| self.report.recorded.contains(&(commit_id, live.key()));
                if !sessions.iter().all(has_part) {
                    self.state.note_judged(commit_id)?;
                }
                outcome
            }
        }
    }

    /// Writes down the sessions that are not as they were, and forgets those that no commit can need any more.
    pub(super) fn save_changed(&self, before: &[Live], sessions: &[Live]) -> Result<()> {
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

    /// Records the sessions that belong to a commit.
    ///
    /// A session whose news could not be read within the deadline is [`Kind::Busy`], after the others are recorded.
    pub(super) fn link_commit(&mut self, made: &Made, sessions: &mut [Live]) -> Result<()> {
        let Some(commit_id) = made.commit_ids.first().copied() else { return Ok(()) };
        let commit = self.repo.commit(commit_id)?;
        let making = if commit.parent_ids.len() > 1 { Making::Merge } else { made.making };
        if making == Making::Merge && made.ran.is_empty() {
            self.state.log(&format!("left {commit_id} alone: no session made this merge"));
            return Ok(());
        }
        let parent = commit.parent_ids.first().and_then(|parent| self.repo.commit(*parent).ok());
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
            news.push(self.catch_up(live, true, true, limit.flatten()).unwrap_or_else(|error| {
                self.state.log(&format!("warning: {}: {error}", live.key()));
                if error.kind() == Kind::Busy {
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
            change.paths = self.repo.changed_paths(&commit).unwrap_or_else(|error| {
                self.state.log(&format!("warning: {error}"));
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
        let chosen: Vec<usize> =
            choose::choose(&change, &evidence).into_iter().map(|position| said[position].0).collect();
        for (index, (live, news)) in sessions.iter_mut().zip(news).enumerate() {
            let mut has_answer = false;
            if let Some(mut stretch) = news.filter(|_| chosen.contains(&index)) {
                stretch.commit_ids.extend(&made.commit_ids);
                has_answer = stretch.survey.answers.iter().any(|answer| Some(&*answer.call_id) == call);
                self.record_stretch(&mut stretch, &mut live.progress);
                self.record_sub_agents(Some(commit_id), live)?;
            }
            if ran.contains(&live.key()) && !has_answer {
                live.open = Some(Open { commit: commit_id.to_string(), call: call.map(str::to_owned) });
            }
        }
        unfinished
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
        // Another process has our lock. The next hook of the session finds out what this one would have.
        if self.hindrance().is_some() {
            return Ok(());
        }
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
        sessions[position].has_tool_hooks |= event == Event::AfterTool;
        if event == Event::SessionStart {
            self.close_forgotten(&mut sessions, Some(position));
            self.state.forget_settled(Time::now().seconds - KEEP_SECS);
        }
        let moves = self.moves_of_head(&mut sessions[position]);
        if event == Event::AfterTool
            && let Err(error) = self.after_tool(&mut sessions, position, &moves, payload)
        {
            self.warn(error);
        }
        let live = &mut sessions[position];
        let is_turn_over = event != Event::AfterTool;
        if live.open.is_some()
            && let Err(error) = self.catch_up(live, is_turn_over, false, None)
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
    ///
    /// Those that Git's hook left for this session are recorded oldest first, wherever they were made. One that another
    /// call made, which ran at the same time, waits for its own hook, unless a later one is recorded now.
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
        let mut links = pending::links_of(&self.state, &key);
        let has_links = !links.is_empty();
        let mut commits = Vec::new();
        for (commit_id, making) in commits_of(moves, self.repo.is_mid_operation()) {
            let hex = commit_id.to_string();
            let link = links.iter().position(|(_, link)| link.commit == hex).map(|index| links.remove(index));
            commits.push((commit_id, making, link));
        }
        let elsewhere = links
            .into_iter()
            .filter_map(|(path, link)| Some((self.repo.parse_id(&link.commit)?, link.making, Some((path, link)))));
        commits.splice(0..0, elsewhere.collect::<Vec<_>>());
        let is_seen = |commit_id: &ObjectId| payload.response_mentions(&commit_id.to_hex_with_len(7).to_string());
        let is_own = |commit_id: &ObjectId| is_seen(commit_id) || payload.may_commit() || !payload.tells_input();
        // What the call undid itself belongs to the commit that it made instead.
        let head = self.repo.head()?.commit_id;
        let is_undone = |link: &Link, commit_id: ObjectId| {
            let is_reached = |head| self.repo.merge_base(commit_id, head).is_ok_and(|base| base == Some(commit_id));
            link.worktree.as_deref() == self.repo.worktree() && head.is_some_and(|head| !is_reached(head))
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
                None if !has_run_it && self.state.is_judged(commit_id) => continue,
                _ => {}
            }
            if let Some((path, _)) = link.as_ref().filter(|(_, link)| !is_last && is_undone(link, commit_id)) {
                undone.push((commit_id, path.clone()));
                continue;
            }
            let note = notes::get(self.repo, &self.notes_ref, commit_id)?;
            let has_part = |note: &Vec<u8>| Note::parse_lines(note).records().any(|record| record.key() == key);
            match note.filter(|note| link.is_none() || has_part(note)) {
                // One result is there for all commits of the call; it goes to the last.
                Some(note) if has_run_it && is_last => {
                    sessions[position].open = self.reopened(&sessions[position], &commit, &note, payload.call_id());
                }
                Some(_) => {}
                None => {
                    let ran = if has_run_it { vec![key.clone()] } else { Vec::new() };
                    let here = Made { commit_ids: vec![commit_id], making, ..Made::here(self.repo, ran) };
                    let mut made = link.as_ref().map_or(here, |(_, link)| Made::of(self.repo, link));
                    if let Some(ends) = made.ends.as_mut().filter(|_| is_last) {
                        // The answer of the call goes to the last commit that it made.
                        ends.insert(key.to_string(), u64::MAX);
                    }
                    made.commit_ids.extend(undone.iter().map(|(commit_id, _)| *commit_id));
                    made.call = payload.call_id().filter(|_| link.is_none() || is_last).map(str::to_owned);
                    self.link_commit(&made, sessions)?;
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

/// Returns the commits that movements of HEAD made, and how, oldest first; those of a rebase are old work.
fn commits_of(moves: &[ReflogEntry], is_mid_operation: bool) -> Vec<(ObjectId, Making)> {
    let mut is_rebase = is_mid_operation;
    let mut commits = Vec::new();
    for entry in moves {
        if entry.message.starts_with(b"rebase") {
            is_rebase = !entry.message.starts_with(b"rebase (finish)") && !entry.message.starts_with(b"rebase (abort)");
        } else if !is_rebase && entry.is_new_work() {
            commits.push((entry.new_id, Making::Plain));
        } else if !is_rebase && entry.is_merge() {
            commits.push((entry.new_id, Making::Merge));
        }
    }
    commits
}

/// Returns the merge at HEAD, if Git has just made it by itself, so that no other hook than `post-merge` runs.
pub fn merge_at_head(repo: &Repository) -> Option<ObjectId> {
    let commit_id = repo.head().ok()?.commit_id?;
    let last_move = repo.head_reflog(1).into_iter().find(|entry| entry.new_id == commit_id)?;
    (last_move.is_merge() && !repo.is_rebasing()).then_some(commit_id)
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
fn runner(agent: &dyn Agent) -> Option<SessionKey> {
    Some(SessionKey::new(agent.name(), agent.session_of_environment()?))
}

/// Returns the sessions that the environment of this process names and that are not known here: their agent was started
/// above this repository or in another one, so that its hooks report elsewhere.
///
/// If one of those that are known is named too, the others are taken for agents that started its agent.
fn started_outside(state: &State, worktree: Option<&Path>, known: &[Live]) -> Vec<Live> {
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
fn runners(sessions: &[Live]) -> Vec<SessionKey> {
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
