//! `manifest.json`: read leniently, written exactly, with keys that are not ours kept where they are.

mod numbers;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests;

use serde_json::{Map, Value, json};

use super::places::{INSTRUCTION_TARGETS, RULE_TARGETS};
use super::{Place, Scope, is_id};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::managed::disk;

/// The largest manifest, in bytes: some ten thousand rules, and little enough to hold as values whatever it says.
const MAX_MANIFEST_BYTES: usize = 2 << 20;

fn too_large() -> Error {
    Error::other(format!("the manifest is too large (at most {MAX_MANIFEST_BYTES} bytes)"))
}

/// How skills get to an agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SyncMode {
    /// A link to the store.
    Symlink,
    /// A copy.
    Copy,
}

/// How to treat a folder of the user's at the place of a skill. Either way it is backed up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Conflict {
    /// The folder is removed.
    Overwrite,
    /// The folder becomes an archived skill.
    Archive,
}

/// An agent that gets skills.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SkillTarget {
    /// The agent.
    pub name: String,
    /// How it gets them.
    pub mode: SyncMode,
    /// What becomes of its own.
    pub conflict: Conflict,
}

impl SkillTarget {
    /// Returns the target as the manifest and programs have it.
    pub fn to_json(&self) -> Value {
        let mode = if self.mode == SyncMode::Copy { "copy" } else { "symlink" };
        let conflict = if self.conflict == Conflict::Archive { "archive" } else { "overwrite" };
        json!({ "name": self.name, "sync_mode": mode, "conflict_strategy": conflict })
    }
}

/// An agent that gets instructions or rules.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The agent.
    pub name: String,
    /// Whether only a block of its file is ours; `None` if that depends on the file.
    pub is_block: Option<bool>,
}

/// A rule as the manifest has it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub id: String,
    /// Its file in the directory of rules.
    pub file: String,
    /// The agent whose file it comes from, or `manual`.
    pub imported_from: String,
    /// The values of Cursor's front matter: `description`, `alwaysApply`, `globs`.
    pub cursor: Value,
    /// The agents that do not get it.
    pub exclude: Vec<String>,
}

/// The settings of a store.
#[derive(Clone, Debug)]
pub struct Manifest {
    value: Map<String, Value>,
}

impl Manifest {
    /// Returns the settings of a new store.
    pub fn fresh() -> Self {
        let value = json!({
            "version": "1.0",
            "updated": "",
            "imported_from": [],
            "active_targets": { "instructions": [], "rules": [], "skills": [] },
            "rules": [],
            "skills": { "shared_dir": "skills" },
            "agents_md": { "paths": [], "header": "# AGENTS Rules", "preamble": "" },
            "claude_md": { "paths": [] },
        });
        let Value::Object(value) = value else { return Manifest { value: Map::new() } };
        Manifest { value }
    }

    /// Reads the manifest of a store.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if there is none.
    pub fn read(place: &Place) -> Result<(Self, String)> {
        let path = place.manifest();
        let Some(text) = disk::text(&path)? else {
            return Err(Error::new(Kind::Missing, format!("there is no store at '{}'", place.store().display())).hint(
                match place.scope {
                    Scope::Home if place.is_unfinished() => "'git shiftlog rules sync' finishes what was interrupted",
                    Scope::Repository if place.is_unfinished() => {
                        "'git shiftlog rules sync --scope=repo' finishes what was interrupted"
                    }
                    Scope::Home => "'git shiftlog rules init' makes one",
                    Scope::Repository => "'git shiftlog rules init --scope=repo' makes one",
                },
            ));
        };
        let manifest = match text.len() > MAX_MANIFEST_BYTES {
            true => Err(too_large()),
            false => Self::parse(&text),
        };
        manifest
            .map(|manifest| (manifest, text))
            .map_err(|error| Error::new(Kind::Corrupt, format!("cannot read '{}'", path.display())).because(error))
    }

    /// Parses a manifest.
    ///
    /// # Errors
    ///
    /// If it is not a JSON object, or says something that would be misunderstood.
    pub fn parse(text: &str) -> Result<Self> {
        let value = numbers::parse(text).map_err(|error| Error::other("it is not JSON").because(error))?;
        let Value::Object(value) = value else { return Err(Error::other("it is not a JSON object")) };
        let manifest = Manifest { value };
        if !matches!(manifest.at(&["rules"]), Value::Array(_) | Value::Null) {
            return Err(Error::other("'rules' is not a list"));
        }
        manifest.rules()?;
        Ok(manifest)
    }

    /// Returns the manifest as it is written, with the day of the last change.
    ///
    /// # Errors
    ///
    /// If it would be too large to be read again.
    pub fn to_text(&self, now: Time) -> Result<String> {
        let mut value = self.value.clone();
        value.insert("updated".into(), json!(day(now)));
        let text = numbers::to_text(&value) + "\n";
        if text.len() > MAX_MANIFEST_BYTES { Err(too_large()) } else { Ok(text) }
    }

    fn at(&self, keys: &[&str]) -> &Value {
        let first = keys.first().and_then(|key| self.value.get(*key)).unwrap_or(&Value::Null);
        keys.iter().skip(1).fold(first, |value, key| &value[*key])
    }

    fn strings(&self, keys: &[&str]) -> Vec<String> {
        strings(self.at(keys))
    }

    /// Returns the day of the last change.
    pub fn updated(&self) -> Option<&str> {
        self.at(&["updated"]).as_str().filter(|day| !day.is_empty())
    }

    /// Returns the rules in their order.
    ///
    /// # Errors
    ///
    /// If an id or a file could lead out of the store.
    pub fn rules(&self) -> Result<Vec<Rule>> {
        let entries = self.at(&["rules"]).as_array().map(Vec::as_slice).unwrap_or_default();
        let mut rules: Vec<Rule> = Vec::with_capacity(entries.len());
        let mut seen = std::collections::HashSet::new();
        for entry in entries {
            let id = entry["id"].as_str().unwrap_or_default().to_owned();
            check_id("rule", &id)?;
            let file = entry["file"].as_str().map_or_else(|| format!("{id}.md"), str::to_owned);
            if !file.strip_suffix(".md").is_some_and(is_id) {
                return Err(Error::other(format!("invalid file '{file}' of rule '{id}'")));
            }
            if !seen.insert(id.clone()) {
                return Err(Error::other(format!("rule '{id}' is there twice")));
            }
            rules.push(Rule {
                imported_from: entry["imported_from"].as_str().unwrap_or("manual").to_owned(),
                cursor: numbers::shown(&entry["cursor"]),
                exclude: strings(&entry["exclude"]),
                id,
                file,
            });
        }
        Ok(rules)
    }

    /// Returns the agents that get instructions, and those that get rules.
    pub fn targets(&self) -> (Vec<Target>, Vec<Target>) {
        let listed = |key: &str| -> Vec<Target> {
            let entries = self.at(&["active_targets", key]).as_array().map(Vec::as_slice).unwrap_or_default();
            let target = |entry: &Value| {
                let name = entry.as_str().or_else(|| entry["name"].as_str())?.to_owned();
                let is_block = entry["mode"].as_str().map(|mode| mode == "block");
                Some(Target { name, is_block })
            };
            entries.iter().filter_map(target).collect()
        };
        let all = listed("rules");
        let known = |targets: Vec<Target>, names: &[&str]| {
            let mut kept: Vec<Target> = Vec::new();
            for target in targets {
                if names.contains(&target.name.as_str()) && !kept.iter().any(|known| known.name == target.name) {
                    kept.push(target);
                }
            }
            kept
        };
        let instructions = if self.at(&["active_targets"]).get("instructions").is_some() {
            listed("instructions")
        } else {
            // Before there were instructions, rules had all of it.
            let find = |name: &str| all.iter().find(|target| target.name == name);
            let of_agents = ["cursor", "codex"].into_iter().filter(|_| find("agents-md").is_some());
            let others = ["claude", "gemini"].into_iter().filter(|name| find(name).is_some());
            let is_block = |name: &str| find(name).and_then(|target| target.is_block);
            of_agents.chain(others).map(|name| Target { name: name.into(), is_block: is_block(name) }).collect()
        };
        (known(instructions, INSTRUCTION_TARGETS), known(all, RULE_TARGETS))
    }

    /// Returns the agents that get skills.
    ///
    /// # Errors
    ///
    /// If an entry cannot be understood.
    pub fn skill_targets(&self) -> Result<Vec<SkillTarget>> {
        let entries = self.at(&["active_targets", "skills"]).as_array().map(Vec::as_slice).unwrap_or_default();
        let mut targets: Vec<SkillTarget> = Vec::new();
        for entry in entries {
            let target = skill_target(entry)?;
            if !targets.iter().any(|known| known.name == target.name) {
                targets.push(target);
            }
        }
        Ok(targets)
    }

    /// Returns the paths of `AGENTS.md` as they are configured.
    pub fn agents_md_paths(&self) -> Vec<String> {
        self.strings(&["agents_md", "paths"])
    }

    /// Returns the paths of further files for Claude Code.
    pub fn claude_md_paths(&self) -> Vec<String> {
        self.strings(&["claude_md", "paths"])
    }

    /// Returns the heading of `AGENTS.md`.
    pub fn agents_md_header(&self) -> &str {
        numbers::text(self.at(&["agents_md", "header"])).unwrap_or("# AGENTS Rules")
    }

    /// Returns the text below that heading.
    pub fn agents_md_preamble(&self) -> &str {
        numbers::text(self.at(&["agents_md", "preamble"])).unwrap_or_default()
    }

    /// Returns the name of the directory of skills.
    pub fn skills_directory(&self) -> &str {
        self.at(&["skills", "shared_dir"]).as_str().filter(|name| is_id(name)).unwrap_or("skills")
    }

    /// Says whether agents' files are where the agents of today look for them.
    pub fn is_current(&self) -> bool {
        self.at(&["profile"]).as_str() == Some("current")
    }

    /// Chooses where agents' files are.
    pub fn set_profile(&mut self, profile: &str) {
        self.value.insert("profile".into(), json!(profile));
    }

    /// Says whether the rules of the home follow those of a repository.
    pub fn includes_home(&self) -> bool {
        self.at(&["include_home"]).as_bool() == Some(true)
    }

    /// Adds a rule behind the others.
    pub fn add_rule(&mut self, entry: Value) {
        let rules = self.value.entry("rules").or_insert_with(|| json!([]));
        if rules.is_null() {
            *rules = json!([]);
        }
        if let Some(rules) = rules.as_array_mut() {
            rules.push(entry);
        }
    }

    /// Removes a rule.
    pub fn remove_rule(&mut self, id: &str) {
        if let Some(rules) = self.value.get_mut("rules").and_then(Value::as_array_mut) {
            rules.retain(|rule| rule["id"] != id);
        }
    }

    fn rule_mut(&mut self, id: &str) -> Option<&mut Map<String, Value>> {
        let rules = self.value.get_mut("rules")?.as_array_mut()?;
        rules.iter_mut().find(|rule| rule["id"] == id)?.as_object_mut()
    }

    /// Changes what Cursor's front matter says of a rule; `null` removes it.
    pub fn set_field(&mut self, id: &str, key: &str, value: Value) {
        let Some(rule) = self.rule_mut(id) else { return };
        let cursor = rule.entry("cursor").or_insert_with(|| json!({}));
        if !cursor.is_object() {
            *cursor = json!({});
        }
        match (cursor.as_object_mut(), value) {
            (Some(cursor), Value::Null) => drop(cursor.shift_remove(key)),
            (Some(cursor), value) => drop(cursor.insert(key.to_owned(), value)),
            (None, _) => {}
        }
    }

    /// Keeps a rule from an agent.
    pub fn exclude(&mut self, id: &str, agent: &str) {
        let Some(rule) = self.rule_mut(id) else { return };
        let mut excluded = strings(rule.get("exclude").unwrap_or(&Value::Null));
        if !excluded.iter().any(|known| known == agent) {
            excluded.push(agent.to_owned());
        }
        rule.insert("exclude".into(), json!(excluded));
    }

    /// Sets a value in a group of settings, such as `paths` of `agents_md`.
    pub fn set(&mut self, group: &str, key: &str, value: Value) {
        let there = self.value.entry(group).or_insert_with(|| json!({}));
        if !there.is_object() {
            *there = json!({});
        }
        there[key] = value;
    }

    /// Adds the agents from whose files rules were taken.
    pub fn add_imported_from(&mut self, agents: &[String]) {
        let mut all = self.strings(&["imported_from"]);
        for agent in agents {
            if !all.contains(agent) {
                all.push(agent.clone());
            }
        }
        self.value.insert("imported_from".into(), json!(all));
    }

    /// Chooses which agents get what. Those that got it before keep their settings.
    pub fn set_targets(&mut self, key: &str, names: &[String]) {
        let before = self.at(&["active_targets", key]).as_array().cloned().unwrap_or_default();
        let entry = |name: &String| {
            let known = before.iter().find(|entry| *entry == name || entry["name"] == **name);
            match known {
                Some(known) => known.clone(),
                None if key == "skills" => {
                    json!({ "name": name, "sync_mode": "symlink", "conflict_strategy": "archive" })
                }
                None => json!(name),
            }
        };
        let mut seen = std::collections::HashSet::new();
        let entries: Vec<Value> = names.iter().filter(|name| seen.insert(*name)).map(entry).collect();
        self.set("active_targets", key, json!(entries));
    }
}

/// Reads one entry of the agents that get skills.
fn skill_target(entry: &Value) -> Result<SkillTarget> {
    let (name, settings) = match entry {
        Value::String(name) => (name.clone(), &Value::Null),
        Value::Object(_) => match entry["name"].as_str() {
            Some(name) => (name.to_owned(), entry),
            None => return Err(Error::other(format!("skill target missing 'name': {entry}"))),
        },
        _ => return Err(Error::other(format!("invalid skill target entry: {entry}"))),
    };
    let word = |key: &str, default: &str| match &settings[key] {
        Value::Null => default.to_owned(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    let mode = match word("sync_mode", "symlink").as_str() {
        "symlink" => SyncMode::Symlink,
        "copy" => SyncMode::Copy,
        other => {
            return Err(Error::other(format!("invalid sync_mode '{other}' for target '{name}'. Valid: symlink, copy")));
        }
    };
    let conflict = match word("conflict_strategy", "overwrite").as_str() {
        "overwrite" => Conflict::Overwrite,
        "archive" => Conflict::Archive,
        other => {
            let valid = "Valid: overwrite, archive";
            return Err(Error::other(format!("invalid conflict_strategy '{other}' for target '{name}'. {valid}")));
        }
    };
    Ok(SkillTarget { name, mode, conflict })
}

/// Fails if a word cannot name a rule or a skill.
pub fn check_id(what: &str, word: &str) -> Result<()> {
    if is_id(word) {
        return Ok(());
    }
    let shown = crate::outside::line(word);
    Err(Error::other(format!(
        "invalid {what} name '{shown}': it is letters, digits, '.', '_' and '-', at most 100, and begins with a letter or a digit"
    )))
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| numbers::text(item).map(str::to_owned)).collect()
}

/// Returns a day in UTC.
pub fn day(now: Time) -> String {
    now.to_rfc3339().chars().take(10).collect()
}
