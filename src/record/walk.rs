//! Listing the commits of a range that have a conversation, newest first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use bstr::ByteSlice as _;

use super::read::is_damage;
use super::{Evidence, Note, Reader, Summary};
use crate::error::{Kind, Result};
use crate::git::{Commit, ObjectId, Order, Paths, Range, Repository};
use crate::notes;

/// The commits to list. A condition that is `None` holds for all commits.
#[derive(Clone, Default)]
pub struct Query {
    /// The commits to walk.
    pub range: Range,
    /// Only commits that change these paths.
    pub paths: Option<Paths>,
    /// Options for `git rev-list` that choose commits, such as `--first-parent`.
    pub walk_options: Vec<&'static str>,
    /// Committed at or after, in seconds since the epoch.
    pub since: Option<i64>,
    /// Committed at or before, in seconds since the epoch.
    pub until: Option<i64>,
    /// Matches `Name <address>` of the author.
    pub author: Option<regex::bytes::Regex>,
    /// Matches a line of the message of the commit.
    pub grep: Option<regex::bytes::Regex>,
    /// The agent's name.
    pub agent: Option<String>,
    /// Part of the model's name.
    pub model: Option<String>,
    /// The session's id, or its beginning.
    pub session: Option<String>,
    /// Whether commits that have evidence and no conversation are listed, too; not if a session is asked for.
    pub has_evidence: bool,
    /// How many matching commits to skip first.
    pub skip: usize,
    /// The largest number of commits to list.
    pub max_count: Option<usize>,
}

/// A commit and the data of its records.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The commit.
    pub commit: Commit,
    /// Its records; empty if there is a problem with its note, or if it has evidence alone.
    pub summaries: Vec<Summary>,
    /// What was observed while the commit was made.
    pub evidence: Vec<Evidence>,
    /// The trees of the commits that its records were made for, in hex.
    pub trees: Vec<String>,
    /// Descriptions of parts of its note that could not be read.
    pub problems: Vec<String>,
}

impl Reader<'_> {
    /// Visits the commits of a query until `visit` breaks.
    ///
    /// Normally reads the set of noted commits first, then walks history once and reads only commits in the set. If few
    /// commits are wanted, first looks for them near the beginning without reading the set.
    ///
    /// # Errors
    ///
    /// If history, a commit or a note cannot be read.
    pub fn each(&self, query: &Query, mut visit: impl FnMut(Listed) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut query = Cow::Borrowed(query);
        if let Some(near) = self.near(&query)? {
            let (fitting, is_over) = self.each_of(&near.noted, Some(&near.commit_ids), &query, &mut visit)?;
            if is_over || near.is_all {
                return Ok(());
            }
            // Too few of the notes found have a record; the search goes on with the whole set.
            let listed = fitting.saturating_sub(query.skip);
            let max_count = query.max_count.map(|max| max - listed);
            query = Cow::Owned(Query { skip: query.skip.max(fitting), max_count, ..query.into_owned() });
        }
        self.each_of(&self.noted()?, None, &query, &mut visit).map(drop)
    }

    /// Visits the commits of a query that sets no limit, as [`Reader::each`] does, and returns how many it chooses, with a record
    /// or without. Merges are not counted unless it asks for them alone.
    ///
    /// # Errors
    ///
    /// As [`Reader::each`].
    pub fn each_and_count(
        &self,
        query: &Query,
        mut visit: impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<u64> {
        if query.asks_git() || self.repo().has_other_parents() || !query.takes_all_commits() {
            self.each(query, visit)?;
            return self.count_commits(query);
        }
        // One walk is enough for both.
        let noted = self.noted()?;
        let (mut noted_ids, mut count) = (Vec::new(), 0);
        for step in self.repo().walk(&query.range, Order::NewestFirst)? {
            let step = step?;
            count += u64::from(step.parent_ids.len() < 2);
            noted_ids.extend(noted.contains_key(&step.commit_id).then_some(step.commit_id));
        }
        self.each_of(&noted, Some(&noted_ids), query, &mut visit)?;
        Ok(count)
    }

    /// Returns how many commits a query chooses; see [`Reader::each_and_count`].
    fn count_commits(&self, query: &Query) -> Result<u64> {
        let query = Query { agent: None, model: None, session: None, ..query.clone() };
        let kind: &[&str] = if query.is_of_merges() { &[] } else { &["--no-merges"] };
        let walk_options = [&query.walk_options[..], kind].concat();
        let query = Query { walk_options, ..query };
        let mut count = 0;
        for commit_id in self.steps(&query)? {
            let commit_id = commit_id?;
            let fits = query.takes_all() || query.fits(&self.repo().commit(commit_id)?);
            count += u64::from(fits);
        }
        Ok(count)
    }

    /// Returns the commits that a query looks at, newest first, whether or not they have a record. Merges are left out.
    ///
    /// # Errors
    ///
    /// If history or a commit cannot be read.
    pub fn commits(&self, query: &Query) -> Result<Vec<Commit>> {
        let query = Query { agent: None, model: None, session: None, ..query.clone() };
        let mut commits = Vec::new();
        for commit_id in self.steps(&query)? {
            let commit = self.repo().commit(commit_id?)?;
            if commit.parent_ids.len() < 2 && (query.takes_all() || query.fits(&commit)) {
                commits.push(commit);
            }
        }
        Ok(commits)
    }

    /// Finds the noted commits at the beginning of history by looking up one commit after another. `None` if the query
    /// wants too many, or too few are near the beginning.
    fn near(&self, query: &Query) -> Result<Option<Near>> {
        let wanted = query.max_count.map_or(usize::MAX, |max| max.saturating_add(query.skip));
        if wanted > NEAR_COMMITS || !query.takes_all() {
            return Ok(None);
        }
        let mut tree_ids = Vec::new();
        for name in self.refs() {
            tree_ids.extend(self.repo().tip(name)?.map(|tip| tip.tree_id));
        }
        let mut near = Near::default();
        // Walking commits with Git a second time costs more than these lookups.
        let tries = if query.asks_git() { NEAR_TRIES } else { 2 * wanted + 8 };
        let mut steps = self.steps(query)?;
        for _ in 0..tries {
            let Some(commit_id) = steps.next().transpose()? else {
                near.is_all = true;
                return Ok(Some(near));
            };
            let mut blob_ids = Vec::new();
            for tree_id in &tree_ids {
                match notes::blobs_at(self.repo(), *tree_id, commit_id) {
                    Ok(found) => blob_ids.extend(found),
                    // The whole set leaves such a ref out, and says so.
                    Err(error) if is_damage(&error) => return Ok(None),
                    Err(error) => return Err(error),
                }
                blob_ids.dedup();
            }
            if !blob_ids.is_empty() {
                near.noted.insert(commit_id, blob_ids);
                near.commit_ids.push(commit_id);
            }
            if near.commit_ids.len() >= wanted {
                return Ok(Some(near));
            }
        }
        Ok(None)
    }

    /// Walks the commits of the query's range that change its paths.
    fn steps(&self, query: &Query) -> Result<Box<dyn Iterator<Item = Result<ObjectId>> + '_>> {
        if query.asks_git() || self.repo().has_other_parents() {
            // Without a revision, Git would not know where to start.
            if query.range.tips.is_empty() {
                return Ok(Box::new(std::iter::empty()));
            }
            return Ok(Box::new(self.repo().walk_with_git(&query.range, &query.walk_options, query.paths.as_ref())?));
        }
        let steps = self.repo().walk(&query.range, Order::NewestFirst)?;
        Ok(Box::new(steps.map(|step| Ok(step?.commit_id))))
    }

    /// Visits the commits of a query that are in `noted`. Returns how many matched, including skipped ones, and whether
    /// no more are wanted. `known` lists the commits to examine, if they are already known.
    fn each_of(
        &self,
        noted: &HashMap<ObjectId, Vec<ObjectId>>,
        known: Option<&[ObjectId]>,
        query: &Query,
        visit: &mut dyn FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<(usize, bool)> {
        if noted.is_empty() || query.max_count == Some(0) {
            return Ok((0, query.max_count == Some(0)));
        }
        if self.repo().is_partial() {
            // What cannot be fetched is reported when it is read.
            let _ = self.repo().fetch_absent(noted.values().flatten().copied().collect());
        }
        let mut commits: Box<dyn Iterator<Item = Result<ObjectId>> + '_> = match known {
            Some(known) => Box::new(known.iter().map(|id| Ok(*id))),
            None => self.steps(query)?,
        };
        // A cache of delta bases helps only where many notes are read in the order of their packs.
        let many = (noted.len() > WINDOW).then(|| self.repo().reopened_for_many()).transpose()?;
        let repo = many.as_ref().unwrap_or(self.repo());
        let mut lister = Lister { reader: self, query, skipped: 0, listed: 0, repaired: 0 };
        // The first window is small, so that a short list appears at once.
        let mut size = FIRST_WINDOW.min(query.max_count.map_or(FIRST_WINDOW, |max| max.saturating_add(query.skip)));
        let mut left = noted.len();
        while left > 0 {
            let mut window: Vec<(ObjectId, &[ObjectId])> = Vec::new();
            while window.len() < size && left > 0 {
                let Some(commit_id) = commits.next().transpose()? else {
                    left = 0;
                    break;
                };
                if let Some(blob_ids) = noted.get(&commit_id) {
                    left -= 1;
                    window.push((commit_id, blob_ids));
                }
            }
            if lister.list(repo, &window, visit)?.is_break() {
                return Ok((lister.skipped + lister.listed, true));
            }
            size = WINDOW;
        }
        Ok((lister.skipped + lister.listed, false))
    }
}

/// The largest number of commits that is looked up one by one; for more, reading the trees of the notes refs is faster.
const NEAR_COMMITS: usize = 128;
/// How many commits that change a path are looked up one by one before giving up.
const NEAR_TRIES: usize = 1024;
/// The number of noted commits whose notes are read together at first.
const FIRST_WINDOW: usize = 64;
/// The same later: many, so that their notes can be read in pack order.
const WINDOW: usize = 512;
/// How many damaged notes one listing repairs.
const MAX_REPAIRED: usize = 16;

/// The noted commits at the beginning of a walk.
#[derive(Default)]
struct Near {
    noted: HashMap<ObjectId, Vec<ObjectId>>,
    /// In the order of the walk.
    commit_ids: Vec<ObjectId>,
    /// Whether the walk has reached its end.
    is_all: bool,
}

struct Lister<'a, 'r> {
    reader: &'a Reader<'r>,
    query: &'a Query,
    skipped: usize,
    listed: usize,
    /// How many damaged notes were repaired, or tried to be.
    repaired: usize,
}

impl Lister<'_, '_> {
    /// Visits those of some commits, each with its note blobs, that match the query. Breaks when no more are wanted.
    fn list(
        &mut self,
        repo: &Repository,
        window: &[(ObjectId, &[ObjectId])],
        visit: &mut dyn FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let blob_ids: Vec<ObjectId> = window.iter().flat_map(|(_, blob_ids)| *blob_ids).copied().collect();
        let mut blobs = notes::read_many(repo, &blob_ids).into_iter();
        for (commit_id, blob_ids) in window {
            let (note, problems) = self.note(*commit_id, blob_ids, blobs.by_ref().take(blob_ids.len()))?;
            let (summaries, evidence, trees) = (note.summaries(), note.evidence(), note.trees().to_vec());
            drop(note);
            let is_observed = summaries.is_empty() && !evidence.is_empty() && self.query.takes_observed();
            let fits = is_observed || summaries.iter().any(|summary| self.query.fits_summary(summary));
            if !fits && problems.is_empty() {
                continue;
            }
            let commit = self.reader.repo().commit(*commit_id)?;
            if !self.query.fits(&commit) {
                continue;
            }
            if !fits {
                if visit(Listed { commit, summaries: Vec::new(), evidence, trees, problems })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            if self.skipped < self.query.skip {
                self.skipped += 1;
                continue;
            }
            self.listed += 1;
            let is_last = self.query.max_count.is_some_and(|max| self.listed >= max);
            if visit(Listed { commit, summaries, evidence, trees, problems })?.is_break() || is_last {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns a note and its problems. Blobs that are missing in `blobs` are read now. A damaged note without any
    /// record is repaired.
    fn note(
        &mut self,
        commit_id: ObjectId,
        blob_ids: &[ObjectId],
        blobs: impl Iterator<Item = Option<Vec<u8>>>,
    ) -> Result<(Note, Vec<String>)> {
        let mut problems = Vec::new();
        let mut read = Vec::new();
        for (blob_id, blob) in blob_ids.iter().zip(blobs) {
            match blob.map_or_else(|| notes::read(self.reader.repo(), *blob_id), Ok) {
                Ok(bytes) => read.push(bytes),
                Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Missing) => {
                    problems.push(format!("the note of {commit_id} cannot be read: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let mut note = self.reader.note_of(read.iter().map(Vec::as_slice));
        drop(read);
        if note.is_damaged() && !note.has_conversation() {
            self.repaired += 1;
            // Each repair walks the history of a notes ref.
            if self.repaired > MAX_REPAIRED {
                problems.push(format!("the note of {commit_id} is damaged; 'git shiftlog show' may repair it"));
            } else if let Some(repaired) = self.reader.note(commit_id)? {
                note = repaired;
            }
        }
        problems.extend(note.problems().iter().map(|problem| format!("{problem} (commit {commit_id})")));
        if let count @ 1.. = note.unreadable_records() {
            let what = if count == 1 { "a record that" } else { "records that" };
            problems.push(format!("the note of {commit_id} has {what} cannot be read"));
        }
        Ok((note, problems))
    }
}

impl Query {
    /// Says whether every noted commit of the walk matches.
    fn takes_all(&self) -> bool {
        self.takes_all_commits() && self.agent.is_none() && self.model.is_none() && self.session.is_none()
    }

    /// Says whether every commit of the walk matches, as far as its records do.
    fn takes_all_commits(&self) -> bool {
        self.since.is_none() && self.until.is_none() && self.author.is_none() && self.grep.is_none()
    }

    /// Says whether commits are listed that have evidence and no conversation.
    pub fn takes_observed(&self) -> bool {
        self.has_evidence && self.agent.is_none() && self.model.is_none() && self.session.is_none()
    }

    /// Says whether merges alone are chosen.
    pub fn is_of_merges(&self) -> bool {
        self.walk_options.contains(&"--merges")
    }

    /// Says whether Git walks history: it knows what paths and some options choose.
    fn asks_git(&self) -> bool {
        // What a range hides is found by dates; where they are out of order, Git looks further than gix does.
        self.paths.is_some() || !self.walk_options.is_empty() || !self.range.hidden.is_empty()
    }

    fn fits(&self, commit: &Commit) -> bool {
        let time = commit.committer.time.seconds;
        let author = || bstr::concat([&commit.author.name[..], b" <", &commit.author.email[..], b">"]);
        self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time <= until)
            && self.author.as_ref().is_none_or(|pattern| pattern.is_match(&author()))
            && self.grep.as_ref().is_none_or(|pattern| commit.message.lines().any(|line| pattern.is_match(line)))
    }

    /// Says whether a session fits the agent, the model and the id that are wanted.
    pub fn fits_summary(&self, summary: &Summary) -> bool {
        self.agent.as_ref().is_none_or(|agent| summary.key.agent == *agent)
            && self.model.as_ref().is_none_or(|part| summary.has_model(part))
            && self.session.as_ref().is_none_or(|start| summary.key.is_within(start))
    }
}
