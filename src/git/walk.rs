//! Walking history: revision ranges, and their commits newest first.

use bstr::{BString, ByteSlice as _};
use gix::revision::plumbing::Spec;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use super::command::OutputLines;
use super::{ObjectId, Repository, git, gix_error};
use crate::error::{Error, Kind, Result};

/// The commits reachable from `tips` and not from `hidden`.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// Where to start.
    pub tips: Vec<ObjectId>,
    /// Commits to leave out, with all their ancestors.
    pub hidden: Vec<ObjectId>,
}

/// Paths that limit a walk.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Pathspecs, as a user types them.
    pub specs: Vec<std::ffi::OsString>,
    /// The directory that they start from.
    pub directory: std::path::PathBuf,
}

/// The order of a walk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// By commit time, as `git log` does.
    NewestFirst,
    /// In any order; the cheapest.
    AsFound,
}

/// One commit met on a walk.
#[derive(Clone, Debug)]
pub struct Step {
    /// The commit.
    pub commit_id: ObjectId,
    /// Its parents.
    pub parent_ids: Vec<ObjectId>,
    /// When it was committed, in seconds since the epoch; only known on a walk by time.
    pub time: Option<i64>,
}

impl Repository {
    /// Adds what `revision` names to `range`: a commit, `^commit`, `a..b`, `a...b`, `commit^@`, `commit^!`.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] with Git's words for a revision that names no commit.
    pub fn add_to_range(&self, range: &mut Range, revision: &str) -> Result<()> {
        let peel = |id: ObjectId| -> Result<ObjectId> {
            use gix::prelude::ObjectIdExt as _;
            let object = id.attach(self.gix()).object();
            let commit = object.and_then(gix::Object::peel_to_commit);
            let bad = || Error::new(Kind::Missing, format!("bad revision '{revision}'"));
            commit.map(|commit| commit.id).map_err(|_| self.ambiguous(revision).unwrap_or_else(bad))
        };
        let spec = match super::revision::is_by_message(revision) {
            true if revision.contains("..") => return self.add_with_git(range, revision),
            true => None,
            false => self.gix().rev_parse(revision.as_bytes().as_bstr()).ok(),
        };
        let Some(spec) = spec else {
            range.tips.push(self.resolve(revision)?);
            return Ok(());
        };
        match spec.detach() {
            Spec::Include(id) => range.tips.push(peel(id)?),
            Spec::Exclude(id) => range.hidden.push(peel(id)?),
            Spec::Range { from, to } => {
                range.hidden.push(peel(from)?);
                range.tips.push(peel(to)?);
            }
            Spec::Merge { theirs, ours } => {
                let (theirs, ours) = (peel(theirs)?, peel(ours)?);
                range.tips.extend([theirs, ours]);
                let bases =
                    git(["merge-base", "--all", &theirs.to_string(), &ours.to_string()]).repository(self).capture();
                let bases = bases.unwrap_or_default();
                range.hidden.extend(bases.lines().filter_map(|line| self.parse_id(&line.to_str_lossy())));
            }
            Spec::IncludeOnlyParents(id) => range.tips.extend(self.commit(peel(id)?)?.parent_ids),
            Spec::ExcludeParents(id) => {
                let commit = self.commit(peel(id)?)?;
                range.tips.push(commit.commit_id);
                range.hidden.extend(commit.parent_ids);
            }
        }
        Ok(())
    }

    /// Adds what Git makes of a range to `range`.
    fn add_with_git(&self, range: &mut Range, revision: &str) -> Result<()> {
        let bad = || Error::new(Kind::Missing, format!("bad revision '{revision}'"));
        let parsed = git(["rev-parse", "--revs-only", "--end-of-options", revision]).repository(self).capture();
        let parsed = parsed.map_err(|_| bad())?;
        for line in parsed.lines() {
            let line = line.to_str_lossy();
            match line.strip_prefix('^') {
                Some(hidden) => range.hidden.push(self.resolve(hidden)?),
                None => range.tips.push(self.resolve(&line)?),
            }
        }
        if range.tips.is_empty() { Err(bad()) } else { Ok(()) }
    }

    /// Walks a range. Uses the commit-graph file when there is one; shallow boundaries end the walk as in Git.
    ///
    /// # Errors
    ///
    /// If a tip cannot be read; each step can fail on its own.
    pub fn walk(&self, range: &Range, order: Order) -> Result<impl Iterator<Item = Result<Step>> + '_> {
        let sorting = match order {
            Order::NewestFirst => Sorting::ByCommitTime(CommitTimeOrder::NewestFirst),
            Order::AsFound => Sorting::BreadthFirst,
        };
        let fail = |error: gix::Error| gix_error("cannot walk the history", &error);
        let walk =
            self.gix().rev_walk(range.tips.iter().copied()).sorting(sorting).with_hidden(range.hidden.iter().copied());
        let steps = walk.all().map_err(fail)?;
        Ok(steps.map(move |info| {
            let info = info.map_err(|error| gix_error("cannot walk the history", &error))?;
            Ok(Step { commit_id: info.id, parent_ids: info.parent_ids.to_vec(), time: info.commit_time })
        }))
    }

    /// Walks the commits of a range as `git rev-list <options> <range> -- <paths>` finds them, newest first: pathspec
    /// magic, history simplification and changed-path filters are Git's own. Dropping the iterator kills Git.
    ///
    /// # Errors
    ///
    /// What Git says, for instance about a bad pathspec, comes as the last step.
    pub fn walk_with_git(
        &self,
        range: &Range,
        options: &[&str],
        paths: Option<&Paths>,
    ) -> Result<impl Iterator<Item = Result<ObjectId>> + use<>> {
        let hash = self.gix().object_hash();
        let id = move |line: BString| ObjectId::from_hex(&line).ok().filter(|id| id.kind() == hash);
        Ok(self.rev_list(range, options, paths)?.filter_map(move |line| line.map(id).transpose()))
    }

    /// Runs `git rev-list` and returns its lines.
    pub(super) fn rev_list(&self, range: &Range, options: &[&str], paths: Option<&Paths>) -> Result<OutputLines> {
        let mut args: Vec<std::ffi::OsString> = Vec::new();
        if let Some(paths) = paths {
            args.extend(["-C".into(), paths.directory.clone().into()]);
        }
        args.push("rev-list".into());
        args.extend(options.iter().map(Into::into));
        args.extend(range.tips.iter().map(|id| id.to_string().into()));
        args.extend(range.hidden.iter().map(|id| format!("^{id}").into()));
        args.push("--".into());
        args.extend(paths.iter().flat_map(|paths| paths.specs.iter().cloned()));
        let command = git(args);
        // Pathspecs are relative to the directory where they were typed.
        if paths.is_some() { command.lines() } else { command.repository(self).lines() }
    }

    /// Returns a best common ancestor of two commits, or `None` if they have none.
    ///
    /// # Errors
    ///
    /// If history cannot be read.
    pub fn merge_base(&self, one: ObjectId, other: ObjectId) -> Result<Option<ObjectId>> {
        if one == other {
            return Ok(Some(one));
        }
        let base = self.gix().merge_base(one, other);
        base.map(|base| base.map(|id| id.detach())).map_err(|error| gix_error("cannot find a merge base", &error))
    }

    /// Says whether grafts or `git replace` may give commits other parents, which only Git's own walk knows.
    pub fn has_other_parents(&self) -> bool {
        self.common_dir().join("info/grafts").exists() || self.ref_names("refs/replace/").into_iter().next().is_some()
    }

    /// Parses a date as `git reflog expire --expire=` does, into seconds since the epoch.
    ///
    /// Git's `--since=` and `--until=` take an unknown word for the present moment; here it is an error. `never` is the
    /// smallest time, `now` and `all` are the largest.
    ///
    /// # Errors
    ///
    /// If Git cannot read the date.
    pub fn parse_date(&self, text: &str) -> Result<i64> {
        let setting = format!("shiftlog.date={text}");
        let command = git(["-c", &setting, "config", "--type=expiry-date", "--get", "shiftlog.date"]);
        let seconds = command.repository(self).capture().ok().and_then(|output| {
            let seconds: u64 = output.trim().to_str().ok()?.parse().ok()?;
            Some(i64::try_from(seconds).unwrap_or(i64::MAX))
        });
        seconds.ok_or_else(|| unreadable(text))
    }
}

/// Returns the error about a date.
pub(super) fn unreadable(text: &str) -> Error {
    Error::other(format!("cannot read the date '{text}'"))
        .hint("dates are written as for Git: 2026-11-20, yesterday, 2.weeks.ago")
}
