//! Conversations as pages: a page is complete in itself, works without a network and without JavaScript, and holds nothing
//! of others but text.
//!
//! Read [`Page`]. A conversation is written as it is read, so that only one is in memory at a time; what links to it (the
//! contents) stands behind it in the file, and beside it on the screen.

mod call;
mod change;
mod commit;
mod index;
mod item;
mod page;
mod turn;
mod words;

pub use self::commit::{Bar, Hunk, PatchFile, patch_files};
pub use self::index::{Indexed, write_index};
pub use self::page::{Page, Part, SessionHead};
pub use self::words::beginning;

/// How much of a conversation a page shows at first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Span {
    /// Prompts, and the last answer of each turn. Such a page holds nothing else.
    Focused,
    /// All that was said; thinking, calls and their answers open with a click.
    Normal,
    /// Everything open.
    Full,
}

/// The colours of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Theme {
    /// Those that the reader's system has.
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What pages hold and how they look.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How much is shown at first.
    pub span: Span,
    /// Whether pages hold what the model thought.
    pub has_thinking: bool,
    /// Whether pages hold tool calls.
    pub has_tools: bool,
    /// The colours.
    pub theme: Theme,
    /// The top of the working tree; paths below it are shown from there.
    pub top: Option<String>,
}
