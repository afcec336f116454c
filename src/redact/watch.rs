//! A watch: counts the work done and checks the deadline.

use std::time::Instant;

use crate::error::{Error, Kind, Result};

/// How many bytes are examined between two checks of the clock.
const STEP_BYTES: usize = 64 << 10;

/// Counts the bytes that are examined, and checks the clock from time to time.
pub struct Watch {
    deadline: Option<Instant>,
    /// The number of bytes examined; a byte may count several times.
    pub spent: usize,
    next: usize,
}

impl Watch {
    /// Starts counting.
    pub fn new(deadline: Option<Instant>) -> Self {
        Watch { deadline, spent: 0, next: 0 }
    }

    /// Counts some bytes.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if the deadline has passed.
    pub fn spend(&mut self, bytes: usize) -> Result<()> {
        self.spent += bytes;
        if self.spent < self.next {
            return Ok(());
        }
        self.next = self.spent + STEP_BYTES;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(Error::new(Kind::Busy, "looking for secrets takes too long"))
            }
            _ => Ok(()),
        }
    }
}
