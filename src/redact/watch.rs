//! A watch: how much work was done, and whether the time is up.

use std::time::Instant;

use crate::error::{Error, Kind, Result};

/// How much is looked at between two looks at the clock, in bytes.
const STEP_BYTES: usize = 64 << 10;

/// Counts what is looked at, and looks at the clock now and then.
pub struct Watch {
    deadline: Option<Instant>,
    /// The bytes that were looked at, some of them more than once.
    pub spent: usize,
    next: usize,
}

impl Watch {
    /// Starts to count.
    pub fn new(deadline: Option<Instant>) -> Self {
        Watch { deadline, spent: 0, next: 0 }
    }

    /// Counts some bytes.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if the time is up.
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
