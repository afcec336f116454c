//! Joining records only where the archive proves that no words are lost.

use sha2::{Digest as _, Sha256};

use super::{Note, Record, Unit};
use crate::agent::{self, Agent};
use crate::archive::{self, Archive, Link};
use crate::git::{ObjectId, Repository};

/// Adds a record of ours to a note. It is joined with the record that it continues, and with another record only if the
/// archive proves that neither loses words: anyone can write a longer record of our session.
pub(crate) fn add_proven(repo: &Repository, note: &mut Note, record: Record) {
    let since = record.since.clone();
    note.add_if(record, |joined, part| {
        let goes_on = since.as_ref() == Some(&part.through) && !has_lost(repo, joined, part);
        goes_on || joined.through == part.through || has_all_of(repo, joined, part)
    });
}

/// Says whether the archive shows that `later` lacks words at the end of `record`, which it goes on from: the agent made its
/// file shorter in between.
pub(super) fn has_lost(repo: &Repository, later: &Record, record: &Record) -> bool {
    let ends = repo.parse_id(&later.through).zip(repo.parse_id(&record.through));
    let Some((later_id, through)) = ends.filter(|(later_id, _)| repo.has_object(*later_id)) else { return false };
    let key = later.key();
    let (links, _) = Archive::new(repo).only(&key).chain(later_id, Some(through));
    !keep_all(&links, through, record)
}

/// Says whether the segments after `through`, the last one of `record`, have all words of that record.
fn keep_all(links: &[Link], through: ObjectId, record: &Record) -> bool {
    let mut after = links.iter().take_while(|link| link.segment_id != through);
    after.all(|link| link.header.keep >= record.bytes) || ends_anew(record)
}

/// Says whether the agent of a record changes the last lines of its transcripts in place: a segment that does not keep them
/// has their words again.
pub(super) fn ends_anew(record: &Record) -> bool {
    agent::find(&record.agent).is_some_and(Agent::rewrites_last_lines)
}

/// Adds everything in `other` to a note. Two records are joined only if the archive proves that neither loses words.
pub(crate) fn merge_proven(repo: &Repository, note: &mut Note, other: Note) {
    note.add_lacking(other.into_units(), |note, unit| match unit {
        Unit::Record(record) => {
            note.add_if(*record, |joined, part| joined.through == part.through || has_all_of(repo, joined, part))
        }
        unit => note.add_line(unit),
    });
}

/// Says whether `later` has all words of `record`, as the stored segments show; only then may it replace `record`.
///
/// If the last segment of `record` is missing here, as in a clone that fetches only notes, nothing can be shown: anyone can
/// write a longer record of the same session, so both stay.
pub(crate) fn has_all_of(repo: &Repository, later: &Record, record: &Record) -> bool {
    let Some(through) = repo.parse_id(&record.through) else { return false };
    if !repo.has_object(through) {
        return false;
    }
    let key = later.key();
    let Some(later) = repo.parse_id(&later.through) else { return false };
    let archive = Archive::new(repo).only(&key);
    let (links, _) = archive.chain(later, Some(through));
    if links.last().is_some_and(|link| link.segment_id == through) {
        return keep_all(&links, through, record);
    }
    // Two clones can have stored the same words in different segments.
    let text = archive.transcript(later).bytes();
    let beginning = usize::try_from(record.bytes).ok().and_then(|length| text.get(..length));
    beginning.is_some_and(|text| archive::hex(&Sha256::digest(text)) == record.sha256)
}
