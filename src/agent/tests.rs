//! Properties of all agents: only listed files name an agent, and no transcript makes a parser fail.

use proptest::prelude::*;

use super::*;
use crate::transcript::{Tally, complete_lines};

/// Pieces that transcripts are made of, well and badly put together.
const PIECES: &[&str] = &[
    "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}",
    "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"input\":{}}]}}",
    "{\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"x\"}}",
    "{\"type\":\"user.message\",\"data\":{\"content\":\"x\"}}",
    "{\"$set\":{\"messages\":[]}}",
    "{\"$rewindTo\":\"m\"}",
    "{\"messages\":[{\"id\":\"m\",\"type\":\"user\",\"content\":[true]}],\"v\":1",
    "{\"requests\":[{\"message\":{\"text\":\"x\"},\"response\":[{\"kind\":0}]}]}",
    "[{\"role\":\"user\",\"content\":\"x\"}]",
    "{\"role\":\"user\",\"message\":{\"content\":{\"text\":1e999}}}",
    "{}",
    "[",
    "]",
    "}",
    "{",
    "\"",
    ",",
    ":",
    "null",
    "\\ud800",
    "\n",
    "\r\n",
    " ",
    "\u{feff}",
    "\u{2028}",
];

/// The files that name an agent although they are not its own, each with the reason.
const NAMED_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("agent/amp.rs", "continue", "a word of a command line"),
    ("agent/antigravity.rs", "gemini", "its files are in a folder of Gemini CLI's"),
    ("agent/cline/mod.rs", "cursor", "an editor that Cline runs in"),
    ("agent/cline/mod.rs", "windsurf", "another one"),
    ("agent/opencode/mod.rs", "kilo", "it is made from OpenCode"),
    ("command/add.rs", "claude", "whose transcript it is when nobody says so"),
    ("command/doctor/mod.rs", "claude", "the session that proves that recording works is this agent's"),
    ("mcp/transport.rs", "cursor", "a member of the protocol's messages"),
    ("record/earlier.rs", "claude", "whose the notes of the earlier tools are when they name no agent"),
    ("redact/table.rs", "cursor", "a service that a secret is for"),
    ("redact/view.rs", "amp", "the name of a character in HTML"),
    ("redact/words.rs", "cursor", "an English word"),
    ("rules/", "", "the manifest of an earlier tool names the agents that files are written for"),
    ("managed/client.rs", "", "clients of the MCP server: most are agents, some are not"),
    ("setup/earlier.rs", "", "files that the earlier tools of this name wrote"),
    ("setup/mod.rs", "vscode", "a client of the MCP server"),
];

/// Returns the texts of a source that stand in quotes, of its lines that are no comments and no tests.
fn quoted(source: &str) -> Vec<String> {
    let (code, _) = source.split_once("#[cfg(test)]").unwrap_or((source, ""));
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => sources(&path, found),
            path if path.ends_with("tests.rs") => {}
            path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn an_agent_is_named_in_its_own_file_alone() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut reasons: Vec<_> = NAMED_ELSEWHERE.iter().collect();
    for path in files {
        let relative = path.strip_prefix(&src).expect("below src").to_str().expect("UTF-8").replace('\\', "/");
        let text = std::fs::read_to_string(&path).expect("a source");
        for text in quoted(&text) {
            let names = |agent: &&dyn Agent| {
                let name = agent.name();
                text == name || text == agent.title() || text.contains(&format!(".{name}/"))
            };
            for agent in ALL.iter().copied().filter(names) {
                let name = agent.name();
                let is_own = relative.starts_with(&format!("agent/{name}/"))
                    || relative == format!("agent/{name}.rs")
                    || (name, &*relative) == ("continue", "agent/continue_cli.rs");
                let has_reason = |(file, named, _): &(&str, &str, &str)| {
                    let is_there = *file == relative || file.ends_with('/') && relative.starts_with(file);
                    is_there && (named.is_empty() || *named == name)
                };
                let is_allowed = is_own || NAMED_ELSEWHERE.iter().any(has_reason);
                assert!(is_allowed, "{relative} names {name} in \"{text}\"");
                reasons.retain(|reason| !has_reason(reason));
            }
        }
    }
    assert!(reasons.is_empty(), "these name no agent any more: {reasons:?}");
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        4 => Just(b"\n".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn no_transcript_is_too_strange(choice in 0..ALL.len(), pieces in prop::collection::vec(piece(), 0..24)) {
        let (agent, text) = (ALL[choice], pieces.concat());
        let messages = agent.parse(&text);
        for message in &messages {
            prop_assert!(message.span.start <= message.span.end && message.span.end <= text.len());
        }
        Tally::default().add(&messages);
        let _ = agent.session_id(&text);
        let (first, second) = text.split_at(complete_lines(&text[..text.len() / 2]));
        let mut parser = agent.parser();
        for piece in [first, second] {
            prop_assert!(parser.parse(piece).iter().all(|message| message.span.end <= piece.len()));
        }
        let lines = agent.lines(text.clone());
        prop_assert_eq!(&agent.native(&lines)[..], &text[..], "{}", agent.name());
    }
}
