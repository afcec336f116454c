//! The plan of an export: the sessions of the chosen commits, each with its commits in the order in which they were made.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::clean_words;
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{Commit, ObjectId};
use crate::pretty::count;
use crate::record::redaction::{clean, clean_key};
use crate::record::{Reader, Sessions, Summary};
use crate::redact::Redactor;
use crate::stats::{Cost, Prices, Uncounted, cost_of, distinct};
use crate::told::Told;
use crate::transcript::SessionKey;

/// A commit that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The commit.
    pub commit_id: ObjectId,
    /// The session that is wanted of it; all if `None`, those of sub-agents within theirs.
    pub session: Option<SessionKey>,
    /// Whether the session is wanted from its beginning.
    pub is_whole: bool,
}

/// A commit of a session.
#[derive(Debug)]
pub struct Made {
    /// The commit, which its sessions share.
    pub commit: Rc<Commit>,
    /// The summary in its first record.
    pub summary: Summary,
    /// Those of the session's other records on the commit, and of its sub-agents.
    pub others: Vec<Summary>,
    /// The length of the session's transcript when it was recorded.
    pub bytes: u64,
}

/// A session that is exported.
#[derive(Debug)]
pub struct Session {
    /// Its name.
    pub key: SessionKey,
    /// Its name without secrets, for people, addresses and files.
    pub shown: SessionKey,
    /// Whether all of it is exported, up to its last commit.
    pub is_full: bool,
    /// Its commits.
    pub made: Vec<Made>,
}

/// The records that a session counts with, its own and those of its sub-agents.
#[derive(Debug)]
pub struct SessionCounts {
    /// The records, or parts of them, each with its commit's author date.
    pub records: Vec<(Time, Summary)>,
    /// What could not be counted as it should be.
    pub uncounted: Uncounted,
}

/// The sessions to export.
#[derive(Debug, Default)]
pub struct Selection {
    /// The sessions, in the order of their first commits.
    pub sessions: Vec<Session>,
    /// The commits that have evidence and no conversation. A document has none of them.
    pub observed: Vec<Rc<Commit>>,
}

impl Selection {
    /// Finds the sessions of commits, and the commits with evidence alone. `only` is the beginning of a session's id, for commits that are wanted with all of theirs.
    /// The plan is empty if nothing is recorded there.
    ///
    /// # Errors
    ///
    /// If a commit or a note cannot be read.
    pub fn of(
        reader: &Reader<'_>,
        wanted: Vec<Wanted>,
        only: Option<&str>,
        is_full: bool,
        redactor: &Redactor,
    ) -> Result<Self> {
        let mut plan = Selection::default();
        let mut seen = HashSet::new();
        for Wanted { commit_id, session, is_whole } in wanted {
            if seen.insert((commit_id, session.clone())) {
                let noted = reader.sessions(commit_id)?.filter(|noted| noted.summaries().next().is_some());
                let Some(noted) = noted else {
                    let is_observed =
                        || reader.note(commit_id).map(|note| note.is_some_and(|note| !note.evidence().is_empty()));
                    if session.is_none() && only.is_none() && is_observed()? {
                        plan.observed.push(Rc::new(read_commit(reader, commit_id, redactor)?));
                    }
                    continue;
                };
                let is_wanted = |key: &SessionKey| match (&session, only) {
                    (Some(session), _) => key == session,
                    (None, Some(only)) => key.is_within(only),
                    (None, None) => !has_parent(key, &noted),
                };
                plan.add(reader, commit_id, &noted, is_full || is_whole, redactor, is_wanted)?;
            }
        }
        plan.find_commits(reader, redactor)?;
        Ok(plan)
    }

    /// Finds all commits of the sessions that are exported whole, up to the last that was asked for.
    fn find_commits(&mut self, reader: &Reader<'_>, redactor: &Redactor) -> Result<()> {
        let full = self.sessions.iter_mut().filter(|session| session.is_full);
        let with_end = full.map(|session| {
            let end = session.made.iter().map(|made| made.bytes).max().unwrap_or(0);
            (session.key.clone(), (session, end))
        });
        let mut full: HashMap<SessionKey, (&mut Session, u64)> = with_end.collect();
        if full.is_empty() {
            return Ok(());
        }
        let asked: HashSet<ObjectId> =
            full.values().flat_map(|(session, _)| &session.made).map(|made| made.commit.commit_id).collect();
        for (commit_id, blob_ids) in reader.noted()? {
            if !reader.repo().has_object(commit_id) {
                continue;
            }
            let Ok(noted) = reader.sessions_of_blobs(&blob_ids) else { continue };
            let mut seen = HashSet::new();
            for summary in noted.summaries() {
                let is_first = seen.insert(&summary.key);
                let Some((session, end)) = full.get_mut(&summary.key).filter(|_| is_first) else { continue };
                let bytes = noted.bytes_of(&summary.key);
                if bytes >= *end || session.made.iter().any(|made| made.commit.commit_id == commit_id) {
                    continue;
                }
                let mut summary = summary.clone();
                clean_summary(redactor, &mut summary);
                let (commit, others) =
                    (Rc::new(read_commit(reader, commit_id, redactor)?), others(&noted, &summary.key));
                session.made.push(Made { commit, summary, others, bytes });
            }
        }
        for (session, _) in full.into_values() {
            let was_asked = |made: &Made| asked.contains(&made.commit.commit_id);
            let time = |made: &Made| made.commit.committer.time.seconds;
            // Where history was rewritten, several commits have the same words; the newest is the one that is still there.
            let made = &mut session.made;
            made.sort_by_key(|made| (made.bytes, !was_asked(made), Reverse(time(made)), made.commit.commit_id));
            made.dedup_by(|later, kept| later.bytes == kept.bytes && !was_asked(later));
            made.sort_by_key(|made| (made.bytes, time(made), made.commit.commit_id));
        }
        Ok(())
    }

    fn add(
        &mut self,
        reader: &Reader<'_>,
        commit_id: ObjectId,
        noted: &Sessions,
        is_full: bool,
        redactor: &Redactor,
        is_wanted: impl Fn(&SessionKey) -> bool,
    ) -> Result<()> {
        let mut places: HashMap<SessionKey, usize> =
            self.sessions.iter().enumerate().map(|(at, session)| (session.key.clone(), at)).collect();
        let commit = Rc::new(read_commit(reader, commit_id, redactor)?);
        for summary in noted.summaries().filter(|summary| is_wanted(&summary.key)) {
            let mut summary = summary.clone();
            clean_summary(redactor, &mut summary);
            let bytes = noted.bytes_of(&summary.key);
            let at = *places.entry(summary.key.clone()).or_insert(self.sessions.len());
            if at == self.sessions.len() {
                let (key, shown) = (summary.key.clone(), clean_key(redactor, &summary.key));
                self.sessions.push(Session { key, shown, is_full, made: Vec::new() });
            }
            let session = &mut self.sessions[at];
            session.is_full |= is_full;
            // A commit can have several records of a session; they are read together.
            if session.made.iter().all(|made| made.commit.commit_id != commit_id) {
                let (commit, others) = (Rc::clone(&commit), others(noted, &summary.key));
                session.made.push(Made { commit, summary, others, bytes });
            }
        }
        Ok(())
    }

    /// Says whether there is nothing to export.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.observed.is_empty()
    }

    /// Returns what is printed of some sessions and commits below the title of their page.
    pub fn lead(&self, sessions: &[usize], observed: &[Rc<Commit>]) -> String {
        let made = || sessions.iter().flat_map(|at| &self.sessions[*at].made);
        let commits: HashSet<ObjectId> = made().map(|made| made.commit.commit_id).collect();
        let commits = count((commits.len() + observed.len()) as u64, "commit");
        if sessions.is_empty() {
            format!("{commits}, no conversation recorded")
        } else {
            format!("{}, {commits}", count(sessions.len() as u64, "session"))
        }
    }

    /// Returns the commit of a page with some sessions if it is about one commit alone.
    pub fn only_commit(&self, sessions: &[usize]) -> Option<&Made> {
        let mut sessions = sessions.iter().map(|at| &self.sessions[*at]);
        let first = sessions.clone().next()?.made.first()?;
        let is_same = |made: &Made| made.commit.commit_id == first.commit.commit_id;
        sessions.all(|session| !session.is_full && session.made.iter().all(is_same)).then_some(first)
    }

    /// Returns what stands in front of the ids of a conversation on a page with some sessions: nothing if it is alone there.
    pub fn prefix(&self, sessions: &[usize], session: usize, made: &Made, number: usize) -> String {
        let parts: usize = sessions.iter().map(|at| self.sessions[*at].reads().len()).sum();
        let name = match (parts, self.sessions[session].is_full) {
            (1, _) => String::new(),
            (_, true) => format!("s{}-", session + 1),
            _ => {
                let commit = made.commit.commit_id.to_hex_with_len(7);
                let of_commit = |at: &&usize| {
                    let session = &self.sessions[**at];
                    !session.is_full
                        && session.reads().iter().any(|other| other.commit.commit_id == made.commit.commit_id)
                };
                match sessions.iter().filter(of_commit).position(|at| *at == session) {
                    None | Some(0) => format!("{commit}-"),
                    Some(before) => format!("{commit}-s{}-", before + 1),
                }
            }
        };
        if number == 0 { name } else { format!("{name}r{}-", number + 1) }
    }
}

impl Session {
    /// Returns the name of the file for it.
    pub fn file_name(&self, extension: &str) -> String {
        format!("{}.{extension}", self.shown.file_name())
    }

    /// Counts a session with its sub-agents. Each stretch of a transcript counts once, though a squash and its sources both
    /// have it.
    pub fn counted(&self, reader: &Reader<'_>) -> SessionCounts {
        let of = |(number, made): (usize, &Made)| {
            let records = [&made.summary].into_iter().chain(&made.others).filter(|summary| !summary.is_removed);
            records.map(|summary| (number, summary.clone())).collect::<Vec<_>>()
        };
        let records = self.made.iter().enumerate().rev().flat_map(of).collect();
        let counted = distinct(reader, records, |number| self.made[number].commit.commit_id);
        let mut records = counted.records;
        records.reverse();
        let at_its_time = |(number, summary): (usize, Summary)| (self.made[number].commit.author.time, summary);
        SessionCounts { records: records.into_iter().map(at_its_time).collect(), uncounted: counted.uncounted }
    }

    /// Returns the commits whose notes are read: the last alone has all of a session.
    pub fn reads(&self) -> &[Made] {
        let start = if self.is_full { self.made.len().saturating_sub(1) } else { 0 };
        &self.made[start..]
    }
}

impl SessionCounts {
    /// Returns what the session cost; `None` if no tokens are known.
    pub fn cost(&self, prices: &Prices) -> Option<Cost> {
        let mut cost = cost_of(prices, self.records.iter().map(|(time, summary)| (*time, summary)))?;
        cost.is_at_least |= self.uncounted.is_at_least();
        Some(cost)
    }
}

fn has_parent(key: &SessionKey, noted: &Sessions) -> bool {
    key.parent_id().is_some_and(|id| noted.has(&SessionKey::new(&key.agent, id)))
}

/// Returns what the records of a session say beside its first one, and those of its sub-agents.
fn others(noted: &Sessions, key: &SessionKey) -> Vec<Summary> {
    noted.of(key).skip(1).chain(noted.sub_agents(key).iter().flat_map(|key| noted.of(key))).cloned().collect()
}

/// Reads a commit, without secrets.
///
/// # Errors
///
/// If it cannot be read.
pub fn read_commit(reader: &Reader<'_>, commit_id: ObjectId, redactor: &Redactor) -> Result<Commit> {
    let mut commit = reader.repo().commit(commit_id)?;
    clean_commit(redactor, &mut commit);
    Ok(commit)
}

/// Takes secrets out of the message of a commit and the names of its people.
pub fn clean_commit(redactor: &Redactor, commit: &mut Commit) {
    let [author, committer] = [&mut commit.author, &mut commit.committer];
    let names = [&mut author.name, &mut author.email, &mut committer.name, &mut committer.email];
    for text in names.into_iter().chain([&mut commit.message]) {
        *text = clean(redactor, &text.to_str_lossy()).into();
    }
}

/// Takes secrets out of what a record says: words, names of models, and paths.
pub fn clean_summary(redactor: &Redactor, summary: &mut Summary) {
    for words in [&mut summary.prompt, &mut summary.summary].into_iter().flatten() {
        *words = clean_words(redactor, words);
    }
    let texts = [&mut summary.model].into_iter();
    let models = summary.usage.iter_mut().map(|usage| &mut usage.model);
    for text in texts.chain(models).flatten().chain(summary.edits.iter_mut().map(|edited| &mut edited.path)) {
        *text = clean(redactor, text);
    }
    if let Some(told) = &mut summary.rules {
        let mut files = told.files();
        files.iter_mut().for_each(|file| file.path = clean(redactor, &file.path));
        *told = Told::new(&files);
    }
}
