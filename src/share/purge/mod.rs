//! Purging: removing words from the archive, the notes, their history and reflogs, and the object database.
//!
//! Read [`plan`], then [`carry_out`]. If a part of a session is purged, the rest is stored again as new segments with new
//! digests. A purge mark says what replaced each segment; see `tombstone`. A journal is written first; see `journal`: a
//! purge that was killed is reported, and a later command finishes it.

mod again;
mod clean;
mod copies;
mod journal;
mod live;
mod received;
mod rewrite;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use self::again::{is_fetched_again, remove_fetched_again};
use self::clean::text_without_matches;
pub use self::journal::{carry_out, finish_interrupted, is_unfinished};
pub use self::received::{Received, named_by_others};
use crate::archive::{self, Archive, Header, text};
use crate::error::{Error, Kind, Result};
use crate::git::date::Time;
use crate::git::{Holder, ObjectId, Repository};
use crate::notes;
use crate::progress::Tell;
use crate::record::contested::Contested;
use crate::record::tombstone::{Replacement, Tombstones};
use crate::record::{EARLIER_REF, Evidence, Note, Reader, Record, Unit};
use crate::redact::Redactor;
use crate::told::Told;
use crate::transcript::SessionKey;

/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What to purge.
pub enum Target {
    /// The increments and the evidence of these commits.
    Commits(Vec<ObjectId>),
    /// The whole sessions with this id, with their sub-agents. They are never stored again.
    Session(String),
    /// The matches of a redactor, everywhere; each is replaced by a placeholder.
    Matches(Redactor),
    /// Everything recorded before this time, in seconds since the epoch.
    Before(i64),
    /// What the purge marks of others name; with `only_signed`, only marks with a good signature by a trusted key.
    Received {
        /// Whether marks without such a signature are ignored.
        only_signed: bool,
    },
}

/// What a purge would do.
#[derive(Default)]
pub struct Removal<'t> {
    /// The number of segments that are removed.
    pub dropped: usize,
    /// The number of segments that are replaced: a part of them is purged, or they follow such a segment.
    pub changed: usize,
    /// The number of notes that change.
    pub notes: usize,
    /// The commits whose notes change.
    pub noted: Vec<ObjectId>,
    /// The records, by commit and session, that had a good signature. Only what takes their place is signed: others can have
    /// written the other records.
    pub signed: HashSet<(ObjectId, SessionKey)>,
    /// The number of notes of which something is left.
    pub notes_left: usize,
    /// The sessions concerned.
    pub sessions: BTreeSet<SessionKey>,
    /// The number of conversations of which words are not here. Their records go; of their words only the last segment is
    /// known, and marked.
    pub absent: usize,
    /// Whether texts of instruction files or of evidence had words that are removed.
    pub has_texts: bool,
    /// The evidence that is removed: its kind and name.
    pub evidence: BTreeSet<String>,
    /// How many segments of sessions may have words that others have purged, though no mark names these segments.
    pub doubtful: BTreeMap<SessionKey, usize>,
    /// The sessions that stay and may have the same words, each with the session that it begins like.
    pub copies: BTreeMap<SessionKey, SessionKey>,
    /// The sessions with matches that are not recorded yet: what records them next has these. Only a preview looks for them.
    pub unrecorded: BTreeSet<SessionKey>,
    /// Segments that are damaged, so that nobody knows whether they, or those before them, have words that are to go.
    pub unreadable: Vec<ObjectId>,
    /// The marks of others, by their maker: `removed by <name> on <date>`.
    pub received: BTreeMap<String, Received>,
    marks: Tombstones,
    /// The segments that others have purged, too, with their replacements.
    contested: Vec<Contested>,
    /// Segments that lose words of their own. Those behind them are replaced, too, with the words that they had.
    cut: HashSet<ObjectId>,
    /// Commits whose documents of earlier tools are removed.
    earlier_commits: HashSet<ObjectId>,
    earlier_before: Option<i64>,
    redactor: Option<&'t Redactor>,
    /// Whether the replacing segments are not written.
    is_preview: bool,
}

/// The result of a purge.
#[derive(Debug, Default)]
pub struct Purged {
    /// How many objects were deleted.
    pub objects: usize,
    /// Objects that could not be deleted.
    pub left: Vec<ObjectId>,
    /// Temporary files of Git in the object database that may hold purged objects. A program that was killed has left them, or a
    /// running one needs them.
    pub temporary: Vec<PathBuf>,
    /// Other refs, such as a copy of our notes under another name, detached `HEAD`s and entries of reflogs that still reach purged
    /// objects.
    pub holders: Vec<Holder>,
    /// Purged objects that are kept because something else has them: a file in a commit, the index or a stash.
    pub kept: Vec<ObjectId>,
    /// Files of agents that still have the purged words.
    pub agent_files: Vec<PathBuf>,
    /// Damaged files that a repair has moved out of the way, and that may hold purged words.
    pub moved_aside: Vec<PathBuf>,
    /// The refs of ours that remotes had, by remote, as they call them.
    pub held: BTreeMap<String, BTreeSet<String>>,
}

impl Purged {
    /// Says whether everything is gone that was to go.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.holders.is_empty()
    }
}

impl Removal<'_> {
    /// Says whether there is nothing to purge.
    pub fn is_empty(&self) -> bool {
        self.dropped == 0 && self.changed == 0 && self.notes == 0 && !self.received.values().any(|from| from.is_taken)
    }
}

/// Returns the notes refs that a purge cleans: the wanted one, that of an earlier tool, and all others that we have written:
/// their records name the same words.
fn notes_refs(repo: &Repository, notes_ref: &str) -> Vec<String> {
    let mut names = vec![notes_ref.to_owned(), EARLIER_REF.to_owned()];
    for name in repo.written_notes_refs() {
        if !names.contains(&name) && matches!(repo.tip(&name), Ok(Some(_))) {
            names.push(name);
        }
    }
    names
}

pub(super) fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Plans a purge. Writes the replacing segments, but no ref reaches them yet.
///
/// Reads every note and every segment; `tell` gets how many sessions are read.
///
/// # Errors
///
/// If a note or a segment cannot be read, or a segment not be written.
pub fn plan<'t>(repo: &Repository, notes_ref: &str, target: &'t Target, tell: Tell<'_>) -> Result<Removal<'t>> {
    fill(Removal::default(), repo, notes_ref, target, tell)
}

/// Plans a purge as [`plan`] does, to show it: writes nothing, so it cannot be carried out.
///
/// # Errors
///
/// If a note or a segment cannot be read, or if nothing may be removed from this repository.
pub fn preview<'t>(repo: &Repository, notes_ref: &str, target: &'t Target, tell: Tell<'_>) -> Result<Removal<'t>> {
    if repo.has_precious_objects() {
        let why = "no object may be removed from this repository: extensions.preciousObjects is set";
        return Err(Error::new(Kind::Unsupported, why).hint("other repositories may borrow its objects"));
    }
    fill(Removal { is_preview: true, ..Removal::default() }, repo, notes_ref, target, tell)
}

fn fill<'t>(
    mut plan: Removal<'t>,
    repo: &Repository,
    notes_ref: &str,
    target: &'t Target,
    tell: Tell<'_>,
) -> Result<Removal<'t>> {
    let wanted = plan.choose(repo, notes_ref, target)?;
    plan.rewrite(repo, target, &wanted, tell)?;
    if let Target::Received { .. } = target {
        plan.mark_contested(repo);
        let replacing: HashSet<String> = plan.marks.segments.values().filter_map(|mark| mark.became.clone()).collect();
        // Segments that we lack may still be fetched. What is stored now can be what others have in the place of it.
        for segment_id in wanted.into_iter().filter(|id| !replacing.contains(&id.to_string())) {
            plan.marks.segments.entry(segment_id).or_insert_with(Replacement::nothing);
        }
    }
    if let Target::Matches(redactor) = target {
        plan.redactor = Some(redactor);
        if plan.is_preview {
            plan.unrecorded = live::unrecorded_matches(repo, redactor);
        }
    }
    if let Target::Session(_) | Target::Commits(_) = target {
        plan.copies = copies::copies(repo, &plan.sessions)?;
    }
    plan.drop_unnamed_texts(repo, notes_ref)?;
    let is_own = !matches!(target, Target::Received { .. });
    plan.marks.segments.values_mut().for_each(|mark| mark.own = is_own);
    plan.remember_replacements(repo)?;
    for name in notes_refs(repo, notes_ref) {
        for entry in notes::list(repo, &name)? {
            let bytes = notes::read(repo, entry.note_blob_id)?;
            let after = plan.changed_note(repo, entry.annotated_id, &bytes);
            plan.notes += usize::from(after.is_some());
            plan.noted.extend((after.is_some() && name == notes_ref).then_some(entry.annotated_id));
            plan.notes_left += usize::from(after.is_none_or(|after| !after.is_empty()));
        }
    }
    Ok(plan)
}

/// Returns the ids of all segments in our archive.
fn stored(repo: &Repository) -> Result<HashSet<ObjectId>> {
    Ok(Archive::new(repo).listing(archive::REF)?.into_iter().map(|(_, id)| id).collect())
}

impl Removal<'_> {
    /// Marks what a target names in notes and among sessions, and returns the segments that it names.
    fn choose(&mut self, repo: &Repository, notes_ref: &str, target: &Target) -> Result<HashSet<ObjectId>> {
        match target {
            Target::Received { only_signed } => return self.choose_received(repo, *only_signed),
            Target::Commits(commit_ids) => return self.choose_commits(repo, notes_ref, commit_ids),
            Target::Session(id) => {
                let listing = Archive::new(repo).listing(archive::REF)?;
                let known = listing.into_iter().filter_map(|(path, _)| archive::session_of_path(&path));
                for key in known.chain(noted_sessions(repo, notes_ref)?) {
                    if key.id == *id || key.parent_id() == Some(id) {
                        self.marks.sessions.insert(key.file_name());
                    }
                }
            }
            Target::Before(time) => self.choose_old(repo, notes_ref, *time)?,
            Target::Matches(_) => {}
        }
        Ok(HashSet::new())
    }

    fn choose_commits(
        &mut self,
        repo: &Repository,
        notes_ref: &str,
        commit_ids: &[ObjectId],
    ) -> Result<HashSet<ObjectId>> {
        let (archive, stored, mut wanted) = (Archive::new(repo), stored(repo)?, HashSet::new());
        for commit_id in commit_ids {
            self.earlier_commits.insert(*commit_id);
            let note = Note::parse(&notes::get(repo, notes_ref, *commit_id)?.unwrap_or_default());
            note.evidence().iter().for_each(|evidence| self.bar_evidence(evidence));
            for record in note.records_of_all_versions() {
                let parse = |hex: &str| repo.parse_id(hex);
                let Some(through) = parse(&record.through) else { continue };
                let since = record.since.as_deref().and_then(parse);
                // Anyone can write a record that names the segments of another session.
                let (links, problem) = archive.only(&record.key()).chain(through, since);
                let is_broken = problem.as_ref().is_some_and(|problem| problem.kind() == Kind::Missing);
                // Nobody knows what comes before a damaged segment: it may be of an earlier commit.
                let next = links.last().and_then(|link| link.header.parent.as_deref());
                let end = next.map_or(Some(through), parse).filter(|id| problem.is_some() && Some(*id) != since);
                let is_damaged = |id: &ObjectId| archive.read(*id).is_err_and(|error| error.kind() == Kind::Corrupt);
                let is_its_own = |id: &ObjectId| archive.segments_of(&record.key()).is_ok_and(|own| own.contains(id));
                if let Some(damaged) = end.filter(|id| is_damaged(id) && is_its_own(id)) {
                    self.unreadable.push(damaged);
                    continue;
                }
                wanted.extend(links.iter().map(|link| link.segment_id).filter(|id| Some(*id) != since));
                self.absent += usize::from(self.mark_absent(&stored, through, record) || is_broken);
            }
        }
        Ok(wanted)
    }

    fn choose_old(&mut self, repo: &Repository, notes_ref: &str, time: i64) -> Result<()> {
        self.earlier_before = Some(time);
        let (stored, mut old, mut later) = (stored(repo)?, Vec::new(), HashSet::new());
        for entry in notes::list(repo, notes_ref)? {
            let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
            for evidence in note.units().iter().filter_map(Unit::evidence) {
                match is_before(&evidence, time) {
                    true => old.push(evidence),
                    false => drop(later.insert(evidence.key())),
                }
            }
            for record in note.records_of_all_versions() {
                let is_old = Time::parse_rfc3339(&record.time).is_some_and(|at| at.seconds < time);
                if let Some(through) = repo.parse_id(&record.through).filter(|_| is_old) {
                    self.absent += usize::from(self.mark_absent(&stored, through, record));
                }
            }
        }
        old.iter().filter(|one| !later.contains(&one.key())).for_each(|one| self.bar_evidence(one));
        Ok(())
    }

    /// Stores each session that has a wanted segment again without it, or without what matches.
    fn rewrite(
        &mut self,
        repo: &Repository,
        target: &Target,
        wanted: &HashSet<ObjectId>,
        tell: Tell<'_>,
    ) -> Result<()> {
        let mut by_session: BTreeMap<String, Vec<ObjectId>> = BTreeMap::new();
        for (path, segment_id) in Archive::new(repo).listing(archive::REF)? {
            let session = path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
            by_session.entry(session).or_default().push(segment_id);
        }
        for (number, segment_ids) in by_session.values().enumerate() {
            tell("Reading sessions", number, by_session.len());
            let is_wanted = |segment_id: ObjectId, header: &Header| match target {
                _ if self.marks.bars(&SessionKey::new(&header.agent, &header.session)) => true,
                Target::Session(_) => false,
                Target::Commits(_) | Target::Received { .. } => wanted.contains(&segment_id),
                // A text that is no transcript may be named by later records, too.
                Target::Before(time) => {
                    let is_old = Time::parse_rfc3339(&header.time).is_some_and(|at| at.seconds < *time);
                    is_old && !text::is_text(&SessionKey::new(&header.agent, &header.session))
                }
                Target::Matches(_) => false,
            };
            let redactor = if let Target::Matches(redactor) = target { Some(redactor) } else { None };
            let archive = Archive::new(repo);
            let store = |header: &Header, body: &[u8]| match self.is_preview {
                true => archive.id_of(header, body),
                false => archive.write(header, body),
            };
            let outcome = rewrite::rewrite(repo, store, segment_ids, is_wanted, redactor)?;
            self.dropped += outcome.dropped;
            self.changed += outcome.changed;
            self.has_texts |= outcome.changed > 0 && outcome.session.as_ref().is_some_and(text::is_text);
            let is_changed = |session: &SessionKey| outcome.dropped + outcome.changed > 0 && !text::is_text(session);
            self.sessions.extend(outcome.session.filter(is_changed));
            self.marks.segments.extend(outcome.became);
            self.cut.extend(outcome.cut);
            self.unreadable.extend(outcome.unreadable);
        }
        // What a mark or the name of a session removes need not be read.
        let barred = Archive::new(repo).listing(archive::REF)?.into_iter();
        let barred = barred.filter(|(path, id)| self.marks.bars_path(path, *id)).map(|(_, id)| id);
        let barred: HashSet<ObjectId> = barred.collect();
        self.unreadable.retain(|id| !barred.contains(id));
        self.unreadable.sort_unstable();
        self.unreadable.dedup();
        Ok(())
    }
}

/// Returns the sessions that notes name.
fn noted_sessions(repo: &Repository, notes_ref: &str) -> Result<Vec<SessionKey>> {
    let mut sessions = Vec::new();
    for name in [notes_ref, EARLIER_REF] {
        for entry in notes::list(repo, name)? {
            let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
            sessions.extend(note.units().iter().filter_map(Unit::key));
            sessions.extend(note.evidence().iter().map(Evidence::key));
        }
    }
    Ok(sessions)
}

/// Says whether the text of evidence was written before a time.
fn is_before(evidence: &Evidence, time: i64) -> bool {
    Time::parse_rfc3339(&evidence.time).is_some_and(|at| at.seconds < time)
}

impl Removal<'_> {
    /// Marks evidence as purged: its lines go from all notes, and its text, if it is stored.
    fn bar_evidence(&mut self, evidence: &Evidence) {
        self.marks.sessions.insert(evidence.key().file_name());
        self.evidence.insert(format!("{} {}", evidence.evidence, evidence.name));
    }

    /// Marks the last segment of a record as purged if it is not here, and says whether it is not: the record goes all the
    /// same.
    fn mark_absent(&mut self, stored: &HashSet<ObjectId>, through: ObjectId, record: &Record) -> bool {
        let is_absent = !stored.contains(&through);
        if is_absent {
            let session = Some(record.key().file_name());
            self.marks.segments.insert(through, Replacement { session, ..Replacement::nothing() });
            self.sessions.insert(record.key());
        }
        is_absent
    }

    /// Adds the texts of instruction files and of evidence that only lines name which the purge removes, and old ones that no
    /// line names.
    fn drop_unnamed_texts(&mut self, repo: &Repository, notes_ref: &str) -> Result<()> {
        let (mut before, mut after) = (HashSet::new(), HashSet::new());
        for name in notes_refs(repo, notes_ref) {
            for entry in notes::list(repo, &name)? {
                let bytes = notes::read(repo, entry.note_blob_id)?;
                texts_named(repo, &bytes, &mut before);
                let changed = self.changed_note(repo, entry.annotated_id, &bytes);
                texts_named(repo, changed.as_ref().unwrap_or(&bytes), &mut after);
            }
        }
        let listing = Archive::new(repo).listing(archive::REF)?;
        let is_text = |path: &str| archive::session_of_path(path).is_some_and(|session| text::is_text(&session));
        for (_, segment_id) in listing.into_iter().filter(|(path, _)| is_text(path)) {
            let time =
                || Archive::new(repo).header(segment_id).ok().and_then(|header| Time::parse_rfc3339(&header.time));
            let is_old = || self.earlier_before.is_some_and(|end| time().is_some_and(|time| time.seconds < end));
            let is_unnamed = !after.contains(&segment_id) && (before.contains(&segment_id) || is_old());
            if is_unnamed && !self.marks.segments.contains_key(&segment_id) {
                self.marks.segments.insert(segment_id, Replacement::nothing());
                self.dropped += 1;
            }
        }
        Ok(())
    }

    /// Says whether all that a record adds to its session stays.
    fn keeps_words(&self, repo: &Repository, record: &Record) -> bool {
        let Some(through) = repo.parse_id(&record.through) else { return false };
        let since = record.since.as_deref().and_then(|hex| repo.parse_id(hex));
        let (links, problem) = Archive::new(repo).only(&record.key()).chain(through, since);
        let is_cut = |segment_id: ObjectId| Some(segment_id) != since && self.cut.contains(&segment_id);
        problem.is_none() && !links.iter().any(|link| is_cut(link.segment_id))
    }

    /// Returns the new bytes of a note; `None` if it does not change.
    fn changed_note(&self, repo: &Repository, commit_id: ObjectId, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut note = Note::parse_unjoined(bytes);
        let mut has_changed = false;
        let before: HashMap<(SessionKey, String), Record> =
            note.records().map(|record| ((record.key(), record.time.clone()), record.clone())).collect();
        if self.marks.apply(repo, &mut note) {
            has_changed = true;
            // `apply` removes prompt, summary and files. With a redactor, their other words may stay; without, the prompt and the
            // files of a record whose own words all stay. One that lost words counts those that it still has.
            note.map_records(|mut record| {
                let before = before.get(&(record.key(), record.time.clone()));
                let Some(before) = before.filter(|before| before.through != record.through) else {
                    return Some(record);
                };
                if self.redactor.is_some() || self.keeps_words(repo, before) {
                    record.prompt.clone_from(&before.prompt);
                    record.edits.clone_from(&before.edits);
                } else {
                    record = Reader::new(repo, None).counted_anew(commit_id, record);
                    let prompt = Reader::new(repo, None).prompt_anew(&record);
                    record.prompt = prompt.filter(|_| before.prompt.is_some());
                }
                if self.redactor.is_some() {
                    if !self.keeps_words(repo, before) {
                        // A pattern for a whole line does not fit where the lines of the prompt are joined.
                        let prompt = Reader::new(repo, None).prompt_anew(&record);
                        record.prompt = prompt.or(record.prompt).filter(|_| before.prompt.is_some());
                    }
                    record.summary.clone_from(&before.summary);
                    record.summary_time.clone_from(&before.summary_time);
                }
                Some(record)
            });
        }
        let is_kept = |unit: &Unit| match unit {
            Unit::Earlier(document, _) => {
                let is_old = |time: i64| Time::parse_rfc3339(&document.timestamp).is_some_and(|at| at.seconds < time);
                !self.earlier_commits.contains(&commit_id) && !self.earlier_before.is_some_and(is_old)
            }
            unit => !unit.evidence().zip(self.earlier_before).is_some_and(|(evidence, end)| is_before(&evidence, end)),
        };
        let count = note.units().len();
        note.retain(is_kept);
        has_changed |= note.units().len() != count;
        let mut after = note.to_bytes();
        if let Some(redactor) = self.redactor {
            let texts = note.units().iter().map(|unit| text_without_matches(unit, redactor));
            let clean: Vec<u8> = texts.flat_map(|text| [text, b"\n".to_vec()].concat()).collect();
            has_changed |= clean != after;
            after = clean;
        }
        has_changed.then_some(after)
    }
}

/// Adds the segments with texts of instruction files and of evidence that a note names.
fn texts_named(repo: &Repository, note: &[u8], named: &mut HashSet<ObjectId>) {
    let note = Note::parse_unjoined(note);
    for record in note.records_of_all_versions() {
        named.extend(record.rules.iter().flat_map(Told::texts).filter_map(|hex| repo.parse_id(&hex)));
    }
    named.extend(note.evidence().iter().filter_map(|evidence| repo.parse_id(evidence.blob.as_deref()?)));
}
