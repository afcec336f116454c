//! A file edit as a small diff.

use similar::{ChangeTag, TextDiff};

use super::Style;
use crate::outside;
use crate::transcript::Edit;

/// Lines of context around a change.
const CONTEXT: usize = 1;

/// Returns the lines of an edit, each with its sign and colour, at most `max_lines`; then a line says how many more.
pub fn lines(edit: &Edit, max_lines: usize, style: &Style) -> Vec<String> {
    let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (sign, color) = match change.tag() {
                ChangeTag::Delete => ('-', style.old.as_str()),
                ChangeTag::Insert => ('+', style.new.as_str()),
                ChangeTag::Equal => (' ', ""),
            };
            let text = outside::text(change.value().trim_end_matches(['\n', '\r']));
            lines.push(style.paint(color, &format!("{sign}{text}")));
        }
    }
    shortened(lines, max_lines, style)
}

/// Returns at most `max_lines` of some lines; then a line says how many there are more.
pub fn shortened(mut lines: Vec<String>, max_lines: usize, style: &Style) -> Vec<String> {
    if lines.len() > max_lines + 1 {
        let more = lines.len() - max_lines;
        lines.truncate(max_lines);
        lines.push(style.paint(&style.dim, &format!("... {more} more lines")));
    }
    lines
}
