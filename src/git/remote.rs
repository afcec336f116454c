//! Remotes: listing, fetching and pushing our refs.
//!
//! Runs `git`, which knows credentials and transports. Fetched refs are kept apart from the refs that we write.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use gix::remote::Direction;

use super::command::Asking;
use super::private::Lock;
use super::ref_name::REMOTES_PREFIX;
use super::{ObjectId, Repository, git};
use crate::error::{Error, Kind, Result};
use crate::hex;

/// A ref to fetch.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Its name on the remote.
    pub ref_name: String,
    /// The ref of ours to which it is fetched.
    pub tracking: String,
}

/// A ref to push.
#[derive(Clone, Debug)]
pub struct Push {
    /// The ref; it has the same name on both sides.
    pub ref_name: String,
    /// Its new commit.
    pub commit_id: ObjectId,
    /// The remote's commit when we listed its refs; the push is refused if the ref has moved since. `None` if there was no
    /// such ref.
    pub expected: Option<ObjectId>,
}

/// How often a fetch is tried again because another one moved the same refs meanwhile.
const MAX_RACES: usize = 5;

/// Says whether a fetch failed because another process moved a ref between its first look and its end.
fn was_overtaken(error: &Error) -> bool {
    let told = error.to_string();
    told.contains("cannot lock ref") && told.contains("but expected")
}

/// The repository that a URL names.
#[derive(PartialEq)]
struct Place {
    host: Option<String>,
    path: PathBuf,
}

impl Place {
    fn of(url: &str) -> Self {
        let parsed = gix::url::parse(url).ok();
        // Git ignores the host in a `file` URL.
        let with_host = parsed.as_ref().filter(|url| url.scheme != gix::url::Scheme::File);
        let host = with_host.and_then(|url| url.host.clone()).map(|host| host.to_lowercase());
        let path = parsed.map_or_else(|| url.to_owned(), |url| url.path.to_string());
        let local = if host.is_none() { Path::new(&path).canonicalize().ok() } else { None };
        let path = local.map_or(path, |path| path.to_string_lossy().into_owned());
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path).trim_matches('/');
        Place { host, path: path.into() }
    }
}

impl Repository {
    /// Returns the names of the configured remotes, sorted.
    pub fn remotes(&self) -> Vec<String> {
        self.gix().remote_names().iter().map(|name| name.to_str_lossy().into_owned()).collect()
    }

    /// Returns the names of the remotes that have this URL or path, to fetch from or to push to, before or after
    /// `url.<base>.insteadOf` has changed it; for the name of a remote, those that share a URL with it, and itself. Protocol, user,
    /// port and `.git` at the end make no difference.
    pub fn remotes_at(&self, url: &str) -> Vec<String> {
        let rewritten = |url: &str| {
            let remote = self.gix().remote_at(url).ok()?;
            Some(remote.url(Direction::Push)?.to_bstring().to_string())
        };
        let places = |urls: Vec<String>| -> Vec<Place> {
            let rewritten: Vec<String> = urls.iter().filter_map(|url| rewritten(url)).collect();
            urls.iter().chain(&rewritten).map(|url| Place::of(url)).collect()
        };
        let urls_of =
            |name: &str| ["url", "pushurl"].map(|key| self.config_strings(&format!("remote.{name}.{key}"))).concat();
        let remotes = self.remotes();
        let is_name = remotes.iter().any(|name| name == url);
        let wanted = places(if is_name { urls_of(url) } else { vec![url.to_owned()] });
        let has_it = |name: &String| places(urls_of(name)).iter().any(|place| wanted.contains(place));
        remotes.into_iter().filter(has_it).collect()
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
        format!("{REMOTES_PREFIX}url-{}/{last}", hex::xxh3(remote.as_bytes()))
    }

    /// Returns the ids of these refs on a remote; leaves out those that it does not have. A name that ends in `*`
    /// stands for all refs that begin with the rest of it.
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
        // 'git ls-remote' also matches the end of a longer name.
        let is_wanted = |name: &str| {
            names.iter().any(|wanted| wanted.strip_suffix('*').map_or(name == *wanted, |start| name.starts_with(start)))
        };
        Ok(parsed.filter(|(name, _)| is_wanted(name)).collect())
    }

    /// Fetches refs of a remote to refs of ours, also if those do not fast-forward.
    ///
    /// Nothing else is fetched or changed, whatever the configuration says. `option` is a further option for `git fetch`,
    /// such as `--filter` or `--refetch`. Git holds the lock, too: if we are killed, it may go on.
    ///
    /// # Errors
    ///
    /// What Git says.
    pub fn fetch_refs(
        &self,
        remote: &str,
        fetches: &[Fetch],
        option: Option<&str>,
        asking: Asking,
        lock: &Lock,
    ) -> Result<()> {
        let fixed = ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc", "--refmap="]
            .map(str::to_owned);
        let mut args = vec!["fetch".to_owned(), asking.volume()];
        args.extend(fixed);
        args.extend(option.map(str::to_owned));
        args.extend(["--".into(), remote.to_owned()]);
        args.extend(fetches.iter().map(|fetch| format!("+{}:{}", fetch.ref_name, fetch.tracking)));
        let fetch = || {
            let fetch = git(args.clone()).repository(self).asking(asking).watched(asking.is_watched());
            fetch.holding(lock.for_child()?).capture()
        };
        let mut fetched = fetch();
        for _ in 0..MAX_RACES {
            match &fetched {
                Err(error) if was_overtaken(error) => fetched = fetch(),
                _ => break,
            }
        }
        fetched.map(drop)
    }

    /// Pushes refs, each only if it is unchanged on the remote; see [`Push::expected`]. Git holds the lock, too.
    ///
    /// # Errors
    ///
    /// With Git's message if another clone has pushed meanwhile, if the remote refuses, or if it cannot be reached. Some of the
    /// refs may have been pushed all the same: list the refs of the remote again.
    pub fn push_refs(&self, remote: &str, pushes: &[Push], asking: Asking, lock: &Lock) -> Result<()> {
        // Our own hook must not run, and settings for the user's branches do not apply. An empty value ends the list.
        let mirror = format!("remote.{remote}.mirror=false");
        let no_options = "push.pushOption=".to_owned();
        let mut args = vec!["-c".to_owned(), mirror, "-c".to_owned(), no_options, "push".to_owned(), asking.volume()];
        args.extend(["--no-verify", "--no-follow-tags", "--recurse-submodules=no"].map(str::to_owned));
        for push in pushes {
            let expected = push.expected.map(|id| id.to_string()).unwrap_or_default();
            args.push(format!("--force-with-lease={}:{expected}", push.ref_name));
        }
        args.extend(["--".into(), remote.to_owned()]);
        args.extend(pushes.iter().map(|push| format!("{}:{}", push.commit_id, push.ref_name)));
        let push = git(args).repository(self).asking(asking).watched(asking.is_watched());
        push.holding(lock.for_child()?).capture().map(drop)
    }

    /// Says whether this is a partial clone, in which Git fetches missing blobs on demand.
    pub fn is_partial(&self) -> bool {
        self.promisor().is_some()
    }

    /// Returns an object that a commit or its history names and this repository lacks, if there is one. In a partial clone, a
    /// missing object is none of them.
    pub fn missing_object(&self, commit_id: ObjectId) -> Option<ObjectId> {
        if self.is_partial() {
            return None;
        }
        let list = ["rev-list", "--objects", "--missing=print", &commit_id.to_string()];
        let listed = git(list).repository(self).capture().ok()?;
        listed.lines().find_map(|line| self.parse_id(&line.strip_prefix(b"?")?.to_str_lossy()))
    }

    /// Returns the remote that has what a partial clone lacks.
    fn promisor(&self) -> Option<String> {
        let is_promisor = |remote: &String| self.config_bool(&format!("remote.{remote}.promisor")) == Some(true);
        self.config_string("extensions.partialClone").or_else(|| self.remotes().into_iter().find(is_promisor))
    }

    /// Fetches those of many objects that a partial clone lacks, all at once. One by one, each would come in a pack of
    /// its own: that is slow, and gix opens only so many. Does nothing after [`Repository::stay_offline`].
    ///
    /// # Errors
    ///
    /// If Git cannot fetch them.
    pub fn fetch_absent(&self, ids: Vec<ObjectId>) -> Result<()> {
        let Some(remote) = self.promisor().filter(|_| !self.is_offline.get()) else { return Ok(()) };
        let absent = self.absent(ids);
        if absent.is_empty() {
            return Ok(());
        }
        // As Git fetches them itself.
        let options =
            ["--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no", "--filter=blob:none"];
        let args = [&["fetch"][..], &options, &["--stdin", remote.as_str()]].concat();
        let ids: String = absent.iter().map(|id| format!("{id}\n")).collect();
        git(args).repository(self).input(ids.into_bytes()).capture().map(drop)
    }
}
