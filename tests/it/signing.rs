//! What signatures tell, made and checked by Git with an SSH key.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Scratch, feed, skip};

/// Makes a repository set up for recording that signs with a key of its own; `None` without `ssh-keygen`.
fn signing() -> Option<Scratch> {
    signing_with("")
}

/// Does the same with a passphrase for the key.
fn signing_with(passphrase: &str) -> Option<Scratch> {
    let scratch = Scratch::set_up();
    let key = scratch.home().join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f"])
        .arg(&key)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("there is no ssh-keygen here");
        return None;
    }
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = scratch.home().join("allowed");
    fs::write(&allowed, format!("committer@example.com {public}")).unwrap();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()),
        ("shiftlog.sign", "true"),
    ] {
        scratch.git(["config", name, value]).ok();
    }
    Some(scratch)
}

fn record(scratch: &Scratch, id: &str) {
    let session = scratch.session(id);
    session.prompt("words");
    session.edits("x", id);
    session.commits(id);
}

#[test]
fn records_are_signed_and_verified_through_git() {
    let Some(scratch) = signing() else { return };
    record(&scratch, "s1");
    scratch.git(["verify-commit", "refs/notes/shiftlog"]).ok();
    let line = scratch.shiftlog("verify", [""; 0]).ok();
    let short = &scratch.id("HEAD")[..7];
    let expected = format!("{short} claude/s1 intact, good signature by committer@example.com, made for this tree\n");
    assert_eq!(line, expected);
    scratch.shiftlog("verify", ["--signed", "--own-tree", "-q"]).ok();
    scratch.assert_sound();
}

/// Makes Git sign with a program that counts, and returns what reads the count.
fn counted(scratch: &Scratch) -> impl Fn() -> usize {
    let (program, count) = (scratch.root().join("bin/counts"), scratch.root().join("signatures"));
    // 'ssh-keygen -Y sign' makes a signature; the same program checks them.
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *'-Y sign'*) echo x >>'{}';; esac\nexec ssh-keygen \"$@\"\n",
        count.display()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scratch.git(["config", "gpg.ssh.program", program.to_str().unwrap()]).ok();
    move || fs::read_to_string(&count).unwrap_or_default().lines().count()
}

#[test]
fn a_commit_that_is_recorded_takes_one_signature_beside_gits_own_and_an_amend_none() {
    let Some(scratch) = signing() else { return };
    scratch.git(["config", "--unset", "shiftlog.sign"]).ok();
    scratch.git(["config", "commit.gpgSign", "true"]).ok();
    let signatures = counted(&scratch);
    let session = scratch.session("s1");
    session.prompt("words");
    session.edits("x", "1");
    // A tool call tells that hooks follow tool calls.
    session.hook_for("PostToolUse", "edit-x");
    assert_eq!(signatures(), 0, "a hook without a commit signs nothing");
    session.commits("one");
    assert_eq!(signatures(), 2, "Git's own and one of ours: {}", scratch.log());
    session.prompt("more");
    session.edits("x", "2");
    session.commits("two");
    assert_eq!(signatures(), 4, "the same again: {}", scratch.log());
    session.hook("SessionEnd");
    assert_eq!(signatures(), 4, "what is only archived is not signed: {}", scratch.log());
    scratch.write("x", "by hand");
    scratch.git(["commit", "-q", "-a", "--amend", "--no-edit"]).ok();
    assert_eq!(signatures(), 5, "an amend takes Git's own alone: {}", scratch.log());
    scratch.shiftlog("verify", ["--signed", "-q", "HEAD~2..HEAD"]).ok();
}

#[test]
fn the_signature_of_a_note_vouches_for_words_whose_archive_has_none() {
    let Some(scratch) = signing() else { return };
    record(&scratch, "s1");
    assert_ne!(scratch.git(["verify-commit", "refs/shiftlog/sessions"]).code, 0, "the archive is not signed");
    record(&scratch, "s2");
    scratch.shiftlog("verify", ["--signed", "-q", "HEAD~2..HEAD"]).ok();
    // Somebody puts the words of one session in the place of the other's, whole and with a digest of their own.
    let object = |revision: &str| {
        let through = scratch.record(revision)["through"].as_str().unwrap().to_owned();
        scratch.top.join(".git/objects").join(&through[..2]).join(&through[2..])
    };
    let (old, new) = (object("HEAD~1"), object("HEAD"));
    fs::remove_file(&old).unwrap();
    fs::copy(new, &old).unwrap();
    let ran = scratch.shiftlog("verify", ["--signed", "HEAD~1^!"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains(" is of another session)"), "{ran:?}");
}

#[test]
fn what_was_not_signed_or_was_carried_or_tampered_with_is_told() {
    let Some(scratch) = signing() else { return };
    scratch.git(["config", "shiftlog.sign", "false"]).ok();
    record(&scratch, "s1");
    assert_eq!(scratch.shiftlog("verify", ["--signed"]).code, 1);
    scratch.git(["config", "shiftlog.sign", "true"]).ok();
    record(&scratch, "s2");
    let lines = scratch.shiftlog("verify", ["--json", "HEAD~2..HEAD"]).ok();
    let states: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let states: Vec<_> = states.iter().map(|state| (&state["session"], &state["signature"], &state["state"])).collect();
    let (good, unsigned, intact) = ("good".into(), "unsigned".into(), "intact".into());
    let names = ["claude/s2", "claude/s1"].map(Value::from);
    assert_eq!(states, [(&names[0], &good, &intact), (&names[1], &unsigned, &intact)]);
    scratch.write("x", "amended");
    scratch.git(["commit", "-q", "-a", "--amend", "--no-edit"]).ok();
    let carried = scratch.shiftlog("verify", ["--own-tree"]);
    assert_eq!(carried.code, 1);
    assert!(carried.stdout.contains(" intact, good signature"), "{carried:?}");
    assert!(carried.stdout.contains("made for another tree"), "{carried:?}");
    // Somebody rewrites the note, and keeps the signature of another commit.
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let forged = note.replace("\"bytes\":", "\"bytes\":1");
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &forged]).ok();
    let history = scratch.git(["rev-list", "refs/notes/shiftlog"]).ok();
    let mut objects = history.lines().map(|id| scratch.git(["cat-file", "commit", id]).ok());
    let object = objects.find(|object| object.contains("gpgsig")).unwrap();
    let signature = &object[object.find("gpgsig").unwrap()..object.find("\n\n").unwrap()];
    let unsigned = scratch.git(["cat-file", "commit", "refs/notes/shiftlog"]).ok();
    let at = unsigned.find("\n\n").unwrap();
    let forged = format!("{}\n{signature}{}", &unsigned[..at], &unsigned[at..]);
    let id = scratch.run_with_input("git", ["hash-object", "-w", "-t", "commit", "--stdin"], forged.as_bytes()).ok();
    scratch.git(["update-ref", "refs/notes/shiftlog", id.trim()]).ok();
    let ran = scratch.shiftlog("verify", [""; 0]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains(" damaged (the record tells of another transcript"), "{ran:?}");
    assert!(ran.stdout.contains(", BAD signature"), "{ran:?}");
}

#[test]
fn a_signature_that_cannot_be_made_leaves_the_words_pending_and_the_commit_alone() {
    let Some(mut scratch) = signing() else { return };
    let key = scratch.git(["config", "user.signingKey"]).ok();
    scratch.git(["config", "user.signingKey", "/nowhere"]).ok();
    let session = scratch.session("s1");
    session.prompt("words");
    session.edits("x", "1\n");
    session.commits("one");
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_ne!(scratch.waiting(), 0);
    // A program that asks and is not answered.
    let (program, answered) = (scratch.root().join("bin/asks"), scratch.root().join("answered"));
    fs::write(&program, format!("#!/bin/sh\nsleep 60\ntouch '{}'\n", answered.display())).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scratch.git(["config", "gpg.ssh.program", program.to_str().unwrap()]).ok();
    scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
    scratch.commit("y", "1\n", "by hand");
    assert!(!answered.exists(), "the commit does not wait for the one who does not answer");
    scratch.git(["config", "--unset", "gpg.ssh.program"]).ok();
    scratch.git(["config", "user.signingKey", key.trim()]).ok();
    scratch.env.insert("GIT_ADVICE".into(), "0".into());
    scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(scratch.record("HEAD~1")["session"], "s1");
    scratch.shiftlog("verify", ["--signed", "-q", "HEAD~1^!"]).ok();
}

#[test]
fn a_signing_program_that_is_stopped_or_takes_no_notice_ends_with_the_time_of_the_hook() {
    // A program that asks on the terminal from the background is stopped like the first. Were it left so, the one beside it
    // would let it go on, and say so.
    let stopped = "(trap '' TERM; sleep 60; touch LATE; kill -CONT $$) & kill -STOP $$";
    let deaf = "trap '' TERM; sleep 60; touch LATE";
    for script in [stopped, deaf] {
        let Some(scratch) = signing() else { return };
        let (program, late) = (scratch.root().join("bin/stays"), scratch.root().join("late"));
        scratch.git(["config", "gpg.ssh.program", program.to_str().unwrap()]).ok();
        scratch.git(["config", "shiftlog.hookTimeout", "1"]).ok();
        fs::write(&program, format!("#!/bin/sh\n{script}\n").replace("LATE", late.to_str().unwrap())).unwrap();
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let session = scratch.session("s1");
        session.prompt("words");
        session.edits("x", "1\n");
        let ran = session.tries_to_commit(&["-m", "one"]);
        assert_eq!(ran.code, 0);
        assert!(ran.stderr.contains("'git commit-tree' failed: it took too long"), "{ran:?}");
        assert!(!late.exists(), "the commit waited for the program");
    }
}

#[test]
fn a_passphrase_is_never_asked_for_on_the_terminal() {
    let Some(scratch) = signing_with("secret") else { return };
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script"]).code != 0 {
        return skip("no script(1) to make a terminal with");
    }
    let session = scratch.session("s1");
    session.prompt("words");
    session.edits("x", "1\n");
    scratch.git(["add", "-A"]).ok();
    // The limit is never reached: the key is refused at once.
    scratch.git(["config", "shiftlog.hookTimeout", "600"]).ok();
    let mut command = scratch.command("script", &scratch.top);
    command.env("CLAUDE_CODE_SESSION_ID", "s1").args(["-qec", "git commit -q -m one", "/dev/null"]);
    let ran = feed(&mut command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("'git commit-tree' failed: "), "{ran:?}");
    assert!(!ran.stdout.contains("Enter passphrase"), "{ran:?}");
    assert_ne!(scratch.waiting(), 0);
}

#[test]
fn openpgp_keys_do_as_well() {
    let scratch = Scratch::set_up();
    let keys = scratch.home().join("gnupg");
    fs::create_dir(&keys).unwrap();
    fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut scratch = scratch;
    scratch.env.insert("GNUPGHOME".into(), keys.to_str().unwrap().into());
    let args = [
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-gen-key",
        "C O Mitter <committer@example.com>",
        "ed25519",
        "sign",
    ];
    let made = scratch.command("gpg", &scratch.top).args(args).output();
    if !made.as_ref().is_ok_and(|output| output.status.success()) {
        return skip(&format!("there is no gpg here that makes a key: {made:?}"));
    }
    scratch.git(["config", "commit.gpgSign", "true"]).ok();
    record(&scratch, "s1");
    let ran = scratch.shiftlog("verify", ["--signed", "--own-tree"]);
    let stop = scratch.command("gpgconf", &scratch.top).args(["--kill", "all"]).status();
    assert!(stop.is_ok());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains(", good signature by C O Mitter <committer@example.com>"), "{ran:?}");
}

#[test]
fn a_forged_note_with_an_older_date_is_not_taken_for_the_signers() {
    let Some(scratch) = signing() else { return };
    record(&scratch, "s1");
    record(&scratch, "s2");
    scratch.git(["config", "log.showSignature", "true"]).ok();
    scratch.shiftlog("verify", ["--signed", "-q", "HEAD~2..HEAD"]).ok();
    // Another root, of long ago, with one record more; and a merge that takes it as it is.
    let head = scratch.id("HEAD");
    let note = scratch.git(["notes", "--ref=shiftlog", "show"]).ok();
    let forged = format!("{note}\n{}", note.trim().replace("\"session\":\"s2\"", "\"session\":\"forged\""));
    let blob = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], forged.as_bytes()).ok();
    let tree = format!("100644 blob {}\t{head}\n", blob.trim());
    let tree = scratch.run_with_input("git", ["mktree"], tree.as_bytes()).ok();
    let mut command = scratch.command("git", &scratch.top);
    command.env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z").args(["commit-tree", tree.trim(), "-m", "x"]);
    let root = String::from_utf8(command.output().unwrap().stdout).unwrap();
    scratch.git(["update-ref", "refs/shiftlog/remotes/origin/notes", root.trim()]).ok();
    scratch.git(["remote", "add", "origin", "/nowhere"]).ok();
    // Purging joins what was fetched, also if there is nothing to purge.
    scratch.shiftlog("purge", ["--yes", "--match=nothing-fits-this"]);
    let ran = scratch.shiftlog("verify", ["--signed", "HEAD"]);
    assert!(ran.stdout.contains("claude/forged"), "{ran:?}");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!ran.stdout.contains("claude/forged intact, good"), "{ran:?}");
}

#[test]
fn whoever_purges_is_not_told_as_the_writer_of_what_passed_through() {
    let mut scratch = Scratch::set_up();
    for (id, words) in [("s1", "the first"), ("s2", "hammers"), ("s3", "the last")] {
        let session = scratch.session(id);
        session.prompt(words);
        session.edits("x", id);
        session.commits(id);
    }
    let verify = |scratch: &Scratch| -> Vec<String> {
        let lines = scratch.shiftlog("verify", ["HEAD~3..HEAD"]).ok();
        lines.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    };
    let of = |session: &str, writer: &str| format!("claude/{session} intact, unsigned, {writer}, made for this tree");
    let named = "written in the name of C O Mitter <committer@example.com>";
    assert_eq!(verify(&scratch), ["s3", "s2", "s1"].map(|session| of(session, named)));
    let before = scratch.id("refs/notes/shiftlog");
    for name in ["GIT_COMMITTER_NAME", "GIT_AUTHOR_NAME"] {
        scratch.env.insert(name.into(), "Other".into());
    }
    // The old history stays with somebody else.
    let other = scratch.root().join("other.git");
    scratch.git(["clone", "-q", "--mirror", ".", other.to_str().unwrap()]).ok();
    scratch.shiftlog("purge", ["--match=hammers", "--yes"]).ok();
    let unknown = "writer not known since a purge";
    assert_eq!(verify(&scratch), ["s3", "s2", "s1"].map(|session| of(session, unknown)));
    let object: Value = serde_json::from_str(&scratch.shiftlog("verify", ["--json"]).ok()).unwrap();
    assert_eq!((&object["writtenBy"], &object["writer"]), (&Value::Null, &"".into()));
    // What is recorded later has its writer, and so has what the history of others still has.
    let session = scratch.session("s4");
    session.prompt("more");
    session.edits("x", "s4");
    session.commits("s4");
    assert!(scratch.shiftlog("verify", [""; 0]).ok().contains("written in the name of Other <"));
    scratch.git(["fetch", "-q", other.to_str().unwrap(), "refs/notes/shiftlog"]).ok();
    let (tip, tree) = (scratch.id("refs/notes/shiftlog"), scratch.id("refs/notes/shiftlog^{tree}"));
    let merge = scratch.git(["commit-tree", "-p", &tip, "-p", &before, "-m", "merge", &tree]).ok();
    scratch.git(["update-ref", "refs/notes/shiftlog", merge.trim()]).ok();
    scratch.git(["reset", "-q", "--hard", "HEAD~"]).ok();
    assert_eq!(verify(&scratch), [of("s3", named), of("s2", unknown), of("s1", named)]);
}
