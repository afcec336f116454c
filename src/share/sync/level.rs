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

    /// Returns how much a push of the user's may take to a remote: transcripts go nowhere but to `shiftlog.sessionsRemote`, by its
    /// name or its URL, if that is set.
    ///
    /// # Errors
    ///
    /// As [`Level::of`].
    pub fn of_push(repo: &Repository, remote: &str) -> Result<Self> {
        let level = Level::of(repo, remote)?;
        let Some(of_words) = repo.config_string("shiftlog.sessionsRemote") else { return Ok(level) };
        let url = || repo.config_string(&format!("remote.{of_words}.url"));
        let takes_words = of_words == remote || url().as_deref() == Some(remote);
        Ok(if takes_words { level } else { level.min(Level::Notes) })
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

    /// Returns the remote to which a push replaces a ref on a remote, if each shares what is configured and `least`: that remote,
    /// or one whose transcripts go there. `None` if no push does.
    ///
    /// # Errors
    ///
    /// For an unknown value of `shiftlog.push`.
    pub fn replaced_by(
        repo: &Repository,
        remote: &str,
        notes_ref: &str,
        ref_name: &str,
        least: Level,
    ) -> Result<Option<String>> {
        let needed = match ref_name {
            archive::REF => Level::All,
            name if name == notes_ref => Level::Notes,
            _ => return Ok(None),
        };
        let of_words = repo.config_string("shiftlog.sessionsRemote").filter(|_| needed == Level::All);
        let pushed = match of_words {
            Some(other) if other != remote => Vec::new(),
            Some(_) => [vec![remote.to_owned()], repo.remotes()].concat(),
            None => vec![remote.to_owned()],
        };
        for pushed in pushed {
            if Level::of(repo, &pushed)?.max(least) >= needed {
                return Ok(Some(pushed));
            }
        }
        Ok(None)
    }
}
