//! Choosing what counts of the records of one session as if its transcript had only ever grown: by the lengths that records
//! tell. That reads no segment, and is right for nearly all sessions; [`LineChoice::is_sure`] says where it may not be.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::record::Summary;

/// Where transcripts end: the length at the end of each segment, and the digest of all words up to there.
pub(super) type Ends<'e> = HashMap<&'e str, (u64, u128)>;

/// A place in a transcript.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Place<'e> {
    /// After so many bytes, with a mark of the words up to there. Two clones can have stored the same words in different
    /// segments, or different words of the same length.
    After(u64, u128),
    /// The end of a segment, if its place is unknown.
    Segment(&'e str),
}

/// The beginning of a session.
const BEGINNING: Place<'static> = Place::After(0, 0);

/// Where a record of a note begins and ends.
pub(super) struct NotedRecord {
    pub since: Option<String>,
    pub through: String,
    /// The length of the transcript at the end of `through`, and a mark of its words; `None` if the record does not tell it.
    pub end: Option<(u64, u128)>,
}

impl NotedRecord {
    /// Sorts records for [`NotedRecord::find`].
    pub fn sort(records: &mut [NotedRecord]) {
        records.sort_by(|a, b| a.through.cmp(&b.through).then(b.end.cmp(&a.end)));
    }

    /// Returns a record that ends with a segment, one that tells where that is before others.
    pub fn find<'n>(sorted: &'n [NotedRecord], segment: &str) -> Option<&'n NotedRecord> {
        let at = sorted.partition_point(|record| record.through.as_str() < segment);
        sorted.get(at).filter(|record| record.through == segment)
    }
}

/// The part of a transcript that a record covers.
#[derive(Clone, Copy)]
pub(super) struct RecordSpan<'e> {
    pub record: usize,
    pub from: Place<'e>,
    pub to: Place<'e>,
}

/// A stretch that no whole record covers. It counts for one of the records that have it.
pub(super) struct LeftOver<'e> {
    /// The index of the span.
    pub span: usize,
    /// The segment that it begins after; `None` for the beginning of the session.
    pub since: Option<&'e str>,
    /// The segment that it ends with; `None` if no segment ends there.
    pub through: Option<&'e str>,
}

/// The parts of the records of a session that count, if its segments follow each other.
pub(super) struct LineChoice<'e> {
    /// Of each span, whether all of it counts.
    pub whole: Vec<bool>,
    /// The stretches that count of others.
    pub stretches: Vec<LeftOver<'e>>,
    /// The spans that do not count although no record says that others have all of their words.
    pub doubtful: Vec<usize>,
    /// The spans that count and of which nobody knows where they begin: they may have words of others.
    pub may_repeat: Vec<usize>,
}

impl LineChoice<'_> {
    /// Says whether the lengths decide everything, so that reading the words would change nothing. That holds if each record
    /// begins where its `since` ends.
    pub fn is_sure(&self) -> bool {
        self.stretches.is_empty() && self.doubtful.is_empty() && self.may_repeat.is_empty()
    }
}

/// Returns a mark of the words that a digest is of.
pub(super) fn mark(sha256: &str) -> u128 {
    twox_hash::XxHash3_128::oneshot(sha256.as_bytes())
}

/// Says whether the spans have no byte in common, whatever their words are.
fn are_apart(spans: &[RecordSpan<'_>]) -> bool {
    let bytes = |span: &RecordSpan<'_>| match (span.from, span.to) {
        (Place::After(from, _), Place::After(to, _)) if from < to => Some((from, to)),
        _ => None,
    };
    let Some(mut ranges) = spans.iter().map(bytes).collect::<Option<Vec<_>>>() else { return false };
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// Chooses what counts of spans.
pub(super) fn choose<'e>(
    summaries: &[&'e Summary],
    records: &[usize],
    spans: &[RecordSpan<'e>],
    ends: &Ends<'e>,
) -> LineChoice<'e> {
    match are_apart(spans) {
        true => LineChoice {
            whole: vec![true; spans.len()],
            stretches: Vec::new(),
            doubtful: Vec::new(),
            may_repeat: Vec::new(),
        },
        false => choose_of_overlapping(summaries, records, spans, ends),
    }
}

fn choose_of_overlapping<'e>(
    summaries: &[&'e Summary],
    records: &[usize],
    spans: &[RecordSpan<'e>],
    ends: &Ends<'e>,
) -> LineChoice<'e> {
    let order = in_order(spans);
    let rank: HashMap<Place<'_>, usize> = order.iter().enumerate().map(|(rank, place)| (*place, rank)).collect();
    let steps: Vec<(usize, usize)> = spans.iter().map(|span| (rank[&span.from], rank[&span.to])).collect();
    let (whole, covered) = cover(&steps, order.len());
    let names = names(summaries, records, ends);
    let mut stretches: Vec<LeftOver<'e>> = Vec::new();
    for (step, from, to) in left_over(&steps, &covered) {
        let span = &spans[step];
        let summary = summaries[span.record];
        let since = if from == rank[&span.from] { summary.since.as_deref() } else { names[&order[from]] };
        let through = if to == rank[&span.to] { summary.through.as_deref() } else { names[&order[to]] };
        stretches.push(LeftOver { span: step, since, through });
    }
    let is_unknown = |span: &RecordSpan<'_>| matches!(span.from, Place::Segment(_));
    let may_repeat = (0..spans.len()).filter(|span| whole[*span] && is_unknown(&spans[*span])).collect();
    let cut: HashSet<usize> = stretches.iter().map(|stretch| stretch.span).collect();
    let of = |span: usize| summaries[spans[span].record];
    let trees: HashSet<&String> =
        (0..spans.len()).filter(|span| whole[*span]).flat_map(|span| &of(span).trees).collect();
    let has_joined = (0..spans.len()).any(|span| whole[span] && of(span).trees.len() > 1);
    // A squash names the commits whose records it has. Two records of one commit can have different words.
    let is_told = |span: usize| {
        let own = &of(span).trees;
        !own.is_empty() && (has_joined || own.len() > 1) && own.iter().all(|tree| trees.contains(tree))
    };
    let is_doubtful = |span: &usize| !whole[*span] && !cut.contains(span) && !is_told(*span);
    let doubtful = (0..spans.len()).filter(is_doubtful).collect();
    LineChoice { whole, stretches, doubtful, may_repeat }
}

/// Returns the segment that ends at each place; `None` for the beginning of the session.
fn names<'e>(summaries: &[&'e Summary], records: &[usize], ends: &Ends<'e>) -> HashMap<Place<'e>, Option<&'e str>> {
    let mut names = HashMap::from([(BEGINNING, None)]);
    for record in records {
        let summary = summaries[*record];
        for segment in [summary.through.as_deref(), summary.since.as_deref()].into_iter().flatten() {
            names.entry(place(ends, Some(segment))).or_insert(Some(segment));
        }
    }
    names
}

fn place<'e>(ends: &Ends<'e>, segment: Option<&'e str>) -> Place<'e> {
    segment.map_or(BEGINNING, |id| ends.get(id).map_or(Place::Segment(id), |(bytes, mark)| Place::After(*bytes, *mark)))
}

/// Returns the spans of records. Of records that say the same, only the newest stays. Says also whether the places of all are known.
pub(super) fn spans<'e>(
    summaries: &[&'e Summary],
    records: &[usize],
    ends: &Ends<'e>,
    is_whole: &mut [bool],
) -> (Vec<RecordSpan<'e>>, bool) {
    let mut seen = HashSet::new();
    let mut spans = Vec::new();
    for record in records {
        let summary = summaries[*record];
        let [from, to] = [&summary.since, &summary.through].map(|segment| place(ends, segment.as_deref()));
        is_whole[*record] = seen.insert((from, to));
        if is_whole[*record] {
            spans.push(RecordSpan { record: *record, from, to });
        }
    }
    let is_known = spans.iter().all(|span| matches!(span.from, Place::After(..)));
    (spans, is_known)
}

/// Says whether each span but one goes on where another ends. Nearly all sessions are such a path, and its spans are taken to
/// share nothing: no segment is read to look whether an agent went back to words that it had taken out of its file.
pub(super) fn are_one_path(spans: &[RecordSpan<'_>]) -> bool {
    let next: HashMap<Place<'_>, Place<'_>> = spans.iter().map(|span| (span.from, span.to)).collect();
    let ends: HashSet<Place<'_>> = spans.iter().map(|span| span.to).collect();
    let mut starts = spans.iter().map(|span| span.from).filter(|from| !ends.contains(from));
    let (Some(start), None) = (starts.next(), starts.next()) else { return false };
    if next.len() < spans.len() || ends.len() < spans.len() {
        return false;
    }
    std::iter::successors(next.get(&start), |place| next.get(place)).take(spans.len() + 1).count() == spans.len()
}

/// Returns how many of the spans that count whole may have words of another one, as far as notes tell: no chain of records leads
/// from the one to the other, so two clones may have continued the session, and one of them the words of both.
pub(super) fn unrelated(spans: &[RecordSpan<'_>], whole: &[bool], noted: &[NotedRecord]) -> usize {
    let ends: Ends<'_> = noted.iter().filter_map(|record| Some((record.through.as_str(), record.end?))).collect();
    let of_notes = noted.iter().map(|record| {
        let (from, to) = (place(&ends, record.since.as_deref()), place(&ends, Some(&record.through)));
        RecordSpan { record: 0, from, to }
    });
    let all: Vec<RecordSpan<'_>> = spans.iter().copied().chain(of_notes).collect();
    let rank: HashMap<Place<'_>, usize> = in_order(&all).into_iter().zip(0..).collect();
    let mut next: HashMap<usize, Vec<usize>> = HashMap::new();
    for span in &all {
        next.entry(rank[&span.from]).or_default().push(rank[&span.to]);
    }
    let is_counted = |(span, is_whole): &(&RecordSpan<'_>, &bool)| **is_whole && matches!(span.from, Place::After(..));
    let counted = spans.iter().zip(whole).filter(is_counted);
    let mut counted: Vec<(usize, usize)> = counted.map(|(span, _)| (rank[&span.from], rank[&span.to])).collect();
    counted.sort_unstable();
    // Ranks between two spans that follow each other are looked at once, so this is linear.
    let leads_to = |from: usize, to: usize| {
        let (mut open, mut seen) = (vec![from], HashSet::new());
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            open.extend(next.get(&at).into_iter().flatten().filter(|next| **next <= to && seen.insert(**next)));
        }
        false
    };
    counted.windows(2).filter(|pair| !leads_to(pair[0].1, pair[1].0)).count()
}

/// Returns all places, each behind those from which spans lead to it, and otherwise in the order of bytes: an agent that rewrites
/// its file can make it shorter. Where spans lead in a circle, bytes alone decide.
fn in_order<'e>(spans: &[RecordSpan<'e>]) -> Vec<Place<'e>> {
    let mut ahead: HashMap<Place<'e>, usize> = HashMap::new();
    let mut next: HashMap<Place<'e>, Vec<Place<'e>>> = HashMap::new();
    let mut bytes: HashMap<Place<'e>, u64> = HashMap::new();
    for span in spans.iter().filter(|span| span.from != span.to) {
        ahead.entry(span.from).or_insert(0);
        *ahead.entry(span.to).or_insert(0) += 1;
        next.entry(span.from).or_default().push(span.to);
        // A place that is unknown is taken to be shortly before the end of its record.
        if let Place::After(end, _) = span.to {
            bytes.entry(span.from).and_modify(|known| *known = end.min(*known)).or_insert(end);
        }
    }
    let weight = |place: Place<'e>| match place {
        Place::After(bytes, _) => (bytes, 1, place),
        Place::Segment(_) => (bytes.get(&place).copied().unwrap_or(u64::MAX), 0, place),
    };
    let all: BTreeSet<_> = spans.iter().flat_map(|span| [span.from, span.to]).map(weight).collect();
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
