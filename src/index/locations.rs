//! Where the issues of the index stand: a file, a line, and a word that is on that line. Code moves, so the word is looked
//! for near the line too.

use std::path::{Component, Path};

use bstr::ByteSlice as _;

use crate::path::{Document, Segment};

use crate::git::private;

/// How far from its line a keyword is looked for, in lines.
const NEAR: usize = 20;
/// The largest file that is looked at.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// How much of a line is looked at, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// An issue of `issues.json`.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Its title.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Where it shows.
    pub locations: Vec<IssueLocation>,
}

/// A place in the code.
#[derive(Clone, Debug)]
pub struct IssueLocation {
    /// The file, from the top of the project.
    pub file: String,
    /// A word on the line.
    pub keyword: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Where a keyword was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FoundAt {
    /// On the line that is named.
    There,
    /// On another line near it.
    Near(usize),
    /// Not found, and why.
    Nowhere(&'static str),
}

/// Returns the issues of the text of an `issues.json`.
///
/// # Errors
///
/// If the text is not valid.
pub fn issues(text: &str) -> Result<Vec<Issue>, String> {
    let location = |value: Document<'_>| {
        let line = member(value, "line")?.text().parse().unwrap_or(0);
        Ok(IssueLocation { file: member(value, "file")?.string()?, keyword: member(value, "keyword")?.string()?, line })
    };
    let issue = |value: Document<'_>| {
        Ok(Issue {
            title: member(value, "title")?.string()?,
            tags: list(value, "tags")?.into_iter().map(Document::string).collect::<Result<_, String>>()?,
            locations: list(value, "locations")?.into_iter().map(location).collect::<Result<_, String>>()?,
        })
    };
    list(Document::new(text)?, "issues")?.into_iter().map(issue).collect()
}

fn member<'t>(value: Document<'t>, key: &str) -> Result<Document<'t>, String> {
    value.walk(&[Segment { text: key.to_owned() }], 0)
}

fn list<'t>(value: Document<'t>, key: &str) -> Result<Vec<Document<'t>>, String> {
    member(value, key)?.items()
}

/// Looks for the keywords of locations in the files below `top`: on the line, else on the nearest of the lines around it.
/// Returns where each was found, in the same order. Each file is read once, however many locations name it.
pub fn find_all(top: &Path, locations: &[&IssueLocation]) -> Vec<FoundAt> {
    let mut order: Vec<usize> = (0..locations.len()).collect();
    order.sort_by(|one, other| locations[*one].file.cmp(&locations[*other].file));
    let mut places = vec![FoundAt::Nowhere(""); locations.len()];
    for group in order.chunk_by(|one, other| locations[*one].file == locations[*other].file) {
        let lines = read(top, &locations[group[0]].file).map(Lines::of);
        for at in group {
            places[*at] = match &lines {
                Ok(lines) => locations[*at].find_in(lines),
                Err(reason) => FoundAt::Nowhere(reason),
            };
        }
    }
    places
}

/// The reason for a location whose file is not named from the top of the project.
const NO_FILE: &str = "the file is not named from the top of the project";
/// The reason for a location whose file is a link to somewhere else.
const LEADS_OUT: &str = "the file leads out of the project";

impl FoundAt {
    /// Says whether the file is none of the project's.
    pub fn is_outside(&self) -> bool {
        matches!(self, FoundAt::Nowhere(NO_FILE | LEADS_OUT))
    }
}

/// Reads a file below `top`, not through a link that leads out of it.
fn read(top: &Path, file: &str) -> Result<Vec<u8>, &'static str> {
    let is_plain = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !is_plain {
        return Err(NO_FILE);
    }
    let path = top.join(file);
    let is_inside = || path.canonicalize().ok()?.starts_with(top.canonicalize().ok()?).then_some(());
    if is_inside().is_none() {
        let is_there = path.symlink_metadata().is_ok();
        return Err(if is_there { LEADS_OUT } else { "there is no such file" });
    }
    private::read(&path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => "the file is too large",
        std::io::ErrorKind::Other => "it is no file",
        _ => "the file cannot be read",
    })
}

/// A text and where its lines begin.
struct Lines {
    text: Vec<u8>,
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: Vec<u8>) -> Self {
        let behind = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let starts = [0].into_iter().chain(behind).filter(|start| *start < text.len()).collect();
        Lines { text, starts }
    }

    /// Returns the beginning of a line, by its number from 1.
    fn line(&self, number: usize) -> &[u8] {
        let start = self.starts[number - 1];
        let end = self.starts.get(number).copied().unwrap_or(self.text.len());
        &self.text[start..end.min(start + MAX_LINE_BYTES)]
    }
}

impl IssueLocation {
    fn find_in(&self, lines: &Lines) -> FoundAt {
        let first = self.line.saturating_sub(NEAR).max(1);
        let last = self.line.saturating_add(NEAR).min(lines.starts.len());
        let found = (first..=last).filter(|number| lines.line(*number).contains_str(&self.keyword));
        match found.min_by_key(|line| line.abs_diff(self.line)) {
            Some(line) if line == self.line => FoundAt::There,
            Some(line) => FoundAt::Near(line),
            None => FoundAt::Nowhere("the keyword is neither on that line nor near it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_is_found_on_its_line_or_on_the_nearest_one() {
        let text: String = (1..=100).map(|n| if n % 10 == 0 { format!("retry {n}\n") } else { "\n".into() }).collect();
        let find = |line: usize, keyword: &str| {
            IssueLocation { file: "f".into(), keyword: keyword.into(), line }
                .find_in(&Lines::of(text.clone().into_bytes()))
        };
        assert_eq!(find(50, "retry"), FoundAt::There);
        assert_eq!(find(52, "retry"), FoundAt::Near(50));
        assert_eq!(find(58, "retry"), FoundAt::Near(60));
        assert_eq!(find(0, "retry"), FoundAt::Near(10));
        assert_eq!(find(70, "retry 50"), FoundAt::Near(50));
        assert!(matches!(find(71, "retry 50"), FoundAt::Nowhere(_)));
        assert!(matches!(find(500, "retry"), FoundAt::Nowhere(_)));
        assert!(matches!(find(usize::MAX, "retry"), FoundAt::Nowhere(_)));
        let none = IssueLocation { file: "f".into(), keyword: String::new(), line: 1 };
        assert!(matches!(none.find_in(&Lines::of(Vec::new())), FoundAt::Nowhere(_)), "an empty file has no line");
    }

    #[test]
    fn places_stand_in_the_order_of_their_locations() {
        let top = tempfile::tempdir().expect("a directory");
        for (name, text) in [("a", "x\ny\n"), ("b", "y\nx")] {
            std::fs::write(top.path().join(name), text).expect("a file");
        }
        let at = |file: &str, line| IssueLocation { file: file.into(), keyword: "x".into(), line };
        let locations = [at("b", 2), at("a", 1), at("c", 1), at("b", 1), at("a", 2)];
        let places = find_all(top.path(), &locations.iter().collect::<Vec<_>>());
        let absent = FoundAt::Nowhere("there is no such file");
        assert_eq!(places, [FoundAt::There, FoundAt::There, absent, FoundAt::Near(2), FoundAt::Near(1)]);
    }
}
