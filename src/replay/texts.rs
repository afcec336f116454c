//! Which edits have a line: the second choice, where doing the edits again does not tell.

use std::collections::HashMap;

use bstr::ByteSlice as _;

use super::limit::Limit;
use super::traced_file::squeezed;
use crate::compare::DiffOp;

/// Lines with fewer visible characters say nothing: they are everywhere.
const MIN_CHARS: usize = 4;

/// A line that stands in more places than this tells nothing.
const MAX_PLACES: usize = 64;

/// The lines that edits add, without white space, each with its edits and where it stands in them.
pub struct Texts<E> {
    lines: HashMap<Vec<u8>, Vec<(E, usize)>>,
    limit: Limit,
}

impl<E: Copy + Eq> Texts<E> {
    /// Makes an index without lines. Comparing texts gets coarser beyond `limit`.
    pub fn new(limit: Limit) -> Self {
        Texts { lines: HashMap::new(), limit }
    }

    /// Adds the lines that an edit has in `new` and not in `old`. Several texts of one edit need different `start`s.
    pub fn add(&mut self, old: &str, new: &str, edit: E, start: usize) {
        let keys = |text: &str| text.lines().map(|line| squeezed(line.as_bytes()).into_owned()).collect::<Vec<_>>();
        let (before, after) = (keys(old), keys(new));
        let ops = self.limit.steps(&before, &after);
        for op in ops {
            if let DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } = op {
                for (at, key) in after.iter().enumerate().skip(new_index).take(new_len) {
                    let places = self.lines.entry(key.clone()).or_default();
                    if places.len() <= MAX_PLACES {
                        places.push((edit, start + at));
                    }
                }
            }
        }
    }

    /// Returns the edit that has the line at a position, and where the line stands in it: the only edit, or the only
    /// one that also has a line next to it in its place. `lines` are without white space.
    pub fn find(&self, lines: &[Vec<u8>], at: usize) -> Option<(E, usize)> {
        if is_trivial(&lines[at]) {
            return None;
        }
        let places = self.lines.get(&lines[at]).filter(|places| places.len() <= MAX_PLACES)?;
        only(places.iter()).or_else(|| self.find_run(lines, at))
    }

    /// Returns the only edit that has the line at a position and a line next to it in its place, and where the line
    /// stands in it.
    pub fn find_run(&self, lines: &[Vec<u8>], at: usize) -> Option<(E, usize)> {
        if is_trivial(&lines[at]) {
            return None;
        }
        let places = self.lines.get(&lines[at]).filter(|places| places.len() <= MAX_PLACES)?;
        let has = |line: Option<&Vec<u8>>, place: Option<(E, usize)>| {
            let places = line.and_then(|line| self.lines.get(line));
            place.is_some_and(|place| places.is_some_and(|places| places.contains(&place)))
        };
        let is_run = |(edit, place): &&(E, usize)| {
            let before = at.checked_sub(1).and_then(|at| lines.get(at));
            let before_place = place.checked_sub(1).map(|place| (*edit, place));
            has(before, before_place) || has(lines.get(at + 1), Some((*edit, place + 1)))
        };
        only(places.iter().filter(is_run))
    }
}

impl<E: Copy + Eq> Texts<E> {
    /// Says whether several edits have a line, which is without white space.
    pub fn is_in_several(&self, line: &[u8]) -> bool {
        self.lines.get(line).is_some_and(|places| only(places.iter()).is_none())
    }
}

/// Returns the first of some places if all are of one edit.
fn only<'p, E: Copy + Eq + 'p>(mut places: impl Iterator<Item = &'p (E, usize)>) -> Option<(E, usize)> {
    let first = places.next().copied()?;
    places.all(|(edit, _)| *edit == first.0).then_some(first)
}

/// Says whether a line, which is without white space, says nothing.
pub fn is_trivial(line: &[u8]) -> bool {
    line.len() < 4 * MIN_CHARS && line.to_str_lossy().chars().count() < MIN_CHARS
}

/// Returns the lines of a text without white space.
pub fn keys(text: &[u8]) -> Vec<Vec<u8>> {
    text.lines().map(|line| squeezed(line).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::limit::Pace;
    use super::*;

    #[test]
    fn a_line_is_found_in_the_only_edit_that_has_it_or_has_its_neighbour() {
        let mut texts = Texts::new(Limit::new(Pace::Work, Duration::ZERO));
        texts.add("keep()\n", "keep()\nfirst();\nshared();\n", 1, 0);
        texts.add("", "shared();\nsecond();\n", 2, 0);
        let found = |text: &str, at: usize| texts.find(&keys(text.as_bytes()), at).map(|(edit, _)| edit);
        assert_eq!(found("  first( );\n", 0), Some(1));
        assert_eq!(found("keep()\n", 0), None, "the edit left the line as it was");
        assert_eq!(found("shared();\n", 0), None, "two have it");
        assert_eq!(
            [&b"shared();"[..], b"first();", b"keep()"].map(|line| texts.is_in_several(line)),
            [true, false, false]
        );
        assert_eq!(found("first();\nshared();\n", 1), Some(1));
        assert_eq!(found("shared();\nsecond();\n", 0), Some(2));
        assert_eq!(found("}\n", 0), None);
    }

    #[test]
    fn a_line_of_very_many_edits_tells_nothing_and_costs_little() {
        let mut texts = Texts::new(Limit::new(Pace::Work, Duration::ZERO));
        (0..1000).for_each(|edit| texts.add("", "the_line();\nthe_next();\n", edit, edit << 24));
        assert_eq!(texts.find(&keys(b"the_line();\nthe_next();\n"), 0), None);
        assert!(texts.lines.values().all(|places| places.len() == MAX_PLACES + 1));
        texts.add("", "another();\n", 7, 0);
        assert_eq!(texts.find(&keys(b"another();\n"), 0), Some((7, 0)));
    }
}
