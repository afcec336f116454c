//! What a command could do to a user who did not mean it: to another repository, to all of them, or in public.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::setup::files;
use crate::sharing::Team;
use crate::support::{Ran, Scratch};

/// Every file below a directory with its bytes, our own state apart.
pub fn tree(top: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().flatten() {
            let name = entry.path().strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            if name == ".git/shiftlog" || name.starts_with(".git/objects") || name == ".git/index" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                found.push((format!("{name}/"), Vec::new()));
                directories.push(entry.path());
            } else {
                found.push((name, fs::read(entry.path()).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn copy(scratch: &Scratch, to: &str) -> PathBuf {
    let copy = scratch.root().join(to);
    scratch.run_in(&scratch.root(), "cp", ["-a", "repo", to]).ok();
    copy
}

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn deinit_in_a_copy_restores_the_copy_and_leaves_the_original() {
    let scratch = Scratch::new();
    scratch.write(".claude/settings.local.json", "{ \"model\": \"x\" }\n");
    let before = files(&scratch);
    let before_tree = tree(&scratch.top);
    let options = ["--agent=claude", "--agent=cursor", "--mcp", "-q"];
    scratch.shiftlog("init", options).ok();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    scratch.shiftlog_in(&other, "init", options).ok();
    let set_up = tree(&scratch.top);
    let (copy, other_set_up) = (copy(&scratch, "copy"), tree(&other));
    scratch.shiftlog_in(&copy, "deinit", ["-q"]).ok();
    assert_eq!(tree(&scratch.top), set_up, "the original is as it was");
    assert_eq!(tree(&other), other_set_up, "so is its worktree");
    let is_ours =
        |name: &str| name.starts_with(".git/worktrees") || name.starts_with(".git/refs") || name.contains("logs");
    let without = |mut tree: Vec<(String, Vec<u8>)>| {
        tree.retain(|(name, _)| !is_ours(name));
        tree
    };
    assert_eq!(without(tree(&copy)), without(before_tree), "the copy is as before");
    assert!(!copy.join(".git/shiftlog/installed").exists());
    scratch.shiftlog("deinit", ["-q"]).ok();
    let mut after = files(&scratch);
    after.retain(|name, _| !is_ours(name));
    assert_eq!(after, before, "and the original can still be restored");
    assert!(!other.join(".claude").exists() && !other.join(".cursor").exists());
}

#[test]
fn a_copy_whose_configuration_names_the_working_tree_of_the_original_leaves_it_alone() {
    let scratch = Scratch::new();
    scratch.git(["config", "core.worktree", scratch.top.to_str().unwrap()]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    let (copy, set_up) = (copy(&scratch, "copy"), tree(&scratch.top));
    let copied = tree(&copy);
    for command in ["deinit", "init"] {
        let ran = scratch.shiftlog_in(&copy, command, ["-q"]);
        let message = format!("'{}' is the working tree of another repository", scratch.top.display());
        assert!(ran.code == 128 && ran.stderr.contains(&message) && ran.stderr.contains("core.worktree"), "{ran:?}");
    }
    assert_eq!(tree(&scratch.top), set_up, "the original is as it was");
    assert_eq!(tree(&copy), copied, "so is the copy");
    scratch.run_in(&copy, "git", ["config", "--unset", "core.worktree"]).ok();
    scratch.shiftlog_in(&copy, "deinit", ["-q"]).ok();
    assert!(!copy.join(".git/hooks/post-commit").exists(), "and is restored when it names its own");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".claude").exists());
}

#[test]
fn what_an_earlier_version_wrote_down_in_the_original_is_not_followed_from_a_copy() {
    let scratch = Scratch::set_up();
    let set_up = tree(&scratch.top);
    let installed = scratch.state().join("installed");
    let top = scratch.top.to_str().unwrap().to_owned();
    let text = fs::read_to_string(&installed).unwrap();
    assert!(!text.contains(&top), "no absolute path is written down: {text}");
    // Earlier versions wrote absolute paths.
    let text = text.replace("\"git:", &format!("\"{top}/.git/")).replace("\"top:", &format!("\"{top}/"));
    fs::write(&installed, text).unwrap();
    let copy = copy(&scratch, "copy");
    let ran = scratch.shiftlog_in(&copy, "deinit", ["-q"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let expected = format!("warning: '{top}/.git/hooks/post-commit' belongs to another repository and is left alone\n");
    assert!(ran.stderr.contains(&expected), "{ran:?}");
    assert_eq!(tree(&scratch.top), set_up, "the original is as it was");
    let hook = fs::read_to_string(copy.join(".git/hooks/post-commit")).unwrap_or_default();
    assert_eq!(hook, "", "our block is found without being written down");
    let before = files(&Scratch::new());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(files(&scratch).into_keys().collect::<Vec<_>>(), before.into_keys().collect::<Vec<_>>());
}

#[test]
fn a_repository_that_was_moved_is_restored_byte_for_byte() {
    let mut scratch = Scratch::new();
    scratch.write(".claude/settings.local.json", "{\"hooks\": { }}\n\n");
    executable(&scratch.top.join(".git/hooks/post-commit"), "#!/bin/bash\necho mine >>ran\nexit 0");
    let before = files(&scratch);
    scratch.shiftlog("init", ["--agent=claude", "--agent=cursor", "--mcp", "-q"]).ok();
    let moved = scratch.root().join("elsewhere/moved");
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    fs::rename(&scratch.top, &moved).unwrap();
    scratch.top = moved;
    assert_eq!(scratch.shiftlog("init", ["--agent=claude", "--agent=cursor", "--mcp"]).ok(), "nothing to do\n");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(files(&scratch), before);
    assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), "nothing to do\n");
}

/// A repository whose hooks are those of all repositories of its user.
fn with_global_hooks() -> (Scratch, PathBuf) {
    let mut scratch = Scratch::new();
    let hooks = scratch.home().join("hooks");
    executable(&hooks.join("post-commit"), "#!/bin/sh\necho mine >>\"$(git rev-parse --git-dir)/ran\"\n");
    let config = scratch.home().join(".gitconfig");
    fs::write(&config, format!("[core]\n\thooksPath = {}\n", hooks.display())).unwrap();
    scratch.env.insert("GIT_CONFIG_GLOBAL".into(), config.to_str().unwrap().into());
    (scratch, hooks)
}

#[test]
fn hooks_of_all_repositories_change_only_when_that_was_said() {
    let (scratch, hooks) = with_global_hooks();
    let before = tree(&hooks);
    let shown = hooks.display();
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        ran.stderr,
        format!(
            "warning: the hooks in '{shown}' run in other repositories too, and are left alone\n\
             hint: 'git shiftlog init --yes' adds ours to them; then each of these repositories is recorded\n\
             hint: 'git shiftlog init --no-git-hooks' goes without; then what agents commit is recorded\n"
        )
    );
    assert_eq!(tree(&hooks), before);
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let expected = "problem  Git hook post-commit: not installed, since it would run in other repositories too\n         \
                    fix: git shiftlog init --yes\n";
    assert!(doctor.contains(expected), "{doctor}");
    let changed =
        format!("warning: the hooks in '{shown}' run in other repositories too, and they change for all of these\n");
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, changed.as_str()), "it is said, also where nobody is asked");
    assert!(fs::read_to_string(hooks.join("post-commit")).unwrap().contains("git-shiftlog--hook"));
    let set_up = tree(&hooks);
    let ran = scratch.shiftlog("init", ["--agent=claude"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("nothing to do\n", ""), "there is nothing to ask");
    // Neither this repository nor a copy of it takes them away from the others.
    let copy = copy(&scratch, "copy");
    for top in [&copy, &scratch.top] {
        let ran = scratch.shiftlog_in(top, "deinit", ["-q"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "warning: the hooks in '{shown}' run in other repositories too, and are left alone\n\
                 hint: 'git shiftlog deinit --yes' takes ours out of them, for all of these repositories\n"
            )
        );
        assert_eq!(tree(&hooks), set_up);
    }
    // Who agrees to the removal of refs has not agreed to that.
    let ran = scratch.shiftlog_in(&copy, "deinit", ["-q", "--purge-refs", "--yes"]);
    assert!(ran.code == 0 && ran.stderr.contains(" run in other repositories too, and are left alone\n"), "{ran:?}");
    assert_eq!(tree(&hooks), set_up);
    let ran = scratch.shiftlog("deinit", ["-q", "--yes"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, changed.as_str()));
    assert_eq!(tree(&hooks), before, "byte for byte");
}

#[test]
fn a_copy_whose_config_names_hooks_of_the_original_changes_none_of_them() {
    if crate::setup::uses_config_hooks(&Scratch::new()) {
        return;
    }
    for folder in [".myhooks", ".git/hooks"] {
        let scratch = Scratch::new();
        let hooks = scratch.top.join(folder);
        fs::create_dir_all(&hooks).unwrap();
        scratch.git(["config", "core.hooksPath", hooks.to_str().unwrap()]).ok();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let (copy, before) = (copy(&scratch, "copy"), tree(&hooks));
        let told = format!("the hooks in '{}' belong to another repository, and are left alone\n", hooks.display());
        for args in [&["init", "--no-git-hooks", "-q", "-y"][..], &["deinit", "-q", "-y"]] {
            let ran = scratch.shiftlog_in(&copy, args[0], &args[1..]);
            assert!(ran.stderr.contains(&told), "{args:?}: {ran:?}");
            assert_eq!(tree(&hooks), before, "{args:?}");
        }
        scratch.shiftlog("deinit", ["-q"]).ok();
        assert!(!hooks.join("post-commit").exists());
        // What doctor advises in the copy gives it hooks of its own.
        let doctor = || scratch.shiftlog_in(&copy, "doctor", ["-q", "--no-rehearsal"]).stdout;
        scratch.shiftlog_in(&copy, "init", ["--git-hooks", "--agent=claude", "-q", "-y"]).ok();
        let fix = doctor().lines().find_map(|line| line.trim().strip_prefix("fix: ").map(str::to_owned)).unwrap();
        scratch.run_in(&copy, "sh", ["-c", &fix]).ok();
        assert_eq!(doctor(), "", "{fix}");
        assert!(!hooks.join("post-commit").exists());
    }
}

#[test]
fn a_link_in_the_hooks_directory_that_leads_out_of_the_repository_is_not_edited_unasked() {
    let scratch = Scratch::new();
    let shared = scratch.home().join("shared-hook");
    executable(&shared, "#!/bin/sh\necho shared\n");
    let hooks = scratch.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink(&shared, hooks.join("post-commit")).unwrap();
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    let (hook, place) = (hooks.join("post-commit"), shared.display());
    let leads = format!("'{}' leads to '{place}' outside this repository", hook.display());
    let told = |command: &str| {
        format!("warning: {leads}, and is left alone\nhint: 'git shiftlog {command} --yes' edits it there\n")
    };
    assert_eq!(ran.stderr, told("init"));
    assert_eq!(fs::read_to_string(&shared).unwrap(), "#!/bin/sh\necho shared\n");
    assert!(hooks.join("pre-push").exists(), "the others are this repository's own");
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let problem = format!("Git hook post-commit: not installed, since it leads to '{place}' outside this repository\n");
    assert!(doctor.contains(&problem), "{doctor}");
    scratch.shiftlog("init", ["--agent=claude", "-q", "--yes"]).ok();
    assert!(fs::read_to_string(&shared).unwrap().contains("git-shiftlog--hook"));
    assert!(hook.is_symlink());
    assert_eq!(scratch.shiftlog("deinit", ["-q"]).stderr, told("deinit"));
    scratch.shiftlog("deinit", ["-q", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&shared).unwrap(), "#!/bin/sh\necho shared\n");
    assert!(!hooks.join("pre-push").exists());
}

#[test]
fn a_terminal_is_asked_before_the_hooks_of_all_repositories_change() {
    let (scratch, hooks) = with_global_hooks();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script"]).code != 0 {
        crate::support::skip("no script(1) to make a terminal with");
        return;
    }
    let before = tree(&hooks);
    let settings = scratch.top.join(".claude/settings.local.json");
    let meanwhile = "{ \"permissions\": { \"allow\": [\"Bash(make)\"] } }\n";
    let answer = |word: &str, command: &str, is_edited: bool| {
        let mut script = scratch.command("script", &scratch.top);
        script.args(["-qec", command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = script.spawn().unwrap();
        let (mut stdin, mut stdout) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let (mut said, mut byte) = (Vec::new(), [0]);
        while !said.ends_with(b"[y/N] ") && stdout.read(&mut byte).unwrap() > 0 {
            said.extend(byte);
        }
        if is_edited {
            fs::create_dir_all(settings.parent().unwrap()).unwrap();
            fs::write(&settings, meanwhile).unwrap();
        }
        // It is gone already if it has not asked.
        let _ = writeln!(stdin, "{word}");
        drop(stdin);
        stdout.read_to_end(&mut said).unwrap();
        script.wait().unwrap();
        String::from_utf8(said).unwrap()
    };
    let ran = answer("n", "git shiftlog init --agent=claude", false);
    assert!(ran.contains("run in other repositories too. Add ours to them? [y/N]"), "{ran:?}");
    assert_eq!(tree(&hooks), before, "{ran:?}");
    let ran = answer("y", "git shiftlog init --agent=claude", false);
    assert_ne!(tree(&hooks), before, "{ran:?}");
    let ran = answer("y", "git shiftlog deinit", false);
    assert!(ran.contains("run in other repositories too. Take ours out of them? [y/N]"), "{ran:?}");
    assert_eq!(tree(&hooks), before, "{ran:?}");
    let ran = answer("n", "git shiftlog init --agent=claude", true);
    assert!(ran.contains("settings.local.json' has changed meanwhile; try again"), "{ran:?}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), meanwhile, "what was written meanwhile stays");
}

#[test]
fn tracked_hooks_are_named_and_can_be_left_alone() {
    let scratch = Scratch::new();
    executable(&scratch.top.join(".husky/pre-commit"), "#!/bin/sh\necho checked\n");
    scratch.git(["add", ".husky"]).ok();
    scratch.git(["commit", "-q", "-m", "hooks for everybody"]).ok();
    scratch.git(["config", "core.hooksPath", ".husky"]).ok();
    let top = scratch.top.display();
    let ran = scratch.shiftlog("init", ["--agent=claude"]);
    assert!(ran.stdout.contains(&format!("create {top}/.husky/post-commit\n")), "it says what it makes: {ran:?}");
    assert_eq!(
        ran.stderr,
        "warning: the hooks in '.husky' are tracked: our lines in them go to everybody once committed\n\
         hint: 'git shiftlog init --no-git-hooks' leaves them alone; then what agents commit is recorded\n"
    );
    let ran = scratch.shiftlog("init", ["--agent=claude", "--no-git-hooks"]);
    assert!(ran.stdout.contains(&format!("remove {top}/.husky/post-commit\n")), "{ran:?}");
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "");
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n", "it is remembered");
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]).ok();
    assert!(
        doctor.starts_with("ok       Git hooks are left alone: shiftlog.gitHooks is false\nok       Claude"),
        "{doctor}"
    );
    let session = scratch.session("s1");
    session.prompt("without hooks of Git");
    session.edits("a.txt", "a\n");
    session.commits("recorded by the agent's own hook");
    assert_eq!(scratch.record("HEAD")["session"], "s1");
    scratch.shiftlog("init", ["--agent=claude", "--git-hooks", "-q"]).ok();
    assert!(scratch.top.join(".husky/post-commit").exists());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "");
    assert_eq!(scratch.git(["config", "--get", "shiftlog.gitHooks"]).code, 1);
}

fn refs_of(team: &Team) -> String {
    team.git(&team.server, &["for-each-ref", "--format=%(refname)"]).ok()
}

#[test]
fn a_mirror_that_would_publish_conversations_is_stopped() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    team.shiftlog(&clone, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let stopped = "error: this push takes conversations along, and sharing is off\n";
    let helped = "hint: push branches and tags by name, as in 'git push <remote> <branch>', to leave them out\n\
                   hint: 'git push --no-verify' lets them go once, 'git config shiftlog.allowMirror true' always: whoever can read the remote reads them\n";
    let by_id = format!("{}:refs/heads/x", team.id(&clone, "refs/shiftlog/sessions"));
    let pushes: [&[&str]; 9] = [
        &["push", "--mirror", "origin"],
        &["push", "origin", "refs/*:refs/*"],
        &["push", "origin", "refs/notes/*:refs/notes/*"],
        &["-c", "remote.origin.mirror=true", "push", "origin"],
        // Named one by one, under other names, and without a name.
        &["push", "origin", "refs/shiftlog/*"],
        &["push", "origin", "refs/notes/shiftlog"],
        &["push", "origin", "refs/shiftlog/*:refs/heads/x/*"],
        &["-c", "remote.origin.push=refs/notes/shiftlog:refs/heads/x", "push", "origin"],
        &["push", "origin", &by_id],
    ];
    let before = refs_of(&team);
    for push in pushes {
        let ran = team.git(&clone, push);
        assert!(ran.code != 0 && ran.stderr.starts_with(stopped) && ran.stderr.contains(helped), "{push:?}: {ran:?}");
        let named = ran.stderr.lines().nth(1).unwrap();
        let is_named =
            ["refs/notes/shiftlog", "refs/shiftlog/", "refs/heads/x"].iter().any(|name| named.contains(name));
        assert!(named.starts_with("hint: they would go to ") && is_named, "{push:?}: {named}");
        assert_eq!(ran.stdout, "", "{push:?}");
        assert_eq!(refs_of(&team), before, "{push:?}");
    }
    // Any other push goes, also one that has nothing to say.
    for push in [&["push", "origin", "main"][..], &["push", "origin", "main"], &["push", "--all", "origin"]] {
        team.git(&clone, push).ok();
    }
    team.git(&clone, &["config", "remote.origin.mirror", "true"]).ok();
    let doctor = team.shiftlog(&clone, "doctor", &["--no-rehearsal"]).stdout;
    assert!(
        doctor.contains("problem  mirror 'origin': a push to it would take conversations along, and is stopped"),
        "{doctor}"
    );
    team.git(&clone, &["config", "--unset", "remote.origin.mirror"]).ok();
    // Notes alone are shared: then the words are too much.
    let ran = team.git(&clone, &["-c", "shiftlog.push=notes", "push", "--mirror", "origin"]);
    assert!(
        ran.stderr
            .starts_with("error: this push takes refs along that are not shared: of conversations only notes are\n"),
        "{ran:?}"
    );
    // Transcripts have a remote of their own: they are too much for any other.
    team.git(&clone, &["remote", "add", "words", "/nowhere"]).ok();
    let apart = ["-c", "shiftlog.push=all", "-c", "shiftlog.sessionsRemote=words", "push"];
    for push in [&["--mirror", "origin"][..], &["origin", "refs/shiftlog/sessions"]] {
        let ran = team.git(&clone, &[&apart, push].concat());
        let told = "error: this push takes refs along that are not shared: of conversations only notes are\n";
        assert!(ran.code != 0 && ran.stderr.starts_with(told), "{push:?}: {ran:?}");
        assert!(!refs_of(&team).contains("shiftlog"), "{push:?}");
    }
    team.git(&clone, &["remote", "remove", "words"]).ok();
    // What is shared goes.
    let share = ["-c", "shiftlog.push=notes", "push", "origin"];
    let notes = team.id(&clone, "refs/notes/shiftlog");
    for refspec in ["refs/notes/shiftlog", &format!("{notes}:refs/heads/notes")] {
        // Ours goes behind it.
        team.scratch.run_until_nothing_runs(&clone, &[&["git"], &share[..], &[refspec]].concat()).ok();
    }
    team.git(&clone, &["push", "origin", ":refs/notes/shiftlog"]).ok();
    let ran = team.git(&clone, &["-c", "shiftlog.allowMirror=true", "push", "--mirror", "origin"]);
    assert!(ran.code == 0, "{ran:?}");
    assert!(ran.stderr.starts_with("warning: this push takes conversations along, and sharing is off\n"), "{ran:?}");
    assert!(refs_of(&team).contains("refs/shiftlog/sessions"));
}

#[test]
fn a_hook_of_the_users_own_reads_what_a_push_says_and_a_failing_program_of_ours_stops_nothing() {
    for shell in ["#!/bin/sh\n", "#!/bin/sh -eu\n", "#!/bin/bash\n"] {
        let team = Team::new();
        let clone = team.bare_clone("a", &[]);
        executable(&clone.join(".git/hooks/pre-push"), &format!("{shell}cat >.git/said\necho \"$@\" >>.git/said\n"));
        team.git(&clone, &["push", "-q", "origin", "main:one"]).ok();
        let said = fs::read_to_string(clone.join(".git/said")).unwrap();
        assert!(said.starts_with("refs/heads/main "), "{said}");
        team.git(&clone, &["push", "-q", "origin", ":one"]).ok();
        team.shiftlog(&clone, "init", &["--agent=claude", "-q"]).ok();
        team.git(&clone, &["push", "-q", "origin", "main:one"]).ok();
        assert_eq!(fs::read_to_string(clone.join(".git/said")).unwrap(), said, "{shell}");
        let nothing = team.git(&clone, &["push", "-q", "origin", "main:one"]);
        assert_eq!(nothing.code, 0, "{nothing:?}");
        let said = fs::read_to_string(clone.join(".git/said")).unwrap();
        assert!(said.starts_with("origin "), "it reads nothing where a push moves nothing: {said:?}");
        // Whatever becomes of our program: killed, not runnable, or a stand-in that fails.
        let hook = clone.join(".git/hooks/pre-push");
        let text = fs::read_to_string(&hook).unwrap();
        let program = crate::support::bin_dir().join("git-shiftlog--hook");
        for (number, status) in [1, 2, 64, 101, 126, 127, 137].into_iter().enumerate() {
            let stand_in = clone.join(".git/stand-in");
            executable(&stand_in, &format!("#!/bin/sh\nexit {status}\n"));
            fs::write(&hook, text.replace(program.to_str().unwrap(), stand_in.to_str().unwrap())).unwrap();
            team.git(&clone, &["push", "-q", "origin", &format!("main:b{number}")]).ok();
        }
    }
}

#[test]
fn a_file_that_no_agent_wrote_is_recorded_only_by_force() {
    let scratch = Scratch::new();
    let refused = |ran: &Ran, hint: &str| {
        assert_eq!(ran.code, 128, "{ran:?}");
        assert_eq!(ran.stderr, format!("fatal: {hint}\n"));
        assert_ne!(scratch.git(["rev-parse", "-q", "--verify", "refs/notes/shiftlog"]).code, 0);
    };
    let ran = scratch.shiftlog("add", ["--transcript=README"]);
    refused(
        &ran,
        "'README' has no message of Claude Code in it\n\
         hint: --agent=<name> says which agent wrote it; --force records it all the same",
    );
    scratch.write("package.json", "{\n  \"name\": \"x\",\n  \"version\": \"1.0.0\"\n}\n");
    let ran = scratch.shiftlog("add", ["--transcript=package.json", "--agent=codex"]);
    assert!(ran.stderr.starts_with("fatal: 'package.json' has no message of Codex in it\n"), "{ran:?}");
    let codex = "{\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"x\"}}\n";
    scratch.write("rollout.jsonl", codex);
    let ran = scratch.shiftlog("add", ["--transcript=rollout.jsonl"]);
    assert!(ran.stderr.contains("hint: --agent=codex if Codex wrote it; "), "{ran:?}");
    scratch.shiftlog("add", ["--transcript=rollout.jsonl", "--agent=codex", "-q"]).ok();
    scratch.shiftlog("add", ["--transcript=README", "--session=readme", "--force", "-q"]).ok();
    assert_eq!(scratch.raw("HEAD", &["--session=readme"]), "hello\n");
}

#[test]
fn deinit_keeps_in_mind_what_it_could_not_remove_from_the_config() {
    let scratch = Scratch::set_up();
    let ours = || scratch.git(["config", "--local", "--get-regexp", "shiftlog"]).stdout;
    assert_ne!(ours(), "");
    let lock = scratch.top.join(".git/config.lock");
    fs::write(&lock, "").unwrap();
    let ran = scratch.shiftlog("deinit", ["-q"]);
    assert!(ran.code == 128 && ran.stderr.contains("config"), "{ran:?}");
    fs::remove_file(&lock).unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(ours(), "", "the next one removes it");
}

#[test]
fn deinit_removes_a_setting_of_ours_that_stands_twice() {
    let scratch = Scratch::set_up();
    let ours = || scratch.git(["config", "--local", "--get-regexp", "shiftlog"]).stdout;
    let key = "notes.shiftlog.mergeStrategy";
    let value = scratch.git(["config", "--local", key]).ok();
    scratch.git(["config", "--local", "--add", key, value.trim()]).ok();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(ours(), "");
}
