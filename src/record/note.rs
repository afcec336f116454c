//! The note of one commit: records, one a line, and other lines, which are kept unchanged.

use bstr::{BString, ByteSlice as _};

use super::joined::MAX_JOINED_TREES;
use super::{Earlier, Newer, Record};
use crate::transcript::SessionKey;

/// A new unit is compared with this many units at most: a note by someone else can have a million.
const MAX_COMPARED: usize = 1024;

/// How many lines of one note are read for showing; a document of an earlier tool counts as one.
const MAX_READ_LINES: usize = 4096;

/// How many bytes of one note are read for showing, without transcripts of earlier tools.
const MAX_READ_BYTES: usize = 2 << 20;

/// The longest line that is parsed as a record for showing, in bytes. Our records have a few hundred.
const MAX_READ_LINE_BYTES: usize = 64 << 10;

/// How much of a note is parsed.
struct Bounds {
    lines: usize,
    bytes: usize,
    line_bytes: usize,
}

impl Bounds {
    /// Everything, for code that writes the note again.
    const NONE: Bounds = Bounds { lines: usize::MAX, bytes: usize::MAX, line_bytes: usize::MAX };
    /// As much as is shown.
    const READ: Bounds = Bounds { lines: MAX_READ_LINES, bytes: MAX_READ_BYTES, line_bytes: MAX_READ_LINE_BYTES };
}

/// One independent part of a note.
#[derive(Clone, Debug, PartialEq)]
pub enum Unit {
    /// A record of this version, one line.
    Record(Box<Record>),
    /// A record of a newer version, one line.
    Newer(Box<Newer>),
    /// A document of an earlier tool, and its unchanged text.
    Earlier(Box<Earlier>, BString),
    /// A line that is none of these, such as a remark by a person.
    Foreign(BString),
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
    /// The trees of the commits that its records were made for, also of joined records.
    trees: Vec<String>,
    /// Descriptions of parts that could not be read.
    problems: Vec<String>,
}

impl Note {
    /// Parses a whole note, to be written again. Never fails: lines that are not records are kept. Blank lines are
    /// dropped, duplicates count once, and records of one session that continue each other are joined.
    ///
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

    fn parse_within(bytes: &[u8], mut bounds: Bounds, mut add: impl FnMut(&mut Self, Record)) -> Self {
        let mut note = Note::default();
        let mut left_out = 0;
        let mut rest = bytes;
        let mut seen = std::collections::HashSet::new();
        while !rest.is_empty() {
            let end = rest.find_byte(b'\n').map_or(rest.len(), |end| end + 1);
            let line = rest[..end].trim();
            if line.is_empty() {
                rest = &rest[end..];
                continue;
            }
            let is_fragment = is_fragment(line);
            if bounds.lines == 0 || (bounds.bytes < line.len() && line.len() <= bounds.line_bytes && !is_fragment) {
                left_out += rest.lines().filter(|line| !line.trim().is_empty()).count();
                break;
            }
            bounds.lines -= 1;
            if line.first() == Some(&b'{') {
                let is_short = line.len() <= bounds.line_bytes;
                if let Some(record) = is_short.then(|| Record::parse(line)).flatten() {
                    add(&mut note, record);
                } else if let Some(newer) = is_short.then(|| Newer::parse(line)).flatten() {
                    note.add_line(Unit::Newer(Box::new(newer)));
                } else if let Some((document, text)) = Earlier::parse_prefix(rest) {
                    rest = &rest[text.len()..];
                    if text.len() - document.packed_bytes() <= bounds.line_bytes {
                        note.add_unit(Unit::Earlier(Box::new(document), text.trim().into()));
                    } else {
                        left_out += 1;
                    }
                    continue;
                } else if is_short {
                    note.add_unit(Unit::Foreign(line.into()));
                } else {
                    left_out += 1;
                }
            } else if line.len() > bounds.line_bytes && !is_fragment {
                left_out += 1;
            } else if seen.insert(line) {
                note.units.push(Unit::Foreign(line.into()));
            }
            if line.len() <= bounds.line_bytes {
                bounds.bytes = bounds.bytes.saturating_sub(line.len());
            }
            rest = &rest[end..];
        }
        if left_out > 0 {
            note.problems.push(format!("the note is too large: lines left out: {left_out}"));
        }
        note
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
        for unit in &self.units {
            bytes.extend_from_slice(&unit.text());
            bytes.push(b'\n');
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

    /// Returns the trees of the commits that its records were made for, in hex; at most [`MAX_JOINED_TREES`].
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

    /// Adds everything in `other` that this note lacks. Joins records.
    pub fn merge(&mut self, other: &Note) {
        self.problems.extend_from_slice(&other.problems);
        for unit in &other.units {
            match unit {
                Unit::Record(record) => self.add(record.as_ref().clone()),
                unit => self.add_unit(unit.clone()),
            }
        }
        other.hidden.iter().for_each(|hidden| self.hide(hidden.clone()));
    }

    /// Returns the records that are not shown because of purge marks of others.
    pub fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// Adds a record that is not shown.
    pub(super) fn hide(&mut self, hidden: Hidden) {
        if !self.hidden.contains(&hidden) {
            self.hidden.push(hidden);
        }
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

    /// Returns a note without units, but with the same hidden records and problems.
    pub(super) fn without_units(&self) -> Self {
        let (hidden, trees, problems) = (self.hidden.clone(), self.trees.clone(), self.problems.clone());
        Note { units: Vec::new(), hidden, trees, problems }
    }

    /// Adds everything in `other` that this note lacks. Does not join records.
    pub(crate) fn merge_lines(&mut self, other: &Note) {
        self.problems.extend_from_slice(&other.problems);
        other.units.iter().for_each(|unit| self.add_line(unit.clone()));
        other.hidden.iter().for_each(|hidden| self.hide(hidden.clone()));
    }

    /// Joins records that continue or extend each other, as [`Note::parse`] does.
    pub(super) fn with_joined_records(self) -> Self {
        let mut note = self.without_units();
        self.units.into_iter().for_each(|unit| note.add_unit(unit));
        note
    }

    /// Adds a unit unless the note has it. Joins records.
    pub(crate) fn add_unit(&mut self, unit: Unit) {
        if let Unit::Record(record) = unit {
            return self.add(*record);
        }
        self.add_line(unit);
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
            Unit::Foreign(line) => is_fragment(line),
            _ => false,
        })
    }

    /// Says whether the note has a record or a document.
    pub fn has_conversation(&self) -> bool {
        self.units.iter().any(|unit| !matches!(unit, Unit::Foreign(_)))
    }
}

/// Says whether a line is a fragment of a document that an earlier tool merged line by line.
fn is_fragment(line: &[u8]) -> bool {
    line.starts_with(b"\"checksum\"") || line.starts_with(b"\"transcript\"")
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
    fn foreign_lines_and_blank_lines_survive_or_vanish_as_promised() {
        let ours = record("s", None, "a", 10).to_line();
        let text = format!("a human's remark\n\n{ours}\n\n{ours}\na human's remark\n{{\"shiftlog\":2}}\n");
        let parsed = Note::parse(text.as_bytes());
        assert_eq!(parsed.to_bytes().as_bstr(), format!("a human's remark\n{ours}\n{{\"shiftlog\":2}}\n"));
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
