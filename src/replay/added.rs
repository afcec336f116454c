//! Who wrote the lines that commits add, and which of them are still there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::rc::Rc;

use bstr::{BString, ByteSlice as _};

use super::{Certainty, Explainer};
use crate::error::Result;
use crate::git::{BlameRequest, BlamedCommit, BlamedFile, BlamedLines, Commit, ObjectId, Paths};
use crate::progress::Tell;
use crate::record::{Reader, Uncountable};
use crate::stats::{Lines, Source, Unread};
use crate::transcript::SessionKey;

/// The lines that commits add, by what wrote them.
#[derive(Debug, Default)]
pub struct Added {
    /// The lines, in the order of their commits.
    pub lines: Vec<Lines>,
    /// How many commits have records whose words could not all be read.
    pub unread: Unread,
    /// Problems: what could not be read or was left out.
    pub problems: Vec<String>,
}

/// Finds the lines that commits add, and which edits of their sessions wrote them.
///
/// # Errors
///
/// If Git fails, or a note cannot be read.
pub fn added(reader: &Reader<'_>, commits: &[Commit], paths: Option<&Paths>, tell: Tell<'_>) -> Result<Added> {
    let ids: Vec<ObjectId> = commits.iter().map(|commit| commit.commit_id).collect();
    let index: HashMap<ObjectId, usize> = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let files = reader.repo().added_lines(&ids, paths)?;
    let mut added = Added::default();
    let mut edits = None;
    for of_commit in files.chunk_by(|one, next| one.commit_id == next.commit_id) {
        let commit_id = of_commit[0].commit_id;
        let Some(at) = index.get(&commit_id).copied() else { continue };
        tell("Tracing lines", at, commits.len());
        // What was read of a commit is of no use for the next one.
        let mut explainer = Explainer::new(reader, None, None).without_prompts().with_edits(edits.take());
        let mut lacking: Vec<String> = Vec::new();
        let (mut is_lacking, mut is_too_large) = (false, false);
        for file in of_commit {
            let mut found: Vec<Lines> = Vec::new();
            let previous = commits[at].parent_ids.first().copied().zip(file.before.clone());
            for (start, count) in file.runs.iter().copied() {
                let lines = lines_of(commit_id, &file.path, previous.clone(), start, count);
                for (offset, line) in explainer.explain(&lines)?.into_iter().enumerate() {
                    let problems = &line.source.problems;
                    is_too_large |= line.source.is_too_large;
                    is_lacking |= line.source.lack.is_some() || !problems.is_empty();
                    if lacking.len() < problems.len() {
                        lacking.clone_from(problems);
                    }
                    let source = match line.certainty {
                        Certainty::Replay | Certainty::Text => Source::Edit,
                        Certainty::Moved => Source::Moved,
                        Certainty::Shell => Source::Shell,
                        Certainty::Path | Certainty::Commit | Certainty::None => Source::Unrecorded,
                    };
                    let work = line.work().filter(|_| source != Source::Unrecorded);
                    let session: Option<(SessionKey, Option<String>)> =
                        work.map(|work| (work.key.clone(), line.model().map(str::to_owned)));
                    let known = found.iter_mut().find(|known| known.source == source && known.session == session);
                    let number = start + offset;
                    match known {
                        Some(known) => known.numbers.push(number),
                        None => found.push(Lines {
                            commit: at,
                            path: file.path.to_str_lossy().into_owned(),
                            session,
                            source,
                            numbers: vec![number],
                            left: None,
                        }),
                    }
                }
            }
            added.lines.append(&mut found);
        }
        match (is_too_large, is_lacking) {
            (true, _) => added.unread.add(Uncountable::TooLarge),
            (false, true) => added.unread.add(Uncountable::Missing),
            (false, false) => {}
        }
        edits = explainer.edits();
        // Each commit may lack another object; how many do is reported once.
        let is_other = |told: &&String| !lacking.iter().any(|problem| told.starts_with(problem));
        added.problems.extend(explainer.problems().iter().filter(is_other).cloned());
    }
    added.lines.sort_by_key(|lines| lines.commit);
    Ok(added)
}

/// Returns lines of a commit as a blame would have found them.
pub fn lines_of(
    commit_id: ObjectId,
    path: &BString,
    previous: Option<(ObjectId, BString)>,
    start: usize,
    count: usize,
) -> BlamedLines {
    let file = BlamedFile { path: path.clone(), quoted_path: path.clone(), previous, previous_line: None };
    BlamedLines {
        commit: Rc::new(BlamedCommit { commit_id, head: Vec::new() }),
        file: Rc::new(file),
        orig_line: start,
        final_line: start,
        count,
        texts: Vec::new(),
        is_first: true,
        names_file: true,
    }
}

/// Counts how many of some lines are still in the files of a commit, as `git blame -w` finds them.
///
/// # Errors
///
/// If Git fails.
pub fn count_left(
    reader: &Reader<'_>,
    commits: &[Commit],
    lines: &mut [Lines],
    tip: ObjectId,
    tell: Tell<'_>,
) -> Result<()> {
    let repo = reader.repo();
    let before = commits.last().and_then(|oldest| oldest.parent_ids.first().copied());
    let before = before.filter(|id| repo.has_object(*id));
    let index: HashMap<ObjectId, usize> =
        commits.iter().enumerate().map(|(at, commit)| (commit.commit_id, at)).collect();
    // The lines that are there, by commit and the path that it has for the file.
    let mut there: HashMap<(usize, String), Vec<(usize, usize)>> = HashMap::new();
    let paths = repo.files_changed_since(before, tip)?;
    for (done, path) in paths.iter().enumerate() {
        tell("Blaming files", done, paths.len());
        let request = BlameRequest {
            options: vec!["-w".into()],
            revision: Some(tip),
            path: OsString::from_vec(path.to_vec()),
            is_incremental: true,
            ..BlameRequest::default()
        };
        for found in repo.blame(request)? {
            // A submodule, say, has no lines.
            let Ok(found) = found else { break };
            let Some(at) = index.get(&found.commit.commit_id) else { continue };
            let key = (*at, found.file.path.to_str_lossy().into_owned());
            there.entry(key).or_default().push((found.orig_line, found.count));
        }
    }
    for lines in lines {
        let runs = there.get(&(lines.commit, lines.path.clone())).map_or(&[][..], Vec::as_slice);
        let is_there = |number: &&usize| runs.iter().any(|(start, count)| (*start..start + count).contains(*number));
        lines.left = Some(lines.numbers.iter().filter(is_there).count() as u64);
    }
    Ok(())
}
