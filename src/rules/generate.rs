//! The text of each agent's file, made of rules.
//!
//! A text is a list of pieces, so that an edit in it can be led back to the rule that it is in; see `adopt`.

use std::ops::Range;
use std::rc::Rc;

use bstr::ByteSlice as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Scope;
use super::manifest::Rule;
use crate::git::date::Time;
use crate::hex::hex;

/// The line that tells that a file is generated. Earlier versions wrote it into the files of a repository, too.
pub const MARK: &str = "# Generated from ~/.ai-agent/ -- do not edit directly";
/// The same line in the files of a repository, whose store is its own.
const REPOSITORY_MARK: &str = "# Generated from .ai-agent/ -- do not edit directly";
const RUN: &str = "# Run: ";
const SYNCED: &str = "# Last synced: ";
const COMMAND: &str = "git shiftlog rules sync";
/// The option of the command that writes a repository's files.
const REPOSITORY: &str = " --scope=repo";

/// The longest summary of a rule, in characters.
const MAX_SUMMARY_CHARS: usize = 120;

/// A rule with its text.
#[derive(Clone, Debug)]
pub struct Written {
    pub rule: Rule,
    /// The text, with LF at the ends of lines. Several files have it.
    pub text: Rc<str>,
}

/// A part of a generated text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Passage {
    pub text: Rc<str>,
    pub source: Source,
}

/// The source of a part of a generated text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// Nothing in the store.
    Fixed,
    /// The text of a rule, by its id.
    Text(String),
    /// The members of a rule in the manifest, as Cursor's front matter.
    Front(String),
    /// The heading of `AGENTS.md`.
    Header,
    /// The heading of `AGENTS.md`, the text below it, and the summaries of rules.
    List,
}

/// The beginning of the first line of a generated file, for the store of the home and for that of a repository.
const MARK_START: &[u8] = b"# Generated from ";

/// Says whether a line tells that a file is generated.
fn is_mark(line: &[u8]) -> bool {
    [MARK, REPOSITORY_MARK].iter().any(|mark| line.trim_end() == mark.as_bytes())
}

/// Returns the whole text of pieces.
pub fn whole(pieces: &[Passage]) -> String {
    pieces.iter().map(|piece| &*piece.text).collect()
}

/// Returns the lines that begin a generated text. Those of a repository have no time: they are committed.
pub fn head(now: Time, scope: Scope) -> String {
    match scope {
        Scope::Home => format!("{MARK}\n{RUN}{COMMAND}\n{SYNCED}{}\n", now.to_rfc3339()),
        Scope::Repository => format!("{REPOSITORY_MARK}\n{RUN}{COMMAND}{REPOSITORY}\n"),
    }
}

fn plain(text: impl Into<Rc<str>>) -> Passage {
    Passage { text: text.into(), source: Source::Fixed }
}

fn of_rule(written: &Written) -> Passage {
    Passage { text: Rc::clone(&written.text), source: Source::Text(written.rule.id.clone()) }
}

/// Returns all rules one after the other.
pub fn joined(head: &str, rules: &[&Written]) -> Vec<Passage> {
    let mut pieces = vec![plain(format!("{head}\n\n"))];
    for (at, written) in rules.iter().enumerate() {
        pieces.push(of_rule(written));
        pieces.push(plain(if at + 1 == rules.len() { "\n" } else { "\n\n" }));
    }
    if rules.is_empty() {
        pieces = vec![plain(format!("{head}\n"))];
    }
    pieces
}

/// Returns all rules one after the other, each below a heading with its id. The header stands above them, if it is given.
pub fn headed(head: &str, header: Option<&str>, rules: &[&Written]) -> Vec<Passage> {
    let mut pieces = vec![plain(format!("{head}\n"))];
    pieces.extend(header.map(|header| Passage { text: format!("{header}\n\n").into(), source: Source::Header }));
    for written in rules {
        pieces.push(plain(format!("\n## Rule: {}\n\n", written.rule.id)));
        pieces.push(of_rule(written));
        pieces.push(plain("\n"));
    }
    pieces
}

/// Returns one rule below its front matter, as Cursor reads it.
pub fn cursor(head: &str, written: &Written) -> Vec<Passage> {
    let front = front_matter(&written.rule.cursor, &["description", "alwaysApply", "globs"]);
    let front = Passage { text: front.into(), source: Source::Front(written.rule.id.clone()) };
    vec![front, plain(format!("\n\n{head}\n")), of_rule(written)]
}

/// Returns one rule below front matter that is given.
pub fn below(front: &str, head: &str, written: &Written) -> Vec<Passage> {
    vec![plain(format!("{front}{head}\n")), of_rule(written)]
}

/// Returns front matter with those of the keys that are there.
fn front_matter(values: &Value, keys: &[&str]) -> String {
    let mut lines = vec!["---".to_owned()];
    for key in keys {
        match &values[*key] {
            Value::Null => {}
            Value::String(text) => lines.push(format!("{key}: {}", scalar(text, *key == "globs"))),
            Value::Array(items) => {
                let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                lines.push(format!("{key}: {}", scalar(&items.join(","), true)));
            }
            other => lines.push(format!("{key}: {other}")),
        }
    }
    lines.push("---".to_owned());
    lines.join("\n")
}

/// Returns a string as YAML: bare if that is the same string. `is_bare` is for globs, which Cursor writes bare though some of
/// them are no YAML then.
pub fn scalar(text: &str, is_bare: bool) -> String {
    let has_control = text.chars().any(char::is_control);
    let is_plain = !text.contains([' ', ':', '"'])
        && !text.starts_with(['#', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '%', '@', '`', ',', '?', '-']);
    if !has_control && (is_bare || is_plain) {
        return text.to_owned();
    }
    // A string of JSON is one of YAML too.
    Value::String(text.to_owned()).to_string()
}

/// Returns the list of rules with their summaries.
pub fn listed(head: &str, header: &str, preamble: &str, rules: &[&Written]) -> Vec<Passage> {
    let mut lines = vec![header.to_owned(), String::new()];
    if !preamble.is_empty() {
        lines.extend([preamble.to_owned(), String::new()]);
    }
    let numbered = rules.iter().enumerate();
    lines.extend(numbered.map(|(at, rule)| format!("{}. **{}** -- {}", at + 1, rule.rule.id, summary(rule))));
    lines.push(String::new());
    vec![plain(format!("{head}\n")), Passage { text: lines.join("\n").into(), source: Source::List }]
}

/// Returns what a rule is about: its description, else its first line that is no heading, else its id.
fn summary(written: &Written) -> String {
    let description = written.rule.cursor["description"].as_str().unwrap_or_default();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !description.trim().is_empty() {
        return if description.contains(['\n', '\r']) { words(description) } else { description.to_owned() };
    }
    let mut lines = written.text.lines().map(str::trim);
    match lines.find(|line| !line.is_empty() && !line.starts_with('#')) {
        Some(line) => line.chars().take(MAX_SUMMARY_CHARS).collect(),
        None => written.rule.id.clone(),
    }
}

/// Says whether a text is generated. Front matter does not count.
pub fn is_generated(bytes: &[u8]) -> bool {
    let text = without_front(bytes).trim_start();
    [MARK, REPOSITORY_MARK]
        .iter()
        .find_map(|mark| text.strip_prefix(mark.as_bytes()))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"\n") || rest.starts_with(b"\r"))
}

/// Says whether the second line of a generated text names the earlier tool.
pub fn is_of_earlier_tool(bytes: &[u8]) -> bool {
    let second = without_front(bytes).trim_start().lines().nth(1).unwrap_or_default();
    is_generated(bytes) && second.strip_prefix(RUN.as_bytes()).is_some_and(is_earlier_command)
}

/// Says whether a generated text is of the other scope: the second line of a repository's says so.
pub fn is_of_other_scope(bytes: &[u8], scope: Scope) -> bool {
    let is_repository = || {
        let second = without_front(bytes).trim_start().lines().nth(1).filter(|_| is_generated(bytes))?;
        let rest = second.trim_end().strip_prefix(RUN.as_bytes())?.strip_prefix(COMMAND.as_bytes())?;
        Some(rest == REPOSITORY.as_bytes())
    };
    is_repository().is_some_and(|is| is != (scope == Scope::Repository))
}

/// Says whether words are the command of the earlier tool.
fn is_earlier_command(words: &[u8]) -> bool {
    let is_named = ["sync_agent_rules", "sync-ai-rules"].iter().any(|name| words.contains_str(name));
    is_named && words.trim_end().ends_with(b" sync")
}

/// Says whether a line is one of the two behind [`MARK`] that say which program wrote a text, and when. With other words in
/// it, it is the user's.
fn is_stamp(line: &[u8]) -> bool {
    let line = line.trim_end();
    if let Some(words) = line.strip_prefix(RUN.as_bytes()) {
        let own = words.strip_prefix(COMMAND.as_bytes());
        return own.is_some_and(|rest| rest.is_empty() || rest == REPOSITORY.as_bytes()) || is_earlier_command(words);
    }
    // With a fraction of a second, or another zone.
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"-+:.TZ".contains(byte);
    line.strip_prefix(SYNCED.as_bytes()).is_some_and(|time| time.len() >= 10 && time.iter().all(is_part))
}

fn without_front(bytes: &[u8]) -> &[u8] {
    let text = bytes.trim_start();
    let Some(rest) = text.strip_prefix(b"---\n").or_else(|| text.strip_prefix(b"---\r\n")) else { return bytes };
    let mut at = 0;
    for line in rest.lines_with_terminator() {
        at += line.len();
        if line.trim_end() == b"---" {
            return &rest[at..];
        }
    }
    bytes
}

/// Returns a text without the two lines behind [`MARK`] that say which program wrote it, and when. The first line of a
/// repository's files is [`MARK`] in it, so that one which an earlier version wrote is the same. Ends of lines that an editor has
/// changed to CRLF are LF, as they were written.
pub fn stable(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    parts(bytes).flatten().for_each(|part| kept.extend_from_slice(part));
    kept
}

/// Says whether two texts are the same as [`stable`] has them.
pub fn is_same(one: &[u8], other: &[u8]) -> bool {
    parts(one).eq(parts(other))
}

/// Returns the SHA-256 of a text as [`stable`] has it, in hex.
pub fn stable_digest(bytes: &[u8]) -> String {
    let mut hasher = Sha256::new();
    parts(bytes).flatten().for_each(|part| hasher.update(part));
    hex(&hasher.finalize())
}

/// Returns the words and the end of each line, as [`stable`] has them.
fn parts(bytes: &[u8]) -> impl Iterator<Item = [&[u8]; 2]> {
    stable_lines(bytes).map(|line| {
        let line = &bytes[line];
        let (words, end): (&[u8], &[u8]) = match line.strip_suffix(b"\n") {
            Some(words) => (words.strip_suffix(b"\r").unwrap_or(words), b"\n"),
            None => (line, b""),
        };
        [if words == REPOSITORY_MARK.as_bytes() { MARK.as_bytes() } else { words }, end]
    })
}

/// Returns where the beginning of a text ends that has this digest, as [`stable`] has it; `None` if there is none.
pub fn end_of(bytes: &[u8], digest: &str) -> Option<usize> {
    let mut hasher = Sha256::new();
    stable_lines(bytes).map(|line| line.end).zip(parts(bytes)).find_map(|(end, line)| {
        line.iter().for_each(|part| hasher.update(part));
        (hex(&hasher.clone().finalize()) == digest).then_some(end)
    })
}

/// Returns where the lines of a text are, but for those two.
pub fn stable_lines(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let (mut left, mut end) = (0, 0);
    bytes.lines_with_terminator().filter_map(move |line| {
        let start = end;
        end += line.len();
        if line.starts_with(MARK_START) && is_mark(line) {
            left = 2;
        } else if left > 0 && is_stamp(line) {
            left -= 1;
            return None;
        } else {
            left = 0;
        }
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(id: &str, cursor: Value, text: &str) -> Written {
        let rule =
            Rule { id: id.into(), file: format!("{id}.md"), imported_from: "manual".into(), cursor, exclude: vec![] };
        Written { rule, text: text.into() }
    }

    const HEAD: &str = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Run: git shiftlog rules sync\n# Last synced: 2026-01-02T03:04:07Z\n";

    #[test]
    fn files_are_as_the_format_says_byte_for_byte() {
        let head = head(Time { seconds: 1_767_323_047, offset: 0 }, Scope::Home);
        assert_eq!(head, HEAD);
        let (one, two) =
            (rule("a", json!({}), "# A\n\nfirst\n"), rule("b", json!({ "description": "says: b" }), "B\n"));
        let rules = [&one, &two];
        assert_eq!(whole(&joined(&head, &rules)), [HEAD, "", "# A\n\nfirst\n", "", "B\n", ""].join("\n"));
        assert_eq!(whole(&joined(&head, &[])), [HEAD, ""].join("\n"));
        let expected = [HEAD, "", "## Rule: a\n", "# A\n\nfirst\n", "", "## Rule: b\n", "B\n", ""].join("\n");
        assert_eq!(whole(&headed(&head, None, &rules)), expected);
        assert_eq!(whole(&headed(&head, None, &[])), [HEAD, ""].join("\n"));
        let expected = [HEAD, "# AGENTS Rules", "", "1. **a** -- first", "2. **b** -- says: b", ""].join("\n");
        assert_eq!(whole(&listed(&head, "# AGENTS Rules", "", &rules)), expected);
        let expected = [HEAD, "# H", "", "words", "", "1. **a** -- first", ""].join("\n");
        assert_eq!(whole(&listed(&head, "# H", "words", &[&one])), expected);
        assert_eq!(whole(&cursor(&head, &one)), format!("---\n---\n\n{HEAD}\n# A\n\nfirst\n"));
        let full = json!({ "globs": "*.rs, src/**", "alwaysApply": false, "description": "a \"b\"\nc" });
        assert_eq!(
            whole(&cursor(&head, &rule("c", full, "C\n"))),
            format!(
                "---\ndescription: \"a \\\"b\\\"\\nc\"\nalwaysApply: false\nglobs: *.rs, src/**\n---\n\n{HEAD}\nC\n"
            )
        );
        let bare = rule("d", json!({ "description": "bare" }), "");
        assert!(whole(&cursor(&head, &bare)).starts_with("---\ndescription: bare\n---\n\n#"));
        assert!(
            whole(&listed(&head, "h", "", &[&rule("d", json!({}), "# only a heading\n")])).ends_with("1. **d** -- d\n")
        );
    }

    #[test]
    fn a_summary_is_the_description_or_120_characters_of_the_first_line_or_the_id() {
        let long = "ü".repeat(130);
        assert_eq!(summary(&rule("a", json!({}), &format!("# A\n\n  {long}  \nmore\n"))), "ü".repeat(120));
        assert_eq!(summary(&rule("a", json!({ "description": long }), "x\n")), long, "a description is not cut");
        assert_eq!(summary(&rule("a", json!({ "description": "" }), "\n# A\n")), "a");
    }

    #[test]
    fn only_the_first_line_tells_that_a_file_is_generated() {
        let written = rule("a", json!({ "alwaysApply": true }), "A\n");
        let text = whole(&cursor(HEAD, &written));
        assert!(is_generated(text.as_bytes()));
        assert!(is_generated(format!("\n \n{HEAD}").as_bytes()));
        assert!(!is_generated(format!("mine\n{HEAD}").as_bytes()));
        assert!(!is_generated(b"# Generated from ~/.ai-agent/ -- do not edit directly, please\n"));
        let theirs = text.replace("git shiftlog rules sync", "python3 sync_agent_rules.py sync");
        assert!(is_of_earlier_tool(theirs.as_bytes()) && !is_of_earlier_tool(text.as_bytes()));
        assert_eq!(stable(theirs.as_bytes()), stable(text.replace("03:04:07", "11:11:11").as_bytes()));
        assert_ne!(stable(theirs.as_bytes()), stable(text.replace("A\n", "B\n").as_bytes()));
        for (from, to) in [
            ("# Run: git shiftlog rules sync", "# Run: my note"),
            ("rules sync", "rules sync, says my note"),
            ("# Last synced: 2026", "# Last synced: my note"),
            ("Z\n", "Z my note\n"),
        ] {
            let edited = text.replace(from, to);
            assert!(stable(edited.as_bytes()).contains_str("my note"), "{edited}");
            assert!(!is_of_earlier_tool(edited.as_bytes()));
        }
    }
}
