//! The tools for rules: those of an earlier server, by its name and beside the others.

use std::fs;

use serde_json::{Value, json};

use super::{Client, initialize};
use crate::support::Scratch;

const NAMES: &[&str] = &[
    "sync_status",
    "sync_list_archived",
    "sync_rules",
    "sync_set_config",
    "sync_reconfigure",
    "sync_add_rule",
    "sync_remove_rule",
    "sync_archive_skill",
    "sync_restore_skill",
    "sync_clean",
];

/// A home with a store that an agent is given.
fn stored() -> Scratch {
    let scratch = Scratch::new();
    let store = scratch.home().join(".ai-agent");
    fs::create_dir_all(store.join("rules")).unwrap();
    fs::create_dir_all(store.join("skills/review")).unwrap();
    fs::write(store.join("rules/style.md"), "four spaces\n").unwrap();
    fs::write(store.join("skills/review/SKILL.md"), "review\n").unwrap();
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "style", "file": "style.md" }],
        "active_targets": { "instructions": ["claude", "gemini"], "rules": ["cursor"], "skills": ["claude"] } });
    fs::write(store.join("manifest.json"), manifest.to_string()).unwrap();
    scratch
}

fn serve(scratch: &Scratch, args: &[&str]) -> (Client, Value) {
    let mut client = Client::start(scratch, &scratch.top, args);
    let opened = client.ask(&initialize("2025-11-25").to_string());
    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    (client, opened)
}

fn tools(client: &mut Client) -> Vec<Value> {
    client.request("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn under_the_earlier_name_exactly_the_ten_tools_are_served() {
    let scratch = stored();
    let (mut client, opened) = serve(&scratch, &["--name=sync-ai-rules"]);
    assert_eq!(opened["result"]["serverInfo"]["name"], "sync-ai-rules");
    let tools = tools(&mut client);
    assert_eq!(names(&tools), NAMES);
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let annotations = &tool["annotations"];
        assert_eq!(annotations["readOnlyHint"], matches!(name, "sync_status" | "sync_list_archived"), "{name}");
        assert_eq!(annotations["destructiveHint"], matches!(name, "sync_clean" | "sync_remove_rule"), "{name}");
    }
    let arguments = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let keys: Vec<String> = tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect();
        (keys.join(" "), tool["inputSchema"]["required"].clone())
    };
    assert_eq!(arguments("sync_rules"), ("only dry_run".into(), Value::Null));
    assert_eq!(arguments("sync_set_config"), ("key value".into(), json!(["key", "value"])));
    assert_eq!(
        arguments("sync_reconfigure"),
        ("rule_targets skill_targets instruction_targets".into(), json!(["rule_targets", "skill_targets"]))
    );
    assert_eq!(arguments("sync_add_rule"), ("id description content always_apply exclude".into(), json!(["id"])));
    assert_eq!(arguments("sync_archive_skill"), ("names dry_run".into(), json!(["names"])));
}

#[test]
fn the_tools_come_with_a_store_and_only_then() {
    let scratch = Scratch::new();
    let (mut client, _) = serve(&scratch, &[]);
    assert!(!names(&tools(&mut client)).contains(&"sync_status"));
    scratch.write(".ai-agent/manifest.json", "{}");
    assert!(names(&tools(&mut client)).ends_with(NAMES), "a store in the repository counts");
    let (mut only, _) = serve(&scratch, &["--toolset=rules"]);
    assert_eq!(names(&tools(&mut only)), NAMES);
    let scratch = stored();
    let (mut client, _) = serve(&scratch, &[]);
    assert!(names(&tools(&mut client)).ends_with(NAMES));
}

#[test]
fn an_agent_adds_a_rule_and_sees_it_everywhere() {
    let scratch = stored();
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    let mut call = |tool: &str, arguments: Value| -> Result<Value, Value> {
        let result = client.call(tool, arguments);
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let structured = result["structuredContent"].clone();
        assert_eq!(text, structured, "both tell the same");
        if result["isError"] == true { Err(structured) } else { Ok(structured) }
    };
    let status = call("sync_status", json!({})).unwrap();
    let skill = json!({ "name": "claude", "sync_mode": "symlink", "conflict_strategy": "overwrite" });
    assert_eq!(
        status,
        json!({
            "rules": [{ "id": "style", "file": "style.md", "imported_from": "manual", "alwaysApply": false, "description": "" }],
            "active_targets": { "instructions": ["claude", "gemini"], "rules": ["cursor"], "skills": [skill] },
            "skills": ["review"], "archived_skills": [], "agents_md_paths": [], "claude_md_paths": [],
            "last_synced": "never",
        })
    );
    let home = scratch.home();
    let dry = call("sync_rules", json!({ "only": null, "dry_run": true })).unwrap();
    assert_eq!((&dry["success"], &dry["dry_run"], &dry["backup_id"]), (&json!(true), &json!(true), &Value::Null));
    assert!(!home.join(".claude/CLAUDE.md").exists());
    let added =
        call("sync_add_rule", json!({ "id": "tests", "content": "test first\n", "exclude": "gemini" })).unwrap();
    assert_eq!(added["output"], "  2 instruction targets, 1 rule targets, 1 skill targets synced.");
    assert_eq!(added["counts"], json!({ "instructions": 2, "rules": 1, "skills": 1 }));
    let claude = home.join(".claude/CLAUDE.md");
    assert!(added["changed"].as_array().unwrap().contains(&json!({ "path": claude, "action": "create" })), "{added}");
    let read = |path: &str| fs::read_to_string(home.join(path)).unwrap();
    assert!(read(".claude/CLAUDE.md").contains("test first") && read(".cursor/rules/tests.mdc").contains("test first"));
    assert!(!read(".gemini/GEMINI.md").contains("test first"));

    for (tool, arguments, error) in [
        ("sync_add_rule", json!({ "id": "tests" }), "Error: rule 'tests' already exists"),
        ("sync_remove_rule", json!({ "id": "nosuch" }), "Error: rule 'nosuch' not found in manifest"),
        (
            "sync_rules",
            json!({ "only": "nosuch" }),
            "Error: unknown agent 'nosuch'. Valid: cursor, codex, claude, gemini, kiro, antigravity",
        ),
        (
            "sync_archive_skill",
            json!({ "names": "review" }),
            "Error: invalid arguments: names must be a list of strings",
        ),
        (
            "sync_set_config",
            json!({ "key": "agents_md.paths", "value": "/etc/x.md" }),
            "Error: '/etc/x.md' is no Markdown file or folder in the home or in the repository",
        ),
        (
            "sync_set_config",
            json!({ "key": "claude_md.paths", "value": "~/.bashrc" }),
            "Error: '~/.bashrc' is no Markdown file or folder in the home or in the repository",
        ),
        (
            "sync_set_config",
            json!({ "key": "agents_md.paths", "value": "~/../x.md" }),
            "Error: '~/../x.md' is no Markdown file or folder in the home or in the repository",
        ),
    ] {
        let told = call(tool, arguments).unwrap_err();
        assert_eq!(told, json!({ "success": false, "error": error }), "{tool}");
    }
    call("sync_set_config", json!({ "key": "agents_md.header", "value": "# H" })).unwrap();
    call("sync_archive_skill", json!({ "names": ["review"] })).unwrap();
    assert_eq!(call("sync_list_archived", json!({})).unwrap(), json!({ "archived_skills": ["review"] }));
    call("sync_restore_skill", json!({ "names": ["review"] })).unwrap();
    call("sync_reconfigure", json!({ "rule_targets": [], "skill_targets": [] })).unwrap();
    assert!(home.join(".claude/CLAUDE.md").exists() && !home.join(".cursor/rules").exists());
    fs::write(&claude, read(".claude/CLAUDE.md") + "edited\n").unwrap();
    let drift = call("sync_rules", json!({})).unwrap_err();
    assert!(drift["error"].as_str().unwrap().contains("~/.claude/CLAUDE.md"), "{drift}");
    assert_eq!(drift["success"], false);
    let ran = scratch.shiftlog("rules", ["sync", "--force"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    call("sync_clean", json!({ "dry_run": true })).unwrap();
    assert!(claude.exists());
    let cleaned = call("sync_clean", json!({})).unwrap();
    assert!(cleaned["output"].as_str().unwrap().contains("  remove  ~/.claude/CLAUDE.md"), "{cleaned}");
    assert!(!claude.exists() && home.join(".ai-agent/rules/tests.md").exists());
}
