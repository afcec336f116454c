//! Files of the repository in the words of a session that ran in one of its directories.

use std::fs;

use serde_json::json;

use super::show;
use crate::support::Scratch;

#[test]
fn a_file_outside_the_sessions_directory_is_shown_from_there() {
    let scratch = Scratch::new();
    let top = scratch.top.to_str().unwrap();
    let mut lines = String::new();
    let mut record = |kind: &str, content: serde_json::Value| {
        let message = json!({ "role": kind, "content": content });
        let line = json!({ "type": kind, "cwd": format!("{top}/sub"), "sessionId": "s1", "message": message });
        lines += &format!("{line}\n");
    };
    record("user", json!("look around"));
    for (number, path) in ["net.c", "sub/net.c", "other/x.c"].iter().enumerate() {
        let id = format!("r{number}");
        let path = format!("{top}/{path}");
        record("assistant", json!([{ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": path } }]));
        record("user", json!([{ "type": "tool_result", "tool_use_id": id, "content": "int a;" }]));
    }
    let command = json!({ "command": "grep -rn hit .." });
    record("assistant", json!([{ "type": "tool_use", "id": "g", "name": "Bash", "input": command }]));
    let hits = format!("{top}/net.c:1: hit\n{top}/sub/net.c:2: hit\n");
    record("user", json!([{ "type": "tool_result", "tool_use_id": "g", "content": hits }]));
    let file = scratch.root().join("s1.jsonl");
    fs::write(&file, lines).unwrap();
    scratch.shiftlog("add", ["-q", "--transcript", file.to_str().unwrap()]).ok();
    let told = show(&scratch, &[]);
    for line in
        ["  Read ../net.c …", "  Read net.c …", "  Read ../other/x.c …", "    ../net.c:1: hit\n    net.c:2: hit\n"]
    {
        assert!(told.contains(line), "{line}: {told}");
    }
    let exported = scratch.shiftlog("export", ["--markdown"]).ok();
    for document in [show(&scratch, &["--format=markdown"]), exported] {
        assert!(document.contains("**Read** `../net.c`") && document.contains("**Read** `net.c`"), "{document}");
        assert!(!document.contains(top), "{document}");
    }
    let page = scratch.shiftlog("export", ["--html"]).ok();
    assert!(page.contains("../other/x.c") && !page.contains(&format!("{top}/other")), "{page}");
}
