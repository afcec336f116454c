//! Values of Git's config that a user has set, and what `init` and `deinit` do beside them.

use std::fs;

use super::*;
use crate::support::Ran;

const INIT: [&str; 2] = ["--agent=claude", "-q"];

fn level(scratch: &Scratch) -> String {
    scratch.git(["config", "--get", "shiftlog.push"]).stdout
}

fn init(scratch: &Scratch, options: &[&str]) -> Ran {
    scratch.shiftlog("init", [&INIT[..], options].concat())
}

#[track_caller]
fn warned(ran: &Ran, stderr: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, stderr), "{ran:?}");
}

#[test]
fn what_is_asked_for_wins_over_what_a_user_has_set() {
    for place in ["--global", "--local"] {
        let scratch = Scratch::new();
        scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
        scratch.git(["config", place, "shiftlog.push", "all"]).ok();
        let before = scratch.git(["config", "--list", "--show-scope"]).ok();
        for _ in 0..2 {
            warned(&init(&scratch, &["--share=notes"]), "");
            assert_eq!(level(&scratch), "notes\n");
            for _ in 0..2 {
                warned(&init(&scratch, &["--no-share"]), "");
                assert_eq!(level(&scratch), "none\n", "{place}: not more than before");
            }
        }
        let values = scratch.git(["config", "--get-all", "shiftlog.push"]).ok();
        assert_eq!(values, "all\nnone\n", "{place}: the user's stays, and one of ours comes after it");
        let left = scratch.shiftlog("deinit", ["-q"]);
        let stays = "warning: shiftlog.push is 'all' and stays, since nothing says that 'git shiftlog init' set it\n\
                     hint: git config --unset-all --fixed-value shiftlog.push all    # removes it\n";
        warned(&left, if place == "--local" { stays } else { "" });
        assert_eq!(scratch.git(["config", "--list", "--show-scope"]).ok(), before, "{place}");
    }
}

#[test]
fn a_value_that_wins_over_what_is_asked_for_is_told() {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    let wins = |key: &str| {
        format!(
            "warning: {key} is 'all', which 'git shiftlog init' did not set, and wins\n\
             hint: git config --show-origin --get {key}    # says where that is set\n"
        )
    };
    scratch.git(["config", "shiftlog.origin.push", "all"]).ok();
    scratch.git(["config", "shiftlog.gone.push", "all"]).ok();
    for option in ["--share=notes", "--no-share"] {
        warned(&init(&scratch, &[option]), &wins("shiftlog.origin.push"));
    }
    warned(&init(&scratch, &["--share=all"]), "");
    scratch.git(["config", "--remove-section", "shiftlog.origin"]).ok();
    scratch.git(["config", "extensions.worktreeConfig", "true"]).ok();
    scratch.git(["config", "--worktree", "shiftlog.push", "all"]).ok();
    for _ in 0..2 {
        warned(&init(&scratch, &["--share=notes"]), &wins("shiftlog.push"));
        assert_eq!(scratch.git(["config", "--local", "--get-all", "shiftlog.push"]).ok(), "notes\n");
    }
    let ran = scratch.git(["-c", "shiftlog.push=all", "shiftlog", "init", "--agent=claude", "-q", "--no-share"]);
    warned(&ran, &wins("shiftlog.push"));
}

#[test]
fn what_nobody_wrote_down_is_told_and_stays() {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    init(&scratch, &["--share=all"]).ok();
    scratch.git(["remote", "rename", "origin", "upstream"]).ok();
    scratch.git(["config", "shiftlog.hookTimeout", "3"]).ok();
    for options in [&["-q"][..], &["-q", "--purge-refs", "--yes"]] {
        fs::remove_dir_all(scratch.state()).unwrap();
        let ran = scratch.shiftlog("deinit", options);
        assert_eq!(ran.code, 0, "{ran:?}");
        for (key, value) in [("shiftlog.push", "all"), ("shiftlog.hooktimeout", "3")] {
            let told =
                format!("warning: {key} is '{value}' and stays, since nothing says that 'git shiftlog init' set it\n");
            let hint = format!("hint: git config --unset-all --fixed-value {key} {value}    # removes it\n");
            assert!(ran.stderr.contains(&told) && ran.stderr.contains(&hint), "{options:?}: {ran:?}");
        }
        assert_eq!(level(&scratch), "all\n");
        warned(
            &init(&scratch, &[]),
            "warning: a push publishes notes and transcripts: shiftlog.push is 'all', which 'git shiftlog init' did not \
             set\n\
             hint: 'git shiftlog init --no-share' turns that off\n",
        );
    }
    // The refspecs are those of a repository of which nobody wrote down anything; now something is.
    let key = "remote.upstream.fetch";
    let own = "+refs/notes/shiftlog*:refs/shiftlog/remotes/upstream/notes*";
    scratch.git(["config", "--add", key, own]).ok();
    let told = scratch.shiftlog("deinit", ["-q"]).stderr;
    assert!(told.contains(&format!("warning: {key} is '{own}' and stays, ")), "{told}");
    let advice: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
    for line in advice {
        scratch.run_in(&scratch.top, "sh", ["-c", line]).ok();
    }
    assert_eq!(
        (level(&scratch).as_str(), scratch.git(["config", "--get-all", key]).ok().contains("shiftlog")),
        ("", false)
    );
}

#[test]
fn of_entries_that_are_the_same_one_is_ours() {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    init(&scratch, &["--share=notes"]).ok();
    let own = "+refs/notes/shiftlog*:refs/shiftlog/remotes/origin/notes*";
    for typed in 1..3 {
        scratch.git(["config", "--add", "remote.origin.fetch", own]).ok();
        init(&scratch, &["--no-share"]).ok();
        let listed = scratch.git(["config", "--get-all", "remote.origin.fetch"]).ok();
        assert_eq!(listed.lines().filter(|line| *line == own).count(), typed, "{listed}");
        scratch.git(["config", "--unset-all", "--fixed-value", "remote.origin.fetch", own]).ok();
        init(&scratch, &["--share=notes"]).ok();
        (0..typed).for_each(|_| drop(scratch.git(["config", "--add", "remote.origin.fetch", own]).ok()));
    }
}

#[test]
fn an_empty_path_of_hooks_turns_them_off() {
    let mut scratch = Scratch::new();
    if uses_config_hooks(&scratch) {
        return;
    }
    let off = "warning: hooks are turned off: core.hooksPath is empty\n";
    let files = |scratch: &Scratch| {
        let untracked = scratch.git(["status", "--porcelain", "--untracked-files=all"]).ok();
        untracked.lines().filter(|line| !line.contains(".claude")).collect::<String>()
    };
    let before = files(&scratch);
    let environment = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "")];
    let set = |scratch: &mut Scratch, is_on: bool| {
        for (variable, value) in environment {
            scratch.env.remove(variable);
            if is_on {
                scratch.env.insert(variable.into(), value.into());
            }
        }
    };
    // First in the environment alone, as in the shell of an agent; then in the config.
    set(&mut scratch, true);
    for is_in_config in [false, true] {
        warned(&init(&scratch, &[]), off);
        assert_eq!(files(&scratch), before);
        assert!(!scratch.top.join(".git/hooks/post-commit").exists());
        scratch.git(["remote", "add", "--mirror=push", "mirror", "/nowhere"]).ok();
        let said = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
        for event in ["post-commit", "pre-push"] {
            let problem = format!("problem  Git hook {event}: hooks are turned off: core.hooksPath is empty\n");
            assert!(said.contains(&problem), "{said}");
        }
        assert!(said.contains("ok       notes follow rewritten commits\n"), "Git itself copies them: {said}");
        assert!(said.contains("problem  mirror 'mirror': a push to it takes conversations along"), "{said}");
        scratch.git(["remote", "remove", "mirror"]).ok();
        scratch.shiftlog("deinit", ["-q"]).ok();
        set(&mut scratch, false);
        if !is_in_config {
            scratch.git(["config", "core.hooksPath", ""]).ok();
        }
    }
    // What is installed is taken back also where no hook runs now.
    scratch.git(["config", "--unset", "core.hooksPath"]).ok();
    warned(&init(&scratch, &[]), "");
    set(&mut scratch, true);
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".git/hooks/post-commit").exists());
    assert_eq!(files(&scratch), before);
}

#[test]
fn a_path_of_hooks_that_names_no_directory_turns_them_off_until_it_is_there() {
    let scratch = Scratch::new();
    if uses_config_hooks(&scratch) {
        return;
    }
    scratch.git(["config", "core.hooksPath", "no such dir"]).ok();
    let hooks = scratch.top.join("no such dir");
    let off = format!("hooks are turned off: core.hooksPath names '{}', which is not there", hooks.display());
    let told = format!(
        "warning: {off}\nhint: 'git shiftlog init' adds ours once it is there; 'git config --show-origin --get \
         core.hooksPath' says where it is named\n"
    );
    warned(&init(&scratch, &[]), &told);
    assert!(!hooks.exists() && scratch.top.join(".claude/settings.local.json").is_file());
    let doctor = || scratch.shiftlog("doctor", ["--quiet", "--no-rehearsal"]).stdout;
    let fix = format!("mkdir -p '{}' && git shiftlog init", hooks.display());
    let expected = ["post-commit", "post-rewrite", "post-merge", "pre-push"]
        .map(|event| format!("problem  Git hook {event}: {off}\n         fix: {fix}\n"));
    assert_eq!(doctor(), expected.concat());
    scratch.run_in(&scratch.top, "sh", ["-c", &fix]).ok();
    assert_eq!(doctor(), "");
    assert!(hooks.join("post-commit").is_file());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_dir(&hooks).unwrap().count(), 0, "the directory is not ours");
    // The one that Git takes by default is made.
    scratch.git(["config", "--unset", "core.hooksPath"]).ok();
    let _ = fs::remove_dir_all(scratch.top.join(".git/hooks"));
    warned(&init(&scratch, &[]), "");
    assert!(scratch.top.join(".git/hooks/post-commit").is_file());
}

#[test]
fn nothing_is_installed_while_the_config_is_locked() {
    let scratch = Scratch::new();
    let lock = scratch.top.join(".git/config.lock");
    fs::write(&lock, "").unwrap();
    let ran = init(&scratch, &[]);
    let expected = format!(
        "fatal: cannot edit the config: '{}' exists\n\
         hint: a running process holds it, or one that was killed left it behind: then remove it\n",
        lock.display()
    );
    assert_eq!((ran.code, ran.stderr.as_str()), (128, expected.as_str()));
    assert!(!scratch.top.join(".claude").exists() && !scratch.top.join(".git/hooks/post-commit").exists());
    fs::remove_file(&lock).unwrap();
    warned(&init(&scratch, &[]), "");
}
