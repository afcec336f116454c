//! Signals that come while a pager runs.

use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::interruption::before_end;
use crate::error::Result;

/// Delays SIGHUP, SIGINT, SIGQUIT and SIGTERM until the pager has exited, as Git does: otherwise the pager and the shell
/// would read the terminal together.
pub(super) struct PagerSignals {
    signal: Arc<AtomicI32>,
    /// Gets the id of the pager. If it is dropped before, there is no pager, and a signal ends the process at once.
    pager: Sender<Pid>,
}

/// The signal that was caught, if any; 0 means none.
pub(super) struct CaughtSignal(Arc<AtomicI32>);

impl PagerSignals {
    /// Catches the signals from now on: before the pager is started, so that none comes in between.
    ///
    /// # Errors
    ///
    /// If the system starts no further thread, or does not deliver signals.
    pub fn catch() -> Result<Self> {
        let signal = Arc::new(AtomicI32::new(0));
        let (pager, started) = channel();
        let caught = Arc::clone(&signal);
        before_end([SIGHUP, SIGINT, SIGQUIT, SIGTERM], move |number| {
            caught.store(number, Ordering::SeqCst);
            let Ok(pid) = started.recv() else { return };
            // NOWAIT leaves the exit status to the thread that started the pager.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        })?;
        Ok(PagerSignals { signal, pager })
    }

    /// Delays the signals until this pager has exited.
    pub fn delay_until_exit(self, pager: &Child) -> CaughtSignal {
        // The thread that gets it ends only with the process.
        let _ = self.pager.send(Pid::from_child(pager));
        CaughtSignal(self.signal)
    }
}

impl CaughtSignal {
    /// Says whether a signal was caught. Then nothing more is to be written to the pager.
    pub fn is_caught(&self) -> bool {
        self.0.load(Ordering::SeqCst) != 0
    }

    /// Has the caught signal, if any, end this process. Call it when the pager has exited.
    pub fn raise(self) {
        if self.is_caught() {
            let _ = signal_hook::low_level::emulate_default_handler(self.0.load(Ordering::SeqCst));
        }
    }
}
