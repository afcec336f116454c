//! Views: a line with its escapes undone, and the way back to the bytes it was made of.

use std::ops::Range;

use bstr::ByteSlice as _;

/// What `\u009b` is in a view: the beginning of a control sequence, as a byte that no text has.
const CONTROL: u8 = 0xFF;
/// What is longer than that is no control sequence.
const CONTROL_BYTES: usize = 64;
/// How programs spell the beginning of a control sequence.
const SPELLED: &[&[u8]] = &[b"\\x1b[", b"\\x1B[", b"\\033[", b"\\e["];

/// A text made from another by undoing escapes.
pub struct View {
    /// The text without its escapes; what was no ASCII is one byte of value 0x80.
    pub text: Vec<u8>,
    /// Where a stretch of the text begins, and where in the source; between two of them both run alike.
    anchors: Vec<(usize, usize)>,
    source_len: usize,
}

impl View {
    /// Undoes backslash escapes as JSON has them, and those few that other languages share. `None` if there are none.
    ///
    /// Quotes stand for themselves, so strings within JSON within strings come apart like any others.
    pub fn unescaped(source: &[u8]) -> Option<View> {
        source.contains(&b'\\').then(|| {
            View::made(source, |rest| match rest {
                [b'\\', b'u', hex @ ..] => {
                    let code =
                        hex.get(..4).and_then(|hex| u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
                    let byte = |code| match u8::try_from(code) {
                        Ok(0x9B) => CONTROL,
                        Ok(byte) if byte.is_ascii() => byte,
                        _ => 0x80,
                    };
                    code.map(|code| (6, byte(code)))
                }
                [b'\\', byte, ..] => Some((
                    2,
                    match byte {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'b' | b'f' => b' ',
                        other if other.is_ascii_punctuation() => *other,
                        _ => return None,
                    },
                )),
                _ => None,
            })
        })
    }

    /// Undoes percent-encoding. `None` if there is none.
    pub fn percent_decoded(source: &[u8]) -> Option<View> {
        let is_encoded =
            source.windows(3).any(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit());
        is_encoded.then(|| {
            View::made(source, |rest| match rest {
                [b'%', high, low, ..] => {
                    let digit = |byte: &u8| char::from(*byte).to_digit(16);
                    let byte = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
                    Some((3, if byte.is_ascii() { byte } else { 0x80 }))
                }
                _ => None,
            })
        })
    }

    /// Puts a space in the place of each control sequence of a terminal, so that its last letter is no part of the word
    /// behind it. `None` if there are none.
    pub fn uncoloured(source: &[u8]) -> Option<View> {
        let is_begun = source.iter().any(|byte| matches!(byte, 0x1B | 0x9B | &CONTROL))
            || (source.contains(&b'\\') && SPELLED.iter().any(|spelled| source.contains_str(spelled)));
        let view = is_begun.then(|| View::made(source, |rest| Some((control_bytes(rest)?, b' '))))?;
        (view.anchors.len() > 1).then_some(view)
    }

    /// Makes a view; `unit` says for a rest of the source how long the escape at its beginning is and what it stands
    /// for.
    fn made(source: &[u8], unit: impl Fn(&[u8]) -> Option<(usize, u8)>) -> View {
        let mut view = View { text: Vec::with_capacity(source.len()), anchors: vec![(0, 0)], source_len: source.len() };
        let mut at = 0;
        while at < source.len() {
            let run = source[at..].iter().position(|byte| is_special(*byte)).unwrap_or(source.len() - at);
            view.text.extend_from_slice(&source[at..at + run]);
            at += run;
            if at == source.len() {
                break;
            }
            match unit(&source[at..]) {
                Some((length, byte)) => {
                    view.anchors.push((view.text.len(), at));
                    view.text.push(byte);
                    at += length;
                    view.anchors.push((view.text.len(), at));
                }
                None => {
                    view.text.push(source[at]);
                    at += 1;
                }
            }
        }
        view
    }

    /// Returns the bytes of the source that a stretch of the text was made of.
    pub fn source(&self, span: Range<usize>) -> Range<usize> {
        self.source_of(span.start)..self.source_of(span.end)
    }

    fn source_of(&self, position: usize) -> usize {
        if position >= self.text.len() {
            return self.source_len;
        }
        let next = self.anchors.partition_point(|(at, _)| *at <= position);
        let (at, source) = self.anchors[next - 1];
        source + (position - at)
    }
}

/// Says whether something can begin here that stands for something else.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | 0x1B | 0xC2 | CONTROL)
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
        // A title or a link: all up to its end, which another escape character or BEL is.
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
            (br"\033[31ma\x1b[Kb\e[0mc\d", br" a b c\d"),
            (b"\x1b]no end", b""),
            (b"\x1b[31", b""),
            ("\u{96db}\u{c9}m".as_bytes(), b""),
        ];
        for (source, text) in cases {
            let view = View::uncoloured(source).map(|view| view.text).unwrap_or_default();
            assert_eq!(view.as_bstr(), text.as_bstr(), "{}", source.as_bstr());
        }
    }

    proptest! {
        #[test]
        fn every_stretch_leads_back_into_the_source(source in "[a\\\\nu04%D\"\\x1b\\[;m]{0,40}", from in 0usize..40, length in 0usize..10) {
            let source = source.as_bytes();
            let views = [View::unescaped(source), View::percent_decoded(source), View::uncoloured(source)];
            for view in views.into_iter().flatten() {
                let end = (from + length).min(view.text.len());
                let span = view.source(from.min(end)..end);
                prop_assert!(span.start <= span.end && span.end <= source.len());
            }
        }
    }
}
