//! Runs of lines that one call wrote.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use bstr::{BString, ByteSlice as _};

use super::certainty::Certainty;
use super::explanation::Explanation;
use super::session_work::Change;
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
    blocks.sort_by_key(|block| (block.found.certainty, block.lines.first().map(|line| line.number)));
    blocks
}

impl Block {
    /// Returns the edits of the call that have some of the lines, each with those lines, in the order of the call. A
    /// line that several edits have is with the one that has most of the lines.
    pub fn changes(&self) -> Vec<(&Change, Vec<&BlockLine>)> {
        let Some(call) = self.found.call() else { return Vec::new() };
        let lines_of = |change: &Change| keys(change.edit.new.as_deref().unwrap_or_default().as_bytes());
        let there: Vec<HashSet<Vec<u8>>> =
            call.changes.iter().map(|change| lines_of(change).into_iter().collect()).collect();
        let wanted: Vec<Vec<u8>> = self.lines.iter().map(|line| keys(&line.text).concat()).collect();
        let is_whole = |change: usize, key: &Vec<u8>| !key.is_empty() && there[change].contains(key);
        // An edit that changes a part of a line has none of them whole.
        let is_part =
            |change: usize, key: &Vec<u8>| there[change].iter().any(|part| !part.is_empty() && key.contains_str(part));
        let count =
            |change: usize, has: &dyn Fn(usize, &Vec<u8>) -> bool| wanted.iter().filter(|key| has(change, key)).count();
        let all = 0..there.len();
        let counts: Vec<_> = all.clone().map(|at| (count(at, &is_whole), count(at, &is_part))).collect();
        let mut found: BTreeMap<usize, Vec<&BlockLine>> = BTreeMap::new();
        // Lines that were replayed are of one of the edits in any case. Blank ones are with the lines before them.
        let mut last = None;
        let mut first = Vec::new();
        for (line, key) in self.lines.iter().zip(&wanted) {
            let best = |has: &dyn Fn(usize, &Vec<u8>) -> bool| {
                all.clone().rev().filter(|change| has(*change, key)).max_by_key(|change| counts[*change])
            };
            last = best(&is_whole).or_else(|| best(&is_part)).or(last);
            last.map_or(&mut first, |change| found.entry(change).or_default()).push(line);
        }
        let is_known = !found.is_empty() || (self.found.certainty == Certainty::Replay && !there.is_empty());
        if let Some(change) = found.keys().next().copied().or(Some(0)).filter(|_| is_known) {
            found.entry(change).or_default().splice(0..0, first);
        }
        found.into_iter().map(|(change, lines)| (&call.changes[change], lines)).collect()
    }

    /// Returns the edit of the call that has most of the lines.
    pub fn change(&self) -> Option<&Change> {
        let changes = self.changes();
        changes.into_iter().rev().max_by_key(|(_, lines)| lines.len()).map(|(change, _)| change)
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
