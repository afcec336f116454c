//! The purge marks of others, and what a purge does with them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Removal;
use crate::archive::{self, Archive, text};
use crate::capture::State;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::record::foreign_marks::ForeignMarks;
use crate::record::tombstone::{Mark, Replacement, Tombstones};
use crate::transcript::SessionKey;

/// The purge marks of one maker and day.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// How many segments of our archive they name.
    pub segments: usize,
    /// The sessions of our archive that they name.
    pub sessions: Vec<String>,
    /// How many other segments and sessions they name.
    pub elsewhere: usize,
    /// Whether they are applied.
    pub is_taken: bool,
}

/// The marks of others by maker, the applied ones, and the sessions that those name.
type AcceptedMarks = (BTreeMap<String, Received>, Vec<Mark>, BTreeSet<SessionKey>);

/// Returns the sessions that the purge marks of others name, if these marks are accepted.
///
/// # Errors
///
/// If the marks cannot be read.
pub fn named_by_others(repo: &Repository, only_signed: bool) -> Result<BTreeSet<SessionKey>> {
    Ok(received(repo, only_signed)?.2)
}

/// Returns the purge marks of others; see [`AcceptedMarks`].
pub(super) fn received(repo: &Repository, only_signed: bool) -> Result<AcceptedMarks> {
    let bars = ForeignMarks::read(repo, &Tombstones::read(repo)?);
    let listing = Archive::new(repo).listing(archive::REF)?;
    let segments: HashSet<ObjectId> = listing.iter().map(|(_, id)| *id).collect();
    let sessions: HashSet<String> =
        listing.iter().filter_map(|(path, _)| Some(archive::session_of_path(path)?.file_name())).collect();
    let all: Vec<Mark> = bars.marks().cloned().collect();
    let mut received: BTreeMap<String, Received> = BTreeMap::new();
    let (mut taken, mut named) = (Vec::new(), BTreeSet::new());
    for (mark, maker) in bars.makers(repo, &all)? {
        let from = received.entry(maker.to_string()).or_default();
        match &mark {
            Mark::Segment(id) if segments.contains(id) => from.segments += 1,
            Mark::Session(name) if sessions.contains(name) => from.sessions.push(name.clone()),
            _ => from.elsewhere += 1,
        }
        from.is_taken = !only_signed || maker.is_trusted();
        if from.is_taken {
            // An agent's file here can have their words although our archive does not.
            named.extend(bars.sessions_of(repo, &mark).into_iter().filter(|session| !text::is_text(session)));
            taken.push(mark);
        }
    }
    Ok((received, taken, named))
}

impl Removal<'_> {
    /// Chooses what the accepted marks of others name. Returns the segments.
    pub(super) fn choose_received(&mut self, repo: &Repository, only_signed: bool) -> Result<HashSet<ObjectId>> {
        let state = State::new(&repo.common_dir());
        let bars = ForeignMarks::read(repo, &Tombstones::read(repo)?);
        let doubtful = bars.doubtful(repo, |session| state.is_begun_late(session))?;
        let (received, taken, sessions) = received(repo, only_signed)?;
        let doubtful: HashMap<_, _> = doubtful.into_iter().filter(|(session, _)| sessions.contains(session)).collect();
        self.doubtful = doubtful.iter().map(|(session, ids)| (session.clone(), ids.len())).collect();
        let mut wanted: HashSet<ObjectId> = doubtful.into_values().flatten().collect();
        (self.received, self.sessions) = (received, sessions);
        for mark in taken {
            match mark {
                Mark::Segment(id) => drop(wanted.insert(id)),
                Mark::Session(name) => drop(self.marks.sessions.insert(name)),
            }
        }
        self.contested = bars
            .contested()
            .filter(|one| one.theirs.or(one.ours).is_some_and(|id| wanted.contains(&id)))
            .copied()
            .collect();
        for one in self.contested.iter().filter(|one| one.has_same_words(repo)) {
            wanted.retain(|id| Some(*id) != one.ours);
        }
        Ok(wanted)
    }

    /// Writes the replacements of others into our marks, for a clone that gets our marks and not theirs.
    pub(super) fn remember_replacements(&mut self, repo: &Repository) -> Result<()> {
        let bars = ForeignMarks::read(repo, &Tombstones::read(repo)?);
        for (segment_id, mark) in &mut self.marks.segments {
            mark.others = bars.replacements(repo, *segment_id);
            mark.others.retain(|hex| mark.became.as_ref() != Some(hex));
        }
        Ok(())
    }

    /// Marks the replacements of others for segments that we have purged, too: ours take their place.
    pub(super) fn mark_contested(&mut self, repo: &Repository) {
        let header = |id: ObjectId| Archive::new(repo).header(id).ok();
        for one in std::mem::take(&mut self.contested) {
            let (Some(theirs), Some(ours)) = (one.theirs, one.ours) else { continue };
            let (Some(of_theirs), Some(of_ours)) = (header(theirs), header(ours)) else { continue };
            // Anyone can write a mark that names the segment of another session.
            if (&of_theirs.agent, &of_theirs.session) == (&of_ours.agent, &of_ours.session) {
                let stays = || Replacement::by(ours, &of_ours);
                let last = self.marks.final_of(repo, ours).unwrap_or_else(stays);
                if last.became != Some(theirs.to_string()) {
                    self.marks.segments.insert(theirs, last);
                }
            }
        }
    }
}
