//! Counting each stretch of a transcript once.
//!
//! A record covers what is between the ends of two segments. Records of one session can overlap after a squash, a cherry-pick
//! or a rebase. First those records are chosen that do not overlap and cover most (`line`); each stretch that is left is counted,
//! from its words, for the newest record that covers it. Where records do not say for sure what they share, the archive decides
//! (`tree`): a transcript can have been made shorter, or two clones can have continued it in different ways.

mod line;
mod tree;

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use self::line::{Ends, LeftOver, NotedRecord};
use self::tree::{SegmentHead, SessionLookup, TreeChoice};
use crate::git::ObjectId;
use crate::record::{READ_LIMIT, Reader, Summary, Uncountable};
use crate::transcript::SessionKey;

/// One query reads the words of at most so many stretches to count them. Real repositories have a few.
const MAX_CUTS: usize = 256;
/// One query unpacks at most so many bytes to count stretches, and as many again to compare transcripts.
const MAX_CUT_BYTES: u64 = 256 << 20;

/// How many records, and parts of records, could not be counted exactly.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Uncounted {
    /// The stretches that count nowhere because their words are not here.
    pub missing: usize,
    /// The stretches that count nowhere because their words are too many to read.
    pub too_large: usize,
    /// The stretches that count nowhere because the query has too many of them; see `MAX_CUTS` and `MAX_CUT_BYTES`.
    pub beyond: usize,
    /// The records that are not counted, although they may have words that no other record has. Their words are not here.
    pub doubtful: usize,
    /// The records that are counted, although another record may count the same words. Their words are not here.
    pub repeated: usize,
}

impl Uncounted {
    /// Says whether the sums are less than they may be.
    pub fn is_at_least(self) -> bool {
        self.missing + self.too_large + self.beyond + self.doubtful > 0
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Uncounted) -> Uncounted {
        Uncounted {
            missing: self.missing + other.missing,
            too_large: self.too_large + other.too_large,
            beyond: self.beyond + other.beyond,
            doubtful: self.doubtful + other.doubtful,
            repeated: self.repeated + other.repeated,
        }
    }

    /// Returns warnings about it.
    pub fn warnings(self) -> Vec<String> {
        let parts = |count: usize, why: [&str; 2]| match count {
            0 => None,
            1 => Some(format!("1 part of a record is not counted: {}", why[0])),
            _ => Some(format!("{count} parts of records are not counted: {}", why[1])),
        };
        let records = |count: usize, [one, several]: [&str; 2]| match count {
            0 => None,
            1 => Some(format!("1 record {one}; its transcript is not here")),
            _ => Some(format!("{count} records {several}; their transcripts are not here")),
        };
        let missing = parts(self.missing, ["its words are not here", "their words are not here"]);
        let too_large = format!("too large to be read here ({READ_LIMIT})");
        let too_large = [format!("its words are {too_large}"), format!("their words are {too_large}")];
        let too_large = parts(self.too_large, too_large.each_ref().map(String::as_str));
        let beyond = parts(self.beyond, ["too many records overlap"; 2]);
        let doubtful = records(
            self.doubtful,
            [
                "is not counted, although it may have words that no other record has",
                "are not counted, although they may have words that no other record has",
            ],
        );
        let repeated = records(
            self.repeated,
            ["may count words that another record counts too", "may count words that other records count too"],
        );
        missing.into_iter().chain(too_large).chain(beyond).chain(doubtful).chain(repeated).collect()
    }
}

/// Records of which no two have the same words.
#[derive(Debug)]
pub struct Distinct<T> {
    /// Whole records, and stretches of records, each with the value of its record.
    pub records: Vec<(T, Summary)>,
    /// The records that have a stretch in [`Distinct::uncounted`], each with all its counts set to nothing.
    pub lacking: Vec<(T, Summary)>,
    /// The records that could not be counted exactly.
    pub uncounted: Uncounted,
}

/// Removes what records share with others. The records are those of the newest commit first, each with a value of the caller's;
/// `commit_id` returns the commit of such a value.
pub fn distinct<T: Copy>(
    reader: &Reader<'_>,
    records: Vec<(T, Summary)>,
    commit_id: impl Fn(T) -> ObjectId,
) -> Distinct<T> {
    let summaries: Vec<&Summary> = records.iter().map(|(_, summary)| summary).collect();
    let room = Cell::new(MAX_CUT_BYTES);
    let noted = OnceCell::new();
    let noted = || noted.get_or_init(|| noted_records(reader));
    let header = |key: &SessionKey, segment: &str| {
        let header = reader.segment_header(key, segment)?;
        Some(SegmentHead {
            keep: header.keep,
            end: header.total_bytes(),
            sha256: header.sha256.clone(),
            parent: header.parent,
        })
    };
    let lookup = Lookup {
        end: &|key, segment| {
            let of_note = || NotedRecord::find(noted().get(key)?, segment)?.end;
            header(key, segment).map(|head| (head.end, line::mark(&head.sha256))).or_else(of_note)
        },
        head: &header,
        common: &|key, texts, from| {
            let mut left = room.get();
            let common = reader.common_bytes(key, texts, from, &mut left);
            room.set(left);
            common
        },
        noted: &|key| noted().get(key).map_or(&[], Vec::as_slice),
    };
    let chosen = chosen(&summaries, &lookup);
    let mut uncounted =
        Uncounted { beyond: chosen.beyond.len(), doubtful: chosen.doubtful.len(), ..Uncounted::default() };
    uncounted.repeated = chosen.repeated;
    let mut lacking: Vec<usize> = [chosen.beyond, chosen.doubtful].concat();
    let mut room = MAX_CUT_BYTES;
    let mut cuts: HashMap<usize, Vec<Summary>> = HashMap::new();
    for Cut { record, stretch } in chosen.cuts {
        let (value, summary) = &records[record];
        let (key, bytes) = (&summary.key, stretch.bytes(|segment| header(&summary.key, segment).map(|head| head.end)));
        let is_within = bytes.is_some_and(|bytes| bytes <= room);
        let commit_id = commit_id(*value);
        let cut = match &stretch {
            _ if !is_within => Err(None),
            Stretch::Segments { since, through } => {
                reader.counted(key, since.as_deref(), through, Some(commit_id), &mut room).map_err(Some)
            }
            Stretch::Bytes { range, is_first } => {
                let since = summary.since.clone().filter(|_| *is_first);
                let cut = reader.counted_between(
                    key,
                    summary.through.as_deref().unwrap_or_default(),
                    range.clone(),
                    commit_id,
                    &mut room,
                );
                cut.map(|cut| Summary { since, ..cut }).map_err(Some)
            }
        };
        match cut {
            Ok(cut) => cuts.entry(record).or_default().push(named_as(summary, cut)),
            Err(why) => {
                lacking.push(record);
                match (why, bytes) {
                    (None, Some(_)) => uncounted.beyond += 1,
                    (Some(Uncountable::TooLarge), _) => uncounted.too_large += 1,
                    _ => uncounted.missing += 1,
                }
            }
        }
    }
    lacking.sort_unstable();
    lacking.dedup();
    let lacking = lacking.into_iter().map(|record| (records[record].0, records[record].1.without_counts())).collect();
    let mut counted = Vec::with_capacity(records.len());
    for (index, (value, summary)) in records.into_iter().enumerate() {
        counted.extend(cuts.remove(&index).into_iter().flatten().map(|cut| (value, cut)));
        counted.extend(chosen.is_whole[index].then_some((value, summary)));
    }
    Distinct { records: counted, lacking, uncounted }
}

/// Returns a stretch that was counted from its words with the time of its record, and with the model of the record where the
/// words name none: some agents tell it to their hooks alone.
fn named_as(summary: &Summary, mut stretch: Summary) -> Summary {
    let models = stretch.usage.iter_mut().map(|usage| &mut usage.model).chain([&mut stretch.model]);
    models.filter(|model| model.is_none()).for_each(|model| *model = summary.only_model().map(str::to_owned));
    Summary { time: summary.time.clone(), ..stretch }
}

/// Returns where the records of all notes begin and end, by session. A record that a query chooses can begin where a record
/// ends that it does not choose.
fn noted_records(reader: &Reader<'_>) -> HashMap<SessionKey, Vec<NotedRecord>> {
    let noted = reader.noted().unwrap_or_default();
    let notes = noted.values().filter_map(|blob_ids| reader.note_of_blobs(blob_ids).ok());
    let mut records: HashMap<SessionKey, Vec<NotedRecord>> = HashMap::new();
    for summary in notes.flat_map(|note| note.summaries()) {
        let Some(through) = summary.through else { continue };
        let end = Some((summary.bytes, line::mark(&summary.sha256))).filter(|_| summary.bytes > 0);
        records.entry(summary.key).or_default().push(NotedRecord { since: summary.since, through, end });
    }
    records.values_mut().for_each(|records| NotedRecord::sort(records));
    records
}

type EndOf<'a> = dyn Fn(&SessionKey, &str) -> Option<(u64, u128)> + 'a;
type CommonOf<'a> = dyn Fn(&SessionKey, [&str; 2], u64) -> Option<u64> + 'a;

/// Looks things up in the archive, and in the notes of all commits.
struct Lookup<'a> {
    /// Returns the length of a session's transcript at the end of a segment, and a mark of its words.
    end: &'a EndOf<'a>,
    /// Returns what a segment says.
    head: &'a dyn Fn(&SessionKey, &str) -> Option<SegmentHead>,
    /// Returns how many bytes two transcripts have in common, which are known to be the same up to a position.
    common: &'a CommonOf<'a>,
    /// Returns the records of a session in all notes.
    noted: &'a dyn Fn(&SessionKey) -> &'a [NotedRecord],
}

/// Which records count whole, and which in part.
#[derive(Debug, Default, Eq, PartialEq)]
struct Chosen {
    /// Of each record, whether all of it counts.
    is_whole: Vec<bool>,
    /// The stretches that count of other records.
    cuts: Vec<Cut>,
    /// The records that have further parts, once for each.
    beyond: Vec<usize>,
    /// The records that do not count although they may have words that no other has.
    doubtful: Vec<usize>,
    /// How many count although others may have their words.
    repeated: usize,
}

/// A stretch of a record that counts.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Cut {
    /// The index of the record.
    record: usize,
    stretch: Stretch,
}

/// Where a stretch begins and ends.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Stretch {
    /// After one segment, or at the beginning of the session, and with another one.
    Segments { since: Option<String>, through: String },
    /// At positions of the record's transcript; says also whether the record begins there.
    Bytes { range: Range<u64>, is_first: bool },
}

impl Stretch {
    /// Returns its length; `end` returns where a segment ends.
    fn bytes(&self, end: impl Fn(&str) -> Option<u64>) -> Option<u64> {
        match self {
            Stretch::Segments { since, through } => {
                let from = since.as_deref().map_or(Some(0), &end)?;
                Some(end(through)?.saturating_sub(from))
            }
            Stretch::Bytes { range, .. } => Some(range.end - range.start),
        }
    }
}

/// Chooses what counts of records, those of the newest commit first. The archive is asked only where records do not follow each
/// other.
fn chosen(summaries: &[&Summary], lookup: &Lookup<'_>) -> Chosen {
    let mut chosen = Chosen { is_whole: vec![true; summaries.len()], ..Chosen::default() };
    let mut sessions: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut earlier = HashSet::new();
    for (index, summary) in summaries.iter().enumerate() {
        let key = &summary.key;
        match summary.through {
            Some(_) => sessions.entry((&key.agent, &key.id)).or_default().push(index),
            // What an earlier tool recorded names no segment, and has no increments; it can be copied as a whole.
            None => chosen.is_whole[index] = earlier.insert((key, &summary.time, summary.turns, summary.messages)),
        }
    }
    for records in sessions.into_values().filter(|records| records.len() > 1) {
        choose_of_session(summaries, &records, lookup, &mut chosen);
    }
    chosen
}

fn choose_of_session(summaries: &[&Summary], records: &[usize], lookup: &Lookup<'_>, chosen: &mut Chosen) {
    let mut ends: Ends<'_> = HashMap::new();
    for record in records {
        let summary = summaries[*record];
        if let Some(through) = summary.through.as_deref().filter(|_| summary.bytes > 0) {
            ends.entry(through).or_insert_with(|| (summary.bytes, line::mark(&summary.sha256)));
        }
    }
    let (mut spans, is_known) = line::spans(summaries, records, &ends, &mut chosen.is_whole);
    if spans.len() < 2 || line::are_one_path(&spans) {
        return;
    }
    let key = &summaries[records[0]].key;
    if !is_known {
        for record in records {
            let since = summaries[*record].since.as_deref().filter(|since| !ends.contains_key(since));
            ends.extend(since.and_then(|since| Some((since, (lookup.end)(key, since)?))));
        }
        spans = line::spans(summaries, records, &ends, &mut chosen.is_whole).0;
    }
    let choice = line::choose(summaries, records, &spans, &ends);
    let words = SessionLookup {
        head: &|segment| (lookup.head)(key, segment),
        common: &|texts, from| (lookup.common)(key, texts, from),
    };
    let is_proven = choice.is_sure() && tree::are_uncut(summaries, &spans, &choice.whole, &words);
    let exact = if is_proven { None } else { tree::choose(summaries, &spans, &words) };
    let mut cut = |record: usize, stretch: Option<Stretch>| match stretch.filter(|_| chosen.cuts.len() < MAX_CUTS) {
        Some(stretch) => chosen.cuts.push(Cut { record, stretch }),
        None => chosen.beyond.push(record),
    };
    let whole = match exact {
        Some(TreeChoice { whole, stretches }) => {
            for (span, range, is_first) in stretches {
                cut(spans[span].record, Some(Stretch::Bytes { range, is_first }));
            }
            whole
        }
        None => {
            for LeftOver { span, since, through } in choice.stretches {
                let since = since.map(str::to_owned);
                cut(
                    spans[span].record,
                    through.map(|through| Stretch::Segments { since, through: through.to_owned() }),
                );
            }
            chosen.doubtful.extend(choice.doubtful.iter().map(|span| spans[*span].record));
            let unrelated = || line::unrelated(&spans, &choice.whole, (lookup.noted)(key));
            chosen.repeated += choice.may_repeat.len() + if is_proven { 0 } else { unrelated() };
            choice.whole
        }
    };
    for (span, is_whole) in spans.iter().zip(whole) {
        chosen.is_whole[span.record] = is_whole;
    }
}

#[cfg(test)]
mod tests;
