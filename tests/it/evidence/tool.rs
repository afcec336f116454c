//! The tool `apex_logs_sync` of the MCP server, as clients of an existing server call it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{Server, answer_as_org, row, text_of};
use crate::mcp::Client;
use crate::support::Scratch;

const ID: &str = "07L5g00000AbCdEFGH";

fn tools(scratch: &Scratch, args: &[&str]) -> Vec<Value> {
    let mut client = Client::opened(scratch, &scratch.top, args);
    client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_tool_is_offered_in_a_salesforce_project_or_when_it_is_asked_for() {
    let scratch = Scratch::new();
    let tool = "apex_logs_sync";
    assert!(!names(&tools(&scratch, &[])).contains(&tool));
    assert!(names(&tools(&scratch, &["--toolset=all"])).contains(&tool));
    assert_eq!(names(&tools(&scratch, &["--toolset=logs"])), [tool]);
    assert_eq!(names(&tools(&scratch, &["--name=apex-log-viewer-mcp"])), [tool]);
    scratch.project();
    assert!(names(&tools(&scratch, &[])).contains(&tool), "there is a project");
    assert!(!names(&tools(&scratch, &["--toolset=conversations"])).contains(&tool));
    let listed = tools(&scratch, &["--toolset=logs"]).remove(0);
    assert_eq!(listed["title"], "Sync Apex Logs");
    assert_eq!(listed["annotations"]["readOnlyHint"], false);
    assert_eq!(listed["annotations"]["openWorldHint"], true);
    let properties = &listed["inputSchema"]["properties"];
    assert_eq!(properties["limit"]["type"], "number");
    assert_eq!((&properties["limit"]["minimum"], &properties["limit"]["maximum"]), (&json!(1), &json!(200)));
    assert_eq!((&properties["limit"]["default"], &properties["target"]["type"]), (&json!(100), &json!("string")));
    assert!(listed["inputSchema"].get("required").is_none());
    for other in tools(&scratch, &["--toolset=conversations,index"]) {
        assert_eq!(other["annotations"]["readOnlyHint"], true, "{}", other["name"]);
    }
}

#[test]
fn a_call_answers_as_the_command_does_and_writes_where_the_server_serves() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(ID, "Ada")]);
    scratch.logged_in(&org.url);
    // The server is started elsewhere.
    let repo = format!("--repo={}", scratch.top.display());
    let mut client = Client::opened(&scratch, &scratch.root(), &[&repo, "--toolset=logs"]);
    let result = client.call("apex_logs_sync", json!({ "limit": 2.0, "target": null }));
    assert_eq!(result["isError"], false, "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    assert_eq!((&text["ok"], &text["limit"]), (&json!(true), &json!(2)));
    let file = scratch.top.join(text["saved"][0]["file"].as_str().unwrap());
    assert_eq!(fs::read_to_string(file).unwrap(), text_of(ID));
    assert!(!scratch.root().join("apexlogs").exists());
    let (_, printed) = scratch.synced(&["--limit=2"]);
    assert_eq!(printed, text, "the command answers the same");
    let result = client.call("apex_logs_sync", json!({ "limit": null }));
    assert_eq!(result["structuredContent"]["limit"], 100);
    for limit in [json!(0), json!(201), json!(1.5), json!(-1), json!(1e300), json!("5"), json!(true)] {
        let refused = client.refused("apex_logs_sync", json!({ "limit": limit }));
        assert_eq!(refused, "invalid arguments: limit must be a whole number from 1 to 200");
    }
    for limit in [1, 200] {
        let result = client.call("apex_logs_sync", json!({ "limit": limit }));
        assert_eq!(result["structuredContent"]["limit"], limit, "the bounds of the schema are taken");
    }
    assert!(client.refused("apex_logs_sync", json!({ "x": 1 })).starts_with("invalid arguments: "));
    // A failure is an answer, too.
    fs::remove_file(scratch.top.join("sfdx-project.json")).unwrap();
    let result = client.call("apex_logs_sync", json!({}));
    let expected = json!({ "ok": false, "errorCode": "NO_SFDX_PROJECT",
        "message": "sfdx-project.json not found. Run inside a valid SFDX project.", "details": null });
    assert_eq!((&result["isError"], &result["structuredContent"]), (&json!(true), &expected));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, expected);
}

#[test]
fn a_call_that_is_cancelled_fetches_no_further_log() {
    let scratch = Scratch::new();
    scratch.project();
    let rows: Vec<Value> = (0..20).map(|number| row(&format!("07L5g00000AbC{number:02}"), "Ada")).collect();
    let is_open = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&is_open);
    let org = Server::start(move |request| {
        while request.path.ends_with("/Body") && !opened.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        answer_as_org(&rows, request)
    });
    scratch.logged_in(&org.url);
    let mut client = Client::opened(&scratch, &scratch.top, &["--toolset=logs"]);
    let call = client.line("tools/call", json!({ "name": "apex_logs_sync", "arguments": {} }), json!(7));
    client.tell(&call);
    while org.fetched().len() < 8 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#);
    // Its answer comes after the server has read what stands before it.
    client.request("tools/list", json!({}));
    is_open.store(true, Ordering::SeqCst);
    let logs = || fs::read_dir(scratch.top.join("apexlogs")).unwrap().flatten();
    while logs().filter(|entry| entry.file_name().to_string_lossy().ends_with(".log")).count() < 8 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(client.end(), (Vec::new(), 0), "nothing is said of a cancelled call");
    assert_eq!(org.fetched().len(), 8);
}
