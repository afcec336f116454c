//! Showing only some turns of a commit, chosen by their numbers or by paths, and the errors if there are none.

use super::Shown;
use crate::command::target;
use crate::error::{Error, Kind};
use crate::outside;
use crate::record::Conversation;
use crate::transcript::{turn_numbers, turns};

impl Shown<'_> {
    /// Says whether a conversation has a turn that is wanted by its number and, as `about` says of each message, by its
    /// paths. The turns of a sub-agent count only if it is asked for by name.
    pub(super) fn has_wanted_turn(&mut self, conversation: &Conversation, about: Option<&[bool]>) -> bool {
        let Some(wanted) = self.options.turn else { return true };
        if conversation.summary.key.parent_id().is_some() && self.options.session.is_none() {
            return false;
        }
        let has_turn = turns(&conversation.messages).iter().any(|turn| wanted.contains(turn.number));
        self.has_turn |= has_turn;
        has_turn
            && about.is_none_or(|about| {
                let numbers = turn_numbers(&conversation.messages);
                numbers.iter().zip(about).any(|(number, is_about)| *is_about && wanted.contains(*number))
            })
    }

    /// Takes note of a conversation without words, none of whose turns can be wanted.
    pub(super) fn take_note_of_no_words(&mut self, conversation: &Conversation) {
        if conversation.bytes.is_empty() {
            self.take_note_of_lack(conversation);
            self.words_problem = self.words_problem.take().or_else(|| conversation.problems.first().cloned());
        }
    }

    /// Returns the error for a commit of which nothing was shown.
    pub(super) fn nothing_shown(&mut self, revision: &str) -> Error {
        let missing = |message: String| Error::new(Kind::Missing, message);
        let path = self.paths.first().map(|path| path.to_string_lossy().into_owned());
        if self.options.turn.is_none() && path.is_none() {
            return target::nothing_on(self.repo, revision, "show");
        }
        if let Some(problem) = self.words_problem.take() {
            return missing(format!("cannot show turns of {revision}")).because(problem);
        }
        let error = match (&path, self.options.turn) {
            (Some(path), Some(turns)) if self.has_turn => missing(format!(
                "{turns} of the conversation of {revision} {} not about '{}'",
                if turns.is_one() { "is" } else { "are" },
                outside::line(path)
            )),
            (_, Some(_)) => return missing(format!("the conversation of {revision} has no such turn")),
            (path, None) => missing(format!(
                "no turn about '{}' in the conversation of {revision}",
                outside::line(path.as_deref().unwrap_or_default())
            )),
        };
        let path = path.unwrap_or_default();
        error.hint(format!("git shiftlog log -- {}    # lists the conversations about a file", outside::shell(&path)))
    }
}
