//! The commits of a range that have a conversation, newest first.

use std::ops::ControlFlow;

use bstr::ByteSlice as _;

use super::{Reader, Summary};
use crate::error::Result;
use crate::git::{Commit, ObjectId, Order, Range};

/// Which of the noted commits to list. An absent condition holds for all.
#[derive(Default)]
pub struct Query {
    /// Where to look.
    pub range: Range,
    /// Only these commits, already newest first; used when paths limit the walk.
    pub candidates: Option<Vec<ObjectId>>,
    /// Committed at or after, in seconds since the epoch.
    pub since: Option<i64>,
    /// Committed at or before, in seconds since the epoch.
    pub until: Option<i64>,
    /// Matches `Name <address>` of the author.
    pub author: Option<regex::bytes::Regex>,
    /// Matches the subject.
    pub grep: Option<regex::bytes::Regex>,
    /// The agent's name.
    pub agent: Option<String>,
    /// Part of the model's name.
    pub model: Option<String>,
    /// How many to leave out at the beginning.
    pub skip: usize,
    /// How many to list at most.
    pub max_count: Option<usize>,
}

/// A commit with what its records say.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The commit.
    pub commit: Commit,
    /// Its records; never empty.
    pub summaries: Vec<Summary>,
}

impl Reader<'_> {
    /// Visits the commits of a query until `visit` breaks off.
    ///
    /// The set of noted commits is read first; then history is walked once, and only commits in the set are looked
    /// at any closer.
    ///
    /// # Errors
    ///
    /// If history, a commit or a note cannot be read.
    pub fn each(&self, query: &Query, mut visit: impl FnMut(Listed) -> Result<ControlFlow<()>>) -> Result<()> {
        let noted = self.noted()?;
        if noted.is_empty() || query.max_count == Some(0) {
            return Ok(());
        }
        let (mut skipped, mut count, mut left) = (0, 0, noted.len());
        let mut consider = |commit_id: ObjectId| -> Result<ControlFlow<()>> {
            let Some(blob_ids) = noted.get(&commit_id) else { return Ok(ControlFlow::Continue(())) };
            left -= 1;
            let has_more = |left: usize| if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let commit = self.repo().commit(commit_id)?;
            if !query.fits(&commit) {
                return Ok(has_more(left));
            }
            let summaries = Self::summaries(&self.note_of_blobs(blob_ids)?);
            if summaries.is_empty() || !summaries.iter().any(|summary| query.fits_summary(summary)) {
                return Ok(has_more(left));
            }
            if skipped < query.skip {
                skipped += 1;
                return Ok(has_more(left));
            }
            count += 1;
            if visit(Listed { commit, summaries })?.is_break() || query.max_count.is_some_and(|max| count >= max) {
                return Ok(ControlFlow::Break(()));
            }
            Ok(has_more(left))
        };
        if let Some(candidates) = &query.candidates {
            for commit_id in candidates {
                if consider(*commit_id)?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        for step in self.repo().walk(&query.range, Order::NewestFirst)? {
            if consider(step?.commit_id)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl Query {
    fn fits(&self, commit: &Commit) -> bool {
        let time = commit.committer.time.seconds;
        let author = || bstr::concat([&commit.author.name[..], b" <", &commit.author.email[..], b">"]);
        self.since.is_none_or(|since| time >= since)
            && self.until.is_none_or(|until| time <= until)
            && self.author.as_ref().is_none_or(|pattern| pattern.is_match(&author()))
            && self.grep.as_ref().is_none_or(|pattern| pattern.is_match(commit.subject().as_bytes()))
    }

    fn fits_summary(&self, summary: &Summary) -> bool {
        self.agent.as_ref().is_none_or(|agent| summary.key.agent == *agent)
            && self.model.as_ref().is_none_or(|part| summary.model.as_ref().is_some_and(|model| model.contains(part)))
    }
}
