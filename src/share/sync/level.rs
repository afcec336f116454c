//! How much is shared with a remote.

use std::path::Path;

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
    /// Returns the level for a remote, or for a URL: `shiftlog.<remote>.push`, then `shiftlog.push`, then none, but no more than
    /// another remote with the same URL has.
    ///
    /// `git remote rename` leaves the entry of a remote at its old name. Until that is removed, it holds for each remote that has
    /// none of its own: nobody knows which of them it was.
    ///
    /// # Errors
    ///
    /// For an unknown value.
    pub fn of(repo: &Repository, remote: &str) -> Result<Self> {
        Level::decided(repo, remote).map(|(level, _)| level)
    }

    /// Returns [`Level::of`] a remote, with the config key that decides it.
    ///
    /// # Errors
    ///
    /// As [`Level::of`].
    pub fn decided(repo: &Repository, remote: &str) -> Result<(Self, String)> {
        let own = key(remote);
        if let Some(level) = Level::configured(repo, &own)? {
            return Ok((level, own));
        }
        let general = "shiftlog.push".to_owned();
        let mut least = (Level::configured(repo, &general)?.unwrap_or_default(), general);
        for name in Level::left_behind(repo) {
            let level = Level::configured(repo, &key(&name))?;
            least = level.map(|level| (level, key(&name))).filter(|left| left.0 < least.0).unwrap_or(least);
        }
        // Most repositories have no entry for a remote: then no URL is looked at.
        let has_entries = repo.remotes().iter().any(|name| repo.config_word(&key(name)).is_some());
        let named = if has_entries { repo.remotes_at(remote) } else { Vec::new() };
        let mut own_levels = Vec::new();
        for name in &named {
            own_levels.extend(Level::configured(repo, &key(name))?.map(|level| (level, key(name))));
        }
        let is_name = named.iter().any(|name| name == remote);
        // A URL is as good as the name of its remote; a second name of it allows no more.
        if !is_name && !named.is_empty() && own_levels.len() == named.len() {
            return Ok(own_levels.into_iter().min().unwrap_or_default());
        }
        least = own_levels.into_iter().filter(|own| own.0 < least.0).min().unwrap_or(least);
        Ok(least)
    }

    fn configured(repo: &Repository, key: &str) -> Result<Option<Self>> {
        let Some(value) = repo.config_word(key) else { return Ok(None) };
        let level = Level::parse(&value).ok_or_else(|| {
            Error::other(format!("bad value '{value}' for {key}")).hint("the value is 'none', 'notes' or 'all'")
        })?;
        Ok(Some(level))
    }

    /// Returns the names for which there is a `shiftlog.<name>.push`, and no remote.
    pub fn left_behind(repo: &Repository) -> Vec<String> {
        let remotes = repo.remotes();
        let is_left = |name: &String| {
            // A push can also name a URL or a path.
            let is_url = name.contains(':') || name.starts_with('/') || Path::new(name).exists();
            !is_url && !remotes.contains(name) && repo.config_string(&key(name)).is_some()
        };
        repo.config_subsections("shiftlog").into_iter().filter(is_left).collect()
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
        let takes_words = of_words == remote || repo.remotes_at(remote).contains(&of_words);
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

/// Returns the config key of the level for a remote.
fn key(remote: &str) -> String {
    format!("shiftlog.{remote}.push")
}
