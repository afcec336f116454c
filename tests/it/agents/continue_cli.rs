//! Continue: one document per session, and no hooks: sessions are found when a commit is made.

use std::fs;

use serde_json::{Value, json};

use super::{come_back, fake_program, files_below, fixture, refuse_hostile_ids, told};
use crate::support::Scratch;

const ID: &str = "2dbfd673-1111-4773-b5f3-9023894a7355";

#[test]
fn every_document_parses_and_comes_back() {
    let paths = files_below(&fixture("continue"));
    let expected = snapbox::file!["../../data/continue-fixtures.txt"];
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(told("continue", &paths), expected);
    come_back("continue", &paths);
}

fn turn(scratch: &Scratch, prompt: &str, file: &str) -> Vec<Value> {
    let input = json!({ "filepath": scratch.top.join(file), "content": prompt }).to_string();
    let call = json!({ "id": prompt, "type": "function", "function": { "name": "Write", "arguments": input } });
    let state = json!({ "toolCallId": prompt, "status": "done", "output": [{ "content": "written" }] });
    vec![
        json!({ "message": { "role": "user", "content": prompt } }),
        json!({ "message": { "role": "assistant", "content": "", "toolCalls": [call] }, "toolCallStates": [state] }),
    ]
}

#[test]
fn a_day_with_continue_is_recorded() {
    let scratch = Scratch::new();
    let ran = scratch.shiftlog("init", ["--agent=continue"]);
    assert!(ran.stderr.contains("Continue has no hooks; its sessions are looked for when a commit is made"), "{ran:?}");
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("sessions.json"), "[]").unwrap();
    let mut history = Vec::new();
    let mut write = |turn: Vec<Value>| {
        history.extend(turn);
        let document = json!({ "sessionId": ID, "title": history.len(), "workspaceDirectory": scratch.top,
            "history": history });
        let text = serde_json::to_string_pretty(&document).unwrap();
        fs::write(folder.join(format!("{ID}.json")), &text).unwrap();
        text
    };
    write(turn(&scratch, "add a", "a.txt"));
    scratch.commit("a.txt", "one\n", "add a");
    let text = write(turn(&scratch, "add b", "b.txt"));
    scratch.commit("b.txt", "two\n", "add b");
    let (first, second) = (scratch.record("HEAD~1"), scratch.record("HEAD"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert_eq!([&first["agent"], &first["session"]], ["continue", ID]);
    assert_eq!(scratch.raw("HEAD", &["--full"]), text, "byte for byte");
    scratch.commit("c.txt", "by hand\n", "nothing new was said");
    assert_eq!(scratch.records("HEAD").len(), 0);
    // It takes up a document in its folder as a copy, under a new id.
    fs::remove_dir_all(scratch.home().join(".continue")).unwrap();
    fake_program(&scratch, "cn", "test \"$1\" = --fork && cp \"$HOME/.continue/sessions/$2.json\" \"$HOME/found\"\n");
    scratch.shiftlog("resume", ["HEAD~1"]).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("found")).unwrap(), text);
    scratch.assert_sound();
}

#[test]
fn a_session_without_times_that_was_written_after_its_commit_is_imported() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "one\n");
    scratch.git(["add", "a.txt"]).ok();
    scratch.git(["commit", "-q", "-m", "add a"]).ok();
    let arguments = json!({ "command": "git commit -m 'add a'" }).to_string();
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "Bash", "arguments": arguments } });
    let output = format!("[main {}] add a\n 1 file changed", &scratch.id("HEAD")[..7]);
    let state = json!({ "toolCallId": "c1", "status": "done", "output": [{ "content": output }] });
    let usage = json!({ "prompt_tokens": 110, "completion_tokens": 20, "model": "scripted-1" });
    let history = json!([
        { "message": { "role": "user", "content": "add a" } },
        { "message": { "role": "assistant", "content": "", "toolCalls": [call], "usage": usage }, "toolCallStates": [state] },
    ]);
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    let document = json!({ "sessionId": ID, "workspaceDirectory": scratch.top, "history": history });
    let path = folder.join(format!("{ID}.json"));
    fs::write(&path, document.to_string()).unwrap();
    // Only the file tells when the session was.
    let made: u64 = scratch.git(["log", "-1", "--format=%ct"]).ok().trim().parse().unwrap();
    let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(made + 60);
    fs::File::options().append(true).open(&path).unwrap().set_modified(written).unwrap();
    scratch.shiftlog("import", ["-q"]).ok();
    let record = scratch.record("HEAD");
    assert_eq!([&record["session"], &record["model"], &record["prompt"]], [ID, "scripted-1", "add a"]);
    assert_eq!(record["tokens"], json!({ "input": 110, "output": 20, "cacheRead": 0, "cacheWrite": 0 }));
}

#[test]
fn a_session_that_was_written_after_its_commits_is_recorded_on_them_with_the_next_one() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=continue", "-q"]).ok();
    let mut history = Vec::new();
    for name in ["a", "b"] {
        scratch.commit(&format!("{name}.txt"), "one\n", &format!("add {name}"));
        let arguments = json!({ "command": format!("git commit -m 'add {name}'") }).to_string();
        let call = json!({ "id": name, "type": "function", "function": { "name": "Bash", "arguments": arguments } });
        let output = format!("[main {}] add {name}\n 1 file changed", &scratch.id("HEAD")[..7]);
        let state = json!({ "toolCallId": name, "status": "done", "output": [{ "content": output }] });
        history.push(json!({ "message": { "role": "user", "content": format!("add {name}") } }));
        let answer = json!({ "role": "assistant", "content": "", "toolCalls": [call] });
        history.push(json!({ "message": answer, "toolCallStates": [state] }));
    }
    history.push(json!({ "message": { "role": "assistant", "content": "Both are there." } }));
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    let document = json!({ "sessionId": ID, "workspaceDirectory": scratch.top, "history": history });
    fs::write(folder.join(format!("{ID}.json")), document.to_string()).unwrap();
    scratch.commit("c.txt", "by hand\n", "by a person");
    assert_eq!(scratch.records("HEAD").len(), 0, "it has said nothing about this one");
    let (first, second) = (scratch.record("HEAD~2"), scratch.record("HEAD~1"));
    assert_eq!([&first["prompt"], &second["prompt"]], ["add a", "add b"]);
    assert!(scratch.raw("HEAD~1", &[]).contains("add b"), "with its result");
    scratch.assert_sound();
}

#[test]
fn a_hostile_id_is_no_file_name() {
    refuse_hostile_ids("continue", "{\"sessionId\":\"../../x\",\"history\":[]}\n");
}

#[test]
fn a_document_with_too_much_in_it_is_told_once_and_not_read_until_it_is_shorter() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=continue", "-q"]).ok();
    scratch.git(["config", "shiftlog.hookTimeout", "600"]).ok();
    let folder = scratch.home().join(".continue/sessions");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("sessions.json"), "[]").unwrap();
    let path = folder.join(format!("{ID}.json"));
    let write = |history: &[Value]| {
        let document = json!({ "sessionId": ID, "workspaceDirectory": scratch.top, "history": history });
        fs::write(&path, document.to_string()).unwrap();
    };
    let commit = |name: &str, text: &str| {
        scratch.write(name, text);
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-m", text]).stderr
    };
    let told = "the transcript of continue/2dbfd673-1111-4773-b5f3-9023894a7355 is not recorded to its end: ";
    let huge = json!({ "message": { "role": "user", "content": "word ".repeat(9 << 20) } });
    let mut history = turn(&scratch, "add a", "a.txt");
    history.push(huge);
    write(&history);
    let warned = commit("a.txt", "one");
    assert!(warned.contains(&format!("{told}a line has more than 40 MiB")), "{warned}");
    assert_eq!(scratch.record("HEAD")["prompt"], "add a", "{}", scratch.log());
    assert_eq!(commit("by-hand", "two"), "", "it is told once");
    for (command, problem) in [("status", "a line has more than 40 MiB"), ("doctor", "a line has more than 40 MiB")] {
        let ran = scratch.shiftlog(command, [""; 0]);
        assert!(ran.stdout.contains(problem), "{command}: {ran:?}");
    }
    // It would be recorded if it were read.
    let short = [turn(&scratch, "add a", "a.txt"), turn(&scratch, "add b", "b.txt")].concat();
    let length = path.metadata().unwrap().len();
    write(&short);
    let file = fs::File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut &file, &vec![b' '; usize::try_from(length).unwrap()]).unwrap();
    assert_eq!(commit("b.txt", "three"), "");
    assert_eq!(scratch.records("HEAD").len(), 0, "{}", scratch.log());
    // More than is converted at all, without a byte of it on the disk.
    file.set_len(300 << 20).unwrap();
    assert_eq!(commit("b.txt", "four"), "");
    write(&short);
    assert_eq!(commit("b.txt", "five"), "");
    assert_eq!(scratch.record("HEAD")["prompt"], "add b", "{}", scratch.log());
    fs::File::options().append(true).open(&path).unwrap().set_len(300 << 20).unwrap();
    let warned = commit("b.txt", "six");
    assert!(warned.contains(&format!("{told}it has more than 256 MiB")), "{warned}");
    scratch.assert_sound();
}
