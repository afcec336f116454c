//! Carrying records to a commit that Git has just made of others by cherry-pick or squash.
//!
//! Read `carry_at_once`. Copies whose sources Git does not name are found by `remap`.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bstr::{BStr, BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::recorder::Recorder;
use super::rewritten::{self, Rewrite};
use crate::error::{Error, Result};
use crate::git::private;
use crate::git::{
    Commit, Location, ObjectId, Order, PathChange, Range, ReflogEntry, Repository, has_locked_notes, last_message,
};
use crate::record::Reader;

/// The subject of the message that `git merge --squash` writes.
const SQUASH_SUBJECT: &[u8] = b"Squashed commit of the following:";
/// How many commits of a squash are read.
const MAX_SQUASHED: usize = 2000;
/// How many commits of the branch that gets a squash are read.
const MAX_BESIDE: usize = 500;
/// How long the source of a cherry-pick with conflicts is searched for.
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// A squash that `git merge --squash` has put into the index and that is not committed yet.
#[derive(Debug, Deserialize, Serialize)]
struct Squash {
    /// HEAD at the time of the merge, in hex.
    head: String,
    /// The commits that were squashed, the newest first.
    commits: Vec<String>,
    /// The tree that the merge produced, with conflict markers if there were conflicts.
    tree: String,
    /// Whether a part of the squash is committed already.
    #[serde(default)]
    is_rest: bool,
}

fn squash_file(repo: &Repository) -> PathBuf {
    repo.git_dir().join("shiftlog").join("squash")
}

/// Says, without opening the repository, whether the commit that was just made may have been made of other commits.
pub fn may_have_sources(location: &Location) -> bool {
    let has = |name: &str| location.git_dir.join(name).exists();
    let message = || last_message(location);
    let is_named = |message: &BStr| {
        ReflogEntry::is_pick_message(message)
            || message.ends_with(SQUASH_SUBJECT)
            || (ReflogEntry::is_amend_message(message) && has_locked_notes(&location.common_dir))
    };
    !location.is_rebasing() && (has("shiftlog/squash") || has("CHERRY_PICK_HEAD") || is_named(message().as_bstr()))
}

/// Remembers the commits that `git merge --squash` has just put into the index: when the index is committed, Git no longer
/// knows them.
///
/// # Errors
///
/// If the repository cannot be read, or the file cannot be written.
pub fn keep_squash(repo: &Repository) -> Result<()> {
    let Ok(message) = private::read_whole(&repo.git_dir().join("SQUASH_MSG")) else { return Ok(()) };
    let commits = squashed_by(repo, &message);
    let (Some(head), Some(tip)) = (repo.head()?.commit_id, commits.first()) else { return Ok(()) };
    // Git writes `AUTO_MERGE` only if it had to merge; otherwise the tree is that of the squashed tip.
    let merged = private::text(&repo.git_dir().join("AUTO_MERGE"));
    let tree_id = match repo.parse_id(merged.trim()) {
        Some(tree_id) => tree_id,
        None => repo.commit(*tip)?.tree_id,
    };
    let squash = Squash {
        head: head.to_string(),
        commits: commits.iter().map(ToString::to_string).collect(),
        tree: tree_id.to_string(),
        is_rest: false,
    };
    write_squash(repo, &squash)
}

fn write_squash(repo: &Repository, squash: &Squash) -> Result<()> {
    let text = serde_json::to_vec(squash).map_err(|error| Error::other("cannot keep a squash").because(error))?;
    private::write(&squash_file(repo), &text)
}

/// Returns the commits that a message names, newest first, if it has the form that `git merge --squash` writes.
fn squashed_by(repo: &Repository, message: &[u8]) -> Vec<ObjectId> {
    let mut lines = message.lines();
    if lines.next() != Some(SQUASH_SUBJECT) {
        return Vec::new();
    }
    // The quoted messages of the commits are indented, so they cannot match.
    let hex = |line: &[u8]| line.strip_prefix(b"commit ").and_then(|hex| repo.parse_id(&hex.to_str_lossy()));
    lines.filter_map(hex).take(MAX_SQUASHED).collect()
}

/// Carries records to a commit that was just made, if Git names the commits that it was made of. Returns whether it is
/// a squash.
///
/// # Errors
///
/// If the repository cannot be read.
pub(super) fn carry_at_once(
    recorder: &mut Recorder<'_>,
    commit: &Commit,
    last_move: Option<&ReflogEntry>,
) -> Result<bool> {
    if recorder.repo.is_rebasing() {
        return Ok(false);
    }
    let amended = last_move.filter(|entry| ReflogEntry::is_amend_message(entry.message.as_bstr()));
    if let Some(entry) = amended.filter(|_| has_locked_notes(&recorder.repo.common_dir())) {
        rewritten::keep_amended(recorder, entry.old_id, commit.commit_id)?;
    }
    let is_pick = last_move.is_some_and(ReflogEntry::is_pick);
    let head = private::text(&recorder.repo.git_dir().join("CHERRY_PICK_HEAD"));
    let head = recorder.repo.parse_id(head.trim());
    let may_be_squash = commit.message.starts_with(SQUASH_SUBJECT) || squash_file(recorder.repo).exists();
    if !is_pick && head.is_none() && !may_be_squash {
        return Ok(false);
    }
    let reader = Reader::beside(recorder.repo, &recorder.notes_ref);
    let (command, sources) = match head {
        Some(head) => ("cherry-pick", with_same_author(recorder, commit, vec![head])),
        None if is_pick => ("cherry-pick", picked(recorder, commit, &reader)?),
        None => {
            let sources = squashed(recorder, commit, last_move)?;
            ("merge --squash", not_picked(&reader, commit, sources.clone()).unwrap_or(sources))
        }
    };
    let is_squash = command != "cherry-pick" && !sources.is_empty();
    // Records that cannot be read are carried once the notes are repaired.
    let is_damaged = recorder.repo.tip(&recorder.notes_ref).is_err();
    let mut with_records = Vec::new();
    for source in sources {
        if (is_damaged || reader.note(source)?.is_some_and(|note| note.is_carried()))
            && !recorder.repo.has_become_empty(source, commit.commit_id)
        {
            with_records.push(source);
        }
    }
    if !with_records.is_empty() {
        rewritten::carry_or_keep(recorder, &Rewrite::copied(command, &with_records, commit.commit_id))?;
    }
    Ok(is_squash)
}

/// Returns those of `sources` that have the author and author time of `commit`: a cherry-pick keeps both.
fn with_same_author(recorder: &Recorder<'_>, commit: &Commit, mut sources: Vec<ObjectId>) -> Vec<ObjectId> {
    let author = |commit: &Commit| (commit.author.email.clone(), commit.author.time.seconds);
    sources.retain(|source| {
        let source = recorder.repo.commit(*source);
        source.is_ok_and(|source| source.commit_id != commit.commit_id && author(&source) == author(commit))
    });
    sources
}

/// Returns the source of a cherry-pick that had conflicts: when its hook runs, Git has already removed
/// `CHERRY_PICK_HEAD`.
///
/// The source is the commit that `-x` names, or the only commit with a conversation and the same author and author
/// time.
fn picked(recorder: &Recorder<'_>, commit: &Commit, reader: &Reader<'_>) -> Result<Vec<ObjectId>> {
    let named = commit.picked_from().rev().find_map(|hex| recorder.repo.parse_id(&hex));
    let named = with_same_author(recorder, commit, named.into_iter().collect());
    if !named.is_empty() {
        return Ok(named);
    }
    let until = recorder.deadline.min(Instant::now() + SEARCH_TIME);
    let noted: Vec<ObjectId> = reader.noted()?.into_keys().collect();
    let mut found = Vec::new();
    for some in noted.chunks(64) {
        if Instant::now() > until {
            recorder.state.log("warning: the source of a cherry-pick was not found in time");
            return Ok(Vec::new());
        }
        found.extend(with_same_author(recorder, commit, some.to_vec()));
    }
    let alike = |id: &&ObjectId| recorder.repo.commit(**id).is_ok_and(|source| source.subject() == commit.subject());
    let with_subject: Vec<ObjectId> = found.iter().filter(alike).copied().collect();
    let found = if with_subject.is_empty() { found } else { with_subject };
    // Copies of one commit have the same records. If the found commits have different records, the source is ambiguous.
    let said: BTreeSet<_> = found.iter().map(|source| said(reader, *source)).collect::<Result<_>>()?;
    Ok(if said.len() == 1 { found } else { Vec::new() })
}

/// Returns what tells the records of a commit from those of others.
fn said(reader: &Reader<'_>, commit_id: ObjectId) -> Result<BTreeSet<String>> {
    let note = reader.note(commit_id)?.unwrap_or_default();
    Ok(note.records_of_all_versions().map(|record| format!("{} {}", record.key(), record.through)).collect())
}

/// Returns the squashed commits that the branch did not have yet. One that was cherry-picked before has its conversation there;
/// the squash changes nothing at its paths then, unless the branch has taken the change back.
fn not_picked(reader: &Reader<'_>, commit: &Commit, sources: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
    let repo = reader.repo();
    let Some(tip) = sources.last().copied() else { return Ok(sources) };
    let changes = |commit_id| repo.commit(commit_id).and_then(|commit| repo.changes_of(&commit));
    let squashed: HashSet<BString> = repo.changes_of(commit)?.into_iter().map(|change| change.path).collect();
    let mut left = Vec::new();
    for source in sources {
        let change = changes(source)?;
        let is_apart = !change.iter().any(|change| squashed.contains(&change.path));
        if !is_apart || !is_picked(reader, commit, tip, source, &change)? {
            left.push(source);
        }
    }
    Ok(left)
}

/// Says whether a commit that the branch has, and a squashed branch with this tip has not, has the records and the change of
/// another commit.
fn is_picked(
    reader: &Reader<'_>,
    commit: &Commit,
    tip: ObjectId,
    source: ObjectId,
    change: &[PathChange],
) -> Result<bool> {
    let repo = reader.repo();
    let wanted = said(reader, source)?;
    if wanted.is_empty() {
        return Ok(false);
    }
    let beside = Range { tips: commit.parent_ids.clone(), hidden: vec![tip] };
    for step in repo.walk(&beside, Order::NewestFirst)?.take(MAX_BESIDE) {
        let other = step?.commit_id;
        if wanted.is_subset(&said(reader, other)?) {
            let theirs = repo.commit(other).and_then(|commit| repo.changes_of(&commit))?;
            if is_same_change(repo, change, &theirs) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Says whether two changes have the same patch id.
fn is_same_change(repo: &Repository, one: &[PathChange], other: &[PathChange]) -> bool {
    let has_same_paths = one.iter().map(|change| &change.path).eq(other.iter().map(|change| &change.path));
    has_same_paths && repo.change_print(one) == repo.change_print(other)
}

/// Returns the commits that were squashed into a commit, oldest first: those that its message names, or those of the
/// squash that `git merge --squash` has put into the index.
fn squashed(recorder: &Recorder<'_>, commit: &Commit, last_move: Option<&ReflogEntry>) -> Result<Vec<ObjectId>> {
    let file = squash_file(recorder.repo);
    let kept: Option<Squash> = private::read_whole(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut sources = squashed_by(recorder.repo, &commit.message);
    if let Some(squash) = kept
        && last_move.is_none_or(ReflogEntry::is_new_work)
    {
        let (part, has_rest) = part_of(recorder, &squash, commit, !sources.is_empty())?;
        if has_rest && !part.is_empty() {
            write_squash(recorder.repo, &Squash { head: commit.commit_id.to_string(), is_rest: true, ..squash })?;
        } else {
            let _ = std::fs::remove_file(&file);
        }
        sources = part;
    }
    sources.reverse();
    Ok(sources)
}

/// Returns the squashed commits that changed a path of `commit`, and whether a part of the squash is still uncommitted.
///
/// `is_named` says whether the commit's message names the squashed commits.
fn part_of(recorder: &Recorder<'_>, squash: &Squash, commit: &Commit, is_named: bool) -> Result<(Vec<ObjectId>, bool)> {
    let ids: Vec<ObjectId> = squash.commits.iter().filter_map(|hex| recorder.repo.parse_id(hex)).collect();
    let (head, tree) = (recorder.repo.parse_id(&squash.head), recorder.repo.parse_id(&squash.tree));
    let (Some(head), Some(tree)) = (head, tree) else { return Ok((Vec::new(), false)) };
    if commit.parent_ids[..] != [head] {
        return Ok((Vec::new(), false));
    }
    let merged = recorder.repo.tree_changes(Some(recorder.repo.commit(head)?.tree_id), tree)?;
    let committed = recorder.repo.changes_of(commit)?;
    let paths: HashSet<&BStr> = committed.iter().map(|change| change.path.as_bstr()).collect();
    let is_in = |change: &PathChange| paths.contains(change.path.as_bstr());
    let is_whole = merged.iter().all(is_in);
    // A user who abandons a squash resets the index. After a reset, only equal content shows that the commit has the
    // squash.
    let is_given_up =
        || recorder.repo.head_reflog(2).get(1).is_some_and(|before| before.message.starts_with(b"reset: "));
    let has_content = merged.iter().any(|change| committed.contains(change));
    let is_squash = has_content || is_named || (is_whole && !is_given_up());
    if !is_squash {
        return Ok((Vec::new(), false));
    }
    if is_whole && !squash.is_rest {
        return Ok((ids, false));
    }
    let has_part = |id: &ObjectId| {
        let changed = recorder.repo.commit(*id).and_then(|commit| recorder.repo.changes_of(&commit));
        changed.is_ok_and(|changed| changed.iter().any(is_in))
    };
    Ok((ids.into_iter().filter(has_part).collect(), !is_whole))
}
