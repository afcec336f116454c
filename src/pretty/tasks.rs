//! The names of tasks that calls have made one by one: later calls have only their numbers.

use std::collections::HashMap;

use super::call::{Act, TodoItem};
use crate::error::Result;
use crate::git::ObjectId;
use crate::record::Reader;
use crate::redact::Redactor;
use crate::transcript::{Message, Part, SessionKey, ToolCall, ToolResult};

/// The names of tasks by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Tasks(HashMap<String, String>);

impl Tasks {
    /// Returns the tasks that messages have made.
    pub fn of(messages: &[Message]) -> Self {
        let parts = || messages.iter().flat_map(|message| &message.parts);
        let mut answers: HashMap<&str, &ToolResult> = HashMap::new();
        for part in parts() {
            if let Part::ToolResult(result) = part {
                answers.entry(&result.call_id).or_insert(result);
            }
        }
        let mut tasks = Tasks::default();
        for part in parts() {
            if let Part::ToolCall(call) = part {
                tasks.remember(call, answers.get(call.call_id.as_str()).copied());
            }
        }
        tasks
    }

    /// Returns the tasks that a session has made up to a commit that has a record of it; `None` if there is no record.
    ///
    /// # Errors
    ///
    /// If the notes cannot be read.
    pub fn until(reader: &Reader<'_>, commit_id: ObjectId, key: &SessionKey) -> Result<Option<Self>> {
        let mut tasks = None;
        if let Some(mut sessions) = reader.sessions(commit_id)? {
            reader.each_of_session(&mut sessions, key, true, |whole| {
                tasks = Some(Tasks::of(&whole.messages));
                Ok(())
            })?;
        }
        Ok(tasks)
    }

    /// Removes secrets, which names that an earlier tool has recorded can have.
    pub fn redact(&mut self, redactor: &Redactor) {
        self.0.values_mut().for_each(|name| *name = redactor.without_secrets(name).into_owned());
    }

    /// Keeps the name of a task that a call has made, as the answer numbers it.
    pub(super) fn remember(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        if let (Act::Task(None, item), Some(result)) = (Act::of(call), result) {
            let number = result.text.split_once('#').map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit));
            if let Some(number) = number.map(String::from_iter).filter(|number| !number.is_empty()) {
                self.0.insert(number, item.text.to_string());
            }
        }
    }

    /// Adds tasks, but for those whose numbers are known.
    pub(super) fn add(&mut self, others: Tasks) {
        for (number, name) in others.0 {
            self.0.entry(number).or_insert(name);
        }
    }

    /// Says whether messages change a task that they have not made, so that its name must be looked for before them.
    pub fn are_made_before(messages: &[Message]) -> bool {
        let made = Tasks::of(messages);
        messages.iter().flat_map(|message| &message.parts).any(|part| match part {
            Part::ToolCall(call) => match Act::of(call) {
                Act::Task(Some(id), item) => item.text.is_empty() && !made.0.contains_key(&id),
                _ => false,
            },
            _ => false,
        })
    }

    /// Returns the name of a task: that in the call, else its number.
    pub(super) fn name(&self, item: &TodoItem<'_>, id: Option<&str>) -> String {
        match id {
            Some(id) if item.text.is_empty() => self.0.get(id).cloned().unwrap_or_else(|| format!("#{id}")),
            _ => item.text.to_string(),
        }
    }
}
