//! Secrets in requests: URLs, headers, cookies, web tokens, and credential files in base64.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::class::{ALNUM, B64, DOTTED, ENCODED, OPAQUE, URL, URL64, WORD, is_in};
use super::piece::opaque;
use super::text::Text;
use super::value;

/// The longest value that is read.
const VALUE_BYTES: usize = 16 * 1024;
/// How many bytes of a long value are examined for randomness.
const JUDGED_BYTES: usize = 256;
/// How far after an access key's id its secret is searched, in bytes.
const BESIDE_BYTES: usize = 100;

/// Returns the password in `user:password@host` from `from` on, or a token in place of the user.
pub fn url_password(text: &mut Text<'_>, from: usize) -> Option<Range<usize>> {
    // The last `@` before the host, not far after the scheme.
    let run = text.end(URL, from).min(from + 512);
    if text.next(b'@', from) >= run {
        return None;
    }
    let bytes = text.bytes;
    let slash = text.next(b'/', from).min(text.next(b'?', from)).min(text.next(b'#', from)).min(run);
    let at = from + bytes[from..slash].iter().rposition(|byte| *byte == b'@')?;
    let Some(colon) = bytes[from..at].iter().position(|byte| *byte == b':') else {
        return (at - from >= 20 && is_opaque(&bytes[from..at])).then_some(from..at);
    };
    let (user, password) = (&bytes[from..from + colon], &bytes[from + colon + 1..at]);
    if matches!(password, b"" | b"x" | b"x-oauth-basic") {
        return (colon >= 20 && is_opaque(user)).then_some(from..from + colon);
    }
    if user.is_empty() && password.contains(&b':') {
        return None;
    }
    let is_secret = password.len() >= 3 && !value::is_known_password(user, password);
    is_secret.then_some(from + colon + 1..at)
}

/// Says whether a value is long and random, or a long digest.
fn is_opaque(value: &[u8]) -> bool {
    value.iter().all(|byte| is_in(*byte, ENCODED)) && value::is_random(value)
}

/// Returns the value of a header, or of an authentication scheme without a header.
pub fn header(text: &mut Text<'_>, word: Range<usize>) -> Option<Range<usize>> {
    let is_alone = text.bytes[word.end - 1] == b' ';
    let mut at = word.end;
    if is_alone {
        if word.start > 0 && is_in(text.bytes[word.start - 1], WORD) {
            return None;
        }
    } else {
        at = text.skip(at, 4, |byte| matches!(byte, b'"' | b'\'' | b' ' | b']' | b')'));
        if !matches!(text.at(at), Some(b':' | b'=' | b',')) {
            return None;
        }
        at = text.skip(at + 1, 6, |byte| matches!(byte, b'"' | b'\'' | b'`' | b' ' | b'f'));
        for scheme in
            ["bearer ", "basic ", "token ", "bot ", "apikey ", "digest ", "splunk ", "genieKey ", "token token="]
        {
            at += if text.has(at, scheme) { scheme.len() } else { 0 };
        }
    }
    let span = opaque(text, at);
    let value = text.bytes.get(span.clone())?;
    let value = &value[..value.len().min(JUDGED_BYTES)];
    // This is a call in a program.
    let is_secret = (8..=VALUE_BYTES).contains(&value.len())
        && text.at(span.end) != Some(b'(')
        && value::is_mixed(value)
        && !value::is_code(value)
        && !value::is_placeholder(value)
        && (!is_alone || (value.len() >= 20 && value::is_random(value)));
    is_secret.then_some(span)
}

/// Finds the values of session cookies in a `Cookie` header.
pub fn cookies(text: &mut Text<'_>, from: usize, spans: &mut Vec<Range<usize>>) -> Option<usize> {
    let mut at = text.skip(from, 4, |byte| matches!(byte, b'"' | b'\'' | b' '));
    if !matches!(text.at(at), Some(b':' | b'=' | b',')) {
        return None;
    }
    at = text.skip(at + 1, 4, |byte| matches!(byte, b'"' | b'\'' | b' '));
    for _ in 0..64 {
        let name = at..text.end(DOTTED, at);
        if name.is_empty() || text.at(name.end) != Some(b'=') {
            break;
        }
        let value = name.end + 1..text.end(ENCODED, name.end + 1);
        let lower = text.bytes[name.start..name.end.min(name.start + 64)].to_ascii_lowercase();
        let keeps =
            ["sess", "sid", "auth", "token", "jwt", "remember", "login", "identity", "cookies", "secret", "user"];
        let keeps = keeps.iter().any(|part| lower.windows(part.len()).any(|window| window == part.as_bytes()));
        if keeps && is_cookie(&text.bytes[value.clone()]) {
            spans.push(value.clone());
        }
        at = text.skip(value.end, 3, |byte| matches!(byte, b';' | b' '));
        if at == value.end {
            break;
        }
    }
    (!spans.is_empty()).then_some(at)
}

/// Returns the value of a cookie after its name.
pub fn cookie(text: &mut Text<'_>, from: usize) -> Option<Range<usize>> {
    let at = text.skip(from, 4, |byte| matches!(byte, b'"' | b'\'' | b' ' | b':' | b'=' | b','));
    let span = at..text.end(ENCODED, at);
    is_cookie(&text.bytes[span.clone()]).then_some(span)
}

fn is_cookie(value: &[u8]) -> bool {
    let length = value.len();
    let value = &value[..length.min(JUDGED_BYTES)];
    (16..=4096).contains(&length) && value::is_mixed(value) && !value::is_code(value) && !value::is_placeholder(value)
}

/// Finds the forty characters of an AWS secret soon after the id of its key.
pub fn secret_beside(text: &mut Text<'_>, from: usize, spans: &mut Vec<Range<usize>>) {
    let limit = text.bytes.len().min(from + BESIDE_BYTES);
    let mut at = from;
    while at < limit {
        let run = text.run(B64, at);
        if run.is_empty() {
            at += 1;
            continue;
        }
        let value = &text.bytes[run.clone()];
        // A commit id has no capitals.
        let is_secret =
            run.len() == 40 && run.start >= from && value.iter().any(u8::is_ascii_uppercase) && value::is_random(value);
        if is_secret {
            spans.push(run);
            return;
        }
        at = run.end;
    }
}

/// Returns `user:password` in base64.
pub fn basic_auth(text: &mut Text<'_>, from: usize) -> Option<Range<usize>> {
    let at = text.skip(from, 6, |byte| matches!(byte, b'"' | b'\'' | b' ' | b':' | b'='));
    if !text.bytes[from..at].iter().any(|byte| matches!(byte, b':' | b'=')) {
        return None;
    }
    let span = at..text.end(B64, at);
    let value = &text.bytes[span.clone()];
    if !(8..=1024).contains(&value.len()) {
        return None;
    }
    let decoded = STANDARD_NO_PAD.decode(value).ok()?;
    let is_auth = decoded.contains(&b':') && decoded.iter().all(|byte| byte.is_ascii_graphic());
    is_auth.then(|| span.start..text.skip(span.end, 2, |byte| byte == b'='))
}

/// Finds the values of a Kubernetes Secret: those of `data` and `stringData` around `kind: Secret`.
pub fn manifest(text: &mut Text<'_>, kind: Range<usize>, spans: &mut Vec<Range<usize>>) -> Option<usize> {
    let bytes = text.bytes;
    if text.at(kind.end).is_some_and(|byte| is_in(byte, WORD)) {
        return None;
    }
    // The part that was examined for an earlier `kind` is not examined again.
    let from = kind.start.saturating_sub(2048).max(text.manifested);
    if from > kind.start {
        return None;
    }
    let limit = bytes.len().min(kind.end + 4096);
    let is_json = bytes[kind.start] == b'"' || bytes[kind.clone()].contains(&b'\\');
    let (mut is_data, mut is_flow) = (false, false);
    // In JSON, how many braces are open since the data began; below zero, the object of the data has ended.
    let mut depth = None;
    let mut at = from;
    while at < limit {
        let name = text.run(DOTTED, at);
        if name.is_empty() || name.start < at {
            if let Some(depth) = &mut depth {
                *depth += i32::from(bytes[at] == b'{') - i32::from(bytes[at] == b'}');
            }
            let is_document_end = bytes[at..].starts_with(b"\n---");
            let is_flow_end = is_data && is_flow && bytes[at] == b'}' && depth.is_none_or(|depth: i32| depth <= 0);
            is_data &= !is_document_end && !is_flow_end;
            // What has ended before the kind is none of its object.
            let is_other = is_document_end || depth.is_some_and(|depth| depth < 0) || (is_flow_end && !is_json);
            if is_other && at < kind.start {
                spans.clear();
                depth = None;
            } else if is_other && at > kind.end && (is_json || is_document_end) {
                break;
            }
            at = name.end.max(at + 1);
            continue;
        }
        // This value has been replaced already.
        if bytes[..name.start].last() == Some(&b'[') {
            at = name.end;
            continue;
        }
        let colon = text.skip(name.end, 2, |byte| byte == b'"' || byte == b' ');
        at = name.end;
        if text.at(colon) != Some(b':') {
            continue;
        }
        let word = &bytes[name.clone()];
        let begin = text.skip(colon + 1, 3, |byte| matches!(byte, b' ' | b'"'));
        let is_template = bytes[begin.min(bytes.len())..].starts_with(b"{{");
        let is_mapping = matches!(text.at(begin), None | Some(b'\n' | b'{' | b'\r')) && !is_template;
        if is_mapping {
            is_data = matches!(word, b"data" | b"stringData");
            if is_data {
                is_flow = text.at(begin) == Some(b'{');
                depth = (is_json && is_flow).then_some(0);
            }
            continue;
        }
        if is_data {
            let indent = name.start == 0 || bytes[name.start - 1] == b'\n';
            if indent {
                is_data = false;
                continue;
            }
            let value = begin..text.end(OPAQUE, begin);
            let content = &bytes[value.clone()];
            let is_plain = value::is_reference(content) || content.len() < 4 || value::is_placeholder(content);
            if !is_plain && content.len() <= VALUE_BYTES {
                spans.push(value.clone());
            }
            at = value.end.max(at);
        }
    }
    text.manifested = at.min(limit);
    text.work += text.manifested - from;
    (!spans.is_empty()).then_some(kind.end)
}

/// Returns the JSON web token that begins at `start`, also behind a prefix that ends with a sign, such as `session-`.
pub fn jwt(text: &mut Text<'_>, start: usize) -> Option<Range<usize>> {
    if start > 0 && is_in(text.bytes[start - 1], ALNUM) {
        return None;
    }
    let mut part = |from: usize| {
        let end = text.end(URL64, from);
        (end, text.at(end) == Some(b'.'))
    };
    let (first, has_second) = part(start);
    let (second, has_third) = has_second.then(|| part(first + 1))?;
    let (mut end, mut goes_on) = has_third.then(|| part(second + 1))?;
    if first - start < 16 || second - first <= 8 || end - second <= 16 {
        return None;
    }
    // Five parts are an encrypted token.
    for _ in 0..2 {
        let (next, has_next) = if goes_on { part(end + 1) } else { break };
        if next <= end + 8 {
            break;
        }
        (end, goes_on) = (next, has_next);
    }
    (end - start <= 4 * VALUE_BYTES).then_some(start..end)
}
