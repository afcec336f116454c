//! Tests of notes: joining records, keeping other text, and any bytes.

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
    let joined = Note::parse_unjoined(text.as_bytes()).with_continued_records();
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

#[test]
fn a_record_that_goes_on_from_another_does_not_have_its_increment() {
    let (first, second) = (record("s", None, "a", 10), record("s", Some("a"), "b", 20));
    assert!(!second.covers(&first), "the words up to 'a' are only in the first");
    assert!(record("s", None, "b", 20).covers(&first));
}
