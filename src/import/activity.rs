//! The traces of work in a transcript: times, calls of `git commit`, and edits.

use std::collections::HashMap;

use crate::transcript::shell::{CommitCommand, NamedCommit, commits_in, named_in};
use crate::transcript::{Message, Part};

/// A tool call that ran `git commit`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id of the call.
    pub call_id: String,
    /// The commits that its command makes.
    pub made: Vec<CommitCommand>,
    /// The commits that its result names.
    pub named: Vec<NamedCommit>,
    /// The time of the call.
    pub from: Option<i64>,
    /// The time of the result.
    pub until: Option<i64>,
    /// The end of its result in the transcript; of the call itself if there is no result.
    pub end: u64,
}

/// A change to a file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The path as the agent gave it.
    pub path: String,
    /// The time.
    pub time: Option<i64>,
    /// The replaced text; `None` if the whole file is written.
    pub old: Option<String>,
    /// The new text.
    pub new: Option<String>,
}

/// The traces of one transcript.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// When the first message was written.
    pub start: Option<i64>,
    /// When the last message was written.
    pub end: Option<i64>,
    /// When the prompts were given.
    pub prompts: Vec<i64>,
    /// The calls that may have made a commit.
    pub calls: Vec<Call>,
    /// What was edited, in order.
    pub changes: Vec<Change>,
    /// The times of messages, each with its end in the transcript.
    times: Vec<(i64, u64)>,
}

impl Trace {
    /// Reads the messages of a transcript.
    pub fn of(messages: &[Message]) -> Self {
        let mut trace = Trace::default();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for message in messages {
            let end = message.span.end as u64;
            if let Some(time) = message.time {
                trace.start = Some(trace.start.map_or(time, |start| start.min(time)));
                trace.end = Some(trace.end.map_or(time, |end| end.max(time)));
                trace.times.push((time, end));
                if message.is_prompt() {
                    trace.prompts.push(time);
                }
            }
            for part in &message.parts {
                match part {
                    Part::ToolCall(call) => {
                        let made = call.command.as_deref().map(commits_in).unwrap_or_default();
                        if !made.is_empty() {
                            open.insert(&call.call_id, trace.calls.len());
                            let (from, call_id) = (message.time, call.call_id.clone());
                            trace.calls.push(Call { call_id, made, named: Vec::new(), from, until: None, end });
                        }
                        trace.changes.extend(call.edits.iter().map(|edit| Change {
                            path: edit.path.clone(),
                            time: message.time,
                            old: edit.old.clone(),
                            new: edit.new.clone(),
                        }));
                    }
                    Part::ToolResult(result) => {
                        if let Some(at) = open.remove(result.call_id.as_str()) {
                            let call = &mut trace.calls[at];
                            (call.named, call.until, call.end) = (named_in(&result.text), message.time, end);
                        }
                    }
                    _ => {}
                }
            }
        }
        trace
    }

    /// Returns the end of the last message that was written at or before a time; 0 if there is none.
    pub fn end_at(&self, time: i64) -> u64 {
        self.times.iter().rev().find(|(at, _)| *at <= time).map_or(0, |(_, end)| *end)
    }

    /// Drops the texts of changes, which take most of the memory.
    pub fn drop_texts(&mut self) {
        for change in &mut self.changes {
            (change.old, change.new) = (None, None);
        }
    }
}
