//! Reading the records of a query, each part of a transcript once.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::key::Origin;
use super::{Distinct, Entry, Uncounted, Unread, distinct};
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{Commit, ObjectId};
use crate::record::{Query, Reader, Summary};

/// The records that a query chooses.
#[derive(Debug, Default)]
pub struct Collected {
    /// The commits, newest first.
    pub commits: Vec<Commit>,
    /// Their records, in the order of their commits.
    pub entries: Vec<Entry>,
    /// Descriptions of notes that could not be read.
    pub problems: Vec<String>,
    /// What could not be counted as it should be.
    pub uncounted: Uncounted,
    /// How many commits the query chooses, with a record or without; merges only if it asks for them alone.
    pub in_range: u64,
    /// Of each commit, whether one of its records has the model that the query asks for.
    pub has_model: Vec<bool>,
}

/// Reads the records of a query from notes. Each stretch of a transcript counts once: an increment that several commits have
/// counts at the newest of them, and parts of a squashed increment count with it. Only what a record has beside another one,
/// as with two squashes that overlap, is counted from its words. Records with other models than the query's are there, too; see
/// [`Collected::retain_model`].
///
/// # Errors
///
/// As [`Reader::each_and_count`].
pub fn collect(reader: &Reader<'_>, query: &Query) -> Result<Collected> {
    let (mut found, mut records) = (Collected::default(), Vec::new());
    // A record has tokens of several models; see `Collected::retain_model`.
    let (model, query) = (query.model.as_deref(), Query { model: None, ..query.clone() });
    let in_range = reader.each_and_count(&query, |listed| {
        found.problems.extend(listed.problems);
        let commit = found.commits.len();
        let chosen = listed.summaries.into_iter().filter(|summary| !summary.is_removed && query.fits_summary(summary));
        let before = records.len();
        records.extend(chosen.map(|summary| (commit, summary)));
        if records.len() > before {
            let has_model = |summary: &Summary| model.is_none_or(|part| summary.has_model(part));
            found.has_model.push(records[before..].iter().any(|(_, summary)| has_model(summary)));
            found.commits.push(listed.commit);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.in_range = in_range;
    let Distinct { records, lacking, uncounted } = distinct(reader, records, |commit| found.commits[commit].commit_id);
    let counted = records.into_iter().map(|(commit, summary)| Entry::of(Some(commit), summary));
    let lacking =
        lacking.into_iter().map(|(commit, summary)| Entry { is_lacking: true, ..Entry::of(Some(commit), summary) });
    found.entries = counted.chain(lacking).collect();
    // Groups of commits are made in their order.
    found.entries.sort_by_key(|entry| entry.commit);
    found.uncounted = uncounted;
    Ok(found)
}

impl Collected {
    /// Adds the sessions in the archive that no commit has, as far as they fit the agent, the session and the dates of a query.
    /// Returns how many of them cannot be read.
    ///
    /// # Errors
    ///
    /// If the notes or the archive cannot be read.
    pub fn add_unrecorded(&mut self, reader: &Reader<'_>, query: &Query) -> Result<Unread> {
        let mut sessions: Vec<_> = reader.unrecorded()?.into_iter().collect();
        sessions.sort_by(|(a, _), (b, _)| (&a.agent, &a.id).cmp(&(&b.agent, &b.id)));
        let mut unread = Unread::default();
        for (key, segment_id) in sessions {
            let is_chosen = query.agent.as_ref().is_none_or(|agent| *agent == key.agent)
                && query.session.as_ref().is_none_or(|start| key.is_within(start));
            if !is_chosen {
                continue;
            }
            let summary = match reader.counted(&key, None, &segment_id.to_string(), None, &mut { u64::MAX }) {
                Ok(summary) => summary,
                Err(why) => {
                    unread.add(why);
                    continue;
                }
            };
            let seconds = Time::parse_rfc3339(&summary.time).map_or(0, |time| time.seconds);
            let is_within =
                query.since.is_none_or(|since| seconds >= since) && query.until.is_none_or(|until| seconds <= until);
            if is_within {
                self.entries.push(Entry::of(None, summary));
            }
        }
        Ok(unread)
    }

    /// Returns where a record belongs; `branches` are those of commits.
    pub(super) fn origin<'o>(&'o self, entry: &'o Entry, branches: &'o HashMap<ObjectId, String>) -> Origin<'o> {
        let commit = entry.commit.map(|at| &self.commits[at]);
        let branch = commit.and_then(|commit| branches.get(&commit.commit_id)).map_or("(none)", String::as_str);
        Origin { commit, branch, time: &entry.summary.time }
    }

    /// Returns when what a record tells was done, as far as notes know it: its commit's author date.
    pub(super) fn time_of(&self, entry: &Entry) -> String {
        let authored = entry.commit.map(|at| self.commits[at].author.time.to_rfc3339());
        authored.unwrap_or_else(|| entry.summary.time.clone())
    }

    /// Shortens paths to so many components: `src/` stands for all files below it.
    pub fn shorten_paths(&mut self, depth: usize) {
        let edits = self.entries.iter_mut().flat_map(|entry| &mut entry.summary.edits);
        edits.for_each(|edited| shorten(&mut edited.path, depth));
    }

    /// Leaves only what was done with models whose name contains `part`.
    pub fn retain_model(&mut self, part: &str) {
        let fits = |model: Option<&str>| model.is_some_and(|model| model.contains(part));
        self.entries.retain_mut(|entry| {
            let is_last = fits(entry.summary.model.as_deref());
            entry.used.retain(|used| fits(used.usage.model.as_deref()));
            // Turns count for the model that answered last, which is another one.
            if let Some(first) = entry.used.first().filter(|_| !is_last) {
                (entry.summary.turns, entry.summary.messages, entry.summary.active) = (0, 0, None);
                entry.summary.model.clone_from(&first.usage.model);
            }
            is_last || !entry.used.is_empty()
        });
    }
}

/// Shortens a path to so many components.
pub fn shorten(path: &mut String, depth: usize) {
    if let Some((at, _)) = path.match_indices('/').nth(depth.saturating_sub(1)) {
        path.truncate(at + 1);
    }
}
