//! Searching recorded conversations: lines that match a pattern, and turns that have words.
//!
//! Read [`Increments`] for the increments that are searched, [`run`] for the threads that search them, [`matches_of`]
//! for lines that match, and [`search()`] for turns. There is no index: segments are unpacked by several threads,
//! `needles` finds the lines that can have a match, and only these are parsed.
//!
//! Words that another tool stored may have secrets in them. A line is redacted before it is matched, and whether it is
//! looked at depends only on text outside its secrets, so that nobody can guess a secret by searching for it.

mod excerpt;
mod literal;
mod matches;
mod needles;
mod pass;
mod pattern;
mod plan;
mod rank;
mod ranked;
mod search;
mod stored_words;
mod terms;
mod text;

pub use self::excerpt::{Excerpt, excerpt_of};
pub use self::matches::{Found, FoundLine, LineSearch, Match, matches_of};
pub use self::pass::{Limits, Worker, default_threads, run};
pub use self::pattern::{Pattern, PatternOptions, expression};
pub use self::plan::{Increments, PlannedIncrement};
pub use self::rank::{RankedTurn, Ranking};
pub use self::ranked::{Census, TurnFound, turns_of};
pub use self::search::{Hit, SearchOptions, SearchResult, search};
pub use self::terms::{Case, Terms, words_of};
pub use self::text::{PartKind, Parts};

/// Where a line of a transcript is stored. Records of several commits can have the same line.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LineAddress {
    /// The segment; of a document of an earlier tool, the session.
    of: String,
    /// The position in it, in bytes.
    at: u64,
}
