//! Text of others on its way into a path, an argument, an address or a terminal: one function for each purpose.
//!
//! Two more are in other rooms: Markdown in `pretty`, names of refs in `git`. A test in `tests/it/rooms.rs` lists all
//! of them, and the files that need none.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Returns text as one component of a path: everything outside `[A-Za-z0-9_.-]` is percent-encoded, and it is never hidden.
pub fn component(text: &str) -> String {
    const CODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'.').remove(b'-');
    let (dot, rest) = text.strip_prefix('.').map_or(("", text), |rest| ("%2E", rest));
    format!("{dot}{}", utf8_percent_encode(rest, CODED))
}

/// Says whether an id can be a component of a path and an argument as it stands: `[A-Za-z0-9_-]`, at most 128 of them,
/// and no `-` in front.
pub fn is_plain_id(id: &str) -> bool {
    !id.is_empty()
        && !id.starts_with('-')
        && id.len() <= 128
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Decodes the percent codes of a text: the reverse of [`component`], also for a part of an address. A `%` without a
/// code stays. `None` if the result is no UTF-8.
pub fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// Returns a word so that a POSIX shell reads it as it is.
pub fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns words as one line for a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ")
}

/// Says whether a character can move the cursor, change the terminal's state, or reorder what is read.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Says whether words end at an unsafe character. Without a space in its place two words would be read as one, which nobody has
/// looked at for secrets.
fn separates(c: char) -> bool {
    matches!(c, '\0' | '\u{b}'..='\r' | '\u{1c}'..='\u{1f}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns text without its unsafe characters, but for line ends, tabs, and joiners in their place. A sequence that tells a
/// terminal to change colours or to move the cursor goes as a whole.
fn without_unsafe(text: &str) -> String {
    without_unsafe_until(text, &[]).0
}

/// Does the same, and returns where in the safe text each of the places `until` is, which are sorted.
fn without_unsafe_until(text: &str, until: &[usize]) -> (String, Vec<usize>) {
    let mut safe = String::with_capacity(text.len());
    let mut places = Vec::with_capacity(until.len());
    let mut rest = text.chars();
    loop {
        let read = text.len() - rest.as_str().len();
        places.extend(until[places.len()..].iter().take_while(|place| **place <= read).map(|_| safe.len()));
        let Some(c) = rest.next() else { return (safe, places) };
        match c {
            '\u{1b}' if rest.as_str().starts_with('[') => {
                let sequence = control_length(&rest.as_str()[1..]).map_or(0, |length| length + 1);
                rest = rest.as_str()[sequence..].chars();
            }
            '\u{9b}' => rest = rest.as_str()[control_length(rest.as_str()).unwrap_or(0)..].chars(),
            _ => {}
        }
        if separates(c) && !(c == '\r' && rest.as_str().starts_with('\n')) {
            safe.push(' ');
            continue;
        }
        let is_joiner_in_place = || matches!(c, ZWNJ | ZWJ) && joins(&safe, c, rest.clone().next());
        if matches!(c, '\n' | '\t') || !is_unsafe(c) || is_joiner_in_place() {
            safe.push(c);
        }
        if c == BLACK_FLAG {
            let (tags, behind) = rest.as_str().split_at(region_length(rest.as_str()));
            safe.push_str(tags);
            rest = behind.chars();
        }
    }
}

/// Returns the length in bytes of the tags that make a flag of the black flag before them; 0 if there are none of these.
fn region_length(text: &str) -> usize {
    REGIONS.iter().find(|tags| text.starts_with(**tags)).map_or(0, |tags| tags.len())
}

/// The emoji of which tags make the flag of a region.
const BLACK_FLAG: char = '\u{1f3f4}';
/// The tags of England, Scotland and Wales, the regions with an emoji of their own (UTS #51). Others could hide words.
const REGIONS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Returns the length of a control sequence behind its introducer (ECMA-48, section 5.4): parameters, intermediate
/// characters, a final one. `None` if it has no end.
fn control_length(text: &str) -> Option<usize> {
    let length = text.find(|c| !matches!(c, ' '..='?'))?;
    let (start, end) = (text[..length].trim_end_matches(|c| c < '0'), &text[length..]);
    (start.bytes().all(|byte| byte >= b'0') && end.starts_with(|c| matches!(c, '@'..='~'))).then_some(length + 1)
}

/// Zero-width non-joiner: keeps letters apart that would be joined.
const ZWNJ: char = '\u{200c}';
/// Zero-width joiner: joins letters and emoji that would be apart.
const ZWJ: char = '\u{200d}';

/// Says whether a joiner changes how the text around it is written: within a word of a script that has joiners (UAX
/// #31, section 2.3), or in a sequence of emoji (UAX #29, rule GB11). Anywhere else it only hides something, and so
/// does a second one.
fn joins(before: &str, joiner: char, after: Option<char>) -> bool {
    let emoji = before.trim_end_matches(|c| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'));
    if joiner == ZWJ && emoji.chars().next_back().is_some_and(is_pictograph) {
        return after.is_some_and(is_pictograph);
    }
    let (last, is_before_letter) = (before.chars().next_back(), after.is_some_and(has_joiners));
    // A foreign word or a number gets an ending without a space: there is nothing to join, but people write it so.
    let has_ending = joiner == ZWNJ && is_before_letter && last.is_some_and(char::is_alphanumeric);
    // Joined forms also stand alone at the end of a word.
    has_ending || last.is_some_and(has_joiners) && (joiner == ZWJ || is_before_letter)
}

/// Says whether a character is of a script with joiners: letters that join, as in Arabic, or that stack, as in Devanagari.
fn has_joiners(c: char) -> bool {
    match c {
        '\u{600}'..='\u{8ff}' | '\u{1800}'..='\u{18af}' | '\u{a840}'..='\u{a877}' => c.is_alphabetic(),
        '\u{10ac0}'..='\u{10aff}' | '\u{10d00}'..='\u{10d3f}' | '\u{10f30}'..='\u{10fdf}' => c.is_alphabetic(),
        '\u{1e900}'..='\u{1e95f}' => c.is_alphabetic(),
        // The signs that stack letters count as no letters.
        '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' | '\u{1a20}'..='\u{1aaf}' => true,
        '\u{1b00}'..='\u{1b7f}' | '\u{a8e0}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}' | '\u{11000}'..='\u{11fff}' => true,
        _ => false,
    }
}

/// Says whether a character can take part in a sequence of emoji.
fn is_pictograph(c: char) -> bool {
    match c {
        '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}' => false,
        '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' => true,
        '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => true,
        _ => false,
    }
}

/// Returns text on one line: line ends and tabs become spaces; control, bidi and zero-width characters go, but for
/// joiners where a script or an emoji needs them.
pub fn line(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    without_unsafe(&text.replace(['\n', '\t', '\r'], " "))
}

/// Returns text as [`line()`] does, in pieces: the text up to the first of the places `until`, from there to the next, and
/// so on. A joiner at the end of a piece stays if the text around it needs it.
pub fn line_in_pieces(text: &str, until: &[usize]) -> Vec<String> {
    let (safe, places) = without_unsafe_until(&text.replace(['\n', '\t', '\r'], " "), until);
    let starts = std::iter::once(0).chain(places.iter().copied());
    starts.zip(&places).map(|(start, end)| safe[start..*end].to_owned()).collect()
}

/// Returns text as [`line()`] does, at most 60 characters of it, for a message.
pub fn quoted(text: &str) -> String {
    let line = line(text);
    if line.chars().count() > 60 { line.chars().take(60).chain(['…']).collect() } else { line }
}

/// Returns text with its line ends and tabs, but without control, bidi and zero-width characters; joiners stay where a
/// script or an emoji needs them. What is written over the beginning of a line, as progress is, gets a line of its own.
pub fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // Most lines have nothing else.
        if line.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            safe.push_str(line);
            continue;
        }
        let end = line.trim_end_matches(['\r', '\n']).len();
        for (number, part) in line[..end].split('\r').enumerate() {
            if number > 0 && !safe.is_empty() && !safe.ends_with('\n') {
                safe.push('\n');
            }
            safe.push_str(&without_unsafe(part));
        }
        if line.ends_with('\n') {
            safe.push('\n');
        }
    }
    safe
}

/// Returns the length of the colour that a text begins with, as a terminal reads it: `ESC [ <numbers> m`; 0 if there is
/// none.
pub fn color_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':'));
    end.filter(|end| rest[*end..].starts_with('m')).map_or(0, |end| end + 3)
}

/// Returns text as [`text`] does, but with its colours; for output that Git has coloured.
pub fn colored(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        safe.push_str(&self::text(&rest[..at]));
        let length = color_length(&rest[at..]);
        safe.push_str(&rest[at..at + length]);
        let control = || rest[at + 1..].strip_prefix('[').and_then(control_length).map_or(1, |length| length + 2);
        rest = &rest[at + if length > 0 { length } else { control() }..];
    }
    safe.push_str(&self::text(rest));
    safe
}

/// Writes bytes for a terminal, cleaned as by [`text`], piece by piece: there can be many.
///
/// # Errors
///
/// If writing fails.
pub fn write_text(out: &mut dyn std::io::Write, bytes: &[u8]) -> std::io::Result<()> {
    bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| {
        // Most lines of a transcript have nothing else.
        match line.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            true => out.write_all(line),
            false => out.write_all(text(&String::from_utf8_lossy(line)).as_bytes()),
        }
    })
}

/// Returns a JSON value as text, with escapes for what a terminal would act on: it reads back as the same value.
pub fn json(value: &serde_json::Value) -> String {
    json_text(value.to_string())
}

/// Returns the text of a JSON value with the escapes of [`json`].
pub fn json_text(text: String) -> String {
    use std::fmt::Write as _;
    if text.is_ascii() && !text.contains('\u{7f}') {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) {
            // Outside strings, JSON has none of these.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(safe, "\\u{unit:04x}");
            });
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_encoded_is_decoded_again() {
        for text in ["3f6b1c9e-52d4", "../../x", "a\0b\n", "sitz~ung ü.7", ".hidden", ""] {
            assert_eq!(decoded(&component(text)).as_deref(), Some(text));
        }
        for other in ["%", "%2", "%+f", "%zz"] {
            assert_eq!(decoded(other).as_deref(), Some(other), "what is no code stays");
        }
        assert_eq!(decoded("%ff"), None, "no text");
    }

    #[test]
    fn an_id_is_no_option_and_no_path() {
        assert!(is_plain_id("3f6b1c9e-52d4") && is_plain_id("T-1_a"));
        for id in ["", "-x", "--help", "a/b", "..", "a b", "a%b", "ü", "a\n", &"x".repeat(129)] {
            assert!(!is_plain_id(id), "{id}");
        }
    }

    #[test]
    fn odd_words_are_quoted() {
        assert_eq!(shell("/usr/bin/git-shiftlog--hook"), "/usr/bin/git-shiftlog--hook");
        assert_eq!(shell("it's here"), r"'it'\''s here'");
        assert_eq!(shell("$(x);y"), "'$(x);y'");
        assert_eq!(shell(""), "''");
    }

    #[test]
    fn json_reads_back_as_it_was_and_has_nothing_for_the_terminal() {
        let hostile = serde_json::json!({ "a": "x\u{1b}[31m\u{9b}\u{202e}\u{7f}\u{e0041}é🎉\u{200b}" });
        let safe = json(&hostile);
        assert_eq!(text(&safe), safe);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).expect("JSON"), hostile);
    }

    #[test]
    fn joiners_stay_where_scripts_and_emoji_need_them() {
        for right in [
            "می\u{200c}خواهم",
            "نمونه\u{200c}ای از خط",
            "ه\u{200d} 1403",
            "क\u{94d}\u{200d}ष क\u{94d}\u{200c}ष",
            "র\u{200d}\u{9cd}যাম",
            "ന\u{d4d}\u{200d} ",
            "PDF\u{200c}ها ۵\u{200c}تا",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\
             🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
            "👩\u{200d}💻 👨🏽\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 🏴\u{200d}☠\u{fe0f} 👩\u{200d}👩\u{200d}👦",
        ] {
            assert_eq!((text(right), line(right)), (right.to_owned(), right.to_owned()));
        }
        for (hostile, safe) in [
            ("pass\u{200c}word\u{200d}s", "passwords"),
            ("🏴\u{e0067}\u{e0062}\u{e007f}", "🏴"),
            ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}", "🏴"),
            ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e0067}\u{e007f}x", "🏴x"),
            ("🏴\u{e0075}\u{e0073}\u{e0063}\u{e0061}\u{e007f}", "🏴"),
            ("a\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", "a"),
            ("a\u{200d}👩", "a👩"),
            ("👩\u{200d}", "👩"),
            ("👩\u{200d}\u{200d}💻", "👩\u{200d}💻"),
            ("👩\u{200c}💻", "👩💻"),
            ("می\u{200c}\u{200c}خ", "می\u{200c}خ"),
            ("می\u{200f}\u{200c}خ\u{200e}", "می\u{200c}خ"),
            ("می\u{200c} x", "می x"),
            ("می\u{200c}\nx", "می\nx"),
            ("1\u{200d}2،\u{200c}3", "12،3"),
            ("\u{200c}می", "می"),
        ] {
            assert_eq!(text(hostile), safe, "{hostile:?}");
        }
    }

    #[test]
    fn a_joiner_between_two_pieces_stays() {
        let word = "می\u{200c}خواهم";
        let place = word.find('خ').expect("it is there");
        assert_eq!(line_in_pieces(word, &[place, word.len()]), ["می\u{200c}", "خواهم"]);
        assert_eq!(line_in_pieces(word, &["می".len(), word.len()]), ["می", "\u{200c}خواهم"]);
        let family = "a👩\u{200d}👩\u{200d}👧";
        let child = family.find('👧').expect("it is there");
        assert_eq!(line_in_pieces(family, &[1, child, family.len()]).concat(), family);
        assert_eq!(line_in_pieces("a\x1b[31mb\u{202e}c\n", &[1, 6, 7, 10, 12]), ["a", "", "b", "", "c "]);
    }

    #[test]
    fn nothing_reaches_the_terminal_but_text() {
        let hostile = "a\x1b]52;c;x\x07b\u{9b}31m\u{202e}c\u{200b}\td\r\ne";
        assert_eq!(text(hostile), "a]52;c;xbc\td\ne");
        assert_eq!(line(hostile), "a]52;c;xbc d  e");
        assert_eq!(text("déjà vu 🎉 日本"), "déjà vu 🎉 日本");
    }

    #[test]
    fn no_part_of_a_control_sequence_is_left() {
        for (told, safe) in [
            ("\x1b[31mred\x1b[0m \x1b[1;38;5;12mx\x1b[m", "red x"),
            ("\x1b[2K\x1b[1A\x1b[?25l done\x1b[0 q", " done"),
            ("\x1b[\x1b[31mx", "[x"),
            ("\x1b[31", "[31"),
            ("\x1b[3 1m", "[3 1m"),
            ("\x1b[é", "[é"),
            ("\u{9b}é\u{9b}31mx", "éx"),
        ] {
            assert_eq!(text(told), safe, "{told:?}");
            assert_eq!(text(safe), safe);
        }
    }

    #[test]
    fn what_is_written_over_a_line_is_a_line() {
        for (told, safe) in [
            ("10%\r50%\r100%\nnext\r\n", "10%\n50%\n100%\nnext\n"),
            ("\r\x1b[Kone\r\r\n\rtwo\r", "one\ntwo"),
            ("\r\n\r\n", "\n\n"),
        ] {
            assert_eq!(text(told), safe, "{told:?}");
        }
    }
}
