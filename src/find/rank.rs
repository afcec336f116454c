//! Ranking turns: BM25, with recent commits ahead, and few answers of one session.

use std::collections::{HashMap, HashSet};

use super::{Census, Increments, LineAddress, Terms, TurnFound};

/// BM25's k1: how soon further places of the same word stop to count.
const K1: f64 = 1.2;
/// BM25's b: how much the length of a turn counts.
const B: f64 = 0.5;
/// How many increments are assumed beside those that were searched, with each word in one of them. Without them, a
/// search of few sessions could not tell which words are rare.
const UNSEEN: f64 = 8.0;
/// After so many seconds a turn counts half.
const HALF_LIFE_SECS: f64 = 365.0 * 86400.0;
/// How many answers may come from one session.
const MAX_OF_ONE: usize = 3;

/// A turn and its score.
#[derive(Clone, Debug)]
pub struct RankedTurn {
    /// The number of its increment in the plan.
    pub session: usize,
    /// The number of the turn in the increment.
    pub turn: usize,
    /// The score; a higher one is better.
    pub score: f64,
    /// The place of the turn's first message in the archive.
    pub place: LineAddress,
}

/// Collects turns, then ranks them.
#[derive(Debug)]
pub struct Ranking<'t> {
    terms: &'t Terms,
    searched: usize,
    /// In how many increments each word is.
    frequencies: Vec<usize>,
    turns: Vec<(usize, TurnFound)>,
}

impl<'t> Ranking<'t> {
    /// Returns a ranking without turns.
    pub fn new(terms: &'t Terms) -> Self {
        Ranking { terms, searched: 0, frequencies: vec![0; terms.count()], turns: Vec::new() }
    }

    /// Adds what was found in an increment of the plan.
    pub fn add(&mut self, session: usize, census: Census) {
        self.searched += 1;
        for (frequency, has) in self.frequencies.iter_mut().zip(census.has) {
            *frequency += usize::from(has);
        }
        self.turns.extend(census.turns.into_iter().map(|turn| (session, turn)));
    }

    /// Returns the best turns, best first. `now` is in seconds since the epoch.
    pub fn best(&self, plan: &Increments, now: i64, max_count: usize) -> Vec<RankedTurn> {
        let searched = self.searched as f64 + UNSEEN;
        let rarity = |frequency: &usize| {
            let frequency = *frequency as f64 + 1.0;
            (1.0 + (searched - frequency + 0.5) / (frequency + 0.5)).ln()
        };
        let rarities: Vec<f64> = self.frequencies.iter().map(rarity).collect();
        let total: f64 = rarities.iter().sum();
        let lengths: usize = self.turns.iter().map(|(_, turn)| turn.length).sum();
        let usual = (lengths as f64 / self.turns.len().max(1) as f64).max(1.0);
        let mut answers: Vec<RankedTurn> = Vec::new();
        for (session, turn) in &self.turns {
            let has = turn.counts.iter().zip(&rarities).filter(|(count, _)| **count > 0.0);
            let share: f64 = has.map(|(_, rarity)| rarity).sum::<f64>() / total;
            if share + 1e-9 < self.terms.min_share {
                continue;
            }
            let norm = K1 * (1.0 - B + B * turn.length as f64 / usual);
            let fit: f64 = turn
                .counts
                .iter()
                .zip(&rarities)
                .map(|(count, rarity)| rarity * count * (K1 + 1.0) / (count + norm))
                .sum();
            let score = fit / (1.0 + age_secs(plan, *session, now) / HALF_LIFE_SECS);
            answers.push(RankedTurn { session: *session, turn: turn.number, score, place: turn.place.clone() });
        }
        // Of equal ones the newer comes first.
        answers.sort_by(|a, b| b.score.total_cmp(&a.score).then((a.session, a.turn).cmp(&(b.session, b.turn))));
        let (mut of_one, mut seen) = (HashMap::new(), HashSet::new());
        answers.retain(|answer| {
            let count = of_one.entry(&plan.sessions[answer.session].key).or_insert(0);
            // Several commits can have the same turn.
            let is_new = *count < MAX_OF_ONE && seen.insert(answer.place.clone());
            *count += usize::from(is_new);
            is_new
        });
        answers.truncate(max_count);
        answers
    }
}

/// Returns how old the commit of an increment is.
fn age_secs(plan: &Increments, session: usize, now: i64) -> f64 {
    let session = &plan.sessions[session];
    let time = match session.commit {
        Some(commit) => Some(plan.commits[commit].committer.time.seconds),
        None => crate::git::date::Time::parse_rfc3339(&session.time).map(|time| time.seconds),
    };
    time.map_or(0.0, |time| now.saturating_sub(time).max(0) as f64)
}
