//! Lines: which of them belong to a key, and where in a line of JSON something may be replaced.

use std::borrow::Cow;
use std::ops::Range;

use bstr::ByteSlice as _;

use super::key::is_key_line;
use super::{Finding, MAX_BLOCK_BYTES, RULES};

/// The longest margin before the last line of a key.
const MARGIN_BYTES: usize = 24;

/// The lines after a key's beginning that belong to the key.
pub struct Block {
    /// Where they end.
    pub end: usize,
    /// Whether the key is complete, or a line follows that is not part of it.
    pub is_over: bool,
}

impl Block {
    /// Returns the lines from `from` on that belong to a key.
    pub fn after(text: &[u8], from: usize) -> Block {
        let mut end = from;
        while end < text.len() && end - from < MAX_BLOCK_BYTES {
            let line = end..line_end(text, end);
            let content = &text[line.clone()];
            // A line of JSON contains whole strings, so it is not part of a key, even if it mentions a key's end.
            if is_json(content) {
                return Block { end, is_over: true };
            }
            if content.find("-----END ").is_some_and(|at| at <= MARGIN_BYTES) {
                // If the text only mentions a key's first and last line, there is no key between.
                let end = if end == from { end } else { line.end };
                return Block { end, is_over: true };
            }
            if !is_key_line(content) {
                return Block { end, is_over: true };
            }
            end = line.end;
        }
        Block { end, is_over: false }
    }
}

/// The longest spelling of the end mark of a private passage: `\u003c/private\u003e`.
const MAX_END_MARK_BYTES: usize = 20;

/// The keys whose values say what kind of thing an object is.
const KIND_KEYS: &[&str] = &["type", "role", "kind", "subtype", "event"];

/// Words of the formats of transcripts, as keys and as values of [`KIND_KEYS`]. They say nothing of what was said.
const FORMAT_WORDS: &str = "\
    agent_message args arguments assistant attachment base64 call_id callID callId command content contents \
    custom_tool_call custom_tool_call_output cwd data description error event_msg file_path filePath function \
    function_call function_call_output functionCall functionResponse id input input_tokens is_error isError isMeta \
    isSidechain kind media_type message message_id messageId messages metadata mimeType model modelID name new_string \
    newText old_string oldText output output_tokens parentId parentUuid part parts path payload prompt reasoning request \
    requests response response_item result results role session_id session_meta sessionId sessionID source status stderr \
    stdout summary system text thinking time timestamp title token_count tool tool_call tool_call_id tool_calls tool_input \
    tool_name tool_response tool_result tool_use tool_use_id toolCall toolCallId toolName tools toolUseResult turn_context \
    type usage user user_message uuid value version";

/// Makes findings disjoint and sorted, and keeps JSON valid: nothing outside of strings is replaced, nothing across the
/// end of a string, no half of an escape. Each finding comes with the rank of its rule. Returns whether the line is
/// JSON, if there are findings.
pub fn settle(line: &[u8], mut findings: Vec<(usize, Finding)>) -> (Vec<Finding>, bool) {
    if findings.is_empty() {
        return (Vec::new(), false);
    }
    findings.sort_by_key(|(rank, finding)| (finding.span.start, *rank));
    let content = line.len() - usize::from(line.ends_with(b"\n"));
    let is_json = is_json(line);
    let mut strings = Strings { line, at: 0, start: 0, end: 0, key: 0..0 };
    let mut settled: Vec<Finding> = Vec::new();
    let mut put = |rule: &Cow<'static, str>, span: Range<usize>| match settled.last_mut() {
        Some(last) if span.start < last.span.end => last.span.end = last.span.end.max(span.end),
        _ if span.is_empty() => {}
        _ => settled.push(Finding { rule: rule.clone(), span }),
    };
    let mut behind = 0;
    for (rank, Finding { rule, mut span }) in findings {
        let is_users = rank >= RULES.len() && rule != "home";
        span.end = span.end.min(content);
        if !is_json {
            put(&rule, char_start(line, span.start)..char_end(line, span.end));
            continue;
        }
        let is_passage = rule == "private" && has_end_mark(&line[span.clone()]);
        let may_go_on = rule == "private-key" || is_passage;
        // The part that is replaced already is skipped, except for its last byte, so that the two findings are merged.
        let is_overlapping = span.start < behind;
        if is_overlapping {
            if span.end <= behind || (behind >= strings.end && !may_go_on) {
                continue;
            }
            span.start = behind;
        }
        // A key can span the strings of a list of lines, and a private passage the texts of one message; every other finding
        // stays in the string where it begins.
        let (mut first_key, mut end, mut depth) = (None, 0, 0);
        while let Some(clipped) = strings.clip(&span) {
            if is_passage && first_key.is_some() {
                depth += depth_of(&line[end..strings.start]);
                end = strings.end;
                // Outside of the list of texts is another message.
                if depth < -1 {
                    break;
                }
                // A picture can be between the texts.
                let is_text = strings.key.is_empty() || Some(&line[strings.key.clone()]) == first_key;
                if strings.is_key_or_kind() || !is_text {
                    span.start = clipped.end;
                    continue;
                }
            }
            first_key = first_key.or(Some(&line[strings.key.clone()]));
            end = strings.end;
            // A pattern of the user's is about words that were said. Without those of the format nobody finds them again.
            if is_users && strings.is_of_format() {
                break;
            }
            let start = if is_overlapping && clipped.start == behind { clipped.start - 1 } else { clipped.start };
            (behind, span.start) = (clipped.end, clipped.end);
            put(&rule, start..clipped.end);
            if !may_go_on || span.is_empty() {
                break;
            }
        }
    }
    (settled, is_json)
}

/// Returns how many levels deeper than its beginning the end of a piece of JSON between two strings is.
fn depth_of(between: &[u8]) -> i32 {
    between
        .iter()
        .map(|byte| match byte {
            b'{' | b'[' => 1,
            b'}' | b']' => -1,
            _ => 0,
        })
        .sum()
}

/// Says whether a private passage ends with its end mark, be that escaped, and not because it is too long.
fn has_end_mark(passage: &[u8]) -> bool {
    let end = &passage[passage.len().saturating_sub(MAX_END_MARK_BYTES)..];
    end.to_ascii_lowercase().contains_str("/private")
}

/// Returns the start of the character that contains the byte at `at`.
fn char_start(line: &[u8], at: usize) -> usize {
    let is_inner = |at: usize| line.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    at - (0..3).take_while(|back| *back < at && is_inner(at - back)).count()
}

/// Returns the end of the character that contains the byte before `at`.
fn char_end(line: &[u8], at: usize) -> usize {
    at + line[at..].iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count()
}

/// The strings of a line of JSON, walked through once.
struct Strings<'l> {
    line: &'l [u8],
    /// A position within the string at which a character or an escape begins.
    at: usize,
    /// The start of the last string that was reached.
    start: usize,
    /// The end of that string; 0 before the first.
    end: usize,
    /// The key whose value that string is; empty if it is none.
    key: Range<usize>,
}

impl Strings<'_> {
    /// Cuts a span to the first string that it touches, and widens it to whole characters and escapes; `None` if it
    /// touches no string. Spans must come in order.
    fn clip(&mut self, span: &Range<usize>) -> Option<Range<usize>> {
        while self.end <= span.start {
            self.next_string()?;
        }
        if self.start >= span.end {
            return None;
        }
        let mut start = self.at.max(self.start);
        let (from, to) = (span.start.max(self.start), span.end.min(self.end));
        let mut end = start;
        while end <= from && end < self.end {
            start = end;
            end += self.unit(end);
        }
        self.at = start;
        while end < to {
            end += self.unit(end);
        }
        (from < to).then(|| start..end.min(self.end))
    }

    /// Says whether the last string is a key, or says what kind of thing an object is.
    fn is_key_or_kind(&self) -> bool {
        let is_kind = || KIND_KEYS.iter().any(|key| key.as_bytes() == &self.line[self.key.clone()]);
        self.is_key() || is_kind()
    }

    /// Says whether the last string is a word of the format of transcripts: a key, or what kind of thing an object is.
    fn is_of_format(&self) -> bool {
        let word = &self.line[self.start..self.end];
        self.is_key_or_kind() && FORMAT_WORDS.split(' ').any(|known| known.as_bytes() == word)
    }

    /// Says whether the last string is a key.
    fn is_key(&self) -> bool {
        let rest = self.line.get(self.end + 1..).unwrap_or_default();
        rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
    }

    fn next_string(&mut self) -> Option<()> {
        self.key = if self.end > 0 && self.is_key() { self.start..self.end } else { 0..0 };
        let from = if self.end == 0 { 0 } else { self.end + 1 };
        let start = from + self.line.get(from..)?.find_byte(b'"')? + 1;
        let mut end = start;
        while end < self.line.len() && self.line[end] != b'"' {
            end += if self.line[end] == b'\\' { 2 } else { 1 };
        }
        (self.at, self.start, self.end) = (start, start, end.min(self.line.len()));
        Some(())
    }

    /// Returns the length of the character or the escape at `at`; two escapes can be one character.
    fn unit(&self, at: usize) -> usize {
        let rest = &self.line[at..self.end];
        let length = match rest {
            [b'\\', b'u', b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B', _, _, b'\\', b'u', ..] => 12,
            [b'\\', b'u', ..] => 6,
            [b'\\', _, ..] => 2,
            [_, inner @ ..] => 1 + inner.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count(),
            [] => 1,
        };
        length.min(rest.len().max(1))
    }
}

/// Says whether a line begins like JSON with strings.
pub fn seems_json(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'))
}

/// Says whether a line is JSON with strings.
pub fn is_json(line: &[u8]) -> bool {
    seems_json(line) && serde_json::from_slice::<serde::de::IgnoredAny>(line.trim_ascii()).is_ok()
}

/// Returns the end of the line that contains `at`.
pub fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].find_byte(b'\n').map_or(text.len(), |length| at + length + 1)
}

/// Copies a line with a placeholder in place of each finding.
pub fn put_placeholders(line: &[u8], findings: &[Finding], redacted: &mut Vec<u8>) {
    let mut copied = 0;
    for finding in findings {
        redacted.extend_from_slice(&line[copied..finding.span.start]);
        if finding.rule == "home" {
            redacted.push(b'~');
        } else {
            redacted.extend_from_slice(b"[REDACTED:");
            redacted.extend_from_slice(finding.rule.as_bytes());
            redacted.push(b']');
        }
        copied = finding.span.end;
    }
    redacted.extend_from_slice(&line[copied..]);
}
