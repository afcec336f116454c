//! A repository with a home of its own, and the programs that are measured.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::json;

use super::home;

/// Where the programs are installed for the measurement: copied, as `cargo install` does. A program that the linker has
/// just written lies in memory in smaller pieces, and starts a tenth later.
static INSTALLED: OnceLock<PathBuf> = OnceLock::new();

/// A repository with a home of its own.
pub struct Stage {
    root: tempfile::TempDir,
}

/// Copies the programs that were built into a directory, where [`program`] finds them.
pub fn install(to: &Path) {
    let built = Path::new(env!("CARGO_BIN_EXE_git-shiftlog")).parent().expect("a directory");
    for entry in fs::read_dir(built).expect("programs").flatten() {
        let name = entry.file_name();
        if entry.path().is_file()
            && name.to_str().is_some_and(|name| name.starts_with("git-shiftlog") && !name.contains('.'))
        {
            fs::copy(entry.path(), to.join(name)).expect("room");
        }
    }
    INSTALLED.get_or_init(|| to.to_owned());
}

/// Returns the path of one of our programs.
pub fn program(name: &str) -> PathBuf {
    INSTALLED.get().expect("they are installed").join(name)
}

/// Adds to a file.
pub fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("room");
}

impl Stage {
    /// Makes a repository with one commit, in a home in which agents have left two thousand old sessions.
    pub fn new() -> Self {
        let stage = Self::in_empty_home();
        home::furnish(&stage);
        stage
    }

    /// Makes a repository with one commit, in a home without agents.
    pub fn in_empty_home() -> Self {
        // In memory where there is such a place: what is measured is the programs, not the disk.
        let shm = Path::new("/dev/shm");
        let root = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() };
        let stage = Stage { root: root.expect("a temporary directory") };
        fs::create_dir_all(stage.top()).expect("a directory");
        stage.run(stage.git(&["init", "-q", "-b", "main", "."]));
        // Hooks of agents record only where somebody has set that up.
        fs::create_dir_all(stage.top().join(".git/shiftlog")).expect("a directory");
        fs::write(stage.top().join(".git/shiftlog/installed"), "{\"shiftlog\":1}\n").expect("room");
        stage.commit("start");
        stage
    }

    /// Puts our hooks into the repository, as `git shiftlog init` does.
    pub fn set_up(&self) {
        fs::remove_file(self.top().join(".git/shiftlog/installed")).expect("it is there");
        fs::create_dir_all(self.home().join(".claude")).expect("a directory");
        self.run(self.command(&program("git-shiftlog"), &["init", "-q", "--agent=claude"]));
    }

    /// Makes a directory with hooks that do nothing, for `core.hooksPath`.
    pub fn empty_hooks(&self) -> String {
        let directory = self.home().join("empty-hooks");
        fs::create_dir_all(&directory).expect("a directory");
        for name in ["post-commit", "post-rewrite"] {
            let path = directory.join(name);
            fs::write(&path, "#!/bin/sh\nexit 0\n").expect("room");
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
        }
        directory.to_str().expect("UTF-8").to_owned()
    }

    /// Returns the home directory.
    pub fn home(&self) -> &Path {
        self.root.path()
    }

    /// Returns the top of the working tree.
    pub fn top(&self) -> PathBuf {
        self.home().join("repo")
    }

    /// Prepares a program with an environment that names no agent.
    pub fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.top()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
        for (name, value) in [("NAME", "Bench"), ("EMAIL", "bench@example.com")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        command
    }

    /// Prepares a `git` command.
    pub fn git(&self, args: &[&str]) -> Command {
        self.command(Path::new("git"), args)
    }

    /// Runs a command that must succeed.
    pub fn run(&self, mut command: Command) {
        assert!(command.status().expect("it runs").success(), "{command:?}");
    }

    /// Runs a command and returns what it prints.
    pub fn output(&self, mut command: Command) -> String {
        let output = command.stdout(Stdio::piped()).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns how many commits have a note of ours.
    pub fn recorded(&self) -> usize {
        self.output(self.git(&["notes", "--ref=shiftlog", "list"])).lines().count()
    }

    /// Commits nothing, without a hook.
    pub fn commit(&self, message: &str) {
        self.run(self.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", message]));
    }

    /// Runs a command that must succeed, with input.
    pub fn feed(&self, mut command: Command, input: &[u8]) {
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
        assert!(child.wait().expect("it ends").success());
    }

    /// Tells us about a session, as a hook of its agent does.
    pub fn event(&self, event: &str, transcript: &Path, session: usize) {
        self.event_of("claude", event, Some(transcript), &format!("s{session}"));
    }

    /// Tells us about a session of an agent.
    pub fn event_of(&self, agent: &str, event: &str, transcript: Option<&Path>, session: &str) {
        self.run(self.event_command(agent, event, transcript, session));
    }

    /// Prepares the hook of an agent, with its payload.
    pub fn event_command(&self, agent: &str, event: &str, transcript: Option<&Path>, session: &str) -> Command {
        let (ids, top) = (["session_id", "conversation_id", "taskId"], self.top());
        let mut payload = json!({ "transcript_path": transcript, "cwd": top, "workspace_roots": [top] });
        ids.iter().for_each(|name| payload[name] = session.into());
        if event == "PostToolUse" {
            payload["tool_name"] = "Bash".into();
            payload["tool_use_id"] = "call".into();
            payload["tool_input"] = json!({ "command": "git commit -q" });
        }
        let file = self.home().join("payload");
        fs::write(&file, payload.to_string()).expect("room");
        let mut command = self.command(&program("git-shiftlog--hook"), &[agent, event]);
        command.stdin(fs::File::open(file).expect("it is there"));
        command
    }

    /// Prepares the yardstick of the hook.
    pub fn append_note(&self) -> Command {
        self.git(&["notes", "--ref=theirs", "append", "-m", "a note of one line", "HEAD"])
    }

    /// Prepares the hook that Git runs after a commit by this session.
    pub fn hook(&self, session: usize) -> Command {
        let mut command = self.command(&program("git-shiftlog--hook"), &["git", "post-commit"]);
        command.env("CLAUDE_CODE_SESSION_ID", format!("s{session}"));
        command
    }
}
