//! What `init` has done elsewhere, and taking it back.

use super::*;

#[test]
fn deinit_takes_back_what_was_set_up_from_another_worktree() {
    let scratch = Scratch::set_up();
    let other = scratch.root().join("other");
    scratch.git(["worktree", "add", "-q", other.to_str().unwrap()]).ok();
    scratch.shiftlog_in(&other, "init", ["--agent=claude", "-q"]).ok();
    assert!(other.join(".claude/settings.local.json").exists());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!other.join(".claude").exists() && !scratch.top.join(".claude").exists());
    assert!(!scratch.top.join(".git/hooks/post-commit").exists());
}

#[test]
fn sharing_less_than_before_takes_back_the_rest() {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    for share in ["--share=notes", "--share=all", "--share=notes"] {
        scratch.shiftlog("init", ["--agent=claude", "-q", share]).ok();
    }
    assert_eq!(scratch.git(["config", "--get-all", "shiftlog.push"]).ok(), "notes\n");
    assert!(!scratch.git(["config", "--get-all", "remote.origin.fetch"]).ok().contains("sessions"));
}

#[test]
fn files_that_are_none_of_ours_do_not_stop_deinit() {
    let scratch = Scratch::set_up();
    scratch.write(".claude/settings.json", "{ \"hooks\": [] , }} nonsense");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".git/hooks/post-commit").exists());
    scratch.git(["config", "core.hooksPath", "/dev/null"]).ok();
    let ran = scratch.shiftlog("init", ["--agent=claude", "-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "warning: hooks are turned off: '/dev/null' is no directory\n"));
}

#[test]
fn hooks_are_taken_back_from_where_they_were_put() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "core.hooksPath", ".husky"]).ok();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.top.join(".git/hooks/post-commit").exists(), "core.hooksPath came later");
}

#[test]
fn a_tracked_file_is_not_edited_through_a_hook_that_is_a_link() {
    let scratch = Scratch::new();
    scratch.write("tools/hook", "#!/bin/sh\necho ours\n");
    scratch.git(["add", "tools"]).ok();
    scratch.git(["commit", "-q", "-m", "a hook for everybody"]).ok();
    let hooks = scratch.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    std::os::unix::fs::symlink("../../tools/hook", hooks.join("post-commit")).unwrap();
    if uses_config_hooks(&scratch) {
        scratch.shiftlog("init", ["--agent=claude"]).ok();
    } else {
        let said = scratch.shiftlog("init", ["--agent=claude"]).stderr;
        let hook = hooks.join("post-commit");
        let line = "command -v git-shiftlog--hook >/dev/null 2>&1 && git-shiftlog--hook git post-commit || :";
        let expected = format!(
            "warning: '{}' leads to the tracked file 'tools/hook' and is left alone; add this line to that file: {line}\n",
            hook.display()
        );
        assert!(said.contains(&expected), "{said}");
    }
    assert_eq!(scratch.git(["status", "--porcelain", "tools"]).ok(), "", "the tracked file is as it was");
}

/// What the fetch refspecs of remotes say of our refs.
fn fetched(scratch: &Scratch) -> String {
    scratch.git(["config", "--local", "--get-regexp", r"remote\..*\.fetch", "shiftlog"]).stdout
}

/// A repository that shares everything with a remote that has got another name since.
fn renamed() -> Scratch {
    let scratch = Scratch::new();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--share=all"]).ok();
    scratch.git(["remote", "rename", "origin", "upstream"]).ok();
    assert_eq!(fetched(&scratch).lines().filter(|line| line.contains("upstream.fetch")).count(), 3);
    scratch
}

#[test]
fn refspecs_of_a_remote_that_was_renamed_are_known() {
    let scratch = renamed();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--no-share"]).ok();
    assert_eq!(fetched(&scratch), "", "init --no-share");

    let scratch = renamed();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fetched(&scratch), "", "deinit");

    let scratch = renamed();
    fs::remove_file(scratch.top.join(".git/shiftlog/installed")).unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fetched(&scratch), "", "deinit where nobody wrote down what was done");

    // Another remote may have got the name.
    let scratch = renamed();
    scratch.git(["remote", "add", "origin", "/elsewhere"]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--share=notes"]).ok();
    let mut expected = String::new();
    for remote in ["upstream", "origin"] {
        for (ours, copy) in [("refs/notes/shiftlog*", "notes*"), ("refs/shiftlog/purged*", "purged*")] {
            expected += &format!("remote.{remote}.fetch +{ours}:refs/shiftlog/remotes/{remote}/{copy}\n");
        }
    }
    assert_eq!(fetched(&scratch), expected, "init --share");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fetched(&scratch), "");
}

#[test]
fn a_refspec_that_a_user_has_written_stays() {
    let scratch = renamed();
    let own = "+refs/notes/shiftlog*:refs/shiftlog/remotes/mine/notes*";
    scratch.git(["config", "--add", "remote.upstream.fetch", own]).ok();
    scratch.shiftlog("init", ["--agent=claude", "-q", "--no-share"]).ok();
    assert_eq!(fetched(&scratch), format!("remote.upstream.fetch {own}\n"));
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fetched(&scratch), format!("remote.upstream.fetch {own}\n"));
}

#[test]
fn doctor_finds_what_a_renamed_remote_leaves_and_its_advice_mends_it() {
    let scratch = renamed();
    scratch.git(["update-ref", "refs/shiftlog/remotes/origin/notes", "HEAD"]).ok();
    scratch.git(["config", "shiftlog.origin.push", "none"]).ok();
    let doctor = || scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let of_remotes = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("origin")).map(str::to_owned).collect()
    };
    let told = doctor();
    let problem = |ours: &str, copy: &str| {
        format!(
            "problem  remote.upstream.fetch +{ours}:refs/shiftlog/remotes/origin/{copy}: \
             it stores what 'upstream' has as that of 'origin', its name before"
        )
    };
    let remove = "git for-each-ref --format='delete %(refname)' refs/shiftlog/remotes/origin/ | git update-ref --stdin";
    let notes = [
        format!("note     copies of what 'origin' had, which is no remote now, stay; to remove them: {remove}"),
        "problem  shiftlog.origin.push: there is no remote 'origin'; it holds for each remote without an entry"
            .to_owned(),
        "         fix: git config --rename-section shiftlog.origin shiftlog.upstream".to_owned(),
    ];
    let problems = [
        problem("refs/notes/shiftlog*", "notes*"),
        problem("refs/shiftlog/purged*", "purged*"),
        problem("refs/shiftlog/sessions*", "sessions*"),
    ];
    assert_eq!(of_remotes(&told), [&problems[..], &notes].concat());
    assert!(told.contains("note     what others share by 'upstream' is not fetched; "), "{told}");
    assert_eq!(told.matches("fix: git shiftlog init --share=all\n").count(), 3, "{told}");
    scratch.git(["shiftlog", "init", "--share=all", "--agent=claude", "-q"]).ok();
    assert_eq!(of_remotes(&doctor()), notes);
    scratch.run_in(&scratch.top, "sh", ["-c", remove]).ok();
    assert_eq!(of_remotes(&doctor()), notes[1..]);
    scratch.git(["config", "--unset", "shiftlog.push"]).ok();
    let note = "note     shiftlog.origin.push has no effect: there is no remote 'origin'";
    assert_eq!(of_remotes(&doctor()), [note]);

    // A refspec that nobody wrote down is for the user to remove.
    scratch
        .git(["config", "--add", "remote.upstream.fetch", "+refs/notes/shiftlog*:refs/shiftlog/remotes/x/notes*"])
        .ok();
    let told = scratch.shiftlog("doctor", ["--no-rehearsal", "-q"]).stdout;
    let fix = told.lines().find_map(|line| line.trim().strip_prefix("fix: ")).unwrap();
    scratch.run_in(&scratch.top, "sh", ["-c", fix]).ok();
    assert_eq!(scratch.shiftlog("doctor", ["--no-rehearsal", "-q"]).stdout, "");
}

#[test]
fn deinit_says_nothing_of_a_value_that_the_user_has_changed() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "notes.shiftlog.mergeStrategy", "union"]).ok();
    let told = scratch.shiftlog("deinit", [""; 0]).ok();
    assert!(!told.contains("mergeStrategy"), "{told}");
    assert_eq!(scratch.git(["config", "notes.shiftlog.mergeStrategy"]).ok(), "union\n");
    assert_eq!(scratch.shiftlog("deinit", [""; 0]).ok(), "nothing to do\n");
    assert!(!scratch.state().exists());
}

#[test]
fn deinit_leaves_no_lock_behind() {
    let scratch = Scratch::set_up();
    // As any command that stores something.
    fs::write(scratch.state().join("lock"), "").unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!scratch.state().exists());
    let log = scratch.state().join("log");
    fs::create_dir_all(scratch.state()).unwrap();
    fs::write(&log, "what has happened\n").unwrap();
    fs::write(scratch.state().join("lock"), "").unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(log.exists());
}

/// A `git` on `PATH` whose `config --add` waits until the file `go` is there, and makes the file `waits` before that.
fn with_slow_config(scratch: &mut Scratch) -> [std::path::PathBuf; 2] {
    let root = scratch.root();
    let real = scratch.run_in(&root, "sh", ["-c", "command -v git"]).ok();
    let [waits, go] = ["waits", "go"].map(|name| root.join(name));
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' config --local --add notes.'*)\n  : >'{}'\n  until test -e '{}'; do sleep 0.01; done ;;\nesac\n\
         exec {} \"$@\"\n",
        waits.display(),
        go.display(),
        real.trim()
    );
    let slow = root.join("slow");
    fs::create_dir_all(&slow).unwrap();
    fs::write(slow.join("git"), script).unwrap();
    fs::set_permissions(slow.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", slow.display(), scratch.env["PATH"]);
    scratch.env.insert("PATH".to_owned(), path);
    [waits, go]
}

#[test]
fn what_git_config_writes_after_init_was_killed_is_taken_back_by_deinit() {
    let mut scratch = Scratch::new();
    let config = scratch.top.join(".git/config");
    let [waits, go] = with_slow_config(&mut scratch);
    let mut init = scratch.command("git-shiftlog-init", &scratch.top);
    let mut init = init.args(["-q", "--agent=claude", "--no-git-hooks"]).spawn().unwrap();
    while !waits.exists() {
        assert!(init.try_wait().unwrap().is_none(), "it waits for Git");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    init.kill().unwrap();
    init.wait().unwrap();
    let mut deinit = scratch.command("git-shiftlog-deinit", &scratch.top);
    let mut deinit = deinit.arg("-q").spawn().unwrap();
    // One that does not wait has ended by then; if not, the test proves less, and does not fail.
    for _ in 0..100 {
        if deinit.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::write(&go, "").unwrap();
    assert!(deinit.wait().unwrap().success());
    let has_notes = || scratch.git(["config", "--local", "--get-regexp", "^notes\\."]).code == 0;
    assert!(!has_notes() && !scratch.state().exists(), "{}", fs::read_to_string(&config).unwrap());
}
