//! How much is shared with a remote.

use crate::archive;
use crate::error::{Error, Result};
use crate::git::Repository;

/// How much is shared with a remote.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Notes: summaries without transcripts.
    Notes,
    /// Notes and transcripts.
    All,
}

impl Level {
    /// Returns the level for a remote: `shiftlog.<remote>.push`, then `shiftlog.push`, then none.
    ///
    /// # Errors
    ///
    /// For an unknown value.
    pub fn of(repo: &Repository, remote: &str) -> Result<Self> {
        let own = format!("shiftlog.{remote}.push");
        let value = repo.config_string(&own).or_else(|| repo.config_string("shiftlog.push"));
        let Some(value) = value else { return Ok(Level::None) };
        Level::parse(&value).ok_or_else(|| {
            Error::other(format!("bad value '{value}' for shiftlog.push")).hint("the value is 'none', 'notes' or 'all'")
        })
    }

    /// Returns the level that a value of `shiftlog.push` means, if it means one.
    pub fn parse(value: &str) -> Option<Self> {
        match value {
            "none" | "false" | "no" | "off" | "" => Some(Level::None),
            "notes" => Some(Level::Notes),
            "all" => Some(Level::All),
            _ => None,
        }
    }

    /// Says whether a push to a remote, as it is configured, replaces a ref there.
    ///
    /// # Errors
    ///
    /// For an unknown value of `shiftlog.push`.
    pub fn replaces(repo: &Repository, remote: &str, notes_ref: &str, ref_name: &str) -> Result<bool> {
        let level = Level::of(repo, remote)?;
        let elsewhere = repo.config_string("shiftlog.sessionsRemote").filter(|other| other != remote);
        Ok(match ref_name == archive::REF {
            true => level == Level::All && elsewhere.is_none(),
            false => level >= Level::Notes && ref_name == notes_ref,
        })
    }
}
