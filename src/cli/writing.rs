//! The options that every command has which writes notes.

use super::full_notes_ref;
use crate::git::Repository;

/// Where to write, and what to say of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Writing {
    /// Write to this notes ref
    #[arg(long = "ref", value_name = "notes-ref")]
    notes_ref: Option<String>,
    /// Say nothing when it is done
    #[arg(short = 'q', long)]
    pub quiet: bool,
}

impl Writing {
    /// Returns the full name of the notes ref.
    pub fn notes_ref(&self, repo: &Repository) -> String {
        full_notes_ref(repo, self.notes_ref.as_deref())
    }
}
