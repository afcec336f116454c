//! The options that every printing command has.

use super::{Color, Screen, hint, notes_ref, warning};
use crate::error::Result;
use crate::git::{Repository, date};
use crate::notes;
use crate::record::Reader;

/// How to print, and from which notes.
#[derive(Clone, Debug, clap::Args)]
pub struct Printing {
    /// End each entry with NUL
    #[arg(short = 'z')]
    nul: bool,
    /// Show dates in this format
    #[arg(long, value_name = "format")]
    date: Option<String>,
    /// Read notes from this ref
    #[arg(long = "ref", value_name = "notes-ref")]
    notes_ref: Option<String>,
    #[command(flatten)]
    color: Color,
}

impl Printing {
    /// Returns what ends an entry.
    pub fn end(&self) -> char {
        if self.nul { '\0' } else { '\n' }
    }

    /// Returns how dates are shown: the option, then `log.date`, then `default`.
    ///
    /// # Errors
    ///
    /// If the option or the config names no format.
    pub fn dates(&self, repo: &Repository, default: date::Format) -> Result<date::Format> {
        let name = self.date.clone().or_else(|| repo.config_string("log.date"));
        let Some(name) = name else { return Ok(default) };
        date::Format::parse(match name.strip_prefix("auto:") {
            Some(name) if Screen::is_seen() => name,
            Some(_) => "default",
            None => &name,
        })
    }

    /// Returns what the option says about dates, for Git.
    pub fn date(&self) -> Option<&str> {
        self.date.as_deref()
    }

    /// Returns a reader of the notes that are wanted.
    pub fn reader<'r>(&self, repo: &'r Repository) -> Reader<'r> {
        if let Some(name) = self.notes_ref.as_deref().map(notes::expand_ref)
            && repo.tip(&name).is_ok_and(|tip| tip.is_none())
        {
            warning(&format!("there is no notes ref '{name}'"));
            hint(repo, "'git for-each-ref refs/notes/' lists the notes refs");
        }
        Reader::new(repo, notes_ref(repo, self.notes_ref.as_deref()).as_deref())
    }

    /// Says whether notes are read from one ref alone.
    pub fn has_own_ref(&self) -> bool {
        self.notes_ref.is_some()
    }

    /// Returns the notes ref that the user has named.
    pub fn notes_ref(&self) -> Option<&str> {
        self.notes_ref.as_deref()
    }

    /// Starts the output.
    pub fn screen(&self, repo: &Repository, dates: date::Format) -> Screen {
        Screen::paged(repo, self.color, dates)
    }
}
