//! Checking the archive, the notes and their history.
//!
//! Read [`check`]. `repair` repairs what can be repaired.

mod texts;

use std::collections::{BTreeMap, HashMap, HashSet};

use sha2::{Digest as _, Sha256};

use super::damage;
use super::lost::lost_records;
pub use super::problem::{Checked, Flaw, Problem};
use crate::archive::{self, Archive, hex};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Order, Range, Repository};
use crate::notes;
use crate::progress::Tell;
use crate::record::{Note, Record, Unit, may_have_more, tombstone};
use crate::transcript::SessionKey;

/// Checks the archive, the notes under `notes_ref` and their history.
///
/// Costs a read and a decompression of each segment, and a look at each commit of the notes' history. `tell` gets how many
/// segments and notes are checked.
///
/// # Errors
///
/// If a ref or a tree cannot be read at all.
pub fn check(repo: &Repository, notes_ref: &str, tell: Tell<'_>) -> Result<Checked> {
    let mut checker = Checker {
        repo,
        archive: Archive::new(repo),
        checked: Checked::default(),
        segments: HashMap::new(),
        sessions: HashMap::new(),
        reported: HashSet::new(),
        reread_bytes: 0,
        has_remotes: !repo.remotes().is_empty(),
        may_have_more: may_have_more(repo),
    };
    for (name, detail) in damage::find(repo, notes_ref) {
        checker.add(Flaw::DamagedRef, name, None, None, detail);
    }
    if !checker.checked.problems.is_empty() {
        return Ok(checker.checked);
    }
    for name in [tombstone::REF, archive::REF, notes_ref] {
        if repo.lost_tree(name)?.is_some() {
            checker.add(Flaw::LostRef, name.to_owned(), None, None, "it was replaced or deleted".to_owned());
        }
    }
    let mut by_session: BTreeMap<String, Vec<(String, ObjectId)>> = BTreeMap::new();
    for (path, segment_id) in checker.archive.listing(archive::REF)? {
        let directory = path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
        checker.segments.insert(segment_id, Segment { is_ours: true, ..Segment::default() });
        by_session.entry(directory).or_default().push((path, segment_id));
    }
    for listed in by_session.into_values() {
        let ids: Vec<ObjectId> = listed.iter().map(|(_, id)| *id).collect();
        let ordered = if ids.len() > 1 { checker.archive.in_chain_order(&ids) } else { ids };
        let mut paths: HashMap<ObjectId, Vec<String>> = HashMap::new();
        listed.into_iter().for_each(|(path, id)| paths.entry(id).or_default().push(path));
        for segment_id in ordered {
            for path in paths.remove(&segment_id).unwrap_or_default() {
                tell("Checking segments", checker.checked.segments, checker.segments.len());
                checker.segment(&path, segment_id);
            }
        }
    }
    // Segments of fetched archives exist too.
    for name in repo.fetched_refs("sessions") {
        match checker.archive.listing(&name) {
            Ok(listed) => {
                for (_, segment_id) in listed {
                    checker.segments.entry(segment_id).or_default();
                }
            }
            // A damaged fetched archive must not prevent the check of ours.
            Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => {
                checker.add(Flaw::BadEntry, name, None, None, error.to_string());
            }
            Err(error) => return Err(error),
        }
    }
    checker.notes(notes_ref, tell)?;
    checker.history(notes_ref)?;
    let lost_marks = tombstone::lost_marks(repo)?;
    let is_lost_mark = |misfit: &str| lost_marks.iter().any(|lost| misfit.ends_with(&format!(" at '{}'", lost.path)));
    // Unreadable refs are reported above.
    for (ref_name, misfit) in crate::share::check::own(repo, notes_ref).unwrap_or_default() {
        if ref_name == tombstone::REF && is_lost_mark(&misfit) {
            continue;
        }
        checker.add(Flaw::BadEntry, ref_name, None, None, misfit);
    }
    for lost in &lost_marks {
        let detail = format!("a purge mark cannot be read: '{}'", lost.path);
        checker.add(Flaw::LostObject, tombstone::REF.to_owned(), None, None, detail);
    }
    for path in crate::capture::pending::list(&crate::capture::State::new(&repo.common_dir())) {
        checker.add(Flaw::Pending, path.display().to_string(), None, None, String::new());
    }
    checker.checked.problems.sort_by(|a, b| (a.flaw, &a.subject).cmp(&(b.flaw, &b.subject)));
    Ok(checker.checked)
}

/// How many segments are followed back to find the end of a kept prefix.
const MAX_STEPS_BACK: usize = 1000;
/// How many bytes of segments may be read a second time.
const MAX_REREAD_BYTES: u64 = 1 << 30;

/// A segment that was read, or that a fetched archive lists.
#[derive(Default)]
struct Segment {
    /// The length and the state of SHA-256 after it; `None` if unknown.
    end: Option<(u64, Sha256)>,
    /// The length and the state of SHA-256 before its own bytes.
    start: Option<(u64, Sha256)>,
    parent: Option<ObjectId>,
    /// The number of its session; `None` if it was not read.
    session: Option<usize>,
    is_ours: bool,
}

struct Checker<'r> {
    repo: &'r Repository,
    archive: Archive<'r>,
    checked: Checked,
    segments: HashMap<ObjectId, Segment>,
    /// The sessions in our archive, numbered.
    sessions: HashMap<SessionKey, usize>,
    reported: HashSet<ObjectId>,
    /// How many bytes of segments were read a second time.
    reread_bytes: u64,
    has_remotes: bool,
    may_have_more: bool,
}

impl Checker<'_> {
    fn add(
        &mut self,
        flaw: Flaw,
        subject: String,
        commit_id: Option<ObjectId>,
        session: Option<SessionKey>,
        detail: String,
    ) {
        self.checked.problems.push(Problem { flaw, subject, commit_id, session, detail });
    }

    /// Checks a segment of our archive. A parent of the same session was checked before.
    fn segment(&mut self, path: &str, segment_id: ObjectId) {
        self.checked.segments += 1;
        if !self.repo.has_object(segment_id) && self.repo.is_partial() {
            return;
        }
        let (header, body) = match self.archive.read(segment_id) {
            Ok(read) => read,
            Err(error) if error.kind() == Kind::Unsupported => {
                self.checked.newer += 1;
                return;
            }
            Err(error) => {
                let flaw = if error.kind() == Kind::Missing { Flaw::MissingSegment } else { Flaw::DamagedSegment };
                self.reported.insert(segment_id);
                // The session is only known from the path.
                let session = archive::session_of_path(path);
                self.add(flaw, segment_id.to_string(), None, session, error.to_string());
                return;
            }
        };
        let key = SessionKey::new(&header.agent, &header.session);
        let next_number = self.sessions.len();
        let session = Some(*self.sessions.entry(key.clone()).or_insert(next_number));
        if !archive::is_path_of(path, &key, segment_id) {
            self.add(Flaw::WrongPath, segment_id.to_string(), None, Some(key.clone()), path.to_owned());
        }
        let parent = header.parent.as_deref().and_then(|hex| self.repo.parse_id(hex));
        let known_length = parent.map_or(Some(0), |parent| Some(self.segments.get(&parent)?.end.as_ref()?.0));
        if known_length.is_some_and(|length| header.keep > length) {
            self.reported.insert(segment_id);
            let detail = "it keeps more than there is before it".to_owned();
            self.add(Flaw::DamagedSegment, segment_id.to_string(), None, Some(key), detail);
            return;
        }
        let session_before = parent.and_then(|parent| self.segments.get(&parent)?.session);
        if session_before.is_some() && session_before != session {
            self.reported.insert(segment_id);
            let detail = "the segment before it is of another session".to_owned();
            self.add(Flaw::DamagedSegment, segment_id.to_string(), None, Some(key), detail);
            return;
        }
        let kept = match parent {
            None => (header.keep == 0).then(Sha256::new),
            Some(parent) if self.segments.contains_key(&parent) => self.kept(parent, header.keep),
            Some(parent) => {
                self.missing(parent, None, &key, &format!("segment {segment_id} follows it"));
                None
            }
        };
        let start = kept.map(|digest| (header.keep, digest));
        let digest = start.as_ref().map(|(_, digest)| digest.clone().chain_update(&body));
        match digest {
            Some(digest) if hex(&digest.clone().finalize()) != header.sha256 => {
                self.reported.insert(segment_id);
                let detail = "the transcript does not match its digest".to_owned();
                self.add(Flaw::DamagedSegment, segment_id.to_string(), None, Some(key), detail);
            }
            Some(digest) => {
                let end = Some((header.total_bytes(), digest));
                self.segments.insert(segment_id, Segment { end, start, parent, session, is_ours: true });
            }
            None => {}
        }
    }

    /// Returns the state of SHA-256 after the first `keep` bytes of the transcript at a segment; `None` if unknown.
    /// Where an agent had rewritten its file, reads the segment again in which the kept prefix ends.
    fn kept(&mut self, segment_id: ObjectId, keep: u64) -> Option<Sha256> {
        if keep == 0 {
            return Some(Sha256::new());
        }
        let mut at = self.segments.get(&segment_id)?;
        let mut at_id = segment_id;
        let (length, digest) = at.end.as_ref()?;
        match keep.cmp(length) {
            std::cmp::Ordering::Equal => return Some(digest.clone()),
            std::cmp::Ordering::Greater => return None,
            std::cmp::Ordering::Less => {}
        }
        for _ in 0..MAX_STEPS_BACK {
            let (start, digest) = at.start.as_ref()?;
            if *start <= keep {
                let wanted = usize::try_from(keep - start).ok()?;
                if wanted == 0 {
                    return Some(digest.clone());
                }
                let digest = digest.clone();
                let (_, body) = self.archive.read(at_id).ok()?;
                // Many segments can keep a prefix that ends in the same large segment.
                self.reread_bytes = self.reread_bytes.saturating_add(body.len() as u64);
                if self.reread_bytes > MAX_REREAD_BYTES {
                    self.checked.unchecked += 1;
                    return None;
                }
                return Some(digest.chain_update(body.get(..wanted)?));
            }
            at_id = at.parent?;
            at = self.segments.get(&at_id)?;
        }
        self.checked.unchecked += 1;
        None
    }

    /// Reports a segment that our archive lacks, once.
    fn missing(&mut self, segment_id: ObjectId, commit_id: Option<ObjectId>, session: &SessionKey, why: &str) {
        if !self.reported.insert(segment_id) {
            return;
        }
        let is_newer = |error: crate::error::Error| error.kind() == Kind::Unsupported;
        let is_here = self.archive.header(segment_id).map_or_else(is_newer, |_| true);
        let flaw = if is_here { Flaw::UnarchivedSegment } else { Flaw::MissingSegment };
        self.add(flaw, segment_id.to_string(), commit_id, Some(session.clone()), why.to_owned());
    }

    fn notes(&mut self, notes_ref: &str, tell: Tell<'_>) -> Result<()> {
        let mut entries = notes::list(self.repo, notes_ref)?;
        let unreached = self.unreached(&entries)?;
        let absent = self.repo.absent(unreached.iter().copied().collect());
        self.checked.notes = entries.len();
        for commit_id in entries.iter().map(|entry| entry.annotated_id) {
            if absent.contains(&commit_id) {
                self.checked.absent.push(commit_id);
            } else if unreached.contains(&commit_id) {
                self.checked.unreachable.push(commit_id);
            }
        }
        // Many commits can have the same note; it is read once.
        entries.sort_by_key(|entry| entry.note_blob_id);
        let mut last: Option<(ObjectId, Result<Note>)> = None;
        for (number, entry) in entries.into_iter().enumerate() {
            let notes::Entry { annotated_id: commit_id, note_blob_id: blob_id } = entry;
            tell("Checking notes", number, self.checked.notes);
            let read = || (blob_id, notes::read(self.repo, blob_id).map(|bytes| Note::parse_for_showing(&bytes)));
            let same = last.take().filter(|(last_id, _)| *last_id == blob_id);
            let note = match &last.insert(same.unwrap_or_else(read)).1 {
                Ok(note) => note,
                Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Missing) => {
                    self.add(Flaw::BadRecord, commit_id.to_string(), Some(commit_id), None, error.to_string());
                    continue;
                }
                Err(error) => return Err(Error::new(error.kind(), error.to_string())),
            };
            for problem in note.problems() {
                self.add(Flaw::BadRecord, commit_id.to_string(), Some(commit_id), None, problem.clone());
            }
            if note.is_damaged() {
                self.add(Flaw::DamagedNote, commit_id.to_string(), Some(commit_id), None, String::new());
            }
            for evidence in note.evidence() {
                match evidence.newer_notice() {
                    Some(_) => self.checked.newer += 1,
                    None => self.evidence(commit_id, &evidence),
                }
            }
            for unit in note.units() {
                self.checked.records += usize::from(!matches!(unit, Unit::Foreign(_)));
                match unit {
                    Unit::Record(record) => self.record(commit_id, record),
                    Unit::Newer(_) => self.checked.newer += 1,
                    Unit::Foreign(line)
                        if looks_like_a_record(line) && unit.evidence().is_none() && !note.is_damaged() =>
                    {
                        self.add(Flaw::BadRecord, commit_id.to_string(), Some(commit_id), None, String::new());
                    }
                    Unit::Earlier(document, _) => match document.transcript() {
                        Ok((_, None)) => {}
                        Ok((_, Some(why))) => self.wrong(commit_id, document.key(), why),
                        Err(error) => self.wrong(commit_id, document.key(), error.to_string()),
                    },
                    Unit::Foreign(_) => {}
                }
            }
        }
        Ok(())
    }

    fn wrong(&mut self, commit_id: ObjectId, key: SessionKey, why: String) {
        self.add(Flaw::WrongRecord, commit_id.to_string(), Some(commit_id), Some(key), why);
    }

    fn record(&mut self, commit_id: ObjectId, record: &Record) {
        let key = record.key();
        let Some(through) = self.repo.parse_id(&record.through) else {
            return self.wrong(commit_id, key, format!("'{}' is no object id", record.through));
        };
        let since = record.since.as_deref().map(|hex| (hex, self.repo.parse_id(hex)));
        if let Some((hex, None)) = since {
            return self.wrong(commit_id, key, format!("'{hex}' is no object id"));
        }
        for segment_id in since.and_then(|(_, id)| id).into_iter().chain([through]) {
            if self.segments.contains_key(&segment_id) {
                continue;
            }
            // Our archive has nothing of this session, whose notes alone were shared, or no words that came later.
            let is_elsewhere = self.has_remotes && (!self.sessions.contains_key(&key) || self.may_have_more);
            if is_elsewhere && !self.repo.has_object(segment_id) {
                self.checked.elsewhere += 1;
                return;
            }
            self.missing(segment_id, Some(commit_id), &key, &format!("the note of {commit_id} names it"));
        }
        self.rules(commit_id, record);
        let Some(segment) = self.segments.get(&through) else { return };
        if segment.session.is_some_and(|session| self.sessions.get(&key) != Some(&session)) {
            return self.wrong(commit_id, key, "its segments are of another session".into());
        }
        match &segment.end {
            Some((length, digest)) => {
                let sha256 = hex(&digest.clone().finalize());
                if *length != record.bytes || sha256 != record.sha256 {
                    self.wrong(commit_id, key, "it tells of another transcript than its segments hold".into());
                }
            }
            None if segment.is_ours => {}
            None => self.checked.elsewhere += usize::from(!self.repo.has_object(through)),
        }
    }

    /// Returns the noted commits that no ref reaches.
    fn unreached(&self, entries: &[notes::Entry]) -> Result<HashSet<ObjectId>> {
        let mut left: HashSet<ObjectId> = entries.iter().map(|entry| entry.annotated_id).collect();
        let mut range = Range::default();
        range.tips.extend(self.repo.branches(true, true)?.into_iter().map(|branch| branch.commit_id));
        range.tips.extend(self.repo.head()?.commit_id);
        for name in self.repo.ref_names("refs/") {
            let is_ours = name.starts_with("refs/notes/") || name.starts_with("refs/shiftlog/");
            if !is_ours && !name.starts_with("refs/heads/") && !name.starts_with("refs/remotes/") {
                // A tag can name something that is no commit.
                let _ = self.repo.add_to_range(&mut range, &name);
            }
        }
        for step in self.repo.walk(&range, Order::AsFound)? {
            left.remove(&step?.commit_id);
            if left.is_empty() {
                break;
            }
        }
        Ok(left)
    }

    /// Reports records that stock Git lost: of two processes that write at once, the later commit removes what the earlier
    /// one wrote for other commits.
    fn history(&mut self, notes_ref: &str) -> Result<()> {
        let lost = match lost_records(self.repo, notes_ref) {
            Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => {
                self.add(Flaw::DamagedRef, notes_ref.to_owned(), None, None, format!("its history: {error}"));
                return Ok(());
            }
            lost => lost?,
        };
        for blob_id in lost.earlier_blob_ids {
            let detail = format!("an earlier note cannot be read: {blob_id}");
            self.add(Flaw::LostObject, notes_ref.to_owned(), None, None, detail);
        }
        for (commit_id, lines) in lost.records {
            let detail = format!("{} of them", lines.len());
            self.add(Flaw::LostRecord, commit_id.to_string(), Some(commit_id), None, detail);
        }
        Ok(())
    }
}

/// Says whether a line begins as a record of ours does.
fn looks_like_a_record(line: &[u8]) -> bool {
    line.starts_with(b"{\"shiftlog\":1,")
}
