//! The commits that a past session may have made: those that a ref reaches, without merges and without commits that Git
//! made from older ones.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

use bstr::BString;

use crate::error::Result;
use crate::git::{Commit, ObjectId, Order, PathChange, Range, Repository, Worktree};

/// A walk ends after this many commits in a row that are too old.
const MAX_OLD: usize = 256;
/// How much further back history is read than asked for, so that the next session need not read it again.
const STEP_SECS: i64 = 30 * 24 * 60 * 60;
/// The largest clock error between a commit and its parent.
const SKEW_SECS: i64 = 24 * 60 * 60;
/// The changes of a commit with more paths than this are not read.
const MAX_PATHS: usize = 5000;
/// How many entries of a reflog are read.
const MAX_MOVES: usize = 100_000;

/// A commit.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The commit.
    pub commit_id: ObjectId,
    /// When it was committed, in seconds since the epoch.
    pub time: i64,
    /// The author time; earlier than `time` if the commit was amended.
    pub author_time: i64,
    /// The subject.
    pub subject: String,
    /// Whether author or committer is the user; `None` if no address is configured.
    pub is_own: Option<bool>,
    /// The worktree in which it was made, if a reflog has it.
    pub made_in: Option<PathBuf>,
}

impl Candidate {
    /// Returns the times at which it may have been made: committer time, and author time if that is earlier.
    pub fn times(&self) -> impl Iterator<Item = i64> {
        [self.time].into_iter().chain((self.author_time < self.time).then_some(self.author_time))
    }
}

/// The commits in the reflogs of all worktrees.
#[derive(Default)]
struct Moves {
    made: HashMap<ObjectId, PathBuf>,
    old_work: HashSet<ObjectId>,
}

/// The candidates, read back to a time.
pub struct Candidates<'r> {
    repo: &'r Repository,
    tips: Vec<ObjectId>,
    moves: Moves,
    own_address: Option<String>,
    reached: i64,
    by_id: BTreeMap<ObjectId, Candidate>,
    changes: HashMap<ObjectId, Rc<Vec<PathChange>>>,
    /// The commits that change a path, oldest first; made when it is first asked for.
    by_path: Option<HashMap<BString, Vec<(i64, ObjectId)>>>,
}

impl<'r> Candidates<'r> {
    /// Begins with no commits; [`Candidates::reach`] reads them.
    pub fn new(repo: &'r Repository, worktrees: &[Worktree]) -> Self {
        let mut candidates = Candidates {
            repo,
            tips: Vec::new(),
            moves: Moves::default(),
            own_address: own_address(repo),
            reached: i64::MAX,
            by_id: BTreeMap::new(),
            changes: HashMap::new(),
            by_path: None,
        };
        for prefix in ["refs/heads/", "refs/remotes/", "refs/tags/"] {
            for (name, id) in repo.ref_targets(prefix) {
                // A tag may name an object of its own, or something that is no commit.
                let commit = repo.commit(id).map(|commit| commit.commit_id).or_else(|_| repo.resolve(&name));
                candidates.tips.extend(commit);
            }
        }
        for worktree in worktrees {
            let Ok(there) = Repository::open_git_dir(&worktree.git_dir) else { continue };
            candidates.tips.extend(there.head().ok().and_then(|head| head.commit_id));
            for entry in there.head_reflog(MAX_MOVES) {
                if entry.is_new_work() {
                    candidates.moves.made.insert(entry.new_id, worktree.top.clone());
                } else if entry.is_old_work() {
                    candidates.moves.old_work.insert(entry.new_id);
                }
            }
        }
        candidates.tips.retain(|id| repo.has_object(*id));
        candidates
    }

    /// Reads history back to a time.
    ///
    /// # Errors
    ///
    /// If history cannot be read.
    pub fn reach(&mut self, time: i64) -> Result<()> {
        if self.reached <= time {
            return Ok(());
        }
        self.reached = time.saturating_sub(STEP_SECS);
        let range = Range { tips: self.tips.clone(), hidden: Vec::new() };
        let mut old_in_a_row = 0;
        for step in self.repo.walk(&range, Order::NewestFirst)? {
            let step = step?;
            if step.time.is_some_and(|time| time < self.reached.saturating_sub(SKEW_SECS)) {
                // A commit with a wrong date must not hide its ancestors.
                old_in_a_row += 1;
                if old_in_a_row > MAX_OLD {
                    break;
                }
                continue;
            }
            old_in_a_row = 0;
            if step.parent_ids.len() > 1 || self.by_id.contains_key(&step.commit_id) {
                continue;
            }
            let is_made_here = self.moves.made.contains_key(&step.commit_id);
            if is_made_here || !self.moves.old_work.contains(&step.commit_id) {
                self.by_id.insert(step.commit_id, self.candidate(&self.repo.commit(step.commit_id)?));
            }
        }
        self.by_path = None;
        Ok(())
    }

    fn candidate(&self, commit: &Commit) -> Candidate {
        let is_own = |address: &String| commit.author.email == *address || commit.committer.email == *address;
        Candidate {
            commit_id: commit.commit_id,
            time: commit.committer.time.seconds,
            author_time: commit.author.time.seconds,
            subject: commit.subject().to_string(),
            is_own: self.own_address.as_ref().map(is_own),
            made_in: self.moves.made.get(&commit.commit_id).cloned(),
        }
    }

    /// Returns a candidate.
    pub fn get(&self, commit_id: ObjectId) -> Option<&Candidate> {
        self.by_id.get(&commit_id)
    }

    /// Returns all candidates that have been read, the oldest first.
    pub fn oldest_first(&self) -> Vec<&Candidate> {
        let mut found: Vec<&Candidate> = self.by_id.values().collect();
        found.sort_by_key(|candidate| (candidate.time, candidate.author_time, candidate.commit_id));
        found
    }

    /// Returns the only candidate whose id begins with these digits.
    pub fn with_prefix(&self, digits: &str) -> Option<&Candidate> {
        let first = format!("{digits:0<width$}", width = self.repo.null_id().kind().len_in_hex());
        let first = self.repo.parse_id(&first)?;
        let mut found = self.by_id.range(first..).map(|(_, candidate)| candidate);
        let found = [found.next(), found.next()];
        let fits = |candidate: &&Candidate| candidate.commit_id.to_string().starts_with(digits);
        found[0].filter(fits).filter(|_| !found[1].is_some_and(|second| fits(&second)))
    }

    /// Returns the changes of a commit; none if there are too many, or a tree is missing.
    pub fn changes(&mut self, commit_id: ObjectId) -> Rc<Vec<PathChange>> {
        let repo = self.repo;
        let find = || {
            let changes = repo.commit(commit_id).and_then(|commit| repo.changes_of(&commit)).unwrap_or_default();
            Rc::new(if changes.len() > MAX_PATHS { Vec::new() } else { changes })
        };
        Rc::clone(self.changes.entry(commit_id).or_insert_with(find))
    }

    /// Returns the commits that change a path and were first made between these times, oldest first. The first call reads
    /// the changes of all candidates.
    pub fn changing(&mut self, path: &BString, from: i64, until: i64) -> Vec<ObjectId> {
        if self.by_path.is_none() {
            let oldest_first = self.oldest_first().into_iter();
            let made: Vec<(i64, ObjectId)> =
                oldest_first.map(|found| (found.time.min(found.author_time), found.commit_id)).collect();
            let mut by_path: HashMap<BString, Vec<(i64, ObjectId)>> = HashMap::new();
            for (time, commit_id) in made {
                for change in self.changes(commit_id).iter() {
                    by_path.entry(change.path.clone()).or_default().push((time, commit_id));
                }
            }
            self.by_path = Some(by_path);
        }
        let found = self.by_path.as_ref().and_then(|by_path| by_path.get(path)).into_iter().flatten();
        found.filter(|(time, _)| (from..=until).contains(time)).map(|(_, commit_id)| *commit_id).collect()
    }
}

/// Returns the user's address for commits.
fn own_address(repo: &Repository) -> Option<String> {
    let environment = || std::env::var("GIT_AUTHOR_EMAIL").ok();
    repo.config_string("user.email").or_else(environment).filter(|address| !address.is_empty())
}
