//! Sessions that have the words of others: a fork begins with all that its parent said.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::agent;
use crate::archive::{self, Archive, text};
use crate::capture::fork;
use crate::capture::state::FirstMessage;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// The first segment of each session of some agents, with its path.
struct FirstSegments<'r> {
    archive: Archive<'r>,
    found: BTreeMap<SessionKey, (String, ObjectId)>,
}

impl<'r> FirstSegments<'r> {
    /// Finds those of the sessions for which `is_wanted` holds.
    fn of(repo: &'r Repository, is_wanted: impl Fn(&SessionKey) -> bool) -> Result<Self> {
        let archive = Archive::new(repo);
        let mut found: BTreeMap<SessionKey, (String, ObjectId)> = BTreeMap::new();
        for (path, segment_id) in archive.listing(archive::REF)? {
            let key = archive::session_of_path(&path).filter(|key| !text::is_text(key) && is_wanted(key));
            let Some(key) = key else { continue };
            let first = found.entry(key).or_insert_with(|| (path.clone(), segment_id));
            if path < first.0 {
                *first = (path, segment_id);
            }
        }
        Ok(FirstSegments { archive, found })
    }

    /// Returns what the first message of a session has in common with copies of it.
    fn first_message(&self, key: &SessionKey) -> Option<FirstMessage> {
        let (_, segment_id) = self.found.get(key)?;
        let bytes = self.archive.transcript(*segment_id).bytes();
        fork::first_message_in(&agent::named(&key.agent).ok()?.parse(&bytes))
    }
}

/// Returns how sessions of the archive begin, by the names of their files.
///
/// # Errors
///
/// If the archive cannot be listed.
pub(super) fn beginnings(repo: &Repository, sessions: &BTreeSet<SessionKey>) -> Result<BTreeMap<String, FirstMessage>> {
    let first = FirstSegments::of(repo, |key| sessions.contains(key))?;
    Ok(sessions.iter().filter_map(|key| Some((key.file_name(), first.first_message(key)?))).collect())
}

/// Returns the sessions of the archive that begin with the same message as some of `sessions`, each with that session, but for
/// `sessions` themselves. Reads the first segment of each session of the same agents.
///
/// # Errors
///
/// If the archive cannot be listed.
pub(super) fn copies(repo: &Repository, sessions: &BTreeSet<SessionKey>) -> Result<BTreeMap<SessionKey, SessionKey>> {
    let first = FirstSegments::of(repo, |key| sessions.iter().any(|session| session.agent == key.agent))?;
    let beginning = |key: &SessionKey| Some((key.agent.clone(), first.first_message(key)?));
    let of_sessions: HashMap<_, _> = sessions.iter().filter_map(|key| Some((beginning(key)?, key))).collect();
    let others = first.found.keys().filter(|key| !of_sessions.is_empty() && !sessions.contains(*key));
    let copy = |key: &SessionKey| Some((key.clone(), (*of_sessions.get(&beginning(key)?)?).clone()));
    Ok(others.filter_map(copy).collect())
}
