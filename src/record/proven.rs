//! Comparing the words of two records of one session by their segments in the archive.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use super::{Reader, Record, bounds};
use crate::agent::{self, Agent};
use crate::archive::{self, Archive, Link};
use crate::git::{ObjectId, Repository};

/// The segments that were read: the parent of each, and how much of that it keeps.
pub(crate) type Headers = HashMap<ObjectId, (Option<ObjectId>, u64)>;

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

impl Reader<'_> {
    /// Says whether the increment of `inner` lies within that of `outer`, a record of the same session. The records of a
    /// session share one chain, so `headers` is the same for all of them.
    pub(crate) fn contains(&self, outer: &Record, inner: &Record, headers: &mut Headers) -> bool {
        if outer.key() != inner.key() || outer.bytes < inner.bytes {
            return false;
        }
        let parse = |hex: &str| self.repo.parse_id(hex);
        let stop = outer.since.as_deref().and_then(parse);
        let key = outer.key();
        let archive = Archive::new(self.repo).only(&key);
        // How much of the transcript at each segment is left at the end of `outer`.
        let mut left = HashMap::new();
        let mut kept = u64::MAX;
        let mut next = parse(&outer.through);
        while let Some(segment_id) = next.filter(|id| !left.contains_key(id)) {
            left.insert(segment_id, kept);
            let is_last =
                Some(segment_id) == stop || (headers.len() >= bounds::MAX_LINKS && !headers.contains_key(&segment_id));
            if is_last {
                break;
            }
            let (parent, keep) = *headers.entry(segment_id).or_insert_with(|| {
                let header = archive.header(segment_id).ok();
                header.map_or((None, 0), |header| (header.parent.as_deref().and_then(parse), header.keep))
            });
            (next, kept) = (parent, kept.min(keep));
        }
        let left_at = |hex: &str| parse(hex).and_then(|id| left.get(&id).copied());
        let begins_inside = match &inner.since {
            Some(since) => left_at(since).is_some(),
            None => outer.since.is_none(),
        };
        // The chain ends with `outer.since`, whose words are not part of the increment.
        let is_left = |left: u64| left >= inner.bytes || ends_anew(inner);
        let ends_inside = left_at(&inner.through).is_some_and(is_left) && outer.since.as_ref() != Some(&inner.through);
        // Of two that end at the same segment, the one that begins later lies within the other.
        begins_inside && ends_inside && (inner.through != outer.through || inner.since != outer.since)
    }
}
