//! The repository as Git hands it to us: where it is, what its config says, its commits, its refs.
//!
//! Read [`Repository::open`] first. This room knows `gix` and the `git` command; it knows nothing of sessions,
//! notes or agents. Object ids are the only thing of `gix` that leaves it.

mod added;
mod blame;
mod browse;
mod change;
mod check;
pub mod child;
mod command;
mod commit;
mod config;
pub mod date;
mod drop;
mod graph;
mod head;
mod kept;
mod locate;
mod lock;
mod loose;
mod names;
mod pack;
mod printed;
pub mod private;
mod rebase;
mod ref_name;
mod refs;
mod remote;
pub mod sign;
mod since;
mod walk;
mod whole;
mod worktrees;

use std::cell::Cell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::odb::pack::Find as _;

pub use self::added::{AddedLines, hunk_head};
pub use self::blame::{Blame, BlameRequest, BlamedCommit, BlamedFile, BlamedLines, unquoted};
pub use self::browse::browse;
pub use self::change::PathChange;
pub use self::check::{Allowed, Checked, EntryBudget, MAX_ENTRIES};
pub use self::command::{Asking, Output, git, version};
pub use self::commit::{Commit, Person};
pub use self::graph::{Drawing, Node};
pub use self::head::{ReflogEntry, last_message, last_move};
pub use self::kept::KEPT_PREFIX;
pub use self::locate::{Location, locate};
pub use self::lock::{backoff, has_locked_notes};
pub use self::names::Names;
pub use self::printed::{ChangeOptions, PrintOptions};
pub use self::rebase::{Rebase, RebaseStep};
pub use self::ref_name::{REMOTES_PREFIX, Tip, is_ref_name};
pub use self::refs::{Branch, Merged, Replaced, fault_point, has_fault};
pub use self::remote::{Fetch, Push};
pub use self::since::{FileSince, FilesSince};
pub use self::walk::{Order, Paths, Range};
pub use self::worktrees::Worktree;

use crate::error::{Error, Kind, Result};

/// The size of the cache of delta bases; see [`Repository::reopened_for_many`].
const BASES_BYTES: usize = 64 * 1024 * 1024;

/// Objects larger than this bypass gix's object cache, which copies even objects that it does not keep.
const CACHED_BYTES: u64 = 1024 * 1024;

/// The largest object that is unpacked.
const MAX_OBJECT_BYTES: u64 = 128 * 1024 * 1024;

/// An open repository.
pub struct Repository {
    inner: gix::Repository,
    user_config: config::Identity,
    /// How much longer this process may wait for locks; `None` for as long as each write may.
    lock_wait: Cell<Option<Duration>>,
    /// See [`Repository::stay_offline`].
    is_offline: Cell<bool>,
    /// See [`Repository::write_no_objects`].
    is_dry: Cell<bool>,
}

impl Repository {
    /// Opens the repository that Git would use from `directory`.
    ///
    /// Honours `GIT_DIR`, `GIT_WORK_TREE`, `GIT_COMMON_DIR`, `GIT_CEILING_DIRECTORIES` and `git -c`. Costs about a
    /// millisecond.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is no repository, [`Kind::Unsupported`] if it keeps its refs in a reftable, and
    /// [`Kind::Other`] if Git would refuse to use it (`safe.directory`).
    pub fn open(directory: &Path) -> Result<Self> {
        let discover = |must_be_ours: bool| {
            let options = || options().bail_if_untrusted(must_be_ours);
            let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
            let upwards = gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() };
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(directory, upwards, trust)
        };
        let inner = discover(true).or_else(|error| if is_allowed(directory) { discover(false) } else { Err(error) });
        Self::of(inner.map_err(|error| open_error(directory, error))?)
    }

    /// Opens the repository with this git directory: another worktree, or the same repository again.
    ///
    /// # Errors
    ///
    /// As [`Repository::open`].
    pub fn open_git_dir(git_dir: &Path) -> Result<Self> {
        let open = |must_be_ours: bool| {
            let options = options().open_path_as_is(true).bail_if_untrusted(must_be_ours);
            gix::ThreadSafeRepository::open_opts(git_dir, options)
        };
        let opened = open(true).or_else(|error| if is_allowed(git_dir) { open(false) } else { Err(error) });
        Self::of(opened.map_err(|error| open_error(git_dir, error))?)
    }

    fn of(inner: gix::ThreadSafeRepository) -> Result<Self> {
        let mut inner = inner.to_thread_local();
        // Git ignores GIT_NAMESPACE for what is read locally; gix applies it to HEAD.
        inner.clear_namespace();
        // A walk reads each commit, and what is printed of it is read again.
        inner.object_cache_size_if_unset(16 * 1024 * 1024);
        inner.objects.enable_object_memory();
        let repository = Repository {
            user_config: config::Identity::of(&inner),
            inner,
            lock_wait: Cell::new(None),
            is_offline: Cell::new(false),
            is_dry: Cell::new(false),
        };
        if repository.config_string("extensions.refStorage").is_some_and(|format| format != "files") {
            return Err(Error::new(
                Kind::Unsupported,
                format!("'{}' keeps its refs in a reftable, which is not supported", repository.git_dir().display()),
            )
            .hint("'git refs migrate --ref-format=files' converts it"));
        }
        repository.apply_shared_umask();
        Ok(repository)
    }

    /// Forbids fetching of missing objects from now on, also to the `git` commands that this process starts. Hooks call it,
    /// because a commit must not wait for a network. Objects that a partial clone has not fetched then count as missing.
    pub fn stay_offline(&self) {
        self.is_offline.set(true);
    }

    /// Forbids writing objects from now on, for a dry run: what would be written only gets its id.
    pub fn write_no_objects(&self) {
        self.is_dry.set(true);
    }

    /// Returns the `gix` repository, for the rooms that put bytes on objects.
    pub(crate) fn gix(&self) -> &gix::Repository {
        &self.inner
    }

    /// Returns the git directory of this worktree, absolute.
    pub fn git_dir(&self) -> &Path {
        self.inner.git_dir()
    }

    /// Returns the directory that all worktrees share, absolute.
    pub fn common_dir(&self) -> PathBuf {
        let common = self.inner.common_dir();
        // gix hands out `<git-dir>/../..` for linked worktrees.
        if common.components().any(|part| part == std::path::Component::ParentDir) {
            common.canonicalize().unwrap_or_else(|_| common.to_owned())
        } else {
            common.to_owned()
        }
    }

    /// Returns the top of the working tree, or `None` in a bare repository.
    pub fn worktree(&self) -> Option<&Path> {
        self.inner.workdir()
    }

    /// Returns the null id of this repository's hash.
    pub fn null_id(&self) -> ObjectId {
        ObjectId::null(self.inner.object_hash())
    }

    /// Returns the id of the empty tree.
    pub fn empty_tree_id(&self) -> ObjectId {
        ObjectId::empty_tree(self.inner.object_hash())
    }

    /// Parses a full object id of this repository's hash.
    pub fn parse_id(&self, hex: &str) -> Option<ObjectId> {
        ObjectId::from_hex(hex.as_bytes()).ok().filter(|id| id.kind() == self.inner.object_hash())
    }

    /// Returns the shortest name of `id` that is unique here, as `core.abbrev` wants it; for many, see [`Names`].
    pub fn abbreviate(&self, id: ObjectId) -> String {
        self.names().shorten(id)
    }

    /// Returns the commit that `revision` names, by the rules of gitrevisions(7); tags are peeled.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] with Git's words for a revision that names no commit.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId> {
        let parsed = (!is_by_message(revision))
            .then(|| self.inner.rev_parse_single(revision.as_bytes().as_bstr()).ok())
            .flatten()
            .and_then(|id| id.object().ok())
            .and_then(|object| object.peel_to_commit().ok())
            .map(|commit| commit.id);
        parsed.map_or_else(|| self.resolve_with_git(revision), Ok)
    }

    /// Asks `git rev-parse`, which knows the few spellings that gix does not (`:/text`).
    fn resolve_with_git(&self, revision: &str) -> Result<ObjectId> {
        let bad = || match revision {
            "HEAD" | "@" if self.head().is_ok_and(|head| head.commit_id.is_none()) => self.no_commits(),
            _ => {
                let bad = || Error::new(Kind::Missing, format!("bad revision '{revision}'"));
                self.ambiguous(revision).unwrap_or_else(bad)
            }
        };
        // A suffix would belong to the text.
        let spec = if revision.starts_with(":/") { revision.to_owned() } else { format!("{revision}^{{commit}}") };
        let output = git(["rev-parse", "--quiet", "--verify", "--end-of-options", &spec])
            .repository(self)
            .capture()
            .map_err(|_| bad())?;
        self.parse_id(output.trim_end().to_str_lossy().as_ref()).ok_or_else(bad)
    }

    /// Returns the error, in Git's words, that `revision` is the beginning of several object ids, or names an upstream
    /// or a state of a ref that there is not, if that is so.
    pub fn ambiguous(&self, revision: &str) -> Option<Error> {
        if revision.contains("@{") {
            let asked = git(["rev-parse", "--verify", "--end-of-options", revision]).repository(self).capture();
            let reason = asked.err().and_then(|error| Some(std::error::Error::source(&error)?.to_string()));
            return reason
                .filter(|words| words != "Needed a single revision")
                .map(|words| Error::new(Kind::Missing, words));
        }
        let prefix = gix::hash::Prefix::from_hex(revision).ok()?;
        let found = self.inner.objects.lookup_prefix(prefix, None).ok()?;
        let error = Error::new(Kind::Missing, format!("short object ID {revision} is ambiguous"));
        (found == Some(Err(())))
            .then(|| error.hint(format!("'git rev-parse --disambiguate={revision}' lists the candidates")))
    }

    /// Says whether grafts or `git replace` may give commits other parents, which only Git's own walk knows.
    pub fn has_other_parents(&self) -> bool {
        self.common_dir().join("info/grafts").exists() || self.ref_names("refs/replace/").into_iter().next().is_some()
    }

    /// Says whether an object is in this repository. In a partial clone, a missing object may still be fetched.
    pub fn has_object(&self, id: ObjectId) -> bool {
        self.inner.has_object(id)
    }

    /// Returns those of many objects that are not in this repository.
    ///
    /// [`Repository::has_object`] looks for new packs for each missing object; this function looks once for all of them.
    pub fn absent(&self, ids: Vec<ObjectId>) -> HashSet<ObjectId> {
        let among = |ids: Vec<ObjectId>| -> Vec<ObjectId> {
            let mut objects = self.inner.objects.clone();
            objects.refresh_never();
            ids.into_iter().filter(|id| !gix::objs::Exists::exists(&objects, id)).collect()
        };
        let packs = self.inner.objects.store_ref().path().join("pack");
        let written = || packs.metadata().and_then(|packs| packs.modified()).ok();
        let mut absent = ids;
        for _ in 0..2 {
            let before = written();
            // Asking for an object that cannot exist makes gix look for new packs.
            let _ = self.has_object(self.null_id());
            absent = among(absent);
            // If a pack was written, 'git gc' may have moved objects into it meanwhile.
            if written() == before {
                break;
            }
        }
        absent.into_iter().collect()
    }

    /// Returns the bytes of a blob of at most `max_bytes`.
    ///
    /// In a partial clone a blob that is not here is fetched by `git`, unless [`Repository::stay_offline`] was called.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is no such object, [`Kind::Corrupt`] if it is no blob or larger than allowed.
    pub fn read_blob(&self, blob_id: ObjectId, max_bytes: u64) -> Result<Vec<u8>> {
        let fail = |error: gix::Error| gix_error(format!("cannot read object '{blob_id}'"), &error);
        // The size is asked for first: a small file can hold an object of any size.
        let mut header = self.inner.try_find_header(blob_id).map_err(fail)?;
        if header.is_none() && self.is_partial() && !self.is_offline.get() {
            // To look at the object, Git fetches it.
            git(["cat-file", "-e", &blob_id.to_string()]).repository(self).capture()?;
            header = self.inner.try_find_header(blob_id).map_err(fail)?;
        }
        let missing = || Error::new(Kind::Missing, format!("object '{blob_id}' is missing"));
        let header = header.ok_or_else(missing)?;
        if header.kind() != gix::object::Kind::Blob {
            return Err(Error::new(Kind::Corrupt, format!("object '{blob_id}' is not a blob")));
        }
        if header.size() > max_bytes.min(MAX_OBJECT_BYTES) {
            return Err(Error::new(Kind::Corrupt, format!("object '{blob_id}' is too large: {} bytes", header.size())));
        }
        if header.size() > CACHED_BYTES {
            let (mut bytes, mut no_bases) = (Vec::new(), gix::odb::pack::cache::Never);
            // Not in a file: a new object in memory.
            let found = (**self.inner.objects).try_find_cached(&blob_id, &mut bytes, &mut no_bases).map_err(fail)?;
            if found.is_some() {
                return Ok(bytes);
            }
        }
        let object = self.inner.find_object(blob_id).map_err(fail)?;
        Ok(object.detach().data)
    }

    /// Opens the repository again with a cache of delta bases, for reading many objects once in the order of their packs:
    /// without the cache, gix unpacks a base again for each object that is a delta of it. Costs about a millisecond.
    ///
    /// # Errors
    ///
    /// As [`Repository::open`].
    pub fn reopened_for_many(&self) -> Result<Self> {
        let mut repo = Self::open_git_dir(self.git_dir())?;
        repo.keep_bases();
        repo.inner.objects.unset_object_cache();
        repo.is_offline.set(self.is_offline.get());
        repo.is_dry.set(self.is_dry.get());
        Ok(repo)
    }

    /// Keeps delta bases in memory from now on, for reading many versions of a few files.
    pub fn keep_bases(&mut self) {
        self.inner
            .objects
            .set_pack_cache(|| Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(BASES_BYTES)));
    }

    /// Returns the bytes of many blobs, in the order asked for. `None` for a blob that does not fit into `max_bytes` with
    /// the others, or that cannot be read: reading it alone tells what is wrong with it.
    ///
    /// They are read in the order of their packs, where a delta base comes before its deltas.
    pub fn read_blobs(&self, blob_ids: &[ObjectId], max_bytes: usize) -> Vec<Option<Vec<u8>>> {
        let mut order: Vec<usize> = (0..blob_ids.len()).collect();
        let places = pack::places(self, blob_ids);
        order.sort_by_key(|index| places[*index]);
        let mut blobs = vec![None; blob_ids.len()];
        let mut room = max_bytes;
        for index in order {
            blobs[index] = self.read_blob(blob_ids[index], room as u64).ok();
            room -= blobs[index].as_ref().map_or(0, Vec::len);
        }
        blobs
    }

    /// Sorts objects by their place in their packs, where a delta base comes before its deltas.
    pub fn sort_as_packed(&self, ids: &mut Vec<ObjectId>) {
        let places = pack::places(self, ids);
        let mut placed: Vec<_> = places.into_iter().zip(ids.iter().copied()).collect();
        placed.sort_unstable();
        *ids = placed.into_iter().map(|(_, id)| id).collect();
    }

    /// Sets the umask of this process as `core.sharedRepository` asks for, because gix ignores that setting.
    fn apply_shared_umask(&self) {
        use rustix::fs::Mode;
        let keep = match self.config_string("core.sharedRepository").as_deref() {
            None | Some("umask" | "false" | "0" | "no" | "off") => return,
            Some("group" | "true" | "1" | "yes" | "on") => Mode::RWXG,
            Some("all" | "world" | "everybody" | "2") => Mode::RWXG | Mode::ROTH | Mode::XOTH,
            Some(octal) => match u32::from_str_radix(octal.trim_start_matches('0'), 8) {
                Ok(bits) => Mode::from_raw_mode((bits & 0o777) | ((bits & 0o444) >> 2)),
                Err(_) => return,
            },
        };
        let old = rustix::process::umask(Mode::empty());
        rustix::process::umask(old - keep);
    }
}

/// Says whether a revision names a commit by a regular expression on messages; gix knows only plain text there.
fn is_by_message(revision: &str) -> bool {
    revision.starts_with(":/") || revision.contains("^{/") || revision.contains("..:/")
}

/// Says whether `safe.directory` in the environment allows to open the repository of `directory`, whoever owns it.
fn is_allowed(directory: &Path) -> bool {
    let Some(location) = locate(directory) else { return false };
    let places = location.worktree.into_iter().chain([location.git_dir]);
    config::is_safe_by_environment(&places.filter_map(|place| place.canonicalize().ok()).collect::<Vec<_>>())
}

fn options() -> gix::open::Options {
    gix::open::Options::default()
        .cli_overrides(config::overrides_from_environment())
        // An object that somebody else made can claim any size.
        .config_overrides([format!("gitoxide.objects.allocLimit={MAX_OBJECT_BYTES}")])
}

fn open_error(directory: &Path, error: gix::Error) -> Error {
    let text = error.to_string();
    if std::env::var_os("GIT_COMMON_DIR").is_some_and(|common| !directory.join(common).is_dir()) {
        return Error::new(Kind::Missing, locate::why_missing(directory));
    }
    if error.is_permission_denied() || text.contains("trust") || text.contains("safe.directory") {
        return Error::other(format!("detected dubious ownership in repository at '{}'", directory.display()))
            .hint(format!("git config --global --add safe.directory '{}'", directory.display()));
    }
    if error.is_not_found() {
        return Error::new(Kind::Missing, locate::why_missing(directory));
    }
    Error::other(format!("cannot open the repository at '{}'", directory.display())).because(one_line(&error))
}

/// Turns an error of gix into one of ours. [`Kind::Busy`] means that a retry can succeed.
pub(crate) fn gix_error(action: impl Into<String>, error: &gix::Error) -> Error {
    let mut kind = Kind::Other;
    for source in error.iter_errors() {
        if let Some(io) = source.downcast_ref::<std::io::Error>() {
            kind = crate::error::kind_of_io(io);
        }
    }
    if kind == Kind::Other || kind == Kind::Missing {
        if error.is_conflict() || error.is_retryable() {
            kind = Kind::Busy;
        } else if error.is_not_found() {
            kind = Kind::Missing;
        } else if error.is_corrupted() {
            kind = Kind::Corrupt;
        }
    }
    Error::new(kind, action).because(one_line(error))
}

fn one_line(error: &gix::Error) -> String {
    error.probable_cause().to_string().lines().next().unwrap_or_default().to_owned()
}
