//! Checking the index, and reading it.

use std::path::Path;

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::Options;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::index::{self, FoundAt, IssueLocation, Project, ROOTS, Snapshot, schema};
use crate::outside;
use crate::path::{self, Document, Keys};

/// The largest file of an index that is read from a commit.
const MAX_BLOB_BYTES: u64 = 16 << 20;

/// Prints what is wrong with the files.
pub fn validate(project: &Project, options: &Options) -> Result<Outcome> {
    project.require()?;
    let mut wrong: Vec<String> = ROOTS.iter().flat_map(|root| problems(project, root)).collect();
    if options.locations && problems(project, "issues").is_empty() {
        wrong.extend(lost_locations(project)?);
    }
    let lines: String = wrong.iter().map(|reason| outside::line(reason) + "\n").collect();
    if !options.quiet.is_on {
        cli::print(&lines)?;
    }
    Ok(if wrong.is_empty() { Outcome::Done } else { Outcome::No })
}

fn problems(project: &Project, root: &str) -> Vec<String> {
    let text = index::read(&project.directory(), root);
    schema::check(root, text.as_deref().map_err(String::as_str))
}

/// Returns an error for each location whose keyword is not found. One that has moved a little is only a warning.
fn lost_locations(project: &Project) -> Result<Vec<String>> {
    let mut lost = Vec::new();
    let issues = read_issues(project)?;
    let mut places = places(project, &issues).into_iter();
    for (number, issue) in issues.iter().enumerate() {
        for ((at, IssueLocation { file, keyword, line }), found) in issue.locations.iter().enumerate().zip(&mut places)
        {
            let place = format!("issues.json: [issues][{number}][locations][{at}]");
            match found {
                FoundAt::There => {}
                FoundAt::Near(other) => {
                    cli::warning(&format!("{place}: '{keyword}' is on line {other} of '{file}', not {line}"));
                }
                FoundAt::Nowhere(reason) => lost.push(format!("{place}: '{keyword}' at {file}:{line}: {reason}")),
            }
        }
    }
    Ok(lost)
}

/// Returns where the locations of issues are now, one after the other.
fn places(project: &Project, issues: &[index::Issue]) -> Vec<FoundAt> {
    let locations: Vec<&IssueLocation> = issues.iter().flat_map(|issue| &issue.locations).collect();
    index::find_all(project.top(), &locations)
}

fn read_issues(project: &Project) -> Result<Vec<index::Issue>> {
    project.require()?;
    let wrong = problems(project, "issues");
    if let Some(first) = wrong.first() {
        let error = Error::other("cannot read the issues").because(first.clone());
        return Err(error.hint("'git shiftlog index validate' lists what is wrong"));
    }
    let text = index::read(&project.directory(), "issues").map_err(Error::other)?;
    index::issues(&text).map_err(|error| Error::other("issues.json").because(error))
}

/// Prints the issues as compilers print errors: `<file>:<line>: <message>`. The line is where the keyword is now.
pub fn issues(project: &Project) -> Result<Outcome> {
    let here = cli::current_directory()?;
    // Editors look for files from the directory that the command ran in.
    let name = |file: &str| {
        let path = project.top().join(file);
        path.strip_prefix(&here).map_or_else(|_| path.clone(), Path::to_owned).display().to_string()
    };
    let mut text = String::new();
    let issues = read_issues(project)?;
    let mut places = places(project, &issues).into_iter();
    for issue in &issues {
        let tags = if issue.tags.is_empty() { String::new() } else { format!(" [{}]", issue.tags.join(", ")) };
        let message = outside::line(&format!("{}{tags}", issue.title));
        let mut tell = |file: &str, line: usize| text += &format!("{}:{line}: {message}\n", outside::line(&name(file)));
        let mut is_printed = false;
        for (location, place) in issue.locations.iter().zip(&mut places) {
            // An editor would open a file that is none of the project's.
            if place.is_outside() {
                continue;
            }
            is_printed = true;
            let line = match place {
                FoundAt::Near(line) => line,
                FoundAt::There | FoundAt::Nowhere(_) => location.line.max(1),
            };
            tell(&location.file, line);
        }
        if !is_printed {
            tell(&format!("{}/issues.json", index::DIRECTORY), 1);
        }
    }
    cli::print(&text)?;
    Ok(Outcome::Done)
}

/// Prints what the index holds.
pub fn status(project: &Project, options: &Options) -> Result<Outcome> {
    project.require()?;
    let (mut text, mut files) = (String::new(), serde_json::Map::new());
    for root in ROOTS {
        let wrong = problems(project, root);
        let counts = if wrong.is_empty() { counts(project, root) } else { Vec::new() };
        let said = match wrong.len() {
            0 => counts.iter().map(|(key, count)| format!("{count} {key}")).collect::<Vec<_>>().join(", "),
            1 => wrong[0].trim_start_matches(&format!("{root}.json: ")).to_owned(),
            number => format!("{number} errors; see 'git shiftlog index validate'"),
        };
        text += &format!("{:15} {}\n", format!("{root}.json"), outside::line(&said));
        let counts: serde_json::Map<String, Value> =
            counts.into_iter().map(|(key, count)| (key, count.into())).collect();
        files.insert((*root).to_owned(), json!({ "valid": wrong.is_empty(), "counts": counts }));
    }
    let (time, changed) = (index::last_scan_time(project), changed(project));
    let since = changed.map_or_else(String::new, |count| match count {
        0 => ", nothing has changed since".to_owned(),
        1 => ", 1 file has changed since".to_owned(),
        count => format!(", {count} files have changed since"),
    });
    let scanned = time.as_ref().map_or_else(|| "never".to_owned(), |time| format!("{}{since}", outside::line(time)));
    text += &format!("{:15} {scanned}\n", "last scan");
    let watcher = index::running(project);
    let said = watcher.as_ref().map_or_else(|| "none".to_owned(), |process| format!("running, process {process}"));
    text += &format!("{:15} {}\n", "watcher", outside::line(&said));
    let watcher = watcher.and_then(|process| process.parse::<u32>().ok());
    let object = json!({ "version": 1, "files": files, "lastScan": time, "changed": changed, "watcher": watcher });
    match options.json {
        true => cli::print(&format!("{}\n", outside::json(&object))),
        false => cli::print(&text),
    }?;
    Ok(Outcome::Done)
}

/// Returns how many files have changed since the last scan; `None` outside of a working tree.
fn changed(project: &Project) -> Option<usize> {
    let repo = Repository::open(project.top()).ok()?;
    let now = Snapshot::take(&repo, project).ok()?;
    Some(now.changes_since(&Snapshot::of_last_scan(project), project).len())
}

/// Returns how long each list at the top of a file is.
fn counts(project: &Project, root: &str) -> Vec<(String, usize)> {
    let text = index::read(&project.directory(), root).unwrap_or_default();
    let members = Document::new(&text).and_then(Document::members).unwrap_or_default();
    members.into_iter().filter_map(|(key, value)| Some((key, value.items().ok()?.len()))).collect()
}

/// Prints the keys of a value, one a line.
pub fn keys(project: &Project, path: &str, revision: Option<&str>) -> Result<Outcome> {
    with_value(project, path, revision, |value| {
        let keys = match value.keys()? {
            Keys::Dict(keys) => keys,
            Keys::List(length) => (0..length).map(|index| index.to_string()).collect(),
        };
        Ok(keys.iter().map(|key| outside::line(key) + "\n").collect())
    })
}

/// Prints a value as compact JSON.
pub fn value(project: &Project, path: &str, revision: Option<&str>) -> Result<Outcome> {
    with_value(project, path, revision, |value| Ok(value.compact().map(outside::json_text)? + "\n"))
}

fn with_value(
    project: &Project,
    path: &str,
    revision: Option<&str>,
    shown: impl FnOnce(Document<'_>) -> Result<String, String>,
) -> Result<Outcome> {
    let wrong = |error: String| {
        Error::new(Kind::Usage, format!("'{}' is not a path of the index", outside::line(path)))
            .because(error)
            .hint("git shiftlog index get '[arch][modules][0][name]'")
    };
    let segments = path::parse(path, &[]).map_err(wrong)?;
    let (root, rest) = path::root(&segments, ROOTS).map_err(wrong)?;
    let read = || {
        let text = match revision {
            Some(revision) => committed(project, root, revision)?,
            None => {
                project.require()?;
                index::read(&project.directory(), root)
                    .map_err(|reason| Error::new(Kind::Missing, format!("index file {root}.json {reason}")))?
            }
        };
        let name = format!("index file {root}.json");
        let none = |reason: String| Error::new(Kind::Missing, reason);
        let document = Document::new(&text).map_err(|error| none(format!("{name} cannot be read as JSON: {error}")))?;
        cli::print(&document.walk(rest, 0).and_then(shown).map_err(none)?)
    };
    cli::or_no(read())
}

/// Returns a file of the index as a commit has it.
fn committed(project: &Project, root: &str, revision: &str) -> Result<String> {
    // A revision that names no commit is no "nothing found".
    let fatal = |error: Error| Error::other(error.to_string());
    let repo = Repository::open(project.top()).map_err(fatal)?;
    let commit_id = repo.resolve(revision).map_err(fatal)?;
    let file = project.prefix(&repo)?.join(index::DIRECTORY).join(format!("{root}.json"));
    let file = file.as_os_str().as_encoded_bytes().as_bstr().to_owned();
    let none = || Error::new(Kind::Missing, format!("{revision} has no index file {root}.json"));
    let blob_id = repo.blob_at(commit_id, file.as_bstr())?.ok_or_else(none)?;
    let bytes = repo.read_blob(blob_id, MAX_BLOB_BYTES)?;
    String::from_utf8(bytes).map_err(|_| {
        Error::new(Kind::Missing, format!("index file {root}.json cannot be read as JSON: it is not UTF-8"))
    })
}
