//! Finding a session by its name.

use std::collections::BTreeMap;

use super::{Reader, Summary};
use crate::error::{Error, Result};
use crate::git::ObjectId;
use crate::outside;
use crate::transcript::SessionKey;

/// The shortest beginning of an id that stands for a session, as of an object's in Git.
const MIN_ID_CHARS: usize = 4;
/// The shortest beginning of the name of an agent that stands for its sessions.
const MIN_AGENT_CHARS: usize = 4;
/// How many sessions are listed where a beginning of an id has several.
const MAX_LISTED: usize = 10;

impl Reader<'_> {
    /// Finds the session with a name, and the last commit that it made. The name is the session's id, a unique beginning of
    /// it of at least four characters, or `<agent>/<id>`. Reads all notes.
    ///
    /// # Errors
    ///
    /// If a notes tree of our own cannot be read, or the name is the beginning of several ids.
    pub fn find_session(&self, name: &str) -> Result<Option<(SessionKey, ObjectId)>> {
        if name.is_empty() {
            return Ok(None);
        }
        let can_be_agent = name.chars().count() >= MIN_AGENT_CHARS;
        // Of each session: when it was recorded last, how long it was then, and where.
        let mut found: BTreeMap<SessionKey, (String, u64, ObjectId)> = BTreeMap::new();
        for (commit_id, blob_ids) in self.noted()? {
            let Ok(note) = self.note_of_blobs(&blob_ids) else { continue };
            for Summary { key, time, .. } in note.summaries() {
                let of_agent = name.strip_prefix(&key.agent).and_then(|rest| rest.strip_prefix('/'));
                let id = of_agent.unwrap_or(name);
                let is_meant = id.chars().count() >= MIN_ID_CHARS && key.begins_with(id)
                    || key.id == id
                    || key.to_string() == name
                    || (can_be_agent
                        && of_agent.is_none_or(str::is_empty)
                        && key.parent_id().is_none()
                        && key.to_string().starts_with(name));
                if !is_meant || !self.repo().has_object(commit_id) {
                    continue;
                }
                let bytes = note.records().filter(|record| record.key() == key).map(|record| record.bytes).max();
                let last = (time, bytes.unwrap_or(0), commit_id);
                if found.get(&key).is_none_or(|known| last > *known) {
                    found.insert(key, last);
                }
            }
        }
        let exact = found.iter().find(|(key, _)| key.id == name || key.to_string() == name);
        if let Some((key, (.., commit_id))) = exact {
            return Ok(Some((key.clone(), *commit_id)));
        }
        let mut keys = found.iter();
        match (keys.next(), keys.next()) {
            (None, _) => Ok(None),
            (Some((key, (.., commit_id))), None) => Ok(Some((key.clone(), *commit_id))),
            _ => {
                let error = Error::other(format!("session '{name}' is ambiguous")).hint("the sessions are:");
                let listed = found
                    .iter()
                    .take(MAX_LISTED)
                    .fold(error, |error, (key, (time, ..))| error.hint(format!("  {key} {}", outside::line(time))));
                Err(match found.len().saturating_sub(MAX_LISTED) {
                    0 => listed,
                    more => listed.hint(format!("  and {more} more")),
                })
            }
        }
    }
}
