//! One method for each command: change the store in memory, plan, and carry out.

use std::collections::BTreeSet;

use serde_json::json;

use super::adopt;
use super::apply::{self, Operation};
use super::backup;
pub use super::edit::{NewRule, Targets};
use super::import::{self, Choice, FoundRule};
use super::manifest::Manifest;
use super::places::fitting_profile;
use super::plan::{Planner, Ways};
use super::registry::Registry;
use super::report::{Left, Overview, Report};
use super::store::Store;
use super::want::{self, Wishes};
use super::{Place, Scope};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::managed::Step;
use crate::managed::disk::{self, Node};

/// The agents that an operation can be limited to.
const AGENTS: &[&str] = &["cursor", "codex", "claude", "gemini", "kiro", "antigravity"];

/// The most paths of another place that are named.
const MAX_DROPPED: usize = 20;

/// How a command works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only this agent's files.
    pub only: Option<String>,
    /// Whether edits of the user's in generated files go, into a backup.
    pub is_forced: bool,
    /// Whether such edits are taken into the store.
    pub adopts: bool,
    /// Whether symbolic links are written through.
    pub follows: bool,
    /// Whether nothing is written at all.
    pub is_dry_run: bool,
    /// The time that files are stamped with.
    pub now: Time,
}

impl Options {
    /// Returns options that change nothing of a user's.
    pub fn at(now: Time) -> Self {
        Options { only: None, is_forced: false, adopts: false, follows: false, is_dry_run: false, now }
    }
}

/// The commands on one store.
#[derive(Clone, Debug)]
pub struct Work {
    /// The directory of the store.
    pub place: Place,
    pub(super) options: Options,
}

/// The demands of an operation, besides the changes in the store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Goal {
    /// The agents have what they should.
    Synced,
    /// The store alone changes.
    Kept,
    /// The agents have nothing of ours.
    Clean,
}

impl Work {
    /// Begins work on a store.
    ///
    /// # Errors
    ///
    /// If the operation is limited to an agent that is not known.
    pub fn new(place: Place, options: Options) -> Result<Self> {
        if let Some(only) = options.only.as_deref().filter(|only| !AGENTS.contains(only)) {
            let only = crate::outside::line(only);
            return Err(Error::other(format!("unknown agent '{only}'. Valid: {}", AGENTS.join(", "))));
        }
        Ok(Work { place, options })
    }

    /// Returns what `status` tells. Reads the manifest, and the names of skills.
    ///
    /// # Errors
    ///
    /// If there is no store, or it cannot be understood.
    pub fn overview(&self) -> Result<Overview> {
        let store = Store::read(&self.place)?;
        let manifest = &store.manifest;
        let rules: Vec<_> = manifest
            .rules()?
            .into_iter()
            .map(|rule| {
                json!({
                    "id": rule.id, "file": rule.file, "imported_from": rule.imported_from,
                    "alwaysApply": rule.cursor["alwaysApply"].as_bool().unwrap_or(false),
                    "description": rule.cursor["description"].as_str().unwrap_or_default(),
                })
            })
            .collect();
        let (instructions, rule_targets) = manifest.targets();
        let names =
            |targets: Vec<super::manifest::Target>| targets.into_iter().map(|target| target.name).collect::<Vec<_>>();
        let skills: Vec<_> = manifest.skill_targets()?.iter().map(super::SkillTarget::to_json).collect();
        Ok(Overview {
            value: json!({
                "rules": rules,
                "active_targets": { "instructions": names(instructions), "rules": names(rule_targets), "skills": skills },
                "skills": store.skill_names(),
                "archived_skills": store.archived,
                "agents_md_paths": manifest.agents_md_paths(),
                "claude_md_paths": manifest.claude_md_paths(),
                "last_synced": manifest.updated().map(str::to_owned).or_else(|| self.last_written()).unwrap_or("never".into()),
            }),
        })
    }

    /// Returns the day on which a sync has changed something last, where the manifest is committed and has no day; `None` if
    /// there was none.
    fn last_written(&self) -> Option<String> {
        let modified =
            disk::modified(&Registry::path(&self.place)).filter(|_| self.place.scope == Scope::Repository)?;
        Some(Time { seconds: modified.secs, offset: 0 }.to_rfc3339().chars().take(10).collect())
    }

    /// Returns the names of archived skills.
    ///
    /// # Errors
    ///
    /// If there is no store.
    pub fn archived(&self) -> Result<Vec<String>> {
        Ok(Store::read(&self.place)?.archived)
    }

    /// Says whether a command that was killed has left something for the next one that writes.
    pub fn is_unfinished(&self) -> bool {
        self.place.is_unfinished()
    }

    /// Says whether a registry exists.
    pub fn has_registry(&self) -> bool {
        disk::is_there(&Registry::path(&self.place))
    }

    /// Writes what the agents should have.
    ///
    /// # Errors
    ///
    /// If something cannot be read or written. Edits of the user's are no error: the report has them, and nothing was done.
    pub fn sync(&self) -> Result<Report> {
        self.change("sync", Goal::Synced, |_| Ok(()))
    }

    /// Returns what `sync` would do, and writes nothing.
    ///
    /// # Errors
    ///
    /// As [`Work::sync`].
    pub fn preview(&self) -> Result<Report> {
        let options = Options { is_dry_run: true, ..self.options.clone() };
        Work { place: self.place.clone(), options }.sync()
    }

    /// Adds a rule, and syncs.
    ///
    /// # Errors
    ///
    /// If there is one of this name; and as [`Work::sync`].
    pub fn add_rule(&self, new: &NewRule) -> Result<Report> {
        self.change("add-rule", Goal::Synced, |store| store.add_rule(new))
    }

    /// Removes a rule, and syncs.
    ///
    /// # Errors
    ///
    /// If there is none of this name; and as [`Work::sync`].
    pub fn remove_rule(&self, id: &str) -> Result<Report> {
        self.change("remove-rule", Goal::Synced, |store| store.remove_rule(id))
    }

    /// Sets a value of the manifest.
    ///
    /// # Errors
    ///
    /// If there is no such value.
    pub fn set(&self, key: &str, value: &str) -> Result<Report> {
        self.change("set", Goal::Kept, |store| store.set(key, value, self.options.follows))
    }

    /// Chooses which agents get what, and syncs.
    ///
    /// # Errors
    ///
    /// If an agent is unknown; and as [`Work::sync`].
    pub fn reconfigure(&self, targets: &Targets) -> Result<Report> {
        self.change("reconfigure", Goal::Synced, |store| store.set_targets(targets))
    }

    /// Moves skills to the archive, all or none, and syncs.
    ///
    /// # Errors
    ///
    /// If one is not there, or archived already; and as [`Work::sync`].
    pub fn archive_skills(&self, names: &[String]) -> Result<Report> {
        self.change("archive-skill", Goal::Synced, |store| store.archive_skills(names))
    }

    /// Moves skills back from the archive, all or none, and syncs.
    ///
    /// # Errors
    ///
    /// If one is not archived, or there already; and as [`Work::sync`].
    pub fn restore_skills(&self, names: &[String]) -> Result<Report> {
        self.change("restore-skill", Goal::Synced, |store| store.restore_skills(names))
    }

    /// Removes everything generated, and puts back what was there before. The store stays.
    ///
    /// # Errors
    ///
    /// As [`Work::sync`].
    pub fn clean(&self) -> Result<Report> {
        if !disk::is_there(&self.place.store()) && !disk::is_there(&Registry::path(&self.place)) {
            let store = self.place.store();
            let why =
                format!("    Warning: there is no store at '{}'; what it had written is not known", store.display());
            return Ok(Report { warnings: vec![why], is_dry_run: self.options.is_dry_run, ..Report::default() });
        }
        let _lock = self.lock()?;
        let empty = || Store::empty(&self.place, Manifest::fresh());
        let read = if disk::is_there(&self.place.manifest()) { Store::read(&self.place) } else { Ok(empty()) };
        // The registry and the backups are enough to take back what they know.
        let (store, error) = read.map_or_else(|error| (empty(), Some(error)), |store| (store, None));
        let mut report = self.finish(store, "clean", Goal::Clean)?;
        report.left.extend(error.map(|error| {
            let why = format!("{error}; files that only the settings name were not looked for");
            let hint = "put the manifest right, or remove it, and run 'git shiftlog rules clean' again";
            Left { path: self.place.manifest(), why, hint: Some(hint.to_owned()) }
        }));
        Ok(report)
    }

    /// Returns the agents that are there and can get instructions, rules and skills.
    pub fn agents_there(&self) -> [Vec<&'static str>; 3] {
        Store::agents_there(&self.place)
    }

    /// Makes a store of what agents have of their own, and syncs. Returns what was taken in, too.
    ///
    /// # Errors
    ///
    /// If there is a store already; and as [`Work::sync`].
    pub fn init(
        &self,
        targets: &Targets,
        profile: Option<&str>,
        choose: &mut dyn FnMut(&FoundRule, &str) -> Choice,
    ) -> Result<(Report, Vec<String>)> {
        let _lock = self.lock()?;
        let path = self.place.manifest();
        if disk::is_there(&path) {
            return Err(Error::other(format!("there is a store already: '{}'", path.display()))
                .hint("'git shiftlog rules import' takes what agents have into it"));
        }
        let mut store = Store::begin(&self.place, Manifest::fresh())?;
        // What the earlier tool has begun stays as it is.
        let has_begun = disk::is_there(&self.place.store().join("rules"));
        let fitting = || (self.place.scope == Scope::Home && !has_begun).then(|| fitting_profile(&self.place.base));
        if let Some(profile) = profile.or_else(fitting).filter(|profile| *profile != "ai-sync") {
            store.manifest.set_profile(profile);
        }
        store.set_targets(targets)?;
        let directory = self.place.store();
        store.steps.push(Step::MakeDirectory { path: directory.join("rules") });
        store.steps.push(Step::MakeDirectory { path: store.skills_directory() });
        self.take_in(store, "init", choose)
    }

    /// Takes what agents have of their own into the store, and syncs. Returns what was taken in, too.
    ///
    /// # Errors
    ///
    /// As [`Work::sync`].
    pub fn import(&self, choose: &mut dyn FnMut(&FoundRule, &str) -> Choice) -> Result<(Report, Vec<String>)> {
        let _lock = self.lock()?;
        let store = Store::read(&self.place)?;
        self.take_in(store, "import", choose)
    }

    fn take_in(
        &self,
        mut store: Store,
        command: &str,
        choose: &mut dyn FnMut(&FoundRule, &str) -> Choice,
    ) -> Result<(Report, Vec<String>)> {
        let survey = import::survey(&self.place, store.manifest.is_current());
        let told = store.take_in(&survey, choose)?;
        let mut report = self.finish(store, command, Goal::Synced)?;
        report.warnings.extend(survey.warnings);
        Ok((report, told))
    }

    /// Takes the lock. A command that writes nothing does not even make its file.
    fn lock(&self) -> Result<Option<crate::git::private::Lock>> {
        if self.options.is_dry_run { Ok(None) } else { apply::lock(&self.place).map(Some) }
    }

    /// Finishes what a command that was killed has begun. Says whether there was such a thing.
    ///
    /// # Errors
    ///
    /// If something cannot be written, or another command is running.
    pub fn recover(&self) -> Result<bool> {
        let has_rest = self.is_unfinished() || !backup::unfinished(&self.place).is_empty();
        Ok(has_rest && apply::lock_and_finish(&self.place)?.1)
    }

    fn change(&self, command: &str, goal: Goal, edit: impl FnOnce(&mut Store) -> Result<()>) -> Result<Report> {
        // What was interrupted can be what makes the store.
        if !disk::is_there(&self.place.manifest()) && (self.options.is_dry_run || !self.is_unfinished()) {
            Manifest::read(&self.place)?;
        }
        let _lock = self.lock()?;
        let mut store = Store::read(&self.place)?;
        edit(&mut store)?;
        self.finish(store, command, goal)
    }

    fn finish(&self, mut store: Store, command: &str, goal: Goal) -> Result<Report> {
        let options = &self.options;
        if options.is_dry_run && self.is_unfinished() {
            return Err(Error::other("another command is running, or was interrupted")
                .hint("'git shiftlog rules sync' finishes it"));
        }
        let before = Registry::read(&self.place)?;
        let only = options.only.as_deref();
        let (nothing, mut adopted, mut edited) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let ways = |adopts, edited, adopted| {
            let Options { is_forced, follows, now, .. } = *options;
            Ways { only, is_forced, follows, adopts, edited, adopted, now }
        };
        // Paths that were dropped are a change, so that the registry is written without them.
        let mut registry = before.clone();
        registry.dropped.clear();
        registry.imported.extend(store.imported.iter().cloned());
        let wishes = |store: &Store| {
            let mut wishes =
                if goal == Goal::Synced { want::wishes(store, only, options.now)? } else { Wishes::default() };
            want::without_repetition(store, &registry, &mut wishes, options.now);
            Ok(wishes)
        };
        let mut wished = wishes(&store)?;
        if options.adopts && goal == Goal::Synced {
            let mut planner = Planner::new(&store, registry.clone(), command, ways(true, &nothing, &nothing));
            planner.plan(&wished)?;
            let Planner { drift, registry: planned, .. } = planner;
            if !drift.is_empty() {
                edited = drift.iter().map(|drift| drift.path.clone()).collect();
                adopted = adopt::adopt(&mut store, &planned, &wished, &drift)?;
                wished = wishes(&store)?;
            }
        }
        let mut planner = Planner::new(&store, registry, command, ways(false, &edited, &adopted));
        if goal == Goal::Kept {
            planner.keep_unnamed()?;
        } else {
            planner.plan(&wished)?;
            planner.remove_directories();
        }
        for (path, node) in &store.saved {
            let what = match node {
                Node::File { bytes, mode } => backup::What::File { bytes: bytes.clone(), mode: *mode },
                Node::Link(target) => backup::What::Link { target: target.clone() },
                _ => continue,
            };
            planner.backup.add(path, what, true);
        }
        let dropped = before.dropped.iter().take(MAX_DROPPED).map(|path| {
            let path = path.display();
            format!("    Warning: the registry came from elsewhere, and '{path}' is left as it is")
        });
        let mut report = Report {
            counts: wished.counts,
            warnings: dropped.chain(wished.warnings).chain(planner.warnings).collect(),
            is_dry_run: options.is_dry_run,
            drift: planner.drift,
            left: planner.left,
            ..Report::default()
        };
        if !report.drift.is_empty() {
            report.changes = planner.changes;
            return Ok(report);
        }
        let of_store = if goal == Goal::Clean { Vec::new() } else { store.steps(goal == Goal::Synced, options.now)? };
        report.changes = apply::changes(&of_store);
        if !store.is_changed && store.read.is_some() {
            // The day in the manifest is not worth a word.
            report.changes.retain(|change| change.path != self.place.manifest());
        }
        report.changes.extend(planner.changes);
        report.backup = (!planner.backup.saved.is_empty()).then(|| planner.backup.id.clone());
        if options.is_dry_run {
            return Ok(report);
        }
        let Planner { backup, steps: of_agents, registry, settled, moved, .. } = planner;
        // If a step fails, what was known is known where it is now.
        let mut previous = before;
        for (path, end) in moved {
            previous.entries.remove(&path).and_then(|entry| previous.entries.insert(end, entry));
        }
        let operation = Operation { backup, of_store, of_agents, registry, previous, settled };
        apply::carry_out(&self.place, operation)?;
        Ok(report)
    }
}

/// Says whether a store is at a place.
pub fn has_store(place: &Place) -> bool {
    match place.scope {
        Scope::Home => disk::is_there(&place.manifest()),
        Scope::Repository => disk::is_directory(&place.store()),
    }
}
