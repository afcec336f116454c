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
    assert_eq!(added["output"], "  2 instruction targets, 1 rule target, 1 skill target synced.");
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
            json!({ "key": "agents_md.paths", "value": "/etc/AGENTS.md" }),
            "Error: '/etc/AGENTS.md' is no AGENTS.md, CLAUDE.md or folder in the folders of agents or in the repository; the user can set it with 'git shiftlog rules set'",
        ),
        (
            "sync_set_config",
            json!({ "key": "claude_md.paths", "value": "~/.bashrc" }),
            "Error: '~/.bashrc' is no AGENTS.md, CLAUDE.md or folder in the folders of agents or in the repository; the user can set it with 'git shiftlog rules set'",
        ),
        (
            "sync_set_config",
            json!({ "key": "agents_md.paths", "value": "~/../AGENTS.md" }),
            "Error: '~/../AGENTS.md' is no AGENTS.md, CLAUDE.md or folder in the folders of agents or in the repository; the user can set it with 'git shiftlog rules set'",
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

#[test]
fn a_commit_knows_the_rule_that_an_agent_has_added_over_mcp() {
    let scratch = Scratch::set_up();
    let home = scratch.home();
    let put = |path: &str, text: &str| {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), text).unwrap();
    };
    put(".cursor/rules/style.mdc", "---\ndescription: Looks\nalwaysApply: true\n---\n\nfour spaces\n");
    put(".codex/model-instructions.md", "# Review\n\nread twice\n");
    put(".claude/CLAUDE.md", "# Tests\n\ntest first\n");
    put(".gemini/GEMINI.md", "# Names\n\nsay what it is\n");
    let list = "find . -path ./.ai-agent -prune -o -path './.claude/projects' -prune -o -type f -print | sort | xargs sha256sum";
    let tree = || scratch.run_in(&home, "sh", ["-c", list]).ok();
    let before = tree();
    scratch.shiftlog("rules", ["init", "--yes"]).ok();
    scratch.shiftlog("rules", ["sync"]).ok();
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    let added = client.call("sync_add_rule", json!({ "id": "pace", "content": "small commits\n" }));
    assert_ne!(added["isError"], true, "{added}");
    for path in [".cursor/rules/pace.mdc", ".codex/model-instructions.md", ".claude/CLAUDE.md", ".gemini/GEMINI.md"] {
        assert!(fs::read_to_string(home.join(path)).unwrap().contains("small commits"), "{path}");
    }
    // Of a home's files the digest alone is kept unless their owner wants more.
    scratch.git(["config", "shiftlog.rules", "all"]).ok();
    let session = scratch.session("alpha");
    session.prompt("make one");
    session.edits("one.rs", "fn one() {}\n");
    session.commits("add one");
    let shown = scratch.shiftlog("show", ["HEAD"]).ok();
    assert!(shown.contains("told: ~/.claude/CLAUDE.md\n"), "the commit says what its agent was told: {shown}");
    let rules = scratch.shiftlog("rules", ["show", "HEAD"]).ok();
    for words in ["small commits", "test first", "four spaces", "read twice", "say what it is"] {
        assert!(rules.contains(words), "{words}: {rules}");
    }
    scratch.shiftlog("rules", ["clean", "--yes"]).ok();
    assert_eq!(tree(), before, "the home is as it was");
    assert_eq!(scratch.shiftlog("rules", ["show", "HEAD"]).ok(), rules, "and the commit still knows");
}

#[test]
fn an_agent_reaches_no_file_that_is_not_meant_for_agents_be_it_by_a_pattern_or_by_a_link() {
    let scratch = stored();
    let manifest = json!({ "version": "1.0", "rules": [{ "id": "style", "file": "style.md" }],
        "active_targets": { "instructions": ["codex", "claude"], "rules": [], "skills": [] } });
    fs::write(scratch.home().join(".ai-agent/manifest.json"), manifest.to_string()).unwrap();
    let elsewhere = scratch.root().join("elsewhere");
    let (diary, other) = (scratch.home().join("Documents/diary.md"), elsewhere.join("AGENTS.md"));
    fs::create_dir_all(diary.parent().unwrap()).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(&diary, "mine\n").unwrap();
    fs::write(&other, "theirs\n").unwrap();
    // A repository can have links, and this one is not below the home.
    std::os::unix::fs::symlink(&elsewhere, scratch.top.join("sub")).unwrap();
    let through = scratch.top.join("sub/AGENTS.md").display().to_string();
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    for path in ["~/**/*.md", "~/Documents/diary.md", "~/Documents/*", "~/.ssh/../Documents/diary.md", &through] {
        for key in ["agents_md.paths", "claude_md.paths"] {
            client.call("sync_set_config", json!({ "key": key, "value": path }));
            client.call("sync_rules", json!({}));
        }
        let texts = [&diary, &other].map(|file| fs::read_to_string(file).unwrap());
        assert_eq!(texts, ["mine\n", "theirs\n"], "{path}");
    }
    let allowed = scratch.top.join("AGENTS.md").display().to_string();
    for (key, path) in [("agents_md.paths", allowed.as_str()), ("claude_md.paths", "")] {
        let set = client.call("sync_set_config", json!({ "key": key, "value": path }));
        assert_ne!(set["isError"], true, "{set}");
    }
    let synced = client.call("sync_rules", json!({}));
    assert_ne!(synced["isError"], true, "{synced}");
    assert!(fs::read_to_string(allowed).unwrap().contains("**style**"));
}

#[test]
fn an_agent_sets_no_path_outside_of_the_folders_of_agents_and_the_repository() {
    let scratch = stored();
    let home = scratch.home();
    fs::create_dir_all(home.join("chosen")).unwrap();
    scratch.shiftlog("rules", ["set", "agents_md.paths", "~/chosen"]).ok();
    for folder in [".ssh", "ws", ".cursor", "outside"] {
        fs::create_dir_all(home.join(folder)).unwrap();
    }
    let outside = scratch.root().join("outside");
    fs::create_dir_all(&outside).unwrap();
    for (link, end) in [("lnk", outside.clone()), (".cursor/lnk", outside.clone()), (".cursor/in", home.join("ws"))] {
        std::os::unix::fs::symlink(end, home.join(link)).unwrap();
    }
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    let sets = |client: &mut super::Client, path: &str| {
        let refused = client.call("sync_set_config", json!({ "key": "agents_md.paths", "value": path }));
        let synced = client.call("sync_rules", json!({}));
        assert_ne!(synced["isError"], true, "{path}: {synced}");
        refused["isError"] != true
    };
    let git = scratch.top.join(".git/AGENTS.md").display().to_string();
    for path in
        ["~/.ssh", "~/ws", "~/ws/AGENTS.md", "~", "~/lnk", "~/.cursor/lnk", "~/.cursor/in", "~/chosen/../ws", &git]
    {
        assert!(!sets(&mut client, path), "{path}");
    }
    assert!(!home.join(".ssh/AGENTS.md").exists() && !home.join("ws/AGENTS.md").exists());
    for path in ["~/.cursor", "~/.claude/AGENTS.md"] {
        assert!(sets(&mut client, &format!("{path}, ~/chosen")), "{path}");
    }
    assert!(sets(&mut client, &scratch.top.display().to_string()));
    // Nor does anybody set what no sync would write.
    let ran = scratch.shiftlog("rules", ["set", "agents_md.paths", "~/lnk"]);
    assert!(ran.code == 1 && ran.stderr.contains("'~/lnk' leads elsewhere by a symbolic link"), "{ran:?}");
    scratch.shiftlog("rules", ["set", "agents_md.paths", "~/lnk", "--follow"]).ok();
}

#[test]
fn an_agent_writes_nothing_in_a_directory_of_gits() {
    let scratch = stored();
    let git = scratch.top.join(".git");
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    let top = scratch.top.display();
    for path in [".git/refs/heads", ".gi[t]/refs/heads", ".g?t/hooks", ".gi[t]/refs/heads/AGENTS.md", "**/AGENTS.md"] {
        for key in ["agents_md.paths", "claude_md.paths"] {
            let set = client.call("sync_set_config", json!({ "key": key, "value": format!("{top}/{path}") }));
            assert_eq!(set["isError"], true, "{path}: {set}");
            client.call("sync_rules", json!({}));
        }
    }
    let found = scratch.run_in(&git, "grep", ["-rl", "Generated from", "."]);
    assert_eq!(found.stdout, "");
    // Nor does a path that the user has set lead there.
    scratch.shiftlog("rules", ["set", "agents_md.paths", &format!("{top}/.gi[t]/refs/heads")]).ok();
    client.call("sync_rules", json!({}));
    assert!(!git.join("refs/heads/AGENTS.md").exists());
    let ran = scratch.shiftlog("rules", ["set", "agents_md.paths", &format!("{top}/.git/refs/heads/AGENTS.md")]);
    assert!(ran.code == 1 && ran.stderr.contains("is in a directory of Git's"), "{ran:?}");
}

#[test]
fn a_home_that_is_a_repository_is_no_repository_for_an_agent() {
    let scratch = stored();
    let home = scratch.home();
    scratch.git_in(&home, ["init", "-q"]).ok();
    fs::create_dir_all(home.join(".ssh")).unwrap();
    let mut client = Client::opened(&scratch, &home, &["--name=sync-ai-rules"]);
    let refused = client.call("sync_set_config", json!({ "key": "agents_md.paths", "value": "~/.ssh" }));
    assert_eq!(refused["isError"], true, "{refused}");
}

#[test]
fn an_answer_about_very_many_rules_is_bounded_and_says_so() {
    let scratch = stored();
    let long = "d".repeat(5000);
    let rules: Vec<Value> = (0..3000)
        .map(|number| {
            let description = if number < 100 { &long } else { "short" };
            json!({ "id": format!("r{number}"), "cursor": { "description": description } })
        })
        .collect();
    let manifest = json!({ "version": "1.0", "rules": rules, "active_targets": {} });
    fs::write(scratch.home().join(".ai-agent/manifest.json"), manifest.to_string()).unwrap();
    let (mut client, _) = serve(&scratch, &["--name=sync-ai-rules"]);
    let result = client.call("sync_status", json!({}));
    let status = &result["structuredContent"];
    assert_eq!((status["rules"].as_array().unwrap().len(), &status["rules_count"]), (1000, &json!(3000)));
    assert!(status["rules"][0]["description"].as_str().unwrap().len() < 450, "{}", status["rules"][0]);
    assert!(result.to_string().len() < 700_000, "{}", result.to_string().len());
}
