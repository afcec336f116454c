//! Counting the words of a record again, as a newer version of this program counts them.

use super::{Reader, Record, Summary, apart, bounds, edits, last_answers};
use crate::agent;
use crate::archive::Chunk;
use crate::git::ObjectId;
use crate::transcript::{EditedPath, Message, SessionKey, Tally};

impl Reader<'_> {
    /// Returns a record with tokens, files and active time counted from its transcript; `None` if the transcript is
    /// incomplete, the agent is unknown, or the record already has these counts.
    pub(crate) fn recounted(&self, commit_id: ObjectId, record: &Record) -> Option<Record> {
        let (tally, bytes) = self.tally(record)?;
        let mut counted = record.clone();
        counted.active = tally.first_time.map(|_| tally.active_secs).or(record.active);
        if let Some(tokens) = tally.tokens() {
            counted.tokens = Some(tokens);
            counted.usage = apart(tally.usage(), record.model.as_deref());
        }
        if record.edits.is_empty() {
            counted.edits = edits::placed(tally.edits(), edits::place_of(self.repo(), commit_id, &bytes));
        }
        (counted != *record).then_some(counted)
    }

    /// Returns a record whose words were cut with the counts of those that stay; without files if that cannot be known.
    pub(crate) fn counted_anew(&self, commit_id: ObjectId, record: Record) -> Record {
        let Some((tally, bytes)) = self.tally(&record) else { return Record { edits: Vec::new(), ..record } };
        let counted = Record::of(&record.key(), &tally);
        Record {
            turns: counted.turns,
            messages: counted.messages,
            tokens: counted.tokens,
            usage: apart(tally.usage(), record.model.as_deref()),
            active: counted.active,
            edits: edits::placed(tally.edits(), edits::place_of(self.repo(), commit_id, &bytes)),
            ..record
        }
    }

    /// Returns the summary of a session's words from one segment to a later one, as a record of `commit_id` would have it; without
    /// a commit, it names no files. `None` if words are missing, the agent is unknown, or `through` does not follow `since`.
    pub fn counted(
        &self,
        key: &SessionKey,
        since: Option<&str>,
        through: &str,
        commit_id: Option<ObjectId>,
    ) -> Option<Summary> {
        let through_id = self.repo().parse_id(through)?;
        let archive = self.archive().only(key);
        if let Some(since) = since {
            let since_id = self.repo().parse_id(since)?;
            let (links, _) = archive.chain(through_id, Some(since_id));
            links.last().filter(|link| link.segment_id == since_id)?;
        }
        let header = archive.header(through_id).ok()?;
        let place = |tally: &Tally| Record {
            since: since.map(str::to_owned),
            through: through.to_owned(),
            bytes: header.total_bytes(),
            time: header.time.clone(),
            ..Record::of(key, tally)
        };
        let (tally, bytes) = self.tally(&place(&Tally::default()))?;
        let in_repository = |id| edits::placed(tally.edits(), edits::place_of(self.repo(), id, &bytes));
        let edits = commit_id.map(in_repository).unwrap_or_default();
        Some(Summary::of_record(&Record { edits, ..place(&tally) }))
    }

    /// Returns the length of a session's transcript at the end of a segment; `None` if the segment is not here. A partial clone
    /// fetches nothing for that.
    pub fn bytes_at(&self, key: &SessionKey, segment: &str) -> Option<u64> {
        let segment_id = self.repo().parse_id(segment).filter(|id| self.repo().has_object(*id))?;
        Some(self.archive().only(key).header(segment_id).ok()?.total_bytes())
    }

    /// Counts the words of a record, and returns them; `None` if words are missing or the agent is unknown.
    pub(super) fn tally(&self, record: &Record) -> Option<(Tally, Vec<u8>)> {
        let contents = self.contents(record, false);
        let is_whole =
            contents.problems.is_empty() && contents.pieces.iter().all(|piece| matches!(piece, Chunk::Bytes(_)));
        let stored_bytes = contents.sources.iter().map(|(_, bytes)| bytes).sum();
        let bytes = contents.into_bytes();
        if !is_whole || bytes.is_empty() || bounds::readable(&bytes, stored_bytes) < bytes.len() {
            return None;
        }
        let since = record.since.as_deref().and_then(|hex| self.repo().parse_id(hex));
        let before = since.map(|since| last_answers(&self.archive(), &record.key(), since));
        let mut tally = Tally::after(before.unwrap_or_default());
        tally.add(&agent::find(&record.agent)?.parse(&bytes));
        Some((tally, bytes))
    }

    /// Returns the files of the repository that calls of an increment changed, as its words tell it. `bytes` are the words that
    /// `messages` were parsed from, and `commit_id` is the commit that has them.
    pub fn edits_of(&self, commit_id: ObjectId, messages: &[Message], bytes: &[u8]) -> Vec<EditedPath> {
        let mut tally = Tally::default();
        tally.add(messages);
        edits::placed(tally.edits(), edits::place_of(self.repo(), commit_id, bytes))
    }
}
