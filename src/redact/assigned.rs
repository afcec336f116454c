//! Names and their values: `DB_PASSWORD=…`, `"apiKey": "…"`, `- name: X` with `value: …`, `<password>…</password>`.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{ALNUM, DOTTED, OPAQUE, VALUE, WORD, is_in};
use super::piece::{NAME_BYTES, Piece, pieces_end};
use super::text::Text;
use super::value::{self, Sure, ValueForm};
use super::words;

/// The longest value that is read, in quotes or of a token's characters.
const VALUE_BYTES: usize = 4096;
/// The longest value without quotes that has other characters.
const BARE_BYTES: usize = 256;
/// The largest distance between a name and its value, indentation included.
const GAP_BYTES: usize = 80;
/// How far in front of a name the command stands that sets it.
const SET_BYTES: usize = 120;
/// The longest attributes of an element.
const ATTRIBUTES_BYTES: usize = 160;

/// A name and the position of its value.
struct Name {
    /// The whole name.
    span: Range<usize>,
    /// The position where the value begins, after its quote.
    start: usize,
    quote: Option<u8>,
    /// Whether nothing but `=` is between them, as in `NAME=value`.
    is_tight: bool,
    /// Whether a comma is between them.
    is_listed: bool,
    /// Whether they are two members: `name: X`, `value: …`.
    is_paired: bool,
}

/// Says whether a value can follow the name whose word ends at `end`, in a text with escapes.
pub fn is_plausible(text: &[u8], end: usize) -> bool {
    // The sign behind a short name is part of the word.
    let end = end - usize::from(end > 0 && is_sign(text[end - 1]));
    let rest = &text[end..];
    let name = rest.iter().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
    let gap = &rest[name..];
    if gap.first().is_some_and(|byte| matches!(byte, 0x1B | b'&' | 0xC2 | 0xE2 | 0xEF)) {
        return true;
    }
    // As in `key="X" value="…"`, on one line or two.
    if matches!(gap.first(), Some(b'\\' | b'<' | b'"' | b'\'' | b',')) {
        let near = &gap[..gap.len().min(GAP_BYTES)];
        if near.contains_str("alue") || near.contains_str("<string") || near.contains_str("efault") {
            return true;
        }
    }
    let start = || end - text[..end].iter().rev().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
    let way = gap.iter().take(GAP_BYTES).take_while(|byte| !is_in(**byte, ALNUM)).count();
    // A sign is between a name and its value; only after an option (`--token abc`) a space is enough.
    let is_assignment = gap[..way].iter().any(|byte| matches!(byte, b':' | b'=' | b',' | b'%' | b'>' | b'(' | b'\\'))
        || (way > 0 && gap[0] == b' ' && (is_option(text, end) || is_set(text, start())));
    let value = &gap[way..];
    let is_graphic = |byte: &&u8| byte.is_ascii_graphic() && **byte != b'"';
    let length = value.iter().take(5).take_while(is_graphic).count();
    // After a short word the value can still follow, if the word is a type: `token: str = "…"`.
    (is_assignment && (length + way >= 6 || value[length..].starts_with(b" =")))
        || is_value_of_name(text, start())
        || attributes_end(text, start()..end + name).is_some()
}

fn is_option(text: &[u8], end: usize) -> bool {
    let name = text[..end].iter().rev().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
    let before = text[..end - name].last();
    text[end - name..end].starts_with(b"-") && before.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'"')
}

fn is_sign(byte: u8) -> bool {
    matches!(byte, b'=' | b':')
}

/// Says whether a command sets the name that begins at `start` to the word behind it: `aws configure set NAME value`,
/// `git config --global NAME value`, `setx NAME value`, `set -gx NAME value`.
fn is_set(text: &[u8], start: usize) -> bool {
    let line = &text[start.saturating_sub(SET_BYTES)..start];
    let line = &line[line.rfind_byteset("\n|;").map_or(0, |at| at + 1)..];
    // What stands in front of the name without a blank is part of it: `//registry.npmjs.org/:_authToken`.
    let Some(before) = line.rfind_byteset(" \t").map(|at| line[..at].trim_ascii_end()) else { return false };
    let last =
        before.rsplit(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'`' | b'\'' | b'$')).next().unwrap_or_default();
    ["set", "setx", "setenv", "-x", "-gx", "-xg", "-Ux", "-Uxg", "--global", "--local", "--system"]
        .iter()
        .any(|word| last == word.as_bytes())
        || before.ends_with(b"git config")
}

/// Returns where the value begins that is in an element with attributes: `<password encrypted="false">…`.
fn attributes_end(text: &[u8], name: Range<usize>) -> Option<usize> {
    if text.get(name.end) != Some(&b' ') || element_start(text, name.start).is_none() {
        return None;
    }
    let rest = &text[name.end..text.len().min(name.end + ATTRIBUTES_BYTES)];
    let end = rest.find_byteset("<>\n")?;
    let is_open = rest[end] == b'>' && !rest[..end].ends_with(b"/") && rest[..end].contains(&b'=');
    is_open.then_some(name.end + end + 1)
}

/// Returns where the element begins whose name, perhaps with that of a namespace in front, begins at `start`.
fn element_start(text: &[u8], start: usize) -> Option<usize> {
    let before = &text[start.saturating_sub(NAME_BYTES)..start];
    let prefix = before.iter().rev().take_while(|byte| is_in(**byte, DOTTED) || **byte == b':').count();
    (before.len() > prefix && before[before.len() - prefix - 1] == b'<').then(|| start - prefix - 1)
}

/// Says whether the name that begins at `start` is the value of a member `name`, as in `name: DB_PASSWORD`.
fn is_value_of_name(text: &[u8], start: usize) -> bool {
    member_before(text, start).is_some()
}

/// Returns where the member `name` or `key` begins whose value begins at `start`.
fn member_before(text: &[u8], start: usize) -> Option<usize> {
    let is_gap = |c: char| matches!(c, ' ' | '\t' | '"' | '\'');
    let before = text[start.saturating_sub(24)..start].trim_end_with(is_gap);
    let before = before.strip_suffix(b":").or_else(|| before.strip_suffix(b"="))?.trim_end_with(is_gap);
    let word = ["name", "key"].into_iter().find(|word| {
        let at = before.len().checked_sub(word.len());
        at.is_some_and(|at| before[at..].eq_ignore_ascii_case(word.as_bytes()))
    })?;
    let end = text[..start].len() - (text[start.saturating_sub(24)..start].len() - before.len());
    let at = end - word.len();
    (at == 0 || !is_in(text[at - 1], DOTTED)).then_some(at)
}

/// Returns the value in front of its name: `value: …` and `name: DB_PASSWORD`, in any notation.
fn value_before(text: &[u8], start: usize) -> Option<Range<usize>> {
    let is_between = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '"' | '\'' | ',' | '+' | '-' | '{');
    let before = text[..member_before(text, start)?].trim_end_with(is_between);
    let from = before.len().saturating_sub(BARE_BYTES + GAP_BYTES);
    let at = from + before[from..].to_ascii_lowercase().rfind("value")? + "value".len();
    let rest = &before[at..];
    let gap = rest.iter().take_while(|byte| matches!(byte, b'"' | b'\'' | b' ' | b':' | b'=')).count();
    let span = at + gap..before.len();
    let value = &text[span.clone()];
    let is_one = !value.is_empty() && value.iter().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
    (is_one && rest[..gap].iter().any(|byte| is_sign(*byte))).then_some(span)
}

/// Finds the value of a name that contains `word`.
pub fn find(text: &mut Text<'_>, word: Range<usize>, sure: Sure) -> Option<Range<usize>> {
    // A short name counts only with its sign, and means a password less surely: `pass=3 fail=0`.
    let (word, sure) = match text.at(word.end - 1) {
        Some(sign) if is_sign(sign) => (word.start..word.end - 1, sure.min(Sure::Secret)),
        _ => (word, sure),
    };
    // One name can contain words of several rules.
    if text.named.as_ref().is_some_and(|(span, of)| *of >= sure && span.contains(&word.start) && word.end <= span.end) {
        return None;
    }
    let Some(name) = name(text, word.clone()) else {
        let start = text.start(DOTTED, word.start).max(word.start.saturating_sub(NAME_BYTES));
        let span = value_before(text.bytes, start)?;
        text.work += BARE_BYTES;
        let form = ValueForm { is_quoted: true, is_paired: true, ..ValueForm::default() };
        return value::is_secret(&text.bytes[span.clone()], sure, form).then_some(span);
    };
    if words::names_no_secret(&text.bytes[name.span.clone()]) {
        return None;
    }
    // A name that surely means a password does not make a value sure that ends like a key.
    let is_whole = name.span.start + NAME_BYTES > word.start && word.end + NAME_BYTES > name.span.end;
    if is_whole && sure < Sure::Password {
        text.named = Some((name.span.clone(), sure));
    }
    let form = form(text, &name);
    let span = value(text, &name, sure)?;
    let form = ValueForm {
        is_line: (form.is_line && ends_line(text, span.end)) || is_part_of_list(text, &name, span.end),
        is_quoted: form.is_quoted || is_element(text, &name, span.end),
        ..form
    };
    let value = &text.bytes[span.clone()];
    let is_secret = match &text.judged {
        Some((last, of, at, is_secret)) if text.bytes[last.clone()] == *value && (*of, *at) == (sure, form) => {
            *is_secret
        }
        _ => {
            text.work += name.span.len() + value.len();
            value::is_secret(value, sure, form)
        }
    };
    text.judged = Some((span.clone(), sure, form, is_secret));
    is_secret.then_some(span)
}

/// Finds the value of a name that contains `word`, if the pieces match the value.
pub fn named(text: &mut Text<'_>, word: Range<usize>, pieces: &[Piece]) -> Option<Range<usize>> {
    let name = name(text, word)?;
    if words::names_no_secret(&text.bytes[name.span.clone()]) {
        return None;
    }
    let end = pieces_end(text, name.start, pieces)?;
    let is_end = text.at(end).is_none_or(|byte| !is_in(byte, OPAQUE) && byte != b':' && byte != b'@');
    (is_end && value::is_mixed(&text.bytes[name.start..end])).then_some(name.start..end)
}

fn form(text: &Text<'_>, name: &Name) -> ValueForm {
    let bytes = text.bytes;
    let spelled = &bytes[name.span.clone()];
    let is_upper = spelled.iter().all(|byte| !byte.is_ascii_lowercase()) && spelled.len() >= 3;
    let line =
        bytes[..name.span.start].iter().rev().take(16).take_while(|byte| matches!(byte, b' ' | b'\t' | b'-')).count();
    let before = bytes[..name.span.start - line].last();
    // An option of a command is as sure as a setting.
    let is_option = spelled.starts_with(b"--")
        && bytes[..name.span.start].last().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'"');
    let begins_line = line < 16 && before.is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'"'));
    let mut last: &[u8] = b"";
    words::each_word(spelled, |word| last = word);
    let is_telling = last.eq_ignore_ascii_case(b"token")
        || last.eq_ignore_ascii_case(b"authtoken")
        || (is_upper && name.is_tight && spelled.contains(&b'_'));
    ValueForm {
        is_quoted: name.quote.is_some(),
        is_setting: (is_upper || is_option) && name.is_tight,
        is_line: begins_line,
        is_listed: name.is_listed,
        is_paired: is_upper && name.is_paired,
        is_telling,
    }
}

/// Says whether name and value are an element of XML, or one of a list of parameters: `;Password=…;`, `&password=…`.
fn is_part_of_list(text: &Text<'_>, name: &Name, end: usize) -> bool {
    let before = text.bytes[..name.span.start].last();
    match before {
        Some(b'<' | b':') => is_element(text, name, end),
        Some(b';' | b'&' | b'?') => {
            name.is_tight && text.at(end).is_none_or(|byte| matches!(byte, b'&' | b';' | b'"' | b'\'' | b'\n' | b' '))
        }
        _ => false,
    }
}

/// Says whether name and value are an element of XML: its tags stand around the value as quotes do.
fn is_element(text: &Text<'_>, name: &Name, end: usize) -> bool {
    text.has(end, "</") && element_start(text.bytes, name.span.start).is_some()
}

fn ends_line(text: &Text<'_>, end: usize) -> bool {
    let end = text.skip(end, 4, |byte| matches!(byte, b' ' | b',' | b';' | b'\r'));
    text.at(end).is_none_or(|byte| matches!(byte, b'\n' | b'"'))
}

/// Reads the name around `word` and finds its value.
fn name(text: &mut Text<'_>, word: Range<usize>) -> Option<Name> {
    let bytes = text.bytes;
    let start = text.start(DOTTED, word.start).max(word.start.saturating_sub(NAME_BYTES));
    let span = start..text.end(DOTTED, word.end).min(word.end + NAME_BYTES);
    // The rule's name in a placeholder is not the name of a value.
    if bytes[..span.start].ends_with(b"[REDACTED:") {
        return None;
    }
    let is_space = |byte| matches!(byte, b' ' | b'\t');
    let mut at = text.skip(span.end, 8, |byte| matches!(byte, b'"' | b'\'' | b'`' | b']' | b')'));
    let has_closers = at > span.end;
    // As in `user[:password]`.
    let is_optional = bytes.get(span.end) == Some(&b']') && span.start > 0 && bytes[span.start - 1] == b':';
    let spaces = text.skip(at, 24, is_space);
    let (mut is_listed, mut is_paired) = (false, false);
    let mut signs = text.skip(spaces, 3, |byte| matches!(byte, b':' | b'=' | b'>' | b'!' | b'?' | b'|'));
    let is_tight = !has_closers && spaces == at && signs == at + 1 && bytes[at] == b'=';
    if let Some(value) = paired(text, at) {
        // `"name": "X", "value": "…"`.
        (signs, is_paired) = (value, true);
    } else if let Some(end) = attributes_end(bytes, span.clone()) {
        signs = end;
    } else if signs == spaces {
        let is_call =
            !has_closers && text.at(at) == Some(b'(') && takes_value(&bytes[span.clone()], &bytes[..span.start]);
        if (has_closers && !is_optional && text.at(at) == Some(b',')) || is_call {
            is_listed = !is_call;
            signs = at + 1;
        } else if spaces == at || has_closers || !(is_option(bytes, span.end) || is_set(bytes, span.start)) {
            return None;
        }
    }
    // The end of a tag, or of a comparison, behind a quote.
    if has_closers && bytes[spaces..signs] == *b">" {
        return None;
    }
    at = text.skip(signs, 24, is_space);
    if let Some(next) = nested_tag(text, at) {
        at = next;
    }
    at = behind_type(text, at);
    if matches!(text.at(at), Some(b'b' | b'B' | b't' | b'T')) {
        for scheme in ["bearer ", "basic ", "token "] {
            at += if text.has(at, scheme) { scheme.len() } else { 0 };
        }
    }
    // As in `b"…"`, `@"…"` or `$'…'`.
    if matches!(text.at(at), Some(b'b' | b'r' | b'u' | b'f' | b'@' | b'L' | b'$'))
        && matches!(text.at(at + 1), Some(b'"' | b'\''))
    {
        at += 1;
    }
    let quote = text.at(at).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    Some(Name { span, start: at + usize::from(quote.is_some()), quote, is_tight, is_listed, is_paired })
}

/// Says whether a function of this name takes a secret: `setPassword("…")`, `.password("…")`.
fn takes_value(name: &[u8], before: &[u8]) -> bool {
    let own = name.rsplit(|byte| *byte == b'.').next().unwrap_or(name);
    let mut first: &[u8] = b"";
    words::each_word(own, |word| {
        if first.is_empty() {
            first = word;
        }
    });
    let is_method =
        own.len() < name.len() || before.ends_with(b".") || before.ends_with(b":") || before.ends_with(b"->");
    let starts = |words: &[&str]| words.iter().any(|word| first.eq_ignore_ascii_case(word.as_bytes()));
    starts(&["set", "with", "use", "add"])
        || (is_method
            && starts(&[
                "password",
                "passwd",
                "secret",
                "token",
                "api",
                "apikey",
                "passphrase",
                "credentials",
                "bearer",
                "access",
            ]))
}

/// Returns where the value begins in a pair of members whose name ends at `at`: `name: X` and `value: …`, in any
/// notation.
fn paired(text: &Text<'_>, at: usize) -> Option<usize> {
    let is_between = |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b',' | b'+');
    let mut at = text.skip(at, GAP_BYTES, is_between);
    // `</name>` and `<value>`, as Java and Apple write settings.
    if !matches!(text.at(at)?.to_ascii_lowercase(), b'<' | b'{' | b'd' | b'p' | b's' | b't' | b'v') {
        return None;
    }
    // `variable "X" { default = "…" }` of Terraform.
    if text.at(at) == Some(b'{') {
        at = text.skip(at + 1, GAP_BYTES, is_between);
        return if text.has(at, "default") { after_sign(text, at, "default") } else { None };
    }
    // `"Name": "X", "Type": "SecureString", "Value": "…"` of AWS.
    if text.has(at, "type\"") {
        at = text.skip(at, GAP_BYTES, |byte| byte != b',');
        at = text.skip(at, GAP_BYTES, is_between);
    }
    for tag in ["</name>", "</key>"] {
        if text.has(at, tag) {
            at = text.skip(at + tag.len(), GAP_BYTES, is_between);
            let tag = ["<value>", "<string>"].into_iter().find(|tag| text.has(at, tag))?;
            return Some(at + tag.len());
        }
    }
    let words = ["default_value", "defaultvalue", "parametervalue", "stringvalue", "value", "val"];
    after_sign(text, at, words.into_iter().find(|word| text.has(at, word))?)
}

/// Returns the position behind the sign that follows a word.
fn after_sign(text: &Text<'_>, at: usize, word: &str) -> Option<usize> {
    let at = text.skip(at + word.len(), 4, |byte| matches!(byte, b'"' | b'\'' | b' '));
    matches!(text.at(at), Some(b':' | b'=')).then_some(at + 1)
}

/// Returns where a value begins that is in an element within the name's element: `<password><value>…`.
fn nested_tag(text: &Text<'_>, at: usize) -> Option<usize> {
    if text.at(at) != Some(b'<') {
        return None;
    }
    ["<![CDATA[", "<value>", "<string>"].into_iter().find(|tag| text.has(at, tag)).map(|tag| at + tag.len())
}

/// Returns where the value begins if a type comes before it: `token: str = "…"`.
fn behind_type(text: &Text<'_>, at: usize) -> usize {
    let of_type =
        text.skip(at, NAME_BYTES, |byte| is_in(byte, WORD) || matches!(byte, b'<' | b'>' | b'&' | b'?' | b'*'));
    let sign = text.skip(of_type, NAME_BYTES, |byte| byte == b' ');
    let is_value_next = matches!(text.at(sign + 1), Some(b' ' | b'"' | b'\''));
    if of_type > at && sign > of_type && text.at(sign) == Some(b'=') && is_value_next {
        text.skip(sign + 1, 8, |byte| byte == b' ')
    } else {
        at
    }
}

/// Returns the value of a name.
fn value(text: &mut Text<'_>, name: &Name, sure: Sure) -> Option<Range<usize>> {
    let start = name.start;
    if let Some(quote) = name.quote {
        let end = text.next(quote, start);
        let value = text.bytes.get(start..end.min(start + VALUE_BYTES))?;
        return value
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b'\\')
            .then_some(start..end)
            .filter(|_| end - start < VALUE_BYTES);
    }
    // An element ends where its closing tag begins, whatever signs are in it.
    if text.at(start.wrapping_sub(1)) == Some(b'>') && element_start(text.bytes, name.span.start).is_some() {
        let rest = &text.bytes[start..text.bytes.len().min(start + BARE_BYTES)];
        if let Some(length) = rest.find("</").filter(|length| rest[..*length].iter().all(u8::is_ascii_graphic)) {
            return (length > 0).then_some(start..start + length);
        }
    }
    let end = text.end(VALUE, start);
    let is_query = name.span.start > 0 && matches!(text.bytes[name.span.start - 1], b'?' | b'&');
    // The characters of a token come first: most values have only these, and can be long.
    let opaque = text.end(OPAQUE, start);
    if opaque == end && end - start > BARE_BYTES {
        // Only padding follows.
        let end = text.next(b'=', start);
        let padded = text.skip(end, 2, |byte| byte == b'=');
        let end = if padded == opaque { padded } else { end.min(opaque) };
        return (end - start <= VALUE_BYTES).then_some(start..end);
    }
    let end = cut(&text.bytes[start..end.min(start + BARE_BYTES + 1)], is_query, sure)?;
    (end <= BARE_BYTES).then_some(start..start + end)
}

/// Returns the length of a value without quotes; `None` if it is code. The value ends before another assignment and
/// before signs that only surround values.
fn cut(value: &[u8], is_query: bool, sure: Sure) -> Option<usize> {
    let mut end = value.len();
    let mut colons = 0;
    for (at, byte) in value.iter().enumerate() {
        let rest = &value[at + 1..];
        let ends = match byte {
            b'&' if is_query => true,
            b'<' => rest.starts_with(b"/") || sure < Sure::Password,
            b':' => {
                colons += 1;
                colons > 2
            }
            b'=' => {
                // The padding of base64, or else another name's value.
                let padding = rest.iter().take_while(|byte| **byte == b'=').count();
                let is_padding = padding <= 1 && rest.get(padding).is_none_or(|byte| !is_in(*byte, ALNUM));
                !is_padding && (sure < Sure::Password || value[..at].iter().all(|byte| is_in(*byte, DOTTED)))
            }
            b',' | b';' | b'&' | b'|' => {
                let word =
                    rest.iter().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED) || **byte == b' ').count();
                sure < Sure::Password
                    || (word > 1 && matches!(rest.get(word), Some(b'=' | b':')))
                    || rest.first() == Some(byte)
            }
            b'>' | b'{' | b'}' | b')' | b'[' | b']' => sure < Sure::Password,
            // This is a call: code, not a value.
            b'(' if reads_as_function(&value[..at]) || sure < Sure::Password => return None,
            _ => false,
        };
        if ends {
            end = at;
            break;
        }
    }
    while end > 0
        && matches!(value[end - 1], b',' | b';' | b')' | b']' | b'}' | b'>')
        && !is_opened(&value[..end - 1], value[end - 1])
    {
        end -= 1;
    }
    Some(end)
}

/// Says whether the text before a bracket is the name of a function.
fn reads_as_function(name: &[u8]) -> bool {
    let is_path = name.iter().all(|byte| is_in(*byte, WORD) || matches!(byte, b'.' | b':' | b'>' | b'-'));
    value::is_code(name) || (is_path && name.iter().any(|byte| matches!(byte, b'_' | b'.' | b':')))
}

/// Says whether a closing sign matches an opening one in the value.
fn is_opened(value: &[u8], closing: u8) -> bool {
    let opening = match closing {
        b')' => b'(',
        b']' => b'[',
        b'}' => b'{',
        b'>' => b'<',
        _ => return false,
    };
    value.contains(&opening)
}
