//! Whether a transcript that is not there was deleted, or its disk or home directory is not there now.

use std::io::ErrorKind;
use std::path::Path;

use crate::agent::Agent;

/// Where a transcript is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Availability {
    /// The file exists. For a session in a database only the database's file was looked for.
    Present,
    /// The agent or somebody has deleted it.
    Deleted,
    /// Its directory is missing, too, or may not be read: in a container, without a mounted home, for another user. It may
    /// come back.
    Unreachable,
}

/// Finds out where an agent's transcript is.
pub(super) fn availability(agent: &dyn Agent, transcript: &Path) -> Availability {
    match transcript.metadata().map_err(|error| error.kind()) {
        // A session in a database is named below the database's file.
        Ok(_) | Err(ErrorKind::NotADirectory) => Availability::Present,
        // A session can be many files, none of which has its name.
        Err(ErrorKind::NotFound) if agent.stored_bytes(transcript).is_some() => Availability::Present,
        Err(ErrorKind::NotFound) if transcript.ancestors().nth(1).is_some_and(Path::is_dir) => Availability::Deleted,
        Err(_) => Availability::Unreachable,
    }
}
