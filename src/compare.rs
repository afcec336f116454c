//! Comparing two texts line by line, or two lists item by item, with the algorithm of Myers.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::time::Instant;

pub use similar::DiffOp;
use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, DiffTag};

/// Lines of context in a unified diff.
const CONTEXT: usize = 3;

/// Returns the steps that turn one list into another. After `deadline` the comparison is coarse: equal items can count
/// as changed.
pub fn steps<T: Eq + Hash>(old: &[T], new: &[T], deadline: Option<Instant>) -> Vec<DiffOp> {
    let mut numbers: HashMap<&T, u32> = HashMap::new();
    let mut number = |item| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(item).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(&mut number).collect();
    // Comparing numbers alone, the algorithm is compiled once.
    similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline)
}

/// Two texts and how their lines differ.
pub struct LineDiff<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    steps: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    /// Compares two texts. After `deadline` the comparison is coarse: equal lines can count as changed.
    pub fn of(old: &'t str, new: &'t str, deadline: Option<Instant>) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
        let steps = steps(&old, &new, deadline);
        LineDiff { old, new, steps }
    }

    /// Returns all lines without their ends, each with a sign: a space for a line of both texts, `-` for a removed
    /// line, `+` for an added one.
    pub fn all(&self) -> impl Iterator<Item = (char, &'t str)> {
        self.steps.iter().flat_map(|step| self.signed(step)).map(|(sign, line)| (sign, without_end(line)))
    }

    /// Returns the differences as `diff -u` prints them, with three lines of context; empty if there are none.
    pub fn unified(&self, old_name: &str, new_name: &str) -> String {
        let mut text = String::new();
        for steps in similar::group_diff_ops(self.steps.clone(), CONTEXT) {
            if text.is_empty() {
                text = format!("--- {old_name}\n+++ {new_name}\n");
            }
            // Writing to memory does not fail.
            let _ = writeln!(text, "{}", UnifiedHunkHeader::new(&steps));
            for (sign, line) in steps.iter().flat_map(|step| self.signed(step)) {
                text.push(sign);
                text.push_str(line);
                if !line.ends_with('\n') {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    fn signed(&self, step: &DiffOp) -> impl Iterator<Item = (char, &'t str)> {
        let (tag, old, new) = step.as_tag_tuple();
        let old_sign = if tag == DiffTag::Equal { ' ' } else { '-' };
        let new = if tag == DiffTag::Equal { new.end..new.end } else { new };
        let (old, new): (Vec<_>, Vec<_>) = (self.old[old].to_vec(), self.new[new].to_vec());
        old.into_iter().map(move |line| (old_sign, line)).chain(new.into_iter().map(|line| ('+', line)))
    }
}

/// Returns how much of two lists is common to both, from 0 to 1; of two empty lists 1.
pub fn likeness<T: Eq + Hash>(one: &[T], other: &[T]) -> f64 {
    let common = |step: &DiffOp| if let DiffOp::Equal { len, .. } = step { *len } else { 0 };
    let common: usize = steps(one, other, None).iter().map(common).sum();
    match one.len() + other.len() {
        0 => 1.0,
        all => (2 * common) as f64 / all as f64,
    }
}

/// Returns the lines of a text with their ends.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_has_its_places_and_says_where_a_text_does_not_end() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk";
        let expected = "--- one\n+++ two\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -8,4 +8,4 @@\n h\n i\n j\n-k\n+k\n\
                        \\ No newline at end of file\n";
        assert_eq!(LineDiff::of(old, new, None).unified("one", "two"), expected);
        assert_eq!(LineDiff::of(old, old, None).unified("one", "two"), "");
        assert_eq!(LineDiff::of("", "a\n", None).unified("one", "two"), "--- one\n+++ two\n@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn lines_have_signs_and_no_ends() {
        let lines = LineDiff::of("a\r\nb\nc\n", "a\r\nc\nd", None);
        assert_eq!(lines.all().collect::<Vec<_>>(), [(' ', "a"), ('-', "b"), (' ', "c"), ('+', "d")]);
    }

    #[test]
    fn likeness_is_the_part_that_is_common() {
        assert!((likeness(&['a', 'b', 'c', 'd'], &['a', 'b', 'x', 'd']) - 0.75).abs() < 0.001);
        assert!((likeness::<char>(&[], &[]) - 1.0).abs() < 0.001);
    }
}
