//! `git shiftlog rules show` and `git shiftlog rules diff`: what agents were told at commits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::{self, Outcome, Printing};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty;
use crate::record::{self, Reader};
use crate::told::{self, Changes, InstructionFile};

/// A file that agents were told at a commit, and the agents.
struct File {
    file: InstructionFile,
    agents: Vec<String>,
}

/// Prints the texts that the agents of a commit were told.
///
/// # Errors
///
/// If there is no such commit, or its note cannot be read.
pub(super) fn show(repo: &Repository, printing: &Printing, is_json: bool, revision: &str) -> Result<Outcome> {
    let reader = printing.reader(repo);
    let Some(files) = files_of(&reader, revision)? else { return Ok(Outcome::No) };
    let commit_id = repo.resolve(revision)?;
    let mut screen = printing.screen(repo, printing.dates(repo, date::Format::default())?);
    let mut outcome = Outcome::Done;
    if files.is_empty() && !is_json {
        screen.write(|out, _| writeln!(out, "told: nothing"))?;
    }
    for File { file, agents } in &files {
        let text = told::text(&reader.archive(), file);
        if text.as_ref().is_err_and(|error| error.kind() != Kind::Missing || file.text.is_some()) {
            outcome = Outcome::No;
        }
        let text = text.map_err(|error| error.to_string());
        screen.write(|out, style| {
            if !is_json {
                return pretty::write_told(out, file, agents, text.as_deref().map_err(String::as_str), style);
            }
            let mut object = serde_json::Map::new();
            object.insert("version".into(), 1.into());
            object.insert("commit".into(), commit_id.to_string().into());
            object.insert("agents".into(), agents.clone().into());
            if let Value::Object(entry) = pretty::told_value(std::slice::from_ref(file))[0].clone() {
                object.extend(entry.into_iter().filter(|(key, _)| key != "text"));
            }
            match &text {
                Ok(text) => object.insert("content".into(), String::from_utf8_lossy(text).into()),
                Err(problem) => object.insert("problem".into(), problem.clone().into()),
            };
            write!(out, "{}{}", outside::json(&Value::Object(object)), printing.end())
        })?;
    }
    screen.out.finish()?;
    Ok(outcome)
}

/// Prints how what agents were told differs between two commits.
///
/// # Errors
///
/// As [`show`].
pub(super) fn diff(repo: &Repository, printing: &Printing, is_json: bool, revisions: [&str; 2]) -> Result<Outcome> {
    let reader = printing.reader(repo);
    let (Some(before), Some(after)) = (told_at(&reader, revisions[0])?, told_at(&reader, revisions[1])?) else {
        return Ok(Outcome::No);
    };
    let differences = differences(&before, &after);
    let mut screen = printing.screen(repo, printing.dates(repo, date::Format::default())?);
    for Difference { name, before, after } in &differences {
        let text = |file: &Option<InstructionFile>| {
            file.as_ref().map(|file| told::text(&reader.archive(), file)).transpose().map_err(|error| error.to_string())
        };
        let diff = match (text(before), text(after)) {
            (Ok(old), Ok(new)) => Ok(pretty::told_diff(name, old.as_deref(), new.as_deref())),
            (Err(why), _) | (_, Err(why)) => Err(why),
        };
        screen.write(|out, style| {
            if is_json {
                let object = pretty::told_difference(name, before.as_ref(), after.as_ref(), diff);
                return write!(out, "{}{}", outside::json(&object), printing.end());
            }
            match diff {
                Ok(diff) => pretty::write_told_diff(out, &diff, style),
                Err(why) => writeln!(out, "{}", outside::line(&format!("'{name}' differs: {why}"))),
            }
        })?;
    }
    screen.out.finish()?;
    // As 'git diff --exit-code'.
    Ok(if differences.is_empty() { Outcome::Done } else { Outcome::No })
}

/// A file of which the agents were told another text than before.
#[derive(Eq, PartialEq)]
struct Difference {
    name: String,
    before: Option<InstructionFile>,
    after: Option<InstructionFile>,
}

/// The instruction files of a commit: by agent, those of each of its sessions.
type ToldAt = BTreeMap<String, Vec<Vec<InstructionFile>>>;

/// Returns the differences between two commits, by name. Each agent is compared with itself; one that has no session at the
/// other commit, with all that have.
fn differences(before: &ToldAt, after: &ToldAt) -> Vec<Difference> {
    let all = |side: &ToldAt| -> Vec<Vec<InstructionFile>> { side.values().flatten().cloned().collect() };
    let of = |name: &str, sessions: &[Vec<InstructionFile>]| {
        sessions.iter().flatten().find(|file| file.name() == name).cloned()
    };
    let mut found: Vec<Difference> = Vec::new();
    let mut add = |name: String, before: &[Vec<InstructionFile>], after: &[Vec<InstructionFile>]| {
        let difference = Difference { before: of(&name, before), after: of(&name, after), name };
        if !found.contains(&difference) {
            found.push(difference);
        }
    };
    for (agent, sessions) in after {
        let before = before.get(agent).cloned().unwrap_or_else(|| all(before));
        for session in sessions {
            let Changes { changed, added, removed } = Changes::between(&before, session);
            let names = [changed, added, removed].concat();
            names.into_iter().for_each(|name| add(name, &before, std::slice::from_ref(session)));
        }
    }
    for (_, sessions) in before.iter().filter(|(agent, _)| !after.contains_key(*agent)) {
        let removed = Changes::between(sessions, &all(after).concat()).removed;
        removed.into_iter().for_each(|name| add(name, sessions, &[]));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Returns what each agent was told at a commit; `None`, with a message, if no record says it.
fn told_at(reader: &Reader<'_>, revision: &str) -> Result<Option<ToldAt>> {
    let commit_id = reader.repo().resolve(revision)?;
    let told_at = record::told(&reader.note(commit_id)?.unwrap_or_default().summaries());
    if told_at.is_empty() {
        let message = format!("no record of {} says what the agent was told", outside::line(revision));
        cli::error(&Error::new(Kind::Missing, message));
        return Ok(None);
    }
    Ok(Some(told_at))
}

/// Returns the files in the records of a commit, each text once; `None`, with a message, if no record names any.
fn files_of(reader: &Reader<'_>, revision: &str) -> Result<Option<Vec<File>>> {
    let Some(told_at) = told_at(reader, revision)? else { return Ok(None) };
    let mut files: Vec<File> = Vec::new();
    for (agent, sessions) in told_at {
        for file in sessions.into_iter().flatten() {
            match files.iter_mut().find(|known| known.file == file) {
                Some(known) if known.agents.contains(&agent) => {}
                Some(known) => known.agents.push(agent.clone()),
                None => files.push(File { file, agents: vec![agent.clone()] }),
            }
        }
    }
    Ok(Some(files))
}
