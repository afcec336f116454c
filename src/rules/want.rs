//! The files, links and copies that the agents should have, from a store.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Scope;
use super::generate::{self, Passage, Written};
use super::glob::{self, Budget};
use super::manifest::{Conflict, SyncMode, Target};
use super::places::{self, Form, Rules};
use super::registry::{Owned, Registry};
use super::store::{Skill, Store};
use crate::error::Result;
use crate::git::date::Time;
use crate::managed::disk::{self, Node};
use crate::managed::file::digest;

/// Something that an agent should have.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub path: PathBuf,
    /// The agent, or `agents-md` and `claude-md` for files at configured paths.
    pub target: &'static str,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A generated text.
    Text {
        pieces: Vec<Passage>,
        /// Whether only a block of the file is to be ours; `None` if that depends on the file.
        is_block: Option<bool>,
    },
    /// A link to a skill.
    Link { target: PathBuf, conflict: Conflict },
    /// A copy of a skill, which is at `now` and will be at `source`.
    Copy { now: PathBuf, source: PathBuf, conflict: Conflict },
}

/// Everything that the agents should have.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    pub wanted: Vec<Wanted>,
    pub warnings: Vec<String>,
    /// How many agents get instructions, rules and skills.
    pub counts: [usize; 3],
}

/// Says whether something for `target` is wanted when only one agent is.
pub fn is_chosen(only: Option<&str>, target: &str) -> bool {
    match only {
        None => true,
        Some(only) => only == target || target == "agents-md" && matches!(only, "cursor" | "codex"),
    }
}

/// Returns the agent's name as a constant.
fn known(name: &str) -> Option<&'static str> {
    ["cursor", "codex", "claude", "gemini", "kiro", "antigravity"].into_iter().find(|known| *known == name)
}

/// Returns what the agents should have.
///
/// # Errors
///
/// If the store cannot be read.
pub fn wishes(store: &Store, only: Option<&str>, now: Time) -> Result<Wishes> {
    let (place, manifest) = (&store.place, &store.manifest);
    let (is_current, is_repository) = (manifest.is_current(), place.scope == Scope::Repository);
    let rules = store.rules()?;
    let head = generate::head(now, place.scope);
    let for_agent = |agent: &str| -> Vec<&Written> {
        rules.iter().filter(|written| !written.rule.exclude.iter().any(|excluded| excluded == agent)).collect()
    };
    let (mut wishes, mut budget) = (Wishes::default(), Budget::new());
    if is_repository && manifest.includes_home() && !place.shares_home {
        let how = "'git config shiftlog.rulesIncludeHome true' lets them into files that are committed";
        wishes.warnings.push(format!("    Warning: the rules of the home are left out; {how}"));
    }
    let mut seen = HashSet::new();
    let mut want = |wishes: &mut Wishes, wanted: Wanted| {
        if is_chosen(only, wanted.target) && seen.insert(wanted.path.clone()) {
            wishes.wanted.push(wanted);
        }
    };
    let text = |pieces, is_block| What::Text { pieces, is_block };
    let (instructions, rule_targets) = manifest.targets();
    let chosen = |targets: &[Target]| targets.iter().filter(|target| is_chosen(only, &target.name)).count();
    let skill_targets = manifest.skill_targets()?;
    let skill_count = skill_targets.iter().filter(|target| is_chosen(only, &target.name)).count();
    wishes.counts = [chosen(&instructions), chosen(&rule_targets), skill_count];

    let listing = instructions.iter().find(|target| matches!(target.name.as_str(), "cursor" | "codex"));
    if let Some(target) = listing {
        let (paths, warnings) = configured(store, &manifest.agents_md_paths(), "AGENTS.md", &mut budget)?;
        wishes.warnings.extend(warnings);
        let of = for_agent("agents-md");
        let (header, preamble) = (manifest.agents_md_header(), manifest.agents_md_preamble());
        // Where rules are committed, agents that read nothing else than AGENTS.md get them whole.
        let pieces = match is_repository {
            false => generate::listed(&head, header, preamble, &of),
            true => generate::headed(&head, Some(header), &of),
        };
        for path in paths {
            want(&mut wishes, Wanted { path, target: "agents-md", what: text(pieces.clone(), target.is_block) });
        }
    }
    for target in &instructions {
        let Some(agent) = known(&target.name) else { continue };
        let Some(file) = places::instructions(agent, is_repository) else { continue };
        if agent == "claude" && is_current && !is_repository {
            each(
                &mut wishes,
                &mut want,
                store,
                &head,
                &for_agent(agent),
                ("claude", places::CLAUDE_RULES, Form::Claude),
            );
            continue;
        }
        let pieces = generate::joined(&head, &for_agent(agent));
        want(&mut wishes, Wanted { path: place.base.join(file), target: agent, what: text(pieces, target.is_block) });
    }
    if only.is_none() {
        let (paths, warnings) = configured(store, &manifest.claude_md_paths(), "CLAUDE.md", &mut budget)?;
        wishes.warnings.extend(warnings);
        let pieces = generate::joined(&head, &for_agent("claude"));
        for path in paths {
            want(&mut wishes, Wanted { path, target: "claude-md", what: text(pieces.clone(), None) });
        }
    }
    for target in &rule_targets {
        let Some(agent) = known(&target.name) else { continue };
        let of = for_agent(agent);
        let one = |file: &str, pieces| Wanted {
            path: place.base.join(file),
            target: agent,
            what: text(pieces, target.is_block),
        };
        match places::rules(agent, is_current, is_repository) {
            Some(Rules::Joined(file)) => want(&mut wishes, one(file, generate::joined(&head, &of))),
            Some(Rules::Headed(file)) => want(&mut wishes, one(file, generate::headed(&head, None, &of))),
            Some(Rules::Each(directory, form)) => {
                each(&mut wishes, &mut want, store, &head, &of, (agent, directory, form));
            }
            None => {}
        }
    }
    if !skill_targets.is_empty() {
        wishes.warnings.extend(store.misnamed.iter().map(|name| {
            let name = crate::outside::line(name);
            format!("    Warning: skill '{name}' is left out: a name is letters, digits, '.', '_' and '-', and begins with a letter or a digit")
        }));
    }
    for target in &skill_targets {
        let Some(agent) = known(&target.name) else { continue };
        let Some(directory) = places::skills(agent, is_current, is_repository) else { continue };
        for Skill { name, now } in &store.skills {
            let source = store.skills_directory().join(name);
            let conflict = target.conflict;
            let what = match (target.mode, is_repository) {
                (SyncMode::Symlink, false) => What::Link { target: source, conflict },
                // A link to an absolute path is of no use in somebody else's clone.
                _ => What::Copy { now: now.clone(), source, conflict },
            };
            want(&mut wishes, Wanted { path: place.base.join(directory).join(name), target: agent, what });
        }
    }
    Ok(wishes)
}

/// Wants that a file of Claude Code's whose text is in the store does not say it again beside the rules made of it.
pub fn without_repetition(store: &Store, registry: &Registry, wishes: &mut Wishes, now: Time) {
    let has_rules = |wanted: &Wanted| wanted.target == "claude" && matches!(wanted.what, What::Text { .. });
    if store.place.scope == Scope::Repository || !store.manifest.is_current() || !wishes.wanted.iter().any(has_rules) {
        return;
    }
    let Some(path) = places::instructions("claude", false).map(|file| store.place.base.join(file)) else { return };
    let is_ours = registry.get(&path).is_some_and(|entry| entry.owned == Owned::Whole);
    let is_imported = match disk::observe(&path) {
        Ok(Node::File { bytes, .. }) => registry.imported.get(&path).is_some_and(|known| *known == digest(&bytes)),
        _ => false,
    };
    if (is_ours || is_imported) && !wishes.wanted.iter().any(|wanted| wanted.path == path) {
        let pieces = generate::joined(&generate::head(now, store.place.scope), &[]);
        let what = What::Text { pieces, is_block: Some(false) };
        wishes.wanted.push(Wanted { path, target: "claude", what });
    }
}

/// Wants a file for each rule.
fn each(
    wishes: &mut Wishes,
    want: &mut impl FnMut(&mut Wishes, Wanted),
    store: &Store,
    head: &str,
    rules: &[&Written],
    (agent, directory, form): (&'static str, &str, Form),
) {
    for written in rules {
        let pieces = match form {
            Form::Cursor => generate::cursor(head, written),
            Form::Kiro => generate::below(&kiro_front(&written.rule.cursor), head, written),
            Form::Claude => generate::below(&claude_front(&written.rule.cursor), head, written),
        };
        let path = store.place.base.join(directory).join(format!("{}{}", written.rule.id, form.suffix()));
        let what = What::Text { pieces, is_block: Some(false) };
        want(wishes, Wanted { path, target: agent, what });
    }
}

/// Returns the globs of a rule, one by one.
fn globs(cursor: &Value) -> Vec<String> {
    let text = match &cursor["globs"] {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        _ => String::new(),
    };
    text.split(',').map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}

/// Returns front matter with which Kiro includes a rule: always, or where a file fits.
fn kiro_front(cursor: &Value) -> String {
    let globs = globs(cursor);
    match cursor["alwaysApply"] == Value::Bool(false) && !globs.is_empty() {
        true => format!("---\ninclusion: fileMatch\nfileMatchPattern: {}\n---\n\n", Value::from(globs)),
        false => "---\ninclusion: always\n---\n\n".to_owned(),
    }
}

/// Returns front matter with which Claude Code reads a rule: for all files, or for those that fit.
fn claude_front(cursor: &Value) -> String {
    let globs = globs(cursor);
    if cursor["alwaysApply"] != Value::Bool(false) || globs.is_empty() {
        return String::new();
    }
    // A list is not read by each of its versions, a string is.
    format!("---\npaths: {}\n---\n\n", Value::from(globs.join(", ")))
}

/// Returns the files that the settings of a store name, each with what is written there, and a warning if patterns were not
/// looked at whole. Paths that are refused have nothing of ours; a sync says why.
pub fn named(store: &Store) -> (Vec<(&'static str, PathBuf)>, Option<String>) {
    let mut budget = Budget::new();
    let paths = [
        ("agents-md", store.manifest.agents_md_paths(), "AGENTS.md"),
        ("claude-md", store.manifest.claude_md_paths(), "CLAUDE.md"),
    ];
    let mut named = Vec::new();
    for (target, paths, file) in paths {
        let (listed, _) = configured(store, &paths, file, &mut budget).unwrap_or_default();
        named.extend(listed.into_iter().map(|path| (target, path)));
    }
    let warning = |why| format!("    Warning: the globs of the settings {why}, and what they name was not looked for");
    (named, budget.shortage.map(warning))
}

/// Returns the files that configured paths name, and what is to be said of them.
///
/// # Errors
///
/// If a path leads out of the repository whose store this is, or a pattern looks at too much.
fn configured(
    store: &Store,
    configured: &[String],
    file: &str,
    budget: &mut Budget,
) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut paths, mut warnings) = (Vec::new(), Vec::new());
    let default = [file.to_owned()];
    let is_default = configured.is_empty() && store.place.scope == Scope::Repository && file == "AGENTS.md";
    for path in if is_default { &default } else { configured } {
        let absolute = store.place.allowed(path)?;
        let mut expanded = match glob::is_pattern(path) {
            true => {
                let start = [&store.place.base, &store.place.home].into_iter().find(|base| absolute.starts_with(base));
                glob::expand(start.map_or(Path::new("/"), |start| start), &absolute, budget)?
            }
            false => vec![absolute],
        };
        if expanded.is_empty() {
            warnings.push(format!("    Warning: glob '{path}' matched no files"));
        } else if glob::is_pattern(path) {
            // Nobody means a picture or a program by '~/ws/*'.
            let found = expanded.len();
            expanded.retain(|path| path.is_dir() || path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")));
            if let Some(left @ 1..) = found.checked_sub(expanded.len()) {
                warnings.push(format!("    Warning: glob '{path}' also matched files that are no Markdown ({left})"));
            }
        }
        let expanded = expanded.into_iter().map(|path| in_folder(&path, file));
        let (allowed, refused): (Vec<_>, Vec<_>) = expanded.partition(|path| store.place.allows(path));
        if !refused.is_empty() {
            let count = refused.len();
            warnings.push(format!("    Warning: glob '{path}' also matched places where nothing is written ({count})"));
        }
        paths.extend(allowed);
    }
    Ok((paths, warnings))
}

fn in_folder(path: &Path, file: &str) -> PathBuf {
    if path.is_dir() { path.join(file) } else { path.to_owned() }
}
