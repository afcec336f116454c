//! Claiming commits by content: files that a session wrote, or the results of its edits.

use std::collections::HashSet;

use super::activity::Change;
use super::claims::{Attribution, Past, Reason, WorktreeFile, claim};
use crate::git::ObjectId;

/// How far the times of an agent and of Git may differ on one machine; both are whole seconds.
const CLOCK_SECS: i64 = 2;
/// How many edits of one file are replayed.
const MAX_EDITS: usize = 200;
/// For how many commits of one file edits are replayed.
const MAX_REPLAYS: usize = 200;
/// How long after a session its content may be committed.
const LATE_SECS: i64 = 24 * 60 * 60;

impl Attribution<'_, '_> {
    /// Claims the first commit with the content that the session wrote at `place`.
    pub(super) fn claim_by_content(&mut self, past: &mut Past, place: &WorktreeFile, changes: &[Change]) {
        let written = self.written(changes);
        let mut seen = HashSet::new();
        let replays = std::cell::Cell::new(0);
        let from = i64::MIN;
        let until = past.end().map_or(i64::MAX, |end| end.saturating_add(LATE_SECS));
        for commit_id in self.candidates.changing(&place.path, from, until) {
            let Some(found) = self.candidates.get(commit_id).cloned() else { continue };
            if !past.may_have_made(&found) || !place.may_be_in(&found) {
                continue;
            }
            let change = self.candidates.changes(commit_id).iter().find(|change| change.path == place.path).cloned();
            let Some((before, after)) = change.and_then(|change| Some((change.before, change.after?.1))) else {
                continue;
            };
            let is_by_then = |time: Option<i64>| time.is_none_or(|time| time <= found.time.saturating_add(CLOCK_SECS));
            let is_written = written.iter().any(|(blob_id, time)| *blob_id == after && is_by_then(*time));
            let is_known = is_written || past.has_claimed(commit_id);
            let mut is_edited = || {
                let edits: Vec<&Change> = changes.iter().filter(|change| is_by_then(change.time)).collect();
                replays.set(replays.get() + 1);
                before.is_some_and(|(_, before)| self.leads_to(before, after, &edits))
            };
            // Only the first commit with this content counts; a revert can have it again.
            if (is_known || (replays.get() < MAX_REPLAYS && is_edited()))
                && seen.insert(after)
                && !past.has_claimed(commit_id)
            {
                let is_foreign = found.is_own == Some(false) && found.made_in.is_none();
                let reason = if is_foreign { Reason::Foreign } else { Reason::Content };
                past.claims.push(claim(&found, reason, None));
            }
        }
    }

    /// Returns the blob id of a file after each change, as far as it is known.
    fn written(&self, changes: &[Change]) -> Vec<(ObjectId, Option<i64>)> {
        let mut content: Option<String> = None;
        let mut written = Vec::new();
        for change in changes {
            content = match (&change.old, &change.new, content) {
                (None, Some(new), _) => Some(new.clone()),
                (Some(old), Some(new), Some(content)) => edited(&content, old, new),
                _ => None,
            };
            let known = content.as_ref().filter(|content| !content.trim().is_empty());
            let blob_id = known.and_then(|content| self.repo.blob_id(content.as_bytes()));
            written.extend(blob_id.map(|blob_id| (blob_id, change.time)));
        }
        written
    }

    /// Says whether edits turn one blob into another. An edit that the blob has already finds nothing to replace.
    fn leads_to(&mut self, before: ObjectId, after: ObjectId, edits: &[&Change]) -> bool {
        let edits = || edits.iter().filter_map(|change| Some((change.old.as_deref()?, change.new.as_deref()?)));
        if !(1..=MAX_EDITS).contains(&edits().count()) {
            return false;
        }
        let Some(wanted) = self.texts.get(self.repo, after) else { return false };
        // The new text of one of the edits must be there; this excludes most commits.
        if !edits().any(|(_, new)| wanted.contains(new)) {
            return false;
        }
        let Some(before) = self.texts.get(self.repo, before) else { return false };
        let mut content = before.to_string();
        for (old, new) in edits() {
            content = edited(&content, old, new).unwrap_or(content);
            if content == *wanted {
                return true;
            }
        }
        false
    }
}

fn edited(content: &str, old: &str, new: &str) -> Option<String> {
    (!old.is_empty() && content.contains(old)).then(|| content.replacen(old, new, 1))
}
