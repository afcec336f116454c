//! A conversation to be shown, and the turns of it that are wanted.

use std::collections::HashSet;

use super::RecordOrigin;
use super::clock::{Clock, duration};
use super::sub_agent::SubAgent;
use super::tasks::Tasks;
use crate::git::{Commit, date};
use crate::outside;
use crate::record::Conversation;
use crate::told::Changes;
use crate::transcript::{Message, Part, Turn, turns};

/// A conversation to be shown.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The commit that it is recorded on.
    pub commit: &'a Commit,
    /// The conversation.
    pub conversation: &'a Conversation,
    /// The sub-agents that its session had.
    pub sub_agents: &'a [SubAgent],
    /// The turns that are wanted; `None` for all.
    pub turns: Option<&'a TurnRange>,
    /// For each message, whether its turn is wanted; `None` for all.
    pub about: Option<&'a [bool]>,
    /// Where its records came from, if they were made for other commits.
    pub origin: Option<RecordOrigin>,
    /// The abbreviated id of the commit whose conversation goes on in this one, and the prompt that is answered here.
    pub continues: Option<&'a (String, String)>,
    /// The abbreviated id of the last earlier commit whose record has instruction files, and the changes since then.
    pub told_before: Option<&'a (String, Changes)>,
    /// The tasks that the session made before; `None` if none is changed here.
    pub tasks: Option<&'a Tasks>,
    /// The top of the reader's working tree, for a document; below it, paths are shown from the session's directory.
    pub top: Option<&'a str>,
}

impl<'a> View<'a> {
    /// Returns the turns that are wanted.
    pub(super) fn turns(&self) -> Vec<Turn> {
        let mut turns = turns(&self.conversation.messages);
        let is_about = |turn: &Turn| self.about.is_none_or(|about| about[turn.messages.clone()].contains(&true));
        turns.retain(|turn| self.turns.is_none_or(|wanted| wanted.contains(turn.number)) && is_about(turn));
        turns
    }

    /// Returns the wanted turns, each with what stands above it, and its messages.
    pub(super) fn turns_with_heads(&self, dates: &date::Format) -> Vec<(String, &'a [Message])> {
        let mut clock = Clock::new(dates, self.commit.author.time);
        let conversation = self.conversation;
        let with_head = |turn: Turn| {
            let messages = &conversation.messages[turn.messages.clone()];
            let head = match (turn.number, self.continues) {
                (0, Some((commit, prompt))) => format!("continues {commit}: {}", outside::line(prompt)),
                (0, None) => String::new(),
                (number, _) => {
                    let start = turn.start.map(|start| clock.tell(start));
                    let facts = [start, turn.duration_secs().and_then(duration)];
                    let facts = facts.into_iter().flatten().map(|fact| format!(", {fact}"));
                    format!("turn {number}{}", facts.collect::<String>())
                }
            };
            (head, messages)
        };
        self.turns().into_iter().map(with_head).collect()
    }

    /// Returns the tasks that are known before the first turn that is wanted.
    pub(super) fn known_tasks(&self) -> Tasks {
        let mut tasks = self.tasks.cloned().unwrap_or_default();
        // Also those that were made in a turn that is not wanted.
        tasks.add(Tasks::of(&self.conversation.messages));
        tasks
    }

    /// Returns the sub-agents that no shown call has started.
    pub(super) fn uncalled(&self) -> impl Iterator<Item = &'a SubAgent> {
        let is_all = self.turns.is_none();
        uncalled(self.conversation, self.sub_agents).filter(move |_| is_all)
    }
}

/// Returns the sub-agents that no call in a conversation has started.
pub(super) fn uncalled<'s>(of: &Conversation, sub_agents: &'s [SubAgent]) -> impl Iterator<Item = &'s SubAgent> {
    let parts = of.messages.iter().flat_map(|message| &message.parts);
    let called: HashSet<String> = parts
        .filter_map(|part| match part {
            Part::ToolResult(result) => result.sub_agent.clone(),
            _ => None,
        })
        .collect();
    sub_agents.iter().filter(move |other| !called.contains(&other.id))
}

/// A choice of turns by their numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TurnRange {
    first: usize,
    last: usize,
}

impl TurnRange {
    /// Reads `<n>`, `<n>..<m>`, `<n>..` or `..<m>`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |digits: &str| {
            Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<usize>().ok()
        };
        let (first, last) = match text.split_once("..") {
            Some(("", "")) => return None,
            Some(("", last)) => (0, number(last)?),
            Some((first, "")) => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        (first <= last).then_some(TurnRange { first, last })
    }

    /// Says whether a turn is in it.
    pub fn contains(&self, number: usize) -> bool {
        (self.first..=self.last).contains(&number)
    }

    /// Says whether it is one turn.
    pub fn is_one(&self) -> bool {
        self.first == self.last
    }
}

impl std::fmt::Display for TurnRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.first, self.last) {
            (first, last) if first == last => write!(f, "turn {first}"),
            (0, last) => write!(f, "turns ..{last}"),
            (first, usize::MAX) => write!(f, "turns {first}.."),
            (first, last) => write!(f, "turns {first}..{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TurnRange;

    #[test]
    fn turns_are_chosen_as_revisions_are() {
        let chosen = |text: &str| {
            TurnRange::parse(text).map(|range| (0..6).filter(|number| range.contains(*number)).collect::<Vec<_>>())
        };
        assert_eq!(chosen("2"), Some(vec![2]));
        assert_eq!(chosen("2..4"), Some(vec![2, 3, 4]));
        assert_eq!(chosen("4.."), Some(vec![4, 5]));
        assert_eq!(chosen("..1"), Some(vec![0, 1]));
        for wrong in ["", "..", "x", "-1", "4..2", "1..2..3", "+1"] {
            assert_eq!(chosen(wrong), None, "{wrong}");
        }
    }
}
