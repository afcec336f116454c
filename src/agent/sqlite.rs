//! Databases in which agents keep conversations. They are live: they are opened to be read, and never written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Params, Row, Statement};
use serde_json::{Map, Value};

use super::place;
use crate::error::{Error, Kind, Result};
use crate::git::private;
use crate::outside;

/// How long the process waits, all together, for databases that agents hold, unless [`limit_waits`] was called.
const BUSY: Duration = Duration::from_secs(1);
/// How long after the first wait the process, which may be a server, waits again.
const AGAIN: Duration = Duration::from_secs(60);
/// How long a wait sleeps between two attempts.
const STEP: Duration = Duration::from_millis(5);
/// The first bytes of a database file.
pub const MAGIC: &[u8] = b"SQLite format 3\0";

/// The limit that [`limit_waits`] has set.
static LIMIT: OnceLock<Duration> = OnceLock::new();
/// When the process first waited. A hook or command opens a database many times, and each time it may be held.
static FIRST_WAIT: Mutex<Option<Instant>> = Mutex::new(None);

/// Limits how long the process waits, all together, for databases that agents hold. Only the first call counts.
pub fn limit_waits(limit: Duration) {
    LIMIT.get_or_init(|| limit);
}

/// Waits a little for a database that the agent holds. Returns whether to try again.
fn wait(_: i32) -> bool {
    let now = Instant::now();
    let mut first = FIRST_WAIT.lock().unwrap_or_else(PoisonError::into_inner);
    let since = *first.get_or_insert(now);
    let is_new = now.duration_since(since) >= AGAIN;
    if is_new {
        *first = Some(now);
    }
    drop(first);
    let may_wait = is_new || now.duration_since(since) < *LIMIT.get().unwrap_or(&BUSY);
    if may_wait {
        std::thread::sleep(STEP);
    }
    may_wait
}

/// Opens an agent's database. A connection that only reads writes no checkpoint either.
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub fn open(path: &Path) -> Result<Connection> {
    // SQLite would wait for a named pipe.
    let is_odd = |file: &&PathBuf| file.metadata().is_ok_and(|metadata| !metadata.is_file());
    if let Some(odd) = files(path).iter().find(is_odd) {
        return Err(Error::other(format!("cannot read '{}': it is not a regular file", odd.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match at_rest(path) {
        Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI),
        None => Connection::open_with_flags(path, flags),
    };
    let mut connection = opened.map_err(|error| unreadable(error).about(path))?;
    connection.busy_handler(Some(wait)).map_err(unreadable)?;
    Ok(connection)
}

/// Returns an address that opens a database with an empty write-ahead log without making any file beside it; `None` for
/// other databases.
fn at_rest(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let [_, log] = files(path);
    if log.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        return None;
    }
    let mut head = [0; 20];
    private::open(path).ok()?.read_exact(&mut head).ok()?;
    // The version that writers need says whether there is such a log.
    if head[18] != 2 || !path.is_absolute() {
        return None;
    }
    let parts: Vec<String> = path.to_str()?.split('/').map(outside::component).collect();
    Some(format!("file:{}?immutable=1", parts.join("/")))
}

/// Returns the files that a database is written to: the database itself, and its write-ahead log.
pub fn files(path: &Path) -> [PathBuf; 2] {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    [path.to_owned(), log.into()]
}

/// Says whether a database was written at or after `seconds` (epoch). Does not open it.
pub fn is_written_since(path: &Path, seconds: i64) -> bool {
    files(path).iter().any(|file| place::is_written_since(file, seconds))
}

/// Returns the rows of a query by the names of their columns; none if there is no such table or column.
///
/// # Errors
///
/// If the database cannot be read.
pub fn rows(connection: &Connection, query: &str, params: impl Params) -> Result<Vec<Map<String, Value>>> {
    let mut found = Vec::new();
    each(connection, query, params, |row| {
        let mut columns = Map::new();
        let statement: &Statement<'_> = row.as_ref();
        for (index, name) in statement.column_names().enumerate() {
            let value = match row.get_ref(index).map_err(unreadable)? {
                ValueRef::Integer(number) => number.into(),
                ValueRef::Real(number) => number.into(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            };
            columns.insert(name.to_owned(), value);
        }
        found.push(columns);
        Ok(())
    })?;
    Ok(found)
}

/// Visits the rows of a query; none if there is no such table or column.
///
/// # Errors
///
/// If the database cannot be read, or what `visit` returns.
pub fn each(
    connection: &Connection,
    query: &str,
    params: impl Params,
    mut visit: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = match connection.prepare(query) {
        Ok(statement) => statement,
        // Releases differ in what they have.
        Err(error) if is_about_the_schema(&error) => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut rows = statement.query(params).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        visit(row)?;
    }
    Ok(())
}

/// Fails after `deadline`. Queries that return many rows call it for each row.
///
/// # Errors
///
/// [`Kind::Busy`] if the deadline has passed.
pub fn in_time(deadline: Option<Instant>) -> Result<()> {
    match deadline.filter(|deadline| Instant::now() >= *deadline) {
        Some(_) => Err(Error::new(Kind::Busy, "there was no time to read all of the session")),
        None => Ok(()),
    }
}

/// Says whether a query failed because a table or column is missing (SQLite's `SQLITE_ERROR`).
fn is_about_the_schema(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqlInputError { error, .. } | rusqlite::Error::SqliteFailure(error, _) => {
            error.extended_code & 0xff == 1
        }
        _ => false,
    }
}

/// Makes an error of ours.
pub fn unreadable(error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Busy,
        Some(ErrorCode::CannotOpen) => Kind::Missing,
        _ => Kind::Other,
    };
    Error::new(kind, "cannot read the agent's database").because(error)
}

impl Error {
    fn about(self, path: &Path) -> Self {
        Error::new(self.kind(), format!("cannot read '{}'", path.display())).because(self)
    }
}
