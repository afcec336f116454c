//! Reading the conversations that the records of a note name.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use super::summary::in_order;
use super::tombstone::Mark;
use super::{Hidden, MissingWords, Note, Reader, Record, Summary, Unit, bounds};
use crate::agent;
use crate::archive::{Archive, Chunk, Contents, Link};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::redact::{Redactor, without_key_parts};
use crate::transcript::{Message, Part, Picture, SessionKey, Tally};

/// The problem of a conversation that is not read because earlier ones of the note reached the limit.
const TOO_MUCH: &str =
    "left out: the conversations of the note are too large for what is stored; '--session=<id>' reads this one alone";

/// How a transcript is returned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Words {
    /// All bytes, and no messages.
    All,
    /// The messages, and the bytes that they are parsed from: not all of a transcript that is too large.
    Shown,
}

impl Words {
    /// Returns how many bytes of a transcript are read that is in these segments.
    fn limit(self, budget: &bounds::Budget, links: &[Link]) -> u64 {
        match self {
            Words::All => u64::MAX,
            Words::Shown => budget.readable_of(links),
        }
    }
}

/// A conversation read back.
#[derive(Debug)]
pub struct Conversation {
    /// The data of the record.
    pub summary: Summary,
    /// The transcript's bytes, without missing parts.
    pub bytes: Vec<u8>,
    /// The messages parsed from the bytes.
    pub messages: Vec<Message>,
    /// Descriptions of missing or damaged parts.
    pub problems: Vec<String>,
    /// Why there are no words although nothing is damaged; the problem says the same.
    pub lack: Option<MissingWords>,
    /// Whether words are left out because there are too many to read here. Nothing is damaged; a problem tells the limit.
    pub is_too_large: bool,
    /// Whether all bytes of the transcript are here that belong to it.
    pub is_whole: bool,
}

/// The documents of earlier tools in the note of a commit, which have the words themselves. A note can have thousands of
/// them, so it is read once for all.
pub(crate) struct Documents {
    /// The commit.
    pub(crate) commit_id: ObjectId,
    note: Note,
    /// The number of each document's unit.
    units: HashMap<SessionKey, usize>,
    budget: bounds::Budget,
}

impl Conversation {
    /// Returns the conversation that is shown in place of a hidden record.
    pub(super) fn hidden(summary: Summary, hidden: &Hidden) -> Self {
        let problems = vec![hidden.removed_by.clone()];
        let (bytes, messages) = (Vec::new(), Vec::new());
        Conversation { summary, bytes, messages, problems, lack: None, is_too_large: false, is_whole: false }
    }

    /// Says whether words are missing or damaged: not those that a mark of others hides, those that were not shared, and those
    /// that are too many.
    pub fn is_damaged(&self) -> bool {
        !self.summary.is_removed && self.lack.is_none() && self.problems.len() > usize::from(self.is_too_large)
    }

    /// Returns the length of the transcript's lines with messages. Some agents also write their own prompts and settings into
    /// a transcript, which can be most of it.
    pub fn said_bytes(&self) -> u64 {
        let mut spans: Vec<_> =
            self.messages.iter().filter(|each| !each.parts.is_empty()).map(|each| &each.span).collect();
        spans.sort_by_key(|span| span.start);
        let mut end = 0;
        let new = |span: &std::ops::Range<usize>| {
            let from = span.start.max(end);
            end = end.max(span.end);
            end.saturating_sub(from)
        };
        spans.into_iter().map(new).sum::<usize>() as u64
    }
}

impl Reader<'_> {
    /// Reads the conversations of a note: the increment of each record, or with `is_full` the whole session up to the
    /// record's end.
    ///
    /// `session` selects one session, by its id or a unique prefix of the id.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if `session` matches none or more than one.
    pub fn conversations(&self, note: &Note, session: Option<&str>, is_full: bool) -> Result<Vec<Conversation>> {
        let mut found: Vec<Conversation> = Vec::new();
        self.each_conversation(note, session, is_full, Words::Shown, |conversation| {
            found.push(conversation);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Visits the conversations of a note one by one, until `visit` breaks. Only one is in memory at a time.
    ///
    /// The total size of all conversations is limited, and with [`Words::Shown`] the size of each. A part that is left
    /// out is a problem of the conversation.
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
        let units = in_order(units);
        let wanted = match session {
            Some(name) => {
                let hidden = note.hidden().iter().map(|hidden| &hidden.key);
                Some(pick(units.iter().map(|(summary, _)| &summary.key).chain(hidden), name)?)
            }
            None => None,
        };
        let ends = is_full.then(|| ends(units.iter().map(|(summary, _)| summary)));
        let mut budget = bounds::Budget::default();
        for (number, (summary, unit)) in units.into_iter().enumerate() {
            let is_end = ends.as_ref().is_none_or(|ends| ends.contains(&number));
            if wanted.as_ref().is_none_or(|key| *key == summary.key)
                && is_end
                && visit(self.conversation(summary, unit, is_full, words, &mut budget))?.is_break()
            {
                return Ok(());
            }
        }
        for hidden in note.hidden() {
            if wanted.as_ref().is_none_or(|key| *key == hidden.key)
                && visit(Conversation::hidden(Summary::of_hidden(hidden), hidden))?.is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads the conversations of records that name segments, one after the other, as far as they are shown. Their total size is
    /// limited.
    pub fn increments<'s>(
        &self,
        summaries: impl IntoIterator<Item = &'s Summary>,
    ) -> impl Iterator<Item = Conversation> {
        let mut budget = bounds::Budget::default();
        summaries.into_iter().map(move |summary| {
            let through = summary.through.clone().unwrap_or_default();
            let since = summary.since.clone();
            let record = Record { since, through, ..Record::of(&summary.key, &Tally::default()) };
            self.conversation(summary.clone(), &Unit::Record(Box::new(record)), false, Words::Shown, &mut budget)
        })
    }

    /// Returns the documents of earlier tools in the note of a commit.
    ///
    /// # Errors
    ///
    /// As [`Reader::note`].
    pub(crate) fn documents(&self, commit_id: ObjectId) -> Result<Documents> {
        let note = self.note(commit_id)?.unwrap_or_default();
        let keyed = |(index, unit): (usize, &Unit)| match unit {
            Unit::Earlier(document, _) => Some((document.key(), index)),
            _ => None,
        };
        let units = note.units().iter().enumerate().filter_map(keyed).collect();
        Ok(Documents { commit_id, note, units, budget: bounds::Budget::default() })
    }

    /// Reads the conversation of a document; `None` if the note has no such document.
    pub(crate) fn document(&self, documents: &mut Documents, key: &SessionKey) -> Option<Conversation> {
        let unit = &documents.note.units()[*documents.units.get(key)?];
        Some(self.conversation(Summary::of(unit)?, unit, false, Words::Shown, &mut documents.budget))
    }

    /// Returns the purge mark of others for words of a record, or with `is_full` for words of its session up to its
    /// end.
    pub(super) fn mark_on(&self, record: &Record, is_full: bool) -> Option<Mark> {
        let whole = Record { since: record.since.clone().filter(|_| !is_full), ..record.clone() };
        self.bars.of_increment(self.repo, &whole)
    }

    /// Reads the conversation of one unit of a note.
    pub(super) fn conversation(
        &self,
        mut summary: Summary,
        unit: &Unit,
        is_full: bool,
        words: Words,
        budget: &mut bounds::Budget,
    ) -> Conversation {
        let mut is_too_large = budget.is_spent();
        let mut left_bytes = 0;
        let (mut bytes, mut problems) = match unit {
            _ if is_too_large => (Vec::new(), vec![TOO_MUCH.to_owned()]),
            Unit::Newer(newer) if newer.record.through.is_empty() => {
                let problem = "only a newer version of git-shiftlog can find its words";
                (Vec::new(), vec![problem.to_owned()])
            }
            Unit::Record(record) => {
                let contents = match summary.within.clone() {
                    Some(within) => self.words_within(record, within),
                    None => self.contents(record, is_full, |links| words.limit(budget, links)),
                };
                left_bytes = contents.left_bytes;
                self.recorded_words(record, contents, is_full, budget)
            }
            Unit::Newer(newer) => {
                let contents = self.contents(&newer.record, is_full, |links| words.limit(budget, links));
                left_bytes = contents.left_bytes;
                self.recorded_words(&newer.record, contents, is_full, budget)
            }
            Unit::Earlier(earlier, _) => match earlier.transcript() {
                Ok((bytes, problem)) => {
                    budget.spend_bytes(bytes.len() as u64, earlier.packed_bytes() as u64);
                    (bytes, problem.into_iter().collect())
                }
                Err(error) => (Vec::new(), vec![error.to_string()]),
            },
            Unit::Foreign(_) => (Vec::new(), Vec::new()),
        };
        let lack = match unit {
            Unit::Record(record) if bytes.is_empty() && !problems.is_empty() => self.lack(record, is_full),
            _ => None,
        };
        if let Some(lack) = lack {
            problems = vec![lack.sentence().to_owned()];
        }
        let is_whole = problems.is_empty();
        let readable = if words == Words::All { bytes.len() } else { budget.readable(&bytes) };
        if readable < bytes.len() || left_bytes > 0 {
            is_too_large = true;
            problems.push(format!(
                "only the first {readable} of {} bytes are shown: it is too large for what is stored of it; 'git \
                 shiftlog show --raw' prints all of it",
                bytes.len() as u64 + left_bytes
            ));
            bytes.truncate(readable);
            bytes.shrink_to_fit();
        }
        // The transcript of an unknown agent is still shown raw.
        let agent = agent::find(&summary.key.agent).filter(|_| words == Words::Shown);
        let messages = agent.map_or_else(Vec::new, |agent| agent.parse(&bytes));
        // The record counts what its commit added. Where words are missing, that is all that is known.
        if is_full && problems.is_empty() && !messages.is_empty() {
            summary.count(&messages);
        }
        Conversation { summary, bytes, messages, problems, lack, is_too_large, is_whole }
    }

    /// Takes the words of a record. Returns them and the problems.
    fn recorded_words(
        &self,
        record: &Record,
        contents: Contents,
        is_full: bool,
        budget: &mut bounds::Budget,
    ) -> (Vec<u8>, Vec<String>) {
        budget.spend(&contents);
        let missing = contents.pieces.iter().map(|piece| match piece {
            Chunk::Gap(bytes) => *bytes,
            Chunk::Bytes(_) => 0,
        });
        let missing = missing.fold(0, u64::saturating_add);
        let mut problems = contents.problems.clone();
        if let Some(mark) = self.mark_on(record, is_full) {
            problems.push(format!("{missing} bytes: {}", self.bars.removed_by(self.repo, &mark)));
        } else if missing > 0 {
            problems.push(format!("{missing} bytes of the transcript are missing"));
        }
        (contents.into_bytes(), problems)
    }

    /// Returns the archive, in which the words that purge marks of others name read as gaps.
    pub(crate) fn archive(&self) -> Archive<'_> {
        Archive::without(self.repo, &self.barred)
    }

    /// Returns a part of the transcript of a record.
    fn words_within(&self, record: &Record, within: Range<u64>) -> Contents {
        let through = self.repo.parse_id(&record.through);
        through.map_or_else(Contents::default, |through| self.archive().only(&record.key()).range(through, within))
    }

    /// Reads the words of a record, as many bytes as `limit` says of their segments.
    pub(super) fn contents(&self, record: &Record, is_full: bool, limit: impl FnOnce(&[Link]) -> u64) -> Contents {
        let parse = |hex: &str| self.repo.parse_id(hex);
        let key = record.key();
        let archive = self.archive().only(&key);
        match parse(&record.through) {
            Some(through) => {
                let since = record.since.as_deref().filter(|_| !is_full);
                archive.beginning(since.and_then(parse), through, limit)
            }
            None => {
                let problems = vec![format!("'{}' is no object id", record.through)];
                Contents { problems, ..Contents::default() }
            }
        }
    }
}

/// Returns which record of each session its transcript is read up to: the first that no other goes on from. If the agent made its
/// file shorter, a commit has several records of one session.
pub(super) fn ends<'s>(summaries: impl Iterator<Item = &'s Summary> + Clone) -> HashSet<usize> {
    let key = |summary: &'s Summary, segment: &'s Option<String>| segment.as_deref().map(|id| (&summary.key, id));
    let continued: HashSet<_> = summaries.clone().filter_map(|summary| key(summary, &summary.since)).collect();
    let mut ends: HashMap<&SessionKey, (bool, usize)> = HashMap::new();
    for (number, summary) in summaries.enumerate() {
        let is_end = key(summary, &summary.through).is_none_or(|end| !continued.contains(&end));
        let known = ends.entry(&summary.key).or_insert((is_end, number));
        if is_end && !known.0 {
            *known = (is_end, number);
        }
    }
    ends.into_values().map(|(_, number)| number).collect()
}

impl Conversation {
    /// Redacts the transcript, which an earlier tool may have stored with secrets, and removes messages without
    /// content. Says whether anything was removed from the transcript.
    pub fn redact(&mut self, redactor: &Redactor) -> bool {
        let (redacted, dealt) = redactor.redact(&self.bytes);
        // No later capture will complete an unfinished key; it is left out.
        let has_secrets = matches!(redacted, Cow::Owned(_)) || dealt < self.bytes.len();
        if has_secrets {
            let bytes = redacted.into_owned();
            let agent = agent::find(&self.summary.key.agent);
            self.messages = agent.map_or_else(Vec::new, |agent| agent.parse(&bytes));
            self.bytes = bytes;
        }
        self.messages.retain(|message| !message.parts.is_empty());
        has_secrets
    }

    /// Removes from the messages lines that can be part of a private key, and says whether there were any. The transcript's
    /// bytes stay: such a line is no secret for certain.
    pub fn leave_out_key_parts(&mut self) -> bool {
        let mut is_changed = false;
        let mut leave_out = |text: &mut String| {
            if let Cow::Owned(kept) = without_key_parts(text) {
                (*text, is_changed) = (kept, true);
            }
        };
        self.messages.iter_mut().for_each(|message| message.each_text(&mut leave_out));
        is_changed
    }

    /// Keeps the pictures whose bytes `keep` accepts; of the others only the names remain.
    pub fn retain_pictures(&mut self, keep: impl Fn(&[u8]) -> bool) {
        let attachments = self.messages.iter_mut().flat_map(|message| &mut message.parts).flat_map(|part| match part {
            Part::Attachment(what) => std::slice::from_mut(what),
            Part::ToolResult(result) => &mut result.pictures[..],
            _ => &mut [],
        });
        for what in attachments {
            let is_kept = |picture: &Picture| picture.bytes().is_some_and(|bytes| keep(&bytes));
            what.picture = what.picture.take().filter(is_kept);
        }
    }
}

/// Finds the session with the id `name`, or the only one whose id begins with `name`.
fn pick<'k>(keys: impl Iterator<Item = &'k SessionKey> + Clone, name: &str) -> Result<SessionKey> {
    if let Some(exact) = keys.clone().find(|key| key.id == name) {
        return Ok(exact.clone());
    }
    let mut found: Vec<&SessionKey> = keys.clone().filter(|key| key.begins_with(name)).collect();
    if found.is_empty() {
        // A sub-agent whose session is not recorded here.
        found = keys.filter(|key| key.is_within(name)).collect();
    }
    found.dedup();
    match found.as_slice() {
        [key] => Ok((*key).clone()),
        [] => Err(Error::new(Kind::Missing, format!("no session '{name}' recorded for this commit"))),
        _ => Err(Error::new(Kind::Missing, format!("session '{name}' is ambiguous"))),
    }
}
