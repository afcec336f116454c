//! Turns: a prompt and what followed it.

use std::ops::Range;

use super::Message;

/// A prompt, and what followed it up to the next one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Turn {
    /// 1 for the first prompt, and so on; 0 for the messages before the first prompt.
    pub number: usize,
    /// The messages of the turn.
    pub messages: Range<usize>,
    /// When it began, in seconds since the epoch.
    pub start: Option<i64>,
    /// When its last message was written, in seconds since the epoch.
    pub end: Option<i64>,
}

impl Turn {
    /// Returns how long the turn took, in seconds; `None` if that is not known.
    pub fn duration_secs(&self) -> Option<i64> {
        Some(self.end? - self.start?).filter(|seconds| *seconds >= 0)
    }
}

/// Returns the turns of a conversation, or of a part of one. There is a turn 0 only if something is said in it.
pub fn turns(messages: &[Message]) -> Vec<Turn> {
    let prompts: Vec<usize> = (0..messages.len()).filter(|at| messages[*at].is_prompt()).collect();
    let starts = [0].into_iter().chain(prompts.iter().copied());
    let ends = prompts.iter().copied().chain([messages.len()]);
    let turn = |(number, (start, end)): (usize, (usize, usize))| {
        let times = || messages[start..end].iter().filter_map(|message| message.time);
        Turn { number, messages: start..end, start: times().next(), end: times().max() }
    };
    let is_said = |turn: &Turn| turn.number > 0 || messages[turn.messages.clone()].iter().any(|m| !m.parts.is_empty());
    starts.zip(ends).enumerate().map(turn).filter(is_said).collect()
}

/// Returns the number of each message's turn.
pub fn turn_numbers(messages: &[Message]) -> Vec<usize> {
    let mut numbers = vec![0; messages.len()];
    turns(messages).into_iter().for_each(|turn| numbers[turn.messages].fill(turn.number));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Part, Role};

    fn said(role: Role, time: i64) -> Message {
        let mut message = Message::new(role, 0..0);
        message.parts.push(Part::Text("x".into()));
        message.time = Some(time);
        message
    }

    #[test]
    fn a_turn_is_a_prompt_and_what_follows_it() {
        let messages = [
            said(Role::Assistant, 5),
            said(Role::User, 10),
            said(Role::Assistant, 70),
            said(Role::User, 100),
            Message::new(Role::System, 0..0),
        ];
        let turn = |number, messages, start, end| Turn { number, messages, start: Some(start), end: Some(end) };
        assert_eq!(turns(&messages), [turn(0, 0..1, 5, 5), turn(1, 1..3, 10, 70), turn(2, 3..5, 100, 100)]);
        assert_eq!(turn_numbers(&messages), [0, 1, 1, 2, 2]);
        assert_eq!(turns(&messages)[1].duration_secs(), Some(60));
        assert_eq!(turns(&messages[1..]).len(), 2, "nothing before the first prompt is no turn");
        assert_eq!(turns(&messages[4..]), []);
    }
}
