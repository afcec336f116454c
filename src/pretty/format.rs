//! `--format=<placeholders>`: Git's short placeholders where they mean the same, named ones for our own fields.

use super::Style;
use super::rows::main_sessions;
use crate::error::{Error, Result};
use crate::git::Person;
use crate::outside;
use crate::record::{Listed, Summary};
use bstr::ByteSlice as _;

/// A format, taken apart once and used for every commit.
#[derive(Clone, Debug)]
pub struct Format {
    pieces: Vec<Piece>,
    has_separator: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(Vec<u8>),
    Field(String),
}

/// The placeholders of Git that mean the same here.
const SHORT: &[&str] = &[
    "H", "h", "T", "P", "an", "ae", "ad", "aI", "at", "as", "ar", "cn", "ce", "cd", "cI", "ct", "cs", "cr", "s", "b",
    "B",
];
/// Our own placeholders.
const NAMED: &[&str] =
    &["agent", "model", "session", "messages", "turns", "prompt", "summary", "time", "tokens:input", "tokens:output"];

/// The formats of Git that have a name, in placeholders: each commit but the first comes after a blank line, as it does
/// in Git.
const PRETTY: &[(&str, &str)] = &[
    ("oneline", "tformat:%H %s"),
    ("reference", "tformat:%h (%s, %as)"),
    ("short", "format:commit %H%n%(merge)Author: %an <%ae>%n%n    %s%n"),
    ("medium", "format:commit %H%n%(merge)Author: %an <%ae>%nDate:   %ad%n%n%(message)"),
    ("full", "format:commit %H%n%(merge)Author: %an <%ae>%nCommit: %cn <%ce>%n%n%(message)"),
    (
        "fuller",
        "format:commit %H%n%(merge)Author:     %an <%ae>%nAuthorDate: %ad%nCommit:     %cn <%ce>%nCommitDate: %cd%n%n%(message)",
    ),
];
/// Parts of these formats that have no placeholder.
const PARTS: &[&str] = &["merge", "message"];

impl Format {
    /// Takes apart what `--format=` says: the name of a format, or placeholders.
    ///
    /// # Errors
    ///
    /// If it is neither, as in Git.
    pub fn named(text: &str) -> Result<Self> {
        if let Some((_, format)) = PRETTY.iter().find(|(name, _)| *name == text) {
            return Ok(Format::take_apart(format, &[NAMED, PARTS].concat()));
        }
        let has_placeholders = text.contains('%') || text.starts_with("format:") || text.starts_with("tformat:");
        if has_placeholders || text.is_empty() {
            return Ok(Format::parse(text));
        }
        let names: Vec<&str> = PRETTY.iter().map(|(name, _)| *name).collect();
        Err(Error::other(format!("invalid --pretty format: {text}"))
            .hint(format!("placeholders, or one of: {}", names.join(", "))))
    }

    /// Takes a format apart. `format:` puts line ends between commits, `tformat:` and anything else after each.
    pub fn parse(text: &str) -> Self {
        Self::take_apart(text, NAMED)
    }

    fn take_apart(text: &str, names: &[&str]) -> Self {
        let (text, has_separator) = match text.strip_prefix("format:") {
            Some(rest) => (rest, true),
            None => (text.strip_prefix("tformat:").unwrap_or(text), false),
        };
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            literal.extend_from_slice(&rest.as_bytes()[..at]);
            let after = &rest[at + 1..];
            let (used, piece) = placeholder(after, names);
            match piece {
                Piece::Literal(bytes) => literal.extend(bytes),
                field => {
                    pieces.extend([Piece::Literal(std::mem::take(&mut literal)), field]);
                }
            }
            rest = &after[used..];
        }
        literal.extend_from_slice(rest.as_bytes());
        pieces.push(Piece::Literal(literal));
        Format { pieces, has_separator }
    }

    /// Says whether line ends stand between commits rather than after each.
    pub fn has_separator(&self) -> bool {
        self.has_separator
    }

    /// Returns what a commit looks like in this format.
    pub fn expand(&self, listed: &Listed, mut abbreviate: impl FnMut() -> String, style: &Style) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => bytes.extend_from_slice(literal),
                Piece::Field(name) => bytes.extend(field(name, listed, &mut abbreviate, style)),
            }
        }
        bytes
    }
}

/// Reads the placeholder that follows a `%`: how many bytes it has, and what it stands for.
fn placeholder(after: &str, names: &[&str]) -> (usize, Piece) {
    let literal = |used: usize, bytes: &[u8]| (used, Piece::Literal(bytes.to_vec()));
    if after.starts_with('%') {
        return literal(1, b"%");
    }
    if after.starts_with('n') {
        return literal(1, b"\n");
    }
    if let Some(byte) = after.strip_prefix('x').and_then(|hex| u8::from_str_radix(hex.get(..2)?, 16).ok()) {
        return literal(3, &[byte]);
    }
    if let Some(name) = after.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(name, _)| name)
        && names.contains(&name)
    {
        return (name.len() + 2, Piece::Field(format!("({name})")));
    }
    match SHORT.iter().find(|short| after.starts_with(**short)) {
        Some(short) => (short.len(), Piece::Field((*short).to_owned())),
        None => literal(0, b"%"),
    }
}

fn field(name: &str, listed: &Listed, mut abbreviate: impl FnMut() -> String, style: &Style) -> Vec<u8> {
    let commit = &listed.commit;
    match name {
        "(merge)" if commit.parent_ids.len() > 1 => {
            let parents: Vec<String> = commit
                .parent_ids
                .iter()
                .map(|id| id.to_hex_with_len(short_id_len(&mut abbreviate)).to_string())
                .collect();
            return format!("Merge: {}\n", parents.join(" ")).into();
        }
        "(merge)" => return Vec::new(),
        "(message)" => {
            let text = outside::text(&commit.message.to_str_lossy());
            return text.trim_end().lines().map(|line| format!("    {line}\n")).collect::<String>().into();
        }
        _ => {}
    }
    let mut names = name.chars();
    match (names.next(), names.as_str()) {
        (Some('H'), _) => commit.commit_id.to_string().into(),
        (Some('h'), _) => abbreviate().into(),
        (Some('T'), _) => commit.tree_id.to_string().into(),
        (Some('P'), _) => commit.parent_ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ").into(),
        (Some('a'), what) => person(&commit.author, what, style),
        (Some('c'), what) => person(&commit.committer, what, style),
        (Some('s'), _) => outside::line(&commit.subject().to_str_lossy()).into(),
        (Some('b'), _) => outside::text(&commit.body().to_str_lossy()).into(),
        (Some('B'), _) => outside::text(&commit.message.to_str_lossy()).into(),
        _ => outside::line(&own(name, &listed.summaries)).into(),
    }
}

/// Returns how many digits an abbreviated id has.
fn short_id_len(abbreviate: &mut impl FnMut() -> String) -> usize {
    abbreviate().len()
}

fn person(person: &Person, what: &str, style: &Style) -> Vec<u8> {
    use crate::git::date;
    let shown = |name: &str| date::Format::parse(name).unwrap_or_default().show(person.time).into_bytes();
    match what {
        "n" => outside::line(&person.name.to_str_lossy()).into(),
        "e" => outside::line(&person.email.to_str_lossy()).into(),
        "I" => date::Format::STRICT.show(person.time).into(),
        "t" => shown("unix"),
        "s" => date::Format::SHORT.show(person.time).into(),
        "r" => shown("relative"),
        _ => style.date.show(person.time).into(),
    }
}

fn own(name: &str, summaries: &[Summary]) -> String {
    let join = |get: fn(&Summary) -> Option<String>| {
        let mut values: Vec<String> = Vec::new();
        for value in summaries.iter().filter_map(get) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values.join(",")
    };
    let sum = |get: fn(&Summary) -> u64| main_sessions(summaries).map(get).fold(0, u64::saturating_add).to_string();
    let tokens =
        |get: fn(&Summary) -> Option<u64>| summaries.iter().filter_map(get).fold(0, u64::saturating_add).to_string();
    match name {
        "(agent)" => join(|summary| Some(summary.key.agent.clone())),
        "(model)" => join(|summary| summary.model.clone()),
        "(session)" => join(|summary| Some(summary.key.id.clone())),
        "(time)" => join(|summary| Some(summary.time.clone())),
        "(messages)" => sum(|summary| summary.messages),
        "(turns)" => sum(|summary| summary.turns),
        "(tokens:input)" => tokens(|summary| summary.tokens.map(|tokens| tokens.input)),
        "(tokens:output)" => tokens(|summary| summary.tokens.map(|tokens| tokens.output)),
        "(prompt)" => summaries.iter().find_map(|summary| summary.prompt.clone()).unwrap_or_default(),
        "(summary)" => summaries.iter().find_map(|summary| summary.summary.clone()).unwrap_or_default(),
        other => format!("%{other}"),
    }
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice as _;

    use super::*;

    #[test]
    fn unknown_placeholders_stand_as_they_are() {
        let pieces = Format::parse("%z %(nope) %% %n %x41 100%").pieces;
        let [Piece::Literal(literal)] = &pieces[..] else { panic!("no field in there: {pieces:?}") };
        assert_eq!(literal.as_bstr(), "%z %(nope) % \n A 100%");
        assert!(Format::parse("format:%H").has_separator() && !Format::parse("%H").has_separator());
    }
}
