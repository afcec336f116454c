//! Secrets on command lines and in small settings files: `curl -u`, `mysql -p`, SQL, `.netrc`, `.pgpass`.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{ALNUM, DOTTED, URL, VALUE, WORD, is_in};
use super::text::Text;
use super::value::{self, Sure, ValueForm};

/// How far after the name of a command its option is searched, in bytes.
const COMMAND_BYTES: usize = 160;
/// How far before a command what is printed into it is searched, in bytes.
const PRINTED_BYTES: usize = 400;
/// The longest password on a command line.
const MAX_BYTES: usize = 256;
/// The shortest user of `curl -u <user>:` that is taken for a token.
const TOKEN_BYTES: usize = 16;

const COMMAND_LINE_FORM: ValueForm = ValueForm {
    is_quoted: true,
    is_setting: false,
    is_line: true,
    is_listed: false,
    is_paired: false,
    is_telling: false,
};

/// Returns the value that begins at `at`, in quotes or up to a space.
fn word(text: &mut Text<'_>, at: usize) -> Option<Range<usize>> {
    let quote = text.at(at).filter(|byte| matches!(byte, b'"' | b'\''));
    let start = at + usize::from(quote.is_some());
    let end = match quote {
        Some(quote) => text.next(quote, start),
        None => text.end(VALUE, start),
    };
    (end > start && end - start <= MAX_BYTES).then_some(start..end)
}

/// Says whether a value on a command line is a password; almost every value after such an option is.
fn is_password(value: &[u8]) -> bool {
    value.len() >= 4
        && !value.iter().any(|byte| byte.is_ascii_whitespace())
        && !value::is_known_password(b"", value)
        && !matches!(value[0], b'-' | b'|' | b'<' | b'$' | b'&' | b';')
}

/// `machine … login … password …` in a line, or `-u user:password`.
pub fn login(text: &mut Text<'_>, word: Range<usize>) -> Option<Range<usize>> {
    let is_flag = text.has(word.start, " -u") || text.has(word.start, "--user") || text.has(word.start, "--proxy-user");
    let start = text.skip(word.end, 2, |byte| matches!(byte, b'"' | b'\'' | b' '));
    let end = text.end(URL, start);
    if end - start > 512 {
        return None;
    }
    let mut span = start..end;
    if is_flag {
        let colon = text.bytes[span.clone()].iter().position(|byte| *byte == b':')?;
        let user = &text.bytes[start..start + colon];
        span.start += colon + 1;
        if !user.first().is_some_and(|byte| is_in(*byte, ALNUM))
            || !user.iter().all(|byte| is_in(*byte, DOTTED) || *byte == b'@')
        {
            return None;
        }
        // A token can be the user, without a password.
        if matches!(text.bytes[span.clone()], [] | [b'"' | b'\''])
            && user.len() >= TOKEN_BYTES
            && value::is_secret(user, Sure::Password, COMMAND_LINE_FORM)
        {
            return Some(start..start + colon);
        }
        let password = &text.bytes[span.clone()];
        return (!value::is_known_password(user, password)
            && span.len() >= 6
            && !password.starts_with(b"//")
            && !password.contains(&b':')
            && !password.contains(&b'('))
        .then_some(span);
    }
    // Only after a login, since the word itself is common.
    let before = &text.bytes[word.start.saturating_sub(160)..word.start];
    let login = before.windows(6).rposition(|window| window == b"login ")?;
    let has_machine = before[..login].windows(8).any(|window| window == b"machine " || window == b"default ");
    (has_machine && is_password(&text.bytes[span.clone()])).then_some(span)
}

/// Returns the quoted text after the word: `IDENTIFIED BY '…'`.
pub fn quoted(text: &mut Text<'_>, name: Range<usize>) -> Option<Range<usize>> {
    let at = text.skip(name.end, 4, |byte| matches!(byte, b' ' | b'='));
    if !matches!(text.at(at), Some(b'"' | b'\'')) {
        return None;
    }
    let span = word(text, at)?;
    let value = &text.bytes[span.clone()];
    // Double quotes can also enclose the name of a column, but not in Oracle's `IDENTIFIED BY "…"`.
    let is_oracle = text.has(name.start, "identified by");
    let is_name =
        text.at(at) == Some(b'"') && !is_oracle && (value::is_code(value) || !value.iter().any(u8::is_ascii_digit));
    (is_password(value) && !is_name).then_some(span)
}

/// Returns the value of an option of the command that the word names.
pub fn option(text: &mut Text<'_>, command: Range<usize>, flag: &str) -> Option<Range<usize>> {
    if command.start > 0 && is_in(text.bytes[command.start - 1], WORD) {
        return None;
    }
    let rest = &text.bytes[command.end..text.bytes.len().min(command.end + COMMAND_BYTES)];
    let rest = &rest[..rest.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(rest.len())];
    let is_behind_blank = |at: &usize| text.bytes[command.end + at - 1] == b' ';
    let flag_at = rest.find_iter(flag).find(is_behind_blank)?;
    let end = command.end + flag_at + flag.len();
    let at = text.skip(end, 1, |byte| byte == b' ' || byte == b'=');
    // MySQL's `-p` with a space asks for the password.
    let is_apart = at > end;
    if is_apart && text.bytes[command.clone()].starts_with(b"mysql") {
        return None;
    }
    let span = word(text, at)?;
    let value = &text.bytes[span.clone()];
    (is_password(value) && !value.contains(&b':')).then_some(span)
}

/// Returns the password of `user<separator>password`, which is the value of an option, or the first word of the command that is
/// no option: `smbclient -U user%password`, `sqlplus user/password@db`.
pub fn pair(text: &mut Text<'_>, command: Range<usize>, flag: &str, separator: u8) -> Option<Range<usize>> {
    if command.start > 0 && is_in(text.bytes[command.start - 1], WORD) {
        return None;
    }
    let rest = &text.bytes[command.end..text.bytes.len().min(command.end + COMMAND_BYTES)];
    let rest = &rest[..rest.iter().position(|byte| matches!(byte, b'\n' | b'|' | b';')).unwrap_or(rest.len())];
    let rest = &rest[..rest.find(b" && ").unwrap_or(rest.len())];
    // Most commands have no such option.
    rest.find(flag)?;
    let mut at = command.end;
    let mut is_next = flag.is_empty();
    for part in rest.split(|byte| matches!(byte, b' ' | b'=')) {
        // A short option may have its value attached.
        let is_attached = flag.len() == 2 && part.len() > 2 && part.starts_with(flag.as_bytes());
        if is_attached || is_next && !part.is_empty() && !part.starts_with(b"-") {
            let value = word(text, if is_attached { at + flag.len() } else { at })?;
            let user_bytes = text.bytes[value.clone()].find_byte(separator).filter(|length| *length > 0)?;
            // `@script.sql` runs a script.
            let account = text.bytes[value.clone()].split(|byte| *byte == b'@').next().unwrap_or_default();
            if flag.is_empty() && (account.is_empty() || account.contains(&b'.')) {
                return None;
            }
            let middle = value.start + user_bytes;
            let password = &text.bytes[middle + 1..value.end];
            let length =
                if flag.is_empty() { password.find_byte(b'@').unwrap_or(password.len()) } else { password.len() };
            // Words can begin like an option.
            let is_likely = !is_attached || value::is_mixed(&password[..length]);
            return (is_likely && is_password(&password[..length])).then_some(middle + 1..middle + 1 + length);
        }
        is_next |= part == flag.as_bytes();
        at += part.len() + 1;
    }
    None
}

/// Returns the value of `name=value` after a word, if that word belongs to a command about a Secret:
/// `kubectl create secret generic app --from-literal=name=value`.
pub fn literal(text: &mut Text<'_>, option: Range<usize>) -> Option<Range<usize>> {
    let line = before_in_line(text, option.start);
    line.contains_str(b" secret ").then_some(())?;
    let start = text.skip(option.end, 1, |byte| matches!(byte, b'"' | b'\''));
    let end = text.end(VALUE, start);
    let at = start + text.bytes[start..end.min(start + MAX_BYTES)].find_byte(b'=')? + 1;
    let span = word(text, at)?;
    is_password(&text.bytes[span.clone()]).then_some(span)
}

/// Returns what is printed into the command that the word is part of, or given to it as its standard input:
/// `echo … | docker login --password-stdin`, `… <<< …`. Of `user:password`, if that is what the command reads, this is the password.
pub fn piped(text: &mut Text<'_>, part: Range<usize>, is_pair: bool) -> Option<Range<usize>> {
    let rest = &text.bytes[part.end..text.bytes.len().min(part.end + COMMAND_BYTES)];
    let rest = &rest[..rest.find_byte(b'\n').unwrap_or(rest.len())];
    let at = match rest.find(b"<<<") {
        Some(here) => text.skip(part.end + here + 3, 1, |byte| byte == b' '),
        None => {
            let line = before_in_line(text, part.end);
            let pipe = line.rfind_byte(b'|')?;
            let line_start = part.end - line.len();
            let command =
                ["echo ", "printf ", "print "].iter().filter_map(|name| Some((line.rfind(name)?, name.len())));
            let (at, length) = command.max()?;
            let mut at = at + length;
            for option in
                [&b"-n "[..], b"-e ", b"-ne ", b"-r ", b"'%s' ", b"\"%s\" ", b"%s ", b"'%s\\n' ", b"\"%s\\n\" "]
            {
                at += if line[at..].starts_with(option) { option.len() } else { 0 };
            }
            (at < pipe).then_some(line_start + at)?
        }
    };
    let mut span = word(text, at)?;
    if is_pair {
        span.start += text.bytes[span.clone()].find_byte(b':')? + 1;
    }
    is_password(&text.bytes[span.clone()]).then_some(span)
}

/// Returns the line in front of a position, or as much of it as is looked at.
fn before_in_line<'t>(text: &Text<'t>, at: usize) -> &'t [u8] {
    let before = &text.bytes[at.saturating_sub(PRINTED_BYTES)..at];
    &before[before.rfind_byte(b'\n').map_or(0, |end| end + 1)..]
}

/// Returns the word after `word`.
pub fn argument(text: &mut Text<'_>, name: Range<usize>) -> Option<Range<usize>> {
    let span = word(text, name.end)?;
    // A directive ends with its line; after an option the line can continue.
    let is_directive = text.at(name.start) != Some(b'-');
    if is_directive && text.at(span.end).is_some_and(|byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\'')) {
        return None;
    }
    let value = &text.bytes[span.clone()];
    (is_password(value)
        && (value::is_secret(value, Sure::Password, COMMAND_LINE_FORM) || value.iter().all(|byte| is_in(*byte, ALNUM))))
    .then_some(span)
}

/// Returns the last field of `host:port:database:user:password`.
pub fn pgpass(text: &mut Text<'_>, port: Range<usize>) -> Option<Range<usize>> {
    let host = text.start(DOTTED, port.start);
    if host == port.start && text.bytes[..port.start].last() != Some(&b'*') {
        return None;
    }
    let is_field = |byte: u8| is_in(byte, DOTTED) || byte == b'*';
    let database = text.skip(port.end, 64, is_field);
    let user = text.skip(database + 1, 64, is_field);
    if database == port.end || text.at(database) != Some(b':') || user == database + 1 || text.at(user) != Some(b':') {
        return None;
    }
    let span = user + 1..text.end(VALUE, user + 1);
    (span.len() <= MAX_BYTES && is_password(&text.bytes[span.clone()])).then_some(span)
}
