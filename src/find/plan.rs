//! The increments that are searched, newest commit first.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::archive::Archive;
use crate::error::Result;
use crate::git::{Commit, ObjectId};
use crate::record::{Query, Reader, Summary};
use crate::transcript::{SessionKey, short_ids};

/// An increment of a session that is searched.
#[derive(Clone, Debug)]
pub struct PlannedIncrement {
    /// The number of its commit in the plan; `None` if no commit has the session.
    pub commit: Option<usize>,
    /// The id of that commit.
    pub commit_id: Option<ObjectId>,
    /// The session.
    pub key: SessionKey,
    /// When the record was made; RFC 3339.
    pub time: String,
    /// The segment that the increment begins after.
    pub(super) since: Option<ObjectId>,
    /// The segment that it ends with; `None` if the words are in the note itself.
    pub(super) through: Option<ObjectId>,
}

/// The increments to search, in the order of the answers.
#[derive(Clone, Debug, Default)]
pub struct Increments {
    /// The commits, newest first.
    pub commits: Vec<Commit>,
    /// The increments, in the order of the commits, and within a commit as `show` has them.
    pub sessions: Vec<PlannedIncrement>,
    /// Descriptions of notes that could not be read.
    pub problems: Vec<String>,
}

impl Increments {
    /// Lists the increments of the commits that a query chooses. An increment that several commits have is listed once,
    /// with the newest of them, or with `is_each` once for each.
    ///
    /// # Errors
    ///
    /// As [`Reader::each`].
    pub fn new(reader: &Reader<'_>, query: &Query, is_each: bool) -> Result<Increments> {
        let mut plan = Increments::default();
        let mut seen = HashSet::new();
        let parse = |hex: &Option<String>| hex.as_deref().and_then(|hex| reader.repo().parse_id(hex));
        reader.each(query, |listed| {
            let (number, commit_id) = (plan.commits.len(), listed.commit.commit_id);
            plan.problems.extend(listed.problems);
            let wanted = |summary: &&Summary| query.fits_summary(summary) && !summary.is_removed;
            let mut without_words = 0;
            if is_each {
                seen.clear();
            }
            for summary in listed.summaries.iter().filter(wanted) {
                let (since, through) = (parse(&summary.since), parse(&summary.through));
                // Only documents of earlier tools name no segment.
                if through.is_none() && (summary.through.is_some() || summary.newer_version.is_some()) {
                    without_words += 1;
                    continue;
                }
                let is_new = through.is_none() || seen.insert((summary.key.clone(), since, through));
                if is_new {
                    let (key, time) = (summary.key.clone(), summary.time.clone());
                    let commit = Some(number);
                    plan.sessions.push(PlannedIncrement {
                        commit,
                        commit_id: Some(commit_id),
                        key,
                        time,
                        since,
                        through,
                    });
                }
            }
            if without_words > 0 {
                let commit = commit_id.to_hex_with_len(7);
                plan.problems.push(format!("records on '{commit}' that name no words: {without_words}"));
            }
            plan.commits.push(listed.commit);
            Ok(ControlFlow::Continue(()))
        })?;
        plan.problems.extend_from_slice(reader.problems());
        Ok(plan)
    }

    /// Lists the sessions in the archive that no commit has, newest first: those of an agent, and those whose id begins
    /// with `session`. Reads all notes.
    ///
    /// # Errors
    ///
    /// If the notes or the archive cannot be read.
    pub fn unrecorded(reader: &Reader<'_>, agent: Option<&str>, session: Option<&str>) -> Result<Increments> {
        let archive = Archive::new(reader.repo());
        let mut plan = Increments::default();
        for (key, segment_id) in reader.unrecorded()? {
            let time = archive.header(segment_id).map(|header| header.time).unwrap_or_default();
            let is_wanted =
                agent.is_none_or(|agent| agent == key.agent) && session.is_none_or(|start| key.is_within(start));
            if is_wanted {
                let through = Some(segment_id);
                plan.sessions.push(PlannedIncrement { commit: None, commit_id: None, key, time, since: None, through });
            }
        }
        plan.sessions.sort_by(|a, b| (&b.time, &a.key).cmp(&(&a.time, &b.key)));
        Ok(plan)
    }

    /// Returns for each session of the plan a short name that no other session of it has.
    pub fn short_ids(&self) -> HashMap<&str, String> {
        short_ids(self.sessions.iter().map(|session| session.key.id.as_str()))
    }
}
