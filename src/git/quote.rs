//! Paths as Git quotes them in what it prints.

use bstr::{BStr, BString};

/// Returns a path that Git has printed, without its quotes and escapes, as Git's `quote.c` writes them.
pub fn unquoted(path: &BStr) -> BString {
    let Some(inner) = path.strip_prefix(b"\"").and_then(|path| path.strip_suffix(b"\"")) else { return path.into() };
    let mut plain = BString::default();
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        plain.push(match rest.next().unwrap_or(b'\\') {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            digit @ b'0'..=b'3' => {
                let mut next = || rest.next().unwrap_or(b'0').wrapping_sub(b'0') & 7;
                ((digit - b'0') << 6) | (next() << 3) | next()
            }
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_path_is_read_as_git_wrote_it() {
        let plain = |path: &str| unquoted(path.into());
        assert_eq!(plain("src/a b.rs"), "src/a b.rs");
        assert_eq!(plain(r#""a\"b\\c\td\303\251""#), "a\"b\\c\tdé");
        assert_eq!(plain("\"a\\"), "\"a\\", "no end, no quote");
    }
}
