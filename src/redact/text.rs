//! A text that caches where runs of a class end.
//!
//! Rules ask for the end of the same run many times. The cache makes every rule linear: a run is walked once, however
//! many words of rules it contains.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{Class, is_in};
use super::value::{Sure, ValueForm};

/// How many runs of each class are cached: more than a rule needs at one position.
const REMEMBERED: usize = 6;

/// A text and its cached runs.
pub struct Text<'t> {
    /// The bytes.
    pub bytes: &'t [u8],
    /// For each class, the runs that were used last, the latest first.
    runs: Vec<(Class, [Range<usize>; REMEMBERED])>,
    /// For each byte that was searched: the start of the search and the position found.
    nexts: Vec<(u8, usize, usize)>,
    /// The value that was examined last, and the result: texts repeat themselves.
    pub judged: Option<(Range<usize>, Sure, ValueForm, bool)>,
    /// The name whose value was examined last, and how sure its rule is.
    pub named: Option<(Range<usize>, Sure)>,
    /// The position up to which Kubernetes manifests were examined.
    pub manifested: usize,
    /// How many bytes were read to find runs.
    pub work: usize,
}

impl<'t> Text<'t> {
    /// Wraps the bytes.
    pub fn new(bytes: &'t [u8]) -> Self {
        Text { bytes, runs: Vec::new(), nexts: Vec::new(), judged: None, named: None, manifested: 0, work: 0 }
    }

    /// Returns the run of a class that the byte at `at` belongs to, `at..at` if it belongs to none.
    pub fn run(&mut self, class: Class, at: usize) -> Range<usize> {
        if !self.bytes.get(at).is_some_and(|byte| is_in(*byte, class)) {
            return at..at;
        }
        let slot = self.runs.iter().position(|(known, _)| *known == class).unwrap_or_else(|| {
            self.runs.push((class, std::array::from_fn(|_| 0..0)));
            self.runs.len() - 1
        });
        let runs = &mut self.runs[slot].1;
        if let Some(place) = runs.iter().position(|run| run.contains(&at)) {
            runs[..=place].rotate_right(1);
        } else {
            let before = self.bytes[..at].iter().rev().take_while(|byte| is_in(**byte, class)).count();
            let behind = self.bytes[at..].iter().take_while(|byte| is_in(**byte, class)).count();
            self.work += before + behind;
            runs.rotate_right(1);
            runs[0] = at - before..at + behind;
        }
        runs[0].clone()
    }

    /// Returns the end of the run of a class that begins at or before `at`.
    pub fn end(&mut self, class: Class, at: usize) -> usize {
        self.run(class, at).end
    }

    /// Returns the start of the run of a class that ends at or after `at`.
    pub fn start(&mut self, class: Class, at: usize) -> usize {
        let before = if at == 0 { 0..0 } else { self.run(class, at - 1) };
        if before.is_empty() { at } else { before.start }
    }

    /// Returns the position of the next `byte` at or after `at`; the text's length if there is none.
    pub fn next(&mut self, byte: u8, at: usize) -> usize {
        let slot = self.nexts.iter().position(|(known, ..)| *known == byte).unwrap_or_else(|| {
            self.nexts.push((byte, usize::MAX, 0));
            self.nexts.len() - 1
        });
        let (_, from, place) = self.nexts[slot];
        if at < from || at > place {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let place = at + rest.find_byte(byte).unwrap_or(rest.len());
            self.work += place - at;
            self.nexts[slot] = (byte, at, place);
            return place;
        }
        place
    }

    /// Returns the byte at `at`, if there is one.
    pub fn at(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Says whether the text has `word` at `at`, in either case.
    pub fn has(&self, at: usize, word: &str) -> bool {
        self.bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns the first position at or after `at` that does not satisfy `is_part`; at most `limit` bytes on.
    pub fn skip(&self, at: usize, limit: usize, is_part: impl Fn(u8) -> bool) -> usize {
        at + self.bytes.get(at..).unwrap_or_default().iter().take(limit).take_while(|byte| is_part(**byte)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::{ALNUM, DOTTED};
    use super::*;

    #[test]
    fn a_run_is_walked_once_however_often_it_is_asked_for() {
        let bytes = "sk-".repeat(10_000);
        let mut text = Text::new(bytes.as_bytes());
        for at in 0..bytes.len() {
            assert_eq!(text.run(DOTTED, at), 0..bytes.len());
            text.run(ALNUM, at);
            assert_eq!(text.next(b'"', at), bytes.len());
        }
        assert!(text.work <= 4 * bytes.len(), "{} bytes were walked over", text.work);
    }
}
