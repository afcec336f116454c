//! `deinit`: what it removes with `--purge-refs`, and what it leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;

use crate::harm::tree;
use crate::setup::uses_config_hooks;
use crate::sharing::Team;
use crate::support::Scratch;

/// A repository with a recorded commit.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("words of ours");
    session.edits("x", "1");
    session.commits("one");
    session.hook("Stop");
    scratch
}

#[test]
fn deinit_with_purge_refs_leaves_nothing_of_ours() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.commit(&a, "x", "1\n", "words of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    fs::write(b.join(".git/info/exclude"), "# mine\n*.o").unwrap();
    team.shiftlog(&b, "deinit", &["-q"]).ok();
    let before = team.git(&b, &["for-each-ref"]).ok();
    let (before_tree, before_config) = (tree(&b), fs::read_to_string(b.join(".git/config")).unwrap());
    team.shiftlog(&b, "init", &["--agent=claude", "--agent=cursor", "--mcp", "--share=all", "-q"]).ok();
    team.git(&b, &["fetch", "-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.says(&b, "HEAD", "words of b");
    team.git(&b, &["notes", "add", "-m", "a note of somebody else's"]).ok();
    let other = team.git(&b, &["rev-parse", "refs/notes/commits"]).ok();
    let refused = team.shiftlog(&b, "deinit", &["--purge-refs"]);
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (128, "fatal: refusing to delete refs without a terminal; use --yes\n")
    );
    let dry = team.shiftlog(&b, "deinit", &["--purge-refs", "-n"]).ok();
    for name in [
        "refs/notes/shiftlog",
        "refs/shiftlog/sessions",
        "refs/shiftlog/kept/sessions",
        "refs/shiftlog/remotes/origin/notes",
    ] {
        assert!(dry.contains(&format!("delete {name}\n")), "{name}: {dry}");
        team.git(&b, &["rev-parse", "-q", "--verify", name]).ok();
    }
    assert_eq!(team.shiftlog(&b, "deinit", &["--purge-refs", "--yes"]).ok(), dry, "it did what it said");
    assert_eq!(team.git(&b, &["rev-parse", "refs/notes/commits"]).ok(), other);
    team.git(&b, &["update-ref", "-d", "refs/notes/commits"]).ok();
    let mut after = team.git(&b, &["for-each-ref"]).ok();
    // The fetch brought the commit of a colleague.
    after = after.replace(team.id(&b, "origin/main").as_str(), before.split(' ').next().unwrap());
    assert_eq!(after, before);
    assert_eq!(fs::read_to_string(b.join(".git/info/exclude")).unwrap(), "# mine\n*.o");
    assert_eq!(fs::read_to_string(b.join(".git/config")).unwrap(), before_config);
    for path in [".git/shiftlog", ".git/refs/shiftlog", ".git/logs/refs/shiftlog"] {
        assert!(!b.join(path).exists(), "{path}");
    }
    let kept = |tree: Vec<(String, Vec<u8>)>| -> Vec<String> {
        let names = tree.into_iter().map(|(name, _)| name);
        names.filter(|name| !name.contains("refs") && !name.contains("logs") && !name.contains("FETCH_HEAD")).collect()
    };
    let (after, before) = (kept(tree(&b)), kept(before_tree));
    let (after, before): (Vec<_>, Vec<_>) = (
        after
            .iter()
            .filter(|name| !["COMMIT_EDITMSG", "NOTES", "said"].iter().any(|other| name.contains(other)))
            .collect(),
        before.iter().collect(),
    );
    assert_eq!(after, before);
}

/// The hooks were gone, and the refs were still there.
#[test]
fn deinit_with_purge_refs_takes_nothing_back_while_a_ref_is_locked() {
    let scratch = recorded();
    let session = scratch.session("s2");
    let lock = scratch.top.join(".git/refs/notes/shiftlog.lock");
    fs::write(&lock, "").unwrap();
    let before = tree(&scratch.top);
    let ran = scratch.shiftlog("deinit", ["--purge-refs", "--yes"]);
    assert!(ran.code == 128 && ran.stderr.contains("shiftlog.lock'"), "{ran:?}");
    assert_eq!(tree(&scratch.top), before);
    // What waits is counted, and named where it stays.
    session.prompt("a second question");
    session.edits("x", "2");
    session.commits("two");
    session.hook("Stop");
    fs::remove_file(&lock).unwrap();
    assert!(scratch.shiftlog("deinit", ["-n", "--purge-refs"]).ok().contains("1 commit, and 1 pending capture\n"));
    assert!(scratch.shiftlog("deinit", ["-q"]).stderr.contains("warning: 1 capture waits to be recorded\n"));
    assert!(scratch.shiftlog("log", [""; 0]).ok().contains("a second question"));
}

#[test]
fn notes_of_others_are_never_deleted_with_ours() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.notesRef", "refs/notes/commits"]).ok();
    let session = scratch.session("s1");
    session.prompt("words of ours");
    session.edits("x", "1");
    session.commits("one");
    session.hook("Stop");
    assert!(scratch.git(["notes", "show"]).ok().contains("words of ours"));
    scratch.git(["notes", "add", "-m", "my own note", "HEAD~1"]).ok();
    let ran = scratch.shiftlog("deinit", ["--purge-refs", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("warning: 'refs/notes/commits' also has notes of others, and is kept\n"), "{ran:?}");
    assert!(!ran.stdout.contains("delete refs/notes/commits"), "{ran:?}");
    assert_eq!(scratch.git(["notes", "show", "HEAD~1"]).ok(), "my own note\n");
}

#[test]
fn a_note_of_the_users_in_our_ref_is_kept() {
    let scratch = recorded();
    scratch.git(["notes", "--ref=shiftlog", "add", "-m", "my journal", "HEAD~1"]).ok();
    let ran = scratch.shiftlog("deinit", ["--purge-refs", "--yes"]);
    assert!(ran.stderr.contains("warning: 'refs/notes/shiftlog' also has notes of others, and is kept\n"), "{ran:?}");
    assert_eq!(scratch.git(["notes", "--ref=shiftlog", "show", "HEAD~1"]).ok(), "my journal\n");
}

#[test]
fn a_hook_that_another_program_has_moved_aside_loses_our_part_too() {
    for ending in ["legacy", "old"] {
        let scratch = Scratch::new();
        let hooks = scratch.top.join(".git/hooks");
        let [hook, aside] = ["post-commit".to_owned(), format!("post-commit.{ending}")].map(|name| hooks.join(name));
        fs::create_dir_all(&hooks).unwrap();
        fs::write(&hook, "#!/bin/sh\necho mine\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        // As pre-commit does, which goes on running what was there.
        fs::rename(&hook, &aside).unwrap();
        let theirs = format!("#!/bin/sh\n.git/hooks/post-commit.{ending}\n");
        fs::write(&hook, &theirs).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let has_ours = |path: &Path| fs::read_to_string(path).unwrap().contains("git-shiftlog--hook");

        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        assert!(has_ours(&hook) && !has_ours(&aside), "it runs once");
        fs::write(&hook, &theirs).unwrap();
        fs::copy(&aside, hooks.join("kept")).unwrap();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        fs::rename(&hook, &aside).unwrap();
        fs::write(&hook, &theirs).unwrap();

        scratch.shiftlog("deinit", ["-q"]).ok();
        let left = fs::read_dir(&hooks).unwrap().map(|entry| entry.unwrap().path());
        let left: Vec<_> = left.filter(|path| path.is_file() && has_ours(path)).collect();
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(fs::read_to_string(&hook).unwrap(), theirs);
        assert_eq!(fs::read_to_string(hooks.join("kept")).unwrap(), "#!/bin/sh\necho mine\n");
    }
}

#[test]
fn who_has_hooks_that_lefthook_writes_is_told_that_it_writes_them_anew() {
    let scratch = Scratch::new();
    let hook = scratch.top.join(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nlefthook run post-commit \"$@\"\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let remark = "lefthook writes hooks anew when it is installed or configured; run 'git shiftlog init' after that";
    let init = || scratch.shiftlog("init", ["--agent=claude"]);
    let first = init();
    assert!(first.stdout.contains(remark) || first.stderr.contains(remark), "{first:?}");
    let second = init();
    assert!(!second.stdout.contains(remark) && !second.stderr.contains(remark), "nothing was added: {second:?}");
}

#[test]
fn a_removal_that_is_killed_while_it_puts_the_config_back_leaves_no_copy_of_it() {
    let mut scratch = Scratch::new();
    let before = tree(&scratch.top.join(".git"));
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    scratch.env.insert("SHIFTLOG_FAULT".into(), "half-written".into());
    assert_ne!(scratch.shiftlog("deinit", ["-q"]).code, 0);
    scratch.env.remove("SHIFTLOG_FAULT");
    let copy = scratch.top.join(".git/.config.shiftlog-new");
    assert!(copy.exists(), "it was killed there");
    fs::remove_file(scratch.top.join(".git/config.lock")).unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!copy.exists());
    let names = |tree: Vec<(String, Vec<u8>)>| tree.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(tree(&scratch.top.join(".git"))), names(before));
}

#[test]
fn a_hook_that_is_a_link_to_a_file_beside_it_keeps_our_part_however_often_init_runs() {
    let scratch = Scratch::new();
    let hooks = scratch.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let script = hooks.join("post-commit.sh");
    fs::write(&script, "#!/bin/sh\necho mine\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("post-commit.sh", hooks.join("post-commit")).unwrap();
    fs::write(
        hooks.join("NOTES"),
        "# >>> git-shiftlog >>> ('git shiftlog deinit' removes this block)\nis how ours begin\n",
    )
    .unwrap();
    for _ in 0..3 {
        let ran = scratch.shiftlog("init", ["--agent=claude"]);
        assert!(!ran.ok().contains("restore"));
        assert!(fs::read_to_string(&script).unwrap().contains("git-shiftlog--hook"));
    }
    let left = scratch.shiftlog("deinit", [""; 0]);
    assert_eq!((left.code, left.stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&script).unwrap(), "#!/bin/sh\necho mine\n");
}

#[test]
fn files_of_a_worktree_that_was_removed_are_nothing_to_tell_of() {
    let scratch = Scratch::new();
    let place = scratch.root().join("place");
    scratch.git(["worktree", "add", "-q", "-b", "topic", place.to_str().unwrap()]).ok();
    scratch.shiftlog_in(&place, "init", ["--agent=claude", "-q"]).ok();
    scratch.git(["worktree", "remove", "--force", place.to_str().unwrap()]).ok();
    let ran = scratch.shiftlog("deinit", ["-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!scratch.top.join(".git/hooks/post-commit").exists());
}

#[test]
fn a_command_that_only_looks_leaves_nothing_in_a_repository_that_was_never_set_up() {
    let scratch = Scratch::new();
    scratch.commit("a.txt", "a\n", "first");
    for command in ["doctor", "status", "log", "show", "branches", "stats", "fsck"] {
        scratch.shiftlog(command, [""; 0]);
        assert!(!scratch.top.join(".git/shiftlog").exists(), "{command}");
    }
}

#[test]
fn a_hook_whose_block_lost_a_mark_is_found_mended_and_taken_back() {
    if uses_config_hooks(&Scratch::set_up()) {
        return;
    }
    for (mark, event) in [("<<< git", "post-commit"), (">>> git", "pre-push"), ("<<< git", "post-rewrite")] {
        let scratch = Scratch::new();
        scratch.write(".git/hooks/pre-push", "#!/bin/sh\necho mine >&2\n");
        let own = scratch.top.join(".git/hooks/pre-push");
        fs::set_permissions(own, fs::Permissions::from_mode(0o755)).unwrap();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let hook = scratch.top.join(".git/hooks").join(event);
        let whole = fs::read_to_string(&hook).unwrap() + "echo later\n";
        let damaged: String = whole.split_inclusive('\n').filter(|line| !line.contains(mark)).collect();
        fs::write(&hook, &damaged).unwrap();
        let told = scratch.shiftlog("doctor", ["--no-rehearsal", "-q"]);
        assert_eq!(told.code, 1, "{told:?}");
        assert!(told.stdout.contains(&format!("Git hook {event}: not installed")), "{told:?}");
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        assert_eq!(fs::read_to_string(&hook).unwrap(), whole, "{event}");
        fs::write(&hook, &damaged).unwrap();
        scratch.shiftlog("deinit", ["-q"]).ok();
        let left = fs::read_to_string(&hook).unwrap();
        assert!(!left.contains("shiftlog") && left.ends_with("echo later\n"), "{event}: {left}");
        // What nothing tells from a user's lines stays, and is told of.
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let edited = whole.replacen("git-shiftlog--hook", "other-hook", 9).replace("<<< git", "<<< other");
        fs::write(&hook, format!("{edited}git-shiftlog--hook\n")).unwrap();
        let told = scratch.shiftlog("deinit", ["-q"]);
        assert_eq!(told.code, 1, "{event}: {told:?}");
        assert!(told.stderr.contains("our part of it was changed since it was made"), "{told:?}");
    }
}

#[test]
fn lines_that_somebody_has_put_into_our_block_and_copies_of_a_hook_stay() {
    if uses_config_hooks(&Scratch::set_up()) {
        return;
    }
    let end = "# <<< git-shiftlog <<<\n";
    for command in ["init", "deinit"] {
        let scratch = Scratch::new();
        let hooks = scratch.top.join(".git/hooks");
        let hook = hooks.join("post-commit");
        scratch.write(".git/hooks/post-commit", "#!/bin/sh\necho mine\n");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        let whole = fs::read_to_string(&hook).unwrap();
        fs::copy(&hook, hooks.join("post-commit.bak")).unwrap();
        let low = whole.replace(end, "") + end;
        for edited in [low, whole.replace(end, &format!("echo one\n{end}"))] {
            fs::write(&hook, &edited).unwrap();
            let agents: &[&str] = if command == "init" { &["--agent=claude", "-q"] } else { &["-q"] };
            scratch.shiftlog(command, agents.iter().copied()).ok();
            let left = fs::read_to_string(&hook).unwrap();
            assert_eq!(left.contains("git-shiftlog--hook"), command == "init", "{left}");
            assert!(
                left.contains("echo mine\n") && left.contains("echo one\n") == edited.contains("echo one\n"),
                "{left}"
            );
            assert_eq!(fs::read_to_string(hooks.join("post-commit.bak")).unwrap(), whole);
            scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
        }
    }
}

#[test]
fn a_hook_of_which_not_all_of_ours_can_go_stays_as_it_is() {
    if uses_config_hooks(&Scratch::set_up()) {
        return;
    }
    let scratch = Scratch::set_up();
    let hook = scratch.top.join(".git/hooks/post-commit");
    let whole = fs::read_to_string(&hook).unwrap();
    let block = whole.strip_prefix("#!/bin/sh\n").unwrap();
    let (begin, end) =
        ("# >>> git-shiftlog >>> ('git shiftlog deinit' removes this block)\n", "# <<< git-shiftlog <<<\n");
    // A second block that somebody has edited, and a condition around ours, without which a shell parses nothing of it.
    let edited = format!("{whole}{begin}sudo git-shiftlog--hook git post-commit; echo theirs\n{end}");
    for text in [edited, format!("#!/bin/sh\necho mine\nif false; then\n{block}fi\n")] {
        fs::write(&hook, &text).unwrap();
        let told = scratch.shiftlog("doctor", ["--no-rehearsal", "-q"]);
        assert!(told.stdout.contains("problem  Git hook post-commit: our part of it was edited"), "{told:?}");
        let left = scratch.shiftlog("deinit", ["-q"]);
        assert_eq!(left.code, 1, "{left:?}");
        assert!(left.stderr.contains("our part of it was changed since it was made"), "{left:?}");
        assert_eq!(fs::read_to_string(&hook).unwrap(), text);
        scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    }
}

#[test]
fn a_second_notes_ref_stays_known_as_ours_after_a_purge() {
    let scratch = Scratch::set_up();
    scratch.git(["init", "-q", "--bare", "../server.git"]).ok();
    scratch.git(["remote", "add", "origin", "../server.git"]).ok();
    for (session, name) in [("s1", "shiftlog"), ("s2", "mine")] {
        let line = |text: &str| {
            let message = json!({ "role": "user", "content": text });
            format!("{}\n", json!({ "type": "user", "sessionId": session, "message": message }))
        };
        fs::write(scratch.root().join("said"), line("Ferdinand") + &line("and more")).unwrap();
        scratch.shiftlog("add", ["-q", "--transcript=../said", &format!("--ref={name}")]).ok();
    }
    scratch.shiftlog("purge", ["-y", "--ref=mine", "--match=Ferdinand"]).ok();
    for refspec in ["refs/notes/mine", "refs/notes/mine:refs/heads/x"] {
        let pushed = scratch.git(["push", "origin", refspec]);
        assert!(pushed.code != 0 && pushed.stderr.contains("takes conversations along"), "{refspec}: {pushed:?}");
    }
    scratch.shiftlog("deinit", ["--purge-refs", "-y", "-q"]).ok();
    assert_eq!(scratch.git(["for-each-ref", "--format=%(refname)"]).ok(), "refs/heads/main\n");
}
