//! Which edits have a line: the second choice, where doing the edits again does not tell.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use similar::{Algorithm, DiffOp};

use super::document::squeezed;

/// Lines with fewer visible characters say nothing: they are everywhere.
pub const MIN_CHARS: usize = 4;

/// The lines that edits add, without white space, each with its edits and where it stands in them.
pub struct Texts<E> {
    lines: HashMap<Vec<u8>, Vec<(E, usize)>>,
}

impl<E: Copy + Eq> Texts<E> {
    /// Makes an index without lines.
    pub fn new() -> Self {
        Texts { lines: HashMap::new() }
    }

    /// Adds the lines that an edit has in `new` and not in `old`. Several texts of one edit need different `start`s.
    pub fn add(&mut self, old: &str, new: &str, edit: E, start: usize) {
        let keys = |text: &str| text.lines().map(|line| squeezed(line.as_bytes())).collect::<Vec<_>>();
        let (before, after) = (keys(old), keys(new));
        let ops = similar::capture_diff_slices(Algorithm::Myers, &before, &after);
        for op in ops {
            if let DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } = op {
                for (at, key) in after.iter().enumerate().skip(new_index).take(new_len) {
                    self.lines.entry(key.clone()).or_default().push((edit, start + at));
                }
            }
        }
    }

    /// Returns the edit that has the line at a position: the only one, or the only one that also has a line next to it in
    /// its place. `lines` are without white space.
    pub fn find(&self, lines: &[Vec<u8>], at: usize) -> Option<E> {
        if lines[at].to_str_lossy().chars().count() < MIN_CHARS {
            return None;
        }
        let places = self.lines.get(&lines[at])?;
        let only = |mut edits: Vec<E>| {
            edits.dedup();
            let first = edits.first().copied()?;
            edits.iter().all(|edit| *edit == first).then_some(first)
        };
        if let Some(edit) = only(places.iter().map(|(edit, _)| *edit).collect()) {
            return Some(edit);
        }
        let has = |line: Option<&Vec<u8>>, place: Option<(E, usize)>| {
            let places = line.and_then(|line| self.lines.get(line));
            place.is_some_and(|place| places.is_some_and(|places| places.contains(&place)))
        };
        let is_run = |(edit, place): &&(E, usize)| {
            let before = at.checked_sub(1).and_then(|at| lines.get(at));
            let before_place = place.checked_sub(1).map(|place| (*edit, place));
            has(before, before_place) || has(lines.get(at + 1), Some((*edit, place + 1)))
        };
        only(places.iter().filter(is_run).map(|(edit, _)| *edit).collect())
    }
}

/// Returns the lines of a text without white space.
pub fn keys(text: &[u8]) -> Vec<Vec<u8>> {
    text.lines().map(squeezed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_in_the_only_edit_that_has_it_or_has_its_neighbour() {
        let mut texts = Texts::new();
        texts.add("keep()\n", "keep()\nfirst();\nshared();\n", 1, 0);
        texts.add("", "shared();\nsecond();\n", 2, 0);
        let found = |text: &str, at: usize| texts.find(&keys(text.as_bytes()), at);
        assert_eq!(found("  first( );\n", 0), Some(1));
        assert_eq!(found("keep()\n", 0), None, "the edit left the line as it was");
        assert_eq!(found("shared();\n", 0), None, "two have it");
        assert_eq!(found("first();\nshared();\n", 1), Some(1));
        assert_eq!(found("shared();\nsecond();\n", 0), Some(2));
        assert_eq!(found("}\n", 0), None);
    }
}
