//! Doing the edits of a file again, in the order in which they were made.

use super::document::{Document, Origin};
use super::limit::Limit;
use super::paths::{Home, Places};
use super::talk::{Befores, CallIndex, Change, How, Talk};

/// An edit of one file.
#[derive(Clone, Copy, Debug)]
pub struct Step<'t> {
    /// The call.
    pub place: CallIndex,
    /// The edit.
    pub change: &'t Change,
    /// The file as the edit found it, if that is known.
    before: Option<&'t str>,
    /// When it was made.
    time: Option<i64>,
    /// Whether its branch of the conversation was taken back, or it was interrupted: it may not have been done.
    pub is_abandoned: bool,
}

/// Returns the edits of some paths over all sessions, in the order of time; those of one session stay in their order.
pub fn steps<'t>(talks: &'t [Talk], places: &Places<'_>, paths: [&str; 2], befores: &'t Befores) -> Vec<Step<'t>> {
    let mut found = Vec::new();
    for (at, talk) in talks.iter().enumerate() {
        let mut changes = talk.calls.iter().flat_map(|call| &call.changes);
        let directory = talk.directory.as_deref();
        let is_local = talk.is_live
            || directory.is_some_and(|directory| places.is_here(directory))
            || changes.any(|change| places.is_here(&change.edit.path));
        let home = Home { directory, is_local };
        let is_wanted = |named: &str| paths.iter().any(|path| places.is_at(named, path, home));
        for (number, call) in talk.calls.iter().enumerate() {
            let wanted = call.changes.iter().filter(|change| is_wanted(&change.edit.path));
            let is_abandoned = call.is_abandoned || call.is_unanswered;
            let (place, time) = ((at, number), call.time);
            // A call that edits the file in several places has found it so at the first of them.
            let mut before = befores.get(&place).map(String::as_str);
            found.extend(wanted.map(|change| Step { place, change, before: before.take(), time, is_abandoned }));
        }
    }
    found.sort_by_key(|step| step.time);
    found
}

impl Step<'_> {
    /// Says whether it was made before a moment, in seconds since the epoch, as far as that is known.
    pub fn is_before(&self, moment: i64) -> bool {
        self.time.is_some_and(|time| time < moment)
    }

    /// Says whether it was made after a moment, in seconds since the epoch, as far as that is known.
    pub fn is_after(&self, moment: i64) -> bool {
        self.time.is_some_and(|time| time > moment)
    }

    /// Returns how long its texts are.
    fn bytes(&self) -> usize {
        let edit = &self.change.edit;
        [self.before, edit.old.as_deref(), edit.new.as_deref()].into_iter().flatten().map(str::len).sum()
    }

    /// Does the edit; says whether that was possible.
    fn apply(&self, document: &mut Document<'_, CallIndex>) -> bool {
        if let Some(before) = self.before {
            document.observe(before.as_bytes());
        }
        let edit = &self.change.edit;
        let old = edit.old.as_deref().unwrap_or_default().as_bytes();
        let new = edit.new.as_deref().unwrap_or_default().as_bytes();
        match self.change.how {
            How::Replace { everywhere: false } if let Some(under) = &edit.under => {
                return document.replace_under(under, old, new, self.place);
            }
            How::Replace { everywhere } => return document.replace(old, new, everywhere, self.place),
            How::Write => document.overwrite(new, self.place),
            // It counts lines of another file.
            How::Insert(_) if document.is_doubtful() => return false,
            How::Insert(count) => document.insert(count, new, self.place),
            How::Append if document.is_empty() => document.overwrite(new, self.place),
            How::Append => document.append(new, self.place),
        }
        true
    }
}

/// Does edits again on a file and returns what wrote each line of `end`; `None` if that goes beyond the limit.
pub fn replayed(base: &[u8], end: &[u8], steps: &[Step<'_>], limit: Limit) -> Option<Vec<Origin<CallIndex>>> {
    let mut document = Document::new(base, limit);
    for step in steps.iter().filter(|step| !step.is_abandoned) {
        if document.is_over(step.bytes()) {
            return None;
        }
        step.apply(&mut document);
    }
    Some(document.settle(end))
}
