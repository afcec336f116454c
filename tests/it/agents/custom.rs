//! Agents that nobody has written a file for: described in Git's config, captured, shown, taken up again.

use std::fs;

use serde_json::json;

use super::{fake_program, run_command};
use crate::support::Scratch;

fn described(pattern: &str) -> Scratch {
    let scratch = Scratch::set_up();
    let format = "role=from text=say.text time=at model=by session=in cwd=where";
    for (key, value) in [("transcript", pattern), ("format", format), ("resume", "homer --again {session}")] {
        scratch.git(["config", &format!("shiftlog.agent.homer.{key}"), value]).ok();
    }
    scratch
}

fn said(scratch: &Scratch, from: &str, text: &str) -> String {
    let record = json!({ "from": from, "say": { "text": text }, "at": 1_900_000_000_000_u64, "by": "blind-1", "in": "s1",
        "where": scratch.top });
    format!("{record}\n")
}

#[test]
fn an_unknown_agent_is_captured_shown_and_taken_up_again() {
    let scratch = described("~/.homer/{session}/talk-*.jsonl");
    let file = scratch.home().join(".homer/s1/talk-1.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = said(&scratch, "human", "sing, goddess") + &said(&scratch, "bot", "the wrath") + "{\"odd\":1}\n";
    fs::write(&file, &text).unwrap();
    scratch.commit("iliad.txt", "menin\n", "begin");
    let record = scratch.record("HEAD");
    assert_eq!([&record["agent"], &record["session"], &record["model"]], ["homer", "s1", "blind-1"]);
    assert_eq!([&record["prompt"], &record["messages"].to_string().into()], ["sing, goddess", "2"]);
    assert_eq!(scratch.raw("HEAD", &[]), text);
    let shown = scratch.shiftlog("show", Vec::<&str>::new()).ok();
    assert!(shown.contains("sing, goddess") && shown.contains("the wrath"), "{shown}");

    fake_program(&scratch, "homer", "echo \"$@\" >\"$HOME/started\"\n");
    scratch.shiftlog("resume", Vec::<&str>::new()).ok();
    assert_eq!(fs::read_to_string(scratch.home().join("started")).unwrap(), "--again s1\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), text, "what is there and has it all stays");
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert!(doctor.stdout.contains("ok       homer has no hooks; each commit looks for its sessions\n"), "{doctor:?}");
}

#[test]
fn an_unknown_agent_that_calls_our_hook_is_recorded_like_any_other() {
    let scratch = described("~/.homer/{session}.jsonl");
    let file = scratch.root().join("elsewhere.jsonl");
    fs::write(&file, said(&scratch, "user", "go on")).unwrap();
    let payload = json!({ "session_id": "s1", "transcript_path": file, "cwd": scratch.top });
    let ran = run_command(&scratch, "git-shiftlog--hook homer SessionStart", &payload);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    scratch.commit("a.txt", "a\n", "a");
    assert_eq!(scratch.record("HEAD")["prompt"], "go on");
}

#[test]
fn a_session_of_another_directory_is_none_of_ours() {
    let scratch = described("~/.homer/{session}.jsonl");
    let file = scratch.home().join(".homer/s1.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, said(&scratch, "user", "go on").replace(scratch.top.to_str().unwrap(), "/home/dev/other"))
        .unwrap();
    scratch.commit("a.txt", "a\n", "a");
    assert_eq!(scratch.records("HEAD").len(), 0);
}
