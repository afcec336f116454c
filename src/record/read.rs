//! Reading: the records of a commit, and the conversation that a record stands for.
//!
//! Read [`Reader::note`] and [`Reader::conversation`]. Notes are looked for under our own ref, under what was fetched
//! from others, and under the ref of an earlier tool; they count as one.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::bars::Bars;
use super::tombstone::{Mark, Tombstones};
use super::{Hidden, Note, Unit, bounds};
use crate::archive::{Archive, Contents, Piece};
use crate::error::{Error, Kind, Result};
use crate::git::{ObjectId, Order, Range, Repository};
use crate::redact::Redactor;
use crate::transcript::{Message, SessionKey, Tokens};
use crate::{agent, notes};

/// The ref of an earlier tool, read but never written.
pub(crate) const EARLIER_REF: &str = "refs/notes/claude-conversations";
/// Where a remote's refs are fetched to.
const REMOTES_PREFIX: &str = "refs/shiftlog/remotes/";

/// How many commits of our notes ref are looked at to find where it left a remote's.
const MAX_UNPUSHED: usize = 64;

/// The most records of one note that are compared with each other.
const MAX_SETTLED: usize = 64;

/// The problem of a conversation that is not read because of those before it.
const TOO_MUCH: &str = "it is left out: the note names more words than are stored; '--session=<id>' reads it alone";

/// How much of a large conversation is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Words {
    /// All bytes, for those who need them as they are. Messages are bounded in any case.
    All,
    /// What is shown.
    Shown,
}

/// Reads the notes of a repository.
pub struct Reader<'r> {
    repo: &'r Repository,
    refs: Vec<String>,
    /// What was removed here and may still be in what was fetched.
    purged: Tombstones,
    /// What others say was removed: it is not shown.
    bars: Bars,
    barred: HashSet<ObjectId>,
}

/// What a record says about its session, whichever tool wrote it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The session.
    pub key: SessionKey,
    /// The model.
    pub model: Option<String>,
    /// When the record was made; RFC 3339.
    pub time: String,
    /// The first prompt of the increment, shortened.
    pub prompt: Option<String>,
    /// What the conversation comes to, if somebody had it summarised.
    pub summary: Option<String>,
    /// How many prompts the increment has.
    pub turns: u64,
    /// How many prompts and texts of the assistant the increment has.
    pub messages: u64,
    /// What the increment cost.
    pub tokens: Option<Tokens>,
    /// Whether others say that it was removed; then `prompt` says who.
    pub is_removed: bool,
    /// The version of the format that the record has, if that is newer than what this program knows.
    pub newer_version: Option<u64>,
}

/// A conversation read back.
#[derive(Debug)]
pub struct Conversation {
    /// What the record says.
    pub summary: Summary,
    /// The transcript's bytes, as far as they are there.
    pub bytes: Vec<u8>,
    /// The messages in them.
    pub messages: Vec<Message>,
    /// What is missing or damaged.
    pub problems: Vec<String>,
}

impl<'r> Reader<'r> {
    /// Makes a reader. `notes_ref` takes the place of all refs that are read otherwise.
    pub fn new(repo: &'r Repository, notes_ref: Option<&str>) -> Self {
        let refs = match notes_ref {
            Some(name) => vec![notes::expand_ref(name)],
            None => {
                let mut refs = vec![notes::DEFAULT_REF.to_owned(), EARLIER_REF.to_owned()];
                let fetched = repo.ref_names(REMOTES_PREFIX).into_iter().filter(|name| name.ends_with("/notes"));
                // What others have put there need not be notes; then it says nothing.
                let has_notes = |name: &String| repo.tip(name).is_ok_and(|tip| tip.is_some());
                refs.extend(fetched.filter(|name| has_notes(name) && !is_merged(repo, name)));
                refs
            }
        };
        Self::with_refs(repo, refs)
    }

    /// Makes a reader of just these refs.
    pub(crate) fn with_refs(repo: &'r Repository, refs: Vec<String>) -> Self {
        // Marks that cannot be read bar nothing; a check of the repository tells of them.
        let purged = Tombstones::read(repo).unwrap_or_default();
        let bars = Bars::read(repo, &purged);
        let barred = bars.segments();
        Reader { repo, refs, purged, bars, barred }
    }

    /// Returns the refs that are read.
    pub(crate) fn refs(&self) -> &[String] {
        &self.refs
    }

    /// Returns the repository.
    pub fn repo(&self) -> &'r Repository {
        self.repo
    }

    /// Returns the note of a commit, merged from all refs, or `None` if there is none.
    ///
    /// A note that an earlier tool's merge has damaged is put together again from the history of its ref.
    ///
    /// # Errors
    ///
    /// If a notes tree or a note cannot be read.
    pub fn note(&self, commit_id: ObjectId) -> Result<Option<Note>> {
        let mut merged: Option<Note> = None;
        for name in &self.refs {
            let note = match notes::get(self.repo, name, commit_id) {
                Ok(None) => continue,
                Ok(Some(bytes)) => self.parsed(&bytes),
                // What others have put there takes nothing away from what is elsewhere.
                Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Missing) && self.refs.len() > 1 => {
                    Note::unreadable(format!("the note under '{name}' cannot be read: {error}"))
                }
                Err(error) => return Err(error),
            };
            let mut note = self.mended(note, name, commit_id);
            self.purged.apply(self.repo, &mut note);
            match &mut merged {
                Some(merged) => merged.merge_lines(&note),
                // The first one can be large, and is mostly the only one.
                None => merged = Some(note),
            }
        }
        Ok(merged.map(|note| {
            let mut note = self.joined(note);
            note.drop_migrated();
            self.settled(note)
        }))
    }

    /// Returns which commits have a note, each with its note blobs. Reads trees only.
    ///
    /// # Errors
    ///
    /// If a notes tree cannot be read.
    pub fn noted(&self) -> Result<HashMap<ObjectId, Vec<ObjectId>>> {
        let mut noted: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        for name in &self.refs {
            for entry in notes::list(self.repo, name)? {
                let blobs = noted.entry(entry.annotated_id).or_default();
                if !blobs.contains(&entry.note_blob_id) {
                    blobs.push(entry.note_blob_id);
                }
            }
        }
        Ok(noted)
    }

    /// Returns the note made of these blobs; for listing, so nothing is mended.
    ///
    /// # Errors
    ///
    /// If a blob cannot be read.
    pub fn note_of_blobs(&self, blob_ids: &[ObjectId]) -> Result<Note> {
        let blobs = blob_ids.iter().map(|blob_id| notes::read(self.repo, *blob_id)).collect::<Result<Vec<_>>>()?;
        Ok(self.note_of(blobs.iter().map(Vec::as_slice)))
    }

    /// Returns the note that is merged from these blobs.
    pub(super) fn note_of<'b>(&self, blobs: impl Iterator<Item = &'b [u8]>) -> Note {
        let mut notes = blobs.map(|bytes| {
            let mut note = self.parsed(bytes).with_joined_records();
            self.purged.apply(self.repo, &mut note);
            note
        });
        let mut merged = notes.next().unwrap_or_default();
        notes.for_each(|note| merged.merge(&note));
        merged.drop_migrated();
        merged
    }

    /// Parses a note as lines, and hides what others say was removed.
    fn parsed(&self, bytes: &[u8]) -> Note {
        let mut note = Note::read_lines(bytes);
        if self.bars.is_empty() {
            return note;
        }
        let mut hidden: Vec<(SessionKey, String, Mark)> = Vec::new();
        note.retain(|unit| {
            let (key, time, mark) = match unit {
                Unit::Record(record) => (record.key(), &record.time, self.bars.of_record(self.repo, record)),
                Unit::Newer(newer) => {
                    (newer.record.key(), &newer.record.time, self.bars.of_record(self.repo, &newer.record))
                }
                Unit::Earlier(document, _) => {
                    (document.key(), &document.timestamp, self.bars.of_session(&document.key()))
                }
                Unit::Foreign(_) => return true,
            };
            let is_shown = mark.is_none();
            hidden.extend(mark.map(|mark| (key, time.clone(), mark)));
            is_shown
        });
        for (key, time, mark) in hidden {
            note.hide(Hidden { key, time, removed_by: self.bars.removed_by(self.repo, &mark) });
        }
        note
    }

    /// Joins the records of a note. Of two that begin at one place, the longer stands for both only if its segments prove
    /// that it has all the words of the other: anybody can write a longer record of somebody else's session.
    fn joined(&self, note: Note) -> Note {
        if note.records().count() > MAX_SETTLED {
            return note.with_joined_records();
        }
        let lines: Vec<crate::record::Record> = note.records().cloned().collect();
        let stands_apart = |record: &crate::record::Record| {
            lines.iter().any(|other| {
                let (longer, shorter) = if other.bytes > record.bytes { (other, record) } else { (record, other) };
                longer.goes_on_with(shorter)
                    && longer.through != shorter.through
                    && !crate::record::has_all_of(self.repo, longer, shorter)
            })
        };
        let (mut joined, mut apart) = (note.without_units(), Vec::new());
        for unit in note.into_units() {
            match &unit {
                Unit::Record(record) if stands_apart(record) => apart.push(unit),
                _ => joined.add_unit(unit),
            }
        }
        apart.into_iter().for_each(|unit| joined.add_line(unit));
        joined
    }

    /// Returns a note, put together again from the history of its ref if a merge has damaged it and that is possible.
    pub(crate) fn mended(&self, note: Note, notes_ref: &str, commit_id: ObjectId) -> Note {
        if !note.is_damaged() {
            return note;
        }
        let mut mended = note.without_units();
        for bytes in notes::earlier_contents(self.repo, notes_ref, commit_id).unwrap_or_default() {
            let earlier = Note::read(&bytes);
            if !earlier.is_damaged() {
                mended.merge(&earlier);
            }
        }
        // What was recorded since the damage is whole.
        for unit in note.units().iter().filter(|unit| !matches!(unit, Unit::Foreign(_))) {
            mended.add_unit(unit.clone());
        }
        if mended.has_conversation() { mended } else { note }
    }

    /// Drops records whose stretch lies within another's of the same session, which only the archive can tell.
    fn settled(&self, mut note: Note) -> Note {
        let records: Vec<_> = note.records().collect();
        // A note that holds more is none that we made.
        if !(2..=MAX_SETTLED).contains(&records.len()) {
            return note;
        }
        let mut parents = HashMap::new();
        let mut is_within = |index: usize| {
            let inner = records[index];
            records.iter().enumerate().any(|(other, outer)| {
                other != index
                    && outer.key() == inner.key()
                    && outer.bytes >= inner.bytes
                    && self.contains(outer, inner, &mut parents)
            })
        };
        let within: Vec<bool> = (0..records.len()).map(&mut is_within).collect();
        let mut is_within = within.into_iter();
        note.retain(|unit| !(matches!(unit, Unit::Record(_)) && is_within.next() == Some(true)));
        note
    }

    /// Says whether the stretch of `inner` lies within that of `outer`. `parents` keeps which segment each follows: the
    /// records of a session are on one chain, and each link costs a read.
    fn contains(
        &self,
        outer: &crate::record::Record,
        inner: &crate::record::Record,
        parents: &mut HashMap<ObjectId, Option<ObjectId>>,
    ) -> bool {
        let parse = |hex: &str| self.repo.parse_id(hex);
        let stop = outer.since.as_deref().and_then(parse);
        let mut chain = HashSet::new();
        let mut next = parse(&outer.through);
        while let Some(segment_id) = next.filter(|id| chain.insert(*id)) {
            let is_last =
                Some(segment_id) == stop || (parents.len() >= bounds::MAX_LINKS && !parents.contains_key(&segment_id));
            if is_last {
                break;
            }
            next = *parents.entry(segment_id).or_insert_with(|| {
                let header = Archive::new(self.repo).header(segment_id).ok();
                header.and_then(|header| header.parent.as_deref().and_then(parse))
            });
        }
        let is_on_it = |hex: &str| parse(hex).is_some_and(|id| chain.contains(&id));
        let begins_inside = match &inner.since {
            Some(since) => is_on_it(since),
            None => outer.since.is_none(),
        };
        // The last link is `outer.since` itself, whose words are not part of the stretch.
        let ends_inside = is_on_it(&inner.through) && outer.since.as_ref() != Some(&inner.through);
        // Of two that end together, the one that begins later lies within the other.
        begins_inside && ends_inside && (inner.through != outer.through || inner.since != outer.since)
    }

    /// Returns what the records of a note say, sub-agents behind their sessions.
    pub fn summaries(note: &Note) -> Vec<Summary> {
        let hidden: Vec<Summary> = note.hidden().iter().map(Summary::of_hidden).collect();
        let summaries = note.units().iter().filter_map(|unit| Some((Summary::of(unit)?, ()))).collect();
        Self::in_order(summaries).into_iter().map(|(summary, ())| summary).chain(hidden).collect()
    }

    /// Puts sub-agents behind their sessions.
    fn in_order<T>(mut units: Vec<(Summary, T)>) -> Vec<(Summary, T)> {
        if units.iter().any(|(summary, _)| summary.key.parent_id().is_some()) {
            let mut order: HashMap<SessionKey, usize> = HashMap::new();
            for (at, (summary, _)) in units.iter().enumerate() {
                order.entry(summary.key.clone()).or_insert(at);
            }
            let at = |key: &SessionKey| order.get(key).copied();
            units.sort_by_cached_key(|(summary, _)| {
                let parent = summary.key.parent_id().map(|id| SessionKey::new(&summary.key.agent, id));
                (parent.as_ref().and_then(at).or_else(|| at(&summary.key)), parent.is_some())
            });
        }
        units
    }

    /// Reads the conversations of a note: what each record added, or with `is_full` the whole session up to it.
    ///
    /// `session` picks one, by its id or a unique beginning of it.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if no session, or more than one, goes by that name.
    pub fn conversations(&self, note: &Note, session: Option<&str>, is_full: bool) -> Result<Vec<Conversation>> {
        let mut found: Vec<Conversation> = Vec::new();
        self.each_conversation(note, session, is_full, Words::All, |conversation| {
            found.push(conversation);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Visits the conversations of a note one by one, until `visit` breaks off: only one is in memory then.
    ///
    /// What a note can make us read is bounded: all its conversations together, and with [`Words::Shown`] each of them.
    /// What is left out is a problem of the conversation.
    ///
    /// # Errors
    ///
    /// As [`Reader::conversations`], and what `visit` returns.
    pub fn each_conversation(
        &self,
        note: &Note,
        session: Option<&str>,
        is_full: bool,
        words: Words,
        mut visit: impl FnMut(Conversation) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let units: Vec<_> = note.units().iter().filter_map(|unit| Some((Summary::of(unit)?, unit))).collect();
        let units = Self::in_order(units);
        let wanted = match session {
            Some(name) => {
                let hidden = note.hidden().iter().map(|hidden| &hidden.key);
                Some(pick(units.iter().map(|(summary, _)| &summary.key).chain(hidden), name)?)
            }
            None => None,
        };
        let mut seen = HashSet::new();
        let mut budget = bounds::Budget::default();
        for (summary, unit) in units {
            let is_new = seen.insert(summary.key.clone());
            if wanted.as_ref().is_none_or(|key| *key == summary.key)
                && (is_new || !is_full)
                && visit(self.conversation(summary, unit, is_full, words, &mut budget))?.is_break()
            {
                return Ok(());
            }
        }
        for hidden in note.hidden() {
            if wanted.as_ref().is_none_or(|key| *key == hidden.key) {
                let problems = vec![hidden.removed_by.clone()];
                let summary = Summary::of_hidden(hidden);
                let conversation = Conversation { summary, bytes: Vec::new(), messages: Vec::new(), problems };
                if visit(conversation)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the mark of others that names some words of a record, or of its session up to it.
    fn mark_on(&self, record: &crate::record::Record, is_full: bool) -> Option<Mark> {
        let whole = crate::record::Record { since: record.since.clone().filter(|_| !is_full), ..record.clone() };
        self.bars.of_stretch(self.repo, &whole)
    }

    /// Reads the conversation of one unit of a note.
    fn conversation(
        &self,
        summary: Summary,
        unit: &Unit,
        is_full: bool,
        words: Words,
        budget: &mut bounds::Budget,
    ) -> Conversation {
        let mut stored_bytes = 0;
        let (mut bytes, mut problems) = match unit {
            _ if budget.is_spent() => (Vec::new(), vec![TOO_MUCH.to_owned()]),
            Unit::Newer(newer) if newer.record.through.is_empty() => {
                (Vec::new(), vec!["only a newer version of git-shiftlog knows where its words are".to_owned()])
            }
            Unit::Record(_) | Unit::Newer(_) => {
                let record = unit.record().expect("both are records");
                let mark = self.mark_on(record, is_full);
                let contents = self.contents(record, is_full);
                stored_bytes = contents.sources.iter().map(|(_, bytes)| bytes).sum();
                budget.spend(&contents);
                let missing = contents.pieces.iter().map(|piece| match piece {
                    Piece::Gap(bytes) => *bytes,
                    Piece::Bytes(_) => 0,
                });
                let missing = missing.fold(0, u64::saturating_add);
                let mut problems = contents.problems.clone();
                if let Some(mark) = mark {
                    problems.push(format!("{missing} bytes: {}", self.bars.removed_by(self.repo, &mark)));
                } else if missing > 0 {
                    problems.push(format!("{missing} bytes of the transcript are missing"));
                }
                (contents.into_bytes(), problems)
            }
            Unit::Earlier(earlier, _) => match earlier.transcript() {
                Ok((bytes, problem)) => {
                    stored_bytes = earlier.packed_bytes() as u64;
                    budget.spend_bytes(bytes.len() as u64, stored_bytes);
                    (bytes, problem.into_iter().collect())
                }
                Err(error) => (Vec::new(), vec![error.to_string()]),
            },
            Unit::Foreign(_) => (Vec::new(), Vec::new()),
        };
        let readable = bounds::readable(&bytes, stored_bytes);
        if readable < bytes.len() {
            problems.push(format!(
                "only the first {readable} of {} bytes are shown: it is too large for what is stored of it; 'git \
                 shiftlog show --raw' prints all of it",
                bytes.len()
            ));
            if words == Words::Shown {
                bytes.truncate(readable);
                bytes.shrink_to_fit();
            }
        }
        // A transcript of an agent that this version does not know is still shown raw.
        let agent = agent::find(&summary.key.agent);
        let messages = agent.map_or_else(Vec::new, |agent| agent.parse(&bytes[..readable]));
        Conversation { summary, bytes, messages, problems }
    }

    /// Reads the words of a record.
    fn contents(&self, record: &crate::record::Record, is_full: bool) -> Contents {
        let parse = |hex: &str| self.repo.parse_id(hex);
        let archive = Archive::without(self.repo, &self.barred);
        match parse(&record.through) {
            Some(through) if is_full => archive.transcript(through),
            Some(through) => archive.increment(record.since.as_deref().and_then(parse), through),
            None => {
                let problems = vec![format!("'{}' is no object id", record.through)];
                Contents { problems, ..Contents::default() }
            }
        }
    }
}

impl Conversation {
    /// Takes out secrets that another tool has stored, and messages in which nothing is said: what is left is counted.
    pub fn redact(&mut self, redactor: &Redactor) {
        let (redacted, dealt) = redactor.redact(&self.bytes);
        // A key that has no end cannot wait here; it is left out.
        if matches!(redacted, Cow::Owned(_)) || dealt < self.bytes.len() {
            let bytes = redacted.into_owned();
            let agent = agent::find(&self.summary.key.agent);
            self.messages = agent.map_or_else(Vec::new, |agent| agent.parse(&bytes));
            self.bytes = bytes;
        }
        self.messages.retain(|message| !message.parts.is_empty());
    }
}

/// Says whether our own notes descend from what was fetched to `name`: then all of it has been joined to ours, and what
/// has been removed since is not to be read from there. Looks back only so far; a ref that is read in vain does no harm.
fn is_merged(repo: &Repository, name: &str) -> bool {
    let (Ok(Some(ours)), Ok(Some(theirs))) = (repo.tip(notes::DEFAULT_REF), repo.tip(name)) else { return false };
    let range = Range { tips: vec![ours.commit_id], hidden: Vec::new() };
    let Ok(steps) = repo.walk(&range, Order::NewestFirst) else { return false };
    steps.take(MAX_UNPUSHED).flatten().any(|step| step.commit_id == theirs.commit_id)
}

/// Finds the session that a user calls `name`.
fn pick<'k>(keys: impl Iterator<Item = &'k SessionKey> + Clone, name: &str) -> Result<SessionKey> {
    if let Some(exact) = keys.clone().find(|key| key.id == name) {
        return Ok(exact.clone());
    }
    let mut keys: Vec<&SessionKey> = keys.filter(|key| key.id.starts_with(name)).collect();
    keys.dedup();
    match keys.as_slice() {
        [key] => Ok((*key).clone()),
        [] => Err(Error::new(Kind::Missing, format!("no session '{name}' recorded there"))),
        _ => Err(Error::new(Kind::Missing, format!("session '{name}' is ambiguous"))),
    }
}

impl Summary {
    /// Returns what stands in the place of a record that is not shown.
    fn of_hidden(hidden: &Hidden) -> Summary {
        Summary {
            key: hidden.key.clone(),
            model: None,
            time: hidden.time.clone(),
            prompt: Some(hidden.removed_by.clone()),
            summary: None,
            turns: 0,
            messages: 0,
            tokens: None,
            is_removed: true,
            newer_version: None,
        }
    }

    fn of_record(record: &super::Record) -> Summary {
        Summary {
            key: record.key(),
            model: record.model.clone(),
            time: record.time.clone(),
            prompt: record.prompt.clone(),
            summary: record.summary.clone(),
            turns: record.turns,
            messages: record.messages,
            tokens: record.tokens,
            is_removed: false,
            newer_version: None,
        }
    }

    /// Returns the sentence for people about a record of a newer version; `None` for any other.
    pub fn newer_notice(&self) -> Option<String> {
        let version = self.newer_version?;
        Some(format!(
            "recorded by a newer version of git-shiftlog (format {version}); what this version does not know of it is \
             left out"
        ))
    }

    /// Returns what a unit says; `None` for a line that is no record.
    fn of(unit: &Unit) -> Option<Summary> {
        match unit {
            Unit::Record(record) => Some(Summary::of_record(record)),
            Unit::Newer(newer) => {
                Some(Summary { newer_version: Some(newer.version), ..Summary::of_record(&newer.record) })
            }
            Unit::Earlier(earlier, _) => Some(Summary {
                key: earlier.key(),
                turns: earlier.turns(),
                messages: earlier.message_count,
                tokens: earlier.tokens(),
                model: earlier.model.clone(),
                time: earlier.timestamp.clone(),
                prompt: None,
                summary: None,
                is_removed: false,
                newer_version: None,
            }),
            Unit::Foreign(_) => None,
        }
    }
}
