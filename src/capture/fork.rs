//! Forks of sessions of which words were purged: an agent copies the words into another file, under another id.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use super::State;
use crate::agent::Agent;
use crate::transcript::{Message, SessionKey};

/// Returns the session of which words were purged and that a transcript repeats at its beginning, and how many bytes it repeats.
/// A purged session whose own file is gone counts as repeated: what it had is not known any more.
///
/// Costs one `readdir` where nothing was purged.
pub(crate) fn repeated_purged(
    state: &State,
    agent: &dyn Agent,
    transcript: &Path,
    deadline: Instant,
) -> Option<(SessionKey, u64)> {
    let mut purged = state.purged_sessions();
    purged.retain(|key| key.agent == agent.name());
    if purged.is_empty() {
        return None;
    }
    let until = agent.repeated_bytes(transcript, deadline)?;
    let bytes = agent.read_until(transcript, Some(deadline)).ok()?;
    let messages = agent.parse(bytes.get(..usize::try_from(until).ok()?)?);
    let repeated: HashSet<_> = messages.iter().filter_map(identity).collect();
    let has_begun_so = |key: &SessionKey| {
        let owner = key.parent_id().unwrap_or(&key.id);
        let Some(own) = agent.transcript(owner, transcript.parent().unwrap_or(transcript)) else { return true };
        let Ok(bytes) = agent.read_until(&own, Some(deadline)) else { return true };
        agent.parse(&bytes).iter().find_map(identity).is_none_or(|first| repeated.contains(&first))
    };
    let found = purged.into_iter().find(has_begun_so)?;
    Some((found, until))
}

/// Returns what a copy of a message has in common with it: its time, as [`Message::time`] has it, and its text.
fn identity(message: &Message) -> Option<(i64, String)> {
    Some((message.time?, message.text())).filter(|(_, text)| !text.is_empty())
}
