//! The sub-agents of a session, folded into its conversation.

use super::clock::duration;
use super::count;
use crate::record::{Conversation, Summary};
use crate::transcript::{Message, Part, Role};

/// A sub-agent of a session that is shown.
#[derive(Debug)]
pub struct SubAgent {
    /// Its id, as the session's transcript has it.
    pub id: String,
    /// The summary in its record.
    pub summary: Summary,
    /// Descriptions of missing or damaged words.
    pub problems: Vec<String>,
    /// Its conversation, if that is shown.
    pub conversation: Option<Conversation>,
    said: String,
}

impl SubAgent {
    /// Takes in the conversation of a sub-agent, which is given up unless it `is_shown`.
    pub fn new(mut conversation: Conversation, is_shown: bool) -> Self {
        let id = &conversation.summary.key.id;
        SubAgent {
            id: id.split_once('.').map_or(id.as_str(), |(_, own)| own).to_owned(),
            summary: conversation.summary.clone(),
            problems: std::mem::take(&mut conversation.problems),
            said: SubAgent::said(&conversation.messages),
            conversation: is_shown.then_some(conversation),
        }
    }

    /// Returns how many texts and tool calls messages have, and how long they took; empty if they have none.
    pub fn said(messages: &[Message]) -> String {
        let parts = || messages.iter().flat_map(|message| message.parts.iter().map(move |part| (message.role, part)));
        let texts = parts().filter(|(role, part)| *role == Role::Assistant && matches!(part, Part::Text(_))).count();
        let calls = parts().filter(|(_, part)| matches!(part, Part::ToolCall(_))).count();
        if texts + calls == 0 {
            return String::new();
        }
        let times = || messages.iter().filter_map(|message| message.time);
        let took = times().max().zip(times().min()).and_then(|(end, start)| duration(end - start));
        let facts = [Some(count(texts as u64, "message")), Some(count(calls as u64, "tool call")), took];
        facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Returns the text behind the name of a folded sub-agent: how much it said, and the option that shows it.
    pub fn folded(&self, more: Option<&str>) -> String {
        let option = more.map(|option| format!(" ({option})")).unwrap_or_default();
        if self.said.is_empty() { String::new() } else { format!(": {}{option}", self.said) }
    }
}
