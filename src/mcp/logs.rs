//! Logs of a Salesforce org: the tool `apex_logs_sync`, as clients of an existing server know it.

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::schema::object;
use super::{Answer, Context, Refusal, Server};
use crate::evidence::apex;

/// The schema of the arguments.
pub fn input() -> Value {
    object(
        json!({
            "limit": { "type": "number", "minimum": apex::LIMITS.start(), "maximum": apex::LIMITS.end(),
                "default": apex::DEFAULT_LIMIT, "description": "Maximum number of logs, the newest first" },
            "target": { "type": "string", "description": "Alias or user name of the org; the default org otherwise" },
        }),
        &[],
    )
}

/// The schema of the answer, if logs were listed.
pub fn output() -> Value {
    let natural = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let log = object(
        json!({
            "Id": text, "StartTime": text, "Operation": text, "Application": text, "DurationMilliseconds": natural,
            "Status": text, "Request": text, "LogLength": natural,
            // An object with a name, or null.
            "LogUser": {},
        }),
        &["Id", "StartTime"],
    );
    let list = |item: Value| json!({ "type": "array", "items": item });
    object(
        json!({
            "ok": { "type": "boolean" },
            // The user is text, or null.
            "org": object(json!({ "username": {}, "instanceUrl": text }), &["instanceUrl"]),
            "apiVersion": text, "limit": natural, "savedDir": text, "logs": list(log),
            "saved": list(object(json!({ "id": text, "file": text, "size": natural }), &["id", "file", "size"])),
            "skipped": list(object(json!({ "id": text, "reason": text }), &["id", "reason"])),
            "errors": list(object(json!({ "id": text, "message": text }), &["id", "message"])),
        }),
        &["ok", "org", "apiVersion", "limit", "savedDir", "logs", "saved", "skipped", "errors"],
    )
}

impl Server {
    /// Says whether the server's directory is in a Salesforce project.
    pub(super) fn is_in_salesforce_project(&self) -> bool {
        let here = std::env::current_dir().ok();
        let directory = match (&self.directory, here) {
            (Some(directory), Some(here)) => Some(here.join(directory)),
            (directory, here) => directory.clone().or(here),
        };
        directory.is_some_and(|directory| apex::is_in_project(&directory))
    }
}

/// `logs_sync`.
pub fn sync(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    // `check` has let through whole numbers only.
    let limit = arguments.get("limit").and_then(Value::as_f64).map_or(apex::DEFAULT_LIMIT, |limit| limit as i64);
    let target = arguments.get("target").and_then(Value::as_str);
    let wanted = apex::SyncOptions { limit, target, is_dry_run: false };
    let synced = std::env::current_dir()
        .map_err(|error| apex::Failure::no_directory(&error))
        .map(|here| context.server.directory.as_ref().map_or_else(|| here.clone(), |directory| here.join(directory)))
        .and_then(|directory| apex::sync(&directory, wanted, context.is_cancelled));
    let structured = synced.unwrap_or_else(|failure| failure.to_json());
    Ok(Answer { text: structured.clone(), structured })
}
