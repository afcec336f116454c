//! Taking the steps, so that a process that is killed leaves each file old or new, and the next one finishes.
//!
//! The journal has everything that the steps need. It is written before the first step, and each step can be taken twice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::backup::{self, Backup};
use super::registry::{Entry, Original, Registry};
use super::report::Change;
use super::store::Store;
use super::{Place, Scope, block, generate, interrupted, is_plain, places, shared, want};
use crate::error::{Error, Kind, Result};
use crate::git::{fault_point, private};
use crate::managed::disk::{self, Node};
use crate::managed::{LOCK_TIMEOUT, Step, file};

/// Returns the changes that steps make in a store.
pub fn changes(steps: &[Step]) -> Vec<Change> {
    let change = |step: &Step| {
        let (path, action) = match step {
            Step::Write { path, before, .. } => (path, if before == "absent" { "create" } else { "update" }),
            Step::Link { path, .. } => (path, "link"),
            Step::Remove { path, .. } => (path, "remove"),
            Step::Move { to, .. } => (to, "move"),
            Step::MakeDirectory { .. } | Step::RemoveDirectory { .. } => return None,
        };
        Some(Change { path: path.clone(), action, before: None, after: None })
    };
    steps.iter().filter_map(change).collect()
}

/// The steps of one operation, with what is known when they are done.
#[derive(Debug, Deserialize, Serialize)]
struct Journal {
    /// The base of the place whose steps these are.
    #[serde(default)]
    base: PathBuf,
    /// The identity of the base.
    #[serde(default)]
    identity: Option<String>,
    steps: Vec<Step>,
    /// The registry when all steps are taken.
    registry: Registry,
    /// The registry as it was.
    #[serde(default)]
    previous: Registry,
    /// Names that existed before the first step, so they are not ours to remove.
    #[serde(default)]
    taken: BTreeSet<PathBuf>,
}

impl Journal {
    /// Returns the journal with the paths that it has here, if the base has or had another path there.
    fn at(self, place: &Place) -> Self {
        if self.base == place.base || !self.base.is_absolute() {
            return self;
        }
        let here = |path: &Path| match path.strip_prefix(&self.base) {
            Ok(rest) if rest == Path::new("") => place.base.clone(),
            Ok(rest) => place.base.join(rest),
            Err(_) => path.to_owned(),
        };
        Journal {
            steps: self.steps.into_iter().map(|step| step.map_paths(here)).collect(),
            registry: self.registry.map_paths(here),
            previous: self.previous.map_paths(here),
            taken: self.taken.iter().map(|path| here(path)).collect(),
            ..self
        }
    }
}

/// Takes the lock of a store, and finishes what a process that was killed has begun.
///
/// # Errors
///
/// [`Kind::Busy`] if another process holds it for long.
pub fn lock(place: &Place) -> Result<private::Lock> {
    lock_and_finish(place).map(|(lock, _)| lock)
}

/// As [`lock`]; says also whether something was left to finish. What is seen before the lock is taken can be what another
/// process is doing.
///
/// # Errors
///
/// As [`lock`].
pub fn lock_and_finish(place: &Place) -> Result<(private::Lock, bool)> {
    let lock =
        private::lock(&place.lock_path(), Instant::now() + LOCK_TIMEOUT).map_err(|error| match error.kind() {
            Kind::Busy => error.hint("another 'git shiftlog rules' is running; try again when it has ended"),
            _ => error,
        })?;
    if place.scope == Scope::Home && shared::state(&place.base) != place.state {
        return Err(Error::new(Kind::Busy, "another home has begun to use this store meanwhile; try again"));
    }
    private::sweep(&place.state);
    let path = place.journal_path();
    let unreadable = |error: Error| {
        let how =
            "if you move the file away, what was interrupted is not finished, and the next command goes on without it";
        error.hint(how)
    };
    // It has what all files get, and so no bound; it comes into being in one piece, and nobody else writes it.
    if let Some(bytes) = file::read(&path).map_err(unreadable)? {
        let corrupt = || Error::new(Kind::Corrupt, format!("cannot read '{}'", path.display()));
        let journal: Journal = serde_json::from_slice(&bytes).map_err(|error| unreadable(corrupt().because(error)))?;
        let base = crate::outside::line(&journal.base.display().to_string());
        let (is_here, is_own) = (journal.base == place.base, journal.identity == disk::identity(&place.base));
        let was_moved = !is_here && is_own && journal.identity.is_some();
        let journal = journal.at(place);
        // A journal that came with a store from elsewhere can name this base, but does not know its identity.
        if !is_own || !is_here && !was_moved {
            let why = format!("a command was interrupted in '{base}', and is not finished here");
            return Err(set_aside(place, &path, &journal, why));
        }
        if let Some(strange) = strange_path(place, &journal) {
            let strange = crate::outside::line(&strange.display().to_string());
            let why = format!("a command was interrupted, and is not finished: nothing here writes to '{strange}'");
            return Err(set_aside(place, &path, &journal, why));
        }
        // Unfinished files of the killed process.
        for path in journal.steps.iter().filter_map(written) {
            file::sweep(path, |name| journal.taken.contains(name));
        }
        finish(place, &journal)?;
        return Ok((lock, true));
    }
    Ok((lock, false))
}

/// Returns the path at which a step makes something under another name first.
fn written(step: &Step) -> Option<&Path> {
    match step {
        Step::Write { path, .. } | Step::Link { path, .. } | Step::Move { to: path, .. } => Some(path),
        Step::MakeDirectory { .. } | Step::Remove { .. } | Step::RemoveDirectory { .. } => None,
    }
}

/// Returns a path of the steps that no command of this place writes: the journal came here with the store then.
fn strange_path<'j>(place: &Place, journal: &'j Journal) -> Option<&'j Path> {
    let mut known: Option<BTreeSet<PathBuf>> = None;
    let mut is_known = |step: &Step, path: &Path| {
        let known = known.get_or_insert_with(|| known_outside(place, &journal.registry));
        let is_above = matches!(step, Step::MakeDirectory { .. } | Step::RemoveDirectory { .. });
        known.iter().any(|known| path.starts_with(known) || is_above && known.starts_with(path))
    };
    // A skill can be a repository.
    let is_in_skill = |below: &Path| below.ancestors().any(places::is_skill);
    let is_own = |path: &Path| match path.strip_prefix(&place.base) {
        _ if path.starts_with(&place.backups) || path.starts_with(place.store()) => true,
        Ok(below) => {
            (place.allows(path) || is_in_skill(below)) && (place.scope == Scope::Home || !place.leads_out(path))
        }
        Err(_) => false,
    };
    let mut paths = journal.steps.iter().flat_map(|step| step.paths().map(|path| (step, path)));
    let strange = paths.find(|(step, path)| {
        let mut is_elsewhere = || place.scope == Scope::Home && is_known(step, path);
        !(path.is_absolute() && is_plain(path) && (is_own(path) || is_elsewhere()))
    });
    strange.map(|(_, path)| path)
}

/// Returns the paths outside of a home that its commands write: those of the registry and of the settings, those to which links
/// lead that are followed, and files of the store that are kept elsewhere.
fn known_outside(place: &Place, planned: &Registry) -> BTreeSet<PathBuf> {
    let mut known = BTreeSet::new();
    if let Ok(registry) = Registry::read(place) {
        known.extend(registry.entries.into_keys().chain(registry.directories));
    }
    if let Ok(store) = Store::read(place) {
        known.extend(want::named(&store).0.into_iter().map(|(_, path)| path));
    }
    known.extend(backup::saved(place).into_keys().filter(|path| place.allows(path)));
    let leads = |link: &Path, end: &Path| {
        link.canonicalize().is_ok_and(|there| there == end)
            || disk::real_above(link).is_some_and(|resolved| resolved == end)
    };
    let followed = planned
        .followed
        .iter()
        .filter(|(link, end)| link.starts_with(&place.base) && place.allows(end) && leads(link, end));
    known.extend(followed.map(|(_, end)| end.clone()));
    let rules = std::fs::read_dir(place.store().join("rules")).into_iter().flatten().flatten();
    let files = rules.map(|entry| entry.path()).chain([place.manifest()]);
    known.extend(files.filter_map(|file| disk::resolved(&file).ok()).filter(|file| !disk::is_directory(file)));
    known
}

/// Puts a journal aside that came here with the store: its steps are about files of another place. What it has done to files
/// that are here now is written down. Returns what is to be told.
fn set_aside(place: &Place, path: &Path, journal: &Journal, why: String) -> Error {
    for path in journal.steps.iter().filter_map(written).filter(|path| place.own(path, false).is_some()) {
        file::sweep(path, |name| journal.taken.contains(name));
    }
    if let Err(error) = interrupted::write_down(place, &journal.base, &journal.steps, &journal.registry) {
        return error;
    }
    let aside = place.state.join("journal-elsewhere.json");
    if let Err(error) = std::fs::rename(path, &aside) {
        return Error::io("move", path, error);
    }
    Error::other(why)
        .hint(format!("what it was about to write is in '{}'; the next command goes on without it", aside.display()))
        .hint("'git shiftlog rules sync' writes all of it again, 'git shiftlog rules clean' takes back what is written")
}

/// Writes the backup and the journal, takes the steps, and writes the registry. The lock must be held.
///
/// # Errors
///
/// If something cannot be written. The next command tries again.
pub fn carry_out(
    place: &Place,
    backup: &Backup,
    steps: Vec<Step>,
    registry: Registry,
    previous: Registry,
) -> Result<()> {
    if steps.is_empty() && registry == previous {
        return Ok(());
    }
    place.check_steps(&steps)?;
    backup.write()?;
    fault_point("rules-backed-up");
    let taken = steps.iter().filter_map(written).flat_map(file::occupied).collect();
    let journal =
        Journal { base: place.base.clone(), identity: disk::identity(&place.base), steps, registry, previous, taken };
    let bytes =
        serde_json::to_vec(&journal).map_err(|error| Error::other("cannot write the journal").because(error))?;
    private::write_synced(&place.journal_path(), &bytes)?;
    match finish(place, &journal)?.first() {
        None => Ok(()),
        Some(path) => Err(Error::new(Kind::Busy, format!("'{}' has changed meanwhile; try again", place.shown(path)))),
    }
}

/// Takes the steps of a journal, and writes the registry.
///
/// If a step fails, the later steps at its path and below it are left out, and the registry keeps its former entries for these
/// paths; all other steps are taken. If a step fails in the store itself, no later step is taken.
///
/// Steps are also left out at paths where a user has put a file since the plan was made. These paths are returned, and later
/// commands treat the files as the user's.
fn finish(place: &Place, journal: &Journal) -> Result<Vec<PathBuf>> {
    let mut registry = journal.registry.clone();
    let mut failed: Option<Error> = None;
    let mut left_out: Vec<&Path> = Vec::new();
    let mut changed: Vec<PathBuf> = Vec::new();
    // Directories that were to go, and whether they are still there: a later command tries again.
    let mut directories: BTreeMap<&Path, bool> = BTreeMap::new();
    let back = moved_back(&journal.steps);
    for (number, step) in journal.steps.iter().enumerate() {
        fault_point(&format!("rules-step-{number}"));
        let paths = step.paths();
        if back.iter().any(|(later, to)| number < *later && paths.iter().all(|path| path.starts_with(to))) {
            continue;
        }
        if left_out.iter().any(|left| paths.iter().any(|path| path.starts_with(left))) {
            continue;
        }
        // An agent's file is made again from the store.
        match step.take(false) {
            Ok(true) => {
                if let Step::RemoveDirectory { path } = step {
                    directories.insert(path, disk::is_directory(path));
                }
            }
            Ok(false) if matches!(step, Step::Move { from, to } if disk::is_there(from) && disk::is_there(to)) => {
                // What was to be moved stays where it is, and is known.
                changed.push(paths[1].to_owned());
                left_out.push(paths[1]);
            }
            Ok(false) => {
                if registry.entries.contains_key(paths[0]) && has_users(step)? {
                    changed.push(paths[0].to_owned());
                    left_out.push(paths[0]);
                }
            }
            Err(error) => {
                // The list of a backup is not worth that the rest is left out.
                let is_stored = |path: &&Path| path.starts_with(place.store()) && !path.starts_with(&place.backups);
                let is_in_store = paths.iter().all(is_stored);
                left_out.extend(if is_in_store { [Path::new("/"); 2] } else { paths });
                failed.get_or_insert(error);
            }
        }
    }
    let is_left_out = |path: &PathBuf| left_out.iter().any(|left| path.starts_with(left));
    // A folder of the user's that was moved to the backup must be found there again.
    let has_moved = |entry: &Entry| matches!(&entry.original, Original::Directory { kept } if disk::is_there(kept));
    registry.entries.retain(|path, entry| !is_left_out(path) || has_moved(entry));
    // A copy that is to go and of which something could not be removed goes another time.
    let is_partly_there =
        |path: &PathBuf| !registry.entries.contains_key(path) && left_out.iter().any(|left| left.starts_with(path));
    let before = journal.previous.entries.iter().filter(|(path, _)| is_left_out(path) || is_partly_there(path));
    let before: Vec<_> = before.map(|(path, entry)| (path.clone(), entry.clone())).collect();
    registry.entries.extend(before);
    registry.directories.retain(|path| directories.get(path.as_path()) != Some(&false));
    let still_there = directories.iter().filter(|(path, is_there)| **is_there && !path.starts_with(place.store()));
    registry.directories.extend(still_there.map(|(path, _)| (*path).to_owned()));
    registry.directories.sort();
    registry.directories.dedup();
    fault_point("rules-stepped");
    private::write(&Registry::path(place), &registry.to_bytes(place))?;
    fault_point("rules-registered");
    private::remove(&place.journal_path())?;
    failed.map_or(Ok(changed), Err)
}

/// Returns the steps that have moved something already, when a run before ended behind them, each with where it was moved to.
///
/// What is there now is a user's, also where it is the same as what an earlier step had to remove from there.
fn moved_back(steps: &[Step]) -> Vec<(usize, &Path)> {
    let moved = steps.iter().enumerate().filter_map(|(number, step)| match step {
        Step::Move { from, to } if disk::is_there(to) && !disk::is_there(from) => Some((number, to.as_path())),
        _ => None,
    });
    moved.collect()
}

/// Says whether something of a user's is where a step was to write a file or a link.
fn has_users(step: &Step) -> Result<bool> {
    let node = disk::observe(step.paths()[0])?;
    Ok(match (step, &node) {
        (_, Node::Absent) => false,
        (Step::Write { .. }, Node::File { bytes, .. }) => {
            // What was generated and edited since is known to be that.
            let is_generated = [false, true].iter().any(|has_front| generate::is_generated(bytes, *has_front));
            !step.has_written(bytes) && !is_generated && !block::is_in(bytes)
        }
        (Step::Write { .. }, _) => true,
        (Step::Link { target, .. }, node) => *node != Node::Link(target.clone()),
        _ => false,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::fs;

    use super::super::registry::Owned;
    use super::*;

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
        assert!(
            finish(&place, &Journal { base: home, identity: None, steps, registry, previous, taken: BTreeSet::new() })
                .is_err()
        );
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
        let journal = Journal { base: home, identity: None, steps, registry, previous, taken: BTreeSet::new() };
        for run in ["all of it", "again, as after a kill before the registry was written"] {
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
        let (registry, taken) = (Registry::empty(), BTreeSet::new());
        let journal = Journal { base: home, identity: None, steps, registry, previous, taken };
        assert!(finish(&place, &journal).is_err());
        let registry = Registry::read(&place).unwrap();
        assert_eq!((registry.get(&copy), &registry.directories), (Some(&entry), &vec![folder.clone()]));
        fs::remove_file(folder.join("mine.md")).unwrap();
        let _ = finish(&place, &journal);
        assert_eq!(Registry::read(&place).unwrap().directories, Vec::<PathBuf>::new());
    }
}
