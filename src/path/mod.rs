//! The path language: one way to name a value inside JSON, `[root][key][index]…`.
//!
//! Read [`parse`] for paths, then [`Document`] for the values that they lead to. A path is data: parsed byte by byte,
//! never turned into a file name, a shell word or an option. Errors are the sentences that a caller shows.

mod document;
mod tokens;

pub use self::document::{Document, Keys, Members};
pub use self::tokens::{depth, tokens};

/// The longest path.
const MAX_PATH_BYTES: usize = 64 << 10;
/// The most segments.
const MAX_SEGMENTS: usize = 512;
/// The longest key.
const MAX_KEY_BYTES: usize = 100;
/// The longest revision, which is the second segment behind the roots that take one.
const MAX_REVISION_BYTES: usize = 255;

/// One step of a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    /// The text between the brackets, escapes undone.
    pub text: String,
}

impl Segment {
    /// Returns the number that the segment is: an optional sign and digits, not below zero, within 64 bits.
    pub fn index(&self) -> Option<u64> {
        let digits = self.text.strip_prefix(['+', '-']).unwrap_or(&self.text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok())
    }
}

/// Takes a path apart. `revision_roots` are those whose second segment may be as long as a revision.
///
/// # Errors
///
/// The reason and the byte at which the path is wrong.
pub fn parse(path: &str, revision_roots: &[&str]) -> Result<Vec<Segment>, String> {
    if path.is_empty() {
        return Err("empty path".into());
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("path too long: {} bytes (max {MAX_PATH_BYTES})", path.len()));
    }
    let mut segments: Vec<Segment> = Vec::new();
    let mut current: Option<String> = None;
    let mut is_escaped = false;
    for (position, c) in path.char_indices() {
        if is_escaped {
            is_escaped = false;
            match (&mut current, c) {
                (Some(text), '[' | ']' | '\\') => text.push(c),
                _ => return Err(format!("invalid escape sequence at position {position}")),
            }
            continue;
        }
        match (&mut current, c) {
            (Some(_), '\\') => is_escaped = true,
            (Some(_), '[') => return Err(format!("unexpected '[' at position {position}")),
            (Some(text), ']') => {
                if text.is_empty() {
                    return Err(format!("empty segment at position {position}"));
                }
                let takes_revision = segments.len() == 1 && revision_roots.contains(&segments[0].text.as_str());
                let max = if takes_revision { MAX_REVISION_BYTES } else { MAX_KEY_BYTES };
                let segment = Segment { text: std::mem::take(text) };
                if segment.text.len() > max && segment.index().is_none() {
                    return Err(format!("key too long: {} bytes (max {max})", segment.text.len()));
                }
                segments.push(segment);
                if segments.len() > MAX_SEGMENTS {
                    return Err(format!("too many segments (max {MAX_SEGMENTS})"));
                }
                current = None;
            }
            (Some(_), c) if c.is_ascii_control() => {
                return Err(format!("control character in key at position {position}"));
            }
            (Some(text), c) => text.push(c),
            (None, '[') => current = Some(String::new()),
            (None, c) => return Err(format!("unexpected character '{c}' at position {position}")),
        }
    }
    if is_escaped {
        return Err("trailing escape character".into());
    }
    if current.is_some() {
        return Err("unclosed bracket".into());
    }
    if segments.is_empty() { Err("no segments in path".into()) } else { Ok(segments) }
}

/// Puts segments together to a path.
pub fn render(segments: &[Segment]) -> String {
    segments.iter().fold(String::new(), |mut path, segment| {
        path.push('[');
        for c in segment.text.chars() {
            if matches!(c, '[' | ']' | '\\') {
                path.push('\\');
            }
            path.push(c);
        }
        path.push(']');
        path
    })
}

/// Checks that a path begins with one of some roots, and returns it and what follows.
///
/// # Errors
///
/// If it does not.
pub fn root<'p>(segments: &'p [Segment], roots: &[&'static str]) -> Result<(&'static str, &'p [Segment]), String> {
    let (first, rest) = segments.split_first().ok_or("no segments in path")?;
    if first.index().is_some() {
        return Err("first segment must be file name, not index".into());
    }
    match roots.iter().find(|root| **root == first.text) {
        Some(root) => Ok((root, rest)),
        None => Err(format!("invalid file: {} (allowed: {})", first.text, roots.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOTS: &[&str] = &["arch", "interface", "stories", "issues"];

    #[test]
    fn each_rule_of_the_grammar_has_its_error() {
        for (path, expected) in [
            ("", "empty path"),
            ("arch", "unexpected character 'a' at position 0"),
            ("[arch", "unclosed bracket"),
            ("[arch[[", "unexpected '[' at position 5"),
            ("[arch][]", "empty segment at position 7"),
            ("]", "unexpected character ']' at position 0"),
            ("[arch].modules", "unexpected character '.' at position 6"),
            ("[arch]modules", "unexpected character 'm' at position 6"),
            ("[arch][k\\x]", "invalid escape sequence at position 9"),
            ("[arch]\\", "unexpected character '\\' at position 6"),
            ("[arch][k\\", "trailing escape character"),
            ("[arch][a\u{1}b]", "control character in key at position 8"),
            ("[é][ü]ö", "unexpected character 'ö' at position 8"),
        ] {
            assert_eq!(parse(path, &[]).expect_err(path), expected, "{path}");
        }
        let long = format!("[arch][{}]", "k".repeat(101));
        assert_eq!(parse(&long, &[]).expect_err("long"), "key too long: 101 bytes (max 100)");
        assert!(parse(&long, &["arch"]).is_ok(), "a revision may be longer");
        for (path, expected) in [
            ("[0]", "first segment must be file name, not index"),
            ("[../arch]", "invalid file: ../arch (allowed: arch, interface, stories, issues)"),
            ("[ARCH]", "invalid file: ARCH (allowed: arch, interface, stories, issues)"),
            ("[ arch]", "invalid file:  arch (allowed: arch, interface, stories, issues)"),
        ] {
            assert_eq!(root(&parse(path, &[]).expect(path), ROOTS).expect_err(path), expected);
        }
    }

    #[test]
    fn indexes_are_told_from_keys() {
        let index = |text: &str| Segment { text: text.into() }.index();
        assert_eq!([index("0"), index("01"), index("+1"), index("-0")], [Some(0), Some(1), Some(1), Some(0)]);
        for key in ["-1", "1.0", "0x1", "９", "99999999999999999999", "+", "", "1 "] {
            assert_eq!(index(key), None, "{key}");
        }
    }

    #[test]
    fn walking_finds_what_is_there_and_says_what_is_not() {
        let text = r#" {"modules":[{"name":"main","n":1.50,"n":2e400},{"0":"zero"},[]], "key[0]":null} "#;
        let document = Document::new(text).expect("it parses");
        let at = |path: &str| document.walk(&parse(path, &[]).expect(path), 0);
        assert_eq!(at("[modules]").expect("there").keys(), Ok(Keys::List(3)));
        assert_eq!(at("[modules][0]").expect("there").keys(), Ok(Keys::Dict(vec!["name".into(), "n".into()])));
        assert_eq!(at("[modules][0]").expect("there").compact().as_deref(), Ok(r#"{"name":"main","n":2e400}"#));
        assert_eq!(at("[modules][1][0]").expect("there").compact().as_deref(), Ok(r#""zero""#));
        assert_eq!(at("[key\\[0\\]]").expect("there").compact().as_deref(), Ok("null"));
        assert_eq!(at("[modules][2]").expect("there").keys(), Ok(Keys::List(0)));
        let error = |path: &str| at(path).expect_err(path);
        assert_eq!(error("[modules][-1]"), "segment 1: expected object, got array");
        assert_eq!(error("[modules][99]"), "segment 1: index 99 out of bounds (length 3)");
        assert_eq!(error("[modules][0][x]"), "segment 2: key 'x' not found");
        assert_eq!(error("[modules][0][name][0]"), "segment 3: expected array, got string");
        assert_eq!(error("[modules][0][n][x]"), "segment 3: expected object, got number");
        let scalar = at("[modules][0][name]").expect("there").keys();
        assert_eq!(scalar, Err("value is not a dict or list, it is a string".into()));
        for bad in ["", "{", "{} x", "\u{feff}{}", "[1,]"] {
            assert!(Document::new(bad).is_err(), "{bad}");
        }
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(Document::new(&nested(512)).expect("deep").compact().is_ok());
        assert!(Document::new(&nested(513)).is_err() && Document::new(&nested(1_000_000)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_rendered_parses_to_the_same(texts in proptest::collection::vec("[^\\x00-\\x1f\\x7f]{1,20}", 1..6)) {
            let segments: Vec<Segment> = texts.into_iter().map(|text| Segment { text }).collect();
            prop_assert_eq!(parse(&render(&segments), &[]), Ok(segments));
        }

        #[test]
        fn no_text_is_too_strange(path in any::<String>(), json in any::<String>()) {
            let segments = parse(&path, &[]);
            if let (Ok(segments), Ok(document)) = (segments, Document::new(&json)) {
                let _ = document.walk(&segments, 0).and_then(Document::compact);
            }
        }
    }
}
