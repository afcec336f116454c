//! Remotes: which refs they have, and moving ours there and back.
//!
//! All of it is `git` itself: credentials and transports are its business. What we fetch goes to refs of our own, never
//! onto those we write.

use std::path::{Path, PathBuf};
use std::time::Instant;

use bstr::ByteSlice as _;

use super::{ObjectId, Order, Range, Repository, git};
use crate::error::{Error, Kind, Result};

/// Beyond so many new commits, `git fetch` proves as quickly that nothing is missing.
const MAX_NEWS: usize = 1000;

/// A ref of a remote that is to be fetched.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// What the remote calls it.
    pub ref_name: String,
    /// Where the remote had it when we looked. What is fetched may be newer.
    pub commit_id: ObjectId,
    /// The ref of ours that shall point there.
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

/// How a remote is reached.
enum Way {
    /// `git fetch-pack` talks to this URL itself.
    Pack(String),
    /// A program of Git's is told what to fetch.
    Helper { program: String, url: String },
}

/// What came from a remote.
struct Fetched {
    /// Where each of the refs is there, in the order they were asked for.
    tips: Vec<ObjectId>,
    _locks: Locks,
}

/// Files that keep new packs from being tidied away, until refs point at what is in them.
struct Locks(Vec<PathBuf>);

impl Drop for Locks {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
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
        if option.is_none() && self.fetch_news(remote, fetches, asking)? {
            return Ok(());
        }
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

    /// Fetches what is new of refs that were fetched before. Returns `false` if that is better left to `git fetch`.
    ///
    /// `git fetch` proves that nothing is missing by reading every tree of what is here, which for notes on a hundred
    /// thousand commits takes ten times as long as all the rest. What was here when it was fetched last has been proved
    /// then; this looks at what has come since.
    fn fetch_news(&self, remote: &str, fetches: &[Fetch], asking: Asking) -> Result<bool> {
        let mut known = Vec::new();
        for fetch in fetches {
            let Some(tip) = self.tip(&fetch.tracking)? else { return Ok(false) };
            known.push(tip.commit_id);
        }
        if self.is_partial() || self.gix().is_shallow().unwrap_or(true) {
            return Ok(false);
        }
        let fetched = match self.way_to(remote) {
            Some(Way::Pack(url)) => self.fetch_pack(remote, &url, fetches, asking),
            Some(Way::Helper { program, url }) => self.fetch_by_helper(&program, remote, &url, fetches, asking),
            None => return Ok(false),
        };
        let Ok(fetched) = fetched else { return Ok(false) };
        if fetched.tips.len() != fetches.len() || !self.is_complete(&fetched.tips, &known) {
            return Ok(false);
        }
        for (fetch, id) in fetches.iter().zip(&fetched.tips) {
            self.point_ref(&fetch.tracking, *id)?;
        }
        Ok(true)
    }

    /// Fetches with the program that `git fetch` is made of.
    fn fetch_pack(&self, remote: &str, url: &str, fetches: &[Fetch], asking: Asking) -> Result<Fetched> {
        let mut args = vec!["fetch-pack".to_owned(), "--quiet".to_owned(), "--no-progress".to_owned()];
        let upload_pack = self.config_string(&format!("remote.{remote}.uploadpack"));
        args.extend(upload_pack.map(|program| format!("--upload-pack={program}")));
        args.extend([url.to_owned()].into_iter().chain(fetches.iter().map(|fetch| fetch.ref_name.clone())));
        let output = git(args).repository(self).asking(asking).capture()?;
        let id_of = |fetch: &Fetch| {
            output.lines().find_map(|line| {
                let (hex, name) = line.split_once_str(" ")?;
                (name == fetch.ref_name.as_bytes()).then(|| self.parse_id(&hex.to_str_lossy()))?
            })
        };
        Ok(Fetched { tips: fetches.iter().filter_map(id_of).collect(), _locks: Locks(Vec::new()) })
    }

    /// Fetches with the program that speaks the protocol of `url`, as gitremote-helpers(7) says.
    fn fetch_by_helper(
        &self,
        program: &str,
        remote: &str,
        url: &str,
        fetches: &[Fetch],
        asking: Asking,
    ) -> Result<Fetched> {
        let mut input = String::from("option verbosity 0\noption progress false\n");
        for fetch in fetches {
            input.push_str(&format!("fetch {} {}\n", fetch.commit_id, fetch.ref_name));
        }
        input.push_str("\n\n");
        // With later versions such a program only passes on what it is told, and the talking would be ours.
        let args = ["-c", "protocol.version=0", program, remote, url];
        let output = git(args).repository(self).asking(asking).input(input.into()).capture()?;
        let locks = output.lines().filter_map(|line| line.strip_prefix(b"lock ")?.to_path().ok());
        let is_ours = |path: &&Path| {
            path.extension().is_some_and(|extension| extension == "keep")
                && path.parent().is_some_and(|parent| parent.ends_with("objects/pack"))
        };
        let locks = Locks(locks.filter(is_ours).map(Path::to_owned).collect());
        Ok(Fetched { tips: fetches.iter().map(|fetch| fetch.commit_id).collect(), _locks: locks })
    }

    /// Returns how to fetch from a remote without `git fetch`; `None` where that alone knows it.
    fn way_to(&self, remote: &str) -> Option<Way> {
        use gix::url::Scheme;
        let found = self.gix().find_remote(remote).ok()?;
        let url = found.url(gix::remote::Direction::Fetch)?;
        let text = url.to_bstring().to_str().ok()?.to_owned();
        if self.config_string(&format!("remote.{remote}.vcs")).is_some() || text.starts_with('-') {
            return None;
        }
        match url.scheme {
            // Git looks for a relative path in several places.
            Scheme::File if text.starts_with('/') || text.starts_with("file://") => Some(Way::Pack(text)),
            Scheme::Ssh | Scheme::Git => Some(Way::Pack(text)),
            Scheme::Http => Some(Way::Helper { program: "remote-http".into(), url: text }),
            Scheme::Https => Some(Way::Helper { program: "remote-https".into(), url: text }),
            _ => None,
        }
    }

    /// Says whether everything is here that came with commits since the known ones.
    fn is_complete(&self, tips: &[ObjectId], known: &[ObjectId]) -> bool {
        let range = Range { tips: tips.to_vec(), hidden: known.to_vec() };
        let Ok(steps) = self.walk(&range, Order::NewestFirst) else { return false };
        steps.enumerate().all(|(number, step)| {
            let Some(step) = step.ok().filter(|_| number < MAX_NEWS) else { return false };
            let changes = self.commit(step.commit_id).and_then(|commit| self.changes_of(&commit));
            changes.is_ok_and(|changes| {
                changes.iter().filter_map(|change| change.after).all(|(_, id)| self.has_object(id))
            })
        })
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
