//! The options that choose commits, as `log` has them, and what they and the words of a command line mean.

use std::collections::HashMap;
use std::ffi::OsString;

use bstr::ByteSlice as _;

use crate::cli;
use crate::error::{Error, Kind, Result};
use crate::find;
use crate::git::{ObjectId, Paths, Range, Repository, git};
use crate::pretty;
use crate::record::{Query, may_be_fetched};

/// How many problems are warned of one by one.
const MAX_WARNINGS: usize = 10;

/// The options that choose commits.
#[derive(Debug, clap::Args)]
pub(super) struct Chosen {
    /// Only commits made at or after a date
    #[arg(long, visible_alias = "after", value_name = "date", value_hint = clap::ValueHint::Other)]
    pub since: Option<String>,
    /// Only commits made at or before a date
    #[arg(long, visible_alias = "before", value_name = "date", value_hint = clap::ValueHint::Other)]
    pub until: Option<String>,
    /// Only commits whose author matches a pattern
    #[arg(long, value_name = "pattern")]
    pub author: Option<String>,
    /// Only commits with a line in their message that matches a pattern
    #[arg(long, value_name = "pattern")]
    pub grep: Option<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "name")]
    pub agent: Option<String>,
    /// Only sessions whose model name contains this
    #[arg(long, value_name = "string")]
    pub model: Option<String>,
    /// Only this session
    #[arg(long, value_name = "id")]
    pub session: Option<String>,
    /// No merge commits
    #[arg(long)]
    pub no_merges: bool,
    /// Only merge commits
    #[arg(long)]
    pub merges: bool,
    /// Follow only the first parent of a merge commit
    #[arg(long)]
    pub first_parent: bool,
    /// Start from HEAD and all branches and tags
    #[arg(long)]
    pub all: bool,
    /// Start from all local branches, or those that match a pattern
    #[arg(long, value_name = "pattern", require_equals = true, num_args = 0..=1, default_missing_value = "",
          action = clap::ArgAction::Append)]
    pub branches: Vec<String>,
    /// Start from all tags, or those that match a pattern
    #[arg(long, value_name = "pattern", require_equals = true, num_args = 0..=1, default_missing_value = "",
          action = clap::ArgAction::Append)]
    pub tags: Vec<String>,
    /// Start from all remote-tracking branches, or those that match a pattern
    #[arg(long, value_name = "pattern", require_equals = true, num_args = 0..=1, default_missing_value = "",
          action = clap::ArgAction::Append)]
    pub remotes: Vec<String>,
}

impl Chosen {
    /// Returns the commits that the options and words choose: revisions, then paths.
    ///
    /// # Errors
    ///
    /// If a word is neither, or a pattern or date is none.
    pub fn query(&self, repo: &Repository, words: &[OsString]) -> Result<Query> {
        let words = cli::split_words(repo, words)?;
        let paths = match words.paths.is_empty() {
            true => None,
            false => Some(Paths { specs: words.paths, directory: cli::current_directory()? }),
        };
        let pattern = |text: &Option<String>| match text {
            Some(text) => find::expression(text).map(Some),
            None => Ok(None),
        };
        let walk_options =
            [(self.first_parent, "--first-parent"), (self.no_merges, "--no-merges"), (self.merges, "--merges")];
        let time = |text: &Option<String>| text.as_deref().map(|text| repo.parse_date(text)).transpose();
        Ok(Query {
            range: self.range(repo, &words.revisions)?,
            paths,
            walk_options: walk_options.iter().filter(|(is_set, _)| *is_set).map(|(_, option)| *option).collect(),
            since: time(&self.since)?,
            until: time(&self.until)?,
            author: pattern(&self.author)?,
            grep: pattern(&self.grep)?,
            agent: self.agent.clone(),
            model: self.model.clone(),
            session: self.session.clone(),
            ..Query::default()
        })
    }

    /// Returns the name by which each commit is reached, as `git log --format=%S` tells it.
    ///
    /// # Errors
    ///
    /// As [`Chosen::query`].
    pub fn sources(&self, repo: &Repository, words: &[OsString]) -> Result<HashMap<ObjectId, String>> {
        let words = cli::split_words(repo, words)?;
        let mut args = vec!["log", "--format=%H %S"];
        args.extend(self.first_parent.then_some("--first-parent"));
        let all = ["--exclude=refs/notes/*", "--exclude=refs/shiftlog/*", "--exclude=refs/stash", "--all"];
        args.extend(all.into_iter().filter(|_| self.all));
        let named = self.named();
        args.extend(named.iter().map(String::as_str));
        args.extend(words.revisions.iter().map(String::as_str));
        args.push("--");
        let listed = git(args).repository(repo).capture()?;
        let pair = |line: &[u8]| {
            let (id, name) = line.split_once_str(" ")?;
            Some((repo.parse_id(id.to_str().ok()?)?, name.to_str_lossy().into_owned()))
        };
        Ok(listed.lines().filter_map(pair).collect())
    }

    /// Says whether the options name refs to start from.
    pub fn names_refs(&self) -> bool {
        self.all || !self.named().is_empty()
    }

    /// Returns the options that name kinds of refs, as Git has them.
    fn named(&self) -> Vec<String> {
        let kinds = [("--branches", &self.branches), ("--tags", &self.tags), ("--remotes", &self.remotes)];
        let option = |name: &str, pattern: &String| match pattern.as_str() {
            "" => name.to_owned(),
            pattern => format!("{name}={pattern}"),
        };
        let options = |(name, patterns): (&'static str, &Vec<String>)| -> Vec<String> {
            patterns.iter().map(|pattern| option(name, pattern)).collect()
        };
        kinds.into_iter().flat_map(options).collect()
    }

    /// Returns the range of commits: HEAD without any other.
    fn range(&self, repo: &Repository, revisions: &[String]) -> Result<Range> {
        let mut range = Range::default();
        for revision in revisions {
            repo.add_to_range(&mut range, revision)?;
        }
        let is_whole = |patterns: &[String]| self.all || patterns.iter().any(String::is_empty);
        let (has_branches, has_remotes) = (is_whole(&self.branches), is_whole(&self.remotes));
        if has_branches || has_remotes {
            range.tips.extend(repo.branches(has_branches, has_remotes)?.into_iter().map(|branch| branch.commit_id));
        }
        let named = self.named();
        let patterns: Vec<&String> = named.iter().filter(|option| option.contains('=')).collect();
        if !patterns.is_empty() {
            let listed = git([&"rev-parse".to_owned()].into_iter().chain(patterns)).repository(repo).capture()?;
            for id in listed.lines() {
                // A tag can name something that is no commit.
                let _ = repo.add_to_range(&mut range, &id.to_str_lossy());
            }
        }
        if is_whole(&self.tags) {
            for name in repo.ref_names("refs/tags/") {
                // A tag can name something that is no commit.
                let _ = repo.add_to_range(&mut range, &name);
            }
        }
        let is_default = revisions.is_empty() && !self.names_refs();
        if is_default || (self.all && revisions.is_empty()) {
            match repo.head()?.commit_id {
                Some(head) => range.tips.push(head),
                None if is_default => return Err(repo.no_commits()),
                None => {}
            }
        }
        Ok(range)
    }
}

/// The failures of reading the words of records.
#[derive(Debug, Default)]
pub(super) struct Problems {
    /// How many records lack words.
    missing: u64,
    others: Vec<String>,
}

impl Problems {
    /// Adds a problem of an increment.
    pub fn add(&mut self, problem: Option<Error>) {
        match problem {
            Some(error) if error.kind() == Kind::Missing => self.missing += 1,
            Some(error) => self.others.push(error.to_string()),
            None => {}
        }
    }

    /// Warns of what went wrong.
    pub fn tell(mut self, repo: &Repository) {
        self.others.sort();
        self.others.dedup();
        for problem in self.others.iter().take(MAX_WARNINGS) {
            cli::warning(problem);
        }
        if let Some(more) = self.others.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
            cli::warning(&format!("and {more} more; 'git shiftlog fsck' lists all"));
        }
        if self.missing > 0 {
            cli::warning(&format!("words of {} are not here", pretty::count(self.missing, "record")));
            // Where no remote may have more, there is nothing to fetch.
            if may_be_fetched(repo) || repo.is_partial() {
                cli::hint(repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
            }
        }
    }
}
