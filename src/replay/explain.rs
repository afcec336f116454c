//! Explaining lines: which call wrote each, and how sure that is.

use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bstr::{BStr, BString, ByteSlice as _};

use super::document::Origin;
use super::evidence::Evidence;
use super::paths::Places;
use super::source::Source;
use super::steps::{Place, Step, replayed, steps};
use super::talk::{Call, Talk};
use super::texts::{Texts, is_trivial, keys};
use crate::error::Result;
use crate::git::{BlamedFile, BlamedLines, ObjectId, Repository};
use crate::record::Reader;
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// The largest file whose edits are done again.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// The largest file that is read at all.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// The most edits of one file that are done again.
const MAX_STEPS: usize = 1000;
/// How long doing the edits of one file again may take.
const REPLAY_TIME: Duration = Duration::from_millis(200);
/// How long comparing the texts of edits may take before it gets coarser; only texts made for that take so long.
const TEXT_TIME: Duration = Duration::from_secs(2);
/// How many lines that say nothing may stand between a line and the next that says something.
const MAX_TRIVIAL: usize = 100;
/// How long reading what earlier commits recorded may take, over all commits.
const EARLIER_TIME: Duration = Duration::from_millis(500);
/// How long reading the transcripts of running sessions may take.
const LIVE_TIME: Duration = Duration::from_secs(10);

/// What explains a line.
#[derive(Clone, Debug)]
pub struct Found {
    /// How sure it is.
    pub evidence: Evidence,
    /// The sessions of the line's commit.
    pub source: Rc<Source>,
    /// The session among them, and the call if one is named.
    place: Option<(usize, Option<usize>)>,
    /// The path that the call wrote the line to, if that is another one.
    pub other_path: Option<String>,
}

impl Found {
    /// Returns the session.
    pub fn talk(&self) -> Option<&Talk> {
        self.source.talks.get(self.place?.0)
    }

    /// Returns the call.
    pub fn call(&self) -> Option<&Call> {
        self.talk()?.calls.get(self.place?.1?)
    }

    /// Returns the prompt that led to the line. For a sub-agent that of the session that sent it.
    pub fn prompt(&self) -> Option<Rc<str>> {
        let (talk, call) = (self.talk()?, self.call()?);
        let Some(parent) = talk.key.parent_id() else { return call.prompt.clone() };
        let parent = SessionKey::new(&talk.key.agent, parent);
        let session = self.source.talks.iter().find(|talk| talk.key == parent)?;
        session.prompt_that_sent(&talk.key, call.time)
    }

    /// Returns the session and the number of its turn that led to the line. For a sub-agent those of the session that sent it.
    pub fn turn(&self) -> Option<(SessionKey, usize)> {
        let (talk, call) = (self.talk()?, self.call()?);
        let Some(parent) = talk.key.parent_id() else { return Some((talk.key.clone(), call.turn)) };
        let parent = SessionKey::new(&talk.key.agent, parent);
        let session = self.source.talks.iter().find(|talk| talk.key == parent)?;
        Some((parent, session.turn_that_sent(&talk.key, call.time)?))
    }

    /// Says whether both name the same call of the same session, or the same session, with the same evidence.
    pub fn is_same(&self, other: &Found) -> bool {
        Rc::ptr_eq(&self.source, &other.source)
            && (self.evidence, self.place) == (other.evidence, other.place)
            && self.other_path == other.other_path
    }
}

/// What doing the edits of one file of a commit again has shown.
struct File {
    source: Rc<Source>,
    /// How edits name it.
    names: HashSet<String>,
    /// The file.
    text: Vec<u8>,
    /// The lines of the file without white space. Only lines that doing the edits again does not explain need them.
    keys: OnceCell<Vec<Vec<u8>>>,
    /// What wrote each line; empty if the edits were not done again.
    origins: Vec<Origin<Place>>,
    texts: Texts<Place>,
    /// Those of calls whose branch of the conversation was taken back.
    abandoned: Texts<Place>,
    /// The last session that edited the file.
    last_talk: Option<usize>,
}

/// Explains lines of commits. What it has read of a commit is kept.
pub struct Explainer<'a, 'r> {
    reader: &'a Reader<'r>,
    repo: &'r Repository,
    top: Option<String>,
    redactor: Option<Redactor>,
    /// What the file that was asked about is, where no commit has it.
    content: Option<Vec<u8>>,
    /// By commit, and whether the sessions were read whole.
    sources: HashMap<(ObjectId, bool), Rc<Source>>,
    files: HashMap<(ObjectId, BString, bool), Rc<File>>,
    /// The lines of other files and of commands, by commit and whether the sessions were read whole.
    others: HashMap<(ObjectId, bool), Rc<Others>>,
    earlier_until: Option<Instant>,
    problems: Vec<String>,
}

/// The lines that the sessions of a commit have written elsewhere.
struct Others {
    files: Texts<Place>,
    commands: Texts<Place>,
}

impl<'a, 'r> Explainer<'a, 'r> {
    /// Makes one. `content` is the file that was asked about where no commit has it; with a `redactor` secrets that an
    /// earlier tool has recorded are removed.
    pub fn new(reader: &'a Reader<'r>, content: Option<Vec<u8>>, redactor: Option<Redactor>) -> Self {
        let repo = reader.repo();
        Explainer {
            reader,
            repo,
            top: repo.worktree().map(|top| top.to_string_lossy().into_owned()),
            redactor,
            content,
            sources: HashMap::new(),
            files: HashMap::new(),
            others: HashMap::new(),
            earlier_until: None,
            problems: Vec::new(),
        }
    }

    /// Returns what could not be read or was left out so far.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Explains each of some lines that come from one commit.
    ///
    /// # Errors
    ///
    /// If an object cannot be read.
    pub fn explain(&mut self, lines: &BlamedLines) -> Result<Vec<Found>> {
        let commit_id = lines.commit.commit_id;
        let source = self.source(commit_id, false)?;
        if source.keys.is_empty() {
            let nothing = Found { evidence: Evidence::None, source, place: None, other_path: None };
            return Ok(vec![nothing; lines.count]);
        }
        let range = lines.orig_line.saturating_sub(1)..(lines.orig_line - 1).saturating_add(lines.count);
        let file = self.file(commit_id, &lines.file, false)?;
        let mut found: Vec<Found> = range.clone().map(|at| self.find(commit_id, false, &file, at)).collect();
        // Of a boundary Git only says that the lines are as old as it, or older. In a shallow clone nothing more can be known.
        let is_boundary = lines.commit.is_boundary();
        let before = if is_boundary { self.repo.commit(commit_id)?.parent_ids } else { Vec::new() };
        if before.iter().any(|id| self.repo.has_object(*id)) {
            for found in found.iter_mut().filter(|found| !found.evidence.names_a_call()) {
                (found.evidence, found.place) = (Evidence::None, None);
            }
            return Ok(found);
        }
        // A file that was edited before the commit before, but not committed by it, is in what that one recorded.
        let is_weak = |found: &Found| found.evidence > Evidence::Replay;
        if source.has_more_before && found.iter().any(is_weak) && self.has_time_for_earlier() {
            let whole = self.file(commit_id, &lines.file, true)?;
            for (at, found) in range.zip(&mut found) {
                let earlier = if is_weak(found) { Some(self.find(commit_id, true, &whole, at)) } else { None };
                if let Some(earlier) = earlier.filter(|earlier| earlier.evidence < found.evidence) {
                    *found = earlier;
                }
            }
        }
        Ok(found)
    }

    fn has_time_for_earlier(&mut self) -> bool {
        let until = *self.earlier_until.get_or_insert_with(|| Instant::now() + EARLIER_TIME);
        let has_time = Instant::now() < until;
        if !has_time {
            self.tell("what earlier commits recorded was not looked through for all lines");
        }
        has_time
    }

    fn tell(&mut self, problem: &str) {
        if !self.problems.iter().any(|known| known == problem) {
            self.problems.push(problem.to_owned());
        }
    }

    fn source(&mut self, commit_id: ObjectId, is_whole: bool) -> Result<Rc<Source>> {
        if let Some(known) = self.sources.get(&(commit_id, is_whole)) {
            return Ok(Rc::clone(known));
        }
        let source = match commit_id.is_null() {
            true => Source::of_worktree(self.repo, Instant::now() + LIVE_TIME),
            false => Source::of_commit(self.reader, commit_id, is_whole, self.redactor.as_ref())?,
        };
        // Several commits can have the same problem.
        let place =
            if commit_id.is_null() { String::new() } else { format!(" (commit {})", self.repo.abbreviate(commit_id)) };
        source.problems.iter().for_each(|problem| self.tell(&format!("{problem}{place}")));
        let source = Rc::new(source);
        self.sources.insert((commit_id, is_whole), Rc::clone(&source));
        Ok(source)
    }

    fn file(&mut self, commit_id: ObjectId, of: &Rc<BlamedFile>, is_whole: bool) -> Result<Rc<File>> {
        let key = (commit_id, of.path.clone(), is_whole);
        if let Some(known) = self.files.get(&key) {
            return Ok(Rc::clone(known));
        }
        let source = self.source(commit_id, is_whole)?;
        let file = Rc::new(self.read_file(commit_id, of, is_whole, source)?);
        self.files.insert(key, Rc::clone(&file));
        Ok(file)
    }

    fn read_file(&mut self, commit_id: ObjectId, of: &BlamedFile, is_whole: bool, source: Rc<Source>) -> Result<File> {
        let versions = Versions::of(self.repo, commit_id, of, self.content.as_deref())?;
        let previous_path = of.previous.as_ref().map_or(of.path.as_bstr(), |(_, path)| path.as_bstr());
        let (path, before) = (of.path.to_str_lossy(), previous_path.to_str_lossy());
        let has_file = |path: &str| versions.has_file(self.repo, path);
        let places = Places::new(self.top.as_deref(), has_file);
        let mut steps = steps(&source.talks, &places, [&*path, &*before]);
        let names = steps.iter().map(|step| step.change.edit.path.clone()).collect();
        if commit_id.is_null() || is_whole {
            // What was edited before the file was last committed is in the file already.
            let since = self.repo.last_change(versions.parent_id, previous_path);
            steps.retain(|step| since.is_none_or(|since| !step.is_before(since)));
        }
        let last_talk = steps.iter().rev().find(|step| !step.is_abandoned).map(|step| step.place.0);
        let mut problem = None;
        let deadline = Instant::now() + REPLAY_TIME;
        let origins = match steps.len() {
            0 => Vec::new(),
            _ if versions.is_too_large() || steps.len() > MAX_STEPS => {
                problem = Some("the edits of a large file were not done again, only compared".to_owned());
                Vec::new()
            }
            _ => replayed(&versions.base, &versions.end, &steps, deadline).unwrap_or_else(|| {
                problem = Some("doing the edits again took too long; they were only compared".to_owned());
                Vec::new()
            }),
        };
        let deadline = Instant::now() + TEXT_TIME;
        let index =
            |is_abandoned: bool| texts_of(steps.iter().filter(|step| step.is_abandoned == is_abandoned), deadline);
        let (texts, abandoned) = (index(false), index(true));
        drop(steps);
        drop(places);
        problem.iter().for_each(|problem| self.tell(problem));
        Ok(File { source, names, text: versions.end, keys: OnceCell::new(), origins, texts, abandoned, last_talk })
    }

    /// Explains one line, by its position from 0 in the file.
    fn find(&mut self, commit_id: ObjectId, is_whole: bool, file: &File, at: usize) -> Found {
        let found = |evidence, place: Option<Place>| Found {
            evidence,
            source: Rc::clone(&file.source),
            place: place.map(|(talk, call)| (talk, Some(call))),
            other_path: None,
        };
        if let Some((evidence, place)) = file.find(at) {
            return found(evidence, Some(place));
        }
        if file.keys().get(at).is_some_and(|key| !is_trivial(key)) {
            let others = self.others(commit_id, is_whole, &file.source);
            if let Some((place, position)) = others.files.find(file.keys(), at) {
                let moved = found(Evidence::Moved, Some(place));
                let change = moved.call().and_then(|call| call.changes.get(position >> 24));
                let other_path = change.map(|change| change.edit.path.clone());
                // An earlier edit of this file, whose line no commit had until now.
                if other_path.as_ref().is_some_and(|other| file.names.contains(other)) {
                    return Found { evidence: Evidence::Text, ..moved };
                }
                return Found { other_path, ..moved };
            }
            if let Some((place, _)) = others.commands.find(file.keys(), at) {
                return found(Evidence::Shell, Some(place));
            }
        }
        let session =
            |evidence, talk: Option<usize>| Found { place: talk.map(|talk| (talk, None)), ..found(evidence, None) };
        match file.last_talk {
            Some(talk) => session(Evidence::Path, Some(talk)),
            None => {
                let mut main =
                    (0..file.source.talks.len()).filter(|at| file.source.talks[*at].key.parent_id().is_none());
                let only = main.next().filter(|_| main.next().is_none());
                // The running sessions have no commit that they are recorded on.
                let evidence = if commit_id.is_null() { Evidence::None } else { Evidence::Commit };
                session(evidence, only.filter(|_| !commit_id.is_null()))
            }
        }
    }

    fn others(&mut self, commit_id: ObjectId, is_whole: bool, source: &Source) -> Rc<Others> {
        let entry = match self.others.entry((commit_id, is_whole)) {
            Entry::Occupied(known) => return Rc::clone(known.get()),
            Entry::Vacant(entry) => entry,
        };
        let calls = || {
            let talks = source.talks.iter().enumerate();
            let places =
                talks.flat_map(|(at, talk)| talk.calls.iter().enumerate().map(move |(n, call)| ((at, n), call)));
            places.filter(|(_, call)| !call.is_abandoned)
        };
        let deadline = Instant::now() + TEXT_TIME;
        let (mut files, mut commands) = (Texts::new(deadline), Texts::new(deadline));
        for (place, call) in calls() {
            for (number, change) in call.changes.iter().enumerate() {
                let (old, new) = (change.edit.old.as_deref(), change.edit.new.as_deref());
                files.add(old.unwrap_or_default(), new.unwrap_or_default(), place, number << 24);
            }
            if let Some(command) = &call.command {
                commands.add("", command, place, 0);
            }
        }
        Rc::clone(entry.insert(Rc::new(Others { files, commands })))
    }
}

impl File {
    fn keys(&self) -> &[Vec<u8>] {
        self.keys.get_or_init(|| keys(&self.text))
    }

    /// Finds the call that wrote a line of the file.
    fn find(&self, at: usize) -> Option<(Evidence, Place)> {
        self.find_own(at).or_else(|| {
            // A line that says nothing belongs to what is around it.
            let keys = self.keys();
            let is_said = |at: &usize| !is_trivial(&keys[*at]);
            if at >= keys.len() || is_said(&at) {
                return None;
            }
            let before = (at.saturating_sub(MAX_TRIVIAL)..at).rev().find(is_said).and_then(|at| self.find_own(at));
            let after = (at + 1..keys.len()).take(MAX_TRIVIAL).find(is_said).and_then(|at| self.find_own(at));
            let ((one, place), (other, same)) = before.zip(after)?;
            (place == same).then_some((one.max(other).max(Evidence::Text), place))
        })
    }

    fn find_own(&self, at: usize) -> Option<(Evidence, Place)> {
        if let Some(Origin::Edit(place)) = self.origins.get(at) {
            return Some((Evidence::Replay, *place));
        }
        let keys = self.keys();
        keys.get(at)?;
        let (place, _) = self.texts.find(keys, at).or_else(|| self.abandoned.find(keys, at))?;
        Some((Evidence::Text, place))
    }
}

fn texts_of<'t>(steps: impl Iterator<Item = &'t Step<'t>>, deadline: Instant) -> Texts<Place> {
    let mut texts = Texts::new(deadline);
    for (number, step) in steps.enumerate() {
        let edit = &step.change.edit;
        let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
        // Far enough apart that no line of one edit is next to one of another.
        texts.add(old, new, step.place, number << 24);
    }
    texts
}

/// A file before and after a commit.
struct Versions {
    parent_id: Option<ObjectId>,
    commit_id: Option<ObjectId>,
    base: Vec<u8>,
    end: Vec<u8>,
}

impl Versions {
    fn of(repo: &Repository, commit_id: ObjectId, file: &BlamedFile, content: Option<&[u8]>) -> Result<Self> {
        let is_committed = !commit_id.is_null();
        let parent_id = match is_committed {
            true => repo.commit(commit_id)?.parent_ids.first().copied(),
            false => repo.head()?.commit_id,
        };
        // Of a merge, Git may name the file of another parent.
        let previous = file.previous.as_ref().filter(|(id, _)| Some(*id) == parent_id);
        let before = previous.map_or(file.path.as_bstr(), |(_, path)| path.as_bstr());
        // A shallow clone lacks the parent, and a file that is no blob has no lines.
        let read = |id: ObjectId, path: &BStr| repo.read_blob(repo.blob_at(id, path).ok()??, MAX_TEXT_BYTES).ok();
        let base = parent_id.and_then(|id| read(id, before)).unwrap_or_default();
        let end = match is_committed {
            true => read(commit_id, file.path.as_bstr()).unwrap_or_default(),
            false => content.unwrap_or_default().to_vec(),
        };
        Ok(Versions { parent_id, commit_id: is_committed.then_some(commit_id), base, end })
    }

    fn is_too_large(&self) -> bool {
        self.base.len().max(self.end.len()) as u64 > MAX_FILE_BYTES
    }

    fn has_file(&self, repo: &Repository, path: &str) -> bool {
        let ids = self.commit_id.into_iter().chain(self.parent_id);
        ids.into_iter().any(|id| repo.blob_at(id, path.into()).is_ok_and(|blob| blob.is_some()))
    }
}
