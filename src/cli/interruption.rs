//! Tidying up when a signal ends a command.

use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::signal::{SIGINT, SIGTERM};

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
