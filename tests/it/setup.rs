//! `init` changes only what it says, twice is once, and `deinit` puts back every byte.

mod in_the_way;
mod taken_back;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::fixtures::fixture;
use crate::support::Scratch;

/// Every file of a tree that setting up could touch, with its bytes and mode.
pub fn files(scratch: &Scratch) -> BTreeMap<String, (Vec<u8>, u32)> {
    fn walk(dir: &Path, top: &Path, found: &mut BTreeMap<String, (Vec<u8>, u32)>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            if [".git/objects", ".git/refs", ".git/logs", ".git/index"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                found.insert(format!("{name}/"), (Vec::new(), 0));
                walk(&path, top, found);
            } else {
                let mode = entry.metadata().unwrap().permissions().mode();
                found.insert(name, (fs::read(&path).unwrap(), mode));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&scratch.top, &scratch.top, &mut found);
    // The directory of our own state may stay.
    found.retain(|name, _| !name.starts_with(".git/shiftlog"));
    found
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

const SETTINGS: &str = r#"{
    // mine
    "permissions": { "allow": ["Bash(git status:*)"] },
    "hooks": {
        "PostToolUse": [
            { "matcher": "Write|Edit", "hooks": [{ "type": "command", "command": "prettier --write" }] }, // keep
        ],
        "FutureEvent": [{ "hooks": [{ "type": "http", "url": "https://example.com" }] }]
    },
    "unknownKey": { "keep": true }
}"#;

#[test]
fn init_and_deinit_leave_no_trace() {
    let scratch = Scratch::new();
    let before = files(&scratch);
    scratch.shiftlog("init", ["--agent=claude"]).ok();
    assert_ne!(files(&scratch), before);
    scratch.shiftlog("deinit", [""; 0]).ok();
    assert_eq!(files(&scratch), before);
    assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), "nothing to do\n");
}

#[test]
fn what_was_there_comes_back_byte_for_byte() {
    for settings in
        [SETTINGS, "{}", "{\n}\n", "{ }", "{\"hooks\":{}}", "{\"hooks\": { }}\n\n", "{\"hooks\":{\"Stop\":[ ]}}\r\n"]
    {
        let scratch = Scratch::new();
        scratch.write(".claude/settings.local.json", settings);
        executable(&scratch.top.join(".git/hooks/post-commit"), "#!/bin/bash\necho mine >>ran\nexit 0");
        executable(&scratch.top.join(".git/hooks/post-rewrite"), "#!/bin/sh\ncat >pairs\n");
        scratch.git(["config", "notes.rewriteRef", "refs/notes/commits"]).ok();
        let before = files(&scratch);
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let after = files(&scratch);
        assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n", "{settings:?}");
        assert_eq!(files(&scratch), after, "twice is once");
        let refs = scratch.git(["config", "--get-all", "notes.rewriteRef"]).ok();
        assert_eq!(refs, "refs/notes/commits\n", "our hook carries our notes");
        scratch.shiftlog("deinit", ["-q"]).ok();
        let restored = files(&scratch);
        assert_eq!(
            restored.get(".claude/settings.local.json"),
            before.get(".claude/settings.local.json"),
            "{settings:?}"
        );
        assert_eq!(restored, before);
    }
}

#[test]
fn git_copies_our_notes_itself_only_where_our_hook_cannot_run() {
    let values = |scratch: &Scratch| scratch.git(["config", "--get-all", "notes.rewriteRef"]).stdout;
    let scratch = Scratch::new();
    scratch.git(["config", "notes.rewriteRef", "refs/notes/commits"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--no-git-hooks"]).ok();
    assert_eq!(values(&scratch), "refs/notes/commits\nrefs/notes/shiftlog*\n", "added, not replaced");
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n");
    scratch.shiftlog("init", ["--agent=claude", "-q", "--git-hooks"]).ok();
    assert_eq!(values(&scratch), "refs/notes/commits\n", "what init added before goes");
    // The same value, but the user's own.
    scratch.git(["config", "--add", "notes.rewriteRef", "refs/notes/shiftlog*"]).ok();
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(values(&scratch), "refs/notes/commits\nrefs/notes/shiftlog*\n");
    for obstacle in ["#!/usr/bin/env python3\n", "not executable"] {
        let scratch = Scratch::new();
        let hook = scratch.top.join(".git/hooks/post-rewrite");
        match obstacle {
            "not executable" => fs::write(&hook, "#!/bin/sh\n").unwrap(),
            script => executable(&hook, script),
        }
        scratch.shiftlog("init", ["--agent=claude", "-q"]);
        assert_eq!(values(&scratch), "refs/notes/shiftlog*\n", "{obstacle}");
    }
}

#[test]
fn deinit_undoes_exactly_what_a_killed_init_has_done() {
    // A repository with files of the user's own, set up once already for another agent or not at all.
    for is_set_up in [false, true] {
        let mut killed = 0;
        for number in 0.. {
            let mut was_killed = false;
            for point in ["planned", "done"] {
                let scratch = Scratch::new();
                scratch.write(".claude/settings.local.json", SETTINGS);
                scratch.git(["config", "notes.rewriteRef", "refs/notes/commits"]).ok();
                executable(&scratch.top.join(".git/hooks/post-commit"), "#!/bin/bash\necho mine >>ran\nexit 0");
                let before = files(&scratch);
                if is_set_up {
                    scratch.shiftlog("init", ["--agent=gemini", "-q"]).ok();
                }
                let mut init = scratch.command("git", &scratch.top);
                init.env("SHIFTLOG_FAULT", format!("init-{number}-{point}"));
                init.args(["shiftlog", "init", "--agent=claude", "--agent=cursor", "--mcp", "-q"]);
                if init.output().unwrap().status.success() {
                    continue;
                }
                was_killed = true;
                killed += 1;
                let after_kill = files(&scratch);
                scratch.shiftlog("deinit", ["-q"]).ok();
                assert_eq!(files(&scratch), before, "{number}-{point}");
                assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), "nothing to do\n", "{number}-{point}");
                drop(after_kill);
            }
            if !was_killed {
                break;
            }
        }
        assert!(killed >= 8, "init has more steps than were tried: {killed}");
    }
}

#[test]
fn a_killed_init_or_deinit_is_finished_by_the_next() {
    for number in 0..6 {
        let scratch = Scratch::new();
        scratch.write(".claude/settings.local.json", SETTINGS);
        // A file of the user's that has the name which the settings have until they are written.
        let users = ".claude/.settings.local.json.shiftlog-new";
        scratch.write(users, "mine\n");
        let before = files(&scratch);
        for command in ["init", "deinit"] {
            for point in [format!("init-{number}-done"), "half-written".to_owned()] {
                let mut program = scratch.command("git", &scratch.top);
                program.env("SHIFTLOG_FAULT", &point).args(["shiftlog", command, "-q"]);
                assert!(!program.output().unwrap().status.success() || command == "deinit", "{point}");
            }
            scratch.shiftlog(command, ["-q"]).ok();
            let left: Vec<String> = files(&scratch).into_keys().filter(|name| name.contains("shiftlog-new")).collect();
            assert_eq!(left, [users], "{command}: {number}");
        }
        assert_eq!(files(&scratch), before, "{number}");
    }
}

#[test]
fn what_the_user_edited_in_between_stays_and_only_our_part_goes() {
    let scratch = Scratch::new();
    scratch.write(".claude/settings.local.json", SETTINGS);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let path = scratch.top.join(".claude/settings.local.json");
    let edited = fs::read_to_string(&path).unwrap().replace("\"keep\": true", "\"keep\": \"edited\"");
    fs::write(&path, edited).unwrap();
    let hook = scratch.top.join(".git/hooks/post-commit");
    fs::write(&hook, fs::read_to_string(&hook).unwrap() + "echo added by the user\n").unwrap();
    scratch.git(["config", "--add", "notes.rewriteRef", "refs/notes/theirs"]).ok();
    // Setting up again after the edit still knows what is whose.
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), SETTINGS.replace("\"keep\": true", "\"keep\": \"edited\""));
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\necho added by the user\n");
    assert_eq!(scratch.git(["config", "--get-all", "notes.rewriteRef"]).ok(), "refs/notes/theirs\n");
}

#[test]
fn a_dry_run_names_everything_and_touches_nothing() {
    let scratch = Scratch::new();
    let before = files(&scratch);
    let planned = scratch.shiftlog("init", ["--agent=claude", "--dry-run"]).ok();
    assert_eq!(files(&scratch), before);
    assert!(!scratch.state().exists());
    let done = scratch.shiftlog("init", ["--agent=claude"]).ok();
    assert_eq!(planned, done, "it did what it said");
    let top = scratch.top.display();
    let expected = format!(
        "create {top}/.git/hooks/post-commit\ncreate {top}/.git/hooks/post-rewrite\n\
         create {top}/.git/hooks/post-merge\ncreate {top}/.git/hooks/pre-push\n\
         config notes.shiftlog.mergeStrategy += cat_sort_uniq\n\
         create {top}/.claude/settings.local.json\nedit {top}/.git/info/exclude\n"
    );
    assert_eq!(done, expected);
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "nothing shows up in the user's status");
    let planned = scratch.shiftlog("deinit", ["--dry-run"]).ok();
    assert_eq!(planned, scratch.shiftlog("deinit", [""; 0]).ok());
}

#[test]
fn the_users_hooks_still_run_with_their_input() {
    let scratch = Scratch::new();
    executable(&scratch.top.join(".git/hooks/post-commit"), "#!/bin/bash\nset -e\necho \"commit $#\" >>ran\nexit 0\n");
    executable(&scratch.top.join(".git/hooks/post-rewrite"), "#!/bin/sh\necho \"$1\" >>ran\nexec cat >>ran\n");
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let old = scratch.commit("a.txt", "a\n", "one");
    scratch.git(["commit", "-q", "--amend", "-m", "two"]).ok();
    let new = scratch.id("HEAD");
    let ran = fs::read_to_string(scratch.top.join("ran")).unwrap();
    assert_eq!(ran, format!("commit 0\ncommit 0\namend\n{old} {new}\n"));
}

#[test]
fn an_uninstalled_program_is_silent_everywhere() {
    for directory in ["installed", "installed here", "bob's \"programs\""] {
        is_silent_without(directory);
    }
}

/// Installs the programs in a directory, sets a repository up, and removes them.
fn is_silent_without(directory: &str) {
    let scratch = Scratch::new();
    let bin = scratch.root().join(directory);
    fs::create_dir_all(&bin).unwrap();
    for name in ["git-shiftlog", "git-shiftlog-init", "git-shiftlog--hook"] {
        super::support::copy_program(super::support::bin_dir().join(name), &bin.join(name));
    }
    scratch.run_in(&scratch.top, bin.join("git-shiftlog-init").to_str().unwrap(), ["--agent=claude", "-q"]).ok();
    fs::remove_dir_all(&bin).unwrap();
    scratch.write("a.txt", "a\n");
    scratch.git(["add", "a.txt"]).ok();
    let commit = scratch.git(["commit", "-q", "-m", "one"]);
    assert_eq!((commit.code, commit.stderr.as_str()), (0, ""));
    let amend = scratch.git(["commit", "-q", "--amend", "-m", "two"]);
    assert_eq!((amend.code, amend.stderr.as_str()), (0, ""));
    let session = scratch.session("s1");
    let hook = session.try_hook("Stop", "");
    assert_eq!((hook.code, hook.stdout.as_str(), hook.stderr.as_str()), (0, "", ""));
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.stdout.contains(
        "problem  Git hook post-commit: names a program that is not there\n         fix: git shiftlog init\n"
    ));
    assert!(
        doctor.stdout.contains("problem  Claude Code: its hooks name a program that is not there\n"),
        "{}",
        doctor.stdout
    );
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.shiftlog("doctor", [""; 0]).ok();
}

#[test]
fn hooks_of_any_kind_are_respected() {
    let scratch = Scratch::new();
    let python = "#!/usr/bin/env python3\nprint('mine')\n";
    executable(&scratch.top.join(".git/hooks/post-commit"), python);
    scratch.write(".git/hooks/post-rewrite", "#!/bin/sh\necho turned off\n");
    let ran = scratch.shiftlog("init", ["--agent=claude"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("post-commit' is no shell script and is left alone; have it run: test -x "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("post-rewrite' is not executable and is left alone"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(scratch.top.join(".git/hooks/post-commit")).unwrap(), python);
}

#[test]
fn hooks_go_where_git_looks_for_them() {
    let scratch = Scratch::new();
    scratch.git(["config", "core.hooksPath", ".husky/_"]).ok();
    executable(&scratch.top.join(".husky/_/post-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
    executable(&scratch.top.join(".husky/_/h"), "echo husky >>ran\n");
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let hook = fs::read_to_string(scratch.top.join(".husky/_/post-commit")).unwrap();
    assert!(
        hook.contains("command -v git-shiftlog--hook >/dev/null"),
        "a path of this machine is not for the team: {hook}"
    );
    let session = scratch.session("s1");
    session.prompt("with husky");
    session.edits("a.txt", "a\n");
    session.commits("husky");
    scratch.record("HEAD");
    assert!(scratch.top.join("ran").exists());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(
        fs::read_to_string(scratch.top.join(".husky/_/post-commit")).unwrap(),
        "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n"
    );
}

#[test]
fn settings_that_do_not_parse_are_named_with_their_place_and_stay() {
    for (text, place) in [
        ("{\n  \"hooks\": [\n}", "line"),
        ("{\"hooks\": 1}", "'hooks' is not an object"),
        ("[1]", "the file is not an object"),
    ] {
        let scratch = Scratch::new();
        scratch.write(".claude/settings.local.json", text);
        let before = files(&scratch);
        let ran = scratch.shiftlog("init", ["--agent=claude"]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.starts_with("error: cannot edit '") && ran.stderr.contains(place), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(scratch.top.join(".claude/settings.local.json")).unwrap(), text);
        scratch.git(["config", "notes.shiftlog.mergeStrategy"]).ok();
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_eq!(files(&scratch), before, "{text}");
    }
}

#[test]
fn entries_of_the_earlier_tools_give_way_to_ours_and_others_stay() {
    let path = fixture("claude");
    let others = fs::read_to_string(path.join("settings-before.json")).unwrap();
    for name in ["settings-before.json", "settings-after.json", "settings-with-stale-own-entries.json"] {
        let scratch = Scratch::new();
        let text = fs::read_to_string(path.join(name)).unwrap();
        scratch.write(".claude/settings.local.json", &text);
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let merged: Value =
            serde_json::from_str(&fs::read_to_string(scratch.top.join(".claude/settings.local.json")).unwrap())
                .unwrap();
        let text_of = merged.to_string();
        assert_eq!(text_of.matches("git-shiftlog--hook claude PostToolUse ").count(), 1, "{name}");
        assert!(!text_of.contains("shiftlog store") && !text_of.contains("session-start"), "{name}: {text_of}");
        let others: Value = serde_json::from_str(&others).unwrap();
        for key in ["permissions", "unknownKey"] {
            assert_eq!(merged[key], others[key], "{name}");
        }
        for event in ["WorktreeCreate", "FutureEventXyz"] {
            assert_eq!(merged["hooks"][event], others["hooks"][event], "{name}");
        }
        for command in ["tidy --write", "other-tool log"] {
            assert!(text_of.contains(command), "{name}: {command}");
        }
        assert_eq!(text_of.contains("other-tool all"), name.contains("stale"), "{name}");
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert_eq!(fs::read_to_string(scratch.top.join(".claude/settings.local.json")).unwrap(), text, "{name}");
    }
}

#[test]
fn settings_behind_a_symbolic_link_are_edited_where_they_are() {
    let scratch = Scratch::new();
    let real = scratch.root().join("dotfiles.json");
    fs::write(&real, "{\n  \"model\": \"x\"\n}\n").unwrap();
    fs::create_dir_all(scratch.top.join(".claude")).unwrap();
    let link = scratch.top.join(".claude/settings.local.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]).ok();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("git-shiftlog--hook"));
    scratch.shiftlog("deinit", ["-q", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"model\": \"x\"\n}\n");
}

#[test]
fn shared_hooks_name_the_program_without_a_path() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--shared", "-q"]).ok();
    let text = fs::read_to_string(scratch.top.join(".claude/settings.json")).unwrap();
    assert!(!text.contains(super::support::bin_dir().to_str().unwrap()), "{text}");
    assert!(!scratch.top.join(".claude/settings.local.json").exists());
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "?? .claude/\n", "it is there to be committed");
}

#[test]
fn sharing_adds_refspecs_that_never_force_our_own_refs() {
    let scratch = Scratch::new();
    let remote = scratch.root().join("remote.git");
    scratch.git(["init", "-q", "--bare", remote.to_str().unwrap()]).ok();
    scratch.git(["remote", "add", "origin", remote.to_str().unwrap()]).ok();
    let before = files(&scratch);
    scratch.shiftlog("init", ["--agent=claude", "--share=all", "-q"]).ok();
    assert_eq!(scratch.git(["config", "shiftlog.push"]).ok(), "all\n");
    scratch.git(["fetch", "-q"]).ok();
    // A colleague pushes; a plain fetch brings the conversation, and every reader sees it.
    let colleague = Scratch::set_up();
    colleague.git(["remote", "add", "origin", remote.to_str().unwrap()]).ok();
    let session = colleague.session("theirs");
    session.prompt("from afar");
    session.edits("a.txt", "a\n");
    session.commits("from afar");
    let refs = ["main", "refs/notes/shiftlog", "refs/shiftlog/sessions"];
    colleague.git([&["push", "-q", "--no-verify", "origin"][..], &refs].concat()).ok();
    scratch.git(["fetch", "-q"]).ok();
    assert_eq!(scratch.raw("origin/main", &[]), session.text());
    assert!(
        scratch.git(["rev-parse", "-q", "--verify", "refs/notes/shiftlog"]).code != 0,
        "our own ref is not touched"
    );
    scratch.shiftlog("deinit", ["-q"]).ok();
    scratch.git(["config", "--get", "remote.origin.fetch"]).ok();
    let mut after = files(&scratch);
    let mut expected = before;
    for map in [&mut after, &mut expected] {
        map.retain(|name, _| !name.contains("FETCH_HEAD") && !name.contains("packed-refs"));
    }
    assert_eq!(after, expected);
}

#[test]
fn an_agent_that_is_set_up_is_one_that_is_known() {
    let mut scratch = Scratch::new();
    fs::remove_dir_all(scratch.home().join(".claude")).unwrap();
    scratch.env.insert("PATH".into(), format!("{}:/usr/bin:/bin", crate::support::bin_dir().display()));
    let first = scratch.shiftlog("init", ["--dry-run"]);
    assert!(first.stderr.starts_with("warning: no agent found on this machine\n"), "{first:?}");
    scratch.shiftlog("init", ["--agent=cursor"]).ok();
    let again = scratch.shiftlog("init", ["--dry-run"]);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), ("nothing to do\n", ""));
}

#[test]
fn an_unknown_agent_is_an_error_that_names_the_known() {
    let ran = Scratch::new().shiftlog("init", ["--agent=hal"]);
    let known: Vec<&str> = shiftlog::agent::ALL.iter().map(|agent| agent.name()).collect();
    let expected = format!("error: unknown agent 'hal'\nhint: known agents: {}\n", known.join(", "));
    assert_eq!((ran.code, ran.stderr), (129, expected));
}

#[test]
fn doctor_proves_that_recording_works() {
    let scratch = Scratch::new();
    let ran = scratch.shiftlog("doctor", [""; 0]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("problem  Git hook post-commit: not installed\n         fix: git shiftlog init\n"),
        "{}",
        ran.stdout
    );
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let ran = scratch.shiftlog("doctor", [""; 0]).ok();
    assert_eq!(
        ran,
        "ok       Git hook post-commit\nok       Git hook post-rewrite\nok       Git hook post-merge\nok       Git hook pre-push\nok       Claude Code: hooks in .claude/settings.local.json\n\
         note     Claude Code: no session here in the last three days, so no hook was seen to run\n\
         ok       notes follow rewritten commits\nok       0 pending captures\nok       redaction of secrets\n\
         ok       recording, tried in a throw-away repository\n"
    );
    assert_eq!(scratch.shiftlog("doctor", ["-q"]).ok(), "");
}

/// Says whether Git declares hooks in its config: since 2.54.
pub(crate) fn uses_config_hooks(scratch: &Scratch) -> bool {
    let version = scratch.git(["--version"]).ok();
    let mut parts =
        version.split_whitespace().nth(2).unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2u32, 54u32)
}
