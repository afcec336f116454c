//! Listing the commits of a range that have a conversation, newest first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use bstr::ByteSlice as _;

use super::read::is_damage;
use super::{Note, Reader, Summary};
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, Met, ObjectId, Paths, Pieces, Range, Repository};
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
    /// Matches the subject of the commit.
    pub grep: Option<regex::bytes::Regex>,
    /// The agent's name.
    pub agent: Option<String>,
    /// Part of the model's name.
    pub model: Option<String>,
    /// The session's id, or its beginning.
    pub session: Option<String>,
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
    /// Its records; empty only if there is a problem with its note.
    pub summaries: Vec<Summary>,
    /// The trees of the commits that its records were made for, in hex.
    pub trees: Vec<String>,
    /// Descriptions of parts of its note that could not be read.
    pub problems: Vec<String>,
}

impl Reader<'_> {
    /// Visits the commits of a query until `visit` breaks.
    ///
    /// Normally reads the set of noted commits first, then walks history once and reads only commits in the set. If
    /// there are many, a second thread walks and reads ahead. If few commits are wanted, first looks for them near the
    /// beginning without reading the set.
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
            let Some(met) = steps.next().transpose()? else {
                near.is_all = true;
                return Ok(Some(near));
            };
            let mut blob_ids = Vec::new();
            for tree_id in &tree_ids {
                match notes::blobs_at(self.repo(), *tree_id, met.commit_id) {
                    Ok(found) => blob_ids.extend(found),
                    // The whole set leaves such a ref out, and says so.
                    Err(error) if is_damage(&error) => return Ok(None),
                    Err(error) => return Err(error),
                }
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

    /// Walks the commits of the query's range that change its paths.
    fn steps(&self, query: &Query) -> Result<Box<dyn Iterator<Item = Result<Met>> + '_>> {
        if query.asks_git() {
            // Without a revision, Git would not know where to start.
            if query.range.tips.is_empty() {
                return Ok(Box::new(std::iter::empty()));
            }
            let walked = self.repo().walk_with_git(&query.range, &query.walk_options, query.paths.as_ref())?;
            return Ok(Box::new(walked.map(|commit_id| Ok(Met { commit_id: commit_id?, data: None }))));
        }
        self.repo().commits(&query.range)
    }

    /// Visits the commits of a query that are in `noted`. Returns how many matched, including skipped ones, and whether
    /// no more are wanted. `known` lists the commits to examine, if they are already known.
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
        let mut lister = Lister { reader: self, query, skipped: 0, listed: 0, repaired: 0 };
        let first = FIRST_WINDOW.min(query.max_count.map_or(FIRST_WINDOW, |max| max + query.skip));
        let mut windows = Windows { commits, noted, left: noted.len() };
        let is_over = |lister: &Lister<'_, '_>, is_over| Ok((lister.skipped + lister.listed, is_over));
        // The first window is small, so that a short list appears at once.
        let window = windows.next(first)?.read(self.repo());
        if lister.list(&window, visit)?.is_break() {
            return is_over(&lister, true);
        }
        if windows.left <= WINDOW || query.asks_git() || known.is_some() {
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

/// The largest number of commits that is looked up one by one; for more, reading the trees of the notes refs is faster.
const NEAR_COMMITS: usize = 128;
/// How many commits that change a path are looked up one by one before giving up.
const NEAR_TRIES: usize = 1024;
/// The number of noted commits in the first window.
const FIRST_WINDOW: usize = 64;
/// The number of noted commits in later windows: many, so that their notes can be read in pack order.
const WINDOW: usize = 512;
/// How many windows the second thread may be ahead.
const WINDOWS_AHEAD: usize = 3;
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

/// A group of noted commits of a walk, with the bytes of their notes.
#[derive(Default)]
struct Window<'a> {
    /// Each with the blobs of its note.
    commits: Vec<(ObjectId, &'a [ObjectId])>,
    /// The commit objects; empty for a commit that the walk did not read.
    data: Pieces,
    /// The note blobs of all commits in order; `None` until they are read.
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

/// Divides a walk into windows.
struct Windows<'a, I> {
    commits: I,
    noted: &'a HashMap<ObjectId, Vec<ObjectId>>,
    /// How many noted commits the walk has not reached yet.
    left: usize,
}

impl<'a, I: Iterator<Item = Result<Met>>> Windows<'a, I> {
    /// Walks until `count` noted commits are found, or to the end.
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

/// Opens the repository again, for one thread and with a cache of delta bases for reading many notes. Costs a
/// millisecond.
fn reader_of_many(git_dir: &Path) -> Result<Repository> {
    let mut repo = Repository::open_git_dir(git_dir)?;
    repo.keep_bases();
    Ok(repo)
}

/// Walks a range in a thread of its own, starting after the first `seen` noted commits, until the receiver is gone.
///
/// Sends bytes in large pieces; parsing is left to the receiver, because many small allocations are slow to free in
/// another thread. The notes of a window are read by the thread that has time: here while windows are `waiting`,
/// otherwise in the receiver.
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
            // The receiver is gone: no more commits are wanted.
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
    /// How many damaged notes were repaired, or tried to be.
    repaired: usize,
}

impl Lister<'_, '_> {
    /// Visits the commits of a window that match the query. Breaks when no more are wanted.
    fn list(
        &mut self,
        window: &Window<'_>,
        visit: &mut impl FnMut(Listed) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let mut blobs = window.blobs.iter().flat_map(Pieces::iter);
        for ((commit_id, blob_ids), data) in window.commits.iter().zip(window.data.iter()) {
            let (note, problems) = self.note(*commit_id, blob_ids, blobs.by_ref().take(blob_ids.len()))?;
            let (summaries, trees) = (note.summaries(), note.trees().to_vec());
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
                if visit(Listed { commit, summaries: Vec::new(), trees, problems })?.is_break() {
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
            if visit(Listed { commit, summaries, trees, problems })?.is_break() || is_last {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns a note and its problems. Blobs that are missing in `blobs` are read now. A damaged note without any
    /// record is repaired.
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
            self.repaired += 1;
            // Each repair walks the history of a notes ref.
            if self.repaired > MAX_REPAIRED {
                problems.push(format!("the note of {commit_id} is damaged; 'git shiftlog show' may repair it"));
            } else if let Some(repaired) = self.reader.note(commit_id)? {
                note = repaired;
            }
        }
        problems.extend(note.problems().iter().map(|problem| format!("{problem} (commit {commit_id})")));
        Ok((note, problems))
    }
}

impl Query {
    /// Says whether every noted commit of the walk matches.
    fn takes_all(&self) -> bool {
        self.since.is_none()
            && self.until.is_none()
            && self.author.is_none()
            && self.grep.is_none()
            && self.agent.is_none()
            && self.model.is_none()
            && self.session.is_none()
    }

    /// Says whether Git walks history: it knows what paths and some options choose.
    fn asks_git(&self) -> bool {
        self.paths.is_some() || !self.walk_options.is_empty()
    }

    fn fits(&self, commit: &Commit) -> bool {
        let time = commit.committer.time.seconds;
        let author = || bstr::concat([&commit.author.name[..], b" <", &commit.author.email[..], b">"]);
        self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time <= until)
            && self.author.as_ref().is_none_or(|pattern| pattern.is_match(&author()))
            && self.grep.as_ref().is_none_or(|pattern| pattern.is_match(commit.subject().as_bytes()))
    }

    /// Says whether a session fits the agent, the model and the id that are wanted.
    pub fn fits_summary(&self, summary: &Summary) -> bool {
        self.agent.as_ref().is_none_or(|agent| summary.key.agent == *agent)
            && self.model.as_ref().is_none_or(|part| summary.model.as_ref().is_some_and(|model| model.contains(part)))
            && self.session.as_ref().is_none_or(|start| summary.key.id.starts_with(start.as_str()))
    }
}
