//! The output of `git shiftlog why` for lines that one call wrote: for people, and as JSON.

use std::borrow::Cow;
use std::io::{self, Write};

use bstr::ByteSlice as _;
use serde_json::{Map, Value, json};

use super::depth::{Amount, Depth};
use super::{Style, count, diff, json};
use crate::compare::LineDiff;
use crate::git::{Commit, date};
use crate::outside;
use crate::redact::Redactor;
use crate::replay::{Block, BlockLine, Certainty, Change};
use crate::transcript::{REMARK_MARK, SessionKey, short_ids};

/// How many lines of a prompt, and of the words before an edit, are shown unless all are wanted.
const MAX_WORDS_LINES: usize = 20;
/// How many lines of an edit are shown around the lines that were asked about.
const CONTEXT: usize = 3;
/// An edit of at most so many lines is shown whole.
const MAX_EDIT_LINES: usize = 20;

/// So many edits of one call are shown unless all are wanted.
const MAX_EDITS: usize = 5;

/// A line has at most so many characters unless all is wanted.
const MAX_LINE_CHARS: usize = 2000;

/// How a block is shown.
#[derive(Clone, Default)]
pub struct WhyView<'a> {
    /// The path that was asked about.
    pub path: &'a str,
    /// The revision that was asked about, in full; `None` for the working tree.
    pub revision: Option<String>,
    /// The commit; `None` for lines that none has.
    pub commit: Option<&'a Commit>,
    /// Its short name.
    pub commit_name: &'a str,
    /// Whether nothing is left out.
    pub is_whole: bool,
    /// The option that shows what is left out, if the reader can give it.
    pub more: Option<&'static str>,
    /// Whether the agent's thinking is left out.
    pub is_without_thinking: bool,
    /// Removes secrets that another tool has stored.
    pub redactor: Option<&'a Redactor>,
}

impl WhyView<'_> {
    /// Returns recorded words without secrets.
    pub(super) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.map_or(Cow::Borrowed(text), |redactor| redactor.without_secrets(text))
    }

    /// Returns one line as it is shown; a long one is cut unless nothing is left out.
    fn line(&self, line: &str) -> String {
        let amount = if self.is_whole { Amount::Full } else { Amount::Short };
        outside::line(&self.depth().line(line, amount, MAX_LINE_CHARS))
    }

    /// Returns the mark of a cut.
    fn cut(&self, number: usize, noun: &str) -> String {
        self.depth().cut(number, noun)
    }

    fn depth(&self) -> Depth {
        Depth { more: self.more, ..Depth::BRIEF }
    }

    /// Returns the lines of a text, or the first of them and how many follow.
    fn lines_of(&self, text: &str) -> Vec<String> {
        let mut lines: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
        if !self.is_whole && lines.len() > MAX_WORDS_LINES {
            let left_out = lines.len() - MAX_WORDS_LINES;
            lines.truncate(MAX_WORDS_LINES);
            lines.push(self.cut(left_out, "more line"));
        }
        lines
    }
}

/// Returns a short name of a session that no other of a commit has.
pub fn short_session(key: &SessionKey, keys: &[SessionKey]) -> String {
    let ids = keys.iter().chain([key]).map(|key| key.id.as_str());
    short_ids(ids).remove(key.id.as_str()).unwrap_or_else(|| key.id.clone())
}

/// How much of the id of another commit is shown.
const OTHER_DIGITS: usize = 12;

/// Returns the command that shows the conversation of a block; `None` if there is no record.
pub fn more_command(block: &Block, commit_name: &str) -> Option<String> {
    let found = &block.found;
    let other = found.recorded_on.map(|id| id.to_hex_with_len(OTHER_DIGITS).to_string());
    let commit_name = other.as_deref().unwrap_or(commit_name);
    let Some(work) = found.work() else {
        return (found.certainty == Certainty::Commit).then(|| format!("git shiftlog show {commit_name}"));
    };
    if work.is_live {
        return Some("git shiftlog status".to_owned());
    }
    let session = outside::shell(&outside::line(&short_session(&work.key, &found.source.keys)));
    let full = if work.is_beyond_record { " --full" } else { "" };
    let choice = match found.call() {
        Some(call) => format!(" --turn={}", call.turn),
        None if found.certainty == Certainty::Path => {
            format!(" -- {}", outside::shell(&outside::line(&block.file.path.to_str_lossy())))
        }
        None => String::new(),
    };
    Some(format!("git shiftlog show {commit_name} --session={session}{full}{choice}"))
}

/// Writes a block for people.
///
/// # Errors
///
/// If writing fails.
pub fn write_why(out: &mut dyn Write, block: &Block, view: &WhyView<'_>, style: &Style) -> io::Result<()> {
    let found = &block.found;
    writeln!(out, "{}:{}", outside::line(view.path), block.ranges())?;
    writeln!(out, "{}", style.paint(&style.commit, &head_of(view, style)))?;
    // A boundary without parents is the first commit.
    if block.commit.is_boundary() && view.commit.is_some_and(|commit| !commit.parent_ids.is_empty()) {
        let older = "(may be older: history before this commit was not looked at)";
        writeln!(out, "{}", style.paint(&style.dim, older))?;
    }
    let certainty = found.sentence(block.lines.len() == 1);
    match found.work() {
        None => writeln!(out, "{certainty}")?,
        Some(work) => {
            let mut facts =
                vec![format!("session {} {}", work.key.agent, short_session(&work.key, &found.source.keys))];
            facts.extend(found.model().map(str::to_owned));
            if let Some(call) = found.call() {
                // A sub-agent answers nobody's prompt.
                facts.extend((call.turn > 0).then(|| format!("turn {} of {}", call.turn, work.turns)));
                facts.push(call.tool.clone());
            } else {
                facts.push(count(work.turns as u64, "turn"));
            }
            writeln!(out, "{}", outside::line(&facts.join(", ")))?;
            let place = found.other_path.as_ref().map(|path| format!(": {}", relative(path, style)));
            let line = format!("({certainty}{})", outside::line(&place.unwrap_or_default()));
            writeln!(out, "{}", style.paint(&style.dim, &line))?;
            if let Some(lack) = found.source.lack.filter(|_| found.call().is_none()) {
                writeln!(out, "{}", style.paint(&style.dim, &format!("({})", lack.sentence())))?;
            }
        }
    }
    write_words(out, block, view, style)?;
    let changes = block.changes();
    let shown = if view.is_whole { changes.len() } else { changes.len().min(MAX_EDITS) };
    for (change, lines) in &changes[..shown] {
        writeln!(out)?;
        rows_of(change, lines, view).iter().try_for_each(|row| writeln!(out, "{}", row.shown(block, view, style)))?;
    }
    if changes.len() > shown {
        writeln!(out, "\n{}", view.cut(changes.len() - shown, "more edit"))?;
    }
    if let Some(command) = found.call().and_then(|call| call.command.as_deref()).filter(|_| changes.is_empty()) {
        writeln!(out)?;
        let shown = view.lines_of(&view.clean(command));
        shown.iter().try_for_each(|line| writeln!(out, "    {}", view.line(line)))?;
    }
    if let Some(command) = more_command(block, view.commit_name) {
        writeln!(out, "\n{}", style.paint(&style.strong, &command))?;
    }
    Ok(())
}

fn head_of(view: &WhyView<'_>, style: &Style) -> String {
    let Some(commit) = view.commit else { return "not committed yet".to_owned() };
    let (day, author) = (style.date.show(commit.author.time), commit.author.name.to_str_lossy());
    let subject = commit.subject();
    outside::line(&format!("commit {} {day} {author}  {}", view.commit_name, subject.to_str_lossy()))
}

fn relative<'p>(path: &'p str, style: &Style) -> &'p str {
    let below = style.top.as_deref().and_then(|top| path.strip_prefix(top)?.strip_prefix('/'));
    below.unwrap_or(path)
}

/// Writes the prompt, a sub-agent's task, and the words and thinking before the call.
fn write_words(out: &mut dyn Write, block: &Block, view: &WhyView<'_>, style: &Style) -> io::Result<()> {
    let Some(call) = block.found.call() else { return Ok(()) };
    let prompt = |out: &mut dyn Write, text: &str| {
        writeln!(out)?;
        for (at, line) in view.lines_of(&view.clean(text)).iter().enumerate() {
            let mark = if at == 0 { '>' } else { '|' };
            writeln!(out, "{}", style.paint(&style.user, &format!("{mark} {}", view.line(line))))?;
        }
        io::Result::Ok(())
    };
    match &block.found.continues {
        Some(begun) => {
            let line = format!("continues {}: {}", begun.commit_name, view.clean(&begun.prompt));
            writeln!(out, "\n{}", style.paint(&style.user, &outside::line(&line)))?;
        }
        None => block.found.prompt().map_or(Ok(()), |text| prompt(out, &text))?,
    }
    call.task.as_ref().map_or(Ok(()), |text| prompt(out, text))?;
    call.remark.as_ref().map_or(Ok(()), |text| prompt(out, &format!("{REMARK_MARK}{text}")))?;
    let words = call.reasoning.iter().filter(|words| !(words.is_thought && view.is_without_thinking));
    let mut lines: Vec<String> = Vec::new();
    for words in words {
        let mark = if words.is_thought { "  ~ " } else { "  " };
        let text = view.clean(words.text.trim_end());
        let shown = text.lines().map(|line| format!("{mark}{}", view.line(line)));
        lines.extend(shown.map(|line| if words.is_thought { style.paint(&style.dim, &line) } else { line }));
    }
    if !view.is_whole && lines.len() > MAX_WORDS_LINES {
        // The last words are the nearest to the edit.
        let left_out = lines.len() - MAX_WORDS_LINES;
        lines.drain(..left_out);
        lines.insert(0, format!("  {}", view.cut(left_out, "more line")));
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// A line of an edit.
struct Row {
    sign: char,
    text: String,
    /// The number of the line that was asked about, if it is one.
    number: Option<usize>,
}

impl Row {
    /// Returns the mark for lines that are left out.
    fn cut(number: usize, view: &WhyView<'_>) -> Self {
        Row { sign: ' ', text: view.cut(number, "more line"), number: None }
    }

    fn shown(&self, block: &Block, view: &WhyView<'_>, style: &Style) -> String {
        let columns = block.lines.last().map_or(1, |line| line.number.to_string().len());
        let number = self.number.map(|number| number.to_string()).unwrap_or_default();
        let line = diff::painted(&format!("{}{}", self.sign, view.line(&self.text.replace('\t', "    "))), style);
        format!("  {number:>columns$} {line}")
    }
}

/// Returns the lines of an edit, with the numbers of those that were asked about.
fn rows_of(change: &Change, lines: &[&BlockLine], view: &WhyView<'_>) -> Vec<Row> {
    let [old, new] = [&change.edit.old, &change.edit.new].map(|text| view.clean(text.as_deref().unwrap_or_default()));
    let compared = LineDiff::of(&old, &new, None);
    let mut rows: Vec<Row> =
        compared.all().map(|(sign, line)| Row { sign, text: line.to_owned(), number: None }).collect();
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let shown: Vec<String> = rows.iter().map(|row| visible(&row.text)).collect();
    let mut next = 0;
    for line in lines {
        let text = visible(&line.text.to_str_lossy());
        let is_free = |at: &usize| rows[*at].sign == '+' && rows[*at].number.is_none();
        let is_it = |at: &usize| is_free(at) && shown[*at] == text;
        let is_part = |at: &usize| is_free(at) && !shown[*at].is_empty() && text.contains(&shown[*at]);
        let found = (next..rows.len()).find(is_it).or_else(|| (0..next).find(is_it));
        if let Some(at) = found.or_else(|| (0..rows.len()).find(is_part)) {
            rows[at].number = Some(line.number);
            next = at + 1;
        }
    }
    if view.is_whole || rows.len() <= MAX_EDIT_LINES {
        return rows;
    }
    let marked: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].number.is_some()).collect();
    let is_near = |at: usize| marked.iter().any(|marked| marked.abs_diff(at) <= CONTEXT);
    let is_shown = |at: usize| if marked.is_empty() { at < MAX_EDIT_LINES } else { is_near(at) };
    let is_shown: Vec<bool> = (0..rows.len()).map(is_shown).collect();
    let (mut shown, mut left_out) = (Vec::new(), 0);
    for (row, is_shown) in rows.into_iter().zip(is_shown) {
        if !is_shown {
            left_out += 1;
            continue;
        }
        shown.extend((left_out > 0).then(|| Row::cut(left_out, view)));
        shown.push(row);
        left_out = 0;
    }
    shown.extend((left_out > 0).then(|| Row::cut(left_out, view)));
    shown
}

/// Returns a block as the object of `--json`.
pub fn why_object(block: &Block, view: &WhyView<'_>) -> Value {
    let found = &block.found;
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        object.insert(key.to_owned(), value);
    };
    put("version", 1.into());
    put("path", view.path.into());
    put("revision", view.revision.clone().into());
    put("lines", block.lines.iter().map(|line| line.number).collect());
    put("final", view.commit.map(|commit| commit.commit_id.to_string()).into());
    put("origPath", block.file.path.to_str_lossy().into());
    put("origLines", block.lines.iter().map(|line| line.orig_number).collect());
    put("commit", view.commit.map(json::commit_object).into());
    put("evidence", found.certainty.word().into());
    if let Some(work) = found.work() {
        put("agent", work.key.agent.clone().into());
        put("session", work.key.id.clone().into());
        put("model", found.model().into());
        put("turns", work.turns.into());
        if work.is_live {
            put("live", true.into());
        }
        if work.is_beyond_record {
            put("full", true.into());
        }
    }
    if let Some(call) = found.call() {
        put("turn", call.turn.into());
        put("call", json!({ "id": call.id, "tool": call.tool, "index": call.index }));
        put("message", call.message.into());
        put("span", json!([call.span.start, call.span.end]));
        put("time", call.time.map(|seconds| date::Time { seconds, offset: 0 }.to_rfc3339()).into());
        put("prompt", found.prompt().map(|prompt| view.clean(&prompt).into_owned()).into());
        if let Some(begun) = &found.continues {
            put("continues", begun.commit_id.to_string().into());
        }
        if let Some(task) = &call.task {
            put("task", view.clean(task).into());
        }
        if let Some(remark) = &call.remark {
            put("saidMeanwhile", view.clean(remark).into());
        }
        let words = call.reasoning.iter().filter(|words| !(words.is_thought && view.is_without_thinking));
        put("reasoning", words.map(|words| view.clean(words.text.trim_end())).collect::<Vec<_>>().join("\n\n").into());
        if let Some(command) = &call.command {
            put("command", view.clean(command).into());
        }
    }
    if let Some(path) = &found.other_path {
        put("otherPath", path.clone().into());
    }
    if let Some(commit_id) = found.recorded_on {
        put("via", json!([commit_id.to_string()]));
    }
    let shown = |change: &Change| {
        let [old, new] = [&change.edit.old, &change.edit.new].map(|text| text.as_deref().map(|text| view.clean(text)));
        json!({ "old": old, "new": new })
    };
    let changes = block.changes();
    if let Some(change) = block.change() {
        put("edit", shown(change));
    }
    if changes.len() > 1 {
        let with_lines = |(change, lines): &(&Change, Vec<&BlockLine>)| {
            let mut edit = shown(change);
            edit["lines"] = lines.iter().map(|line| line.number).collect();
            edit
        };
        put("edits", changes.iter().map(with_lines).collect());
    }
    put("problems", found.problems().into());
    Value::Object(object)
}
