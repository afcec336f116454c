//! Explaining lines: which call wrote each, and how sure that is.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bstr::{BString, ByteSlice as _};

use super::certainty::Certainty;
use super::explanation::{Continued, Explanation};
use super::limit::{Limit, Pace};
use super::recorded_edits::{EditingCommit, EditingCommits, RecordedEdits};
use super::replayed_file::{EditRange, ReplayedFile, TEXT_TIME, path_before};
use super::session_work::{Befores, CallIndex};
use super::source::Source;
use super::texts::{Texts, is_trivial};
use crate::error::Result;
use crate::git::{BlamedFile, BlamedLines, ObjectId, Repository};
use crate::record::{NoteTrees, Reader, redaction};
use crate::redact::Redactor;
use crate::transcript::SessionKey;

/// How many records of other commits are read for the lines of one commit.
const MAX_RECORDS: usize = 64;
/// How long reading what earlier commits recorded may take, over all commits.
const EARLIER_TIME: Duration = Duration::from_millis(500);
/// How many times sessions are read where work is limited instead.
const MAX_SOURCES: usize = 1024;
/// How long reading the transcripts of running sessions may take.
const LIVE_TIME: Duration = Duration::from_secs(10);

/// A commit, a path in it, and whether its sessions are read whole.
type Key = (ObjectId, BString, bool);

/// The files of other commits' records, each with the commit.
type Files = Rc<Vec<(ObjectId, ReplayedFile)>>;

/// Explains lines of commits. The sessions that were read of a commit are kept.
pub struct Explainer<'a, 'r> {
    reader: &'a Reader<'r>,
    repo: &'r Repository,
    redactor: Option<Redactor>,
    /// The content of the file that was asked about, if no commit has it.
    content: Option<Vec<u8>>,
    /// The notes, from when they are first needed.
    trees: Option<Option<NoteTrees>>,
    sources: HashMap<Key, Rc<Source>>,
    /// Contents of files before edits, kept until the edits are done again.
    befores: HashMap<Key, Befores>,
    files: HashMap<Key, Rc<ReplayedFile>>,
    /// Other commits whose records have edits of the file.
    editing_commits: EditingCommits,
    files_of_other_records: HashMap<(ObjectId, BString), Files>,
    /// The lines of other files and of commands, by commit and whether the sessions were read whole.
    others: HashMap<(ObjectId, bool), Rc<Others>>,
    /// Whether prompts that earlier commits recorded are wanted, and those that were found.
    has_prompts: bool,
    continued: HashMap<(ObjectId, SessionKey), Option<Rc<Continued>>>,
    pace: Pace,
    earlier_until: Option<Instant>,
    problems: Vec<String>,
}

/// The lines that the sessions of a commit have written elsewhere.
struct Others {
    files: Texts<CallIndex>,
    commands: Texts<CallIndex>,
}

impl<'a, 'r> Explainer<'a, 'r> {
    /// Returns an explainer. `content` is the content of the file that was asked about, if no commit has it; with a
    /// `redactor`, secrets that an earlier tool has recorded are removed.
    pub fn new(reader: &'a Reader<'r>, content: Option<Vec<u8>>, redactor: Option<Redactor>) -> Self {
        let repo = reader.repo();
        Explainer {
            reader,
            repo,
            redactor,
            content,
            trees: None,
            sources: HashMap::new(),
            befores: HashMap::new(),
            files: HashMap::new(),
            editing_commits: EditingCommits::default(),
            files_of_other_records: HashMap::new(),
            others: HashMap::new(),
            has_prompts: true,
            continued: HashMap::new(),
            pace: Pace::Clock,
            earlier_until: None,
            problems: Vec::new(),
        }
    }

    /// Returns the problems so far: sessions and files that could not be read or were left out.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Limits work instead of time, so that each run gives the same result.
    #[must_use]
    pub fn by_work(self) -> Self {
        Explainer { pace: Pace::Work, ..self }
    }

    /// Leaves out the prompts that earlier commits recorded.
    #[must_use]
    pub fn without_prompts(self) -> Self {
        Explainer { has_prompts: false, ..self }
    }

    /// Takes over the recorded edits that another explainer has read.
    pub fn with_edits(mut self, known: Option<Rc<RecordedEdits>>) -> Self {
        self.editing_commits.edits = known;
        self
    }

    /// Returns the recorded edits; `None` if they were not needed so far.
    pub fn edits(&self) -> Option<Rc<RecordedEdits>> {
        self.editing_commits.edits.clone()
    }

    /// Explains each of some lines that come from one commit.
    ///
    /// # Errors
    ///
    /// If an object cannot be read.
    pub fn explain(&mut self, lines: &BlamedLines) -> Result<Vec<Explanation>> {
        let mut found = self.found(lines)?;
        let has_prompts = self.has_prompts;
        for found in found.iter_mut().filter(|_| has_prompts) {
            let commit_id = found.recorded_on.unwrap_or(lines.commit.commit_id);
            if let Some(session) = found.begun_before() {
                found.continues = self.continued(commit_id, &session.key, session.since.as_deref());
            }
        }
        Ok(found)
    }

    /// Returns the prompt that the first words of a session's record answer.
    fn continued(&mut self, commit_id: ObjectId, key: &SessionKey, since: Option<&str>) -> Option<Rc<Continued>> {
        let known = self.continued.entry((commit_id, key.clone())).or_insert_with(|| {
            let (commit_id, prompt) = self.reader.continued(commit_id, key, since)?;
            let prompt = self.redactor.as_ref().map_or(Cow::Borrowed(&*prompt), |one| one.without_secrets(&prompt));
            let commit_name = self.repo.abbreviate(commit_id);
            Some(Rc::new(Continued { commit_id, commit_name, prompt: prompt.as_ref().into() }))
        });
        known.clone()
    }

    fn found(&mut self, lines: &BlamedLines) -> Result<Vec<Explanation>> {
        let commit_id = lines.commit.commit_id;
        let source = self.source(commit_id, &lines.file, false)?;
        self.tell_of(commit_id, &source);
        let range = lines.orig_line.saturating_sub(1)..(lines.orig_line - 1).saturating_add(lines.count);
        let mut found: Vec<Explanation> = if source.keys.is_empty() {
            let (source, certainty) = (Rc::clone(&source), Certainty::None);
            let (place, is_in_several, problem) = (None, false, None);
            let found = Explanation {
                certainty,
                source,
                place,
                other_path: None,
                recorded_on: None,
                continues: None,
                is_in_several,
                problem,
            };
            vec![found; lines.count]
        } else {
            let file = self.file(commit_id, &lines.file, false)?;
            range.clone().map(|at| self.find(commit_id, false, &file, at)).collect()
        };
        // Of a boundary Git only says that the lines are as old as it, or older. In a shallow clone nothing more can be known.
        let is_boundary = lines.commit.is_boundary();
        // What no commit has is at the boundary too where Git looks back no further.
        let is_old = is_boundary && !commit_id.is_null();
        let before = if is_old { self.repo.commit(commit_id)?.parent_ids } else { Vec::new() };
        if before.iter().any(|id| self.repo.has_object(*id)) {
            for found in found.iter_mut().filter(|found| !found.certainty.names_a_call()) {
                (found.certainty, found.place, found.is_in_several) = (Certainty::None, None, false);
            }
            return Ok(found);
        }
        // A file that was edited before the commit before, but not committed by it, is in what that one recorded.
        let is_weak = |found: &Explanation| found.certainty > Certainty::Replay;
        if source.has_more_before && found.iter().any(is_weak) && self.has_time_for_earlier() {
            let whole = self.file(commit_id, &lines.file, true)?;
            self.tell_of(commit_id, &whole.source);
            for (at, found) in range.clone().zip(&mut found) {
                let earlier = if is_weak(found) { Some(self.find(commit_id, true, &whole, at)) } else { None };
                if let Some(earlier) = earlier.filter(|earlier| earlier.certainty < found.certainty) {
                    *found = earlier;
                }
            }
        }
        if found.iter().any(|found| !found.certainty.names_a_call()) {
            self.look_in_other_records(commit_id, &lines.file, range, &mut found)?;
        }
        Ok(found)
    }

    fn has_time_for_earlier(&mut self) -> bool {
        let has_time = match self.pace {
            Pace::Clock => Instant::now() < *self.earlier_until.get_or_insert_with(|| Instant::now() + EARLIER_TIME),
            Pace::Work => self.sources.len() < MAX_SOURCES,
        };
        if !has_time {
            self.tell("time ran out: some lines were looked for only in the record of their own commit");
        }
        has_time
    }

    fn tell(&mut self, problem: &str) {
        if !self.problems.iter().any(|known| known == problem) {
            self.problems.push(problem.to_owned());
        }
    }

    /// Adds the problems of a commit's sessions.
    fn tell_of(&mut self, commit_id: ObjectId, source: &Source) {
        for problem in &source.problems {
            // Several commits can have the same problem.
            match commit_id.is_null() {
                true => self.tell(problem),
                false => self.tell(&format!("{problem} (commit {})", self.repo.abbreviate(commit_id))),
            }
        }
    }

    fn source(&mut self, commit_id: ObjectId, of: &BlamedFile, is_whole: bool) -> Result<Rc<Source>> {
        let key = (commit_id, of.path.clone(), is_whole);
        if let Some(known) = self.sources.get(&key) {
            return Ok(Rc::clone(known));
        }
        let (path, before) = (of.path.to_str_lossy(), path_before(of).to_str_lossy());
        let names = [&*path, &*before].map(|path| path.rsplit('/').next().unwrap_or(path));
        let trees = self.trees.get_or_insert_with(|| self.reader.trees()).as_ref();
        let (source, befores) = match commit_id.is_null() {
            true => Source::of_worktree(self.repo, Instant::now() + LIVE_TIME, names),
            false => Source::of_commit(self.reader, trees, commit_id, is_whole, self.redactor.as_ref(), names)?,
        };
        let source = Rc::new(source);
        self.befores.insert(key.clone(), befores);
        self.sources.insert(key, Rc::clone(&source));
        Ok(source)
    }

    fn file(&mut self, commit_id: ObjectId, of: &Rc<BlamedFile>, is_whole: bool) -> Result<Rc<ReplayedFile>> {
        let key = (commit_id, of.path.clone(), is_whole);
        if let Some(known) = self.files.get(&key) {
            return Ok(Rc::clone(known));
        }
        let source = self.source(commit_id, of, is_whole)?;
        let befores = self.befores.remove(&key).unwrap_or_default();
        let edit_range = if commit_id.is_null() || is_whole { EditRange::SinceLastChange } else { EditRange::Recorded };
        let file = Rc::new(self.read_file(commit_id, of, edit_range, (source, &befores))?);
        self.files.insert(key, Rc::clone(&file));
        Ok(file)
    }

    fn read_file(
        &mut self,
        commit_id: ObjectId,
        of: &BlamedFile,
        edit_range: EditRange,
        edits: (Rc<Source>, &Befores),
    ) -> Result<ReplayedFile> {
        let kind = (edit_range, self.pace);
        let without_secrets = |text: &str| without_secrets(text, self.redactor.as_ref(), self.repo);
        let content = self.content.as_deref();
        let file = ReplayedFile::read(self.repo, content, (commit_id, of), kind, edits, without_secrets)?;
        file.problem.into_iter().for_each(|problem| self.tell(problem));
        Ok(file)
    }

    /// Explains lines of a file, by their positions from 0, that nothing has explained which their commit recorded.
    fn look_in_other_records(
        &mut self,
        commit_id: ObjectId,
        of: &Rc<BlamedFile>,
        range: Range<usize>,
        found: &mut [Explanation],
    ) -> Result<()> {
        let files = self.files_of_other_records(commit_id, of)?;
        for (at, found) in range.zip(found).filter(|(_, found)| !found.certainty.names_a_call()) {
            let there = files.iter().find_map(|(recorded_on, file)| Some((recorded_on, file, file.find(at)?.1)));
            if let Some((recorded_on, file, (work, call))) = there {
                *found = Explanation {
                    certainty: Certainty::Moved,
                    source: Rc::clone(&file.source),
                    place: Some((work, Some(call))),
                    other_path: None,
                    recorded_on: Some(*recorded_on),
                    continues: None,
                    is_in_several: false,
                    problem: file.problem,
                };
            }
        }
        Ok(())
    }

    /// Does the edits again that were made before a commit and recorded on another one, on the file that the commit has
    /// changed.
    fn files_of_other_records(&mut self, commit_id: ObjectId, of: &Rc<BlamedFile>) -> Result<Files> {
        let key = (commit_id, of.path.clone());
        if let Some(known) = self.files_of_other_records.get(&key) {
            return Ok(Rc::clone(known));
        }
        let (parent_id, moment) = match commit_id.is_null() {
            true => (self.repo.head()?.commit_id, i64::MAX),
            false => {
                let commit = self.repo.commit(commit_id)?;
                (commit.parent_ids.first().copied(), commit.committer.time.seconds)
            }
        };
        let base = parent_id.and_then(|id| self.repo.blob_at(id, path_before(of)).ok()?);
        let mut files = Vec::new();
        // Where the file was another one, it was changed in between: by what was edited until then.
        let is_wanted = |one: &&EditingCommit| one.commit_id != commit_id && one.time <= moment && one.blob_id == base;
        let recorded = self.editing_commits.of_file(self.reader, of)?;
        for one in recorded.iter().filter(is_wanted).take(MAX_RECORDS) {
            if !self.has_time_for_earlier() {
                break;
            }
            let source = self.source(one.commit_id, of, false)?;
            let edit_range = if one.is_change { EditRange::OnlyTexts(moment) } else { EditRange::Until(moment) };
            files.push((one.commit_id, self.read_file(commit_id, of, edit_range, (source, &Befores::new()))?));
        }
        let files = Rc::new(files);
        self.files_of_other_records.insert(key, Rc::clone(&files));
        Ok(files)
    }

    /// Explains one line, by its position from 0 in the file.
    fn find(&mut self, commit_id: ObjectId, is_whole: bool, file: &ReplayedFile, at: usize) -> Explanation {
        let found = |certainty, place: Option<CallIndex>| Explanation {
            certainty,
            source: Rc::clone(&file.source),
            place: place.map(|(work, call)| (work, Some(call))),
            other_path: None,
            recorded_on: None,
            continues: None,
            is_in_several: false,
            problem: file.problem,
        };
        if let Some((certainty, place)) = file.find(at) {
            return found(certainty, Some(place));
        }
        if file.keys().get(at).is_some_and(|key| !is_trivial(key)) {
            let others = self.others(commit_id, is_whole, &file.source);
            if let Some((place, position)) = others.files.find(file.keys(), at) {
                let moved = found(Certainty::Moved, Some(place));
                let change = moved.call().and_then(|call| call.changes.get(position >> 24));
                let other_path = change.map(|change| change.edit.path.as_str());
                let is_own = other_path.is_some_and(|other| file.names.contains(other));
                let other_path = other_path.map(|path| self.path_from_top(path).to_owned());
                match is_own {
                    // An earlier edit of this file, whose line no commit had until now.
                    true if !file.is_seen(at) && !file.is_undone(place) => {
                        return Explanation { certainty: Certainty::Text, ..moved };
                    }
                    true => {}
                    false => return Explanation { other_path, ..moved },
                }
            }
            if let Some((place, _)) = others.commands.find(file.keys(), at) {
                return found(Certainty::Shell, Some(place));
            }
        }
        let session = |certainty, work: Option<usize>| Explanation {
            place: work.map(|work| (work, None)),
            ..found(certainty, None)
        };
        match file.last_session {
            Some(work) => Explanation { is_in_several: file.is_in_several(at), ..session(Certainty::Path, Some(work)) },
            None => {
                let mut main =
                    (0..file.source.sessions.len()).filter(|at| file.source.sessions[*at].key.parent_id().is_none());
                let only = main.next().filter(|_| main.next().is_none());
                // The running sessions have no commit that they are recorded on.
                let certainty = if commit_id.is_null() { Certainty::None } else { Certainty::Commit };
                session(certainty, only.filter(|_| !commit_id.is_null()))
            }
        }
    }

    /// Returns a path from the top of the working tree, if it is below that.
    fn path_from_top<'p>(&self, path: &'p str) -> &'p str {
        let top = self.repo.worktree().and_then(Path::to_str);
        top.and_then(|top| path.strip_prefix(top)?.strip_prefix('/')).unwrap_or(path)
    }

    fn others(&mut self, commit_id: ObjectId, is_whole: bool, source: &Source) -> Rc<Others> {
        let entry = match self.others.entry((commit_id, is_whole)) {
            Entry::Occupied(known) => return Rc::clone(known.get()),
            Entry::Vacant(entry) => entry,
        };
        let calls = || {
            let sessions = source.sessions.iter().enumerate();
            let places =
                sessions.flat_map(|(at, work)| work.calls.iter().enumerate().map(move |(n, call)| ((at, n), call)));
            places.filter(|(_, call)| !call.is_abandoned)
        };
        let limit = Limit::new(self.pace, TEXT_TIME);
        let (mut files, mut commands) = (Texts::new(limit.clone()), Texts::new(limit));
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

/// Returns a file as it would be recorded, with as many lines as it has; `None` if it has no secrets.
fn without_secrets(text: &str, redactor: Option<&Redactor>, repo: &Repository) -> Option<String> {
    let own = if redactor.is_none() { redaction::redactor(repo).ok() } else { None };
    let redactor = redactor.or(own.as_ref())?;
    let Cow::Owned(whole) = redactor.without_secrets(text) else { return None };
    if whole.lines().count() == text.lines().count() {
        return Some(whole);
    }
    // A key of several lines is one mark.
    let lines = text.lines().map(|line| format!("{}\n", redactor.without_secrets(line)));
    Some(lines.collect())
}
