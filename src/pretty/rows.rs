//! One line a commit, as `log` prints it for people.

use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::width::{cut, padded, width};
use super::{RecordOrigin, Style};
use crate::outside;
use crate::record::{Listed, Summary};

/// The width of the names of agents; most are shorter.
const AGENT_WIDTH: usize = 8;
/// The width of the number of messages.
const NUMBER_WIDTH: usize = 4;
/// With less room than this for words, other columns are left out.
const MIN_WORDS: usize = 24;
/// With less room than this for words, where the records came from is not said.
const MIN_MARKED_WORDS: usize = 8;

/// Prints commits as lines: abbreviated id, date, agents, messages, and the summary, the prompt or the subject.
#[derive(Debug)]
pub struct Rows {
    /// The columns of the terminal; elsewhere no line is cut, and there is no header.
    columns: Option<usize>,
    has_begun: bool,
}

/// The fields of one line.
struct Row {
    id: String,
    date: String,
    agents: String,
    number: String,
    words: String,
    /// Where the records came from, if they were made elsewhere.
    mark: String,
}

impl Rows {
    /// Makes lines for a terminal of so many columns, or for anything else.
    pub fn new(columns: Option<usize>) -> Self {
        Rows { columns, has_begun: false }
    }

    /// Writes the line of a commit, and `end` behind it. On a terminal, a header stands above the first.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        listed: &Listed,
        abbreviated: &str,
        style: &Style,
        end: &[u8],
    ) -> io::Result<()> {
        let origin = RecordOrigin::of(&listed.commit, &listed.trees);
        let row = Row {
            id: abbreviated.to_owned(),
            date: style.date.show(listed.commit.committer.time),
            agents: if listed.summaries.is_empty() { "-".to_owned() } else { agents(&listed.summaries) },
            number: main_sessions(&listed.summaries)
                .fold(0, |sum: u64, one| sum.saturating_add(one.messages))
                .to_string(),
            words: words(listed),
            mark: origin.map_or(String::new(), |origin| format!(" ({})", origin.mark())),
        };
        if !std::mem::replace(&mut self.has_begun, true) && self.columns.is_some() {
            let head = |text: &str, columns: usize| padded(text, columns);
            let header = Row {
                id: head("commit", width(&row.id)),
                date: head("date", width(&row.date)),
                agents: "agent".into(),
                number: "msgs".into(),
                words: "summary or first prompt".into(),
                mark: String::new(),
            };
            writeln!(out, "{}", style.paint(&style.dim, &self.line(&header, |id| id.to_owned())))?;
        }
        write!(out, "{}", self.line(&row, |id| style.paint(&style.commit, id)))?;
        out.write_all(end)
    }

    fn line(&self, row: &Row, paint: impl Fn(&str) -> String) -> String {
        let agents = padded(&row.agents, AGENT_WIDTH);
        let number = format!("{:>NUMBER_WIDTH$}", row.number);
        let columns = [&row.date, &agents, &number];
        let Some(room) = self.columns else {
            return format!("{} {} {agents} {number} {}{}", paint(&row.id), row.date, row.words, row.mark);
        };
        let taken =
            |columns: &[&String]| width(&row.id) + columns.iter().map(|text| width(text) + 1).sum::<usize>() + 1;
        // The date goes first, then the agents, then the number.
        let kept = (0..3).map(|left_out| &columns[left_out..]).find(|kept| taken(kept) + MIN_WORDS <= room);
        let kept = kept.unwrap_or_default();
        let left = room.saturating_sub(taken(kept));
        let mark = if width(&row.mark) + MIN_MARKED_WORDS <= left { row.mark.as_str() } else { "" };
        let words = cut(&row.words, left.saturating_sub(width(mark)));
        let kept: String = kept.iter().map(|text| format!("{text} ")).collect();
        format!("{} {kept}{words}{mark}", paint(&row.id))
    }
}

fn agents(summaries: &[Summary]) -> String {
    let mut agents: Vec<&str> = Vec::new();
    for agent in summaries.iter().map(|summary| summary.key.agent.as_str()) {
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    outside::line(&agents.join(","))
}

/// Returns the summary, else the first prompt, else the subject, which is marked: it was not said in a conversation. Of
/// a commit without a conversation, the first failure that its evidence tells of.
fn words(listed: &Listed) -> String {
    if listed.summaries.is_empty() {
        let error = listed.evidence.iter().find_map(|evidence| evidence.error.clone());
        let words = error.unwrap_or_else(|| listed.commit.subject().to_str_lossy().into_owned());
        return format!("(evidence) {}", outside::line(&words));
    }
    let summary = listed.summaries.iter().find_map(|summary| summary.summary.as_deref());
    let prompt = || listed.summaries.iter().find_map(Summary::shown_prompt);
    match summary.map(str::to_owned).or_else(prompt) {
        Some(words) => outside::line(&words),
        None => format!("(no prompt) {}", outside::line(&listed.commit.subject().to_str_lossy())),
    }
}

/// Returns the summaries that are no sub-agent's.
pub fn main_sessions(summaries: &[Summary]) -> impl Iterator<Item = &Summary> {
    summaries.iter().filter(|summary| summary.key.parent_id().is_none())
}
