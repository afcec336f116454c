//! A record that is counted.

use crate::record::Summary;
use crate::transcript::ModelUsage;

/// A record that counts.
#[derive(Debug)]
pub struct Entry {
    /// The index of its commit; `None` for a session that no commit has.
    pub commit: Option<usize>,
    /// Its data.
    pub summary: Summary,
    /// The tokens that it used: of each model, or of each answer.
    pub usage: Vec<ModelUsage>,
    /// Whether `usage` is that of single answers.
    pub is_by_answer: bool,
}
