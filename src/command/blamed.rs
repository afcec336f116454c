//! The options for `git blame` and the explanation of its lines, for `why` and `blame`.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::asked::Asked;
use crate::cli;
use crate::error::{Error, Kind, Result};
use crate::git::{BlameRequest, BlamedLines, Commit, ObjectId, Repository};
use crate::outside;
use crate::record::Reader;
use crate::replay::{Block, Explainer, Explanation};

/// How many commits a warning names.
const MAX_NAMED: usize = 10;

/// The options that go to `git blame`.
#[derive(Clone, Debug, clap::Args)]
pub struct Blaming {
    /// Only these lines: <start>,<end> or :<function>, as git blame takes them
    #[arg(short = 'L', value_name = "range", allow_hyphen_values = true)]
    lines: Vec<String>,
    /// Find lines moved within a file
    #[arg(short = 'M', value_name = "n", require_equals = true, num_args = 0..=1, default_missing_value = "")]
    moved: Vec<String>,
    /// Find lines copied from other files; given more often, from more files
    #[arg(short = 'C', value_name = "n", require_equals = true, num_args = 0..=1, default_missing_value = "")]
    copied: Vec<String>,
    /// Count no change of white space as a change of the line, which is the default
    #[arg(short = 'w', overrides_with = "no_ignore_whitespace")]
    _ignore_whitespace: bool,
    /// Count a change of white space as a change of the line
    #[arg(long, overrides_with = "_ignore_whitespace")]
    no_ignore_whitespace: bool,
    /// Look through the changes of this revision
    #[arg(long, value_name = "revision")]
    ignore_rev: Vec<String>,
    /// Look through the changes of the revisions in this file
    #[arg(long, value_name = "file")]
    ignore_revs_file: Vec<OsString>,
    /// Look through no changes, whatever the configuration and .git-blame-ignore-revs say
    #[arg(long)]
    no_ignore_revs: bool,
    /// Use the content of this file instead; '-' is the standard input
    #[arg(long, value_name = "file")]
    contents: Option<OsString>,
    /// Follow only the first parent of merges
    #[arg(long)]
    first_parent: bool,
    /// Look no further back than this
    #[arg(long, value_name = "date", value_hint = clap::ValueHint::Other)]
    since: Option<String>,
    /// Do not treat the first commits of history as a boundary
    #[arg(long)]
    root: bool,
}

/// Lines with what explains each.
pub type Explained = Vec<(BlamedLines, Vec<Explanation>)>;

/// Gives the values of `-M` and `-C` the form that the parser of options wants: `-M40` becomes `-M=40`.
pub fn with_stuck_numbers(args: Vec<OsString>) -> Vec<OsString> {
    let mut is_over = false;
    let turned = args.into_iter().map(|arg| {
        is_over |= arg == "--" || arg == "--end-of-options";
        let stuck = arg.to_str().and_then(|text| Some((text.get(..2)?, text.get(2..)?)));
        match stuck {
            Some((option @ ("-M" | "-C"), number))
                if !is_over && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                format!("{option}={number}").into()
            }
            _ => arg,
        }
    });
    turned.collect()
}

impl Blaming {
    /// Says whether the options name lines.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns the request for lines. `finds_moved` asks Git to follow moved and copied lines without an option for it:
    /// of a few lines that costs next to nothing.
    fn request(&self, repo: &Repository, asked: &Asked, finds_moved: bool) -> Result<BlameRequest> {
        let mut options: Vec<OsString> = Vec::new();
        // Git would take an unknown word for the present moment.
        self.since.as_deref().map(|since| repo.parse_date(since)).transpose()?;
        if !self.no_ignore_whitespace {
            options.push("-w".into());
        }
        let has_choice = !self.moved.is_empty() || !self.copied.is_empty();
        if finds_moved && !has_choice {
            options.extend(["-M".into(), "-C".into()]);
        }
        options.extend(self.moved.iter().map(|number| format!("-M{number}").into()));
        options.extend(self.copied.iter().map(|number| format!("-C{number}").into()));
        options.extend(self.lines.iter().chain(&asked.range).map(|range| format!("-L{range}").into()));
        options.extend(self.first_parent.then(|| "--first-parent".into()));
        options.extend(self.root.then(|| "--root".into()));
        options.extend(self.since.iter().map(|since| format!("--since={since}").into()));
        // An empty name takes back what the configuration says.
        options.extend(self.no_ignore_revs.then(|| "--ignore-revs-file=".into()));
        options.extend(self.ignore_rev.iter().map(|revision| format!("--ignore-rev={revision}").into()));
        for file in &self.ignore_revs_file {
            options.push(stuck("--ignore-revs-file=", &absolute(file)?));
        }
        let mut contents = None;
        match &self.contents {
            Some(file) if file == "-" => {
                options.push("--contents=-".into());
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| Error::other("cannot read the standard input").because(error))?;
                contents = Some(bytes);
            }
            Some(file) => options.push(stuck("--contents=", &absolute(file)?)),
            None => {}
        }
        if contents.is_none() && asked.revision.is_none() && repo.worktree().is_none() && self.contents.is_none() {
            return Err(Error::other("this operation must be run in a work tree").hint("name a revision"));
        }
        let path = OsString::from_vec(asked.path.to_vec());
        let (revision, hidden) = (asked.revision, asked.hidden.clone());
        Ok(BlameRequest { options, revision, hidden, path, contents, is_incremental: false })
    }

    /// Returns what the file is where no commit has it.
    fn content(&self, repo: &Repository, asked: &Asked, request: &BlameRequest) -> Option<Vec<u8>> {
        if request.contents.is_some() {
            return request.contents.clone();
        }
        match &self.contents {
            Some(file) => std::fs::read(file).ok(),
            None if asked.revision.is_none() => repo.worktree_content(Path::new(OsStr::from_bytes(&asked.path))),
            None => None,
        }
    }

    /// Blames lines and explains each. With `as_found`, groups are handed out as Git finds them, without text; otherwise
    /// in the order of lines.
    ///
    /// # Errors
    ///
    /// In Git's words if Git fails; what `take` returns.
    pub fn each(
        &self,
        reader: &Reader<'_>,
        asked: &Asked,
        how: How,
        mut take: impl FnMut(BlamedLines, Vec<Explanation>) -> Result<()>,
    ) -> Result<()> {
        let repo = reader.repo();
        let mut request = self.request(repo, asked, how == How::FewLines)?;
        request.is_incremental = how == How::AsFound;
        let mut explainer = Explainer::new(reader, self.content(repo, asked, &request), None);
        let own_file = self.default_ignored(repo);
        let mut with_own_file = request.clone();
        with_own_file.options.extend(own_file.map(|file| OsString::from(format!("--ignore-revs-file={file}"))));
        let mut blame = repo.blame(with_own_file)?;
        let mut next = blame.next();
        if let Some(Err(error)) = &next
            && let Some(better) = self.explained(repo, asked, error)
        {
            return Err(better);
        }
        if let (Some(file), Some(Err(error))) = (own_file, &next) {
            let told = format!("'{file}' is not used: {error}");
            blame = repo.blame(request)?;
            next = blame.next();
            // Otherwise something else is wrong.
            if matches!(next, Some(Ok(_))) {
                cli::warning(&told);
            }
        }
        // The commits whose words are not here.
        let mut lacking: BTreeMap<&str, Vec<ObjectId>> = BTreeMap::new();
        while let Some(lines) = next {
            let lines = lines?;
            let found = explainer.explain(&lines)?;
            for lack in found.iter().filter_map(|found| found.source.lack) {
                let commit_ids = lacking.entry(lack.sentence()).or_default();
                if !commit_ids.contains(&lines.commit.commit_id) {
                    commit_ids.push(lines.commit.commit_id);
                }
            }
            take(lines, found)?;
            next = blame.next();
        }
        // Of a few lines, each block says that its words are not here.
        if how != How::FewLines {
            lacking.iter().for_each(|(why, commit_ids)| cli::warning(&format!("{why}: {}", names(repo, commit_ids))));
        }
        explainer.problems().iter().for_each(|problem| cli::warning(problem));
        Ok(())
    }

    /// Returns an error that says more than Git's own where that does not name what was typed.
    fn explained(&self, repo: &Repository, asked: &Asked, error: &Error) -> Option<Error> {
        let told = error.to_string();
        // Git prints the usage of 'git blame' for a range that it cannot read.
        if told.starts_with("usage: ") {
            let ranges: Vec<String> =
                self.lines.iter().chain(&asked.range).map(|range| format!("'{}'", outside::line(range))).collect();
            let message = format!("{} is not a range of lines", ranges.join(", "));
            let error =
                Error::new(Kind::Usage, message).hint("-L <start>,<end>, -L <start>,+<count> or -L :<function>");
            return (!ranges.is_empty()).then_some(error);
        }
        // Git names the commit by all of its id.
        if let Some(id) =
            asked.revision.filter(|id| repo.blob_at(*id, asked.path.as_bstr()).is_ok_and(|blob| blob.is_none()))
        {
            let path = outside::line(&asked.path.to_str_lossy());
            return Some(Error::other(format!("no such path '{path}' in {}", repo.abbreviate(id))));
        }
        let is_unborn = asked.revision.is_none() && repo.head().is_ok_and(|head| head.commit_id.is_none());
        is_unborn.then(|| repo.no_commits())
    }

    /// Returns the file with revisions to ignore that is used although nobody has named it.
    fn default_ignored(&self, repo: &Repository) -> Option<&'static str> {
        let is_named = self.no_ignore_revs || !self.ignore_revs_file.is_empty();
        repo.ignored_revisions().filter(|_| !is_named)
    }
}

/// How lines are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum How {
    /// In order, with moved and copied lines followed.
    FewLines,
    /// In order.
    InOrder,
    /// As Git finds them, without text.
    AsFound,
}

/// Returns the abbreviated ids of some commits, the first of many.
fn names(repo: &Repository, commit_ids: &[ObjectId]) -> String {
    let mut names: Vec<String> = commit_ids.iter().take(MAX_NAMED).map(|id| repo.abbreviate(*id)).collect();
    match commit_ids.len().saturating_sub(MAX_NAMED) {
        0 => {}
        more => names.push(format!("and {more} more")),
    }
    names.join(", ")
}

fn stuck(option: &str, value: &Path) -> OsString {
    let mut stuck = OsString::from(option);
    stuck.push(value);
    stuck
}

/// Returns a path that means the same in another directory.
fn absolute(path: &OsStr) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::io("find", Path::new(path), error))
}

/// Reads the commits of blocks.
pub fn commits(repo: &Repository, blocks: &[Block]) -> Result<HashMap<ObjectId, Commit>> {
    let mut commits = HashMap::new();
    for block in blocks {
        let id = block.commit.commit_id;
        if !id.is_null() && !commits.contains_key(&id) {
            commits.insert(id, repo.commit(id)?);
        }
    }
    Ok(commits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_move_stays_with_its_option() {
        let args = ["why", "-M40", "-C", "-C7", "-Mx", "--", "-M3"].map(OsString::from).to_vec();
        let expected = ["why", "-M=40", "-C", "-C=7", "-Mx", "--", "-M3"].map(OsString::from);
        assert_eq!(with_stuck_numbers(args), expected);
    }
}
