//! Changes of files as HTML: the edits of a tool call, and the diff of a commit.

use maud::{Markup, html};

use super::super::diff::{self, DiffPart};
use crate::outside;
use crate::transcript::Edit;

/// Unchanged lines in front of a change and behind it.
const CONTEXT: usize = 20;
/// Longer lines are not searched for what changed within them.
const MAX_LINE_BYTES: usize = 2000;

/// A line of a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    /// `+`, `-`, a space, or `@` for a line that only separates.
    pub sign: char,
    /// The text, without control characters.
    pub text: String,
    /// Which bytes of the text were changed within the line; empty if that is not known.
    pub changed: std::ops::Range<usize>,
}

impl Line {
    /// Makes a line of raw text.
    pub fn new(sign: char, text: &str) -> Self {
        Line { sign, text: outside::text(text.trim_end_matches(['\n', '\r'])).replace('\n', " "), changed: 0..0 }
    }
}

/// Returns the lines of an edit.
pub fn lines_of(edit: &Edit) -> Vec<Line> {
    let line = |part| match part {
        DiffPart::Line(sign, text) => Line::new(sign, &text),
        DiffPart::Gap(count) => Line::new('@', &format!("⋯ {count} unchanged lines (git shiftlog show -v)")),
    };
    let mut lines: Vec<Line> = diff::parts(edit, CONTEXT).into_iter().map(line).collect();
    mark_changes(&mut lines);
    lines
}

/// Finds in each block of removed and added lines what changed within a line, if as many lines were removed as added.
pub fn mark_changes(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, sign: char| lines[from..].iter().take_while(|line| line.sign == sign).count();
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        if removed > 0 && removed == added {
            let (old, new) = lines[at..at + removed + added].split_at_mut(removed);
            old.iter_mut().zip(new).for_each(|(old, new)| mark(old, new));
        }
        at += (removed + added).max(1);
    }
}

/// Marks what differs between two lines: all but what both begin and end with.
fn mark(old: &mut Line, new: &mut Line) {
    if old.text.len().max(new.text.len()) > MAX_LINE_BYTES {
        return;
    }
    let same = |(a, b): &(char, char)| a == b;
    let prefix: usize = old.text.chars().zip(new.text.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old_rest, new_rest) = (&old.text[prefix..], &new.text[prefix..]);
    let ends = old_rest.chars().rev().zip(new_rest.chars().rev());
    let suffix: usize = ends.take_while(same).map(|(c, _)| c.len_utf8()).sum();
    // Lines with little in common are different lines, not a changed one.
    let shared = old.text[..prefix].trim_start().len() + suffix;
    if shared * 3 >= old.text.trim().len().max(new.text.trim().len()) {
        old.changed = prefix..old.text.len() - suffix;
        new.changed = prefix..new.text.len() - suffix;
    }
}

/// Returns how many lines were added and removed.
pub fn tally(lines: &[Line]) -> (usize, usize) {
    let count = |sign| lines.iter().filter(|line| line.sign == sign).count();
    (count('+'), count('-'))
}

/// Returns the result of [`tally`] as HTML.
pub fn tally_html((added, removed): (usize, usize)) -> Markup {
    html! {
        @if added + removed > 0 {
            span.tally {
                @if added > 0 { span.plus { "+" (added) } }
                @if added > 0 && removed > 0 { " " }
                @if removed > 0 { span.minus { "−" (removed) } }
            }
        }
    }
}

/// Returns lines as HTML.
pub fn lines_html(lines: &[Line]) -> Markup {
    html! { pre.diff tabindex="0" { @for line in lines { (line_html(line)) } } }
}

fn line_html(line: &Line) -> Markup {
    let text = || {
        let (start, end) = (line.changed.start, line.changed.end);
        html! {
            @if line.changed.is_empty() { (line.text) }
            @else { (line.text[..start]) mark { (line.text[start..end]) } (line.text[end..]) }
            "\n"
        }
    };
    match line.sign {
        '+' => html! { ins { "+" (text()) } },
        '-' => html! { del { "-" (text()) } },
        '@' => html! { span.gap { (text()) } },
        _ => html! { span { " " (text()) } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_a_diff_with_changed_words() {
        let edit = Edit {
            path: "a".into(),
            old: Some("one\n  sleep(0.1)\nend\n".into()),
            new: Some("one\n  sleep(delay)\nend\n".into()),
            under: None,
        };
        let html = lines_html(&lines_of(&edit)).into_string();
        assert_eq!(
            html,
            "<pre class=\"diff\" tabindex=\"0\"><span> one\n</span><del>-  sleep(<mark>0.1</mark>)\n</del>\
             <ins>+  sleep(<mark>delay</mark>)\n</ins><span> end\n</span></pre>"
        );
        assert_eq!(tally(&lines_of(&edit)), (1, 1));
    }

    #[test]
    fn different_lines_have_no_changed_words() {
        let edit =
            Edit { path: "a".into(), old: Some("let é = 1;\n".into()), new: Some("return\n".into()), under: None };
        assert!(lines_of(&edit).iter().all(|line| line.changed.is_empty()));
        let edit =
            Edit { path: "a".into(), old: Some("naïve é\n".into()), new: Some("naïve è\n".into()), under: None };
        assert_eq!(lines_of(&edit)[0].changed, 7..9, "characters stay whole");
    }
}
