//! Running `git` itself, for what should stay Git's business.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bstr::{BString, ByteSlice as _};

use super::Repository;
use crate::error::{Error, Result};

/// A `git` command that is about to run.
pub struct Git {
    args: Vec<OsString>,
    directory: Option<PathBuf>,
    input: Option<Vec<u8>>,
}

/// What a `git` command printed on stdout.
pub type Output = BString;

/// Prepares `git <args>`; nothing runs before its `capture`.
pub fn git<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Git {
    Git { args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(), directory: None, input: None }
}

impl Git {
    /// Runs the command on `repository`, whatever directory we are in.
    #[must_use]
    pub fn repository(mut self, repository: &Repository) -> Self {
        let mut args: Vec<OsString> = vec!["--git-dir".into(), repository.git_dir().into()];
        if let Some(worktree) = repository.worktree() {
            args.extend(["--work-tree".into(), worktree.into()]);
            self.directory = Some(worktree.to_owned());
        }
        args.append(&mut self.args);
        self.args = args;
        self
    }

    /// Feeds `input` to the command's standard input, which is otherwise empty.
    #[must_use]
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs the command and returns its stdout.
    ///
    /// # Errors
    ///
    /// If `git` cannot be run or exits with anything but 0; the reason is the first line of its stderr.
    pub fn capture(self) -> Result<Output> {
        let shown = self.args.iter().rev().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>();
        let name = shown.last().map(|arg| arg.clone().into_owned()).unwrap_or_default();
        let mut command = Command::new("git");
        command.args(&self.args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let failed = |error| Error::other(format!("cannot run 'git {name}'")).because(error);
        let mut child = command.spawn().map_err(|error: std::io::Error| failed(error.to_string()))?;
        let writer = self.input.and_then(|input| child.stdin.take().map(|stdin| (stdin, input)));
        let output = std::thread::scope(|scope| {
            if let Some((mut stdin, input)) = writer {
                scope.spawn(move || std::io::Write::write_all(&mut stdin, &input));
            }
            child.wait_with_output()
        })
        .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout.into());
        }
        let reason = output.stderr.to_str_lossy();
        let reason = reason.lines().next().unwrap_or("no reason given");
        Err(failed(reason.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned()))
    }
}

/// Returns the version of the `git` that runs, as major and minor number; `(0, 0)` if it cannot be told.
pub fn version() -> (u32, u32) {
    let text = git(["--version"]).capture().map(|text| text.to_str_lossy().into_owned()).unwrap_or_default();
    let number = text.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}
