//! Bytes as hex digits, and back.

use twox_hash::XxHash3_64;

/// Returns bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the XXH3 of bytes as 16 hex digits: a short name for a long one.
pub fn xxh3(bytes: &[u8]) -> String {
    hex(&XxHash3_64::oneshot(bytes).to_be_bytes())
}

/// Returns the bytes that lower-case hex digits stand for; `None` for any other text.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    let half = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let byte = |[high, low]: &[u8; 2]| Some(half(*high)? << 4 | half(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{hex, unhex};

    #[test]
    fn digits_are_read_back_and_nothing_else_is() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        for other in ["0", "0g", "+1", "0A", "é"] {
            assert_eq!(unhex(other), None, "{other}");
        }
    }
}
