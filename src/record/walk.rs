//! The commits of a range that have a conversation, newest first.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::mpsc;

use bstr::ByteSlice as _;

use super::{Note, Reader, Summary};
use crate::error::{Error, Result};
use crate::git::{Commit, ObjectId, Order, Range, Repository};
use crate::notes;

/// Which of the noted commits to list. An absent condition holds for all.
#[derive(Clone, Default)]
pub struct Query {
    /// Where to look.
    pub range: Range,
    /// Only these commits, already newest first; used when paths limit the walk.
    pub candidates: Option<Vec<ObjectId>>,
    /// Committed at or after, in seconds since the epoch.
    pub since: Option<i64>,
    /// Committed at or before, in seconds since the epoch.
    pub until: Option<i64>,
    /// Matches `Name <address>` of the author.
    pub author: Option<regex::bytes::Regex>,
    /// Matches the subject.
    pub grep: Option<regex::bytes::Regex>,
    /// The agent's name.
    pub agent: Option<String>,
    /// Part of the model's name.
    pub model: Option<String>,
    /// How many to leave out at the beginning.
    pub skip: usize,
    /// How many to list at most.
    pub max_count: Option<usize>,
}

/// A commit with what its records say.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The commit.
    pub commit: Commit,
    /// Its records; never empty.
    pub summaries: Vec<Summary>,
}

impl Reader<'_> {
    /// Visits the commits of a query until `visit` breaks off.
    ///
    /// The set of noted commits is read first; then history is walked once, and only commits in the set are looked
    /// at any closer. Where there are many, their notes are read by a second thread while this one walks on: unpacking
    /// objects is most of the work. Where only a few commits are wanted and they are near, the set is not read.
    ///
    /// # Errors
    ///
    /// If history, a commit or a note cannot be read.
    pub fn each(&self, query: &Query, mut visit: impl FnMut(Listed) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut query = Cow::Borrowed(query);
        if let Some(near) = self.near(&query)? {
            let (fitting, is_over) = self.each_of(&near, &query, &mut visit)?;
            if is_over {
                return Ok(());
            }
            // Some notes near by hold no record of ours.
            let listed = fitting.saturating_sub(query.skip);
            let max_count = query.max_count.map(|max| max - listed);
            query = Cow::Owned(Query { skip: query.skip.max(fitting), max_count, ..query.into_owned() });
        }
        self.each_of(&self.noted()?, &query, &mut visit).map(drop)
    }

    /// Finds the noted commits at the beginning of history by looking up one commit after the other; `None` if more is
    /// wanted than that is good for, or not enough is near.
    fn near(&self, query: &Query) -> Result<Option<HashMap<ObjectId, Vec<ObjectId>>>> {
        let wanted = query.max_count.map_or(usize::MAX, |max| max.saturating_add(query.skip));
        if wanted > NEAR_COMMITS || !query.takes_all() {
            return Ok(None);
        }
        let mut tree_ids = Vec::new();
        for name in self.refs() {
            tree_ids.extend(self.repo().tip(name)?.map(|tip| tip.tree_id));
        }
        let mut near: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for step in self.repo().walk(&query.range, Order::NewestFirst)?.take(2 * wanted + 8) {
            let commit_id = step?.commit_id;
            for tree_id in &tree_ids {
                let blob_ids = notes::blobs_at(self.repo(), *tree_id, commit_id)?;
                if !blob_ids.is_empty() {
                    let known = near.entry(commit_id).or_default();
                    known.extend(blob_ids);
                    known.dedup();
                }
            }
            if near.len() >= wanted {
                return Ok(Some(near));
            }
        }
        Ok(None)
    }

    /// Visits the commits of a query that are in `noted`. Returns how many fit, left-out ones counted, and whether that
    /// is all that was wanted.
    fn each_of(
        &self,
        noted: &HashMap<ObjectId, Vec<ObjectId>>,
        query: &Query,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<(usize, bool)> {
        if noted.is_empty() || query.max_count == Some(0) {
            return Ok((0, query.max_count == Some(0)));
        }
        let candidates = query.candidates.iter().flatten().map(|id| Ok(*id));
        let walked = match query.candidates {
            Some(_) => None,
            None => {
                Some(self.repo().walk(&query.range, Order::NewestFirst)?.map(|step| step.map(|step| step.commit_id)))
            }
        };
        let commit_ids = candidates.chain(walked.into_iter().flatten());
        std::thread::scope(|scope| {
            let mut lister = Lister { reader: self, query, skipped: 0, listed: 0 };
            let mut ahead: Option<ReadAhead> = None;
            let mut window = Vec::new();
            let mut window_size = FIRST_WINDOW.min(query.max_count.map_or(FIRST_WINDOW, |max| max + query.skip));
            let mut left = noted.len();
            for commit_id in commit_ids {
                let commit_id = commit_id?;
                let Some(blob_ids) = noted.get(&commit_id) else { continue };
                window.push((commit_id, blob_ids.as_slice()));
                left -= 1;
                if window.len() < window_size && left > 0 {
                    continue;
                }
                let full = std::mem::take(&mut window);
                match &mut ahead {
                    None => {
                        let summaries = self.look_at(&full, usize::MAX)?;
                        if lister.list(&full, summaries, visit)?.is_break() {
                            return Ok((lister.skipped + lister.listed, true));
                        }
                        if left > WINDOW {
                            window_size = WINDOW;
                            ahead = Some(ReadAhead::start(scope, self));
                        }
                    }
                    Some(ahead) => {
                        ahead.ask(full);
                        if ahead.is_full() && lister.list_next(ahead, visit)?.is_break() {
                            return Ok((lister.skipped + lister.listed, true));
                        }
                    }
                }
                if left == 0 {
                    break;
                }
            }
            while let Some(ahead) = ahead.as_mut().filter(|ahead| !ahead.is_empty()) {
                if lister.list_next(ahead, visit)?.is_break() {
                    return Ok((lister.skipped + lister.listed, true));
                }
            }
            let summaries = self.look_at(&window, usize::MAX)?;
            let is_over = lister.list(&window, summaries, visit)?.is_break();
            Ok((lister.skipped + lister.listed, is_over))
        })
    }

    /// Returns what the records of some noted commits say, and the commits from position `commits_from` on.
    fn look_at(&self, window: &[Noted<'_>], commits_from: usize) -> Result<Vec<Looked>> {
        let blob_ids: Vec<&[ObjectId]> = window.iter().map(|(_, blob_ids)| *blob_ids).collect();
        let notes = self.notes_of_blobs(&blob_ids)?;
        let look = |(position, (note, (commit_id, _))): (usize, (&Note, &Noted<'_>))| {
            let commit = (position >= commits_from).then(|| self.repo().commit(*commit_id)).transpose()?;
            Ok((Reader::summaries(note), commit))
        };
        notes.iter().zip(window).enumerate().map(look).collect()
    }
}

/// What the records of a commit say, and the commit if it has been read already.
type Looked = (Vec<Summary>, Option<Commit>);

/// A commit with its note blobs.
type Noted<'a> = (ObjectId, &'a [ObjectId]);

/// Up to how many commits are looked up one by one; beyond it, reading all trees of notes is quicker.
const NEAR_COMMITS: usize = 128;
/// How many noted commits are read together at first, so that a short list comes at once.
const FIRST_WINDOW: usize = 64;
/// And then, so that their notes are read in a good order.
const WINDOW: usize = 1024;
/// How many windows are read ahead.
const WINDOWS_AHEAD: usize = 3;

/// A thread that reads notes while the walk goes on.
struct ReadAhead<'a> {
    questions: mpsc::Sender<Vec<Noted<'a>>>,
    answers: mpsc::Receiver<Result<Vec<Looked>>>,
    windows: VecDeque<Vec<Noted<'a>>>,
}

impl<'a> ReadAhead<'a> {
    fn start<'scope>(scope: &'scope std::thread::Scope<'scope, '_>, reader: &Reader<'_>) -> Self
    where
        'a: 'scope,
    {
        let (questions, asked) = mpsc::channel::<Vec<Noted<'a>>>();
        let (answer, answers) = mpsc::channel();
        let (refs, git_dir) = (reader.refs().to_vec(), reader.repo().git_dir().to_owned());
        scope.spawn(move || {
            // An open repository stays in its thread; opening another costs a millisecond.
            let mut repo = Repository::open_git_dir(&git_dir);
            if let Ok(repo) = &mut repo {
                repo.keep_bases();
            }
            for window in asked {
                let summaries = match &repo {
                    // The walk is more work than the notes; some of the commits make both even.
                    Ok(repo) => Reader::with_refs(repo, refs.clone()).look_at(&window, window.len() * 3 / 5),
                    Err(error) => Err(Error::new(error.kind(), error.to_string())),
                };
                if answer.send(summaries).is_err() {
                    return;
                }
            }
        });
        ReadAhead { questions, answers, windows: VecDeque::new() }
    }

    fn ask(&mut self, window: Vec<Noted<'a>>) {
        // If the thread is gone, the answer is missing, and that is told.
        let _ = self.questions.send(window.clone());
        self.windows.push_back(window);
    }

    fn is_full(&self) -> bool {
        self.windows.len() >= WINDOWS_AHEAD
    }

    fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    fn next(&mut self) -> Result<(Vec<Noted<'a>>, Vec<Looked>)> {
        let ended = || Error::other("cannot read the notes: a thread ended early");
        let summaries = self.answers.recv().map_err(|_| ended())??;
        Ok((self.windows.pop_front().ok_or_else(ended)?, summaries))
    }
}

struct Lister<'a, 'r> {
    reader: &'a Reader<'r>,
    query: &'a Query,
    skipped: usize,
    listed: usize,
}

impl Lister<'_, '_> {
    fn list_next(
        &mut self,
        ahead: &mut ReadAhead<'_>,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let (window, summaries) = ahead.next()?;
        self.list(&window, summaries, visit)
    }

    /// Visits those of some noted commits that fit the query; breaks when there is no more to visit.
    fn list(
        &mut self,
        window: &[Noted<'_>],
        looked: Vec<Looked>,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        for ((commit_id, _), (summaries, commit)) in window.iter().zip(looked) {
            if !summaries.iter().any(|summary| self.query.fits_summary(summary)) {
                continue;
            }
            let commit = commit.map_or_else(|| self.reader.repo().commit(*commit_id), Ok)?;
            if !self.query.fits(&commit) {
                continue;
            }
            if self.skipped < self.query.skip {
                self.skipped += 1;
                continue;
            }
            self.listed += 1;
            let is_last = self.query.max_count.is_some_and(|max| self.listed >= max);
            if visit(Listed { commit, summaries })?.is_break() || is_last {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Query {
    /// Says whether every noted commit of the range fits.
    fn takes_all(&self) -> bool {
        self.candidates.is_none()
            && self.since.is_none()
            && self.until.is_none()
            && self.author.is_none()
            && self.grep.is_none()
            && self.agent.is_none()
            && self.model.is_none()
    }

    fn fits(&self, commit: &Commit) -> bool {
        let time = commit.committer.time.seconds;
        let author = || bstr::concat([&commit.author.name[..], b" <", &commit.author.email[..], b">"]);
        self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time <= until)
            && self.author.as_ref().is_none_or(|pattern| pattern.is_match(&author()))
            && self.grep.as_ref().is_none_or(|pattern| pattern.is_match(commit.subject().as_bytes()))
    }

    fn fits_summary(&self, summary: &Summary) -> bool {
        self.agent.as_ref().is_none_or(|agent| summary.key.agent == *agent)
            && self.model.as_ref().is_none_or(|part| summary.model.as_ref().is_some_and(|model| model.contains(part)))
    }
}
