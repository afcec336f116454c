//! Repairing what `fsck` found, from the history of our refs, from remotes and from the agents' own files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::damage;
use super::fsck::{Checked, Flaw, Problem, check};
use super::lost::lost_records;
use crate::archive::{Archive, Header, hex};
use crate::capture::State;
use crate::error::{Kind, Result};
use crate::git::date::Time;
use crate::git::{Asking, ObjectId, Repository};
use crate::progress::silent;
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Reader, Record, add_proven, redaction};
use crate::share::sync::{self, Level, Syncer};
use crate::transcript::{SessionKey, complete_lines};
use crate::{agent, notes};

/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Repairs what it can and returns what it did, one line each; with `is_dry_run`, returns what it would do. Removes
/// nothing but wrong paths of segments.
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
    repair.bad_entries()?;
    repair.wrong_paths()?;
    repair.unarchived_segments()?;
    repair.lost_segments()?;
    repair.overwritten_records()?;
    repair.damaged_notes()?;
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

    /// Fetches missing and damaged segments again. Of a session that still lacks some, the whole is stored again.
    fn lost_segments(&mut self) -> Result<()> {
        let (repo, notes_ref) = (self.repo, self.notes_ref);
        let lost = of(self.checked, Flaw::MissingSegment).chain(of(self.checked, Flaw::DamagedSegment));
        let sessions: BTreeSet<&SessionKey> = lost.filter_map(|problem| problem.session.as_ref()).collect();
        if sessions.is_empty() {
            return Ok(());
        }
        self.done.extend(match self.is_dry_run {
            true => repo.remotes().into_iter().map(|remote| format!("would fetch again what {remote} has")).collect(),
            false => ask_remotes(repo, notes_ref),
        });
        for session in sessions {
            if lacks_words(repo, notes_ref, session)?
                && rebuild(repo, notes_ref, session, &self.purged, self.is_dry_run)?
            {
                self.tell("stored", "store", &format!("session {session} anew from the agent's own file"));
            }
        }
        Ok(())
    }

    fn overwritten_records(&mut self) -> Result<()> {
        let lost = lost_records(self.repo, self.notes_ref)?;
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

fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Fetches the segments of all remotes again and merges them.
fn ask_remotes(repo: &Repository, notes_ref: &str) -> Vec<String> {
    let plan = sync::Exchange { pull: Level::All, push: Level::None, is_dry_run: false };
    let syncer = Syncer::new(repo, notes_ref, Asking::Allowed);
    let ask = |remote: String| match syncer.fetch_again(&remote).and_then(|()| syncer.sync(&remote, plan)) {
        Ok(_) => format!("fetched again what {remote} has"),
        Err(error) => format!("asked {remote} in vain: {error}"),
    };
    repo.remotes().into_iter().map(ask).collect()
}

/// Returns the records of a session with their commits.
fn records_of(repo: &Repository, notes_ref: &str, session: &SessionKey) -> Result<Vec<(ObjectId, Record)>> {
    let mut found = Vec::new();
    for entry in notes::list(repo, notes_ref)? {
        let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
        let records = note.records().filter(|record| record.key() == *session);
        found.extend(records.map(|record| (entry.annotated_id, record.clone())));
    }
    Ok(found)
}

fn lacks_words(repo: &Repository, notes_ref: &str, session: &SessionKey) -> Result<bool> {
    let archive = Archive::new(repo).only(session);
    let is_whole = |record: &Record| {
        repo.parse_id(&record.through).is_some_and(|through| archive.transcript(through).problems.is_empty())
    };
    Ok(records_of(repo, notes_ref, session)?.iter().any(|(_, record)| !is_whole(record)))
}

/// Stores a transcript as segments that end at `ends`, and returns them by these ends.
fn store(
    archive: &Archive<'_>,
    session: &SessionKey,
    stored: &[u8],
    ends: BTreeSet<u64>,
) -> Result<BTreeMap<u64, ObjectId>> {
    let mut segments: BTreeMap<u64, ObjectId> = BTreeMap::new();
    let (mut parent, mut from) = (None, 0);
    for end in ends {
        let range = |from: u64, to: u64| &stored[from as usize..to as usize];
        let header = Header {
            shiftlog: 1,
            agent: session.agent.clone(),
            session: session.id.clone(),
            parent: parent.map(|id: ObjectId| id.to_string()),
            keep: from,
            bytes: end - from,
            sha256: hex(&Sha256::digest(range(0, end))),
            time: Time::now().to_rfc3339(),
        };
        let segment_id = archive.write(&header, range(from, end))?;
        segments.insert(end, segment_id);
        (parent, from) = (Some(segment_id), end);
    }
    let new: Vec<ObjectId> = segments.values().copied().collect();
    archive.add(session, &new, deadline())?;
    Ok(segments)
}

/// Stores a session again from the agent's own transcript, if its digest still matches the records, and updates the records
/// to the new segments. Returns whether it did; with `is_dry_run`, whether it would.
///
/// Does nothing if words of the session were purged: the agent's file still has them.
fn rebuild(
    repo: &Repository,
    notes_ref: &str,
    session: &SessionKey,
    purged: &Tombstones,
    is_dry_run: bool,
) -> Result<bool> {
    let records = records_of(repo, notes_ref, session)?;
    let ids = records.iter().flat_map(|(_, record)| [Some(&*record.through), record.since.as_deref()]).flatten();
    let named: Vec<ObjectId> = ids.filter_map(|hex| repo.parse_id(hex)).collect();
    if State::new(&repo.common_dir()).is_purged(session) || purged.concern(repo, session, &named)? {
        return Ok(false);
    }
    let Some(agent) = agent::find(&session.agent) else { return Ok(false) };
    let here = repo.worktree().unwrap_or(repo.git_dir());
    let Some(path) = agent.transcript(&session.id, here) else { return Ok(false) };
    let bytes = agent.read(&path)?;
    let redactor = redaction::redactor(repo)?;
    let (stored, _) = redactor.redact(&bytes[..complete_lines(&bytes)]);
    let has = |bytes: u64, sha256: &str| {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        stored.get(..length).is_some_and(|text| hex(&Sha256::digest(text)) == sha256)
    };
    let is_proven = |record: &Record| has(record.bytes, &record.sha256);
    // The lengths of the transcript at the segments that records name.
    let mut lengths: BTreeMap<String, u64> = BTreeMap::new();
    let archive = Archive::new(repo);
    for (_, record) in records.iter().filter(|(_, record)| is_proven(record)) {
        lengths.insert(record.through.clone(), record.bytes);
    }
    let Some(longest) = lengths.values().copied().max() else { return Ok(false) };
    if is_dry_run {
        return Ok(true);
    }
    for hex in records.iter().filter_map(|(_, record)| record.since.as_deref()) {
        let Some(header) = repo.parse_id(hex).and_then(|id| archive.header(id).ok()) else { continue };
        // A length in another transcript says nothing about this one.
        if header.total_bytes() <= longest && has(header.total_bytes(), &header.sha256) {
            lengths.insert(hex.to_owned(), header.total_bytes());
        }
    }
    let ends = lengths.values().copied().filter(|end| *end > 0).collect();
    let segments = store(&archive, session, &stored, ends)?;
    let renamed = |hex: &str| lengths.get(hex).and_then(|end| segments.get(end)).map(ToString::to_string);
    let message = format!("shiftlog: {session} stored anew\n");
    notes::carry(repo, notes_ref, &message, deadline(), |editor| {
        for (commit_id, _) in &records {
            let old = editor.get(*commit_id)?.unwrap_or_default();
            let mut note = Note::parse_unjoined(&old);
            note.map_records(|mut record| {
                if record.key() == *session && is_proven(&record) {
                    record.through = renamed(&record.through).unwrap_or(record.through);
                    record.since = record.since.map(|since| renamed(&since).unwrap_or(since));
                }
                Some(record)
            });
            if note.to_bytes() != old {
                editor.replace(*commit_id, &note.to_bytes())?;
            }
        }
        Ok(())
    })?;
    Ok(true)
}
