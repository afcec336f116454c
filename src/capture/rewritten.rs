//! Carrying notes from rewritten commits to the new commits.
//!
//! Read [`after_rewrite`], which gets the input of Git's `post-rewrite` hook. If the notes cannot be written, the pairs
//! of commits are kept in a file beside the pending captures, and the next command carries the notes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::recorder::Recorder;
use super::sessions::save_changed;
use super::tracked::TrackedSession;
use super::{State, pending};
use crate::error::{Error, Kind, Result};
use crate::git::private;
use crate::git::{Commit, ObjectId, Order, Range, Rebase, RebaseStep, ReflogEntry, Repository};
use crate::notes;
use crate::record::{Note, Reader, Unit, merge_proven};
use crate::transcript::SessionKey;

/// The beginning of the message of notes commits that Git makes for `notes.rewriteRef`.
const COPIED_BY_GIT: &str = "Notes added by 'git ";
/// How many commits of the notes ref are read to find Git's own copy.
const MAX_LOOKED_AT: usize = 64;
/// After how many pairs the deadline is looked at.
const PAIRS_BETWEEN_LOOKS: usize = 256;

/// An old commit and the new one.
type Pair = (ObjectId, ObjectId);

/// The pairs of one rewriting of history.
#[derive(Debug, Default)]
pub(super) struct Rewrite {
    /// `amend`, `rebase`, `cherry-pick` or `merge --squash`.
    command: String,
    /// Whether the old commits stay, as in a cherry-pick. Then only records are carried, not other lines, and they are
    /// read from all notes refs.
    is_copy: bool,
    /// The only session (`agent/session`) whose records are copied; `None` for all.
    only: Option<String>,
    /// Whether the records of its sub-agents are copied, too.
    has_sub_agents: bool,
    /// The old and the new commits.
    pairs: Vec<Pair>,
    /// Pairs that Git named although the new commit does not have the change of the old one.
    skipped: Vec<Pair>,
}

/// The stored form of [`Rewrite`].
#[derive(Deserialize, Serialize)]
struct StoredRewrite {
    shiftlog: u32,
    command: String,
    #[serde(default, rename = "copied", skip_serializing_if = "std::ops::Not::not")]
    is_copy: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only: Option<String>,
    #[serde(default, rename = "subAgents", skip_serializing_if = "std::ops::Not::not")]
    has_sub_agents: bool,
    pairs: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<(String, String)>,
}

impl Rewrite {
    /// Returns the rewrite of a commit that `command` made of `sources`, which stay.
    pub(super) fn copied(command: &str, sources: &[ObjectId], new: ObjectId) -> Self {
        let pairs = sources.iter().map(|source| (*source, new)).collect();
        Rewrite { command: command.to_owned(), is_copy: true, pairs, ..Rewrite::default() }
    }

    /// Makes a copy one of the records of this session alone.
    pub(super) fn only_of(self, key: SessionKey) -> Self {
        Rewrite { only: Some(key.to_string()), ..self }
    }

    /// Makes a copy one of the records of this session and its sub-agents.
    pub(super) fn only_of_all(self, key: SessionKey) -> Self {
        Rewrite { has_sub_agents: true, ..self.only_of(key) }
    }

    /// Returns the records of a note that are copied, and without [`Rewrite::only_of`] its evidence: lines that people wrote are
    /// about the old commit.
    fn records_of(&self, mut note: Note) -> Note {
        let is_copied = |key: SessionKey, only: &str| {
            let parent = || key.parent().is_some_and(|parent| parent.to_string() == only);
            key.to_string() == only || self.has_sub_agents && parent()
        };
        note.retain(|unit| match &self.only {
            Some(only) => unit.key().is_some_and(|key| is_copied(key, only)),
            None => !unit.is_remark(),
        });
        note
    }

    /// Sorts the pairs that Git names into carried and skipped ones.
    ///
    /// For a commit that `git rebase` skipped (`--skip`, or its change was already there) Git names the commit that
    /// HEAD was at: the upstream, or the commit picked before. With `--empty=keep` it names an empty commit.
    fn of(repo: &Repository, command: &str, pairs: &[Pair]) -> Self {
        let pairs = pairs.iter().copied().filter(|(old, new)| old != new);
        let mut rewrite = Rewrite { command: command.to_owned(), ..Rewrite::default() };
        let Some(rebase) = Some(command).filter(|name| *name == "rebase").and_then(|_| repo.rebase()) else {
            rewrite.pairs = pairs.collect();
            return rewrite;
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
                if is_in_it && made_by_rebase.contains(&new) { &mut rewrite.pairs } else { &mut rewrite.skipped };
            list.push((old, new));
        }
        rewrite.add_parts(repo, &rebase, &made_by_rebase);
        rewrite.add_replaced(repo);
        rewrite
    }

    /// Adds the commits that the rebase itself made and then replaced. Git does not name those that were amended where it had
    /// stopped and melded with later ones, nor what became of a commit that was amended after a `break` or by a command.
    fn add_replaced(&mut self, repo: &Repository) {
        let replaced = repo.replaced_in_rebase();
        let later = self.pairs.iter().filter_map(|(old, new)| Some((*old, *replaced.get(new)?)));
        let mut added: Vec<Pair> = later.chain(replaced.iter().map(|(old, new)| (*old, *new))).collect();
        added.sort();
        let known: HashSet<Pair> = self.pairs.iter().copied().collect();
        added.retain(|pair| pair.0 != pair.1 && !known.contains(pair));
        self.pairs.extend(added);
    }

    /// Adds the first parts of commits that the user split in an `edit` step of a rebase: Git names only the last part, or
    /// a commit that was added there. The latter is skipped: it changes other paths, and those of the edited commit are all
    /// in commits before it.
    fn add_parts(&mut self, repo: &Repository, rebase: &Rebase, made_by_rebase: &HashSet<ObjectId>) {
        let named: HashSet<ObjectId> = self.pairs.iter().map(|(_, new)| *new).collect();
        let paths =
            |commit: &Commit| -> BTreeSet<_> { repo.changed_paths(commit).unwrap_or_default().into_iter().collect() };
        let (mut parts, mut added) = (Vec::new(), Vec::new());
        for (old, new) in self.pairs.iter().filter(|(old, _)| rebase.step(*old) == Some(RebaseStep::Edit)) {
            let (Ok(whole), Ok(last)) = (repo.commit(*old), repo.commit(*new)) else { continue };
            let whole_paths = paths(&whole);
            let mut earlier_paths = BTreeSet::new();
            let mut parent = last.parent_ids.first().copied();
            while let Some(part) = parent.filter(|id| made_by_rebase.contains(id) && !named.contains(id))
                && let Ok(commit) = repo.commit(part)
            {
                let changed = paths(&commit);
                if !changed.is_empty() && changed.is_subset(&whole_paths) {
                    parts.push((*old, part));
                    earlier_paths.extend(changed);
                }
                parent = commit.parent_ids.first().copied();
            }
            // The rebase may have taken the edited commit over as it is.
            let is_there = parent == Some(*old) || (!whole_paths.is_empty() && earlier_paths == whole_paths);
            if is_there && !paths(&last).is_subset(&whole_paths) {
                added.push((*old, *new));
            }
        }
        self.pairs.retain(|pair| !added.contains(pair));
        self.skipped.extend(added);
        self.pairs.extend(parts);
    }

    /// Writes the pairs into a file of the pending directory and returns its path.
    fn keep(&self, state: &State) -> Result<PathBuf> {
        let hex = |pairs: &[Pair]| pairs.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect();
        let kept = StoredRewrite {
            shiftlog: 1,
            command: self.command.clone(),
            is_copy: self.is_copy,
            only: self.only.clone(),
            has_sub_agents: self.has_sub_agents,
            pairs: hex(&self.pairs),
            skipped: hex(&self.skipped),
        };
        let text = serde_json::to_vec(&kept)
            .map_err(|error| Error::other("cannot write the names of rewritten commits").because(error))?;
        let path = pending::new_path(state, pending::REWRITTEN);
        private::write(&path, &text)?;
        Ok(path)
    }

    fn read(repo: &Repository, path: &Path) -> Result<Self> {
        let text = private::read_whole(path).map_err(|error| Error::io("read", path, error))?;
        let corrupt = || Error::new(Kind::Corrupt, format!("'{}' names no rewritten commits", path.display()));
        let kept: StoredRewrite = serde_json::from_slice(&text).map_err(|error| corrupt().because(error))?;
        let ids = |pairs: Vec<(String, String)>| -> Option<Vec<Pair>> {
            pairs.iter().map(|(old, new)| Some((repo.parse_id(old)?, repo.parse_id(new)?))).collect()
        };
        let (pairs, skipped) = (ids(kept.pairs).ok_or_else(corrupt)?, ids(kept.skipped).ok_or_else(corrupt)?);
        let StoredRewrite { command, is_copy, only, has_sub_agents, .. } = kept;
        Ok(Rewrite { command, is_copy, only, has_sub_agents, pairs, skipped })
    }
}

/// Carries notes from rewritten commits to the new commits, joining them with notes that are there.
///
/// Git's own copy (`notes.rewriteRef`) may have run before; carrying again changes nothing. `command` is `amend` or
/// `rebase`; `notes.rewrite.<command>=false` is honoured.
///
/// If the notes cannot be written, warns and keeps the pairs for the next command.
///
/// # Errors
///
/// If the pairs cannot be kept for the next command either.
pub fn after_rewrite(recorder: &mut Recorder<'_>, command: &str, pairs: &[Pair]) -> Result<()> {
    if is_off(recorder.repo, command) {
        return Ok(());
    }
    let rewrite = Rewrite::of(recorder.repo, command, pairs);
    let hindrance = recorder.hindrance();
    if hindrance.is_none() {
        // A pending commit has no note to carry yet. The process that holds the lock may be storing one; its note is
        // carried afterwards.
        pending::follow_rewrites(&recorder.state, &rewrite.pairs)?;
        follow_in_state(recorder, &rewrite.pairs)?;
    }
    if rewrite.pairs.is_empty() && rewrite.skipped.is_empty() {
        return Ok(());
    }
    match hindrance {
        Some(error) => keep_rewrite(recorder, &rewrite, error),
        None => carry_or_keep(recorder, &rewrite),
    }
}

/// Carries notes; on failure keeps the pairs for the next command.
pub(super) fn carry_or_keep(recorder: &mut Recorder<'_>, rewrite: &Rewrite) -> Result<()> {
    let Err(error) = carry_notes(recorder, rewrite) else { return Ok(()) };
    keep_rewrite(recorder, rewrite, error)
}

/// Keeps an amended commit for the next command. If a notes ref is locked, Git stops before it runs `post-rewrite`.
///
/// # Errors
///
/// If it cannot be kept.
pub(super) fn keep_amended(recorder: &mut Recorder<'_>, old: ObjectId, new: ObjectId) -> Result<()> {
    if is_off(recorder.repo, "amend") {
        return Ok(());
    }
    pending::follow_rewrites(&recorder.state, &[(old, new)])?;
    // A note for the old commit may itself still have to be carried.
    let waits = !pending::list_rewritten(&recorder.state).is_empty();
    if !waits && notes::get(recorder.repo, &recorder.notes_ref, old)?.is_none() {
        return Ok(());
    }
    let rewritten = Rewrite { command: "amend".to_owned(), pairs: vec![(old, new)], ..Rewrite::default() };
    keep_rewrite(recorder, &rewritten, Error::new(Kind::Busy, "cannot carry notes: a notes ref is locked"))
}

/// Returns those of some amends, oldest first, whose notes were not carried, because Git's hooks did not run or are hidden
/// from the agent that amended.
///
/// # Errors
///
/// If the notes cannot be read.
pub(super) fn without_carried(recorder: &Recorder<'_>, amends: Vec<Pair>) -> Result<Vec<Pair>> {
    let has_note = |id: ObjectId| Ok(notes::get(recorder.repo, &recorder.notes_ref, id)?.is_some());
    let mut pairs: Vec<Pair> = Vec::new();
    for (old_id, new_id) in amends {
        let follows = pairs.iter().any(|(_, new)| *new == old_id);
        if !has_note(new_id)? && (follows || has_note(old_id)?) {
            pairs.push((old_id, new_id));
        }
    }
    Ok(pairs)
}

/// Returns the amends among moves of HEAD, in their order; none if `notes.rewrite.amend` is off.
pub(super) fn amends(repo: &Repository, moves: &[ReflogEntry]) -> Vec<Pair> {
    let amends = moves.iter().filter(|entry| ReflogEntry::is_amend_message(entry.message.as_bstr()));
    let amends: Vec<Pair> = amends.map(|entry| (entry.old_id, entry.new_id)).collect();
    if amends.is_empty() || is_off(repo, "amend") { Vec::new() } else { amends }
}

/// Says whether the user carries no notes over by a command that rewrites commits.
fn is_off(repo: &Repository, command: &str) -> bool {
    repo.config_bool(&format!("notes.rewrite.{command}")) == Some(false)
}

/// Adds the new commits to the results that sessions wait for.
pub(super) fn follow(sessions: &mut [TrackedSession], pairs: &[Pair]) {
    sessions.iter_mut().filter_map(|live| live.awaited_result.as_mut()).for_each(|awaited| awaited.follow(pairs));
}

/// Does the same in our state.
fn follow_in_state(recorder: &Recorder<'_>, pairs: &[Pair]) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let mut sessions = recorder.state.sessions();
    let before = sessions.clone();
    follow(&mut sessions, pairs);
    save_changed(recorder, &before, &sessions)
}

/// Keeps pairs in a file for the next command, and warns.
fn keep_rewrite(recorder: &mut Recorder<'_>, rewrite: &Rewrite, why: Error) -> Result<()> {
    let path = rewrite.keep(&recorder.state)?;
    recorder.warn(why.hint(format!(
        "the rewritten commits are kept in '{}'; the next 'git shiftlog log' carries their notes",
        path.display()
    )));
    Ok(())
}

/// Carries the notes of the pairs that earlier commands kept, oldest first. Stops at the first that cannot be written.
///
/// # Errors
///
/// The error of the first that cannot be written.
pub(super) fn carry_pending(recorder: &mut Recorder<'_>) -> Result<()> {
    for path in pending::list_rewritten(&recorder.state) {
        let outcome = Rewrite::read(recorder.repo, &path).and_then(|rewrite| {
            if !rewrite.is_copy {
                follow_in_state(recorder, &rewrite.pairs)?;
            }
            carry_notes(recorder, &rewrite)
        });
        match outcome {
            Ok(()) => std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?,
            Err(error) if matches!(error.kind(), Kind::Busy | Kind::Storage) => return Err(error),
            Err(error) => recorder.warn(Error::other(format!("cannot carry '{}'", path.display())).because(error)),
        }
    }
    Ok(())
}

/// Carries the notes of a rewrite in one update of the notes ref: joins the notes of the old commits to those of the
/// new ones, and removes notes that Git copied to commits without the change.
fn carry_notes(recorder: &Recorder<'_>, rewrite: &Rewrite) -> Result<()> {
    let mut undone: BTreeMap<ObjectId, GitCopy> = BTreeMap::new();
    for (_, new) in &rewrite.skipped {
        if let Some(copy) = copied_by_git(recorder, *new, rewrite)? {
            undone.insert(*new, copy);
        }
    }
    let reader = rewrite.is_copy.then(|| Reader::beside(recorder.repo, &recorder.notes_ref));
    let message = format!("shiftlog: notes carried over by {}\n", rewrite.command);
    notes::carry(recorder.repo, &recorder.notes_ref, &message, recorder.deadline, |editor| {
        let carried = notes_to_carry(recorder, editor, rewrite, reader.as_ref(), &undone)?;
        for (new, mut lines) in carried {
            let present = editor.get(new)?;
            let present_bytes = present.as_deref().unwrap_or_default();
            // Git may have copied the same lines, so they are joined when all of them are there.
            lines.merge_lines(&match undone.get(&new) {
                Some(copy) => copy.taken_back(present_bytes),
                None => Note::parse_unjoined(present_bytes),
            });
            let mut note = Note::default();
            merge_proven(recorder.repo, &mut note, lines);
            if rewrite.command == "amend" {
                let old = rewrite.pairs.iter().filter_map(|(old, _)| recorder.repo.commit(*old).ok());
                note.forget_joined(&old.map(|commit| commit.tree_id.to_string()).collect::<Vec<_>>());
            }
            let bytes = note.to_bytes();
            if bytes.is_empty() {
                editor.remove(new)?;
            } else if present.as_deref() != Some(&bytes[..]) {
                editor.replace(new, &bytes)?;
            }
        }
        Ok(())
    })?;
    let (count, command) = (rewrite.pairs.len(), &rewrite.command);
    recorder.state.log(&format!("carried notes from {count} commits ({command})"));
    if !undone.is_empty() {
        recorder.state.log(&format!("took notes of skipped commits back from {} commits", undone.len()));
    }
    Ok(())
}

/// Returns the lines of the notes of the old commits by their new commit, with an empty note for each commit in `undone`.
///
/// A note that has nothing to be joined with is copied byte for byte by `editor`, and not returned.
fn notes_to_carry(
    recorder: &Recorder<'_>,
    editor: &mut notes::Editor<'_>,
    rewrite: &Rewrite,
    reader: Option<&Reader<'_>>,
    undone: &BTreeMap<ObjectId, GitCopy>,
) -> Result<BTreeMap<ObjectId, Note>> {
    let mut carried: BTreeMap<ObjectId, Note> = undone.keys().map(|new| (*new, Note::default())).collect();
    let mut sources: HashMap<ObjectId, usize> = HashMap::new();
    rewrite.pairs.iter().for_each(|(_, new)| *sources.entry(*new).or_default() += 1);
    for (number, (old, new)) in rewrite.pairs.iter().enumerate() {
        if number % PAIRS_BETWEEN_LOOKS == 0 && Instant::now() >= recorder.deadline {
            return Err(Error::new(Kind::Busy, "cannot carry notes: there was not enough time"));
        }
        let is_only_one = sources.get(new) == Some(&1);
        let note = match reader {
            Some(reader) => reader.note(*old)?.map(|note| rewrite.records_of(note)),
            None => match editor.get(*old) {
                Ok(Some(note)) if is_only_one && !undone.contains_key(new) && editor.get(*new)?.is_none() => {
                    editor.replace(*new, &note)?;
                    continue;
                }
                Ok(note) => note.map(|note| Note::parse_unjoined(&note)),
                Err(error) if error.kind() == Kind::Corrupt => {
                    recorder.state.log(&format!("warning: the note of {old} is not carried: {error}"));
                    continue;
                }
                Err(error) => return Err(error),
            },
        };
        if let Some(note) = note {
            carried.entry(*new).or_default().merge_lines(&note);
        }
    }
    Ok(carried)
}

/// Returns the note of `new` before and after Git's own copy, if Git copied only lines of the old commits of this
/// rewrite; `None` if Git copied nothing.
fn copied_by_git(recorder: &Recorder<'_>, new: ObjectId, rewrite: &Rewrite) -> Result<Option<GitCopy>> {
    let Some(tip) = recorder.repo.tip(&recorder.notes_ref)? else { return Ok(None) };
    let mut theirs = Vec::new();
    for (old, _) in rewrite.pairs.iter().chain(&rewrite.skipped).filter(|(_, to)| *to == new) {
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
            let copied = GitCopy { before, after };
            if copied.is_from(&theirs) {
                return Ok(Some(copied));
            }
        }
        commit_id = *parent;
    }
    Ok(None)
}

/// The note of a commit before and after Git copied another commit's note to it.
struct GitCopy {
    before: Vec<u8>,
    after: Vec<u8>,
}

impl GitCopy {
    /// Returns the lines that Git added.
    fn added(&self) -> BTreeSet<&[u8]> {
        &lines(&self.after) - &lines(&self.before)
    }

    /// Says whether Git added lines and all of them are in `theirs`.
    fn is_from(&self, theirs: &[u8]) -> bool {
        let added = self.added();
        !added.is_empty() && added.is_subset(&lines(theirs))
    }

    /// Returns the present note without the lines that Git added.
    fn taken_back(&self, present: &[u8]) -> Note {
        let mut note = Note::parse_unjoined(&self.before);
        if present != self.after {
            // Another record has been written since; only lines that are still separate can be removed.
            let added = self.added().into_iter().flat_map(|line| Note::parse_unjoined(line).into_units());
            let added: Vec<_> = added.collect();
            let mut since = Note::parse_unjoined(present);
            let git_lines = self.added();
            since.retain(|unit| match unit {
                Unit::Foreign(remark) => !lines(remark).is_subset(&git_lines),
                unit => !added.contains(unit),
            });
            note.merge_lines(&since);
        }
        note
    }
}

fn lines(note: &[u8]) -> BTreeSet<&[u8]> {
    note.lines().map(|line| line.trim()).filter(|line| !line.is_empty()).collect()
}
