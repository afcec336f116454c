//! Repairing what `fsck` found, from the history of our refs, from remotes and from the agents' own files.

use std::collections::BTreeSet;
use std::path::Path;

use super::damage;
use super::fsck::{Checked, Flaw, Problem, check};
use super::lost::lost_records;
use super::nowhere::{lost_entries, take_out};
use super::rebuild::{deadline, lacks_words, rebuild};
use crate::archive::{Archive, MAX_FILE_BYTES};
use crate::capture::state::{DAMAGED, JUNK};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, ObjectId, Repository};
use crate::notes;
use crate::progress::silent;
use crate::record::tombstone::{self, Tombstones};
use crate::record::{Note, Reader, add_proven};
use crate::share::check::Holds;
use crate::share::sync::{self, Level, Syncer};
use crate::transcript::SessionKey;

/// Repairs what it can and returns what it did, one line each; with `is_dry_run`, returns what it would do. Removes nothing but
/// wrong paths of segments, and the names of segments and notes that are nowhere, with the history that has them.
///
/// Fetches missing segments from every remote, then looks in the agents' own stores. An agent's transcript is used only if
/// its digest is that of the record.
///
/// # Errors
///
/// If a ref cannot be written. A remote that cannot be reached is one of the returned lines.
pub fn repair(repo: &Repository, notes_ref: &str, checked: &Checked, is_dry_run: bool) -> Result<Vec<String>> {
    let damaged: Vec<&str> = of(checked, Flaw::DamagedRef).map(|problem| problem.subject.as_str()).collect();
    if !damaged.is_empty() {
        return repair_refs(repo, notes_ref, &damaged, is_dry_run);
    }
    let purged = Tombstones::read(repo)?;
    let mut repair = Repair { repo, notes_ref, checked, purged, is_dry_run, done: Vec::new() };
    repair.lost_marks()?;
    repair.bad_entries()?;
    repair.junk()?;
    repair.wrong_paths()?;
    repair.unarchived_segments()?;
    repair.lost_segments()?;
    repair.overwritten_records()?;
    repair.damaged_notes()?;
    repair.lost_notes()?;
    Ok(repair.done)
}

/// Returns the problems of one kind.
fn of(checked: &Checked, flaw: Flaw) -> impl Iterator<Item = &Problem> {
    checked.problems.iter().filter(move |problem| problem.flaw == flaw)
}

/// Resets damaged refs, then repairs the rest: with damaged refs, nothing else was checked.
fn repair_refs(repo: &Repository, notes_ref: &str, damaged: &[&str], is_dry_run: bool) -> Result<Vec<String>> {
    if is_dry_run {
        return Ok(damage::planned(repo, damaged));
    }
    let mut done = damage::mend(repo, notes_ref, damaged, deadline())?;
    let checked = check(repo, notes_ref, &mut silent())?;
    if of(&checked, Flaw::DamagedRef).next().is_none() {
        done.extend(repair(repo, notes_ref, &checked, false)?);
    }
    Ok(done)
}

/// Repairs in refs that can be read. Each method repairs one kind of problem.
struct Repair<'r> {
    repo: &'r Repository,
    notes_ref: &'r str,
    checked: &'r Checked,
    /// Marks of purged words, which must not come back.
    purged: Tombstones,
    is_dry_run: bool,
    /// The repairs, one line each; with `is_dry_run`, those that would be made.
    done: Vec<String>,
}

impl Repair<'_> {
    /// Adds a line that begins with `did`; with `is_dry_run`, with "would" and `would`.
    fn tell(&mut self, did: &str, would: &str, rest: &str) {
        self.done.push(match self.is_dry_run {
            true => format!("would {would} {rest}"),
            false => format!("{did} {rest}"),
        });
    }

    fn is_barred(&self, id: ObjectId, session: &SessionKey) -> bool {
        self.purged.segments.contains_key(&id) || self.purged.bars(session)
    }

    fn bad_entries(&mut self) -> Result<()> {
        let named: BTreeSet<String> = of(self.checked, Flaw::BadEntry).map(|problem| problem.subject.clone()).collect();
        let mended = match self.is_dry_run || named.is_empty() {
            true => named,
            false => crate::share::check::mend(self.repo, self.notes_ref, deadline())?.into_iter().collect(),
        };
        for name in mended {
            self.tell("took", "take", &format!("entries that do not belong there out of {name}"));
        }
        Ok(())
    }

    /// Fetches lost purge marks again, and writes those anew that no remote has.
    fn lost_marks(&mut self) -> Result<()> {
        let lost = tombstone::lost_marks(self.repo)?;
        if lost.is_empty() {
            return Ok(());
        }
        self.damaged_files(lost.iter().map(|lost| lost.blob_id))?;
        let is_all = self.ask_remotes(Holds::Marks);
        let lost = tombstone::lost_marks(self.repo)?;
        if lost.is_empty() || !is_all {
            return Ok(());
        }
        if !self.is_dry_run {
            tombstone::write_anew(self.repo, &lost, deadline())?;
        }
        for lost in lost {
            self.tell("wrote", "write", &format!("the purge mark '{}' anew", lost.path));
        }
        Ok(())
    }

    /// Moves pending files aside that no version can have written: what is pending is a line of JSON.
    fn junk(&mut self) -> Result<()> {
        for path in of(self.checked, Flaw::Pending).map(|problem| Path::new(&problem.subject)) {
            let Ok(bytes) = std::fs::read(path) else { continue };
            let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let is_json = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line).is_ok();
            let Some(name) = path.file_name().filter(|_| !is_json) else { continue };
            let root = self.repo.common_dir().join("shiftlog");
            let aside = |number: usize| root.join(format!("{JUNK}{number}-{}", name.to_string_lossy()));
            let free = (1..).map(aside).find(|file| !file.exists());
            let Some(aside) = free else { continue };
            if !self.is_dry_run {
                std::fs::rename(path, &aside).map_err(|error| Error::io("rename", path, error))?;
            }
            let rest = format!("'{}' to '{}': it is no capture", path.display(), aside.display());
            self.tell("moved", "move", &rest);
        }
        Ok(())
    }

    fn wrong_paths(&mut self) -> Result<()> {
        for (problem, session, id) in segments(self.repo, self.checked, Flaw::WrongPath) {
            if self.is_barred(id, session) {
                continue;
            }
            if !self.is_dry_run {
                Archive::new(self.repo).rename(&problem.detail, session, id, deadline())?;
            }
            self.tell("gave", "give", &format!("segment {id} its own name"));
        }
        Ok(())
    }

    fn unarchived_segments(&mut self) -> Result<()> {
        let archive = Archive::new(self.repo);
        for (_, session, id) in segments(self.repo, self.checked, Flaw::UnarchivedSegment) {
            // Anyone can write a record that names the segments of another session.
            let (links, error) = archive.only(session).chain(id, None);
            if links.is_empty() || error.is_some_and(|error| error.kind() == Kind::Corrupt) {
                continue;
            }
            let chain: Vec<ObjectId> = links.iter().rev().map(|link| link.segment_id).collect();
            if chain.iter().any(|id| self.is_barred(*id, session)) {
                continue;
            }
            if !self.is_dry_run {
                archive.add(session, &chain, deadline())?;
            }
            self.tell("put", "put", &format!("segment {id} back into the archive"));
        }
        Ok(())
    }

    /// Fetches missing and damaged segments again. Sessions that still lack some are stored again, and the archive no longer
    /// names segments that are nowhere: 'git gc' fails at a missing object.
    fn lost_segments(&mut self) -> Result<()> {
        let (repo, notes_ref) = (self.repo, self.notes_ref);
        let is_lost = |problem: &&Problem| matches!(problem.flaw, Flaw::MissingSegment | Flaw::DamagedSegment);
        let lost: Vec<&Problem> = self.checked.problems.iter().filter(is_lost).collect();
        if lost.is_empty() {
            return Ok(());
        }
        self.damaged_files(lost.iter().filter_map(|problem| repo.parse_id(&problem.subject)))?;
        self.ask_remotes(Holds::Sessions);
        let sessions: BTreeSet<&SessionKey> = lost.iter().filter_map(|problem| problem.session.as_ref()).collect();
        let mut replaced = BTreeSet::new();
        for session in sessions {
            if !lacks_words(repo, notes_ref, session)? {
                continue;
            }
            if let Some(gone) = rebuild(repo, notes_ref, session, &self.purged, self.is_dry_run)? {
                self.tell("stored", "store", &format!("session {session} anew from the agent's own file"));
                replaced.extend(gone);
            }
        }
        self.lost_entries(replaced)
    }

    /// Moves files of segments and notes that Git cannot unpack out of its objects: it fails at them also where nothing names
    /// them, and writes no object in their place.
    fn damaged_files(&mut self, ids: impl Iterator<Item = ObjectId>) -> Result<()> {
        for id in ids {
            let Some(file) = self.repo.damaged_file(id, MAX_FILE_BYTES) else { continue };
            let aside = self.repo.common_dir().join("shiftlog").join(format!("{DAMAGED}{id}"));
            if !self.is_dry_run {
                std::fs::rename(&file, &aside).map_err(|error| Error::io("rename", &file, error))?;
            }
            self.tell("moved", "move", &format!("the damaged file of object {id} to '{}'", aside.display()));
        }
        Ok(())
    }

    /// Removes segments from the archive's tree and its history: those that were `replaced`, and those that are nowhere.
    fn lost_entries(&mut self, replaced: BTreeSet<ObjectId>) -> Result<()> {
        let lost = lost_entries(self.repo)?;
        // What a remote has is not known before it is asked.
        if self.is_dry_run && !self.repo.remotes().is_empty() {
            return Ok(());
        }
        for (id, session) in lost.iter().filter(|(id, _)| !replaced.contains(*id)) {
            let rest = format!("segment {id} of {session} out of the archive, because it is nowhere");
            self.tell("took", "take", &rest);
        }
        let gone: BTreeSet<ObjectId> = lost.keys().copied().chain(replaced).collect();
        if self.is_dry_run || gone.is_empty() {
            return Ok(());
        }
        let removed = take_out(self.repo, &gone, deadline())?;
        self.done.extend(removed.iter().map(|name| format!("removed '{name}', a damaged copy of what a remote has")));
        damage::forget_lost_segments(self.repo, &gone)
    }

    fn overwritten_records(&mut self) -> Result<()> {
        let lost = lost_records(self.repo, self.notes_ref)?.records;
        if !lost.is_empty() && !self.is_dry_run {
            let message = "shiftlog: records that were overwritten\n";
            notes::carry(self.repo, self.notes_ref, message, deadline(), |editor| {
                for (commit_id, records) in &lost {
                    let mut note = Note::parse_unjoined(&editor.get(*commit_id)?.unwrap_or_default());
                    records.iter().for_each(|record| add_proven(self.repo, &mut note, record.clone()));
                    editor.replace(*commit_id, &note.to_bytes())?;
                }
                Ok(())
            })?;
        }
        for commit_id in lost.keys() {
            self.tell("put", "put", &format!("back what was said on {commit_id}"));
        }
        Ok(())
    }

    fn damaged_notes(&mut self) -> Result<()> {
        for commit_id in of(self.checked, Flaw::DamagedNote).filter_map(|problem| problem.commit_id) {
            let mended = Reader::new(self.repo, Some(self.notes_ref)).note(commit_id)?;
            let Some(note) = mended.filter(|note| !note.is_damaged()) else { continue };
            if !self.is_dry_run {
                let message = "shiftlog: a note put together again\n";
                notes::carry(self.repo, self.notes_ref, message, deadline(), |editor| {
                    editor.replace(commit_id, &note.to_bytes())
                })?;
            }
            self.tell("put", "put", &format!("the note of {commit_id} together again"));
        }
        Ok(())
    }

    /// Fetches lost notes again. If every remote was asked and none has them, takes them out, with the history of the ref: 'git gc'
    /// fails at a missing object.
    fn lost_notes(&mut self) -> Result<()> {
        let (repo, notes_ref) = (self.repo, self.notes_ref);
        let is_of_history = of(self.checked, Flaw::LostObject).any(|problem| problem.subject == notes_ref);
        let bad: BTreeSet<ObjectId> =
            of(self.checked, Flaw::BadRecord).filter_map(|problem| problem.commit_id).collect();
        let lost = || -> Result<(Vec<notes::Entry>, BTreeSet<ObjectId>)> {
            let mut entries = if bad.is_empty() { Vec::new() } else { notes::list(repo, notes_ref)? };
            entries.retain(|entry| bad.contains(&entry.annotated_id));
            entries.retain(|entry| repo.is_lost(entry.note_blob_id, notes::MAX_NOTE_BYTES));
            let earlier = if is_of_history { lost_records(repo, notes_ref)?.earlier_blob_ids } else { BTreeSet::new() };
            Ok((entries, earlier))
        };
        let (now, earlier) = lost()?;
        if now.is_empty() && earlier.is_empty() {
            return Ok(());
        }
        self.damaged_files(now.iter().map(|entry| entry.note_blob_id).chain(earlier))?;
        let is_all = self.ask_remotes(Holds::Notes);
        let (now, earlier) = lost()?;
        // The history may still have the whole of a note that somebody has cut.
        let is_cut = |id: &ObjectId| now.iter().all(|entry| entry.annotated_id != *id);
        // What the ref had before somebody replaced it must be joined first.
        let must_wait = !is_all || bad.iter().any(is_cut) || repo.lost_tree(notes_ref)?.is_some();
        if must_wait || now.is_empty() && earlier.is_empty() {
            return Ok(());
        }
        for entry in &now {
            let rest = format!("the note of {} out of '{notes_ref}', because it is nowhere", entry.annotated_id);
            self.tell("took", "take", &rest);
        }
        self.tell("dropped", "drop", &format!("the history of '{notes_ref}', which names lost notes"));
        if self.is_dry_run {
            return Ok(());
        }
        let commit_ids: Vec<ObjectId> = now.iter().map(|entry| entry.annotated_id).collect();
        notes::take_out(repo, notes_ref, "shiftlog: remove lost notes\n", deadline(), &commit_ids)?;
        repo.forget_reflog(notes_ref)?;
        // The next exchange fetches these again, with all that they name.
        for name in repo.fetched_refs(&sync::notes_name(notes_ref)) {
            let names_lost = |entry: notes::Entry| repo.is_lost(entry.note_blob_id, notes::MAX_NOTE_BYTES);
            if notes::list(repo, &name).is_ok_and(|entries| entries.into_iter().any(names_lost)) {
                repo.delete_ref(&name)?;
                self.done.push(format!("removed '{name}', a damaged copy of what a remote has"));
            }
        }
        Ok(())
    }

    /// Fetches again what all remotes have, and joins it. Returns whether each could be asked; a dry run asks none.
    fn ask_remotes(&mut self, holds: Holds) -> bool {
        let remotes = self.repo.remotes();
        if self.is_dry_run {
            self.done.extend(remotes.iter().map(|remote| format!("would fetch again what {remote} has")));
            return remotes.is_empty();
        }
        let pull = if holds == Holds::Sessions { Level::All } else { Level::Notes };
        let plan = sync::Exchange { pull, push: Level::None, is_dry_run: false };
        let syncer = Syncer::new(self.repo, self.notes_ref, Asking::Allowed);
        let mut is_all = true;
        for remote in remotes {
            let asked = syncer.fetch_again(&remote, holds).and_then(|()| syncer.sync(&remote, plan));
            is_all &= asked.is_ok();
            self.done.push(match asked {
                Ok(_) => format!("fetched again what {remote} has"),
                Err(error) => format!("asked {remote} in vain: {error}"),
            });
        }
        is_all
    }
}

/// Returns the problems of one kind that name a segment, each with the segment and its session.
fn segments<'c>(
    repo: &'c Repository,
    checked: &'c Checked,
    flaw: Flaw,
) -> impl Iterator<Item = (&'c Problem, &'c SessionKey, ObjectId)> {
    of(checked, flaw).filter_map(move |problem| {
        let id = repo.parse_id(&problem.subject)?;
        Some((problem, problem.session.as_ref()?, id))
    })
}
