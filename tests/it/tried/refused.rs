//! What is no session, what nobody accepts, and what a dry run leaves alone.

use std::collections::BTreeMap;

use super::*;
use crate::agents::files_below;

/// Returns every file below a directory with its bytes, and every directory.
fn everything_below(top: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let (mut found, mut directories) = (BTreeMap::new(), vec![top.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            let is_directory = entry.file_type().unwrap().is_dir();
            directories.extend(is_directory.then(|| path.clone()));
            found.insert(path.clone(), (!is_directory).then(|| fs::read(&path).unwrap_or_default()));
        }
    }
    found
}

#[test]
fn a_dry_run_of_install_docs_writes_nothing_in_any_program() {
    let mut scratch = Scratch::new();
    for variable in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS"] {
        scratch.env.remove(variable);
    }
    // One that writes into its home, as fish does.
    let fish = scratch.root().join("bin/fish");
    fs::write(&fish, "#!/bin/sh\nmkdir -p \"$HOME/.config/fish\" \"${XDG_DATA_HOME:-$HOME/.local/share}/fish\"\n")
        .unwrap();
    fs::set_permissions(&fish, fs::Permissions::from_mode(0o755)).unwrap();
    let before = everything_below(&scratch.root());
    for stand_in in [true, false] {
        if !stand_in {
            fs::remove_file(&fish).unwrap();
        }
        let prefix = format!("--prefix={}", scratch.root().join("prefix").display());
        for args in [&["-n"][..], &["-n", &prefix], &["-n", "-v", &prefix], &["-n", "--uninstall"]] {
            scratch.shiftlog("install-docs", args).ok();
        }
        let mut after = everything_below(&scratch.root());
        after.entry(fish.clone()).or_insert_with(|| before[&fish].clone());
        assert_eq!(after, before, "stand-in: {stand_in}");
    }
}

#[test]
fn fish_needs_no_line_that_is_there() {
    let scratch = Scratch::new();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v fish"]).code != 0 {
        crate::support::skip("there is no fish");
        return;
    }
    let prefix = format!("--prefix={}", scratch.root().join("prefix").display());
    let line = || {
        let told = scratch.shiftlog("install-docs", [&prefix]).ok();
        told.lines().find_map(|line| line.split_once("config.fish: ")).map(|(_, line)| line.to_owned())
    };
    let needed = line().expect("fish does not look below another prefix by itself");
    fs::create_dir_all(scratch.home().join(".config/fish")).unwrap();
    fs::write(scratch.home().join(".config/fish/config.fish"), needed).unwrap();
    assert_eq!(line(), None);
}

/// What stands in the stores of agents beside their sessions.
const NO_SESSIONS: &[(&str, &str, &str)] = &[
    (
        "claude",
        "history.jsonl",
        r#"{"display":"make it","pastedContents":{},"timestamp":1760000000000,"project":"/p","sessionId":"3f6b1c9e"}"#,
    ),
    ("claude", "audit.jsonl", r#"{"timestamp":"2026-11-30T08:00:01.000Z","type":"user","message":"login bob"}"#),
    ("claude", "settings.json", r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}"#),
    (
        "claude",
        "sessions-index.json",
        r#"{"version":1,"entries":[{"sessionId":"3f6b1c9e","firstPrompt":"make it","messageCount":2}]}"#,
    ),
    ("codex", "session_index.jsonl", r#"{"id":"019a","thread_name":"make it","updated_at":"2026-01-02T03:04:05Z"}"#),
    ("codex", "history.jsonl", r#"{"session_id":"019a","ts":1760000000,"text":"make it"}"#),
    ("codex", "config.toml", "model = \"gpt-5\"\n[projects.\"/p\"]\ntrust_level = \"trusted\""),
    ("codex", "auth.json", r#"{"tokens":{"id_token":"x","account_id":"y"},"last_refresh":"2026-01-02T03:04:05Z"}"#),
    ("gemini", "settings.json", r#"{"hooks":{"AfterTool":[]},"model":{"name":"gemini-3"}}"#),
    ("gemini", "projects.json", r#"{"projects":{"/p":"p"}}"#),
    ("copilot", "config.json", r#"{"trusted_folders":["/p"],"model":"gpt-5"}"#),
    ("copilot", "command-history-state.json", r#"{"commandHistory":["make it"]}"#),
    ("copilot", "workspace.yaml", "id: 3f6b1c9e\ncwd: /p\nsummary: make it"),
    ("vscode", "workspace.json", r#"{"folder":"file:///p"}"#),
    ("opencode", "prompt-history.jsonl", r#"{"input":"make it","parts":[],"mode":"normal"}"#),
    ("opencode", "ses_1.json", r#"{"id":"ses_1","title":"make it","directory":"/p","time":{"created":1760000000000}}"#),
    ("kilo", "kilo.json", r#"{"plugin":["./shiftlog.js"]}"#),
    ("cursor", "prompt_history.json", r#"["make it"]"#),
    ("cursor", "cli-config.json", r#"{"version":1,"permissions":{"allow":[]},"model":{"modelId":"x"}}"#),
    ("amp", "history.jsonl", r#"{"text":"make it","cwd":"/p"}"#),
    ("amp", "session.json", r#"{"agentMode":"smart","lastThreadId":"T-1"}"#),
    ("droid", "history.json", r#"[{"command":"make it","timestamp":1760000000000}]"#),
    ("droid", "3f6b1c9e.settings.json", r#"{"model":"x","tokenUsage":{"inputTokens":1,"outputTokens":2}}"#),
    ("windsurf", "hooks.json", r#"{"hooks":{"post_write_code":[{"command":"true"}]}}"#),
    ("antigravity", "history.jsonl", r#"{"display":"make it","timestamp":1760000000000,"workspace":"/p"}"#),
    ("pi", "settings.json", r#"{"defaultModel":"x","lastChangelogVersion":"0.60"}"#),
    ("pi", "trust.json", r#"{"/p":true}"#),
    ("cline", "taskHistory.json", r#"[{"id":"1760000000000","ts":1760000000000,"task":"make it","tokensIn":1}]"#),
    ("cline", "task_metadata.json", r#"{"files_in_context":[],"model_usage":[{"model_id":"x"}]}"#),
    (
        "continue",
        "sessions.json",
        r#"[{"sessionId":"3f6b1c9e","title":"make it","dateCreated":"1760000000000","workspaceDirectory":"/p"}]"#,
    ),
    ("qwen", "settings.json", r#"{"hooks":{"Stop":[]},"security":{"auth":{"selectedType":"openai"}}}"#),
    ("aider", ".aider.input.history", "\n# 2026-01-02 03:04:05.000000\n+make it\n"),
];

#[test]
fn a_file_of_an_agent_that_is_no_session_is_refused() {
    let scratch = Scratch::new();
    for agent in shiftlog::agent::ALL {
        assert!(NO_SESSIONS.iter().any(|(name, ..)| *name == agent.name()), "{} is tried", agent.name());
    }
    for (agent, file, text) in NO_SESSIONS {
        let path = scratch.home().join(file);
        fs::write(&path, format!("{text}\n")).unwrap();
        let ran = scratch.shiftlog("add", [format!("--agent={agent}"), format!("--transcript={}", path.display())]);
        assert_eq!((ran.code, ran.stdout.as_str()), (128, ""), "{agent} {file}: {ran:?}");
        let title = shiftlog::agent::find(agent).unwrap().title();
        let expected = format!("fatal: '{}' has no message of {title} in it\n", path.display());
        assert!(ran.stderr.starts_with(&expected), "{agent} {file}: {ran:?}");
        assert!(!ran.stderr.contains("wrote it;") || ran.stderr.contains("--agent=<name>"), "{agent} {file}: {ran:?}");
    }
    assert_eq!(scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
}

#[test]
fn of_two_agents_with_one_format_the_hint_names_the_one_that_has_it_first() {
    let scratch = Scratch::new();
    for (agent, file) in [
        ("copilot", "copilot/session-state/301561f1-558a-43e9-a144-82d3ca12ab62/events.jsonl"),
        ("opencode", "opencode/export-v1.json"),
    ] {
        let path = crate::fixtures::fixture(file);
        let ran = scratch.shiftlog("add", ["-n".to_owned(), format!("--transcript={}", path.display())]);
        assert!(ran.code == 128 && ran.stderr.contains(&format!("hint: --agent={agent} if ")), "{ran:?}");
    }
}

/// Agents that write sessions in one format: both kinds of Copilot, and Kilo, which is made of OpenCode.
const WRITE_THE_SAME: [[&str; 2]; 2] = [["copilot", "vscode"], ["opencode", "kilo"]];

#[test]
fn a_session_is_not_taken_for_that_of_an_agent_whose_format_is_like_it() {
    let scratch = Scratch::new();
    let agents: Vec<&str> = shiftlog::agent::ALL.iter().map(|agent| agent.name()).collect();
    let takes = |agent: &str, file: &Path| {
        let options = [format!("--agent={agent}"), format!("--transcript={}", file.display())];
        scratch.shiftlog("add", ["-n", "--session=s"].map(str::to_owned).into_iter().chain(options)).code == 0
    };
    let mut wrong = Vec::new();
    let mut tried = 0;
    for writer in &agents {
        for file in files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents").join(writer)) {
            if file.components().any(|part| part.as_os_str() == "hooks") || !takes(writer, &file) {
                continue;
            }
            tried += 1;
            for other in agents.iter().filter(|other| *other != writer) {
                let is_same = WRITE_THE_SAME.iter().any(|pair| pair.contains(writer) && pair.contains(other));
                if !is_same && takes(other, &file) {
                    wrong.push(format!("{other} takes {}", file.display()));
                }
            }
        }
    }
    assert!(tried > 30, "{tried}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn marks_that_are_not_accepted_are_told_as_such() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    says(&team.scratch, &a, "s", &["secret-word", "harmless"]);
    for clone in [&a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.shiftlog(&a, "purge", &["--yes", "--match=secret-word"]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.git(&b, &["config", "shiftlog.trustPurges", "signed"]).ok();
    let synced = team.shiftlog(&b, "sync", &[]);
    let promise = "'git shiftlog purge --received' lists them, and removes here what a trusted signature asks for";
    assert!(synced.stderr.contains(promise), "{synced:?}");
    let refusal = "error: others have removed something, and none of its marks is accepted\n\
                   hint: git -c shiftlog.trustPurges=all shiftlog purge --received    # accepts these marks\n";
    for args in [&["--received", "-n"][..], &["--received", "--yes"]] {
        let ran = team.shiftlog(&b, "purge", args);
        told(&ran, 1, refusal);
        assert!(ran.stdout.ends_with(": 1 segment (left alone: shiftlog.trustPurges is 'signed')\n"), "{ran:?}");
        assert_eq!(ran.stdout.lines().count(), 1, "nothing else is announced: {ran:?}");
    }
    let ran = team.shiftlog(&b, "purge", &["--received", "--yes", "--json"]);
    told(&ran, 1, refusal);
    team.git(&b, &["-c", "shiftlog.trustPurges=all", "shiftlog", "purge", "--received", "--yes"]).ok();
    told(
        &team.shiftlog(&b, "purge", &["--received", "-n"]),
        1,
        "error: others have removed nothing that is recorded here\n",
    );
}

#[test]
fn a_dry_run_of_any_command_writes_nothing() {
    let scratch = recorded();
    scratch.git(["init", "-q", "--bare", "../server.git"]).ok();
    scratch.git(["remote", "add", "origin", "../server.git"]).ok();
    scratch.git(["push", "-q", "origin", "main"]).ok();
    scratch.git(["config", "shiftlog.push", "all"]).ok();
    scratch.write(
        "t.jsonl",
        "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
    );
    scratch.write("test.log", "FAILED one\n");
    // What an earlier command has put off is not part of a dry run.
    scratch.shiftlog("log", [""; 0]).ok();
    let before = everything_below(&scratch.root());
    for (name, args) in [
        ("init", &["-n"][..]),
        ("init", &["-n", "--share=all", "--mcp", "--agent=codex", "--agent=gemini"]),
        ("init", &["-n", "--global", "--agent=gemini"]),
        ("deinit", &["-n"]),
        ("deinit", &["-n", "--purge-refs"]),
        ("add", &["-n", "--transcript=t.jsonl"]),
        ("import", &["-n", "--min-confidence=low"]),
        ("sync", &["-n"]),
        ("sync", &["push", "-n", "--all"]),
        ("remap", &["-n"]),
        ("migrate", &["-n"]),
        ("purge", &["-n", "--match=prompt"]),
        ("purge", &["-n", "--session=first-session"]),
        ("purge", &["-n", "--received"]),
        ("purge", &["-n", "--before=now", "--all"]),
        ("purge", &["-n", "HEAD~1"]),
        ("fsck", &["--repair", "-n"]),
        ("scan", &["--fix", "-n"]),
        ("resume", &["-n"]),
        ("resume", &["-n", "--as=claude", "HEAD~1"]),
        ("resume", &["-n", "--worktree"]),
        ("summarise", &["-n", "--agent=claude", "--save"]),
        ("evidence", &["attach", "-n", "--kind=test", "test.log"]),
        ("index", &["init", "-n"]),
        ("rules", &["init", "-n", "--yes"]),
        ("install-docs", &["-n"]),
    ] {
        let ran = scratch.shiftlog(name, args);
        assert!(ran.code <= 1, "{name} {args:?}: {ran:?}");
        let after = everything_below(&scratch.root());
        let changed = |(path, bytes): &(&PathBuf, &Option<Vec<u8>>)| before.get(*path) != Some(*bytes);
        let changed: Vec<&PathBuf> = after.iter().filter(changed).map(|(path, _)| path).collect();
        let gone: Vec<&PathBuf> = before.keys().filter(|path| !after.contains_key(*path)).collect();
        assert_eq!((changed, gone), (vec![], vec![]), "{name} {args:?}: {ran:?}");
    }
}

#[test]
fn a_name_that_is_none_of_a_ref_is_refused_before_anything_is_stored() {
    let mut scratch = Scratch::new();
    scratch.write(
        "t.jsonl",
        "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
    );
    let refused = "error: 'two words' is not a value for '--ref': it is not a valid ref name\n";
    for listed in shiftlog::command::ALL {
        if (listed.options)().get_arguments().any(|arg| arg.get_long() == Some("ref")) {
            told(&scratch.shiftlog(listed.name, ["--ref=two words"]), 129, refused);
        }
    }
    scratch.env.insert("GIT_NOTES_REF".into(), "two words".into());
    let refused = "fatal: bad value 'two words' for GIT_NOTES_REF: it is not a valid ref name\n";
    for args in [&["add", "--transcript=t.jsonl"][..], &["log"], &["remap"], &["fsck"]] {
        told(&scratch.shiftlog(args[0], &args[1..]), 128, refused);
    }
    assert_eq!(scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok(), "");
}

#[test]
fn deinit_takes_our_hooks_out_whatever_the_config_says_of_notes() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.notesRef", "bogus..ref"]).ok();
    told(
        &scratch.shiftlog("deinit", ["--purge-refs", "-y"]),
        128,
        "fatal: bad value 'bogus..ref' for shiftlog.notesRef: it is not a valid ref name\n\
         hint: git config --show-origin --get shiftlog.notesRef\n",
    );
    assert!(scratch.top.join(".git/hooks/post-commit").exists());
    scratch.shiftlog("deinit", ["-y"]).ok();
    assert!(!scratch.top.join(".git/hooks/post-commit").exists());
}

#[test]
fn no_hint_names_what_is_behind_the_end_of_a_shallow_clone() {
    let scratch = Scratch::new();
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    scratch.commit("a.txt", "a\n", "one");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["merge", "-q", "--no-ff", "-m", "merge", "topic"]).ok();
    let hint = |clone: &std::path::Path| {
        let ran = scratch.shiftlog_in(clone, "show", [""; 0]);
        ran.stderr.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap_or_default().to_owned()
    };
    assert!(hint(&scratch.top).contains("HEAD^..HEAD"), "{}", hint(&scratch.top));
    let clone = scratch.root().join("shallow");
    let url = format!("file://{}", scratch.top.display());
    scratch.git(["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]).ok();
    assert_eq!(hint(&clone), "'git shiftlog log' lists the commits that have a conversation");
}
