//! Putting added lines into groups: who wrote them, and how many are still there.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::Key;
use super::branch::branches_of;
use super::key::Origin;
use crate::error::Result;
use crate::git::{Commit, Repository};
use crate::record::{Query, Reader};
use crate::transcript::{EditedPath, ModelUsage, SessionKey};

/// What is known of where lines come from.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Source {
    /// An edit of the file.
    Edit,
    /// An edit of another file.
    Moved,
    /// A command.
    Shell,
    /// Nothing.
    Unrecorded,
}

/// Lines that a commit adds to a file, from one source.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The index of the commit.
    pub commit: usize,
    /// The path of the file in the commit.
    pub path: String,
    /// The session that wrote them, and its model.
    pub session: Option<(SessionKey, Option<String>)>,
    /// How that is known.
    pub source: Source,
    /// Their numbers in the file, from 1.
    pub numbers: Vec<usize>,
    /// How many of them are still there; `None` if nobody has looked.
    pub left: Option<u64>,
}

/// Lines that recorded calls of a session wrote into a file, whether or not the commit has them.
#[derive(Clone, Debug)]
pub struct Written {
    /// The index of the commit.
    pub commit: usize,
    /// The path of the file.
    pub path: String,
    /// The session, and its model.
    pub session: (SessionKey, Option<String>),
    /// How many.
    pub count: u64,
}

/// The sums of a group of lines.
#[derive(Clone, Debug, Default)]
pub struct LineSum {
    /// Commits with such lines.
    pub commits: u64,
    /// All lines.
    pub added: u64,
    /// Lines that a recorded edit of the file wrote.
    pub recorded: u64,
    /// Lines that a recorded edit of another file wrote.
    pub moved: u64,
    /// Lines that are in a recorded command.
    pub shell: u64,
    /// Lines that are still there; `None` if they were not counted.
    pub left: Option<u64>,
    /// Lines that recorded calls wrote into these files, as the records count them, whether or not a commit has them.
    pub written: u64,
    seen: HashSet<usize>,
}

/// Groups of lines, and all of them together.
#[derive(Clone, Debug, Default)]
pub struct CountedLines {
    /// The groups, each with its value for each key, in the order of [`super::counted`], those with the most lines first.
    pub groups: Vec<(Vec<String>, LineSum)>,
    /// The sum of all.
    pub total: LineSum,
    /// How many commits were looked at.
    pub commits: u64,
}

impl LineSum {
    fn add(&mut self, lines: &Lines) {
        let count = lines.numbers.len() as u64;
        self.added += count;
        match lines.source {
            Source::Edit => self.recorded += count,
            Source::Moved => self.moved += count,
            Source::Shell => self.shell += count,
            Source::Unrecorded => {}
        }
        if let Some(left) = lines.left {
            self.left = Some(self.left.unwrap_or(0) + left);
        }
        self.commits += u64::from(self.seen.insert(lines.commit));
    }
}

/// Returns what the records of commits say was written into the files to which the commits add `lines`.
///
/// # Errors
///
/// If history, a commit or a note cannot be read.
pub fn written(reader: &Reader<'_>, query: &Query, commits: &[Commit], lines: &[Lines]) -> Result<Vec<Written>> {
    let index: HashMap<_, _> = commits.iter().enumerate().map(|(at, commit)| (commit.commit_id, at)).collect();
    let files: HashSet<(usize, &str)> = lines.iter().map(|lines| (lines.commit, lines.path.as_str())).collect();
    let mut written = Vec::new();
    reader.each(query, |listed| {
        let Some(commit) = index.get(&listed.commit.commit_id).copied() else { return Ok(ControlFlow::Continue(())) };
        for summary in listed.summaries.iter().filter(|summary| !summary.is_removed) {
            let session = (summary.key.clone(), summary.model.clone());
            let is_counted = |edited: &&EditedPath| files.contains(&(commit, edited.path.as_str()));
            written.extend(summary.edits.iter().filter(is_counted).map(|edited| Written {
                commit,
                path: edited.path.clone(),
                session: session.clone(),
                count: edited.added,
            }));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(written)
}

/// Puts lines into groups.
///
/// # Errors
///
/// If history cannot be read.
pub fn counted_lines(
    repo: &Repository,
    commits: &[Commit],
    lines: &[Lines],
    written: &[Written],
    keys: &[Key],
) -> Result<CountedLines> {
    let ids: Vec<_> = commits.iter().map(|commit| commit.commit_id).collect();
    let branches = if keys.contains(&Key::Branch) { branches_of(repo, &ids)? } else { HashMap::new() };
    let mut counted = CountedLines { commits: commits.len() as u64, ..CountedLines::default() };
    let mut index: HashMap<Vec<String>, usize> = HashMap::new();
    let mut group_of =
        |counted: &mut CountedLines, commit: usize, session: Option<&(SessionKey, Option<String>)>, path| {
            let commit = &commits[commit];
            let branch = branches.get(&commit.commit_id).map_or("(none)", String::as_str);
            let usage = session.map(|(_, model)| ModelUsage { model: model.clone(), ..ModelUsage::default() });
            let origin = Origin { commit: Some(commit), branch, time: "" };
            let value = |key: &Key| key.value(&origin, session.map(|(key, _)| key), usage.as_ref(), path);
            let values: Vec<String> = keys.iter().map(value).collect();
            *index.entry(values.clone()).or_insert_with(|| {
                counted.groups.push((values, LineSum::default()));
                counted.groups.len() - 1
            })
        };
    for lines in lines {
        let at = group_of(&mut counted, lines.commit, lines.session.as_ref(), &lines.path);
        counted.groups[at].1.add(lines);
        counted.total.add(lines);
    }
    for written in written {
        let at = group_of(&mut counted, written.commit, Some(&written.session), &written.path);
        for sum in [&mut counted.groups[at].1, &mut counted.total] {
            // Anyone can write any number into a note.
            sum.written = sum.written.saturating_add(written.count);
        }
    }
    match keys.first() {
        // Groups were made in the order of commits.
        Some(Key::Commit) => {}
        Some(key) if key.is_time() => counted.groups.sort_by(|a, b| a.0.cmp(&b.0)),
        _ => counted.groups.sort_by(|a, b| b.1.added.cmp(&a.1.added).then_with(|| a.0.cmp(&b.0))),
    }
    Ok(counted)
}
