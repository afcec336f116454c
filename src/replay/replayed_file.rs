//! One file of a commit, with the call that wrote each of its lines, found by doing the edits of sessions again.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::time::Duration;

use bstr::{BStr, ByteSlice as _};

use super::MAX_FILE_BYTES;
use super::certainty::Certainty;
use super::limit::{Limit, Pace};
use super::paths::Places;
use super::session_work::{Befores, CallIndex};
use super::source::Source;
use super::steps::{Step, replayed, steps};
use super::texts::{Texts, is_trivial, keys};
use super::traced_file::LineOrigin;
use crate::error::Result;
use crate::git::{BlamedFile, ObjectId, Repository};

/// The largest file that is read at all.
const MAX_TEXT_BYTES: u64 = 64 << 20;
/// The most edits of one file that are done again.
const MAX_STEPS: usize = 1000;
/// How long doing the edits of one file again may take.
const REPLAY_TIME: Duration = Duration::from_millis(200);
/// How many lines that say nothing may stand between a line and the next that says something.
const MAX_TRIVIAL: usize = 100;
/// How long comparing the texts of edits may take before it gets coarser; only texts made for that take so long.
pub(super) const TEXT_TIME: Duration = Duration::from_secs(2);

/// The beginning of the placeholder for a secret in a recorded edit.
const REDACTED: &str = "[REDACTED:";

/// Which edits of the sessions are done again.
#[derive(Clone, Copy)]
pub(super) enum EditRange {
    /// Those that the commit has recorded.
    Recorded,
    /// Those since the file was last committed.
    SinceLastChange,
    /// Those up to a moment, in seconds since the epoch, all of which no commit has had so far.
    Until(i64),
    /// None, since commits may have had them; their texts are compared.
    OnlyTexts(i64),
}

/// One file of a commit, with the calls that wrote its lines.
pub(super) struct ReplayedFile {
    pub(super) source: Rc<Source>,
    /// The names that edits have for it.
    pub(super) names: HashSet<String>,
    /// The file; without secrets if they were taken out of its edits.
    text: Vec<u8>,
    /// The lines of the file without white space. Only lines that doing the edits again does not explain need them.
    keys: OnceCell<Vec<Vec<u8>>>,
    /// The origin of each line; empty if the edits were not done again.
    origins: Vec<LineOrigin<CallIndex>>,
    texts: Texts<CallIndex>,
    /// The texts of calls whose branch of the conversation was taken back, and of calls that were interrupted.
    abandoned: Texts<CallIndex>,
    /// The texts of edits that commands have undone. Somebody may have typed a line of them again.
    undone: Texts<CallIndex>,
    /// The calls of these edits.
    undone_calls: HashSet<CallIndex>,
    /// The last session that edited the file.
    pub(super) last_session: Option<usize>,
    /// Why the edits were not done again.
    pub(super) problem: Option<&'static str>,
}

impl ReplayedFile {
    /// Does the edits of a file in the sessions of `source` again, on the file as it was before a commit. `content` is the
    /// file where no commit has it.
    pub fn read(
        repo: &Repository,
        content: Option<&[u8]>,
        (commit_id, of): (ObjectId, &BlamedFile),
        (edit_range, pace): (EditRange, Pace),
        (source, befores): (Rc<Source>, &Befores),
        without_secrets: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Self> {
        if source.sessions.iter().all(|work| work.calls.is_empty()) {
            return Ok(ReplayedFile::without_edits(source, pace));
        }
        let versions = Versions::of(repo, commit_id, of, content)?;
        let (path, before) = (of.path.to_str_lossy(), path_before(of).to_str_lossy());
        let top = repo.worktree().map(|top| top.to_string_lossy().into_owned());
        let has_file = |path: &str| versions.has_file(repo, path);
        let places = Places::new(top.as_deref(), has_file);
        let until = match edit_range {
            EditRange::Recorded | EditRange::SinceLastChange => None,
            EditRange::Until(moment) | EditRange::OnlyTexts(moment) => Some(moment),
        };
        let mut steps = steps(&source.sessions, &places, [&*path, &*before], befores, until);
        let names = steps.iter().map(|step| step.change.edit.path.clone()).collect();
        if matches!(edit_range, EditRange::SinceLastChange) {
            // What was edited before the file was last committed is in the file already.
            let since = repo.last_change(versions.parent_id, path_before(of));
            steps.retain(|step| since.is_none_or(|since| !step.is_before(since)));
        }
        let base = if steps.is_empty() { Vec::new() } else { versions.base(repo, of) };
        let last_session = steps.iter().rev().find(|step| step.is_valid()).map(|step| step.place.0);
        let mut problem = None;
        let limit = Limit::new(pace, REPLAY_TIME);
        let origins = match steps.len() {
            0 => Vec::new(),
            _ if matches!(edit_range, EditRange::OnlyTexts(_)) => Vec::new(),
            _ if versions.is_too_large(&base) || steps.len() > MAX_STEPS => {
                problem = Some("the edits of a large file were not done again, only compared");
                Vec::new()
            }
            _ => replayed(&base, &versions.end, &steps, limit).unwrap_or_else(|| {
                problem = Some("doing the edits again took too long; they were only compared");
                Vec::new()
            }),
        };
        let limit = Limit::new(pace, TEXT_TIME);
        let index =
            |is_wanted: fn(&Step<'_>) -> bool| texts_of(steps.iter().filter(|step| is_wanted(step)), limit.clone());
        let (texts, undone) = (index(|step| step.is_valid()), index(|step| step.is_undone));
        let abandoned = index(|step| step.is_abandoned && !step.is_undone);
        let undone_calls = steps.iter().filter(|step| step.is_undone).map(|step| step.place).collect();
        let has_redacted = |step: &Step<'_>| step.change.edit.new.as_deref().is_some_and(|new| new.contains(REDACTED));
        let is_redacted = !versions.is_too_large(&base) && steps.iter().any(has_redacted);
        drop(steps);
        drop(places);
        // The secrets of the file are not in the edits. What was compared so far is the file as it is.
        let redacted = if is_redacted { without_secrets(&versions.end.to_str_lossy()) } else { None };
        let (text, keys) = (redacted.map_or(versions.end, String::into_bytes), OnceCell::new());
        Ok(ReplayedFile {
            source,
            names,
            text,
            keys,
            origins,
            texts,
            abandoned,
            undone,
            undone_calls,
            last_session,
            problem,
        })
    }

    /// Returns the file of a commit whose sessions have done nothing, or whose words are not here.
    fn without_edits(source: Rc<Source>, pace: Pace) -> Self {
        let texts = || Texts::new(Limit::new(pace, TEXT_TIME));
        ReplayedFile {
            source,
            names: HashSet::new(),
            text: Vec::new(),
            keys: OnceCell::new(),
            origins: Vec::new(),
            texts: texts(),
            abandoned: texts(),
            undone: texts(),
            undone_calls: HashSet::new(),
            last_session: None,
            problem: None,
        }
    }

    /// Returns the lines of the file without white space.
    pub fn keys(&self) -> &[Vec<u8>] {
        self.keys.get_or_init(|| keys(&self.text))
    }

    /// Finds the call that wrote a line of the file.
    pub fn find(&self, at: usize) -> Option<(Certainty, CallIndex)> {
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
            (place == same).then_some((one.max(other).max(Certainty::Text), place))
        })
    }

    fn find_own(&self, at: usize) -> Option<(Certainty, CallIndex)> {
        if let Some(LineOrigin::Edit(place)) = self.origins.get(at) {
            return Some((Certainty::Replay, *place));
        }
        let keys = self.keys();
        keys.get(at)?;
        let own = self.texts.find(keys, at).filter(|_| !self.is_seen(at));
        let (place, _) = own.or_else(|| self.abandoned.find(keys, at)).or_else(|| self.undone.find_run(keys, at))?;
        Some((Certainty::Text, place))
    }

    /// Says whether several edits of the file have the line, and it is not known which of them wrote it.
    pub fn is_in_several(&self, at: usize) -> bool {
        !self.is_seen(at) && self.keys().get(at).is_some_and(|key| self.texts.is_in_several(key))
    }

    /// Says whether a command has undone what a call wrote in the file.
    pub fn is_undone(&self, call: CallIndex) -> bool {
        self.undone_calls.contains(&call)
    }

    /// Says whether an edit found the line, and none had written it: another edit with the same text is not its writer.
    pub fn is_seen(&self, at: usize) -> bool {
        self.origins.get(at) == Some(&LineOrigin::Seen)
    }
}

fn texts_of<'t>(steps: impl Iterator<Item = &'t Step<'t>>, limit: Limit) -> Texts<CallIndex> {
    let mut texts = Texts::new(limit);
    for (number, step) in steps.enumerate() {
        let edit = &step.change.edit;
        let (old, new) = (edit.old.as_deref().unwrap_or_default(), edit.new.as_deref().unwrap_or_default());
        // Far enough apart that no line of one edit is next to one of another.
        texts.add(old, new, step.place, number << 24);
    }
    texts
}

/// Returns the path that a file had before its commit.
pub(super) fn path_before(of: &BlamedFile) -> &BStr {
    of.previous.as_ref().map_or(of.path.as_bstr(), |(_, path)| path.as_bstr())
}

/// A file after a commit, and where it was before.
struct Versions {
    parent_id: Option<ObjectId>,
    commit_id: Option<ObjectId>,
    end: Vec<u8>,
}

impl Versions {
    fn of(repo: &Repository, commit_id: ObjectId, file: &BlamedFile, content: Option<&[u8]>) -> Result<Self> {
        let is_committed = !commit_id.is_null();
        let parent_id = match is_committed {
            true => repo.commit(commit_id)?.parent_ids.first().copied(),
            false => repo.head()?.commit_id,
        };
        let end = match is_committed {
            true => read(repo, commit_id, file.path.as_bstr()),
            false => content.unwrap_or_default().to_vec(),
        };
        Ok(Versions { parent_id, commit_id: is_committed.then_some(commit_id), end })
    }

    /// Reads the file as it was before the commit.
    fn base(&self, repo: &Repository, file: &BlamedFile) -> Vec<u8> {
        let Some(parent_id) = self.parent_id else { return Vec::new() };
        // Of a merge, Git may name the file of another parent.
        let previous = file.previous.as_ref().filter(|(id, _)| *id == parent_id);
        let before = previous.map_or(file.path.as_bstr(), |(_, path)| path.as_bstr());
        read(repo, parent_id, before)
    }

    /// Says whether the file, or what it was before, is too large for its edits to be done again.
    fn is_too_large(&self, base: &[u8]) -> bool {
        base.len().max(self.end.len()) as u64 > MAX_FILE_BYTES
    }

    fn has_file(&self, repo: &Repository, path: &str) -> bool {
        let ids = self.commit_id.into_iter().chain(self.parent_id);
        ids.into_iter().any(|id| repo.blob_at(id, path.into()).is_ok_and(|blob| blob.is_some()))
    }
}

/// Returns a file of a commit. A shallow clone lacks some commits, and a file that is no blob has no lines.
fn read(repo: &Repository, commit_id: ObjectId, path: &BStr) -> Vec<u8> {
    let blob_id = repo.blob_at(commit_id, path).ok().flatten();
    blob_id.and_then(|id| repo.read_blob(id, MAX_TEXT_BYTES).ok()).unwrap_or_default()
}
