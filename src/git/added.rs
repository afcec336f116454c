//! The lines that commits add, as `git log -p` finds them.

use std::collections::HashSet;
use std::ffi::OsString;

use bstr::{BString, ByteSlice as _};

use super::quote::unquoted;
use super::{ObjectId, Paths, Repository, git};
use crate::error::Result;

/// The lines that a commit adds to a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AddedLines {
    /// The commit.
    pub commit_id: ObjectId,
    /// The path of the file in the commit.
    pub path: BString,
    /// Its path before; `None` if the commit adds the file.
    pub before: Option<BString>,
    /// The numbers of the lines in the file, from 1, as runs: the first, and how many.
    pub runs: Vec<(usize, usize)>,
}

impl Repository {
    /// Returns the lines that commits add, file by file. Changes of white space, blank lines, binary files and files
    /// with the attribute `linguist-generated` are left out; of a commit with several parents there are none.
    ///
    /// # Errors
    ///
    /// If Git fails.
    pub fn added_lines(&self, commit_ids: &[ObjectId], paths: Option<&Paths>) -> Result<Vec<AddedLines>> {
        if commit_ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut args: Vec<OsString> = Vec::new();
        if let Some(paths) = paths {
            args.extend(["-C".into(), paths.directory.clone().into()]);
        }
        let plain = ["-c", "core.quotePath=false", "log", "--no-walk=unsorted", "--stdin", "--format=%x00%H"];
        let form = ["--patch", "--unified=0", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/"];
        let less = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules"];
        let same = ["--ignore-all-space", "--ignore-blank-lines", "--find-renames", "--"];
        args.extend([&plain[..], &form, &less, &same].concat().into_iter().map(OsString::from));
        args.extend(paths.iter().flat_map(|paths| paths.specs.iter().cloned()));
        let ids: String = commit_ids.iter().map(|id| format!("{id}\n")).collect();
        let command = git(args).input(ids.into_bytes());
        // Pathspecs are relative to the directory where they were typed.
        let lines = if paths.is_some() { command.lines()? } else { command.repository(self).lines()? };
        let mut reading = Reading::default();
        for line in lines {
            reading.take(&line?);
        }
        let mut files = reading.files;
        files.retain(|file| !file.runs.is_empty());
        let generated = self.generated(files.iter().map(|file| &file.path))?;
        files.retain(|file| !generated.contains(&file.path));
        Ok(files)
    }

    /// Returns those of some paths that have the attribute `linguist-generated`.
    fn generated<'p>(&self, paths: impl Iterator<Item = &'p BString>) -> Result<HashSet<BString>> {
        let paths: HashSet<&BString> = paths.collect();
        if paths.is_empty() {
            return Ok(HashSet::new());
        }
        let input: Vec<u8> = paths.into_iter().flat_map(|path| [path.as_slice(), b"\0"].concat()).collect();
        let told =
            git(["check-attr", "-z", "--stdin", "linguist-generated"]).repository(self).input(input).capture()?;
        let fields: Vec<&[u8]> = told.split(|byte| *byte == 0).collect();
        let is_set = |fields: &&[&[u8]]| fields.len() == 3 && matches!(fields[2], b"set" | b"true");
        Ok(fields.chunks(3).filter(is_set).map(|fields| fields[0].into()).collect())
    }
}

/// The state of reading a patch.
#[derive(Default)]
struct Reading {
    commit_id: Option<ObjectId>,
    files: Vec<AddedLines>,
    /// The lines that a hunk still has, of the old and of the new file: a line of a file can look like anything else.
    left: (usize, usize),
    /// The number of the next line in the new file.
    number: usize,
}

impl Reading {
    fn take(&mut self, line: &[u8]) {
        if self.left != (0, 0) {
            match line.first() {
                Some(b'+') => {
                    self.left.1 = self.left.1.saturating_sub(1);
                    self.add(self.number);
                    self.number += 1;
                }
                Some(b'-') => self.left.0 = self.left.0.saturating_sub(1),
                Some(b' ') => {
                    self.left = (self.left.0.saturating_sub(1), self.left.1.saturating_sub(1));
                    self.number += 1;
                }
                _ => {}
            }
            return;
        }
        if let Some(id) = line.strip_prefix(b"\0") {
            self.commit_id = ObjectId::from_hex(id).ok();
        } else if line.starts_with(b"diff --git ") {
            self.files.extend(self.commit_id.map(|commit_id| AddedLines {
                commit_id,
                path: BString::default(),
                before: None,
                runs: Vec::new(),
            }));
        } else if let Some(file) = self.files.last_mut() {
            // A tab follows a name with blanks.
            let name = |path: &[u8], side: &[u8]| {
                let path = unquoted(path.strip_suffix(b"\t").unwrap_or(path).as_bstr());
                path.strip_prefix(side).map(BString::from)
            };
            if let Some(path) = line.strip_prefix(b"--- ") {
                file.before = name(path, b"a/");
            } else if let Some(path) = line.strip_prefix(b"+++ ") {
                file.path = name(path, b"b/").unwrap_or_default();
            } else if let Some(((_, start), counts)) = hunk_head(line) {
                (self.number, self.left) = (start, counts);
            }
        }
    }

    fn add(&mut self, number: usize) {
        let Some(file) = self.files.last_mut().filter(|file| !file.path.is_empty()) else { return };
        match file.runs.last_mut().filter(|(start, count)| start + count == number) {
            Some((_, count)) => *count += 1,
            None => file.runs.push((number, 1)),
        }
    }
}

/// Reads the head of a hunk, such as `@@ -12,6 +12,8 @@`: the first line in the old and in the new file, and the numbers of
/// lines in both.
pub fn hunk_head(line: &[u8]) -> Option<((usize, usize), (usize, usize))> {
    let mut words = line.strip_prefix(b"@@ -")?.to_str().ok()?.split(' ');
    let range = |word: &str| {
        let (start, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (old_start, old) = range(words.next()?)?;
    let (start, new) = range(words.next()?.strip_prefix('+')?)?;
    Some(((old_start, start), (old, new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_read_by_its_counts() {
        let id = "1".repeat(40);
        let patch = format!(
            "\0{id}\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -3 +3,3 @@ f\n--- b\n+++ b/c\n+@@ -1 +1 @@\n+e\n\
             @@ -9,0 +12 @@\n+f\ndiff --git a/y b/z w\nrename from y\n--- a/y\n+++ b/z w\t\n@@ -1,0 +2,2 @@\n+a\n+b\n\
             diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+a\n\\ No newline\n"
        );
        let mut reading = Reading::default();
        patch.lines().for_each(|line| reading.take(line.as_bytes()));
        let told: Vec<_> = reading
            .files
            .iter()
            .map(|file| (file.path.to_string(), file.before.as_ref().map(ToString::to_string), file.runs.clone()))
            .collect();
        let expected =
            [("x", Some("x"), vec![(3, 3), (12, 1)]), ("z w", Some("y"), vec![(2, 2)]), ("ä", None, vec![(1, 1)])];
        assert_eq!(told, expected.map(|(path, before, runs)| (path.to_owned(), before.map(str::to_owned), runs)));
        let id = ObjectId::from_hex(id.as_bytes()).expect("an id");
        assert!(reading.files.iter().all(|file| file.commit_id == id));
    }
}
