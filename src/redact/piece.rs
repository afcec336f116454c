//! The parts of a token behind the word that announces it.

use std::ops::Range;

use super::class::{ALNUM, Class, OPAQUE, is_in};
use super::text::Text;
use super::value;

/// A part of a token behind the word that announces it.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// Exactly this.
    Is(&'static str),
    /// From so many to so many bytes of a class, as many as there are.
    Run(Class, usize, usize),
    /// A UUID.
    Uuid,
}

/// The longest name around a word, and the longest way from a name to its value.
pub const NAME_BYTES: usize = 48;

/// Returns where the pieces end, if all are there and the last run is not longer than it may be.
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
    // Nor does a run of a small class end where letters go on.
    if at > from && is_in(text.bytes[at - 1], ALNUM) && text.at(at).is_some_and(|byte| is_in(byte, ALNUM)) {
        return None;
    }
    // Of what is random, so many are never letters of one case alone.
    let is_wordy = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
    if at - from >= 16 && text.bytes[from..at].iter().all(is_wordy) {
        return None;
    }
    (at - from < 8 || !value::is_placeholder(&text.bytes[from..at])).then_some(at)
}

/// Returns the signs of a token from `at` on, padding behind them included.
pub fn opaque(text: &mut Text<'_>, at: usize) -> Range<usize> {
    let run = text.end(OPAQUE, at);
    let end = text.next(b'=', at).min(run);
    let padded = text.skip(end, 2, |byte| byte == b'=');
    at..if padded == run { padded } else { end }
}
