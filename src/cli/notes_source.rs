//! The option that says from which notes a command reads.

use super::{NotesRef, hint, notes_ref, warning};
use crate::git::Repository;
use crate::notes;
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
        if let Some(name) = self.name().map(notes::expand_ref)
            && repo.tip(&name).is_ok_and(|tip| tip.is_none())
        {
            warning(&format!("there is no notes ref '{name}'"));
            hint(repo, "'git for-each-ref refs/notes/' lists the notes refs");
        }
        Reader::new(repo, notes_ref(repo, self.name()).as_deref())
    }

    /// Returns the notes ref that the user has named.
    pub fn name(&self) -> Option<&str> {
        self.notes_ref.name()
    }
}
