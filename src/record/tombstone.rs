//! Our own purge marks: one for each purged segment and session, shared with the notes, so that no other
//! clone brings them back.
//!
//! Marks are files in the tree of [`REF`]: `segments/<two hex>/<segment id>`, which says what replaced the segment, and
//! `sessions/<session>`. They contain none of the purged words. For marks of other people see `bars`.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Evidence, Note, Record};
use crate::archive::{self, Archive, Header};
use crate::error::Result;
use crate::git::{ObjectId, Replaced, Repository, Tip};
use crate::transcript::SessionKey;

/// The ref that holds the marks.
pub const REF: &str = "refs/shiftlog/purged";
/// The file that marks a session.
const SESSION_MARK: &[u8] = b"{\"shiftlog\":1}\n";
/// The largest mark that is read, in bytes.
pub const MAX_MARK_BYTES: u64 = 4096;

/// The replacement of a purged segment.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Replacement {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The segment that replaces it, as a hex blob id; `None` if nothing of its transcript is left.
    pub became: Option<String>,
    /// The length of the transcript at the replacing segment.
    pub bytes: u64,
    /// SHA-256, in hex, of the transcript at the replacing segment.
    pub sha256: String,
    /// The file name of the session; `None` for a text that is no transcript, and in marks of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whether words of the segment were purged here, and not because of a mark of others. Marks of earlier versions do not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The segments by which others replaced it, as hex blob ids, according to their marks that were here when it was purged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// A purge mark.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Mark {
    /// A segment.
    Segment(ObjectId),
    /// A session, by its file name.
    Session(String),
}

/// All our purge marks.
#[derive(Clone, Debug, Default)]
pub struct Tombstones {
    /// The replacements of purged segments.
    pub segments: HashMap<ObjectId, Replacement>,
    /// The file names of purged sessions, of which nothing may be stored again.
    pub sessions: HashSet<String>,
}

impl Tombstones {
    /// Reads the marks of a repository. Costs one ref lookup if there are none.
    ///
    /// # Errors
    ///
    /// If the ref or its tree cannot be read. A single unreadable mark counts as a segment without replacement.
    pub fn read(repo: &Repository) -> Result<Self> {
        let mut tombstones = Tombstones::default();
        for (path, blob_id) in Archive::new(repo).listing(REF)? {
            match mark_of_path(repo, &path) {
                Some(Mark::Segment(segment_id)) => {
                    let text = repo.read_blob(blob_id, MAX_MARK_BYTES).unwrap_or_default();
                    tombstones
                        .segments
                        .insert(segment_id, serde_json::from_slice(&text).unwrap_or(Replacement::nothing()));
                }
                Some(Mark::Session(name)) => {
                    tombstones.sessions.insert(name);
                }
                None => {}
            }
        }
        Ok(tombstones)
    }

    /// Says whether `mark` is among these.
    pub fn has(&self, mark: &Mark) -> bool {
        match mark {
            Mark::Segment(id) => self.segments.contains_key(id),
            Mark::Session(name) => self.sessions.contains(name),
        }
    }

    /// Says whether there are no marks.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.sessions.is_empty()
    }

    /// Says whether a session, or its parent session, is purged: then nothing of it may be stored.
    pub fn bars(&self, session: &SessionKey) -> bool {
        let parent = session.parent_id().map(|id| SessionKey::new(&session.agent, id));
        self.sessions.contains(&session.file_name())
            || parent.is_some_and(|parent| self.sessions.contains(&parent.file_name()))
    }

    /// Says whether a segment at a path of an archive is purged, or its session.
    pub fn bars_path(&self, path: &str, segment_id: ObjectId) -> bool {
        self.segments.contains_key(&segment_id)
            || archive::session_of_path(path).is_some_and(|session| self.bars(&session))
    }

    /// Says whether words of a session were purged: it, or a segment of it, is marked, or the archive has a segment that
    /// replaced a marked one. The agent's own file may still have those words.
    ///
    /// Reads trees only, so that a lost segment does not hide it. `named` are further segments of the session.
    ///
    /// # Errors
    ///
    /// If the archive's tree cannot be read.
    pub fn concern(&self, repo: &Repository, session: &SessionKey, named: &[ObjectId]) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let replaced = self.segments.values().filter_map(|became| repo.parse_id(became.became.as_deref()?));
        let replaced: HashSet<ObjectId> = replaced.collect();
        let is_marked = |id: &ObjectId| self.segments.contains_key(id) || replaced.contains(id);
        Ok(self.bars(session)
            || named.iter().any(is_marked)
            || Archive::new(repo).segments_of(session)?.iter().any(is_marked))
    }

    /// Adds these marks to the ref.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn write(&self, repo: &Repository, deadline: Instant) -> Result<()> {
        let mut files = Vec::new();
        for (segment_id, became) in &self.segments {
            let hex = segment_id.to_string();
            files.push((format!("segments/{}/{hex}", &hex[..2]), write_replacement(repo, became)?));
        }
        for name in &self.sessions {
            files.push((format!("sessions/{name}"), repo.write_blob(SESSION_MARK)?));
        }
        repo.update_ref(REF, "shiftlog: purge\n", deadline, |tip| {
            let root = tip.map_or(repo.empty_tree_id(), |tip| tip.tree_id);
            Archive::new(repo).edited(root, files.clone(), &[]).map(Some)
        })?;
        Ok(())
    }

    /// Returns a record with purged segments replaced; `None` if nothing of it is left.
    pub fn changed(&self, repo: &Repository, mut record: Record) -> Option<Record> {
        if self.bars(&record.key()) {
            return None;
        }
        let became = |hex: &str| repo.parse_id(hex).and_then(|id| self.final_of(repo, id));
        if let Some(since) = record.since.as_deref().and_then(became) {
            record.since = since.became;
        }
        if let Some(through) = became(&record.through) {
            record.through = through.became?;
            (record.bytes, record.sha256) = (through.bytes, through.sha256);
            // They may contain purged words. The process that purges keeps their other words in the notes it rewrites.
            (record.prompt, record.summary, record.summary_time) = (None, None, None);
            record.edits.clear();
        }
        if let Some(rules) = record.rules.as_mut() {
            rules.map_texts(|hex| became(hex).map(|text| Some((text.became?, text.bytes, text.sha256))));
        }
        (record.since.as_deref() != Some(&*record.through)).then_some(record)
    }

    /// Returns evidence with a purged text replaced; `None` if nothing of the text is left.
    fn changed_evidence(&self, repo: &Repository, evidence: Evidence) -> Option<Evidence> {
        if self.bars(&evidence.key()) {
            return None;
        }
        let blob = evidence.blob.as_deref().and_then(|hex| repo.parse_id(hex));
        match blob.and_then(|id| self.final_of(repo, id)) {
            Some(text) => Some(evidence.with_text(text.became?, text.bytes, text.sha256)),
            None => Some(evidence),
        }
    }

    /// Returns the final replacement of a segment: a replacement can have been purged in turn. `None` if the segment is
    /// not purged.
    pub fn final_of(&self, repo: &Repository, segment_id: ObjectId) -> Option<Replacement> {
        let mut became = self.segments.get(&segment_id)?;
        for _ in 0..self.segments.len() {
            let next = became.became.as_deref().and_then(|hex| repo.parse_id(hex));
            match next.and_then(|id| self.segments.get(&id)) {
                Some(later) => became = later,
                None => break,
            }
        }
        Some(became.clone())
    }

    /// Removes purged records from a note and replaces purged segments in the others. Returns whether the note changed.
    pub fn apply(&self, repo: &Repository, note: &mut Note) -> bool {
        if self.is_empty() {
            return false;
        }
        let before = note.clone();
        note.map_records(|record| self.changed(repo, record));
        note.map_evidence(|evidence| self.changed_evidence(repo, evidence));
        note.map_newer(|newer| {
            let changed = self.changed(repo, newer.record.clone())?;
            if changed == newer.record { Some(newer) } else { newer.with(&changed) }
        });
        note.retain(|unit| match unit {
            crate::record::Unit::Earlier(document, _) => !self.bars(&document.key()),
            _ => true,
        });
        *note != before
    }
}

impl Replacement {
    /// Returns the replacement by a segment with a header.
    pub fn by(segment_id: ObjectId, header: &Header) -> Self {
        Replacement {
            shiftlog: 1,
            became: Some(segment_id.to_string()),
            bytes: header.total_bytes(),
            sha256: header.sha256.clone(),
            session: Some(SessionKey::new(&header.agent, &header.session).file_name()),
            ..Replacement::nothing()
        }
    }

    /// Returns the replacement that says that nothing is left.
    pub fn nothing() -> Self {
        let (sha256, others) = (String::new(), Vec::new());
        Replacement { shiftlog: 1, became: None, bytes: 0, sha256, session: None, own: false, others }
    }
}

fn write_replacement(repo: &Repository, became: &Replacement) -> Result<ObjectId> {
    let text = serde_json::to_string(became).expect("a mark has only strings and numbers");
    repo.write_blob(format!("{text}\n").as_bytes())
}

/// Returns the marks in the tree of a ref. Reads trees only.
///
/// # Errors
///
/// If a tree cannot be read.
pub fn marks_in(repo: &Repository, tree_id: ObjectId) -> Result<HashSet<Mark>> {
    let listed = Archive::new(repo).listing_of(tree_id)?;
    Ok(listed.into_iter().filter_map(|(path, _)| mark_of_path(repo, &path)).collect())
}

/// A mark whose file is lost. Its path still tells what it bars.
#[derive(Clone, Debug)]
pub struct LostMark {
    /// The path in the tree.
    pub path: String,
    /// The blob that is lost.
    pub blob_id: ObjectId,
    mark: Mark,
}

/// Returns the marks whose files are missing or damaged.
///
/// # Errors
///
/// If the ref or its tree cannot be read.
pub fn lost_marks(repo: &Repository) -> Result<Vec<LostMark>> {
    let mut lost = Vec::new();
    for (path, blob_id) in Archive::new(repo).listing(REF)? {
        if let Some(mark) = mark_of_path(repo, &path).filter(|_| repo.is_lost(blob_id, MAX_MARK_BYTES)) {
            lost.push(LostMark { path, blob_id, mark });
        }
    }
    Ok(lost)
}

/// Writes lost marks anew, which then say that nothing is left of what they bar, and drops the ref's history: 'git gc' fails at
/// a missing object.
///
/// # Errors
///
/// As [`Repository::replace_ref`].
pub fn write_anew(repo: &Repository, lost: &[LostMark], deadline: Instant) -> Result<()> {
    let mut files = Vec::new();
    for lost in lost {
        let blob_id = match lost.mark {
            Mark::Segment(_) => write_replacement(repo, &Replacement::nothing())?,
            Mark::Session(_) => repo.write_blob(SESSION_MARK)?,
        };
        files.push((lost.path.clone(), blob_id));
    }
    repo.replace_ref(REF, "shiftlog: write lost marks anew\n", deadline, |tip| {
        let tree_id = Archive::new(repo).edited(tip.tree_id, files.clone(), &[])?;
        Ok(Some(Replaced { carried_tree_id: tree_id, tree_id }))
    })?;
    repo.forget_reflog(REF)
}

/// Returns the mark of a path in the tree; `None` for a path that we would not write.
pub fn mark_of_path(repo: &Repository, path: &str) -> Option<Mark> {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["segments", two, hex] if hex.starts_with(two) => Some(Mark::Segment(repo.parse_id(hex)?)),
        ["sessions", name] => {
            let is_name = !name.starts_with('.') && name.len() <= 250 && name.bytes().all(archive::is_name_byte);
            is_name.then(|| Mark::Session((*name).to_owned()))
        }
        _ => None,
    }
}

/// Returns the commit to push so that a remote with the marks `theirs` has ours as well; `None` if it has them already.
///
/// The commit is not signed, since it also carries marks of others.
///
/// # Errors
///
/// If a tree cannot be read, or the commit cannot be written.
pub fn joined(repo: &Repository, ours: Tip, theirs: Tip) -> Result<Option<ObjectId>> {
    let archive = Archive::new(repo);
    let known: HashSet<String> = archive.listing_of(theirs.tree_id)?.into_iter().map(|(path, _)| path).collect();
    let mut new = archive.listing_of(ours.tree_id)?;
    new.retain(|(path, _)| !known.contains(path));
    if new.is_empty() {
        return Ok(None);
    }
    if repo.merge_base(ours.commit_id, theirs.commit_id)? == Some(theirs.commit_id) {
        return Ok(Some(ours.commit_id));
    }
    let tree_id = archive.edited(theirs.tree_id, new, &[])?;
    let parents = [theirs.commit_id, ours.commit_id];
    repo.carry(REF, "shiftlog: merge what was purged\n", tree_id, &parents).map(Some)
}
