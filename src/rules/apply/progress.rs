//! Notes of the steps of a journal that were taken: one byte before a step, and one after it. After a kill, the next process
//! tells by them what the killed one has done from what the user has changed since.
//!
//! A step with the first byte alone may have been taken or not. If the notes are missing, this is so for all steps, and after a
//! loss of power for those behind the last note. Then the files at a step's paths say whether it was taken.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use super::super::Place;
use crate::git::private;
use crate::managed::disk::{self, Node};

const BEGUN: u8 = b'b';

/// The result of a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Taken, now or before.
    Taken,
    /// A step that removes an empty directory has found files in it and left it.
    Kept,
    /// Not taken, because somebody has changed a file at its path or at the path of an earlier step.
    LeftOut,
    /// Not taken, because of an error.
    Failed,
}

impl Outcome {
    const ALL: [Self; 4] = [Outcome::Taken, Outcome::Kept, Outcome::LeftOut, Outcome::Failed];

    fn byte(self) -> u8 {
        match self {
            Outcome::Taken => b't',
            Outcome::Kept => b'k',
            Outcome::LeftOut => b'l',
            Outcome::Failed => b'f',
        }
    }
}

/// The notes of a journal's steps.
pub struct Progress {
    /// The results of the first steps, as an earlier process has noted them.
    pub known: Vec<Outcome>,
    /// Whether that process has noted the beginning of the next step.
    is_begun: bool,
    /// Whether some or all of its notes may be lost.
    is_lost: bool,
    path: PathBuf,
    /// `None` if no more can be noted.
    file: Option<File>,
}

impl Progress {
    /// Begins a file without notes, before the journal of other steps is written.
    pub fn begin(place: &Place) {
        Self::forget(place);
        drop(private::open_appended(&place.progress_path()));
    }

    /// Removes the notes, if that can be done.
    pub fn forget(place: &Place) {
        let _ = std::fs::remove_file(place.progress_path());
    }

    /// Reads what is noted of a journal. `is_again` says that a process before may have taken some of the steps, and `is_cut` that
    /// the end of what it has noted may be lost.
    pub fn of(place: &Place, is_again: bool, is_cut: bool) -> Self {
        let path = place.progress_path();
        let noted = match disk::observe(&path) {
            Ok(Node::File { bytes, .. }) => Some(bytes),
            _ => None,
        };
        let is_lost = is_again && (is_cut || noted.is_none());
        // Something else than our file stays as it is.
        let file = if noted.is_some() { private::open_appended(&path).ok() } else { None };
        let noted = noted.unwrap_or_default();
        let outcome = |byte: &u8| Outcome::ALL.into_iter().find(|outcome| outcome.byte() == *byte);
        let (known, is_begun) = (noted.iter().filter_map(outcome).collect(), noted.ends_with(&[BEGUN]));
        Progress { known, is_begun, is_lost, path, file }
    }

    /// Says whether a step may have been taken by a process before, and may have not.
    pub fn is_in_doubt(&self, number: usize) -> bool {
        self.is_lost && number >= self.known.len() || self.is_begun && number == self.known.len()
    }

    /// Notes that a step is taken now.
    pub fn step(&mut self, number: usize) {
        if !(self.is_begun && number == self.known.len()) {
            self.note(BEGUN);
        }
    }

    /// Notes the result of the step.
    pub fn end(&mut self, outcome: Outcome) {
        self.note(outcome.byte());
    }

    /// Waits until the notes are on the disk.
    pub fn sync(&mut self) {
        if self.file.as_ref().is_some_and(|file| file.sync_all().is_err()) {
            self.give_up();
        }
    }

    fn note(&mut self, byte: u8) {
        if self.file.as_ref().is_some_and(|mut file| file.write_all(&[byte]).is_err()) {
            self.give_up();
        }
    }

    /// Removes the file after a note that could not be written: the notes after it would be taken for those of other steps.
    fn give_up(&mut self) {
        self.file = None;
        let _ = std::fs::remove_file(&self.path);
    }
}
