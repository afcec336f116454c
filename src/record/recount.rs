//! Counting the words of a record again, as a newer version of this program counts them.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;

use super::before::{before_position, before_segment};
use super::{Reader, Record, Summary, apart, edits};
use crate::agent;
use crate::archive::{Header, Stored};
use crate::git::ObjectId;
use crate::transcript::{Before, EditedPath, SessionKey, Tally, complete_lines};

/// How many bytes of two transcripts are compared at once.
const COMPARED_BYTES: u64 = 64 << 10;

/// Why the words of a record cannot be counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Uncountable {
    /// Some are not here, or nobody can read them.
    Missing,
    /// They are too many; see [`READ_LIMIT`](super::READ_LIMIT).
    TooLarge,
}

impl Reader<'_> {
    /// Returns a record with tokens, files and active time counted from its transcript; `None` if the transcript is
    /// incomplete, the agent is unknown, or the record already has these counts.
    pub(crate) fn recounted(&self, commit_id: ObjectId, record: &Record) -> Option<Record> {
        let words = self.tally(record).ok()?;
        let tally = &words.tally;
        let mut counted = record.clone();
        counted.active = tally.first_time.map(|_| tally.active_secs).or(record.active);
        if let Some(tokens) = tally.tokens() {
            counted.tokens = Some(tokens);
            counted.usage = apart(tally.usage(), record.model.as_deref());
        }
        if record.edits.is_empty() {
            counted.edits = self.edits_of(commit_id, &words);
        }
        (counted != *record).then_some(counted)
    }

    /// Returns a record whose words were cut with the counts of those that stay; without files if that cannot be known.
    pub(crate) fn counted_anew(&self, commit_id: ObjectId, record: Record) -> Record {
        let Ok(words) = self.tally(&record) else { return Record { edits: Vec::new(), ..record } };
        let counted = Record::of(&record.key(), &words.tally);
        Record {
            turns: counted.turns,
            messages: counted.messages,
            tokens: counted.tokens,
            usage: apart(words.tally.usage(), record.model.as_deref()),
            active: counted.active,
            edits: self.edits_of(commit_id, &words),
            ..record
        }
    }

    /// Returns the prompt of a record by its words as they are now; `None` if they have none, or are not here.
    pub(crate) fn prompt_anew(&self, record: &Record) -> Option<String> {
        let words = self.tally(record).ok()?;
        Record::of(&record.key(), &words.tally).prompt
    }

    /// Returns the summary of a session's words from one segment to a later one, as a record of `commit_id` would have it; without
    /// a commit, it names no files. The bytes that are unpacked for it are taken from `room`.
    ///
    /// # Errors
    ///
    /// If words are missing or too many, the agent is unknown, or `through` does not follow `since`.
    pub fn counted(
        &self,
        key: &SessionKey,
        since: Option<&str>,
        through: &str,
        commit_id: Option<ObjectId>,
        room: &mut u64,
    ) -> Result<Summary, Uncountable> {
        let parse = |hex: &str| self.repo().parse_id(hex).ok_or(Uncountable::Missing);
        let through_id = parse(through)?;
        let archive = self.archive().only(key);
        if let Some(since) = since {
            let since_id = parse(since)?;
            let (links, _) = archive.chain(through_id, Some(since_id));
            links.last().filter(|link| link.segment_id == since_id).ok_or(Uncountable::Missing)?;
        }
        let header = archive.header(through_id).map_err(|_| Uncountable::Missing)?;
        let place = |tally: &Tally| Record {
            since: since.map(str::to_owned),
            through: through.to_owned(),
            bytes: header.total_bytes(),
            time: header.time.clone(),
            ..Record::of(key, tally)
        };
        let words = self.tally_within(&place(&Tally::default()), room)?;
        let edits = commit_id.map(|id| self.edits_of(id, &words)).unwrap_or_default();
        Ok(Summary::of_record(&Record { edits, ..place(&words.tally) }))
    }

    /// Returns the summary of the words between two positions of the transcript that ends with `through`, as a record of
    /// `commit_id` would have it. The bytes that are unpacked for it are taken from `room`.
    ///
    /// # Errors
    ///
    /// If words are missing or too many, or the agent is unknown.
    pub fn counted_between(
        &self,
        key: &SessionKey,
        through: &str,
        positions: Range<u64>,
        commit_id: ObjectId,
        room: &mut u64,
    ) -> Result<Summary, Uncountable> {
        let through_id = self.repo().parse_id(through).ok_or(Uncountable::Missing)?;
        let archive = self.archive();
        let stored = archive.only(key).pieces_within(through_id, positions.clone());
        let (before, unpacked) = before_position(&archive, key, through_id, positions.start);
        *room = room.saturating_sub(unpacked.saturating_add(stored.segment_bytes()));
        let words = self.counted_words(key, &stored, before)?;
        let record = Record {
            through: through.to_owned(),
            bytes: positions.end,
            edits: self.edits_of(commit_id, &words),
            ..Record::of(key, &words.tally)
        };
        Ok(Summary { within: Some(positions), ..Summary::of_record(&record) })
    }

    /// Returns the header of a session's segment; `None` if it is not here. A partial clone fetches nothing for that.
    pub fn segment_header(&self, key: &SessionKey, segment: &str) -> Option<Header> {
        let segment_id = self.repo().parse_id(segment).filter(|id| self.repo().has_object(*id))?;
        self.archive().only(key).header(segment_id).ok()
    }

    /// Returns how many bytes of whole lines two transcripts of a session have in common, whose bytes before `from` are known
    /// to be the same. The bytes that are unpacked for it are taken from `room`; `None` if there are not enough, or if
    /// bytes are not here.
    pub fn common_bytes(&self, key: &SessionKey, [one, other]: [&str; 2], from: u64, room: &mut u64) -> Option<u64> {
        let archive = self.archive().only(key);
        let open = |segment: &str| {
            let mut transcript = archive.open(self.repo().parse_id(segment)?).ok()?;
            transcript.seek(SeekFrom::Start(from)).ok()?;
            Some(transcript)
        };
        let (mut one, mut other) = (open(one)?, open(other)?);
        let end = one.length().min(other.length());
        let (mut same, mut whole) = (from, from);
        let all = *room;
        while same < end {
            *room = all.saturating_sub(one.unpacked_bytes().saturating_add(other.unpacked_bytes()));
            if *room == 0 {
                return None;
            }
            let (mut left, mut right) = (Vec::new(), Vec::new());
            (&mut one).take(COMPARED_BYTES.min(end - same)).read_to_end(&mut left).ok()?;
            (&mut other).take(COMPARED_BYTES.min(end - same)).read_to_end(&mut right).ok()?;
            let count = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
            let lines = complete_lines(&left[..count]);
            whole = if lines > 0 { same + lines as u64 } else { whole };
            same += count as u64;
            if count < left.len() || count == 0 {
                break;
            }
        }
        *room = all.saturating_sub(one.unpacked_bytes().saturating_add(other.unpacked_bytes()));
        Some(whole)
    }

    /// Counts the words of a record.
    fn tally(&self, record: &Record) -> Result<CountedWords, Uncountable> {
        self.tally_within(record, &mut { u64::MAX })
    }

    fn tally_within(&self, record: &Record, room: &mut u64) -> Result<CountedWords, Uncountable> {
        let parse = |hex: &str| self.repo().parse_id(hex);
        let (key, since) = (record.key(), record.since.as_deref().and_then(parse));
        let through = parse(&record.through).ok_or(Uncountable::Missing)?;
        let before = since.map(|since| before_segment(&self.archive(), &key, since));
        let ((before, unpacked), stored) =
            (before.unwrap_or_default(), self.archive().only(&key).pieces(since, through));
        *room = room.saturating_sub(unpacked.saturating_add(stored.segment_bytes()));
        self.counted_words(&key, &stored, before)
    }

    /// Counts stored words of a session; `before` is what comes before them.
    fn counted_words(&self, key: &SessionKey, stored: &Stored, before: Before) -> Result<CountedWords, Uncountable> {
        let agent = agent::find(&key.agent).filter(|_| !stored.pieces.is_empty()).ok_or(Uncountable::Missing)?;
        let mut words = CountedWords { tally: Tally::after(before), directory: None };
        let mut parser = agent.parser();
        let mut lines = self.line_reader().map_err(|_| Uncountable::Missing)?;
        lines.each_stored(key, stored, |block| {
            words.tally.add(&parser.parse(block));
            words.locate(block);
        })?;
        Ok(words)
    }

    /// Returns the files of the repository that calls in these words changed; `commit_id` is the commit that has the words.
    pub fn edits_of(&self, commit_id: ObjectId, words: &CountedWords) -> Vec<EditedPath> {
        let place = edits::place_of(self.repo(), commit_id, words.directory.as_deref());
        edits::placed(words.tally.edits(), place)
    }
}

/// The counts of some words of a session.
#[derive(Debug, Default)]
pub struct CountedWords {
    /// Their counts.
    pub tally: Tally,
    /// The directory that the session ran in, as far as they tell it.
    directory: Option<String>,
}

impl CountedWords {
    /// Looks for the directory in lines, if it is not known yet.
    pub fn locate(&mut self, lines: &[u8]) {
        self.directory = self.directory.take().or_else(|| agent::directory(lines));
    }
}
