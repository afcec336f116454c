//! What is done when a signal ends a command: tidying up, and waiting for the pager.

use std::process::Child;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::error::{Error, Result};

type Tidy = Box<dyn FnOnce() + Send>;

/// Work that leaves something unfinished if SIGINT or SIGTERM ends it. When one of them comes, the work is tidied up, and
/// then the signal ends the process as it would without us: a shell reports 130 for SIGINT.
pub struct Interruption {
    tidy: Arc<Mutex<Option<Tidy>>>,
}

impl Interruption {
    /// Begins such work. It ends when the value is dropped.
    ///
    /// # Errors
    ///
    /// If the system does not deliver signals.
    pub fn catch(tidy: impl FnOnce() + Send + 'static) -> Result<Self> {
        let cannot = |error| Error::other("cannot listen to signals").because(error);
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(cannot)?;
        let tidy: Arc<Mutex<Option<Tidy>>> = Arc::new(Mutex::new(Some(Box::new(tidy))));
        let work = Arc::clone(&tidy);
        let thread = std::thread::Builder::new().spawn(move || {
            for signal in signals.forever() {
                if let Some(tidy) = work.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    tidy();
                }
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        });
        thread.map_err(cannot)?;
        Ok(Interruption { tidy })
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.tidy.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Signals that end this process only once its pager has ended, as in Git: a pager stays when it is interrupted, and must not
/// share the terminal with a shell then.
pub(super) struct Outlived {
    signals: signal_hook::iterator::Signals,
}

/// Which of these signals has come, while the pager is there.
pub(super) struct Awaited {
    /// The signal, or 0.
    signal: Arc<AtomicI32>,
}

impl Outlived {
    /// Catches the signals from now on: before there is a pager, so that none comes in between.
    ///
    /// # Errors
    ///
    /// If the system does not deliver signals.
    pub fn catch() -> Result<Self> {
        let cannot = |error| Error::other("cannot listen to signals").because(error);
        let signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]).map_err(cannot)?;
        Ok(Outlived { signals })
    }

    /// Has them wait for the end of a pager.
    ///
    /// # Errors
    ///
    /// If there can be no further thread.
    pub fn until_end_of(self, pager: &Child) -> Result<Awaited> {
        let Outlived { mut signals } = self;
        let signal = Arc::new(AtomicI32::new(0));
        let awaited = Awaited { signal: Arc::clone(&signal) };
        let pid = Pid::from_child(pager);
        let thread = std::thread::Builder::new().spawn(move || {
            let Some(number) = signals.forever().next() else { return };
            signal.store(number, Ordering::SeqCst);
            // To take note of its end is left to whoever started it, who may wait, too.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
            let _ = signal_hook::low_level::emulate_default_handler(number);
        });
        thread.map_err(|error| Error::other("cannot listen to signals").because(error))?;
        Ok(awaited)
    }
}

impl Awaited {
    /// Says whether a signal has come. Then there is nothing more to write, and the pager gets no more.
    pub fn has_come(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }

    /// Has the signal that has come, if any, end this process. The pager has ended.
    pub fn act(self) {
        if self.has_come() {
            let _ = signal_hook::low_level::emulate_default_handler(self.signal.load(Ordering::SeqCst));
        }
    }
}
