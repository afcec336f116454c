//! Conversations as pages: a page is complete in itself, works without a network and without JavaScript, and holds nothing
//! of others but text.
//!
//! Read [`Page`]. A conversation is written as it is read, so that only one is in memory at a time; what links to it (the
//! contents) stands behind it in the file, and beside it on the screen.

mod about;
pub mod address;
mod call;
mod change;
mod commit;
mod file;
mod found;
mod head;
mod index;
mod item;
mod listing;
mod packed;
mod page;
mod patch;
mod tables;
mod texts;
mod turn;
mod words;

pub use self::about::{About, about_page};
pub use self::commit::{Bar, hunk_id};
pub use self::file::file_page;
pub use self::found::{Searched, search_page};
pub use self::head::policy;
pub use self::index::{Indexed, ObservedCommit, write_index};
pub use self::listing::{Entry, Filters, Listing, commits_page, notice_page, overview_page};
pub use self::page::{Frame, Page, PageConversation, SessionHead};
pub use self::patch::{CleanText, Hunk, PatchFile, patch_files, plain};
pub use self::tables::{branches_page, stats_page};
pub use self::texts::PageTexts;
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

/// Where a page is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outlet {
    /// In a file: it links to files beside it alone.
    File,
    /// From the server, which has a page for each commit, session and file.
    Server,
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

/// The content and the look of pages.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// How much is shown at first.
    pub span: Span,
    /// Whether pages hold what the model thought.
    pub has_thinking: bool,
    /// Whether pages hold tool calls.
    pub has_tools: bool,
    /// Whether pages hold pictures; otherwise they say what was there.
    pub has_pictures: bool,
    /// The colours.
    pub theme: Theme,
    /// The top of the working tree; paths below it are shown from there.
    pub top: Option<String>,
    /// The address of a commit at a host, in which `%H` stands for its id.
    pub commit_address: Option<String>,
    /// Where they are read.
    pub outlet: Outlet,
    /// Whether tools' answers are packed at the end of a page. Then they need JavaScript, and the page is much smaller.
    pub is_packed: bool,
}
