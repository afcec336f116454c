//! Which edit of a session wrote a line of a file.
//!
//! Read [`Explainer`]. It takes lines that `git blame` gives to a commit, does the edits of the commit's sessions again
//! on the file as it was before ([`TracedFile`]), and each line remembers the edit that wrote it. Comparing texts is
//! the second choice, and is called that: it cannot tell which of several edits with the same line it was. Lines that
//! no record of their commit explains are looked for in the records of others.

mod added;
mod block;
mod certainty;
mod explain;
mod explanation;
mod limit;
mod paths;
mod recorded_edits;
mod replayed_file;
mod session_work;
mod source;
mod steps;
mod texts;
mod traced_file;
mod undoing;

/// The largest file whose edits are done again.
const MAX_FILE_BYTES: u64 = 2 << 20;

pub use self::added::{Added, added, count_left, lines_of};
pub use self::block::{Block, BlockLine, blocks};
pub use self::certainty::Certainty;
pub use self::explain::Explainer;
pub use self::explanation::{Continued, Explanation};
pub use self::recorded_edits::RecordedEdits;
pub use self::session_work::{Call, Change, EditKind, Reasoning, SessionWork};
pub use self::source::Source;
pub use self::traced_file::{LineOrigin, TracedFile};
