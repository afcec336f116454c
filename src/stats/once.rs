//! Choosing records so that each increment counts once.
//!
//! A squash, a cherry-pick and a rebase leave the same increment on several commits, and a squash joins increments. The
//! segments that records name show which record contains which: a record leads from one segment to another.

use std::collections::{HashMap, HashSet};

use super::Entry;
use crate::transcript::SessionKey;

/// How many records of one session are looked at as the whole of others. Real sessions have a few.
const MAX_WHOLES: usize = 256;

/// Says of each record whether it counts. The records are those of commits, newest first.
pub(super) fn kept(entries: &[Entry]) -> Vec<bool> {
    let mut is_kept = vec![true; entries.len()];
    let mut sessions: HashMap<&SessionKey, Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        // What an earlier tool recorded names no segment, and has no increments.
        if entry.summary.through.is_some() {
            sessions.entry(&entry.summary.key).or_default().push(index);
        }
    }
    for records in sessions.into_values().filter(|records| records.len() > 1) {
        Session { entries, records }.drop_repeated(&mut is_kept);
    }
    is_kept
}

/// The records of one session, newest first.
struct Session<'e> {
    entries: &'e [Entry],
    records: Vec<usize>,
}

/// A segment, or the beginning of the session.
type Position<'e> = Option<&'e str>;

impl<'e> Session<'e> {
    fn since(&self, record: usize) -> Position<'e> {
        self.entries[record].summary.since.as_deref()
    }

    fn through(&self, record: usize) -> Position<'e> {
        self.entries[record].summary.through.as_deref()
    }

    fn drop_repeated(&self, is_kept: &mut [bool]) {
        let mut seen = HashSet::new();
        let mut records = self.records.clone();
        records.retain(|record| {
            is_kept[*record] = seen.insert((self.since(*record), self.through(*record)));
            is_kept[*record]
        });
        // A record that has all of several others begins or ends where one of them does.
        let (mut begun, mut ended) = (HashMap::new(), HashMap::new());
        for record in &records {
            *begun.entry(self.since(*record)).or_insert(0) += 1;
            *ended.entry(self.through(*record)).or_insert(0) += 1;
        }
        let is_shared = |record: &usize| begun[&self.since(*record)] > 1 || ended[&self.through(*record)] > 1;
        let mut wholes: Vec<usize> = records.iter().copied().filter(is_shared).collect();
        let said = |record: usize| {
            let summary = &self.entries[record].summary;
            (summary.messages, summary.turns, summary.tokens.map(|tokens| tokens.total()), summary.bytes)
        };
        wholes.sort_by_key(|record| std::cmp::Reverse(said(*record)));
        for whole in wholes.into_iter().take(MAX_WHOLES) {
            if !is_kept[whole] {
                continue;
            }
            let inside = self.between(&records, self.since(whole), self.through(whole));
            for part in records.iter().copied().filter(|part| *part != whole) {
                let is_between = inside.contains(&self.since(part)) && inside.contains(&self.through(part));
                // Of two that begin together, the longer goes on; of two that end together, one began earlier.
                let is_beginning = self.since(part) == self.since(whole)
                    && self.entries[part].summary.bytes <= self.entries[whole].summary.bytes;
                let is_end = self.through(part) == self.through(whole) && said(part) <= said(whole);
                if is_between || is_beginning || is_end {
                    is_kept[part] = false;
                }
            }
        }
    }

    /// Returns the places that one comes by on the way from a place to another, both included, if records lead there.
    fn between(&self, records: &[usize], from: Position<'e>, to: Position<'e>) -> HashSet<Position<'e>> {
        let mut steps: HashMap<Position<'e>, Vec<Position<'e>>> = HashMap::new();
        let mut back: HashMap<Position<'e>, Vec<Position<'e>>> = HashMap::new();
        for record in records {
            let (since, through) = (self.since(*record), self.through(*record));
            // The whole itself is no way through its parts.
            if (since, through) != (from, to) {
                steps.entry(since).or_default().push(through);
                back.entry(through).or_default().push(since);
            }
        }
        let forward = reached(&steps, from);
        let mut inside = reached(&back, to);
        inside.retain(|place| forward.contains(place));
        inside
    }
}

fn reached<'e>(steps: &HashMap<Position<'e>, Vec<Position<'e>>>, from: Position<'e>) -> HashSet<Position<'e>> {
    let mut reached = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(place) = open.pop() {
        open.extend(steps.get(&place).into_iter().flatten().copied().filter(|next| reached.insert(*next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::Note;

    /// Makes records that lead from one step of a session to a later one; `commit` counts from the newest.
    fn entries(steps: &[(u64, u64)]) -> Vec<Entry> {
        let entry = |(commit, (from, to)): (usize, &(u64, u64))| {
            let since = (*from > 0).then(|| format!("segment{from}"));
            let line = serde_json::json!({"shiftlog": 1, "agent": "claude", "session": "s", "time": "", "turns": to - from,
                "messages": to - from, "tokens": {"output": to - from}, "since": since,
                "through": format!("segment{to}"), "bytes": to * 10, "sha256": "00"});
            let note = Note::parse(line.to_string().as_bytes());
            let summary = note.summaries().remove(0);
            Entry { commit: Some(commit), summary, used: Vec::new() }
        };
        steps.iter().enumerate().map(entry).collect()
    }

    fn kept_of(steps: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let entries = entries(steps);
        let kept = kept(&entries);
        steps.iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(step, _)| *step).collect()
    }

    #[test]
    fn an_increment_on_several_commits_counts_at_the_newest() {
        let entries = entries(&[(0, 2), (0, 2), (2, 3)]);
        assert_eq!(kept(&entries), [true, false, true]);
    }

    #[test]
    fn a_squash_counts_once_with_or_without_its_sources() {
        assert_eq!(kept_of(&[(0, 3), (2, 3), (1, 2), (0, 1)]), [(0, 3)]);
        assert_eq!(kept_of(&[(2, 3), (1, 2), (0, 1), (0, 3)]), [(0, 3)], "whichever is newer");
        assert_eq!(kept_of(&[(0, 3), (0, 1)]), [(0, 3)]);
        assert_eq!(kept_of(&[(1, 4), (3, 4)]), [(1, 4)]);
        assert_eq!(kept_of(&[(4, 5), (1, 4), (2, 3), (1, 2), (3, 4), (0, 1)]), [(4, 5), (1, 4), (0, 1)]);
    }

    #[test]
    fn a_circle_of_records_loses_not_all_of_them() {
        let mut entries = entries(&[(1, 2), (2, 3)]);
        entries[1].summary.through = Some("segment1".into());
        assert_eq!(kept(&entries), [true, true]);
    }

    proptest! {
        #[test]
        fn squashed_copies_do_not_change_what_is_counted(
            cuts in proptest::collection::btree_set(1u64..20, 1..6),
            squashes in proptest::collection::vec((0usize..6, 0usize..6), 0..4),
            order in any::<u64>(),
        ) {
            let ends: Vec<u64> = std::iter::once(0).chain(cuts).collect();
            let mut steps: Vec<(u64, u64)> = ends.windows(2).map(|two| (two[0], two[1])).collect();
            let total: u64 = steps.iter().map(|(from, to)| to - from).sum();
            // Squashes of stretches that do not overlap by half: each inside or outside of another.
            if let Some((a, b)) = squashes.first() {
                let (a, b) = (a % ends.len(), b % ends.len());
                if a < b {
                    steps.push((ends[a], ends[b]));
                    squashes.iter().skip(1).for_each(|(c, d)| {
                        let (c, d) = (a + c % (b - a + 1), a + d % (b - a + 1));
                        if c < d && (c == a || d == b) && !(c, d).eq(&(a, b)) {
                            steps.push((ends[c], ends[d]));
                        }
                    });
                }
            }
            let length = steps.len();
            steps.rotate_left(usize::try_from(order % length as u64).expect("small"));
            let counted: u64 = kept_of(&steps).iter().map(|(from, to)| to - from).sum();
            prop_assert_eq!(counted, total);
        }
    }
}
