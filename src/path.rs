//! The path language: one way to name a value inside JSON, `[root][key][index]…`.
//!
//! Read [`parse`] and [`Document`]. A path is data: parsed byte by byte, never turned into a file name, a shell word or
//! an option. Errors are the sentences that a caller shows.

use bstr::ByteSlice as _;
use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The longest path.
const MAX_PATH_BYTES: usize = 64 << 10;
/// The most segments.
const MAX_SEGMENTS: usize = 512;
/// The longest key.
const MAX_KEY_BYTES: usize = 100;
/// The longest revision, which is the second segment behind the roots that take one.
const MAX_REVISION_BYTES: usize = 255;
/// How deep nesting is followed.
const MAX_DEPTH: usize = 512;

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
/// What is wrong with the path, and at which byte.
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

/// What the keys of a value are.
#[derive(Debug, Eq, PartialEq)]
pub enum Keys {
    /// Of an object, in the order of the text.
    Dict(Vec<String>),
    /// The length of an array.
    List(usize),
}

/// A value in the text of a JSON document. Only what a path leads through is taken apart; the rest is skipped over.
#[derive(Clone, Copy, Debug)]
pub struct Document<'t> {
    raw: &'t RawValue,
}

/// The names and values of an object's members as they are spelt, in their order.
pub struct Members<'t>(pub Vec<(&'t RawValue, &'t RawValue)>);

impl<'t> Document<'t> {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// If the text is not one JSON value.
    pub fn new(text: &'t str) -> Result<Self, String> {
        let raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if depth(text.as_bytes()) > MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(Document { raw })
    }

    /// Returns the text of the value as it is spelt.
    pub fn text(self) -> &'t str {
        self.raw.get()
    }

    fn read<T: Deserialize<'t>>(self) -> Result<T, String> {
        serde_json::from_str(self.text()).map_err(|error| error.to_string())
    }

    /// Returns the name of the value's type.
    pub fn kind(self) -> &'static str {
        match self.text().as_bytes().first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        }
    }

    /// Returns the members of an object; of those with one name the last counts.
    ///
    /// # Errors
    ///
    /// If the value is no object, or a name cannot be read.
    pub fn members(self) -> Result<IndexMap<String, Document<'t>>, String> {
        let members = self.read::<Members<'t>>()?.0.into_iter();
        members.map(|(name, raw)| Ok((Document { raw: name }.string()?, Document { raw }))).collect()
    }

    /// Returns the items of an array.
    ///
    /// # Errors
    ///
    /// If the value is none.
    pub fn items(self) -> Result<Vec<Document<'t>>, String> {
        Ok(self.read::<Vec<&'t RawValue>>()?.into_iter().map(|raw| Document { raw }).collect())
    }

    /// Returns the text that a string stands for.
    ///
    /// # Errors
    ///
    /// If the value is no string, or has an escape that stands for no character.
    pub fn string(self) -> Result<String, String> {
        self.read()
    }

    /// Follows a path whose segments are counted from `first` on.
    ///
    /// # Errors
    ///
    /// Which segment leads nowhere, and why.
    pub fn walk(self, segments: &[Segment], first: usize) -> Result<Self, String> {
        let mut here = self;
        for (number, segment) in (first..).zip(segments) {
            here = match (here.kind(), segment.index()) {
                ("object", _) => {
                    let found = here.members()?.get(&segment.text).copied();
                    found.ok_or_else(|| format!("segment {number}: key '{}' not found", segment.text))?
                }
                ("array", Some(index)) => {
                    let items = here.items()?;
                    let found = usize::try_from(index).ok().and_then(|index| items.get(index).copied());
                    found.ok_or_else(|| {
                        format!("segment {number}: index {index} out of bounds (length {})", items.len())
                    })?
                }
                (kind, Some(_)) => return Err(format!("segment {number}: expected array, got {kind}")),
                (kind, None) => return Err(format!("segment {number}: expected object, got {kind}")),
            };
        }
        Ok(here)
    }

    /// Returns the keys of an object or the length of an array.
    ///
    /// # Errors
    ///
    /// If the value is neither.
    pub fn keys(self) -> Result<Keys, String> {
        match self.kind() {
            "object" => Ok(Keys::Dict(self.members()?.into_keys().collect())),
            "array" => Ok(Keys::List(self.items()?.len())),
            kind => Err(format!("value is not a dict or list, it is a {kind}")),
        }
    }

    /// Returns the value as compact JSON: numbers as they are written, keys in their order, of double ones the last.
    ///
    /// # Errors
    ///
    /// If a text in it has an escape that stands for no character.
    pub fn compact(self) -> Result<String, String> {
        let mut text = String::new();
        self.write(&mut text)?;
        Ok(text)
    }

    fn write(self, text: &mut String) -> Result<(), String> {
        match self.kind() {
            "object" => {
                text.push('{');
                for (number, (key, member)) in self.members()?.into_iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::Value::from(key).to_string());
                    text.push(':');
                    member.write(text)?;
                }
                text.push('}');
            }
            "array" => {
                text.push('[');
                for (number, item) in self.items()?.into_iter().enumerate() {
                    if number > 0 {
                        text.push(',');
                    }
                    item.write(text)?;
                }
                text.push(']');
            }
            "string" => {
                text.push_str(&serde_json::Value::from(self.string()?).to_string());
            }
            _ => text.push_str(self.text()),
        }
        Ok(())
    }
}

/// Returns the tokens of a JSON text: strings, brackets, commas, colons and what else is not whitespace. Any text has some.
pub fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let length = match rest.first()? {
            b'"' => string_length(rest),
            b'[' | b']' | b'{' | b'}' | b',' | b':' => 1,
            _ => rest.find_byteset(b"\"[]{},: \t\n\r\x0c").unwrap_or(rest.len()),
        };
        let token;
        (token, rest) = rest.split_at(length);
        Some(token)
    })
}

/// Returns the length of the string that a text begins with; one that does not end takes all of it.
fn string_length(text: &[u8]) -> usize {
    let mut length = 1;
    while let Some(found) = text.get(length..).and_then(|rest| rest.find_byteset(b"\"\\")) {
        length += found + 1;
        if text[length - 1] == b'"' {
            return length;
        }
        // What follows a backslash ends nothing.
        length += 1;
    }
    text.len()
}

/// Returns how deep a JSON text is nested.
pub fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for token in tokens(text) {
        match token {
            b"[" | b"{" => depth += 1,
            b"]" | b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
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
