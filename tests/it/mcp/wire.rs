//! Every line of the specification, in both eras; the server still answers afterwards.

use std::path::Path;

use serde_json::{Value, json};

use super::{Client, initialize, meta, recorded};
use crate::support::{Scratch, feed};

#[test]
fn every_malformed_line_gets_its_answer_and_the_server_goes_on() {
    let scratch = Scratch::new();
    for is_modern in [false, true] {
        let mut client = if is_modern { Client::modern(&scratch) } else { Client::legacy(&scratch) };
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","x":"{}"}}"#, "x".repeat(17 << 20));
        let with_meta = |text: &str| {
            if is_modern {
                text.replacen(r#""params":{"#, &format!(r#""params":{{"_meta":{},"#, meta("2026-07-28")), 1)
            } else {
                text.to_owned()
            }
        };
        let cases: Vec<(Vec<u8>, Value, i64)> = vec![
            (br#"{"jsonrpc":"2.0","id":2,"method":"tools/list""#.to_vec(), Value::Null, -32700),
            (br#"{"jsonrpc":"2.0","id":2,"method":"ping"}{"a":1}"#.to_vec(), Value::Null, -32700),
            (b"hello".to_vec(), Value::Null, -32700),
            (b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}".to_vec(), Value::Null, -32700),
            (deep.into_bytes(), Value::Null, -32700),
            (long.into_bytes(), Value::Null, -32600),
            (b"[]".to_vec(), Value::Null, -32600),
            (br#"[{"jsonrpc":"2.0","id":2,"method":"ping"}]"#.to_vec(), Value::Null, -32600),
            (b"null".to_vec(), Value::Null, -32600),
            (b"12".to_vec(), Value::Null, -32600),
            (br#""x""#.to_vec(), Value::Null, -32600),
            (b"{}".to_vec(), Value::Null, -32600),
            (br#"{"id":3,"method":"ping"}"#.to_vec(), json!(3), -32600),
            (br#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#.to_vec(), json!("a"), -32600),
            (br#"{"jsonrpc":"2.0","id":4}"#.to_vec(), json!(4), -32600),
            (br#"{"jsonrpc":"2.0","id":4,"method":5}"#.to_vec(), json!(4), -32600),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.to_vec(), Value::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_vec(), Value::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_vec(), Value::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#.to_vec(), Value::Null, -32600),
            (br#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}"#.to_vec(), json!(5), -32602),
            (br#"{"jsonrpc":"2.0","id":6,"method":"foo/bar","params":3}"#.to_vec(), json!(6), -32601),
            (br#"{"jsonrpc":"2.0","id":6,"method":"resources/subscribe","params":{"uri":"x"}}"#.to_vec(), json!(6), -32601),
            (br#"{"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"info"}}"#.to_vec(), json!(6), -32601),
            (br#"{"jsonrpc":"2.0","id":6,"method":"subscriptions/listen","params":{}}"#.to_vec(), json!(6), -32601),
            (with_meta(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{}}}"#).into_bytes(), json!(7), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":-7,"method":"resources/read","params":{"x":1}}"#).into_bytes(), json!(-7), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":"12","method":"tools/list","params":{"cursor":5}}"#).into_bytes(), json!("12"), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"cursor":"nope"}}"#).into_bytes(), json!(0), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":8,"method":"resources/list","params":{"cursor":"nope"}}"#).into_bytes(), json!(8), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"nope","arguments":{}}}"#).into_bytes(), json!(9), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"nope"}}"#).into_bytes(), json!(10), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":10,"method":"prompts/get","params":{"name":"explain_commit"}}"#).into_bytes(), json!(10), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":11,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"nope"},"argument":{"name":"x","value":""}}}"#).into_bytes(), json!(11), -32602),
            (with_meta(r#"{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#).into_bytes(), json!(12), if is_modern { -32602 } else { -32002 }),
        ];
        for (line, id, code) in cases {
            let shown = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
            client.tell_bytes(&line);
            let answer = client.hear();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{shown} gave {answer}");
            let listed = client.request("tools/list", json!({}));
            assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 8, "after {shown}: {listed}");
        }
        // None of these is answered.
        for line in [
            "",
            "\r",
            r#"{"jsonrpc":"2.0","method":"notifications/foo"}"#,
            r#"{"method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","method":7}"#,
            r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4242}}"#,
        ] {
            client.tell(line);
        }
        client.request("tools/list", json!({}));
        let (rest, code) = client.end();
        assert_eq!((rest, code), (Vec::new(), 0), "the end of input is no failure");
    }
}

#[test]
fn both_eras_open_as_they_are_specified() {
    let scratch = Scratch::new();
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("1900-01-01", "2025-11-25"),
    ] {
        let mut client = Client::start(&scratch, &scratch.top, &[]);
        let answer = client.ask(&initialize(asked).to_string());
        assert_eq!(answer["result"]["protocolVersion"], answered);
        assert_eq!(
            answer["result"]["capabilities"],
            json!({ "completions": {}, "prompts": {}, "resources": {}, "tools": {} })
        );
        assert!(answer["result"]["instructions"].as_str().unwrap().len() <= 2048);
        let listed = client.request("tools/list", json!({}));
        for modern in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(listed["result"].get(modern).is_none(), "{modern} is for the modern era: {listed}");
        }
        assert_eq!(client.ask(&initialize(asked).to_string())["result"]["protocolVersion"], answered, "a second time");
    }

    // A probe, then the fallback.
    let mut client = Client::modern(&scratch);
    let discovered = client.request("server/discover", json!({}));
    let result = &discovered["result"];
    assert_eq!(
        (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
        (&json!("complete"), &json!(3_600_000), &json!("public"))
    );
    assert_eq!(
        result["supportedVersions"],
        json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"])
    );
    let server = json!({ "name": "git-shiftlog", "version": env!("CARGO_PKG_VERSION") });
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], server);
    client.is_modern = false;
    assert_eq!(client.ask(&initialize("2025-11-25").to_string())["result"]["protocolVersion"], "2025-11-25");
    client.is_modern = true;
    let listed = client.request("tools/list", json!({}));
    assert_eq!(
        (&listed["result"]["resultType"], &listed["result"]["ttlMs"]),
        (&json!("complete"), &json!(3_600_000)),
        "a modern request in a session that was opened with initialize"
    );

    let mut client = Client::start(&scratch, &scratch.top, &[]);
    let early = client.request("tools/call", json!({ "name": "shiftlog_list_branches" }));
    assert_eq!(early["error"]["code"], -32602, "a call before any opening: {early}");
    let line = json!({ "jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": { "_meta": meta("1900-01-01") } });
    let unknown = client.ask(&line.to_string());
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["data"]["requested"]),
        (&json!(-32022), &json!("1900-01-01")),
        "{unknown}"
    );
    client.is_modern = true;
    assert_eq!(client.request("ping", json!({}))["error"]["code"], -32601);
}

#[test]
fn pipelined_calls_are_all_answered_before_the_end() {
    let (scratch, ..) = recorded();
    let mut input = format!("{}\n", initialize("2025-11-25"));
    for id in 2..62 {
        input += &format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "shiftlog_list_conversations" } })
        );
    }
    // The last line has no end.
    let ran = feed(scratch.command("git", &scratch.top).args(["shiftlog", "mcp"]), input.trim_end().as_bytes());
    let mut ids: Vec<i64> =
        ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ran.code, ids), (0, (1..62).collect()));
    // Nor does a refusal get lost because the input ends with what is refused.
    for _ in 0..20 {
        let ran = feed(&mut scratch.command("git-shiftlog-mcp", &scratch.top), b"no message");
        assert!(ran.stdout.contains("-32700"), "{ran:?}");
    }
    let silent = feed(&mut scratch.command("git-shiftlog-mcp", &scratch.top), b"");
    assert_eq!((silent.code, silent.stdout.as_str(), silent.stderr.as_str()), (0, "", ""));
}

#[test]
fn random_and_mutated_lines_never_end_the_server() {
    let scratch = Scratch::new();
    let seeds = [
        initialize("2025-11-25").to_string(),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "shiftlog_list_branches", "arguments": {}, "_meta": meta("2026-07-28") } }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": { "uri": "shiftlog://conversation/HEAD" } }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 2 } }).to_string(),
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut input = Vec::new();
    for _ in 0..10_000 {
        let mut line = seeds[next(seeds.len())].clone().into_bytes();
        for _ in 0..next(4) {
            let at = next(line.len().max(1)).min(line.len().saturating_sub(1));
            if line.is_empty() {
                break;
            }
            match next(3) {
                0 => line[at] = (next(255) + 1) as u8,
                1 => drop(line.remove(at)),
                _ => line.truncate(at.max(1)),
            }
        }
        line.retain(|byte| *byte != b'\n');
        input.extend(line);
        input.push(b'\n');
    }
    let last =
        json!({ "jsonrpc": "2.0", "id": "last", "method": "tools/list", "params": { "_meta": meta("2026-07-28") } });
    input.extend(last.to_string().as_bytes());
    let ran = feed(&mut scratch.command("git-shiftlog-mcp", &scratch.top), &input);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        answers.iter().any(|answer| answer["id"] == "last" && answer["result"]["tools"].is_array()),
        "it still answers"
    );
}

#[test]
fn it_serves_wherever_it_is_started() {
    let (scratch, _, second) = recorded();
    let outside = scratch.root().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    let open = |args: &[&str], dir: &Path| {
        let mut client = Client::start(&scratch, dir, args);
        client.ask(&initialize("2025-11-25").to_string());
        client
    };
    let refused = open(&[], &outside).refused("shiftlog_list_branches", json!({}));
    assert_eq!(refused, "not in a git repository; start the server in one, or with --repo=<directory>");
    let listed = open(&["--repo", scratch.top.to_str().unwrap()], &outside).found("shiftlog_list_branches", json!({}));
    assert_eq!(listed["branches"][0]["headSha"], second);
    let bare = scratch.root().join("bare.git");
    scratch.git(["clone", "-q", "--mirror", ".", bare.to_str().unwrap()]).ok();
    let listed = open(&[], &bare).found("shiftlog_list_conversations", json!({}));
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2);
    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]).ok();
    let listed = open(&[], &linked).found("shiftlog_list_conversations", json!({}));
    assert_eq!(listed["conversations"].as_array().unwrap().len(), 2);
    // Under the name of an earlier tool.
    let mut client = open(&["--name", "claudit"], &scratch.top);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "shiftlog_why",
            "shiftlog_search",
            "claudit_list_conversations",
            "claudit_get_conversation",
            "claudit_list_branches",
            "shiftlog_stats",
            "shiftlog_list_keys",
            "shiftlog_get_value"
        ]
    );
    let refused = client.refused("claudit_get_conversation", json!({ "commit_sha": "nope" }));
    assert_eq!(refused, "no commit matches nope; call claudit_list_conversations to see which commits have one");
    let prompt = client.request("prompts/get", json!({ "name": "explain_commit", "arguments": { "commit": "HEAD" } }));
    assert!(prompt.to_string().contains("claudit_get_conversation"), "{prompt}");
    let called = client.call("claudit_list_branches", json!({}));
    assert_eq!(called["isError"], false);
    let unknown = scratch.shiftlog("mcp", ["--name=other"]);
    assert_eq!(unknown.code, 129, "{unknown:?}");
}

#[test]
fn a_defect_in_a_tool_is_an_error_and_the_server_goes_on() {
    let mut scratch = Scratch::new();
    scratch.env.insert("SHIFTLOG_FAULT".into(), "tool-panics".into());
    let mut client = Client::legacy(&scratch);
    for _ in 0..2 {
        let call = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": { "name": "shiftlog_list_branches", "arguments": {} } });
        let answer = client.ask(&call.to_string());
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(5), &json!(-32603)), "{answer}");
        let listed = client.ask(r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#);
        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
}

/// What clients and models see of us before the first call, whole: a change of it is a change of the interface.
#[test]
fn the_lists_and_the_instructions_are_those_of_the_golden_file() {
    let scratch = Scratch::new();
    let mut client = Client::start(&scratch, &scratch.top, &["--toolset", "all"]);
    let opened = client.ask(&initialize("2025-11-25").to_string());
    client.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let mut golden = json!({ "instructions": opened["result"]["instructions"],
        "instructionsLength": opened["result"]["instructions"].as_str().unwrap().len() });
    for method in ["tools/list", "prompts/list", "resources/templates/list"] {
        let listed = client.ask(&json!({ "jsonrpc": "2.0", "id": 7, "method": method }).to_string());
        golden[method] = listed["result"].clone();
    }
    let text = serde_json::to_string_pretty(&golden).unwrap() + "\n";
    snapbox::assert_data_eq!(text, snapbox::file!["../../data/mcp-lists.json"].raw());
}

#[test]
fn the_first_message_may_have_a_byte_order_mark() {
    let scratch = Scratch::new();
    for before in ["", "\n", "\r\n \n"] {
        let mut client = Client::start(&scratch, &scratch.top, &[]);
        let answer = client.ask(&format!("\u{feff}{before}{}", initialize("2025-11-25")));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{before:?}: {answer}");
        let mut client = Client::start(&scratch, &scratch.top, &[]);
        let answer = client.ask(&format!("{before}\u{feff}{}", initialize("2025-11-25")));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{before:?}: {answer}");
    }
}
