//! Counting an increment, message by message, in constant memory per answer.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edits;
use super::{EditedPath, Message, ModelUsage, Part, Role, Tokens, UsageSums};

/// The counts of a stretch of a transcript.
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
    /// five minutes. A gap counts with the message after it, so that the parts of a session add up to the whole.
    pub active_secs: u64,
    /// The answers that may still grow, by their ids.
    open_usage: BTreeMap<String, ModelUsage>,
    /// The sum of all other answers.
    closed_usage: UsageSums,
    /// The last answers before the stretch, which may go on in it; the tokens that they had used by then are already
    /// counted.
    counted: LastAnswers,
    last_answers: LastAnswers,
    /// When the last message before the stretch was written.
    time_before: Option<i64>,
}

/// The end of the stretch before, as far as the counts of a stretch depend on it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Before {
    /// The last answers.
    pub answers: LastAnswers,
    /// When the last message was written.
    pub time: Option<i64>,
}

/// Answers at the end of a stretch, the last one last: their ids, and the tokens that each has used so far. Such an
/// answer may go on in the next stretch, as when a commit is made between two of its tool calls.
pub type LastAnswers = Vec<(String, Tokens)>;

/// A longer gap between two messages is a pause.
const MAX_GAP_SECS: i64 = 300;

/// How many answers keep their usage open; older ones cannot grow any more.
const OPEN_ANSWERS: usize = 1024;

/// How many answers may go on in the next stretch: those of sub-agents stand between those of their session.
const LAST_ANSWERS: usize = 8;

/// Returns for how many seconds somebody was at work between two messages: none if there was a pause. The times are seconds since
/// the epoch.
pub fn active_gap(last: i64, time: i64) -> u64 {
    let gap = time.saturating_sub(last);
    if (0..MAX_GAP_SECS).contains(&gap) { gap.unsigned_abs() } else { 0 }
}

impl Tally {
    /// Returns a tally for the stretch that follows. Of an answer that goes on, only the new tokens count.
    pub fn after(before: Before) -> Self {
        let Before { answers, time } = before;
        Tally { counted: answers.clone(), last_answers: answers, time_before: time, ..Tally::default() }
    }

    /// Returns the end of this stretch, for [`Tally::after`].
    pub fn end(&self) -> Before {
        Before { answers: self.last_answers.clone(), time: self.last_time.or(self.time_before) }
    }

    /// Adds messages, which must come in the order of the transcript.
    pub fn add(&mut self, messages: &[Message]) {
        for message in messages {
            self.add_one(message);
        }
    }

    fn add_one(&mut self, message: &Message) {
        self.first_time = self.first_time.or(message.time);
        if let (Some(last), Some(time)) = (self.last_time.or(self.time_before), message.time) {
            self.active_secs = self.active_secs.saturating_add(active_gap(last, time));
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
            self.add_usage(message, usage);
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

    fn add_usage(&mut self, message: &Message, tokens: Tokens) {
        let (model, tier) = (message.model.clone(), message.tier.clone());
        let Some(answer_id) = message.answer_id.clone() else {
            return self.closed_usage.add(ModelUsage { model, tier, tokens });
        };
        let known = self.open_usage.entry(answer_id.clone()).or_default();
        known.model = model.or_else(|| known.model.take());
        known.tier = tier.or_else(|| known.tier.take());
        // One answer is written as several records whose usage grows; the largest is the last.
        known.tokens = known.tokens.max(tokens);
        let tokens = known.tokens.max(tokens_of(&self.counted, &answer_id).unwrap_or_default());
        self.last_answers.retain(|(id, _)| *id != answer_id);
        self.last_answers.push((answer_id, tokens));
        if self.last_answers.len() > LAST_ANSWERS {
            self.last_answers.remove(0);
        }
        if self.open_usage.len() > OPEN_ANSWERS {
            let closed: Vec<ModelUsage> = self.new_usage().collect();
            closed.into_iter().for_each(|usage| self.closed_usage.add(usage));
            self.open_usage.clear();
            self.counted.clone_from(&self.last_answers);
        }
    }

    /// Returns the tokens of each open answer that are not counted yet.
    fn new_usage(&self) -> impl Iterator<Item = ModelUsage> {
        self.open_usage.iter().filter_map(|(id, usage)| {
            let Some(counted) = tokens_of(&self.counted, id) else { return Some(usage.clone()) };
            let tokens = usage.tokens.minus(counted);
            (tokens.total() > 0).then(|| ModelUsage { tokens, ..usage.clone() })
        })
    }

    /// Returns the edits of the calls that did not fail, by the paths that the agent gave.
    pub fn edits(&self) -> Vec<EditedPath> {
        self.edits.list()
    }

    /// Returns the tokens of all answers, or `None` if the transcript does not tell.
    pub fn tokens(&self) -> Option<Tokens> {
        self.usage().into_iter().map(|usage| usage.tokens).reduce(Tokens::plus)
    }

    /// Returns the tokens of each model, sorted. An answer that does not name its model counts for the last one.
    pub fn usage(&self) -> Vec<ModelUsage> {
        let all = self.closed_usage.list().chain(self.new_usage());
        let named = all.map(|usage| ModelUsage { model: usage.model.or_else(|| self.model.clone()), ..usage });
        named.collect::<UsageSums>().list().collect()
    }
}

fn tokens_of(answers: &LastAnswers, id: &str) -> Option<Tokens> {
    answers.iter().find(|(known, _)| known == id).map(|(_, tokens)| *tokens)
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
    fn many_models_cost_no_more_than_few() {
        let count = |models: usize| {
            let answers: Vec<Message> = (0..20_000)
                .map(|number| answer(&number.to_string(), Some(&format!("m{}", number % models)), 0, 1))
                .collect();
            let begin = std::time::Instant::now();
            let mut tally = Tally::default();
            tally.add(&answers);
            assert_eq!(tally.usage().len(), models);
            begin.elapsed()
        };
        let (few, many) = (count(10), count(20_000));
        assert!(many < few * 5, "many took {many:?}, few {few:?}");
    }

    #[test]
    fn parts_of_a_session_are_active_as_long_as_the_whole() {
        let messages = [0, 10, 400, 450, 460].map(|time| answer(&time.to_string(), None, time, 1));
        let mut whole = Tally::default();
        whole.add(&messages);
        assert_eq!(whole.active_secs, 70, "a pause does not count");
        for at in 0..=messages.len() {
            let (mut first, (before, after)) = (Tally::default(), messages.split_at(at));
            first.add(before);
            let mut second = Tally::after(first.end());
            second.add(after);
            assert_eq!(first.active_secs + second.active_secs, 70, "cut before message {at}");
            assert_eq!(second.end(), whole.end(), "cut before message {at}");
        }
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
    fn of_an_answer_that_goes_on_only_what_is_new_counts() {
        let (whole, outputs) =
            (Tally::default(), [("1", 5), ("2", 50), ("3", 1), ("2", 70), ("2", 70), ("1", 5), ("4", 2)]);
        let messages = outputs.map(|(id, output)| answer(id, Some("big"), 0, output));
        for cut in 0..messages.len() {
            let mut first = whole.clone();
            first.add(&messages[..cut]);
            let mut second = Tally::after(first.end());
            second.add(&messages[cut..]);
            let sum: u64 = [&first, &second].map(|tally| tally.tokens().map_or(0, |tokens| tokens.output)).iter().sum();
            assert_eq!(sum, 78, "cut at {cut}");
        }
        let mut repeated =
            Tally::after(Before { answers: vec![("1".into(), Tokens { output: 5, ..Tokens::default() })], time: None });
        repeated.add(&messages[..1]);
        assert_eq!((repeated.tokens(), repeated.end().answers.len()), (None, 1), "nothing is new");
    }

    #[test]
    fn an_answer_that_goes_on_while_others_are_closed_counts_once() {
        let mut tally = Tally::default();
        for number in 0..=OPEN_ANSWERS {
            tally.add(&[answer(&number.to_string(), None, 0, 1)]);
        }
        tally.add(&[answer(&OPEN_ANSWERS.to_string(), None, 0, 1)]);
        assert_eq!(tally.tokens().map(|tokens| tokens.output), Some(OPEN_ANSWERS as u64 + 1));
    }

    #[test]
    fn pauses_and_times_that_run_backwards_are_no_work() {
        let mut tally = Tally::default();
        tally.add(&[0, 60, 359, 659, 600, 700].map(|time| answer("1", None, time, 1)));
        assert_eq!(tally.active_secs, 60 + 299 + 41, "a gap of five minutes is a pause");
    }
}
