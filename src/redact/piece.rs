//! The parts of a token after its first word.

use std::ops::Range;

use super::class::{ALNUM, Class, OPAQUE, is_in};
use super::text::Text;
use super::value;

/// A part of a token after its first word.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// Exactly these bytes.
    Is(&'static str),
    /// A run of bytes of a class, with its least and greatest length; as long as possible.
    Run(Class, usize, usize),
    /// A UUID.
    Uuid,
}

/// The longest name around a word, and the largest distance from a name to its value.
pub const NAME_BYTES: usize = 48;

/// Returns the end of the pieces, if all of them match and the last run is not longer than allowed.
pub fn pieces_end(text: &mut Text<'_>, from: usize, pieces: &[Piece]) -> Option<usize> {
    let mut at = from;
    for piece in pieces {
        match piece {
            Piece::Is(literal) => {
                at += text.bytes.get(at..)?.strip_prefix(literal.as_bytes()).map(|_| literal.len())?
            }
            Piece::Run(class, min, max) => {
                let end = text.end(*class, at);
                if end - at < *min || end - at > *max {
                    return None;
                }
                at = end;
            }
            Piece::Uuid => {
                at += 36;
                if !value::is_uuid(text.bytes.get(at - 36..at)?) {
                    return None;
                }
            }
        }
    }
    // A run of a small class must not be followed by letters either.
    if at > from && is_in(text.bytes[at - 1], ALNUM) && text.at(at).is_some_and(|byte| is_in(byte, ALNUM)) {
        return None;
    }
    // A random run of this length never has only letters of one case.
    let is_wordy = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    if at - from >= 16 && text.bytes[from..at].iter().all(is_wordy) {
        return None;
    }
    (at - from < 8 || !value::is_placeholder(&text.bytes[from..at])).then_some(at)
}

/// Returns the characters of a token from `at` on, with padding.
pub fn opaque(text: &mut Text<'_>, at: usize) -> Range<usize> {
    let run = text.end(OPAQUE, at);
    let end = text.next(b'=', at).min(run);
    let padded = text.skip(end, 2, |byte| byte == b'=');
    at..if padded == run { padded } else { end }
}
