//! Several threads that work on increments, and their results in the order of the plan.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Increments, PlannedIncrement};
use crate::archive::{Unpacker, segment};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Repository};
use crate::record::{Documents, MAX_LINKS, Reader, redaction};
use crate::redact::Redactor;

/// More threads than this make no search faster.
const MAX_THREADS: usize = 8;
/// How many increments the threads may be ahead of the results that were taken.
const MAX_AHEAD: usize = 64;

/// Longer increments are read by the caller's thread, one after the other. One of them can be a single message, which takes
/// several times its length while it is read, and the memory of each thread is kept for the next.
const LARGE_BYTES: u64 = 16 << 20;

/// The repository, reader and redactor of one thread.
pub struct Worker<'r> {
    /// Reads notes.
    pub(super) reader: &'r Reader<'r>,
    /// Unpacks segments.
    pub(super) unpacker: Unpacker<'r>,
    /// When searching ends.
    pub(super) deadline: Option<Instant>,
    /// Removes secrets.
    pub(super) redactor: Redactor,
    /// The documents of earlier tools on the commit that was searched last.
    pub(super) documents: Option<Documents>,
    /// The length of the increment that is read, in bytes.
    read_bytes: u64,
    /// How many segments were read to find it.
    links: usize,
    /// Whether large increments are read, too.
    takes_large: bool,
    /// Whether the increment is large and was not read.
    is_left: bool,
}

impl Worker<'_> {
    /// Begins to read an increment of so many bytes, which was found by reading so many segments. Says whether it is to be
    /// read by this thread.
    pub(super) fn begins(&mut self, bytes: u64, links: usize) -> bool {
        (self.read_bytes, self.links) = (bytes, links);
        self.is_left = bytes > LARGE_BYTES && !self.takes_large;
        !self.is_left
    }

    /// Works on an increment, and says what reading it cost.
    fn work<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T>) -> (Result<T>, Spent) {
        (self.read_bytes, self.links, self.is_left) = (0, 0, false);
        let result = act(self);
        (result, Spent { read_bytes: self.read_bytes, links: self.links, sources: self.unpacker.take_sources() })
    }
}

/// How much may be spent on a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many threads work.
    pub threads: usize,
    /// When the search ends, whether or not all was searched.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    /// As many threads as [`default_threads`] returns, and no end.
    fn default() -> Self {
        Limits { threads: default_threads(), deadline: None }
    }
}

/// The cost of reading an increment.
#[derive(Default)]
struct Spent {
    read_bytes: u64,
    links: usize,
    /// The segments that were read, with the sizes of their files.
    sources: Vec<(ObjectId, u64)>,
}

/// The cost of reading the increments of one commit, in the order of the plan. Each can be within its limit, and all
/// together unpack to far too much.
#[derive(Default)]
struct Budget {
    commit: Option<usize>,
    stored_bytes: u64,
    read_bytes: u64,
    links: usize,
    seen: HashSet<ObjectId>,
    /// How many increments were left out, of any commit.
    left_out: usize,
}

impl Budget {
    /// Says whether no more of a commit may be read.
    fn is_spent(&self, commit: Option<usize>) -> bool {
        let is_large = self.links > MAX_LINKS || self.read_bytes > segment::unpacked_limit(self.stored_bytes);
        commit.is_some() && self.commit == commit && is_large
    }

    /// Adds what an increment cost.
    fn spend(&mut self, commit: Option<usize>, spent: Spent) {
        if self.commit != commit {
            *self = Budget { commit, left_out: self.left_out, ..Budget::default() };
        }
        self.read_bytes = self.read_bytes.saturating_add(spent.read_bytes);
        self.links += spent.links;
        for (segment_id, bytes) in spent.sources {
            // Many records can name the same segment, which is stored only once.
            if self.seen.insert(segment_id) {
                self.stored_bytes += bytes;
            }
        }
    }

    /// Returns the problem that increments were left out.
    fn problem(&self) -> Option<Error> {
        let why = "the conversations of a note are too large for what is stored; sessions left out";
        (self.left_out > 0).then(|| Error::new(Kind::Corrupt, format!("{why}: {}", self.left_out)))
    }
}

/// Returns how many threads to use on this machine.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// The state that the threads share.
struct State<T> {
    /// The increment to work on next.
    next: usize,
    /// The increment whose result is taken next.
    taken: usize,
    /// The results that were not taken yet.
    done: BTreeMap<usize, Done<T>>,
    budget: Budget,
    is_over: bool,
}

/// The result of an increment.
enum Done<T> {
    Read(Result<T>, Spent),
    /// Too much was read of its commit before.
    LeftOut,
    /// The increment is large and waits for the caller's thread.
    Large,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// A result is there.
    is_done: Condvar,
    /// A result was taken.
    has_room: Condvar,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the increment to work on next.
    fn next(&self, count: usize) -> Option<usize> {
        let mut state = self.lock();
        while state.next >= state.taken + MAX_AHEAD && !state.is_over {
            state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let number = state.next;
        state.next += 1;
        (number < count && !state.is_over).then_some(number)
    }

    fn put(&self, number: usize, done: Done<T>) {
        self.lock().done.insert(number, done);
        self.is_done.notify_one();
    }

    /// Waits for the result of an increment; `None` if a thread has panicked.
    fn take(&self, number: usize) -> Option<Done<T>> {
        let mut state = self.lock();
        loop {
            if let Some(done) = state.done.remove(&number) {
                state.taken = number + 1;
                self.has_room.notify_all();
                return Some(done);
            }
            if state.is_over {
                return None;
            }
            state = self.is_done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        self.lock().is_over = true;
        self.has_room.notify_all();
        self.is_done.notify_all();
    }
}

/// Ends the work when it is dropped.
struct Stop<'s, T>(&'s Shared<T>);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Ends the work when it is dropped by a panic.
struct StopIfPanicking<'s, T>(&'s Shared<T>);

impl<T> Drop for StopIfPanicking<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Works on all increments of a plan in several threads, and visits the results in the order of the plan, until `visit`
/// breaks or the time is over. `work` gets the number of the increment in the plan. The results do not depend on the
/// number of threads. Returns the problem of increments that were left out, because somebody made a small note of many
/// words.
///
/// # Errors
///
/// Those of `work` and `visit`, and if the repository cannot be opened again.
pub fn run<T: Send>(
    reader: &Reader<'_>,
    plan: &Increments,
    limits: Limits,
    work: impl Fn(&mut Worker<'_>, usize, &PlannedIncrement) -> Result<T> + Sync,
    mut visit: impl FnMut(usize, T) -> Result<ControlFlow<()>>,
) -> Result<Option<Error>> {
    fetch(reader, plan);
    let count = plan.sessions.len();
    let threads = limits.threads.clamp(1, count.max(1));
    if threads == 1 {
        return run_here(reader, plan, limits, work, visit);
    }
    let state = State { next: 0, taken: 0, done: BTreeMap::new(), budget: Budget::default(), is_over: false };
    let shared = Shared { state: Mutex::new(state), is_done: Condvar::new(), has_room: Condvar::new() };
    let (git_dir, refs) = (reader.repo().git_dir(), reader.refs());
    std::thread::scope(|scope| {
        let stop = Stop(&shared);
        for _ in 0..threads {
            let (shared, work) = (&shared, &work);
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _stop = StopIfPanicking(shared);
                let ended = in_worker(git_dir, refs, limits.deadline, |worker| {
                    worker.takes_large = false;
                    while let Some(number) = shared.next(count) {
                        let session = &plan.sessions[number];
                        if shared.lock().budget.is_spent(session.commit) {
                            shared.put(number, Done::LeftOut);
                            continue;
                        }
                        let (result, spent) = worker.work(|worker| work(worker, number, session));
                        shared.put(number, if worker.is_left { Done::Large } else { Done::Read(result, spent) });
                    }
                });
                if let Err(error) = ended
                    && let Some(number) = shared.next(count)
                {
                    shared.put(number, Done::Read(Err(error), Spent::default()));
                }
            });
            started.map_err(|error| Error::other("cannot start a thread").because(error))?;
        }
        for (number, session) in plan.sessions.iter().enumerate() {
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            // Without a result a thread has panicked, and so does the scope.
            let Some(done) = shared.take(number) else { break };
            let is_spent = shared.lock().budget.is_spent(session.commit);
            let (result, spent) = match done {
                Done::Read(result, spent) => (result, spent),
                Done::Large if !is_spent => in_worker(git_dir, refs, limits.deadline, |worker| {
                    worker.work(|worker| work(worker, number, session))
                })?,
                Done::LeftOut | Done::Large => {
                    shared.lock().budget.left_out += 1;
                    continue;
                }
            };
            let mut state = shared.lock();
            state.budget.left_out += usize::from(is_spent);
            state.budget.spend(session.commit, spent);
            drop(state);
            let result = result?;
            if !is_spent && visit(number, result)?.is_break() {
                break;
            }
        }
        drop(stop);
        Ok(shared.lock().budget.problem())
    })
}

/// Works on the increments as [`run`] does, in the caller's thread alone. Another thread would keep memory of its own
/// for long lines.
fn run_here<T>(
    reader: &Reader<'_>,
    plan: &Increments,
    limits: Limits,
    work: impl Fn(&mut Worker<'_>, usize, &PlannedIncrement) -> Result<T>,
    mut visit: impl FnMut(usize, T) -> Result<ControlFlow<()>>,
) -> Result<Option<Error>> {
    let mut budget = Budget::default();
    in_worker(reader.repo().git_dir(), reader.refs(), limits.deadline, |worker| {
        for (number, session) in plan.sessions.iter().enumerate() {
            if limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            if budget.is_spent(session.commit) {
                budget.left_out += 1;
                continue;
            }
            let (result, spent) = worker.work(|worker| work(worker, number, session));
            budget.spend(session.commit, spent);
            if visit(number, result?)?.is_break() {
                break;
            }
        }
        Ok(())
    })??;
    Ok(budget.problem())
}

/// Fetches the segments of a plan that a partial clone lacks. What cannot be fetched is reported when it is searched.
fn fetch(reader: &Reader<'_>, plan: &Increments) {
    if !reader.repo().is_partial() {
        return;
    }
    let archive = reader.archive();
    let mut segment_ids: Vec<ObjectId> = Vec::new();
    let mut seen = HashSet::new();
    for session in &plan.sessions {
        segment_ids.extend(session.since.into_iter().chain(session.through));
        if seen.insert(&session.key) {
            segment_ids.extend(archive.segments_of(&session.key).unwrap_or_default());
        }
    }
    let _ = reader.repo().fetch_absent(segment_ids);
}

/// Opens the repository for one thread, and works there.
fn in_worker<R>(
    git_dir: &Path,
    refs: &[String],
    deadline: Option<Instant>,
    work: impl FnOnce(&mut Worker<'_>) -> R,
) -> Result<R> {
    let repo = Repository::open_git_dir(git_dir)?;
    let reader = Reader::with_refs(&repo, refs.to_vec());
    let redactor = redaction::redactor(&repo)?;
    let unpacker = Unpacker::new(reader.archive())?.until(deadline);
    let (documents, read_bytes, links) = (None, 0, 0);
    let worker = Worker {
        reader: &reader,
        unpacker,
        deadline,
        redactor,
        documents,
        read_bytes,
        links,
        takes_large: true,
        is_left: false,
    };
    Ok(work(&mut { worker }))
}
