//! Taking the steps, so that a process that is killed leaves each file old or new, and the next one finishes.
//!
//! The journal has everything that the steps need. It is written before the first step, and each step can be taken twice.

mod finish;
mod progress;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use self::finish::finish;
use self::progress::Progress;
use super::backup::{self, Backup};
use super::registry::Registry;
use super::report::Change;
use super::store::Store;
use super::{Place, Scope, interrupted, is_plain, places, shared, want};
use crate::error::{Error, Kind, Result};
use crate::git::{fault_point, private};
use crate::managed::disk;
use crate::managed::{LOCK_TIMEOUT, Step, file};

/// Returns the changes that steps make in a store.
pub fn changes(steps: &[Step]) -> Vec<Change> {
    let change = |path: &Path, action| Change { path: path.to_owned(), action, before: None, after: None };
    let changes = |step: &Step| match step {
        Step::Write { path, before, .. } => {
            vec![change(path, if before == "absent" { "create" } else { "update" })]
        }
        Step::Link { path, .. } => vec![change(path, "link")],
        Step::Remove { path, .. } => vec![change(path, "remove")],
        Step::Move { from, to } => vec![change(from, "move"), change(to, "create")],
        Step::MakeDirectory { .. } | Step::RemoveDirectory { .. } => Vec::new(),
    };
    steps.iter().flat_map(changes).collect()
}

/// The steps of one operation, with what is known when they are done.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Journal {
    /// The base of the place whose steps these are.
    #[serde(default)]
    base: PathBuf,
    /// The identity of the base.
    #[serde(default)]
    identity: Option<String>,
    steps: Vec<Step>,
    /// Where the directories of the steps' paths are, for those that are in symbolic links, as the plan has seen it.
    #[serde(default)]
    real: Option<BTreeMap<PathBuf, PathBuf>>,
    /// When the system was started in which the steps are taken. Where it has been started anew since, power may have been lost
    /// before all notes of how far they were taken were on the disk.
    #[serde(default)]
    boot: Option<String>,
    /// How many of the steps, from the first one, change the store itself.
    #[serde(default)]
    store_steps: usize,
    /// The registry when all steps are taken.
    registry: Registry,
    /// The registry as it was.
    #[serde(default)]
    previous: Registry,
    /// Names that existed before the first step, so they are not ours to remove.
    #[serde(default)]
    taken: BTreeSet<PathBuf>,
    /// The paths whose originals are back when all steps are taken, so that no backup has to keep them.
    #[serde(default)]
    settled: BTreeSet<PathBuf>,
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
            real: self.real.map(|real| real.iter().map(|(path, real)| (here(path), here(real))).collect()),
            registry: self.registry.map_paths(here),
            previous: self.previous.map_paths(here),
            taken: self.taken.iter().map(|path| here(path)).collect(),
            settled: self.settled.iter().map(|path| here(path)).collect(),
            ..self
        }
    }

    /// Writes the journal.
    fn write(&self, place: &Place) -> Result<()> {
        let bytes =
            serde_json::to_vec(self).map_err(|error| Error::other("cannot write the journal").because(error))?;
        private::write_synced(&place.journal_path(), &bytes)
    }

    /// Says whether a path is that of a step: a skill can have a file with the name of an unfinished one.
    fn writes(&self, path: &Path) -> bool {
        self.steps.iter().any(|step| step.paths().contains(&path))
    }

    /// Says whether the directories of a step's paths are where the plan has seen them: somebody can have put a link in the place
    /// of one since.
    fn is_where_it_was(&self, step: &Step) -> bool {
        let Some(real) = &self.real else { return true };
        let is_there = |path: &&Path| {
            path.parent().is_none_or(|above| {
                let expected = real.get(above).map_or(above, PathBuf::as_path);
                real_parent(path).is_some_and(|real| real == expected)
            })
        };
        step.paths().iter().all(is_there)
    }

    /// Returns a path of the store at which something else is than the plan has seen.
    fn changed_in_store(&self) -> Option<&Path> {
        let mut seen: HashSet<&Path> = HashSet::new();
        for step in &self.steps[..self.store_steps] {
            let paths = step.paths();
            // A later step at the same path finds what the earlier one has made.
            let is_first = !paths.iter().any(|path| path.ancestors().any(|above| seen.contains(above)));
            if is_first && !step.is_due().unwrap_or(true) {
                return Some(paths[1]);
            }
            if !matches!(step, Step::MakeDirectory { .. } | Step::RemoveDirectory { .. }) {
                seen.extend(paths);
            }
        }
        None
    }
}

/// Returns what tells one start of the system from another; `None` where that is not known.
fn boot() -> Option<String> {
    disk::text(Path::new("/proc/sys/kernel/random/boot_id")).ok()?.map(|id| id.trim().to_owned())
}

/// Returns the directory of a path with symbolic links resolved; `None` if one leads nowhere.
fn real_parent(path: &Path) -> Option<PathBuf> {
    disk::real_above(path)?.parent().map(Path::to_owned)
}

/// Returns where the directories of the steps' paths are, for those that are in symbolic links.
fn real_directories(steps: &[Step]) -> BTreeMap<PathBuf, PathBuf> {
    let removed: HashSet<&Path> =
        steps.iter().filter(|step| matches!(step, Step::Remove { .. })).map(|step| step.paths()[0]).collect();
    // A link to a directory stays where a directory is needed, unless it is removed before.
    let is_made = |step: &&Step| {
        let path = step.paths()[0];
        matches!(step, Step::MakeDirectory { .. }) && (!path.is_dir() || removed.contains(path))
    };
    let made: HashSet<&Path> = steps.iter().filter(is_made).map(|step| step.paths()[0]).collect();
    let real = |above: &Path| match above.ancestors().filter(|above| made.contains(*above)).last() {
        // The directory is made where the link is now.
        Some(top) => Some(disk::real_above(top)?.join(above.strip_prefix(top).ok()?)),
        None => real_parent(&above.join("file")),
    };
    let directories: BTreeSet<&Path> = steps.iter().flat_map(Step::paths).filter_map(Path::parent).collect();
    let found = directories.into_iter().filter_map(|above| Some((above.to_owned(), real(above)?)));
    found.filter(|(above, real)| above != real).collect()
}

/// The steps of a command, and the registry that belongs to them.
pub struct Operation {
    pub backup: Backup,
    /// The steps that change the store itself.
    pub of_store: Vec<Step>,
    /// The steps that change agents' files.
    pub of_agents: Vec<Step>,
    /// The registry when all steps are taken, and as it was.
    pub registry: Registry,
    pub previous: Registry,
    /// The paths whose originals are back then.
    pub settled: BTreeSet<PathBuf>,
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
    backup::unfinished(place).iter().for_each(|unfinished| drop(std::fs::remove_dir_all(unfinished)));
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
            return Err(set_aside(place, &path, &journal, false, why));
        }
        if let Some(strange) = strange_path(place, &journal)? {
            let strange = crate::outside::line(&strange.display().to_string());
            let why = format!("a command was interrupted, and is not finished: nothing here writes to '{strange}'");
            return Err(set_aside(place, &path, &journal, is_here, why));
        }
        // If this process is killed, too, the next one finds the paths of here.
        let (base, identity) = (place.base.clone(), disk::identity(&place.base));
        let journal = Journal { base, identity, ..journal };
        // Unfinished files of the killed process.
        for path in journal.steps.iter().flat_map(written) {
            file::sweep(path, |name| journal.taken.contains(name) || journal.writes(name)).map_err(|error| {
                error.hint("a command was interrupted; the next one finishes it once this can be removed")
            })?;
        }
        if !journal.settled.is_empty() {
            backup::lists(place).iter().for_each(|list| drop(file::sweep(list, |_| false)));
        }
        return match finish(place, &journal, true)?.in_store {
            None => Ok((lock, true)),
            Some(path) => {
                let shown = crate::outside::line(&place.shown(&path));
                let why =
                    format!("'{shown}' has changed meanwhile, and a command that was interrupted is not finished");
                Err(Error::new(Kind::Busy, why).hint("the next command goes on without it"))
            }
        };
    }
    // A process can be killed after it has removed the journal.
    Progress::forget(place);
    Ok((lock, false))
}

/// Returns the paths at which a step makes something under another name first, or moves something to such a name.
fn written(step: &Step) -> impl Iterator<Item = &Path> {
    let is_written = matches!(step, Step::Write { .. } | Step::Link { .. } | Step::Move { .. });
    let [from, to] = step.paths();
    let paths = if from == to { [None, Some(to)] } else { [Some(from), Some(to)] };
    paths.into_iter().flatten().filter(move |_| is_written)
}

/// Returns a path of the steps that no command of this place writes: the journal came here with the store then. It fails if
/// a file cannot be read that says which paths those are; once it can, what was interrupted is finished.
fn strange_path<'j>(place: &Place, journal: &'j Journal) -> Result<Option<&'j Path>> {
    // A skill can be a repository.
    let is_in_skill = |below: &Path| below.ancestors().any(places::is_skill);
    let is_own = |path: &Path| match path.strip_prefix(&place.base) {
        _ if path.starts_with(&place.backups) || path.starts_with(place.store()) => true,
        Ok(below) => {
            // A link at the path itself is replaced, not followed.
            let leads_out = || path.parent().is_none_or(|above| place.leads_out(above));
            (place.allows(path) || is_in_skill(below)) && (place.scope == Scope::Home || !leads_out())
        }
        Err(_) => false,
    };
    let paths = journal.steps.iter().flat_map(|step| step.paths().map(|path| (step, path)));
    let is_safe = |path: &Path| path.is_absolute() && is_plain(path);
    let outside: Vec<_> = paths.filter(|(_, path)| !is_safe(path) || !is_own(path)).collect();
    if outside.is_empty() {
        return Ok(None);
    }
    let known = if place.scope == Scope::Home { known_outside(place, &journal.registry)? } else { BTreeSet::new() };
    let is_known = |step: &Step, path: &Path| {
        let is_above = matches!(step, Step::MakeDirectory { .. } | Step::RemoveDirectory { .. });
        known.iter().any(|known| path.starts_with(known) || is_above && known.starts_with(path))
    };
    let strange = outside.into_iter().find(|(step, path)| !is_safe(path) || !is_known(step, path));
    Ok(strange.map(|(_, path)| path))
}

/// Returns the paths outside of a home that its commands write: those of the registry and of the settings, those to which links
/// lead that are followed, and files of the store that are kept elsewhere.
fn known_outside(place: &Place, planned: &Registry) -> Result<BTreeSet<PathBuf>> {
    let mut known = BTreeSet::new();
    let registry = Registry::read(place)?;
    known.extend(registry.entries.into_keys().chain(registry.directories));
    // A command that is interrupted can be the one that makes the store.
    if disk::is_there(&place.manifest()) {
        let store = Store::read(place)?;
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
    Ok(known)
}

/// Puts a journal aside that came here with the store: its steps are about files of another place. What it has done to files
/// that are here now is written down. Returns what is to be told.
///
/// `is_own` says that this place has written it.
fn set_aside(place: &Place, path: &Path, journal: &Journal, is_own: bool, why: String) -> Error {
    for path in journal.steps.iter().flat_map(written).filter(|path| place.own(path, is_own).is_some()) {
        let _ = file::sweep(path, |name| journal.taken.contains(name) || journal.writes(name));
    }
    if let Err(error) = interrupted::write_down(place, &journal.base, is_own, &journal.steps, &journal.registry) {
        return error;
    }
    let aside = place.state.join("journal-elsewhere.json");
    if let Err(error) = std::fs::rename(path, &aside) {
        return Error::io("move", path, error);
    }
    Progress::forget(place);
    Error::other(why)
        .hint(format!("what it was about to write is in '{}'; the next command goes on without it", aside.display()))
        .hint("'git shiftlog rules sync' writes all of it again, 'git shiftlog rules clean' takes back what is written")
}

/// Writes the backup and the journal, takes the steps, and writes the registry. The lock must be held.
///
/// # Errors
///
/// If something cannot be written; the next command tries again. [`Kind::Busy`] if a file has changed since the plan was made:
/// one of the store, and nothing is done; one of an agent's, and all else is done.
pub fn carry_out(place: &Place, operation: Operation) -> Result<()> {
    let Operation { backup, of_store, of_agents, registry, previous, settled } = operation;
    let has_steps = !of_store.is_empty() || !of_agents.is_empty();
    if !has_steps && registry == previous && backup::settle(place, &settled)?.is_empty() {
        return Ok(());
    }
    let store_steps = of_store.len();
    let mut steps = of_store;
    steps.extend(of_agents);
    place.check_steps(&steps)?;
    backup.write()?;
    fault_point("rules-backed-up");
    let taken = steps.iter().flat_map(written).flat_map(file::occupied).collect();
    let (base, identity) = (place.base.clone(), disk::identity(&place.base));
    let real = Some(real_directories(&steps));
    let boot = boot();
    let journal = Journal { base, identity, steps, real, boot, store_steps, registry, previous, taken, settled };
    Progress::begin(place);
    journal.write(place)?;
    let busy = |path: &Path| {
        Error::new(
            Kind::Busy,
            format!("'{}' has changed meanwhile; try again", crate::outside::line(&place.shown(path))),
        )
    };
    if let Some(path) = journal.changed_in_store() {
        private::remove(&place.journal_path())?;
        backup.discard();
        return Err(busy(path));
    }
    let changed = finish(place, &journal, false)?;
    match changed.in_store.iter().chain(&changed.of_agents).next() {
        None => Ok(()),
        Some(path) => Err(busy(path)),
    }
}
