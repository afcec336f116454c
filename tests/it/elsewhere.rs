//! History that is rewritten where no hook of ours runs, and hooks that run where there is nothing to do.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Scratch, bin_dir, copy_program};

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

/// Attaches a conversation of one line to a commit.
fn says(scratch: &Scratch, revision: &str, words: &str) {
    let file = scratch.root().join("said");
    fs::write(&file, crate::sharing::line(words)).unwrap();
    let args = [revision, "--transcript", file.to_str().unwrap(), "--session", &words.replace(' ', "-"), "-q"];
    scratch.shiftlog("add", args).ok();
}

/// A branch `topic` with two commits that were talked about and one that was not; `main` has moved on.
fn topic() -> Scratch {
    let mut scratch = Scratch::new();
    commit(&mut scratch, "base", "1\n");
    scratch.git(["switch", "-q", "-c", "topic"]).ok();
    commit(&mut scratch, "first", "1\n");
    says(&scratch, "HEAD", "why the first");
    commit(&mut scratch, "plain", "1\n");
    commit(&mut scratch, "second", "1\n");
    says(&scratch, "HEAD", "why the second");
    scratch.git(["switch", "-q", "main"]).ok();
    commit(&mut scratch, "base", "2\n");
    tick(&mut scratch);
    scratch
}

/// Rewrites `topic` onto `main` without a hook, and returns what it was before.
fn replay(scratch: &Scratch) -> String {
    let before = scratch.id("topic");
    let updates = scratch.git(["replay", "--onto", "main", "main..topic"]).ok();
    assert_eq!(scratch.run_with_input("git", ["update-ref", "--stdin"], updates.as_bytes()).code, 0);
    assert_ne!(scratch.id("topic"), before);
    before
}

fn noted(scratch: &Scratch) -> BTreeSet<String> {
    let list = scratch.git(["notes", "--ref=shiftlog", "list"]).ok();
    list.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect()
}

#[test]
fn show_finds_the_conversation_of_a_commit_that_git_replay_made_and_saves_it() {
    let scratch = topic();
    let before = replay(&scratch);
    let shown = scratch.shiftlog("show", ["--raw", "topic"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, crate::sharing::line("why the second").as_str()), "{shown:?}");
    let (new, old) = (scratch.id("topic"), before);
    let said = format!("warning: the conversation of {} was carried to '{}'\n", &old[..7], &new[..7]);
    assert_eq!(shown.stderr, said);
    assert!(noted(&scratch).contains(&new), "it is saved");
    let again = scratch.shiftlog("show", ["--raw", "topic"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""), "it is told once");
    assert_eq!(scratch.shiftlog("show", ["--raw", "topic~1"]).code, 1, "nobody talked about that one");
    assert!(!noted(&scratch).contains(&scratch.id("topic~2")), "nobody asked about the first one");
    scratch.assert_sound();
}

#[test]
fn an_export_has_the_conversation_of_a_commit_that_git_replay_made() {
    let scratch = topic();
    replay(&scratch);
    let exported = scratch.shiftlog("export", ["--markdown", "topic"]);
    assert!(exported.code == 0 && exported.stdout.contains("why the second"), "{exported:?}");
    assert!(exported.stderr.contains(" was carried to "), "{}", exported.stderr);
}

#[test]
fn each_command_that_reads_says_that_a_named_notes_ref_is_not_there() {
    let scratch = topic();
    for (name, args) in [("log", &[][..]), ("stats", &[]), ("export", &["--markdown"]), ("grep", &["why"])] {
        let ran = scratch.shiftlog(name, [&["--ref=nosuch"], args].concat());
        assert!(ran.stderr.starts_with("warning: there is no notes ref 'refs/notes/nosuch'\n"), "{name}: {ran:?}");
    }
}

#[test]
fn log_lists_the_conversations_of_commits_that_git_replay_made() {
    let scratch = topic();
    scratch.shiftlog("log", ["topic"]).ok();
    replay(&scratch);
    let listed = scratch.shiftlog("log", ["--format=%H", "topic"]);
    let expected = format!("{}\n{}\n", scratch.id("topic"), scratch.id("topic~2"));
    assert_eq!((listed.code, listed.stdout.as_str()), (0, expected.as_str()), "{listed:?}");
    assert_eq!(listed.stderr.lines().count(), 2, "{listed:?}");
    assert_eq!(scratch.shiftlog("log", ["topic"]).stderr, "", "it is told once");
}

#[test]
fn a_commit_amended_by_a_library_keeps_its_conversation() {
    let scratch = topic();
    let tree = scratch.id("topic^{tree}");
    let new = scratch.git(["commit-tree", &tree, "-p", "topic~1", "-m", "better words"]).ok();
    scratch.git(["update-ref", "refs/heads/topic", new.trim()]).ok();
    let shown = scratch.shiftlog("show", ["--raw", "topic"]);
    assert_eq!((shown.code, shown.stdout), (0, crate::sharing::line("why the second")));
}

#[test]
fn a_squash_that_a_forge_made_is_found_by_show() {
    let scratch = topic();
    let tree = scratch.git(["merge-tree", "main", "topic"]).ok();
    let new = scratch.git(["commit-tree", tree.trim(), "-p", "main", "-m", "topic (#1)"]).ok();
    scratch.git(["update-ref", "refs/heads/main", new.trim()]).ok();
    let shown = scratch.shiftlog("show", ["--raw", "main"]);
    let said: BTreeSet<&str> = shown.stdout.lines().collect();
    let expected = [crate::sharing::line("why the first"), crate::sharing::line("why the second")];
    assert_eq!(said, expected.iter().map(|line| line.trim_end()).collect(), "{shown:?}");
}

#[test]
fn reading_carries_nothing_where_it_is_turned_off_or_another_ref_is_asked_for() {
    let scratch = topic();
    replay(&scratch);
    let before = noted(&scratch);
    assert_eq!(scratch.shiftlog("show", ["--ref=shiftlog", "topic"]).code, 1);
    scratch.shiftlog("log", ["--ref=shiftlog", "topic"]).ok();
    scratch.git(["config", "shiftlog.carryOnRead", "false"]).ok();
    assert_eq!(scratch.shiftlog("show", ["topic"]).code, 1);
    scratch.shiftlog("log", ["topic"]).ok();
    assert_eq!(noted(&scratch), before);
}

#[test]
fn commits_that_change_one_file_again_and_again_cost_remap_no_process_each() {
    let mut scratch = Scratch::new();
    let lines = |number: usize| (0..number).map(|line| format!("line {line}\n")).collect::<String>();
    for number in 0..24 {
        commit(&mut scratch, "file", &lines(number));
        if number % 2 == 0 {
            says(&scratch, "HEAD", &format!("why {number}"));
        }
    }
    // Git tells in this file which programs it was started as.
    let trace = scratch.root().join("trace");
    scratch.env.insert("GIT_TRACE2_EVENT".into(), trace.to_str().unwrap().into());
    assert_eq!(scratch.shiftlog("remap", [""; 0]).ok(), "");
    let traced = fs::read_to_string(&trace).unwrap();
    let patches = traced.lines().filter(|line| line.contains("\"start\"") && line.contains("\"patch-id\"")).count();
    assert_eq!(patches, 0, "none of them makes the change of another");
}

/// Sets a repository up with a hook program that only writes down how it was called. Returns where.
fn set_up_with_a_witness(scratch: &Scratch) -> PathBuf {
    let bin = scratch.root().join("installed");
    fs::create_dir_all(&bin).unwrap();
    for name in ["git-shiftlog", "git-shiftlog-init"] {
        copy_program(bin_dir().join(name), &bin.join(name));
    }
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

#[test]
fn a_merge_hook_stops_at_its_deadline_writes_nothing_half_and_goes_on_next_time() {
    let scratch = topic();
    says(&scratch, "main", "why the base");
    replay(&scratch);
    let before = noted(&scratch);
    let merged = |seconds: &str| {
        scratch.git(["config", "shiftlog.hookTimeout", seconds]).ok();
        scratch.run_in(&scratch.top, "git-shiftlog--hook", ["git", "post-merge", "0"])
    };
    let ran = merged("0");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert_eq!(noted(&scratch), before, "nothing is written half");
    assert!(scratch.log().contains("carrying records over takes too long here"), "{}", scratch.log());
    merged("5");
    let expected: BTreeSet<String> = ["topic", "topic~2"].iter().map(|name| scratch.id(name)).collect();
    assert_eq!(noted(&scratch).difference(&before).cloned().collect::<BTreeSet<_>>(), expected);
}
