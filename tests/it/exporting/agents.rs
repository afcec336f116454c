//! Pages of what agents write: each agent's own form, the conversation of the README, and text that tries to be more than text.

use std::path::Path;

use serde_json::Value;

use super::*;
use shiftlog::outside;

#[test]
fn a_page_of_each_agent_is_whole_and_has_what_people_typed() {
    let scratch = Scratch::new();
    let task = scratch.root().join("x.messages.json");
    let says = |role: &str, content: Value| json!({ "id": role, "role": role, "content": content, "ts": 1_786_000_000_000_u64 });
    let messages = [
        says(
            "user",
            json!([{ "type": "text", "text": "<user_input mode=\"act\">Mend the <net> & the sail</user_input>" }]),
        ),
        says("assistant", json!([{ "type": "text", "text": "Both are mended." }])),
    ];
    fs::write(&task, json!({ "version": 1, "messages": messages }).to_string()).unwrap();
    for (agent, path) in [
        ("cline", task.to_str().unwrap()),
        ("kilo", "opencode/export-v1.json"),
        ("aider", "aider/.aider.chat.history.md"),
        ("amp", "amp/threads/T-019ca1ce-3ae2-7686-a41e-ccc078837f8a.json"),
        ("antigravity", "antigravity/transcript_full.jsonl"),
        ("claude", "claude/projects/-home-dev-harbour/3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.jsonl"),
        ("claude", "claude/many-tools.jsonl"),
        ("codex", "codex/sessions/2026/06/16/rollout-2026-06-16T11-48-29-019ed11e-aeff-7173-9228-5b048d95c933.jsonl"),
        ("continue", "continue/sessions/2dbfd673-0000-4000-8000-000000000011.json"),
        ("copilot", "copilot/session-state/301561f1-558a-43e9-a144-82d3ca12ab62/events.jsonl"),
        ("cursor", "cursor/many-tools.jsonl"),
        ("droid", "droid/todo-and-patch.jsonl"),
        ("gemini", "gemini/tmp/harbour/chats/session-2026-08-10T09-15-b4c1f6d2.jsonl"),
        ("opencode", "opencode/export-v1.json"),
        ("pi", "pi/a-branch-left.jsonl"),
        ("qwen", "qwen/34ee1580-9287-481d-8c27-9bd6ef5239ff.jsonl"),
        ("vscode", "vscode/whole.json"),
        ("windsurf", "windsurf/transcripts/traj-2f6d1c.jsonl"),
    ] {
        // A whole path stays what it is.
        let path = crate::fixtures::fixture(path);
        let options = [format!("--agent={agent}"), format!("--transcript={}", path.display())];
        scratch.git(["commit", "-q", "--allow-empty", "-m", agent]).ok();
        scratch.shiftlog("add", ["-q", "--session=s-1", &options[0], &options[1]]).ok();
        let page = scratch.shiftlog("export", ["--html"]).ok();
        assert_whole(&page);
        let raw = scratch.raw("HEAD", &[]);
        let messages = shiftlog::agent::find(agent).unwrap().parse(raw.as_bytes());
        let prompts: Vec<String> =
            messages.iter().filter(|message| message.is_prompt()).map(|prompt| prompt.text()).collect();
        assert!(!prompts.is_empty(), "{agent}");
        let shown = text_of(&page);
        for line in prompts.iter().flat_map(|prompt| prompt.trim().lines()) {
            assert!(shown.contains(line), "{agent}: {line}");
        }
    }
}

/// Returns the text of a page: without what stands between `<` and `>`, without style and script, and with characters for
/// their names.
fn text_of(page: &str) -> String {
    let (mut text, mut rest) = (String::new(), page);
    while let Some((before, tag)) = rest.split_once('<') {
        text += before;
        rest = tag.split_once('>').map_or("", |(_, after)| after);
        for name in ["style", "script"] {
            if tag.starts_with(name) {
                rest = rest.split_once(&format!("</{name}>")).map_or("", |(_, after)| after);
            }
        }
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn the_page_of_the_readme_is_as_it_was() {
    let scratch = Scratch::set_up();
    let demo = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo.jsonl")).unwrap();
    let id = scratch.id("HEAD");
    let demo = demo.replace("@TOP@", "/home/dev/app").replace("@SESSION@", "demo-session").replace("@COMMIT@", &id);
    let file = scratch.root().join("demo.jsonl");
    fs::write(&file, demo).unwrap();
    scratch.shiftlog("add", ["-q", "--session=demo-session", "--transcript", file.to_str().unwrap()]).ok();
    let page = scratch.shiftlog("export", ["--html", "--no-patch"]).ok();
    let mut kept = String::new();
    let mut rest = page.as_str();
    while let Some((before, tag)) =
        ["<style", "<script", "<meta"].iter().filter_map(|tag| rest.find(tag)).min().map(|at| rest.split_at(at))
    {
        kept += before;
        let end = if tag.starts_with("<meta") {
            ">"
        } else if tag.starts_with("<style") {
            "</style>"
        } else {
            "</script>"
        };
        rest = &tag[tag.find(end).unwrap() + end.len()..];
    }
    kept += rest;
    let kept = kept.replace(&id, "COMMIT").replace(&id[..7], "SHORT");
    snapbox::Assert::new().action_env("SNAPSHOTS").eq(kept, snapbox::file!["../../data/demo-page.html"]);
}

#[test]
fn whatever_is_said_is_on_the_page_as_text() {
    let pieces = [
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "]]>",
        "&",
        "&lt;",
        "&#x27;",
        "\u{202e}",
        "\\u0000",
        "\\ud800",
        "javascript:",
        "\t",
        "</div>",
        "<img src=x onerror=alert(1)>",
        "\" onclick=\"x",
        "'",
        "`",
        "```",
        "| a | b |",
        "日本語",
        "🙂",
        "é",
        " ",
        "x",
        "<svg/onload=1>",
        "</style>",
        "<![CDATA[",
        "<?php",
        "{{7*7}}",
        "\u{7f}",
        "\u{9b}",
        "[a](b)",
        "**",
        "#",
    ];
    let mut seed = 7_u64;
    let mut next = |limit: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % limit as u64) as usize
    };
    let mut texts: Vec<String> =
        (0..300).map(|_| (0..1 + next(12)).map(|_| pieces[next(pieces.len())]).collect()).collect();
    texts.push("<b>".repeat(350_000));
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    // Escapes of JSON stand in the pieces as such: no Rust string has half a character.
    let quoted = |text: &str| json!(text).to_string().replace("\\\\u", "\\u");
    let line = |kind: &str, content: &str, number: usize| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{kind}{number}\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
        )
    };
    for (number, text) in texts.iter().enumerate() {
        let typed = quoted(&format!("«p{number}»{text}«/»"));
        session.append(line("user", &typed, number).as_bytes());
        let call =
            json!([{ "type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": { "command": "make" } }]);
        session.append(line("assistant", &call.to_string(), number).as_bytes());
        let answer = quoted(&format!("«r{number}»{text}«/»"));
        let result = format!("[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{number}\",\"content\":{answer}}}]");
        session.append(line("user", &result, 1000 + number).as_bytes());
    }
    session.edits("a.txt", "a\n");
    session.commits("one");
    let page = scratch.shiftlog("export", ["--html", "--embed=never"]).ok();
    assert_whole(&page);
    let shown = text_of(&page);
    for (number, text) in texts.iter().enumerate() {
        let said: String = serde_json::from_str(&quoted(text).replace("\\ud800", "\\ufffd")).unwrap();
        let expected = outside::text(&said);
        for mark in [format!("«p{number}»"), format!("«r{number}»")] {
            let found = shown.split(&mark).skip(1).filter_map(|rest| rest.split("«/»").next());
            assert!(
                found.clone().any(|found| found == expected),
                "{mark}: {text:?}, {:?}",
                found.map(|found| &found[..found.len().min(300)]).collect::<Vec<_>>()
            );
        }
    }
}
