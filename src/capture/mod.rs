//! What hooks do: keep sessions that run, choose which of them led to a commit, store their words, record them.
//!
//! A payload enters at [`hook`]: it is told apart by `agent` and noted in [`State`]. A commit enters at [`commit`]: which
//! sessions there are is known to `sessions`, and `choose` says which of them it gets. [`Recorder`] has each session's new
//! stretch read (`reading`), stores it in the archive, and writes the note. What cannot be stored is put `aside` in a file
//! (`pending`) and stored by the next hook or command (`catch_up`).

pub mod agents;
pub(crate) mod aside;
pub mod by_hand;
pub mod carry;
pub(crate) mod catch_up;
pub(crate) mod choose;
pub mod commit;
pub mod hook;
pub(crate) mod paths;
pub(crate) mod pending;
pub(crate) mod process;
pub(crate) mod reading;
pub(crate) mod recorder;
pub mod rewritten;
pub(crate) mod sessions;
pub(crate) mod state;

pub use self::catch_up::{Leave, hook_recorder, recorder};
pub use self::recorder::{HOOK_TIMEOUT_SECS, Recorder, Report};
pub use self::state::{Lock, State};
