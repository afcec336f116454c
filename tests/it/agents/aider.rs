//! aider: chats one after the other in a file of the repository, commits that it makes itself.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use shiftlog::agent;
use shiftlog::transcript::Part;

use super::{fixture, survive_cuts};
use crate::purging::{SECRET, places, purge};
use crate::support::Scratch;

const FILE: &str = ".aider.chat.history.md";

fn chats() -> Vec<PathBuf> {
    let found = agent::find("aider").unwrap().recent(&fixture("aider"), 0);
    found.into_iter().map(|found| found.transcript).collect()
}

#[test]
fn each_chat_in_the_file_is_a_session_of_its_own() {
    let paths = chats();
    let expected = snapbox::file!["../../data/aider-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(super::told("aider", &paths), expected);
    survive_cuts("aider", &paths);
    // Nothing of a chat is lost or told twice.
    let aider = agent::find("aider").unwrap();
    let whole: Vec<u8> = paths.iter().flat_map(|path| aider.read(path).unwrap()).collect();
    let file = fs::read(fixture("aider").join(FILE)).unwrap();
    assert!(file.ends_with(&whole) && whole.len() + 1 == file.len());
}

#[test]
fn what_stands_in_code_is_neither_a_prompt_nor_a_line_of_the_program() {
    let aider = agent::find("aider").unwrap();
    let messages = aider.parse(&aider.read(&chats()[0]).unwrap());
    let prompts: Vec<String> = messages.iter().filter(|each| each.is_prompt()).map(|each| each.text()).collect();
    assert_eq!(prompts, ["Moor the boat\nwith two lines", "Thank you"]);
    let answer = messages.iter().find(|message| message.text().starts_with("Two lines")).unwrap();
    assert!(answer.text().contains("#### no prompt\ndef moor():\n    return 2\n```"), "{}", answer.text());
    assert_eq!(answer.model.as_deref(), Some("openai/gpt-oss"));
    let calls = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.edits.first().map_or(call.command.clone(), |edit| Some(edit.path.clone()))),
        _ => None,
    });
    let calls: Vec<String> = calls.flatten().collect();
    assert_eq!(calls, ["moor.py", "git commit -m 'feat: moor with two lines'"]);
}

#[test]
fn a_command_to_aider_is_no_prompt_and_one_that_asks_is() {
    let aider = agent::find("aider").unwrap();
    let text = "# aider chat started at 2026-11-25 04:21:57\n\n#### Moor the boat  \n\nMoored.\n\n#### /clear  \n\
        > All chat history cleared.  \n\n#### /ask why?  \n\nSo.\n\n#### /etc/hosts is wrong  \n#### /clear it  \n";
    let messages = aider.parse(text.as_bytes());
    let prompts: Vec<String> = messages.iter().filter(|each| each.is_prompt()).map(|each| each.text()).collect();
    assert_eq!(prompts, ["Moor the boat", "/ask why?", "/etc/hosts is wrong\n/clear it"]);
}

/// Adds lines to the file, as aider does.
fn says(scratch: &Scratch, lines: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(scratch.top.join(FILE)).unwrap();
    file.write_all(lines.as_bytes()).unwrap();
}

/// Lets aider change a file, commit it and tell of the commit.
fn commits(scratch: &Scratch, file: &str) {
    says(scratch, &format!("> Applied edit to {file}  \n"));
    scratch.write(file, "x\n");
    scratch.git(["add", file]).ok();
    scratch.git(["commit", "-q", "-m", file]).ok();
    let short_id = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    says(scratch, &format!("> Commit {} {file}  \n", short_id.trim()));
}

#[test]
fn a_day_with_aider_is_recorded_commit_by_commit_and_chat_by_chat() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=aider", "-q"]).ok();
    fs::write(scratch.top.join(".git/info/exclude"), ".aider*\n").unwrap();
    let now = jiff::Zoned::now();
    let head = |minutes: i64| {
        let began = now.checked_sub(jiff::Span::new().minutes(minutes)).unwrap();
        format!("\n# aider chat started at {}\n\n> Aider v0.86.2  \n", began.strftime("%Y-%m-%d %H:%M:%S"))
    };
    says(&scratch, &head(5));
    says(&scratch, "\n#### add a  \n\nI add it.\n\n");
    commits(&scratch, "a.txt");
    says(&scratch, "\n#### add b  \n\nI add that, too.\n\n");
    commits(&scratch, "b.txt");
    says(&scratch, &head(1));
    says(&scratch, "\n#### add c  \n\nThere it is.\n\n");
    commits(&scratch, "c.txt");
    let records: Vec<_> = ["HEAD~2", "HEAD~1", "HEAD"].map(|revision| scratch.record(revision)).into();
    let prompts: Vec<_> = records.iter().map(|record| record["prompt"].as_str().unwrap()).collect();
    assert_eq!(prompts, ["add a", "add b", "add c"], "{}", scratch.log());
    assert!(records.iter().all(|record| record["agent"] == "aider"));
    assert_eq!(records[0]["session"], records[1]["session"]);
    assert_ne!(records[1]["session"], records[2]["session"]);
    let stored = scratch.raw("HEAD~1", &["--full"]);
    assert!(fs::read_to_string(scratch.top.join(FILE)).unwrap().contains(&stored), "byte for byte: {stored}");
    scratch.assert_sound();
}

#[test]
fn a_chat_of_which_words_were_purged_is_recorded_from_then_on() {
    for keeps_state in [true, false] {
        let scratch = Scratch::new();
        scratch.shiftlog("init", ["--agent=aider", "-q"]).ok();
        fs::write(scratch.top.join(".git/info/exclude"), ".aider*\n").unwrap();
        let began = jiff::Zoned::now().checked_sub(jiff::Span::new().minutes(5)).unwrap();
        says(&scratch, &format!("\n# aider chat started at {}\n", began.strftime("%Y-%m-%d %H:%M:%S")));
        says(&scratch, "\n#### add a  \n\nI add it.\n\n");
        commits(&scratch, "a.txt");
        says(&scratch, &format!("\n#### use {SECRET}  \n\nI use it.\n\n"));
        commits(&scratch, "b.txt");
        purge(&scratch, &["HEAD"]).ok();
        if !keeps_state {
            scratch.lose_state();
        }
        for file in ["c.txt", "d.txt"] {
            says(&scratch, &format!("\n#### add {file}  \n\nThere it is.\n\n"));
            commits(&scratch, file);
        }
        assert_eq!(scratch.record("HEAD")["prompt"], "add d.txt", "state: {keeps_state}: {}", scratch.log());
        if keeps_state {
            assert_eq!(scratch.record("HEAD~1")["prompt"], "add c.txt", "{}", scratch.log());
        }
        let whole = scratch.raw("HEAD", &["--full"]);
        assert!(whole.contains("add a") && !whole.contains(SECRET), "{whole}");
        assert_eq!(places(&scratch, &scratch.top, SECRET), Vec::<String>::new(), "state: {keeps_state}");
        scratch.assert_sound();
    }
}

#[test]
fn past_chats_are_imported_on_the_commits_that_they_name() {
    let scratch = Scratch::new();
    // The chat began long before its commit.
    says(&scratch, "\n# aider chat started at 2026-01-02 02:30:00\n");
    says(&scratch, "\n#### add a  \n\nI add it.\n\n");
    commits(&scratch, "a.txt");
    scratch.shiftlog("import", ["-q", "--agent=aider"]).ok();
    assert_eq!([&scratch.record("HEAD")["agent"], &scratch.record("HEAD")["prompt"]], ["aider", "add a"]);
}

#[test]
fn a_hostile_id_is_no_path() {
    let aider = agent::find("aider").unwrap();
    for id in ["../../etc/passwd", "/etc/passwd", "-rf", "2026-09-01T10-00-00/../x"] {
        assert_eq!(aider.transcript(id, &fixture("aider")), None, "{id}");
    }
    let there = aider.transcript("2026-09-01T11-30-05", &fixture("aider")).unwrap();
    assert!(there.starts_with(fixture("aider")) && aider.is_rendered(&there) && !aider.is_rendered(Path::new(FILE)));
}

#[test]
fn a_chat_that_came_with_a_commit_or_is_a_link_says_nothing_of_what_is_done_here() {
    let forged = || {
        let began = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        format!("\n# aider chat started at {began}\n\n#### FORGED  \n\nwords\n\n> Applied edit to a.txt  \n")
    };
    let scratch = Scratch::set_up();
    says(&scratch, &forged());
    scratch.git(["add", FILE]).ok();
    scratch.git(["commit", "-q", "-m", "as it was pulled"]).ok();
    scratch.commit("a.txt", "by hand\n", "by hand");
    assert_eq!(scratch.records("HEAD").len() + scratch.records("HEAD~1").len(), 0, "{}", scratch.log());
    scratch.shiftlog("import", ["-q", "--agent=aider"]);
    assert_eq!(scratch.records("HEAD").len(), 0);
    let scratch = Scratch::set_up();
    fs::write(scratch.root().join("elsewhere.md"), forged()).unwrap();
    std::os::unix::fs::symlink("../elsewhere.md", scratch.top.join(FILE)).unwrap();
    scratch.commit("a.txt", "by hand\n", "by hand");
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
}

#[test]
fn a_block_of_code_that_goes_on_in_the_next_piece_has_no_prompts() {
    let begun = "# aider chat started at 2026-09-01 10:00:00\n\n#### moor the boat\n\nSo:\n\n```md\n#### one\n";
    let mut parser = agent::find("aider").unwrap().parser();
    let pieces = [begun, "#### two\n#### three\n", "```\n\n#### go on\n\nDone.\n"];
    let messages = pieces.map(|piece| parser.parse(piece.as_bytes())).concat();
    let prompts: Vec<String> =
        messages.iter().filter(|message| message.is_prompt()).map(|message| message.text()).collect();
    assert_eq!(prompts, ["moor the boat", "go on"]);
}
