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

    /// Returns the remote with which a push, as it is configured, replaces a ref on a remote: that one, or one whose transcripts
    /// go there. `None` if no push does.
    ///
    /// # Errors
    ///
    /// For an unknown value of `shiftlog.push`.
    pub fn replaced_by(repo: &Repository, remote: &str, notes_ref: &str, ref_name: &str) -> Result<Option<String>> {
        let of_words = repo.config_string("shiftlog.sessionsRemote");
        if ref_name == archive::REF && of_words.is_some() {
            let remotes = if of_words.as_deref() == Some(remote) { repo.remotes() } else { Vec::new() };
            for other in remotes {
                if Level::of(repo, &other)? == Level::All {
                    return Ok(Some(other));
                }
            }
            return Ok(None);
        }
        let needed = if ref_name == archive::REF { Level::All } else { Level::Notes };
        let is_pushed = ref_name == archive::REF || ref_name == notes_ref;
        Ok((is_pushed && Level::of(repo, remote)? >= needed).then(|| remote.to_owned()))
    }
}
