//! Runs of lines that one call wrote.

use std::rc::Rc;

use bstr::{BString, ByteSlice as _};

use super::certainty::Certainty;
use super::explanation::Explanation;
use super::talk::Change;
use super::texts::keys;
use crate::git::{BlamedCommit, BlamedFile, BlamedLines};

/// A line of a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BlockLine {
    /// Its number in the file that was asked about.
    pub number: usize,
    /// Its number in the commit's file.
    pub orig_number: usize,
    /// The line without its end.
    pub text: BString,
}

/// Lines that come from one commit and one call, with what explains them.
#[derive(Clone, Debug)]
pub struct Block {
    /// The commit.
    pub commit: Rc<BlamedCommit>,
    /// The file in the commit.
    pub file: Rc<BlamedFile>,
    /// The lines, in order; not all of them need be next to each other.
    pub lines: Vec<BlockLine>,
    /// The explanation of the lines.
    pub found: Explanation,
}

/// Puts explained lines together: a block for each call, the strongest evidence first.
pub fn blocks(explained: &[(BlamedLines, Vec<Explanation>)]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (lines, found) in explained {
        for (at, found) in found.iter().enumerate() {
            let text = lines.texts.get(at).cloned().unwrap_or_default();
            let line = BlockLine { number: lines.final_line + at, orig_number: lines.orig_line + at, text };
            let is_same = |block: &&mut Block| {
                Rc::ptr_eq(&block.commit, &lines.commit)
                    && block.file.path == lines.file.path
                    && block.found.is_same(found)
            };
            match blocks.iter_mut().rev().find(is_same) {
                Some(block) => block.lines.push(line),
                None => {
                    let (commit, file) = (Rc::clone(&lines.commit), Rc::clone(&lines.file));
                    blocks.push(Block { commit, file, lines: vec![line], found: found.clone() });
                }
            }
        }
    }
    blocks.sort_by_key(|block| (block.found.evidence, block.lines.first().map(|line| line.number)));
    blocks
}

impl Block {
    /// Returns the edit of the call that has the most of the lines. One that changes a part of a line has none of them whole.
    pub fn change(&self) -> Option<&Change> {
        let wanted: Vec<Vec<u8>> = self.lines.iter().flat_map(|line| keys(&line.text)).collect();
        let count = |change: &&Change| {
            let there = keys(change.edit.new.as_deref().unwrap_or_default().as_bytes());
            let is_part = |key: &&Vec<u8>| there.iter().any(|part| !part.is_empty() && key.contains_str(part));
            let whole = wanted.iter().filter(|key| !key.is_empty() && there.contains(key)).count();
            (whole, wanted.iter().filter(is_part).count())
        };
        let change = self.found.call()?.changes.iter().rev().max_by_key(count)?;
        // Lines that were replayed are of one of the edits in any case.
        (self.found.evidence == Certainty::Replay || count(&change).0 > 0).then_some(change)
    }

    /// Returns the numbers of the lines as ranges: `12-13,15`.
    pub fn ranges(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for line in &self.lines {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == line.number => *last = line.number,
                _ => ranges.push((line.number, line.number)),
            }
        }
        let shown = ranges.iter().map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        });
        shown.collect::<Vec<_>>().join(",")
    }
}
