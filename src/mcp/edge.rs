//! The edge of the server: what goes to a client has no secret in it, wherever it was recorded. Names of people, models,
//! branches, files and sessions can be one.

use rmcp::model::ErrorData;
use serde_json::Value;

use super::{Answer, Context, Refusal};
use crate::record::redaction;
use crate::redact::Redactor;

/// Removes secrets from all texts of one answer.
pub(super) struct Edge {
    /// `None` outside a repository, where nothing recorded is answered with.
    redactor: Option<Redactor>,
}

impl Edge {
    /// Prepares an answer.
    pub fn of(context: &Context<'_>) -> Result<Self, Refusal> {
        let Ok(repo) = context.repository() else { return Ok(Edge { redactor: None }) };
        let redactor = redaction::redactor(&repo).map_err(|error| super::refusal(&error))?;
        Ok(Edge { redactor: Some(redactor) })
    }

    /// Returns a text without secrets.
    pub fn text(&self, text: String) -> String {
        match &self.redactor {
            Some(redactor) => redactor.without_secrets(&text).into_owned(),
            None => text,
        }
    }

    /// Says whether a text has a secret.
    pub fn has_secret(&self, text: &str) -> bool {
        self.redactor.as_ref().is_some_and(|redactor| redactor.without_secrets(text) != text)
    }

    /// Returns the answer of a tool without secrets.
    pub fn answer(&self, answer: Answer) -> Answer {
        let Answer { mut text, mut structured } = answer;
        if text == structured {
            self.clean(&mut structured);
            return Answer { text: structured.clone(), structured };
        }
        self.clean(&mut text);
        self.clean(&mut structured);
        Answer { text, structured }
    }

    /// Returns an error without secrets.
    pub fn error(&self, error: ErrorData) -> ErrorData {
        ErrorData { message: self.text(error.message.into_owned()).into(), ..error }
    }

    fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(std::mem::take(text)),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean(value)),
            Value::Object(members) => {
                if members.keys().any(|key| self.has_secret(key)) {
                    let old = std::mem::take(members);
                    *members = old.into_iter().map(|(key, value)| (self.text(key), value)).collect();
                }
                members.values_mut().for_each(|value| self.clean(value));
            }
            _ => {}
        }
    }
}
