use proptest::prelude::*;

use super::*;
use crate::record::Note;

/// Makes records that lead from one place of a session to a later one; a segment is named by its place, and place 0 is the
/// beginning. That of the newest commit comes first.
fn summaries(steps: &[(u64, u64)]) -> Vec<Summary> {
    let summary = |(from, to): &(u64, u64)| {
        let since = (*from > 0).then(|| format!("{from}"));
        let line = serde_json::json!({"shiftlog": 1, "agent": "claude", "session": "s", "time": "", "turns": 1,
            "messages": 1, "since": since, "through": format!("{to}"), "bytes": to * 10, "sha256": "00"});
        Note::parse(line.to_string().as_bytes()).summaries().remove(0)
    };
    steps.iter().map(summary).collect()
}

fn chosen_of(summaries: &[Summary], bytes_at: impl Fn(&SessionKey, &str) -> Option<u64>) -> Chosen {
    chosen(&summaries.iter().collect::<Vec<_>>(), bytes_at)
}

/// Returns what the archive tells.
fn told(_: &SessionKey, segment: &str) -> Option<u64> {
    segment.parse::<u64>().ok().map(|place| place * 10)
}

/// Returns the stretches that count: whole records and cuts, each with its record.
fn counted(summaries: &[Summary], chosen: &Chosen) -> Vec<(usize, u64, u64)> {
    let number = |segment: Option<&str>| segment.map_or(0, |segment| segment.parse().expect("a place"));
    let whole = summaries
        .iter()
        .enumerate()
        .filter(|(record, _)| chosen.is_whole[*record])
        .map(|(record, summary)| (record, number(summary.since.as_deref()), number(summary.through.as_deref())));
    let cuts = chosen.cuts.iter().map(|cut| (cut.record, number(cut.since.as_deref()), number(Some(&cut.through))));
    whole.chain(cuts).collect()
}

fn counted_of(steps: &[(u64, u64)]) -> Vec<(usize, u64, u64)> {
    let summaries = summaries(steps);
    counted(&summaries, &chosen_of(&summaries, told))
}

#[test]
fn an_increment_on_several_commits_counts_at_the_newest() {
    assert_eq!(counted_of(&[(0, 2), (0, 2), (2, 3)]), [(0, 0, 2), (2, 2, 3)]);
}

#[test]
fn a_squash_counts_once_with_or_without_its_sources() {
    assert_eq!(counted_of(&[(0, 3), (2, 3), (1, 2), (0, 1)]), [(0, 0, 3)]);
    assert_eq!(counted_of(&[(2, 3), (1, 2), (0, 1), (0, 3)]), [(3, 0, 3)], "whichever is newer");
    assert_eq!(counted_of(&[(0, 3), (0, 1)]), [(0, 0, 3)]);
    assert_eq!(counted_of(&[(1, 4), (3, 4)]), [(0, 1, 4)]);
    let several = counted_of(&[(4, 5), (1, 4), (2, 3), (1, 2), (3, 4), (0, 1)]);
    assert_eq!(several, [(0, 4, 5), (1, 1, 4), (5, 0, 1)]);
}

#[test]
fn squashes_that_overlap_count_what_they_share_once() {
    assert_eq!(counted_of(&[(1, 3), (0, 2), (0, 1)]), [(0, 1, 3), (2, 0, 1)], "a source tells what is left");
    assert_eq!(counted_of(&[(1, 3), (0, 2)]), [(1, 0, 2), (0, 2, 3)], "the words tell it");
    assert_eq!(counted_of(&[(2, 9), (1, 3), (0, 2)]), [(0, 2, 9), (2, 0, 2)]);
}

#[test]
fn records_with_nothing_between_them_need_no_archive() {
    let asked = |_: &SessionKey, _: &str| -> Option<u64> { panic!("the records follow each other") };
    let summaries = summaries(&[(5, 9), (3, 5), (2, 3)]);
    assert_eq!(chosen_of(&summaries, asked).is_whole, [true; 3]);
}

#[test]
fn an_unknown_beginning_is_taken_to_be_near_the_end_of_its_record() {
    let summaries = summaries(&[(5, 9), (0, 2)]);
    let chosen = chosen_of(&summaries, |_, _| None);
    assert_eq!((chosen.is_whole, chosen.cuts), (vec![true, true], Vec::new()));
}

#[test]
fn a_transcript_that_was_made_shorter_counts_all_that_was_said() {
    let mut summaries = summaries(&[(0, 3), (2, 3), (1, 2), (0, 1)]);
    for summary in &mut summaries {
        let through = summary.through.as_deref();
        summary.bytes = if through == Some("1") { 500 } else { summary.bytes };
    }
    let chosen = chosen_of(&summaries, |_, _| None);
    assert_eq!(chosen.is_whole, [true, false, false, false]);
    summaries.remove(0);
    assert_eq!(chosen_of(&summaries, |_, _| None).is_whole, [true; 3]);
}

#[test]
fn the_same_words_in_other_segments_count_once() {
    let mut summaries = summaries(&[(0, 2), (2, 3), (0, 2), (2, 3)]);
    summaries[0].through = Some("other".into());
    summaries[1].since = Some("other".into());
    let chosen = chosen_of(&summaries, |_, _| None);
    assert_eq!((chosen.is_whole, chosen.cuts), (vec![true, true, false, false], Vec::new()));
}

#[test]
fn a_copy_of_what_an_earlier_tool_recorded_counts_once() {
    let mut summaries = summaries(&[(0, 2), (0, 2), (0, 3)]);
    summaries.iter_mut().for_each(|summary| summary.through = None);
    summaries[2].messages = 9;
    assert_eq!(chosen_of(&summaries, told).is_whole, [true, false, true]);
}

#[test]
fn a_circle_of_records_loses_not_all_of_them() {
    let mut summaries = summaries(&[(1, 2), (2, 3)]);
    summaries[1].through = Some("1".into());
    assert_eq!(chosen_of(&summaries, told).is_whole, [true, true]);
}

#[test]
fn only_so_many_stretches_are_cut_out() {
    let steps: Vec<(u64, u64)> = (0..400).map(|number| (number, number + 2)).collect();
    let summaries = summaries(&steps);
    let overlapping = chosen_of(&summaries, told);
    assert_eq!((overlapping.cuts.len(), overlapping.left_out), (1, 0), "every second record covers nearly all");
    let steps: Vec<(u64, u64)> = (0..1_000).map(|number| (number * 2, number * 2 + 3)).collect();
    let summaries = self::summaries(&steps);
    let overlapping = chosen_of(&summaries, told);
    let count = overlapping.cuts.len() + overlapping.left_out;
    assert!(overlapping.cuts.len() == MAX_CUTS && count > MAX_CUTS, "{count}");
}

#[test]
fn one_of_many_records_that_all_overlap_counts_whole() {
    let steps: Vec<(u64, u64)> = (0..30_000).map(|number| (number, number + 30_000)).collect();
    let summaries = summaries(&steps);
    let overlapping = chosen_of(&summaries, told);
    assert_eq!(overlapping.is_whole.iter().filter(|whole| **whole).count(), 1);
    assert_eq!(overlapping.left_out + overlapping.cuts.len(), 29_999);
}

proptest! {
    #[test]
    fn each_line_that_records_have_counts_once(
        steps in proptest::collection::vec((0u64..14, 1u64..6), 1..14),
        first in 0u64..4,
    ) {
        let steps: Vec<(u64, u64)> = steps.into_iter().map(|(from, length)| (first + from, first + from + length)).collect();
        let summaries = summaries(&steps);
        let chosen = chosen_of(&summaries, told);
        // A line is known by the place behind it.
        let had: std::collections::BTreeSet<u64> = steps.iter().flat_map(|(from, to)| from + 1..=*to).collect();
        let mut lines = Vec::new();
        for (record, from, to) in counted(&summaries, &chosen) {
            let (has_from, has_to) = steps[record];
            prop_assert!(has_from <= from && from < to && to <= has_to, "a record counts what it has");
            lines.extend(from + 1..=to);
        }
        lines.sort_unstable();
        prop_assert_eq!(lines, had.into_iter().collect::<Vec<_>>());
    }
}
