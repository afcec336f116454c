//! The patch of a commit as values: files and hunks, with secrets taken out of their lines.

use std::collections::HashMap;

use bstr::ByteSlice as _;

use super::change::{Line, mark_changes};
use crate::git::{hunk_head, unquoted};
use crate::outside;
use crate::redact::{KEY_PART, is_like_key_line};

/// The changes of one file in a commit.
#[derive(Debug, Default)]
pub struct PatchFile {
    /// The path as Git shows it.
    pub path: String,
    /// Git's remarks about the file: that it is binary, was renamed, has another mode.
    pub notes: Vec<String>,
    /// Its hunks.
    pub hunks: Vec<Hunk>,
    /// The address of the whole file, if it has a page.
    pub address: Option<String>,
}

impl PatchFile {
    /// Says whether the commit has the file, under a name that an address can have.
    pub fn is_there(&self) -> bool {
        !self.path.contains('\n') && !self.notes.iter().any(|note| note.starts_with("deleted"))
    }

    /// Replaces lines with secrets by their redacted texts. `before` and `after` are the file on both sides of the
    /// commit: a secret of several lines is known only in the whole file, and a hunk may have a part of it. For a side
    /// that is `None`, lines that can be part of a key are not shown.
    pub fn show_clean(&mut self, before: Option<&CleanText>, after: Option<&CleanText>) {
        for hunk in &mut self.hunks {
            let (mut old, mut new) = (hunk.start_before, hunk.start);
            // Git puts a line from above the hunk behind its numbers.
            let above = hunk.head.get(2..).and_then(|head| head.find("@@")).map_or(hunk.head.len(), |at| at + 4);
            let line = hunk.head[above..].trim();
            if before.map_or_else(|| is_like_key_line(line), |before| before.has_secret(line)) {
                hunk.head.truncate(above);
            }
            for line in &mut hunk.lines {
                let (text, number) = match line.sign {
                    '-' => (before, old),
                    '+' | ' ' => (after, new),
                    _ => continue,
                };
                old += usize::from(matches!(line.sign, '-' | ' '));
                new += usize::from(matches!(line.sign, '+' | ' '));
                let hidden = match text {
                    Some(text) => text.hidden.get(&number).map(String::as_str),
                    None => is_like_key_line(&line.text).then_some(KEY_PART),
                };
                if let Some(hidden) = hidden {
                    *line = Line::new(line.sign, hidden);
                }
            }
        }
    }
}

/// The lines of a file that have secrets.
#[derive(Debug, Default)]
pub struct CleanText {
    /// The redacted text of each such line, by the number of the line from 1.
    hidden: HashMap<usize, String>,
    /// Such lines as they are in the file.
    secret: Vec<String>,
}

impl CleanText {
    /// Compares a file with its redacted text, which has as many lines.
    pub fn new(text: &str, clean: &str) -> Self {
        let lines = text.lines().zip(clean.lines()).enumerate().filter(|(_, (line, clean))| line != clean);
        let mut of = CleanText::default();
        for (at, (line, clean)) in lines {
            of.hidden.insert(at + 1, clean.to_owned());
            of.secret.push(line.to_owned());
        }
        of
    }

    /// Says whether a text is the beginning of a line that has a secret.
    fn has_secret(&self, text: &str) -> bool {
        !text.is_empty() && self.secret.iter().any(|line| line.trim_start().starts_with(text))
    }
}

/// A hunk of a diff.
#[derive(Debug, Default)]
pub struct Hunk {
    /// Git's line above it.
    pub head: String,
    /// The number of its first line in the old file, from 1.
    pub start_before: usize,
    /// The number of its first line in the new file, from 1.
    pub start: usize,
    /// Its lines.
    pub lines: Vec<Line>,
    /// The turns that wrote it, that with the most lines first: the address if it has one, and what the link says.
    pub turns: Vec<(Option<String>, String)>,
    /// Whether the turn was looked for, in all words of the commit.
    pub was_explained: bool,
}

impl Hunk {
    /// Returns the runs of added lines: the number of the first in the new file, from 1, and how many.
    pub fn added(&self) -> Vec<(usize, usize)> {
        let mut number = self.start;
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for line in &self.lines {
            match line.sign {
                '+' => {
                    match runs.last_mut().filter(|(start, count)| start + count == number) {
                        Some((_, count)) => *count += 1,
                        None => runs.push((number, 1)),
                    }
                    number += 1;
                }
                ' ' => number += 1,
                _ => {}
            }
        }
        runs
    }
}

/// Returns a path as it is, of which Git has printed some bytes as escapes in quotes.
pub fn plain(path: &str) -> String {
    unquoted(path.into()).to_str_lossy().into_owned()
}

/// Takes a patch of Git apart. Returns its files, and whether some of it was left out: at most `max_lines` are taken.
pub fn patch_files(lines: impl Iterator<Item = Vec<u8>>, max_lines: usize) -> (Vec<PatchFile>, bool) {
    let mut files: Vec<PatchFile> = Vec::new();
    // Lines that the hunk still has, of the old and of the new file: a line of a file can look like a head.
    let mut left = (0_usize, 0_usize);
    for (taken, line) in lines.enumerate() {
        let line = line.to_str_lossy();
        if taken == max_lines {
            finish(&mut files);
            return (files, true);
        }
        if left != (0, 0) {
            let sign = line.chars().next().unwrap_or(' ');
            match sign {
                '+' => left.1 = left.1.saturating_sub(1),
                '-' => left.0 = left.0.saturating_sub(1),
                ' ' => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
                _ => {}
            }
            let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
            if let Some(hunk) = hunk.filter(|_| matches!(sign, '+' | '-' | ' ')) {
                hunk.lines.push(Line::new(sign, line.get(1..).unwrap_or_default()));
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix("diff --git ") {
            let path = match rest.rsplit_once(" \"b/").filter(|_| rest.ends_with('"')) {
                Some((_, quoted)) => plain(&format!("\"{quoted}")),
                None => rest.rsplit_once(" b/").map_or(rest, |(_, path)| path).to_owned(),
            };
            files.push(PatchFile { path, ..PatchFile::default() });
        }
        let Some(file) = files.last_mut() else { continue };
        let after = line.strip_prefix("+++ ").map(|path| plain(path.trim_end_matches('\t')));
        if let Some(path) = after.as_deref().and_then(|path| path.strip_prefix("b/")) {
            file.path = path.to_owned();
        } else if let Some(((start_before, start), counts)) = hunk_head(line.as_bytes()) {
            left = counts;
            file.hunks.push(Hunk { head: outside::line(&line), start_before, start, ..Hunk::default() });
        } else if ["Binary", "new file", "deleted", "rename from", "old mode", "new mode", "similarity"]
            .iter()
            .any(|known| line.starts_with(known))
        {
            file.notes.push(outside::line(&line));
        }
    }
    finish(&mut files);
    (files, false)
}

fn finish(files: &mut [PatchFile]) {
    files.iter_mut().flat_map(|file| &mut file.hunks).for_each(|hunk| mark_changes(&mut hunk.lines));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_taken_apart_by_its_counts() {
        let patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,3 +3,4 @@ fn f()\n a\n--- b\n+++ b/c\n+d\n e\n\
                     diff --git a/y b/z\nsimilarity index 100%\nrename from y\nrename to z\n";
        let (files, is_cut) = patch_files(patch.lines().map(|line| line.as_bytes().to_vec()), 100);
        assert!(!is_cut);
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["x", "z"]);
        let hunk = &files[0].hunks[0];
        assert_eq!(hunk.lines.iter().map(|line| line.sign).collect::<String>(), " -++ ");
        assert_eq!(hunk.added(), [(4, 2)]);
        assert_eq!(files[1].notes, ["similarity index 100%", "rename from y"]);
        let quoted = "diff --git \"a/x \\\"y\\\".md\" \"b/x \\\"y\\\".md\"\nBinary files differ\n\
                      diff --git \"a/\\t\" \"b/\\t\"\n--- \"a/\\t\"\n+++ \"b/\\t\"\n";
        let (odd, _) = patch_files(quoted.lines().map(|line| line.as_bytes().to_vec()), 100);
        assert_eq!(odd.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["x \"y\".md", "\t"]);
        let (_, is_cut) = patch_files(patch.lines().map(|line| line.as_bytes().to_vec()), 6);
        assert!(is_cut);
    }
}
