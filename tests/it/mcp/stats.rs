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
