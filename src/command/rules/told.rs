//! `git shiftlog rules show` and `git shiftlog rules diff`: what agents were told at commits.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::{self, Outcome, Printing};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, date};
use crate::outside;
use crate::pretty;
use crate::record::Reader;
use crate::told::{self, InstructionFile};

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
    let mut sides: BTreeMap<String, [Option<InstructionFile>; 2]> = BTreeMap::new();
    for (side, revision) in revisions.iter().enumerate() {
        let Some(files) = files_of(&reader, revision)? else { return Ok(Outcome::No) };
        for File { file, .. } in files {
            let sides = sides.entry(file.name()).or_default();
            // Several sessions made the commit and were told different texts: the last one counts, as for 'show'.
            sides[side] = Some(file);
        }
    }
    let mut screen = printing.screen(repo, printing.dates(repo, date::Format::default())?);
    let mut has_difference = false;
    for (name, [before, after]) in &sides {
        let is_same = before.is_some() == after.is_some()
            && before.as_ref().map(|file| (&file.sha256, &file.left))
                == after.as_ref().map(|file| (&file.sha256, &file.left));
        if is_same {
            continue;
        }
        has_difference = true;
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
    Ok(if has_difference { Outcome::No } else { Outcome::Done })
}

/// Returns the files in the records of a commit, each text once; `None`, with a message, if no record names any.
fn files_of(reader: &Reader<'_>, revision: &str) -> Result<Option<Vec<File>>> {
    let commit_id = reader.repo().resolve(revision)?;
    let mut files: Vec<File> = Vec::new();
    let mut is_known = false;
    for summary in reader.note(commit_id)?.unwrap_or_default().summaries() {
        let Some(rules) = summary.rules else { continue };
        is_known = true;
        for file in rules.files() {
            match files.iter_mut().find(|known| known.file == file) {
                Some(known) if known.agents.contains(&summary.key.agent) => {}
                Some(known) => known.agents.push(summary.key.agent.clone()),
                None => files.push(File { file, agents: vec![summary.key.agent.clone()] }),
            }
        }
    }
    if !is_known {
        let message = format!("no record of {} says what the agent was told", outside::line(revision));
        cli::error(&Error::new(Kind::Missing, message));
        return Ok(None);
    }
    Ok(Some(files))
}
