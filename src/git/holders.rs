//! Finding the refs, the `HEAD`s of worktrees and the entries of reflogs that still reach objects that are to be removed.
//!
//! Read [`Repository::holders`].

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use bstr::ByteSlice as _;

use super::refs::ARCHIVIST;
use super::{ObjectId, Repository, git};
use crate::error::Result;

/// The largest number of commits whose objects are listed.
const MAX_LISTED: usize = 64;

/// A ref, a `HEAD` or an entry of a reflog that reaches some objects.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Its name, as Git takes it.
    pub name: String,
    /// How the objects came into a history of others; `None` if it names a commit of the histories that the objects are of.
    pub join: Option<Join>,
    /// The commits of these histories by which it reaches the objects; none if it names a tree or a blob.
    pub own_ids: Vec<ObjectId>,
}

/// A commit of another history that has a commit of some histories among its parents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Join {
    /// The commit.
    pub commit_id: ObjectId,
    /// Whether it has a parent of the other history, too.
    pub is_merge: bool,
}

/// The result of [`Repository::holders`].
#[derive(Debug, Default)]
pub struct Holders {
    /// Refs and `HEAD`, then the entries of reflogs, the oldest of each ref first: so they can be deleted one after the other.
    pub found: Vec<Holder>,
    /// The objects that none of them reaches through these histories: an index has them, a tree of another history, or the old
    /// commit of an entry of a reflog.
    pub rest: Vec<ObjectId>,
}

/// The commits of other histories that have some histories among their ancestors.
struct Joined {
    /// Each with its last join, and the commits of these histories that it reaches at its joins.
    commits: HashMap<ObjectId, (Join, Rc<BTreeSet<ObjectId>>)>,
}

/// A search for holders, with the lists of objects that it has read.
struct Search<'r> {
    repo: &'r Repository,
    ids: &'r HashSet<ObjectId>,
    /// The commits of the histories that the objects are of.
    own: HashSet<ObjectId>,
    joined: Joined,
    /// Those of the objects that an object of these histories reaches.
    reached: HashMap<ObjectId, HashSet<ObjectId>>,
}

impl Repository {
    /// Finds the holders of some objects, which are of the histories of the commits `tips`. Leaves out refs for which `is_own`
    /// holds, with their reflogs, and an entry of a reflog that has the objects by the same join as a ref that is found.
    ///
    /// Walks all history.
    ///
    /// # Errors
    ///
    /// If Git cannot list commits, refs or objects.
    pub fn holders(
        &self,
        ids: &HashSet<ObjectId>,
        tips: &[ObjectId],
        is_own: impl Fn(&str) -> bool,
    ) -> Result<Holders> {
        let mut search = Search::new(self, ids, tips)?;
        let (mut holders, mut found_ids) = (Holders::default(), HashSet::new());
        let mut standing: Vec<Join> = Vec::new();
        for (name, id) in self.named()?.into_iter().filter(|(name, _)| !is_own(name)) {
            let (join, reached) = search.reached_by(id)?;
            if !reached.is_empty() {
                standing.extend(join);
                found_ids.extend(reached);
                holders.found.push(Holder { name, join, own_ids: search.own_ids(id) });
            }
        }
        for (name, commit_id) in self.reflog_entries()? {
            if is_own(log_of(&name)) {
                continue;
            }
            let (join, reached) = search.reached_by(commit_id)?;
            let is_standing = join.is_some_and(|join| standing.contains(&join));
            found_ids.extend(reached.iter().copied());
            if !reached.is_empty() && !is_standing {
                holders.found.push(Holder { name, join, own_ids: search.own_ids(commit_id) });
            }
        }
        holders.rest = ids.difference(&found_ids).copied().collect();
        Ok(holders)
    }

    /// Returns all refs, and `HEAD` of each worktree where it is detached, with the object that each names, through all tags.
    fn named(&self) -> Result<Vec<(String, ObjectId)>> {
        let listed = git(["for-each-ref", "--format=%(objectname) %(refname)"]).repository(self).capture()?;
        let ref_of = |line: &[u8]| {
            let (hex, name) = line.split_once_str(" ")?;
            Some((name.to_str_lossy().into_owned(), self.peeled(self.parse_id(&hex.to_str_lossy())?)?))
        };
        let mut named: Vec<(String, ObjectId)> = listed.lines().filter_map(ref_of).collect();
        for head in self.heads() {
            let is_detached = git(["symbolic-ref", "-q", &head]).repository(self).capture().is_err();
            let commit_id = if is_detached { self.resolve(&head).ok() } else { None };
            named.extend(commit_id.map(|commit_id| (head, commit_id)));
        }
        Ok(named)
    }

    /// Returns the names of `HEAD` of all worktrees, that of this one first.
    fn heads(&self) -> Vec<String> {
        let shared = self.common_dir();
        let mut heads = vec!["HEAD".to_owned()];
        heads.extend((self.git_dir() != shared).then(|| "main-worktree/HEAD".to_owned()));
        let linked = std::fs::read_dir(shared.join("worktrees")).into_iter().flatten().flatten();
        for entry in linked.filter(|entry| entry.path() != self.git_dir()) {
            heads.extend(entry.file_name().to_str().map(|name| format!("worktrees/{name}/HEAD")));
        }
        heads
    }

    /// Returns the entries of all reflogs, each with its commit, the oldest of each ref first.
    fn reflog_entries(&self) -> Result<Vec<(String, ObjectId)>> {
        // With a date format of the user's, the entries would have dates for numbers.
        let list = [
            "-c",
            "log.date=default",
            "-c",
            "i18n.logOutputEncoding=UTF-8",
            "log",
            "--walk-reflogs",
            "--format=%H %gD",
        ];
        let walked = |of: &str| git(list.into_iter().chain([of])).repository(self).capture();
        let mut listed = Vec::from(walked("--all")?);
        for head in self.heads().iter().skip(1) {
            // Git lists them with the others, but for old releases; a new worktree has none.
            if !listed.contains_str(format!(" {head}@{{")) {
                listed.extend(walked(head).map(Vec::from).unwrap_or_default());
            }
        }
        let entry = |line: &[u8]| {
            let (hex, name) = line.split_once_str(" ")?;
            Some((name.to_str_lossy().into_owned(), self.parse_id(&hex.to_str_lossy())?))
        };
        let mut entries: Vec<(String, ObjectId)> = listed.lines().filter_map(entry).collect();
        entries.reverse();
        // Git lists the entries of all logs by time.
        entries.sort_by(|(a, _), (b, _)| log_of(a).cmp(log_of(b)));
        Ok(entries)
    }
}

/// Returns the ref, or the `HEAD`, whose reflog has an entry.
fn log_of(entry: &str) -> &str {
    entry.rsplit_once("@{").map_or(entry, |(log, _)| log)
}

impl<'r> Search<'r> {
    fn new(repo: &'r Repository, ids: &'r HashSet<ObjectId>, tips: &[ObjectId]) -> Result<Self> {
        let id = |hex: &[u8]| repo.parse_id(&hex.to_str_lossy());
        let input: String = tips.iter().map(|id| format!("{id}\n")).collect();
        let listed = git(["rev-list", "--missing=allow-any", "--stdin"]).repository(repo).input(input.into_bytes());
        let mut own: HashSet<ObjectId> = listed.capture()?.lines().filter_map(id).collect();
        let everything = ["rev-list", "--topo-order", "--reverse", "--missing=allow-any", "--all", "--reflog"];
        // Before each line Git writes 'commit' and the id, which is no line of ours.
        let format = ["--format=%H %ce %P"];
        let mut joined = Joined { commits: HashMap::new() };
        for line in git(everything.into_iter().chain(format)).repository(repo).capture()?.lines() {
            let mut fields = line.splitn(3, |byte| *byte == b' ');
            let (Some(commit_id), Some(committer)) = (fields.next().and_then(id), fields.next()) else { continue };
            // An earlier purge has rewritten the histories that a copy may have.
            if committer == ARCHIVIST.1.as_bytes() {
                own.insert(commit_id);
            }
            if !own.contains(&commit_id) {
                let parent_ids = fields.next().unwrap_or_default().fields().filter_map(id).collect::<Vec<_>>();
                joined.add(commit_id, &parent_ids, &own);
            }
        }
        Ok(Search { repo, ids, own, joined, reached: HashMap::new() })
    }

    /// Returns those of the objects that a commit, a tree or a blob reaches through the histories that they are of, and how these
    /// were joined.
    fn reached_by(&mut self, id: ObjectId) -> Result<(Option<Join>, HashSet<ObjectId>)> {
        if let Some((join, joined)) = self.joined.commits.get(&id).cloned() {
            let mut all = HashSet::new();
            for id in joined.iter() {
                all.extend(self.reached(*id)?.iter().copied());
            }
            return Ok((Some(join), all));
        }
        let is_other = !self.own.contains(&id) && self.repo.commit(id).is_ok();
        Ok((None, if is_other { HashSet::new() } else { self.reached(id)?.clone() }))
    }

    /// Returns the commits of these histories by which a commit reaches the objects.
    fn own_ids(&self, id: ObjectId) -> Vec<ObjectId> {
        match self.joined.commits.get(&id) {
            Some((_, joined)) => joined.iter().copied().collect(),
            None => self.own.get(&id).copied().into_iter().collect(),
        }
    }

    /// Returns those of the objects that one reaches. Of very many, all are taken to reach all.
    fn reached(&mut self, id: ObjectId) -> Result<&HashSet<ObjectId>> {
        if !self.reached.contains_key(&id) {
            if self.reached.len() >= MAX_LISTED {
                return Ok(self.ids);
            }
            let list = ["rev-list", "--objects", "--missing=allow-any", &id.to_string()];
            let listed = git(list).repository(self.repo).capture()?;
            let one = |line: &[u8]| self.repo.parse_id(&line.fields().next()?.to_str_lossy());
            let reached = listed.lines().filter_map(one).filter(|id| self.ids.contains(id)).collect();
            self.reached.insert(id, reached);
        }
        Ok(&self.reached[&id])
    }
}

impl Joined {
    /// Adds a commit of another history, if it has a commit of the histories `own` among its ancestors. Its parents were added
    /// before.
    fn add(&mut self, commit_id: ObjectId, parent_ids: &[ObjectId], own: &HashSet<ObjectId>) {
        let at_it: BTreeSet<ObjectId> = parent_ids.iter().copied().filter(|id| own.contains(id)).collect();
        let before: Vec<&(Join, Rc<BTreeSet<ObjectId>>)> =
            parent_ids.iter().filter_map(|id| self.commits.get(id)).collect();
        let entry = match (&before[..], at_it.is_empty()) {
            ([], true) => return,
            ([(join, joined)], true) => (*join, Rc::clone(joined)),
            _ => {
                let is_merge = parent_ids.iter().any(|id| !own.contains(id));
                let join = if at_it.is_empty() { before[0].0 } else { Join { commit_id, is_merge } };
                let all = before.iter().flat_map(|(_, joined)| joined.iter().copied()).chain(at_it);
                (join, Rc::new(all.collect()))
            }
        };
        self.commits.insert(commit_id, entry);
    }
}
