//! What hooks do: keep sessions that run, choose which of them led to a commit, store their words, record them.
//!
//! A payload enters at [`hook`]: it is told apart by `agent`, noted in [`State`], and `choose` says which sessions a
//! commit gets. [`Recorder`] has each session's new stretch read (`reading`), stores it in the archive, and writes the
//! note. What cannot be stored waits in a file (`pending`) and is stored by the next hook or command (`catch_up`).

pub mod agents;
pub mod carry;
pub(crate) mod catch_up;
pub(crate) mod choose;
pub mod hook;
pub(crate) mod paths;
pub(crate) mod pending;
pub(crate) mod process;
pub(crate) mod reading;
pub(crate) mod recorder;
pub(crate) mod rewritten;
pub(crate) mod state;

pub use self::recorder::{Addition, HOOK_TIMEOUT_SECS, Leave, Recorder, Report};
pub use self::state::{Lock, State};
