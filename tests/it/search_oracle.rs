//! `grep` finds what reading every message finds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::{Value, json};

use crate::fixtures::{fixture, transcripts};
use crate::made::Made;
use crate::support::Scratch;

/// A line that a search may find: session, number of the message, line in its text, text.
type Found = (String, u64, u64, String);

/// Every text of a conversation, as `show --json` has it.
struct Said {
    session: String,
    message: u64,
    text: String,
}

/// Notices that parsers word themselves.
const OWN: [&str; 3] = ["conversation compacted", "interrupted by the user", "taken back"];

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(members) => members.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

/// Reads all that `show --json` says of a commit.
fn said(scratch: &Scratch, revision: &str) -> Vec<Said> {
    let mut all = Vec::new();
    for line in scratch.shiftlog("show", ["--json", revision]).stdout.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        for (number, message) in object["conversation"].as_array().unwrap().iter().enumerate() {
            for part in message["parts"].as_array().unwrap() {
                let text = match part["type"].as_str().unwrap() {
                    "call" => {
                        let mut texts = Vec::new();
                        strings(&part["input"], &mut texts);
                        texts.join("\n")
                    }
                    "attachment" => continue,
                    "notice" if OWN.contains(&part["text"].as_str().unwrap()) => continue,
                    _ => part["text"].as_str().unwrap().to_owned(),
                };
                all.push(Said { session: object["session"].as_str().unwrap().into(), message: number as u64, text });
            }
        }
    }
    all
}

fn naive(said: &[Said], pattern: &Regex) -> BTreeSet<Found> {
    let mut found = BTreeSet::new();
    for Said { session, message, text } in said {
        for (number, line) in text.lines().enumerate() {
            if pattern.is_match(line.as_bytes()) {
                found.insert((session.clone(), *message, number as u64 + 1, line.to_owned()));
            }
        }
    }
    found
}

fn grepped(scratch: &Scratch, args: &[&str]) -> BTreeSet<Found> {
    let ran = scratch.shiftlog("grep", [&["--json", "--in=all", "--all"], args].concat());
    assert!(ran.code < 2, "{args:?}: {ran:?}");
    let found = |line: &str| {
        let object: Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| object[key].as_u64().unwrap();
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        (text("session"), number("message"), number("line"), text("text"))
    };
    ran.stdout.lines().map(found).collect()
}

/// Draws a piece of a text, from one character boundary to another.
fn piece<'t>(made: &mut Made, text: &'t str, max_chars: usize) -> &'t str {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let from = made.below(starts.len().max(2) - 1);
    let to = (from + 1 + made.below(max_chars)).min(starts.len() - 1);
    &text[starts[from]..starts[to]]
}

/// Searches for pieces of what was said, in several ways.
fn compare(scratch: &Scratch, said: &[Said], seed: u64, count: usize) {
    let lines: Vec<&str> = said.iter().flat_map(|said| said.text.lines()).filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 20, "there is something to search for");
    let found_some = compare_pieces(scratch, said, &lines, seed, count);
    assert!(found_some > count / 2, "most patterns are found: {found_some} of {count}");
}

/// Searches for pieces of some lines, and returns how many are found.
fn compare_pieces(scratch: &Scratch, said: &[Said], lines: &[&str], seed: u64, count: usize) -> usize {
    let mut made = Made::new(seed);
    let mut found_some = 0;
    for round in 0..count {
        let line = lines[made.below(lines.len())];
        let piece = piece(&mut made, line, 16).to_owned();
        let escaped = regex::escape(&piece);
        let (pattern, options, is_folded): (String, &[&str], bool) = match round % 6 {
            0 | 1 => (escaped, &["-F"], false),
            2 => (escaped, &["-F", "-i"], true),
            3 => (format!("{escaped}|{}", regex::escape(&piece.to_uppercase())), &[], false),
            4 => (format!("^.*{escaped}"), &[], false),
            _ => (format!(r"\b{{start-half}}(?:{escaped})\b{{end-half}}"), &["-F", "-w"], false),
        };
        let typed = if options.contains(&"-F") { piece.as_str() } else { pattern.as_str() };
        let regex = RegexBuilder::new(&pattern).unicode(false).case_insensitive(is_folded).build().unwrap();
        let expected = naive(said, &regex);
        found_some += usize::from(!expected.is_empty());
        let found = grepped(scratch, &[options, &["-e", typed]].concat());
        let missed: Vec<_> = expected.difference(&found).take(3).collect();
        let invented: Vec<_> = found.difference(&expected).take(3).collect();
        assert!(
            missed.is_empty() && invented.is_empty(),
            "{options:?} {typed:?}\nmissed {missed:#?}\ninvented {invented:#?}"
        );
    }
    found_some
}

/// The agents whose transcripts are files of lines, each with the folder of its transcripts.
const AGENTS: &[&str] =
    &["claude", "codex", "gemini", "copilot", "droid", "pi", "cursor", "vscode", "windsurf", "antigravity", "qwen"];

/// Transcripts that are one document.
const DOCUMENTS: &[(&str, &str)] = &[
    ("amp", "amp/threads/T-019ca1ce-3ae2-7686-a41e-ccc078837f8a.json"),
    ("amp", "amp/threads/T-019ca1f6-7f21-77b5-a308-000000000010.json"),
    ("continue", "continue/sessions/2dbfd673-0000-4000-8000-000000000011.json"),
    ("opencode", "opencode/export-v1.json"),
    ("aider", "aider/.aider.chat.history.md"),
];

#[test]
fn grep_finds_what_reading_every_message_of_every_agent_finds() {
    let scratch = Scratch::new();
    let of_agent = |agent: &'static str| transcripts(&fixture(agent)).into_iter().map(move |path| (agent, path));
    let documents = DOCUMENTS.iter().map(|(agent, path)| (*agent, fixture(path)));
    let mut all = Vec::new();
    for (number, (agent, path)) in AGENTS.iter().copied().flat_map(of_agent).chain(documents).enumerate() {
        let commit = scratch.commit("n", &format!("{agent} {number}\n"), agent);
        let (session, agent) = (format!("--session={agent}-{number}"), format!("--agent={agent}"));
        let file = path.to_str().unwrap();
        scratch.shiftlog("add", ["-q", "--force", &session, &agent, "--transcript", file, &commit]).ok();
        all.extend(said(&scratch, &commit));
    }
    for (agent, _) in DOCUMENTS {
        assert!(all.iter().any(|said| said.session.starts_with(agent)), "{agent} says something");
    }
    compare(&scratch, &all, 11, 70);
}

/// The ways in which JSON is written: each says how a character is written that may stand as it is.
type Writer = fn(char) -> Option<String>;

fn units(c: char, is_upper: bool) -> String {
    let unit = |unit: &u16| if is_upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
    c.encode_utf16(&mut [0; 2]).iter().map(unit).collect()
}

const WRITERS: [(&str, Writer); 5] = [
    ("serde", |_| None),
    ("python", |c| (!c.is_ascii()).then(|| units(c, false))),
    ("go", |c| matches!(c, '<' | '>' | '&' | '\u{2028}').then(|| units(c, false))),
    ("php", |c| if c == '/' { Some("\\/".into()) } else { (!c.is_ascii()).then(|| units(c, false)) }),
    ("dotnet", |c| (!c.is_ascii() || "<>&'+`\"".contains(c)).then(|| units(c, true))),
];

/// Writes a string as a writer does.
fn quoted(text: &str, writer: Writer) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match writer(c) {
            Some(code) => quoted += &code,
            None => {
                let plain = json!(c.to_string()).to_string();
                quoted += &plain[1..plain.len() - 1];
            }
        }
    }
    quoted + "\""
}

/// Makes a text of words, code, and what JSON writers disagree about.
fn text(made: &mut Made) -> String {
    let pieces = [
        "reconnect",
        "back off",
        "größe",
        "数据库",
        "日本語の",
        "😀",
        "é",
        "src/main.rs",
        "a<b && c>d",
        "it's",
        "x = y+1;",
        "\r",
        "\t",
        "\u{2028}",
        "C:\\temp",
        "\"quoted\"",
        "ÅNGSTRÖM",
        "{\"a\": [1]}",
        "`code`",
        "foo_bar",
        "100%",
        "안녕",
        "naïve",
        "\u{7f}",
    ];
    let mut text = String::new();
    for _ in 0..3 + made.below(12) {
        text += pieces[made.below(pieces.len())];
        text += [" ", "", "\n", " ", ". "][made.below(5)];
    }
    text
}

#[test]
fn grep_finds_a_text_however_its_json_was_written() {
    let scratch = Scratch::new();
    let mut made = Made::new(5);
    let mut all = Vec::new();
    for (name, writer) in WRITERS {
        let mut lines = String::new();
        for number in 0..30 {
            let (kind, role) = if number % 3 == 0 { ("user", "user") } else { ("assistant", "assistant") };
            let text = quoted(&text(&mut made), writer);
            lines += &format!(
                "{{\"type\": \"{kind}\", \"message\": {{\"role\": \"{role}\", \"content\": [{{\"type\": \"text\", \"text\": {text}}}]}}}}\n"
            );
        }
        let commit = add(&scratch, name, &lines);
        all.extend(said(&scratch, &commit));
    }
    compare(&scratch, &all, 23, 90);
}

#[test]
fn grep_finds_a_text_in_the_input_of_calls_that_is_a_string_of_json() {
    let scratch = Scratch::new();
    let mut made = Made::new(7);
    let mut all = Vec::new();
    for (inner_name, inner) in WRITERS {
        for (outer_name, outer) in WRITERS {
            let mut lines =
                "{\"timestamp\":\"2026-01-02T03:04:05Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"x\"}}\n"
                    .to_owned();
            for number in 0..6 {
                let input = format!("{{\"cmd\":{}}}", quoted(&text(&mut made), inner));
                lines += &format!(
                    "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"function_call\",\"name\":\"exec_command\",\"arguments\":{},\"call_id\":\"c{number}\"}}}}\n",
                    quoted(&input, outer)
                );
            }
            let commit = add_of(&scratch, "codex", &format!("{inner_name}-{outer_name}"), &lines);
            all.extend(said(&scratch, &commit));
        }
    }
    compare(&scratch, &all, 31, 60);
}

#[test]
fn grep_finds_a_text_from_which_a_passage_was_taken() {
    let scratch = Scratch::new();
    let mut made = Made::new(9);
    let mut all = Vec::new();
    for (name, writer) in WRITERS {
        let mut lines = String::new();
        for number in 0..20 {
            let passage = |words: &str| format!("<system-reminder>{words}</system-reminder>");
            let words = ["alpha beta", "gamma delta", "größe"].map(|word| format!("{word} {number}"));
            let cut = passage(&text(&mut made));
            let typed = match number % 3 {
                0 => format!("{}{cut}{}", words[0], words[1]),
                1 => format!("{} {cut}\n{}{cut} {}", words[0], words[1], words[2]),
                _ => format!("{cut}{}{}", words[2], passage("x")),
            };
            let typed = quoted(&typed, writer);
            lines += &format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{typed}}}}}\n");
        }
        let commit = add(&scratch, name, &lines);
        all.extend(said(&scratch, &commit));
    }
    assert!(all.iter().all(|said| !said.text.contains("reminder")), "nothing of the program is shown");
    compare(&scratch, &all, 37, 60);
}

#[test]
fn grep_finds_no_piece_of_a_secret_that_another_tool_has_stored() {
    // The same words twice: with their secrets, and without them from the beginning.
    let (stored, clean) = (Scratch::new(), Scratch::new());
    stored.git(["config", "shiftlog.redact", "false"]).ok();
    let mut made = Made::new(13);
    let (mut all, mut raw) = (Vec::new(), Vec::new());
    for (name, writer) in WRITERS {
        let mut lines = String::new();
        for number in 0..12 {
            let secret = match number % 3 {
                0 => format!("ghp_{}", made.run('a', 36)),
                1 => format!("password = \"{}\"", made.run('b', 24)),
                _ => format!("postgres://me:{}@db.internal/x", made.run('a', 20)),
            };
            let said = format!("the größe of {number} is {secret} / today\nand {secret}");
            let text = quoted(&said, writer);
            lines += &format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{text}}}}}\n");
            raw.extend(said.lines().map(str::to_owned));
        }
        add(&stored, name, &lines);
        let commit = add(&clean, name, &lines);
        all.extend(said(&clean, &commit));
    }
    stored.git(["config", "--unset", "shiftlog.redact"]).ok();
    let shown: String = all.iter().map(|said| said.text.as_str()).collect();
    assert!(!shown.contains("ghp_") && shown.contains("[REDACTED:"), "{shown}");
    let lines: Vec<&str> = raw.iter().map(String::as_str).collect();
    let found = compare_pieces(&stored, &all, &lines, 41, 90);
    assert!((20..80).contains(&found), "some pieces are of secrets, and some are not: {found}");
}

fn add(scratch: &Scratch, name: &str, lines: &str) -> String {
    add_of(scratch, "claude", name, lines)
}

fn add_of(scratch: &Scratch, agent: &str, name: &str, lines: &str) -> String {
    let file = scratch.root().join("t.jsonl");
    fs::write(&file, lines).unwrap();
    let commit = scratch.commit("n", &format!("{name}\n"), name);
    let (session, agent) = (format!("--session={name}"), format!("--agent={agent}"));
    let file = Path::to_str(&file).unwrap();
    scratch.shiftlog("add", ["-q", "--force", &session, &agent, "--transcript", file, &commit]).ok();
    commit
}

#[test]
fn grep_finds_a_text_in_a_line_of_many_segments_and_in_a_very_long_one() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    let prompt =
        |text: &str| format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }));
    // More than one segment.
    for number in 0..60 {
        lines += &prompt(&format!("prompt {number}\n{}", "filler words of a long text ".repeat(8000)));
    }
    lines += &prompt(&format!("{} needle {}", "x".repeat(2_500_000), "y".repeat(2_500_000)));
    let commit = add(&scratch, "long", &lines);
    let found = scratch.shiftlog("grep", ["prompt 5[0-9]$"]).ok();
    let expected: String =
        (50..60).map(|n| format!("{} claude/long:{}:prompt:1:prompt {n}\n", &commit[..7], n + 1)).collect();
    assert_eq!(found, expected, "turns are counted across segments");
    let cut = scratch.shiftlog("grep", ["needle"]).ok();
    assert!(cut.contains("xxx needle yyy") && cut.chars().count() < 2100, "{}", cut.len());
    assert!(cut.starts_with(&format!("{} claude/long:61:prompt:1:…x", &commit[..7])));
    assert!(scratch.shiftlog("grep", ["--no-cut", "needle"]).ok().len() > 5_000_000);
    let object: Value = serde_json::from_str(&scratch.shiftlog("grep", ["--json", "needle"]).ok()).unwrap();
    assert_eq!((&object["message"], &object["column"]), (&json!(60), &json!(2_500_002)));
}
