//! A record that is counted.

use crate::record::Summary;
use crate::transcript::ModelUsage;

/// Tokens that a record used: those of a model, of one answer, or of several that have the same prices.
#[derive(Clone, Debug)]
pub struct Used {
    /// The tokens, with their model.
    pub usage: ModelUsage,
    /// The answer, or one of those that have the same prices; `None` for the sum of a model's answers.
    pub answer: Option<Answer>,
}

/// What prices need to know of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// When it was written, in seconds since the epoch.
    pub time: Option<i64>,
    /// How many tokens the model was given for it. A record may have only its end.
    pub given: u64,
}

impl From<ModelUsage> for Used {
    fn from(usage: ModelUsage) -> Self {
        Used { usage, answer: None }
    }
}

/// A record that counts.
#[derive(Debug)]
pub struct Entry {
    /// The index of its commit; `None` for a session that no commit has.
    pub commit: Option<usize>,
    /// Its data.
    pub summary: Summary,
    /// The tokens that it used, as its note or its words tell them. Sorted by model and tier.
    pub used: Vec<Used>,
    /// Whether it stands for a part that could not be counted: it has no counts, and the sums that it is in are too small.
    pub is_lacking: bool,
}

impl Entry {
    /// Makes one of what a record tells.
    pub(super) fn of(commit: Option<usize>, mut summary: Summary) -> Self {
        let used = std::mem::take(&mut summary.usage).into_iter().map(Used::from).collect();
        Entry { commit, summary, used, is_lacking: false }
    }
}
