//! Sharing what a record has used among the files that it changed.

use super::Cost;
use crate::transcript::{EditedPath, Tokens};

/// The most lines that a file counts with: anyone can write any number into a note.
const MAX_WEIGHT: u64 = 1 << 32;

/// The files of a record, each with its weight.
#[derive(Debug)]
pub(super) struct Shares {
    files: Vec<(String, u64)>,
}

impl Default for Shares {
    fn default() -> Self {
        Shares { files: vec![("(none)".to_owned(), 1)] }
    }
}

impl Shares {
    /// Weighs files by the lines that were changed. Files of one name, as of one directory, are one.
    pub fn of(edits: &[EditedPath]) -> Self {
        let mut files: Vec<(String, u64)> = Vec::new();
        for edited in edits {
            let weight = edited.lines().min(MAX_WEIGHT);
            match files.iter_mut().find(|(path, _)| *path == edited.path) {
                Some((_, known)) => *known = (*known + weight).min(MAX_WEIGHT),
                None => files.push((edited.path.clone(), weight)),
            }
        }
        if files.is_empty() { Shares::default() } else { Shares { files } }
    }

    /// Returns the file with the most lines, the first of several.
    pub fn largest(&self) -> &str {
        let largest = self.files.iter().rev().max_by_key(|(_, weight)| *weight);
        largest.map_or("", |(path, _)| path)
    }

    /// Divides tokens and their cost among the files. The parts add up to the whole.
    pub fn divided(&self, tokens: Tokens, cost: Cost) -> Vec<(&str, Tokens, Cost)> {
        let whole: u128 = self.files.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let mut before = 0;
        let mut parts = Vec::new();
        for (path, weight) in &self.files {
            let after = before + u128::from(*weight);
            let part = |count: u64| {
                // What is below each bound, so that nothing is lost by rounding.
                let count = u128::from(count);
                let below = |bound: u128| count / whole * bound + count % whole * bound / whole;
                u64::try_from(below(after) - below(before)).unwrap_or(u64::MAX)
            };
            let tokens = Tokens {
                input: part(tokens.input),
                output: part(tokens.output),
                cache_read: part(tokens.cache_read),
                cache_write: part(tokens.cache_write),
                cache_write_long: tokens.cache_write_long.map(part),
                told_cost: tokens.told_cost.map(part),
            };
            parts.push((path.as_str(), tokens, cost.between(before, after, whole)));
            before = after;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole_whatever_the_weights() {
        let edited = |path: &str, added| EditedPath { path: path.into(), calls: 1, added, removed: 0 };
        let shares = Shares::of(&[edited("a", 1), edited("b", u64::MAX), edited("c", 0), edited("a", 1)]);
        assert_eq!(shares.largest(), "b");
        for count in [0, 1, 7, 1000, u64::MAX] {
            let tokens = Tokens { input: count, output: 3, cache_write_long: Some(count), ..Tokens::default() };
            let parts = shares.divided(tokens, Cost::default());
            assert_eq!(parts.len(), 3);
            assert_eq!(parts.iter().map(|(_, tokens, _)| *tokens).reduce(Tokens::plus), Some(tokens));
        }
        assert_eq!(Shares::of(&[]).largest(), "(none)");
    }
}
