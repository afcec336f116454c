//! Commits that have what a session wrote: whole files, or what its edits make of them.

use std::collections::HashSet;

use super::activity::Change;
use super::claims::{Attribution, Past, Reason, WorktreeFile, claim};
use crate::git::ObjectId;

/// How far the clocks of an agent and of Git may differ on one machine, beside the fractions that both leave out.
const CLOCK_SECS: i64 = 2;
/// The most edits of one file that are done again.
const MAX_EDITS: usize = 200;
/// The most commits of one file that they are done again for.
const MAX_REPLAYS: usize = 200;
/// How long after a session what it wrote may be committed.
const LATE_SECS: i64 = 24 * 60 * 60;

impl Attribution<'_, '_> {
    /// Claims the first commit that has at `place` what the session wrote there.
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
            // A later commit with the same content took it from elsewhere, as a revert does.
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

    /// Returns what a file was after each change, as far as that is known, as blob ids.
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

    /// Says whether edits turn one blob into another. Those that are in it already find nothing to replace.
    fn leads_to(&mut self, before: ObjectId, after: ObjectId, edits: &[&Change]) -> bool {
        let edits = || edits.iter().filter_map(|change| Some((change.old.as_deref()?, change.new.as_deref()?)));
        if !(1..=MAX_EDITS).contains(&edits().count()) {
            return false;
        }
        let Some(wanted) = self.texts.get(self.repo, after) else { return false };
        // The last that is done has left its text; most commits are told apart by that.
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
