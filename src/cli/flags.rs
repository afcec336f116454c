//! Options that many commands have, each with its help.

use super::{full_notes_ref, hint, warning};
use crate::git::Repository;
use crate::notes;

/// The option for another notes ref.
#[derive(Clone, Debug, clap::Args)]
pub struct NotesRef {
    /// Use this notes ref
    #[arg(id = "ref", long = "ref", value_name = "notes-ref")]
    name: Option<String>,
}

impl NotesRef {
    /// Returns the name as the user typed it; `None` if there is none.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the full name of the ref, or that of the configured or usual one.
    pub fn full_name(&self, repo: &Repository) -> String {
        full_notes_ref(repo, self.name())
    }

    /// Warns of a ref that the user has named and that does not exist, before something is read from it.
    pub fn warn_if_missing(&self, repo: &Repository) {
        let named = self.name().map(notes::expand_ref);
        if let Some(name) = named.filter(|name| repo.tip(name).is_ok_and(|tip| tip.is_none())) {
            warning(&format!("there is no notes ref '{name}'"));
            hint(repo, "'git for-each-ref refs/notes/' lists the notes refs");
        }
    }
}

/// The option for JSON lines.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Json {
    /// Print one JSON object a line
    #[arg(id = "json", long = "json")]
    pub is_on: bool,
}

/// The option for the lines that scripts read.
#[derive(Clone, Debug, clap::Args)]
pub struct Porcelain {
    /// Print a stable format for scripts
    #[arg(id = "porcelain", long = "porcelain", value_name = "version", require_equals = true, num_args = 0..=1,
          default_missing_value = "v1", value_parser = ["v1"], conflicts_with = "json")]
    version: Option<String>,
}

impl Porcelain {
    /// Says whether these lines are wanted.
    pub fn is_on(&self) -> bool {
        self.version.is_some()
    }
}

/// The option of a command that acts, for silence after success.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Quiet {
    /// Say nothing when it is done
    #[arg(id = "quiet", short = 'q', long = "quiet")]
    pub is_on: bool,
}

/// The option of a command that answers, for an exit status alone.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Silent {
    /// Print nothing; only the exit status tells
    #[arg(id = "quiet", short = 'q', long = "quiet")]
    pub is_on: bool,
}
