use proptest::prelude::*;

use super::line::mark;
use super::*;
use crate::record::Note;

/// Makes records that lead from one place of a session to a later one; a segment is named by its place, and place 0 is the
/// beginning. That of the newest commit comes first. Each place is that of a commit, so a longer record is a squash.
fn summaries(steps: &[(u64, u64)]) -> Vec<Summary> {
    let summary = |(from, to): &(u64, u64)| {
        let since = (*from > 0).then(|| format!("{from}"));
        let line = serde_json::json!({"shiftlog": 1, "agent": "claude", "session": "s", "time": "", "turns": 1,
            "messages": 1, "since": since, "through": format!("{to}"), "bytes": to * 10, "sha256": format!("{to}")});
        let read = Note::parse(line.to_string().as_bytes()).summaries().remove(0);
        Summary { trees: (from + 1..=*to).map(|place| format!("t{place}")).collect(), ..read }
    };
    steps.iter().map(summary).collect()
}

/// Chooses from the lengths of transcripts alone.
fn chosen_of(summaries: &[Summary], end: impl Fn(&str) -> Option<(u64, u128)>) -> Chosen {
    let end = |_: &SessionKey, segment: &str| end(segment);
    let lookup = Lookup { end: &end, head: &|_, _| None, common: &|_, _, _| None, noted: &|_| &[] };
    chosen(&summaries.iter().collect::<Vec<_>>(), &lookup)
}

/// Returns what the archive tells.
fn told(segment: &str) -> Option<(u64, u128)> {
    segment.parse::<u64>().ok().map(|place| (place * 10, mark(segment)))
}

/// Returns the stretches that count: whole records and cuts, each with its record.
fn counted(summaries: &[Summary], chosen: &Chosen) -> Vec<(usize, u64, u64)> {
    let number = |segment: Option<&str>| segment.map_or(0, |segment| segment.parse().expect("a place"));
    let whole = summaries
        .iter()
        .enumerate()
        .filter(|(record, _)| chosen.is_whole[*record])
        .map(|(record, summary)| (record, number(summary.since.as_deref()), number(summary.through.as_deref())));
    let cut = |cut: &Cut| match &cut.stretch {
        Stretch::Segments { since, through } => (cut.record, number(since.as_deref()), number(Some(through))),
        Stretch::Bytes { .. } => panic!("no archive was asked"),
    };
    let cuts = chosen.cuts.iter().map(cut);
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
    let asked = |_: &str| panic!("the records follow each other");
    let summaries = summaries(&[(5, 9), (3, 5), (2, 3)]);
    assert_eq!(chosen_of(&summaries, asked).is_whole, [true; 3]);
}

#[test]
fn an_unknown_beginning_is_taken_to_be_near_the_end_of_its_record() {
    let summaries = summaries(&[(5, 9), (0, 2)]);
    let chosen = chosen_of(&summaries, |_| None);
    assert_eq!((chosen.is_whole, chosen.cuts), (vec![true, true], Vec::new()));
    assert_eq!((chosen.repeated, chosen.doubtful), (1, Vec::new()), "it may begin earlier");
}

#[test]
fn a_record_that_may_have_more_than_a_longer_one_is_told() {
    // Two clones have gone on with one session.
    let mut summaries = summaries(&[(0, 2), (0, 3)]);
    summaries[0].trees = vec!["ours".into()];
    summaries[1].trees = vec!["theirs".into()];
    let chosen = chosen_of(&summaries, told);
    assert_eq!((chosen.is_whole, chosen.doubtful), (vec![false, true], vec![0]));
    let mut summaries = self::summaries(&[(1, 2), (1, 2), (0, 1)]);
    (summaries[1].through, summaries[1].sha256) = (Some("other".into()), "other".into());
    let chosen = chosen_of(&summaries, told);
    assert_eq!(chosen.doubtful.len(), 1, "other words of the same length: {chosen:?}");
}

#[test]
fn a_transcript_that_was_made_shorter_counts_all_that_was_said() {
    let mut summaries = summaries(&[(0, 3), (2, 3), (1, 2), (0, 1)]);
    for summary in &mut summaries {
        let through = summary.through.as_deref();
        summary.bytes = if through == Some("1") { 500 } else { summary.bytes };
    }
    let chosen = chosen_of(&summaries, |_| None);
    assert_eq!(chosen.is_whole, [true, false, false, false]);
    summaries.remove(0);
    assert_eq!(chosen_of(&summaries, |_| None).is_whole, [true; 3]);
}

#[test]
fn the_same_words_in_other_segments_count_once() {
    let mut summaries = summaries(&[(0, 2), (2, 3), (0, 2), (2, 3)]);
    summaries[0].through = Some("other".into());
    summaries[1].since = Some("other".into());
    let chosen = chosen_of(&summaries, |_| None);
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
    assert_eq!((overlapping.cuts.len(), overlapping.beyond.len()), (1, 0), "every second record covers nearly all");
    let steps: Vec<(u64, u64)> = (0..1_000).map(|number| (number * 2, number * 2 + 3)).collect();
    let summaries = self::summaries(&steps);
    let overlapping = chosen_of(&summaries, told);
    let count = overlapping.cuts.len() + overlapping.beyond.len();
    assert!(overlapping.cuts.len() == MAX_CUTS && count > MAX_CUTS, "{count}");
}

#[test]
fn one_of_many_records_that_all_overlap_counts_whole() {
    let mut summaries = Vec::new();
    for number in 0..30_000u64 {
        let one = Summary { trees: Vec::new(), ..self::summaries(&[(number, number + 1)]).remove(0) };
        let (through, sha256) = (Some(format!("{}", number + 30_000)), format!("{}", number + 30_000));
        summaries.push(Summary { through, sha256, bytes: (number + 30_000) * 10, ..one });
    }
    let overlapping = chosen_of(&summaries, told);
    assert_eq!(overlapping.is_whole.iter().filter(|whole| **whole).count(), 1);
    assert_eq!(overlapping.beyond.len() + overlapping.cuts.len(), 29_999);
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

/// A stored segment: its name, its parent, how much it keeps of that, and its own lines, each a letter.
type Stored = (&'static str, Option<&'static str>, u64, &'static str);

/// Returns the text at the end of a segment.
fn text_of(stored: &[Stored], name: &str) -> Option<String> {
    let (_, parent, keep, own) = stored.iter().find(|(known, ..)| *known == name)?;
    let parent = parent.map_or(Some(String::new()), |parent| text_of(stored, parent))?;
    Some(format!("{}{own}", parent.get(..*keep as usize)?))
}

/// Returns records, each from one segment to another.
fn stored_summaries(stored: &[Stored], records: &[(Option<&str>, &str)]) -> Vec<Summary> {
    let summary = |(since, through): &(Option<&str>, &str)| {
        let words = text_of(stored, through).expect("it is stored");
        let line = serde_json::json!({"shiftlog": 1, "agent": "claude", "session": "s", "time": "", "turns": 1,
            "messages": 1, "since": since, "through": through, "bytes": words.len(), "sha256": words});
        Note::parse(line.to_string().as_bytes()).summaries().remove(0)
    };
    records.iter().map(summary).collect()
}

fn head_of(stored: &[Stored], name: &str) -> Option<SegmentHead> {
    let (_, parent, keep, _) = stored.iter().find(|(known, ..)| *known == name)?;
    let words = text_of(stored, name)?;
    Some(SegmentHead { parent: parent.map(str::to_owned), keep: *keep, end: words.len() as u64, sha256: words })
}

fn common_of(stored: &[Stored], names: [&str; 2], from: u64) -> Option<u64> {
    let [one, other] = names.map(|name| text_of(stored, name).expect("it is stored"));
    assert_eq!(one.get(..from as usize), other.get(..from as usize), "it is known to be the same");
    Some(one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count() as u64)
}

/// Chooses from the words of records, and returns what counts of each.
fn counted_words(stored: &[Stored], records: &[(Option<&str>, &str)]) -> Vec<(usize, String)> {
    let text = |name: &str| text_of(stored, name).expect("it is stored");
    let summaries = stored_summaries(stored, records);
    let head = |_: &SessionKey, name: &str| head_of(stored, name);
    let common = |_: &SessionKey, names: [&str; 2], from: u64| common_of(stored, names, from);
    let end = |key: &SessionKey, name: &str| head(key, name).map(|head| (head.end, mark(&head.sha256)));
    let lookup = Lookup { end: &end, head: &head, common: &common, noted: &|_| &[] };
    let chosen = chosen(&summaries.iter().collect::<Vec<_>>(), &lookup);
    assert_eq!((chosen.doubtful.len(), chosen.beyond.len(), chosen.repeated), (0, 0, 0), "the words tell all");
    let mut counted = Vec::new();
    for (record, (since, through)) in records.iter().enumerate().filter(|(record, _)| chosen.is_whole[*record]) {
        counted.push((record, text(through)[start_of(stored, *since, through)..].to_owned()));
    }
    for Cut { record, stretch } in chosen.cuts {
        let Stretch::Bytes { range, is_first } = stretch else { panic!("the archive was asked") };
        let (since, through) = records[record];
        assert_eq!(is_first, range.start as usize == start_of(stored, since, through));
        counted.push((record, text(through)[range.start as usize..range.end as usize].to_owned()));
    }
    counted.sort();
    counted
}

/// Returns where the increment of a record begins.
fn start_of(stored: &[Stored], since: Option<&str>, through: &str) -> usize {
    let (mut kept, mut next) = (usize::MAX, Some(through));
    while let Some(name) = next {
        if Some(name) == since {
            return kept.min(text_of(stored, name).expect("it is stored").len());
        }
        let (_, parent, keep, _) = stored.iter().find(|(known, ..)| *known == name).expect("it is stored");
        kept = kept.min(*keep as usize);
        next = *parent;
    }
    0
}

fn words(counted: &[(usize, &str)]) -> Vec<(usize, String)> {
    counted.iter().map(|(record, text)| (*record, (*text).to_owned())).collect()
}

#[test]
fn a_session_that_two_clones_continue_counts_its_beginning_once_and_both_ends() {
    let stored = [("c", None, 0, "abc"), ("ours", Some("c"), 3, "xy"), ("theirs", Some("c"), 3, "xpqr")];
    let ends = counted_words(&stored, &[(Some("c"), "ours"), (Some("c"), "theirs"), (None, "c")]);
    assert_eq!(ends, words(&[(0, "y"), (1, "xpqr"), (2, "abc")]));
    let whole = counted_words(&stored, &[(None, "ours"), (None, "theirs")]);
    assert_eq!(whole, words(&[(0, "y"), (1, "abcxpqr")]));
    // Neither has a segment that ends where they part.
    let apart = [("ours", None, 0, "abcxy"), ("theirs", None, 0, "abcpq")];
    assert_eq!(counted_words(&apart, &[(None, "ours"), (None, "theirs")]), words(&[(0, "abcxy"), (1, "pq")]));
    // Each has stored the beginning in segments of its own.
    let twice = [("c", None, 0, "abc"), ("ours", Some("c"), 3, "xy"), ("d", None, 0, "ab"), ("e", Some("d"), 2, "cz")];
    let both = counted_words(&twice, &[(None, "c"), (Some("c"), "ours"), (None, "d"), (Some("d"), "e")]);
    let all: String = both.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!((all.len(), both.len()), (6, 3), "{both:?}");
}

#[test]
fn a_record_that_begins_before_the_end_of_its_since_counts_no_word_twice() {
    // Two clones have continued a session, and one of them stored its words after those of the other.
    for theirs in ["x", "xyz"] {
        let stored =
            [("1", None, 0, "a"), ("2", Some("1"), 1, "b"), ("3", Some("1"), 1, theirs), ("4", Some("3"), 1, "bd")];
        let counted = counted_words(&stored, &[(Some("3"), "4"), (Some("1"), "2"), (None, "1")]);
        assert_eq!(counted, words(&[(0, "bd"), (2, "a")]), "{theirs}");
        let squashed = counted_words(&stored, &[(Some("3"), "4"), (None, "2")]);
        assert_eq!(squashed, words(&[(0, "bd"), (1, "a")]), "{theirs}");
    }
}

#[test]
fn a_stretch_has_the_model_that_only_a_hook_has_named() {
    let named = Summary { model: Some("a".into()), ..summaries(&[(0, 2)]).remove(0) };
    let usage = |model: Option<&str>| crate::transcript::ModelUsage {
        model: model.map(str::to_owned),
        ..crate::transcript::ModelUsage::default()
    };
    let words = |model: Option<&str>| Summary {
        model: model.map(str::to_owned),
        usage: vec![usage(model)],
        ..summaries(&[(0, 1)]).remove(0)
    };
    let models = |stretch: Summary| [stretch.model.clone(), stretch.usage[0].model.clone()].map(Option::unwrap);
    assert_eq!(models(named_as(&named, words(None))), ["a", "a"]);
    assert_eq!(models(named_as(&named, words(Some("b")))), ["b", "b"], "what the words say holds");
}

#[test]
fn without_words_a_record_that_notes_do_not_lead_to_may_repeat_others() {
    let stored = [("1", None, 0, "a"), ("2", Some("1"), 1, "b"), ("3", Some("1"), 1, "xyz"), ("4", Some("3"), 1, "bd")];
    let summaries = stored_summaries(&stored, &[(Some("3"), "4"), (Some("1"), "2"), (None, "1")]);
    let noted = |records: &[(Option<&str>, &str)]| -> Vec<NotedRecord> {
        let record = |summary: Summary| NotedRecord {
            end: Some((summary.bytes, mark(&summary.sha256))),
            since: summary.since,
            through: summary.through.expect("it is told"),
        };
        stored_summaries(&stored, records).into_iter().map(record).collect()
    };
    let repeated = |noted: Vec<NotedRecord>| {
        let end = |_: &SessionKey, name: &str| {
            noted.iter().find(|record| record.through == name).and_then(|record| record.end)
        };
        let lookup = Lookup { end: &end, head: &|_, _| None, common: &|_, _, _| None, noted: &|_| &noted };
        let chosen = chosen(&summaries.iter().collect::<Vec<_>>(), &lookup);
        assert_eq!(chosen.is_whole, [true; 3]);
        chosen.repeated
    };
    let all = |third| noted(&[(None, "1"), (Some("1"), "2"), (Some(third), "3"), (Some("3"), "4")]);
    assert_eq!(repeated(all("1")), 1, "both go on from one place");
    assert_eq!(repeated(all("2")), 0, "one goes on from the other");
}

#[test]
fn a_transcript_that_was_made_shorter_counts_what_is_gone_from_it() {
    let stored = [("a", None, 0, "abcdef"), ("b", Some("a"), 2, "xy"), ("c", Some("b"), 4, "z")];
    let counted = counted_words(&stored, &[(None, "c"), (None, "a"), (Some("b"), "c")]);
    assert_eq!(counted, words(&[(0, "xy"), (1, "abcdef"), (2, "z")]));
    let later = counted_words(&stored, &[(Some("a"), "c"), (Some("a"), "b"), (None, "a")]);
    assert_eq!(later, words(&[(0, "xyz"), (2, "abcdef")]));
}

proptest! {
    #[test]
    fn each_line_of_a_tree_of_texts_counts_once(
        steps in proptest::collection::vec((0usize..8, 0usize..6, "[ab]{1,3}"), 1..8),
        records in proptest::collection::vec((0usize..8, 0usize..8), 1..8),
    ) {
        let names = ["0", "1", "2", "3", "4", "5", "6", "7"];
        let mut stored: Vec<Stored> = Vec::new();
        for (parent, keep, own) in steps {
            let number = stored.len();
            let parent = names[..number].get(parent).copied();
            let before = parent.map_or(Some(String::new()), |parent| text_of(&stored, parent)).expect("it is stored");
            let whole = format!("{}{own}", &before[..before.len().min(keep)]);
            // All of what is the same is kept.
            let kept = before.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count();
            if kept < whole.len() {
                stored.push((names[number], parent, kept as u64, String::leak(whole[kept..].to_owned())));
            }
        }
        let is_before = |since: &str, through: &str| {
            let mut next = Some(through);
            while let Some(name) = next {
                next = stored.iter().find(|(known, ..)| *known == name).and_then(|(_, parent, ..)| *parent);
                if next == Some(since) {
                    return true;
                }
            }
            false
        };
        let mut chosen: Vec<(Option<&str>, &str)> = Vec::new();
        for (since, through) in records {
            let through = names[through % stored.len()];
            let since = names[..stored.len()].get(since).copied().filter(|since| is_before(since, through));
            chosen.push((since, through));
        }
        // A line is known by the text up to it.
        let lines = |record: usize, range: std::ops::Range<usize>| -> Vec<String> {
            let whole = text_of(&stored, chosen[record].1).expect("it is stored");
            range.map(|at| whole[..=at].to_owned()).collect()
        };
        let all = |record: usize| {
            let (since, through) = chosen[record];
            start_of(&stored, since, through)..text_of(&stored, through).expect("it is stored").len()
        };
        let had: std::collections::BTreeSet<String> =
            (0..chosen.len()).flat_map(|record| lines(record, all(record))).collect();
        let summaries = stored_summaries(&stored, &chosen);
        let refs: Vec<&Summary> = summaries.iter().collect();
        let ends = stored.iter().map(|(name, ..)| (*name, head_of(&stored, name).expect("it is stored")));
        let ends: Ends<'_> = ends.map(|(name, head)| (name, (head.end, mark(&head.sha256)))).collect();
        let records: Vec<usize> = (0..refs.len()).collect();
        let (spans, _) = line::spans(&refs, &records, &ends, &mut vec![true; refs.len()]);
        let words =
            SessionLookup { head: &|name| head_of(&stored, name), common: &|names, from| common_of(&stored, names, from) };
        let choice = tree::choose(&refs, &spans, &words).expect("all is here");
        let mut once = Vec::new();
        for (span, _) in spans.iter().zip(&choice.whole).filter(|(_, is_whole)| **is_whole) {
            once.extend(lines(span.record, all(span.record)));
        }
        for (span, range, _) in choice.stretches {
            once.extend(lines(spans[span].record, range.start as usize..range.end as usize));
        }
        let set: std::collections::BTreeSet<String> = once.iter().cloned().collect();
        prop_assert_eq!(set.len(), once.len(), "nothing counts twice");
        prop_assert_eq!(set, had, "nothing is lost");
    }
}
