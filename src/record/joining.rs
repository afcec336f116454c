//! Joining records of one session, and dropping those that another one contains. Records that others wrote are joined only
//! where the archive proves that no words are lost.

use std::collections::HashMap;

use super::proven::{Headers, has_all_of, has_lost};
use super::{MAX_JOINED_TREES, Note, Reader, Record, Unit, apart, edits};
use crate::git::Repository;
use crate::transcript::{SessionKey, UsageSums};

/// The records of a note are compared in the archive, each with those of its session, if that takes no more comparisons. A
/// squash of many sessions takes a few for each.
const MAX_COMPARISONS: usize = 64 * 64;
/// The problem of a note with more.
const UNCOMPARED: &str = "the note has too many records of one session to compare them: words may be shown twice";

/// Two records of one session that can be joined.
enum Order<'r> {
    /// Both begin at the same segment.
    Extends { longer: &'r Record, shorter: &'r Record },
    /// The second begins where the first ends.
    Continues { first: &'r Record, second: &'r Record },
}

impl Record {
    /// Says whether the increment of this record contains that of `other`, as far as the records show.
    pub(crate) fn covers(&self, other: &Record) -> bool {
        let begins_there = self.since == other.since;
        self.is_same_increment(other) || (begins_there && self.last(other).is_some() && self.bytes >= other.bytes)
    }

    /// Says whether this record begins where `other` begins and reaches at least as far. Records of the same increment
    /// may differ only in their summaries, and in what they say of the records that they were joined from.
    pub(crate) fn goes_on_with(&self, other: &Record) -> bool {
        let told = |record: &Record| Record { joined_trees: Vec::new(), ..record.without_summary() };
        let is_same = told(self) == told(other);
        is_same || (self.since == other.since && self.through != other.through && self.covers(other))
    }

    /// Returns the rank of the summary: of two, the higher one (the newer one) is kept.
    pub(super) fn summary_rank(&self) -> Option<(Option<&str>, &str)> {
        self.summary.as_deref().map(|summary| (self.summary_time.as_deref(), summary))
    }

    /// Returns the rank of the record among those that begin at the same segment: the higher one is kept.
    ///
    /// A record without a tree cannot be verified; those made from an earlier tool's document have none. A record that was
    /// counted again has more of the counts.
    fn rank(&self) -> impl Ord {
        let has_counts = (self.active.is_some(), self.has_long_writes(), !self.edits.is_empty());
        (self.bytes, self.tree.is_some(), &self.time, self.prompt.is_some(), has_counts)
    }

    fn without_summary(&self) -> Record {
        Record { summary: None, summary_time: None, ..self.clone() }
    }

    /// Says which of two records of one session goes on from the other; `None` if they cannot be joined.
    ///
    /// Of two that begin at the same segment the longer goes on from the shorter. The result does not depend on the order, or
    /// two clones that join the same notes would never agree; nor on summaries.
    fn order<'r>(&'r self, other: &'r Record) -> Option<Order<'r>> {
        if !self.is_same_session(other) {
            return None;
        }
        if self.since == other.since {
            if self.through == other.through && !self.tells_the_same(other) {
                return None;
            }
            let line = |record: &Record| record.without_summary().to_line();
            let order = other.rank().cmp(&self.rank()).then_with(|| other.through.cmp(&self.through));
            let is_more = order.then_with(|| line(other).cmp(&line(self))).is_gt();
            let (longer, shorter) = if is_more { (other, self) } else { (self, other) };
            return Some(Order::Extends { longer, shorter });
        }
        if other.since.as_deref() == Some(&self.through) {
            Some(Order::Continues { first: self, second: other })
        } else if self.since.as_deref() == Some(&other.through) {
            Some(Order::Continues { first: other, second: self })
        } else {
            None
        }
    }

    /// Returns the record of two that the joined one has its end and its words from; `None` if they cannot be joined.
    pub(super) fn last<'r>(&'r self, other: &'r Record) -> Option<&'r Record> {
        self.order(other).map(|order| match order {
            Order::Extends { longer, .. } => longer,
            Order::Continues { second, .. } => second,
        })
    }

    /// Returns the joined record of two records of the same increment, or of which one continues the other; otherwise
    /// `None`.
    ///
    /// The newer of both summaries is kept, and has no influence on which record is kept: clones that
    /// join the same records in a different order must get the same result.
    pub(super) fn joined(&self, other: &Record) -> Option<Record> {
        let joined = match self.order(other)? {
            Order::Extends { longer, shorter } => longer.joined_with_shorter(shorter),
            Order::Continues { first, second } => first.joined_with_next(second),
        };
        let newest = if other.summary_rank() > self.summary_rank() { other } else { self };
        Some(Record { summary: newest.summary.clone(), summary_time: newest.summary_time.clone(), ..joined })
    }

    /// Returns this record, with what a shorter one from the same beginning knows beside it.
    fn joined_with_shorter(&self, shorter: &Record) -> Record {
        let tree = self.tree.clone().or_else(|| shorter.tree.clone());
        let joined_trees = trees([&self.joined_trees, &shorter.joined_trees], None, tree.as_deref());
        let rules = self.rules.clone().or_else(|| shorter.rules.clone());
        Record { tree, joined_trees, earlier: self.earlier_with(shorter), rules, ..self.clone() }
    }

    /// Returns one record of this one and of `second`, which continues it.
    fn joined_with_next(&self, second: &Record) -> Record {
        let tokens = match (self.tokens, second.tokens) {
            (Some(a), Some(b)) => Some(a.plus(b)),
            (a, b) => a.or(b),
        };
        let active = match (self.active, second.active) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        let model = second.model.clone().or_else(|| self.model.clone());
        let usage: UsageSums = self.usage_by_model().into_iter().chain(second.usage_by_model()).collect();
        Record {
            since: self.since.clone(),
            prompt: self.prompt.clone().or_else(|| second.prompt.clone()),
            usage: apart(usage.list().collect(), model.as_deref()),
            edits: edits::joined(self.edits.iter().chain(&second.edits).cloned()),
            active,
            model,
            turns: self.turns.saturating_add(second.turns),
            messages: self.messages.saturating_add(second.messages),
            tokens,
            joined_trees: trees([&self.joined_trees, &second.joined_trees], self.tree.as_ref(), second.tree.as_deref()),
            earlier: self.earlier_with(second),
            // The end of a turn is recorded alone, without looking at the files once more.
            rules: second.rules.clone().or_else(|| self.rules.clone()),
            ..second.clone()
        }
    }

    /// Says whether two records of the same increment have the same transcript and prompt; a purge can have removed one
    /// prompt. Honest records do, and others stay apart: anyone can write another prompt into a copy of a record.
    fn tells_the_same(&self, other: &Record) -> bool {
        let is_same_prompt = self.prompt.is_none() || other.prompt.is_none() || self.prompt == other.prompt;
        is_same_prompt && (self.bytes, &self.sha256) == (other.bytes, &other.sha256)
    }

    /// Says whether it tells how long cache writes were kept.
    fn has_long_writes(&self) -> bool {
        self.tokens.is_some_and(|tokens| tokens.cache_write_long.is_some())
    }

    /// Returns the checksums of both records, sorted and without duplicates.
    fn earlier_with(&self, other: &Record) -> Vec<String> {
        let mut earlier = [&self.earlier[..], &other.earlier].concat();
        earlier.sort();
        earlier.dedup();
        earlier
    }
}

/// Adds a record of ours to a note. It is joined with the record that it continues, and with another record only if the
/// archive proves that neither loses words: anyone can write a longer record of our session.
pub(crate) fn add_proven(repo: &Repository, note: &mut Note, record: Record) {
    let since = record.since.clone();
    note.add_if(record, |last, part| {
        let goes_on = since.as_ref() == Some(&part.through) && !has_lost(repo, last, part);
        goes_on || last.through == part.through || has_all_of(repo, last, part)
    });
}

/// Adds everything in `other` to a note. Two records are joined only if the archive proves that neither loses words.
pub(crate) fn merge_proven(repo: &Repository, note: &mut Note, other: Note) {
    note.add_lacking(other.into_units(), |note, unit| match unit {
        Unit::Record(record) => {
            note.add_if(*record, |last, part| last.through == part.through || has_all_of(repo, last, part))
        }
        unit => note.add_line(unit),
    });
}

impl Reader<'_> {
    /// Joins the records of a note that continue each other, unless the agent made its file shorter in between: the words that
    /// are gone from it are in the first of them alone. Of two that begin at the same segment, the longer replaces
    /// the shorter only if the archive proves that it has all its words: anyone can write a longer record of someone
    /// else's session.
    pub(super) fn with_proven_joins(&self, note: Note) -> Note {
        if comparisons(&note) > MAX_COMPARISONS {
            return note.with_continued_records().with_problem(UNCOMPARED);
        }
        let lines: Vec<Record> = note.records().cloned().collect();
        let mut of: HashMap<SessionKey, Vec<&Record>> = HashMap::new();
        lines.iter().for_each(|record| of.entry(record.key()).or_default().push(record));
        let stands_apart = |record: &Record| {
            of.get(&record.key()).into_iter().flatten().any(|other| {
                let (longer, shorter) = if other.bytes > record.bytes { (*other, record) } else { (record, *other) };
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
        if comparisons(&note) > MAX_COMPARISONS {
            return note;
        }
        let mut of: HashMap<SessionKey, Vec<usize>> = HashMap::new();
        records.iter().enumerate().for_each(|(at, record)| of.entry(record.key()).or_default().push(at));
        let mut headers = Headers::new();
        let mut is_within = |index: usize| {
            let inner = records[index];
            let mut others = of[&inner.key()].iter().filter(|other| **other != index);
            others.any(|other| self.contains(records[*other], inner, &mut headers))
        };
        let within: Vec<bool> = (0..records.len()).map(&mut is_within).collect();
        let mut is_within = within.into_iter();
        note.retain(|unit| !(matches!(unit, Unit::Record(_)) && is_within.next() == Some(true)));
        note
    }
}

/// Returns how many comparisons it takes to compare each record of a note with those of its session.
fn comparisons(note: &Note) -> usize {
    let mut counts: HashMap<SessionKey, usize> = HashMap::new();
    note.records().for_each(|record| *counts.entry(record.key()).or_default() += 1);
    counts.into_values().map(|count| count.saturating_mul(count)).fold(0, usize::saturating_add)
}

/// Returns the trees that a joined record names beside its own `tree`: those of both records and of the first one, but only the
/// smallest [`MAX_JOINED_TREES`]. The order of joining makes no difference.
pub(super) fn trees(both: [&[String]; 2], first: Option<&String>, tree: Option<&str>) -> Vec<String> {
    let mut trees = both.concat();
    trees.extend(first.cloned());
    trees.retain(|joined| Some(joined.as_str()) != tree);
    trees.sort();
    trees.dedup();
    trees.truncate(MAX_JOINED_TREES);
    trees
}

#[cfg(test)]
mod tests {
    use super::MAX_JOINED_TREES;
    use crate::record::note::tests::{note, record};
    use crate::record::{Note, Record};

    #[test]
    fn a_joined_record_names_the_trees_of_all_parts_in_any_order() {
        let of_tree = |tree: &str, record: Record| Record { tree: Some(tree.into()), ..record };
        // The last commit has the tree of the first one again, as after a revert.
        let parts = [
            of_tree("t1", record("s", None, "a", 10)),
            of_tree("t2", record("s", Some("a"), "b", 20)),
            of_tree("t3", record("s", Some("b"), "c", 30)),
            of_tree("t1", record("s", Some("c"), "d", 40)),
        ];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 0, 3, 2]] {
            let joined = Note::parse(&note(&order.map(|index| parts[index].clone())).to_bytes());
            let records: Vec<_> = joined.records().collect();
            assert_eq!((records.len(), records[0].tree.as_deref()), (1, Some("t1")), "{order:?}");
            assert_eq!(records[0].joined_trees, ["t2", "t3"], "{order:?}");
            assert_eq!(joined.trees(), ["t1", "t2", "t3"], "{order:?}");
        }
        let one_commit = [parts[0].clone(), of_tree("t1", record("s", None, "b", 12))];
        assert_eq!(note(&one_commit).trees(), ["t1"], "a record that was extended is the record of one commit");
    }

    #[test]
    fn a_record_with_more_trees_than_any_squash_is_no_record_and_none_is_written() {
        let with = |count: usize| {
            let joined_trees = (0..count).map(|number| format!("{number:040x}")).collect();
            Record { joined_trees, ..record("s", None, "a", 10) }
        };
        let (largest, larger) = (with(MAX_JOINED_TREES).to_line(), with(MAX_JOINED_TREES + 1).to_line());
        assert_eq!(Note::parse(largest.as_bytes()).records().count(), 1);
        let foreign = Note::parse(larger.as_bytes());
        assert_eq!((foreign.records().count(), foreign.trees()), (0, &[][..]));
        assert_eq!(foreign.to_bytes(), format!("{larger}\n").into_bytes(), "the line is kept unchanged");
        let other = Record {
            joined_trees: (0..10).map(|number| format!("f{number:039x}")).collect(),
            ..record("s", Some("a"), "b", 20)
        };
        for order in [[with(MAX_JOINED_TREES), other.clone()], [other, with(MAX_JOINED_TREES)]] {
            let joined = note(&order);
            let records: Vec<_> = joined.records().collect();
            assert_eq!(records.len(), 1);
            assert_eq!(records[0].joined_trees, with(MAX_JOINED_TREES).joined_trees);
            assert_eq!(joined.trees().len(), MAX_JOINED_TREES);
        }
    }

    #[test]
    fn a_copy_of_a_record_with_another_prompt_stays_beside_it() {
        let honest = Record { prompt: Some("honest".into()), ..record("s", None, "a", 10) };
        let summarised = Record { summary: Some("told".into()), prompt: None, ..honest.clone() };
        assert_eq!(note(&[honest.clone(), summarised]).records().count(), 1, "a purge can remove a prompt");
        let later = "2027-01-01T00:00:00Z".to_owned();
        for forged in [
            Record { prompt: Some("forged".into()), time: later.clone(), ..honest.clone() },
            Record { bytes: 11, time: later.clone(), ..honest.clone() },
            Record { sha256: "11".into(), time: later, ..honest.clone() },
        ] {
            for order in [[&honest, &forged], [&forged, &honest]] {
                let both = note(&order.map(Clone::clone));
                assert!(both.records().any(|record| *record == honest), "{forged:?}");
            }
        }
    }

    #[test]
    fn an_amended_commit_is_forgotten_and_the_others_stay() {
        let mut joined = note(&[
            Record { tree: Some("t1".into()), ..record("s", None, "a", 10) },
            Record { tree: Some("t2".into()), ..record("s", Some("a"), "b", 20) },
            Record { tree: Some("t3".into()), ..record("s", Some("b"), "c", 30) },
        ]);
        joined.forget_joined(&["t2".to_owned()]);
        let left = Note::parse(&joined.to_bytes());
        assert_eq!(left.trees(), ["t3", "t1"]);
    }
}
