//! The prompt of a turn that begins in an earlier record.

use super::{Reader, Record, short_prompt, shown_prompt};
use crate::agent;
use crate::git::{ObjectId, Order, Range};
use crate::transcript::SessionKey;

/// How many commits are gone back.
const MAX_STEPS: usize = 256;

impl Reader<'_> {
    /// Returns the commit whose conversation a session's record of `commit_id` continues, which begins after the segment
    /// `since`, and the prompt that the first words of the record answer, as [`super::Summary::shown_prompt`] has it. `None` if none
    /// of the nearest commits has it.
    pub fn continued(&self, commit_id: ObjectId, key: &SessionKey, since: Option<&str>) -> Option<(ObjectId, String)> {
        let mut since = since?.to_owned();
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        for step in self.repo().walk(&range, Order::NewestFirst).ok()?.take(MAX_STEPS).flatten() {
            let Ok(Some(note)) = self.note(step.commit_id) else { continue };
            let is_before = |record: &&Record| record.key() == *key && record.through == since;
            let Some(before) = note.records().find(is_before) else { continue };
            if let Some(prompt) = self.last_prompt(before) {
                return Some((step.commit_id, shown_prompt(&prompt)));
            }
            since = before.since.clone()?;
        }
        None
    }

    /// Returns the last prompt in the increment of a record.
    fn last_prompt(&self, record: &Record) -> Option<String> {
        match record.turns {
            0 => None,
            1 => record.prompt.clone(),
            _ => {
                let messages = agent::find(&record.agent)?.parse(&self.contents(record, false).into_bytes());
                let last = messages.iter().rfind(|message| message.is_prompt())?;
                short_prompt(&last.text())
            }
        }
    }
}
