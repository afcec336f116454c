//! Sessions that have the words of others: a fork begins with all that its parent said.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::agent;
use crate::archive::{self, Archive, text};
use crate::capture::fork;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// Returns the sessions of the archive that begin with the same message as some of `sessions`, each with that session, but for
/// `sessions` themselves. Reads the first segment of each session of the same agents.
///
/// # Errors
///
/// If the archive cannot be listed.
pub(super) fn copies(repo: &Repository, sessions: &BTreeSet<SessionKey>) -> Result<BTreeMap<SessionKey, SessionKey>> {
    let archive = Archive::new(repo);
    let is_of_same_agent = |key: &SessionKey| sessions.iter().any(|session| session.agent == key.agent);
    let mut first_segments: BTreeMap<SessionKey, (String, ObjectId)> = BTreeMap::new();
    for (path, segment_id) in archive.listing(archive::REF)? {
        let key = archive::session_of_path(&path).filter(|key| !text::is_text(key) && is_of_same_agent(key));
        let Some(key) = key else { continue };
        let first = first_segments.entry(key).or_insert_with(|| (path.clone(), segment_id));
        if path < first.0 {
            *first = (path, segment_id);
        }
    }
    let first_message = |key: &SessionKey| {
        let (_, segment_id) = first_segments.get(key)?;
        let bytes = archive.transcript(*segment_id).bytes();
        Some((key.agent.clone(), fork::first_message_in(&agent::named(&key.agent).ok()?.parse(&bytes))?))
    };
    let of_sessions: HashMap<_, _> = sessions.iter().filter_map(|key| Some((first_message(key)?, key))).collect();
    let others = first_segments.keys().filter(|key| !sessions.contains(*key));
    let copy = |key: &SessionKey| Some((key.clone(), (*of_sessions.get(&first_message(key)?)?).clone()));
    Ok(if of_sessions.is_empty() { BTreeMap::new() } else { others.filter_map(copy).collect() })
}
