//! The changes that commands make to a store, in memory. Everything is checked before anything is changed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::manifest::check_id;
use super::store::{Skill, Store};
use super::{glob, want};
use crate::error::{Error, Kind, Result};
use crate::managed::Step;
use crate::managed::disk;

/// The words that `exclude` takes.
const EXCLUDED: &[&str] = &["cursor", "codex", "claude", "gemini", "kiro", "agents-md"];
/// The keys that `set` takes.
const KEYS: &[&str] = &["agents_md.header", "agents_md.paths", "agents_md.preamble", "claude_md.paths"];

/// A rule to add.
#[derive(Clone, Debug, Default)]
pub struct NewRule {
    /// Its name.
    pub id: String,
    /// Its description; may be empty.
    pub description: String,
    /// Its text; `None` for one that says that it is to be written.
    pub text: Option<String>,
    /// Whether it holds in each conversation.
    pub is_always_applied: bool,
    /// The agents that do not get it.
    pub exclude: Vec<String>,
}

impl Store {
    /// Adds a rule.
    ///
    /// # Errors
    ///
    /// If there is one of this name, or the name cannot be one.
    pub(super) fn add_rule(&mut self, new: &NewRule) -> Result<()> {
        check_id("rule", &new.id)?;
        let file = format!("{}.md", new.id);
        let is_there = self.manifest.rules()?.iter().any(|rule| rule.id == new.id || rule.file == file);
        if is_there || disk::is_there(&self.rule_path(&file)) {
            return Err(Error::other(format!("rule '{}' already exists", new.id)));
        }
        if let Some(unknown) = new.exclude.iter().find(|name| !EXCLUDED.contains(&name.as_str())) {
            return Err(Error::new(
                Kind::Usage,
                format!("unknown agent '{unknown}'; known are {}", EXCLUDED.join(", ")),
            ));
        }
        let mut cursor = Map::new();
        cursor.insert("alwaysApply".into(), json!(new.is_always_applied));
        if !new.description.is_empty() {
            cursor.insert("description".into(), json!(new.description));
        }
        let text = new.text.clone().unwrap_or_else(|| format!("# {}\n\nTODO: Add rule content.\n", title(&new.id)));
        self.add(&new.id, "manual", Value::Object(cursor), &new.exclude, &text)
    }

    /// Adds a rule whose name is known to be free.
    pub(super) fn add(&mut self, id: &str, from: &str, cursor: Value, exclude: &[String], text: &str) -> Result<()> {
        let file = format!("{id}.md");
        let mut entry = json!({ "id": id, "file": file, "imported_from": from });
        if cursor.as_object().is_some_and(|cursor| !cursor.is_empty()) {
            entry["cursor"] = cursor;
        }
        if !exclude.is_empty() {
            entry["exclude"] = json!(exclude);
        }
        self.manifest.add_rule(entry);
        self.is_changed = true;
        self.make_directory("rules");
        self.set_text(&file, text)
    }

    fn make_directory(&mut self, name: &str) {
        let path = self.place.store().join(name);
        let step = Step::MakeDirectory { path };
        if let Step::MakeDirectory { path } = &step
            && !disk::is_there(path)
            && !self.steps.contains(&step)
        {
            self.steps.push(step);
        }
    }

    /// Removes a rule. Its file is kept in the backup.
    ///
    /// # Errors
    ///
    /// If there is none of this name.
    pub(super) fn remove_rule(&mut self, id: &str) -> Result<()> {
        let rules = self.manifest.rules()?;
        let rule = rules.iter().find(|rule| rule.id == id);
        let rule =
            rule.ok_or_else(|| Error::other(format!("rule '{}' not found in manifest", crate::outside::line(id))))?;
        let path = self.rule_path(&rule.file);
        let node = disk::observe(&path)?;
        let is_shared = rules.iter().any(|other| other.id != id && other.file == rule.file);
        if node != disk::Node::Absent && !is_shared {
            self.steps.push(Step::Remove { path: path.clone(), before: crate::managed::step::stamp(&node) });
            self.saved.push((path, node));
        }
        self.manifest.remove_rule(id);
        self.is_changed = true;
        Ok(())
    }

    /// Sets one of the values that can be set. Lists are separated by commas. `follows` says that paths may lead elsewhere by
    /// symbolic links.
    ///
    /// # Errors
    ///
    /// If there is no such value, or a path leads elsewhere or into a directory of Git's.
    pub(super) fn set(&mut self, key: &str, value: &str, follows: bool) -> Result<()> {
        let Some((group, name)) = KEYS.contains(&key).then(|| key.split_once('.')).flatten() else {
            let key = crate::outside::line(key);
            return Err(Error::other(format!("unsupported key '{key}'. Supported: {}", KEYS.join(", "))));
        };
        let given = value;
        let value = match name {
            "paths" => json!(words(value)),
            _ if super::block::has_marker(value) => {
                return Err(Error::other(format!("'{key}' cannot have a marker line of a block of ours")));
            }
            _ => json!(value),
        };
        if name == "paths" {
            let leads_out = |path: &&String| {
                let absolute = self.place.absolute(path);
                !follows && !glob::is_pattern(path) && self.place.leads_out(&absolute)
            };
            super::check_paths(&words(given))?;
            words(given).iter().try_for_each(|path| self.place.allowed(path).map(drop))?;
            if let Some(path) = words(given).iter().find(leads_out) {
                let path = crate::outside::line(path);
                return Err(Error::other(format!("'{path}' leads elsewhere by a symbolic link"))
                    .hint("name the place that it leads to, or add --follow"));
            }
            self.unnamed = want::named(self).0;
        }
        self.manifest.set(group, name, value);
        self.is_changed = true;
        Ok(())
    }

    /// Chooses which agents get what; what is `None` stays.
    ///
    /// # Errors
    ///
    /// If an agent is unknown.
    pub(super) fn set_targets(&mut self, targets: &Targets) -> Result<()> {
        use super::places::{INSTRUCTION_TARGETS, RULE_TARGETS, SKILL_TARGETS};
        let groups = [
            ("instructions", &targets.instructions, INSTRUCTION_TARGETS),
            ("rules", &targets.rules, RULE_TARGETS),
            ("skills", &targets.skills, SKILL_TARGETS),
        ];
        for (key, names, known) in groups {
            if let Some(unknown) = names.iter().flatten().find(|name| !known.contains(&name.as_str())) {
                let unknown = crate::outside::line(unknown);
                return Err(Error::other(format!("unknown target '{unknown}' for {key}. Valid: {}", known.join(", "))));
            }
        }
        // What an old manifest means by its rules must not change with them.
        if targets.instructions.is_none() {
            let names: Vec<String> = self.manifest.targets().0.into_iter().map(|target| target.name).collect();
            self.manifest.set_targets("instructions", &names);
        }
        for (key, names, _) in groups {
            if let Some(names) = names {
                self.manifest.set_targets(key, names);
            }
        }
        self.is_changed = true;
        Ok(())
    }

    /// Moves skills to the archive, all or none.
    ///
    /// # Errors
    ///
    /// If one is not there, or in the archive already.
    pub(super) fn archive_skills(&mut self, names: &[String]) -> Result<()> {
        let (from, to) = (self.skills_directory(), self.archive());
        let names = self.checked(names, &from)?;
        for name in &names {
            if disk::is_there(&to.join(name)) {
                return Err(Error::other(format!("skill '{name}' already exists in archive")));
            }
        }
        self.steps.extend(names.iter().map(|name| Step::Move { from: from.join(name), to: to.join(name) }));
        self.skills.retain(|skill| !names.contains(&skill.name));
        self.archived.extend(names);
        Ok(())
    }

    /// Moves skills back from the archive, all or none.
    ///
    /// # Errors
    ///
    /// If one is not in the archive, or there already.
    pub(super) fn restore_skills(&mut self, names: &[String]) -> Result<()> {
        let (from, to) = (self.archive(), self.skills_directory());
        let names = self.checked(names, &from)?;
        for name in &names {
            if disk::is_there(&to.join(name)) {
                return Err(Error::other(format!("skill '{name}' already exists in {}", to.display())));
            }
        }
        for name in &names {
            self.place.check_inside(&from.join(name))?;
        }
        for name in names {
            self.steps.push(Step::Move { from: from.join(&name), to: to.join(&name) });
            self.archived.retain(|archived| *archived != name);
            self.skills.push(Skill { now: from.join(&name), name });
        }
        self.skills.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(())
    }

    /// Returns names of skills, each once, all of which are there.
    fn checked(&self, names: &[String], directory: &std::path::Path) -> Result<Vec<String>> {
        let names: BTreeSet<&String> = names.iter().collect();
        for name in &names {
            check_id("skill", name)?;
            if !disk::is_there(&directory.join(name)) {
                return Err(Error::other(format!("skill '{name}' not found in {}", directory.display())));
            }
        }
        Ok(names.into_iter().cloned().collect())
    }
}

/// Which agents get what; what is `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// The agents that get instructions.
    pub instructions: Option<Vec<String>>,
    /// The agents that get rules.
    pub rules: Option<Vec<String>>,
    /// The agents that get skills.
    pub skills: Option<Vec<String>>,
}

/// Returns the words of a list that is separated by commas.
pub fn words(list: &str) -> Vec<String> {
    list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns a name as the title of a text.
fn title(id: &str) -> String {
    let words = id.split(['-', '_', '.']).filter(|word| !word.is_empty());
    let titled = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    titled.collect::<Vec<_>>().join(" ")
}
