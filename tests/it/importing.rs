//! What `git shiftlog import` promises: each commit gets the session that made it, no other gets it, and no word is lost.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::fixtures::fixture;
use crate::harm::tree;
use crate::resume::place;
use crate::support::{Scratch, Session};

/// What the harness writes as the time of every record.
const HARNESS_TIME: &str = "2026-01-02T03:04:06Z";

/// Returns a moment of the day, by its minute.
fn moment(minute: u32) -> String {
    format!("2026-01-02T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

/// A session that ran before anything was set up, in the agent's own store.
pub struct Past<'s>(Session<'s>);

impl<'s> Past<'s> {
    pub fn new(scratch: &'s Scratch, id: &str) -> Self {
        Self::in_directory(scratch, id, &scratch.top)
    }

    fn in_directory(scratch: &'s Scratch, id: &str, dir: &Path) -> Self {
        let transcript = place(scratch, dir, id);
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        Past(Session { scratch, id: id.to_owned(), dir: dir.to_owned(), transcript })
    }

    /// Lets something happen at a minute of the day.
    pub fn at(&self, minute: u32, act: impl FnOnce(&Session<'_>)) -> &Self {
        let before = fs::read(&self.0.transcript).unwrap_or_default();
        act(&self.0);
        let after = fs::read_to_string(&self.0.transcript).unwrap();
        let new = after[before.len()..].replace(HARNESS_TIME, &moment(minute));
        fs::write(&self.0.transcript, [&before[..], new.as_bytes()].concat()).unwrap();
        self
    }

    /// The agent commits everything, and Git tells it the id.
    pub fn commits(&self, minute: u32, message: &str) -> String {
        self.commits_as(minute, message, &["-m", message], None)
    }

    /// The agent commits everything with these arguments; its result is `answer`, or else what Git prints.
    fn commits_as(&self, minute: u32, message: &str, args: &[&str], answer: Option<&str>) -> String {
        let call_id = format!("commit-{message}-{minute}");
        let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
        let command = format!("git add -A && git commit {}", quoted.join(" "));
        self.at(minute, |session| session.calls(&call_id, "Bash", &json!({ "command": command })));
        let commit = commit_at(self.0.scratch, &self.0.dir, minute, args);
        let printed = format!("[main {}] {message}", &commit[..7]);
        self.at(minute, |session| session.answers(&call_id, answer.unwrap_or(&printed)));
        commit
    }

    pub fn text(&self) -> String {
        self.0.text()
    }
}

/// Commits everything at a minute of the day, as the harness's author. Returns the commit.
fn commit_at(scratch: &Scratch, dir: &Path, minute: u32, args: &[&str]) -> String {
    commit_by(scratch, dir, minute, "author@example.com", args)
}

fn commit_by(scratch: &Scratch, dir: &Path, minute: u32, address: &str, args: &[&str]) -> String {
    let git = |args: &[&str]| {
        let mut command = scratch.command("git", dir);
        command.env("GIT_COMMITTER_DATE", moment(minute)).env("GIT_AUTHOR_DATE", moment(minute));
        command.env("GIT_AUTHOR_EMAIL", address).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["add", "-A"]);
    git(&[&["commit", "-q", "--allow-empty"], args].concat());
    git(&["rev-parse", "HEAD"])
}

/// Imports and returns what it says.
fn import(scratch: &Scratch, options: &[&str]) -> String {
    scratch.shiftlog("import", options).ok()
}

/// Returns the sessions that are recorded on a commit.
fn sessions(scratch: &Scratch, commit: &str) -> Vec<String> {
    let records = scratch.records(commit);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Returns where all our refs are.
fn refs(scratch: &Scratch) -> String {
    scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok()
}

#[test]
fn each_commit_that_a_transcript_names_gets_its_part_of_it() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("greet"));
    past.at(201, |session| session.edits("greet.txt", "hi\n"));
    let first = past.commits(202, "add a greeting");
    let through_first = past.text();
    let by_hand = commit_by(&scratch, &scratch.top, 203, "colleague@example.com", &["-m", "somebody else's"]);
    past.at(204, |session| session.prompt("and part"));
    past.at(205, |session| session.edits("part.txt", "bye\n"));
    let second = past.commits(206, "add a farewell");
    let through_second = past.text();
    past.at(207, |session| session.says("Done."));
    let said = import(&scratch, &[]);
    let expected = format!(
        "{} has session claude/s1 (high: git told it the id)\n{} has session claude/s1 (high: git told it the id)\n\
         recorded 1 session on 2 commits, archived 0\n",
        &first[..7],
        &second[..7]
    );
    assert_eq!(said, expected);
    assert_eq!(scratch.raw(&first, &[]), through_first);
    assert_eq!(scratch.raw(&first, &[]) + &scratch.raw(&second, &[]), through_second, "one follows the other");
    assert_eq!(scratch.record(&second)["since"], scratch.record(&first)["through"]);
    assert_eq!(scratch.record(&second)["prompt"], "and part");
    assert!(sessions(&scratch, &by_hand).is_empty() && sessions(&scratch, "HEAD~3").is_empty());
    assert_eq!(scratch.shiftlog("show", ["--raw", "--full", "--session=s1", &second]).ok(), through_second);
    // The tail is archived: the session can be taken from there when the agent's file is gone.
    assert!(scratch.git(["log", "-1", "--format=%s", "refs/shiftlog/sessions"]).code == 0);
    assert_eq!(archived(&scratch), past.text().len() as u64);
    scratch.assert_sound();
}

/// Returns the length of the longest transcript that the archive has, as the headers of its segments tell.
fn archived(scratch: &Scratch) -> u64 {
    let listed = scratch.git(["ls-tree", "-r", "--format=%(objectname)", "refs/shiftlog/sessions"]).ok();
    let total = |id: &str| {
        let bytes = scratch.git(["cat-file", "blob", id]).bytes;
        let (header, _) = shiftlog::archive::segment::decode(&bytes).unwrap();
        header.keep + header.bytes
    };
    listed.lines().map(total).max().unwrap_or(0)
}

#[test]
fn importing_again_changes_nothing_and_adds_what_is_new() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    past.commits(202, "one");
    past.at(203, |session| session.says("A tail."));
    import(&scratch, &[]);
    let before = refs(&scratch);
    assert_eq!(import(&scratch, &[]), "recorded 0 sessions on 0 commits, archived 0\n");
    assert_eq!(refs(&scratch), before);
    scratch.lose_state();
    assert_eq!(import(&scratch, &[]), "recorded 0 sessions on 0 commits, archived 0\n", "also without our own state");
    assert_eq!(refs(&scratch), before);
    past.at(210, |session| session.edits("a.txt", "b\n"));
    let second = past.commits(211, "two");
    let text = past.text();
    assert!(import(&scratch, &[]).ends_with("recorded 1 session on 1 commit, archived 0\n"));
    assert_eq!(scratch.raw("HEAD~1", &[]) + &scratch.raw(&second, &[]), text, "the tail belongs to the next commit");
    past.at(212, |session| session.says("More."));
    assert_eq!(import(&scratch, &[]), "archived session claude/s1\nrecorded 0 sessions on 0 commits, archived 1\n");
    assert_eq!(archived(&scratch), past.text().len() as u64);
}

#[test]
fn sessions_of_another_repository_are_not_taken() {
    let scratch = Scratch::new();
    let other = scratch.root().join("other");
    fs::create_dir_all(&other).unwrap();
    scratch.git(["init", "-q", other.to_str().unwrap()]).ok();
    let foreign = Past::in_directory(&scratch, "foreign", &other);
    foreign.at(200, |session| session.prompt("theirs"));
    foreign.at(201, |session| session.edits("a.txt", "a\n"));
    // A directory whose name differs only in punctuation shares the folder.
    let neighbour = place(&scratch, &scratch.top, "neighbour");
    fs::create_dir_all(neighbour.parent().unwrap()).unwrap();
    let record = json!({ "type": "user", "cwd": scratch.root().join("re/po"), "timestamp": moment(200),
        "message": { "role": "user", "content": "theirs" } });
    fs::write(&neighbour, format!("{record}\n")).unwrap();
    let ours = commit_at(&scratch, &scratch.top, 202, &["-m", "ours"]);
    assert_eq!(import(&scratch, &["--min-confidence=low"]), "recorded 0 sessions on 0 commits, archived 0\n");
    assert!(sessions(&scratch, &ours).is_empty() && refs(&scratch).is_empty());
}

#[test]
fn an_id_of_another_repository_links_nothing() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("fix it there"));
    let command = json!({ "command": "cd /home/dev/other && git commit -am 'fix it'" });
    past.at(201, |session| session.calls("c1", "Bash", &command));
    past.at(201, |session| session.answers("c1", "[main 0123abc] fix it"));
    // The id of a commit of ours, in words that are no answer of 'git commit'.
    let start = scratch.id("HEAD");
    past.at(202, |session| session.calls("c2", "Bash", &json!({ "command": "cat notes" })));
    past.at(202, |session| session.answers("c2", &format!("[main {}] start", &start[..7])));
    let ours = commit_by(&scratch, &scratch.top, 202, "colleague@example.com", &["-m", "fix it"]);
    let again = commit_by(&scratch, &scratch.top, 203, "colleague@example.com", &["-m", "not fixed"]);
    // One that names it, with another subject than it has.
    past.at(203, |session| session.calls("c3", "Bash", &json!({ "command": "git commit -m 'fixed'" })));
    past.at(203, |session| session.answers("c3", &format!("[main {}] fixed", &again[..7])));
    assert_eq!(
        import(&scratch, &["--min-confidence=low"]),
        "archived session claude/s1\nrecorded 0 sessions on 0 commits, archived 1\n"
    );
    assert!([&start, &ours, &again].iter().all(|commit| sessions(&scratch, commit).is_empty()));
}

#[test]
fn of_two_sessions_at_once_each_commit_gets_its_own() {
    let scratch = Scratch::new();
    let (one, two) = (Past::new(&scratch, "one"), Past::new(&scratch, "two"));
    one.at(200, |session| session.prompt("a"));
    two.at(200, |session| session.prompt("b"));
    let mut commits = Vec::new();
    for round in 0..3 {
        let minute = 201 + 10 * round;
        for (offset, past, file) in [(0, &one, "a.txt"), (4, &two, "b.txt")] {
            past.at(minute + offset, |session| session.edits(file, &format!("{round}\n")));
            commits.push((past.0.id.clone(), past.commits(minute + offset + 1, &format!("change {round}"))));
        }
    }
    // Of these the ids are not told.
    one.at(240, |session| session.edits("shared.txt", "one\n"));
    commits.push(("one".into(), one.commits_as(241, "quiet", &["-q", "-m", "quiet"], Some(""))));
    two.at(242, |session| session.edits("shared.txt", "two\n"));
    commits.push(("two".into(), two.commits_as(243, "quiet", &["-q", "-m", "quiet"], Some(""))));
    import(&scratch, &["--min-confidence=low"]);
    for (session, commit) in &commits {
        assert_eq!(sessions(&scratch, commit), [session.as_str()], "{}", scratch.git(["log", "--oneline"]).ok());
    }
    for past in [&one, &two] {
        let own = commits.iter().filter(|(session, _)| *session == past.0.id);
        let whole: String = own.map(|(_, commit)| scratch.raw(commit, &[])).collect();
        assert_eq!(whole, past.text());
    }
}

#[test]
fn an_amended_commit_is_found_by_its_subject() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("greet"));
    past.at(201, |session| session.calls("e1", "Bash", &json!({ "command": "sed -i s/hello/hi/ README" })));
    scratch.write("README", "hi\n");
    let gone = past.commits(202, "greet");
    let through = past.text();
    past.at(203, |session| session.says("Done."));
    scratch.write("more.txt", "by hand\n");
    scratch.git(["add", "-A"]).ok();
    let mut amend = scratch.command("git", &scratch.top);
    amend.env("GIT_COMMITTER_DATE", moment(500)).args(["commit", "-q", "--amend", "--no-edit"]);
    assert!(amend.status().unwrap().success());
    let amended = scratch.id("HEAD");
    assert_ne!(amended, gone);
    let said = import(&scratch, &[]);
    let expected = format!("{} has session claude/s1 (medium: it ran 'git commit' with that subject)\n", &amended[..7]);
    assert_eq!(said, expected + "recorded 1 session on 1 commit, archived 0\n");
    assert_eq!(scratch.raw("HEAD", &[]), through);
    assert!(sessions(&scratch, &gone).is_empty());
}

#[test]
fn a_rebased_a_picked_and_a_merged_commit_are_left_alone() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    let at = |minute: u32, args: &[&str]| {
        let mut command = scratch.command("git", &scratch.top);
        command.env("GIT_COMMITTER_DATE", moment(minute)).env("GIT_AUTHOR_DATE", moment(minute)).args(args);
        assert!(command.output().unwrap().status.success(), "{args:?}");
    };
    at(190, &["switch", "-q", "-c", "topic"]);
    scratch.write("a.txt", "a\n");
    commit_at(&scratch, &scratch.top, 191, &["-m", "topic"]);
    past.at(200, |session| session.prompt("rebase"));
    past.at(201, |session| session.edits("b.txt", "b\n"));
    at(202, &["switch", "-q", "main"]);
    let base = past.commits(203, "base");
    past.at(204, |session| session.calls("c1", "Bash", &json!({ "command": "git rebase main topic" })));
    past.at(204, |session| session.calls("e1", "Write", &json!({ "file_path": "a.txt", "content": "a\n" })));
    at(204, &["rebase", "-q", "main", "topic"]);
    at(205, &["switch", "-q", "main"]);
    at(205, &["cherry-pick", "topic"]);
    at(206, &["merge", "-q", "--no-ff", "-m", "merge", "topic"]);
    past.at(207, |session| session.says("Done."));
    let dry = import(&scratch, &["--min-confidence=low", "-n"]);
    assert!(dry.ends_with("would record 1 session on 1 commit, archive 0\n"), "{dry}");
    // Without reflogs the times of author and committer tell.
    fs::remove_dir_all(scratch.top.join(".git/logs")).unwrap();
    import(&scratch, &["--min-confidence=low"]);
    assert_eq!(sessions(&scratch, &base), ["s1"]);
    let noted = scratch.git(["notes", "--ref=shiftlog", "list"]).ok();
    assert_eq!(noted.lines().count(), 1, "{}", scratch.git(["log", "--all", "--oneline"]).ok());
}

#[test]
fn what_the_session_wrote_tells_who_made_a_commit() {
    let scratch = Scratch::new();
    let (writer, editor, bystander) =
        (Past::new(&scratch, "writer"), Past::new(&scratch, "editor"), Past::new(&scratch, "bystander"));
    scratch.write("long.txt", "one\ntwo\nthree\n");
    let before = commit_at(&scratch, &scratch.top, 190, &["-m", "before"]);
    writer.at(200, |session| session.prompt("write it"));
    writer.at(201, |session| session.edits("new.txt", "written by the agent\n"));
    editor.at(200, |session| session.prompt("edit it"));
    bystander.at(200, |session| session.prompt("watch"));
    let edit = json!({ "file_path": scratch.top.join("long.txt"), "old_string": "two", "new_string": "zwei" });
    editor.at(202, |session| session.calls("e1", "Edit", &edit));
    let other = json!({ "file_path": scratch.top.join("long.txt"), "old_string": "three", "new_string": "drei" });
    bystander.at(202, |session| session.calls("e1", "Edit", &other));
    scratch.write("long.txt", "one\nzwei\nthree\n");
    // A person commits a day later.
    let commit = commit_at(&scratch, &scratch.top, 1400, &["-m", "by hand"]);
    scratch.write("new.txt", "changed\n");
    let changed = commit_at(&scratch, &scratch.top, 1410, &["-m", "changed"]);
    scratch.write("new.txt", "written by the agent\n");
    let reverted = commit_at(&scratch, &scratch.top, 1420, &["-m", "back"]);
    let said = import(&scratch, &["--min-confidence=high"]);
    assert_eq!(sessions(&scratch, &commit), ["editor", "writer"], "{said}");
    assert!([&before, &changed, &reverted].iter().all(|commit| sessions(&scratch, commit).is_empty()), "{said}");
    assert!(said.contains("(high: it wrote what is there)"), "{said}");
    assert!(said.ends_with("recorded 2 sessions on 1 commit, archived 1\n"), "{said}");
}

#[test]
fn paths_and_time_tell_where_nothing_better_does_and_only_if_asked() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("format it"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    scratch.write("a.txt", "formatted\n");
    let by_path = commit_at(&scratch, &scratch.top, 202, &["-m", "one"]);
    let text = past.text();
    past.at(203, |session| session.prompt("rename it"));
    scratch.git(["mv", "a.txt", "b.txt"]).ok();
    let by_time = commit_at(&scratch, &scratch.top, 204, &["-m", "two"]);
    past.at(205, |session| session.says("Done."));
    scratch.write("a.txt", "again\n");
    let idle = commit_at(&scratch, &scratch.top, 205, &["-m", "three"]);
    let listed = |level: &str| import(&scratch, &["-n", "--json", &format!("--min-confidence={level}")]);
    let found = |level: &str| {
        let lines: Vec<Value> = listed(level).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let short = |line: &Value| {
            let commit = line["commit"].as_str().unwrap_or_default().to_owned();
            (
                commit,
                line["confidence"].as_str().unwrap_or_default().to_owned(),
                line["fate"].as_str().unwrap().to_owned(),
            )
        };
        lines.iter().map(short).collect::<Vec<_>>()
    };
    let one = |commit: &str, confidence: &str| (commit.to_owned(), confidence.to_owned(), "recorded".to_owned());
    assert_eq!(found("high"), [(String::new(), String::new(), "archived".into())]);
    assert_eq!(found("medium"), [one(&by_path, "medium")]);
    assert_eq!(found("low"), [one(&by_path, "medium"), one(&by_time, "low")], "the third: {idle}");
    import(&scratch, &["--min-confidence=low"]);
    assert_eq!(scratch.raw(&by_path, &[]), text, "up to the last message before the commit");
    assert_eq!(sessions(&scratch, &by_time), ["s1"]);
}

#[test]
fn a_commit_gets_no_session_for_its_time_alone_that_was_editing_other_files() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("write the parser"));
    past.at(201, |session| session.edits("parser.rs", "x\n"));
    scratch.git(["rm", "-q", "--cached", "README"]).ok();
    let unrelated = {
        scratch.write(".git/info/exclude", "parser.rs\n");
        commit_at(&scratch, &scratch.top, 202, &["-m", "a human's"])
    };
    past.at(203, |session| session.says("Done."));
    import(&scratch, &["--min-confidence=low"]);
    assert_eq!(sessions(&scratch, &unrelated), Vec::<String>::new());
}

#[test]
fn what_was_archived_first_is_still_recorded_later() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("rename it"));
    let commit = commit_at(&scratch, &scratch.top, 201, &["-m", "by time alone"]);
    past.at(203, |session| session.says("Done."));
    assert!(import(&scratch, &[]).ends_with("recorded 0 sessions on 0 commits, archived 1\n"));
    assert!(import(&scratch, &["--min-confidence=low"]).ends_with("recorded 1 session on 1 commit, archived 0\n"));
    assert_eq!(scratch.raw(&commit, &[]), past.text());
    let before = refs(&scratch);
    import(&scratch, &["--min-confidence=low"]);
    assert_eq!(refs(&scratch), before);
}

#[test]
fn a_dry_run_writes_nothing_and_says_the_same() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    let commit = past.commits(202, "one");
    Past::new(&scratch, "s2").at(200, |session| session.prompt("only talk"));
    let before = tree(&scratch.root());
    let said = import(&scratch, &["--dry-run"]);
    assert!(tree(&scratch.root()) == before, "nothing is written");
    let expected = format!(
        "{} would get session claude/s1 (high: git told it the id)\nwould archive session claude/s2\n\
         would record 1 session on 1 commit, archive 1\n",
        &commit[..7]
    );
    assert_eq!(said, expected);
    assert_eq!(import(&scratch, &["-q"]), "");
    assert!(import(&scratch, &["--dry-run"]).starts_with("would record 0 sessions"));
}

#[test]
fn the_date_and_the_agent_choose_sessions() {
    let scratch = Scratch::new();
    for (id, days) in [("old", 20), ("new", 2)] {
        let past = Past::new(&scratch, id);
        past.at(200, |session| session.prompt("talk"));
        let written = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        fs::File::options().append(true).open(&past.0.transcript).unwrap().set_modified(written).unwrap();
    }
    assert!(import(&scratch, &["-n", "--agent=claude"]).contains("would archive session claude/old\n"));
    let said = import(&scratch, &["--since=1.week"]);
    assert_eq!(said, "archived session claude/new\nrecorded 0 sessions on 0 commits, archived 1\n");
    assert_eq!(scratch.shiftlog("import", ["--agent=nobody"]).code, 129);
    assert_eq!(scratch.shiftlog("import", ["--min-confidence=some"]).code, 129);
}

#[test]
fn secrets_are_redacted_and_cuts_still_fit() {
    let scratch = Scratch::new();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt(&format!("use {token}")));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    let first = past.commits(202, "one");
    past.at(203, |session| session.prompt(&format!("again {token}")));
    past.at(204, |session| session.edits("a.txt", "b\n"));
    let second = past.commits(205, "two");
    import(&scratch, &[]);
    let (one, two) = (scratch.raw(&first, &[]), scratch.raw(&second, &[]));
    assert!(!one.contains(&token) && !two.contains(&token));
    assert_eq!((one.lines().count(), one.lines().count() + two.lines().count()), (5, past.text().lines().count()));
    assert!(one.contains("[main ") && two.contains("again "), "{two}");
    let before = refs(&scratch);
    import(&scratch, &[]);
    assert_eq!(refs(&scratch), before);
}

#[test]
fn what_was_purged_does_not_come_back() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("the word is Rumpelstiltskin"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    let commit = past.commits(202, "one");
    import(&scratch, &["-q"]);
    scratch.shiftlog("purge", ["--match=Rumpelstiltskin", "--yes"]).ok();
    let purged = scratch.raw(&commit, &[]);
    assert!(!purged.contains("Rumpelstiltskin"));
    import(&scratch, &[]);
    assert_eq!(scratch.raw(&commit, &[]), purged);
    scratch.lose_state();
    assert!(import(&scratch, &[]).starts_with("left session claude/s1 alone: words of it were purged\n"));
    assert_eq!(scratch.raw(&commit, &[]), purged);
    scratch.shiftlog("purge", ["--yes", &commit]).ok();
    assert!(import(&scratch, &[]).starts_with("left session claude/s1 alone"), "nothing of it is left to tell");
    assert!(sessions(&scratch, &commit).is_empty());
    Past::new(&scratch, "s2").at(300, |session| session.prompt("another word"));
    assert!(import(&scratch, &[]).contains("archived session claude/s2\n"));
    scratch.shiftlog("purge", ["--session=s2", "--yes"]).ok();
    assert!(!import(&scratch, &[]).contains("s2"));
}

#[test]
fn a_session_that_is_going_on_is_left_to_its_hooks() {
    let scratch = Scratch::set_up();
    let past = Past::new(&scratch, "live");
    past.0.hook("SessionStart");
    past.0.prompt("one");
    past.0.edits("a.txt", "a\n");
    let first = past.0.commits("one");
    past.0.prompt("two");
    let agent = past.0.stays();
    let before = refs(&scratch);
    let said = import(&scratch, &["--min-confidence=low"]);
    assert_eq!(said, "left session claude/live alone: it is going on\nrecorded 0 sessions on 0 commits, archived 0\n");
    assert_eq!(refs(&scratch), before);
    drop(agent);
    past.0.edits("a.txt", "b\n");
    let second = past.0.commits("two");
    past.0.says("Done.");
    past.0.hook("SessionEnd");
    let whole = scratch.raw(&first, &[]) + &scratch.raw(&second, &[]);
    assert!(past.text().starts_with(&whole));
    let before = refs(&scratch);
    assert_eq!(import(&scratch, &["--min-confidence=low"]), "recorded 0 sessions on 0 commits, archived 0\n");
    assert_eq!(refs(&scratch), before, "hooks have recorded all of it");
}

#[test]
fn a_session_whose_agent_is_gone_is_imported_and_its_hooks_go_on_from_there() {
    let scratch = Scratch::set_up();
    let past = Past::new(&scratch, "gone");
    past.0.hook("SessionStart");
    past.0.prompt("one");
    past.0.edits("a.txt", "a\n");
    let first = past.0.commits("one");
    past.0.says("And then it was killed.");
    assert_eq!(import(&scratch, &[]), "archived session claude/gone\nrecorded 0 sessions on 0 commits, archived 1\n");
    past.0.hook("SessionStart");
    past.0.edits("a.txt", "c\n");
    let second = past.0.commits("two");
    assert_eq!(scratch.raw(&first, &[]) + &scratch.raw(&second, &[]), past.text(), "nothing twice, nothing lost");
    scratch.record(&second);
}

#[test]
fn an_imported_session_that_goes_on_is_recorded_by_its_hooks_from_there() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    let first = past.commits(202, "one");
    past.at(203, |session| session.says("A tail."));
    import(&scratch, &["-q"]);
    scratch.shiftlog("init", ["--agent=claude", "-q"]).ok();
    past.0.hook("SessionStart");
    past.0.prompt("two");
    past.0.edits("a.txt", "b\n");
    let second = past.0.commits("two");
    assert_eq!(scratch.raw(&first, &[]) + &scratch.raw(&second, &[]), past.text());
}

#[test]
fn sub_agents_and_linked_worktrees_and_subdirectories_count() {
    let scratch = Scratch::new();
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]).ok();
    let past = Past::in_directory(&scratch, "s1", &linked);
    past.at(200, |session| session.prompt("let somebody do it"));
    let folder = past.0.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let helper = Past(Session {
        scratch: &scratch,
        id: "s1".into(),
        dir: linked.clone(),
        transcript: folder.join("agent-a1.jsonl"),
    });
    helper.at(201, |session| session.edits("a.txt", "a\n"));
    let commit = helper.commits(202, "done by a sub-agent");
    past.at(203, |session| session.says("Done."));
    fs::create_dir_all(scratch.top.join("sub")).unwrap();
    let below = Past::in_directory(&scratch, "below", &scratch.top.join("sub"));
    below.at(200, |session| session.prompt("here"));
    below.at(201, |session| session.calls("e1", "Write", &json!({ "file_path": "b.txt", "content": "b\n" })));
    scratch.write("sub/b.txt", "b\n");
    let other = commit_at(&scratch, &scratch.top, 202, &["-m", "below"]);
    import(&scratch, &[]);
    assert_eq!(sessions(&scratch, &commit), ["s1", "s1.a1"]);
    assert_eq!(scratch.raw(&commit, &["--session=s1.a1"]), helper.text());
    assert_eq!(sessions(&scratch, &other), ["below"]);
}

#[test]
fn one_call_can_make_two_commits_and_a_branched_session_gets_none_of_them() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("two commits"));
    let command = json!({ "command": "git commit -m first a && git commit -m second b" });
    past.at(201, |session| session.calls("c1", "Bash", &command));
    scratch.write("a", "a\n");
    let first = commit_at(&scratch, &scratch.top, 201, &["-m", "first"]);
    scratch.write("b", "b\n");
    let second = commit_at(&scratch, &scratch.top, 201, &["-m", "second"]);
    let answer = format!("[main {}] first\n[main {}] second", &first[..7], &second[..7]);
    past.at(201, |session| session.answers("c1", &answer));
    let branched = Past::new(&scratch, "s2");
    fs::write(&branched.0.transcript, past.text()).unwrap();
    branched.at(300, |session| session.prompt("another way"));
    import(&scratch, &[]);
    for commit in [&first, &second] {
        assert_eq!(sessions(&scratch, commit), ["s1"]);
        assert_eq!(scratch.raw(commit, &[]), past.text());
    }
}

#[test]
fn hostile_names_in_the_store_do_no_harm() {
    let scratch = Scratch::new();
    let folder = place(&scratch, &scratch.top, "x").parent().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    let poison = "\u{1b}]0;title\u{7}\u{202e}";
    let names = ["--all", "-rf", "..", "...", "a\nb", "$(touch pwned)", "%2e%2e%2f", "x.y.z", poison, &"n".repeat(200)];
    for name in names {
        let text = json!({ "type": "user", "sessionId": "../../../etc/passwd", "timestamp": moment(200),
            "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": poison, "content": poison }] } });
        fs::write(folder.join(format!("{name}.jsonl")), format!("{text}\n")).unwrap();
    }
    let call = |id: &str, file: &str| {
        json!({ "type": "assistant", "timestamp": moment(200), "message": { "role": "assistant", "model": "m", "content": [
            { "type": "tool_use", "id": "c", "name": "Bash", "input": { "command": format!("git commit -m {id}") } },
            { "type": "tool_use", "id": "d", "name": "Write", "input": { "file_path": file, "content": "x" } }] } })
    };
    let odd = [
        ("", "../../../etc/passwd"),
        ("'", "/"),
        ("$(", ""),
        ("\u{0}", "\u{0}"),
        ("--", "a/../../b"),
        (poison, poison),
    ];
    let lines: String = odd.iter().map(|(id, file)| format!("{}\n", call(id, file))).collect();
    let answer = json!({ "type": "user", "timestamp": "+292277026596-12-04T15:30:07Z", "message": { "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "c", "content": format!("[main {}] x\n[a ffff] x\n[HEAD 0000] {poison}", "f".repeat(64)) }] } });
    fs::write(folder.join("calls.jsonl"), format!("{lines}{answer}\nnot json\n{{\"unfinished\":")).unwrap();
    fs::create_dir_all(folder.join("directory.jsonl")).unwrap();
    commit_at(&scratch, &scratch.top, 200, &["-m", poison]);
    let ran = scratch.shiftlog("import", ["--min-confidence=low"]);
    assert_eq!(ran.code, 1, "a directory is no transcript: {ran:?}");
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{ran:?}");
    assert!(ran.stdout.ends_with(&format!("recorded 1 session on 1 commit, archived {}\n", names.len())), "{ran:?}");
    assert!(!scratch.top.join("pwned").exists());
    scratch.assert_sound();
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).code, 0);
    let before = refs(&scratch);
    scratch.shiftlog("import", ["--min-confidence=low"]);
    assert_eq!(refs(&scratch), before);
}

#[test]
fn a_written_transcript_of_claude_code_links_what_it_committed() {
    let scratch = Scratch::new();
    let id = "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e";
    let folder = place(&scratch, &scratch.top, id).parent().unwrap().to_owned();
    let there = fixture("claude/projects/-home-dev-harbour");
    let helper = format!("{id}/subagents/agent-a1b2c3d4e5f60718.jsonl");
    for file in [format!("{id}.jsonl"), "torn-tail.jsonl".into(), helper] {
        let text = fs::read_to_string(there.join(&file)).unwrap();
        fs::create_dir_all(folder.join(&file).parent().unwrap()).unwrap();
        fs::write(folder.join(&file), text.replace("/home/dev/harbour", scratch.top.to_str().unwrap())).unwrap();
    }
    let commit = |date: &str, subject: &str| {
        let mut command = scratch.command("git", &scratch.top);
        command.env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date);
        assert!(command.args(["commit", "-q", "--allow-empty", "-m", subject]).status().unwrap().success());
        scratch.id("HEAD")
    };
    let earlier = commit("2026-06-16T14:00:00Z", "Round tide heights");
    let made = commit("2026-06-16T15:42:10Z", "Round tide heights");
    let other = commit("2026-06-16T15:43:00Z", "Round other heights");
    let later = commit("2026-06-17T15:42:10Z", "Round tide heights");
    let said = import(&scratch, &[]);
    assert!(
        said.starts_with(&format!(
            "{} has session claude/{id} (medium: it ran 'git commit' with that subject)\n",
            &made[..7]
        )),
        "{said}"
    );
    assert!(said.ends_with("recorded 1 session on 1 commit, archived 1\n"), "{said}");
    assert_eq!(sessions(&scratch, &made), [id]);
    assert!(scratch.raw(&made, &[]).ends_with('\n') && scratch.raw(&made, &[]).contains("9d21c07] Round tide heights"));
    assert!(
        !scratch.raw(&made, &[]).contains("It is committed: 9d21c07"),
        "what follows the result does not belong to it"
    );
    assert!([&earlier, &other, &later].iter().all(|commit| sessions(&scratch, commit).is_empty()));
    assert_eq!(import(&scratch, &[]), "recorded 0 sessions on 0 commits, archived 0\n");
}

/// An import that is running.
struct Running {
    child: Child,
    messages: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn new(scratch: &Scratch, fault: &str) -> Self {
        let mut command = scratch.command("git", &scratch.top);
        command.env("SHIFTLOG_FAULT", fault).args(["shiftlog", "import"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let messages = BufReader::new(child.stderr.take().unwrap());
        Running { child, messages }
    }

    /// Returns its next message.
    fn message(&mut self) -> String {
        let mut line = String::new();
        self.messages.read_line(&mut line).unwrap();
        line
    }

    /// Lets it go on, and returns what it says.
    fn finish(mut self) -> String {
        drop(self.child.stdin.take());
        let mut said = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success());
        said
    }
}

#[test]
fn a_second_import_waits_for_the_first_before_it_looks() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    past.commits(202, "one");
    past.at(203, |session| session.edits("a.txt", "b\n"));
    past.commits(204, "two");
    let mut first = Running::new(&scratch, "import-planned");
    assert_eq!(first.message(), "warning: planned\n");
    let mut second = Running::new(&scratch, "");
    assert_eq!(second.message(), "warning: waiting for another 'git shiftlog import' to end\n");
    assert!(first.finish().ends_with("recorded 1 session on 2 commits, archived 0\n"));
    let after = refs(&scratch);
    assert_eq!(second.finish(), "recorded 0 sessions on 0 commits, archived 0\n");
    assert_eq!(refs(&scratch), after);
    assert_eq!(scratch.raw("HEAD~1", &[]) + &scratch.raw("HEAD", &[]), past.text());
}

#[test]
fn a_session_that_is_recorded_while_an_import_runs_is_left_alone() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(200, |session| session.prompt("one"));
    past.at(201, |session| session.edits("a.txt", "a\n"));
    let first = past.commits(202, "one");
    past.at(203, |session| session.edits("a.txt", "b\n"));
    let second = past.commits(204, "two");
    let mut running = Running::new(&scratch, "import-planned");
    assert_eq!(running.message(), "warning: planned\n");
    let transcript = past.0.transcript.to_str().unwrap();
    scratch.shiftlog("add", [&second, "--session=s1", "--agent=claude", "--transcript", transcript]).ok();
    let recorded = refs(&scratch);
    let said = running.finish();
    assert!(said.starts_with("left session claude/s1 alone: it was recorded meanwhile\n"), "{said}");
    assert_eq!(refs(&scratch), recorded);
    assert!(sessions(&scratch, &first).is_empty());
}

#[test]
fn a_commit_of_one_worktree_is_not_given_to_the_session_of_another() {
    let scratch = Scratch::new();
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]).ok();
    let (here, there) = (Past::new(&scratch, "here"), Past::in_directory(&scratch, "there", &linked));
    for past in [&here, &there] {
        past.at(200, |session| session.prompt("greet"));
        past.at(201, |session| session.edits("same.txt", "same\n"));
        past.at(202, |session| session.edits("other.txt", "before\n"));
        fs::write(past.0.dir.join("other.txt"), "formatted\n").unwrap();
    }
    let in_linked = commit_at(&scratch, &linked, 203, &["-m", "in the linked one"]);
    let in_main = commit_at(&scratch, &scratch.top, 204, &["-m", "in the main one"]);
    here.at(206, |session| session.edits("late.txt", "before\n"));
    there.at(206, |session| session.edits("late.txt", "before\n"));
    fs::write(linked.join("late.txt"), "formatted\n").unwrap();
    let by_path = commit_at(&scratch, &linked, 207, &["-m", "formatted"]);
    here.at(210, |session| session.says("Done."));
    there.at(210, |session| session.says("Done."));
    let said = import(&scratch, &[]);
    assert_eq!(sessions(&scratch, &in_linked), ["there"], "{said}");
    assert_eq!(sessions(&scratch, &in_main), ["here"], "{said}");
    assert_eq!(sessions(&scratch, &by_path), ["there"], "{said}");
}

#[test]
fn what_a_session_wrote_is_not_looked_for_long_after_it_and_proves_little_of_somebody_elses_commit() {
    let scratch = Scratch::new();
    let (soon, late) = (Past::new(&scratch, "soon"), Past::new(&scratch, "late"));
    soon.at(200, |session| session.edits("soon.txt", "soon\n"));
    scratch.git(["switch", "-q", "-c", "elsewhere"]).ok();
    let foreign = commit_by(&scratch, &scratch.top, 202, "colleague@example.com", &["-m", "theirs"]);
    late.at(200, |session| session.edits("late.txt", "late\n"));
    let mut reapply = scratch.command("git", &scratch.top);
    reapply.env("GIT_COMMITTER_DATE", "2026-07-02T00:00:00Z").env("GIT_AUTHOR_DATE", "2026-07-02T00:00:00Z");
    scratch.git(["add", "-A"]).ok();
    assert!(reapply.args(["commit", "-q", "-m", "Reapply \"add it\""]).status().unwrap().success());
    let reapplied = scratch.id("HEAD");
    // As after a fetch, nothing tells that they were made here.
    fs::remove_dir_all(scratch.top.join(".git/logs")).unwrap();
    let said = import(&scratch, &[]);
    assert_eq!(sessions(&scratch, &foreign), ["soon"], "{said}");
    assert!(said.contains("(medium: it wrote what is there, but somebody else committed it)"), "{said}");
    assert!(sessions(&scratch, &reapplied).is_empty(), "{said}");
}

#[test]
fn a_commit_with_a_wrong_date_hides_nothing_below_it() {
    let scratch = Scratch::new();
    let past = Past::new(&scratch, "s1");
    past.at(10, |session| session.prompt("make it"));
    past.at(11, |session| session.edits("a.txt", "made\n"));
    let commit = past.commits(12, "made by an agent");
    let mut wrong = scratch.command("git", &scratch.top);
    wrong.args(["commit", "-q", "--allow-empty", "-m", "from the dawn of time"]);
    wrong.env("GIT_COMMITTER_DATE", "@86400 +0000").env("GIT_AUTHOR_DATE", "@86400 +0000");
    assert!(wrong.status().unwrap().success());
    import(&scratch, &[]);
    assert_eq!(sessions(&scratch, &commit), ["s1"]);
}
