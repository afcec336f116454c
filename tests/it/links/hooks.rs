//! Git hooks that are links: to nothing yet, several to one file, to a file outside; and a directory of hooks that is one.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::support::Ran;

fn executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A repository, and its directory of hooks, where Git takes hooks from files; `None` elsewhere.
fn with_hooks() -> Option<(Scratch, PathBuf)> {
    let scratch = Scratch::new();
    let hooks = scratch.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    (!uses_config_hooks(&scratch)).then_some((scratch, hooks))
}

/// A repository with a hook that is a link to nothing; the files that it has then, and the file that the link is for.
fn with_dangling_hook(target: &str) -> Option<(Scratch, BTreeMap<String, String>, PathBuf)> {
    let (scratch, hooks) = with_hooks()?;
    symlink(target, hooks.join("post-commit")).unwrap();
    // For a link that leads to another one.
    symlink("hook.sh", scratch.top.join("first")).unwrap();
    let file = if target.ends_with("first") { "../../hook.sh" } else { target };
    let before = tree(&scratch.top);
    let file = hooks.join(file);
    Some((scratch, before, file))
}

#[test]
fn a_hook_that_is_a_link_to_nothing_is_such_a_link_again_after_deinit() {
    for target in ["../../hook.sh", "../../new/folder/hook.sh", "../../first"] {
        for is_known in [true, false] {
            let Some((scratch, before, file)) = with_dangling_hook(target) else { return };
            scratch.shiftlog("init", ["-q", "-y", "--agent=claude"]).ok();
            assert!(fs::read_to_string(&file).unwrap().contains(" git post-commit "), "{target}: the file is made");
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o111, 0o111);
            assert_eq!(fs::read_link(scratch.top.join("first")).unwrap(), Path::new("hook.sh"), "a link stays");
            assert_eq!(scratch.shiftlog("init", ["-y", "--agent=claude"]).ok(), "nothing to do\n");
            if !is_known {
                scratch.lose_state();
            }
            scratch.shiftlog("deinit", ["-q", "-y"]).ok();
            let mut after = tree(&scratch.top);
            if !is_known {
                // Directories are known from the record alone.
                after.retain(|name, _| !name.starts_with("new"));
                assert!(!file.exists());
            }
            assert_same(&after, &before, target);
        }
    }
}

#[test]
fn a_killed_run_that_wrote_through_a_link_to_nothing_is_finished_by_deinit() {
    let kill = |scratch: &Scratch, command: &str, point: &str| -> Ran {
        let mut program = scratch.command("git", &scratch.top);
        program.env("SHIFTLOG_FAULT", point).args(["shiftlog", command, "-q", "-y"]);
        Ran::of(program.output().unwrap())
    };
    for target in ["../../new/hook.sh", "../../first"] {
        // The steps of the hooks come first.
        for point in ["half-written", "init-0-planned", "init-0-done", "init-1-planned"] {
            let Some((scratch, before, file)) = with_dangling_hook(target) else { return };
            assert_ne!(kill(&scratch, "init", point).code, 0, "{point}");
            scratch.shiftlog("deinit", ["-q", "-y"]).ok();
            assert_same(&tree(&scratch.top), &before, &format!("{target}: init, {point}"));
            scratch.shiftlog("init", ["-q", "-y", "--agent=claude"]).ok();
            assert!(file.is_file());
            let point = point.replace("half-written", "init-2-planned");
            assert_ne!(kill(&scratch, "deinit", &point).code, 0, "{point}");
            scratch.shiftlog("deinit", ["-q", "-y"]).ok();
            assert_same(&tree(&scratch.top), &before, &format!("{target}: deinit, {point}"));
            assert!(!scratch.state().exists(), "{target}: {point}");
        }
    }
}

const THEIR_HOOK: &str = "#!/bin/sh\necho \"${0##*/}\" >>ran\n";

/// The lines of `doctor` about Git's hooks.
fn told_of_hooks(scratch: &Scratch) -> Vec<String> {
    let told = scratch.shiftlog("doctor", ["--no-rehearsal"]).stdout;
    let lines: Vec<&str> = told.lines().collect();
    let is_of_hook = |number: usize| lines[number].contains("  Git hook ");
    let shown = (0..lines.len()).filter(|number| {
        is_of_hook(*number) || *number > 0 && is_of_hook(number - 1) && lines[*number].starts_with("         ")
    });
    shown.map(|number| lines[number].to_owned()).collect()
}

#[test]
fn hooks_that_are_links_to_one_file_are_left_alone() {
    let Some((scratch, hooks)) = with_hooks() else { return };
    let file = hooks.join("d");
    executable(&file, THEIR_HOOK);
    symlink("d", hooks.join("post-commit")).unwrap();
    symlink("d", hooks.join("pre-push")).unwrap();
    let before = tree(&scratch.top);
    let program = crate::support::bin_dir().join("git-shiftlog--hook");
    let program = program.to_str().unwrap();
    let commit =
        format!("case \"${{0##*/}}\" in post-commit) test -x {program} && {program} git post-commit || : ;; esac");
    let push = format!(
        "case \"${{0##*/}}\" in pre-push) ! test -x {program} || \
         {{ {program} git pre-push \"$@\"; test $? -ne 113; }} || exit 1 ;; esac"
    );
    let warning = |event: &str, other: &str, line: &str| {
        let path = hooks.join(event);
        format!(
            "warning: '{}' leads to the same file '{}' as the hook {other} and is left alone; add this line to that file: {line}\n",
            path.display(),
            file.display()
        )
    };
    let expected = warning("post-commit", "pre-push", &commit) + &warning("pre-push", "post-commit", &push);
    for _ in 0..2 {
        let ran = scratch.shiftlog("init", ["-q", "--agent=claude"]);
        assert_eq!((ran.code, ran.stderr), (0, expected.clone()));
        assert_eq!(fs::read_to_string(&file).unwrap(), THEIR_HOOK);
    }
    let problem = |event: &str, other: &str, line: &str| {
        let it = format!("it leads to the same file '{}' as the hook {other}, so init leaves it alone", file.display());
        [format!("problem  Git hook {event}: {it}"), format!("         fix: add this line to that file: {line}")]
    };
    let ok = |event: &str| format!("ok       Git hook {event}");
    let [first, second] = [problem("post-commit", "pre-push", &commit), problem("pre-push", "post-commit", &push)];
    let told = [&first[..], &[ok("post-rewrite"), ok("post-merge")], &second].concat();
    assert_eq!(told_of_hooks(&scratch), told);
    // What is advised does what our own block does, for each hook alone.
    executable(&file, &format!("{THEIR_HOOK}{commit}\n{push}\n"));
    assert_eq!(told_of_hooks(&scratch), ["post-commit", "post-rewrite", "post-merge", "pre-push"].map(ok));
    let ran = scratch.shiftlog("init", ["--agent=claude"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("nothing to do\n", ""));
    let fake = scratch.root().join("bin/fake");
    executable(&fake, &format!("#!/bin/sh\necho \"$@\" >>'{}'\n", scratch.root().join("told").display()));
    let text = fs::read_to_string(&file).unwrap().replace(program, fake.to_str().unwrap());
    executable(&file, &text);
    scratch.commit("a.txt", "a\n", "one");
    let remote = scratch.root().join("remote");
    scratch.git(["init", "-q", "--bare", remote.to_str().unwrap()]).ok();
    scratch.git(["push", "-q", remote.to_str().unwrap(), "HEAD:refs/heads/main"]).ok();
    let remote = remote.display();
    let told = fs::read_to_string(scratch.root().join("told")).unwrap();
    assert_eq!(told, format!("git post-commit\ngit pre-push {remote} {remote}\n"));
    assert_eq!(fs::read_to_string(scratch.top.join("ran")).unwrap(), "post-commit\npre-push\n");
    executable(&file, THEIR_HOOK);
    scratch.shiftlog("deinit", ["-q"]).ok();
    for name in [".git/hooks/d", ".git/hooks/post-commit", ".git/hooks/pre-push", ".git/hooks/post-rewrite"] {
        assert_eq!(tree(&scratch.top).get(name), before.get(name), "{name}");
    }
}

#[test]
fn a_block_that_was_put_into_a_file_of_several_hooks_is_taken_out_of_it() {
    let Some((scratch, hooks)) = with_hooks() else { return };
    executable(&hooks.join("post-commit"), THEIR_HOOK);
    scratch.shiftlog("init", ["-q", "--agent=claude"]).ok();
    fs::rename(hooks.join("post-commit"), hooks.join("d")).unwrap();
    fs::remove_file(hooks.join("pre-push")).unwrap();
    symlink("d", hooks.join("post-commit")).unwrap();
    symlink("d", hooks.join("pre-push")).unwrap();
    assert_eq!(told_of_hooks(&scratch).iter().filter(|line| line.starts_with("problem")).count(), 1, "pre-push");
    let ran = scratch.shiftlog("init", ["-q", "--agent=claude"]);
    assert_eq!(ran.stderr.matches(" and is left alone; add this line to that file: case ").count(), 2, "{ran:?}");
    assert_eq!(fs::read_to_string(hooks.join("d")).unwrap(), THEIR_HOOK);
    assert!(hooks.join("pre-push").is_symlink());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read_to_string(hooks.join("d")).unwrap(), THEIR_HOOK);
    assert!(!scratch.state().exists());
}

#[test]
fn a_hook_with_the_block_of_another_one_is_not_set_up() {
    let Some((scratch, hooks)) = with_hooks() else { return };
    scratch.shiftlog("init", ["-q", "--agent=claude"]).ok();
    let good = fs::read_to_string(hooks.join("pre-push")).unwrap();
    executable(&hooks.join("pre-push"), &fs::read_to_string(hooks.join("post-commit")).unwrap());
    let told = told_of_hooks(&scratch);
    assert_eq!(told[3..], ["problem  Git hook pre-push: not installed", "         fix: git shiftlog init"]);
    scratch.shiftlog("init", ["-q", "--agent=claude"]).ok();
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).unwrap(), good);
    assert_eq!(told_of_hooks(&scratch).len(), 4);
}

#[test]
fn an_obstructed_hook_stays_known_where_the_directory_is_a_link() {
    for directory in ["../hooks-of-mine", "../../hooks-outside"] {
        let Some((scratch, hooks)) = with_hooks() else { return };
        fs::remove_dir_all(&hooks).unwrap();
        symlink(directory, &hooks).unwrap();
        fs::create_dir(scratch.top.join(".git").join(directory)).unwrap();
        let before = tree(&scratch.top);
        scratch.shiftlog("init", ["-q", "-y", "--agent=claude"]);
        let hook = hooks.join("post-commit");
        fs::remove_file(&hook).unwrap();
        fs::create_dir(&hook).unwrap();
        for _ in 0..2 {
            let ran = scratch.shiftlog("deinit", ["-q", "-y"]);
            assert!(ran.code == 1 && ran.stderr.contains("post-commit': it is not a regular file\n"), "{ran:?}");
        }
        fs::remove_dir(&hook).unwrap();
        scratch.shiftlog("deinit", ["-q", "-y"]).ok();
        assert_same(&tree(&scratch.top), &before, directory);
        assert!(!scratch.state().exists(), "{directory}");
    }
}

#[test]
fn a_hook_outside_that_is_left_alone_first_comes_back_byte_for_byte_later() {
    let Some((scratch, hooks)) = with_hooks() else { return };
    let outside = scratch.root().join("outside.sh");
    // No line end, and nothing in it: without a record, nobody could tell.
    executable(&outside, "#!/bin/sh");
    symlink(&outside, hooks.join("post-commit")).unwrap();
    scratch.shiftlog("init", ["-q", "-y", "--agent=claude"]).ok();
    let ran = scratch.shiftlog("deinit", ["-q"]);
    assert!(ran.stderr.contains(" outside this repository, and is left alone\n"), "{ran:?}");
    assert!(fs::read_to_string(&outside).unwrap().contains("git-shiftlog"));
    scratch.shiftlog("deinit", ["-q", "-y"]).ok();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "#!/bin/sh");
    assert!(!scratch.state().exists());
}

#[test]
fn hooks_that_are_hard_links_stay_one_file_and_are_named() {
    use std::os::unix::fs::MetadataExt as _;

    let Some((scratch, hooks)) = with_hooks() else { return };
    let names = ["post-commit", "pre-commit", "pre-push"];
    executable(&hooks.join(names[0]), THEIR_HOOK);
    names[1..].iter().for_each(|name| fs::hard_link(hooks.join(names[0]), hooks.join(name)).unwrap());
    let before = tree(&scratch.top);
    let ran = scratch.shiftlog("init", ["-q", "--agent=claude"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for (name, other) in [("post-commit", "pre-commit"), ("pre-push", "post-commit")] {
        let told = format!(
            "warning: '{}' is the same file as the hook {other} and is left alone; add this line to that file: \
             case \"${{0##*/}}\" in {name}) ",
            hooks.join(name).display()
        );
        assert!(ran.stderr.contains(&told), "{name}: {ran:?}");
    }
    let inodes = || names.map(|name| hooks.join(name).metadata().unwrap().ino());
    assert_eq!(inodes(), [inodes()[0]; 3]);
    assert_eq!(fs::read_to_string(hooks.join("pre-push")).unwrap(), THEIR_HOOK);
    assert!(hooks.join("post-rewrite").is_file(), "the others are made");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_same(&tree(&scratch.top), &before, "deinit");
    assert_eq!(inodes(), [inodes()[0]; 3]);
}
