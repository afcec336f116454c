//! Archiving the transcripts of a session's documents, each word once, and making their records.
//!
//! Read [`store`].

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::{Document, Migration, Session, TIMEOUT};
use crate::archive::{Archive, hex};
use crate::capture::progress::Progress;
use crate::capture::reading::{Reading, Redaction, SessionContext, Survey};
use crate::capture::segment_end::SegmentEnd;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::record::{Note, Record};
use crate::transcript::{SessionKey, end_last_line};
use crate::{agent, notes};

/// An increment that a commit has already.
pub struct KnownIncrement {
    /// The rank of the oldest such commit; see [`Migration::ranks`].
    rank: usize,
    /// The end of the increment.
    mark: SegmentEnd,
    record: Record,
}

/// Archives a session and returns a record for each of its documents, with the document's commit.
///
/// The documents are stored in the order of their commits, but a document whose transcript is a prefix of another comes
/// before it.
pub fn store(
    repo: &Repository,
    plan: &mut Migration,
    session: &Session,
    mut known: HashMap<String, KnownIncrement>,
    redaction: &Redaction,
) -> Result<Vec<(ObjectId, Record)>> {
    let archive = Archive::new(repo);
    let mut progress = Progress::archived(&archive, &session.key)?;
    let mut segment_ids = Vec::new();
    let mut by_checksum: HashMap<&str, Record> = HashMap::new();
    for document in storage_order(repo, plan, session)? {
        let transcript = plan.transcript(repo, &session.key, document)?;
        let mut reading = read(&archive, session, document, redaction, &progress, transcript)?;
        let has_new = reading.end() > reading.kept();
        if !has_new {
            segment_ids.extend(reading.cut(&archive)?);
        }
        let rank = plan.rank(document.commit_id);
        let since = since(&archive, &known, &reading, rank);
        let from = reading.position(&since)?;
        let survey = reading.survey(&since, from, reading.end())?;
        if survey.until < reading.end() {
            let why = "its last lines begin a secret that does not end there";
            plan.leave(repo, document.commit_id, Some(&session.key), why);
            plan.removed.retain(|(_, key, checksum)| *key != session.key || *checksum != document.checksum);
            continue;
        }
        segment_ids.extend(reading.write(&archive, survey.until)?);
        reading.update(&mut progress);
        let through = progress.stored.segment.clone().unwrap_or_default();
        let record = match known.get_mut(&through) {
            // Two documents can differ only in redacted words.
            Some(known) => {
                known.rank = known.rank.min(rank);
                known.record.clone()
            }
            None => {
                let sha256 = reading.stored_sha256(&archive)?;
                let record = record(&session.key, since, &survey, &progress, sha256);
                let mark = progress.stored.clone();
                known.insert(through, KnownIncrement { rank, mark, record: record.clone() });
                record
            }
        };
        by_checksum.insert(&document.checksum, record);
    }
    if !segment_ids.is_empty() {
        archive.add(&session.key, &segment_ids, Instant::now() + TIMEOUT)?;
    }
    crate::git::fault_point("archived");
    Ok(records_of_documents(session, &by_checksum))
}

/// Returns the record of each document that was stored, with its commit. Time, checksum and, if the document has it,
/// the model are those of the document.
fn records_of_documents(session: &Session, by_checksum: &HashMap<&str, Record>) -> Vec<(ObjectId, Record)> {
    let records = session.documents.iter().filter_map(|document| {
        let record = by_checksum.get(document.checksum.as_str())?.clone();
        let time = document.time.to_rfc3339();
        let model = document.model.clone().or(record.model);
        let tokens = record.tokens.or(document.tokens.filter(|_| record.since.is_none()));
        let earlier = vec![document.checksum.clone()];
        Some((document.commit_id, Record { time, model, tokens, earlier, ..record }))
    });
    records.collect()
}

/// Compares a document's transcript with the archive.
fn read<'a>(
    archive: &Archive<'a>,
    session: &Session,
    document: &Document,
    redaction: &Redaction,
    progress: &Progress,
    mut transcript: Vec<u8>,
) -> Result<Reading<'a>> {
    let agent = agent::named(&session.key.agent)?;
    end_last_line(&mut transcript);
    let context = SessionContext { archive, agent, key: &session.key, redaction, purged: None, deadline: None };
    let reading = Reading::of_bytes(context, progress, transcript)?;
    Ok(reading.captured_at(document.time))
}

fn record(key: &SessionKey, since: SegmentEnd, survey: &Survey, progress: &Progress, sha256: String) -> Record {
    // The tree is unknown: the earlier tools did not record it.
    Record {
        since: since.segment,
        through: progress.stored.segment.clone().unwrap_or_default(),
        bytes: progress.stored.bytes,
        sha256,
        ..Record::of(key, &survey.tally)
    }
}

/// Returns the increments of these sessions that our notes already have, by the segment they end with.
pub fn known_increments(
    repo: &Repository,
    plan: &Migration,
    sessions: &[Session],
) -> Result<HashMap<SessionKey, HashMap<String, KnownIncrement>>> {
    let mut known: HashMap<SessionKey, HashMap<String, KnownIncrement>> = HashMap::new();
    for session in sessions {
        if Archive::new(repo).newest(&session.key)?.is_some() {
            known.insert(session.key.clone(), HashMap::new());
        }
    }
    if known.is_empty() {
        return Ok(known);
    }
    for entry in notes::list(repo, &plan.notes_ref)? {
        let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
        for record in note.records() {
            let Some(known) = known.get_mut(&record.key()) else { continue };
            let rank = plan.rank(entry.annotated_id);
            let mark = SegmentEnd::of_record(record);
            let record = Record { earlier: Vec::new(), tree: None, ..record.clone() };
            let increment = known.entry(record.through.clone()).or_insert(KnownIncrement { rank, mark, record });
            increment.rank = increment.rank.min(rank);
        }
    }
    Ok(known)
}

/// Returns the beginning of an increment: the nearest segment before it that an earlier commit has.
fn since(
    archive: &Archive<'_>,
    known: &HashMap<String, KnownIncrement>,
    reading: &Reading<'_>,
    rank: usize,
) -> SegmentEnd {
    let Some(parent) = reading.parent() else { return SegmentEnd::default() };
    let has_new = reading.end() > reading.kept();
    let fits = |segment_id: ObjectId| {
        let known = known.get(&segment_id.to_string()).filter(|known| known.rank < rank)?;
        (has_new || known.mark.bytes < reading.kept_bytes()).then(|| known.mark.clone())
    };
    // Usually the parent; only otherwise is the whole chain read.
    fits(parent).unwrap_or_else(|| {
        let (links, _) = archive.chain(parent, None);
        links.iter().find_map(|link| fits(link.segment_id)).unwrap_or_default()
    })
}

/// Returns the documents with different transcripts in the order of their commits. A document whose transcript is a
/// prefix of an earlier one comes before that one.
fn storage_order<'s>(repo: &Repository, plan: &Migration, session: &'s Session) -> Result<Vec<&'s Document>> {
    let mut seen = HashSet::new();
    let mut order: Vec<&Document> = Vec::new();
    for document in session.documents.iter().filter(|document| seen.insert(&document.checksum)) {
        let mut place = order.len();
        for (at, other) in order.iter().enumerate().filter(|(_, other)| other.bytes > document.bytes) {
            let transcript = plan.transcript(repo, &session.key, other)?;
            let beginning = transcript.get(..document.bytes).unwrap_or_default();
            if format!("sha256:{}", hex(&Sha256::digest(beginning))) == document.checksum {
                place = at;
                break;
            }
        }
        order.insert(place, document);
    }
    Ok(order)
}
