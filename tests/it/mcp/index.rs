//! The project's index and recorded values, by path.

use serde_json::{Value, json};

use super::{Client, initialize, recorded};
use crate::support::Scratch;

/// An index as a project keeps it.
fn write_index(scratch: &Scratch) {
    scratch.write(".memo/index/arch.json", r#"{ "modules": [ {"name": "main", "description": "starts", "interfaces": []}, {}, {"v": 1.50} ], "key[0]": true }"#);
    scratch.write(".memo/index/stories.json", r#"{"stories": []}"#);
    scratch.write(".memo/index/issues.json", "{ not json");
}

#[test]
fn the_project_index_is_served_where_there_is_one() {
    let (scratch, ..) = recorded();
    let mut client = Client::legacy(&scratch);
    let names = |client: &mut Client| -> Vec<String> {
        let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut client).len(), 8);
    let absent = client.request("tools/call", json!({ "name": "memo_list_keys" }))["error"].clone();
    let told = "Unknown tool: memo_list_keys; Index not found: .memo/index; 'git shiftlog index init' makes one";
    assert_eq!(absent, json!({ "code": -32602, "message": told }));
    let mut always = Client::start(&scratch, &scratch.top, &["--toolset=index"]);
    always.ask(&initialize("2025-11-25").to_string());
    let refused = always.refused("memo_list_keys", json!({ "path": "[arch]" }));
    assert_eq!(refused, "Index not found: .memo/index; 'git shiftlog index init' makes one");
    assert!(!scratch.top.join(".memo").exists(), "no server makes an index");
    write_index(&scratch);
    assert_eq!(names(&mut client)[8..], ["memo_list_keys", "memo_get_value"], "an index that comes later is seen");
    let result = |client: &mut Client, tool: &str, path: &str| {
        let result = client.call(tool, json!({ "path": path }));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        if result["isError"] == true {
            Err(text)
        } else {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), result["structuredContent"]);
            Ok(text)
        }
    };
    for (path, expected) in [
        ("[arch][modules]", Ok(r#"{"type":"list","length":3}"#)),
        ("[arch][modules][0]", Ok(r#"{"type":"dict","keys":["name","description","interfaces"]}"#)),
        ("[arch][modules][1]", Ok(r#"{"type":"dict","keys":[]}"#)),
        ("[stories][stories]", Ok(r#"{"type":"list","length":0}"#)),
        ("[arch][modules][0][name]", Err("value is not a dict or list, it is a string")),
        ("[arch][modules][-1]", Err("segment 1: expected object, got array")),
        ("[arch][modules][99]", Err("segment 1: index 99 out of bounds (length 3)")),
        ("[interface]", Err("index file interface.json is missing")),
        ("[conversation][HEAD]", Err("invalid file: conversation (allowed: arch, interface, stories, issues)")),
        ("arch", Err("unexpected character 'a' at position 0")),
    ] {
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(result(&mut client, "memo_list_keys", path), expected, "{path}");
    }
    let broken = result(&mut client, "memo_list_keys", "[issues]").unwrap_err();
    assert!(broken.starts_with("index file issues.json cannot be read as JSON: "), "{broken}");
    assert_eq!(result(&mut client, "memo_get_value", "[arch][modules][0][name]"), Ok(r#"{"value":"\"main\""}"#.into()));
    assert_eq!(result(&mut client, "memo_get_value", "[arch][modules][2]"), Ok(r#"{"value":"{\"v\":1.50}"}"#.into()));
    assert_eq!(result(&mut client, "memo_get_value", r"[arch][key\[0\]]"), Ok(r#"{"value":"true"}"#.into()));
    // A file that is replaced is read afresh; a link out of the index is not followed, a pipe not waited for.
    scratch.write(".memo/index/stories.json", r#"{"stories": [1]}"#);
    assert_eq!(result(&mut client, "memo_get_value", "[stories]"), Ok(r#"{"value":"{\"stories\":[1]}"}"#.into()));
    std::os::unix::fs::symlink("/etc/passwd", scratch.top.join(".memo/index/interface.json")).unwrap();
    assert_eq!(
        result(&mut client, "memo_get_value", "[interface]"),
        Err("index file interface.json is a symbolic link".into())
    );
    std::fs::remove_file(scratch.top.join(".memo/index/stories.json")).unwrap();
    scratch.run_in(&scratch.top, "mkfifo", [".memo/index/stories.json"]).ok();
    assert_eq!(
        result(&mut client, "memo_get_value", "[stories]"),
        Err("index file stories.json is not a regular file".into())
    );

    let mut only = Client::start(&scratch, &scratch.top, &["--toolset=index"]);
    only.ask(&initialize("2025-11-25").to_string());
    assert_eq!(names(&mut only), ["memo_list_keys", "memo_get_value"]);
    let missing = scratch.shiftlog("mcp", ["--index", scratch.home().to_str().unwrap()]);
    assert_eq!((missing.code, missing.stdout.as_str()), (128, ""), "{missing:?}");
    assert!(missing.stderr.starts_with("fatal: no project index in '"), "{missing:?}");
    assert_eq!(scratch.shiftlog("mcp", ["--toolset=foo"]).code, 129);
}

#[test]
fn recorded_values_are_read_by_path() {
    let (scratch, first, second) = recorded();
    write_index(&scratch);
    let mut client = Client::modern(&scratch);
    let mut value = |path: &str| {
        let found = client.found("shiftlog_get_value", json!({ "path": path }));
        serde_json::from_str::<Value>(found["value"].as_str().unwrap()).unwrap()
    };
    assert_eq!(value("[conversation][HEAD~1][messages][0][text]"), "add a greeting");
    assert_eq!(value("[conversation][HEAD][sha]"), second);
    assert_eq!(value(&format!("[commit][{}][records][0][prompt]", &first[..10])), "add a greeting");
    assert_eq!(value("[commit][main~1][subject]"), "add greeting");
    assert_eq!(value("[branches][0][name]"), "main");
    assert_eq!(value("[arch][modules][0][name]"), "main");
    let keys = client.found("shiftlog_list_keys", json!({ "path": "[conversation][HEAD]" }));
    assert_eq!(keys, json!({ "type": "dict", "keys": ["sha", "sessionId", "timestamp", "messages"] }));
    for (path, expected) in [
        ("[commit]", "name a revision behind [commit], as in [commit][HEAD]"),
        ("[commit][--all]", "no commit matches --all; call shiftlog_list_conversations to see which commits have one"),
        ("[conversation][HEAD][messages][9999]", "segment 2: index 9999 out of bounds"),
        ("[nope]", "invalid file: nope (allowed: conversation, commit, branches, arch, interface, stories, issues)"),
    ] {
        let refused = client.refused("shiftlog_get_value", json!({ "path": path }));
        assert!(refused.starts_with(expected), "{path}: {refused}");
    }
    assert_eq!(scratch.shiftlog("get", ["[conversation][HEAD~1][messages][0][text]"]).ok(), "\"add a greeting\"\n");
    assert_eq!(scratch.shiftlog("keys", ["[conversation][HEAD]"]).ok(), "sha\nsessionId\ntimestamp\nmessages\n");
    assert!(scratch.shiftlog("keys", ["[branches]"]).ok() == "0\n");
    let wrong = scratch.shiftlog("get", [""; 0]);
    assert_eq!((wrong.code, wrong.stderr.lines().next()), (129, Some("error: no path is named")), "{wrong:?}");
    let outside = scratch.shiftlog_in(&scratch.root(), "get", ["[branches]"]);
    assert_eq!((outside.code, &outside.stderr[..27]), (128, "fatal: not a git repository"), "{outside:?}");
    let missing = scratch.shiftlog("get", ["[conversation][HEAD][nope]"]);
    assert_eq!((missing.code, missing.stderr.as_str()), (1, "error: segment 1: key 'nope' not found\n"), "{missing:?}");
}

#[test]
fn a_key_without_an_end_that_was_stored_once_is_not_served() {
    let scratch = Scratch::new();
    let digits = shiftlog::redact::expand("{b64}");
    let prompt = json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": "hello" } });
    let transcript = scratch.root().join("k.jsonl");
    std::fs::write(&transcript, format!("{prompt}\n-----BEGIN RSA PRIVATE KEY-----\n{digits}\n")).unwrap();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    scratch.shiftlog("add", ["--transcript", transcript.to_str().unwrap(), "--session=k"]).ok();
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    assert!(scratch.raw("HEAD", &[]).contains(&digits), "it is there");
    let read =
        Client::legacy(&scratch).found("shiftlog_get_conversation", json!({ "commit_sha": "HEAD", "format": "raw" }));
    assert_eq!(read["transcript"], format!("{prompt}\n"), "and is not served");
}

#[test]
fn an_index_is_not_reached_through_a_link() {
    let (scratch, ..) = recorded();
    let elsewhere = scratch.root().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("index")).unwrap();
    std::fs::write(elsewhere.join("index/arch.json"), "{\"secret\":1}").unwrap();
    for is_inner in [false, true] {
        let memo = scratch.top.join(".memo");
        if is_inner {
            std::fs::remove_file(&memo).unwrap();
            std::fs::create_dir(&memo).unwrap();
            std::os::unix::fs::symlink(elsewhere.join("index"), memo.join("index")).unwrap();
        } else {
            std::os::unix::fs::symlink(&elsewhere, &memo).unwrap();
        }
        let ran = scratch.shiftlog("get", ["[arch]"]);
        let named = if is_inner { ".memo/index" } else { ".memo" };
        let told = format!("error: {named} is a symbolic link, which is not followed\n");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr), (1, "", told));
        let mut client = Client::legacy(&scratch);
        let tools = client.request("tools/list", json!({})).to_string();
        assert!(!tools.contains("memo_get_value"), "an index that is a link is none: {tools}");
        let mut named = Client::start(&scratch, &scratch.top, &["--toolset=index", "--index=.memo/index"]);
        named.ask(&initialize("2025-11-25").to_string());
        let refused = named.refused("memo_get_value", json!({ "path": "[arch][secret]" }));
        assert!(!refused.contains('1'), "nor is it where it is named: {refused}");
    }
    let top = scratch.top.to_str().unwrap();
    assert_eq!(scratch.shiftlog("mcp", ["--index", top]).code, 128, "nor is it by name");
}

#[test]
fn a_scan_between_two_calls_is_seen_by_the_second() {
    let scratch = crate::index_scanning::project();
    let mut client = Client::legacy(&scratch);
    let mut name = || {
        let result = client.call("memo_get_value", json!({ "path": "[arch][modules]" }));
        result["structuredContent"]["value"].clone()
    };
    assert_eq!(name(), "[]");
    for expected in ["one", "two"] {
        crate::index_scanning::install(
            &scratch,
            &crate::index_scanning::answers(&json!({ "arch": crate::index_scanning::arch(expected) })),
        );
        scratch.write("src/net.rs", expected);
        scratch.shiftlog("index", ["scan", "-q"]).ok();
        assert!(name().as_str().unwrap().contains(&format!("\"name\":\"{expected}\"")), "{expected}");
    }
    let function = json!({ "type": "fn", "name": "retry", "params": "", "description": "tries again" });
    let place = json!({ "file": "src/net.rs", "keyword": "two", "line": 1 });
    let four = json!({
        "arch": crate::index_scanning::arch("three"),
        "interface": { "external": [function], "internal": [] },
        "stories": { "stories": [{ "title": "a story", "tags": ["net"], "content": "long ago" }] },
        "issues": { "issues": [{ "tags": [], "title": "an issue", "description": "d", "locations": [place] }] },
    });
    crate::index_scanning::install(&scratch, &crate::index_scanning::answers(&four));
    scratch.write("src/main.rs", "fn main() { retry() }\n");
    scratch.shiftlog("index", ["scan", "-q"]).ok();
    for (path, expected) in [
        ("[arch][modules][0][name]", "three"),
        ("[interface][external][0][name]", "retry"),
        ("[stories][stories][0][title]", "a story"),
        ("[issues][issues][0][locations][0][keyword]", "two"),
    ] {
        let result = client.call("memo_get_value", json!({ "path": path }));
        assert_eq!(result["structuredContent"]["value"], format!("\"{expected}\""), "{path}: {result}");
    }
}
