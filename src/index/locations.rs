//! Where the issues of the index stand: a file, a line, and a word that is on that line. Code moves, so the word is looked
//! for near the line too.

use std::path::{Component, Path};

use bstr::ByteSlice as _;
use serde_json::Value;

/// How far from its line a keyword is looked for, in lines.
const NEAR: usize = 20;
/// The largest file that is looked at.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// An issue of `issues.json`.
#[derive(Clone, Debug)]
pub struct Issue {
    /// What it is about.
    pub title: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Where it shows.
    pub locations: Vec<Location>,
}

/// A place in the code.
#[derive(Clone, Debug)]
pub struct Location {
    /// The file, from the top of the project.
    pub file: String,
    /// A word on the line.
    pub keyword: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Where a keyword was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// On the line that is named.
    There,
    /// On another line near it.
    Near(usize),
    /// Not found, and why.
    Nowhere(&'static str),
}

/// Returns the issues of a valid `issues.json`.
pub fn issues(value: &Value) -> Vec<Issue> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let location = |value: &Value| Location {
        file: text(&value["file"]),
        keyword: text(&value["keyword"]),
        line: value["line"].as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or(0),
    };
    let issue = |value: &Value| Issue {
        title: text(&value["title"]),
        tags: list(&value["tags"]).iter().map(text).collect(),
        locations: list(&value["locations"]).iter().map(location).collect(),
    };
    list(&value["issues"]).iter().map(issue).collect()
}

impl Location {
    /// Looks for the keyword in the file below `top`: on the line, else on the nearest of the lines around it.
    pub fn find(&self, top: &Path) -> Place {
        let file = Path::new(&self.file);
        let is_plain = file.components().all(|part| matches!(part, Component::Normal(_)));
        if self.file.is_empty() || !is_plain {
            return Place::Nowhere("the file is not named from the top of the project");
        }
        let path = top.join(file);
        let is_inside = || path.canonicalize().ok()?.starts_with(top.canonicalize().ok()?).then_some(());
        if is_inside().is_none() {
            return Place::Nowhere("there is no such file");
        }
        match path.metadata() {
            Ok(metadata) if !metadata.is_file() => return Place::Nowhere("it is no file"),
            Ok(metadata) if metadata.len() > MAX_FILE_BYTES => return Place::Nowhere("the file is too large"),
            _ => {}
        }
        match std::fs::read(&path) {
            Ok(text) => self.find_in(&text),
            Err(_) => Place::Nowhere("the file cannot be read"),
        }
    }

    fn find_in(&self, text: &[u8]) -> Place {
        let first = self.line.saturating_sub(NEAR).max(1);
        let around = text.lines().enumerate().skip(first - 1).take(2 * NEAR + 1);
        let has_keyword = |line: &[u8]| line.contains_str(&self.keyword);
        let found = around.filter(|(_, line)| has_keyword(line)).map(|(at, _)| at + 1);
        match found.min_by_key(|line| line.abs_diff(self.line)) {
            Some(line) if line == self.line => Place::There,
            Some(line) if line.abs_diff(self.line) <= NEAR => Place::Near(line),
            _ => Place::Nowhere("the keyword is neither on that line nor near it"),
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
            Location { file: "f".into(), keyword: keyword.into(), line }.find_in(text.as_bytes())
        };
        assert_eq!(find(50, "retry"), Place::There);
        assert_eq!(find(52, "retry"), Place::Near(50));
        assert_eq!(find(58, "retry"), Place::Near(60));
        assert_eq!(find(0, "retry"), Place::Near(10));
        assert_eq!(find(70, "retry 50"), Place::Near(50));
        assert!(matches!(find(71, "retry 50"), Place::Nowhere(_)));
        assert!(matches!(find(500, "retry"), Place::Nowhere(_)));
        assert!(matches!(find(usize::MAX, "retry"), Place::Nowhere(_)));
    }
}
