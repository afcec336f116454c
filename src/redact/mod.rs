//! Redaction: secrets go before anything is stored.
//!
//! Read [`Redactor::redact`]. What it makes of a line is a function of that line (and, for a key in a plain-text
//! transcript, of the lines of that key) and of the settings: deterministic, and a longer transcript redacts to the same
//! beginning. Line ends stay where they are, and JSON stays JSON. Nothing here knows Git, agents or files.

mod example;
mod index;
mod rules;
mod shape;
mod value;
mod view;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use bstr::ByteSlice as _;
use regex::bytes::{Regex, RegexBuilder};
use sha2::{Digest as _, Sha256};

pub use self::example::expand;
use self::index::Index;
pub use self::rules::{RULES, Rule};
use self::shape::is_key_line;
use self::view::View;
use crate::error::{Error, Kind, Result};

/// Lines longer than this are looked at in pieces, so that memory stays bounded.
const PIECE_BYTES: usize = 1 << 20;
/// By how much two pieces overlap; what is longer than that and cut by a piece's end may be found in two parts.
const OVERLAP_BYTES: usize = 64 << 10;
/// How often escapes within escapes are undone.
const MAX_DEPTH: usize = 5;
/// A key in plain text that has not ended after so many bytes is none.
const MAX_BLOCK_BYTES: usize = 64 << 10;

/// What to redact beyond the rules, and what to leave.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Nothing is redacted at all.
    pub is_off: bool,
    /// Nothing is redacted but what the additional patterns match.
    pub has_patterns_alone: bool,
    /// Additional patterns, with the name that stands in the placeholder.
    pub patterns: Vec<(String, String)>,
    /// Patterns of values that are no secrets.
    pub allowed: Vec<String>,
    /// SHA-256, in hex, of values that are no secrets.
    pub allowed_sha256: Vec<String>,
    /// The home directory, to be written as `~`; `None` leaves it.
    pub home: Option<String>,
    /// Whether e-mail addresses go.
    pub has_email: bool,
    /// Whether telephone numbers go.
    pub has_phone: bool,
}

/// A secret in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: String,
    /// Where it is.
    pub span: Range<usize>,
}

/// Finds secrets and puts placeholders in their place.
pub struct Redactor {
    is_off: bool,
    index: Index,
    patterns: Vec<(String, Regex)>,
    allowed: Vec<Regex>,
    allowed_sha256: HashSet<String>,
    home: Option<String>,
}

/// What was found in one line.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    /// Whether a key begins that the following lines belong to.
    is_open: bool,
}

impl Redactor {
    /// Makes a redactor. Costs about thirty microseconds, and what compiling the additional patterns takes.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`] if a pattern is no regular expression. Then nothing may be stored.
    pub fn new(settings: &Settings) -> Result<Self> {
        let compile = |name: &str, pattern: &str| {
            RegexBuilder::new(pattern).unicode(false).build().map_err(|error| {
                let reason =
                    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                Error::new(Kind::Usage, format!("bad pattern for '{name}'")).because(reason)
            })
        };
        let mut patterns = Vec::new();
        for (name, pattern) in &settings.patterns {
            patterns.push((name.clone(), compile(name, pattern)?));
        }
        if settings.has_email {
            let email = r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{0,252}\.[A-Za-z]{2,24}";
            patterns.push(("email".to_owned(), compile("email", email)?));
        }
        if settings.has_phone {
            let phone =
                r"(?:\+|\b00)[1-9][0-9]{0,2}[ .\-]?(?:\(0?[0-9]{1,4}\)[ .\-]?)?(?:[0-9]{2,4}[ .\-]?){2,4}[0-9]{2,4}\b";
            patterns.push(("phone".to_owned(), compile("phone", phone)?));
        }
        let allowed = settings.allowed.iter().map(|pattern| compile("allow", pattern)).collect::<Result<_>>()?;
        Ok(Redactor {
            is_off: settings.is_off,
            index: Index::new(if settings.has_patterns_alone { &[] } else { RULES }),
            patterns,
            allowed,
            allowed_sha256: settings.allowed_sha256.iter().map(|hex| hex.to_ascii_lowercase()).collect(),
            home: settings.home.clone().filter(|home| home.len() > 1),
        })
    }

    /// Says whether redaction is switched off.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Redacts whole lines and returns how many bytes of them it has dealt with.
    ///
    /// That is all of them, unless they end within a key in plain text: then it ends before that key, and the rest
    /// waits for more. Linear in the length of the text. A text in which no word of a rule occurs is looked through
    /// at more than a gigabyte a second and handed back as it is.
    pub fn redact<'t>(&self, lines: &'t [u8]) -> (Cow<'t, [u8]>, usize) {
        let mut redacted = Vec::new();
        let mut copied = 0;
        let mut dealt = lines.len();
        self.each_finding(lines, |line, findings, is_whole| {
            if is_whole {
                redacted.extend_from_slice(&lines[copied..line.start]);
                put_placeholders(&lines[line.clone()], findings, &mut redacted);
                copied = line.end;
            } else {
                dealt = line.start;
            }
        });
        if copied == 0 {
            return (Cow::Borrowed(&lines[..dealt]), dealt);
        }
        redacted.extend_from_slice(&lines[copied..dealt]);
        (Cow::Owned(redacted), dealt)
    }

    /// Returns what is found in a text, each with the number of its line, from 1 on.
    pub fn scan(&self, text: &[u8]) -> Vec<(usize, Finding)> {
        let mut found = Vec::new();
        let (mut number, mut counted) = (1, 0);
        self.each_finding(text, |line, findings, _| {
            number += text[counted..line.start].iter().filter(|byte| **byte == b'\n').count();
            counted = line.start;
            found.extend(findings.iter().map(|finding| {
                let span = line.start + finding.span.start..line.start + finding.span.end;
                (number, Finding { rule: finding.rule.clone(), span })
            }));
        });
        found
    }

    /// Visits the lines in which something is found, in order; the last with `false` if a key begins there that does
    /// not end in this text.
    fn each_finding(&self, text: &[u8], mut visit: impl FnMut(Range<usize>, &[Finding], bool)) {
        if self.is_off {
            return;
        }
        let mut at = 0;
        while let Some(line) = self.next_suspect(text, at) {
            let found = self.line(&text[line.clone()]);
            at = line.end;
            // Lines of JSON hold whole strings; only in plain text can a key go on in the next line.
            let block = found.is_open.then(|| Block::after(text, line.end));
            if let Some(Block { end, is_over: false }) = block
                && end - line.start < MAX_BLOCK_BYTES
            {
                visit(line, &found.findings, false);
                return;
            }
            if !found.findings.is_empty() {
                visit(line, &found.findings, true);
            }
            while block.as_ref().is_some_and(|block| at < block.end) {
                let line = at..line_end(text, at);
                let content = text[line.clone()].trim_ascii_end().len();
                at = line.end;
                if content > 0 {
                    let whole = Finding { rule: "private-key".to_owned(), span: 0..content };
                    visit(line, &[whole], true);
                }
            }
        }
    }

    /// Returns the next line, with its end, in which there can be a secret.
    fn next_suspect(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        let mut suspect = None;
        if !self.patterns.is_empty() || self.home.is_some() {
            suspect = (from < text.len()).then_some(from);
        } else {
            self.index.each(text, from, |at, word| {
                let end = at + word.text.len();
                let is_suspect = RULES.get(word.rule).is_none_or(|rule| rule.shape.is_plausible(text, end));
                is_suspect.then(|| {
                    suspect = Some(at);
                    text.len()
                })
            });
        }
        let at = suspect?;
        let start = text[from..at].iter().rposition(|byte| *byte == b'\n').map_or(from, |before| from + before + 1);
        Some(start..line_end(text, at))
    }

    /// Finds what is in one line.
    fn line(&self, line: &[u8]) -> Found {
        let mut found = Found::default();
        let mut start = 0;
        loop {
            let end = line.len().min(start + PIECE_BYTES);
            self.piece(&line[start..end], start, end == line.len(), &mut found);
            if end == line.len() {
                break;
            }
            // Not within an escape.
            start = end - OVERLAP_BYTES;
            while start + 1 < end && line[start - 1] == b'\\' {
                start += 1;
            }
        }
        self.settle(line, &mut found.findings);
        found.is_open &= !is_json(line);
        found
    }

    fn piece(&self, piece: &[u8], offset: usize, is_last: bool, found: &mut Found) {
        let mut chain: Vec<View> = Vec::new();
        self.look(piece, &[], offset, is_last, found);
        for _ in 0..MAX_DEPTH {
            let source = chain.last().map_or(piece, |view| &view.text);
            // Backslashes that are no escapes lead no deeper.
            let Some(view) = View::unescaped(source).filter(|view| view.text.len() < source.len()) else { break };
            chain.push(view);
            let text = &chain[chain.len() - 1].text;
            self.look(text, &chain, offset, false, found);
        }
        let innermost = chain.last().map_or(piece, |view| &view.text);
        if let Some(view) = View::percent_decoded(innermost) {
            chain.push(view);
            let text = &chain[chain.len() - 1].text;
            self.look(text, &chain, offset, false, found);
        }
        if let Some(view) = View::uncoloured(chain.last().map_or(piece, |view| &view.text)) {
            chain.push(view);
            let text = &chain[chain.len() - 1].text;
            self.look(text, &chain, offset, false, found);
        }
    }

    /// Looks at one view; `chain` leads back to the piece of the line at `offset`.
    fn look(&self, text: &[u8], chain: &[View], offset: usize, is_last: bool, found: &mut Found) {
        let source = |span: Range<usize>| {
            let span = chain.iter().rev().fold(span, |span, view| view.source(span));
            span.start + offset..span.end + offset
        };
        // Once a private passage has no end, no later one has.
        let mut has_private_end = true;
        self.index.each(text, 0, |at, word| {
            let rule = RULES.get(word.rule)?;
            let end = at + word.text.len();
            let is_spelled = !rule.is_exact() || text[at..].starts_with(word.text.as_bytes());
            if !is_spelled || (rule.name == "private" && !has_private_end) || !rule.shape.is_plausible(text, end) {
                return None;
            }
            let Some(hit) = rule.shape.find(text, at..end) else {
                has_private_end &= rule.name != "private";
                return None;
            };
            if self.is_allowed(&text[hit.span.clone()]) {
                return None;
            }
            found.is_open |= hit.is_open && is_last && chain.is_empty();
            // Within a value there can be a token whose kind is known.
            let next = if rule.is_exact() { hit.span.end } else { at + 1 };
            found.findings.push(Finding { rule: rule.name.to_owned(), span: source(hit.span) });
            Some(next)
        });
        for (name, pattern) in &self.patterns {
            for hit in pattern.find_iter(text).filter(|hit| !hit.is_empty() && !self.is_allowed(hit.as_bytes())) {
                found.findings.push(Finding { rule: name.clone(), span: source(hit.range()) });
            }
        }
        if let Some(home) = &self.home {
            for at in text.find_iter(home.as_bytes()) {
                let end = at + home.len();
                if !text.get(end).is_some_and(|byte| shape::is_in(*byte, shape::URL64)) {
                    found.findings.push(Finding { rule: "home".to_owned(), span: source(at..end) });
                }
            }
        }
    }

    fn is_allowed(&self, value: &[u8]) -> bool {
        if self.allowed.iter().any(|pattern| pattern.is_match(value)) {
            return true;
        }
        !self.allowed_sha256.is_empty() && {
            let digest = Sha256::digest(value);
            let hex = digest.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
            self.allowed_sha256.contains(&hex)
        }
    }

    /// Makes findings disjoint and in order, and keeps JSON what it is: nothing outside its strings, nothing across
    /// their ends.
    fn settle(&self, line: &[u8], findings: &mut Vec<Finding>) {
        let rank = |finding: &Finding| RULES.iter().position(|rule| rule.name == finding.rule).unwrap_or(RULES.len());
        findings.sort_by_key(|finding| (finding.span.start, rank(finding)));
        let mut settled: Vec<Finding> = Vec::new();
        for finding in findings.drain(..).filter(|finding| !finding.span.is_empty()) {
            match settled.last_mut() {
                Some(last) if finding.span.start < last.span.end => {
                    last.span.end = last.span.end.max(finding.span.end);
                }
                _ => settled.push(finding),
            }
        }
        let content = line.len() - usize::from(line.ends_with(b"\n"));
        settled.iter_mut().for_each(|finding| finding.span.end = finding.span.end.min(content));
        if !settled.is_empty() && is_json(line) {
            let strings = Strings::of(line);
            settled.retain_mut(|finding| strings.clip(&mut finding.span));
            let mut redacted = Vec::new();
            put_placeholders(line, &settled, &mut redacted);
            if !is_json(&redacted) {
                // A span that ends within an escape; then the whole string goes.
                settled.iter_mut().for_each(|finding| strings.widen(&mut finding.span));
                settled.dedup_by(|later, earlier| later.span == earlier.span);
            }
        }
        *findings = settled;
    }
}

/// The lines behind a key's beginning that belong to it.
struct Block {
    end: usize,
    /// Whether it has ended, or a line follows that is no part of it.
    is_over: bool,
}

impl Block {
    fn after(text: &[u8], from: usize) -> Block {
        let mut end = from;
        while end < text.len() && end - from < MAX_BLOCK_BYTES {
            let line = end..line_end(text, end);
            let content = &text[line.clone()];
            // A line of JSON holds whole strings: it is no part of a key, also if it speaks of one's end.
            if is_json(content) {
                return Block { end, is_over: true };
            }
            if content.windows(9).any(|window| window == b"-----END ") {
                return Block { end: line.end, is_over: true };
            }
            if !is_key_line(content) {
                return Block { end, is_over: true };
            }
            end = line.end;
        }
        Block { end, is_over: false }
    }
}

/// The strings of a line of JSON: where they begin and end.
struct Strings {
    spans: Vec<Range<usize>>,
}

impl Strings {
    fn of(line: &[u8]) -> Strings {
        let mut spans = Vec::new();
        let mut at = 0;
        while let Some(quote) = line[at..].iter().position(|byte| *byte == b'"') {
            let start = at + quote + 1;
            let mut end = start;
            while end < line.len() && line[end] != b'"' {
                end += if line[end] == b'\\' { 2 } else { 1 };
            }
            let end = end.min(line.len());
            spans.push(start..end);
            at = (end + 1).min(line.len());
        }
        Strings { spans }
    }

    /// Cuts a span down to the first string it touches; `false` if it touches none.
    fn clip(&self, span: &mut Range<usize>) -> bool {
        let next = self.spans.partition_point(|string| string.end <= span.start);
        let Some(string) = self.spans.get(next) else { return false };
        *span = span.start.max(string.start)..span.end.min(string.end);
        span.start < span.end
    }

    /// Widens a span to the string it is in.
    fn widen(&self, span: &mut Range<usize>) {
        let next = self.spans.partition_point(|string| string.end <= span.start);
        *span = self.spans.get(next).cloned().unwrap_or(span.clone());
    }
}

fn is_json(line: &[u8]) -> bool {
    matches!(line.trim_ascii().first(), Some(b'{' | b'[' | b'"'))
        && serde_json::from_slice::<serde::de::IgnoredAny>(line.trim_ascii()).is_ok()
}

fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| at + length + 1)
}

fn put_placeholders(line: &[u8], findings: &[Finding], redacted: &mut Vec<u8>) {
    let mut copied = 0;
    for finding in findings {
        redacted.extend_from_slice(&line[copied..finding.span.start]);
        if finding.rule == "home" {
            redacted.push(b'~');
        } else {
            redacted.extend_from_slice(format!("[REDACTED:{}]", finding.rule).as_bytes());
        }
        copied = finding.span.end;
    }
    redacted.extend_from_slice(&line[copied..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(&Settings::default()).expect("no patterns")
    }

    fn redacted(text: &str) -> String {
        String::from_utf8(redactor().redact(text.as_bytes()).0.into_owned()).expect("text")
    }

    #[test]
    fn each_rule_finds_its_example_and_not_its_look_alike() {
        let redactor = redactor();
        let mut wrong = Vec::new();
        for rule in RULES {
            assert!(rule.words.iter().all(|word| word.len() >= 3), "{}: a word is too short for the index", rule.name);
            let (example, look_alike) = (expand(rule.example), expand(rule.look_alike));
            let found = redactor.scan(example.as_bytes());
            if !found.iter().any(|(_, finding)| finding.rule == rule.name) {
                wrong.push(format!("{}: {example:?} gave {found:?}", rule.name));
            }
            let found = redactor.scan(look_alike.as_bytes());
            if !found.is_empty() {
                wrong.push(format!("{}: {look_alike:?} gave {found:?}", rule.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn escapes_hide_nothing() {
        let token = expand("ghp_{a36}");
        let value = expand("{a6}/{a20}+{a12}");
        let cases = [
            (format!(r#"{{"a":"x\n{token}\n"}}"#), r#"{"a":"x\n[REDACTED:github-token]\n"}"#),
            (format!(r#"{{"a":"{{\"b\":\"{token}\"}}"}}"#), r#"{"a":"{\"b\":\"[REDACTED:github-token]\"}"}"#),
            (format!(r#"{{"a":"\u0067hp_{}"}}"#, &token[4..]), r#"{"a":"[REDACTED:github-token]"}"#),
            (format!(r#"{{"apiKey":"{}"}}"#, value.replace('/', "\\/")), r#"{"apiKey":"[REDACTED:secret]"}"#),
            (
                format!("GET /?api_key={} HTTP/1.1", value.replace('+', "%2B").replace('/', "%2F")),
                "GET /?api_key=[REDACTED:secret] HTTP/1.1",
            ),
            (
                format!("url=postgres%3A%2F%2Fapp%3A{}%40db%2Fx", expand("{a14}")),
                "url=postgres%3A%2F%2Fapp%3A[REDACTED:connection-string]%40db%2Fx",
            ),
            (
                expand(r#"{{"key":"-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----\n"}"#),
                r#"{"key":"[REDACTED:private-key]\n"}"#,
            ),
            (
                r#"{"text":"a <private>my \"name\"</private> b","n":1}"#.to_owned(),
                r#"{"text":"a [REDACTED:private] b","n":1}"#,
            ),
            (r#"{"a":"<private>","b":"</private>"}"#.to_owned(), r#"{"a":"[REDACTED:private]","b":"</private>"}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(redacted(&text), expected, "{text}");
        }
    }

    #[test]
    fn json_within_json_hides_nothing_four_levels_deep() {
        let nested = |secret: &str| {
            (0..5).fold(format!("x\n{secret}\n"), |inner, _| serde_json::json!({ "a": inner }).to_string())
        };
        assert_eq!(redacted(&nested(&expand("ghp_{a36}"))), nested("[REDACTED:github-token]"));
    }

    #[test]
    fn colours_hide_nothing() {
        let token = expand("ghp_{a36}");
        let value = expand("{a40}");
        let azure = expand("{a3}8Q~{_34}");
        let jwt = expand("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{a24}.{_43}");
        let gone = "[REDACTED:github-token]";
        for (before, behind) in [
            ("\x1b[31m", "\x1b[0m"),
            ("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"),
            ("\x1b[38;2;10;200;30m", "\x1b(B\x1b[m"),
            ("\x1b]0;title\x07", "\x1b]0;\x1b\\"),
            ("\u{9b}1m", "\u{9b}m"),
            (r"\033[31m", r"\033[0m"),
        ] {
            let text = |secret: &str| format!("x {before}{secret}{behind} y");
            assert_eq!(redacted(&text(&token)), text(gone));
            let line = |secret: &str| serde_json::json!({ "content": text(secret) }).to_string();
            assert_eq!(redacted(&line(&token)), line(gone));
            let inner = |secret: &str| serde_json::json!({ "a": [line(secret)] }).to_string();
            assert_eq!(redacted(&inner(&token)), inner(gone));
            assert_eq!(redacted(&line(&azure)), line("[REDACTED:azure-client-secret]"));
            assert_eq!(redacted(&line(&jwt)), line("[REDACTED:jwt]"));
            if before.starts_with("\x1b[") {
                let setting = |secret: &str| line(&format!("API_KEY{behind}={before}{secret}"));
                assert_eq!(redacted(&setting(&value)), setting("[REDACTED:secret]"));
            }
        }
        let ascii = format!(r#"{{"content":"\u009b31m{token}\u009b0m"}}"#);
        assert_eq!(redacted(&ascii), format!(r#"{{"content":"\u009b31m{gone}\u009b0m"}}"#));
        let glued = format!("[31m{token}");
        assert_eq!(redacted(&glued), glued, "a bracket alone is none");
    }

    #[test]
    fn a_key_in_plain_text_waits_until_its_end_is_seen_and_goes_line_by_line() {
        let key = expand(
            "before\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{b64}\n  12\u{2192}{b64}\n-----END RSA PRIVATE KEY-----\nafter\n",
        );
        let gone = "[REDACTED:private-key]\n";
        assert_eq!(redacted(&key), format!("before\n{gone}{gone}\n{gone}{gone}{gone}after\n"));
        let cut = key.find("-----END").expect("it ends");
        let redactor = redactor();
        let (text, dealt) = redactor.redact(&key.as_bytes()[..cut]);
        assert_eq!((&*text, dealt), (&b"before\n"[..], 7), "the key waits");
        let mention = "use -----BEGIN PRIVATE KEY-----\nas the first line. Then go on.\n";
        assert_eq!(redacted(mention), "use [REDACTED:private-key]\nas the first line. Then go on.\n");
    }

    #[test]
    fn a_line_of_json_is_no_part_of_a_key() {
        // One that held a certificate was taken for the key's last line, and replaced as a whole.
        let certificate = r#"{"text":"\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"}"#;
        let text = expand(&format!("LS0tLS1CRUdJTiBQUklWQVRF{{b300}}\n{}\n", certificate.replace('{', "{{")));
        assert_eq!(redacted(&text), format!("[REDACTED:private-key]\n{certificate}\n"));
    }

    #[test]
    fn settings_add_patterns_and_allow_values() {
        let token = expand("ghp_{a36}");
        let digest = Sha256::digest(&token).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        let text = format!("{token} T-4711 a.b@example.com +49 30 901820 /home/dev/x /home/developer");
        let with = |settings: Settings| {
            let redactor = Redactor::new(&settings).expect("good patterns");
            String::from_utf8(redactor.redact(text.as_bytes()).0.into_owned()).expect("text")
        };
        assert_eq!(with(Settings { is_off: true, ..Settings::default() }), text);
        assert_eq!(with(Settings { allowed_sha256: vec![digest], ..Settings::default() }), text);
        assert_eq!(with(Settings { allowed: vec!["^ghp_".into()], ..Settings::default() }), text);
        let all = Settings {
            patterns: vec![("ticket".into(), r"T-\d+".into())],
            home: Some("/home/dev".into()),
            has_email: true,
            has_phone: true,
            ..Settings::default()
        };
        assert_eq!(
            with(all),
            "[REDACTED:github-token] [REDACTED:ticket] [REDACTED:email] [REDACTED:phone] ~/x /home/developer"
        );
        let bad = Settings { patterns: vec![("x".into(), "(".into())], ..Settings::default() };
        assert!(Redactor::new(&bad).is_err(), "what was to be kept out must not get in");
    }

    /// Lines with secrets in all sorts of clothes, and lines without.
    fn lines() -> impl Strategy<Value = String> {
        let secret = prop_oneof![
            (0..RULES.len()).prop_map(|rule| expand(RULES[rule].example)),
            (0..RULES.len()).prop_map(|rule| expand(RULES[rule].look_alike)),
            "[a-z_]{0,6}(token|secret|password|key)[a-zA-Z0-9_ =:\"'\\\\-]{0,40}",
            "[ -~]{0,40}",
            any::<String>(),
        ];
        let clothes = prop_oneof![Just(0), Just(1), Just(2), Just(3), Just(4), Just(5)];
        (secret, clothes, "[ -~]{0,12}").prop_map(|(secret, clothes, around)| match clothes {
            0 => format!("{around} {}", secret.replace(['\n', '\r'], " ")),
            1 => serde_json::json!({ "type": "user", "text": format!("{around}\n{secret}\n") }).to_string(),
            2 => {
                let inner = serde_json::json!({ "command": format!("{around} {secret}") }).to_string();
                serde_json::json!([{ "input": inner, "n": 12_345_678_901_u64 }]).to_string()
            }
            3 => format!("{around}\x1b[31m{}\x1b[0m{around}", secret.replace(['\n', '\r'], " ")),
            4 => serde_json::json!({ "text": format!("{around}\x1b[1m{secret}\x1b[m{around}\x1b[K") }).to_string(),
            _ => serde_json::json!({ secret: around, "password": 12_345_678 }).to_string(),
        })
    }

    proptest! {
        #[test]
        fn redaction_keeps_lines_and_json_and_is_stable(lines in proptest::collection::vec(lines(), 0..8), cut in 0usize..9) {
            let redactor = redactor();
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let (once, dealt) = redactor.redact(text.as_bytes());
            prop_assert_eq!(
                once.iter().filter(|byte| **byte == b'\n').count(),
                text.as_bytes()[..dealt].iter().filter(|byte| **byte == b'\n').count()
            );
            for (before, after) in text.as_bytes()[..dealt].split(|byte| *byte == b'\n').zip(once.split(|byte| *byte == b'\n')) {
                if is_json(before) {
                    prop_assert!(is_json(after), "{}", String::from_utf8_lossy(after));
                }
            }
            let (twice, _) = redactor.redact(&once);
            prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once), "it is idempotent");
            // A longer transcript redacts to the same beginning, wherever it was cut.
            let head: usize = lines.iter().take(cut).map(|line| line.len() + 1).sum();
            let (first, dealt_first) = redactor.redact(&text.as_bytes()[..head]);
            let (second, dealt_second) = redactor.redact(&text.as_bytes()[dealt_first..]);
            prop_assert_eq!(dealt_first + dealt_second, dealt);
            prop_assert_eq!([&*first, &*second].concat(), once.into_owned());
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            let redactor = redactor();
            let (redacted, dealt) = redactor.redact(&text);
            prop_assert!(dealt <= text.len() && redacted.len() <= text.len() * 30);
        }
    }
}
