//! Remotes: which refs they have, and moving ours there and back.
//!
//! All of it is `git` itself: credentials and transports are its business. What we fetch goes to refs of our own, never
//! onto those we write.

use std::time::Instant;

use bstr::ByteSlice as _;
use twox_hash::XxHash3_64;

use super::refs::REMOTES_PREFIX;
use super::{ObjectId, Repository, git};
use crate::error::{Error, Kind, Result};

/// A ref of a remote that is to be fetched.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// What the remote calls it.
    pub ref_name: String,
    /// The ref of ours that shall point where the remote's points.
    pub tracking: String,
}

/// How a ref of a remote is to change.
#[derive(Clone, Debug)]
pub struct Push {
    /// The ref, which has the same name on both sides.
    pub ref_name: String,
    /// Where it shall point.
    pub commit_id: ObjectId,
    /// Where the remote had it when we looked; the push is refused if it has moved since. `None` for nowhere.
    pub expected: Option<ObjectId>,
}

/// Whether a person is there to be asked for a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asking {
    /// Git may ask.
    Allowed,
    /// What cannot be done without asking fails.
    Never,
    /// The same, and what has not been done by then fails too.
    Until(Instant),
}

impl Repository {
    /// Returns the names of the configured remotes, sorted.
    pub fn remotes(&self) -> Vec<String> {
        self.gix().remote_names().iter().map(|name| name.to_str_lossy().into_owned()).collect()
    }

    /// Returns the remote that `git fetch` would take: that of the current branch, the only one, or `origin`.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is none.
    pub fn default_remote(&self) -> Result<String> {
        let branch = self.head()?.branch;
        let of_branch = branch.as_deref().and_then(|name| name.strip_prefix("refs/heads/"));
        let configured = of_branch.and_then(|name| self.config_string(&format!("branch.{name}.remote")));
        if let Some(remote) = configured.filter(|remote| remote != ".") {
            return Ok(remote);
        }
        match self.remotes().as_slice() {
            [only] => Ok(only.clone()),
            remotes if remotes.iter().any(|name| name == "origin") => Ok("origin".into()),
            [] => {
                Err(Error::new(Kind::Missing, "no remote to share with")
                    .hint("'git remote add origin <url>' names one"))
            }
            _ => Err(Error::new(Kind::Missing, "several remotes, and none is 'origin'")
                .hint("'git shiftlog sync <remote>' chooses one")),
        }
    }

    /// Returns the ref to which a remote's ref is fetched, by the last part of its name: `notes`, `sessions`, `purged`.
    ///
    /// A remote that is given by its URL has no name; a hash of the URL stands for it.
    pub fn tracking_ref(&self, remote: &str, last: &str) -> String {
        if self.remotes().iter().any(|name| name == remote) {
            return format!("{REMOTES_PREFIX}{remote}/{last}");
        }
        format!("{REMOTES_PREFIX}url-{:016x}/{last}", XxHash3_64::oneshot(remote.as_bytes()))
    }

    /// Asks a remote where it has these refs; one that it has not is left out.
    ///
    /// # Errors
    ///
    /// What Git says, for instance that the remote cannot be reached.
    pub fn remote_refs(&self, remote: &str, names: &[&str], asking: Asking) -> Result<Vec<(String, ObjectId)>> {
        let mut args = vec!["ls-remote", "--quiet", "--", remote];
        args.extend(names);
        let output = git(args).repository(self).asking(asking).capture()?;
        let parsed = output.lines().filter_map(|line| {
            let (hex, name) = line.split_once_str("\t")?;
            Some((name.to_str_lossy().into_owned(), self.parse_id(&hex.to_str_lossy())?))
        });
        // A pattern also matches the end of a longer name.
        Ok(parsed.filter(|(name, _)| names.contains(&name.as_str())).collect())
    }

    /// Fetches refs of a remote to refs of ours, wherever those were.
    ///
    /// Nothing else is fetched or changed, whatever the configuration says. `option` is one more for `git fetch`,
    /// which says what a partial clone leaves where it is, or that all shall come once more.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn fetch_refs(&self, remote: &str, fetches: &[Fetch], option: Option<&str>, asking: Asking) -> Result<()> {
        let mut args: Vec<String> =
            ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc"]
                .map(str::to_owned)
                .to_vec();
        args.push("--refmap=".into());
        args.extend(option.map(str::to_owned));
        args.extend(["--".into(), remote.to_owned()]);
        args.extend(fetches.iter().map(|fetch| format!("+{}:{}", fetch.ref_name, fetch.tracking)));
        git(args).repository(self).asking(asking).capture().map(drop)
    }

    /// Pushes refs, each only if the remote has it where it was when we looked.
    ///
    /// # Errors
    ///
    /// What Git says: another was faster, the remote refuses, or it cannot be reached. Some of the refs may have moved
    /// all the same; look at the remote's refs again to tell.
    pub fn push_refs(&self, remote: &str, pushes: &[Push], asking: Asking) -> Result<()> {
        // Our own hook must not run for it, and what the user has configured for their branches is not meant for us.
        let mut args: Vec<String> = ["push", "--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
            .map(str::to_owned)
            .to_vec();
        for push in pushes {
            let expected = push.expected.map(|id| id.to_string()).unwrap_or_default();
            args.push(format!("--force-with-lease={}:{expected}", push.ref_name));
        }
        args.extend(["--".into(), remote.to_owned()]);
        args.extend(pushes.iter().map(|push| format!("{}:{}", push.commit_id, push.ref_name)));
        git(args).repository(self).asking(asking).capture().map(drop)
    }

    /// Says whether blobs that are not here are fetched when they are wanted.
    pub fn is_partial(&self) -> bool {
        !self.config_strings("extensions.partialClone").is_empty()
            || self.remotes().iter().any(|remote| self.config_bool(&format!("remote.{remote}.promisor")) == Some(true))
    }
}
