//! Bounds of the paths that can be set.

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
