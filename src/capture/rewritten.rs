//! Carrying notes from rewritten commits to what became of them.
//!
//! Read [`after_rewrite`], which gets what Git tells its `post-rewrite` hook. What cannot be written at once is
//! kept in a file beside the pending captures, and done by the next command that can.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::recorder::Recorder;
use super::state::write_private;
use super::{State, pending};
use crate::error::{Error, Kind, Result};
use crate::git::{Commit, ObjectId, Order, Range, Rebase, RebaseStep, Repository};
use crate::notes;
use crate::record::{Note, Reader, merge_proven};

/// What the message of a notes commit begins with that Git has made for `notes.rewriteRef`.
const COPIED_BY_GIT: &str = "Notes added by 'git ";
/// How many commits of the notes ref are looked at to find the one that Git has made.
const MAX_LOOKED_AT: usize = 64;

/// A commit and what became of it.
type Pair = (ObjectId, ObjectId);

/// What a rewriting of history did.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    /// `amend`, `rebase`, `cherry-pick` or `merge --squash`.
    command: String,
    /// Whether the old commits stay, so that only the records go to the new ones, from whichever ref has them.
    is_copy: bool,
    /// The old and the new commits.
    pairs: Vec<Pair>,
    /// Pairs that Git named although the change of the old commit was left out of the new one.
    skipped: Vec<Pair>,
}

/// The same as it is kept in a file.
#[derive(Deserialize, Serialize)]
struct Kept {
    shiftlog: u32,
    command: String,
    #[serde(default, rename = "copied", skip_serializing_if = "std::ops::Not::not")]
    is_copy: bool,
    pairs: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<(String, String)>,
}

impl Rewritten {
    /// Makes one for a commit that `command` made of others, which stay.
    pub(super) fn copied(command: &str, sources: &[ObjectId], new: ObjectId) -> Self {
        let pairs = sources.iter().map(|source| (*source, new)).collect();
        Rewritten { command: command.to_owned(), is_copy: true, pairs, skipped: Vec::new() }
    }

    /// Sorts out the pairs that Git names.
    ///
    /// For a commit that `git rebase` left out (`--skip`, or its change was there already) Git names the commit that HEAD
    /// was at: the upstream's, or the one that was picked before. With `--empty=keep` it names an empty commit.
    fn of(repo: &Repository, command: &str, pairs: &[Pair]) -> Self {
        let pairs = pairs.iter().copied().filter(|(old, new)| old != new);
        let mut rewritten = Rewritten { command: command.to_owned(), ..Rewritten::default() };
        let Some(rebase) = Some(command).filter(|name| *name == "rebase").and_then(|_| repo.rebase()) else {
            rewritten.pairs = pairs.collect();
            return rewritten;
        };
        let pairs: Vec<Pair> = pairs.collect();
        let tips: BTreeSet<ObjectId> = pairs.iter().map(|(_, new)| *new).collect();
        let range = Range { tips: tips.iter().copied().collect(), hidden: rebase.before.clone() };
        let made_by_rebase: HashSet<ObjectId> = match repo.walk(&range, Order::AsFound) {
            Ok(steps) => steps.flatten().map(|step| step.commit_id).collect(),
            Err(_) => tips.into_iter().collect(),
        };
        let mut seen = HashSet::new();
        for (old, new) in pairs {
            let is_first = seen.insert(new);
            let is_in_it = (is_first || rebase.step(old) == Some(RebaseStep::Meld)) && !repo.has_become_empty(old, new);
            let list =
                if is_in_it && made_by_rebase.contains(&new) { &mut rewritten.pairs } else { &mut rewritten.skipped };
            list.push((old, new));
        }
        rewritten.add_parts(repo, &rebase, &made_by_rebase);
        rewritten
    }

    /// Adds the first parts of commits that were split where the rebase stopped for them: Git names the last one alone.
    fn add_parts(&mut self, repo: &Repository, rebase: &Rebase, made_by_rebase: &HashSet<ObjectId>) {
        let named: HashSet<ObjectId> = self.pairs.iter().map(|(_, new)| *new).collect();
        let paths =
            |commit: &Commit| -> BTreeSet<_> { repo.changed_paths(commit).unwrap_or_default().into_iter().collect() };
        let mut parts = Vec::new();
        for (old, new) in self.pairs.iter().filter(|(old, _)| rebase.step(*old) == Some(RebaseStep::Edit)) {
            let (Ok(whole), Ok(last)) = (repo.commit(*old), repo.commit(*new)) else { continue };
            let mut parent = last.parent_ids.first().copied();
            while let Some(part) = parent.filter(|id| made_by_rebase.contains(id) && !named.contains(id))
                && let Ok(commit) = repo.commit(part)
            {
                let changed = paths(&commit);
                if !changed.is_empty() && changed.is_subset(&paths(&whole)) {
                    parts.push((*old, part));
                }
                parent = commit.parent_ids.first().copied();
            }
        }
        self.pairs.extend(parts);
    }

    /// Writes the pairs into a file of the pending directory and returns its path.
    fn keep(&self, state: &State) -> Result<PathBuf> {
        let hex = |pairs: &[Pair]| pairs.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect();
        let kept = Kept {
            shiftlog: 1,
            command: self.command.clone(),
            is_copy: self.is_copy,
            pairs: hex(&self.pairs),
            skipped: hex(&self.skipped),
        };
        let text = serde_json::to_vec(&kept).map_err(|error| Error::other("cannot keep a rewriting").because(error))?;
        let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let path = state.pending_dir().join(format!("{}{nanos}-{}", pending::REWRITTEN, std::process::id()));
        write_private(&path, &text)?;
        Ok(path)
    }

    fn read(repo: &Repository, path: &Path) -> Result<Self> {
        let text = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let corrupt = || Error::new(Kind::Corrupt, format!("'{}' names no rewritten commits", path.display()));
        let kept: Kept = serde_json::from_slice(&text).map_err(|error| corrupt().because(error))?;
        let ids = |pairs: Vec<(String, String)>| -> Option<Vec<Pair>> {
            pairs.iter().map(|(old, new)| Some((repo.parse_id(old)?, repo.parse_id(new)?))).collect()
        };
        let (pairs, skipped) = (ids(kept.pairs).ok_or_else(corrupt)?, ids(kept.skipped).ok_or_else(corrupt)?);
        Ok(Rewritten { command: kept.command, is_copy: kept.is_copy, pairs, skipped })
    }
}

/// Carries notes from rewritten commits to what became of them, as our own union.
///
/// Git's own copy (`notes.rewriteRef`) may have run before; doing it again changes nothing. `command` is `amend`
/// or `rebase`; `notes.rewrite.<command>=false` is honoured.
///
/// What cannot be written is a warning; the next command does it.
///
/// # Errors
///
/// If it cannot be written, nor kept for the next command.
pub fn after_rewrite(recorder: &mut Recorder<'_>, command: &str, pairs: &[Pair]) -> Result<()> {
    if recorder.repo.config_bool(&format!("notes.rewrite.{command}")) == Some(false) {
        return Ok(());
    }
    let rewritten = Rewritten::of(recorder.repo, command, pairs);
    let hindrance = recorder.hindrance();
    if hindrance.is_none() {
        // Commits that still wait to be recorded have no note to carry. Whoever has our lock may just be storing one; then
        // its note is carried afterwards.
        pending::follow_rewrites(&recorder.state, &rewritten.pairs)?;
    }
    if rewritten.pairs.is_empty() && rewritten.skipped.is_empty() {
        return Ok(());
    }
    match hindrance {
        Some(error) => keep_rewritten(recorder, &rewritten, error),
        None => carry_or_keep(recorder, &rewritten),
    }
}

/// Carries notes, or keeps the pairs for the next command.
pub(super) fn carry_or_keep(recorder: &mut Recorder<'_>, rewritten: &Rewritten) -> Result<()> {
    let Err(error) = carry_rewritten(recorder, rewritten) else { return Ok(()) };
    keep_rewritten(recorder, rewritten, error)
}

/// Keeps an amended commit for the next command: a lock stops Git before it runs its hook for rewritten commits.
///
/// # Errors
///
/// If it cannot be kept.
pub(super) fn keep_amended(recorder: &mut Recorder<'_>, old: ObjectId, new: ObjectId) -> Result<()> {
    if recorder.repo.config_bool("notes.rewrite.amend") == Some(false) {
        return Ok(());
    }
    pending::follow_rewrites(&recorder.state, &[(old, new)])?;
    // Its note may itself wait to be carried to it.
    let entries = std::fs::read_dir(recorder.state.pending_dir()).into_iter().flatten().flatten();
    let waits = entries.map(|entry| entry.path()).any(|path| pending::is_rewritten(&path));
    if !waits && notes::get(recorder.repo, &recorder.notes_ref, old)?.is_none() {
        return Ok(());
    }
    let rewritten = Rewritten { command: "amend".to_owned(), pairs: vec![(old, new)], ..Rewritten::default() };
    keep_rewritten(recorder, &rewritten, Error::new(Kind::Busy, "cannot carry notes: a notes ref is locked"))
}

/// Keeps pairs for the next command, and says so.
fn keep_rewritten(recorder: &mut Recorder<'_>, rewritten: &Rewritten, why: Error) -> Result<()> {
    let path = rewritten.keep(&recorder.state)?;
    recorder.warn(why.hint(format!(
        "the rewritten commits are kept in '{}'; the next git shiftlog command carries their notes",
        path.display()
    )));
    Ok(())
}

/// Carries the notes of what earlier commands had to leave, oldest first. Stops where it still cannot be done.
///
/// # Errors
///
/// What stands in the way.
pub(super) fn carry_pending(recorder: &mut Recorder<'_>) -> Result<()> {
    let entries = std::fs::read_dir(recorder.state.pending_dir()).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| pending::is_rewritten(path)).collect();
    paths.sort();
    for path in paths {
        let outcome = Rewritten::read(recorder.repo, &path).and_then(|rewritten| carry_rewritten(recorder, &rewritten));
        match outcome {
            Ok(()) => std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?,
            Err(error) if matches!(error.kind(), Kind::Busy | Kind::Storage) => return Err(error),
            Err(error) => recorder.warn(Error::other(format!("cannot carry '{}'", path.display())).because(error)),
        }
    }
    Ok(())
}

fn carry_rewritten(recorder: &mut Recorder<'_>, rewritten: &Rewritten) -> Result<()> {
    let mut undone: BTreeMap<ObjectId, Copied> = BTreeMap::new();
    for (_, new) in &rewritten.skipped {
        if let Some(copied) = copied_by_git(recorder, *new, rewritten)? {
            undone.insert(*new, copied);
        }
    }
    let own = (recorder.notes_ref != notes::DEFAULT_REF).then_some(recorder.notes_ref.as_str());
    let reader = rewritten.is_copy.then(|| Reader::new(recorder.repo, own));
    let message = format!("shiftlog: notes carried over by {}\n", rewritten.command);
    notes::carry(recorder.repo, &recorder.notes_ref, &message, recorder.deadline, |editor| {
        let mut merged: BTreeMap<ObjectId, Note> = undone.keys().map(|new| (*new, Note::default())).collect();
        for (old, new) in &rewritten.pairs {
            let is_only_one = rewritten.pairs.iter().filter(|(_, other)| other == new).count() == 1;
            let note = match &reader {
                Some(reader) => reader.note(*old)?.map(records_of),
                None => match editor.get(*old) {
                    // Nothing is to be joined: it goes as it is, whatever is in it.
                    Ok(Some(note)) if is_only_one && !undone.contains_key(new) && editor.get(*new)?.is_none() => {
                        editor.replace(*new, &note)?;
                        continue;
                    }
                    Ok(note) => note.map(|note| Note::parse_lines(&note)),
                    Err(error) if error.kind() == Kind::Corrupt => {
                        recorder.state.log(&format!("warning: the note of {old} is not carried: {error}"));
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            if let Some(note) = note {
                merge_proven(recorder.repo, merged.entry(*new).or_default(), note);
            }
        }
        for (new, mut note) in merged {
            let there = editor.get(new)?;
            let present = there.as_deref().unwrap_or_default();
            match undone.get(&new) {
                Some(copied) => merge_proven(recorder.repo, &mut note, copied.taken_back(present)),
                None => merge_proven(recorder.repo, &mut note, Note::parse_lines(present)),
            }
            let bytes = note.to_bytes();
            if bytes.is_empty() {
                editor.remove(new)?;
            } else if there.as_deref() != Some(&bytes[..]) {
                editor.replace(new, &bytes)?;
            }
        }
        Ok(())
    })?;
    let (count, command) = (rewritten.pairs.len(), &rewritten.command);
    recorder.state.log(&format!("carried notes from {count} commits ({command})"));
    if !undone.is_empty() {
        recorder.state.log(&format!("took notes of skipped commits back from {} commits", undone.len()));
    }
    Ok(())
}

/// Returns what Git's own copy did to the note of a commit, if it copied nothing there but what the old commits of
/// this rewriting have; `None` if it did not touch it.
fn copied_by_git(recorder: &Recorder<'_>, new: ObjectId, rewritten: &Rewritten) -> Result<Option<Copied>> {
    let Some(tip) = recorder.repo.tip(&recorder.notes_ref)? else { return Ok(None) };
    let mut theirs = Vec::new();
    for (old, _) in rewritten.pairs.iter().chain(&rewritten.skipped).filter(|(_, to)| *to == new) {
        theirs.extend(notes::get_at(recorder.repo, tip.tree_id, *old)?.unwrap_or_default());
        theirs.push(b'\n');
    }
    let mut commit_id = tip.commit_id;
    for _ in 0..MAX_LOOKED_AT {
        let commit = recorder.repo.commit(commit_id)?;
        let Some(parent) = commit.parent_ids.first() else { break };
        if commit.message.starts_with(COPIED_BY_GIT.as_bytes()) {
            let parent = recorder.repo.commit(*parent)?;
            let before = notes::get_at(recorder.repo, parent.tree_id, new)?.unwrap_or_default();
            let after = notes::get_at(recorder.repo, commit.tree_id, new)?.unwrap_or_default();
            let copied = Copied { before, after };
            if copied.is_from(&theirs) {
                return Ok(Some(copied));
            }
        }
        commit_id = *parent;
    }
    Ok(None)
}

/// The note of a commit before and after Git copied another commit's note to it.
struct Copied {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Copied {
    /// Returns the lines that were added.
    fn added(&self) -> BTreeSet<&[u8]> {
        &lines(&self.after) - &lines(&self.before)
    }

    /// Says whether all lines that were added are among these.
    fn is_from(&self, theirs: &[u8]) -> bool {
        let added = self.added();
        !added.is_empty() && added.is_subset(&lines(theirs))
    }

    /// Returns the present note without what was added.
    fn taken_back(&self, present: &[u8]) -> Note {
        let mut note = Note::parse_lines(&self.before);
        if present != self.after {
            // Something has been recorded since; what can still be told apart goes.
            let added = self.added().into_iter().flat_map(|line| Note::parse_lines(line).into_units());
            let added: Vec<_> = added.collect();
            let mut since = Note::parse_lines(present);
            since.retain(|unit| !added.contains(unit));
            since.into_units().into_iter().for_each(|unit| note.add_line(unit));
        }
        note
    }
}

fn lines(note: &[u8]) -> BTreeSet<&[u8]> {
    note.lines().map(|line| line.trim()).filter(|line| !line.is_empty()).collect()
}

/// Returns what of a note is carried to a copy of its commit: what people wrote about one commit is not about the other.
pub(super) fn records_of(mut note: Note) -> Note {
    note.retain(|unit| !matches!(unit, crate::record::Unit::Foreign(_)));
    note
}
