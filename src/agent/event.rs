//! The events that hooks of agents report.

use super::{ALL, tool};

/// The event that a hook of an agent reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A session starts or is resumed.
    SessionStart,
    /// A tool ran, successfully or not.
    AfterTool,
    /// A session has ended.
    SessionEnd,
    /// Any other event of a running session: a prompt, the end of a turn, a compaction.
    Alive,
}

impl Event {
    /// Returns the event that an agent calls `name`; an unknown name counts as [`Event::Alive`].
    pub fn of(name: &str) -> Self {
        // Names that several agents use. The names of all agents count: an agent may run the hook of another one.
        const COMMON: &[(&str, Event)] = &[
            ("SessionStart", Event::SessionStart),
            ("agentSpawn", Event::SessionStart),
            ("PostToolUse", Event::AfterTool),
            ("PostToolUseFailure", Event::AfterTool),
            ("PostToolBatch", Event::AfterTool),
            ("SessionEnd", Event::SessionEnd),
        ];
        let mut known = COMMON.iter().chain(ALL.iter().flat_map(|agent| agent.events()));
        known.find(|(known, _)| tool::is_same_name(known, name)).map_or(Event::Alive, |(_, event)| *event)
    }
}
