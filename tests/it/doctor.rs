//! What `doctor` says of agents: only what it has looked at is ok.

mod hooks;
mod values;

use std::fs;

use serde_json::{Value, json};

use crate::sharing::Team;
use crate::support::Scratch;

/// Returns the lines of `doctor` about one agent, and whether it found a problem.
fn told(scratch: &Scratch, name: &str) -> (i32, Vec<String>) {
    let ran = scratch.shiftlog("doctor", [format!("--agent={name}")]);
    assert_eq!(ran.stderr, "");
    (ran.code, ran.stdout.lines().map(str::to_owned).collect())
}

#[track_caller]
fn assert_has(lines: &[String], line: &str) {
    assert!(lines.iter().any(|each| each == line), "'{line}' is not in {lines:#?}");
}

/// A session of Claude Code with an edit, in its own store.
fn write_session(scratch: &Scratch, id: &str, file: &str) -> std::path::PathBuf {
    let name: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = scratch.home().join(".claude/projects").join(name);
    fs::create_dir_all(&folder).unwrap();
    let record = |kind: &str, message: Value| {
        json!({ "type": kind, "uuid": format!("{id}-{kind}"), "sessionId": id, "cwd": scratch.top,
            "timestamp": "2026-01-02T03:04:06Z", "message": message })
    };
    let edit = json!({ "type": "tool_use", "id": "e1", "name": "Write",
        "input": { "file_path": scratch.top.join(file), "content": "one" } });
    let lines = [
        record("user", json!({ "role": "user", "content": "write it" })),
        record("assistant", json!({ "role": "assistant", "model": "claude-test-1", "content": [edit] })),
    ];
    let path = folder.join(format!("{id}.jsonl"));
    fs::write(&path, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    path
}

#[test]
fn what_doctor_advises_mends_what_it_found() {
    let scratch = Scratch::set_up();
    let settings = scratch.top.join(".claude/settings.local.json");
    let state = scratch.top.join(".git/shiftlog");
    let problems = || {
        let ran = scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]);
        assert_eq!(ran.code, i32::from(!ran.stdout.is_empty()), "{ran:?}");
        ran.stdout
    };
    assert_eq!(problems(), "");
    // A file that does not parse is not edited, so the advice to run 'init' would fail.
    let good = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, "{ oops").unwrap();
    let told = problems();
    assert!(told.starts_with("problem  Claude Code: cannot edit '"), "{told}");
    assert!(
        told.contains("does not parse at line 1")
            && told.contains("fix: correct the file or move it away, then git shiftlog init")
    );
    fs::write(&settings, good).unwrap();
    // A capture that cannot be read is not stored by the next command.
    fs::create_dir_all(state.join("pending")).unwrap();
    fs::write(state.join("pending/odd"), "odd\n").unwrap();
    let told = problems();
    assert_eq!(told.lines().count(), 2, "{told}");
    assert!(told.lines().next().unwrap().contains("pending/odd' is not a pending capture"), "{told}");
    follow(&scratch, &told);
    assert_eq!(problems(), "");
    assert_eq!(fs::read_to_string(scratch.home().join("odd")).unwrap(), "odd\n", "nothing is thrown away");
    for (key, value) in [
        ("shiftlog.push", "everything"),
        ("shiftlog.hookTimeout", "soon"),
        ("shiftlog.allowMirror", "perhaps"),
        ("shiftlog.gitHooks", "some"),
        ("shiftlog.fetch", "often"),
    ] {
        scratch.git(["config", key, value]).ok();
        let told = problems();
        assert!(told.starts_with(&format!("problem  {key}: '{value}' is not a value for it\n")), "{told}");
        follow(&scratch, &told);
        assert_eq!(problems(), "", "{key}");
    }
    fs::remove_dir_all(&state).unwrap();
    fs::write(&state, "").unwrap();
    follow(&scratch, &problems());
    assert_eq!(problems(), "");
}

#[test]
fn what_git_refuses_is_named_and_the_rest_is_checked() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.push", "everything"]).ok();
    for (key, value) in [("core.abbrev", "zz"), ("core.quotePath", "zz"), ("core.bare", "zz")] {
        let setting = format!("{key}={value}");
        let ran = scratch.run_in(&scratch.top, "git", ["-c", &setting, "shiftlog", "doctor"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
        let line = ran.stdout.lines().find(|line| line.starts_with("problem  Git, which does not run here: bad "));
        assert!(line.is_some_and(|line| line.to_lowercase().contains(&key.to_lowercase())), "{ran:?}");
        assert!(ran.stdout.to_lowercase().contains(&format!("--get-all {}", key.to_lowercase())), "{ran:?}");
        for other in [
            "problem  shiftlog.push: 'everything' is not a value for it\n",
            "ok       Claude Code: hooks in .claude/settings.local.json\n",
            "ok       redaction of secrets\n",
            "ok       recording, tried in a throw-away repository\n",
        ] {
            assert!(ran.stdout.contains(other), "{key}: '{other}' is missing: {ran:?}");
        }
        for unknown in ["Git hook post", "notes follow rewritten commits", "stops 'git push --mirror'"] {
            assert!(!ran.stdout.contains(unknown), "{key}: '{unknown}' was not looked at: {ran:?}");
        }
    }
}

/// Runs what the first advice of `doctor` says.
fn follow(scratch: &Scratch, told: &str) {
    let fix = told.lines().find_map(|line| line.trim().strip_prefix("fix: ")).unwrap();
    scratch.run_in(&scratch.top, "sh", ["-c", fix]).ok();
}

#[test]
fn a_session_that_began_in_a_subdirectory_is_one_that_hooks_told_of() {
    let scratch = Scratch::set_up();
    let below = scratch.top.join("below");
    fs::create_dir(&below).unwrap();
    // Claude Code keeps it with the sessions of that directory.
    let path = scratch.home().join(".claude/projects/below/s1.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let payload = json!({ "session_id": "s1", "transcript_path": path, "cwd": below }).to_string();
    scratch.run_with_input("git-shiftlog--hook", ["claude", "UserPromptSubmit"], payload.as_bytes()).ok();
    assert_has(&told(&scratch, "claude").1, "ok       Claude Code: hooks have told of the last session, s1");
}

#[test]
fn a_session_that_no_hook_told_of_is_a_problem_and_one_that_hooks_told_of_is_none() {
    let scratch = Scratch::set_up();
    let seen = "no session here in the last three days, so no hook was seen to run";
    assert_eq!(
        told(&scratch, "claude"),
        (
            0,
            vec![
                "ok       Claude Code: hooks in .claude/settings.local.json".to_owned(),
                format!("note     Claude Code: {seen}"),
            ]
        )
    );
    let path = write_session(&scratch, "s1", "a.txt");
    scratch.commit("a.txt", "one", "add a");
    let (code, lines) = told(&scratch, "claude");
    assert_eq!(code, 1, "it was recorded from the store alone");
    assert_has(&lines, "problem  Claude Code: no hook has told of the last session, s1");
    let short = &scratch.id("HEAD")[..7];
    assert_has(&lines, &format!("note     Claude Code: the last record, on {short}, lacks tokens"));

    let payload = json!({ "session_id": "s1", "transcript_path": path, "cwd": scratch.top });
    scratch.run_with_input("git-shiftlog--hook", ["claude", "Stop"], payload.to_string().as_bytes()).ok();
    let (code, lines) = told(&scratch, "claude");
    assert_eq!(code, 0);
    assert_has(&lines, "ok       Claude Code: hooks have told of the last session, s1");
}

#[test]
fn a_session_that_ran_no_commit_is_not_said_to_have_its_result() {
    let scratch = Scratch::set_up();
    let session = scratch.top.join("../t.jsonl");
    let usage = json!({ "input_tokens": 1, "output_tokens": 2 });
    let says = json!({ "id": "m1", "role": "assistant", "model": "claude-test-1", "usage": usage,
        "content": [{ "type": "text", "text": "done" }] });
    let lines = [
        json!({ "type": "user", "sessionId": "s1", "message": { "role": "user", "content": "do it" } }),
        json!({ "type": "assistant", "sessionId": "s1", "message": says }),
    ];
    fs::write(&session, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    scratch.shiftlog("add", ["--transcript", session.to_str().unwrap()]).ok();
    let short = &scratch.id("HEAD")[..7];
    let (_, lines) = told(&scratch, "claude");
    assert_has(&lines, &format!("ok       Claude Code: the last record, on {short}, has prompt, model, tokens"));
}

#[test]
fn a_session_from_before_the_set_up_proves_nothing() {
    let scratch = Scratch::new();
    let path = write_session(&scratch, "s1", "a.txt");
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::options().append(true).open(path).unwrap().set_modified(before).unwrap();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let (code, lines) = told(&scratch, "claude");
    assert_eq!(code, 0);
    assert_has(&lines, "note     Claude Code: the last session, s1, is older than the hooks, so none was seen to run");
}

#[test]
fn what_keeps_claude_code_from_running_hooks_is_a_problem() {
    let scratch = Scratch::set_up();
    let settings = scratch.top.join(".claude/settings.local.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("// mine\n{text}")).unwrap();
    let (code, lines) = told(&scratch, "claude");
    assert_eq!(code, 1);
    assert_has(&lines, "problem  Claude Code: Claude Code reads no settings that have comments or are no JSON");
    fs::write(&settings, text).unwrap();
    fs::write(scratch.home().join(".claude/settings.json"), "{\"disableAllHooks\":true}").unwrap();
    let (code, lines) = told(&scratch, "claude");
    let place = scratch.home().join(".claude/settings.json");
    assert_eq!(code, 1);
    let why = format!("Claude Code: 'disableAllHooks' in '{}' switches all hooks off", place.display());
    assert_has(&lines, &format!("problem  {why}"));
    let set_up = scratch.shiftlog("init", ["--agent=claude"]);
    assert!(set_up.stderr.contains(&format!("warning: {why}; take it out of the file\n")), "{set_up:?}");
}

#[test]
fn a_linked_worktree_has_the_hooks_of_the_main_one_in_claude_code_and_kilo_alone() {
    let scratch = Scratch::set_up();
    scratch.shiftlog("init", ["--agent=droid", "--agent=kilo", "-q"]).ok();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    let told = |name: &str| scratch.shiftlog_in(&other, "doctor", [format!("--agent={name}")]).stdout;
    let expected =
        format!("ok       Claude Code: hooks in .claude/settings.local.json of '{}'\n", scratch.top.display());
    assert!(told("claude").starts_with(&expected), "{}", told("claude"));
    let expected = format!("ok       Kilo: hooks in .kilo/plugins/shiftlog.js of '{}'\n", scratch.top.display());
    assert!(told("kilo").starts_with(&expected), "{}", told("kilo"));
    assert!(told("droid").starts_with("note     Factory Droid: it is not on this machine"), "{}", told("droid"));
    // Those that a team shares are run where they are checked out.
    scratch.shiftlog("deinit", ["-q"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "--shared", "-q"]).ok();
    assert!(scratch.top.join(".claude/settings.json").exists());
    assert!(!told("claude").contains("ok       Claude Code: hooks in"), "{}", told("claude"));
}

#[test]
fn hooks_that_codex_has_not_approved_are_a_problem() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "-q"]).ok();
    let (code, lines) = told(&scratch, "codex");
    assert_eq!(code, 1);
    assert_has(&lines, "problem  Codex: nobody has approved its hooks");
    let config = scratch.home().join(".codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    let file = scratch.top.join(".codex/hooks.json");
    let events = ["session_start", "user_prompt_submit", "post_tool_use", "stop", "pre_compact", "session_end"];
    let approve = |events: &[&str]| {
        let state = |event: &&str| format!("[hooks.state.\"{}:{event}:0:0\"]\ntrusted_hash = \"1\"\n", file.display());
        fs::write(&config, events.iter().map(state).collect::<String>()).unwrap();
    };
    approve(&events[..2]);
    assert_has(&told(&scratch, "codex").1, "problem  Codex: only 2 of its 6 hooks are approved");
    approve(&events);
    let expected = format!("ok       Codex: hooks are allowed, by approvals in '{}'", config.display());
    let (code, lines) = told(&scratch, "codex");
    assert_eq!(code, 0, "{lines:?}");
    assert_has(&lines, &expected);
}

#[test]
fn a_folder_that_an_agent_does_not_trust_is_a_problem_and_one_below_a_trusted_one_is_none() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=copilot", "--agent=gemini", "--agent=pi", "-q"]).ok();
    let write = |path: &str, value: Value| {
        let path = scratch.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    let root = scratch.root();
    let codes = || ["copilot", "gemini", "pi"].map(|name| told(&scratch, name).0);
    assert_eq!(codes(), [0, 0, 0], "nothing is known, which is no problem: {:?}", told(&scratch, "copilot"));
    write(".copilot/config.json", json!({ "trusted_folders": ["/elsewhere"] }));
    write(".gemini/trustedFolders.json", json!({ root.to_str().unwrap(): "DO_NOT_TRUST" }));
    write(".pi/agent/trust.json", json!({ root.to_str().unwrap(): false }));
    assert_eq!(codes(), [1, 1, 1]);
    let config = format!("// This file is managed automatically.\n{}", json!({ "trustedFolders": [root] }));
    fs::write(scratch.home().join(".copilot/config.json"), config).unwrap();
    write(".gemini/trustedFolders.json", json!({ "/": "DO_NOT_TRUST", root.to_str().unwrap(): "TRUST_FOLDER" }));
    write(".pi/agent/trust.json", json!({ root.to_str().unwrap(): true }));
    assert_eq!(codes(), [0, 0, 0]);
    let expected = format!(
        "ok       Gemini CLI: hooks are allowed, by '{}/.gemini/trustedFolders.json'",
        scratch.home().display()
    );
    assert_has(&told(&scratch, "gemini").1, &expected);
}

#[test]
fn a_refspec_that_stands_twice_is_told_once_and_goes_by_the_advice() {
    let scratch = Scratch::set_up();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    let forced = "+refs/notes/*:refs/notes/*";
    for _ in 0..2 {
        scratch.git(["config", "--add", "remote.origin.fetch", forced]).ok();
    }
    let problems = || scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
    assert_eq!(problems().matches(forced).count(), 2, "the finding and its advice: {}", problems());
    follow(&scratch, &problems());
    assert_eq!(problems(), "");
}

#[test]
fn a_refspec_by_which_a_fetch_replaces_our_refs_is_told_by_init_and_doctor_names_what_mends_it() {
    let scratch = Scratch::new();
    let server = scratch.root().join("server.git");
    scratch.git(["clone", "-q", "--bare", ".", server.to_str().unwrap()]).ok();
    scratch.git(["remote", "add", "origin", server.to_str().unwrap()]).ok();
    scratch.git(["config", "remote.origin.fetch", "+refs/*:refs/*"]).ok();
    scratch.git(["config", "shiftlog.notesRef", "refs/notes/other"]).ok();
    let told = scratch.shiftlog("init", ["--agent=claude"]);
    let warning =
        "remote.origin.fetch +refs/*:refs/*: a fetch replaces our notes or transcripts; see 'git shiftlog doctor'";
    assert!(told.code == 0 && told.stderr.contains(warning), "{told:?}");
    let problems = || scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
    follow(&scratch, &problems());
    assert_eq!(problems(), "");
    let session = scratch.session("s1");
    session.prompt("one");
    session.edits("x", "1\n");
    session.commits("one");
    // Git itself refuses to fetch into the branch that is checked out.
    scratch.git(["checkout", "-q", "--detach"]).ok();
    scratch.git(["fetch", "-q", "-p"]).ok();
    assert!(scratch.git(["notes", "--ref=other", "show", "HEAD"]).ok().contains("\"s1\""));
}

#[test]
fn without_the_hook_program_there_is_one_problem() {
    let scratch = Scratch::set_up();
    let programs = scratch.root().join("programs");
    fs::create_dir(&programs).unwrap();
    let program = programs.join("git-shiftlog-doctor");
    for name in ["git-shiftlog", "git-shiftlog-doctor"] {
        crate::support::copy_program(crate::support::bin_dir().join(name), &programs.join(name));
    }
    let ran = scratch.run_in(&scratch.top, program.to_str().unwrap(), ["--quiet"]);
    let subjects: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("problem  ")).collect();
    assert_eq!(subjects.len(), 1, "{ran:?}");
    assert!(subjects[0].starts_with("problem  git-shiftlog--hook: cannot find 'git-shiftlog--hook'"), "{ran:?}");
}

#[test]
fn hooks_in_a_folder_outside_need_consent_and_the_advice_has_it() {
    let scratch = Scratch::new();
    let outside = scratch.root().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, scratch.top.join(".claude")).unwrap();
    let (_, lines) = told(&scratch, "claude");
    assert_has(&lines, "         fix: git shiftlog init --agent=claude --yes");
    scratch.shiftlog("init", ["--agent=claude", "--yes", "-q"]).ok();
    assert_eq!(told(&scratch, "claude").0, 0);
}

#[test]
fn a_mirror_can_be_made_a_remote_that_takes_no_conversations() {
    let scratch = Scratch::set_up();
    scratch.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    scratch.git(["remote", "add", "--mirror=push", "origin", "../mirror.git"]).ok();
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "1\n");
    session.commits("one");
    scratch.git(["tag", "v1"]).ok();
    let problems = || scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
    assert!(
        problems().contains("\n         or:  git config shiftlog.allowMirror true    # publishes them\n"),
        "{}",
        problems()
    );
    follow(&scratch, &problems());
    assert_eq!(problems(), "");
    scratch.git(["push", "-q", "origin"]).ok();
    let there = scratch.git(["ls-remote", "origin"]).ok();
    let names: Vec<&str> = there.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(names, ["refs/heads/main", "refs/tags/v1"]);
}

#[test]
fn a_fetch_onto_our_own_refs_is_a_problem_and_loses_no_words() {
    let specs: [(&[&str], &[&str]); 5] = [
        (&["+refs/shiftlog/*:refs/shiftlog/*"], &[]),
        (&["+refs/shiftlog/*:refs/shiftlog/*"], &["--prune"]),
        (&["+refs/shiftlog/*:refs/shiftlog/*", "+refs/notes/*:refs/notes/*"], &[]),
        (&["+refs/shiftlog/*:refs/shiftlog/*", "+refs/notes/*:refs/notes/*"], &["--prune"]),
        (&["+refs/*:refs/*"], &[]),
    ];
    for (specs, options) in specs {
        for has_kept in [true, false] {
            let told = format!("{specs:?} {options:?}, the remote has kept refs: {has_kept}");
            let team = Team::new();
            let (a, b) = (team.bare_clone("a", &[]), team.bare_clone("b", &[]));
            for clone in [&a, &b] {
                team.shiftlog(clone, "init", &["--agent=claude", "-q"]).ok();
            }
            team.commit(&a, "a", "1\n", "words of a");
            let sessions = if has_kept { "refs/shiftlog/*" } else { "refs/shiftlog/sessions" };
            let allowed = ["-c", "shiftlog.allowMirror=true", "push", "-q", "origin", "refs/notes/*:refs/notes/*"];
            team.git(&a, &[&allowed[..], &[&format!("{sessions}:{sessions}")]].concat()).ok();
            // Git fetches onto no branch that is checked out.
            team.git(&b, &["switch", "-q", "-c", "mine"]).ok();
            team.commit(&b, "b", "1\n", "words of b");
            for spec in specs {
                team.git(&b, &["config", "--add", "remote.origin.fetch", spec]).ok();
            }
            let doctor = team.shiftlog(&b, "doctor", &["--quiet", "--no-rehearsal"]).stdout;
            for spec in specs {
                let problem = format!("{spec}: a fetch replaces our notes or transcripts");
                assert!(doctor.contains(&problem), "{told}: {doctor}");
            }
            team.git(&b, &[&["fetch", "-q"], options, &["origin"]].concat()).ok();
            // What is written before anything else looks must not hide the loss.
            team.git(&b, &["commit", "-q", "--allow-empty", "-m", "later"]).ok();
            for _ in 0..2 {
                let words = team.shiftlog(&b, "show", &["--raw", "HEAD~1"]).ok();
                assert!(words.contains("words of b"), "{told}: {words}");
            }
            let archived = team.git(&b, &["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
            assert_eq!(archived.lines().count(), 2, "{told}: those of both: {archived}");
            team.git(&b, &["gc", "-q", "--prune=now"]).ok();
            assert!(team.shiftlog(&b, "show", &["--raw", "HEAD~1"]).ok().contains("words of b"), "{told}");
            assert_eq!(team.shiftlog(&b, "fsck", &[]).code, 0, "{told}");
        }
    }
}
