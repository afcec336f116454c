//! A bad day: files that cannot be read, a network that does not answer, pushes of the user's own.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::sharing::Team;
use crate::support::{Ran, Scratch, feed};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn words_that_cannot_be_read_at_the_moment_wait_for_their_commit() {
    for is_stored in [false, true] {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        if is_stored {
            session.prompt("before");
            session.edits("a.txt", "0\n");
            session.commits("before");
            session.hook("Stop");
        }
        session.prompt("FIRST");
        session.edits("a.txt", "1\n");
        session.calls("call", "Bash", &serde_json::json!({ "command": "git commit -m first" }));
        let aside = session.transcript.with_extension("aside");
        fs::rename(&session.transcript, &aside).unwrap();
        fs::create_dir(&session.transcript).unwrap();
        scratch.git(["add", "-A"]).ok();
        let mut command = scratch.command("git", &scratch.top);
        command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["commit", "-q", "-m", "first"]);
        assert_eq!(feed(&mut command, b"").code, 0);
        assert_eq!(scratch.waiting(), 1, "stored before: {is_stored}: {}", scratch.log());
        fs::remove_dir(&session.transcript).unwrap();
        fs::rename(&aside, &session.transcript).unwrap();
        session.answers("call", "[main 1234567] first");
        session.hook("Stop");
        session.prompt("SECOND");
        session.edits("a.txt", "2\n");
        session.commits("second");
        let (first, second) = (scratch.raw("HEAD~1", &[]), scratch.raw("HEAD", &[]));
        assert!(first.contains("FIRST") && !first.contains("SECOND"), "{first}");
        assert!(second.contains("SECOND") && !second.contains("FIRST"), "{second}");
        assert_eq!(scratch.waiting(), 0);
        scratch.assert_sound();
    }
}

#[test]
fn reading_a_transcript_ends_with_the_time_of_a_hook() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    let session = scratch.session("s1");
    session.prompt("short");
    session.edits("a.txt", "1\n");
    // A terabyte without a line end, most of which is a hole: nobody reads that in a second.
    let file = fs::OpenOptions::new().append(true).open(&session.transcript).unwrap();
    file.set_len(1 << 40).unwrap();
    scratch.git(["add", "-A"]).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["commit", "-q", "-m", "one"]);
    assert_eq!(feed(&mut command, b"").code, 0);
    assert_eq!(scratch.waiting(), 1, "it is kept for later");
}

#[test]
fn a_hook_fetches_nothing_in_a_partial_clone() {
    let team = Team::new();
    team.git(&team.server, &["config", "uploadpack.allowFilter", "true"]).ok();
    let a = team.clone_of("a", &[]);
    let said = team.scratch.session_in("live", &a);
    said.prompt("FIRST");
    said.edits("x", "1\n");
    said.commits("one");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.clone_of("b", &["--filter=blob:none"]);
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    // From here on the network does not answer: the remote helper leaves a trace and fails.
    let trace = b.join(".git/asked");
    let script = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", trace.display());
    let ssh = team.scratch.root().join("ssh");
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    team.git(&b, &["config", "core.sshCommand", ssh.to_str().unwrap()]).ok();
    team.git(&b, &["remote", "set-url", "origin", "ssh://example.invalid/x"]).ok();
    // The session goes on here, with what it said before.
    let goes_on = team.scratch.session_in("live", &b);
    goes_on.append(said.text().as_bytes());
    goes_on.prompt("SECOND");
    goes_on.edits("x", "2\n");
    goes_on.commits("two");
    assert!(!trace.exists(), "a commit waits for no network");
    assert!(team.shiftlog(&b, "show", &["--raw"]).stdout.contains("SECOND"));
}

#[test]
fn a_sync_leaves_objects_that_it_does_not_take_to_git() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // A link among the notes, to bytes that somebody adds to the index of another clone.
    let with_input = |args: &[&str], input: &[u8]| {
        let mut command = team.scratch.command("git", &a);
        command.args(args);
        feed(&mut command, input).ok()
    };
    let blob = with_input(&["hash-object", "-w", "--stdin"], b"shared content\n");
    let listed = team.git(&a, &["ls-tree", "refs/notes/shiftlog"]).ok();
    let tree = format!("{listed}120000 blob {}\tlink\n", blob.trim());
    let tree = with_input(&["mktree"], tree.as_bytes());
    let commit = team.git(&a, &["commit-tree", tree.trim(), "-p", "refs/notes/shiftlog", "-m", "x"]).ok();
    team.git(&a, &["push", "-q", "--no-verify", "origin", &format!("{}:refs/notes/shiftlog", commit.trim())]).ok();
    assert!(team.shiftlog(&b, "sync", &["pull"]).stderr.contains("left out"));
    assert_eq!(team.git(&b, &["cat-file", "-e", blob.trim()]).code, 0, "'git gc' removes it after its time of grace");
}

#[test]
fn a_push_that_publishes_conversations_is_stopped_whatever_hides_it() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    team.shiftlog(&clone, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let address = team.scratch.root().join("notes/shiftlog-demo.git");
    team.git(&clone, &["init", "-q", "--bare", address.to_str().unwrap()]).ok();
    let address = address.to_str().unwrap();
    let stopped = |what: &str, ran: crate::support::Ran| {
        assert!(ran.code != 0 && ran.stderr.contains("this push takes conversations along"), "{what}: {ran:?}");
        let refs = team.git(&clone, &["ls-remote", address]).ok();
        assert!(!refs.contains("shiftlog"), "{what}: {refs}");
    };
    stopped("an address with our name", team.git(&clone, &["push", "--mirror", address]));
    stopped("a level that is none", team.git(&clone, &["-c", "shiftlog.push=true", "push", "--mirror", address]));
    let mut command = team.scratch.command("git", &clone);
    command.env("SHIFTLOG_HOOK", "off").args(["push", "--mirror", address]);
    stopped("hooks that are off", feed(&mut command, b""));
}

#[test]
fn a_push_that_names_our_refs_is_stopped_however_deep_the_hook_is() {
    let team = Team::new();
    let clone = team.bare_clone("a", &[]);
    team.shiftlog(&clone, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&clone, "x", "1\n", "words that are mine");
    let hooks = team.scratch.root().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let ours = clone.join(".git/hooks/pre-push");
    let mut next = ours.to_str().unwrap().to_owned();
    for name in ["fourth", "third", "second", "pre-push"] {
        let path = hooks.join(name);
        // Each waits for the next one: it stays between our program and Git.
        fs::write(&path, format!("#!/bin/sh\n'{next}' \"$@\"\nstatus=$?\nexit $status\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        next = path.to_str().unwrap().to_owned();
    }
    let path = format!("core.hooksPath={}", hooks.display());
    team.git(&clone, &["-c", &path, "push", "-q", "origin", "main"]).ok();
    assert_ne!(team.git(&clone, &["-c", &path, "push", "-q", "origin", "refs/notes/shiftlog"]).code, 0);
    assert_ne!(team.git(&clone, &["-c", &path, "push", "-q", "--mirror", "origin"]).code, 0);
}

#[test]
fn leaving_takes_only_its_own_lines_out_of_the_exclude_file() {
    let scratch = Scratch::set_up();
    let exclude = scratch.top.join(".git/info/exclude");
    let text = fs::read_to_string(&exclude).unwrap();
    let edited = text.replace("/.claude/settings.local.json\n", "my-private-notes.txt\n");
    assert_ne!(text, edited);
    fs::write(&exclude, edited).unwrap();
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(fs::read_to_string(&exclude).unwrap().contains("my-private-notes.txt\n"));
}

#[test]
fn what_remap_remembers_is_for_its_owner_alone() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.bare_clone("b", &[]);
    team.git(&b, &["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    for number in 0..3 {
        team.git(&b, &["commit", "-q", "--allow-empty", "-m", &number.to_string()]).ok();
    }
    team.shiftlog(&b, "remap", &["-q"]).ok();
    let state = b.join(".git/shiftlog");
    assert_eq!(mode(&state), 0o700);
    for file in fs::read_dir(&state).unwrap().flatten().filter(|file| file.path().is_file()) {
        assert_eq!(mode(&file.path()), 0o600, "{}", file.path().display());
    }
}

#[test]
fn where_gits_hooks_do_not_run_words_wait_for_their_commit_too() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "core.hooksPath", "/dev/null"]).ok();
    let session = scratch.session("s1");
    session.prompt("FIRST");
    session.edits("a.txt", "1\n");
    session.hook("UserPromptSubmit");
    session.calls("call", "Bash", &serde_json::json!({ "command": "git commit -m first" }));
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "first"]).ok();
    let aside = session.transcript.with_extension("aside");
    fs::rename(&session.transcript, &aside).unwrap();
    fs::create_dir(&session.transcript).unwrap();
    session.hook_for("PostToolUse", "call");
    assert_eq!(scratch.waiting(), 1, "{}", scratch.log());
    fs::remove_dir(&session.transcript).unwrap();
    fs::rename(&aside, &session.transcript).unwrap();
    assert!(scratch.raw("HEAD", &[]).contains("FIRST"));
    assert_eq!(scratch.waiting(), 0);
}

#[test]
fn each_commit_behind_a_damaged_notes_ref_has_its_own_words_once_the_ref_is_repaired() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let turn = |word: &str| {
        session.prompt(word);
        session.edits(&format!("{word}.txt"), word);
        session.commits(word)
    };
    let mut commits = vec![turn("before")];
    fs::write(scratch.top.join(".git/refs/notes/shiftlog"), format!("{}\n", "f".repeat(40))).unwrap();
    commits.extend(["one", "two", "three"].map(turn));
    // The command that finds the damage, and the one that stores what waited.
    scratch.shiftlog("fsck", ["--repair"]);
    scratch.shiftlog("fsck", ["--repair"]).ok();
    commits.push(turn("after"));
    let prompts: Vec<_> = commits.iter().map(|commit| scratch.record(commit)["prompt"].clone()).collect();
    assert_eq!(prompts, ["before", "one", "two", "three", "after"], "{}", scratch.log());
    assert_eq!(scratch.raw("HEAD", &["--full"]), session.text());
    scratch.assert_sound();
}

/// Starts a hook of Git's; its standard input stays open as long as somebody has it.
fn start_hook(scratch: &Scratch, args: &[&str]) -> (std::process::Child, std::process::ChildStdin) {
    let mut command = scratch.command("git-shiftlog--hook", &scratch.top);
    command.env("GIT_ADVICE", "0").arg("git").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut hook = command.spawn().unwrap();
    let input = hook.stdin.take().unwrap();
    (hook, input)
}

#[test]
fn a_push_is_judged_by_all_of_its_refs_however_late_they_come() {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.team.push", "all"]).ok();
    let line = |name: &str| format!("{name} {} {name} {}\n", "1".repeat(40), "0".repeat(40));
    let (ours, others) = (line("refs/shiftlog/sessions"), line("refs/heads/main"));
    let start = |remote| start_hook(&scratch, &["pre-push", remote]);
    let [late, slow_end, open, open_ours, shared] = ["world", "world", "world", "world", "team"].map(start);
    let say = |mut to: &std::process::ChildStdin, text: &str| to.write_all(text.as_bytes()).unwrap();
    say(&slow_end.1, &ours);
    say(&open.1, &others);
    say(&open_ours.1, &ours);
    say(&shared.1, &others);
    std::thread::sleep(std::time::Duration::from_secs(4));
    say(&late.1, &ours);
    let end = |(hook, input): (std::process::Child, std::process::ChildStdin), closes: bool| {
        let kept = (!closes).then_some(input);
        let ran = Ran::of(hook.wait_with_output().unwrap());
        drop(kept);
        assert_eq!(ran.stdout, "");
        (ran.code, ran.stderr)
    };
    let (off, unknown) = (
        "error: this push takes conversations along, and sharing is off\n",
        "error: cannot tell whether this push takes conversations along: the list of its refs did not end\n",
    );
    assert_eq!(end(late, true), (113, off.to_owned()), "the list comes after four seconds");
    assert_eq!(end(slow_end, true), (113, off.to_owned()), "the list ends after four seconds");
    assert_eq!(end(open_ours, false), (113, off.to_owned()), "the list does not end, and has ours already");
    assert_eq!(end(open, false), (113, unknown.to_owned()), "the list does not end, and may have ours");
    assert_eq!(end(shared, false), (0, String::new()), "all may be pushed");
}

#[test]
fn a_list_of_rewritten_commits_that_does_not_end_counts_as_far_as_it_has_come() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("words");
    session.edits("a.txt", "1\n");
    let before = session.commits("one");
    scratch.write("a.txt", "2\n");
    scratch
        .git([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "notes.rewriteMode=ignore",
            "commit",
            "-aq",
            "--amend",
            "-m",
            "two",
        ])
        .ok();
    assert_eq!(scratch.records("HEAD").len(), 0);
    let (hook, mut input) = start_hook(&scratch, &["post-rewrite", "amend"]);
    input.write_all(format!("{before} {}\n", scratch.id("HEAD")).as_bytes()).unwrap();
    let ran = Ran::of(hook.wait_with_output().unwrap());
    drop(input);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(scratch.record("HEAD")["session"], "s1");
    assert!(scratch.log().contains("the list of rewritten commits did not end"), "{}", scratch.log());
}

/// Opening a named pipe that nobody writes to waits for ever, and no deadline ends it.
#[test]
fn a_named_pipe_in_the_place_of_a_file_of_ours_or_of_the_users_stops_no_commit() {
    let names =
        ["live/claude-x.json", "settled/claude-x.json", "pending/1-1", "pending/rewritten-1-1", "judged", "joined"];
    for name in names.into_iter().map(|name| format!(".git/shiftlog/{name}")).chain(["edited".to_owned()]) {
        let scratch = Scratch::set_up();
        let session = scratch.session("s1");
        session.prompt("a question");
        session.edits("edited", "1\n");
        session.edits("x", "1\n");
        let pipe = scratch.top.join(&name);
        fs::create_dir_all(pipe.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&pipe);
        scratch.run_in(&scratch.top, "mkfifo", [pipe.to_str().unwrap()]).ok();
        for args in [&["commit", "-q", "-m", "one", "x"][..], &["commit", "-q", "--amend", "-m", "two"]] {
            let mut command = scratch.command("timeout", &scratch.top);
            scratch.git(["add", "x"]).ok();
            let ran = Ran::of(command.arg("20").arg("git").args(args).output().unwrap());
            assert_eq!(ran.code, 0, "{name}: {ran:?}");
        }
    }
}

/// The pairs were forgotten, and the words were on no branch after the repair.
#[test]
fn what_is_rewritten_under_damaged_notes_is_carried_once_they_are_repaired() {
    for damage in ["garbage", "a missing commit"] {
        for how in ["amend", "rebase", "squash"] {
            let scratch = Scratch::set_up();
            scratch.git(["checkout", "-q", "-b", "topic"]).ok();
            let session = scratch.session("s1");
            session.prompt("the question of it all");
            session.edits("x", "1\n");
            session.commits("one");
            session.hook("Stop");
            let notes = scratch.top.join(".git/refs/notes/shiftlog");
            match damage {
                "garbage" => fs::write(&notes, "garbage\n").unwrap(),
                _ => {
                    let id = fs::read_to_string(&notes).unwrap();
                    let (folder, name) = id.trim().split_at(2);
                    fs::remove_file(scratch.top.join(".git/objects").join(folder).join(name)).unwrap();
                }
            }
            match how {
                "amend" => {
                    // Nothing but Git tells of what was amended: neither the message nor the change is the same.
                    scratch.write("x", "something else\n");
                    scratch.git(["commit", "-q", "-a", "--amend", "-m", "another subject"]);
                }
                "rebase" => {
                    scratch.git(["checkout", "-q", "-b", "other", "main"]).ok();
                    scratch.write("y", "1\n");
                    scratch.git(["add", "y"]).ok();
                    scratch.git(["commit", "-q", "-m", "beside"]).ok();
                    scratch.git(["checkout", "-q", "topic"]).ok();
                    scratch.git(["rebase", "-q", "other"]);
                }
                _ => {
                    scratch.git(["checkout", "-q", "main"]).ok();
                    scratch.git(["merge", "-q", "--squash", "topic"]).ok();
                    scratch.write("x", "1\n2\n");
                    scratch.git(["add", "x"]).ok();
                    scratch.git(["commit", "-q", "-m", "squashed, and changed"]);
                }
            }
            scratch.shiftlog("fsck", ["--repair"]);
            let shown = scratch.shiftlog("show", ["HEAD"]).stdout;
            assert!(shown.contains("the question of it all"), "{damage} {how}: {shown}");
        }
    }
}
