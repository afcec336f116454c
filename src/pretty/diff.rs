//! A file edit as a small diff.

use similar::{ChangeTag, TextDiff};

use super::Style;
use crate::outside;
use crate::transcript::Edit;

/// Lines of context around a change.
const CONTEXT: usize = 1;

/// Returns the lines of an edit, each with its sign.
pub fn lines(edit: &Edit) -> Vec<String> {
    let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let text = outside::text(change.value().trim_end_matches(['\n', '\r']));
            lines.extend(text.split('\n').map(|line| format!("{sign}{line}")));
        }
    }
    lines
}

/// Returns a line of an edit in its colour.
pub fn painted(line: &str, style: &Style) -> String {
    match line.as_bytes().first() {
        Some(b'-') => style.paint(&style.old, line),
        Some(b'+') => style.paint(&style.new, line),
        _ => line.to_owned(),
    }
}
