//! What `git shiftlog import` promises: each commit gets the session that made it, no other gets it, and no word is lost.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::harm::tree;
use crate::resume::place;
use crate::support::{Scratch, Session};

/// What the harness writes as the time of every record.
const HARNESS_TIME: &str = "2026-01-02T03:04:06Z";

/// Returns a moment of the day, by its minute.
pub fn moment(minute: u32) -> String {
    format!("2026-01-02T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

/// A session that ran before anything was set up, in the agent's own store.
pub struct Past<'s>(pub Session<'s>);

impl<'s> Past<'s> {
    pub fn new(scratch: &'s Scratch, id: &str) -> Self {
        Self::in_directory(scratch, id, &scratch.top)
    }

    pub fn in_directory(scratch: &'s Scratch, id: &str, dir: &Path) -> Self {
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
    pub fn commits_as(&self, minute: u32, message: &str, args: &[&str], answer: Option<&str>) -> String {
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
pub fn commit_at(scratch: &Scratch, dir: &Path, minute: u32, args: &[&str]) -> String {
    commit_by(scratch, dir, minute, "author@example.com", args)
}

pub fn commit_by(scratch: &Scratch, dir: &Path, minute: u32, address: &str, args: &[&str]) -> String {
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
pub fn import(scratch: &Scratch, options: &[&str]) -> String {
    scratch.shiftlog("import", options).ok()
}

/// Returns the sessions that are recorded on a commit.
pub fn sessions(scratch: &Scratch, commit: &str) -> Vec<String> {
    let records = scratch.records(commit);
    let mut ids: Vec<String> = records.iter().map(|record| record["session"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Returns where all our refs are.
pub fn refs(scratch: &Scratch) -> String {
    scratch.git(["for-each-ref", "refs/notes", "refs/shiftlog"]).ok()
}

/// Returns the length of the longest transcript that the archive has, as the headers of its segments tell.
pub fn archived(scratch: &Scratch) -> u64 {
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
        "{} would get session claude/s1 (high: git told the session this id)\nwould archive session claude/s2\n\
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
    scratch.shiftlog("purge", ["--all", "--match=Rumpelstiltskin", "--yes"]).ok();
    let purged = scratch.raw(&commit, &[]);
    assert!(!purged.contains("Rumpelstiltskin"));
    import(&scratch, &[]);
    assert_eq!(scratch.raw(&commit, &[]), purged);
    scratch.lose_state();
    assert!(import(&scratch, &[]).starts_with("left session claude/s1 alone: words of it were purged\n"));
    assert_eq!(scratch.raw(&commit, &[]), purged);
    scratch.shiftlog("purge", ["--all", "--yes", &commit]).ok();
    assert!(import(&scratch, &[]).starts_with("left session claude/s1 alone"), "nothing of it is left to tell");
    assert!(sessions(&scratch, &commit).is_empty());
    Past::new(&scratch, "s2").at(300, |session| session.prompt("another word"));
    assert!(import(&scratch, &[]).contains("archived session claude/s2\n"));
    scratch.shiftlog("purge", ["--all", "--session=s2", "--yes"]).ok();
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
fn what_no_agent_has_written_is_no_session() {
    let scratch = Scratch::set_up();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let folder: String = scratch.top.to_str().unwrap().chars().map(plain).collect();
    let folder = scratch.home().join(".claude/projects").join(folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("diary.jsonl"), "my diary\n").unwrap();
    fs::write(scratch.home().join("settings"), "[user]\nname = x\n").unwrap();
    std::os::unix::fs::symlink(scratch.home().join("settings"), folder.join("linked.jsonl")).unwrap();
    for session in ["diary", "linked"] {
        let ran = scratch.shiftlog("add", ["--session", session]);
        assert!(ran.code == 128 && ran.stderr.contains("has no message of Claude Code in it"), "{ran:?}");
    }
    let ran = scratch.shiftlog("import", [""; 0]);
    assert!(!ran.stdout.contains("diary") && !ran.stdout.contains("linked"), "{ran:?}");
    assert_eq!(scratch.git(["for-each-ref", "refs/shiftlog", "refs/notes"]).ok(), "");
    scratch.shiftlog("add", ["--session", "diary", "--force"]).ok();
}
