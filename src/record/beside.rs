//! Work that is done beside, on a second processor.

use std::cell::Cell;
use std::io::Result;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, yield_now};
use std::time::{Duration, Instant};

/// How long to stay awake for what is to come.
const AWAKE: Duration = Duration::from_millis(5);

/// Starts a thread that goes to another processor than this one's, where there is one.
///
/// The system brings it there by itself, but a kernel without scheduling domains, as small virtual machines have, takes
/// twenty milliseconds or more for it: by then all that is short has been done one after the other. Costs 0.1 ms.
///
/// # Errors
///
/// If the system has no room for a thread.
pub fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    Builder::new().spawn(elsewhere(work)).inspect(|_| yield_now())
}

/// Does the same for work that borrows.
///
/// # Errors
///
/// As [`spawn`].
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    // The thread may have to begin here, to leave.
    Builder::new().spawn_scoped(scope, elsewhere(work)).inspect(|_| yield_now())
}

/// Waits for what a thread sends; `None` if it ends without.
///
/// Whoever sleeps is woken where the other runs, and stays there: what both do from then on would be done one after the
/// other. So this one stays awake for a while, and lets others go first.
pub fn receive<T>(receiver: &Receiver<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        match receiver.try_recv() {
            Ok(sent) => return Some(sent),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => yield_now(),
        }
    }
    receiver.recv().ok()
}

/// Where a thread sends what it made for another, to look at.
pub struct Lender<T>(SyncSender<Arc<T>>);

/// Where the other gets it.
pub struct Borrower<T> {
    receiver: Receiver<Arc<T>>,
    /// It, once it is there.
    here: Cell<Option<Arc<T>>>,
}

/// Returns both ends for one thing. It is not to be had if the thread drops its end.
pub fn lend<T>() -> (Lender<T>, Borrower<T>) {
    let (sender, receiver) = sync_channel(1);
    (Lender(sender), Borrower { receiver, here: Cell::new(None) })
}

impl<T> Lender<T> {
    /// Sends it. It is never given back; see [`keep`].
    pub fn send(&self, made: T) {
        let made = Arc::new(made);
        keep(Arc::clone(&made));
        let _ = self.0.send(made);
    }
}

impl<T> Borrower<T> {
    /// Waits for it; see [`receive`]. `None` if there is none. It is had once.
    pub fn receive(&self) -> Option<Arc<T>> {
        self.here.take().or_else(|| receive(&self.receiver))
    }

    /// Says whether it is there already.
    pub fn is_there(&self) -> bool {
        let here = self.here.take().or_else(|| self.receiver.try_recv().ok());
        let is_there = here.is_some();
        self.here.set(here);
        is_there
    }
}

/// Does not give back what another thread made, in a process that has not long to go.
///
/// Who gives back memory of another thread may wait for it, is woken on its processor, and stays there; and so does who is
/// given that memory next, for something that grows.
pub fn keep<T>(made: T) -> ManuallyDrop<T> {
    ManuallyDrop::new(made)
}

/// Returns work that moves its thread away from the processor that this thread is on, and then does what it is for.
fn elsewhere<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    #[cfg(target_os = "linux")]
    let here = (rustix::thread::sched_getaffinity(None).ok(), rustix::thread::sched_getcpu());
    move || {
        #[cfg(target_os = "linux")]
        if let (Some(all), here) = here
            && here < rustix::thread::CpuSet::MAX_CPU
        {
            let mut others = all;
            others.unset(here);
            // Where it is refused, or there is no other, the work is done all the same. And once it is there, it may come
            // back: the other may have more to do.
            let moved = rustix::thread::sched_setaffinity(None, &others);
            let _ = moved.and_then(|()| rustix::thread::sched_setaffinity(None, &all));
        }
        work()
    }
}
