//! An agent that is described in Git's config, for agents without a file in this room.
//!
//! It writes one JSON object a line. Which members say what is described by a format such as
//! `role=message.role text=message.content time=timestamp cwd=cwd`.
//!
//! An agent is `&'static dyn Agent` everywhere, since all others are constants. Those made here are a few, made once, so
//! they are leaked rather than that every signature gets a lifetime for them.

use std::path::{Component, Path, PathBuf};

use serde_json_borrow::Value;

use super::place;
use super::{Agent, FoundTranscript, Parser, Recorded, Restoration, RestoredContent, Wording, json};
use crate::error::{Error, Kind, Result};
use crate::outside;
use crate::transcript::{Message, Part, Role};

/// A description: the values of `shiftlog.agent.<name>.*`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Definition {
    /// The agent's name.
    pub name: String,
    /// Where its transcripts are: a path with `*` for any part of a name and `{session}` for the session's id. `~/` is the
    /// home directory; a relative path starts at the top of the working tree.
    pub transcript: String,
    /// Which members of a record say what: `role`, `text`, `time`, `model`, `session`, `cwd`, each with the names that
    /// lead to it, joined by dots.
    pub format: String,
    /// The command that takes a session up again, with `{session}`, `{transcript}` and `{cwd}`.
    pub resume: Option<String>,
}

/// An agent made from a [`Definition`].
pub struct Custom {
    name: String,
    pattern: String,
    format: Format,
    resume: Option<String>,
}

/// The paths of a record's members.
#[derive(Clone, Debug, Default)]
struct Format {
    role: Vec<String>,
    text: Vec<String>,
    time: Vec<String>,
    model: Vec<String>,
    session: Vec<String>,
    cwd: Vec<String>,
}

impl Custom {
    /// Makes an agent; `None` if the description has no pattern or its name is no plain word.
    pub fn new(definition: Definition) -> Option<Custom> {
        // The archive has texts of instruction files under the name 'rules'.
        let is_taken = definition.name == "rules";
        if is_taken || !outside::is_plain_id(&definition.name) || definition.transcript.is_empty() {
            return None;
        }
        Some(Custom {
            name: definition.name,
            pattern: definition.transcript,
            format: Format::parse(&definition.format),
            resume: definition.resume,
        })
    }

    /// Returns the files that the pattern names, with the session ids in their names.
    fn files(&self, directory: &Path, session_id: Option<&str>) -> Vec<FoundTranscript> {
        let pattern = match session_id {
            Some(id) => self.pattern.replace("{session}", id),
            None => self.pattern.clone(),
        };
        let Some(pattern) = absolute(&pattern, directory) else { return Vec::new() };
        let mut paths = vec![(PathBuf::new(), None)];
        for component in pattern.components() {
            let Component::Normal(name) = component else {
                paths.iter_mut().for_each(|(path, _)| path.push(component));
                continue;
            };
            let name = name.to_string_lossy();
            let fixed = !name.contains('*') && !name.contains("{session}");
            paths = paths
                .into_iter()
                .flat_map(|(path, id): (PathBuf, Option<String>)| {
                    if fixed {
                        return vec![(path.join(&*name), id)];
                    }
                    let entries = place::entries(&path).into_iter();
                    let matched = entries.filter_map(|entry| {
                        let found = matches(&name, entry.file_name()?.to_str()?)?;
                        Some((entry, found.or_else(|| id.clone())))
                    });
                    matched.collect()
                })
                .collect();
        }
        let files = paths.into_iter().filter(|(path, _)| path.is_file());
        let named = files.filter_map(|(path, id)| {
            let id = session_id.map(str::to_owned).or(id).or_else(|| Some(path.file_stem()?.to_str()?.to_owned()))?;
            outside::is_plain_id(&id).then_some(FoundTranscript { session_id: id, transcript: path })
        });
        named.collect()
    }

    fn member(&self, record: &Value<'_>, path: &[String]) -> Option<String> {
        Some(value_at(record, path)?.as_str()?.to_owned())
    }

    fn message(&self, record: &Value<'_>, span: std::ops::Range<usize>) -> Option<Message> {
        let role = match value_at(record, &self.format.role)?.as_str()?.to_ascii_lowercase().as_str() {
            "user" | "human" => Role::User,
            "assistant" | "model" | "agent" | "ai" | "bot" => Role::Assistant,
            _ => return None,
        };
        let mut message = Message::new(role, span);
        message.parts = match value_at(record, &self.format.text)? {
            Value::Str(text) => vec![Part::Text(text.to_string())],
            Value::Array(parts) => {
                let text = |part: &Value<'_>| part.as_str().map(str::to_owned).or_else(|| json::string(part, "text"));
                parts.iter().filter_map(text).map(Part::Text).collect()
            }
            _ => return None,
        };
        message.parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        message.model = self.member(record, &self.format.model).filter(|_| role == Role::Assistant);
        let (last, way) = self.format.time.split_last().unzip();
        let parent = way.and_then(|way| value_at_or_self(record, way));
        if let Some((parent, key)) = parent.zip(last) {
            json::set_time(&mut message, parent, key);
        }
        Some(message)
    }
}

impl Format {
    fn parse(text: &str) -> Self {
        let mut format = Format::default();
        let defaults = ["role=role", "text=content", "time=timestamp"];
        for word in defaults.into_iter().chain(text.split_whitespace()) {
            let Some((meaning, path)) = word.split_once('=') else { continue };
            let place = match meaning {
                "role" => &mut format.role,
                "text" => &mut format.text,
                "time" => &mut format.time,
                "model" => &mut format.model,
                "session" => &mut format.session,
                "cwd" => &mut format.cwd,
                _ => continue,
            };
            *place = path.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        }
        format
    }
}

fn value_at<'v>(record: &'v Value<'v>, path: &[String]) -> Option<&'v Value<'v>> {
    if path.is_empty() { None } else { value_at_or_self(record, path) }
}

fn value_at_or_self<'v>(record: &'v Value<'v>, path: &[String]) -> Option<&'v Value<'v>> {
    path.iter().try_fold(record, |value, key| json::field(value, key))
}

fn absolute(pattern: &str, directory: &Path) -> Option<PathBuf> {
    match pattern.strip_prefix("~/") {
        Some(rest) => Some(place::home()?.join(rest)),
        None => Some(directory.join(pattern)),
    }
}

/// Says whether a name fits a pattern with `*` and `{session}`, and what the latter stands for.
fn matches(pattern: &str, name: &str) -> Option<Option<String>> {
    let Some((before, after)) = pattern.split_once("{session}") else { return fits(pattern, name).then_some(None) };
    // The id is the longest plain text for which the rest fits.
    for start in 0..=name.len() {
        for end in (start + 1..=name.len()).rev() {
            let (Some(head), Some(id), Some(tail)) = (name.get(..start), name.get(start..end), name.get(end..)) else {
                continue;
            };
            if outside::is_plain_id(id) && fits(before, head) && fits(after, tail) {
                return Some(Some(id.to_owned()));
            }
        }
    }
    None
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(head) else { return false };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| fits(rest, name)))
}

impl Agent for Custom {
    fn name(&self) -> &str {
        &self.name
    }

    fn title(&self) -> &str {
        &self.name
    }

    fn is_installed(&self) -> bool {
        true
    }

    fn parser(&self) -> Box<dyn Parser> {
        let agent =
            Custom { name: self.name.clone(), pattern: String::new(), format: self.format.clone(), resume: None };
        Box::new(move |lines: &[u8]| -> Vec<Message> {
            let read = |(span, line)| json::read_line(line, |record| agent.message(record, span));
            json::lines(lines).filter_map(read).collect()
        })
    }

    fn wording(&self, _: &[u8]) -> Wording {
        Wording::InLines
    }

    fn session_id(&self, transcript: &[u8]) -> Option<String> {
        json::find(transcript, |record| self.member(record, &self.format.session))
    }

    fn transcript(&self, session_id: &str, directory: &Path) -> Option<PathBuf> {
        let found = outside::is_plain_id(session_id).then(|| self.files(directory, Some(session_id)))?;
        let is_it = |found: &&FoundTranscript| {
            self.pattern.contains("{session}") || found.transcript.file_stem().is_some_and(|stem| stem == session_id)
        };
        found.iter().find(is_it).map(|found| found.transcript.clone())
    }

    fn recent(&self, directory: &Path, seconds: i64) -> Vec<FoundTranscript> {
        let is_in_tree = !self.pattern.starts_with("~/") && Path::new(&self.pattern).is_relative();
        let is_from_here = |path: &Path| {
            let cwd = json::find_in_file(path, |record| self.member(record, &self.format.cwd));
            // Elsewhere only the records can tell where a session ran.
            cwd.map_or(is_in_tree, |cwd| place::is_below(&cwd, directory))
        };
        let mut found = self.files(directory, None);
        found.retain(|found| place::is_written_since(&found.transcript, seconds) && is_from_here(&found.transcript));
        for found in &mut found {
            let named = json::find_in_file(&found.transcript, |record| self.member(record, &self.format.session));
            found.session_id = named.filter(|id| outside::is_plain_id(id)).unwrap_or_else(|| found.session_id.clone());
        }
        found
    }

    fn restoration(&self, session: Recorded<'_>, directory: &Path) -> Result<Option<Restoration>> {
        let Some(resume) = &self.resume else {
            return Err(Error::new(Kind::Unsupported, format!("nothing is known about how {} resumes", self.name))
                .hint(format!("git config shiftlog.agent.{}.resume '<command> {{session}}'", self.name)));
        };
        let id = session.session_id;
        if !outside::is_plain_id(id) {
            return Ok(None);
        }
        let named = self.pattern.replace("{session}", id);
        let known = || self.files(directory, Some(id)).into_iter().next().map(|found| found.transcript);
        let place = if named.contains('*') { known() } else { absolute(&named, directory) };
        let Some(place) = place else {
            return Err(Error::new(
                Kind::Unsupported,
                format!("nobody can tell where {} keeps this session", self.name),
            ));
        };
        let (cwd, transcript) = (directory.to_string_lossy(), place.to_string_lossy().into_owned());
        let word =
            |word: &str| word.replace("{session}", id).replace("{transcript}", &transcript).replace("{cwd}", &cwd);
        let words = resume.split_whitespace().map(word).collect();
        let files = vec![(place, RestoredContent::Transcript(session.transcript.to_vec()))];
        Ok(Some(Restoration { files, commands: vec![words] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_patterns() {
        assert_eq!(matches("*.jsonl", "a.jsonl"), Some(None));
        assert_eq!(matches("*.jsonl", "a.json"), None);
        assert_eq!(matches("{session}.jsonl", "s-1.jsonl"), Some(Some("s-1".into())));
        assert_eq!(matches("log-*-{session}.jsonl", "log-2026-s1.jsonl"), Some(Some("s1".into())));
        assert_eq!(matches("{session}.jsonl", "a b.jsonl"), None, "an id is plain");
    }
}
