//! A file edit as a small diff.

use super::{Depth, Style};
use crate::compare::LineDiff;
use crate::outside;
use crate::transcript::Edit;

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// The line between two edits of one file.
const BETWEEN: &str = "@@";

/// A part of an edit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DiffPart {
    /// A line with its sign, `+`, `-` or a space, without what a terminal would act on.
    Line(char, String),
    /// So many unchanged lines that are left out.
    Gap(usize),
}

/// Returns the lines of the edits of one file, each with its sign; unchanged lines that are left out have a mark.
pub fn lines(edits: &[Edit], depth: &Depth) -> Vec<String> {
    let context = if depth.is_whole() { usize::MAX } else { CONTEXT };
    let mut lines = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        if number > 0 {
            lines.push(BETWEEN.to_owned());
        }
        for part in parts(edit, context) {
            match part {
                DiffPart::Line(sign, text) => lines.extend(text.split('\n').map(|line| format!("{sign}{line}"))),
                DiffPart::Gap(count) => lines.push(depth.cut(count, "unchanged line")),
            }
        }
    }
    lines
}

/// Returns the parts of an edit, with at most so many unchanged lines in front of each change and behind it. A single line is
/// not left out: the mark would take its place.
pub fn parts(edit: &Edit, context: usize) -> Vec<DiffPart> {
    let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
    let diff = LineDiff::of(old, new, None);
    let all: Vec<(char, &str)> = diff.all().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    for run in all.chunk_by(|one, next| (one.0 == ' ') == (next.0 == ' ')) {
        let behind = if at == 0 { 0 } else { context.min(run.len()) };
        at += run.len();
        let front = if at == all.len() { 0 } else { context.min(run.len() - behind) };
        let hidden = run.len() - behind - front;
        let line = |(sign, text): &(char, &str)| DiffPart::Line(*sign, outside::text(text));
        if run[0].0 != ' ' || hidden <= 1 {
            parts.extend(run.iter().map(line));
            continue;
        }
        parts.extend(run[..behind].iter().map(line));
        parts.push(DiffPart::Gap(hidden));
        parts.extend(run[run.len() - front..].iter().map(line));
    }
    parts
}

/// Returns a line of an edit in its colour.
pub fn painted(line: &str, style: &Style) -> String {
    match line.as_bytes().first() {
        Some(b'-') => style.paint(&style.old, line),
        Some(b'+') => style.paint(&style.new, line),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> Edit {
        Edit { path: "a".into(), old: Some(old.into()), new: Some(new.into()), under: None }
    }

    #[test]
    fn what_is_left_out_of_an_edit_has_a_mark() {
        let short =
            |old: &str, new: &str| lines(&[edit(old, new)], &Depth { more: Some("-v"), ..Depth::BRIEF }).join("|");
        // What stands between two changes changes their meaning.
        assert_eq!(
            short("a\n if b\n  c\n else\n  d\n e\n", "A\n if b\n  c\n else\n  d\n E\n"),
            "-a|+A|  if b|   c|  else|   d|- e|+ E"
        );
        let old: String = (0..20).map(|number| format!("{number}\n")).collect();
        let new = old.replace("\n5\n", "\nfive\n").replace("\n17\n", "\nseventeen\n");
        assert_eq!(
            short(&old, &new),
            "… 2 unchanged lines (-v)| 2| 3| 4|-5|+five| 6| 7| 8|… 5 unchanged lines (-v)| 14| 15| 16|-17|+seventeen| 18| 19"
        );
        let whole = Depth { tool_output: super::super::Amount::Full, ..Depth::BRIEF };
        assert_eq!(lines(&[edit(&old, &new)], &whole).len(), 22);
        assert_eq!(lines(&[edit("a", "b"), edit("c", "d")], &Depth::BRIEF), ["-a", "+b", "@@", "-c", "+d"]);
        assert_eq!(short("", "a\nb\n"), "+a|+b");
        assert_eq!(short("a\nb\n", "a\nb\n"), "… 2 unchanged lines (-v)");
    }
}
