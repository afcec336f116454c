//! Views: a line with its escapes undone, and the mapping back to the bytes of the line.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::class::{OPAQUE, is_in};
use super::value::is_code;

/// Stands for an escaped start of a control sequence; a byte that no text has.
const CONTROL: u8 = 0xFF;
/// Stands for a character without width; a byte that no text has.
const INVISIBLE: u8 = 0xFE;
/// The longest control sequence, in bytes.
const CONTROL_BYTES: usize = 64;
/// How programs write the start of a control sequence, besides `\x1b[`.
const SPELLED: &[&[u8]] = &[b"\\033[", b"\\e["];
/// The shortest line that can have been cut by the width of a terminal, in bytes.
const MIN_COLUMNS: usize = 20;
/// The shortest token that is joined across lines; words are shorter.
const MIN_CUT_BYTES: usize = 24;

/// A text made from another by undoing escapes.
pub struct View {
    /// The text without its escapes; what an escape stands for that is no character is one byte of value 0x80.
    pub text: Vec<u8>,
    /// Pairs of positions in the text and in the source. Between two pairs, both advance alike, or the stretch of the source
    /// stands for the bytes as a whole.
    anchors: Vec<(usize, usize)>,
}

/// The meaning of an escape: its length, and what it stands for.
type Unit = Option<(usize, Meaning)>;

/// The decoded value of an escape: the UTF-8 bytes of a character, a single byte, or no bytes.
#[derive(Clone, Copy)]
struct Meaning {
    bytes: [u8; 4],
    length: usize,
}

impl Meaning {
    const NOTHING: Self = Meaning { bytes: [0; 4], length: 0 };
    /// The value of an escape that encodes no character.
    const UNKNOWN: Self = Meaning::byte(0x80);

    const fn byte(byte: u8) -> Self {
        Meaning { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn character(character: char) -> Self {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Meaning { bytes, length }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl View {
    /// Undoes one level of the escapes of JSON, and those few that other languages share. `None` if there are none.
    pub fn unescaped(source: &[u8]) -> Option<View> {
        View::made(source, |rest| rest.find_byte(b'\\'), |rest| escape(rest, 1))
    }

    /// Undoes escapes however many backslashes they have: text within JSON within JSON. `None` if there are none.
    ///
    /// Quotes stay, so that strings are separated like any others.
    pub fn flattened(source: &[u8]) -> Option<View> {
        let unit = |rest: &[u8]| {
            let slashes = rest.iter().take_while(|byte| **byte == b'\\').count();
            // Several backslashes stand for one, even before a character that they do not escape.
            escape(rest, slashes).or(Some((slashes, Meaning::byte(b'\\'))))
        };
        View::made(source, |rest| rest.find_byte(b'\\'), unit)
    }

    /// Undoes percent-encoding. `None` if there is none.
    pub fn percent_decoded(source: &[u8]) -> Option<View> {
        let hex = |byte: &u8| char::from(*byte).to_digit(16);
        let unit = |rest: &[u8]| match rest {
            [b'%', high, low, ..] => {
                let byte = u8::try_from(hex(high)? * 16 + hex(low)?).ok()?;
                Some((3, if matches!(byte, CONTROL | INVISIBLE) { Meaning::UNKNOWN } else { Meaning::byte(byte) }))
            }
            _ => None,
        };
        View::made(source, |rest| rest.find_byte(b'%'), unit)
    }

    /// Undoes the entities of HTML. `None` if there are none.
    pub fn of_entities(source: &[u8]) -> Option<View> {
        let unit = |rest: &[u8]| {
            let length = rest.iter().take(10).position(|byte| *byte == b';')?;
            let meaning = match &rest[1..length] {
                b"quot" | b"QUOT" => Meaning::byte(b'"'),
                b"apos" => Meaning::byte(b'\''),
                b"amp" | b"AMP" => Meaning::byte(b'&'),
                b"lt" | b"LT" => Meaning::byte(b'<'),
                b"gt" | b"GT" => Meaning::byte(b'>'),
                b"nbsp" => Meaning::byte(b' '),
                [b'#', b'x' | b'X', hex @ ..] => of_code(u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?),
                [b'#', decimal @ ..] => of_code(std::str::from_utf8(decimal).ok()?.parse().ok()?),
                _ => return None,
            };
            Some((length + 1, meaning))
        };
        View::made(source, |rest| rest.find_byte(b'&'), unit)
    }

    /// Replaces each control sequence of a terminal by a space, so that its last letter is not joined to the next word.
    /// `None` if there are none.
    pub fn uncoloured(source: &[u8]) -> Option<View> {
        View::without(source, |rest| Some((control_bytes(rest)?, Meaning::byte(b' '))))
    }

    /// Removes control sequences of a terminal and characters without width, which can be inside a word. `None` if
    /// there are none.
    pub fn visible(source: &[u8]) -> Option<View> {
        View::without(source, |rest| unseen(rest, control_bytes(rest)))
    }

    /// As [`View::visible`], but of the sequences that begin with an escape character only those go as a whole that readers
    /// remove so: of others they remove the character alone. `None` if there are none of these.
    pub fn as_read(source: &[u8]) -> Option<View> {
        let is_other = |at: usize| source.get(at + 1).is_some_and(|next| *next != b'[');
        if !source.find_iter("\x1b").any(is_other) {
            return None;
        }
        let is_single = |rest: &[u8]| rest.starts_with(b"\x1b") && !rest.starts_with(b"\x1b[");
        View::without(source, |rest| unseen(rest, if is_single(rest) { None } else { control_bytes(rest) }))
    }

    fn without(source: &[u8], unit: impl Fn(&[u8]) -> Unit) -> Option<View> {
        let is_spelled = source.contains(&b'\\') && SPELLED.iter().any(|spelled| source.contains_str(spelled));
        let next = |rest: &[u8]| rest.iter().position(|byte| begins_unseen(*byte) || is_spelled && *byte == b'\\');
        let is_begun = is_spelled || source.iter().any(|byte| begins_unseen(*byte));
        is_begun.then(|| View::made(source, next, unit)).flatten()
    }

    /// Joins lines where a word was cut by the width of a terminal, unless `is_end` holds for the position of the line end.
    /// `None` if none was.
    pub fn unwrapped(source: &[u8], is_end: impl Fn(usize) -> bool) -> Option<View> {
        let mut cuts = Vec::new();
        let mut start = 0;
        for end in source.find_iter("\n") {
            let next = &source[end + 1..];
            let behind = next.iter().take(end - start + 1).take_while(|byte| is_wordy(**byte)).count();
            if behind > 0 && end - start >= MIN_COLUMNS && behind <= end - start {
                let before = source[start..end].iter().rev().take_while(|byte| is_wordy(**byte)).count();
                if before > 0 && before + behind >= MIN_CUT_BYTES && goes_on(&next[..behind]) && !is_end(end) {
                    cuts.push(end);
                }
            }
            start = end + 1;
        }
        if cuts.is_empty() {
            return None;
        }
        let mut view = View::empty(source);
        let mut at = 0;
        for cut in cuts {
            view.text.extend_from_slice(&source[at..cut]);
            view.anchors.push((view.text.len(), cut));
            at = cut + 1;
            view.anchors.push((view.text.len(), at));
        }
        view.text.extend_from_slice(&source[at..]);
        Some(view)
    }

    /// Returns an empty view of what stands from a place on.
    pub fn at(place: usize) -> View {
        View { text: Vec::new(), anchors: vec![(0, place)] }
    }

    /// Adds bytes that a stretch of the source stands for.
    pub fn add(&mut self, bytes: &[u8], stretch: Range<usize>) {
        self.text.extend_from_slice(bytes);
        self.anchors.push((self.text.len(), stretch.end));
    }

    /// Leaves out what stands before a place, and has these bytes in its stead.
    pub fn skip_to(&mut self, bytes: &[u8], place: usize) {
        self.add(bytes, place..place);
    }

    fn empty(source: &[u8]) -> View {
        View { text: Vec::with_capacity(source.len()), anchors: vec![(0, 0)] }
    }

    /// Makes a view. For a position found by `next`, `unit` returns the length of the escape there and what it stands
    /// for. `None` if there is no escape.
    fn made(source: &[u8], next: impl Fn(&[u8]) -> Option<usize>, unit: impl Fn(&[u8]) -> Unit) -> Option<View> {
        // Nothing is copied unless there is an escape.
        let mut view: Option<View> = None;
        let (mut at, mut copied) = (0, 0);
        while let Some(run) = source.get(at..).and_then(&next) {
            at += run;
            let Some((length, meaning)) = unit(&source[at..]) else {
                at += 1;
                continue;
            };
            let view = view.get_or_insert_with(|| View::empty(source));
            view.text.extend_from_slice(&source[copied..at]);
            view.anchors.push((view.text.len(), at));
            view.text.extend_from_slice(meaning.bytes());
            at += length;
            copied = at;
            view.anchors.push((view.text.len(), at));
        }
        if let Some(view) = &mut view {
            view.text.extend_from_slice(&source[copied..]);
        }
        view
    }

    /// Returns the span of the source that a span of the text was made of.
    pub fn source(&self, span: Range<usize>) -> Range<usize> {
        let start = self.anchors.partition_point(|(at, _)| *at <= span.start) - 1;
        let start = self.anchors[start].1 + (span.start - self.anchors[start].0);
        // Escapes that stand for nothing, right after the span, are not part of it.
        let end = self.anchors.partition_point(|(at, _)| *at < span.end);
        let (from, begin) = self.anchors[end.saturating_sub(1)];
        let end = match self.anchors.get(end) {
            // What stands for several bytes goes as a whole.
            Some((at, source)) if *at == span.end || at - from != source - begin => *source,
            _ => begin + (span.end - from),
        };
        start..end.max(start)
    }
}

/// Returns a text with a line end in the place of each quotation mark. A message stands between such marks, so that its first line
/// begins and its last one ends there. All positions stay.
pub fn with_ends_of_strings(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if *byte == b'"' { b'\n' } else { *byte }).collect()
}

/// Returns the length of the escape that begins with this many backslashes, and what it stands for.
fn escape(rest: &[u8], slashes: usize) -> Unit {
    let hex = |digits: Option<&[u8]>| u32::from_str_radix(std::str::from_utf8(digits?).ok()?, 16).ok();
    let (length, meaning) = match &rest[slashes..] {
        [b'u', digits @ ..] => {
            let first = hex(digits.get(..4))?;
            match second_half(first, digits.get(4..).unwrap_or_default(), slashes) {
                Some(code) => (slashes + 10, of_code(code)),
                None => (5, of_code(first)),
            }
        }
        [b'x', digits @ ..] => (3, of_code(hex(digits.get(..2))?)),
        [b'n', ..] => (1, Meaning::byte(b'\n')),
        [b't', ..] => (1, Meaning::byte(b'\t')),
        [b'r', ..] => (1, Meaning::byte(b'\r')),
        [b'b', ..] => (1, Meaning::byte(INVISIBLE)),
        [b'f', ..] => (1, Meaning::byte(b' ')),
        [other, ..] if other.is_ascii_punctuation() && !matches!(other, b'<' | b'>') => (1, Meaning::byte(*other)),
        _ => return None,
    };
    Some((slashes + length, meaning))
}

/// Returns the character of two escapes of which `first` is the code of the first, and `rest` begins with the second, if they
/// are the halves of one.
fn second_half(first: u32, rest: &[u8], slashes: usize) -> Option<u32> {
    let is_first = (0xD800..0xDC00).contains(&first);
    let digits = rest.get(slashes..).filter(|_| is_first && rest[..slashes].iter().all(|byte| *byte == b'\\'));
    let [b'u', digits @ ..] = digits? else { return None };
    let second = u32::from_str_radix(std::str::from_utf8(digits.get(..4)?).ok()?, 16).ok()?;
    (0xDC00..0xE000).contains(&second).then(|| 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
}

/// Returns what stands for a character in a view.
fn of_code(code: u32) -> Meaning {
    match code {
        0x9B => Meaning::byte(CONTROL),
        0x80..=0x84 | 0x86..=0x9F | 0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 => {
            Meaning::byte(INVISIBLE)
        }
        0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E | 0xFE00..=0xFE0F => Meaning::byte(INVISIBLE),
        0x2060..=0x2069 | 0xFEFF => Meaning::byte(INVISIBLE),
        0xFFF9..=0xFFFB | 0xE0000..=0xE01EF => Meaning::byte(INVISIBLE),
        // Halves of U+E0000 to U+E01EF that stand apart.
        0xDB40 | 0xDC00..=0xDDEF => Meaning::byte(INVISIBLE),
        _ => char::from_u32(code).map_or(Meaning::UNKNOWN, Meaning::character),
    }
}

/// Returns how to leave out a control sequence of this length, or a character without width.
fn unseen(rest: &[u8], sequence: Option<usize>) -> Unit {
    let length = sequence.unwrap_or_else(|| invisible_bytes(rest));
    (length > 0).then_some((length, Meaning::NOTHING))
}

/// Says whether a control sequence or a character without width can begin with a byte.
fn begins_unseen(byte: u8) -> bool {
    matches!(byte, 1..=8 | 0x0E..=0x1B | 0x7F | 0xC2 | 0xCD | 0xD8 | 0xE1 | 0xE2 | 0xEF | 0xF3 | CONTROL | INVISIBLE)
}

/// Returns the length of the character at the beginning of `text` if it has no width or if readers leave it out, else 0; see
/// `outside`.
fn invisible_bytes(text: &[u8]) -> usize {
    match text {
        [1..=8 | 0x0E..=0x1B | 0x7F | CONTROL | INVISIBLE, ..] => 1,
        [0xC2, 0x80..=0x84 | 0x86..=0x9F | 0xAD, ..] | [0xCD, 0x8F, ..] | [0xD8, 0x9C, ..] => 2,
        [0xE2, 0x80, 0x8B..=0x8F | 0xAA..=0xAE, ..] | [0xE2, 0x81, 0xA0..=0xA9, ..] => 3,
        [0xE1, 0x85, 0x9F | 0xA0, ..] | [0xE1, 0x9E, 0xB4 | 0xB5, ..] | [0xE1, 0xA0, 0x8B..=0x8F, ..] => 3,
        [0xEF, 0xB8, 0x80..=0x8F, ..] | [0xEF, 0xBB, 0xBF, ..] | [0xEF, 0xBF, 0xB9..=0xBB, ..] => 3,
        [0xF3, 0xA0, 0x80 | 0x81 | 0x84..=0x87, _, ..] => 4,
        _ => 0,
    }
}

/// Says whether a text with escapes begins with a character that can be inside a word unseen, or with an escape that
/// can stand for a character of the word.
pub fn hides(text: &[u8]) -> bool {
    match text {
        [b'\\', b'u' | b'x' | b'n' | b'r' | b'b' | b'0' | b'e' | b'\\' | b'/', ..] | [b'\n', ..] => true,
        [byte, ..] if begins_unseen(*byte) => true,
        [b'%', high, low, ..] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        [b'&', next, ..] => *next == b'#' || next.is_ascii_lowercase(),
        _ => false,
    }
}

/// Returns the first position at or after `from` of a character that has no width or begins a control sequence.
pub fn next_hidden(text: &[u8], from: usize) -> Option<usize> {
    let is_hidden = |at: &usize| {
        let rest = &text[*at..];
        begins_unseen(rest[0]) && (rest[0] == 0x1B || invisible_bytes(rest) > 0 || rest.starts_with(&[0xC2, 0x9B]))
    };
    (from..text.len()).find(is_hidden)
}

/// Says whether the beginning of a line can be the rest of a token, and not a name or an assignment.
fn goes_on(rest: &[u8]) -> bool {
    let content = rest.strip_suffix(b"=").unwrap_or(rest);
    let content = content.strip_suffix(b"=").unwrap_or(content);
    !content.contains(&b'=') && !is_code(content)
}

/// Says whether a byte can be at the cut of a token.
fn is_wordy(byte: u8) -> bool {
    is_in(byte, OPAQUE)
}

/// Returns the length of the control sequence at the beginning of `text`.
fn control_bytes(text: &[u8]) -> Option<usize> {
    let run = |from: usize, is_part: &dyn Fn(u8) -> bool| {
        from + text[from..].iter().take(CONTROL_BYTES).take_while(|byte| is_part(**byte)).count()
    };
    let spelled = || SPELLED.iter().find(|spelled| text.starts_with(spelled)).map(|spelled| spelled.len());
    let parameters = match text {
        [0x1B, b'[', ..] | [0xC2, 0x9B, ..] => Some(2),
        [CONTROL, ..] => Some(1),
        // A title or a link ends with another escape character or BEL.
        [0x1B, b']', ..] => {
            let end = 2 + text[2..].iter().take_while(|byte| **byte >= b' ').count();
            return match &text[end..] {
                [0x07, ..] => Some(end + 1),
                [0x1B, b'\\', ..] => Some(end + 2),
                _ => None,
            };
        }
        [0x1B, ..] => None,
        _ => Some(spelled()?),
    };
    let between = parameters.map_or(1, |from| run(from, &|byte| matches!(byte, b'0'..=b'?')));
    let last = run(between, &|byte| matches!(byte, b' '..=b'/'));
    matches!(text.get(last)?, b'0'..=b'~').then_some(last + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_undone_and_found_again() {
        let view = View::unescaped(br#"a\"b\u0041\n\\c\q"#).expect("it has escapes");
        assert_eq!(view.text, b"a\"bA\n\\c\\q");
        assert_eq!(view.source(3..4), 4..10, "the letter that was written as a number");
        assert_eq!(view.source(0..view.text.len()), 0..17);
        let view = View::percent_decoded(b"x%3Dy%zz").expect("it has escapes");
        assert_eq!(view.text, b"x=y%zz");
        assert_eq!(view.source(1..3), 1..5);
    }

    #[test]
    fn a_control_sequence_is_one_space() {
        let cases: &[(&[u8], &[u8])] = &[
            (b"a\x1b[01;31m\x1b[Kb\x1b[mc", b"a  b c"),
            (b"\x1b(B\x1b[38;2;255;255;255;48;2;255;255;255mx", b"  x"),
            (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", b" a b"),
            ("\u{9b}31ma\u{e9}31mb".as_bytes(), " a\u{e9}31mb".as_bytes()),
            (br"\033[31mab\e[0mc\d", br" ab c\d"),
            (b"\x1b]no end", b""),
            (b"\x1b[31", b""),
            ("\u{96db}\u{c9}m".as_bytes(), b""),
        ];
        for (source, text) in cases {
            let view = View::uncoloured(source).map(|view| view.text).unwrap_or_default();
            assert_eq!(view.as_bstr(), text.as_bstr(), "{}", source.as_bstr());
        }
    }

    #[test]
    fn what_readers_leave_out_hides_nothing() {
        let readers = |text: &str| crate::outside::text(text);
        let seen = |source: &[u8]| {
            View::as_read(source).or_else(|| View::visible(source)).map_or(source.to_vec(), |view| view.text)
        };
        let mut left_out = 0;
        for character in (0..=0x0010_FFFF).filter_map(char::from_u32) {
            let text = format!("gh{character}p_ab");
            if readers(&text) != "ghp_ab" {
                continue;
            }
            left_out += 1;
            assert_eq!(seen(text.as_bytes()).as_bstr(), "ghp_ab", "{character:?}");
            let mut units = [0; 2];
            let escaped: String =
                character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let view = View::unescaped(format!("gh{escaped}p_ab").as_bytes()).expect("it has an escape");
            assert_eq!(seen(&view.text).as_bstr(), "ghp_ab", "{escaped}");
        }
        assert!(left_out > 150, "{left_out}");
    }

    #[test]
    fn what_stands_within_a_word_unseen_is_left_out() {
        let view =
            |source: &[u8]| View::visible(source).map(|view| view.text.as_bstr().to_string()).unwrap_or_default();
        assert_eq!(view("gh\u{200b}p_\u{feff}a\u{ad}b\x1b[1mc".as_bytes()), "ghp_abc");
        assert_eq!(view("caf\u{e9} \u{2014}".as_bytes()), "");
        let source = "x\u{200b}ab\u{200b}y".as_bytes();
        let view = View::visible(source).expect("it has some");
        assert_eq!(view.source(1..3), 4..6, "and is no part of what stands beside it");
        let view = View::flattened(br#"a\\\\n\"\\u0041\x42\\ c"#).expect("it has escapes");
        assert_eq!(view.text.as_bstr(), "a\n\"AB\\ c");
    }

    #[test]
    fn a_word_that_was_cut_by_a_terminal_is_one_again() {
        let source = b"export TOKEN=abcdefghijklm0123456789\nn0p1Qr2St3u\nnext line\n";
        let view = View::unwrapped(source, |_| false).expect("one is cut");
        assert_eq!(view.text.as_bstr(), "export TOKEN=abcdefghijklm0123456789n0p1Qr2St3u\nnext line\n");
        let prose = b"the quick brown fox jumps over the lazy\ndog and then goes on to the end\nof the line\n";
        assert!(View::unwrapped(prose, |_| false).is_none());
    }

    proptest! {
        #[test]
        fn every_stretch_leads_back_into_the_source(source in "[a\\\\nxu0246%D&;#\"\\x1b\\[m\\u200b]{0,60}", from in 0usize..40, length in 0usize..10) {
            let source = source.as_bytes();
            let views = [
                View::unescaped(source),
                View::flattened(source),
                View::percent_decoded(source),
                View::of_entities(source),
                View::uncoloured(source),
                View::visible(source),
                View::unwrapped(source, |_| false),
            ];
            for view in views.into_iter().flatten() {
                let end = (from + length).min(view.text.len());
                let span = view.source(from.min(end)..end);
                prop_assert!(span.start <= span.end && span.end <= source.len());
            }
        }
    }
}
