//! Limits for work on texts, which somebody may have made to take long.

use std::cell::Cell;
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::compare::{self, DiffOp};

/// How much is done with one file: bytes that are copied, and pairs of lines that are compared.
const MAX_WORK: usize = 256 << 20;
/// The most pairs of lines that are compared in one comparison.
const MAX_PAIRS: usize = 16 << 20;

/// The measure of a limit: time or work.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Pace {
    /// Time: a person waits.
    #[default]
    Clock,
    /// The work itself: an exported file must be the same each time.
    Work,
}

/// The limit of one piece of work. Beyond it texts are compared coarsely: equal lines can count as changed.
#[derive(Clone, Debug)]
pub struct Limit {
    /// When it ends; `None` if work is limited.
    until: Option<Instant>,
    /// How much work is left.
    left: Cell<usize>,
}

impl Limit {
    /// Returns a limit; `time` counts for [`Pace::Clock`] alone.
    pub fn new(pace: Pace, time: Duration) -> Self {
        let until = (pace == Pace::Clock).then(|| Instant::now() + time);
        Limit { until, left: Cell::new(MAX_WORK) }
    }

    /// Takes so much of the work; says whether there was no more time or work left.
    pub fn is_over(&self, work: usize) -> bool {
        if let Some(until) = self.until {
            return Instant::now() >= until;
        }
        let left = self.left.get().checked_sub(work);
        self.left.set(left.unwrap_or(0));
        left.is_none()
    }

    /// Returns the steps that turn one list of lines into another.
    pub fn steps<T: Eq + Hash>(&self, old: &[T], new: &[T]) -> Vec<DiffOp> {
        let pairs = old.len().saturating_mul(new.len());
        match self.until {
            None if pairs > MAX_PAIRS || self.is_over(pairs) => {
                vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
            }
            until => compare::steps(old, new, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_the_same_place_each_time() {
        let (old, new): (Vec<usize>, Vec<usize>) = ((0..4000).collect(), (1..4001).collect());
        let compared = || {
            let limit = Limit::new(Pace::Work, Duration::ZERO);
            (0..20).map(|_| limit.steps(&old, &new).len()).collect::<Vec<_>>()
        };
        let (fine, coarse) = (3, 1);
        // 16 times 16 million pairs.
        assert_eq!(compared(), [vec![fine; 16], vec![coarse; 4]].concat());
        assert_eq!(compared(), compared());
        let limit = Limit::new(Pace::Work, Duration::ZERO);
        assert!(!limit.is_over(MAX_WORK) && limit.is_over(1));
        let wide: Vec<usize> = (0..5000).collect();
        let steps = Limit::new(Pace::Work, Duration::ZERO).steps(&wide, &wide);
        assert!(matches!(steps[..], [DiffOp::Replace { .. }]), "what is too large is not compared: {steps:?}");
        let clock = Limit::new(Pace::Clock, Duration::from_secs(600));
        assert!(!clock.is_over(usize::MAX) && Limit::new(Pace::Clock, Duration::ZERO).is_over(0));
    }
}
