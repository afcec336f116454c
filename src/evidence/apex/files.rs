//! The directory `apexlogs/`: names of files, and fetching logs into it, several at once.

use std::io;
use std::path::Path;
use std::sync::Mutex;

use super::server::{Org, Row, is_log_id};
use crate::evidence::http::Failure;
use crate::managed::file::APEX_LOGS;

/// How many logs are fetched at once.
const MAX_FETCHED: usize = 8;
/// The longest name of a user in the name of a file.
const MAX_USER_CHARS: usize = 200;

/// The result of fetching a log.
pub enum Kept {
    /// It is in a file.
    Saved {
        /// The file, from the directory of `apexlogs/`.
        file: String,
        /// Its size in bytes.
        size: u64,
        /// Whether it was fetched now; otherwise it was there.
        is_new: bool,
    },
    /// The org did not give it.
    Skipped(String),
    /// It could not be written.
    Failed(String),
}

/// How old an unfinished file is that nobody writes to any more, in seconds. A request ends long before.
const UNFINISHED_SECS: u64 = 600;

/// Makes `apexlogs/` in a directory, and removes from it what processes that were killed have not finished.
///
/// # Errors
///
/// The system's words; also if there is a symbolic link, which could lead anywhere.
pub fn make_directory(directory: &Path) -> Result<(), String> {
    let logs = directory.join(APEX_LOGS);
    match std::fs::create_dir(&logs) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map_err(|error| error.to_string()),
    }
    match logs.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {
            remove_left(&logs);
            Ok(())
        }
        Ok(metadata) if metadata.is_symlink() => Err(format!("'{APEX_LOGS}' is a symbolic link")),
        Ok(_) => Err(format!("'{APEX_LOGS}' is not a directory")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the name of a log's file, from the directory of `apexlogs/`.
pub fn file_of(row: &Row) -> String {
    let user = row.user.as_deref().unwrap_or_default().trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@' | '-');
    let user: String = user.chars().take(MAX_USER_CHARS).map(|c| if is_plain(c) { c } else { '_' }).collect();
    let user = if user.is_empty() { "default" } else { &user };
    format!("{APEX_LOGS}/{user}_{}.log", row.id)
}

/// Says whether the file of a log is there, with the length of the log.
pub fn is_there(directory: &Path, row: &Row) -> bool {
    let found = directory.join(file_of(row)).symlink_metadata();
    row.length > 0 && found.is_ok_and(|metadata| metadata.is_file() && metadata.len() == row.length)
}

/// Fetches logs into `apexlogs/` of a directory. Returns the result of each, in the same order. Once `is_cancelled`
/// says so, no further log is fetched.
pub fn fetch(
    org: &Org,
    version: &str,
    directory: &Path,
    rows: &[Row],
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Vec<Kept> {
    let waiting = Mutex::new(rows.iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..rows.len().min(MAX_FETCHED) {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
                    let Some((number, row)) = next else { break };
                    let kept = match is_cancelled() {
                        true => Kept::Skipped("cancelled".into()),
                        false => fetch_one(org, version, directory, row),
                    };
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, kept));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, kept)| kept).collect()
}

fn fetch_one(org: &Org, version: &str, directory: &Path, row: &Row) -> Kept {
    if !is_log_id(&row.id) {
        return Kept::Skipped("invalid id".into());
    }
    let file = file_of(row);
    let path = directory.join(&file);
    if is_there(directory, row) {
        return Kept::Saved { file, size: row.length, is_new: false };
    }
    let failed = |error: io::Error| Kept::Failed(error.to_string());
    let made = tempfile::Builder::new().prefix(&unfinished_prefix()).tempfile_in(directory.join(APEX_LOGS));
    let mut unfinished = match made {
        Ok(unfinished) => unfinished,
        Err(error) => return failed(error),
    };
    match org.body(version, &row.id, unfinished.as_file_mut()) {
        Ok(size) => match unfinished.persist(&path) {
            Ok(_) => Kept::Saved { file, size, is_new: true },
            Err(error) => failed(error.error),
        },
        Err(Failure::Write(error)) => failed(error),
        Err(failure) => Kept::Skipped(failure.to_string()),
    }
}

/// How the names of unfinished files begin.
const UNFINISHED: &str = ".tmp-";

/// Returns how the names of files begin that this process has not finished.
fn unfinished_prefix() -> String {
    format!("{UNFINISHED}{}-", std::process::id())
}

/// Removes unfinished files that nobody will finish.
fn remove_left(logs: &Path) {
    for entry in std::fs::read_dir(logs).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let modified = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if is_unfinished && modified().is_some_and(|age| age.as_secs() > UNFINISHED_SECS) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes from `apexlogs/` of a directory the files that this process has not finished: for a process that a signal ends.
pub fn remove_unfinished(directory: &Path) {
    let prefix = unfinished_prefix();
    for entry in std::fs::read_dir(directory.join(APEX_LOGS)).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_file_is_named_after_the_user_and_the_log() {
        let row = |user: Option<&str>| Row {
            id: "07L000000000001".into(),
            length: 0,
            user: user.map(str::to_owned),
            columns: Value::Null,
        };
        for (user, expected) in [
            (Some(" Ada Lovelace "), "Ada_Lovelace"),
            (Some("a.b-c_d@x.org"), "a.b-c_d@x.org"),
            (Some("../../Zoë"), ".._.._Zo_"),
            (Some("  "), "default"),
            (None, "default"),
        ] {
            assert_eq!(file_of(&row(user)), format!("apexlogs/{expected}_07L000000000001.log"));
        }
        assert!(file_of(&row(Some(&"x".repeat(999)))).len() < 255);
    }
}
