//! Several threads that work on increments, and their results in the order of the plan.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::{Plan, Session};
use crate::archive::Unpacker;
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::record::{Documents, Reader, redaction};
use crate::redact::Redactor;

/// More threads than this are not of use.
const MAX_THREADS: usize = 8;
/// How many increments the threads may be ahead of the results that were taken.
const MAX_AHEAD: usize = 64;

/// What a thread works with.
pub struct Worker<'r> {
    /// Reads notes.
    pub(super) reader: &'r Reader<'r>,
    /// Unpacks segments.
    pub(super) unpacker: Unpacker<'r>,
    /// Removes secrets.
    pub(super) redactor: Redactor,
    /// The documents of earlier tools on the commit that was searched last.
    pub(super) documents: Option<Documents>,
}

/// Returns how many threads are of use on this machine.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// What the threads have in common.
struct State<T> {
    /// The increment to work on next.
    next: usize,
    /// The increment whose result is taken next.
    taken: usize,
    done: BTreeMap<usize, Result<T>>,
    is_over: bool,
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

    fn put(&self, number: usize, result: Result<T>) {
        self.lock().done.insert(number, result);
        self.is_done.notify_one();
    }

    /// Waits for the result of an increment; `None` if a thread has panicked.
    fn take(&self, number: usize) -> Option<Result<T>> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.done.remove(&number) {
                state.taken = number + 1;
                self.has_room.notify_all();
                return Some(result);
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

/// Ends the work when it is dropped, also by a panic.
struct Stop<'s, T>(&'s Shared<T>);

impl<T> Drop for Stop<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Works on all increments of a plan in `threads` threads, and visits the results in the order of the plan, until `visit`
/// breaks. `work` gets the number of the increment in the plan. The results do not depend on the number of threads.
///
/// # Errors
///
/// What `work` and `visit` return, and if the repository cannot be opened again.
pub fn run<T: Send>(
    reader: &Reader<'_>,
    plan: &Plan,
    threads: usize,
    work: impl Fn(&mut Worker<'_>, usize, &Session) -> Result<T> + Sync,
    mut visit: impl FnMut(usize, T) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let count = plan.sessions.len();
    let state = State { next: 0, taken: 0, done: BTreeMap::new(), is_over: false };
    let shared = Shared { state: Mutex::new(state), is_done: Condvar::new(), has_room: Condvar::new() };
    let (git_dir, refs) = (reader.repo().git_dir(), reader.refs());
    std::thread::scope(|scope| {
        let stop = Stop(&shared);
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (shared, work) = (&shared, &work);
            let started = std::thread::Builder::new().spawn_scoped(scope, move || {
                let on_panic = Stop(shared);
                let ended = with_worker(git_dir, refs, |worker| {
                    while let Some(number) = shared.next(count) {
                        shared.put(number, work(worker, number, &plan.sessions[number]));
                    }
                });
                if let Err(error) = ended
                    && let Some(number) = shared.next(count)
                {
                    shared.put(number, Err(error));
                }
                std::mem::forget(on_panic);
            });
            started.map_err(|error| Error::other("cannot start a thread").because(error))?;
        }
        for number in 0..count {
            // Without a result a thread has panicked, and so does the scope.
            let Some(result) = shared.take(number) else { break };
            if visit(number, result?)?.is_break() {
                break;
            }
        }
        drop(stop);
        Ok(())
    })
}

/// Opens the repository for one thread.
fn with_worker(git_dir: &Path, refs: &[String], work: impl FnOnce(&mut Worker<'_>)) -> Result<()> {
    let repo = Repository::open_git_dir(git_dir)?;
    let reader = Reader::with_refs(&repo, refs.to_vec());
    let redactor = redaction::redactor(&repo)?;
    let unpacker = Unpacker::new(reader.archive())?;
    work(&mut Worker { reader: &reader, unpacker, redactor, documents: None });
    Ok(())
}
