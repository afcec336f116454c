//! Taking the steps of a journal, and writing the registry that fits what was done.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::super::backup;
use super::super::registry::{Entry, Original, Owned, Registry};
use super::super::tree::{META, is_marked};
use super::super::{Place, block, generate};
use super::Journal;
use super::progress::{Outcome, Progress};
use crate::error::{Error, Result};
use crate::git::{fault_point, private};
use crate::managed::Step;
use crate::managed::disk::{self, Node};

/// Paths at which somebody has changed something since the plan was made, so that steps were left out.
#[derive(Debug, Default)]
pub struct Changed {
    /// A file of the store. No later step was taken.
    pub in_store: Option<PathBuf>,
    /// Agents' files. All other steps were taken.
    pub of_agents: Vec<PathBuf>,
}

/// Paths at which steps were left out.
#[derive(Default)]
struct LeftOut(BTreeSet<PathBuf>);

impl LeftOut {
    /// Says whether steps were left out at a path or at one above it.
    fn has(&self, path: &Path) -> bool {
        !self.0.is_empty() && path.ancestors().any(|above| self.0.contains(above))
    }

    /// Says whether steps were left out below a path, other than for what is at the path itself.
    fn has_in(&self, path: &Path) -> bool {
        !self.0.contains(path) && self.has_below(path)
    }

    /// Says whether steps were left out at a path or below it.
    fn has_below(&self, path: &Path) -> bool {
        self.0.range(path.to_owned()..).next().is_some_and(|left| left.starts_with(path))
    }
}

/// A journal whose steps are being taken.
struct Run<'j> {
    place: &'j Place,
    journal: &'j Journal,
    progress: Progress,
    /// See [`replaced`].
    replaced: Vec<(usize, &'j Path)>,
    left_out: LeftOut,
    /// The paths at which steps were taken.
    taken: BTreeSet<&'j Path>,
    /// The paths at which a process before may have been killed while it took a step.
    in_doubt: BTreeSet<&'j Path>,
    /// The numbers of the steps that change the file by which a copy of a skill is known, by the copy's path.
    marks: HashMap<&'j Path, usize>,
    /// Directories that were to go, and whether they are still there: a later command tries again.
    directories: BTreeMap<&'j Path, bool>,
    changed: Changed,
    failed: Option<Error>,
}

/// Takes the steps of a journal, and writes the registry.
///
/// If a step fails, or if somebody has changed something at its path since the plan was made, the later steps at the path and
/// below it are left out. The registry keeps its former entries for these paths, and the originals stay in the backups, so that
/// a later command finds them. All other steps are taken, unless it is a step in the store itself: then no later step is taken.
/// Once all of these are taken, the store may change.
///
/// `is_again` says that an earlier process may have taken some of the steps. A step that is noted as taken is not taken again: if
/// its path has something else now, the user has changed it.
pub fn finish(place: &Place, journal: &Journal, is_again: bool) -> Result<Changed> {
    let marks = journal.steps.iter().enumerate().filter(|(_, step)| step.paths()[0].ends_with(META));
    let mut run = Run {
        place,
        journal,
        progress: Progress::of(place, is_again, journal.boot != super::boot()),
        replaced: replaced(&journal.steps),
        left_out: LeftOut::default(),
        taken: BTreeSet::new(),
        in_doubt: BTreeSet::new(),
        marks: marks.filter_map(|(number, step)| Some((step.paths()[0].parent()?, number))).collect(),
        directories: BTreeMap::new(),
        changed: Changed::default(),
        failed: None,
    };
    let end = run.all();
    for step in &journal.steps[end..] {
        let is_directory = matches!(step, Step::MakeDirectory { .. } | Step::RemoveDirectory { .. });
        let tops = step.paths().map(|path| (top(journal, path), path));
        let named = tops.iter().filter(|(top, path)| !is_directory || top != path);
        run.left_out.0.extend(named.map(|(top, _)| (*top).to_owned()));
    }
    let registry = run.registry(end);
    let is_settled = |path: &&PathBuf| !run.left_out.has(path) && registry.get(path).is_none();
    let settled = journal.settled.iter().filter(is_settled).cloned().collect();
    // The list of a backup is not worth that the rest is left out.
    let lists =
        backup::settle(place, &settled).and_then(|steps| steps.iter().try_for_each(|step| step.take(false).map(drop)));
    if let Err(error) = lists {
        run.failed.get_or_insert(error);
    }
    fault_point("rules-stepped");
    private::write(&Registry::path(place), &registry.to_bytes(place))?;
    fault_point("rules-registered");
    private::remove(&place.journal_path())?;
    Progress::forget(place);
    run.failed.map_or(Ok(run.changed), Err)
}

impl<'j> Run<'j> {
    /// Takes the steps. Returns the number of the first one that was not reached.
    fn all(&mut self) -> usize {
        for (number, step) in self.journal.steps.iter().enumerate() {
            let outcome = match self.progress.known.get(number) {
                Some(outcome) => Ok(*outcome),
                None => self.next(number, step),
            };
            let is_in_store = number < self.journal.store_steps;
            match outcome {
                Ok(outcome @ (Outcome::Taken | Outcome::Kept)) => {
                    self.taken.insert(self.top(step));
                    if let Step::RemoveDirectory { path } = step {
                        self.directories.insert(path, outcome == Outcome::Kept);
                    }
                }
                Ok(Outcome::LeftOut) if is_in_store => {
                    self.changed.in_store = Some(step.paths()[1].to_owned());
                    return number;
                }
                Ok(Outcome::LeftOut) => {
                    let top = self.top(step);
                    if !step.paths().iter().any(|path| self.left_out.has(path)) {
                        self.left_out.0.insert(top.to_owned());
                        self.changed.of_agents.push(top.to_owned());
                    }
                }
                Ok(Outcome::Failed) => self.left_out.0.extend(step.paths().map(Path::to_owned)),
                Err(error) => {
                    self.failed.get_or_insert(error);
                    return number;
                }
            }
        }
        self.journal.steps.len()
    }

    /// Takes a step that no process before is done with, and notes that. An error in the store ends all.
    fn next(&mut self, number: usize, step: &'j Step) -> Result<Outcome> {
        let is_in_doubt = self.progress.is_in_doubt(number);
        if is_in_doubt {
            self.in_doubt.insert(self.top(step));
        }
        let is_in_store = number < self.journal.store_steps;
        if number > 0 && number == self.journal.store_steps {
            self.progress.sync();
            fault_point("rules-stored");
        }
        fault_point(&format!("rules-step-{number}"));
        self.progress.step(number);
        fault_point(&format!("rules-begun-{number}"));
        let paths = step.paths();
        let is_within = |top: &Path| paths.iter().all(|path| path.starts_with(top));
        let outcome = if self.replaced.iter().any(|(later, top)| number < *later && is_within(top)) {
            Outcome::Taken
        } else if paths.iter().any(|path| self.left_out.has(path)) {
            Outcome::LeftOut
        } else if self.is_mark_of_rest(step) || self.has_no_mark(step) {
            // Where only a directory could not be removed, nothing has failed yet.
            let copy = self.top(step).display().to_string();
            self.failed.get_or_insert_with(|| Error::other(format!("cannot remove all of '{copy}'")));
            Outcome::Failed
        } else {
            match self.take(number, step, is_in_doubt) {
                Ok(outcome) => outcome,
                Err(error) if is_in_store => return Err(error),
                Err(error) => {
                    self.failed.get_or_insert(error);
                    Outcome::Failed
                }
            }
        };
        fault_point(&format!("rules-taken-{number}"));
        self.progress.end(outcome);
        Ok(outcome)
    }

    /// Takes a step, unless it is done. It is left out where somebody has changed what is at its path, or what that is in.
    fn take(&self, number: usize, step: &Step, is_in_doubt: bool) -> Result<Outcome> {
        let outcome = |is_right| if is_right { Outcome::Taken } else { Outcome::LeftOut };
        if !self.journal.is_where_it_was(step) || !self.is_in_own_copy(number, step) || self.is_away(self.top(step)) {
            return Ok(Outcome::LeftOut);
        }
        let [path, _] = step.paths();
        if let Step::MakeDirectory { .. } = step
            && self.journal.registry.get(path).is_some()
            && disk::is_there(path)
        {
            // Nothing was there when the plan was made. A folder of the user's gets nothing of ours.
            return Ok(outcome(is_in_doubt && disk::is_directory(path) && self.is_begun_copy(path)));
        }
        if let (Step::Write { .. } | Step::Link { .. }, Some(above)) = (step, path.parent())
            && !disk::is_there(above)
        {
            // Somebody has removed the copy, or a directory that was made.
            if self.top(step) != path {
                return Ok(Outcome::LeftOut);
            }
            disk::make_directories(above, 0o777).map_err(|error| Error::io("create", above, error))?;
        }
        // An agent's file is made again from the store, and so is not worth to wait for the disk.
        let is_taken = step.take(false)?;
        if let (true, Step::RemoveDirectory { path }) = (is_taken, step)
            && disk::is_directory(path)
        {
            return Ok(Outcome::Kept);
        }
        if is_taken || is_done(&self.journal.steps[number..]) {
            return Ok(Outcome::Taken);
        }
        if number < self.journal.store_steps {
            return Ok(Outcome::LeftOut);
        }
        let top = self.top(step);
        Ok(outcome(match (self.journal.registry.get(top), step) {
            // The copy that takes the place of what was moved is begun.
            (Some(_), Step::Move { from, to })
                if is_in_doubt && disk::is_there(to) && disk::is_directory(from) && self.is_begun_copy(from) =>
            {
                true
            }
            (Some(entry), _) => entry.is_at(top),
            // Where an original was to come back, it has, and the user has changed it since; or it was copied back, and changed before
            // it was removed from the backup, which keeps it then.
            (None, Step::Move { from, .. }) => is_in_doubt && (!disk::is_there(from) || is_changed_copy(from, top)),
            (None, _) => is_in_doubt && disk::is_there(top) && !has_ours(self.place, top),
        }))
    }

    /// Says whether a followed link led to a path whose directory the user has moved away since.
    fn is_away(&self, path: &Path) -> bool {
        let followed = [&self.journal.previous, &self.journal.registry].into_iter().flat_map(|it| it.followed.values());
        path.parent().is_some_and(|above| !disk::is_there(above)) && followed.into_iter().any(|end| end == path)
    }

    /// Says whether a step changes nothing in a copy of a skill, or whether the copy is still ours: a folder of the user's can have
    /// the same files.
    fn is_in_own_copy(&self, number: usize, step: &Step) -> bool {
        let ([path, _], top) = (step.paths(), self.top(step));
        if path == top || matches!(step, Step::Move { .. }) {
            return true;
        }
        let Some(mark) = self.marks.get(top) else {
            // An update that leaves the mark as it is.
            let is_copy = |registry: &Registry| registry.get(top).is_some_and(|entry| entry.owned == Owned::Tree);
            let is_update = is_copy(&self.journal.previous) && is_copy(&self.journal.registry);
            return !is_update || is_marked(top);
        };
        let of_mark = &self.journal.steps[*mark];
        let is_made = |step: &Step| matches!(step, Step::MakeDirectory { path } if path == top);
        let is_new = self.journal.steps.iter().any(is_made);
        if is_new && number <= *mark {
            return self.is_begun_copy(top);
        }
        let [file, _] = of_mark.paths();
        match number.cmp(mark) {
            Ordering::Less => of_mark.is_due().unwrap_or(false),
            Ordering::Equal => disk::is_directory(top),
            Ordering::Greater => disk::observe(file).is_ok_and(|node| of_mark.leaves(file, &node)),
        }
    }

    /// Says whether the file by which a copy is known could not be written: nothing else is written into it then.
    fn has_no_mark(&self, step: &'j Step) -> bool {
        let mark = self.marks.get(self.top(step)).map(|number| self.journal.steps[*number].paths()[0]);
        mark.is_some_and(|mark| self.left_out.0.contains(mark))
    }

    /// Says whether a step would remove the file by which a copy is known, while some of the copy could not be removed.
    fn is_mark_of_rest(&self, step: &Step) -> bool {
        let copy = match step {
            Step::Remove { path, .. } if path.ends_with(META) => path.parent(),
            _ => None,
        };
        // What a user has put into a directory meanwhile stays in it.
        let is_empty = |directory: &Path| std::fs::read_dir(directory).is_ok_and(|mut below| below.next().is_none());
        let has_kept = |copy: &Path| {
            let directories = self.directories.range(copy..).take_while(|(directory, _)| directory.starts_with(copy));
            directories.into_iter().any(|(directory, is_there)| *is_there && is_empty(directory))
        };
        copy.is_some_and(|copy| self.left_out.has_below(copy) || has_kept(copy))
    }

    /// Says whether a directory is neither a copy of ours nor the beginning of one.
    fn is_users_folder(&self, path: &Path) -> bool {
        disk::is_directory(path) && !is_marked(path) && !self.is_begun_copy(path)
    }

    /// Says whether a directory has nothing but what the steps make there.
    fn is_begun_copy(&self, directory: &Path) -> bool {
        let is_made = |path: &Path, node: &Node| self.journal.steps.iter().any(|step| step.leaves(path, node));
        disk::tree(directory).is_ok_and(|tree| tree.iter().all(|(below, node)| is_made(&directory.join(below), node)))
    }

    /// Returns the path that the registry knows, or is to know, at or above the path of a step.
    fn top(&self, step: &'j Step) -> &'j Path {
        let paths = step.paths();
        top(self.journal, paths[usize::from(paths[0].starts_with(&self.place.backups))])
    }

    /// Returns the registry after the steps before the one with number `end`, but for those that were left out.
    fn registry(&self, end: usize) -> Registry {
        let (place, left_out) = (self.place, &self.left_out);
        let mut registry = self.journal.registry.clone();
        let previous = &self.journal.previous;
        // What a user had must be found in the backup again where it was moved or removed, and where ours stands in its place.
        let is_away = |path: &Path, entry: &Entry| match &entry.original {
            // What was copied there, and not removed here yet, is still the user's.
            Original::Directory { kept } => disk::is_there(kept) && !self.is_users_folder(path),
            Original::File { kept, .. } => disk::is_there(kept) && !disk::is_there(path),
            Original::Link { .. } => !disk::is_there(path),
            Original::Absent => false,
        };
        let is_as_before = |path: &Path| previous.get(path).is_some_and(|entry| entry.is_at(path));
        let is_ours = |path: &Path, entry: &Entry| {
            let is_likely = || self.in_doubt.contains(path) && (is_away(path, entry) || has_such(place, path, entry));
            !is_as_before(path) && (self.taken.contains(path) || is_likely())
        };
        // A copy that was to become something else, and of which not all could be removed, is still a copy.
        let is_still_copy = |path: &Path, entry: &Entry| {
            let was_copy = previous.get(path).is_some_and(|entry| entry.owned == Owned::Tree);
            let is_left = left_out.has(path) || left_out.has_below(path);
            is_left && was_copy && entry.owned != Owned::Tree && disk::is_directory(path)
        };
        registry
            .entries
            .retain(|path, entry| !is_still_copy(path, entry) && (!left_out.has(path) || is_ours(path, entry)));
        // A copy that is to go and of which something could not be removed goes another time.
        let is_partly_there = |path: &PathBuf| !registry.entries.contains_key(path) && left_out.has_below(path);
        let is_left = |path: &PathBuf| left_out.has(path) && !registry.entries.contains_key(path);
        let before = previous.entries.iter().filter(|(path, _)| is_left(path) || is_partly_there(path));
        let before: Vec<_> = before.map(|(path, entry)| (path.clone(), entry.clone())).collect();
        registry.entries.extend(before);
        // Of a copy that was written or removed only in part, nobody knows what it has, and what of that a user has edited.
        let is_in_part = |(path, entry): &(&PathBuf, &mut Entry)| {
            let is_begun = || left_out.has_in(path) && disk::is_directory(path) && self.is_begun_copy(path);
            let is_copy = || is_marked(path) || is_begun();
            let is_left = |(directory, is_there): (&&Path, &bool)| {
                *is_there && *directory != path.as_path() && directory.starts_with(path)
            };
            let is_in_part = left_out.has_below(path) || self.directories.iter().any(is_left);
            entry.owned == Owned::Tree && is_in_part && is_copy()
        };
        registry.entries.iter_mut().filter(is_in_part).for_each(|(_, entry)| entry.digest.clear());
        let followed = previous.followed.iter().filter(|(_, end)| left_out.has(end));
        registry.followed.extend(followed.map(|(link, end)| (link.clone(), end.clone())));
        if end < self.journal.store_steps {
            // The store has not got the text.
            registry.imported.clone_from(&previous.imported);
        }
        if !left_out.0.is_empty() {
            registry.directories.retain(|path| disk::is_directory(path));
        }
        registry.directories.retain(|path| self.directories.get(path.as_path()) != Some(&false));
        // Those of a copy go with it.
        let is_in_entry = |path: &Path| path.ancestors().any(|above| registry.entries.contains_key(above));
        let is_left =
            |(path, is_there): &(&&Path, &bool)| **is_there && !path.starts_with(place.store()) && !is_in_entry(path);
        let still_there: Vec<_> = self.directories.iter().filter(is_left).map(|(path, _)| (*path).to_owned()).collect();
        registry.directories.extend(still_there);
        registry.directories.sort();
        registry.directories.dedup();
        registry
    }
}

/// Returns the path at or above a path that the registry knows, or is to know; the path itself, if there is none.
fn top<'j>(journal: &Journal, path: &'j Path) -> &'j Path {
    let is_known = |above: &&Path| [&journal.registry, &journal.previous].iter().any(|it| it.get(above).is_some());
    path.ancestors().find(is_known).unwrap_or(path)
}

/// Returns the steps that have put something in the place of a directory already, when a run before ended behind them, each with
/// the path of the directory. Earlier steps at this path and below it are done.
///
/// Such an earlier step must not be taken again, even where its path has what it had to remove: that is a user's by now, or a
/// file of the store, to which a link leads.
fn replaced(steps: &[Step]) -> Vec<(usize, &Path)> {
    let is_replaced = |(number, step): (usize, &'_ Step)| match step {
        Step::Move { from, to } => disk::is_there(to) && !disk::is_there(from),
        Step::Link { path, target, .. } => {
            let before = number.checked_sub(1).map(|number| &steps[number]);
            matches!(before, Some(Step::RemoveDirectory { path: removed }) if removed == path)
                && std::fs::read_link(path).is_ok_and(|there| there == *target)
        }
        _ => false,
    };
    let numbered = steps.iter().enumerate().filter(|(number, step)| is_replaced((*number, step)));
    numbered.map(|(number, step)| (number, step.paths()[1])).collect()
}

/// Says whether the first of these steps needs no more to be taken, by what is at its path: it is done, or a later step at the
/// path is.
fn is_done(steps: &[Step]) -> bool {
    let Some(step) = steps.first() else { return true };
    if let Step::Move { from, to } = step
        && (!disk::is_there(to) || disk::is_there(from))
    {
        return false;
    }
    let path = step.paths()[0];
    disk::observe(path).is_ok_and(|node| steps.iter().any(|step| step.leaves(path, &node)))
}

/// Says whether a folder has the files of another, be they changed.
fn is_changed_copy(from: &Path, to: &Path) -> bool {
    if !disk::is_directory(from) || !disk::is_directory(to) || is_marked(to) {
        return false;
    }
    match (disk::tree(from), disk::tree(to)) {
        (Ok(from), Ok(to)) => from.iter().any(|(path, node)| *node != Node::Directory && to.contains_key(path)),
        _ => false,
    }
}

/// Says whether something of ours is at a path that an entry can be of: what is a whole file of ours can be to become a block.
fn has_such(place: &Place, path: &Path, entry: &Entry) -> bool {
    match (entry.owned, disk::observe(path)) {
        (Owned::Block, Ok(Node::File { bytes, .. })) => block::is_in(&bytes),
        (Owned::Whole, Ok(Node::File { bytes, .. })) => generate::is_generated(&bytes),
        _ => has_ours(place, path),
    }
}

/// Says whether something of ours is at a path: a generated text, a link into the store or a copy of a skill.
fn has_ours(place: &Place, path: &Path) -> bool {
    match disk::observe(path) {
        Ok(Node::File { bytes, .. }) => block::is_in(&bytes) || generate::is_generated(&bytes),
        Ok(Node::Link(target)) => target.starts_with(place.store()),
        Ok(Node::Directory) => is_marked(path),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
