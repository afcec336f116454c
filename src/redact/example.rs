//! Examples: secrets generated from a pattern at run time, so that no scanner finds secrets in this source.

/// Expands a pattern: `{a36}` is 36 letters and digits, and likewise `h` for hex digits, `H` for upper-case ones, `u`
/// for upper-case letters and digits, `l` for lower-case ones, `d` for digits, `b` for base64, `_` for base64url. The
/// same pattern always gives the same text; `{{` is a literal `{`.
pub fn expand(pattern: &str) -> String {
    let mut state = pattern
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let run = after.split_once('}').and_then(|(run, after)| {
            let digits = match run.as_bytes().first()? {
                b'a' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
                b'h' => "0123456789abcdef",
                b'H' => "0123456789ABCDEF",
                b'u' => "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                b'l' => "0123456789abcdefghijklmnopqrstuvwxyz",
                b'd' => "0123456789",
                b'b' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/",
                b'_' => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_",
                _ => return None,
            };
            Some((digits.as_bytes(), run[1..].parse::<usize>().ok()?, after))
        });
        let Some((digits, count, after)) = run else {
            text.push('{');
            rest = after.strip_prefix('{').unwrap_or(after);
            continue;
        };
        for place in 0..count {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let digit = digits[(state >> 11) as usize % digits.len()];
            // A token begins and ends with a letter or digit.
            let is_edge = place == 0 || place + 1 == count;
            text.push(char::from(if is_edge && !digit.is_ascii_alphanumeric() { b'7' } else { digit }));
        }
        rest = after;
    }
    text + rest
}
