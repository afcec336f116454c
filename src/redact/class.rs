//! Bytes by class.

/// A set of bytes, as bits of [`CLASSES`].
pub type Class = u32;

const DIGIT: Class = 1;
const LOWER: Class = 1 << 1;
const UPPER: Class = 1 << 2;
const A_TO_F: Class = 1 << 3;
const UPPER_A_TO_F: Class = 1 << 4;
const UNDERSCORE: Class = 1 << 5;
const DASH: Class = 1 << 6;
const PLUS_SLASH: Class = 1 << 7;
/// A dot.
pub const DOT: Class = 1 << 8;
/// An equals sign.
pub const EQUALS: Class = 1 << 9;
/// A tilde.
pub const TILDE: Class = 1 << 10;
/// A percent sign.
pub const PERCENT: Class = 1 << 11;
const OTHER: Class = 1 << 12;
const ANGLE: Class = 1 << 13;
const QUOTE: Class = 1 << 14;
const BACKSLASH: Class = 1 << 15;
const DOLLAR_COMMA: Class = 1 << 16;

/// Decimal digits.
pub const DIGITS: Class = DIGIT;
/// Lower-case hex digits.
pub const HEX: Class = DIGIT | A_TO_F;
/// Hex digits of either case.
pub const ANYHEX: Class = HEX | UPPER_A_TO_F;
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
/// The digits of base64 of either kind, with padding and the signs that stand between parts of a token.
pub const OPAQUE: Class = DOTTED | B64 | EQUALS | TILDE;
/// The bytes of [`OPAQUE`], percent-encoded or not.
pub const ENCODED: Class = OPAQUE | PERCENT;
/// The bytes of a password hash: parameters, salt and digest between `$`.
pub const PHC: Class = OPAQUE | DOLLAR_COMMA;
/// The bytes of a URL.
pub const URL: Class = ENCODED | OTHER | DOLLAR_COMMA;
/// Printable characters without quotes and backslashes.
pub const VALUE: Class = URL | ANGLE;

/// The classes of each byte; bytes above ASCII have none.
const CLASSES: [Class; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => LOWER | A_TO_F,
            b'g'..=b'z' => LOWER,
            b'A'..=b'F' => UPPER | UPPER_A_TO_F,
            b'G'..=b'Z' => UPPER,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'+' | b'/' => PLUS_SLASH,
            b'.' => DOT,
            b'=' => EQUALS,
            b'~' => TILDE,
            b'%' => PERCENT,
            b'<' | b'>' | b'|' => ANGLE,
            b'"' | b'\'' | b'`' => QUOTE,
            b'\\' => BACKSLASH,
            b'$' | b',' => DOLLAR_COMMA,
            b'!'..=b'}' => OTHER,
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
