//! The options that every printing command has.

use super::{Color, NotesSource, Screen, warning};
use crate::error::Result;
use crate::git::{Repository, date};
use crate::record::Reader;
use crate::stats::Prices;

/// How to print, and from which notes.
#[derive(Clone, Debug, clap::Args)]
pub struct Printing {
    /// End each entry with NUL
    #[arg(short = 'z')]
    nul: bool,
    /// Show dates in this format
    #[arg(long, value_name = "format")]
    date: Option<String>,
    #[command(flatten)]
    source: NotesSource,
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

    /// Returns from which notes is read.
    pub fn source(&self) -> &NotesSource {
        &self.source
    }

    /// Returns a reader of the notes that are wanted.
    pub fn reader<'r>(&self, repo: &'r Repository) -> Reader<'r> {
        self.source.reader(repo)
    }

    /// Starts the output.
    pub fn screen(&self, repo: &Repository, dates: date::Format) -> Screen {
        Screen::paged(repo, self.color, dates)
    }

    /// Starts the output of a command that tells what a commit cost. A table of prices that cannot be read is warned of.
    pub fn priced_screen(&self, repo: &Repository, dates: date::Format) -> Screen {
        // The pager would hide the warning.
        let prices = Prices::configured(repo, None).unwrap_or_else(|error| {
            warning(&error.to_string());
            Prices::listed()
        });
        let mut screen = self.screen(repo, dates);
        screen.style.prices = prices;
        screen
    }
}
