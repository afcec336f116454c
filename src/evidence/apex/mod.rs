//! Debug logs of a Salesforce org, as `apexlogs/` has them.
//!
//! Read [`sync`]: its steps, its answer and its errors are those of an existing tool, for agents and scripts that know it.
//! [`Pull`] fetches all logs that an org has made since the last time.

mod auth;
mod files;
mod project;
mod pull;
mod server;

use std::path::Path;

use serde_json::{Value, json};

pub use self::files::{Kept, remove_unfinished};
use self::project::Lack;
pub use self::project::is_in_project;
pub use self::pull::{Listing, Log, LogQuery, Pull, Pulled};
pub(super) use self::server::is_log_id;
use self::server::{Filter, Org};
use crate::error::Error;
use crate::evidence::exclude;
use crate::managed::file::APEX_LOGS;
use crate::outside;
use crate::redact::{Redactor, Settings};

/// The fewest and the most logs that are asked for at once.
pub const LIMITS: std::ops::RangeInclusive<i64> = 1..=200;
/// How many logs are asked for if nothing else is said.
pub const DEFAULT_LIMIT: i64 = 100;

/// Why nothing was fetched.
#[derive(Debug)]
pub struct Failure {
    /// The code, such as `AUTH_FAILED`.
    code: &'static str,
    /// The meaning of the code.
    message: &'static str,
    /// The details of this failure.
    details: Option<String>,
}

impl Failure {
    fn new(code: &'static str, message: &'static str, details: impl Into<Option<String>>) -> Self {
        Failure { code, message, details: details.into().map(|details| without_secrets(&details)) }
    }

    /// Makes the failure of a directory that is gone.
    pub fn no_directory(error: &std::io::Error) -> Self {
        Failure::new("CWD_FAILED", "Failed to resolve current directory.", error.to_string())
    }

    fn auth(details: String) -> Self {
        Failure::new("AUTH_FAILED", "Failed to retrieve Salesforce auth.", details)
    }

    fn query(details: String) -> Self {
        Failure::new("LOGS_QUERY_FAILED", "Failed to query Apex logs.", details)
    }

    fn io(details: String) -> Self {
        Failure::new("IO_ERROR", "Failed to write log file.", details)
    }

    /// Returns the failure as people read it.
    pub fn to_error(&self) -> Error {
        let message = self.message.trim_end_matches('.');
        let reason =
            self.details.as_ref().map_or_else(|| message.to_owned(), |details| format!("{message}: {details}"));
        Error::other("cannot pull Apex logs").because(outside::line(&reason))
    }

    /// Returns the failure as programs read it.
    pub fn to_json(&self) -> Value {
        json!({ "ok": false, "errorCode": self.code, "message": self.message, "details": self.details })
    }
}

impl From<Lack> for Failure {
    fn from(lack: Lack) -> Self {
        match lack {
            Lack::Project => {
                Failure::new("NO_SFDX_PROJECT", "sfdx-project.json not found. Run inside a valid SFDX project.", None)
            }
            Lack::Valid => Failure::new("INVALID_SFDX_PROJECT", "Invalid sfdx-project.json.", None),
            Lack::Version => {
                Failure::new("MISSING_API_VERSION", "sfdx-project.json is missing sourceApiVersion.", None)
            }
        }
    }
}

/// The options of [`sync`].
#[derive(Clone, Copy, Debug)]
pub struct SyncOptions<'a> {
    /// How many of the newest logs; brought into [`LIMITS`].
    pub limit: i64,
    /// The name of the org; the default one of the directory otherwise.
    pub target: Option<&'a str>,
    /// Whether no log is fetched, and the answer names those that would be.
    pub is_dry_run: bool,
}

/// Fetches the newest logs of an org into `apexlogs/` of a directory, and returns the answer as programs read it. A log
/// that cannot be fetched is named in the answer.
///
/// Once `is_cancelled` says so, no further log is fetched.
///
/// # Errors
///
/// [`Failure`] if nothing can be fetched.
pub fn sync(
    directory: &Path,
    wanted: SyncOptions<'_>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Value, Failure> {
    let limit = wanted.limit.clamp(*LIMITS.start(), *LIMITS.end());
    let version = project::api_version(directory)?;
    let target = checked(wanted.target)?;
    let org = Org::new(directory, target).map_err(Failure::auth)?;
    let filter = Filter { limit: limit.unsigned_abs(), conditions: Vec::new() };
    let (rows, version) = org.logs(&version, &filter).map_err(|failure| Failure::query(failure.words()))?;
    let kept = if wanted.is_dry_run {
        Vec::new()
    } else {
        files::make_directory(directory).map_err(Failure::io)?;
        exclude::apex_logs(directory);
        files::fetch(&org, &version, directory, &rows, is_cancelled)
    };
    let (mut saved, mut skipped, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (row, kept) in rows.iter().zip(kept) {
        match kept {
            Kept::Saved { file, size, .. } => saved.push(json!({ "id": row.id, "file": file, "size": size })),
            Kept::Skipped(reason) => skipped.push(json!({ "id": row.id, "reason": reason })),
            Kept::Failed(message) => errors.push(json!({ "id": row.id, "message": message })),
        }
    }
    let (username, instance_url) = org.whose();
    let planned = wanted.is_dry_run.then(|| {
        let missing = rows.iter().filter(|row| is_log_id(&row.id) && !files::is_there(directory, row));
        missing.map(|row| json!({ "id": row.id, "file": files::file_of(row), "size": row.length })).collect::<Vec<_>>()
    });
    let mut answer = json!({
        "ok": true,
        "org": { "username": username, "instanceUrl": instance_url },
        "apiVersion": version,
        "limit": limit,
        "savedDir": APEX_LOGS,
        "logs": rows.into_iter().map(|row| row.columns).collect::<Vec<_>>(),
        "saved": saved,
        "skipped": skipped,
        "errors": errors,
    });
    if let Some(planned) = planned {
        answer["planned"] = planned.into();
    }
    Ok(answer)
}

/// Returns words of other programs without secrets: they are printed, and can be stored by whoever called.
fn without_secrets(words: &str) -> String {
    match Redactor::new(&Settings::default()) {
        Ok(redactor) => without_sessions(redactor.without_secrets(words).trim_end_matches('\n')),
        Err(_) => String::new(),
    }
}

/// Masks whatever begins as a session id of Salesforce does, with the id of an org before `!`, however it goes on.
fn without_sessions(words: &str) -> String {
    let is_org = |word: &str| {
        let id = word.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        matches!(id.len(), 15 | 18) && id.starts_with("00D")
    };
    let mut masked = String::new();
    let mut rest = words;
    while let Some((before, behind)) = rest.split_once('!') {
        masked.push_str(before);
        masked.push('!');
        rest = behind;
        if is_org(before) {
            masked.push_str("[REDACTED]");
            rest = behind.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
        }
    }
    masked + rest
}

/// Returns the name of an org, if one is given: one that the CLI cannot take for an option.
fn checked(target: Option<&str>) -> Result<Option<&str>, Failure> {
    match target.map(str::trim).filter(|target| !target.is_empty()) {
        Some(target) if target.starts_with('-') || target.contains(char::is_control) => {
            Err(Failure::auth("bad name of an org".into()))
        }
        target => Ok(target),
    }
}
