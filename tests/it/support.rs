//! A scratch repository with a home of its own, and an agent that behaves like Claude Code.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// A repository in a directory that goes away with it.
pub struct Scratch {
    root: tempfile::TempDir,
    pub top: PathBuf,
    pub env: BTreeMap<String, String>,
}

/// Says that a test proves nothing here. Written past the capture of the test runner, so that it is seen.
pub fn skip(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    // In one piece, or a line of the test runner may get into it.
    let _ = std::io::stderr().write_all(format!("SKIPPED {name}: {why}\n").as_bytes());
}

/// What a program printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub bytes: Vec<u8>,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            bytes: output.stdout,
        }
    }

    /// Returns stdout of a program that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self.stdout
    }
}

/// Returns the directory with the programs under test.
pub fn bin_dir() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_git-shiftlog")).parent().unwrap().to_owned()
}

/// Copies a program that is to be run. Another process does it: what other tests start meanwhile has each file open that this
/// one writes, and a program that is open for writing cannot be run.
pub fn copy_program(from: impl AsRef<Path>, to: &Path) {
    assert!(Command::new("cp").arg(from.as_ref()).arg(to).status().unwrap().success());
}

impl Scratch {
    /// Makes a repository with one commit on `main`, not set up yet.
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Makes a repository with options for `git init`.
    pub fn with(init_options: &[&str]) -> Self {
        let scratch = Self::empty(init_options);
        scratch.write("README", "hello\n");
        scratch.git(["add", "README"]).ok();
        scratch.git(["commit", "-q", "-m", "start"]).ok();
        scratch
    }

    /// Makes a repository without commits.
    pub fn empty(init_options: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let canonical = root.path().canonicalize().unwrap();
        let top = canonical.join("repo");
        let home = canonical.join("home");
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(home.join(".claude")).unwrap();
        // A shell under another name stands for the agent's process; see `Scratch::agent`.
        fs::create_dir_all(canonical.join("bin")).unwrap();
        copy_program("/bin/sh", &canonical.join("bin/claude"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{}:{path}", bin_dir().display(), canonical.join("bin").display());
        // Not /dev/null: 'git config --global' run by root would put a file in its place.
        let config = canonical.join("gitconfig");
        let env = [
            ("PATH", path.as_str()),
            ("HOME", home.to_str().unwrap()),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", config.to_str().unwrap()),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.com"),
            ("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.com"),
            ("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z"),
            ("GIT_EDITOR", "true"),
        ];
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let scratch = Scratch { root, top, env };
        let mut args = vec!["init", "-q", "-b", "main"];
        args.extend(init_options);
        args.push(".");
        scratch.git(args).ok();
        scratch
    }

    /// Makes a repository with one commit, set up for Claude Code.
    pub fn set_up() -> Self {
        let scratch = Self::new();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        scratch
    }

    pub fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns our state directory.
    pub fn state(&self) -> PathBuf {
        self.top.join(".git/shiftlog")
    }

    /// Prepares a program with the environment of this repository and nothing else.
    pub fn command<S: AsRef<OsStr>>(&self, program: S, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    pub fn run_in<S: AsRef<OsStr>>(&self, dir: &Path, program: &str, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(program, dir).args(args).output().unwrap())
    }

    pub fn run_with_input<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Ran {
        feed(self.command(program, &self.top).args(args), input)
    }

    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.run_in(&self.top, "git", args)
    }

    pub fn git_in<S: AsRef<OsStr>>(&self, dir: &Path, args: impl IntoIterator<Item = S>) -> Ran {
        self.run_in(dir, "git", args)
    }

    /// Runs `git shiftlog <name>`.
    pub fn shiftlog<S: AsRef<OsStr>>(&self, name: &str, args: impl IntoIterator<Item = S>) -> Ran {
        self.shiftlog_in(&self.top, name, args)
    }

    pub fn shiftlog_in<S: AsRef<OsStr>>(&self, dir: &Path, name: &str, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(
            assert_cmd::Command::from(self.command("git", dir)).arg("shiftlog").arg(name).args(args).output().unwrap(),
        )
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the id that a revision names.
    pub fn id(&self, revision: &str) -> String {
        self.git(["rev-parse", "--verify", revision]).ok().trim().to_owned()
    }

    /// Changes a file and commits it as a person at a shell does. Returns the commit's id.
    pub fn commit(&self, path: &str, text: &str, message: &str) -> String {
        self.write(path, text);
        self.git(["add", path]).ok();
        self.git(["commit", "-q", "-m", message]).ok();
        self.id("HEAD")
    }

    /// Returns the records of a commit, as stock Git reads the note.
    pub fn records(&self, revision: &str) -> Vec<Value> {
        let note = self.git(["notes", "--ref=shiftlog", "show", revision]);
        note.stdout.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the only record of a commit.
    #[track_caller]
    pub fn record(&self, revision: &str) -> Value {
        let records = self.records(revision);
        assert_eq!(records.len(), 1, "{records:#?}\nlog: {}", self.log());
        records.into_iter().next().unwrap()
    }

    /// Returns the transcript that `show --raw` prints.
    pub fn raw(&self, revision: &str, options: &[&str]) -> String {
        self.shiftlog("show", [&["--raw"], options, &[revision]].concat()).ok()
    }

    /// Returns how many captures could not be stored yet, as `git shiftlog doctor` tells.
    #[track_caller]
    pub fn waiting(&self) -> usize {
        let told = self.shiftlog("doctor", ["--no-rehearsal"]).stdout;
        let count = |line: &str| line.split_once(" pending capture")?.0.split_whitespace().last()?.parse().ok();
        told.lines().find_map(count).unwrap_or_else(|| panic!("doctor does not say how many captures wait: {told}"))
    }

    /// Returns every file and directory of our state. A test does not need to know what each of them is.
    pub fn state_files(&self) -> Vec<PathBuf> {
        let (mut found, mut directories) = (Vec::new(), vec![self.state()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                found.push(entry.path());
                directories.extend(entry.path().is_dir().then(|| entry.path()));
            }
        }
        found.sort();
        found
    }

    /// Removes our state, as the manual page allows.
    pub fn lose_state(&self) {
        fs::remove_dir_all(self.state()).unwrap();
    }

    /// Copies our state, as a backup does.
    pub fn back_up_state(&self) -> PathBuf {
        let copy = self.root().join("backup");
        let _ = fs::remove_dir_all(&copy);
        self.run_in(&self.top, "cp", [Path::new("-a"), &self.state(), &copy]).ok();
        copy
    }

    /// Puts such a copy in the place of our state.
    pub fn restore_state(&self, copy: &Path) {
        self.lose_state();
        self.run_in(&self.top, "cp", [Path::new("-a"), copy, &self.state()]).ok();
    }

    /// Runs a program, and returns when it and all that it has started have ended.
    pub fn run_until_nothing_runs(&self, dir: &Path, words: &[&str]) -> Ran {
        // Whoever has the third descriptor keeps the pipe of standard error open.
        self.run_in(dir, "sh", [&["-c", "exec \"$@\" 3>&2", "sh"], words].concat())
    }

    /// Returns our log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.state().join("log")).unwrap_or_default()
    }

    /// Asserts that stock Git finds nothing wrong.
    #[track_caller]
    pub fn assert_sound(&self) {
        let fsck = self.git(["fsck", "--strict"]);
        assert_eq!(
            (fsck.code, fsck.stderr.lines().find(|line| !line.starts_with("notice") && !line.contains("dangling"))),
            (0, None),
            "{fsck:?}"
        );
        self.git(["notes", "--ref=shiftlog", "list"]).ok();
    }

    /// Starts a session of Claude Code in the working tree.
    pub fn session(&self, id: &str) -> Session<'_> {
        self.session_in(id, &self.top)
    }

    pub fn session_in(&self, id: &str, dir: &Path) -> Session<'_> {
        let transcript = self.root().join(format!("{id}.jsonl"));
        let session = Session { scratch: self, id: id.to_owned(), dir: dir.to_owned(), transcript };
        session.hook("SessionStart");
        session
    }
}

/// Returns the file that a message names as keeping what could not be stored.
#[track_caller]
pub fn kept_in(told: &str) -> PathBuf {
    let path =
        told.split_once(" noted in '").or(told.split_once(" kept in '")).and_then(|(_, rest)| rest.split_once('\''));
    path.unwrap_or_else(|| panic!("no file is named: {told}")).0.into()
}

pub fn feed(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    Ran::of(child.wait_with_output().unwrap())
}

/// The process of an agent, which ends when this is dropped.
pub struct Staying(std::process::Child);

impl Drop for Staying {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A session of an agent that writes Claude Code's transcripts and runs its hooks.
pub struct Session<'s> {
    pub scratch: &'s Scratch,
    pub id: String,
    pub dir: PathBuf,
    pub transcript: PathBuf,
}

impl Session<'_> {
    /// Appends bytes to the transcript.
    pub fn append(&self, bytes: &[u8]) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.transcript).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Returns the transcript as it stands.
    pub fn text(&self) -> String {
        fs::read_to_string(&self.transcript).unwrap()
    }

    pub fn record(&self, kind: &str, message: &Value) {
        let number = fs::read(&self.transcript).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
        let record = json!({ "type": kind, "uuid": format!("{}-{number}", self.id), "sessionId": self.id,
            "timestamp": "2026-01-02T03:04:06Z", "message": message });
        self.append(format!("{record}\n").as_bytes());
    }

    /// The person says something; Claude Code runs its hook for it.
    pub fn prompt(&self, text: &str) {
        self.record("user", &json!({ "role": "user", "content": text }));
        self.hook("UserPromptSubmit");
    }

    /// The agent says something.
    pub fn says(&self, text: &str) {
        self.assistant(&json!({ "type": "text", "text": text }));
    }

    fn assistant(&self, block: &Value) {
        let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
        self.record(
            "assistant",
            &json!({ "role": "assistant", "model": "claude-test-1", "content": [block], "usage": usage }),
        );
    }

    /// The agent calls a tool.
    pub fn calls(&self, call_id: &str, tool: &str, input: &Value) {
        self.assistant(&json!({ "type": "tool_use", "id": call_id, "name": tool, "input": input }));
    }

    /// The person says something and puts a picture, or what is called one, beside it; it is in Base64.
    pub fn shows(&self, text: &str, media_type: &str, base64: &str) {
        let content = json!([{ "type": "text", "text": text }, picture(media_type, base64)]);
        self.record("user", &json!({ "role": "user", "content": content }));
        self.hook("UserPromptSubmit");
    }

    /// A tool answers with a picture.
    pub fn answers_with(&self, call_id: &str, media_type: &str, base64: &str) {
        self.answers_anything(call_id, &json!([picture(media_type, base64)]));
    }

    /// A tool answers.
    pub fn answers(&self, call_id: &str, text: &str) {
        self.answers_anything(call_id, &json!(text));
    }

    fn answers_anything(&self, call_id: &str, content: &Value) {
        let result = json!({ "type": "tool_result", "tool_use_id": call_id, "content": content });
        self.record("user", &json!({ "role": "user", "content": [result] }));
    }

    /// The agent writes a file with its own tool.
    pub fn edits(&self, path: &str, text: &str) {
        let file = self.dir.join(path);
        let call_id = format!("edit-{}", path.replace('/', "-"));
        self.calls(&call_id, "Write", &json!({ "file_path": file, "content": text }));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        self.answers(&call_id, "done");
    }

    /// The agent commits everything: the tool call, Git's hook, the result, the agent's hook. Returns the commit.
    pub fn commits(&self, message: &str) -> String {
        let call_id = format!("commit-{message}");
        self.calls(&call_id, "Bash", &json!({ "command": format!("git commit -am '{message}'") }));
        let commit = self.runs_commit(&["-m", message]);
        self.answers(&call_id, &format!("[main {}] {message}", &commit[..7]));
        self.hook_for("PostToolUse", &call_id);
        commit
    }

    /// The agent runs `git commit` with these arguments, in its own environment.
    pub fn runs_commit(&self, args: &[&str]) -> String {
        self.tries_to_commit(args).ok();
        self.scratch.git_in(&self.dir, ["rev-parse", "HEAD"]).ok().trim().to_owned()
    }

    /// Does the same, and returns how it went.
    pub fn tries_to_commit(&self, args: &[&str]) -> Ran {
        let git = || {
            let mut command = self.scratch.command("git", &self.dir);
            command.env("CLAUDE_CODE_SESSION_ID", &self.id);
            command
        };
        Ran::of(git().args(["add", "-A"]).output().unwrap()).ok();
        Ran::of(git().args(["commit", "-q"]).args(args).output().unwrap())
    }

    /// The agent runs a hook, and its process stays until what is returned is dropped.
    pub fn stays(&self) -> Staying {
        let payload = json!({ "session_id": self.id, "transcript_path": self.transcript, "cwd": self.dir });
        let file = self.scratch.root().join("payload");
        fs::write(&file, payload.to_string()).unwrap();
        let script = "git-shiftlog--hook claude UserPromptSubmit <\"$1\"; echo; read -r word";
        let mut command = self.scratch.command(self.scratch.root().join("bin/claude"), &self.dir);
        command.args(["-c", script, "claude"]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = command.spawn().unwrap();
        // The line comes after the hook.
        let mut line = [0];
        agent.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        Staying(agent)
    }

    /// Runs the hook that is set up for an event.
    pub fn hook(&self, event: &str) {
        self.hook_for(event, "");
    }

    /// Runs the hook for an event of a tool call, as Claude Code does: through a shell, with a payload on stdin.
    pub fn hook_for(&self, event: &str, call_id: &str) {
        let ran = self.try_hook(event, call_id);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "a hook exits 0 and prints nothing: {ran:?}");
    }

    pub fn try_hook(&self, event: &str, call_id: &str) -> Ran {
        self.try_hook_after(event, call_id, "git commit -q")
    }

    /// Runs the hook for an event of a tool call that ran this command.
    pub fn try_hook_after(&self, event: &str, call_id: &str, command: &str) -> Ran {
        // An agent that knows only text tells such a path wrongly.
        let directory = self.dir.to_string_lossy();
        let payload = json!({ "session_id": self.id, "transcript_path": self.transcript, "cwd": directory,
            "hook_event_name": event, "tool_name": "Bash", "tool_use_id": call_id,
            "tool_input": { "command": command }, "reason": "other" });
        let settings = fs::read(self.dir.join(".claude/settings.local.json"))
            .or_else(|_| fs::read(self.scratch.top.join(".claude/settings.local.json")));
        let Ok(settings) = settings else { return Ran::of(Command::new("true").output().unwrap()) };
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        let pointer = format!("/hooks/{event}/0/hooks/0/command");
        let hook = settings.pointer(&pointer).and_then(Value::as_str).unwrap_or(":").to_owned();
        // The extra command keeps the shell, whose name is the agent's, as the parent of the hook.
        let script = format!("{hook}; exit $?");
        feed(
            self.scratch.command(self.scratch.root().join("bin/claude"), &self.dir).args(["-c", &script]),
            payload.to_string().as_bytes(),
        )
    }
}

/// Returns a picture as Claude Code writes it.
fn picture(media_type: &str, base64: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": base64 } })
}
