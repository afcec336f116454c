//! Which commits an imported session gets, and how sure that is.

use std::fs;

use serde_json::{Value, json};

use crate::fixtures::fixture;
use crate::importing::{Past, archived, commit_at, commit_by, import, moment, sessions};
use crate::resume::place;
use crate::support::Scratch;

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
        "{} has session claude/s1 (high: git told the session this id)\n{} has session claude/s1 (high: git told the session this id)\n\
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
    let expected = format!("{} has session claude/s1 (medium: it ran 'git commit' with this subject)\n", &amended[..7]);
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
    assert!(said.contains("(high: it wrote this change)"), "{said}");
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
            "{} has session claude/{id} (medium: it ran 'git commit' with this subject)\n",
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
    assert!(said.contains("(medium: it wrote this change, but somebody else committed it)"), "{said}");
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
