//! History that is rewritten where no hook of ours runs, and hooks that run where there is nothing to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Scratch, bin_dir};

/// Makes commits one by one at growing times.
fn tick(scratch: &mut Scratch) {
    let count = scratch.env.get("TICKS").map_or(0, |count| count.parse::<u32>().unwrap()) + 1;
    scratch.env.insert("TICKS".into(), count.to_string());
    for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        scratch.env.insert(name.into(), format!("2026-01-03T{:02}:{:02}:00Z", count / 60, count % 60));
    }
}

fn commit(scratch: &mut Scratch, path: &str, text: &str) -> String {
    tick(scratch);
    scratch.commit(path, text, &format!("change {path}"))
}

/// Sets a repository up with a hook program that only writes down how it was called. Returns where.
fn set_up_with_a_witness(scratch: &Scratch) -> PathBuf {
    let bin = scratch.root().join("installed");
    fs::create_dir_all(&bin).unwrap();
    fs::copy(bin_dir().join("git-shiftlog-init"), bin.join("git-shiftlog-init")).unwrap();
    let calls = scratch.root().join("calls");
    let script = format!("#!/bin/sh\necho \"$*\" >>'{}'\ncat >>'{}'\n", calls.display(), calls.display());
    let hook = bin.join("git-shiftlog--hook");
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    scratch.run_in(&scratch.top, bin.join("git-shiftlog-init").to_str().unwrap(), ["--agent=claude", "-q"]).ok();
    calls
}

fn called(calls: &Path) -> Vec<String> {
    let text = fs::read_to_string(calls).unwrap_or_default();
    let _ = fs::remove_file(calls);
    // The input of a hook is pairs of commits.
    text.lines().filter(|line| line.starts_with("git ")).map(str::to_owned).collect()
}

#[test]
fn a_rebase_starts_our_program_once_at_its_end_however_many_commits_it_picks() {
    let mut scratch = Scratch::new();
    let calls = set_up_with_a_witness(&scratch);
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]).ok();
    for dir in [scratch.top.clone(), linked] {
        let git = |scratch: &Scratch, args: &[&str]| scratch.git_in(&dir, args).ok();
        for name in ["a", "b", "c", "d"] {
            tick(&mut scratch);
            fs::write(dir.join(name), name).unwrap();
            git(&scratch, &["add", name]);
            git(&scratch, &["commit", "-q", "-m", name]);
        }
        fs::write(dir.join("a"), "fixed").unwrap();
        git(&scratch, &["commit", "-q", "-a", "--fixup=HEAD~3"]);
        assert_eq!(called(&calls), ["git post-commit"; 5]);
        git(&scratch, &["commit", "-q", "--amend", "--no-edit"]);
        assert_eq!(called(&calls), ["git post-commit", "git post-rewrite amend"]);
        tick(&mut scratch);
        git(
            &scratch,
            &["-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "--force-rebase", "HEAD~5"],
        );
        assert_eq!(called(&calls), ["git post-rewrite rebase"], "in {}", dir.display());
    }
}

#[test]
fn the_users_own_hooks_see_each_commit_of_a_rebase_and_all_of_its_input() {
    let mut scratch = Scratch::new();
    let user = "#!/bin/sh\necho \"$1\" >>ran\nif test \"$1\"; then cat >>ran; fi\n";
    for name in ["post-commit", "post-rewrite"] {
        let hook = scratch.top.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, user).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut ran = Vec::new();
    for is_set_up in [false, true] {
        if is_set_up {
            set_up_with_a_witness(&scratch);
        }
        for name in ["a", "b"] {
            commit(&mut scratch, &format!("{name}-{is_set_up}"), name);
        }
        scratch.write(&format!("a-{is_set_up}"), "fixed");
        tick(&mut scratch);
        scratch.git(["commit", "-q", "-a", "--fixup=HEAD~1"]).ok();
        tick(&mut scratch);
        let rebase = ["-c", "sequence.editor=true", "rebase", "-q", "-i", "--autosquash", "--force-rebase", "HEAD~3"];
        scratch.git(rebase).ok();
        let text = fs::read_to_string(scratch.top.join("ran")).unwrap();
        fs::remove_file(scratch.top.join("ran")).unwrap();
        let words = text.split_whitespace().map(|word| if word.len() == 40 { "id" } else { word });
        ran.push(words.collect::<Vec<_>>().join(" "));
    }
    assert_eq!(ran[0], ran[1]);
    assert!(ran[0].ends_with("rebase id id id id id id"), "{}", ran[0]);
}
