//! What a command tells: the same values for people, for programs and for agents.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Place;
use crate::compare::LineDiff;

/// Something that was changed, or would be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The absolute path.
    pub path: PathBuf,
    /// The action: `create`, `update`, `remove`, `restore`, `link`, `copy`, `move`.
    pub action: &'static str,
    /// The bytes of a file before.
    pub before: Option<Vec<u8>>,
    /// The bytes of a file after.
    pub after: Option<Vec<u8>>,
}

/// Something generated that somebody has changed since.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Drift {
    /// The absolute path.
    pub path: PathBuf,
    /// The problem.
    pub what: &'static str,
}

/// Something that is in the way and stays as it is. All other files are written or taken back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Left {
    /// The absolute path.
    pub path: PathBuf,
    /// The reason, with the path in it.
    pub why: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

/// The outcome of a command.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// What is in the way.
    pub left: Vec<Left>,
    /// What was left alone since somebody has changed it. Then nothing was done.
    pub drift: Vec<Drift>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// How many agents have instructions, rules and skills.
    pub counts: [usize; 3],
    /// The backup that was made.
    pub backup: Option<String>,
    /// Whether nothing was written.
    pub is_dry_run: bool,
}

impl Report {
    /// Returns the line that ends what `sync` prints.
    pub fn summary(&self) -> String {
        let [instructions, rules, skills] = self.counts;
        let dry_run = if self.is_dry_run { " (dry-run)" } else { "" };
        let count = |number: usize, kind: &str| format!("{number} {kind} target{}", if number == 1 { "" } else { "s" });
        let counts = [count(instructions, "instruction"), count(rules, "rule"), count(skills, "skill")];
        format!("  {} synced.{dry_run}", counts.join(", "))
    }

    /// Returns the line that says that there is nothing to clean, as far as anything is known.
    pub fn nothing_to_clean(&self) -> &'static str {
        match self.warnings.is_empty() && self.left.is_empty() {
            true => "Nothing to clean -- no generated files or managed skills found.",
            false => "Nothing to clean -- nothing else is known to be generated.",
        }
    }

    /// Returns a line for each change.
    pub fn lines(&self, place: &Place) -> Vec<String> {
        let change = |change: &Change| format!("  {:<8}{}", change.action, place.shown(&change.path));
        self.changes.iter().map(change).collect()
    }

    /// Returns the report for programs.
    pub fn to_json(&self) -> Value {
        let [instructions, rules, skills] = self.counts;
        let change = |change: &Change| json!({ "path": change.path, "action": change.action });
        let drift = |drift: &Drift| json!({ "path": drift.path, "what": drift.what });
        let left = |left: &Left| json!({ "path": left.path, "why": left.why });
        json!({
            "changed": self.changes.iter().map(change).collect::<Vec<_>>(),
            "drift": self.drift.iter().map(drift).collect::<Vec<_>>(),
            "left": self.left.iter().map(left).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(|warning| warning.trim()).collect::<Vec<_>>(),
            "counts": { "instructions": instructions, "rules": rules, "skills": skills },
            "backup_id": self.backup,
            "dry_run": self.is_dry_run,
        })
    }

    /// Returns what the changes of texts are, as `diff -u` prints it, with three lines of context.
    pub fn diff(&self, place: &Place) -> String {
        let mut text = String::new();
        for change in &self.changes {
            if change.before.is_none() && change.after.is_none() {
                text += &format!("# {} {}\n", change.action, place.shown(&change.path));
                continue;
            }
            let words =
                |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            let (before, after) = (words(&change.before), words(&change.after));
            let shown = place.shown(&change.path);
            let name = |bytes: &Option<Vec<u8>>| if bytes.is_some() { shown.as_str() } else { "/dev/null" };
            text += &LineDiff::of(&before, &after, None).unified(name(&change.before), name(&change.after));
        }
        text
    }
}

/// The answer of `status`.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The value as programs get it.
    pub value: Value,
}

impl Overview {
    /// Returns the overview for people.
    pub fn lines(&self) -> Vec<String> {
        let value = &self.value;
        let list = |key: &Value| -> Vec<String> {
            key.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let or_none = |items: Vec<String>| if items.is_empty() { "(none)".to_owned() } else { items.join(", ") };
        let mut lines = Vec::new();
        let rules = value["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
        lines.push(format!("Rules ({})", rules.len()));
        for rule in rules {
            let word = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
            let always = if rule["alwaysApply"] == true { " [always]" } else { "" };
            let description = match word("description") {
                empty if empty.is_empty() => String::new(),
                description => format!(" -- {description}"),
            };
            lines.push(format!("  {} (from {}){always}{description}", word("id"), word("imported_from")));
        }
        lines.push("Active Targets".to_owned());
        let targets = &value["active_targets"];
        lines.push(format!("  instructions: {}", or_none(list(&targets["instructions"]))));
        lines.push(format!("  rules: {}", or_none(list(&targets["rules"]))));
        let skill = |target: &Value| {
            let word = |key: &str| target[key].as_str().unwrap_or_default().to_owned();
            format!("{} ({}, {})", word("name"), word("sync_mode"), word("conflict_strategy"))
        };
        let skills = targets["skills"].as_array().into_iter().flatten().map(skill).collect();
        lines.push(format!("  skills: {}", or_none(skills)));
        let mut section = |title: &str, items: Vec<String>, is_counted: bool| {
            lines.push(if is_counted { format!("{title} ({})", items.len()) } else { title.to_owned() });
            if items.is_empty() {
                lines.push("  (none)".to_owned());
            }
            lines.extend(items.into_iter().map(|item| format!("  {item}")));
        };
        section("Skills", list(&value["skills"]), true);
        let archived = list(&value["archived_skills"]);
        if !archived.is_empty() {
            section("Archived Skills", archived, true);
        }
        section("AGENTS.md Paths", list(&value["agents_md_paths"]), false);
        section("CLAUDE.md Paths", list(&value["claude_md_paths"]), false);
        section("Last Synced", vec![value["last_synced"].as_str().unwrap_or("never").to_owned()], false);
        lines
    }
}
