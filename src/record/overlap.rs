//! Records of one session on one commit whose words overlap: which of them stand for others.

use std::collections::{HashMap, HashSet};

use super::{Note, Reader, Record, Unit, bounds, has_all_of};
use crate::archive::Archive;
use crate::git::ObjectId;

/// The most records of one note that are compared with each other.
const MAX_COMPARED: usize = 64;

impl Reader<'_> {
    /// Joins the records of a note. Of two that begin at one place, the longer stands for both only if its segments prove
    /// that it has all the words of the other: anybody can write a longer record of somebody else's session.
    pub(super) fn joined(&self, note: Note) -> Note {
        if note.records().count() > MAX_COMPARED {
            return note.with_joined_records();
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
                _ => joined.add_unit(unit),
            }
        }
        apart.into_iter().for_each(|unit| joined.add_line(unit));
        joined
    }

    /// Drops records whose stretch lies within another's of the same session, which only the archive can tell.
    pub(super) fn settled(&self, mut note: Note) -> Note {
        let records: Vec<_> = note.records().collect();
        // A note that holds more is none that we made.
        if !(2..=MAX_COMPARED).contains(&records.len()) {
            return note;
        }
        let mut parents = HashMap::new();
        let mut is_within = |index: usize| {
            let inner = records[index];
            records.iter().enumerate().any(|(other, outer)| {
                other != index
                    && outer.key() == inner.key()
                    && outer.bytes >= inner.bytes
                    && self.contains(outer, inner, &mut parents)
            })
        };
        let within: Vec<bool> = (0..records.len()).map(&mut is_within).collect();
        let mut is_within = within.into_iter();
        note.retain(|unit| !(matches!(unit, Unit::Record(_)) && is_within.next() == Some(true)));
        note
    }

    /// Says whether the stretch of `inner` lies within that of `outer`. `parents` keeps which segment each follows: the
    /// records of a session are on one chain, and each link costs a read.
    fn contains(&self, outer: &Record, inner: &Record, parents: &mut HashMap<ObjectId, Option<ObjectId>>) -> bool {
        let parse = |hex: &str| self.repo.parse_id(hex);
        let stop = outer.since.as_deref().and_then(parse);
        let mut chain = HashSet::new();
        let mut next = parse(&outer.through);
        while let Some(segment_id) = next.filter(|id| chain.insert(*id)) {
            let is_last =
                Some(segment_id) == stop || (parents.len() >= bounds::MAX_LINKS && !parents.contains_key(&segment_id));
            if is_last {
                break;
            }
            next = *parents.entry(segment_id).or_insert_with(|| {
                let header = Archive::new(self.repo).header(segment_id).ok();
                header.and_then(|header| header.parent.as_deref().and_then(parse))
            });
        }
        let is_on_it = |hex: &str| parse(hex).is_some_and(|id| chain.contains(&id));
        let begins_inside = match &inner.since {
            Some(since) => is_on_it(since),
            None => outer.since.is_none(),
        };
        // The last link is `outer.since` itself, whose words are not part of the stretch.
        let ends_inside = is_on_it(&inner.through) && outer.since.as_ref() != Some(&inner.through);
        // Of two that end together, the one that begins later lies within the other.
        begins_inside && ends_inside && (inner.through != outer.through || inner.since != outer.since)
    }
}
