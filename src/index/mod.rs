//! The project's index: four JSON files in `.memo/index` that tell agents how a project is built. Made here, checked here,
//! and kept up to date by an agent.
//!
//! Read [`Project`] first, then [`schema`] for the content of the files, [`Scan`] for how an agent is asked, and
//! [`Watcher`] for when. The servers and commands read values of it by path.

mod aside;
mod changed;
mod files;
mod locations;
mod lock;
mod place;
mod question;
pub mod refresh;
mod scan;
pub mod schema;
mod watch;
mod worktree;

pub use self::changed::{FileChange, Snapshot, last_scan_time};
pub use self::files::{DIRECTORY, Project, ROOTS, SKELETONS, below, find, read};
pub use self::locations::{FoundAt, Issue, IssueLocation, find_all, issues};
pub use self::scan::{Scan, choose};
pub use self::watch::{Debounce, News, Watcher, running};
pub use self::worktree::WorktreeFiles;
