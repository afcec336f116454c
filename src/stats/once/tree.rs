//! Choosing what counts of the records of one session by the words in the archive: a transcript that was made shorter, or that
//! two clones have continued in different ways, is a tree of texts. Each of its bytes counts once.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use super::line::RecordSpan;
use crate::record::Summary;

/// The most texts of one session that differ from each other. Real sessions have a few.
const MAX_TEXTS: usize = 64;
/// The most records of one session that are compared.
const MAX_SPANS: usize = 4_096;
/// The most segments that their chains have together, and how many of these are different ones.
const MAX_STEPS: usize = 1 << 20;
const MAX_HEADS: usize = 20_000;

/// What a segment says of the transcript that ends with it.
#[derive(Clone, Debug)]
pub(super) struct SegmentHead {
    /// The segment before it.
    pub parent: Option<String>,
    /// How much it keeps of that one's transcript.
    pub keep: u64,
    /// The length of its own.
    pub end: u64,
    /// The digest of its own.
    pub sha256: String,
}

/// What the archive tells of a session.
pub(super) struct SessionLookup<'a> {
    /// Returns what a segment says, if it is here.
    pub head: &'a dyn Fn(&str) -> Option<SegmentHead>,
    /// Returns how many bytes two transcripts have in common, which are known to be the same up to a position.
    pub common: &'a dyn Fn([&str; 2], u64) -> Option<u64>,
}

/// The parts of the records of a session that count, if its segments branch.
#[derive(Debug, Default)]
pub(super) struct TreeChoice {
    /// Of each span, whether all of it counts.
    pub whole: Vec<bool>,
    /// The stretches that count of others, each with the index of its span, and whether it begins where the record does.
    pub stretches: Vec<(usize, Range<u64>, bool)>,
}

/// A part of a transcript that a segment has.
#[derive(Debug, Eq, PartialEq)]
struct TextPart {
    segment: String,
    from: u64,
    /// Where the segment ends, and the digest of the transcript up to there; `None` if later segments keep less of it.
    end: Option<(u64, String)>,
}

/// A transcript, oldest part first.
struct Text<'e> {
    name: &'e str,
    parts: Vec<TextPart>,
    length: u64,
    /// The text that it begins with, and how much of that.
    base: Option<(usize, u64)>,
}

/// Chooses what counts of spans; `None` if segments are not here, or there are too many.
pub(super) fn choose(
    summaries: &[&Summary],
    spans: &[RecordSpan<'_>],
    lookup: &SessionLookup<'_>,
) -> Option<TreeChoice> {
    if spans.len() > MAX_SPANS {
        return None;
    }
    let mut chains = Chains { lookup, heads: HashMap::new(), steps: 0 };
    let mut records = Vec::new();
    for span in spans {
        let summary = summaries[span.record];
        let through = summary.through.as_deref()?;
        let (parts, length, start) = chains.parts(through, summary.since.as_deref())?;
        records.push((Text { name: through, parts, length, base: None }, start));
    }
    // The longest text comes first: shorter ones can be its beginning.
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|span| (Reverse(records[*span].0.length), *span));
    let mut tree = Tree { texts: Vec::new(), lookup };
    let mut places = vec![(0, 0..0); records.len()];
    let mut taken: Vec<Option<Text<'_>>> = Vec::new();
    let starts: Vec<u64> = records.iter().map(|(_, start)| *start).collect();
    taken.extend(records.into_iter().map(|(text, _)| Some(text)));
    for span in order {
        let text = taken[span].take()?;
        let length = text.length;
        places[span] = (tree.place(text)?, starts[span].min(length)..length);
    }
    Some(tree.choose(&places))
}

/// Says whether each span that counts whole begins where its `since` ends: no segment after that keeps less of the transcript.
/// False also if segments are not here, or if there are too many.
pub(super) fn are_uncut(
    summaries: &[&Summary],
    spans: &[RecordSpan<'_>],
    whole: &[bool],
    lookup: &SessionLookup<'_>,
) -> bool {
    let mut left = MAX_HEADS;
    let mut is_uncut = |summary: &Summary| {
        let Some(since) = summary.since.as_deref() else { return Some(()) };
        let mut kept = u64::MAX;
        let mut next = summary.through.clone();
        while let Some(segment) = next {
            left = left.checked_sub(1)?;
            let head = (lookup.head)(&segment)?;
            if segment == since {
                return (kept >= head.end).then_some(());
            }
            kept = kept.min(head.keep);
            next = head.parent;
        }
        None
    };
    let counted = spans.iter().zip(whole).filter(|(_, is_whole)| **is_whole);
    counted.map(|(span, _)| summaries[span.record]).all(|summary| is_uncut(summary).is_some())
}

/// The chains of a session's segments.
struct Chains<'a> {
    lookup: &'a SessionLookup<'a>,
    heads: HashMap<String, SegmentHead>,
    steps: usize,
}

impl Chains<'_> {
    /// Returns the parts of a transcript, its length, and where the increment after `since` begins.
    fn parts(&mut self, through: &str, since: Option<&str>) -> Option<(Vec<TextPart>, u64, u64)> {
        let (mut parts, mut kept) = (Vec::new(), u64::MAX);
        let (mut length, mut start) = (None, None);
        let mut next = Some(through.to_owned());
        while let Some(segment) = next.take() {
            self.steps += 1;
            if !self.heads.contains_key(&segment) {
                self.heads.insert(segment.clone(), (self.lookup.head)(&segment)?);
            }
            let head = &self.heads[&segment];
            let is_broken = kept != u64::MAX && kept > head.end;
            if is_broken || self.steps > MAX_STEPS || self.heads.len() > MAX_HEADS {
                return None;
            }
            length.get_or_insert(head.end);
            if since == Some(segment.as_str()) {
                start = Some(kept.min(head.end));
            }
            if head.keep < kept {
                // What later segments do not keep is in no part.
                if head.keep < head.end.min(kept) {
                    let end = (head.end <= kept).then(|| (head.end, head.sha256.clone()));
                    parts.push(TextPart { segment, from: head.keep, end });
                }
                kept = head.keep;
            }
            next = head.parent.clone().filter(|_| kept > 0);
        }
        parts.reverse();
        (kept == 0).then_some((parts, length?, start.unwrap_or(0)))
    }
}

/// Texts that share their beginnings.
struct Tree<'a, 'e> {
    texts: Vec<Text<'e>>,
    lookup: &'a SessionLookup<'a>,
}

impl<'e> Tree<'_, 'e> {
    /// Returns the text that a text is the beginning of, which may be itself.
    fn place(&mut self, mut text: Text<'e>) -> Option<usize> {
        let mut best: Option<(u64, usize)> = None;
        for (at, known) in self.texts.iter().enumerate() {
            let common = self.common(known, &text)?;
            if common == text.length {
                return Some(at);
            }
            if best.is_none_or(|(most, _)| common > most) {
                best = Some((common, at));
            }
        }
        text.base = best.map(|(common, at)| (at, common));
        self.texts.push(text);
        (self.texts.len() <= MAX_TEXTS).then_some(self.texts.len() - 1)
    }

    /// Returns how many bytes two texts have in common.
    fn common(&self, known: &Text<'_>, text: &Text<'_>) -> Option<u64> {
        let shorter = known.length.min(text.length);
        let is_alike = |(one, other): &(&TextPart, &TextPart)| one.segment == other.segment && one.from == other.from;
        let alike = known.parts.iter().zip(&text.parts).take_while(is_alike).count();
        let end = |text: &Text<'_>| text.parts.get(alike).map_or(text.length, |part| part.from);
        let (one, other) = (end(known), end(text));
        // Two clones can have stored the same words in different segments.
        let ends: HashMap<u64, &String> =
            known.parts.iter().filter_map(|part| part.end.as_ref()).map(|(end, sha256)| (*end, sha256)).collect();
        let same = text.parts.iter().rev().filter_map(|part| part.end.as_ref());
        let same = same.filter(|(end, sha256)| ends.get(end) == Some(&sha256)).map(|(end, _)| *end).max();
        let common = one.min(other).max(same.unwrap_or(0));
        if common == shorter {
            return Some(common);
        }
        (self.lookup.common)([known.name, text.name], common)
    }

    /// Returns the parts of a range of a text by the texts that have them.
    fn owned(&self, mut at: usize, mut range: Range<u64>) -> Vec<(usize, Range<u64>)> {
        let mut owned = Vec::new();
        loop {
            let (base, fork) = self.texts[at].base.map_or((None, 0), |(base, fork)| (Some(base), fork));
            let own = range.start.max(fork)..range.end;
            if own.start < own.end {
                owned.push((at, own));
            }
            range.end = range.end.min(fork);
            let Some(base) = base.filter(|_| range.start < range.end) else { return owned };
            at = base;
        }
    }

    fn choose(&self, places: &[(usize, Range<u64>)]) -> TreeChoice {
        let mut choice = TreeChoice { whole: vec![false; places.len()], stretches: Vec::new() };
        let mut covered: Vec<Vec<Range<u64>>> = vec![Vec::new(); self.texts.len()];
        let length = |span: usize| places[span].1.end - places[span].1.start;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|span| (Reverse(length(*span)), *span));
        for span in order {
            let owned = self.owned(places[span].0, places[span].1.clone());
            let is_new = |(at, range): &(usize, Range<u64>)| left_of(&covered[*at], range) == [range.clone()];
            choice.whole[span] = owned.iter().all(is_new);
            if choice.whole[span] {
                owned.into_iter().for_each(|(at, range)| covered[at].push(range));
            }
        }
        for (span, (at, range)) in places.iter().enumerate().filter(|(span, _)| !choice.whole[*span]) {
            let mut stretches: Vec<Range<u64>> = Vec::new();
            for (at, owned) in self.owned(*at, range.clone()) {
                let left = left_of(&covered[at], &owned);
                covered[at].extend(left.iter().cloned());
                stretches.extend(left);
            }
            stretches.sort_by_key(|stretch| stretch.start);
            let mut joined: Vec<Range<u64>> = Vec::new();
            for stretch in stretches {
                match joined.last_mut().filter(|last| last.end == stretch.start) {
                    Some(last) => last.end = stretch.end,
                    None => joined.push(stretch),
                }
            }
            choice.stretches.extend(joined.into_iter().map(|stretch| {
                let is_first = stretch.start == range.start;
                (span, stretch, is_first)
            }));
        }
        choice
    }
}

/// Returns what is left of a range without those that are covered, which do not overlap.
fn left_of(covered: &[Range<u64>], range: &Range<u64>) -> Vec<Range<u64>> {
    let mut near: Vec<&Range<u64>> =
        covered.iter().filter(|one| one.start < range.end && range.start < one.end).collect();
    near.sort_by_key(|one| one.start);
    let (mut left, mut at) = (Vec::new(), range.start);
    for one in near {
        if at < one.start {
            left.push(at..one.start);
        }
        at = at.max(one.end);
    }
    if at < range.end {
        left.push(at..range.end);
    }
    left
}
