//! The tools for rules: each is a command of `git shiftlog rules` that asks nothing.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::{Answer, Context, Refusal, Server};
use crate::error::Error;
use crate::git::date::Time;
use crate::git::{Repository, locate};
use crate::outside;
use crate::rules::{
    FOLDERS, NewRule, Options, Place, Report, Scope, Targets, Work, check_paths, has_store, is_pattern,
    words as words_of,
};

/// The longest text of a rule that a call may bring.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// The most changes that an answer lists.
const MAX_CHANGES: usize = 200;
/// The most rules and skills that an answer lists.
const MAX_LISTED: usize = 1000;
/// The longest description that is returned whole.
const MAX_DESCRIPTION_BYTES: usize = 400;

impl Server {
    /// Returns the place of the store: that of the home, else that of the repository.
    fn rules_place(&self) -> Result<Place, Refusal> {
        let home = std::env::var_os("HOME").map(PathBuf::from).ok_or("HOME is not set")?;
        let of_home = Place::of_home(&home).map_err(|error| error.to_string())?;
        if has_store(&of_home) {
            return Ok(of_home);
        }
        let here = self.directory.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        let of_repository = locate(&here).and_then(|location| {
            let top = location.worktree?.canonicalize().ok()?;
            let mut place = Place::of_repository(&top, &location.git_dir, &home).ok()?;
            let repo = Repository::open(&here).ok()?;
            place.shares_home = repo.config_bool("shiftlog.rulesIncludeHome") == Some(true);
            Some(place)
        });
        Ok(of_repository.filter(has_store).unwrap_or(of_home))
    }

    /// Says whether there are rules to serve.
    pub(super) fn has_rules(&self) -> bool {
        self.rules_place().is_ok_and(|place| has_store(&place))
    }
}

fn work(context: &Context<'_>, arguments: &Arguments) -> Result<Work, Refusal> {
    let mut options = Options::at(Time::now());
    options.is_dry_run = arguments.get("dry_run").and_then(Value::as_bool).unwrap_or(false);
    options.only = arguments.get("only").and_then(Value::as_str).map(str::to_owned);
    context.go_on().map_err(|error| error.to_string())?;
    Work::new(context.server.rules_place()?, options).map_err(refusal)
}

fn refusal(error: Error) -> Refusal {
    let hints: String = error.hints().iter().map(|hint| format!("; {hint}")).collect();
    outside::line(&format!("{error}{hints}"))
}

fn word<'a>(arguments: &'a Arguments, key: &str) -> &'a str {
    arguments.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn words(arguments: &Arguments, key: &str) -> Option<Vec<String>> {
    let items = arguments.get(key)?.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

fn plain(value: Value) -> Answer {
    Answer { text: value.clone(), structured: value }
}

/// Returns a report as the tools answer.
fn answer(work: &Work, report: Report, said: &str) -> Result<Answer, Refusal> {
    if !report.drift.is_empty() {
        let paths: Vec<String> = report.drift.iter().map(|drift| work.place.shown(&drift.path)).take(20).collect();
        return Err(format!(
            "generated files were changed since they were written: {}; nothing was written. The user decides: 'git shiftlog \
             rules sync --adopt' takes the changes into the rules, '--force' replaces them",
            outside::line(&paths.join(", "))
        ));
    }
    if !report.left.is_empty() {
        let left: Vec<String> = report.left.iter().map(|left| left.why.clone()).take(20).collect();
        let rest = if report.is_dry_run { "all else would be done" } else { "all else is done" };
        return Err(outside::line(&format!("{}; {rest}: {}", left.join("; "), said.trim())));
    }
    let mut value = report.to_json();
    let mut lines: Vec<String> = report.warnings.iter().take(MAX_CHANGES).cloned().collect();
    lines.push(said.to_owned());
    let mut members = Map::new();
    members.insert("success".into(), json!(true));
    members.insert("output".into(), json!(outside::text(&lines.join("\n"))));
    let changed = value["changed"].as_array_mut().map(std::mem::take).unwrap_or_default();
    if changed.len() > MAX_CHANGES {
        members.insert("changed_count".into(), json!(changed.len()));
    }
    members.insert("changed".into(), changed.into_iter().take(MAX_CHANGES).collect());
    for key in ["counts", "backup_id", "dry_run"] {
        members.insert(key.into(), value[key].take());
    }
    Ok(plain(Value::Object(members)))
}

fn synced(work: &Work, report: Result<Report, Error>) -> Result<Answer, Refusal> {
    let report = report.map_err(refusal)?;
    let said = report.summary();
    answer(work, report, &said)
}

/// `sync_status`.
pub fn status(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let mut value = work(context, arguments)?.overview().map_err(refusal)?.value;
    let mut counts = Map::new();
    for key in ["rules", "skills", "archived_skills"] {
        let Some(list) = value[key].as_array_mut().filter(|list| list.len() > MAX_LISTED) else { continue };
        counts.insert(format!("{key}_count"), json!(list.len()));
        list.truncate(MAX_LISTED);
    }
    for rule in value["rules"].as_array_mut().into_iter().flatten() {
        let description = rule["description"].as_str().unwrap_or_default();
        if description.len() > MAX_DESCRIPTION_BYTES {
            let cut: String = description.chars().take(MAX_DESCRIPTION_BYTES / 2).collect();
            rule["description"] = json!(cut + "...");
        }
    }
    if let Some(members) = value.as_object_mut() {
        members.extend(counts);
    }
    Ok(plain(value))
}

/// `sync_list_archived`.
pub fn list_archived(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    Ok(plain(json!({ "archived_skills": work(context, arguments)?.archived().map_err(refusal)? })))
}

/// `sync_rules`.
pub fn sync(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    synced(&work, work.sync())
}

/// `sync_set_config`.
pub fn set_config(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    let (key, value) = (word(arguments, "key"), word(arguments, "value"));
    if key.ends_with(".paths") {
        let known = work.overview().map_err(refusal)?.value;
        let paths = words_of(value);
        check_paths(&paths).map_err(refusal)?;
        for path in paths {
            if !may_set(context, &work, &known, &path) {
                let path = outside::line(&path);
                return Err(format!(
                    "'{path}' is no AGENTS.md, CLAUDE.md or folder in the folders of agents or in the repository; the user can \
                     set it with 'git shiftlog rules set'"
                ));
            }
        }
    }
    let report = work.set(key, value).map_err(refusal)?;
    answer(&work, report, &format!("{key} is set; sync_rules uses it"))
}

/// Says whether an agent may have a path set: one that the user has set, or a place for agents that no link leads to.
/// `known` has the settings.
fn may_set(context: &Context<'_>, work: &Work, known: &Value, path: &str) -> bool {
    let place = &work.place;
    let absolute = place.absolute(path);
    let mut set = ["agents_md_paths", "claude_md_paths"].iter().filter_map(|key| known[key].as_array()).flatten();
    if set.any(|known| known.as_str().is_some_and(|known| known == path || place.absolute(known) == absolute)) {
        return true;
    }
    // A later sync would write to what the pattern fits then.
    if is_pattern(path) {
        return false;
    }
    let here = context.server.directory.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let repository = locate(&here).and_then(|location| location.worktree?.canonicalize().ok());
    // A home that is a repository is a home.
    let is_home = |top: &PathBuf| place.home.canonicalize().is_ok_and(|home| home.starts_with(top));
    let folders = FOLDERS.iter().filter(|_| place.scope == Scope::Home).map(|folder| place.base.join(folder));
    let mut tops = folders.map(|top| (place.base.clone(), top));
    let repository = repository.filter(|top| !is_home(top)).map(|top| (top.clone(), top));
    let is_in = |(base, top): (PathBuf, PathBuf)| {
        let Ok(below) = absolute.strip_prefix(&base) else { return false };
        let is_link = |above: &Path| base.join(above).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let is_gits = |part: &std::ffi::OsStr| part.eq_ignore_ascii_case(".git");
        absolute.starts_with(top)
            && !below.iter().any(is_gits)
            && !below.ancestors().any(|above| above != Path::new("") && is_link(above))
    };
    let is_for_agents = absolute.file_name().is_some_and(|name| name == "AGENTS.md" || name == "CLAUDE.md");
    (is_for_agents || absolute.is_dir()) && (repository.is_some_and(is_in) || tops.any(is_in))
}

/// `sync_reconfigure`.
pub fn reconfigure(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    let targets = Targets {
        instructions: words(arguments, "instruction_targets"),
        rules: words(arguments, "rule_targets"),
        skills: words(arguments, "skill_targets"),
    };
    synced(&work, work.reconfigure(&targets))
}

/// `sync_add_rule`.
pub fn add_rule(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    let content = word(arguments, "content");
    if content.len() > MAX_TEXT_BYTES {
        return Err(format!("content is too long (at most {MAX_TEXT_BYTES} bytes)"));
    }
    let new = NewRule {
        id: word(arguments, "id").to_owned(),
        description: word(arguments, "description").to_owned(),
        text: (!content.is_empty()).then(|| content.to_owned()),
        is_always_applied: arguments.get("always_apply").and_then(Value::as_bool).unwrap_or(true),
        exclude: words_of(word(arguments, "exclude")),
    };
    synced(&work, work.add_rule(&new))
}

/// `sync_remove_rule`.
pub fn remove_rule(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    synced(&work, work.remove_rule(word(arguments, "id")))
}

/// `sync_archive_skill`.
pub fn archive_skill(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    synced(&work, work.archive_skills(&words(arguments, "names").unwrap_or_default()))
}

/// `sync_restore_skill`.
pub fn restore_skill(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    synced(&work, work.restore_skills(&words(arguments, "names").unwrap_or_default()))
}

/// `sync_clean`.
pub fn clean(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let work = work(context, arguments)?;
    let report = work.clean().map_err(refusal)?;
    let said = match report.changes.is_empty() {
        true => report.nothing_to_clean().to_owned(),
        false => report.lines(&work.place).into_iter().take(MAX_CHANGES).collect::<Vec<_>>().join("\n"),
    };
    answer(&work, report, &said)
}
