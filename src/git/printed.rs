//! Commits as Git prints them: formats, colours, dates, decorations and `.mailmap` are Git's own.

use std::ffi::OsString;

use super::command::OutputLines;
use super::{ObjectId, Repository, git};
use crate::error::{Error, Result};

/// The digits of the longest ids that Git has.
const MAX_DIGITS: usize = 64;

/// How Git is to print commits.
#[derive(Clone, Copy, Debug)]
pub struct PrintOptions<'a> {
    /// The option that chooses the format, such as `--format=%h %s` or `--oneline`.
    pub format: &'a str,
    /// The value of `--date=`, if it was given.
    pub date: Option<&'a str>,
    /// The value of `--decorate=`, if it was given.
    pub decorate: Option<&'a str>,
    /// The value of `--abbrev=`, if it was given; more digits than an id has stand for all of them.
    pub digits: Option<usize>,
    /// The option that says whether the id of a commit is abbreviated, if it was given.
    pub abbreviation: Option<&'a str>,
    /// Whether colours are wanted.
    pub is_colored: bool,
    /// Whether the output goes to a terminal: then Git adds decorations.
    pub is_screen: bool,
}

/// Which parts of a commit's change Git is to show.
#[derive(Clone, Debug, Default)]
pub struct ChangeOptions {
    /// The number of changed lines of each file.
    pub has_stat: bool,
    /// The patch.
    pub has_patch: bool,
    /// Only these paths, relative to the current directory; all if there are none.
    pub pathspecs: Vec<OsString>,
    /// Whether colours are wanted.
    pub is_colored: bool,
    /// The width of the terminal, if the output goes to one.
    pub columns: Option<usize>,
    /// How `git log` is to show merges: with options of a walk, such as `--first-parent`. Without, they are shown as
    /// `git show` does.
    pub of_merges: Option<Vec<&'static str>>,
}

impl Repository {
    /// Returns the lines of a commit's change as `git show` or `git log` prints them, with the user's own settings.
    ///
    /// # Errors
    ///
    /// If Git cannot be run; the last line is an error if it fails.
    pub fn shown_change(&self, commit_id: ObjectId, options: &ChangeOptions) -> Result<OutputLines> {
        let color = if options.is_colored { "--color=always" } else { "--color=never" };
        let mut args: Vec<OsString> = match &options.of_merges {
            None => vec!["show".into()],
            Some(options) => ["log", "--no-walk"].iter().chain(options).map(Into::into).collect(),
        };
        args.extend(["--format=".into(), color.into()]);
        args.extend(options.has_stat.then(|| "--stat".into()));
        args.extend(options.has_patch.then(|| "--patch".into()));
        args.extend([commit_id.to_string().into(), "--".into()]);
        args.extend(options.pathspecs.iter().cloned());
        // Pathspecs are relative to the directory where they were typed.
        let command = if options.pathspecs.is_empty() { git(args).repository(self) } else { git(args) };
        let mut command = command.env("LC_ALL", language());
        if let Some(columns) = options.columns {
            command = command.env("COLUMNS", columns.to_string());
        }
        command.lines()
    }

    /// Returns the lines of a commit's patch against its first parent, in Git's own form whatever the settings are.
    ///
    /// # Errors
    ///
    /// If Git cannot be run; the last line is an error if it fails.
    pub fn patch(&self, commit_id: ObjectId) -> Result<OutputLines> {
        let id = commit_id.to_string();
        let plain = ["-c", "core.quotePath=false", "show", "--format=", "--patch", "--no-color", "--no-ext-diff"];
        let form = ["--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--inter-hunk-context=0"];
        let rest = ["--find-renames", "--submodule=short", "-m", "--first-parent", &id, "--"];
        git([&plain[..], &form, &rest].concat()).repository(self).lines()
    }

    /// Returns the output of Git for some commits, in the given order: `fields` texts for each, split at NUL.
    ///
    /// A commit has no NUL in its text, so a format with `fields - 1` times `%x00` gives `fields` texts. Runs one process.
    ///
    /// # Errors
    ///
    /// If Git fails, or prints another number of fields.
    pub fn printed(&self, commit_ids: &[ObjectId], printing: PrintOptions<'_>, fields: usize) -> Result<Vec<Vec<u8>>> {
        let color = if printing.is_colored { "--color=always" } else { "--color=never" };
        let mut args = vec!["log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8", color, printing.format];
        let date = printing.date.map(|date| format!("--date={date}"));
        let decorate = printing.decorate.map(|how| format!("--decorate={how}"));
        let abbrev = printing.digits.map(|digits| format!("--abbrev={}", digits.min(MAX_DIGITS)));
        args.extend(date.as_deref().into_iter().chain(decorate.as_deref()).chain(abbrev.as_deref()));
        args.extend(printing.abbreviation);
        let ids: String = commit_ids.iter().map(|id| format!("{id}\n")).collect();
        let mut command = git(args).repository(self).input(ids.into_bytes()).env("LC_ALL", language());
        if printing.is_screen {
            command = command.env("GIT_PAGER_IN_USE", "true");
        }
        let output = command.capture()?;
        let mut found: Vec<Vec<u8>> = output.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        let wanted = commit_ids.len() * fields;
        // Some formats have a NUL after each commit, others only between commits.
        if found.len() == wanted + 1 && found.last().is_some_and(Vec::is_empty) {
            found.pop();
        }
        if found.len() != wanted {
            let format = printing.format.trim_start_matches("--format=");
            return Err(Error::other(format!("cannot tell commits apart in the format '{format}'"))
                .because(format!("Git printed {} parts instead of {wanted}", found.len())));
        }
        Ok(found)
    }
}

/// Returns the user's locale. [`git`] sets `C`, but relative dates and counts are printed in the user's language.
fn language() -> String {
    std::env::var("LC_ALL").unwrap_or_default()
}
