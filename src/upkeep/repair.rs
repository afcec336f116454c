//! Repairing what `fsck` found, from the history of our refs, from remotes and from the agents' own files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::damage;
use super::fsck::{Checked, Flaw, check};
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

/// Repairs what it can and returns what it did, one line each; with `is_dry_run`, returns what it would do. Removes nothing but
/// wrong paths of segments.
///
/// Fetches missing segments from every remote, then looks in the agents' own stores. An agent's transcript is used only if
/// its digest is that of the record.
///
/// # Errors
///
/// If a ref cannot be written. A remote that cannot be reached is one of the returned lines.
pub fn repair(repo: &Repository, notes_ref: &str, checked: &Checked, is_dry_run: bool) -> Result<Vec<String>> {
    let line = |did: &str, would: &str, rest: String| match is_dry_run {
        true => format!("would {would} {rest}"),
        false => format!("{did} {rest}"),
    };
    let damaged: Vec<&str> = checked
        .problems
        .iter()
        .filter(|problem| problem.flaw == Flaw::DamagedRef)
        .map(|problem| problem.subject.as_str())
        .collect();
    if is_dry_run && !damaged.is_empty() {
        return Ok(damage::planned(repo, &damaged));
    }
    if !damaged.is_empty() {
        let mut done = damage::mend(repo, notes_ref, &damaged, deadline())?;
        // With damaged refs, nothing else was checked.
        let checked = check(repo, notes_ref, &mut silent())?;
        if !checked.problems.iter().any(|problem| problem.flaw == Flaw::DamagedRef) {
            done.extend(repair(repo, notes_ref, &checked, false)?);
        }
        return Ok(done);
    }
    let mut done = Vec::new();
    let archive = Archive::new(repo);
    // Purged words must not come back.
    let purged = Tombstones::read(repo)?;
    let is_barred = |id: ObjectId, session: &SessionKey| purged.segments.contains_key(&id) || purged.bars(session);
    let of = |flaw: Flaw| checked.problems.iter().filter(move |problem| problem.flaw == flaw);
    if of(Flaw::BadEntry).next().is_some() {
        let mended = match is_dry_run {
            true => of(Flaw::BadEntry).map(|problem| problem.subject.clone()).collect::<BTreeSet<_>>(),
            false => crate::share::check::mend(repo, notes_ref, deadline())?.into_iter().collect(),
        };
        let rest = |name: &String| format!("entries that do not belong there out of {name}");
        done.extend(mended.iter().map(|name| line("took", "take", rest(name))));
    }
    for problem in of(Flaw::WrongPath) {
        if let (Some(id), Some(session)) = (repo.parse_id(&problem.subject), &problem.session)
            && !is_barred(id, session)
        {
            if !is_dry_run {
                archive.rename(&problem.detail, session, id, deadline())?;
            }
            done.push(line("gave", "give", format!("segment {id} its own name")));
        }
    }
    for problem in of(Flaw::UnarchivedSegment) {
        if let (Some(id), Some(session)) = (repo.parse_id(&problem.subject), &problem.session) {
            // Anyone can write a record that names the segments of another session.
            let (links, error) = archive.only(session).chain(id, None);
            if links.is_empty() || error.is_some_and(|error| error.kind() == Kind::Corrupt) {
                continue;
            }
            let chain: Vec<ObjectId> = links.iter().rev().map(|link| link.segment_id).collect();
            if chain.iter().any(|id| is_barred(*id, session)) {
                continue;
            }
            if !is_dry_run {
                archive.add(session, &chain, deadline())?;
            }
            done.push(line("put", "put", format!("segment {id} back into the archive")));
        }
    }
    let is_lost = |flaw| flaw == Flaw::MissingSegment || flaw == Flaw::DamagedSegment;
    let sessions: BTreeSet<SessionKey> = checked
        .problems
        .iter()
        .filter(|problem| is_lost(problem.flaw))
        .filter_map(|problem| problem.session.clone())
        .collect();
    if !sessions.is_empty() {
        done.extend(match is_dry_run {
            true => repo.remotes().into_iter().map(|remote| format!("would fetch again what {remote} has")).collect(),
            false => ask_remotes(repo, notes_ref),
        });
        // If the remotes did not have the missing segments, the whole session is stored again.
        for session in &sessions {
            if lacks_words(repo, notes_ref, session)? && rebuild(repo, notes_ref, session, &purged, is_dry_run)? {
                done.push(line("stored", "store", format!("session {session} anew from the agent's own file")));
            }
        }
    }
    let lost = lost_records(repo, notes_ref)?;
    if !lost.is_empty() && !is_dry_run {
        notes::carry(repo, notes_ref, "shiftlog: records that were overwritten\n", deadline(), |editor| {
            for (commit_id, records) in &lost {
                let mut note = Note::parse_lines(&editor.get(*commit_id)?.unwrap_or_default());
                records.iter().for_each(|record| add_proven(repo, &mut note, record.clone()));
                editor.replace(*commit_id, &note.to_bytes())?;
            }
            Ok(())
        })?;
    }
    done.extend(lost.keys().map(|commit_id| line("put", "put", format!("back what was said on {commit_id}"))));
    for problem in of(Flaw::DamagedNote) {
        let Some(commit_id) = problem.commit_id else { continue };
        let mended = Reader::new(repo, Some(notes_ref)).note(commit_id)?.filter(|note| !note.is_damaged());
        if let Some(note) = mended {
            if !is_dry_run {
                notes::carry(repo, notes_ref, "shiftlog: a note put together again\n", deadline(), |editor| {
                    editor.replace(commit_id, &note.to_bytes())
                })?;
            }
            done.push(line("put", "put", format!("the note of {commit_id} together again")));
        }
    }
    Ok(done)
}

fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Fetches the segments of all remotes again and merges them.
fn ask_remotes(repo: &Repository, notes_ref: &str) -> Vec<String> {
    let plan = sync::Plan { pull: Level::All, push: Level::None, is_dry_run: false };
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
    let ends: BTreeSet<u64> = lengths.values().copied().collect();
    let mut segments: BTreeMap<u64, ObjectId> = BTreeMap::new();
    let (mut parent, mut from) = (None, 0);
    for end in ends.into_iter().filter(|end| *end > 0) {
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
    let renamed = |hex: &str| lengths.get(hex).and_then(|end| segments.get(end)).map(ToString::to_string);
    let message = format!("shiftlog: {session} stored anew\n");
    notes::carry(repo, notes_ref, &message, deadline(), |editor| {
        for (commit_id, _) in &records {
            let old = editor.get(*commit_id)?.unwrap_or_default();
            let mut note = Note::parse_lines(&old);
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
