//! Joining and dropping records of one session on one commit whose words overlap.

use std::collections::HashMap;

use super::covers::{ends_anew, has_lost};
use super::{Note, Reader, Record, Unit, bounds, has_all_of};
use crate::archive::Archive;
use crate::git::ObjectId;

/// In a note with more records than this, records are not compared with each other in the archive.
const MAX_COMPARED: usize = 64;

impl Reader<'_> {
    /// Joins the records of a note that continue each other, unless the agent made its file shorter in between: the words that
    /// are gone from it are in the first of them alone. Of two that begin at the same segment, the longer replaces
    /// the shorter only if the archive proves that it has all its words: anyone can write a longer record of someone
    /// else's session.
    pub(super) fn with_proven_joins(&self, note: Note) -> Note {
        if note.records().count() > MAX_COMPARED {
            return note.with_continued_records();
        }
        let lines: Vec<Record> = note.records().cloned().collect();
        let stands_apart = |record: &Record| {
            lines.iter().any(|other| {
                let (longer, shorter) = if other.bytes > record.bytes { (other, record) } else { (record, other) };
                longer.goes_on_with(shorter)
                    && longer.through != shorter.through
                    && !has_all_of(self.repo, longer, shorter)
            })
        };
        let (mut joined, mut apart) = (note.without_units(), Vec::new());
        for unit in note.into_units() {
            match &unit {
                Unit::Record(record) if stands_apart(record) => apart.push(unit),
                Unit::Record(record) => joined.add_if(record.as_ref().clone(), |one, part| {
                    one.through == part.through || has_all_of(self.repo, one, part) || !has_lost(self.repo, one, part)
                }),
                _ => joined.add_unit(unit),
            }
        }
        apart.into_iter().for_each(|unit| joined.add_line(unit));
        joined
    }

    /// Drops records whose increment lies within that of another record, as the chain of segments shows.
    pub(super) fn without_contained_records(&self, mut note: Note) -> Note {
        let records: Vec<_> = note.records().collect();
        // A note with more records was not written by us.
        if !(2..=MAX_COMPARED).contains(&records.len()) {
            return note;
        }
        let mut headers = HashMap::new();
        let mut is_within = |index: usize| {
            let inner = records[index];
            records.iter().enumerate().any(|(other, outer)| {
                other != index
                    && outer.key() == inner.key()
                    && outer.bytes >= inner.bytes
                    && self.contains(outer, inner, &mut headers)
            })
        };
        let within: Vec<bool> = (0..records.len()).map(&mut is_within).collect();
        let mut is_within = within.into_iter();
        note.retain(|unit| !(matches!(unit, Unit::Record(_)) && is_within.next() == Some(true)));
        note
    }

    /// Says whether the increment of `inner` lies within that of `outer`. `headers` caches the parent of each segment
    /// that was read, and how much of it is kept: the records of a session share one chain.
    fn contains(
        &self,
        outer: &Record,
        inner: &Record,
        headers: &mut HashMap<ObjectId, (Option<ObjectId>, u64)>,
    ) -> bool {
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
