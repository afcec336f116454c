//! The lock by which an exchange with a remote and the removal of what is recorded wait for each other.
//!
//! A push that is under way would send what a purge removes, and would bring refs back that `deinit` deletes.

use std::time::{Duration, Instant};

use crate::capture::{Lock, State};
use crate::error::{Error, Kind, Result};
use crate::git::Repository;

/// The name of the lock file.
const NAME: &str = "exchange.lock";
/// How long either waits for the other.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Begins an exchange with a remote. Others can go on beside it.
///
/// # Errors
///
/// [`Kind::Busy`] if a purge takes longer.
pub(super) fn exchange(repo: &Repository) -> Result<Lock> {
    let lock = State::new(&repo.common_dir()).lock_file_shared(NAME, Instant::now() + TIMEOUT);
    lock.map_err(|error| match error.kind() {
        Kind::Busy => Error::new(Kind::Busy, "a purge is running").hint("try again when it has ended"),
        _ => error,
    })
}

/// Waits for all exchanges with remotes, and lets none begin as long as the lock is held.
///
/// # Errors
///
/// [`Kind::Busy`] if an exchange takes longer.
pub fn without_exchange(repo: &Repository) -> Result<Lock> {
    let lock = State::new(&repo.common_dir()).lock_file(NAME, Instant::now() + TIMEOUT);
    lock.map_err(|error| match error.kind() {
        Kind::Busy => Error::new(Kind::Busy, "what is recorded here is being sent or fetched")
            .hint("a push in the background ends within ten minutes; try again then"),
        _ => error,
    })
}
