//! What is fetched is checked before it is joined to ours, and pushes by themselves are in nobody's way.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::corpus;
use crate::hostile;
use crate::pushed::push_files;
use crate::sharing::Team;

const NOTES: &str = "refs/notes/shiftlog";
const SESSIONS: &str = "refs/shiftlog/sessions";
const MARKS: &str = "refs/shiftlog/purged";

/// Asserts that nothing of what Git does to a whole repository stops.
#[track_caller]
fn assert_tidy(team: &Team, clone: &Path) {
    team.assert_sound(clone);
    team.git(clone, &["gc", "-q", "--prune=now"]).ok();
    team.assert_sound(clone);
    team.git(clone, &["repack", "-a", "-d", "-q"]).ok();
}

#[test]
fn an_entry_that_is_no_file_is_left_out_and_named_once() {
    let nowhere = "1234567890123456789012345678901234567890";
    let path = format!("segments/12/{nowhere}");
    let session = format!("12/claude~s/000000-{}.zst", &nowhere[..12]);
    let cases = [
        (MARKS, path.as_str(), format!("160000 {nowhere}"), "a link to another repository"),
        (SESSIONS, session.as_str(), format!("160000 {nowhere}"), "a link to another repository"),
        (NOTES, nowhere, format!("160000 {nowhere}"), "a link to another repository"),
        (NOTES, "link", "120000 text:/etc/passwd".to_owned(), "a symbolic link"),
        (SESSIONS, "12/link", "120000 text:../../x".to_owned(), "a symbolic link"),
    ];
    for (ref_name, path, entry, what) in cases {
        let team = Team::new();
        let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
        team.says(&m, "HEAD", "of a colleague");
        team.shiftlog(&m, "sync", &["-q"]).ok();
        let bad = push_files(&team, &m, "Mallory", ref_name, &[(path, &entry)]);
        team.says(&a, "HEAD", "of a");
        let synced = team.shiftlog(&a, "sync", &["pull"]);
        let warning = format!("warning: left out of '{ref_name}' of origin: {what} at '{path}'\n");
        assert_eq!((synced.code, synced.stderr.as_str()), (0, warning.as_str()));
        team.assert_said(&a, "HEAD", &["of a", "of a colleague"]);
        let reached = team.git(&a, &["log", "--all", "--format=%H"]).ok();
        assert!(!reached.contains(&bad), "{ref_name}: nothing reaches it");
        assert_tidy(&team, &a);
        let again = team.shiftlog(&a, "sync", &[]);
        assert_eq!((again.code, again.stderr.as_str()), (0, ""), "{ref_name}: once is enough");
        assert_tidy(&team, &a);
        let listed = team.git(&team.server, &["ls-tree", "-r", ref_name]).stdout;
        assert!(ref_name == MARKS || !listed.contains("160000") && !listed.contains("120000"), "{listed}");
        let b = team.clone_of("b", &[]);
        team.shiftlog(&b, "sync", &["-q"]).ok();
        team.assert_said(&b, "HEAD", &["of a", "of a colleague"]);
        assert_tidy(&team, &b);
    }
}

#[test]
fn a_bad_entry_in_history_alone_does_not_come_along() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    team.says(&m, "HEAD", "of a colleague");
    team.shiftlog(&m, "sync", &["-q"]).ok();
    let clean = team.git(&m, &["rev-parse", &format!("{NOTES}^{{tree}}")]).ok();
    let nowhere = "1234567890123456789012345678901234567890";
    let bad = push_files(&team, &m, "Mallory", NOTES, &[("link", &format!("160000 {nowhere}"))]);
    let over = team.git(&m, &["commit-tree", clean.trim(), "-m", "over it", "-p", &bad]).ok();
    team.git(&m, &["push", "-q", "--no-verify", "origin", &format!("{}:{NOTES}", over.trim())]).ok();
    let synced = team.shiftlog(&a, "sync", &["pull"]);
    assert!(synced.stderr.contains("a link to another repository at 'link'"), "{synced:?}");
    team.assert_said(&a, "HEAD", &["of a colleague"]);
    assert!(!team.git(&a, &["log", "--all", "--format=%H"]).ok().contains(&bad));
    assert_tidy(&team, &a);
}

#[test]
fn a_file_that_is_no_segment_of_the_session_is_not_joined() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    team.says(&a, "HEAD", "of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let honest = team.git(&a, &["ls-tree", "-r", SESSIONS]).ok();
    let directory = honest.split_once('\t').unwrap().1.rsplit_once('/').unwrap().0.to_owned();
    let segment = |session: &str| hostile::encode(&hostile::header(session, None, 0, 2), b"x\n");
    let newer = json!({ "shiftlog": 2, "agent": "claude", "session": "of-a" });
    let files = [
        ("no segment", b"no segment".to_vec(), false),
        ("of another session", segment("of-b"), false),
        ("of this session", segment("of-a"), true),
        ("of a newer version", hostile::encode(&newer, b"x\n"), true),
    ];
    let mut entries = Vec::new();
    for (number, (_, bytes, _)) in files.iter().enumerate() {
        let file = m.join(".git/forged");
        fs::write(&file, bytes).unwrap();
        let id = team.git(&m, &["hash-object", "-w", file.to_str().unwrap()]).ok().trim().to_owned();
        entries.push((format!("{directory}/{:06}-{}.zst", number + 10, &id[..12]), format!("100644 {id}")));
    }
    let entries: Vec<(&str, &str)> = entries.iter().map(|(path, entry)| (path.as_str(), entry.as_str())).collect();
    let bad = push_files(&team, &m, "Mallory", SESSIONS, &entries);
    let synced = team.shiftlog(&a, "sync", &["pull"]);
    let listed = team.git(&a, &["ls-tree", "-r", SESSIONS]).ok();
    for ((what, _, is_joined), (path, _)) in files.iter().zip(&entries) {
        assert_eq!(listed.contains(path), *is_joined, "{what}: {listed}");
        let warning =
            format!("left out of '{SESSIONS}' of origin: a file that is no segment of its session at '{path}'\n");
        assert_eq!(synced.stderr.contains(&warning), !is_joined, "{what}: {synced:?}");
    }
    assert!(honest.lines().all(|line| listed.contains(line)), "{listed}");
    assert!(!team.git(&a, &["log", "--all", "--format=%H"]).ok().contains(&bad), "nothing reaches it");
    team.assert_said(&a, "HEAD", &["of a"]);
    let again = team.shiftlog(&a, "sync", &[]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""), "once is enough");
    assert_tidy(&team, &a);
}

#[test]
fn a_repository_that_has_a_bad_entry_is_mended() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "of a");
    let nowhere = "1234567890123456789012345678901234567890";
    // As an earlier version joined it: a file that is a link to nowhere.
    let tree = format!("100644 blob {nowhere}\t{nowhere}\n");
    let mut mktree = team.scratch.command("git", &a);
    let tree = crate::support::feed(mktree.args(["mktree", "--missing"]), tree.as_bytes()).ok();
    for prefix in ["12", "segments"] {
        let entry = format!("040000 tree {}\t{prefix}\n", tree.trim());
        let mut mktree = team.scratch.command("git", &a);
        let above = crate::support::feed(mktree.args(["mktree", "--missing"]), entry.as_bytes()).ok();
        let commit = team.git(&a, &["commit-tree", above.trim(), "-m", "joined"]).ok();
        team.git(&a, &["update-ref", MARKS, commit.trim()]).ok();
    }
    let link = format!("160000 commit {nowhere}\tlink\n{}", team.git(&a, &["ls-tree", NOTES]).ok());
    let mut mktree = team.scratch.command("git", &a);
    let tree = crate::support::feed(mktree.arg("mktree"), link.as_bytes()).ok();
    let commit = team.git(&a, &["commit-tree", tree.trim(), "-p", NOTES, "-m", "joined"]).ok();
    team.git(&a, &["update-ref", NOTES, commit.trim()]).ok();
    assert_ne!(team.git(&a, &["gc", "-q"]).code, 0, "that is what is wrong");
    let checked = team.shiftlog(&a, "fsck", &["-q"]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.stdout.contains("bad-entry refs/notes/shiftlog: a link to another repository at 'link'\n"),
        "{checked:?}"
    );
    assert!(checked.stdout.contains(&format!("bad-entry {MARKS}: a file that is missing at ")), "{checked:?}");
    let mended = team.shiftlog(&a, "fsck", &["--repair", "-q"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    team.assert_said(&a, "HEAD", &["of a"]);
    team.git(&a, &["gc", "-q", "--prune=now"]).ok();
    team.git(&a, &["fsck", "--strict"]).ok();
}

#[test]
fn syncs_at_the_same_moment_in_one_clone_all_succeed() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    team.says(&m, "HEAD", "of a colleague");
    team.shiftlog(&m, "purge", &["--all", "--yes", "HEAD"]).ok();
    team.says(&m, "HEAD", "what is left");
    team.shiftlog(&m, "sync", &["-q"]).ok();
    for round in 0..3 {
        team.says(&a, "HEAD", &format!("round {round}"));
        let ran: Vec<_> = std::thread::scope(|scope| {
            let (team, a) = (&team, &a);
            let syncs: Vec<_> = (0..4).map(|_| scope.spawn(move || team.shiftlog(a, "sync", &["-q"]))).collect();
            syncs.into_iter().map(|sync| sync.join().unwrap()).collect()
        });
        assert!(ran.iter().all(|ran| ran.code == 0), "{ran:?}");
    }
    team.assert_said(&a, "HEAD", &["what is left", "round 0", "round 1", "round 2"]);
    team.assert_sound(&a);
}

/// Makes what serves a push to the server count how often it ran. As long as there is no file `go`, it says so on
/// descriptor 3 and waits for a line on the pipe `waiting`.
fn slow(team: &Team, clone: &Path) {
    let dir = team.scratch.root();
    let program = dir.join("bin/slow-receive-pack");
    team.scratch.run_in(&dir, "mkfifo", ["waiting"]).ok();
    let script = format!(
        "#!/bin/sh\necho run >>'{0}/runs'\ntest -e '{0}/go' || {{ echo waits >&3; read -r go <'{0}/waiting'; }}\n\
         exec git receive-pack \"$@\"\n",
        dir.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    team.git(clone, &["config", "remote.origin.receivepack", program.to_str().unwrap()]).ok();
}

#[test]
fn pushes_by_themselves_do_not_pile_up() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    slow(&team, &a);
    let runs = || fs::read_to_string(team.scratch.root().join("runs")).unwrap_or_default().lines().count();
    let log = || fs::read_to_string(a.join(".git/shiftlog/log")).unwrap_or_default();
    let push = ["git-shiftlog--hook", "git", "pre-push", "origin", "url"];
    team.says(&a, "HEAD", "one");
    // All that it starts has the pipe: it is at its end when nothing runs any more.
    let mut first = team.scratch.command("sh", &a);
    first.args(["-c", "exec \"$@\" 3>&1", "sh"]).args(push).stdout(Stdio::piped());
    let mut told = BufReader::new(first.spawn().unwrap().stdout.unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), runs()), ("waits\n", 1), "{}", log());
    for words in ["two", "three", "four"] {
        team.says(&a, "HEAD", words);
        team.scratch.run_until_nothing_runs(&a, &push).ok();
    }
    let left = log().matches("left the push to origin to the one that is under way").count();
    assert_eq!((left, runs()), (3, 1), "the others did not even begin: {}", log());
    fs::write(team.scratch.root().join("go"), "").unwrap();
    fs::write(team.scratch.root().join("waiting"), "go\n").unwrap();
    told.read_to_string(&mut line).unwrap();
    // What they were to send goes with the one that was under way.
    let of = |clone: &Path| team.git(clone, &["notes", "--ref=shiftlog", "show", "main"]).ok();
    assert_eq!(of(&team.server), of(&a), "{}", log());
    assert_eq!(of(&a).lines().count(), 4);
}

#[test]
fn a_push_of_ours_stays_away_where_the_users_own_takes_our_refs_along() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    slow(&team, &a);
    fs::write(team.scratch.root().join("go"), "").unwrap();
    let runs = || fs::read_to_string(team.scratch.root().join("runs")).unwrap_or_default().lines().count();
    let mut expected = 0;
    for args in [
        &["push", "-q", "--mirror"][..],
        &["push", "-q", "origin", "refs/notes/shiftlog"],
        &["push", "-q", "origin", "+refs/shiftlog/*:refs/shiftlog/*"],
    ] {
        team.says(&a, "HEAD", &format!("words {expected}"));
        team.scratch.run_until_nothing_runs(&a, &[&["git"], args].concat()).ok();
        expected += 1;
        assert_eq!(runs(), expected, "{args:?}: nothing but the user's own push ran");
        // The remote is as if it had never seen ours.
        for name in [NOTES, SESSIONS] {
            team.git(&team.server, &["update-ref", "-d", name]).ok();
        }
    }
    team.scratch.run_until_nothing_runs(&a, &["git", "push", "-q", "origin", "HEAD:refs/heads/other"]).ok();
    assert_eq!(runs(), expected + 2, "a push of a branch takes ours along");
}

#[test]
fn a_note_with_more_lines_than_are_read_is_left_out_and_ours_stays_readable() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "ours");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let line = |number: usize| {
        let (session, through) = (format!("s{number}"), format!("{number:040x}"));
        json!({ "shiftlog": 1, "agent": "claude", "session": session, "through": through, "bytes": 1, "sha256": "x" })
    };
    let records: String = (0..300_000).map(|number| format!("{}\n", line(number))).collect();
    team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
    let honest = team.git(&b, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    let padded = |text: &str| {
        let words = ["-C", b.to_str().unwrap(), "hash-object", "-w", "--stdin"];
        let id = team.scratch.run_with_input("git", words, text.as_bytes());
        team.git(&b, &["notes", "--ref=shiftlog", "add", "-f", "-C", id.ok().trim()]).ok();
        team.git(&b, &["push", "-q", "--no-verify", "origin", "refs/notes/shiftlog"]).ok();
    };
    // Somebody replaces our record, where we have written nothing since.
    padded(&records);
    let before = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    let mut command = team.scratch.command("git-shiftlog-sync", &a);
    command.arg("pull");
    let (output, used) = corpus::measured(command, String::new());
    assert!(output.status.success(), "{output:?}");
    assert!(used.peak_kib < corpus::MAX_KIB, "{} MiB", used.peak_kib >> 10);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "warning: left out of 'refs/notes/shiftlog' of origin: notes with more lines than are read\n"
    );
    assert_eq!(team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok(), before);
    // Somebody pads it, and here something new was said meanwhile.
    padded(&format!("{honest}{records}"));
    team.says(&a, "HEAD", "ours too");
    let before = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let after = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    assert!(after == before, "{} bytes, before {}", after.len(), before.len());
    let shown = team.shiftlog(&a, "show", &[]);
    assert_eq!((shown.stderr.as_str(), shown.code), ("", 0));
    assert!(shown.stdout.contains("ours too"), "{}", shown.stdout);
    // It comes to rest on both sides.
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let there = team.git(&b, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    assert!(there == after, "{} bytes, and here {}", there.len(), after.len());
    let tip = team.id(&b, "refs/notes/shiftlog");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    assert_eq!((team.id(&a, "refs/notes/shiftlog"), team.id(&b, "refs/notes/shiftlog")), (tip.clone(), tip));
}

#[test]
fn a_ref_that_names_no_commit_is_left_out_and_the_next_push_puts_ours_in_its_place() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "ours");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let id = |revision: &str| team.git(&b, &["rev-parse", revision]).ok().trim().to_owned();
    team.git(&b, &["tag", "-a", "-m", "m", "annotated"]).ok();
    let forged = [id("HEAD^{tree}"), id("HEAD:README"), id("annotated")];
    let refs = ["refs/notes/shiftlog", "refs/shiftlog/sessions", "refs/shiftlog/purged"];
    for ref_name in refs {
        for object in &forged {
            let case = format!("{ref_name} {object}");
            team.git(&b, &["push", "-q", "--no-verify", "-f", "origin", &format!("{object}:{ref_name}")]).ok();
            let synced = team.shiftlog(&a, "sync", &["-q"]);
            let told = format!("warning: left out '{ref_name}' of origin: it names no commit\n");
            assert_eq!((synced.stderr, synced.code), (told, 0), "{case}");
            let again = team.shiftlog(&a, "sync", &["-q"]);
            assert_eq!((again.stderr.as_str(), again.code), ("", 0), "{case}");
        }
    }
    for ref_name in &refs[..2] {
        let there = team.git(&a, &["ls-remote", "origin", ref_name]).ok();
        assert!(there.starts_with(&team.id(&a, ref_name)), "{there}");
    }
    team.git(&a, &["fetch", "-q", "origin"]).ok();
    assert_eq!(team.shiftlog(&a, "show", &[]).code, 0);
}

#[test]
fn a_sync_that_another_one_overtakes_looks_again() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "first of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.says(&a, "HEAD", "second of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // While the server packs what it sends, the refs to which it is fetched move.
    let (hook, moved) = (team.scratch.root().join("overtake"), team.scratch.root().join("moved"));
    let script = format!(
        "#!/bin/sh\nmkdir {moved} 2>/dev/null &&\n\
         (unset GIT_DIR; git -C {b} update-ref refs/shiftlog/remotes/origin/notes HEAD) >&2\nexec \"$@\"\n",
        moved = moved.display(),
        b = b.display()
    );
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    team.scratch.git(["config", "--global", "uploadpack.packObjectsHook", hook.to_str().unwrap()]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    assert!(moved.exists(), "the hook ran");
    team.assert_said(&b, "HEAD", &["first of a", "second of a"]);
    team.assert_sound(&b);
}
