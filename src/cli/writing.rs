//! The options that every command has which writes notes.

use super::{NotesRef, Quiet};
use crate::git::Repository;

/// Where to write, and what to say of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Writing {
    #[command(flatten)]
    notes_ref: NotesRef,
    #[command(flatten)]
    quiet: Quiet,
}

impl Writing {
    /// Returns the full name of the notes ref.
    pub fn notes_ref(&self, repo: &Repository) -> String {
        self.notes_ref.full_name(repo)
    }

    /// Warns of a ref that the user has named and that does not exist, where something is read from it.
    pub fn warn_if_missing(&self, repo: &Repository) {
        self.notes_ref.warn_if_missing(repo);
    }

    /// Says whether nothing is to be said when it is done.
    pub fn is_quiet(&self) -> bool {
        self.quiet.is_on
    }
}
