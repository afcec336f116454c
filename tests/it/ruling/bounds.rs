//! Bounds of the paths that can be set, and of what patterns among them may look at.

use std::fs;

use serde_json::json;

use super::Home;
use crate::mcp::Client;

#[test]
fn a_path_that_no_file_can_have_is_not_set() {
    let home = Home::new();
    let before = home.read(".ai-agent/manifest.json");
    let folders = |count: usize| format!("~/.claude/{}AGENTS.md", "d/".repeat(count));
    let paths = [
        (folders(2000), "it is longer than 2048 bytes"),
        (folders(200), "it has more than 64 directories"),
        (format!("~/.claude/{}/AGENTS.md", "n".repeat(256)), "a name in it is longer than 255 bytes"),
    ];
    let mut command = home.scratch.command("git-shiftlog-mcp", &home.path(""));
    command.arg("--name=sync-ai-rules");
    let mut client = Client::of(command);
    for (path, why) in &paths {
        let start: String = path.chars().take(60).collect();
        let expected = format!("the path that begins with '{start}' cannot be used: {why}");
        let ran = home.rules(&["set", "agents_md.paths", path]);
        assert_eq!((ran.code, ran.stderr), (1, format!("error: {expected}\n")));
        let told = client.call("sync_set_config", json!({ "key": "agents_md.paths", "value": path }));
        assert_eq!(told["isError"], true);
        assert!(told.to_string().contains(&expected), "{told}");
    }
    let many = vec!["~/.claude/AGENTS.md"; 1001].join(",");
    let ran = home.rules(&["set", "claude_md.paths", &many]);
    let expected = "error: these are 1001 paths, and at most 1000 can be set\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (1, expected));
    assert_eq!(home.read(".ai-agent/manifest.json"), before);
    home.rules(&["set", "agents_md.paths", &folders(50)]).ok();
    home.rules(&["sync"]).ok();
    home.rules(&["clean", "--yes"]).ok();
}

#[test]
fn patterns_that_take_too_long_stop_a_sync_and_clean_says_what_it_did_not_look_for() {
    let mut home = Home::new();
    home.rules(&["sync"]).ok();
    fs::create_dir_all(home.path("many/d")).unwrap();
    home.write(".ai-agent/manifest.json", &super::MANIFEST.replace("~/ws/AGENTS.md", "~/many/*"));
    home.scratch.env.insert("SHIFTLOG_FAULT".to_owned(), "globs-late".to_owned());
    let ran = home.rules(&["sync"]);
    let pattern = home.path("many/*");
    let expected = format!(
        "error: the globs up to '{}' take longer than 0 seconds\nhint: name fewer places, or with less of '*' and '**'\n",
        pattern.display()
    );
    assert_eq!((ran.code, ran.stderr), (1, expected));
    let told = home.rules(&["clean", "--yes"]).ok();
    let warning =
        "    Warning: the globs of the settings take longer than 0 seconds, and what they name was not looked for\n";
    assert!(told.starts_with(warning), "{told}");
    assert!(!home.is_there("ws") && !home.is_there(".gemini"));
}
