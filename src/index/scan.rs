//! Bringing the index up to date: an agent is asked about the files that have changed, its answer is checked, and only a
//! valid index is put in place.
//!
//! Read [`Scan`]. The agent is asked as for a summary: in an empty directory, without tools. It gets texts and answers
//! with texts, so it can change nothing but the four files, and instructions or settings in the project do not reach it as
//! such.

use std::time::Duration;

use serde_json::{Map, Value};

use super::aside::Aside;
use super::changed::{self, FileChange, Snapshot};
use super::files::{Project, ROOTS, SKELETONS, read};
use super::lock::{Lock, SCANNING};
use super::place;
use super::{question, schema};
use crate::agent::{self, Ask};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Repository, fault_point};
use crate::outside;
use crate::record::redaction;
use crate::redact::Redactor;

/// The file with which a commit asks the scan that runs for another one after it.
pub(super) const AGAIN: &str = "again";

/// How often an agent may answer.
pub const MAX_ROUNDS: usize = 5;

/// Chooses the agent that is asked: by its name, else the one of `shiftlog.indexAgent`, else the first that is installed.
///
/// # Errors
///
/// [`Kind::Usage`] for a name of no agent that can be asked, [`Kind::Unsupported`] if none is installed.
pub fn choose(repo: &Repository, name: Option<&str>) -> Result<&'static Ask> {
    let all = || agent::ALL.iter().filter_map(|agent| agent.ask());
    let known = || format!("known: {}", all().map(|ask| ask.name).collect::<Vec<_>>().join(", "));
    let configured = repo.config_string("shiftlog.indexAgent");
    match name.or(configured.as_deref()) {
        Some(name) => all().find(|ask| ask.name == name).ok_or_else(|| {
            Error::new(Kind::Usage, format!("cannot ask agent '{}'", outside::line(name))).hint(known())
        }),
        None => all()
            .find(|ask| ask.is_installed())
            .ok_or_else(|| Error::new(Kind::Unsupported, "no agent that can be asked is installed").hint(known())),
    }
}

/// A scan that is prepared. While it exists, no other scan of the project runs.
pub struct Scan<'p> {
    project: &'p Project,
    redactor: Redactor,
    ask: &'static Ask,
    /// The files of the index as they are; of one that is absent what it would be when made.
    texts: Vec<String>,
    /// The files with the answers that a failed scan has put aside.
    begun: Vec<String>,
    /// The files of the project when the index was last brought up to date, and now.
    earlier: Snapshot,
    snapshot: Snapshot,
    changes: Vec<FileChange>,
    /// How many bytes of changes go into one question.
    room: usize,
    _lock: Lock,
}

impl<'p> Scan<'p> {
    /// Finds out what has changed since the last scan.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] while another scan runs; another kind if there is no index, a file of it cannot be read or is a link,
    /// nothing can be written, or the index leaves no room in a question.
    pub fn new(repo: &Repository, project: &'p Project, ask: &'static Ask) -> Result<Self> {
        project.require()?;
        let busy = "another scan is already running on this directory";
        let lock = Lock::take(&project.history().join(SCANNING), busy)?;
        // A commit that comes now is in the snapshot. One that comes later leaves the file again.
        crate::git::private::remove(&project.history().join(AGAIN))?;
        place::finish(project)?;
        let texts = texts(project)?;
        let redactor = redaction::redactor(repo)?;
        let snapshot = Snapshot::take(repo, project)?;
        let (begun, earlier) = match Aside::read(project, &texts) {
            Some(aside) => (aside.texts, aside.scanned),
            None => (texts.clone(), Snapshot::of_last_scan(project)),
        };
        let changes = snapshot.changes_since(&earlier, project);
        let max_bytes = ask.max_question_bytes();
        let room = question::room(&begun, &redactor, max_bytes).ok_or_else(|| too_large(ask, &begun, &redactor))?;
        Ok(Scan { project, redactor, ask, texts, begun, earlier, snapshot, changes, room, _lock: lock })
    }

    /// Says whether there is nothing to ask, and no answer that waits.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.begun == self.texts
    }

    /// Returns the changes.
    pub fn changes(&self) -> &[FileChange] {
        &self.changes
    }

    /// Returns how many questions are asked, if each is answered at once and the index grows little.
    pub fn questions(&self) -> usize {
        changed::parts(&self.changes, self.room).len()
    }

    /// Returns how many bytes of the project and of the index are sent at most, if each question is answered at once
    /// and the index does not grow.
    pub fn bytes(&self) -> u64 {
        let index: usize = self.begun.iter().map(String::len).sum();
        (index * self.questions() + self.changes.iter().map(FileChange::cost).sum::<usize>()) as u64
    }

    /// Asks the agent about all changes, and puts the index in place that it answers with. `limit` is for one answer;
    /// `tell` learns how many questions are answered, and of how many. Returns the names of the files that have
    /// changed.
    ///
    /// # Errors
    ///
    /// If the agent gives no answer, its answers do not become a valid index in `MAX_ROUNDS`, or the index was changed
    /// meanwhile. Then the index stays as it is. Valid answers are put aside, and the next scan goes on after them.
    pub fn run(
        &self,
        model: Option<&str>,
        limit: Duration,
        mut tell: impl FnMut(usize, usize),
    ) -> Result<Vec<&'static str>> {
        let (mut texts, mut snapshot) = (self.begun.clone(), self.earlier.clone());
        let parts = changed::parts(&self.changes, self.room);
        for (number, part) in parts.iter().enumerate() {
            tell(number, parts.len());
            let mut rest = *part;
            while !rest.is_empty() {
                let (new, count) = self.rounds(&texts, rest, model, limit).map_err(|error| match number {
                    0 => error,
                    _ => error.hint(format!(
                        "{number} of {} questions are answered; the next scan goes on after them",
                        parts.len()
                    )),
                })?;
                fault_point("index-answered");
                snapshot.advance(&rest[..count], &self.snapshot);
                (texts, rest) = (new, &rest[count..]);
                if number + 1 < parts.len() || !rest.is_empty() {
                    Aside::write(self.project, &self.texts, &texts, &snapshot)?;
                }
            }
        }
        self.replace(&texts, &snapshot)?;
        Aside::remove(self.project)?;
        let changed = ROOTS.iter().zip(texts.iter().zip(&self.texts)).filter(|(_, (new, old))| new != old);
        Ok(changed.map(|(root, _)| *root).collect())
    }

    /// Puts new files in the place of the old ones, unless somebody has changed these.
    fn replace(&self, new: &[String], snapshot: &Snapshot) -> Result<()> {
        if texts(self.project)? != self.texts {
            return Err(Error::other(format!("the index was changed while {} was asked", self.ask.name)));
        }
        let changed = new.iter().zip(&self.texts).map(|(new, old)| (new != old).then(|| new.clone()));
        let changed: Vec<Option<String>> = changed.collect();
        place::put(self.project, &changed, &snapshot.to_text(&Time::now().to_rfc3339()))
    }

    /// Asks about some changes until the answer makes a valid index. Returns it, and how many of the changes it is about.
    fn rounds(
        &self,
        texts: &[String],
        part: &[FileChange],
        model: Option<&str>,
        limit: Duration,
    ) -> Result<(Vec<String>, usize)> {
        let max_bytes = self.ask.max_question_bytes();
        let content = |path: &str| changed::content(self.project, path);
        let (first, count) = question::question(texts, part, content, &self.redactor, max_bytes)
            .ok_or_else(|| too_large(self.ask, texts, &self.redactor))?;
        let (mut asked, mut errors) = (first.clone(), Vec::new());
        for _ in 0..MAX_ROUNDS {
            let answer = self.ask.answer(&asked, model, limit)?;
            match answered(&answer, texts, &self.redactor) {
                // It would leave no room for files in the next question.
                Ok(texts) if question::room(&texts, &self.redactor, max_bytes).is_none() => {
                    let reason = question::too_large(&texts, &self.redactor, max_bytes);
                    errors = vec![format!("the index is too large: {reason}")];
                }
                Ok(texts) => return Ok((texts, count)),
                Err(wrong) => errors = wrong,
            }
            asked = question::again(&first, &self.redactor.redact_text(&answer), &errors, max_bytes);
        }
        let failed = Error::other(format!("no valid index in {MAX_ROUNDS} answers of {}", self.ask.name));
        let rest = errors.iter().skip(1).take(9).cloned();
        Err(rest.fold(failed.because(errors.first().cloned().unwrap_or_default()), Error::hint))
    }
}

/// Returns the error of an index that leaves no room for files in a question.
fn too_large(ask: &Ask, texts: &[String], redactor: &Redactor) -> Error {
    Error::other(format!("the index is too large for a question to {}", ask.name))
        .because(question::too_large(texts, redactor, ask.max_question_bytes()))
        .hint("shorten the files in .memo/index, or ask another agent with --agent")
}

/// Returns the four files as they are.
fn texts(project: &Project) -> Result<Vec<String>> {
    let text = |(root, skeleton): (&&str, &&str)| match read(&project.directory(), root) {
        Err(reason) if reason == "is missing" => Ok(format!("{skeleton}\n")),
        text => text.map_err(|reason| Error::other(format!("index file {root}.json {reason}"))),
    };
    ROOTS.iter().zip(SKELETONS).map(text).collect()
}

/// Returns the text in the only fenced block of an answer; `None` if it has none or several.
fn fenced(answer: &str) -> Option<&str> {
    let parts: Vec<&str> = answer.split("```").collect();
    let [_, block, _] = parts.as_slice() else { return None };
    // Behind the fence stands the language.
    block.split_once('\n').map(|(_, block)| block)
}

/// Returns the files as an answer has them, or what is wrong with it.
fn answered(answer: &str, texts: &[String], redactor: &Redactor) -> Result<Vec<String>, Vec<String>> {
    let object: Map<String, Value> = serde_json::from_str(answer)
        .or_else(|error| fenced(answer).and_then(|block| serde_json::from_str(block).ok()).ok_or(error))
        .map_err(|error| vec![format!("the answer is not one JSON object: {error}")])?;
    let name = |key: &str| key.strip_suffix(".json").unwrap_or(key).to_owned();
    let others = object.keys().filter(|key| !ROOTS.contains(&name(key).as_str()));
    let mut errors: Vec<String> =
        others.map(|key| format!("'{key}' is none of the files that may change: {}", ROOTS.join(", "))).collect();
    let mut texts = texts.to_vec();
    for (key, value) in &object {
        if let Some(at) = ROOTS.iter().position(|root| **root == name(key)) {
            let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
            // Line by line: between values stand line ends, which would be escaped too.
            let lines = pretty.lines().map(|line| outside::json_text(line.to_owned()) + "\n");
            texts[at] = redactor.redact_text(&lines.collect::<String>());
        }
    }
    // A file that was broken before, and is left as it is, is reported too.
    errors.extend(ROOTS.iter().zip(&texts).flat_map(|(root, text)| schema::check(root, Ok(text))));
    if errors.is_empty() { Ok(texts) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Settings;

    #[test]
    fn an_answer_replaces_whole_files_and_nothing_else() {
        let redactor = Redactor::new(&Settings::default()).expect("settings");
        let texts: Vec<String> = SKELETONS.iter().map(|text| format!("{text}\n")).collect();
        let answered = |answer: &str| answered(answer, &texts, &redactor);
        assert_eq!(answered("{}").as_deref(), Ok(&texts[..]), "nothing has to change");
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let story = format!("{{\"stories\":[{{\"title\":\"\u{202e}t\",\"tags\":[],\"content\":\"{token}\"}}]}}");
        let new = answered(&format!("{{\"stories.json\":{story}}}")).expect("an index");
        let in_prose = format!("Here it is:\n\n```json\n{{\"stories.json\":{story}}}\n```\nDone.");
        assert_eq!(answered(&in_prose).as_ref(), Ok(&new));
        assert!(answered("```\n{}\n``` or ```\n{}\n```").is_err(), "which of them is not known");
        assert_eq!((&new[0], &new[1], &new[3]), (&texts[0], &texts[1], &texts[3]));
        assert!(new[2].starts_with("{\n  \"stories\": [\n    {\n      \"title\": \"\\u202et\",\n"), "{}", new[2]);
        assert!(!new[2].contains(&token) && new[2].ends_with("}\n"), "{}", new[2]);
        let wrong = |answer: &str| answered(answer).expect_err("an error");
        assert!(wrong("I would say {}")[0].starts_with("the answer is not one JSON object: "));
        assert!(wrong("[]").len() == 1 && wrong("{} {}").len() == 1);
        assert_eq!(
            wrong("{\"README\":\"x\",\"arch\":{},\"../x\":1}"),
            [
                "'README' is none of the files that may change: arch, interface, stories, issues",
                "'../x' is none of the files that may change: arch, interface, stories, issues",
                "arch.json: key 'modules' is missing",
                "arch.json: key 'relationships' is missing",
            ]
        );
    }
}
