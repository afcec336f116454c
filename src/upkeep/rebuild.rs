//! Storing a session again from the agent's own file, because segments of it are missing or damaged.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use sha2::{Digest as _, Sha256};

use crate::archive::segment::TARGET_BYTES;
use crate::archive::{Archive, Header, hex};
use crate::capture::State;
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::record::tombstone::Tombstones;
use crate::record::{Note, Record, redaction};
use crate::transcript::{SessionKey, complete_lines};
use crate::{agent, notes};

/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns when a write that begins now is given up.
pub(super) fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Returns the records of a session with their commits.
fn records_of(repo: &Repository, notes_ref: &str, session: &SessionKey) -> Result<Vec<(ObjectId, Record)>> {
    let mut found = Vec::new();
    for entry in notes::list(repo, notes_ref)? {
        // What cannot be read is reported by 'fsck'.
        let Ok(bytes) = notes::read(repo, entry.note_blob_id) else { continue };
        let note = Note::parse(&bytes);
        let records = note.records().filter(|record| record.key() == *session);
        found.extend(records.map(|record| (entry.annotated_id, record.clone())));
    }
    Ok(found)
}

/// Says whether words of a session are missing: of a record, or of a segment that no record names yet.
///
/// # Errors
///
/// If a note or the archive's tree cannot be read.
pub(super) fn lacks_words(repo: &Repository, notes_ref: &str, session: &SessionKey) -> Result<bool> {
    let archive = Archive::new(repo).only(session);
    let is_whole = |record: &Record| {
        repo.parse_id(&record.through).is_some_and(|through| archive.transcript(through).problems.is_empty())
    };
    if records_of(repo, notes_ref, session)?.iter().any(|(_, record)| !is_whole(record)) {
        return Ok(true);
    }
    Ok(archive.segments_of(session)?.into_iter().any(|id| archive.read(id).is_err()))
}

/// The segments of a transcript that are in the archive.
#[derive(Default)]
struct Present {
    /// The segments whose chain is whole and whose words are those of the transcript, by the length of the transcript there.
    whole: BTreeMap<u64, ObjectId>,
    /// The lengths of the transcript at other segments, by their ids: segments that follow a lost one, and lost ones of which a
    /// successor tells it.
    lengths: BTreeMap<String, u64>,
    /// Whether the last segment of the session cannot be read.
    lacks_end: bool,
    /// Whether there is no segment that can be read.
    is_empty: bool,
}

impl Present {
    fn of(repo: &Repository, session: &SessionKey, transcript: &Transcript<'_>) -> Result<Self> {
        let archive = Archive::new(repo).only(session);
        let listed = archive.segments_of(session)?;
        let mut present = Present { is_empty: true, ..Present::default() };
        let mut whole = HashSet::new();
        for id in archive.in_chain_order(&listed) {
            let Ok((header, body)) = archive.read(id) else { continue };
            present.is_empty = false;
            let parent = header.parent.as_deref().and_then(|hex| repo.parse_id(hex));
            let is_attached = parent.map_or(header.keep == 0, |parent| whole.contains(&parent));
            if is_attached && transcript.range(header.keep, header.total_bytes()) == Some(&body[..]) {
                whole.insert(id);
                present.whole.insert(header.total_bytes(), id);
            } else if transcript.has(header.total_bytes(), &header.sha256) {
                present.lengths.insert(id.to_string(), header.total_bytes());
                // Of a lost parent, an increment needs no more than this.
                let parent = parent.filter(|parent| !whole.contains(parent) && archive.header(*parent).is_err());
                if let Some(parent) = parent {
                    present.lengths.entry(parent.to_string()).or_insert(header.keep);
                }
            }
        }
        present.lacks_end = listed.last().is_some_and(|last| archive.read(*last).is_err());
        Ok(present)
    }
}

/// A transcript as it is stored.
struct Transcript<'t>(Cow<'t, [u8]>);

impl Transcript<'_> {
    fn range(&self, from: u64, to: u64) -> Option<&[u8]> {
        self.0.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// Says whether it begins with a text of this length and digest.
    fn has(&self, bytes: u64, sha256: &str) -> bool {
        self.range(0, bytes).is_some_and(|text| hex(&Sha256::digest(text)) == sha256)
    }

    fn is_proven(&self, record: &Record) -> bool {
        self.has(record.bytes, &record.sha256)
    }

    /// Returns where a segment that begins at `from` ends, on the way to `to`: behind a line, and not much above the size of
    /// the segments that a capture writes.
    fn segment_end(&self, from: u64, to: u64) -> u64 {
        let least = from + TARGET_BYTES as u64;
        let line = self.range(least, to).and_then(|rest| rest.find_byte(b'\n'));
        line.map_or(to, |line| least + line as u64 + 1)
    }
}

/// Stores a transcript as segments of which some end at `ends`, and returns them by their ends. Builds on the segments `whole`.
fn store(
    archive: &Archive<'_>,
    session: &SessionKey,
    transcript: &Transcript<'_>,
    ends: BTreeSet<u64>,
    mut whole: BTreeMap<u64, ObjectId>,
) -> Result<BTreeMap<u64, ObjectId>> {
    let mut new = Vec::new();
    let (mut digest, mut digested) = (Sha256::new(), 0);
    for to in ends {
        while !whole.contains_key(&to) {
            let (keep, parent) = whole.range(..to).next_back().map_or((0, None), |(keep, id)| (*keep, Some(*id)));
            let end = transcript.segment_end(keep, to);
            digest.update(transcript.range(digested, end).unwrap_or_default());
            digested = end;
            let header = Header {
                shiftlog: 1,
                agent: session.agent.clone(),
                session: session.id.clone(),
                parent: parent.map(|id: ObjectId| id.to_string()),
                keep,
                bytes: end - keep,
                sha256: hex(&digest.clone().finalize()),
                time: Time::now().to_rfc3339(),
            };
            let segment_id = archive.write(&header, transcript.range(keep, end).unwrap_or_default())?;
            whole.insert(end, segment_id);
            new.push(segment_id);
        }
    }
    archive.add(session, &new, deadline())?;
    Ok(whole)
}

/// Stores a session again from the agent's own transcript, if its digest still matches the records, and updates the records
/// to the new segments. Returns the segments of the archive whose place the new ones take, lost ones and those that follow
/// a lost one; `None` if nothing was stored. With `is_dry_run`, stores nothing.
///
/// Does nothing if words of the session were purged: the agent's file still has them.
///
/// # Errors
///
/// If the agent's file cannot be read, or a ref cannot be written.
pub(super) fn rebuild(
    repo: &Repository,
    notes_ref: &str,
    session: &SessionKey,
    purged: &Tombstones,
    is_dry_run: bool,
) -> Result<Option<Vec<ObjectId>>> {
    let records = records_of(repo, notes_ref, session)?;
    let ids = records.iter().flat_map(|(_, record)| [Some(&*record.through), record.since.as_deref()]).flatten();
    let named: Vec<ObjectId> = ids.filter_map(|hex| repo.parse_id(hex)).collect();
    if State::new(&repo.common_dir()).is_purged(session) || purged.concern(repo, session, &named)? {
        return Ok(None);
    }
    let Some(agent) = agent::find(&session.agent) else { return Ok(None) };
    let here = repo.worktree().unwrap_or(repo.git_dir());
    let Some(path) = agent.transcript(&session.id, here) else { return Ok(None) };
    let bytes = agent.read(&path)?;
    let redactor = redaction::redactor(repo)?;
    let transcript = Transcript(redactor.redact(&bytes[..complete_lines(&bytes)]).0);
    let archive = Archive::new(repo);
    let Present { whole, mut lengths, lacks_end, is_empty } = Present::of(repo, session, &transcript)?;
    for (_, record) in records.iter().filter(|(_, record)| transcript.is_proven(record)) {
        lengths.insert(record.through.clone(), record.bytes);
    }
    for hex in records.iter().filter_map(|(_, record)| record.since.as_deref()) {
        let Some(header) = repo.parse_id(hex).and_then(|id| archive.header(id).ok()) else { continue };
        // A length in another transcript says nothing about this one.
        if transcript.has(header.total_bytes(), &header.sha256) {
            lengths.insert(hex.to_owned(), header.total_bytes());
        }
    }
    // A segment whose chain is whole keeps its name, also in records.
    let kept: HashSet<String> = whole.values().map(ToString::to_string).collect();
    lengths.retain(|hex, _| !kept.contains(hex));
    let mut ends: BTreeSet<u64> = lengths.values().copied().filter(|end| *end > 0).collect();
    let listed = archive.segments_of(session)?;
    let is_named = |id: &ObjectId| lengths.contains_key(&id.to_string());
    // How long the lost end of a session was is not known: a later capture would store the rest of the file as well.
    let is_its_file = !lengths.is_empty() || !whole.is_empty() || (records.is_empty() && is_empty);
    let stores_end = lacks_end && is_its_file && !listed.last().is_some_and(is_named) && !transcript.0.is_empty();
    if stores_end {
        ends.insert(transcript.0.len() as u64);
    }
    if ends.is_empty() {
        return Ok(None);
    }
    let gone = listed.iter().filter(|id| is_named(id) || (stores_end && archive.read(**id).is_err()));
    let gone: Vec<ObjectId> = gone.copied().collect();
    if is_dry_run {
        return Ok(Some(gone));
    }
    let segments = store(&archive, session, &transcript, ends, whole)?;
    let renamed = |hex: &str| lengths.get(hex).and_then(|end| segments.get(end)).map(ToString::to_string);
    let message = format!("shiftlog: {session} stored anew\n");
    notes::carry(repo, notes_ref, &message, deadline(), |editor| {
        for (commit_id, _) in &records {
            let old = editor.get(*commit_id)?.unwrap_or_default();
            let mut note = Note::parse_unjoined(&old);
            note.map_records(|mut record| {
                if record.key() == *session && transcript.is_proven(&record) {
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
    // A segment that was stored in the same second is the very same object again.
    Ok(Some(gone.into_iter().filter(|id| !segments.values().any(|new| new == id)).collect()))
}
