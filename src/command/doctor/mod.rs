//! `git shiftlog doctor`: what is set up and what is not, and a proof that recording works.

mod values;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Parser;

use crate::agent;
use crate::capture::State;
use crate::cli::{self, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, is_ref_name, temporary};
use crate::outside;
use crate::record::redaction;
use crate::setup::{self, Declared, Finding, Verdict, advice};
use crate::share::purge;
use crate::upkeep;

/// Check the set-up and test recording
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-doctor", override_usage = "git shiftlog doctor [<options>]")]
pub struct Options {
    /// Look at this agent alone; may be given several times (default: all that are set up)
    #[arg(long, value_name = "name", action = clap::ArgAction::Append)]
    agent: Vec<String>,
    /// Skip the test in a temporary repository
    #[arg(long)]
    no_rehearsal: bool,
    /// Print only what is wrong
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository_as_it_is()?;
        let findings = match options.agent.as_slice() {
            [] => whole(&repo, options.no_rehearsal)?,
            names => setup::check_agents(&repo, names)?,
        };
        let mut outcome = Outcome::Done;
        let mut text = String::new();
        for Finding { subject, verdict } in &findings {
            match verdict {
                Verdict::Ok | Verdict::Note if options.quiet => {}
                Verdict::Ok => text.push_str(&format!("ok       {subject}\n")),
                Verdict::Note => text.push_str(&format!("note     {subject}\n")),
                Verdict::Problem { what, fix } => {
                    outcome = Outcome::No;
                    text.push_str(&format!("problem  {subject}: {what}\n         fix: {fix}\n"));
                }
            }
        }

        cli::print(&text)?;
        Ok(outcome)
    })
}

/// Looks at everything.
fn whole(repo: &Repository, no_rehearsal: bool) -> Result<Vec<Finding>> {
    let mut findings = setup::check(repo)?;
    let state = State::new(&repo.common_dir());
    let redaction = "redaction of secrets";
    findings.push(match redaction::redactor(repo) {
        Ok(redactor) if redactor.is_off() => {
            Finding::problem(redaction, "it is switched off", &advice::unset(repo, "shiftlog.redact"))
        }
        Ok(_) => Finding::ok(redaction),
        Err(error) => {
            let key = "shiftlog.redact";
            let is_switch = repo.config_string(key).is_some() && repo.config_bool(key).is_none();
            let fix = if is_switch { advice::set(repo, key, "true") } else { "git config --edit".to_owned() };
            Finding::problem(redaction, &error.to_string(), &fix)
        }
    });
    findings.extend(values::bad(repo));
    let unusable = unusable_state(&state);
    if unusable.is_none() && purge::is_unfinished(repo) {
        let what = "it was interrupted, and nothing is pushed until it is finished";
        findings.push(Finding::problem("a purge", what, "git shiftlog fsck"));
    }
    if let Some(error) = unusable {
        let root = outside::shell(&state.root().to_string_lossy());
        let fix = match misplaced(&state) {
            Some((path, what)) => {
                format!("mv {} ~    # a {what} belongs there", outside::shell(&path.to_string_lossy()))
            }
            // Its owner's next command opens it to the group.
            None if repo.is_shared_with_group() => format!("chmod -R g+rwX {root}    # as its owner"),
            None => format!("chown -R \"$(id -u)\" {root}"),
        };
        findings.push(Finding::problem("what is being recorded", &error.to_string(), &fix));
    }
    let damaged = upkeep::damaged_refs(repo, &cli::full_notes_ref(repo, None)).into_iter();
    // The key of the config that names no ref is told above.
    let damaged = damaged.filter(|(name, _)| is_ref_name(name));
    findings.extend(damaged.map(|(name, why)| Finding::problem(&name, &why, "git shiftlog fsck --repair")));
    let tried = |subject: String, outcome: Result<()>, fix: &str| match outcome {
        Ok(()) => Finding::ok(subject),
        Err(error) => Finding::problem(subject, &error.to_string(), fix),
    };
    for server in setup::declared_servers(repo) {
        let subject = format!("MCP server for {}", server.title);
        findings.push(tried(subject, ask(repo, &server), "git shiftlog init --mcp"));
    }
    // Without the hook program it could only fail, and that is told already.
    if !no_rehearsal && setup::has_program() {
        let subject = "recording, tried in a throw-away repository".into();
        findings.push(tried(subject, rehearse(), "git shiftlog doctor --help"));
    }
    Ok(findings)
}

/// Returns why hooks can keep nothing in our own directory, if that is so: as after one commit by another user.
fn unusable_state(state: &State) -> Option<Error> {
    let live = state.root().join("live");
    let unreadable = std::fs::read_dir(&live).err().filter(|error| error.kind() != std::io::ErrorKind::NotFound);
    let unreadable = unreadable.map(|error| Error::io("read", &live, error));
    if state.root().symlink_metadata().is_err() {
        // Nothing was set up or recorded yet: looking leaves nothing behind.
        return None;
    }
    unreadable.or_else(|| state.lock(Instant::now()).err().filter(|error| error.kind() != Kind::Busy))
}

/// Returns what stands in our own directory where something else belongs, and what that is.
fn misplaced(state: &State) -> Option<(PathBuf, &'static str)> {
    let root = state.root().to_owned();
    let is_wrong = |(path, what): &(PathBuf, &str)| match *what {
        "file" => path.symlink_metadata().is_ok_and(|there| !there.is_file()),
        _ => path.metadata().is_ok_and(|there| !there.is_dir()),
    };
    let (live, lock) = (root.join("live"), root.join("lock"));
    [(root, "directory"), (live, "directory"), (lock, "file")].into_iter().find(is_wrong)
}

/// Starts a server as its client would, and asks for its tools.
fn ask(repo: &Repository, server: &Declared) -> Result<()> {
    use std::io::Write as _;
    let words = server.words.as_deref().and_then(<[String]>::split_first);
    let Some((program, args)) = words else {
        return Err(Error::other("the entry starts another program than this one"));
    };
    let failed = |why: String| Error::other(format!("'{program}' does not answer")).because(why);
    let mut command = Command::new(program);
    command.args(args).current_dir(repo.worktree().unwrap_or(repo.git_dir()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let opening = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "doctor", "version": "1" } } });
    let question = serde_json::json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    if let Some(mut stdin) = child.stdin.take() {
        // A program that is no server closes its input.
        let _ = writeln!(stdin, "{opening}\n{question}");
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    let answers = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let has_tools = answers.into_iter().any(|answer: serde_json::Value| {
        answer.pointer("/result/tools").and_then(|tools| tools.as_array()).is_some_and(|tools| !tools.is_empty())
    });
    if has_tools { Ok(()) } else { Err(failed("it lists no tools".into())) }
}

/// A repository that is thrown away afterwards, with a home directory of its own.
struct Stage {
    root: tempfile::TempDir,
}

/// Runs the whole chain once: set up, an agent's session with a commit, and reading it back byte for byte.
fn rehearse() -> Result<()> {
    let root =
        temporary::directory().map_err(|error| Error::other("cannot make a temporary directory").because(error))?;
    let stage = Stage { root };
    let top = stage.root.path().join("repo");
    std::fs::create_dir_all(&top).map_err(|error| Error::io("create", &top, error))?;
    stage.run("git", ["init", "--quiet", "."], b"")?;
    let own = std::env::current_exe().map_err(|error| Error::other("cannot find this program").because(error))?;
    stage.run(&own, ["init", "--agent=claude", "--quiet"], b"")?;
    let settings_path = top.join(".claude/settings.local.json");
    let settings = std::fs::read(&settings_path).map_err(|error| Error::io("read", &settings_path, error))?;
    let settings: serde_json::Value =
        serde_json::from_slice(&settings).map_err(|error| Error::other("the settings do not parse").because(error))?;

    let session_id = "00000000-0000-4000-8000-00000000d0c7";
    let transcript = stage.root.path().join("session.jsonl");
    let prompt = serde_json::json!({ "type": "user", "uuid": "u1", "sessionId": session_id, "timestamp": "2026-01-01T00:00:00Z",
        "message": { "role": "user", "content": "rehearse the commit" } });
    let written = format!("{prompt}\n");
    std::fs::write(&transcript, &written).map_err(|error| Error::io("write", &transcript, error))?;
    let payload = |event: &str| {
        serde_json::json!({ "session_id": session_id, "transcript_path": transcript, "cwd": top, "hook_event_name": event,
            "tool_name": "Bash", "tool_use_id": "t1" })
        .to_string()
    };
    let claude = agent::find("claude").ok_or_else(|| Error::other("claude is unknown"))?;
    let event = |name: &str| -> Result<()> {
        let command = settings.pointer(&format!("/hooks/{name}/0/hooks/0/command")).and_then(|value| value.as_str());
        let command = command.ok_or_else(|| Error::other(format!("{} has no hook for {name}", claude.title())))?;
        stage.run("sh", ["-c", command], payload(name).as_bytes()).map(drop)
    };
    event("SessionStart")?;
    event("UserPromptSubmit")?;
    stage.run("git", ["commit", "--quiet", "--allow-empty", "-m", "rehearsal"], b"")?;
    event("PostToolUse")?;
    event("Stop")?;
    let shown = stage.run(&own, ["show", "--raw", "--full", "HEAD"], b"")?;
    if shown == written.as_bytes() { Ok(()) } else { Err(Error::other("what was read back is not what was recorded")) }
}

impl Stage {
    fn run<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>> {
        use std::io::Write as _;
        let name = PathBuf::from(program.as_ref());
        let name = name.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = |why: String| Error::other(format!("'{name}' failed")).because(why);
        let mut command = Command::new(program.as_ref());
        command.args(args).current_dir(self.root.path().join("repo"));
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("GIT_") || text.starts_with("CLAUDE") {
                command.env_remove(&variable);
            }
        }
        let home: &Path = self.root.path();
        command.env("HOME", home).env("XDG_CONFIG_HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "git-shiftlog")
                .env(format!("GIT_{role}_EMAIL"), "doctor@localhost");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input closes it; that is its right.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        Err(failed(stderr.lines().next().unwrap_or("no reason given").to_owned()))
    }
}
