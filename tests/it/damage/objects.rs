//! Objects whose files are damaged, as a power cut leaves them: repair loses nothing that is needed, and purging tells what
//! it cannot read.

use super::*;
use crate::purging::{SECRET, places, purge};
use crate::sharing::Team;
use crate::support::{Ran, Session};

const MARKS: &str = "refs/shiftlog/purged";

/// Makes the file of a loose object empty.
fn empty(top: &Path, id: &str) {
    let file = top.join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let _ = fs::remove_file(&file);
    fs::write(file, "").unwrap();
}

/// Returns the paths and the ids of the files of a ref, or of the objects of this kind.
fn files(scratch: &Scratch, name: &str) -> Vec<(String, String)> {
    let listed = scratch.git(["ls-tree", "-r", "--format=%(path) %(objectname)", name]).ok();
    listed.lines().map(|line| line.split_once(' ').map(|(path, id)| (path.into(), id.into())).unwrap()).collect()
}

fn paths(scratch: &Scratch, name: &str) -> Vec<String> {
    files(scratch, name).into_iter().map(|(path, _)| path).collect()
}

/// Makes a repository of which a session was purged as a whole and another in part, so that there are marks of both kinds.
fn purged() -> Scratch {
    let (scratch, ..) = recorded(&["one", "two"]);
    purge(&scratch, &["--session=s1", "--all"]).ok();
    let other = scratch.session("s2");
    goes_on(&other, "three");
    goes_on(&other, SECRET);
    purge(&scratch, &["--match=Ferdinand"]).ok();
    assert_eq!(paths(&scratch, MARKS).iter().filter(|path| path.starts_with("sessions/")).count(), 1);
    assert!(paths(&scratch, MARKS).len() > 1);
    scratch
}

fn goes_on(session: &Session<'_>, word: &str) -> String {
    session.prompt(word);
    session.edits(&format!("{}.txt", &word[..3]), word);
    session.commits(word)
}

fn repair(scratch: &Scratch) -> Ran {
    scratch.shiftlog("fsck", ["--repair", "-q"])
}

#[test]
fn a_purge_mark_that_cannot_be_read_is_written_anew() {
    for is_there in [true, false] {
        let scratch = purged();
        let before = paths(&scratch, MARKS);
        for (_, id) in files(&scratch, MARKS) {
            empty(&scratch.top, &id);
            if !is_there {
                let _ = fs::remove_file(scratch.top.join(format!(".git/objects/{}/{}", &id[..2], &id[2..])));
            }
        }
        let ran = repair(&scratch);
        assert_eq!((ran.code, paths(&scratch, MARKS)), (0, before), "{ran:?}");
        scratch.assert_sound();
        scratch.git(["gc", "-q"]).ok();
        // What the mark bars is still barred.
        scratch.session("s1").prompt("again");
        let commit = scratch.commit("y", "1\n", "next");
        assert!(scratch.records(&commit).iter().all(|record| record["session"] != "s1"));
    }
}

#[test]
fn a_damaged_ref_of_purge_marks_is_repaired_and_recording_goes_on() {
    for what in ["ref", "^{commit}", "^{tree}", ":segments"] {
        let scratch = purged();
        let marks = paths(&scratch, MARKS);
        let session = scratch.session("s3");
        session.prompt("three");
        match what {
            "ref" => fs::write(scratch.top.join(".git").join(MARKS), "").unwrap(),
            object => {
                let id = scratch.git(["rev-parse", &format!("{MARKS}{object}")]).ok();
                empty(&scratch.top, id.trim());
            }
        }
        let commit = goes_on(&session, "four");
        let found = scratch.shiftlog("fsck", ["-q"]);
        assert!(found.code == 1 && found.stdout.contains("damaged-ref"), "{what}: {found:?}");
        let ran = repair(&scratch);
        assert_eq!(ran.code, 0, "{what}: {ran:?}");
        assert_eq!(scratch.record(&commit)["session"], "s3", "{what}");
        assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 0, "{what}");
        // The second ref of the last write, or an earlier commit, has them.
        let left = paths(&scratch, MARKS);
        assert!(!left.is_empty() && left.iter().all(|path| marks.contains(path)), "{what}: {left:?}");
    }
}

#[test]
fn a_note_that_cannot_be_read_is_taken_out_and_everything_goes_on() {
    let (scratch, commits, _) = recorded(&["one", "two", "three"]);
    let note = scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
    empty(&scratch.top, note.trim());
    // With a lost segment, words are stored anew, and for that all notes are read.
    crate::integrity::remove_object(&scratch, &files(&scratch, ARCHIVE)[2].1);
    let planned = scratch.shiftlog("fsck", ["--repair", "-nq"]);
    let line = format!("would take the note of {} out of '{NOTES}', because it is nowhere\n", commits[0]);
    assert!(planned.stdout.contains(&line), "{planned:?}");
    let ran = repair(&scratch);
    assert!(ran.stdout.contains(&line.replace("would take", "took")), "{ran:?}");
    assert!(scratch.state().join(format!("damaged-{}", note.trim())).exists());
    scratch.git(["gc", "-q"]).ok();
    scratch.assert_sound();
    assert_eq!(scratch.record(&commits[1])["prompt"], "two");
    purge(&scratch, &["--match=two"]).ok();
}

#[test]
fn a_large_note_is_not_lost() {
    let (scratch, commits, _) = recorded(&["one"]);
    let large = scratch.root().join("large");
    let note = scratch.git(["notes", "--ref=shiftlog", "show", &commits[0]]).ok();
    fs::write(&large, note + &"plain text of somebody\n".repeat(49 << 20 >> 4)).unwrap();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-F", large.to_str().unwrap(), &commits[0]]).ok();
    let before = scratch.id(NOTES);
    assert_eq!(repair(&scratch).code, 1);
    assert_eq!(scratch.id(NOTES), before);
}

#[test]
fn a_note_that_a_remote_has_is_fetched_again_and_stays_while_no_remote_can_be_asked() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let note = team.git(&a, &["notes", "--ref=shiftlog", "list", "HEAD"]).ok();
    empty(&a, note.trim());
    let url = team.git(&a, &["remote", "get-url", "origin"]).ok();
    team.git(&a, &["remote", "set-url", "origin", "/nowhere"]).ok();
    let ran = team.shiftlog(&a, "fsck", &["--repair", "-q"]);
    assert!(ran.code == 1 && ran.stdout.contains("asked origin in vain: "), "{ran:?}");
    assert_eq!(team.git(&a, &["notes", "--ref=shiftlog", "list", "HEAD"]).ok(), note);
    team.git(&a, &["remote", "set-url", "origin", url.trim()]).ok();
    team.shiftlog(&a, "fsck", &["--repair", "-q"]).ok();
    team.assert_said(&a, "HEAD", &["words"]);
    team.assert_sound(&a);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.clone_of("b", &[]);
    team.shiftlog(&b, "sync", &["pull", "--all", "-q"]).ok();
    team.assert_said(&b, "HEAD", &["words"]);
}

/// Makes a commit of notes as Git makes it where another process writes at the same time: the later notes are lost, and that of
/// the first commit is replaced.
fn overwrite(scratch: &Scratch, commits: &[String], text: &str) {
    let index = scratch.root().join("index");
    let git = |args: &[&str], input: &str| {
        let mut command = scratch.command("git", &scratch.top);
        let ran = feed(command.env("GIT_INDEX_FILE", &index).args(args), input.as_bytes());
        ran.ok().trim().to_owned()
    };
    let blob = git(&["hash-object", "-w", "--stdin"], text);
    git(&["read-tree", NOTES], "");
    git(&["update-index", "--force-remove", &commits[1]], "");
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{}", commits[0])], "");
    let tree = git(&["write-tree"], "");
    let commit = git(&["commit-tree", &tree, "-p", NOTES, "-m", "Notes added by 'git notes append'"], "");
    git(&["update-ref", NOTES, &commit], "");
}

#[test]
fn what_the_history_still_has_is_put_back_before_it_goes() {
    for is_present in [true, false] {
        let (scratch, commits, _) = recorded(&["one", "two", "three"]);
        let show = |commit: &str| scratch.git(["notes", "--ref=shiftlog", "show", commit]).ok();
        let blob = || scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
        let (first, earlier) = (show(&commits[0]), blob());
        overwrite(&scratch, &commits, &format!("{first}\nseen\n"));
        let lost = if is_present { blob() } else { earlier };
        empty(&scratch.top, lost.trim());
        let ran = repair(&scratch);
        assert!(ran.stdout.contains(&format!("put back what was said on {}\n", commits[1])), "{is_present}: {ran:?}");
        assert!(ran.stdout.contains("dropped the history of 'refs/notes/shiftlog', "), "{is_present}: {ran:?}");
        for (commit, word) in commits.iter().zip(["one", "two", "three"]).skip(1) {
            assert_eq!(scratch.record(commit)["prompt"], word, "{is_present}");
        }
        scratch.git(["gc", "-q"]).ok();
        assert_eq!(repair(&scratch).stdout, "");
    }
}

#[test]
fn a_ref_that_somebody_replaced_is_joined_before_a_note_is_taken_out() {
    let (scratch, commits, _) = recorded(&["one", "two", "three"]);
    let tree = format!("{NOTES}~1^{{tree}}");
    let commit = scratch.git(["commit-tree", &tree, "-m", "Notes added by 'git notes add'"]).ok();
    scratch.git(["update-ref", NOTES, commit.trim()]).ok();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", "foreign", &commits[0]]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
    empty(&scratch.top, note.trim());
    repair(&scratch);
    for (commit, word) in commits.iter().zip(["one", "two", "three"]) {
        assert_eq!(scratch.record(commit)["prompt"], word);
    }
    assert_eq!(repair(&scratch).stdout, "");
}

#[test]
fn the_history_stays_while_it_has_the_whole_of_a_note_that_was_cut() {
    let (scratch, commits, _) = recorded(&["one", "two", "three"]);
    let whole = scratch.git(["notes", "--ref=shiftlog", "show", &commits[2]]).ok();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &whole[..150], &commits[2]]).ok();
    let note = scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
    empty(&scratch.top, note.trim());
    let before = scratch.id(NOTES);
    assert_eq!(repair(&scratch).code, 1);
    assert_eq!(scratch.id(NOTES), before);
}

#[test]
fn an_earlier_note_that_cannot_be_read_costs_the_history_alone() {
    let (scratch, commits, _) = recorded(&["one", "two"]);
    let note = scratch.git(["notes", "--ref=shiftlog", "list", &commits[0]]).ok();
    empty(&scratch.top, note.trim());
    scratch.git(["notes", "--ref=shiftlog", "remove", &commits[0]]).ok();
    assert_eq!(repair(&scratch).code, 0);
    let ran = repair(&scratch);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(scratch.record(&commits[1])["prompt"], "two");
    scratch.git(["gc", "-q"]).ok();
}

#[test]
fn a_purge_names_the_segment_that_it_cannot_read() {
    let (scratch, commits, _) = recorded(&["one", "two"]);
    let first = files(&scratch, ARCHIVE)[0].1.clone();
    empty(&scratch.top, &first);
    let ran = purge(&scratch, &["--match=two"]);
    let named = format!("warning: segment {first} is damaged, and may have the words: it stays as it is\n");
    assert!(ran.code == 1 && ran.stderr.contains(&named), "{ran:?}");
    // It is that of the commit before: the other one goes alone.
    let names_first = || files(&scratch, ARCHIVE).iter().any(|(_, id)| *id == first);
    purge(&scratch, &[&commits[1]]);
    assert_eq!((scratch.records(&commits[0]).len(), scratch.records(&commits[1]).len(), names_first()), (1, 0, true));
    let ran = purge(&scratch, &[&commits[0]]);
    assert!(ran.code == 1 && ran.stderr.contains(&named), "{ran:?}");
    assert_eq!((scratch.records(&commits[0]).len(), names_first()), (1, true));
    let ran = purge(&scratch, &["--session=s1", "--all"]);
    assert!(ran.code == 0 && !ran.stderr.contains("is damaged"), "{ran:?}");
    assert_eq!((scratch.records(&commits[0]).len(), names_first()), (0, false));
}

#[test]
fn a_record_that_names_a_damaged_segment_of_another_session_marks_nothing() {
    let (scratch, commits, _) = recorded(&["one"]);
    let note = scratch.git(["notes", "--ref=shiftlog", "show", &commits[0]]).ok();
    let other = scratch.commit("y", "1\n", "other");
    let forged = note.replace("\"session\":\"s1\"", "\"session\":\"s9\"");
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &forged, &other]).ok();
    let before = files(&scratch, ARCHIVE);
    empty(&scratch.top, &before[0].1);
    purge(&scratch, &[&other]);
    assert_eq!((scratch.records(&commits[0]).len(), files(&scratch, ARCHIVE)), (1, before));
}

#[test]
fn a_purge_removes_unfinished_files_and_names_those_that_a_repair_moved_aside() {
    let (scratch, ..) = recorded(&["one"]);
    let session = scratch.session("s2");
    session.prompt(SECRET);
    session.edits("two.txt", "two");
    let commit = session.commits("two");
    let (live, aside) = (scratch.state().join("live/.tmp-x"), scratch.state().join("junk-1-x"));
    fs::write(&live, SECRET).unwrap();
    fs::write(&aside, SECRET).unwrap();
    let ran = purge(&scratch, &["--match=Ferdinand"]);
    let named = format!(
        "1 damaged file that a repair moved out of the way may have removed words, such as '{}'\n",
        aside.display()
    );
    assert!(ran.code == 0 && ran.stderr.contains(&named), "{ran:?}");
    assert_eq!((live.exists(), places(&scratch, &scratch.top, SECRET)), (false, vec![aside.display().to_string()]));
    assert!(!scratch.raw(&commit, &[]).contains(SECRET));
}

#[test]
fn a_key_that_goes_on_in_another_segment_is_purged() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=aider", "-q"]).ok();
    fs::write(scratch.top.join(".git/info/exclude"), ".aider*\n").unwrap();
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    let now = scratch.run_in(&scratch.top, "date", ["+%F %T"]).ok();
    let rows: Vec<String> =
        (0..20).map(|row| format!("{row:02}MIIEpAIBAAKCAQEA0Zq7{}", "kX9vB2nQ7t".repeat(4))).collect();
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", rows.join("\n"));
    let (begun, rest) = key.split_at(key.len() / 2);
    let begun_with_line = &begun[..=begun.rfind('\n').unwrap()];
    let rest = format!("{}{rest}", &begun[begun_with_line.len()..]);
    let file = scratch.top.join(".aider.chat.history.md");
    let mut said = format!("# aider chat started at {}\n\n#### look at this key  \n\n{begun_with_line}", now.trim());
    fs::write(&file, &said).unwrap();
    let first = scratch.commit("one", "1\n", "one");
    said += &format!("{rest}\nIt is a key.\n\n#### thanks  \n\nYou are welcome.\n");
    fs::write(&file, &said).unwrap();
    let second = scratch.commit("two", "2\n", "two");
    said += "\n#### go on  \n\nI do.\n";
    fs::write(&file, &said).unwrap();
    let third = scratch.commit("three", "3\n", "three");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    assert!(scratch.raw(&first, &[]).contains(&rows[2]) && scratch.raw(&second, &[]).contains(&rows[18]));
    purge(&scratch, &["--secrets"]).ok();
    for row in &rows {
        assert_eq!(places(&scratch, &scratch.top, row), Vec::<String>::new());
    }
    let words = scratch.raw(&second, &[]);
    assert!(words.contains("It is a key.") && words.contains("You are welcome."), "{words}");
    assert!(scratch.raw(&third, &[]).contains("I do."));
    assert_eq!(scratch.shiftlog("scan", [""; 0]).code, 0);
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 0);
}

#[test]
fn a_purge_works_where_the_path_of_the_repository_is_no_text() {
    let (scratch, ..) = recorded(&["one"]);
    let moved = scratch.root().join(OsStr::from_bytes(b"r\xff"));
    fs::rename(&scratch.top, &moved).unwrap();
    let pending = moved.join(".git/shiftlog/pending");
    fs::create_dir_all(&pending).unwrap();
    let from = json!({ "segment": "1".repeat(40), "bytes": 10 });
    let capture = json!({ "shiftlog": 1, "agent": "claude", "session": "s1", "commits": [], "from": from });
    fs::write(pending.join("1-s1"), format!("{capture}\n")).unwrap();
    let ran = scratch.shiftlog_in(&moved, "purge", ["--session=s1", "--all", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_dir(&pending).unwrap().count(), 0);
}
