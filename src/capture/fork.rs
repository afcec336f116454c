//! Forks of sessions of which words were purged: the agent copies the words into another file, under another id.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;

use super::State;
use super::state::FirstMessage;
use crate::agent::Agent;
use crate::git::private;
use crate::transcript::{Message, SessionKey};

/// How long a command may take to find out whether a transcript repeats another. A hook has its own deadline.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of a transcript is read to find its first message, in bytes.
const BEGINNING_BYTES: u64 = 1 << 20;

/// Returns the session of which words were purged and that a transcript repeats at its beginning, and how many bytes it repeats.
///
/// Costs a look at a directory where nothing was purged.
pub(crate) fn repeated_purged(
    state: &State,
    agent: &dyn Agent,
    transcript: &Path,
    deadline: Instant,
) -> Option<(SessionKey, u64)> {
    if !state.has_purged() {
        return None;
    }
    let named = agent.forked_from(transcript).map(|id| SessionKey::new(agent.name(), &id));
    if let Some(key) = named.filter(|key| state.is_purged(key)) {
        // Where nothing tells how much it repeats, all that it has so far counts as repeated.
        let until = agent.repeated_bytes(transcript, deadline);
        return Some((key, until.or_else(|| transcript.metadata().ok().map(|file| file.len()))?));
    }
    let mut purged = state.purged_beginnings();
    purged.retain(|(key, _)| key.agent == agent.name());
    if purged.is_empty() {
        return None;
    }
    let until = agent.repeated_bytes(transcript, deadline)?;
    let repeated: HashSet<FirstMessage> = beginning(agent, transcript).iter().filter_map(first_message).collect();
    let (key, _) = purged.into_iter().find(|(_, first)| repeated.contains(first))?;
    Some((key, until))
}

/// Returns what the first message of a transcript has in common with copies of it; `None` if it tells no time.
pub(crate) fn first_message_of(agent: &dyn Agent, transcript: &Path) -> Option<FirstMessage> {
    first_message_in(&beginning(agent, transcript))
}

/// Returns what the first message that tells its time has in common with copies of it; `None` if none does.
pub(crate) fn first_message_in(messages: &[Message]) -> Option<FirstMessage> {
    messages.iter().find_map(first_message)
}

fn first_message(message: &Message) -> Option<FirstMessage> {
    let text_bytes = Some(message.text().len()).filter(|length| *length > 0)?;
    Some(FirstMessage { time: (message.time?, message.time_nanos), text_bytes })
}

/// Returns the first messages of a transcript. None if it cannot be read.
fn beginning(agent: &dyn Agent, transcript: &Path) -> Vec<Message> {
    if agent.is_rendered(transcript) {
        return agent.read(transcript).map(|bytes| agent.parse(&bytes)).unwrap_or_default();
    }
    let mut bytes = Vec::new();
    let read = private::open(transcript).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut bytes));
    let end = bytes.rfind_byte(b'\n').map_or(0, |end| end + 1);
    read.map(|_| agent.parse(&bytes[..end])).unwrap_or_default()
}
