//! What recorded work has used, told to an agent.

use serde_json::{Value, json};

use super::Client;
use crate::counting::work;
use crate::exporting::secrets::{assert_clean, planted};
use crate::support::Scratch;

#[test]
fn an_agent_is_told_no_secret_with_the_counts() {
    let scratch = planted();
    let mut client = Client::legacy(&scratch);
    for by in ["agent,model", "author", "branch", "commit", "path"] {
        assert_clean(&client.found("shiftlog_stats", json!({ "by": by })).to_string(), by);
    }
}

#[test]
fn an_answer_about_very_much_is_short_and_says_what_is_left_out() {
    let scratch = Scratch::new();
    for commit in 0..12 {
        let tokens = json!({ "input": 1, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
        let usage: Vec<Value> = (0..15)
            .map(|number| json!({ "model": format!("m{commit}-{number}-{}", "界".repeat(60)), "tokens": tokens }))
            .collect();
        let record = json!({ "shiftlog": 1, "agent": "claude", "session": format!("s{commit}"), "turns": 1,
            "messages": 2, "time": "2026-01-02T03:04:05Z", "tokens": tokens, "usage": usage,
            "through": format!("{commit:040}") });
        scratch.git(["commit", "-q", "--allow-empty", "-m", "more"]).ok();
        scratch.git(["notes", "--ref=shiftlog", "add", "-m", &record.to_string()]).ok();
    }
    let mut client = Client::legacy(&scratch);
    for by in ["agent,model", "agent", "session", "day,model,commit"] {
        let found = client.found("shiftlog_stats", json!({ "by": by }));
        assert!(found.to_string().len() < 20_000, "{by}: {}", found.to_string().len());
        assert_eq!(found["total"]["tokens"]["input"], 180, "{by}");
        let note = found["note"].as_str().unwrap();
        assert!(note.contains("172 models more have no price; 'git shiftlog stats' names all"), "{by}: {note}");
        let is_cut = note.contains(" groups more; 'git shiftlog stats' lists all");
        assert!(is_cut || !by.contains("model"), "{by}: {note}");
    }
}

#[test]
fn an_agent_is_told_what_stats_prints() {
    let scratch = Scratch::set_up();
    for name in ["one", "two"] {
        work(&scratch, name);
    }
    let printed = |args: &[&str]| -> Vec<Value> {
        let lines = scratch.shiftlog("stats", [&["--json"], args].concat()).ok();
        let mut objects: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for object in &mut objects {
            object.as_object_mut().unwrap().retain(|key, _| key != "version" && key != "total");
        }
        objects
    };
    let mut client = Client::legacy(&scratch);
    for (arguments, args) in [
        (json!({}), &[][..]),
        (json!({ "by": "session,model" }), &["--by=session,model"]),
        (json!({ "range": "HEAD~1..HEAD", "by": "commit" }), &["--by=commit", "HEAD~1..HEAD"]),
    ] {
        let found = client.found("shiftlog_stats", arguments);
        let mut expected = printed(args);
        let total = expected.pop().unwrap();
        assert_eq!((&found["groups"], &found["total"]["cost"]), (&json!(expected), &total["cost"]), "{args:?}");
        assert_eq!(found["total"]["coverage"], total["coverage"], "{args:?}");
    }
    assert!(client.refused("shiftlog_stats", json!({ "by": "mood" })).starts_with("invalid arguments: by must be"));
    assert!(client.refused("shiftlog_stats", json!({ "range": "--all" })).starts_with("no commit matches"));
}
