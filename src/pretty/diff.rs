//! A file edit as a small diff.

use super::Style;
use crate::compare::LineDiff;
use crate::outside;
use crate::transcript::Edit;

/// Lines of context around a change.
const CONTEXT: usize = 1;

/// Returns the lines of an edit, each with its sign.
pub fn lines(edit: &Edit) -> Vec<String> {
    let of_line = |(sign, text): (char, String)| {
        let lines: Vec<String> = text.split('\n').map(|line| format!("{sign}{line}")).collect();
        lines
    };
    hunks(edit, CONTEXT).into_iter().flatten().flat_map(of_line).collect()
}

/// Returns the hunks of an edit, with so many lines of context: lines with `+`, `-` or a space as their sign, without
/// what a terminal would act on.
pub fn hunks(edit: &Edit, context: usize) -> Vec<Vec<(char, String)>> {
    let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
    let clean = |lines: Vec<(char, &str)>| lines.into_iter().map(|(sign, line)| (sign, outside::text(line))).collect();
    LineDiff::of(old, new, None).hunks(context).map(clean).collect()
}

/// Returns a line of an edit in its colour.
pub fn painted(line: &str, style: &Style) -> String {
    match line.as_bytes().first() {
        Some(b'-') => style.paint(&style.old, line),
        Some(b'+') => style.paint(&style.new, line),
        _ => line.to_owned(),
    }
}
