//! Counting what an increment holds, message by message, in constant memory per answer.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edits;
use super::{EditedPath, Message, ModelUsage, Part, Role, Tokens};

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
    edits: Edits,
    /// The seconds in which somebody was at work: the sum of the gaps between messages that are shorter than
    /// five minutes.
    pub active_secs: u64,
    /// The answers that may still grow, by their ids.
    open_usage: BTreeMap<String, ModelUsage>,
    /// The sum of all other answers.
    closed_usage: Vec<ModelUsage>,
}

/// A longer gap between two messages is a pause.
const MAX_GAP_SECS: i64 = 300;

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
        if let (Some(last), Some(time)) = (self.last_time, message.time) {
            let gap = u64::try_from(time.saturating_sub(last)).unwrap_or(0);
            self.active_secs = self.active_secs.saturating_add(if gap < MAX_GAP_SECS as u64 { gap } else { 0 });
        }
        self.last_time = self.last_time.max(message.time);
        for part in &message.parts {
            match part {
                Part::ToolCall(call) => {
                    self.edited_paths.extend(call.edits.iter().map(|edit| edit.path.clone()));
                    self.edits.call(call);
                }
                Part::ToolResult(result) => self.edits.answer(result),
                _ => {}
            }
        }
        if let Some(usage) = message.usage {
            let answer_id = message.answer_id.clone().unwrap_or_else(|| format!("@{}", message.span.start));
            let known = self.open_usage.entry(answer_id).or_default();
            known.model = message.model.clone().or_else(|| known.model.take());
            known.tier = message.tier.clone().or_else(|| known.tier.take());
            // One answer is written as several records whose usage grows; the largest is the last.
            known.tokens = known.tokens.max(usage);
            if self.open_usage.len() > OPEN_ANSWERS {
                let closed = std::mem::take(&mut self.open_usage);
                closed.into_values().for_each(|usage| usage.add_to(&mut self.closed_usage));
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

    /// Returns what calls that did not fail changed, by the paths that the agent gave.
    pub fn edits(&self) -> Vec<EditedPath> {
        self.edits.list()
    }

    /// Returns the tokens of all answers, or `None` if the transcript does not tell.
    pub fn tokens(&self) -> Option<Tokens> {
        self.usage().into_iter().map(|usage| usage.tokens).reduce(Tokens::plus)
    }

    /// Returns the tokens of each model, sorted. An answer that does not name its model counts for the last one.
    pub fn usage(&self) -> Vec<ModelUsage> {
        let mut list = Vec::new();
        for usage in self.closed_usage.iter().chain(self.open_usage.values()) {
            let model = usage.model.as_ref().or(self.model.as_ref()).cloned();
            ModelUsage { model, ..usage.clone() }.add_to(&mut list);
        }
        list.sort_by(|a, b| (&a.model, &a.tier).cmp(&(&b.model, &b.tier)));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, model: Option<&str>, time: i64, output: u64) -> Message {
        Message {
            answer_id: Some(id.into()),
            model: model.map(str::to_owned),
            time: Some(time),
            usage: Some(Tokens { output, ..Tokens::default() }),
            ..Message::new(Role::Assistant, 0..0)
        }
    }

    #[test]
    fn each_model_gets_the_tokens_of_its_own_answers() {
        let mut tally = Tally::default();
        tally.add(&[answer("1", Some("big"), 0, 5), answer("1", Some("big"), 1, 7), answer("2", Some("small"), 2, 1)]);
        tally.add(&[Message { is_sidechain: true, ..answer("3", Some("other"), 3, 2) }, answer("4", None, 4, 10)]);
        let usage: Vec<_> =
            tally.usage().into_iter().map(|one| (one.model.expect("a model"), one.tokens.output)).collect();
        let expected = [("big", 7), ("other", 2), ("small", 11)];
        assert_eq!(usage, expected.map(|(model, output)| (model.to_owned(), output)));
        assert_eq!(tally.tokens().map(|tokens| tokens.output), Some(20), "the sum is that of the models");
    }

    #[test]
    fn answers_that_are_closed_still_count_for_their_models() {
        let mut tally = Tally::default();
        for number in 0..3 * OPEN_ANSWERS {
            tally.add(&[answer(&number.to_string(), Some(["a", "b"][number % 2]), 0, 1)]);
        }
        let usage: Vec<_> = tally.usage().into_iter().map(|one| one.tokens.output).collect();
        assert_eq!(usage, [3 * OPEN_ANSWERS as u64 / 2; 2]);
    }

    #[test]
    fn pauses_and_times_that_run_backwards_are_no_work() {
        let mut tally = Tally::default();
        tally.add(&[0, 60, 359, 659, 600, 700].map(|time| answer("1", None, time, 1)));
        assert_eq!(tally.active_secs, 60 + 299 + 41, "a gap of five minutes is a pause");
    }
}
