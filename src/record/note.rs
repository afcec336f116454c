//! The note of one commit: records, one a line, and other text, which is kept unchanged.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};

use super::remark;
use super::{Evidence, MAX_JOINED_TREES, Newer, Record, Unit};
use crate::transcript::SessionKey;

/// A new unit is compared with this many units at most: a note by someone else can have a million.
const MAX_COMPARED: usize = 1024;

/// A record that is not shown, because a purge mark of others names its session or its segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Hidden {
    /// The session.
    pub key: SessionKey,
    /// When the record was made; RFC 3339.
    pub time: String,
    /// The author of the mark and the date: `removed by A U Thor <author@example.com> on 2026-11-22, unsigned`.
    pub removed_by: String,
}

/// The note of one commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Note {
    units: Vec<Unit>,
    hidden: Vec<Hidden>,
    /// The evidence that purge marks of others name, without its words.
    pub(super) removed_evidence: Vec<Evidence>,
    /// The trees of the commits that its records were made for, also of joined records.
    trees: Vec<String>,
    /// Descriptions of parts that could not be read.
    problems: Vec<String>,
}

impl Note {
    /// Adds units at the end.
    pub(super) fn extend(&mut self, units: impl IntoIterator<Item = Unit>) {
        self.units.extend(units);
    }

    /// Remembers how many lines were left out of a note that is too large.
    pub(super) fn take_problem(&mut self, left_out: usize) {
        let problem = || format!("the note is too large: lines left out: {left_out}");
        self.problems.extend((left_out > 0).then(problem));
    }

    /// Returns the note with one more problem.
    pub(super) fn with_problem(mut self, why: &str) -> Self {
        self.problems.push(why.to_owned());
        self
    }

    /// Returns an empty note whose problem is `why`, for a note that cannot be read.
    pub(super) fn unreadable(why: String) -> Self {
        Note { problems: vec![why], ..Note::default() }
    }

    /// Returns descriptions of the parts that could not be read.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns the bytes of the note: the units in order, each with a line end.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut before: Option<&Unit> = None;
        for unit in &self.units {
            if let (Some(Unit::Foreign(before)), Unit::Foreign(remark)) = (before, unit)
                && before.runs_into(remark)
            {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(&unit.text());
            bytes.push(b'\n');
            before = Some(unit);
        }
        bytes
    }

    /// Consumes the note and returns the units in order.
    pub fn into_units(self) -> Vec<Unit> {
        self.units
    }

    fn add_tree(&mut self, record: &Record) {
        for tree in record.tree.iter().chain(&record.joined_trees) {
            if self.trees.len() >= MAX_JOINED_TREES {
                return;
            }
            if !self.trees.contains(tree) {
                self.trees.push(tree.clone());
            }
        }
    }

    /// Returns the trees of the commits that its records were made for, in hex; at most `MAX_JOINED_TREES`.
    pub fn trees(&self) -> &[String] {
        &self.trees
    }

    /// Returns the units in order.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Returns the records of this version in order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.units.iter().filter_map(|unit| match unit {
            Unit::Record(record) => Some(record.as_ref()),
            _ => None,
        })
    }

    /// Adds a record. A duplicate changes nothing; a record that continues or extends another is joined with it.
    pub fn add(&mut self, record: Record) {
        self.add_if(record, |_, _| true);
    }

    /// Adds a record, but joins two records only if `has_all_of(last, part)` holds for both parts, of which `last` is the one
    /// whose end the joined record has: no words are lost.
    pub(super) fn add_if(&mut self, mut record: Record, has_all_of: impl Fn(&Record, &Record) -> bool) {
        self.add_tree(&record);
        let can_join = |known: &Record, record: &Record| {
            known.last(record).is_some_and(|last| has_all_of(last, known) && has_all_of(last, record))
        };
        // Joining two can make the result join a third.
        loop {
            let found = self.compared().find_map(|(index, unit)| match unit {
                Unit::Record(known) if can_join(known, &record) => Some((index, known.joined(&record)?)),
                _ => None,
            });
            let Some((index, one)) = found else { break };
            let has_neighbour = self.compared().any(|(other, unit)| match unit {
                Unit::Record(known) => other != index && can_join(known, &one),
                _ => false,
            });
            if !has_neighbour {
                self.units[index] = Unit::Record(Box::new(one));
                return;
            }
            self.units.remove(index);
            record = one;
        }
        self.add_line(Unit::Record(Box::new(record)));
    }

    /// Returns the units that a new one is compared with: the last [`MAX_COMPARED`], which are all units of any note
    /// that we write.
    fn compared(&self) -> impl Iterator<Item = (usize, &Unit)> {
        self.units.iter().enumerate().skip(self.units.len().saturating_sub(MAX_COMPARED))
    }

    /// Adds the units of another note: records and documents with `add`, and the remarks that this note lacks. A
    /// paragraph that the other note has twice is there twice afterwards.
    pub(super) fn add_lacking(&mut self, units: impl IntoIterator<Item = Unit>, mut add: impl FnMut(&mut Self, Unit)) {
        let mut here: HashMap<BString, usize> = HashMap::new();
        for unit in &self.units {
            if let Unit::Foreign(remark) = unit {
                *here.entry(remark.content().into()).or_default() += 1;
            }
        }
        for unit in units {
            match &unit {
                Unit::Foreign(remark) => match here.get_mut(remark.content().as_bstr()) {
                    Some(count) if *count > 0 => *count -= 1,
                    _ => self.units.push(unit),
                },
                _ => add(self, unit),
            }
        }
    }

    /// Adds everything in `other` that this note lacks. Joins records.
    pub fn merge(&mut self, other: &Note) {
        self.problems.extend_from_slice(&other.problems);
        self.add_lacking(other.units.iter().cloned(), Note::add_unit);
        self.hide_all(other);
    }

    /// Adds the hidden records and evidence of another note.
    fn hide_all(&mut self, other: &Note) {
        other.hidden.iter().for_each(|hidden| self.hide(hidden.clone()));
        self.removed_evidence.extend_from_slice(&other.removed_evidence);
    }

    /// Returns the records that are not shown because of purge marks of others.
    pub fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// Adds a record that is not shown.
    pub(super) fn hide(&mut self, hidden: Hidden) {
        let is_new = !self.hidden.contains(&hidden);
        self.hidden.extend(is_new.then_some(hidden));
    }

    /// Adds a unit unless the note has it. Does not join records.
    pub(crate) fn add_line(&mut self, unit: Unit) {
        if let Unit::Record(record) = &unit {
            self.add_tree(record);
        }
        if !self.compared().any(|(_, known)| *known == unit) {
            self.units.push(unit);
        }
    }

    /// Returns a note without units, which may be large and are not copied, but with all else.
    pub(super) fn without_units(&self) -> Self {
        let mut note = Note { trees: self.trees.clone(), problems: self.problems.clone(), ..Note::default() };
        note.hide_all(self);
        note
    }

    /// Adds everything in `other` that this note lacks. Does not join records.
    pub(crate) fn merge_lines(&mut self, other: &Note) {
        self.problems.extend_from_slice(&other.problems);
        self.add_lacking(other.units.iter().cloned(), Note::add_line);
        self.hide_all(other);
    }

    /// Joins records that end at the same segment, and records with those before them that they continue. Of two that begin
    /// at the same segment and end at different ones, both stay: anyone can write a longer record of someone else's session.
    pub(super) fn with_continued_records(self) -> Self {
        let mut note = self.without_units();
        for unit in self.units {
            match unit {
                Unit::Record(record) => {
                    let since = record.since.clone();
                    note.add_if(*record, |last, part| {
                        last.through == part.through || since.as_ref() == Some(&part.through)
                    });
                }
                unit => note.add_unit(unit),
            }
        }
        note
    }

    /// Adds a unit of the same note. Joins records and drops duplicates, but keeps each remark.
    pub(crate) fn add_unit(&mut self, unit: Unit) {
        match unit {
            Unit::Record(record) => self.add(*record),
            Unit::Foreign(_) => self.units.push(unit),
            unit => self.add_line(unit),
        }
    }

    /// Says whether both notes have the same units, each as often, in any order.
    pub(crate) fn has_same_units(&self, other: &Note) -> bool {
        let count = |note: &Note, unit: &Unit| note.units.iter().filter(|known| *known == unit).count();
        let is_same = |unit| count(self, unit) == count(other, unit);
        self.units == other.units || (self.units.len() == other.units.len() && self.units.iter().all(is_same))
    }

    /// Removes the units for which `is_kept` is false.
    pub(crate) fn retain(&mut self, is_kept: impl FnMut(&Unit) -> bool) {
        self.units.retain(is_kept);
    }

    /// Drops the documents of earlier tools from which `migrate` made a record of this note.
    pub(super) fn drop_migrated(&mut self) {
        let made_of: std::collections::HashSet<_> = self
            .records_of_all_versions()
            .flat_map(|record| record.earlier.iter().map(|checksum| (record.key(), checksum.clone())))
            .collect();
        if !made_of.is_empty() {
            self.retain(|unit| match unit {
                Unit::Earlier(document, _) => !made_of.contains(&(document.key(), document.checksum.clone())),
                _ => true,
            });
        }
    }

    /// Replaces each unit by what `change` returns; drops it for `None`.
    pub(super) fn map_units(&mut self, change: impl FnMut(Unit) -> Option<Unit>) {
        self.units = std::mem::take(&mut self.units).into_iter().filter_map(change).collect();
    }

    /// Replaces each record of this version by what `change` returns; drops it for `None`.
    pub(crate) fn map_records(&mut self, mut change: impl FnMut(Record) -> Option<Record>) {
        for unit in std::mem::take(&mut self.units) {
            match unit {
                Unit::Record(record) => {
                    if let Some(record) = change(*record) {
                        self.add_line(Unit::Record(Box::new(record)));
                    }
                }
                unit => self.units.push(unit),
            }
        }
    }

    /// Replaces each record of a newer version by what `change` returns; drops it for `None`.
    pub(super) fn map_newer(&mut self, mut change: impl FnMut(Newer) -> Option<Newer>) {
        for unit in std::mem::take(&mut self.units) {
            match unit {
                Unit::Newer(newer) => self.units.extend(change(*newer).map(|newer| Unit::Newer(Box::new(newer)))),
                unit => self.units.push(unit),
            }
        }
    }

    /// Says whether the note has fragments of documents that an earlier tool merged line by line.
    pub fn is_damaged(&self) -> bool {
        self.units.iter().any(|unit| match unit {
            Unit::Foreign(line) => remark::is_fragment(line),
            _ => false,
        })
    }

    /// Returns how many lines look like records and cannot be read: a member is missing, or is none that a record can have.
    pub fn unreadable_records(&self) -> usize {
        let is_record = |unit: &&Unit| match unit {
            Unit::Foreign(line) => line.content().starts_with(b"{\"shiftlog\"") && unit.is_remark(),
            _ => false,
        };
        self.units.iter().filter(is_record).count()
    }

    /// Describes the parts of the note that were not read: lines beyond the limits, and records that cannot be parsed.
    pub fn unread(&self) -> Vec<String> {
        let records = match self.unreadable_records() {
            0 => None,
            1 => Some("it has a record that cannot be read".to_owned()),
            count => Some(format!("it has {count} records that cannot be read")),
        };
        self.problems.iter().cloned().chain(records).collect()
    }

    /// Says whether there is a record of a session.
    pub fn has_session(&self, key: &SessionKey) -> bool {
        self.records().any(|record| record.key() == *key)
    }

    /// Says whether there is a record of a session that ends with a segment.
    pub fn has_record_through(&self, key: &SessionKey, segment: Option<&str>) -> bool {
        self.records().any(|record| record.key() == *key && Some(&*record.through) == segment)
    }

    /// Returns the records in order, including those of newer versions, of which only known keys are read.
    pub fn records_of_all_versions(&self) -> impl Iterator<Item = &Record> {
        self.units().iter().filter_map(Unit::record)
    }

    /// Returns the evidence, by time. Repeated evidence counts once; a line whose text is stored is preferred.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut found: Vec<Evidence> = Vec::new();
        for evidence in self.units().iter().filter_map(Unit::evidence).chain(self.removed_evidence.iter().cloned()) {
            match found.iter_mut().find(|known| known.is_same(&evidence)) {
                Some(known) if known.blob.is_none() && evidence.blob.is_some() => *known = evidence,
                Some(_) => {}
                None => found.push(evidence),
            }
        }
        // A merge of Git's may have sorted the lines.
        found.sort_by(|a, b| (&a.time, &a.evidence, &a.id).cmp(&(&b.time, &b.evidence, &b.id)));
        found
    }

    /// Says whether the note has a conversation or evidence: what is carried to a rewritten commit.
    pub fn is_carried(&self) -> bool {
        self.has_conversation() || self.units().iter().any(|unit| unit.evidence().is_some())
    }

    /// Replaces each evidence by what `change` returns; drops it for `None`. A line that does not change stays as it is.
    pub(crate) fn map_evidence(&mut self, change: impl Fn(Evidence) -> Option<Evidence>) {
        self.map_units(|unit| {
            let Unit::Foreign(line) = &unit else { return Some(unit) };
            let Some(before) = Evidence::parse(line) else { return Some(unit) };
            let after = change(before.clone())?;
            Some(if after == before { unit } else { Unit::with_evidence(line, &after) })
        });
    }

    /// Returns the note without the packed transcripts of earlier tools: nothing in them can be read as it stands.
    pub fn without_packed(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for unit in self.units() {
            match unit {
                Unit::Earlier(document, own) => text.extend_from_slice(&document.without_transcript(own)),
                unit => text.extend_from_slice(&unit.text()),
            }
            text.push(b'\n');
        }
        text
    }

    /// Removes trees from `joinedTrees` of all records: to its author, an amended commit is still the same commit.
    pub(crate) fn forget_joined(&mut self, trees: &[String]) {
        self.map_records(|mut record| {
            record.joined_trees.retain(|tree| !trees.contains(tree));
            Some(record)
        });
    }

    /// Says whether the note has a record or a document.
    pub fn has_conversation(&self) -> bool {
        self.units.iter().any(|unit| !matches!(unit, Unit::Foreign(_)))
    }
}

#[cfg(test)]
pub(super) mod tests;
