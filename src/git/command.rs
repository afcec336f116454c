//! Running `git` itself, for what should stay Git's business.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Instant;

use bstr::{BString, ByteSlice as _};

use super::child::{self, Streams};
use super::{Repository, temporary};
use crate::error::{Error, Result};
use crate::progress::delay;

/// Whether Git may ask for a password.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asking {
    /// Git may ask, and shows on a terminal how far it has come.
    Allowed,
    /// Git may ask, but shows nothing else.
    Quietly,
    /// Git may not ask; a command that needs a password fails.
    Never,
    /// Git may not ask, and the command fails at this time.
    Until(Instant),
}

impl Asking {
    /// Says whether a person sees how far a command has come.
    pub(super) fn is_watched(self) -> bool {
        self == Asking::Allowed && std::io::IsTerminal::is_terminal(&std::io::stderr())
    }

    /// Returns the option of a command that moves objects.
    pub(super) fn volume(self) -> String {
        if self.is_watched() { "--progress" } else { "--quiet" }.to_owned()
    }
}

/// A `git` command that is about to run.
pub struct Git {
    name: String,
    args: Vec<OsString>,
    directory: Option<PathBuf>,
    input: Option<Vec<u8>>,
    lock: Option<File>,
    asking: Asking,
    environment: Vec<(&'static str, String)>,
    deadline: Option<Instant>,
    is_watched: bool,
}

/// The standard output of a `git` command.
pub type Output = BString;

/// Prepares `git <args>`; nothing runs before its `capture`.
pub fn git<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Git {
    let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
    // In front of the name may stand options, of which these have a value.
    let is_value = |at: usize| at > 0 && ["-C", "-c", "--git-dir"].iter().any(|option| args[at - 1] == *option);
    let is_name = |at: &usize| !is_value(*at) && !args[*at].as_encoded_bytes().starts_with(b"-");
    let name = (0..args.len()).find(is_name).map(|at| args[at].to_string_lossy().into_owned()).unwrap_or_default();
    Git {
        name,
        args,
        directory: None,
        input: None,
        lock: None,
        asking: Asking::Never,
        environment: Vec::new(),
        deadline: None,
        is_watched: false,
    }
}

impl Git {
    /// Runs the command on `repository`, whatever directory we are in.
    #[must_use]
    pub fn repository(mut self, repository: &Repository) -> Self {
        // The command does not run in the current directory, from which these paths are if GIT_DIR is.
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut args: Vec<OsString> = vec!["--git-dir".into(), whole(repository.git_dir()).into()];
        if let Some(worktree) = repository.worktree().map(whole) {
            args.extend(["--work-tree".into(), worktree.clone().into()]);
            self.directory = Some(worktree);
        }
        args.append(&mut self.args);
        self.args = args;
        if repository.is_offline.get() {
            // Git knows it since 2.45.
            self.environment.push(("GIT_NO_LAZY_FETCH", "1".to_owned()));
        }
        self
    }

    /// Runs the command in this directory, on the repository that Git finds from there.
    #[must_use]
    pub fn directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Feeds `input` to the command's standard input, which is otherwise empty.
    #[must_use]
    pub fn input(mut self, input: Vec<u8>) -> Self {
        self.input = Some(input);
        self
    }

    /// Has the command hold the lock on an open file as long as it runs, also if this process is killed before it ends.
    #[must_use]
    pub fn holding(mut self, locked: File) -> Self {
        self.lock = Some(locked);
        self
    }

    /// Sets whether Git may ask for a password. If not, a command that needs one fails.
    #[must_use]
    pub fn asking(mut self, asking: Asking) -> Self {
        self.asking = asking;
        if let Asking::Until(deadline) = asking {
            self.deadline = Some(deadline);
        }
        self
    }

    /// Sets an environment variable of the command.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Kills the command, and all that it has started, at `deadline`; [`Git::capture`] then fails.
    #[must_use]
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Shows on stderr what the command says of its progress, if it takes long.
    #[must_use]
    pub fn watched(mut self, is_watched: bool) -> Self {
        self.is_watched = is_watched;
        self
    }

    /// Prepares the process.
    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.args(&self.args).stdout(Stdio::piped()).stderr(Stdio::piped());
        let lock = self.lock.as_ref().and_then(|lock| lock.try_clone().ok()).map(Stdio::from);
        command.stdin(lock.unwrap_or_else(|| if self.input.is_some() { Stdio::piped() } else { Stdio::null() }));
        command.env("LC_ALL", "C");
        if !matches!(self.asking, Asking::Allowed | Asking::Quietly) {
            child::forbid_asking(&mut command);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Starts the command and returns the lines of its stdout as they come. Dropping the iterator kills the command. The
    /// deadline is ignored. Input is written first, so only a command that reads all of it before it prints may have one.
    ///
    /// # Errors
    ///
    /// If `git` cannot be run; the last line is an error if it exits with anything but 0.
    pub fn lines(self) -> Result<OutputLines> {
        let failed = |error: std::io::Error| Error::other(format!("cannot run 'git {}'", self.name)).because(error);
        // Nobody would drain a pipe while the lines are read, and Git would wait for that after 64 KiB of warnings.
        let stderr = temporary::file().map_err(failed)?;
        let mut command = self.command();
        let mut child = command.stderr(stderr.try_clone().map_err(failed)?).spawn().map_err(failed)?;
        if let Some((mut stdin, input)) = child.stdin.take().zip(self.input.as_ref()) {
            // A command that ends early says why on stderr.
            let _ = std::io::Write::write_all(&mut stdin, input);
        }
        let stdout = child.stdout.take().map(BufReader::new);
        Ok(OutputLines { name: self.name, child, stdout, stderr })
    }

    /// Runs the command and returns its stdout.
    ///
    /// # Errors
    ///
    /// If `git` cannot be run or exits with anything but 0; the reason is the first error line of its stderr.
    pub fn capture(self) -> Result<Output> {
        let mut command = self.command();
        let name = self.name;
        let failed = |error: std::io::Error| Error::other(format!("cannot run 'git {name}'")).because(error);
        if let Some(deadline) = self.deadline {
            let input = self.input.unwrap_or_default();
            return match captured_until(command, &input, self.lock, deadline).map_err(failed)? {
                Some(output) if output.status.success() => Ok(output.stdout.into()),
                Some(output) => Err(ended(&name, &output.stderr)),
                None => Err(Error::other(format!("'git {name}' failed")).because("it took too long")),
            };
        }
        let mut child = command.spawn().map_err(failed)?;
        let writer = self.input.and_then(|input| child.stdin.take().map(|stdin| (stdin, input)));
        let watched = if self.is_watched { child.stderr.take() } else { None };
        let output = std::thread::scope(|scope| {
            let told = watched.map(|stderr| scope.spawn(move || show_progress(stderr)));
            if let Some((mut stdin, input)) = writer {
                scope.spawn(move || std::io::Write::write_all(&mut stdin, &input));
            }
            let mut output = child.wait_with_output();
            if let (Ok(output), Some(Ok(told))) = (&mut output, told.map(|told| told.join())) {
                output.stderr = told;
            }
            output
        })
        .map_err(failed)?;
        if output.status.success() {
            return Ok(output.stdout.into());
        }
        Err(ended(&name, &output.stderr))
    }
}

/// Runs a command at most until `deadline`; `None` if it was ended then.
fn captured_until(
    mut command: Command,
    input: &[u8],
    lock: Option<File>,
    deadline: Instant,
) -> std::io::Result<Option<std::process::Output>> {
    let Streams { stdout, stderr } = Streams::of(&mut command, input)?;
    // Whoever holds a lock reads no input.
    if let Some(lock) = lock {
        command.stdin(lock);
    }
    // The processes that it starts end with it.
    let mut child = command.process_group(0).spawn()?;
    let status = child::wait_until(&mut child, deadline)?;
    status.map(|status| Ok(std::process::Output { status, stdout: whole(stdout)?, stderr: whole(stderr)? })).transpose()
}

/// Returns all that was written to a file.
fn whole(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The lines of a command's stdout, without their ends.
pub struct OutputLines {
    name: String,
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: File,
}

impl Iterator for OutputLines {
    type Item = Result<BString>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = |error: String| Error::other(format!("cannot run 'git {}'", self.name)).because(error);
        let mut line = Vec::new();
        match self.stdout.as_mut()?.read_until(b'\n', &mut line) {
            Ok(0) => {
                self.stdout = None;
                let told = self.child.wait().and_then(|status| Ok((status, whole(self.stderr.try_clone()?)?)));
                match told {
                    Ok((status, _)) if status.success() => None,
                    Ok((_, stderr)) => Some(Err(ended(&self.name, &stderr))),
                    Err(error) => Some(Err(failed(error.to_string()))),
                }
            }
            Ok(_) => Some(Ok(line.strip_suffix(b"\n").unwrap_or(&line).into())),
            Err(error) => {
                self.stdout = None;
                Some(Err(failed(error.to_string())))
            }
        }
    }
}

impl Drop for OutputLines {
    fn drop(&mut self) {
        if self.stdout.is_some() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Shows what a command says of its progress, once it has taken [`delay`]; returns the rest of its messages.
fn show_progress(mut stderr: ChildStderr) -> Vec<u8> {
    let (begun, delay) = (Instant::now(), delay());
    let (mut messages, mut line, mut bytes) = (Vec::new(), Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stderr.read(&mut bytes) {
        for byte in &bytes[..count] {
            line.push(*byte);
            if !matches!(byte, b'\r' | b'\n') {
                continue;
            }
            let is_progress = *byte == b'\r' || line.contains_str("% (") || line.ends_with(b", done.\n");
            if !is_progress {
                messages.extend_from_slice(&line);
            } else if begun.elapsed() >= delay && !line.starts_with(b"remote:") {
                // Lines of the remote may contain anything, and are left out. Progress that cannot be written is no failure.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), &line);
            }
            line.clear();
        }
    }
    messages.extend(line);
    messages
}

/// Returns the error of a command that ran, and ended with a failure.
fn ended(name: &str, stderr: &[u8]) -> Error {
    let why = reason(stderr);
    // Of a path that was typed, Git's own words say all.
    match why.contains("' is outside repository at '") {
        true => Error::other(why),
        false => Error::other(format!("'git {name}' failed")).because(why),
    }
}

/// Returns the line of Git's messages that says why it failed.
fn reason(stderr: &[u8]) -> String {
    let text = stderr.to_str_lossy();
    let told = ["fatal: ", "error: ", " ! ", "remote: "].iter().find_map(|prefix| {
        let why = |line: &'_ str| line.strip_prefix(prefix).map(|why| why.trim().to_owned());
        // The lines of the refs say why they were not pushed, and the line before says what is wrong with a format.
        let says_nothing = |why: &String| {
            why.is_empty() || why.starts_with("failed to push some refs") || why == "unable to parse --pretty format"
        };
        text.lines().filter_map(why).find(|why| !says_nothing(why))
    });
    let first = || text.lines().find_map(|line| line.strip_prefix("error: ")).or_else(|| text.lines().next());
    let first = || first().map(|line| line.strip_prefix("fatal: ").unwrap_or(line));
    told.unwrap_or_else(|| first().unwrap_or("no reason given").trim().to_owned())
}

/// Returns the version of the `git` that runs, as major and minor number; `(0, 0)` if it is unknown.
pub fn version() -> (u32, u32) {
    let text = git(["--version"]).capture().map(|text| text.to_str_lossy().into_owned()).unwrap_or_default();
    let number = text.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use std::time::Duration;

    use super::*;

    fn script(text: &str) -> Git {
        git(["-c".to_owned(), format!("alias.shiftlog-test=!{text}"), "shiftlog-test".to_owned()])
    }

    #[test]
    fn lines_are_read_from_a_command_that_warns_of_much() {
        // A pipe takes 64 KiB; what does not wait for somebody to drain it fails.
        let warn = "dd if=/dev/zero bs=262144 count=1 of=/dev/stderr oflag=nonblock conv=notrunc";
        let lines: Result<Vec<BString>> = script(&format!("echo line; {warn} && echo more")).lines().unwrap().collect();
        assert_eq!(lines.unwrap(), ["line", "more"]);
        let failed: Vec<Result<BString>> =
            script("echo line; echo 'fatal: no more' >&2; exit 3").lines().unwrap().collect();
        let told = failed[1].as_ref().map_err(ToString::to_string);
        assert_eq!(told, Err("'git shiftlog-test' failed: no more".to_owned()));
    }

    #[test]
    fn a_command_with_a_deadline_gets_its_input_and_returns_its_output() {
        let later = || Instant::now() + Duration::from_secs(600);
        let input = vec![b'x'; 1 << 20];
        assert_eq!(script("cat").input(input.clone()).until(later()).capture().unwrap(), input);
        let failed = script("echo 'fatal: not today' >&2; exit 3").until(later()).capture();
        assert_eq!(failed.unwrap_err().to_string(), "'git shiftlog-test' failed: not today");
        let late = script("kill -STOP $$").until(Instant::now() + Duration::from_millis(50)).capture();
        assert_eq!(late.unwrap_err().to_string(), "'git shiftlog-test' failed: it took too long");
    }

    #[test]
    fn the_reason_is_the_line_of_the_highest_rank_without_its_prefix() {
        for (stderr, why) in [
            ("warning: x\nerror: one\nfatal: two\n", "two"),
            ("error: error: x\n", "error: x"),
            ("fatal: \nfatal: told later\n", "told later"),
            ("no prefix\n", "no prefix"),
            (
                "To x\n ! [remote rejected] a -> b (pre-receive hook declined)\nerror: failed to push some refs to 'x'\n",
                "[remote rejected] a -> b (pre-receive hook declined)",
            ),
            ("To x\nerror: failed to push some refs to 'x'\n", "failed to push some refs to 'x'"),
            ("", "no reason given"),
        ] {
            assert_eq!(reason(stderr.as_bytes()), why, "{stderr:?}");
        }
    }
}
