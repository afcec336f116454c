//! The prompt of a turn that begins in an earlier record, and the prompts of the record that follows.

use super::{Reader, Record, Summary, short_prompt, shown_prompt};
use crate::git::{ObjectId, Order, Range};
use crate::transcript::SessionKey;

/// How many commits are gone back.
const MAX_STEPS: usize = 256;
/// How many commits are walked to find those after a commit.
const MAX_LATER: usize = 10_000;

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

    /// Returns the first prompts, at most `count`, of the record that continues a session's record of `commit_id`, which ends
    /// with the segment `through`. Commits up to HEAD are looked through, the nearest of them first.
    pub fn continuing(&self, commit_id: ObjectId, key: &SessionKey, through: &str, count: usize) -> Vec<String> {
        let head = self.repo().head().ok().and_then(|head| head.commit_id);
        let range = Range { tips: head.into_iter().collect(), hidden: vec![commit_id] };
        let Ok(walk) = self.repo().walk(&range, Order::NewestFirst) else { return Vec::new() };
        let later: Vec<ObjectId> = walk.take(MAX_LATER).flatten().map(|step| step.commit_id).collect();
        let is_next = |record: &&Record| record.key() == *key && record.since.as_deref() == Some(through);
        for commit_id in later.into_iter().rev().take(MAX_STEPS) {
            let Ok(Some(note)) = self.note(commit_id) else { continue };
            if let Some(next) = note.records().find(is_next) {
                return self.first_prompts(next, count);
            }
        }
        Vec::new()
    }

    /// Returns the first prompts in the increment of a record.
    fn first_prompts(&self, record: &Record, count: usize) -> Vec<String> {
        if record.turns <= 1 {
            return record.prompt.iter().filter(|_| record.turns > 0).take(count).cloned().collect();
        }
        let summary = Summary::of_record(record);
        let Some(conversation) = self.increments([&summary]).next() else { return Vec::new() };
        let prompts = conversation.messages.iter().filter(|message| message.is_prompt());
        prompts.filter_map(|prompt| short_prompt(&prompt.text())).take(count).collect()
    }

    /// Returns the last prompt in the increment of a record.
    fn last_prompt(&self, record: &Record) -> Option<String> {
        match record.turns {
            0 => None,
            1 => record.prompt.clone(),
            _ => {
                let summary = Summary::of_record(record);
                let conversation = self.increments([&summary]).next()?;
                let last = conversation.messages.iter().rfind(|message| message.is_prompt())?;
                short_prompt(&last.text()).filter(|_| !conversation.is_too_large)
            }
        }
    }
}
