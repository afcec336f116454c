//! A text that remembers where runs of a class end.
//!
//! Rules ask again and again where a run ends. A text answers from memory, so that each run is walked once however many
//! words of rules stand in it: that keeps every rule linear.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{Class, is_in};
use super::value::{Sure, ValueForm};

/// How many runs of each class are remembered: more than a rule asks for at one place.
const REMEMBERED: usize = 6;

/// A text, and what is known of its runs.
pub struct Text<'t> {
    /// The bytes.
    pub bytes: &'t [u8],
    /// For each class, the runs that were asked for last, the latest first.
    runs: Vec<(Class, [Range<usize>; REMEMBERED])>,
    /// For each byte that was looked for: from where, and where it is.
    nexts: Vec<(u8, usize, usize)>,
    /// The value that was judged last, and what about it: texts repeat themselves.
    pub judged: Option<(Range<usize>, Sure, ValueForm, bool)>,
    /// The name whose value was looked at last, as how sure a rule's.
    pub named: Option<(Range<usize>, Sure)>,
    /// Up to where manifests were looked at.
    pub manifested: usize,
    /// How many bytes were walked over to answer.
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

    /// Returns where the run of a class ends that begins at `at` or has begun before.
    pub fn end(&mut self, class: Class, at: usize) -> usize {
        self.run(class, at).end
    }

    /// Returns where the run of a class begins that ends at `at` or goes on behind it.
    pub fn start(&mut self, class: Class, at: usize) -> usize {
        let before = if at == 0 { 0..0 } else { self.run(class, at - 1) };
        if before.is_empty() { at } else { before.start }
    }

    /// Returns the place of the next `byte` at or after `at`, the text's length if there is none.
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

    /// Says whether `word` stands at `at`, in any case of letters.
    pub fn has(&self, at: usize, word: &str) -> bool {
        self.bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns the first place at or after `at` that does not satisfy `is_part`, at most `limit` bytes on.
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
