//! The repository as Git hands it to us: where it is, what its config says, its commits, its refs.
//!
//! Read [`Repository::open`] first, then [`Repository::update_ref`], through which everything of ours is written. This room
//! knows `gix` and the `git` command; it knows nothing of sessions, notes or agents. Object ids are the only thing of `gix`
//! that leaves it.

// Opening and finding: the repository, its config, its files.
mod browse;
pub mod child;
mod command;
mod config;
mod locate;
mod lock;
pub mod private;
pub mod temporary;
mod worktrees;

// Objects and commits.
mod commit;
pub mod date;
mod loose;
mod names;
mod objects;
mod quote;
mod revision;

// History: walking it, and the changes in it.
mod added;
mod blame;
mod change;
mod graph;
mod head;
mod printed;
mod rebase;
mod since;
mod walk;

// Refs of our own and of remotes: moving, checking, mending, deleting.
mod check;
mod drop;
mod fault;
mod holders;
mod kept;
mod ref_name;
mod refs;
mod remote;
mod repack;
pub mod sign;
mod whole;
mod whole_date;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::ByteSlice as _;
use rustix::fs::Mode;

pub use gix::ObjectId;

pub use self::added::{AddedLines, hunk_head};
pub use self::blame::{Blame, BlameRequest, BlamedCommit, BlamedFile, BlamedLines};
pub use self::browse::browse;
pub use self::change::PathChange;
pub use self::check::{Allowed, Checked, EntryBudget, MAX_ENTRIES};
pub use self::command::{Asking, Output, git, version};
pub use self::commit::{Commit, Person};
pub use self::drop::Unneeded;
pub use self::fault::{fault_point, has_fault};
pub use self::graph::{GraphNode, GraphOptions};
pub use self::head::{ReflogEntry, last_message, last_move, was_reset_lately};
pub use self::holders::{Holder, Holders, Join};
pub use self::kept::KEPT_PREFIX;
pub use self::locate::{Location, locate};
pub use self::lock::{backoff, has_locked_notes};
pub use self::names::Names;
pub use self::printed::{ChangeOptions, PrintOptions};
pub use self::quote::unquoted;
pub use self::rebase::{Rebase, RebaseStep};
pub use self::ref_name::{REMOTES_PREFIX, Tip, is_ref_name};
pub use self::refs::{Branch, Merged, Replaced};
pub use self::remote::{Fetch, Push};
pub use self::since::{FileSince, FilesSince};
pub use self::walk::{Order, Paths, Range};
pub use self::worktrees::Worktree;

use crate::error::{Error, Kind, Result};

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
    /// How many commits Git was asked for because they are in another encoding.
    encoded_again: Cell<u32>,
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
            let options = || trusting(options(), must_be_ours);
            let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
            let upwards = gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() };
            gix::ThreadSafeRepository::discover_with_environment_overrides_opts(directory, upwards, trust)
        };
        let inner =
            discover(true).or_else(|error| if is_used_by_git(directory) { discover(false) } else { Err(error) });
        Self::of(inner.map_err(|error| open_error(directory, error))?)
    }

    /// Opens the repository with this git directory: another worktree, or the same repository again.
    ///
    /// # Errors
    ///
    /// As [`Repository::open`].
    pub fn open_git_dir(git_dir: &Path) -> Result<Self> {
        let open = |must_be_ours: bool| {
            let options = trusting(options().open_path_as_is(true), must_be_ours);
            gix::ThreadSafeRepository::open_opts(git_dir, options)
        };
        // Git asks nobody about the repository that GIT_DIR names.
        let is_allowed = || std::env::var_os("GIT_DIR").is_none() && is_used_by_git(git_dir);
        let opened = open(true).or_else(|error| if is_allowed() { open(false) } else { Err(error) });
        Self::of(opened.map_err(|error| open_error(git_dir, error))?)
    }

    fn of(inner: gix::ThreadSafeRepository) -> Result<Self> {
        let mut inner = inner.to_thread_local();
        // Git ignores GIT_NAMESPACE for what is read locally; gix applies it to HEAD.
        inner.clear_namespace();
        // Git reads history without its working tree; only what needs files fails.
        if inner.workdir().is_some_and(|worktree| !worktree.is_dir()) {
            let failed = |error: gix::Error| Error::other("cannot open the repository").because(error);
            inner.set_workdir(None::<PathBuf>).map_err(failed)?;
        }
        // A walk reads each commit, and what is printed of it is read again.
        inner.object_cache_size_if_unset(16 * 1024 * 1024);
        inner.objects.enable_object_memory();
        let repository = Repository {
            user_config: config::Identity::of(&inner),
            inner,
            lock_wait: Cell::new(None),
            is_offline: Cell::new(false),
            encoded_again: Cell::new(0),
        };
        if repository.config_string("extensions.refStorage").is_some_and(|format| format != "files") {
            return Err(Error::new(
                Kind::Unsupported,
                format!("'{}' keeps its refs in a reftable, which is not supported", repository.git_dir().display()),
            )
            .hint(match version() >= (2, 48) {
                true => "'git refs migrate --ref-format=files' converts it",
                // Before, Git cannot convert a repository that has reflogs.
                false => {
                    "'git clone --ref-format=files' makes a copy without; Git 2.48 can convert it: git refs migrate"
                }
            }));
        }
        repository.apply_shared_umask();
        Ok(repository)
    }

    /// Forbids fetching of missing objects from now on, also to the `git` commands that this process starts. Hooks call it,
    /// because a commit must not wait for a network. Objects that a partial clone has not fetched then count as missing.
    pub fn stay_offline(&self) {
        self.is_offline.set(true);
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

    /// Returns the git directory of another repository that keeps its files in this working tree, if there is one: in a copy,
    /// `core.worktree` can name the original's.
    pub fn other_owner_of_worktree(&self) -> Option<PathBuf> {
        let of_worktree = self.worktree()?.join(".git");
        let is_ours = |git_dir: &Path| git_dir.canonicalize().ok() == self.git_dir().canonicalize().ok();
        if is_ours(&of_worktree) || !of_worktree.exists() {
            return None;
        }
        let named = command::git(["rev-parse".as_ref(), "--resolve-git-dir".as_ref(), of_worktree.as_os_str()]);
        let other = of_worktree.parent()?.join(named.capture().ok()?.trim_end().to_path().ok()?);
        (!is_ours(&other)).then_some(other)
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

    /// Returns what `core.sharedRepository` allows others to do.
    fn shared_mode(&self) -> Mode {
        match self.config_string("core.sharedRepository").as_deref() {
            None | Some("umask" | "false" | "0" | "no" | "off") => Mode::empty(),
            Some("group" | "true" | "1" | "yes" | "on") => Mode::RWXG,
            Some("all" | "world" | "everybody" | "2") => Mode::RWXG | Mode::ROTH | Mode::XOTH,
            Some(octal) => match u32::from_str_radix(octal.trim_start_matches('0'), 8) {
                Ok(bits) => Mode::from_raw_mode((bits & 0o777) | ((bits & 0o444) >> 2)),
                Err(_) => Mode::empty(),
            },
        }
    }

    /// Says whether `core.sharedRepository` lets a group write to the repository.
    pub fn is_shared_with_group(&self) -> bool {
        self.shared_mode().contains(Mode::WGRP)
    }

    /// Sets the umask of this process as `core.sharedRepository` asks for, because gix ignores that setting.
    fn apply_shared_umask(&self) {
        let keep = self.shared_mode();
        if keep.is_empty() {
            return;
        }
        let old = rustix::process::umask(Mode::empty());
        rustix::process::umask(old - keep);
    }
}

/// Says whether Git uses the repository of `directory` although gix refuses it: gix reads no `safe.directory` of the
/// environment, and takes a working tree that is not there for somebody else's.
fn is_used_by_git(directory: &Path) -> bool {
    locate(directory).is_some() && command::git(["rev-parse", "--git-dir"]).directory(directory).capture().is_ok()
}

/// Returns options that fail for the repository of another user, or that read its configuration as that of one's own.
fn trusting(options: gix::open::Options, must_be_ours: bool) -> gix::open::Options {
    match must_be_ours {
        true => options.bail_if_untrusted(true),
        false => options.bail_if_untrusted(false).filter_config_section(|_| true),
    }
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
