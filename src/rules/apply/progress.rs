//! How far a process has got with the steps of a journal, so that the next one can tell what it did from what somebody has
//! changed since: one byte when a step is begun, and one when it is done with.
//!
//! Only what a killed process wrote last can be in doubt. Where a loss of power has taken the end of the file, its steps are
//! found done by what is at their paths.

use std::fs::File;
use std::io::Write as _;

use super::super::Place;
use crate::error::{Error, Result};
use crate::git::private;
use crate::managed::disk;

const BEGUN: u8 = b'b';
const TAKEN: u8 = b't';
const LEFT_OUT: u8 = b'l';
const FAILED: u8 = b'f';

/// What became of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It is done.
    Taken,
    /// Somebody had changed what is at its path, or what an earlier step was about.
    LeftOut,
    /// It could not be taken.
    Failed,
}

/// What is known of the steps of a journal.
pub struct Progress {
    /// What became of the first steps, when this process began.
    pub known: Vec<Outcome>,
    /// Whether the step after these was begun then.
    is_in_doubt: bool,
    file: File,
}

impl Progress {
    /// Removes what is known: the steps are others from now on.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn forget(place: &Place) -> Result<()> {
        private::remove(&place.progress_path())
    }

    /// Reads what is known, and opens the file for more.
    ///
    /// # Errors
    ///
    /// If it cannot be read or written.
    pub fn open(place: &Place) -> Result<Self> {
        let path = place.progress_path();
        let noted = disk::text(&path)?.unwrap_or_default();
        let outcomes = noted.bytes().filter_map(|byte| match byte {
            TAKEN => Some(Outcome::Taken),
            LEFT_OUT => Some(Outcome::LeftOut),
            FAILED => Some(Outcome::Failed),
            _ => None,
        });
        let (known, is_in_doubt) = (outcomes.collect(), noted.ends_with(char::from(BEGUN)));
        Ok(Progress { known, is_in_doubt, file: private::open_appended(&path)? })
    }

    /// Says whether a step may have been taken by a process before, and may have not.
    pub fn is_in_doubt(&self, number: usize) -> bool {
        self.is_in_doubt && number == self.known.len()
    }

    /// Notes that a step is taken now.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The step is not to be taken then.
    pub fn begin(&mut self, number: usize) -> Result<()> {
        if self.is_in_doubt(number) { Ok(()) } else { self.note(BEGUN) }
    }

    /// Notes what became of the step.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn end(&mut self, outcome: Outcome) -> Result<()> {
        self.note(match outcome {
            Outcome::Taken => TAKEN,
            Outcome::LeftOut => LEFT_OUT,
            Outcome::Failed => FAILED,
        })
    }

    /// Has the system write what is noted to the disk.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_all().map_err(fail)
    }

    fn note(&mut self, byte: u8) -> Result<()> {
        self.file.write_all(&[byte]).map_err(fail)
    }
}

fn fail(error: std::io::Error) -> Error {
    Error::other("cannot write how far the command has got").because(error)
}
