//! The commits of a range that have a conversation, newest first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use bstr::ByteSlice as _;

use super::{Note, Reader, Summary};
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, Met, ObjectId, Paths, Pieces, Range, Repository};
use crate::notes;

/// Which of the noted commits to list. An absent condition holds for all.
#[derive(Clone, Default)]
pub struct Query {
    /// Where to look.
    pub range: Range,
    /// Only commits that change these.
    pub paths: Option<Paths>,
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
    /// Its records; empty only if there is a problem with its note.
    pub summaries: Vec<Summary>,
    /// What of its note could not be read.
    pub problems: Vec<String>,
}

impl Reader<'_> {
    /// Visits the commits of a query until `visit` breaks off.
    ///
    /// The set of noted commits is read first; then history is walked once, and only commits in the set are looked
    /// at any closer. Where there are many, a second thread walks and reads while this one makes something of what it has
    /// read. Where only a few commits are wanted and they are near, the set is not read.
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
            // Some notes near by hold no record of ours.
            let listed = fitting.saturating_sub(query.skip);
            let max_count = query.max_count.map(|max| max - listed);
            query = Cow::Owned(Query { skip: query.skip.max(fitting), max_count, ..query.into_owned() });
        }
        self.each_of(&self.noted()?, None, &query, &mut visit).map(drop)
    }

    /// Finds the noted commits at the beginning of history by looking up one commit after the other; `None` if more is
    /// wanted than that is good for, or not enough is near.
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
        // To ask Git for such commits once more costs more than to look up some.
        let tries = if query.paths.is_some() { NEAR_TRIES } else { 2 * wanted + 8 };
        let mut steps = self.steps(query)?;
        for _ in 0..tries {
            let Some(met) = steps.next().transpose()? else {
                near.is_all = true;
                return Ok(Some(near));
            };
            let mut blob_ids = Vec::new();
            for tree_id in &tree_ids {
                blob_ids.extend(notes::blobs_at(self.repo(), *tree_id, met.commit_id)?);
                blob_ids.dedup();
            }
            if !blob_ids.is_empty() {
                near.noted.insert(met.commit_id, blob_ids);
                near.commit_ids.push(met.commit_id);
            }
            if near.commit_ids.len() >= wanted {
                return Ok(Some(near));
            }
        }
        Ok(None)
    }

    /// Walks the commits that a query may list.
    fn steps(&self, query: &Query) -> Result<Box<dyn Iterator<Item = Result<Met>> + '_>> {
        Ok(match &query.paths {
            Some(paths) => {
                let walked = self.repo().walk_paths(&query.range, paths)?;
                Box::new(walked.map(|commit_id| Ok(Met { commit_id: commit_id?, data: None })))
            }
            None => self.repo().commits(&query.range)?,
        })
    }

    /// Visits the commits of a query that are in `noted`. Returns how many fit, left-out ones counted, and whether that
    /// is all that was wanted. `known` are the commits to look at, if they are known.
    fn each_of(
        &self,
        noted: &HashMap<ObjectId, Vec<ObjectId>>,
        known: Option<&[ObjectId]>,
        query: &Query,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<(usize, bool)> {
        if noted.is_empty() || query.max_count == Some(0) {
            return Ok((0, query.max_count == Some(0)));
        }
        let commits: Box<dyn Iterator<Item = Result<Met>> + '_> = match known {
            Some(known) => Box::new(known.iter().map(|id| Ok(Met { commit_id: *id, data: None }))),
            None => self.steps(query)?,
        };
        let mut lister = Lister { reader: self, query, skipped: 0, listed: 0, mended: 0 };
        let first = FIRST_WINDOW.min(query.max_count.map_or(FIRST_WINDOW, |max| max + query.skip));
        let mut windows = Windows { commits, noted, left: noted.len() };
        let is_over = |lister: &Lister<'_, '_>, is_over| Ok((lister.skipped + lister.listed, is_over));
        // A short list comes at once.
        let window = windows.next(first)?.read(self.repo());
        if lister.list(&window, visit)?.is_break() {
            return is_over(&lister, true);
        }
        if windows.left <= WINDOW || query.paths.is_some() || known.is_some() {
            while windows.left > 0 {
                let window = windows.next(WINDOW)?.read(self.repo());
                if window.is_empty() {
                    break;
                }
                if lister.list(&window, visit)?.is_break() {
                    return is_over(&lister, true);
                }
            }
            return is_over(&lister, false);
        }
        drop(windows);
        let seen = window.commits.len();
        let git_dir = self.repo().git_dir();
        let waiting = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(WINDOWS_AHEAD);
            let waiting = &waiting;
            std::thread::Builder::new()
                .spawn_scoped(scope, move || read_ahead(git_dir, &query.range, noted, seen, &sender, waiting))
                .map_err(|error| Error::other("cannot start a thread").because(error))?;
            let repo = reader_of_many(git_dir)?;
            for window in receiver {
                waiting.fetch_sub(1, Ordering::Relaxed);
                if lister.list(&window?.read(&repo), visit)?.is_break() {
                    return is_over(&lister, true);
                }
            }
            is_over(&lister, false)
        })
    }
}

/// Up to how many commits are looked up one by one; beyond it, reading all trees of notes is quicker.
const NEAR_COMMITS: usize = 128;
/// How many commits that change a path are looked up one by one.
const NEAR_TRIES: usize = 1024;
/// How many noted commits are read together at first, so that a short list comes at once.
const FIRST_WINDOW: usize = 64;
/// And then, so that their notes are read in a good order.
const WINDOW: usize = 512;
/// How many windows are read ahead.
const WINDOWS_AHEAD: usize = 3;
/// How many damaged notes one listing puts together again.
const MAX_MENDED: usize = 16;

/// Noted commits at the beginning of a walk.
#[derive(Default)]
struct Near {
    noted: HashMap<ObjectId, Vec<ObjectId>>,
    /// In the order of the walk.
    commit_ids: Vec<ObjectId>,
    /// Whether the walk has no more.
    is_all: bool,
}

/// Noted commits of a walk, and their notes, as bytes.
#[derive(Default)]
struct Window<'a> {
    /// Each with the blobs of its note.
    commits: Vec<(ObjectId, &'a [ObjectId])>,
    /// What the commits are; empty for one that the walk did not have to read.
    data: Pieces,
    /// The blobs, those of one commit after those of the other, once they are read.
    blobs: Option<Pieces>,
}

impl Window<'_> {
    /// Reads the notes, unless they are read.
    fn read(mut self, repo: &Repository) -> Self {
        if self.blobs.is_none() {
            let blob_ids: Vec<ObjectId> = self.commits.iter().flat_map(|(_, blob_ids)| *blob_ids).copied().collect();
            self.blobs = Some(notes::read_many(repo, &blob_ids));
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }
}

/// Cuts a walk into windows.
struct Windows<'a, I> {
    commits: I,
    noted: &'a HashMap<ObjectId, Vec<ObjectId>>,
    /// How many noted commits have not been met.
    left: usize,
}

impl<'a, I: Iterator<Item = Result<Met>>> Windows<'a, I> {
    /// Walks on to `count` noted commits, or the end.
    fn next(&mut self, count: usize) -> Result<Window<'a>> {
        let mut window = Window::default();
        while window.commits.len() < count && self.left > 0 {
            let Some(met) = self.commits.next().transpose()? else { break };
            let Some(blob_ids) = self.noted.get(&met.commit_id) else { continue };
            self.left -= 1;
            window.commits.push((met.commit_id, blob_ids));
            window.data.push(met.data.as_deref().unwrap_or_default());
        }
        Ok(window)
    }
}

/// Opens the repository once more: one stays in its thread, and this one keeps what many notes are made from. Costs a
/// millisecond.
fn reader_of_many(git_dir: &Path) -> Result<Repository> {
    let mut repo = Repository::open_git_dir(git_dir)?;
    repo.keep_bases();
    Ok(repo)
}

/// Walks a range in a thread of its own, from the noted commit number `seen` on, until nobody wants more.
///
/// It reads bytes and hands them over in large pieces; what is made of them takes many small allocations, which one
/// thread frees for another only at a price. The notes of a window are read by whoever has less to do: here if the other
/// thread has windows `waiting`, else there.
fn read_ahead<'a>(
    git_dir: &Path,
    range: &Range,
    noted: &'a HashMap<ObjectId, Vec<ObjectId>>,
    seen: usize,
    sender: &mpsc::SyncSender<Result<Window<'a>>>,
    waiting: &AtomicUsize,
) {
    let send = |window| {
        waiting.fetch_add(1, Ordering::Relaxed);
        sender.send(window)
    };
    let walked = reader_of_many(git_dir).and_then(|repo| {
        let mut commits = repo.commits(range)?;
        let mut left_out = 0;
        while left_out < seen {
            let Some(met) = commits.next().transpose()? else { return Ok(()) };
            left_out += usize::from(noted.contains_key(&met.commit_id));
        }
        let mut windows = Windows { commits, noted, left: noted.len() - seen };
        loop {
            let window = windows.next(WINDOW)?;
            if window.is_empty() {
                return Ok(());
            }
            let window = if waiting.load(Ordering::Relaxed) > 0 { window.read(&repo) } else { window };
            // If nobody listens any more, nobody wants more.
            if send(Ok(window)).is_err() {
                return Ok(());
            }
        }
    });
    if let Err(error) = walked {
        let _ = send(Err(error));
    }
}

struct Lister<'a, 'r> {
    reader: &'a Reader<'r>,
    query: &'a Query,
    skipped: usize,
    listed: usize,
    /// How many damaged notes were looked for in the history of their refs.
    mended: usize,
}

impl Lister<'_, '_> {
    /// Visits those of some noted commits that fit the query; breaks when there is no more to visit.
    fn list(
        &mut self,
        window: &Window<'_>,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let mut blobs = window.blobs.iter().flat_map(Pieces::iter);
        for ((commit_id, blob_ids), data) in window.commits.iter().zip(window.data.iter()) {
            let (note, problems) = self.note(*commit_id, blob_ids, blobs.by_ref().take(blob_ids.len()))?;
            let summaries = note.summaries();
            drop(note);
            let fits = summaries.iter().any(|summary| self.query.fits_summary(summary));
            if !fits && problems.is_empty() {
                continue;
            }
            let repo = self.reader.repo();
            let commit = match data.filter(|data| !data.is_empty()) {
                Some(data) => repo.commit_of(*commit_id, data),
                None => repo.commit(*commit_id),
            }?;
            if !self.query.fits(&commit) {
                continue;
            }
            if !fits {
                if visit(Listed { commit, summaries: Vec::new(), problems })?.is_break() {
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
            if visit(Listed { commit, summaries, problems })?.is_break() || is_last {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns a note, and what of it could not be read. Blobs that were left out are read now, one by one; a damaged note
    /// that says nothing else is put together again.
    fn note<'b>(
        &mut self,
        commit_id: ObjectId,
        blob_ids: &[ObjectId],
        blobs: impl Iterator<Item = Option<&'b [u8]>>,
    ) -> Result<(Note, Vec<String>)> {
        let mut problems = Vec::new();
        let mut read = Vec::new();
        for (blob_id, blob) in blob_ids.iter().zip(blobs) {
            read.push(match blob {
                Some(bytes) => Cow::Borrowed(bytes),
                None => match notes::read(self.reader.repo(), *blob_id) {
                    Ok(bytes) => Cow::Owned(bytes),
                    Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Missing) => {
                        problems.push(format!("the note of {commit_id} cannot be read: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            });
        }
        let mut note = self.reader.note_of(read.iter().map(AsRef::as_ref));
        drop(read);
        if note.is_damaged() && !note.has_conversation() {
            self.mended += 1;
            // Each costs a walk through the history of its ref.
            if self.mended > MAX_MENDED {
                problems.push(format!("the note of {commit_id} is damaged; 'git shiftlog show' may put it together"));
            } else if let Some(mended) = self.reader.note(commit_id)? {
                note = mended;
            }
        }
        problems.extend(note.problems().iter().map(|problem| format!("{problem} (commit {commit_id})")));
        Ok((note, problems))
    }
}

impl Query {
    /// Says whether every noted commit that is walked fits.
    fn takes_all(&self) -> bool {
        self.since.is_none()
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
