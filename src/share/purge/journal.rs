//! The journal of a purge, written before anything is changed, and carrying it out.
//!
//! The journal has only ids, never words or patterns. A purge is carried out from it, whether at once or after an
//! interruption; every step can be repeated.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::copies::beginnings;
use super::{Purged, Removal, deadline, live};
use crate::archive::{self, Archive};
use crate::capture::State;
use crate::capture::pending::{self, Pending};
use crate::capture::state::FirstMessage;
use crate::error::{Error, Kind, Result};
use crate::git::private;
use crate::git::{Holders, ObjectId, REMOTES_PREFIX, Replaced, Repository, Unneeded, fault_point};
use crate::notes::{self, Changed};
use crate::record::tombstone::{self, Replacement, Tombstones};
use crate::record::{EARLIER_REF, Note, kept};
use crate::share::sync::{self, Level};
use crate::transcript::SessionKey;

/// The steps of a purge.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Journal {
    notes_ref: String,
    /// The tips of our refs, and the ids in their reflogs.
    tips: BTreeSet<String>,
    /// The replacements of purged segments.
    segments: BTreeMap<String, Replacement>,
    /// The file names of purged sessions.
    barred: BTreeSet<String>,
    /// The sessions with purged words, as agent and id.
    pub(super) sessions: Vec<(String, String)>,
    notes: Vec<NoteChange>,
    /// The names of the files with pending captures to remove. Earlier versions wrote whole paths.
    pub(super) pending: Vec<String>,
    /// The refs of ours that remotes had, by remote.
    held: BTreeMap<String, BTreeSet<String>>,
    /// How sessions began of which words go, by the names of their files: an agent may have removed its own.
    beginnings: BTreeMap<String, FirstMessage>,
}

/// The change of a note.
#[derive(Deserialize, Serialize)]
struct NoteChange {
    ref_name: String,
    commit: String,
    /// Its present blob.
    before: String,
    /// Its new blob; `None` if nothing is left.
    after: Option<String>,
}

impl Journal {
    /// Returns the journal of a purge whose steps are all done, but that left objects which other refs reach. The user was told.
    fn left_file(repo: &Repository) -> PathBuf {
        State::new(&repo.common_dir()).root().join("purge-left")
    }

    /// Reads the journal of a purge that was interrupted, or that left something; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`Kind::Corrupt`] if it exists and cannot be understood: words that were to be purged may still exist.
    fn read(repo: &Repository) -> Result<Option<Self>> {
        let files = [State::new(&repo.common_dir()).purge_journal(), Self::left_file(repo)];
        files.iter().find_map(|file| Self::read_from(repo, file).transpose()).transpose()
    }

    fn read_from(repo: &Repository, file: &Path) -> Result<Option<Self>> {
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", file, error)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let journal = match serde_json::from_str::<Journal>(&text) {
            // A journal of this version names the notes ref.
            Ok(journal) => Some(journal).filter(|journal| !journal.notes_ref.is_empty()),
            // An earlier version wrote only ids, one a line.
            Err(_) => Some(Journal { tips: text.lines().map(str::to_owned).collect(), ..Journal::default() })
                .filter(|journal| !journal.tips.is_empty()),
        };
        let journal = journal.filter(|journal| journal.has_only_ids(repo)).ok_or_else(|| {
            let why = format!("a purge was interrupted, and its journal '{}' cannot be read", file.display());
            let hint = format!("remove '{}' and purge again what was to go", file.display());
            Error::new(Kind::Corrupt, why).hint(hint)
        })?;
        Ok(Some(journal))
    }

    /// Says whether all ids are valid: an invalid one would be skipped.
    fn has_only_ids(&self, repo: &Repository) -> bool {
        let became = self.segments.values().filter_map(|became| became.became.as_ref());
        let of_notes = |change: &NoteChange| {
            let ids = [Some(&change.commit), Some(&change.before), change.after.as_ref()];
            ids.into_iter().flatten().all(|hex| repo.parse_id(hex).is_some())
        };
        let mut ids = self.tips.iter().chain(self.segments.keys()).chain(became);
        ids.all(|hex| repo.parse_id(hex).is_some()) && self.notes.iter().all(of_notes)
    }

    fn write(&self, repo: &Repository) -> Result<()> {
        private::write(&State::new(&repo.common_dir()).purge_journal(), self.text().as_bytes())
    }

    /// Writes down that all steps are done. If something is left, the next purge tries again to remove it.
    fn close(&self, repo: &Repository, is_left: bool) -> Result<()> {
        let left = Self::left_file(repo);
        match is_left {
            true => private::write(&left, self.text().as_bytes())?,
            false => private::remove(&left)?,
        }
        private::remove(&State::new(&repo.common_dir()).purge_journal())
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("a journal has only strings and numbers")
    }

    pub(super) fn marks(&self, repo: &Repository) -> Tombstones {
        let segment = |(hex, became): (&String, &Replacement)| Some((repo.parse_id(hex)?, became.clone()));
        Tombstones {
            segments: self.segments.iter().filter_map(segment).collect(),
            sessions: self.barred.iter().cloned().collect(),
        }
    }

    fn tips(&self, repo: &Repository) -> Vec<ObjectId> {
        let tips = self.tips.iter().filter_map(|hex| repo.parse_id(hex));
        tips.filter(|id| repo.has_object(*id)).collect()
    }
}

/// Says whether a purge was interrupted. An unreadable journal counts as one.
pub fn is_unfinished(repo: &Repository) -> bool {
    State::new(&repo.common_dir()).purge_journal().symlink_metadata().is_ok()
}

/// Finishes a purge that was interrupted, or that left objects which other refs reach; `None` if there is none.
///
/// # Errors
///
/// As [`carry_out`]. [`Kind::Corrupt`] if the journal cannot be read; it stays.
pub fn finish_interrupted(repo: &Repository) -> Result<Option<Purged>> {
    Journal::read(repo)?.map(|journal| finish(repo, journal, &HashSet::new())).transpose()
}

/// Carries out a plan: writes the journal, then marks, archive, notes and our own state, and deletes the objects.
///
/// No hook may run meanwhile: the caller holds the lock of our state.
///
/// # Errors
///
/// If a ref cannot be written, or Git cannot pack again.
pub fn carry_out(repo: &Repository, notes_ref: &str, plan: &Removal<'_>) -> Result<Purged> {
    let hex = |id: ObjectId| id.to_string();
    let left_over = Journal::read(repo)?.unwrap_or_default();
    let mut journal = Journal {
        notes_ref: notes_ref.to_owned(),
        segments: plan.marks.segments.iter().map(|(id, became)| (hex(*id), became.clone())).collect(),
        barred: plan.marks.sessions.iter().cloned().collect(),
        sessions: plan.sessions.iter().map(|key| (key.agent.clone(), key.id.clone())).collect(),
        tips: left_over.tips,
        ..Journal::default()
    };
    journal.segments.extend(left_over.segments);
    journal.beginnings = beginnings(repo, &plan.sessions)?;
    let with_words = super::notes_refs(repo, notes_ref);
    let tracking = repo.ref_names(REMOTES_PREFIX);
    // Also what an earlier purge has removed.
    let mut marks = Tombstones::read(repo)?;
    marks.segments.extend(journal.marks(repo).segments);
    marks.sessions.extend(journal.marks(repo).sessions);
    for name in &tracking {
        let Some((remote, held)) = on_remote(repo, &with_words, name) else { continue };
        // A push that is configured may replace a ref that was not fetched lately. After a purge of others, they have replaced it.
        let is_replaced =
            || Level::replaced_by(repo, &remote, notes_ref, &held, Level::None).is_ok_and(|by| by.is_some());
        if has_marked(repo, &marks, name) || plan.received.is_empty() && is_replaced() {
            journal.held.entry(remote).or_default().insert(held);
        }
    }
    // What an earlier purge has removed here is there until the next push.
    if plan.received.is_empty() {
        let remotes = repo.remotes();
        let unfetched = sync::Known::read(repo).unfetched(repo);
        let held = unfetched.iter().filter_map(|name| on_remote(repo, &with_words, name));
        for (remote, held) in held.filter(|(remote, _)| remotes.contains(remote)) {
            journal.held.entry(remote).or_default().insert(held);
        }
    }
    let own = with_words.iter().map(String::as_str).chain([archive::REF]);
    for name in own.chain(tracking.iter().map(String::as_str)) {
        journal.tips.extend(repo.tip(name)?.map(|tip| hex(tip.commit_id)));
        journal.tips.extend(repo.reflog(name).into_iter().map(hex));
    }
    for name in &with_words {
        for entry in notes::list(repo, name)? {
            let bytes = notes::read(repo, entry.note_blob_id)?;
            let Some(after) = plan.changed_note(repo, entry.annotated_id, &bytes) else { continue };
            let after = if after.is_empty() { None } else { Some(hex(repo.write_blob(&after)?)) };
            let (commit, before) = (hex(entry.annotated_id), hex(entry.note_blob_id));
            journal.notes.push(NoteChange { ref_name: name.clone(), commit, before, after });
        }
    }
    journal.pending = clean_pending(repo, plan)?;
    fault_point("purge-planned");
    journal.write(repo)?;
    fault_point("purge-journalled");
    finish(repo, journal, &plan.signed)
}

/// Returns the remote of a ref to which one is fetched, and the name that the remote has for it; `None` for purge marks.
fn on_remote(repo: &Repository, notes_refs: &[String], tracking: &str) -> Option<(String, String)> {
    let below = tracking.strip_prefix(REMOTES_PREFIX)?;
    let (remote, last) = below.rsplit_once('/')?;
    let known = repo.remotes();
    let is_of = |remote: &&String| below.strip_prefix(remote.as_str()).is_some_and(|rest| rest.starts_with('/'));
    let remote = known.iter().find(is_of).map_or(remote, String::as_str);
    let held = match last {
        "purged" => return None,
        "sessions" => archive::REF,
        last => {
            notes_refs.iter().find(|name| sync::notes_name(name) == last).map_or(notes::DEFAULT_REF, String::as_str)
        }
    };
    Some((remote.to_owned(), held.to_owned()))
}

/// Says whether a ref that was fetched has something that marks name.
pub(super) fn has_marked(repo: &Repository, marks: &Tombstones, tracking: &str) -> bool {
    if tracking.ends_with("/sessions") {
        let listing = Archive::new(repo).listing(tracking).unwrap_or_default();
        return listing.iter().any(|(path, id)| marks.bars_path(path, *id));
    }
    let entries = notes::list(repo, tracking).unwrap_or_default();
    let note = |entry: notes::Entry| notes::read(repo, entry.note_blob_id).unwrap_or_default();
    entries.into_iter().any(|entry| names_marked(repo, marks, &note(entry)))
}

/// Says whether a note names something that marks name.
fn names_marked(repo: &Repository, marks: &Tombstones, bytes: &[u8]) -> bool {
    let note = Note::parse_unjoined(bytes);
    let is_marked = |hex: &str| repo.parse_id(hex).is_some_and(|id| marks.segments.contains_key(&id));
    let mut evidence = note.evidence().into_iter();
    evidence.any(|evidence| marks.bars(&evidence.key()) || evidence.blob.as_deref().is_some_and(is_marked))
        || note.records_of_all_versions().any(|record| {
            let mut texts = record.rules.iter().flat_map(|rules| rules.texts());
            is_marked(&record.through)
                || record.since.as_deref().is_some_and(is_marked)
                || texts.any(|hex| is_marked(&hex))
        })
}

/// Redacts pending captures, and returns the names of the files that are to be removed.
fn clean_pending(repo: &Repository, plan: &Removal<'_>) -> Result<Vec<String>> {
    let state = State::new(&repo.common_dir());
    let mut gone = Vec::new();
    for path in pending::list(&state) {
        let Ok((pending, bytes)) = pending::read(&path) else { continue };
        let is_barred = match &pending {
            Pending::Commit(_) => false,
            Pending::Capture(capture) => plan.marks.bars(&SessionKey::new(&capture.agent, &capture.session)),
        };
        let is_of = |hex: &str| repo.parse_id(hex).is_some_and(|id| plan.earlier_commits.contains(&id));
        if is_barred || pending.commits().into_iter().any(is_of) {
            // No file of ours has a name that is no text.
            gone.extend(path.file_name().and_then(|name| Some(name.to_str()?.to_owned())));
        } else if let Some(redactor) = plan.redactor {
            pending::redact(&state, &path, pending, &bytes, redactor)?;
        }
    }
    Ok(gone)
}

/// Carries out a journal. `signed` as in [`Removal`].
fn finish(repo: &Repository, mut journal: Journal, signed: &HashSet<(ObjectId, SessionKey)>) -> Result<Purged> {
    let notes_ref = if journal.notes_ref.is_empty() { notes::DEFAULT_REF } else { &journal.notes_ref }.to_owned();
    let marks = journal.marks(repo);
    keep_known(repo, &notes_ref, &marks)?;
    if !marks.is_empty() {
        marks.write(repo, deadline())?;
    }
    fault_point("purge-marked");
    rewrite_archive(repo, &marks)?;
    fault_point("purge-archived");
    let with_words = super::notes_refs(repo, &notes_ref);
    for name in with_words.iter().map(String::as_str) {
        notes::rewrite(repo, name, "shiftlog: purge\n", deadline(), |entry, bytes| {
            let note = changed_note(repo, &journal, &marks, name, entry, bytes)?;
            let is_signed = |key| name == notes_ref && signed.contains(&(entry.annotated_id, key));
            Some(Changed { carried: carried(bytes, &note, is_signed), note })
        })?;
    }
    for name in with_words.iter().filter(|name| *name != EARLIER_REF) {
        kept::forget(repo, name, deadline())?;
    }
    fault_point("purge-noted");
    for name in repo.ref_names(REMOTES_PREFIX) {
        // The marks of others stay in force.
        if !name.ends_with("/purged") {
            repo.delete_ref(&name)?;
        }
    }
    fault_point("purge-unfetched");
    let sessions = journal.sessions.iter().map(|(agent, session)| SessionKey::new(agent, session)).collect();
    let agent_files = live::update(repo, &journal.marks(repo), &sessions, &journal.beginnings, &journal.pending)?;
    for name in with_words.iter().map(String::as_str).chain([archive::REF]) {
        repo.forget_reflog(name)?;
    }
    fault_point("purge-unlinked");
    let tips = journal.tips(repo);
    // What was purged earlier can have been fetched again since.
    let all = Tombstones::read(repo)?;
    let is_unneeded = |id, bytes: &[u8]| all.segments.contains_key(&id) || names_marked(repo, &all, bytes);
    let Unneeded { gone, held } = repo.unneeded(&tips, is_unneeded)?;
    let Holders { found: holders, rest: kept } = holders(repo, &with_words, &tips, &held)?;
    // What they have of histories before an earlier purge goes with them.
    journal.tips.extend(holders.iter().flat_map(|holder| &holder.own_ids).map(ToString::to_string));
    let left = repo.drop_objects(&gone)?;
    let temporary = if repo.has_precious_objects() { Vec::new() } else { repo.remove_left_objects()? };
    fault_point("purge-dropped");
    let purged = Purged {
        objects: gone.len() - left.len(),
        left,
        temporary,
        holders,
        kept,
        agent_files,
        moved_aside: State::new(&repo.common_dir()).moved_aside(),
        held: std::mem::take(&mut journal.held),
    };
    journal.close(repo, !purged.is_complete())?;
    Ok(purged)
}

/// Returns the new bytes of a note; `None` if it does not change.
fn changed_note(
    repo: &Repository,
    journal: &Journal,
    marks: &Tombstones,
    ref_name: &str,
    entry: notes::Entry,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let (commit, before) = (entry.annotated_id.to_string(), entry.note_blob_id.to_string());
    let planned = journal
        .notes
        .iter()
        .find(|change| change.ref_name == ref_name && change.commit == commit && change.before == before);
    if let Some(change) = planned {
        let Some(after) = &change.after else { return Some(Vec::new()) };
        if let Some(note) = repo.parse_id(after).and_then(|id| notes::read(repo, id).ok()) {
            return Some(note);
        }
    }
    // The note has changed since the journal was written.
    let mut note = Note::parse_unjoined(bytes);
    marks.apply(repo, &mut note).then(|| note.to_bytes())
}

/// Returns the part of a changed note that is not signed: what has not changed, and what takes the place of records that were
/// not signed.
fn carried(before: &[u8], after: &[u8], is_signed: impl Fn(SessionKey) -> bool) -> Vec<u8> {
    let before = Note::parse_unjoined(before);
    let mut carried = Note::parse_unjoined(after);
    carried.retain(|unit| before.units().contains(unit) || !unit.key().is_some_and(&is_signed));
    carried.to_bytes()
}

/// Finds the refs and the entries of reflogs that still reach removed words.
fn holders(repo: &Repository, with_words: &[String], tips: &[ObjectId], held: &HashSet<ObjectId>) -> Result<Holders> {
    if held.is_empty() {
        return Ok(Holders::default());
    }
    let is_ours = |name: &str| {
        with_words.iter().any(|own| own == name)
            || [archive::REF, tombstone::REF].contains(&name)
            || name.ends_with("/purged")
    };
    repo.holders(held, tips, is_ours)
}

fn rewrite_archive(repo: &Repository, marks: &Tombstones) -> Result<()> {
    let archive = Archive::new(repo);
    repo.replace_ref(archive::REF, "shiftlog: purge\n", deadline(), |tip| {
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        let listing = archive.listing_of(tip.tree_id)?;
        let mut there: HashSet<ObjectId> = listing.iter().map(|(_, id)| *id).collect();
        for (path, segment_id) in listing {
            if !marks.bars_path(&path, segment_id) {
                continue;
            }
            let became = marks.segments.get(&segment_id);
            let new_id = became.and_then(|became| repo.parse_id(became.became.as_deref()?));
            if let Some(new_id) = new_id.filter(|id| there.insert(*id)) {
                let (old_directory, name) = path.rsplit_once('/').unwrap_or_default();
                // A text that is no transcript gets another name with other words.
                let directory = archive.directory_of(new_id).unwrap_or_else(|_| old_directory.to_owned());
                let number = name.split('-').next().unwrap_or_default();
                new.push((format!("{directory}/{number}-{}.zst", new_id.to_hex_with_len(12)), new_id));
            }
            gone.push(path);
        }
        if gone.is_empty() {
            return Ok(None);
        }
        let carried_tree_id = archive.edited(tip.tree_id, Vec::new(), &gone)?;
        let tree_id = archive.edited(tip.tree_id, new, &gone)?;
        Ok(Some(Replaced { carried_tree_id, tree_id }))
    })?;
    Ok(())
}

/// Remembers the merged tips of remotes' refs, so that they are not fetched again: they still have the purged words.
fn keep_known(repo: &Repository, notes_ref: &str, marks: &Tombstones) -> Result<()> {
    let (archive, mut known) = (Archive::new(repo), Vec::new());
    let mut all = Tombstones::read(repo)?;
    all.segments.extend(marks.segments.clone());
    all.sessions.extend(marks.sessions.iter().cloned());
    for name in repo.ref_names(REMOTES_PREFIX) {
        let Some(tip) = repo.tip(&name)? else { continue };
        let own = match name.rsplit('/').next() {
            Some(last) if last == sync::notes_name(notes_ref) => notes_ref,
            Some("sessions") => archive::REF,
            _ => continue,
        };
        // A tip that is not merged must still be fetched, unless all that is not merged is purged.
        let Some(ours) = repo.tip(own)? else { continue };
        let is_merged = repo.merge_base(ours.commit_id, tip.commit_id).is_ok_and(|base| base == Some(tip.commit_id));
        let has_all = || match own {
            archive::REF => {
                let new = archive.added(ours.tree_id, tip.tree_id);
                new.is_ok_and(|new| new.iter().all(|(path, id)| all.bars_path(path, *id)))
            }
            _ => brings_no_notes(repo, &all, own, &name),
        };
        if is_merged || has_all() {
            known.push((name, tip.commit_id));
        }
    }
    sync::Known::add(repo, known)
}

/// Says whether a fetched notes ref has nothing that ours has not, besides what was purged.
fn brings_no_notes(repo: &Repository, marks: &Tombstones, own: &str, fetched: &str) -> bool {
    let is_here = |entry: notes::Entry| -> Result<bool> {
        let mut theirs = Note::parse_unjoined(&notes::read(repo, entry.note_blob_id)?);
        marks.apply(repo, &mut theirs);
        let ours = notes::get(repo, own, entry.annotated_id)?.unwrap_or_default();
        let ours: HashSet<&[u8]> = ours.lines().collect();
        Ok(theirs.to_bytes().lines().all(|line| line.is_empty() || ours.contains(line)))
    };
    notes::list(repo, fetched).is_ok_and(|entries| entries.into_iter().all(|entry| is_here(entry).unwrap_or(false)))
}
