//! The work of hooks: tracking running sessions, choosing the sessions that led to a commit, storing and recording their
//! words.
//!
//! The payload of an agent's hook, which `agent` has parsed, enters at [`agent_hook`], which updates [`State`]. A commit
//! enters at [`commit`]: `sessions` finds the sessions that may belong to it, and `choose` chooses among them. `new_words`
//! reads the increment of each session (`reading`), and [`Recorder`] archives it and writes the note. What cannot be stored
//! is kept in a file, which the next hook or command stores.
//!
//! Words that are not stored when their commit is made, and commits that have the words of others:
//!
//! | file | what | who stores it |
//! | --- | --- | --- |
//! | `awaited` | the result of the tool call that made the commit, written after it | the next hook of the session |
//! | `late` | a session whose transcript was not written yet | `post-commit` of the session's next commit |
//! | `unseen` | commits that no hook reported | a command that reads (`missed`) |
//! | `put_aside`, `pending` | an increment that could not be written now | the next hook or command (`catch_up`) |
//! | `same_call` | the later of several commits by one tool call | `post-commit` |
//! | `left_edits` | the later parts of a turn's work that is committed in parts | `post-commit` |
//! | `carry` | a commit that Git makes of others by cherry-pick or squash | `post-commit` |
//! | `taken_back` | a commit that makes the changes of others again after a reset | `post-commit` |
//! | `rewritten` | amended and rebased commits | `post-rewrite` |

pub mod agent_hook;
pub mod agents;
mod availability;
pub(crate) mod awaited;
pub mod by_hand;
pub mod carry;
pub(crate) mod catch_up;
pub(crate) mod choose;
pub mod commit;
pub(crate) mod fork;
pub(crate) mod increment;
mod late;
mod left_edits;
mod left_out;
mod missed;
mod new_commit;
mod new_words;
mod other_worktrees;
pub(crate) mod parts;
pub(crate) mod paths;
pub(crate) mod pending;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod put_aside;
pub(crate) mod reading;
pub(crate) mod recorder;
pub mod rewritten;
mod same_call;
pub(crate) mod segment_end;
mod session_status;
pub(crate) mod sessions;
mod spoken;
mod stamp;
pub(crate) mod state;
mod taken_back;
mod told;
mod tool_call;
pub(crate) mod tracked;
mod unseen;

pub use self::catch_up::{Leave, hook_recorder, hook_timeout, recorder};
pub use self::missed::{store_missed, store_missed_or_leave};
pub use self::put_aside::NOTED_IN;
pub use self::recorder::{Recorder, Report};
pub use self::session_status::{HOW_TO_READ, PendingFile, SessionStatus, session_statuses, waiting, why_waiting};
pub use self::sessions::is_checked_out;
pub use self::spoken::{Spoken, spoken};
pub use self::state::{Lock, State};
