//! The option that says from which notes a command reads.

use super::{NotesRef, notes_ref};
use crate::git::Repository;
use crate::record::Reader;

/// From which notes a command reads.
#[derive(Clone, Debug, clap::Args)]
pub struct NotesSource {
    #[command(flatten)]
    notes_ref: NotesRef,
}

impl NotesSource {
    /// Returns a reader of the notes that are wanted. A ref that is named and does not exist is warned of.
    pub fn reader<'r>(&self, repo: &'r Repository) -> Reader<'r> {
        self.notes_ref.warn_if_missing(repo);
        Reader::new(repo, notes_ref(repo, self.name()).as_deref())
    }

    /// Returns the notes ref that the user has named.
    pub fn name(&self) -> Option<&str> {
        self.notes_ref.name()
    }
}
