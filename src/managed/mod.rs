//! Files of other programs that have a part of ours, edited so that every byte can be put back.
//!
//! Read [`Plan`]: steps are planned, can be shown, and are then taken. What was done is written down in
//! `$GIT_COMMON_DIR/shiftlog/installed`. Which files get a part is the business of `setup`; how a part looks in a hook, in
//! a client's file or in `info/exclude`, and how it is taken out again, stands here.

pub(crate) mod client;
pub(crate) mod file;
pub(crate) mod hook;
mod installed;
mod part;
pub(crate) mod place;
mod plan;
mod toml;

use std::time::Duration;

pub use self::client::Declared;
pub(crate) use self::plan::{FileKind, Step};
pub use self::plan::{Left, Plan};

/// How long another process that changes the same files is waited for.
pub(crate) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// The program that every hook runs.
pub(crate) const HOOK_PROGRAM: &str = "git-shiftlog--hook";
