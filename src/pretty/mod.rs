//! Records and conversations as text, in the four voices: human, `--format`, porcelain, JSON; and as Markdown.
//!
//! Read `human` and `printer` for what `show` prints, then `porcelain` for an example of the other formats, and `html` for
//! pages. Printers get a [`Style`] and write to whatever they are given; none of them looks at a terminal or at
//! configuration.

// A conversation, as `show` prints it for people.
mod call;
mod clock;
mod depth;
mod diff;
mod evidence;
mod human;
mod input;
mod place;
mod printer;
mod sub_agent;
mod table;
mod tasks;
mod test_runs;
mod told;
mod view;

// Commits in lists, and conversations for programs and for documents.
mod document;
mod format;
pub mod html;
mod json;
mod markdown;
mod porcelain;
mod rows;

// Lines of code and who wrote them: `why`, `blame`.
mod blame;
mod why;
mod why_format;
mod why_markdown;

// Counts: `stats`.
mod calls;
mod lines;
mod stats;

// Searches, verified records, and the question to an agent.
mod found;
mod provenance;
mod question;

// The columns of a terminal.
mod width;

pub use self::blame::{BlameColumns, BlameTable, MachineFormat, write_machine};
pub use self::calls::{write_call_objects, write_call_table, write_call_values};
pub use self::depth::{Amount, Depth};
pub use self::document::{document_head, document_message, write_document, write_document_index};
pub use self::evidence::{evidence_head, evidence_lines, evidence_object, write_evidence};
pub use self::format::Format;
pub use self::found::{FoundLayout, FoundPlace, found_object, hit_line, hit_object, write_found};
pub use self::human::{write_commit, write_conversation};
pub use self::json::{
    branch_object, commit_object, listed_object, message_object, observed_object, write_conversation_object,
};
pub use self::lines::{write_line_objects, write_line_table, write_line_values};
pub use self::porcelain::write_porcelain;
pub use self::provenance::provenance;
pub use self::question::summary_question;
pub use self::rows::Rows;
pub use self::stats::{Statistics, group_line, group_object, total_object, write_chart, write_table, write_values};
pub use self::sub_agent::SubAgent;
pub use self::tasks::Tasks;
pub use self::test_runs::{has_passed, runs_checks};
pub use self::told::{told_diff, told_difference, told_value, write_told, write_told_diff};
pub use self::view::{TurnRange, View};
pub use self::why::{WhyView, more_command, why_object, write_why};
pub use self::why_format::{why_format, why_line};
pub use self::why_markdown::why_markdown;
pub use self::width::{cut, cut_before, cut_colored, listed, padded, width};

use crate::git::{Commit, date};
use crate::stats::Prices;

/// The colours of one kind of output, and how dates are shown in it. Empty colours mean none.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// Commit ids.
    pub commit: String,
    /// Prompts.
    pub user: String,
    /// Thinking and tool results.
    pub dim: String,
    /// Names of tools.
    pub tool: String,
    /// Code in an answer.
    pub code: String,
    /// Headings and strong words in an answer.
    pub strong: String,
    /// Lines that a file edit removes.
    pub old: String,
    /// Lines that a file edit adds.
    pub new: String,
    /// The matches of a search.
    pub found: String,
    /// The session in which something was found.
    pub place: String,
    /// The number of a turn or a line in which something was found.
    pub number: String,
    /// The separator of the fields in front of a line that was found.
    pub separator: String,
    /// The end of any of these.
    pub reset: String,
    /// How dates are shown.
    pub date: date::Format,
    /// The top of the working tree; paths below it are shown from there.
    pub top: Option<String>,
    /// The prices of tokens.
    pub prices: Prices,
    /// The columns of the terminal; elsewhere no line is wrapped.
    pub columns: Option<usize>,
}

impl Style {
    /// Says whether there are colours.
    pub fn is_colored(&self) -> bool {
        !self.reset.is_empty()
    }

    /// Returns `text` in `color`, which is one of the colours of this style.
    pub fn paint(&self, color: &str, text: &str) -> String {
        if color.is_empty() { text.to_owned() } else { format!("{color}{text}{}", self.reset) }
    }
}

/// Returns a size as people read it: `812 bytes`, `18.3 kB`, `2.1 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..=999 => count(bytes, "byte"),
        1_000..=999_999 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Returns a count with its noun, which gets an `s` unless there is one of it.
pub fn count(number: u64, noun: &str) -> String {
    let ending = match number {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

/// The origin of a commit's records, if they were made for other commits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RecordOrigin {
    /// From several commits, as after a squash.
    Joined(usize),
    /// From one commit with another content, as after a rebase.
    Carried,
    /// From a merge.
    Merge,
}

impl RecordOrigin {
    /// Returns the origin, by the trees of the commits that the records were made for; `None` if they were made for
    /// this commit.
    pub fn of(commit: &Commit, trees: &[String]) -> Option<Self> {
        let own = commit.tree_id.to_string();
        match trees {
            [_, _, ..] => Some(RecordOrigin::Joined(trees.len())),
            [tree] if *tree != own => Some(RecordOrigin::Carried),
            _ => (commit.parent_ids.len() > 1).then_some(RecordOrigin::Merge),
        }
    }

    /// Returns the origin in a word or two, for a list.
    pub fn mark(self) -> String {
        match self {
            RecordOrigin::Joined(commits) => format!("joined from {commits}"),
            RecordOrigin::Carried => "carried".to_owned(),
            RecordOrigin::Merge => "merge".to_owned(),
        }
    }

    /// Returns the origin as a sentence.
    pub fn sentence(self) -> String {
        match self {
            RecordOrigin::Joined(commits) => format!("joined from the records of {commits} commits"),
            RecordOrigin::Carried => "carried from another commit".to_owned(),
            RecordOrigin::Merge => "recorded on a merge".to_owned(),
        }
    }
}
