//! Taking the steps of a journal, and writing the registry that fits what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::super::backup;
use super::super::registry::{Entry, Original, Registry};
use super::super::tree::META;
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

    /// Says whether steps were left out below a path.
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
    /// The path at which a process before was killed while it took a step.
    in_doubt: Option<&'j Path>,
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
/// What a process before has taken is not taken again: what is at its path by now is as the user wants it.
pub fn finish(place: &Place, journal: &Journal) -> Result<Changed> {
    let mut run = Run {
        place,
        journal,
        progress: Progress::open(place)?,
        replaced: replaced(&journal.steps),
        left_out: LeftOut::default(),
        taken: BTreeSet::new(),
        in_doubt: None,
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
    Progress::forget(place)?;
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
                Ok(Outcome::Taken) => {
                    self.taken.insert(self.top(step));
                    if let Step::RemoveDirectory { path } = step {
                        self.directories.insert(path, disk::is_directory(path));
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

    /// Takes a step that no process before is done with, and notes that. An error in the store, and one of the notes, ends all.
    fn next(&mut self, number: usize, step: &'j Step) -> Result<Outcome> {
        let is_in_doubt = self.progress.is_in_doubt(number);
        if is_in_doubt {
            self.in_doubt = Some(self.top(step));
        }
        let is_in_store = number < self.journal.store_steps;
        if number > 0 && number == self.journal.store_steps {
            self.progress.sync()?;
            fault_point("rules-stored");
        }
        fault_point(&format!("rules-step-{number}"));
        self.progress.begin(number)?;
        fault_point(&format!("rules-begun-{number}"));
        let paths = step.paths();
        let is_within = |top: &Path| paths.iter().all(|path| path.starts_with(top));
        let outcome = if self.replaced.iter().any(|(later, top)| number < *later && is_within(top)) {
            Outcome::Taken
        } else if paths.iter().any(|path| self.left_out.has(path)) {
            Outcome::LeftOut
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
        self.progress.end(outcome)?;
        Ok(outcome)
    }

    /// Takes a step, unless it is done. It is left out where somebody has changed what is at its path.
    fn take(&self, number: usize, step: &Step, is_in_doubt: bool) -> Result<Outcome> {
        let outcome = |is_right| if is_right { Outcome::Taken } else { Outcome::LeftOut };
        if let Step::MakeDirectory { path } = step
            && self.journal.registry.get(path).is_some()
            && disk::is_directory(path)
        {
            // It was not there when the plan was made. A folder of the user's gets nothing of ours.
            return Ok(outcome(is_in_doubt && is_empty(path)));
        }
        // An agent's file is made again from the store, and so is not worth to wait for the disk.
        if step.take(false)? || is_done(&self.journal.steps[number..]) {
            return Ok(Outcome::Taken);
        }
        if number < self.journal.store_steps {
            return Ok(Outcome::LeftOut);
        }
        let top = self.top(step);
        Ok(outcome(match (self.journal.registry.get(top), step) {
            (Some(entry), _) => entry.is_at(top),
            // Where an original was to come back, it has, and the user has changed it since.
            (None, Step::Move { from, .. }) => is_in_doubt && !disk::is_there(from),
            (None, _) => is_in_doubt && disk::is_there(top) && !has_ours(self.place, top),
        }))
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
            Original::Directory { kept } => disk::is_there(kept),
            Original::File { kept, .. } => disk::is_there(kept) && !disk::is_there(path),
            Original::Link { .. } => !disk::is_there(path),
            Original::Absent => false,
        };
        let is_as_before = |path: &Path| previous.get(path).is_some_and(|entry| entry.is_at(path));
        let is_ours = |path: &Path, entry: &Entry| {
            let is_likely = || self.in_doubt == Some(path) && (is_away(path, entry) || has_ours(place, path));
            !is_as_before(path) && (self.taken.contains(path) || is_likely())
        };
        registry.entries.retain(|path, entry| !left_out.has(path) || is_ours(path, entry));
        // A copy that is to go and of which something could not be removed goes another time.
        let is_partly_there = |path: &PathBuf| !registry.entries.contains_key(path) && left_out.has_below(path);
        let is_left = |path: &PathBuf| left_out.has(path) && !registry.entries.contains_key(path);
        let before = previous.entries.iter().filter(|(path, _)| is_left(path) || is_partly_there(path));
        let before: Vec<_> = before.map(|(path, entry)| (path.clone(), entry.clone())).collect();
        registry.entries.extend(before);
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
        let is_left = |(path, is_there): &(&&Path, &bool)| **is_there && !path.starts_with(place.store());
        let still_there = self.directories.iter().filter(is_left);
        registry.directories.extend(still_there.map(|(path, _)| (*path).to_owned()));
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

/// Says whether a directory has nothing in it.
fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Says whether something of ours is at a path: a generated text, a link into the store or a copy of a skill.
fn has_ours(place: &Place, path: &Path) -> bool {
    match disk::observe(path) {
        Ok(Node::File { bytes, .. }) => {
            block::is_in(&bytes) || [false, true].iter().any(|has_front| generate::is_generated(&bytes, *has_front))
        }
        Ok(Node::Link(target)) => target.starts_with(place.store()),
        Ok(Node::Directory) => disk::is_there(&path.join(META)),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::fs;

    use super::super::super::registry::Owned;
    use super::*;

    fn journal(place: &Place, steps: Vec<Step>, registry: Registry, previous: Registry) -> Journal {
        Journal {
            base: place.base.clone(),
            identity: None,
            store_steps: 0,
            steps,
            registry,
            previous,
            taken: BTreeSet::new(),
            settled: BTreeSet::new(),
        }
    }

    #[test]
    fn a_folder_that_was_moved_to_a_backup_is_known_though_nothing_could_be_written_in_its_place() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let place = Place::of_home(&home).unwrap();
        fs::create_dir_all(home.join("skills/s")).unwrap();
        fs::create_dir_all(&place.state).unwrap();
        fs::write(home.join("skills/s/SKILL.md"), "mine\n").unwrap();
        let (path, kept) = (home.join("skills/s"), place.backups.join("1/files/s"));
        // A file is where the directory should be.
        let steps = vec![
            Step::Move { from: path.clone(), to: kept.clone() },
            Step::write(path.clone(), b"in the way\n", None, &Node::Absent).unwrap(),
            Step::MakeDirectory { path: path.clone() },
            Step::write(path.join("SKILL.md"), b"ours\n", None, &Node::Absent).unwrap(),
        ];
        let original = Original::Directory { kept: kept.clone() };
        let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: String::new(), original };
        let mut registry = Registry::empty();
        registry.entries.insert(path.clone(), entry.clone());
        let previous = Registry::empty();
        finish(&place, &journal(&place, steps, registry, previous)).unwrap_err();
        assert_eq!(fs::read_to_string(kept.join("SKILL.md")).unwrap(), "mine\n");
        assert_eq!(Registry::read(&place).unwrap().get(&path), Some(&entry), "'clean' finds it");
    }

    #[test]
    fn a_users_folder_that_is_back_stays_as_it_is_when_the_steps_are_taken_again() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let place = Place::of_home(&home).unwrap();
        let (path, kept) = (home.join("skills/s"), place.backups.join("1/files/s"));
        for folder in [&path, &kept] {
            fs::create_dir_all(folder).unwrap();
            // The copy is what the user had.
            fs::write(folder.join("SKILL.md"), "the skill\n").unwrap();
        }
        fs::create_dir_all(&place.state).unwrap();
        let copy = disk::observe(&path.join("SKILL.md")).unwrap();
        let steps = vec![
            Step::Remove { path: path.join("SKILL.md"), before: crate::managed::step::stamp(&copy) },
            Step::RemoveDirectory { path: path.clone() },
            Step::Move { from: kept, to: path.clone() },
        ];
        let (registry, previous) = (Registry::empty(), Registry::empty());
        let journal = journal(&place, steps, registry, previous);
        for run in ["all of it", "again, as after a loss of power that has taken what was noted"] {
            finish(&place, &journal).unwrap();
            assert_eq!(fs::read_to_string(path.join("SKILL.md")).unwrap(), "the skill\n", "{run}");
        }
    }

    #[test]
    fn what_could_not_be_removed_is_known_so_that_a_later_command_removes_it() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().canonicalize().unwrap();
        let place = Place::of_home(&home).unwrap();
        let (copy, folder) = (home.join(".claude/skills/s"), home.join(".kiro/steering"));
        for path in [&copy, &folder, &place.state] {
            fs::create_dir_all(path).unwrap();
        }
        fs::write(folder.join("mine.md"), "mine\n").unwrap();
        // Nothing can be at a path with such a name, as nothing can be removed from a directory that may not be written.
        let steps = vec![
            Step::Remove { path: copy.join("n".repeat(300)), before: "absent".into() },
            Step::RemoveDirectory { path: folder.clone() },
        ];
        let original = Original::Absent;
        let entry = Entry { owned: Owned::Tree, target: "claude".into(), digest: String::new(), original };
        let mut previous = Registry::empty();
        previous.entries.insert(copy.clone(), entry.clone());
        let journal = journal(&place, steps, Registry::empty(), previous);
        finish(&place, &journal).unwrap_err();
        let registry = Registry::read(&place).unwrap();
        assert_eq!((registry.get(&copy), &registry.directories), (Some(&entry), &vec![folder.clone()]));
        fs::remove_file(folder.join("mine.md")).unwrap();
        let _ = finish(&place, &journal);
        assert_eq!(Registry::read(&place).unwrap().directories, Vec::<PathBuf>::new());
    }

    /// A home with an agent's file of ours, the entry of it, and an operation that takes it back and writes the manifest.
    fn taking_back(root: &Path) -> (Place, PathBuf, super::super::Operation) {
        let place = Place::of_home(&root.canonicalize().unwrap()).unwrap();
        let file = place.base.join(".claude/CLAUDE.md");
        let kept = place.backups.join("1/files/.claude/CLAUDE.md");
        for (path, text) in [(&file, "ours\n"), (&kept, "the original\n"), (&place.manifest(), "{}\n")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (ours, manifest) = (disk::observe(&file).unwrap(), disk::observe(&place.manifest()).unwrap());
        let original = Original::File { kept, mode: 0o644 };
        let entry = Entry { owned: Owned::Whole, target: "claude".into(), digest: "1".into(), original };
        let mut previous = Registry::empty();
        previous.entries.insert(file.clone(), entry);
        let now = crate::git::date::Time { seconds: 0, offset: 0 };
        let mut backup = backup::Backup::new(&place, "clean", now);
        backup.add(&file, backup::What::File { bytes: b"ours\n".to_vec(), mode: 0o644 }, false);
        let operation = super::super::Operation {
            backup,
            of_store: vec![Step::write(place.manifest(), b"{\"a\":1}\n", None, &manifest).unwrap()],
            of_agents: vec![Step::write(file.clone(), b"the original\n", None, &ours).unwrap()],
            registry: Registry::empty(),
            previous,
            settled: BTreeSet::from([file.clone()]),
        };
        (place, file, operation)
    }

    #[test]
    fn an_original_stays_known_if_its_file_has_changed_since_the_plan_was_made() {
        for edited in ["ours, edited\n", "the user's\n"] {
            let root = tempfile::tempdir().unwrap();
            let (place, file, operation) = taking_back(root.path());
            fs::write(&file, edited).unwrap();
            let previous = operation.previous.clone();
            let error = super::super::carry_out(&place, operation).unwrap_err();
            assert_eq!(error.to_string(), "'~/.claude/CLAUDE.md' has changed meanwhile; try again");
            assert_eq!(fs::read_to_string(&file).unwrap(), edited);
            assert_eq!(Registry::read(&place).unwrap().entries, previous.entries);
            assert_eq!(fs::read_to_string(place.manifest()).unwrap(), "{\"a\":1}\n", "all else is done");
        }
    }

    #[test]
    fn nothing_is_done_if_the_store_has_changed_since_the_plan_was_made() {
        let root = tempfile::tempdir().unwrap();
        let (place, file, operation) = taking_back(root.path());
        fs::write(place.manifest(), "{\"b\":1}\n").unwrap();
        let error = super::super::carry_out(&place, operation).unwrap_err();
        assert_eq!(error.to_string(), "'~/.ai-agent/manifest.json' has changed meanwhile; try again");
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours\n");
        assert_eq!(fs::read_to_string(place.manifest()).unwrap(), "{\"b\":1}\n");
        assert!(!disk::is_there(&place.journal_path()) && !disk::is_there(&Registry::path(&place)));
        assert_eq!(super::super::super::folders(&place.backups), ["1"], "no backup is kept of what did not happen");
    }
}
