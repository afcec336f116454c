//! The answers at the end of a recorded increment, which may go on in the next one.

use crate::agent;
use crate::archive::Archive;
use crate::git::ObjectId;
use crate::transcript::{LastAnswers, SessionKey, Tally};

/// How many segments are read at most: most have the words of a few messages.
const MAX_SEGMENTS: usize = 16;
/// No further segment is read once those read have so many bytes.
const ENOUGH_BYTES: u64 = 256 << 10;

/// Returns the last answers of a session up to a segment, from the words in the archive; empty if they are not here. See
/// [`Tally::after`].
pub(crate) fn last_answers(archive: &Archive<'_>, key: &SessionKey, through: ObjectId) -> LastAnswers {
    let archive = archive.only(key);
    let (Some(agent), Ok(last)) = (agent::find(&key.agent), archive.header(through)) else { return LastAnswers::new() };
    let end = last.total_bytes();
    let mut since = last.parent.as_deref().and_then(|hex| archive.repo().parse_id(hex));
    for _ in 1..MAX_SEGMENTS {
        let Some(header) = since.and_then(|id| archive.header(id).ok()) else { break };
        if end.saturating_sub(header.total_bytes()) >= ENOUGH_BYTES {
            break;
        }
        since = header.parent.as_deref().and_then(|hex| archive.repo().parse_id(hex));
    }
    let mut tally = Tally::default();
    tally.add(&agent.parse(&archive.increment(since, through).into_bytes()));
    tally.last_answers().clone()
}
