//! Counting the words of a record again, as a newer version of this program counts them.

use super::{Reader, Record, apart, bounds};
use crate::agent;
use crate::archive::Chunk;
use crate::transcript::Tally;

impl Reader<'_> {
    /// Returns a record with the tokens and the time that its words tell; `None` if words are missing, the agent is unknown,
    /// or the record tells all of it.
    pub(crate) fn recounted(&self, record: &Record) -> Option<Record> {
        let contents = self.contents(record, false);
        let is_whole =
            contents.problems.is_empty() && contents.pieces.iter().all(|piece| matches!(piece, Chunk::Bytes(_)));
        let stored_bytes = contents.sources.iter().map(|(_, bytes)| bytes).sum();
        let bytes = contents.into_bytes();
        if !is_whole || bytes.is_empty() || bounds::readable(&bytes, stored_bytes) < bytes.len() {
            return None;
        }
        let mut tally = Tally::default();
        tally.add(&agent::find(&record.agent)?.parse(&bytes));
        let mut counted = record.clone();
        counted.active = tally.first_time.map(|_| tally.active_secs).or(record.active);
        if let Some(tokens) = tally.tokens() {
            counted.tokens = Some(tokens);
            counted.usage = apart(tally.usage(), record.model.as_deref());
        }
        (counted != *record).then_some(counted)
    }
}
