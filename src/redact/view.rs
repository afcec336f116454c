//! Views: a line with its escapes undone, and the way back to the bytes it was made of.

use std::ops::Range;

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
                    code.map(|code| (6, u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(0x80)))
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

    /// Makes a view; `unit` says for a rest of the source how long the escape at its beginning is and what it stands
    /// for.
    fn made(source: &[u8], unit: impl Fn(&[u8]) -> Option<(usize, u8)>) -> View {
        let mut view = View { text: Vec::with_capacity(source.len()), anchors: vec![(0, 0)], source_len: source.len() };
        let mut at = 0;
        while at < source.len() {
            let run = source[at..].iter().position(|byte| matches!(byte, b'\\' | b'%')).unwrap_or(source.len() - at);
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

    proptest! {
        #[test]
        fn every_stretch_leads_back_into_the_source(source in "[a\\\\nu04%D\"]{0,40}", from in 0usize..40, length in 0usize..10) {
            for view in [View::unescaped(source.as_bytes()), View::percent_decoded(source.as_bytes())].into_iter().flatten() {
                let end = (from + length).min(view.text.len());
                let span = view.source(from.min(end)..end);
                prop_assert!(span.start <= span.end && span.end <= source.len());
            }
        }
    }
}
