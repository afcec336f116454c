//! Files of other programs, changed so that every byte can be put back.
//!
//! A step (`step.rs`) changes a file: it leaves it old or new, and does nothing where the file is no longer as it was when
//! the step was planned. Two rooms plan steps: `setup` adds a part of ours to files of a repository, `rules` owns whole
//! files, links and folders of agents.
//!
//! For parts, read [`Plan`]: edits are planned, can be shown, and are then made. What was done is written down in
//! `$GIT_COMMON_DIR/shiftlog/installed`. Which files get a part is the business of `setup`; how a part looks in a hook, in
//! a client's file or in `info/exclude`, and how it is taken out again, stands here.

pub(crate) mod client;
pub(crate) mod disk;
mod edit;
pub(crate) mod file;
pub(crate) mod hook;
mod installed;
mod kind;
mod part;
pub(crate) mod place;
mod plan;
mod shell;
pub(crate) mod step;
mod toml;

use std::time::Duration;

pub use self::client::Declared;
pub(crate) use self::edit::Edit;
pub use self::installed::is_written_down;
pub(crate) use self::installed::made_directories;
pub(crate) use self::kind::FileKind;
pub use self::plan::{LeftAlone, Plan, open_when_free};
pub(crate) use self::step::Step;

/// How long another process that changes the same files is waited for.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The program that every hook runs.
pub(crate) const HOOK_PROGRAM: &str = "git-shiftlog--hook";
