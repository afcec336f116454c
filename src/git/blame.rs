//! `git blame` and its machine formats as values.
//!
//! Read [`Repository::blame`]. The subprocess keeps every rule of Git: renames, ignored revisions, `-L` with patterns.

use std::collections::HashMap;
use std::ffi::OsString;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice as _};

use super::command::OutputLines;
use super::quote::unquoted;
use super::{ObjectId, Repository, git};
use crate::error::{Error, Result};

/// The file with revisions to ignore that is used if none is named.
const IGNORED: &str = ".git-blame-ignore-revs";

/// A request to `git blame`.
#[derive(Clone, Debug, Default)]
pub struct BlameRequest {
    /// Options as `git blame` takes them, such as `-w` and `-L2,3`.
    pub options: Vec<OsString>,
    /// The revision; the working tree if `None`.
    pub revision: Option<ObjectId>,
    /// Commits that are not followed, nor their ancestors.
    pub hidden: Vec<ObjectId>,
    /// The path from the top of the repository.
    pub path: OsString,
    /// The file's content, if `--contents=-` is among the options.
    pub contents: Option<Vec<u8>>,
    /// Whether groups are wanted as soon as Git finds them, in no order and without text.
    pub is_incremental: bool,
}

/// A commit of a blame, as Git's header lines describe it.
#[derive(Debug)]
pub struct BlamedCommit {
    /// The commit; the null id for lines that no commit has.
    pub commit_id: ObjectId,
    /// Git's header lines from `author` on, without `previous` and `filename`.
    pub head: Vec<BString>,
}

impl BlamedCommit {
    /// Returns the value of a header line, such as `author`.
    pub fn value(&self, key: &str) -> Option<&BStr> {
        let value = |line: &BString| line.strip_prefix(key.as_bytes())?.strip_prefix(b" ").map(<[u8]>::to_vec);
        self.head.iter().find(|line| value(line).is_some()).map(|line| line[key.len() + 1..].as_bstr())
    }

    /// Says whether history was not followed beyond this commit.
    pub fn is_boundary(&self) -> bool {
        self.head.iter().any(|line| line == "boundary")
    }
}

/// The file in which a commit has some lines.
#[derive(Debug, Eq, PartialEq)]
pub struct BlamedFile {
    /// The path that the file has in the commit.
    pub path: BString,
    /// The path as Git spells it: quoted if it is odd.
    pub quoted_path: BString,
    /// The previous commit of the file, and the file's path there.
    pub previous: Option<(ObjectId, BString)>,
    /// The line `previous` of Git.
    pub previous_line: Option<BString>,
}

/// Lines next to each other that come from one commit.
#[derive(Clone, Debug)]
pub struct BlamedLines {
    /// The commit.
    pub commit: Rc<BlamedCommit>,
    /// The file in the commit.
    pub file: Rc<BlamedFile>,
    /// The number of the first line in the commit's file, from 1.
    pub orig_line: usize,
    /// The number of the first line in the file that was asked about, from 1.
    pub final_line: usize,
    /// How many lines.
    pub count: usize,
    /// The lines without their ends; none if they were asked for as Git finds them.
    pub texts: Vec<BString>,
    /// Whether this is the first group of its commit, with which Git prints the commit's header.
    pub is_first: bool,
    /// Whether Git prints the file's name for this group; otherwise it is that of the commit's last group.
    pub names_file: bool,
}

impl Repository {
    /// Runs `git blame` and returns what it finds: in the order of lines, or as it is found.
    ///
    /// # Errors
    ///
    /// If Git cannot be run. An item is an error with Git's own words if Git fails.
    pub fn blame(&self, request: BlameRequest) -> Result<Blame<'_>> {
        let mut args: Vec<OsString> = vec!["blame".into()];
        args.push(if request.is_incremental { "--incremental" } else { "--porcelain" }.into());
        args.extend(request.options);
        args.extend(request.revision.map(|id| id.to_string().into()));
        args.extend(request.hidden.iter().map(|id| format!("^{id}").into()));
        args.extend(["--".into(), request.path]);
        let mut command = git(args).repository(self);
        if let Some(contents) = request.contents {
            command = command.input(contents);
        }
        Ok(Blame {
            repo: self,
            lines: command.lines()?,
            is_incremental: request.is_incremental,
            commits: HashMap::new(),
            files: HashMap::new(),
            started: None,
            is_over: false,
        })
    }

    /// Returns the project's file with revisions that a blame looks through, unless the configuration names another.
    pub fn ignored_revisions(&self) -> Option<&'static str> {
        let is_configured = !self.config_strings("blame.ignoreRevsFile").is_empty();
        let is_there = || self.worktree().is_some_and(|top| top.join(IGNORED).is_file());
        (!is_configured && is_there()).then_some(IGNORED)
    }

    /// Returns all that [`Repository::blame`] finds, and looks through the revisions that the project ignores if Git
    /// can read them.
    ///
    /// # Errors
    ///
    /// In Git's words if Git fails.
    pub fn blame_through_ignored(&self, request: BlameRequest) -> Result<Vec<BlamedLines>> {
        if let Some(file) = self.ignored_revisions() {
            let mut through = request.clone();
            through.options.push(format!("--ignore-revs-file={file}").into());
            let lines: Result<Vec<BlamedLines>> = self.blame(through)?.collect();
            if lines.is_ok() {
                return lines;
            }
        }
        self.blame(request)?.collect()
    }
}

/// The lines of a file by the commits that they come from.
pub struct Blame<'r> {
    repo: &'r Repository,
    lines: OutputLines,
    is_incremental: bool,
    commits: HashMap<ObjectId, Rc<BlamedCommit>>,
    /// The file that each commit was last seen with: Git does not repeat it.
    files: HashMap<ObjectId, Rc<BlamedFile>>,
    started: Option<Started>,
    is_over: bool,
}

/// A group whose lines are being read.
struct Started {
    commit_id: ObjectId,
    orig_line: usize,
    final_line: usize,
    count: usize,
    head: Vec<BString>,
    previous_line: Option<BString>,
    quoted_path: Option<BString>,
    texts: Vec<BString>,
}

impl Blame<'_> {
    fn start(&self, line: &BStr) -> Result<Started> {
        let bad = || Error::other(format!("'git blame' printed what is not understood: {line}"));
        let mut words = line.fields();
        let commit_id = words.next().and_then(|hex| self.repo.parse_id(hex.to_str().ok()?)).ok_or_else(bad)?;
        let mut number = || words.next().and_then(|word| word.to_str().ok()?.parse().ok());
        let (orig_line, final_line) = number().zip(number()).ok_or_else(bad)?;
        let count = number().ok_or_else(bad)?;
        let (head, texts) = (Vec::new(), Vec::new());
        Ok(Started { commit_id, orig_line, final_line, count, head, previous_line: None, quoted_path: None, texts })
    }

    fn finish(&mut self, started: Started) -> Result<BlamedLines> {
        let Started { commit_id, orig_line, final_line, count, head, previous_line, quoted_path, texts } = started;
        let is_first = !self.commits.contains_key(&commit_id);
        let commit = self.commits.entry(commit_id).or_insert_with(|| Rc::new(BlamedCommit { commit_id, head }));
        let commit = Rc::clone(commit);
        let names_file = quoted_path.is_some();
        if let Some(quoted_path) = quoted_path {
            let previous = previous_line.as_ref().and_then(|line| {
                let (hex, path) = line.strip_prefix(b"previous ")?.split_once_str(" ")?;
                Some((self.repo.parse_id(hex.to_str().ok()?)?, unquoted(path.as_bstr())))
            });
            let path = unquoted(quoted_path.as_bstr());
            self.files.insert(commit_id, Rc::new(BlamedFile { path, quoted_path, previous, previous_line }));
        }
        let file = self.files.get(&commit_id).cloned();
        let file = file.ok_or_else(|| Error::other("'git blame' names no file for a commit"))?;
        Ok(BlamedLines { commit, file, orig_line, final_line, count, texts, is_first, names_file })
    }

    /// Reads one more line of Git's; returns a group that it completes.
    fn take(&mut self, line: BString) -> Result<Option<BlamedLines>> {
        if let Some(started) = &mut self.started {
            if let Some(text) = line.strip_prefix(b"\t") {
                started.texts.push(text.into());
                if started.texts.len() < started.count {
                    return Ok(None);
                }
                return self.started.take().map(|started| self.finish(started)).transpose();
            }
            if !started.texts.is_empty() {
                // The further lines of a group only have their numbers.
                return Ok(None);
            }
            if let Some(path) = line.strip_prefix(b"filename ") {
                started.quoted_path = Some(path.into());
                if self.is_incremental {
                    return self.started.take().map(|started| self.finish(started)).transpose();
                }
            } else if line.starts_with(b"previous ") {
                started.previous_line = Some(line);
            } else {
                started.head.push(line);
            }
            return Ok(None);
        }
        self.started = Some(self.start(line.as_bstr())?);
        Ok(None)
    }
}

impl Iterator for Blame<'_> {
    type Item = Result<BlamedLines>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let taken = match self.lines.next() {
                None => break,
                Some(Ok(line)) => self.take(line),
                Some(Err(error)) => Err(in_gits_words(error)),
            };
            match taken {
                Ok(None) => {}
                Ok(Some(group)) => return Some(Ok(group)),
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
        self.is_over = true;
        None
    }
}

/// Returns an error with Git's own message and nothing else.
fn in_gits_words(error: Error) -> Error {
    match std::error::Error::source(&error) {
        Some(reason) => Error::other(reason.to_string()),
        None => error,
    }
}
