//! Tidying up when a signal ends a command.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::signal::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

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
        let tidy: Arc<Mutex<Option<Tidy>>> = Arc::new(Mutex::new(Some(Box::new(tidy))));
        let (interruption, work) = (Interruption { tidy: Arc::clone(&tidy) }, tidy);
        before_end([SIGINT, SIGTERM], move |_| {
            if let Some(tidy) = work.lock().unwrap_or_else(PoisonError::into_inner).take() {
                tidy();
            }
        })?;
        Ok(interruption)
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        self.tidy.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Makes a write beyond the largest size of a file that the user allows (`ulimit -f`) fail, instead of ending the process.
pub fn survive_full_files() {
    // Where the signal cannot be caught, it ends the process, as it would without us.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Starts a thread that calls `act` when one of the signals comes, and then has the signal end the process.
///
/// # Errors
///
/// If the system starts no further thread, or does not deliver signals.
pub(super) fn before_end<const N: usize>(signals: [i32; N], mut act: impl FnMut(i32) + Send + 'static) -> Result<()> {
    let cannot = |error| Error::other("cannot listen to signals").because(error);
    let mut caught = Signals::new([0; 0]).map_err(cannot)?;
    let handle = caught.handle();
    let thread = std::thread::Builder::new().spawn(move || {
        for signal in caught.forever() {
            act(signal);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
    thread.map_err(cannot)?;
    // After the thread has started: signal-hook never restores the default action, so without it they would do nothing.
    signals.into_iter().try_for_each(|signal| handle.add_signal(signal)).map_err(cannot)
}
