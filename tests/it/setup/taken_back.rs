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
