//! Finding the commits that past sessions have made, with a confidence.
//!
//! Read [`Attribution::claim_surely`], then the functions for weaker evidence: each examines only commits that no session has
//! claimed by stronger evidence.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use bstr::{BString, ByteSlice as _};

use super::activity::{Call, Change, Trace};
use super::candidates::{Candidate, Candidates};
use super::texts::Texts;
use crate::capture::choose;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// How far the time of a commit may be outside of the time of a call or session.
const GRACE_SECS: i64 = 3 * 60;

/// The confidence that a session belongs to a commit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Confidence {
    /// The session was running at that time.
    Low,
    /// Its actions at that time fit the commit.
    Medium,
    /// It names the commit, or wrote its content.
    High,
}

/// The evidence that a session belongs to a commit, the weakest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Reason {
    /// It was the only running session.
    Time,
    /// It had edited paths that the commit changes.
    Paths,
    /// It ran `git commit` at that time, with that subject.
    Subject,
    /// It wrote the content of a path in a commit by another person.
    Foreign,
    /// It wrote the content of a path in the commit.
    Content,
    /// The result of a tool call names the id.
    Id,
}

impl Reason {
    /// Returns the confidence.
    pub fn confidence(self) -> Confidence {
        match self {
            Reason::Time => Confidence::Low,
            Reason::Paths | Reason::Subject | Reason::Foreign => Confidence::Medium,
            Reason::Content | Reason::Id => Confidence::High,
        }
    }
}

/// A commit that a session seems to have made.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The commit.
    pub commit_id: ObjectId,
    /// When it was committed.
    pub time: i64,
    /// The evidence.
    pub reason: Reason,
    /// The number of the transcript with the tool call that made it, and the end of the call's result.
    pub answer: Option<(usize, u64)>,
}

/// A session of the past, with its transcript and those of its sub-agents.
pub struct Past {
    /// Its name.
    pub key: SessionKey,
    /// The directory in which it ran.
    pub directory: PathBuf,
    /// The top of that worktree.
    pub worktree: PathBuf,
    /// The traces of its transcripts; the first is its own.
    pub traces: Vec<Trace>,
    /// The claimed commits.
    pub claims: Vec<Claim>,
    /// The times of the commits that have a record of it.
    pub recorded: Vec<i64>,
    /// The files that it edited, with the times.
    touched: Vec<(WorktreeFile, i64)>,
    /// Tool results already matched by commit id, which are not matched by subject.
    spent: HashSet<(usize, usize, String)>,
}

impl Past {
    /// Makes a session that has no commits yet.
    pub fn new(key: SessionKey, directory: PathBuf, worktree: PathBuf, traces: Vec<Trace>) -> Self {
        let (claims, recorded, touched, spent) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        Past { key, directory, worktree, traces, claims, recorded, touched, spent }
    }

    /// Returns the time of its first message.
    pub fn start(&self) -> Option<i64> {
        self.traces.iter().filter_map(|trace| trace.start).min()
    }

    pub(super) fn end(&self) -> Option<i64> {
        self.traces.iter().filter_map(|trace| trace.end).max()
    }

    fn is_during(&self, time: i64, grace: i64) -> bool {
        let (Some(start), Some(end)) = (self.start(), self.end()) else { return false };
        start.saturating_sub(grace) <= time && time <= end.saturating_add(grace)
    }

    /// Says whether the session can have made a commit: not if it is from before the session, or if its author time is much
    /// earlier than its committer time and nobody is known to have amended it, as after a rebase.
    pub(super) fn may_have_made(&self, candidate: &Candidate) -> bool {
        let is_fresh = candidate.time.saturating_sub(candidate.author_time) <= GRACE_SECS;
        self.is_after_start(candidate) && (is_fresh || candidate.made_in.is_some() || self.has_amended(candidate.time))
    }

    fn is_after_start(&self, candidate: &Candidate) -> bool {
        self.start().is_none_or(|start| candidate.time >= start.saturating_sub(GRACE_SECS))
    }

    fn has_amended(&self, time: i64) -> bool {
        let mut calls = self.traces.iter().flat_map(|trace| &trace.calls);
        calls.any(|call| call.made.iter().any(|made| made.is_amend) && is_around(call, time))
    }

    pub(super) fn has_claimed(&self, commit_id: ObjectId) -> bool {
        self.claims.iter().any(|claim| claim.commit_id == commit_id)
    }

    /// Returns the time of its last commit before `time`.
    fn last_before(&self, time: i64) -> i64 {
        let times = self.claims.iter().map(|claim| claim.time);
        times.chain(self.recorded.iter().copied()).filter(|made| *made < time).max().unwrap_or(i64::MIN)
    }
}

/// A file of a worktree.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct WorktreeFile {
    /// The path from the top.
    pub path: BString,
    /// The top of the worktree.
    pub top: PathBuf,
}

impl WorktreeFile {
    /// Says whether a commit can have this file: not if it was made in another worktree.
    pub fn may_be_in(&self, candidate: &Candidate) -> bool {
        candidate.made_in.as_ref().is_none_or(|top| *top == self.top)
    }
}

/// Says whether a time lies in a tool call, or near to it.
fn is_around(call: &Call, time: i64) -> bool {
    let Some(from) = call.from else { return false };
    let until = call.until.unwrap_or(from);
    from.saturating_sub(GRACE_SECS) <= time && time <= until.saturating_add(GRACE_SECS)
}

/// Assigns commits to sessions.
pub struct Attribution<'a, 'r> {
    /// The repository.
    pub repo: &'r Repository,
    /// The commits.
    pub candidates: &'a mut Candidates<'r>,
    /// The tops of all worktrees, the deepest first.
    pub tops: &'a [PathBuf],
    /// The sessions that are recorded on commits already.
    pub noted: &'a HashMap<ObjectId, HashSet<SessionKey>>,
    /// A cache of file texts.
    pub texts: Texts,
}

impl Attribution<'_, '_> {
    /// Claims the commits whose ids tool results name, and those whose content the session wrote. Drops its texts then.
    pub fn claim_surely(&mut self, past: &mut Past) {
        self.claim_by_id(past);
        let changes = self.changes_by_path(past);
        past.touched = changes
            .iter()
            .flat_map(|(place, changes)| changes.iter().filter_map(|change| Some((place.clone(), change.time?))))
            .collect();
        for (place, changes) in changes {
            self.claim_by_content(past, &place, &changes);
        }
        past.traces.iter_mut().for_each(Trace::drop_texts);
    }

    fn claim_by_id(&mut self, past: &mut Past) {
        for (number, trace) in past.traces.iter().enumerate() {
            for (at, call) in trace.calls.iter().enumerate() {
                for named in &call.named {
                    let found = self.candidates.with_prefix(&named.id).filter(|found| found.subject == named.subject);
                    let Some(found) = found.filter(|found| past.is_after_start(found)) else { continue };
                    past.spent.insert((number, at, named.subject.clone()));
                    if !past.claims.iter().any(|claim| claim.commit_id == found.commit_id) {
                        let answer = Some((number, call.end));
                        past.claims.push(claim(found, Reason::Id, answer));
                    }
                }
            }
        }
    }

    fn changes_by_path(&self, past: &Past) -> BTreeMap<WorktreeFile, Vec<Change>> {
        let mut by_path: BTreeMap<WorktreeFile, Vec<Change>> = BTreeMap::new();
        let mut known: HashMap<&str, Option<WorktreeFile>> = HashMap::new();
        for change in past.traces.iter().flat_map(|trace| &trace.changes) {
            let place = known.entry(&change.path).or_insert_with(|| self.place_of(past, &change.path));
            if let Some(place) = place {
                by_path.entry(place.clone()).or_default().push(change.clone());
            }
        }
        // Changes of sub-agents are ordered by time among those of the session.
        by_path.values_mut().for_each(|changes| changes.sort_by_key(|change| change.time));
        by_path
    }

    /// Returns a path of a transcript from the top of the worktree that it is in, with that top.
    fn place_of(&self, past: &Past, path: &str) -> Option<WorktreeFile> {
        let path = past.directory.join(path);
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let (top, inside) = self.tops.iter().find_map(|top| Some((top, choose::below(top, &path)?)))?;
        let inside: PathBuf = inside.components().collect();
        let path: BString = <[u8]>::from_path(&inside)?.into();
        (!path.is_empty()).then(|| WorktreeFile { path, top: top.clone() })
    }

    /// Claims commits for calls of `git commit` at that time with that subject. One call makes one commit of a subject,
    /// and one commit is made by one call: the nearest.
    pub fn claim_by_subject(&mut self, pasts: &mut [Past]) {
        let mut by_subject: HashMap<String, Vec<Candidate>> = HashMap::new();
        for candidate in self.candidates.oldest_first() {
            by_subject.entry(candidate.subject.clone()).or_default().push(candidate.clone());
        }
        let mut taken: HashSet<ObjectId> = HashSet::new();
        let mut offers = Vec::new();
        for (number, past) in pasts.iter().enumerate() {
            let of_id = past.claims.iter().filter(|claim| claim.reason == Reason::Id);
            taken.extend(of_id.map(|claim| claim.commit_id));
            for (trace, call, subject) in self.subjects(past) {
                let found = &past.traces[trace].calls[call];
                for candidate in
                    by_subject.get(&subject).into_iter().flatten().filter(|found| past.may_have_made(found))
                {
                    let near = candidate.times().filter(|time| is_around(found, *time));
                    let distance = |time: i64| time.abs_diff(found.until.or(found.from).unwrap_or(time));
                    if let Some(distance) = near.map(distance).min() {
                        offers.push((distance, number, trace, call, subject.clone(), candidate.clone()));
                    }
                }
            }
        }
        offers.sort_by_key(|(distance, number, trace, call, _, candidate)| {
            (*distance, *number, *trace, *call, candidate.time, candidate.commit_id)
        });
        for (_, number, trace, call, subject, candidate) in offers {
            if taken.contains(&candidate.commit_id) || !pasts[number].spent.insert((trace, call, subject)) {
                continue;
            }
            taken.insert(candidate.commit_id);
            let answer = Some((trace, pasts[number].traces[trace].calls[call].end));
            let past = &mut pasts[number];
            // A claim by content is stronger evidence, but only the call has the position in the transcript.
            match past.claims.iter_mut().find(|claim| claim.commit_id == candidate.commit_id) {
                Some(claim) => claim.answer = answer,
                None => past.claims.push(claim(&candidate, Reason::Subject, answer)),
            }
        }
    }

    /// Removes claims of sessions that repeat another's tool call, as a forked session does: the one that ended first keeps
    /// the commit.
    pub fn drop_copies(pasts: &mut [Past]) {
        let mut owners: HashMap<(ObjectId, String), usize> = HashMap::new();
        let call_id = |past: &Past, claim: &Claim| {
            let (trace, end) = claim.answer?;
            let call = past.traces[trace].calls.iter().find(|call| call.end == end)?;
            Some((claim.commit_id, call.call_id.clone()))
        };
        for (number, past) in pasts.iter().enumerate() {
            for call in past.claims.iter().filter_map(|claim| call_id(past, claim)) {
                let owner = owners.entry(call).or_insert(number);
                if (past.end(), &past.key) < (pasts[*owner].end(), &pasts[*owner].key) {
                    *owner = number;
                }
            }
        }
        for (number, past) in pasts.iter_mut().enumerate() {
            let kept = |claim: &Claim| call_id(past, claim).is_none_or(|call| owners.get(&call) == Some(&number));
            let kept: Vec<bool> = past.claims.iter().map(kept).collect();
            let mut kept = kept.into_iter();
            past.claims.retain(|_| kept.next().unwrap_or(true));
        }
    }

    /// Returns the subjects of commits that a session made, without those matched by id, with their calls.
    fn subjects(&self, past: &Past) -> Vec<(usize, usize, String)> {
        let is_elsewhere = |directory: &Option<String>| {
            directory
                .as_ref()
                .is_some_and(|path| !self.tops.iter().any(|top| choose::below(top, Path::new(path)).is_some()))
        };
        let mut found = Vec::new();
        for (number, trace) in past.traces.iter().enumerate() {
            for (at, call) in trace.calls.iter().enumerate() {
                if call.made.iter().all(|made| is_elsewhere(&made.directory)) {
                    continue;
                }
                let named = call.named.iter().map(|named| &named.subject);
                let made = call.made.iter().filter(|made| !is_elsewhere(&made.directory));
                for subject in named.chain(made.filter_map(|made| made.subject.as_ref())) {
                    let one = (number, at, subject.clone());
                    if !past.spent.contains(&one) && !found.contains(&one) {
                        found.push(one);
                    }
                }
            }
        }
        found
    }

    /// Claims commits for sessions that had edited a path which they change, since the last commit of their own.
    pub fn claim_by_paths(&mut self, pasts: &mut [Past]) {
        for candidate in self.unclaimed(pasts) {
            if candidate.is_own == Some(false) && candidate.made_in.is_none() {
                continue;
            }
            let during: Vec<usize> = (0..pasts.len())
                .filter(|number| pasts[*number].is_during(candidate.time, GRACE_SECS))
                .filter(|number| pasts[*number].may_have_made(&candidate))
                .collect();
            if during.is_empty() {
                continue;
            }
            let changes = self.candidates.changes(candidate.commit_id);
            let paths: HashSet<&BString> = changes.iter().map(|change| &change.path).collect();
            for number in during {
                let past = &mut pasts[number];
                let since = past.last_before(candidate.time);
                let is_since = |time: i64| since < time && time <= candidate.time;
                let fits = |place: &WorktreeFile| paths.contains(&place.path) && place.may_be_in(&candidate);
                if past.touched.iter().any(|(place, time)| is_since(*time) && fits(place)) {
                    past.claims.push(claim(&candidate, Reason::Paths, None));
                }
            }
        }
    }

    /// Claims commits of the user for the only session that was running in the worktree, if it was prompted since its last
    /// commit. If it edited files since then that the commit does not change, it worked on something else.
    pub fn claim_by_time(&mut self, pasts: &mut [Past]) {
        for candidate in self.unclaimed(pasts) {
            if candidate.is_own != Some(true) {
                continue;
            }
            let is_there = |past: &Past| candidate.made_in.as_ref().is_none_or(|top| *top == past.worktree);
            let during: Vec<usize> = (0..pasts.len())
                .filter(|number| is_there(&pasts[*number]) && pasts[*number].is_during(candidate.time, 0))
                .collect();
            let [number] = during[..] else { continue };
            let past = &mut pasts[number];
            let since = past.last_before(candidate.time);
            let is_since = |time: i64| since < time && time <= candidate.time;
            let mut prompts = past.traces.iter().flat_map(|trace| &trace.prompts);
            let mut edits = past.traces.iter().flat_map(|trace| &trace.changes).filter_map(|change| change.time);
            if past.may_have_made(&candidate) && prompts.any(|time| is_since(*time)) && !edits.any(is_since) {
                past.claims.push(claim(&candidate, Reason::Time, None));
            }
        }
    }

    /// Returns the commits that no session has claimed and on which none is recorded, oldest first.
    fn unclaimed(&self, pasts: &[Past]) -> Vec<Candidate> {
        let claimed: HashSet<ObjectId> =
            pasts.iter().flat_map(|past| &past.claims).map(|claim| claim.commit_id).collect();
        let is_free = |candidate: &&Candidate| {
            !claimed.contains(&candidate.commit_id) && !self.noted.contains_key(&candidate.commit_id)
        };
        self.candidates.oldest_first().into_iter().filter(is_free).cloned().collect()
    }
}

pub(super) fn claim(candidate: &Candidate, reason: Reason, answer: Option<(usize, u64)>) -> Claim {
    Claim { commit_id: candidate.commit_id, time: candidate.time, reason, answer }
}
