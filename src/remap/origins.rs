//! Finding the commits whose change another commit makes.
//!
//! Read [`Mapper::find`]. `remap` decides which commits are examined and copies the records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use super::facts::{Facts, KnownFacts};
use super::lines::Lines;
use super::sources::Sources;
use crate::error::Result;
use crate::git::{Commit, ObjectId, Order, PathChange, Range, Repository, private};
use crate::notes;
use crate::record::{Note, Reader, Unit, merge_proven};

/// How much older than its source a copy may be: clocks differ.
pub(super) const CLOCK_SKEW_SECS: i64 = 300;
/// How many ends of a squashed range are tried for one commit.
pub(super) const MAX_TIPS: usize = 64;
/// How many sources are compared in one run with commits that may be parts of them. Each costs two trees, and most commits are a
/// part of nothing.
const MAX_COMPARED: usize = 2_000;

/// The commits whose records belong to a commit.
pub enum SourceCommits {
    /// None.
    Nothing,
    /// These commits together, the oldest first.
    Records(Vec<ObjectId>),
    /// Any one of these, which have different records.
    Several(Vec<ObjectId>),
}

/// The commits whose change a commit makes.
#[derive(Default)]
struct Copied {
    sources: Vec<ObjectId>,
    /// Whether a commit before it made the same change, which was reverted in between.
    is_made_again: bool,
}

/// Finds the commits whose records belong to other commits.
pub struct Mapper<'a, 'r> {
    reader: &'a Reader<'r>,
    pub(super) repo: &'r Repository,
    deadline: Instant,
    /// The changed paths of commits.
    pub changes: KnownFacts<'r>,
    /// The trees of the notes refs.
    trees: Vec<ObjectId>,
    /// All commits with a note; listed when first needed.
    pub(super) noted: Option<HashMap<ObjectId, Vec<ObjectId>>>,
    /// The commits with new notes; `None` if that is unknown. Commits that were examined before can only have these
    /// sources.
    pub(super) new_notes: Option<BTreeSet<ObjectId>>,
    /// Commits with records.
    pub(super) sources: Sources,
    /// The heads of branches by their changed paths: they may be tips of squashed ranges.
    pub(super) ends: Sources,
    /// The history of all heads; read when a merge base is first asked for.
    pub(super) lines: Option<Lines>,
    /// The paths that differ between two commits, by their ids.
    pub(super) between: HashMap<[ObjectId; 2], Vec<u32>>,
    /// The commit map of `git filter-repo`: each new commit with its old ones.
    pub(super) map: HashMap<ObjectId, Vec<ObjectId>>,
    /// Whether `git filter-branch` has left the heads that it rewrote.
    is_filtered: bool,
    /// How many sources may yet be compared with parts.
    pub(super) compared_left: usize,
    /// The heads of branches.
    pub(super) heads: Vec<ObjectId>,
    /// The records copied in this run.
    pub taken: BTreeMap<ObjectId, Note>,
}

impl<'a, 'r> Mapper<'a, 'r> {
    /// Makes a mapper that has read nothing yet. `new_notes` are the only sources for commits that are not new.
    pub fn new(
        reader: &'a Reader<'r>,
        heads: Vec<ObjectId>,
        new_notes: Option<BTreeSet<ObjectId>>,
        deadline: Instant,
    ) -> Self {
        let repo = reader.repo();
        let tips = reader.refs().iter().filter_map(|name| repo.tip(name).ok().flatten());
        Mapper {
            reader,
            repo,
            deadline,
            trees: tips.map(|tip| tip.tree_id).collect(),
            changes: KnownFacts::new(repo),
            noted: None,
            new_notes,
            sources: Sources::default(),
            ends: Sources::default(),
            lines: None,
            between: HashMap::new(),
            map: commit_map(repo),
            is_filtered: !repo.ref_names("refs/original/").is_empty(),
            compared_left: MAX_COMPARED,
            heads,
            taken: BTreeMap::new(),
        }
    }

    /// Adds the possible sources with their changed paths: the commits with new notes, or all with a note.
    pub fn add_sources(&mut self) -> Result<()> {
        let sources: Vec<ObjectId> = match (&self.new_notes, &self.noted) {
            // New notes are the only sources if no commit is new.
            (Some(new), None) => new.iter().copied().collect(),
            (_, Some(noted)) => noted.keys().copied().collect(),
            (None, None) => self.list_noted()?.keys().copied().collect(),
        };
        self.learn(&sources)?;
        for commit_id in sources {
            self.check_time()?;
            self.add_source(commit_id);
        }
        for head in self.heads.clone() {
            self.check_time()?;
            if let Some(facts) = self.changes.facts(head) {
                self.ends.add(head, facts);
            }
        }
        Ok(())
    }

    pub(super) fn list_noted(&mut self) -> Result<&HashMap<ObjectId, Vec<ObjectId>>> {
        if self.noted.is_none() {
            self.noted = Some(self.reader.noted()?);
            self.changes.load();
        }
        Ok(self.noted.get_or_insert_default())
    }

    /// Fails after the deadline.
    pub fn check_time(&self) -> Result<()> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        self.changes.save();
        Err(crate::error::Error::new(crate::error::Kind::Busy, "carrying records over takes too long here")
            .hint("'git shiftlog remap' does it by hand"))
    }

    fn add_source(&mut self, commit_id: ObjectId) {
        let Some(facts) = self.changes.facts(commit_id) else { return };
        if !facts.paths.is_empty() {
            self.sources.add(commit_id, facts);
        } else if self.repo.commit(commit_id).is_ok_and(|commit| commit.parent_ids.len() > 1) {
            self.sources.add_merge(commit_id, facts);
        }
    }

    /// Returns the note of a commit, or the records that this run copies to it.
    pub(super) fn note(&self, commit_id: ObjectId) -> Result<Option<Note>> {
        if let Some(note) = self.taken.get(&commit_id) {
            return Ok(Some(note.clone()));
        }
        if let Some(noted) = &self.noted {
            return if noted.contains_key(&commit_id) { self.reader.note(commit_id) } else { Ok(None) };
        }
        // The trees of the refs are read once, not for each commit without a note.
        for tree_id in &self.trees {
            if !notes::blobs_at(self.repo, *tree_id, commit_id)?.is_empty() {
                return self.reader.note(commit_id);
            }
        }
        Ok(None)
    }

    /// Says whether a commit has a conversation.
    pub(super) fn has_conversation(&self, commit_id: ObjectId) -> Result<bool> {
        // The refs and their trees are not read once more for each commit that is known to have a note.
        let blob_ids = self.noted.as_ref().and_then(|noted| noted.get(&commit_id));
        if blob_ids.is_some_and(|ids| self.reader.note_of_blobs(ids).is_ok_and(|note| note.has_conversation())) {
            return Ok(true);
        }
        Ok(self.note(commit_id)?.is_some_and(|note| note.has_conversation()))
    }

    /// Returns the records of some commits, as lines; for comparing. Of commits without records, their evidence: where
    /// there are records, they say which commits belong together.
    pub(super) fn records(&self, commit_ids: &[ObjectId]) -> Result<BTreeSet<Vec<u8>>> {
        let (mut records, mut observed) = (BTreeSet::new(), BTreeSet::new());
        for commit_id in commit_ids {
            for unit in self.note(*commit_id)?.iter().flat_map(Note::units) {
                match unit {
                    Unit::Record(record) => {
                        records.insert(format!("{} {:?} {}", record.key(), record.since, record.through).into_bytes())
                    }
                    Unit::Foreign(_) => match unit.evidence() {
                        Some(one) => {
                            observed.insert(format!("{} {} {}", one.evidence, one.id, one.sha256).into_bytes())
                        }
                        None => false,
                    },
                    unit => records.insert(unit.text().into_owned()),
                };
            }
        }
        Ok(if records.is_empty() { observed } else { records })
    }

    /// Says whether a commit has all records of others, or all evidence of commits without records.
    pub fn has_all(&self, commit_id: ObjectId, from: &[ObjectId]) -> Result<bool> {
        Ok(self.records(from)?.is_subset(&self.records(&[commit_id])?))
    }

    /// Remembers that a commit gets the records of others.
    pub fn take(&mut self, commit_id: ObjectId, from: &[ObjectId]) -> Result<()> {
        let mut taken = Note::default();
        for source in from {
            if let Some(note) = self.note(*source)? {
                merge_proven(self.repo, &mut taken, note);
            }
        }
        // Lines that people wrote are about the old commit.
        taken.retain(|unit| !unit.is_remark());
        self.taken.insert(commit_id, taken);
        self.add_source(commit_id);
        Ok(())
    }

    /// Finds the commits whose records belong to a commit that has none.
    pub fn find(&mut self, commit_id: ObjectId) -> Result<SourceCommits> {
        let Ok(commit) = self.repo.commit(commit_id) else { return Ok(SourceCommits::Nothing) };
        let named = self.named(&commit)?;
        if !named.is_empty() {
            return Ok(SourceCommits::Records(named));
        }
        let Some(facts) = self.changes.facts_of(&commit).cloned() else { return Ok(SourceCommits::Nothing) };
        if facts.paths.is_empty() {
            let merges = self.merged_again(&commit, &facts);
            return self.choose(&facts, merges);
        }
        let Copied { sources, is_made_again } = self.copied(&commit, &facts)?;
        if !sources.is_empty() {
            let ranges = sources.into_iter().map(|source| vec![source]).collect();
            return self.choose(&facts, ranges);
        }
        let mut ranges = self.squashed(&commit, &facts)?;
        if ranges.is_empty() && self.is_filtered {
            ranges = self.filtered(&commit, &facts);
        }
        if ranges.is_empty() && !is_made_again {
            ranges = self.parted(&commit, &facts)?;
        }
        self.choose(&facts, ranges)
    }

    /// Returns commits with records that `git filter-branch` may have rewritten to this one: it keeps author, committer,
    /// times and message.
    fn filtered(&mut self, commit: &Commit, facts: &Facts) -> Vec<Vec<ObjectId>> {
        let written_alike = self.sources.by_author(facts.author).to_vec();
        let is_source = |source: &ObjectId| {
            *source != commit.commit_id
                && self
                    .repo
                    .commit(*source)
                    .is_ok_and(|source| source.message == commit.message && source.committer.time.seconds == facts.time)
        };
        written_alike.into_iter().filter(is_source).map(|source| vec![source]).collect()
    }

    /// Returns merges with records that were made again as this one, by a rewriting of what they merge: author, author time and
    /// message are the same.
    fn merged_again(&self, commit: &Commit, facts: &Facts) -> Vec<Vec<ObjectId>> {
        let is_source = |source: &&ObjectId| {
            let source = self.repo.commit(**source).ok().filter(|source| source.commit_id != commit.commit_id);
            source.is_some_and(|source| {
                source.message == commit.message && source.parent_ids.len() == commit.parent_ids.len()
            })
        };
        let alike = self.sources.merges_by_author(facts.author);
        alike.iter().filter(is_source).map(|source| vec![*source]).collect()
    }

    /// Returns the commits with records that `git filter-repo` or `git cherry-pick -x` names as the source.
    fn named(&self, commit: &Commit) -> Result<Vec<ObjectId>> {
        let mut named = self.map.get(&commit.commit_id).cloned().unwrap_or_default();
        named.extend(commit.picked_from().filter_map(|hex| self.repo.parse_id(&hex)));
        let mut with_records = Vec::new();
        for source in named {
            if !self.records(&[source])?.is_empty() && !self.repo.has_become_empty(source, commit.commit_id) {
                with_records.push(source);
            }
        }
        Ok(with_records)
    }

    /// Returns commits with records that make the same change.
    fn copied(&mut self, commit: &Commit, facts: &Facts) -> Result<Copied> {
        let mut is_made_again = false;
        let (has_alike, written_alike) = (self.sources.has_paths(&facts.paths), self.sources.by_author(facts.author));
        if !has_alike && written_alike.is_empty() {
            return Ok(Copied::default());
        }
        let is_candidate = |source: &&ObjectId| **source != commit.commit_id;
        let written_alike: Vec<ObjectId> = written_alike.iter().filter(is_candidate).take(MAX_TIPS).copied().collect();
        let Ok(change) = self.repo.changes_of(commit) else { return Ok(Copied::default()) };
        let latest = facts.time + CLOCK_SKEW_SECS;
        let mut copied = Vec::new();
        if has_alike {
            let (repo, deadline) = (self.repo, self.deadline);
            let print = |source| {
                let changes = repo.commit(source).and_then(|source| repo.changes_of(&source)).unwrap_or_default();
                (Instant::now() < deadline).then(|| repo.change_print(&changes))
            };
            let alike = self.sources.printed_alike(&facts.paths, repo.change_print(&change), print);
            for source in alike {
                self.check_time()?;
                if source != commit.commit_id
                    && self.changes.facts(source).is_some_and(|facts| facts.time <= latest)
                    && self.makes(source, commit, &change)
                {
                    match self.is_copy(source, commit, facts)? {
                        true => copied.push(source),
                        false => is_made_again = true,
                    }
                }
            }
        }
        if copied.is_empty() {
            // If history was moved into or out of a directory, authors and blobs are the same.
            for source in written_alike {
                let has_as_many = |theirs: &Facts| theirs.paths.len() == facts.paths.len();
                if self.changes.facts(source).is_some_and(has_as_many)
                    && let Ok(theirs) = self.repo.commit(source).and_then(|source| self.repo.changes_of(&source))
                    && is_moved(&theirs, &change)
                {
                    copied.push(source);
                }
            }
        }
        self.check_time()?;
        Ok(Copied { sources: copied, is_made_again })
    }

    /// Says whether a commit with the same change is a copy of its source. If the source is its ancestor, the change was
    /// reverted in between and made again, which is new work, unless the subject says that it is reapplied, or author and
    /// author time are the same.
    fn is_copy(&mut self, source: ObjectId, commit: &Commit, facts: &Facts) -> Result<bool> {
        let subject = commit.subject();
        let is_brought_back = subject.starts_with(b"Reapply \"") || subject.starts_with(b"Revert \"Revert ");
        let is_same_work = self.changes.facts(source).is_some_and(|theirs| theirs.author == facts.author);
        if is_brought_back || is_same_work {
            return Ok(true);
        }
        Ok(self.repo.merge_base(commit.commit_id, source)? != Some(source))
    }

    /// Says whether a commit makes a change, byte for byte or by its patch id.
    fn makes(&self, source: ObjectId, commit: &Commit, change: &[PathChange]) -> bool {
        let Ok(source) = self.repo.commit(source) else { return false };
        let Ok(theirs) = self.repo.changes_of(&source) else { return false };
        let parent_tree = |commit: &Commit| {
            let parent = commit.parent_ids.first().and_then(|parent| self.repo.commit(*parent).ok());
            parent.map(|parent| parent.tree_id)
        };
        self.is_same([parent_tree(&source), parent_tree(commit)], [source.tree_id, commit.tree_id], [&theirs, change])
    }

    pub(super) fn is_same(
        &self,
        before: [Option<ObjectId>; 2],
        after: [ObjectId; 2],
        changes: [&[PathChange]; 2],
    ) -> bool {
        if changes[0] == changes[1] {
            return true;
        }
        let has_same_paths =
            changes[0].iter().map(|change| &change.path).eq(changes[1].iter().map(|change| &change.path));
        if !has_same_paths || self.repo.change_print(changes[0]) != self.repo.change_print(changes[1]) {
            return false;
        }
        let one = self.repo.patch_id(before[0], after[0]).unwrap_or_default();
        one.is_some() && one == self.repo.patch_id(before[1], after[1]).unwrap_or_default()
    }

    /// Chooses between possible sources. Sources with the same records count as one, and one that has all records of
    /// another replaces it.
    fn choose(&mut self, facts: &Facts, ranges: Vec<Vec<ObjectId>>) -> Result<SourceCommits> {
        let mut distinct: Vec<(Vec<ObjectId>, BTreeSet<Vec<u8>>)> = Vec::new();
        for range in ranges {
            let records = self.records(&range)?;
            if records.is_empty() || distinct.iter().any(|(_, known)| known.is_superset(&records)) {
                continue;
            }
            distinct.retain(|(_, known)| !records.is_superset(known));
            distinct.push((range, records));
        }
        if distinct.len() > 1 {
            let mut by_author = Vec::new();
            for (range, _) in &distinct {
                if range.len() == 1 && self.changes.facts(range[0]).is_some_and(|theirs| theirs.author == facts.author)
                {
                    by_author.push(range.clone());
                }
            }
            if let [one] = by_author.as_slice() {
                return Ok(SourceCommits::Records(one.clone()));
            }
        }
        Ok(match distinct.len() {
            0 => SourceCommits::Nothing,
            1 => SourceCommits::Records(distinct.remove(0).0),
            _ => SourceCommits::Several(distinct.into_iter().flat_map(|(range, _)| range).collect()),
        })
    }

    /// Returns commits with records that no branch reaches, if no reachable commit has those records.
    pub fn unplaced(&self, heads: &[ObjectId]) -> Result<Vec<ObjectId>> {
        let mut lost: HashSet<ObjectId> = self.noted.iter().flatten().map(|(id, _)| *id).collect();
        let mut placed: Vec<ObjectId> = self.taken.keys().copied().collect();
        let range = Range { tips: heads.to_vec(), hidden: Vec::new() };
        for step in self.repo.walk(&range, Order::AsFound)? {
            self.check_time()?;
            if lost.is_empty() {
                break;
            }
            let commit_id = step?.commit_id;
            if lost.remove(&commit_id) {
                placed.push(commit_id);
            }
        }
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let placed = self.records(&placed)?;
        let mut unplaced = Vec::new();
        for commit_id in lost {
            let records = self.records(&[commit_id])?;
            if !records.is_empty() && !records.is_subset(&placed) {
                unplaced.push(commit_id);
            }
        }
        unplaced.sort();
        Ok(unplaced)
    }
}

/// Says whether two changes are the same but for a directory in front of all paths of one of them.
fn is_moved(one: &[PathChange], other: &[PathChange]) -> bool {
    let (longer, shorter) = match (one.first(), other.first()) {
        (Some(a), Some(b)) if one.len() == other.len() => {
            if a.path.len() >= b.path.len() {
                (one, other)
            } else {
                (other, one)
            }
        }
        _ => return false,
    };
    let Some(prefix) = longer[0].path.strip_suffix(shorter[0].path.as_slice()) else { return false };
    prefix.ends_with(b"/")
        && longer.iter().zip(shorter).all(|(long, short)| {
            long.path.strip_prefix(prefix) == Some(short.path.as_slice())
                && (long.before, long.after) == (short.before, short.after)
        })
}

/// Reads the commit map of `git filter-repo`: an old and a new commit on each line; the new one is null if it was dropped.
fn commit_map(repo: &Repository) -> HashMap<ObjectId, Vec<ObjectId>> {
    let mut map: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    let text = private::text(&repo.common_dir().join("filter-repo/commit-map"));
    for line in text.lines() {
        let mut ids = line.split_whitespace().map(|hex| repo.parse_id(hex));
        if let (Some(Some(old)), Some(Some(new))) = (ids.next(), ids.next())
            && !new.is_null()
            && old != new
        {
            map.entry(new).or_default().push(old);
        }
    }
    map
}
