//! The note of one commit: records, one a line, and other text, which is kept unchanged.

use std::collections::HashMap;

use bstr::{BString, ByteSlice as _};

use super::joined::MAX_JOINED_TREES;
use super::parse::Bounds;
use super::remark::{self, Remark};
use super::{Earlier, Evidence, Newer, Record};
use crate::transcript::SessionKey;

/// A new unit is compared with this many units at most: a note by someone else can have a million.
const MAX_COMPARED: usize = 1024;

/// One independent part of a note.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// A record of this version, one line.
    Record(Box<Record>),
    /// A record of a newer version, one line.
    Newer(Box<Newer>),
    /// A document of an earlier tool, and its unchanged text.
    Earlier(Box<Earlier>, BString),
    /// A paragraph that is none of these, such as a remark by a person.
    Foreign(Remark),
}

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
    /// Parses a whole note, to be written again. Never fails: paragraphs that are not records are kept byte for byte.
    /// Blank lines before records are dropped, duplicate records count once, and records of one session that continue each
    /// other are joined.
    pub fn parse(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::NONE, Note::add)
    }

    /// Parses a whole note, to be written again, without joining records. Notes of other people must stay as they are:
    /// a joined record would have no author.
    pub(crate) fn parse_lines(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::NONE, Note::add_record_line)
    }

    /// Parses a note for showing: of a note larger than any that real work makes, the rest is left out, and
    /// [`Note::problems`] says so.
    pub fn read(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::READ, Note::add)
    }

    /// Parses a note for showing, without joining records.
    pub(crate) fn read_lines(bytes: &[u8]) -> Self {
        Self::parse_within(bytes, Bounds::READ, Note::add_record_line)
    }

    fn add_record_line(&mut self, record: Record) {
        self.add_line(Unit::Record(Box::new(record)));
    }

    /// Adds units at the end.
    pub(super) fn extend(&mut self, units: impl IntoIterator<Item = Unit>) {
        self.units.extend(units);
    }

    /// Remembers how many lines were left out of a note that is too large.
    pub(super) fn take_problem(&mut self, left_out: usize) {
        let problem = || format!("the note is too large: lines left out: {left_out}");
        self.problems.extend((left_out > 0).then(problem));
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

    /// Adds a record, but joins two records only if `has_all_of(joined, part)` holds for both parts: no words are lost.
    pub(super) fn add_if(&mut self, mut record: Record, has_all_of: impl Fn(&Record, &Record) -> bool) {
        self.add_tree(&record);
        let joined = |known: &Record, record: &Record| {
            known.joined(record).filter(|joined| has_all_of(joined, known) && has_all_of(joined, record))
        };
        // Joining two can make the result join a third.
        loop {
            let found = self.compared().find_map(|(index, unit)| match unit {
                Unit::Record(known) => joined(known, &record).map(|joined| (index, joined)),
                _ => None,
            });
            let Some((index, one)) = found else { break };
            let has_neighbour = self.compared().any(|(other, unit)| match unit {
                Unit::Record(known) => other != index && joined(known, &one).is_some(),
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

    /// Adds what another note does not show.
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
                    note.add_if(*record, |joined, part| {
                        joined.through == part.through || since.as_ref() == Some(&part.through)
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

    /// Says whether the note has a record or a document.
    pub fn has_conversation(&self) -> bool {
        self.units.iter().any(|unit| !matches!(unit, Unit::Foreign(_)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn record(session: &str, since: Option<&str>, through: &str, bytes: u64) -> Record {
        let line = serde_json::json!({
            "shiftlog": 1, "agent": "claude", "session": session, "time": "2026-11-20T13:49:00Z", "turns": 1,
            "messages": 2, "since": since, "through": through, "bytes": bytes, "sha256": "00",
        });
        Record::parse(line.to_string().as_bytes()).expect("a record")
    }

    pub fn note(records: &[Record]) -> Note {
        let mut note = Note::default();
        records.iter().for_each(|record| note.add(record.clone()));
        note
    }

    #[test]
    fn a_record_is_written_as_the_format_page_says() {
        let line = r#"{"shiftlog":1,"agent":"claude","session":"s","model":"m","time":"2026-11-20T13:49:00Z","prompt":"p","summary":"s","summaryTime":"2026-11-21T09:00:00Z","turns":3,"messages":12,"tokens":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4},"since":null,"through":"ab","bytes":5,"sha256":"00","later":{"x":1}}"#;
        assert_eq!(Record::parse(line.as_bytes()).expect("a record").to_line(), line, "unknown keys are kept");
    }

    #[test]
    fn foreign_lines_survive_and_repeated_records_count_once() {
        let ours = record("s", None, "a", 10).to_line();
        let text = format!("a human's remark\n\n{ours}\n\n{ours}\na human's remark\n{{\"shiftlog\":2}}\n");
        let parsed = Note::parse(text.as_bytes());
        let after = format!("a human's remark\n{ours}\na human's remark\n{{\"shiftlog\":2}}\n");
        assert_eq!(parsed.to_bytes().as_bstr(), after);
    }

    #[test]
    fn a_record_that_continues_another_joins_it_in_any_order() {
        let parts = [record("s", None, "a", 10), record("s", Some("a"), "b", 20), record("s", Some("b"), "c", 30)];
        for order in [[0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 2]] {
            let joined = note(&order.map(|index| parts[index].clone()));
            let records: Vec<_> = joined.records().collect();
            assert_eq!(records.len(), 1, "{order:?}");
            assert_eq!((records[0].since.as_deref(), records[0].through.as_str()), (None, "c"));
            assert_eq!((records[0].messages, records[0].bytes), (6, 30));
        }
    }

    #[test]
    fn the_newest_summary_stands_in_any_order_and_union_comes_to_rest() {
        let summarised = |record: Record, summary: &str, day: u8| Record {
            summary: Some(summary.into()),
            summary_time: Some(format!("2026-11-{day}T09:00:00Z")),
            ..record
        };
        let (short, long) = (record("s", None, "a", 10), record("s", None, "b", 12));
        let records = [
            short.clone(),
            summarised(short, "old", 20),
            long.clone(),
            summarised(long, "new", 21),
            record("s", None, "a", 10),
        ];
        for first in 0..records.len() {
            for step in 1..records.len() {
                let order: Vec<Record> =
                    (0..records.len()).map(|index| records[(first + index * step) % records.len()].clone()).collect();
                let (left, right) = (note(&order[..3]), note(&order[3..]));
                for (mut ours, theirs) in [(left.clone(), right.clone()), (right, left)] {
                    ours.merge(&theirs);
                    assert_eq!(ours.records().collect::<Vec<_>>(), [&records[3]], "{first} {step}");
                    ours.merge(&theirs);
                    assert_eq!(ours.records().collect::<Vec<_>>(), [&records[3]], "nothing is new any more");
                }
            }
        }
        let continued = [summarised(record("s", None, "a", 10), "first", 21), record("s", Some("a"), "b", 20)];
        for order in [[0, 1], [1, 0]] {
            let joined = note(&order.map(|index: usize| continued[index].clone()));
            let summaries: Vec<_> = joined.records().map(|record| record.summary.as_deref()).collect();
            assert_eq!(summaries, [Some("first")], "{order:?}");
        }
    }

    #[test]
    fn the_extended_record_stands_and_separate_stretches_stay() {
        let extended = note(&[record("s", None, "a", 10), record("s", None, "b", 12)]);
        assert_eq!(extended.records().map(|record| record.through.as_str()).collect::<Vec<_>>(), ["b"]);
        let apart = note(&[record("s", None, "a", 10), record("s", Some("b"), "c", 30), record("t", None, "a", 10)]);
        assert_eq!(apart.records().count(), 3);
    }

    #[test]
    fn without_a_look_at_the_archive_only_records_that_continue_others_are_joined() {
        let lines = [
            record("s", None, "a", 10),
            record("s", Some("a"), "b", 20),
            Record { prompt: Some("forged".into()), ..record("s", None, "f", 99) },
        ];
        let text = lines.each_ref().map(|record| record.to_line()).join("\n");
        let joined = Note::parse_lines(text.as_bytes()).with_continued_records();
        let ends: Vec<_> = joined.records().map(|record| (record.since.clone(), record.through.as_str())).collect();
        assert_eq!(ends, [(None, "b"), (None, "f")]);
    }

    proptest! {
        #[test]
        fn any_bytes_parse_and_parsing_again_changes_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let once = Note::parse(&bytes).to_bytes();
            prop_assert_eq!(Note::parse(&once).to_bytes(), once);
        }

        #[test]
        fn union_keeps_every_record_whatever_git_does_to_the_lines(
            a in proptest::collection::vec((0u8..3, 0u8..4), 0..6),
            b in proptest::collection::vec((0u8..3, 0u8..4), 0..6),
        ) {
            let make = |list: &[(u8, u8)]| {
                let mut note = Note::default();
                for (session, step) in list {
                    let since = (*step > 0).then(|| format!("{}", step - 1));
                    note.add(record(&session.to_string(), since.as_deref(), &step.to_string(), u64::from(*step) * 10));
                }
                note
            };
            let (left, right) = (make(&a), make(&b));
            let mut union = left.clone();
            union.merge(&right);
            // 'git notes merge -s cat_sort_uniq' sorts the lines of both and drops duplicates.
            let mut lines: Vec<Vec<u8>> = [left.to_bytes(), right.to_bytes()].concat()
                .lines().map(<[u8]>::to_vec).collect();
            lines.sort();
            lines.dedup();
            let sorted = Note::parse(&lines.join(&b'\n'));
            // The steps that the records of a note reach over, however they were joined.
            let reach = |note: &Note| {
                let steps = note.records().flat_map(|record| {
                    let first = record.since.as_ref().map_or(0, |since| since.parse::<u8>().expect("a step") + 1);
                    let last = record.through.parse::<u8>().expect("a step");
                    (first..=last).map(|step| (record.session.clone(), step))
                });
                steps.collect::<std::collections::BTreeSet<_>>()
            };
            prop_assert_eq!(reach(&union), reach(&sorted));
        }
    }
}
