//! No answer has a secret that was recorded, wherever that stands.

use serde_json::{Value, json};

use super::Client;
use crate::exporting::secrets::{assert_clean, planted, removed_elsewhere};
use crate::support::Scratch;

/// Asks for everything about HEAD, and returns all answers.
fn answers(scratch: &Scratch) -> Vec<(String, Value)> {
    let mut client = Client::legacy(scratch);
    let head = scratch.id("HEAD");
    let mut answers = Vec::new();
    let mut calls = vec![
        ("shiftlog_list_conversations", json!({})),
        ("shiftlog_list_branches", json!({})),
        ("shiftlog_search", json!({ "query": "token" })),
        ("shiftlog_search", json!({ "query": "ghp_", "regex": true })),
        ("shiftlog_why", json!({ "path": "token.txt", "line": 1 })),
        ("shiftlog_why", json!({ "path": "a.txt", "line": 1 })),
        ("shiftlog_stats", json!({ "by": "author,branch,path,model" })),
        ("shiftlog_list_keys", json!({ "path": "[commit][HEAD]" })),
        ("shiftlog_get_value", json!({ "path": "[commit][HEAD]" })),
        ("shiftlog_get_value", json!({ "path": "[branches]" })),
        ("shiftlog_get_value", json!({ "path": "[conversation][HEAD]" })),
        ("shiftlog_get_conversation", json!({ "commit_sha": head, "session": "nosuch" })),
    ];
    for format in ["messages", "markdown", "raw"] {
        calls.push(("shiftlog_get_conversation", json!({ "commit_sha": head, "format": format })));
    }
    for (tool, arguments) in calls {
        let name = format!("{tool} {arguments}");
        answers.push((name, client.call(tool, arguments)));
    }
    let uri = format!("shiftlog://conversation/{head}");
    let completion = json!({ "ref": { "type": "ref/resource", "uri": "shiftlog://conversation/{sha}" },
        "argument": { "name": "sha", "value": "" } });
    for (method, params) in
        [("resources/list", json!({})), ("resources/read", json!({ "uri": uri })), ("completion/complete", completion)]
    {
        answers.push((method.to_owned(), client.request(method, params)["result"].clone()));
    }
    answers
}

#[test]
fn no_answer_has_a_secret_of_a_conversation_a_commit_or_a_branch() {
    let scratch = planted();
    let answers = answers(&scratch);
    for (name, answer) in &answers {
        assert!(answer.is_object(), "{name}");
        assert_clean(&answer.to_string(), name);
    }
    let listed = &answers[0].1["structuredContent"]["conversations"][0];
    assert_eq!(listed["message"], "use [REDACTED:github-token]", "the other words stay");
    assert_eq!(listed["author"], "A U [REDACTED:github-token]");
}

#[test]
fn no_answer_has_a_secret_of_the_name_of_somebody_who_removed_words() {
    let scratch = removed_elsewhere();
    let answers = answers(&scratch);
    for (name, answer) in &answers {
        assert_clean(&answer.to_string(), name);
    }
    let is_told = |(_, answer): &&(String, Value)| answer.to_string().contains("removed by Bob [REDACTED");
    assert!(answers.iter().filter(is_told).count() >= 3, "{answers:?}");
}
