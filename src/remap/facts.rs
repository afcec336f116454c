//! Facts about commits, kept in a file: finding the changed paths of ten thousand commits takes a second.

use std::collections::HashMap;
use std::fmt::Write as _;

use twox_hash::XxHash3_64;

use crate::capture::State;
use crate::git::private;
use crate::git::{Commit, ObjectId, PathChange, Repository};

/// For a change of more paths than this, only their number is kept.
const MAX_PATHS: usize = 256;

/// The facts about one commit by which its copies are found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Facts {
    /// When it was committed, in seconds since the epoch.
    pub time: i64,
    /// A hash of the author's address and the author time. A rebase, cherry-pick or mailed patch keeps both.
    pub author: u64,
    /// Hashes of the paths that it changes against its first parent, sorted; empty for a merge.
    pub paths: Vec<u32>,
}

/// The facts about many commits.
pub struct KnownFacts<'r> {
    repo: &'r Repository,
    file: std::path::PathBuf,
    known: HashMap<ObjectId, Facts>,
    /// Lines to append to the file.
    new: String,
    is_loaded: bool,
}

impl<'r> KnownFacts<'r> {
    /// Makes an empty collection; facts are found when they are asked for.
    pub fn new(repo: &'r Repository) -> Self {
        let file = State::new(&repo.common_dir()).root().join("changes");
        KnownFacts { repo, file, known: HashMap::new(), new: String::new(), is_loaded: false }
    }

    /// Reads the file, which is worth it if many commits will be asked for. Skips lines that cannot be parsed.
    pub fn load(&mut self) {
        let text = private::text(&self.file);
        self.known.extend(text.lines().filter_map(|line| parse(self.repo, line)));
        self.is_loaded = true;
        self.new.clear();
    }

    /// Returns the facts about a commit; `None` if it, or a tree that must be compared, is missing.
    pub fn facts(&mut self, commit_id: ObjectId) -> Option<&Facts> {
        if !self.known.contains_key(&commit_id) {
            self.facts_of(&self.repo.commit(commit_id).ok()?)?;
        }
        self.known.get(&commit_id)
    }

    /// Returns the facts about a commit that has been read.
    pub fn facts_of(&mut self, commit: &Commit) -> Option<&Facts> {
        let commit_id = commit.commit_id;
        if !self.known.contains_key(&commit_id) {
            let is_merge = commit.parent_ids.len() > 1;
            let paths = if is_merge { Vec::new() } else { path_hashes(&self.repo.changes_of(commit).ok()?) };
            self.add(commit, paths);
        }
        self.known.get(&commit_id)
    }

    /// Finds the facts about many commits at once. If that fails, they are found one by one when they are asked for.
    pub fn learn(&mut self, commit_ids: &[ObjectId]) {
        // Git would fail at the first missing object.
        if self.repo.is_partial() {
            return;
        }
        let Ok(mut changed) = self.repo.changed_paths_of(commit_ids) else { return };
        for commit_id in commit_ids {
            if let Ok(commit) = self.repo.commit(*commit_id) {
                let paths = changed.remove(commit_id).unwrap_or_default();
                self.add(&commit, hashes_of(paths.iter().map(|path| path.as_slice())));
            }
        }
    }

    /// Says whether nothing is known of a commit yet.
    pub fn is_unknown(&self, commit_id: ObjectId) -> bool {
        !self.known.contains_key(&commit_id)
    }

    fn add(&mut self, commit: &Commit, paths: Vec<u32>) {
        let author = format!("{}\n{}", commit.author.email, commit.author.time.seconds);
        let author = XxHash3_64::oneshot(author.as_bytes());
        let facts = Facts { time: commit.committer.time.seconds, author, paths };
        let _ = writeln!(self.new, "{}", format(commit.commit_id, &facts));
        self.known.insert(commit.commit_id, facts);
    }

    /// Appends new facts to the file. A failure costs only time at the next run.
    pub fn save(&self) {
        // If the file was not read, it may have these facts already.
        if self.new.is_empty() || !self.is_loaded {
            return;
        }
        let _ = private::append(&self.file, self.new.as_bytes());
    }
}

/// Returns the hashes of the paths of a change, as [`Facts::paths`] has them.
pub fn path_hashes(changes: &[PathChange]) -> Vec<u32> {
    hashes_of(changes.iter().map(|change| change.path.as_slice()))
}

fn hashes_of<'p>(paths: impl ExactSizeIterator<Item = &'p [u8]>) -> Vec<u32> {
    if paths.len() > MAX_PATHS {
        return vec![hash(format!("{} paths", paths.len()).as_bytes())];
    }
    let mut paths: Vec<u32> = paths.map(hash).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn hash(path: &[u8]) -> u32 {
    // The lower half is as good as the whole.
    XxHash3_64::oneshot(path) as u32
}

fn format(commit_id: ObjectId, facts: &Facts) -> String {
    let mut line = format!("{commit_id} {} {:x}", facts.time, facts.author);
    for path in &facts.paths {
        let _ = write!(line, " {path:x}");
    }
    line
}

fn parse(repo: &Repository, line: &str) -> Option<(ObjectId, Facts)> {
    let mut words = line.split(' ');
    let commit_id = repo.parse_id(words.next()?)?;
    let time = words.next()?.parse().ok()?;
    let author = u64::from_str_radix(words.next()?, 16).ok()?;
    let paths: Option<Vec<u32>> = words.map(|word| u32::from_str_radix(word, 16).ok()).collect();
    Some((commit_id, Facts { time, author, paths: paths? }))
}
