//! What recorded work has used: commits, sessions, turns, tokens and their cost, counted from notes.
//!
//! Read [`collect`], which reads the records of a query, then [`counted`], which puts them into groups. [`Prices`] is the
//! table of list prices. Nothing here uses the network. Transcripts are read by [`read_words`], [`counted_calls`],
//! [`Collected::add_unrecorded`], and by [`distinct`] for records that overlap.

mod branch;
mod collect;
mod count;
mod entry;
mod key;
mod lines;
mod once;
mod price;
mod reading;
mod row;
mod share;
mod tools;
mod unread;
mod words;

pub use self::collect::{Collected, collect, shorten};
pub use self::count::{Counted, Group, Sum, counted};
pub use self::entry::{Answer, Entry, Used};
pub use self::key::{Key, clean_values};
pub use self::lines::{CountedLines, LineSum, Lines, Source, Written, counted_lines, written};
pub use self::once::{Distinct, Uncounted, distinct};
pub use self::price::{Cost, Fetched, Prices, cost_of, fetch as fetch_prices};
pub use self::row::Row;
pub use self::tools::{CallSum, CountedCalls, counted_calls};
pub use self::unread::Unread;
pub use self::words::read_words;
