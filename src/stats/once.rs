//! Counting each stretch of a transcript once.
//!
//! A record covers what is between the ends of two segments. Records of one session can overlap after a squash, a cherry-pick
//! or a rebase. First those records are chosen that do not overlap and cover most; each stretch that is left is counted, from
//! its words, for the newest record that covers it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::git::ObjectId;
use crate::record::{Reader, Summary};
use crate::transcript::SessionKey;

/// The most stretches that one query counts from their words. Real repositories have a few.
const MAX_CUTS: usize = 256;
/// The most bytes of transcripts that are read for them.
const MAX_CUT_BYTES: u64 = 256 << 20;

/// Stretches of records that count nowhere: other records do not have them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Uncounted {
    /// How many have no words here.
    pub missing: usize,
    /// How many are more than one query counts from their words.
    pub beyond: usize,
}

impl Uncounted {
    /// Returns warnings about them.
    pub fn warnings(self) -> Vec<String> {
        let parts = |count: usize, why: [&str; 2]| match count {
            0 => None,
            1 => Some(format!("1 part of a record is not counted: {}", why[0])),
            _ => Some(format!("{count} parts of records are not counted: {}", why[1])),
        };
        let missing = parts(self.missing, ["its words are not here", "their words are not here"]);
        let beyond = parts(self.beyond, ["too many records overlap"; 2]);
        missing.into_iter().chain(beyond).collect()
    }
}

/// Removes what records share with others. The records are those of the newest commit first, each with a value of the caller's;
/// `commit_id` returns the commit of such a value. Returns also what counts nowhere.
pub fn distinct<T: Copy>(
    reader: &Reader<'_>,
    records: Vec<(T, Summary)>,
    commit_id: impl Fn(T) -> ObjectId,
) -> (Vec<(T, Summary)>, Uncounted) {
    let summaries: Vec<&Summary> = records.iter().map(|(_, summary)| summary).collect();
    let chosen = chosen(&summaries, |key, segment| reader.bytes_at(key, segment));
    let mut uncounted = Uncounted { missing: 0, beyond: chosen.left_out };
    let mut room = MAX_CUT_BYTES;
    let mut cuts: HashMap<usize, Vec<Summary>> = HashMap::new();
    for Cut { record, since, through } in chosen.cuts {
        let (value, summary) = &records[record];
        let bytes_at = |segment: &str| reader.bytes_at(&summary.key, segment);
        let from = since.as_deref().map_or(Some(0), bytes_at);
        let Some((from, to)) = from.zip(bytes_at(&through)) else {
            uncounted.missing += 1;
            continue;
        };
        let Some(left) = room.checked_sub(to.saturating_sub(from)) else {
            uncounted.beyond += 1;
            continue;
        };
        room = left;
        match reader.counted(&summary.key, since.as_deref(), &through, Some(commit_id(*value))) {
            Some(cut) => cuts.entry(record).or_default().push(Summary { time: summary.time.clone(), ..cut }),
            None => uncounted.missing += 1,
        }
    }
    let mut counted = Vec::with_capacity(records.len());
    for (index, (value, summary)) in records.into_iter().enumerate() {
        counted.extend(cuts.remove(&index).into_iter().flatten().map(|cut| (value, cut)));
        counted.extend(chosen.is_whole[index].then_some((value, summary)));
    }
    (counted, uncounted)
}

/// Which records count whole, and which in part.
#[derive(Debug, Default, Eq, PartialEq)]
struct Chosen {
    /// Of each record, whether all of it counts.
    is_whole: Vec<bool>,
    /// The stretches that count of other records.
    cuts: Vec<Cut>,
    /// How many further parts there are.
    left_out: usize,
}

/// A stretch of a record that counts.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Cut {
    /// The index of the record.
    record: usize,
    /// The segment that it begins after; `None` for the beginning of the session.
    since: Option<String>,
    /// The segment that it ends with.
    through: String,
}

/// Chooses what counts of records, those of the newest commit first. `bytes_at` returns the length of a session's transcript at
/// the end of a segment, if the archive tells it; it is asked only where records do not follow each other.
fn chosen(summaries: &[&Summary], bytes_at: impl Fn(&SessionKey, &str) -> Option<u64>) -> Chosen {
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
        choose_of_session(summaries, records, &bytes_at, &mut chosen);
    }
    chosen
}

/// A place in a transcript.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Place<'e> {
    /// After so many bytes. Two clones can have stored the same words in different segments.
    After(u64),
    /// The end of a segment, if its place is unknown.
    Segment(&'e str),
}

/// What a record covers.
#[derive(Clone, Copy)]
struct Way<'e> {
    record: usize,
    from: Place<'e>,
    to: Place<'e>,
}

fn choose_of_session(
    summaries: &[&Summary],
    records: Vec<usize>,
    bytes_at: &impl Fn(&SessionKey, &str) -> Option<u64>,
    chosen: &mut Chosen,
) {
    let mut lengths: HashMap<&str, u64> = HashMap::new();
    for record in &records {
        let summary = summaries[*record];
        if let Some(through) = summary.through.as_deref().filter(|_| summary.bytes > 0) {
            lengths.entry(through).or_insert(summary.bytes);
        }
    }
    let (ways, is_known) = ways(summaries, &records, &lengths, chosen);
    if ways.len() < 2 || are_one_path(&ways) {
        return;
    }
    let ways = if is_known {
        ways
    } else {
        for record in &records {
            let summary = summaries[*record];
            if let Some(since) = summary.since.as_deref().filter(|since| !lengths.contains_key(since)) {
                lengths.extend(bytes_at(&summary.key, since).map(|bytes| (since, bytes)));
            }
        }
        self::ways(summaries, &records, &lengths, chosen).0
    };
    let order = in_order(&ways);
    let rank: HashMap<Place<'_>, usize> = order.iter().enumerate().map(|(rank, place)| (*place, rank)).collect();
    let steps: Vec<(usize, usize)> = ways.iter().map(|way| (rank[&way.from], rank[&way.to])).collect();
    let (whole, covered) = cover(&steps, order.len());
    for (way, is_whole) in ways.iter().zip(whole) {
        chosen.is_whole[way.record] = is_whole;
    }
    let names = names(summaries, &records, &lengths);
    for (step, from, to) in left_over(&steps, &covered) {
        let way = &ways[step];
        let summary = summaries[way.record];
        let since = if from == rank[&way.from] { summary.since.as_deref() } else { names[&order[from]] };
        let through = if to == rank[&way.to] { summary.through.as_deref() } else { names[&order[to]] };
        match through.filter(|_| chosen.cuts.len() < MAX_CUTS) {
            Some(through) => chosen.cuts.push(Cut {
                record: way.record,
                since: since.map(str::to_owned),
                through: through.to_owned(),
            }),
            None => chosen.left_out += 1,
        }
    }
}

/// Returns the segment that ends at each place; `None` for the beginning of the session.
fn names<'e>(
    summaries: &[&'e Summary],
    records: &[usize],
    lengths: &HashMap<&'e str, u64>,
) -> HashMap<Place<'e>, Option<&'e str>> {
    let mut names = HashMap::from([(Place::After(0), None)]);
    for record in records {
        let summary = summaries[*record];
        for segment in [summary.through.as_deref(), summary.since.as_deref()].into_iter().flatten() {
            names.entry(place(lengths, Some(segment))).or_insert(Some(segment));
        }
    }
    names
}

fn place<'e>(lengths: &HashMap<&'e str, u64>, segment: Option<&'e str>) -> Place<'e> {
    segment.map_or(Place::After(0), |id| lengths.get(id).map_or(Place::Segment(id), |bytes| Place::After(*bytes)))
}

/// Returns the ways of records. Of records that say the same, only the newest stays. Says also whether the places of all are known.
fn ways<'e>(
    summaries: &[&'e Summary],
    records: &[usize],
    lengths: &HashMap<&'e str, u64>,
    chosen: &mut Chosen,
) -> (Vec<Way<'e>>, bool) {
    let mut seen = HashSet::new();
    let mut ways = Vec::new();
    for record in records {
        let summary = summaries[*record];
        let [from, to] = [&summary.since, &summary.through].map(|segment| place(lengths, segment.as_deref()));
        chosen.is_whole[*record] = seen.insert((from, to));
        if chosen.is_whole[*record] {
            ways.push(Way { record: *record, from, to });
        }
    }
    let is_known = ways.iter().all(|way| matches!(way.from, Place::After(_)));
    (ways, is_known)
}

/// Says whether each way but one goes on where another ends: then they share nothing. That is what nearly all sessions are.
fn are_one_path(ways: &[Way<'_>]) -> bool {
    let next: HashMap<Place<'_>, Place<'_>> = ways.iter().map(|way| (way.from, way.to)).collect();
    let ends: HashSet<Place<'_>> = ways.iter().map(|way| way.to).collect();
    let mut starts = ways.iter().map(|way| way.from).filter(|from| !ends.contains(from));
    let (Some(start), None) = (starts.next(), starts.next()) else { return false };
    if next.len() < ways.len() || ends.len() < ways.len() {
        return false;
    }
    std::iter::successors(next.get(&start), |place| next.get(place)).take(ways.len() + 1).count() == ways.len()
}

/// Returns all places, each behind those from which ways lead to it, and otherwise in the order of bytes: an agent that rewrites
/// its file can make it shorter. Where ways lead in a circle, bytes alone decide.
fn in_order<'e>(ways: &[Way<'e>]) -> Vec<Place<'e>> {
    let mut ahead: HashMap<Place<'e>, usize> = HashMap::new();
    let mut next: HashMap<Place<'e>, Vec<Place<'e>>> = HashMap::new();
    let mut bytes: HashMap<Place<'e>, u64> = HashMap::new();
    for way in ways.iter().filter(|way| way.from != way.to) {
        ahead.entry(way.from).or_insert(0);
        *ahead.entry(way.to).or_insert(0) += 1;
        next.entry(way.from).or_default().push(way.to);
        // A place that is unknown is taken to be shortly before the end of its record.
        if let Place::After(end) = way.to {
            bytes.entry(way.from).and_modify(|known| *known = end.min(*known)).or_insert(end);
        }
    }
    let weight = |place: Place<'e>| match place {
        Place::After(bytes) => (bytes, 1, place),
        Place::Segment(_) => (bytes.get(&place).copied().unwrap_or(u64::MAX), 0, place),
    };
    let all: BTreeSet<_> = ways.iter().flat_map(|way| [way.from, way.to]).map(weight).collect();
    let mut ready: BTreeSet<_> =
        all.iter().copied().filter(|(.., place)| ahead.get(place).is_none_or(|count| *count == 0)).collect();
    let mut rest = all.into_iter();
    let (mut order, mut placed) = (Vec::new(), HashSet::new());
    while let Some((.., place)) = ready.pop_first().or_else(|| rest.next()) {
        if !placed.insert(place) {
            continue;
        }
        order.push(place);
        for next in next.get(&place).into_iter().flatten() {
            let count = ahead.entry(*next).or_insert(0);
            *count = count.saturating_sub(1);
            if *count == 0 {
                ready.insert(weight(*next));
            }
        }
    }
    order
}

/// Chooses steps that share nothing and cover as much as possible, as few of them as do. Returns which ones, and of each place
/// whether the way to it from the place before is covered. A step that leads nowhere or back shares nothing.
fn cover(steps: &[(usize, usize)], places: usize) -> (Vec<bool>, Vec<bool>) {
    let mut is_chosen: Vec<bool> = steps.iter().map(|(from, to)| from >= to).collect();
    let mut ending: HashMap<usize, Vec<usize>> = HashMap::new();
    for (step, (_, to)) in steps.iter().enumerate().filter(|(step, _)| !is_chosen[*step]) {
        ending.entry(*to).or_default().push(step);
    }
    // Up to each place: how much is covered, by how many steps, and the last of them if it ends there.
    let mut best: Vec<(usize, usize, Option<usize>)> = vec![(0, 0, None)];
    for place in 1..places {
        let (covered, count, _) = best[place - 1];
        let mut here = (covered, count, None);
        for step in ending.get(&place).into_iter().flatten() {
            let from = steps[*step].0;
            let (covered, count) = (best[from].0 + place - from, best[from].1 + 1);
            if covered > here.0 || (covered == here.0 && count < here.1) {
                here = (covered, count, Some(*step));
            }
        }
        best.push(here);
    }
    let mut covered = vec![false; places];
    let mut place = places.saturating_sub(1);
    while place > 0 {
        match best[place].2 {
            Some(step) => {
                is_chosen[step] = true;
                covered[steps[step].0 + 1..=place].fill(true);
                place = steps[step].0;
            }
            None => place -= 1,
        }
    }
    (is_chosen, covered)
}

/// Returns the stretches that are not covered, each with the first step that has it.
fn left_over(steps: &[(usize, usize)], covered: &[bool]) -> Vec<(usize, usize, usize)> {
    let mut first: Vec<Option<usize>> = vec![None; covered.len()];
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut changes: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (step, (from, to)) in steps.iter().enumerate().filter(|(_, (from, to))| from < to) {
        changes.entry(*from).or_default().0.push(step);
        changes.entry(*to).or_default().1.push(step);
    }
    for (place, first) in first.iter_mut().enumerate() {
        *first = open.first().copied().filter(|_| !covered[place]);
        if let Some((begun, ended)) = changes.get(&place) {
            ended.iter().for_each(|step| {
                open.remove(step);
            });
            open.extend(begun);
        }
    }
    let mut stretches: Vec<(usize, usize, usize)> = Vec::new();
    for (place, step) in first.into_iter().enumerate() {
        match (step, stretches.last_mut()) {
            (Some(step), Some((last, _, to))) if *last == step && *to + 1 == place => *to = place,
            (Some(step), _) => stretches.push((step, place - 1, place)),
            (None, _) => {}
        }
    }
    stretches
}

#[cfg(test)]
mod tests;
