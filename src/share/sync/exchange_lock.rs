//! The lock that keeps exchanges with remotes apart from commands that remove records.
//!
//! A push that runs during a purge would send the purged words, and after `deinit` it would create refs again.

use std::time::{Duration, Instant};

use crate::capture::{Lock, State};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;

/// The name of the lock file.
const NAME: &str = "exchange.lock";
/// How long each side waits for the other.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Takes the lock for an exchange with a remote; several exchanges can hold it at once.
///
/// # Errors
///
/// [`Kind::Busy`] if a purge holds it for longer than that.
pub(super) fn lock_for_exchange(repo: &Repository) -> Result<Lock> {
    let lock = State::new(&repo.common_dir()).lock_file_shared(NAME, Instant::now() + TIMEOUT);
    lock.map_err(|error| match error.kind() {
        Kind::Busy => Error::new(Kind::Busy, "a purge is running").hint("try again when it has ended"),
        _ => error,
    })
}

/// Takes the lock for the removal of records: waits until all exchanges have ended, and lets none begin.
///
/// # Errors
///
/// [`Kind::Busy`] if an exchange holds it for longer than that.
pub fn lock_against_exchanges(repo: &Repository) -> Result<Lock> {
    let lock = State::new(&repo.common_dir()).lock_file(NAME, Instant::now() + TIMEOUT);
    lock.map_err(|error| match error.kind() {
        Kind::Busy => Error::new(Kind::Busy, "what is recorded here is being sent or fetched")
            .hint("a push in the background ends within ten minutes; try again then"),
        _ => error,
    })
}
