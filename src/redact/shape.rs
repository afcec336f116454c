//! Shapes: how a rule tells a secret from what only begins like one.
//!
//! Everything here runs once along the text and never goes back: time is linear whatever the input.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::value;

/// A set of bytes, as bits of [`CLASSES`].
pub type Class = u8;

const DIGIT: Class = 1;
const LOWER: Class = 2;
const UPPER: Class = 4;
const A_TO_F: Class = 8;
const UNDERSCORE: Class = 16;
const DASH: Class = 32;
const PLUS_SLASH: Class = 64;
const DOT: Class = 128;

/// Decimal digits.
pub const DIGITS: Class = DIGIT;
/// Lower-case hex digits.
pub const HEX: Class = DIGIT | A_TO_F;
/// Lower-case letters and digits.
pub const LOWNUM: Class = DIGIT | LOWER;
/// Upper-case letters and digits.
pub const UPNUM: Class = DIGIT | UPPER;
/// Letters and digits.
pub const ALNUM: Class = DIGIT | LOWER | UPPER;
/// Letters, digits and `_`.
pub const WORD: Class = ALNUM | UNDERSCORE;
/// The digits of base64url.
pub const URL64: Class = WORD | DASH;
/// The digits of base64.
pub const B64: Class = ALNUM | PLUS_SLASH;
/// The digits of base64url, and dots between them.
pub const DOTTED: Class = URL64 | DOT;

/// What each byte is; bytes above ASCII are nothing.
const CLASSES: [Class; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => LOWER | A_TO_F,
            b'g'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'+' | b'/' => PLUS_SLASH,
            b'.' => DOT,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Says whether a byte belongs to a class.
pub fn is_in(byte: u8, class: Class) -> bool {
    CLASSES[usize::from(byte)] & class != 0
}

/// A part of a token behind the word that announces it.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// Exactly this.
    Is(&'static str),
    /// From so many to so many bytes of a class, as many as there are.
    Run(Class, usize, usize),
}

/// How what a rule looks for goes on behind its word.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A token: word and pieces are redacted together. Nothing of its kind may stand right before or behind it.
    Token(&'static [Piece]),
    /// A token whose word stands within it, behind this many bytes of a class.
    Around(Class, usize, usize, &'static [Piece]),
    /// What the pieces match behind the word; the word stays.
    After(&'static [Piece]),
    /// `word…: value` or `word…=value` in any language, the value such that it can only be a secret. `true` for words
    /// that leave no doubt about what the value is.
    Assigned(bool),
    /// The password in `://user:password@host`.
    Url,
    /// The password of a `.netrc` or of `curl -u`.
    Login,
    /// The value of an HTTP header, `Basic` or `Bearer` left standing.
    Header,
    /// Three base64url parts with dots between them, the word being the beginning of the first.
    Jwt,
    /// A key from `-----BEGIN` to `-----END`.
    Pem,
    /// What a file holds in base64, in one line or in many.
    Encoded,
    /// `<private>` to `</private>`.
    Private,
}

/// What a shape found: where, and whether it goes on behind the end of the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Match {
    /// The bytes to redact.
    pub span: Range<usize>,
    /// A key whose end is not here: the lines that follow may belong to it.
    pub is_open: bool,
}

/// The longest name around a word, and the longest way from a name to its value.
const NAME_BYTES: usize = 40;
/// The longest value or key that is looked at.
const VALUE_BYTES: usize = 16 * 1024;

impl Shape {
    /// Says, at little cost and without knowing how the text is escaped, whether there can be a match; `end` is where
    /// the word ends.
    pub fn is_plausible(&self, text: &[u8], end: usize) -> bool {
        let rest = &text[end..];
        match self {
            Shape::Token(pieces) | Shape::Around(_, _, _, pieces) | Shape::After(pieces) => match pieces.first() {
                Some(Piece::Run(class, min, _)) => {
                    rest.iter().take(*min).take_while(|byte| is_in(**byte, *class) || is_escape(**byte)).count() == *min
                }
                _ => true,
            },
            Shape::Assigned(_) => {
                let name = rest.iter().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
                let gap = &rest[name..];
                // Behind a coloured name a control sequence comes first, be it escaped or not.
                let start = &gap[..gap.len().min(NAME_BYTES / 2)];
                if start.contains(&0x1B) || start.contains_str("u001b") {
                    return true;
                }
                let way = gap.iter().take(NAME_BYTES).take_while(|byte| !is_in(**byte, ALNUM)).count();
                // Between a name and its value stands a sign; only after an option (`--token abc`) a mere space.
                let is_assignment = gap[..way].iter().any(|byte| matches!(byte, b':' | b'=' | b',' | b'%' | b'>'))
                    || (way > 0 && gap[0] == b' ' && is_option(text, end));
                let value = &gap[way..];
                let is_graphic = |byte: &&u8| byte.is_ascii_graphic() && **byte != b'"';
                let length = value.iter().take(8).take_while(is_graphic).count();
                // Behind a short word there can be a value still, if it is a type: `token: str = "…"`.
                is_assignment && (length == 8 || value[length..].starts_with(b" ="))
            }
            Shape::Url => {
                let host = rest.iter().take(512).take_while(|byte| is_url(**byte));
                host.take_while(|byte| !matches!(byte, b'/' | b'?' | b'#')).any(|byte| *byte == b'@')
            }
            _ => true,
        }
    }

    /// Returns the match whose word stands at `word`, in text that holds no escapes.
    pub fn find(&self, text: &[u8], word: Range<usize>) -> Option<Match> {
        let closed = |span| Some(Match { span, is_open: false });
        match self {
            Shape::Token(pieces) => {
                // A word that itself begins with a sign, such as `://`, is not part of what stands before it.
                if is_in(*text.get(word.start)?, ALNUM) && is_joined(text, word.start) {
                    return None;
                }
                closed(word.start..pieces_end(text, word.end, pieces)?)
            }
            Shape::Around(class, min, max, pieces) => {
                let before = text[..word.start].iter().rev().take(*max + 1).take_while(|b| is_in(**b, *class)).count();
                if before < *min || before > *max {
                    return None;
                }
                closed(word.start - before..pieces_end(text, word.end, pieces)?)
            }
            Shape::After(pieces) => closed(word.end..pieces_end(text, word.end, pieces)?),
            Shape::Assigned(is_sure) => closed(assigned(text, word, *is_sure)?),
            Shape::Url => closed(url_password(text, word.end)?),
            Shape::Login => closed(login(text, word)?),
            Shape::Header => closed(header(text, word.end)?),
            Shape::Jwt => closed(jwt(text, word.start)?),
            Shape::Pem => pem(text, word),
            Shape::Encoded => {
                let end = word.end + key_bytes(&text[word.end..]);
                let is_open = end == text.len();
                // Where lines are looked at one by one, the first can hold no more than the word and a number.
                (end - word.end >= 60 || (is_open && end - word.end <= 4))
                    .then_some(Match { span: word.start..end, is_open })
            }
            Shape::Private => private(text, word),
        }
    }
}

/// A byte that an escaped text can have inside a run: it may stand for one of the run's own.
fn is_escape(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%')
}

fn is_joined(text: &[u8], start: usize) -> bool {
    start > 0 && is_in(text[start - 1], ALNUM)
}

fn is_option(text: &[u8], end: usize) -> bool {
    let name = text[..end].iter().rev().take(NAME_BYTES).take_while(|byte| is_in(**byte, URL64)).count();
    text[end - name..end].starts_with(b"--")
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'|')
}

/// Returns where the pieces end, if all are there and the last run is not longer than it may be.
fn pieces_end(text: &[u8], from: usize, pieces: &[Piece]) -> Option<usize> {
    let mut at = from;
    for piece in pieces {
        match piece {
            Piece::Is(literal) => at += text[at..].strip_prefix(literal.as_bytes()).map(|_| literal.len())?,
            Piece::Run(class, min, max) => {
                let count = text[at..].iter().take(max + 1).take_while(|byte| is_in(**byte, *class)).count();
                if count < *min || count > *max {
                    return None;
                }
                at += count;
            }
        }
    }
    (!value::is_placeholder(&text[from..at])).then_some(at)
}

/// Finds the value that is given to a name with `word` in it.
fn assigned(text: &[u8], word: Range<usize>, is_sure: bool) -> Option<Range<usize>> {
    let is_option = is_option(text, word.end);
    let before = text[..word.start].iter().rev().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
    let mut at = word.end;
    at += text[at..].iter().take(NAME_BYTES).take_while(|byte| is_in(**byte, DOTTED)).count();
    let name = &text[word.start - before..at];
    // Nor is the name of a rule in a placeholder the name of a value.
    if value::names_no_secret(name) || text[..word.start - before].ends_with(b"[REDACTED:") {
        return None;
    }
    let skip = |at: &mut usize, is_part: &dyn Fn(u8) -> bool| {
        let start = *at;
        while *at < text.len() && *at - start < 8 && is_part(text[*at]) {
            *at += 1;
        }
        start..*at
    };
    let closers = skip(&mut at, &|byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']' | b')'));
    let has_closers = !closers.is_empty();
    let spaces = skip(&mut at, &|byte| matches!(byte, b' ' | b'\t'));
    let sign = skip(&mut at, &|byte| matches!(byte, b':' | b'=' | b'>' | b'!' | b'?'));
    if sign.is_empty() {
        let is_argument = has_closers && text.get(at) == Some(&b',');
        if is_argument {
            at += 1;
        } else if !is_option || spaces.is_empty() {
            return None;
        }
    }
    skip(&mut at, &|byte| matches!(byte, b' ' | b'\t'));
    // A type stands between a name and its value in many languages: `token: str = "…"`.
    let of_type = text[at..].iter().take(NAME_BYTES);
    let of_type = of_type.take_while(|byte| is_in(**byte, WORD) || matches!(byte, b'<' | b'>' | b'&' | b'?')).count();
    let sign_at = at + of_type + text[at + of_type..].iter().take_while(|byte| **byte == b' ').count();
    let is_value_next = text.get(sign_at + 1).is_some_and(|byte| matches!(byte, b' ' | b'"' | b'\''));
    if of_type > 0 && sign_at > at + of_type && text.get(sign_at) == Some(&b'=') && is_value_next {
        at = sign_at + 1;
        skip(&mut at, &|byte| byte == b' ');
    }
    for scheme in [&b"Bearer "[..], b"bearer ", b"Basic ", b"token "] {
        at += text[at..].strip_prefix(scheme).map_or(0, |_| scheme.len());
    }
    skip(&mut at, &|byte| byte == b'\\');
    let quote = text.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let start = at + usize::from(quote.is_some());
    let value = text[start..].iter().take(VALUE_BYTES);
    let end = start
        + match quote {
            Some(quote) => value.take_while(|b| **b != quote && b.is_ascii_graphic() && **b != b'\\').count(),
            None => bare_value_bytes(&text[start..]),
        };
    // What goes on like this is a call, an index or a template: code, not a value.
    if matches!(text.get(end), Some(b'(' | b'[' | b'{' | b'<')) && quote.is_none() {
        return None;
    }
    let end = start + text[start..end].trim_ascii_end().len();
    let found = &text[start..end];
    value::is_secret(found, is_sure, quote.is_some()).then_some(start..end)
}

/// Returns the length of a value that no quote ends. What looks like another assignment ends it, so that a long row of
/// names is not read over and over.
fn bare_value_bytes(text: &[u8]) -> usize {
    let mut colons = 0;
    let value = text.iter().take(VALUE_BYTES).take_while(|byte| {
        colons += usize::from(**byte == b':');
        byte.is_ascii_graphic() && !ends_value(**byte) && colons <= 2
    });
    let length = value.count();
    let Some(sign) = text[..length].iter().position(|byte| *byte == b'=') else { return length };
    // The padding of base64.
    let padding = text[sign..length].iter().take_while(|byte| **byte == b'=').count();
    if padding <= 2 && sign + padding == length { length } else { sign }
}

fn ends_value(byte: u8) -> bool {
    matches!(
        byte,
        b'"' | b'\'' | b'`' | b',' | b';' | b'<' | b'>' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'|' | b'\\' | b'&'
    )
}

fn url_password(text: &[u8], from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let length = rest.iter().take(512).take_while(|byte| is_url(**byte) && !matches!(byte, b'\\')).count();
    let authority = &rest[..length];
    let authority = &authority[..authority.iter().position(|b| matches!(b, b'?' | b'#')).unwrap_or(length)];
    let at = match authority.iter().position(|byte| *byte == b'/') {
        // A password may hold a slash that nobody escaped; the last `@` before the first slash is surer.
        Some(slash) => authority[..slash].iter().rposition(|byte| *byte == b'@')?,
        None => authority.iter().rposition(|byte| *byte == b'@')?,
    };
    let colon = authority[..at].iter().position(|byte| *byte == b':')?;
    let (user, password) = (&authority[..colon], &authority[colon + 1..at]);
    let is_secret = password.len() >= 3 && !value::is_known_password(user, password);
    is_secret.then_some(from + colon + 1..from + at)
}

/// `machine … login … password …` in a line, or `-u user:password`.
fn login(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let is_flag = text[word.clone()].starts_with(b" -u") || text[word.clone()].starts_with(b"--user");
    let mut start = word.end;
    start += text[start..].iter().take(2).take_while(|byte| matches!(byte, b'"' | b'\'' | b' ')).count();
    let length = text[start..].iter().take(512).take_while(|byte| is_url(**byte) && **byte != b'\\').count();
    let mut span = start..start + length;
    if is_flag {
        let colon = text[span.clone()].iter().position(|byte| *byte == b':')?;
        let user = &text[start..start + colon];
        span.start += colon + 1;
        if user.is_empty() || !user.iter().all(|byte| is_in(*byte, DOTTED) || *byte == b'@') {
            return None;
        }
        return (!value::is_known_password(user, &text[span.clone()]) && span.len() >= 6).then_some(span);
    }
    // Only behind a login: the word itself is common.
    let before = &text[word.start.saturating_sub(256)..word.start];
    let login = before.windows(7).rposition(|window| window == b"login \x20" || window.starts_with(b"login "))?;
    let has_machine = before[..login].windows(8).any(|window| window == b"machine ");
    (has_machine && span.len() >= 4 && !value::is_placeholder(&text[span.clone()])).then_some(span)
}

fn header(text: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    at += text[at..].iter().take(4).take_while(|b| matches!(b, b'"' | b'\'' | b'\\' | b' ')).count();
    if !matches!(text.get(at), Some(b':' | b'=' | b',')) {
        return None;
    }
    at += 1;
    at += text[at..].iter().take(6).take_while(|b| matches!(b, b'"' | b'\'' | b'`' | b'\\' | b' ' | b'f')).count();
    for scheme in ["bearer ", "basic ", "token ", "bot ", "apikey ", "digest "] {
        if text[at..].get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme.as_bytes())) {
            at += scheme.len();
        }
    }
    let is_part = |byte: u8| is_in(byte, DOTTED | B64) || matches!(byte, b'=' | b'~');
    let length = text[at..].iter().take(VALUE_BYTES).take_while(|byte| is_part(**byte)).count();
    let value = &text[at..at + length];
    let is_secret = length >= 8 && value::is_mixed(value) && !value::is_placeholder(value) && !value::is_code(value);
    is_secret.then_some(at..at + length)
}

fn jwt(text: &[u8], start: usize) -> Option<Range<usize>> {
    if start > 0 && is_in(text[start - 1], DOTTED) {
        return None;
    }
    let run = |from: usize| from + text[from..].iter().take(VALUE_BYTES).take_while(|b| is_in(**b, URL64)).count();
    let first = run(start);
    let second = (text.get(first) == Some(&b'.')).then(|| run(first + 1))?;
    let third = (text.get(second) == Some(&b'.')).then(|| run(second + 1))?;
    // Five parts are an encrypted token.
    let mut end = third;
    while text.get(end) == Some(&b'.') && run(end + 1) > end + 8 {
        end = run(end + 1);
    }
    (first - start >= 16 && second - first > 8 && third - second > 16).then_some(start..end)
}

/// Returns a key from its first line to its last; what stands between may be indented, numbered or quoted.
fn pem(text: &[u8], word: Range<usize>) -> Option<Match> {
    let label = &text[word.end..text.len().min(word.end + 64)];
    let dashes = label.windows(5).position(|window| window == b"-----")?;
    let label = &label[..dashes];
    if !(label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK")) || label.contains(&b'\n') {
        return None;
    }
    let body = word.end + dashes + 5;
    let mut at = body;
    let mut digits = 0;
    // The end is looked for only as far as a key can reach.
    while at < text.len() && at - body < VALUE_BYTES {
        if text[at..].starts_with(b"-----END ") {
            let end = at + 9 + text[at + 9..].iter().take(64).position(|byte| *byte == b'-')? + 5;
            // A mere mention has no key between its lines.
            return (digits >= 32).then(|| Match { span: word.start..end.min(text.len()), is_open: false });
        }
        // A quote ends the text that the key stands in, and another beginning the key.
        if (matches!(text[at], b'"' | b'\'' | b'`') && digits >= 32) || text[at..].starts_with(b"-----BEGIN") {
            break;
        }
        digits += usize::from(is_in(text[at], B64));
        at += 1;
    }
    let rest = &text[body..];
    let is_last_line = rest.iter().all(|byte| !byte.is_ascii_alphanumeric());
    if is_last_line {
        return Some(Match { span: word.start..body, is_open: true });
    }
    // Cut off: what looks like a key still is one.
    let cut = key_bytes(rest);
    (cut >= 32).then(|| Match { span: word.start..body + cut, is_open: body + cut == text.len() })
}

/// Returns how many bytes at the beginning of `text` can belong to a key's body, written line ends included.
fn key_bytes(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        at += match &text[at..] {
            [b'\\', b'n' | b'r', ..] => 2,
            [byte, ..] if is_in(*byte, B64) || matches!(byte, b'=' | b'\n' | b'\r' | b' ') => 1,
            _ => break,
        };
    }
    at
}

/// Says whether a line of text can stand within a key: digits of base64, perhaps behind a margin, or a header.
pub fn is_key_line(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let margin = line.iter().take(16).rposition(|byte| matches!(byte, b' ' | b'\t' | b'|' | b'>') || *byte >= 0x80);
    let body = &line[margin.map_or(0, |position| position + 1)..];
    let body = body.strip_prefix(b"+").or_else(|| body.strip_prefix(b"-")).unwrap_or(body);
    // As in `Proc-Type: 4,ENCRYPTED`.
    let name = line.iter().take_while(|byte| is_in(**byte, URL64)).count();
    let is_header = (3..=24).contains(&name) && line[name..].starts_with(b": ") && line.len() < 100;
    is_header
        || (body.len() <= 200
            && body.iter().all(|byte| is_in(*byte, B64) || matches!(byte, b'=' | b'\\' | b'"' | b',')))
}

fn private(text: &[u8], word: Range<usize>) -> Option<Match> {
    const END: &[u8] = b"</private>";
    let rest = &text[word.end..];
    let length = rest.windows(END.len()).position(|window| window.eq_ignore_ascii_case(END))?;
    Some(Match { span: word.start..word.end + length + END.len(), is_open: false })
}
