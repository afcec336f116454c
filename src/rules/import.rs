//! Taking what agents have of their own into a store: rules from their files, and skills.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use serde_json::{Map, Value, json};

use super::generate;
use super::places::{self, Form, Rules};
use super::store::Store;
use super::tree::is_marked;
use super::{Place, Scope, block, folders, is_id};
use crate::compare::{likeness, lines};
use crate::error::Result;
use crate::managed::disk::{self, Node};
use crate::managed::file::digest;

/// How much alike two texts are that count as one.
const ALIKE: f64 = 0.8;
/// The longest text that is compared letter by letter.
const MAX_COMPARED: usize = 4000;
/// The agents in the order in which their files are read.
const ORDER: &[&str] = &["cursor", "codex", "claude", "gemini", "kiro"];
/// The agents whose skills are taken.
const SKILLS_OF: &[&str] = &["cursor", "codex", "gemini"];

/// A rule in an agent's file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundRule {
    /// The name it would have.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The agent.
    pub agent: &'static str,
    /// The agent's file.
    file: PathBuf,
    /// The values of Cursor's front matter.
    cursor: Value,
}

/// How to resolve two different rules of one name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// The first stays.
    First,
    /// The second takes its place.
    Second,
    /// Both stay; the second is named after its agent.
    Both,
}

/// The rules and skills that were found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    pub rules: Vec<FoundRule>,
    /// The files that were read, with the digests of the user's text.
    pub files: Vec<(PathBuf, String)>,
    /// The skills: name and directory.
    pub skills: Vec<(String, PathBuf)>,
    pub warnings: Vec<String>,
}

/// Reads the agents' own files of a place. What is generated is left out, and what cannot be read is told.
pub fn survey(place: &Place, is_current: bool) -> Survey {
    let is_repository = place.scope == Scope::Repository;
    let mut survey = Survey::default();
    for agent in ORDER {
        if let Some(file) = places::instructions(agent, is_repository) {
            file_of(&mut survey, place, agent, &place.base.join(file));
        }
        match places::rules(agent, is_current, is_repository) {
            Some(Rules::Joined(file) | Rules::Headed(file)) => {
                file_of(&mut survey, place, agent, &place.base.join(file))
            }
            Some(Rules::Each(directory, form)) => {
                folder_of(&mut survey, place, agent, &place.base.join(directory), form)
            }
            None if *agent == "claude" && is_current && !is_repository => {
                folder_of(&mut survey, place, agent, &place.base.join(places::CLAUDE_RULES), Form::Claude);
            }
            None => {}
        }
    }
    for agent in SKILLS_OF {
        let Some(directory) = places::skills(agent, is_current, is_repository) else { continue };
        let directory = place.base.join(directory);
        if !is_inside(&mut survey, place, &directory) {
            continue;
        }
        for name in folders(&directory) {
            let path = directory.join(&name);
            let is_ours = is_marked(&path) || !disk::is_directory(&path);
            if !is_ours && path.join("SKILL.md").is_file() && !survey.skills.iter().any(|(known, _)| *known == name) {
                survey.skills.push((name, path));
            }
        }
    }
    if !is_repository {
        left_out(&mut survey, place, is_current);
    }
    survey
}

/// Says what Codex has at the places of the other profile, which are not read.
fn left_out(survey: &mut Survey, place: &Place, is_current: bool) {
    let profile = if is_current { "current" } else { "ai-sync" };
    let mut found = Vec::new();
    if let Some(Rules::Headed(file)) = places::rules("codex", !is_current, false) {
        let is_users = |bytes: &[u8]| !generate::is_generated(bytes) && !block::is_in(bytes);
        let path = place.base.join(file);
        if matches!(disk::observe(&path), Ok(Node::File { bytes, .. }) if is_users(&bytes) && !bytes.trim().is_empty())
        {
            found.push(path);
        }
    }
    if let Some(directory) = places::skills("codex", !is_current, false) {
        let skills = folders(&place.base.join(directory)).into_iter().map(|name| place.base.join(directory).join(name));
        found.extend(skills.filter(|path| disk::is_directory(path) && !is_marked(path)));
    }
    survey.warnings.extend(found.into_iter().map(|path| {
        let shown = place.shown(&path);
        format!("'{shown}' is left out: the profile '{profile}' has another place for it")
    }));
}

/// Says whether a path may be read: in a repository, which others have made, links can lead to private files.
fn is_inside(survey: &mut Survey, place: &Place, path: &Path) -> bool {
    let is_inside = match (place.scope, path.canonicalize(), place.base.canonicalize()) {
        (Scope::Repository, Ok(resolved), Ok(base)) => resolved.starts_with(base),
        _ => true,
    };
    if !is_inside {
        let shown = place.shown(path);
        survey.warnings.push(format!("'{shown}' leads out of the working tree by a symbolic link, and is left out"));
    }
    is_inside
}

/// Returns the user's text of a file; `None` if there is none.
fn users_text(survey: &mut Survey, place: &Place, path: &Path) -> Option<String> {
    if !is_inside(survey, place, path) {
        return None;
    }
    let bytes = match disk::observe(path) {
        Ok(Node::File { bytes, .. }) => bytes,
        Ok(_) => return None,
        Err(error) => {
            survey.warnings.push(error.to_string());
            return None;
        }
    };
    if block::open(&bytes).is_some() {
        let shown = place.shown(path);
        survey.warnings.push(format!("'{shown}' has a block of ours without its last line, and is left out"));
        return None;
    }
    let users = block::without(&bytes);
    if generate::is_generated(&users) || users.trim().is_empty() {
        return None;
    }
    survey.files.push((path.to_owned(), digest(&users)));
    match String::from_utf8(users) {
        Ok(text) => Some(text.trim_start_matches('\u{feff}').replace("\r\n", "\n")),
        Err(_) => {
            survey.files.pop();
            survey.warnings.push(format!("'{}' is not UTF-8, and left out", place.shown(path)));
            None
        }
    }
}

fn file_of(survey: &mut Survey, place: &Place, agent: &'static str, path: &Path) {
    let Some(text) = users_text(survey, place, path) else { return };
    for (id, text) in sections(&text, agent) {
        survey.rules.push(FoundRule { id, text, agent, file: path.to_owned(), cursor: Value::Null });
    }
}

fn folder_of(survey: &mut Survey, place: &Place, agent: &'static str, directory: &Path, form: Form) {
    if !is_inside(survey, place, directory) {
        return;
    }
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names {
        let Some(stem) = name.strip_suffix(form.suffix()) else { continue };
        let file = directory.join(&name);
        let Some(text) = users_text(survey, place, &file) else { continue };
        let (cursor, text) = front(&text);
        let id = if is_id(stem) { stem.to_owned() } else { slug(stem, agent) };
        survey.rules.push(FoundRule { id, text, agent, file, cursor });
    }
}

/// Splits a text at its front matter, of which the keys are taken that a manifest has.
pub fn front(text: &str) -> (Value, String) {
    let whole = || (Value::Null, ended(text));
    let Some(rest) = text.strip_prefix("---\n") else { return whole() };
    let Some((front, body)) = rest.split_once("\n---\n").or_else(|| Some(("", rest.strip_prefix("---\n")?))) else {
        return whole();
    };
    let mut cursor = Map::new();
    for line in front.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let unquoted = || {
            let inner = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
            let read = || serde_json::from_str::<String>(value).ok();
            inner.map(|inner| inner.replace("''", "'")).or_else(read).unwrap_or_else(|| value.to_owned())
        };
        match (key.trim(), value) {
            (_, "") => {}
            ("alwaysApply", "true" | "false") => drop(cursor.insert("alwaysApply".into(), json!(value == "true"))),
            (key @ ("description" | "globs"), _) => drop(cursor.insert(key.into(), json!(unquoted()))),
            // Claude Code's and Kiro's names for the same.
            ("paths" | "fileMatchPattern", _) => {
                let list = serde_json::from_str::<Vec<String>>(value).map(|list| list.join(", "));
                cursor.insert("globs".into(), json!(list.unwrap_or_else(|_| unquoted())));
                cursor.insert("alwaysApply".into(), json!(false));
            }
            ("inclusion", _) => drop(cursor.insert("alwaysApply".into(), json!(unquoted() == "always"))),
            _ => {}
        }
    }
    (Value::Object(cursor), ended(body.trim_start_matches('\n')))
}

/// Returns a text with one line end at its end.
fn ended(text: &str) -> String {
    text.trim_end().to_owned() + "\n"
}

/// Splits a text at its headings: those of the highest level that is there more than once, else of the highest. Headings in
/// fenced code do not count. What stands before the first becomes a rule of its own.
fn sections(text: &str, agent: &str) -> Vec<(String, String)> {
    let levels: Vec<(usize, &str)> = levels(text);
    let count = |level: usize| levels.iter().filter(|(other, _)| *other == level).count();
    let level = (1..=6).find(|level| count(*level) > 1).or_else(|| (1..=6).find(|level| count(*level) > 0));
    let mut sections: Vec<(String, String)> = vec![(format!("{agent}-preamble"), String::new())];
    for (found, line) in &levels {
        if Some(*found) == level {
            sections.push((slug(line.trim_start_matches('#'), agent), String::new()));
        }
        if let Some((_, text)) = sections.last_mut() {
            text.push_str(line);
        }
    }
    sections.retain(|(_, text)| !text.trim().is_empty());
    let mut used: HashSet<String> = HashSet::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (id, text) in &mut sections {
        let number = numbers.entry(id.clone()).or_insert(1);
        let wanted = id.clone();
        while !used.insert(id.clone()) {
            *number += 1;
            *id = format!("{wanted}-{number}");
        }
        *text = ended(text);
    }
    sections
}

/// Returns the lines of a text, each with the level of the heading that it is; 0 for none.
fn levels(text: &str) -> Vec<(usize, &str)> {
    let mut fence: Option<(char, usize)> = None;
    let level = |line: &str| {
        let inner = line.trim_start_matches(' ');
        if line.len() - inner.len() > 3 {
            return 0;
        }
        let mark = inner.chars().next().unwrap_or_default();
        let length = inner.chars().take_while(|letter| *letter == mark).count();
        match fence {
            Some((open, least)) => {
                let is_end = mark == open && length >= least && inner[length..].trim().is_empty();
                fence = if is_end { None } else { fence };
                0
            }
            None if matches!(mark, '`' | '~') && length >= 3 => {
                fence = Some((mark, length));
                0
            }
            None if mark == '#' && length <= 6 && inner[length..].starts_with([' ', '\t', '\n']) => length,
            None => 0,
        }
    };
    let mut level = level;
    text.split_inclusive('\n').map(|line| (level(line), line)).collect()
}

/// Returns a heading as a name.
fn slug(heading: &str, agent: &str) -> String {
    let mut slug = String::new();
    for letter in heading.trim().chars() {
        match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => slug.push(letter),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(90);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { format!("{agent}-rule") } else { slug.to_owned() }
}

/// Says whether two texts are so much alike that they count as one.
fn are_alike(one: &str, other: &str) -> bool {
    let ratio = match one.len().max(other.len()) > MAX_COMPARED {
        true => likeness(&lines(one), &lines(other)),
        false => likeness(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>()),
    };
    ratio > ALIKE
}

impl Store {
    /// Takes what was found into the store. `choose` is asked about two different rules of one name.
    pub(super) fn take_in(
        &mut self,
        survey: &Survey,
        choose: &mut dyn FnMut(&FoundRule, &str) -> Choice,
    ) -> Result<Vec<String>> {
        let mut told = Vec::new();
        let mut texts: HashMap<String, String> =
            self.rules()?.into_iter().map(|written| (written.rule.id, written.text.to_string())).collect();
        let (mut agents, mut left_out) = (Vec::new(), HashSet::new());
        for found in &survey.rules {
            let mut id = found.id.clone();
            // A file that no rule names is not this text's.
            let mut is_taken = !texts.contains_key(&id) && disk::is_there(&self.rule_path(&format!("{id}.md")));
            if let Some(there) = texts.get_mut(&id) {
                if are_alike(there, &found.text) {
                    told.push(format!("  duplicate: {id} ({}), skipped", found.agent));
                    continue;
                }
                match choose(found, there) {
                    Choice::First => {
                        told.push(format!("  {id}: the one of {} was left out", found.agent));
                        left_out.insert((&found.file, &found.id));
                        continue;
                    }
                    Choice::Second => {
                        there.clone_from(&found.text);
                        let rules = self.manifest.rules()?;
                        if let Some(rule) = rules.iter().find(|rule| rule.id == id) {
                            self.set_text(&rule.file, &found.text)?;
                        }
                        continue;
                    }
                    Choice::Both => is_taken = true,
                }
            }
            if is_taken {
                let wanted = format!("{}-{id}", found.agent);
                match self.free_id(&texts, &wanted, &found.text) {
                    Some(free) => id = free,
                    None => {
                        told.push(format!("  duplicate: {wanted}, skipped"));
                        continue;
                    }
                }
            }
            self.add(&id, found.agent, found.cursor.clone(), &[], &found.text)?;
            texts.insert(id.clone(), found.text.clone());
            told.push(format!("  rule {id} from {}", found.agent));
            agents.push(found.agent.to_owned());
        }
        agents.dedup();
        if !agents.is_empty() {
            self.manifest.add_imported_from(&agents);
        }
        // A file of which nothing is in the rules stays beside them.
        let has_taken = |file: &PathBuf| {
            let mut rules = survey.rules.iter().filter(|found| found.file == *file).peekable();
            rules.peek().is_none() || rules.any(|found| !left_out.contains(&(&found.file, &found.id)))
        };
        self.imported.extend(survey.files.iter().filter(|(file, _)| has_taken(file)).cloned());
        for (name, path) in &survey.skills {
            if self.skills.iter().any(|skill| skill.name == *name) {
                told.push(format!(
                    "  skill {name}: the store has one of this name; the other stays in the archive or the backup"
                ));
                continue;
            }
            match self.add_skill(name, path) {
                Ok(()) => told.push(format!("  skill {name}")),
                Err(error) => told.push(format!("  skill {name} is left out: {error}")),
            }
        }
        Ok(told)
    }

    /// Returns a name that no rule and no file of the store has: the one that is wanted, or with a number. `None` if a rule with
    /// such a name has the text already.
    fn free_id(&self, texts: &HashMap<String, String>, wanted: &str, text: &str) -> Option<String> {
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        for id in std::iter::once(wanted.to_owned()).chain(numbered) {
            match texts.get(&id) {
                Some(there) if are_alike(there, text) => return None,
                Some(_) => {}
                None if disk::is_there(&self.rule_path(&format!("{id}.md"))) => {}
                None => return Some(id),
            }
        }
        None
    }

    /// Returns the agents of a home that are there, as targets.
    pub(super) fn agents_there(place: &Place) -> [Vec<&'static str>; 3] {
        let has = |agent: &&&str| {
            let directory = match **agent {
                "antigravity" => ".gemini/antigravity".to_owned(),
                agent => format!(".{agent}"),
            };
            place.base.join(directory).is_dir()
        };
        let of = |names: &'static [&'static str]| names.iter().filter(has).copied().collect();
        [of(places::INSTRUCTION_TARGETS), of(places::RULE_TARGETS), of(places::SKILL_TARGETS)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_splitting_and_fences_are_respected() {
        let text = "before\n\n# One\n\n```sh\n# no heading\n```\n\n## Sub\n# Two\ntext\n";
        let found = sections(text, "claude");
        let names: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(names, ["claude-preamble", "one", "two"]);
        assert_eq!(found[1].1, "# One\n\n```sh\n# no heading\n```\n\n## Sub\n");
        let all = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(all(&found.iter().map(|(_, text)| text.as_str()).collect::<String>()), all(text));
        let found = sections("# Title\n\n## A\na\n## A\nb\n", "gemini");
        let names: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(names, ["gemini-preamble", "a", "a-2"]);
        assert_eq!(sections("no heading\n", "x"), [("x-preamble".to_owned(), "no heading\n".to_owned())]);
        assert_eq!(sections("\n \n", "x"), []);
        assert_eq!(slug("  Über: Dinge! ", "x"), "ber-dinge");
        assert_eq!(slug("\u{4e2d}", "x"), "x-rule");
    }

    #[test]
    fn front_matter_is_read_as_it_is_written() {
        let text =
            "---\ndescription: \"a \\\"b\\\"\\nc\"\nalwaysApply: false\nglobs: *.rs, src/**\nother: x\n---\n\nbody\n";
        let (cursor, body) = front(text);
        assert_eq!(cursor, json!({ "description": "a \"b\"\nc", "alwaysApply": false, "globs": "*.rs, src/**" }));
        assert_eq!(body, "body\n");
        assert_eq!(front("---\n---\nbody"), (json!({}), "body\n".to_owned()));
        let of_kiro = "---\ninclusion: fileMatch\nfileMatchPattern: [\"*.rs\", \"src/**\"]\n---\n\nbody\n";
        assert_eq!(front(of_kiro).0, json!({ "alwaysApply": false, "globs": "*.rs, src/**" }));
        assert_eq!(front("---\npaths: \"*.rs\"\n---\nx\n").0, json!({ "globs": "*.rs", "alwaysApply": false }));
        assert_eq!(front("---\ninclusion: always\n---\nx\n").0, json!({ "alwaysApply": true }));
        assert_eq!(front("no front"), (Value::Null, "no front\n".to_owned()));
    }

    #[test]
    fn texts_that_are_nearly_the_same_count_as_one() {
        assert!(are_alike("use four spaces, always\n", "use four spaces, always.\n"));
        assert!(!are_alike("use four spaces\n", "never commit to main\n"));
    }
}
