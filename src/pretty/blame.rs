//! The output of `git shiftlog blame`: Git's columns with ours, and Git's machine formats with our header lines.

use std::collections::HashMap;
use std::io::{self, Write};

use bstr::{BStr, ByteSlice as _};

use super::Style;
use super::why::short_session;
use super::width::{padded, width};
use crate::git::date::Time;
use crate::git::{BlamedCommit, BlamedLines, ObjectId};
use crate::outside;
use crate::redact::Redactor;
use crate::replay::{Certainty, Explanation};

/// How much of a prompt a header line has, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// How much of a prompt is looked at for secrets and white space.
const MAX_READ_CHARS: usize = 8000;

/// A format of Git for programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MachineFormat {
    /// Headers once for each commit.
    Porcelain,
    /// Headers for each line.
    LinePorcelain,
    /// Groups as they are found, without text.
    Incremental,
}

/// Returns our header lines for a line, without secrets; none if nothing is recorded.
fn headers(found: &Explanation, redactor: &Redactor) -> Vec<String> {
    if found.certainty == Certainty::None {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut put = |key: &str, value: &str| lines.push(format!("shiftlog-{key} {}", outside::line(value)));
    if let Some(work) = found.work() {
        put("agent", &work.key.agent);
        put("session", &work.key.id);
    }
    if let Some(call) = found.call() {
        put("turn", &call.turn.to_string());
        put("call", &call.id);
    }
    put("evidence", found.certainty.word());
    if let Some(commit_id) = found.recorded_on {
        put("via", &commit_id.to_string());
    }
    if let Some(begun) = &found.continues {
        put("continues", &begun.commit_id.to_string());
    }
    if let Some(prompt) = found.prompt() {
        let end = prompt.char_indices().nth(MAX_READ_CHARS).map_or(prompt.len(), |(end, _)| end);
        let prompt = redactor.without_secrets(&prompt[..end]);
        let folded = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        put("prompt", &folded.chars().take(MAX_PROMPT_CHARS).collect::<String>());
    }
    lines
}

/// Writes lines in a format of Git. Our header lines come before `filename`, which ends a group for many readers.
///
/// # Errors
///
/// If writing fails.
pub fn write_machine(
    out: &mut dyn Write,
    lines: &BlamedLines,
    found: &[Explanation],
    format: MachineFormat,
    redactor: &Redactor,
    is_screen: bool,
) -> io::Result<()> {
    let runs = found.chunk_by(|one, other| one.is_same(other));
    let mut at = 0;
    for run in runs {
        for (of_run, each) in run.iter().enumerate() {
            let (is_first, is_run_start) = (at == 0, of_run == 0);
            let (orig, last) = (lines.orig_line + at, lines.final_line + at);
            at += 1;
            let has_all = format == MachineFormat::LinePorcelain;
            if format == MachineFormat::Incremental && !is_run_start {
                continue;
            }
            write!(out, "{} {orig} {last}", lines.commit.commit_id)?;
            match format {
                MachineFormat::Incremental => writeln!(out, " {}", run.len())?,
                _ if is_first => writeln!(out, " {}", lines.count)?,
                _ => writeln!(out)?,
            }
            if has_all || (is_first && lines.is_first) {
                lines.commit.head.iter().try_for_each(|line| write_bytes(out, line.as_bstr(), '\n', is_screen))?;
            }
            if has_all || is_run_start {
                headers(each, redactor).iter().try_for_each(|line| writeln!(out, "{line}"))?;
            }
            if has_all || (is_first && lines.names_file) || format == MachineFormat::Incremental {
                if let Some(line) = &lines.file.previous_line {
                    write_bytes(out, line.as_bstr(), '\n', is_screen)?;
                }
                out.write_all(b"filename ")?;
                write_bytes(out, lines.file.quoted_path.as_bstr(), '\n', is_screen)?;
            }
            if let Some(text) = lines.texts.get(at - 1) {
                out.write_all(b"\t")?;
                write_bytes(out, text.as_bstr(), '\n', is_screen)?;
            }
        }
    }
    Ok(())
}

/// Writes a line of Git's as it is; for a terminal, without control characters.
fn write_bytes(out: &mut dyn Write, line: &BStr, end: char, is_screen: bool) -> io::Result<()> {
    match is_screen {
        true => out.write_all(outside::text(&line.to_str_lossy()).as_bytes())?,
        false => out.write_all(line)?,
    }
    write!(out, "{end}")
}

/// Which columns of Git are shown.
#[derive(Clone, Copy, Debug)]
pub struct BlameColumns {
    /// Whether ids are shown in full.
    pub has_long_ids: bool,
    /// Whether author and date are left out.
    pub is_without_author: bool,
    /// Whether addresses are shown instead of names.
    pub has_emails: bool,
    /// Whether the ids of boundary commits are left blank.
    pub has_blank_boundaries: bool,
    /// Whether paths are shown although all are the one that was asked about.
    pub has_names: bool,
    /// Whether the numbers that lines have in their commits are shown.
    pub has_numbers: bool,
    /// The end of a line.
    pub end: char,
}

/// The lines of a file, to be shown with columns as wide as the widest.
pub struct BlameTable<'a> {
    columns: BlameColumns,
    explained: &'a [(BlamedLines, Vec<Explanation>)],
    /// Each commit's id, as it is shown.
    names: HashMap<ObjectId, String>,
    authors: HashMap<ObjectId, (String, String)>,
    ours: usize,
    author: usize,
    date: usize,
    path: usize,
    number: usize,
    orig_number: usize,
}

impl<'a> BlameTable<'a> {
    /// Measures the columns. `path` is the one that was asked about, `shorten` gives a commit's short name.
    pub fn new(
        explained: &'a [(BlamedLines, Vec<Explanation>)],
        path: &BStr,
        columns: BlameColumns,
        style: &Style,
        mut shorten: impl FnMut(ObjectId) -> String,
    ) -> Self {
        let mut commits: HashMap<ObjectId, &BlamedCommit> = HashMap::new();
        explained.iter().for_each(|(lines, _)| {
            commits.insert(lines.commit.commit_id, &lines.commit);
        });
        let committed = commits.keys().copied().filter(|id| !id.is_null());
        let digits = committed.map(|id| shorten(id).len()).max().unwrap_or(7) + 1;
        let named = |(id, commit): (&ObjectId, &&BlamedCommit)| {
            let (full, is_boundary) = (id.to_string(), commit.is_boundary());
            let length = if columns.has_long_ids { full.len() } else { digits.min(full.len()) };
            let shown = match is_boundary {
                true if columns.has_blank_boundaries => " ".repeat(length),
                true => format!("^{}", &full[..length - 1]),
                false => full[..length].to_owned(),
            };
            (*id, shown)
        };
        let names = commits.iter().map(named).collect();
        let authors: HashMap<_, _> =
            commits.iter().map(|(id, commit)| (*id, author_and_date(commit, columns, style))).collect();
        let is_renamed = explained.iter().any(|(lines, _)| lines.file.path != path);
        let paths = explained.iter().map(|(lines, _)| width(&outside::line(&lines.file.path.to_str_lossy())));
        let found = explained.iter().flat_map(|(_, found)| found);
        let digits_of = |first: fn(&BlamedLines) -> usize| {
            let last = explained.iter().map(|(lines, _)| first(lines) + lines.count - 1).max().unwrap_or(0);
            last.to_string().len()
        };
        BlameTable {
            columns,
            explained,
            names,
            ours: found.map(|found| width(&own_column(found))).max().unwrap_or(0),
            author: authors.values().map(|(author, _)| width(author)).max().unwrap_or(0),
            date: authors.values().map(|(_, date)| width(date)).max().unwrap_or(0),
            authors,
            path: if is_renamed || columns.has_names { paths.max().unwrap_or(0) } else { 0 },
            number: digits_of(|lines| lines.final_line),
            orig_number: digits_of(|lines| lines.orig_line),
        }
    }

    /// Writes the lines.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(&self, out: &mut dyn Write, style: &Style, is_screen: bool) -> io::Result<()> {
        for (lines, found) in self.explained {
            let id = lines.commit.commit_id;
            let name = self.names.get(&id).map_or("", String::as_str);
            for (at, found) in found.iter().enumerate() {
                write!(out, "{}", style.paint(&style.commit, name))?;
                if self.ours > 0 {
                    write!(out, " {}", style.paint(&style.user, &padded(&own_column(found), self.ours)))?;
                }
                if self.path > 0 {
                    write!(out, " {}", padded(&outside::line(&lines.file.path.to_str_lossy()), self.path))?;
                }
                if self.columns.has_numbers {
                    write!(out, " {:>1$}", lines.orig_line + at, self.orig_number)?;
                }
                if let Some((author, date)) = self.authors.get(&id).filter(|_| !self.columns.is_without_author) {
                    write!(out, " ({} {:>10}", padded(author, self.author), padded(date, self.date))?;
                }
                write!(out, " {:>1$}) ", lines.final_line + at, self.number)?;
                let text = lines.texts.get(at).map_or(b"".as_bstr(), |text| text.as_bstr());
                write_bytes(out, text, self.columns.end, is_screen)?;
            }
        }
        Ok(())
    }
}

fn author_and_date(commit: &BlamedCommit, columns: BlameColumns, style: &Style) -> (String, String) {
    let value = |key: &str| commit.value(key).map(|value| outside::line(&value.to_str_lossy())).unwrap_or_default();
    let zone: i32 = value("author-tz").parse().unwrap_or(0);
    let offset = (zone / 100 * 60 + zone % 100) * 60;
    let time = Time { seconds: value("author-time").parse().unwrap_or(0), offset };
    (value(if columns.has_emails { "author-mail" } else { "author" }), style.date.show(time))
}

/// Returns the agent, the session and the turn of a line: `?` says that only the text tells it, `-` that no turn is known.
fn own_column(found: &Explanation) -> String {
    let Some(work) = found.work() else {
        return if found.certainty == Certainty::Commit { "recorded".to_owned() } else { String::new() };
    };
    let turn = match (found.call(), found.certainty) {
        (Some(call), Certainty::Replay) => call.turn.to_string(),
        (Some(call), _) => format!("{}?", call.turn),
        (None, _) => "-".to_owned(),
    };
    outside::line(&format!("{} {} {turn}", work.key.agent, short_session(&work.key, &found.source.keys)))
}
