//! Which commits a session of the past has made, and how sure that is.
//!
//! Read [`Attribution::claim_surely`], then the weaker ways: each only looks at commits that no stronger one has claimed
//! for somebody.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use bstr::{BString, ByteSlice as _};

use super::activity::{Call, Change, Trace};
use super::candidates::{Candidate, Candidates};
use crate::capture::choose;
use crate::git::{ObjectId, Repository};
use crate::transcript::SessionKey;

/// How far a commit may lie outside of what is said about it.
const GRACE_SECS: i64 = 3 * 60;
/// How far the clocks of an agent and of Git may differ on one machine, beside the fractions that both leave out.
const CLOCK_SECS: i64 = 2;
/// The largest file whose edits are done again to compare the outcome.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// The most edits of one file that are done again.
const MAX_EDITS: usize = 200;
/// The most commits of one file that they are done again for.
const MAX_REPLAYS: usize = 200;
/// How long after a session what it wrote may be committed.
const LATE_SECS: i64 = 24 * 60 * 60;
/// How many bytes of files are kept in memory.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// How sure it is that a session belongs to a commit.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Confidence {
    /// It was going on.
    Low,
    /// What it did at that time fits.
    Medium,
    /// It names the commit, or wrote what is in it.
    High,
}

/// What ties a session to a commit, the weakest first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Evidence {
    /// It was the only one at that time.
    Time,
    /// It had edited paths that the commit changes.
    Paths,
    /// It ran `git commit` at that time, with that subject.
    Subject,
    /// It wrote what the commit of somebody else has at a path.
    Foreign,
    /// It wrote what the commit has at a path.
    Content,
    /// Git told it the id.
    Id,
}

impl Evidence {
    /// Returns how much it is worth.
    pub fn confidence(self) -> Confidence {
        match self {
            Evidence::Time => Confidence::Low,
            Evidence::Paths | Evidence::Subject | Evidence::Foreign => Confidence::Medium,
            Evidence::Content | Evidence::Id => Confidence::High,
        }
    }
}

/// A commit that a session has made, as it seems.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The commit.
    pub commit_id: ObjectId,
    /// When it was committed.
    pub time: i64,
    /// Why it seems so.
    pub evidence: Evidence,
    /// The transcript with the tool call that made it, by its number, and where the answer ends in it.
    pub answer: Option<(usize, u64)>,
}

/// A session of the past, with its transcript and those of its sub-agents.
pub struct Past {
    /// Its name.
    pub key: SessionKey,
    /// The directory it was found by.
    pub directory: PathBuf,
    /// The top of the worktree that this is in.
    pub worktree: PathBuf,
    /// What its transcripts show; the first is its own.
    pub traces: Vec<Trace>,
    /// The commits it has made.
    pub claims: Vec<Claim>,
    /// When the commits were made that it is recorded on already.
    pub recorded: Vec<i64>,
    /// What it edited, and when.
    touched: Vec<(Place, i64)>,
    /// Answers that named a commit which is there, so that their subjects say nothing of another.
    spent: HashSet<(usize, usize, String)>,
}

impl Past {
    /// Makes a session that has no commits yet.
    pub fn new(key: SessionKey, directory: PathBuf, worktree: PathBuf, traces: Vec<Trace>) -> Self {
        let (claims, recorded, touched, spent) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        Past { key, directory, worktree, traces, claims, recorded, touched, spent }
    }

    /// Returns when its first message was written.
    pub fn start(&self) -> Option<i64> {
        self.traces.iter().filter_map(|trace| trace.start).min()
    }

    fn end(&self) -> Option<i64> {
        self.traces.iter().filter_map(|trace| trace.end).max()
    }

    fn is_during(&self, time: i64, grace: i64) -> bool {
        let (Some(start), Some(end)) = (self.start(), self.end()) else { return false };
        start.saturating_sub(grace) <= time && time <= end.saturating_add(grace)
    }

    /// Says whether nothing speaks against it: a commit from before the session, or one whose author made it earlier and
    /// that nobody is known to have amended, which is what a rebase leaves behind.
    fn may_have_made(&self, candidate: &Candidate) -> bool {
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

    fn has_claimed(&self, commit_id: ObjectId) -> bool {
        self.claims.iter().any(|claim| claim.commit_id == commit_id)
    }

    /// Returns when it last made a commit before `time`.
    fn last_before(&self, time: i64) -> i64 {
        let times = self.claims.iter().map(|claim| claim.time);
        times.chain(self.recorded.iter().copied()).filter(|made| *made < time).max().unwrap_or(i64::MIN)
    }
}

/// A file of a worktree.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    /// The path from the top.
    path: BString,
    /// The top of the worktree.
    top: PathBuf,
}

impl Place {
    /// Says whether a commit can have it from here: one that is known to be made in another worktree cannot.
    fn may_be_in(&self, candidate: &Candidate) -> bool {
        candidate.made_in.as_ref().is_none_or(|top| *top == self.top)
    }
}

/// Says whether a time lies in a tool call, or near to it.
fn is_around(call: &Call, time: i64) -> bool {
    let Some(from) = call.from else { return false };
    let until = call.until.unwrap_or(from);
    from.saturating_sub(GRACE_SECS) <= time && time <= until.saturating_add(GRACE_SECS)
}

/// Finds out who made which commit.
pub struct Attribution<'a, 'r> {
    /// The repository.
    pub repo: &'r Repository,
    /// The commits.
    pub candidates: &'a mut Candidates<'r>,
    /// The tops of all worktrees, the deepest first.
    pub tops: &'a [PathBuf],
    /// The sessions that are recorded on commits already.
    pub known: &'a HashMap<ObjectId, HashSet<SessionKey>>,
    /// The files that were read last.
    pub texts: Texts,
}

/// The texts of files, kept for the next session that edited them.
#[derive(Default)]
pub struct Texts {
    by_id: HashMap<ObjectId, Option<Rc<str>>>,
    bytes: usize,
}

impl Texts {
    /// Returns a file; `None` if it is too large, no text, or not here.
    fn get(&mut self, repo: &Repository, blob_id: ObjectId) -> Option<Rc<str>> {
        if let Some(text) = self.by_id.get(&blob_id) {
            return text.clone();
        }
        if self.bytes > MAX_KEPT_BYTES {
            *self = Texts::default();
        }
        let bytes = repo.read_blob(blob_id, MAX_FILE_BYTES).ok();
        let text: Option<Rc<str>> = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Rc::from);
        // An entry costs something too.
        self.bytes += 100 + text.as_ref().map_or(0, |text| text.len());
        self.by_id.insert(blob_id, text.clone());
        text
    }
}

impl Attribution<'_, '_> {
    /// Claims the commits whose id Git told the session, and those that have what it wrote. Its texts are forgotten then.
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
                        past.claims.push(claim(found, Evidence::Id, answer));
                    }
                }
            }
        }
    }

    fn changes_by_path(&self, past: &Past) -> BTreeMap<Place, Vec<Change>> {
        let mut by_path: BTreeMap<Place, Vec<Change>> = BTreeMap::new();
        let mut known: HashMap<&str, Option<Place>> = HashMap::new();
        for change in past.traces.iter().flat_map(|trace| &trace.changes) {
            let place = known.entry(&change.path).or_insert_with(|| self.place_of(past, &change.path));
            if let Some(place) = place {
                by_path.entry(place.clone()).or_default().push(change.clone());
            }
        }
        // Those of sub-agents come between those of the session.
        by_path.values_mut().for_each(|changes| changes.sort_by_key(|change| change.time));
        by_path
    }

    /// Returns a path of a transcript from the top of the worktree that it is in, with that top.
    fn place_of(&self, past: &Past, path: &str) -> Option<Place> {
        let path = past.directory.join(path);
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        let (top, inside) = self.tops.iter().find_map(|top| Some((top, choose::below(top, &path)?)))?;
        let inside: PathBuf = inside.components().collect();
        let path: BString = <[u8]>::from_path(&inside)?.into();
        (!path.is_empty()).then(|| Place { path, top: top.clone() })
    }

    /// Claims the first commit that has at `place` what the session wrote there.
    fn claim_by_content(&mut self, past: &mut Past, place: &Place, changes: &[Change]) {
        let written = self.written(changes);
        let mut seen = HashSet::new();
        let replays = std::cell::Cell::new(0);
        let from = i64::MIN;
        let until = past.end().map_or(i64::MAX, |end| end.saturating_add(LATE_SECS));
        for commit_id in self.candidates.changing(&place.path, from, until) {
            let Some(found) = self.candidates.get(commit_id).cloned() else { continue };
            if !past.may_have_made(&found) || !place.may_be_in(&found) {
                continue;
            }
            let change = self.candidates.changes(commit_id).iter().find(|change| change.path == place.path).cloned();
            let Some((before, after)) = change.and_then(|change| Some((change.before, change.after?.1))) else {
                continue;
            };
            let is_by_then = |time: Option<i64>| time.is_none_or(|time| time <= found.time.saturating_add(CLOCK_SECS));
            let is_written = written.iter().any(|(blob_id, time)| *blob_id == after && is_by_then(*time));
            let is_known = is_written || past.has_claimed(commit_id);
            let mut is_edited = || {
                let edits: Vec<&Change> = changes.iter().filter(|change| is_by_then(change.time)).collect();
                replays.set(replays.get() + 1);
                before.is_some_and(|(_, before)| self.leads_to(before, after, &edits))
            };
            // A later commit with the same content took it from elsewhere, as a revert does.
            if (is_known || (replays.get() < MAX_REPLAYS && is_edited()))
                && seen.insert(after)
                && !past.has_claimed(commit_id)
            {
                let is_foreign = found.is_own == Some(false) && found.made_in.is_none();
                let evidence = if is_foreign { Evidence::Foreign } else { Evidence::Content };
                past.claims.push(claim(&found, evidence, None));
            }
        }
    }

    /// Returns what a file was after each change, as far as that is known, as blob ids.
    fn written(&self, changes: &[Change]) -> Vec<(ObjectId, Option<i64>)> {
        let mut content: Option<String> = None;
        let mut written = Vec::new();
        for change in changes {
            content = match (&change.old, &change.new, content) {
                (None, Some(new), _) => Some(new.clone()),
                (Some(old), Some(new), Some(content)) => edited(&content, old, new),
                _ => None,
            };
            let known = content.as_ref().filter(|content| !content.trim().is_empty());
            let blob_id = known.and_then(|content| self.repo.blob_id(content.as_bytes()));
            written.extend(blob_id.map(|blob_id| (blob_id, change.time)));
        }
        written
    }

    /// Says whether edits turn one blob into another. Those that are in it already find nothing to replace.
    fn leads_to(&mut self, before: ObjectId, after: ObjectId, edits: &[&Change]) -> bool {
        let edits = || edits.iter().filter_map(|change| Some((change.old.as_deref()?, change.new.as_deref()?)));
        if !(1..=MAX_EDITS).contains(&edits().count()) {
            return false;
        }
        let Some(wanted) = self.texts.get(self.repo, after) else { return false };
        // The last that is done has left its text; most commits are told apart by that.
        if !edits().any(|(_, new)| wanted.contains(new)) {
            return false;
        }
        let Some(before) = self.texts.get(self.repo, before) else { return false };
        let mut content = before.to_string();
        for (old, new) in edits() {
            content = edited(&content, old, new).unwrap_or(content);
            if content == *wanted {
                return true;
            }
        }
        false
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
            let of_id = past.claims.iter().filter(|claim| claim.evidence == Evidence::Id);
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
            // What it wrote is better evidence; where the answer stands is only known from here.
            match past.claims.iter_mut().find(|claim| claim.commit_id == candidate.commit_id) {
                Some(claim) => claim.answer = answer,
                None => past.claims.push(claim(&candidate, Evidence::Subject, answer)),
            }
        }
    }

    /// Takes commits back from sessions that only repeat what another says, as one that was branched off it does: of all
    /// that have the tool call, the one that ended first keeps it.
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

    /// Returns the subjects of the commits that a session made and that no id tells, with their calls.
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
                let fits = |place: &Place| paths.contains(&place.path) && place.may_be_in(&candidate);
                if past.touched.iter().any(|(place, time)| is_since(*time) && fits(place)) {
                    past.claims.push(claim(&candidate, Evidence::Paths, None));
                }
            }
        }
    }

    /// Claims commits of the user for the only session that was going on then in their worktree, if something was asked
    /// for in it since its last commit. A session that has edited files since then, which the commit leaves alone, worked
    /// on something else.
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
                past.claims.push(claim(&candidate, Evidence::Time, None));
            }
        }
    }

    /// Returns the commits that no session has claimed and on which none is recorded, oldest first.
    fn unclaimed(&self, pasts: &[Past]) -> Vec<Candidate> {
        let claimed: HashSet<ObjectId> =
            pasts.iter().flat_map(|past| &past.claims).map(|claim| claim.commit_id).collect();
        let is_free = |candidate: &&Candidate| {
            !claimed.contains(&candidate.commit_id) && !self.known.contains_key(&candidate.commit_id)
        };
        self.candidates.oldest_first().into_iter().filter(is_free).cloned().collect()
    }
}

fn claim(candidate: &Candidate, evidence: Evidence, answer: Option<(usize, u64)>) -> Claim {
    Claim { commit_id: candidate.commit_id, time: candidate.time, evidence, answer }
}

fn edited(content: &str, old: &str, new: &str) -> Option<String> {
    (!old.is_empty() && content.contains(old)).then(|| content.replacen(old, new, 1))
}
