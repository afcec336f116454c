//! The MCP server is declared to clients, and their files keep what is theirs.

use std::fs;

use crate::support::{Scratch, bin_dir};

#[test]
fn the_mcp_server_is_declared_to_clients_and_taken_back() {
    let scratch = Scratch::new();
    let theirs = "{\n  // servers of ours\n  \"mcpServers\": {\n    \"db\": { \"command\": \"db-mcp\" }\n  }\n}\n";
    scratch.write(".cursor/mcp.json", theirs);
    let dry = scratch.shiftlog("init", ["--agent=claude", "--mcp", "--dry-run"]).ok();
    let (vscode, cursor) = (scratch.top.join(".vscode/mcp.json"), scratch.top.join(".cursor/mcp.json"));
    assert!(
        dry.contains(&format!("create {}", vscode.display())) && dry.contains(&format!("edit {}", cursor.display()))
    );
    assert!(!vscode.exists(), "a dry run writes nothing");

    scratch.shiftlog("init", ["--agent=claude", "--mcp", "-q"]).ok();
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&vscode).unwrap()).unwrap();
    let program = bin_dir().join("git-shiftlog");
    let expected = serde_json::json!({ "type": "stdio", "command": program, "args": ["mcp"] });
    assert_eq!(value["servers"]["shiftlog"], expected);
    let edited = fs::read_to_string(&cursor).unwrap();
    assert!(
        edited.contains("// servers of ours") && edited.contains("\"db\"") && edited.contains("\"shiftlog\""),
        "{edited}"
    );
    assert_eq!(
        scratch.git(["status", "--porcelain"]).ok(),
        "?? .cursor/\n",
        "what we made for this machine alone is not offered to be committed"
    );
    let again = scratch.shiftlog("init", ["--agent=claude", "--mcp"]).ok();
    assert_eq!(again, "nothing to do\n");
    assert_eq!(scratch.shiftlog("init", ["--agent=claude"]).ok(), "nothing to do\n");

    // The entry works as it stands.
    let entry = &value["servers"]["shiftlog"];
    let opening = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let answered = scratch.run_with_input(entry["command"].as_str().unwrap(), ["mcp"], opening.as_bytes()).ok();
    assert!(answered.contains("\"serverInfo\""), "{answered}");

    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]).ok();
    assert!(doctor.contains("ok       MCP server for VS Code\nok       MCP server for Cursor\n"), "{doctor}");
    let working = fs::read_to_string(&vscode).unwrap();
    fs::write(&vscode, working.replace(bin_dir().to_str().unwrap(), "/nowhere")).unwrap();
    let doctor = scratch.shiftlog("doctor", ["--no-rehearsal"]);
    assert!(
        doctor.code == 1
            && doctor
                .stdout
                .contains("problem  MCP server for VS Code: the entry starts another program than this one"),
        "{doctor:?}"
    );
    fs::write(&vscode, working).unwrap();

    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!vscode.exists());
    assert_eq!(fs::read_to_string(&cursor).unwrap(), theirs, "byte for byte");

    scratch.shiftlog("init", ["--agent=claude", "--mcp=opencode", "--portable", "-q"]).ok();
    let value: serde_json::Value =
        serde_json::from_slice(&fs::read(scratch.top.join("opencode.json")).unwrap()).unwrap();
    assert_eq!(value["mcp"]["shiftlog"]["command"], serde_json::json!(["git", "shiftlog", "mcp"]));
    assert_eq!(scratch.shiftlog("init", ["--mcp=nope"]).code, 129);
    scratch.write(".zed/settings.json", "{ oops");
    let refused = scratch.shiftlog("init", ["--mcp=zed"]);
    assert!(refused.code == 1 && refused.stderr.contains("it does not parse at line 1"), "{refused:?}");
    assert_eq!(fs::read_to_string(scratch.top.join(".zed/settings.json")).unwrap(), "{ oops");
}

#[test]
fn a_file_for_opencode_has_what_opencode_would_add_to_it_and_goes_again() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=claude", "--mcp=opencode", "-q"]).ok();
    let path = scratch.top.join("opencode.json");
    let text: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(text["$schema"], "https://opencode.ai/config.json");
    assert!(text["mcp"]["shiftlog"].is_object());
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert!(!path.exists());
}
