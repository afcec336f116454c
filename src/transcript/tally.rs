//! Counting what an increment holds, message by message, in constant memory per answer.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Message, Part, Role};

/// Tokens as the model's provider counts them. Keys are written in this order, absent when unknown.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// Tokens read at full price.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Tokens {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
        }
    }
}

/// What a stretch of a transcript holds, counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many prompts.
    pub turns: u64,
    /// How many prompts and texts of the assistant; tool calls and results do not count.
    pub messages: u64,
    /// The first prompt.
    pub prompt: Option<String>,
    /// The last model that answered.
    pub model: Option<String>,
    /// When the last prompt was given.
    pub last_prompt_time: Option<i64>,
    /// When the first message was written.
    pub first_time: Option<i64>,
    /// When the last message was written.
    pub last_time: Option<i64>,
    /// The paths that tool calls edit.
    pub edited_paths: BTreeSet<String>,
    usage: BTreeMap<String, Tokens>,
    closed_usage: Tokens,
    has_usage: bool,
}

/// How many answers keep their usage open; older ones cannot grow any more.
const OPEN_ANSWERS: usize = 1024;

impl Tally {
    /// Adds messages, which must come in the order of the transcript.
    pub fn add(&mut self, messages: &[Message]) {
        for message in messages {
            self.add_one(message);
        }
    }

    fn add_one(&mut self, message: &Message) {
        self.first_time = self.first_time.or(message.time);
        self.last_time = message.time.or(self.last_time);
        for part in &message.parts {
            if let Part::ToolCall(call) = part {
                self.edited_paths.extend(call.edits.iter().map(|edit| edit.path.clone()));
            }
        }
        if let Some(usage) = message.usage {
            self.has_usage = true;
            let answer_id = message.answer_id.clone().unwrap_or_else(|| format!("@{}", message.span.start));
            let known = self.usage.entry(answer_id).or_default();
            // One answer is written as several records whose usage grows; the largest is the last.
            *known = Tokens {
                input: known.input.max(usage.input),
                output: known.output.max(usage.output),
                cache_read: known.cache_read.max(usage.cache_read),
                cache_write: known.cache_write.max(usage.cache_write),
            };
            if self.usage.len() > OPEN_ANSWERS {
                let closed = std::mem::take(&mut self.usage);
                self.closed_usage = closed.into_values().fold(self.closed_usage, Tokens::plus);
            }
        }
        if message.is_sidechain {
            return;
        }
        if message.is_prompt() {
            self.turns += 1;
            self.messages += 1;
            self.last_prompt_time = message.time.or(self.last_prompt_time);
            if self.prompt.is_none() {
                self.prompt = Some(message.text());
            }
        }
        if message.role == Role::Assistant {
            self.model = message.model.clone().or_else(|| self.model.take());
            let texts = message.parts.iter().filter(|part| matches!(part, Part::Text(_)));
            self.messages += texts.count() as u64;
        }
    }

    /// Returns the tokens of all answers, or `None` if the transcript does not tell.
    pub fn tokens(&self) -> Option<Tokens> {
        self.has_usage.then(|| self.usage.values().fold(self.closed_usage, |sum, usage| sum.plus(*usage)))
    }
}
