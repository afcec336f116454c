//! A session of a commit with its sub-agents, and how it is printed.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Layout, Options};
use crate::cli::{self, Screen};
use crate::error::Result;
use crate::git::{Commit, Repository};
use crate::pretty::{self, RecordOrigin, SubAgent, Tasks, View};
use crate::record::{Conversation, Evidence, Summary};
use crate::told::Changes;
use crate::transcript::{SessionKey, turn_numbers};
use crate::upkeep::verify::verify;
use crate::{agent, outside};

/// A session of a commit with its sub-agents.
pub(super) struct Group {
    pub conversation: Conversation,
    /// The number of each message's turn, for programs.
    pub numbers: Vec<usize>,
    /// Of each message, whether its turn is about a wanted path; `None` if none is wanted.
    pub about: Option<Vec<bool>>,
    pub sub_agents: Vec<SubAgent>,
    /// The commit whose conversation goes on in this one, and its last prompt.
    pub continues: Option<(String, String)>,
    pub origin: Option<RecordOrigin>,
    /// The last commit before whose record says what the agent was told, and what differs.
    pub told_before: Option<(String, Changes)>,
    /// The tasks that the session made before, if some are changed here.
    pub tasks: Option<Tasks>,
}

impl Group {
    /// Makes a group of a session alone.
    pub fn of(conversation: Conversation) -> Self {
        let (numbers, sub_agents) = (turn_numbers(&conversation.messages), Vec::new());
        let (about, continues, origin, told_before, tasks) = (None, None, None, None, None);
        Group { conversation, numbers, about, sub_agents, continues, origin, told_before, tasks }
    }

    /// Says whether a conversation is that of a sub-agent of the session.
    pub fn has(&self, other: &Conversation) -> bool {
        let (key, other) = (&self.conversation.summary.key, &other.summary.key);
        key.agent == other.agent && other.parent_id() == Some(&key.id)
    }
}

/// Returns the sessions that have sub-agents.
pub(super) fn parents(summaries: &[Summary]) -> HashSet<SessionKey> {
    summaries.iter().filter_map(|summary| summary.key.parent()).collect()
}

pub(super) fn print(
    repo: &Repository,
    screen: &mut Screen,
    options: &Options,
    commit: &Commit,
    group: Group,
    is_first: bool,
    evidence: &[Evidence],
) -> Result<()> {
    let Group { conversation, numbers, about, sub_agents, continues, origin, told_before, tasks } = group;
    if options.raw || options.json.is_on {
        let notice = conversation.summary.newer_notice();
        conversation.problems.iter().chain(&notice).for_each(|words| cli::warning(words));
    }
    let verified = match options.show_signature {
        true if is_first => {
            verify(repo, &cli::full_notes_ref(repo, options.printing.source().name()), &[commit.commit_id])?.records
        }
        _ => Vec::new(),
    };
    let depth = options.depth();
    let is_screen = screen.is_screen;
    screen.write(|out, style| {
        if options.raw {
            let raw = raw(&conversation, options.full);
            // Bytes on their way into a file stay as they are; a terminal would act on some of them.
            return if is_screen { outside::write_text(out, &raw) } else { out.write_all(&raw) };
        }
        if options.json.is_on {
            return pretty::write_conversation_object(out, commit, conversation, &numbers, evidence)
                .and_then(|()| write!(out, "{}", options.printing.end()));
        }
        let (conversation, turns) = (&conversation, options.turn.as_ref());
        let (about, continues, told_before) = (about.as_deref(), continues.as_ref(), told_before.as_ref());
        let (sub_agents, tasks) = (&sub_agents, tasks.as_ref());
        let top = style.top.as_deref();
        let view = View { commit, conversation, sub_agents, turns, about, origin, continues, told_before, tasks, top };
        if options.format == Some(Layout::Markdown) {
            return pretty::write_document(out, &view, depth);
        }
        if is_first {
            pretty::write_commit(out, commit, style)?;
            for each in &verified {
                let line = format!("{}: {}", each.key, pretty::provenance(each));
                writeln!(out, "{}", style.paint(&style.strong, &outside::line(&line)))?;
            }
        }
        pretty::write_conversation(out, &view, depth, style)
    })
}

/// Returns the transcript: as the agent had it if it is whole, else as it is stored.
fn raw(conversation: &Conversation, is_whole: bool) -> Cow<'_, [u8]> {
    match agent::find(&conversation.summary.key.agent).filter(|_| is_whole) {
        Some(agent) => agent.native(&conversation.bytes),
        None => Cow::Borrowed(&conversation.bytes),
    }
}
