//! Doing the edits of a file again, in the order in which they were made.

use super::limit::Limit;
use super::paths::{Home, Places};
use super::session_work::{Befores, Call, CallIndex, Change, EditKind, Moment, SessionWork};
use super::traced_file::{LineOrigin, TracedFile};
use super::undoing::Undoing;

/// How many commands of a session that take back edits are looked at: the last ones.
const MAX_UNDOINGS: usize = 1000;

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
    /// Whether a command has undone it.
    pub is_undone: bool,
}

/// An event in the history of a file.
enum Event<'t> {
    Edit(Step<'t>),
    Undo(Undoing),
}

/// Returns the edits of some paths over all sessions, in the order of time; those of one session stay in their order.
/// What was done after `until`, in seconds since the epoch, is left out, as far as its time is known.
pub fn steps<'t>(
    sessions: &'t [SessionWork],
    places: &Places<'_>,
    paths: [&str; 2],
    befores: &'t Befores,
    until: Option<i64>,
) -> Vec<Step<'t>> {
    let mut events: Vec<(Option<Moment>, Event<'t>)> = Vec::new();
    for (at, work) in sessions.iter().enumerate() {
        let mut changes = work.calls.iter().flat_map(|call| &call.changes);
        let directory = work.directory.as_deref();
        let is_local = work.is_live
            || directory.is_some_and(|directory| places.is_here(directory))
            || changes.any(|change| places.is_here(&change.edit.path));
        let home = Home { directory, is_local };
        let is_wanted = |named: &str| paths.iter().any(|path| places.is_at(named, path, home));
        let mut undoings = undoings(work).into_iter().peekable();
        for (number, call) in work.calls.iter().enumerate() {
            while let Some((_, moment, undoing)) = undoings.next_if(|(before, ..)| *before <= number) {
                events.push((moment, Event::Undo(undoing)));
            }
            let wanted = call.changes.iter().filter(|change| is_wanted(&change.edit.path));
            let is_abandoned = call.is_abandoned || call.is_unanswered;
            let (place, time) = ((at, number), call.time);
            // A call that edits the file in several places has found it so at the first of them.
            let mut before = befores.get(&place).map(String::as_str);
            let edit = |change| {
                Event::Edit(Step { place, change, before: before.take(), time, is_abandoned, is_undone: false })
            };
            events.extend(wanted.map(edit).map(|edit| (call.moment, edit)));
        }
        events.extend(undoings.map(|(_, moment, undoing)| (moment, Event::Undo(undoing))));
    }
    let is_late = |moment: Moment| until.is_some_and(|until| moment.0 > until);
    events.retain(|(moment, _)| !moment.is_some_and(is_late));
    events.sort_by_key(|(moment, _)| *moment);
    let mut steps: Vec<Step<'t>> = Vec::new();
    for (_, event) in events {
        match event {
            Event::Edit(step) => steps.push(step),
            Event::Undo(undoing) => {
                for step in steps.iter_mut().filter(|step| !step.is_undone) {
                    let directory = sessions[step.place.0].directory.as_deref();
                    step.is_undone = undoing.takes_back(&step.change.edit.path, directory, |path| places.is_here(path));
                }
            }
        }
    }
    steps
}

/// Returns the undoings by the commands of a session, each with the number of calls before it and its time.
fn undoings(work: &SessionWork) -> Vec<(usize, Option<Moment>, Undoing)> {
    // Of several commands, another one may have failed.
    let is_done = |call: &&Call| {
        !call.has_failed || call.command.as_ref().is_some_and(|line| line.contains(['\n', ';', '&', '|']))
    };
    let of_calls = work.calls.iter().enumerate().filter(|(_, call)| is_done(call));
    let of_calls = of_calls.filter_map(|(number, call)| Some((number, call.moment, call.command.as_ref()?)));
    let typed = work.typed.iter().map(|typed| (typed.before, typed.moment, &typed.command));
    let mut found = Vec::new();
    for (before, moment, command) in of_calls.chain(typed) {
        let undoings = Undoing::of(command, work.directory.as_deref());
        found.extend(undoings.into_iter().map(|undoing| (before, moment, undoing)));
    }
    found.sort_by_key(|(before, ..)| *before);
    found.drain(..found.len().saturating_sub(MAX_UNDOINGS));
    found
}

impl Step<'_> {
    /// Says whether it was made before a moment, in seconds since the epoch, as far as that is known.
    pub fn is_before(&self, moment: i64) -> bool {
        self.time.is_some_and(|time| time < moment)
    }

    /// Says whether what it wrote should be in the file.
    pub fn is_valid(&self) -> bool {
        !self.is_abandoned && !self.is_undone
    }

    /// Returns how long its texts are.
    fn bytes(&self) -> usize {
        let edit = &self.change.edit;
        [self.before, edit.old.as_deref(), edit.new.as_deref()].into_iter().flatten().map(str::len).sum()
    }

    /// Does the edit; says whether that was possible.
    fn apply(&self, document: &mut TracedFile<'_, CallIndex>) -> bool {
        if let Some(before) = self.before {
            document.observe(before.as_bytes());
        }
        let edit = &self.change.edit;
        let old = edit.old.as_deref().unwrap_or_default().as_bytes();
        let new = edit.new.as_deref().unwrap_or_default().as_bytes();
        match self.change.kind {
            EditKind::Replace { everywhere: false } if let Some(under) = &edit.under => {
                return document.replace_under(under, old, new, self.place);
            }
            EditKind::Replace { everywhere } => return document.replace(old, new, everywhere, self.place),
            EditKind::Write => document.overwrite(new, self.place),
            // It counts lines of another file.
            EditKind::Insert(_) if document.is_doubtful() => return false,
            EditKind::Insert(count) => document.insert(count, new, self.place),
            EditKind::Append if document.is_empty() => document.overwrite(new, self.place),
            EditKind::Append => document.append(new, self.place),
        }
        true
    }
}

/// Does edits again on a file and returns what wrote each line of `end`; `None` if that goes beyond the limit.
pub fn replayed(base: &[u8], end: &[u8], steps: &[Step<'_>], limit: Limit) -> Option<Vec<LineOrigin<CallIndex>>> {
    let mut document = TracedFile::new(base, limit);
    for step in steps.iter().filter(|step| step.is_valid()) {
        if document.is_over(step.bytes()) {
            return None;
        }
        step.apply(&mut document);
    }
    Some(document.settle(end))
}
