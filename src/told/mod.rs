//! Instruction files that agents read by themselves, such as `AGENTS.md`.
//!
//! Read [`InstructionFile`], which is an entry of a record's key `rules`. [`find`] reads the files of a working tree and of
//! a home directory, [`store`] stores their texts in the archive, and [`text`] reads one back. Which files an agent reads is
//! in the agent's own file; see [`crate::agent::Instructions`].
//!
//! How texts are stored is told in [`crate::archive::text`].

mod find;
mod imports;
mod store;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

pub use self::find::{Content, FoundFile, Search, find};
pub use self::imports::is_secret_data;
pub use self::store::{session_of, store, text};

/// The largest file whose text is kept, in bytes.
pub const MAX_FILE_BYTES: usize = 256 << 10;
/// How many entries a record has at most, and how many of one are read.
const MAX_ENTRIES: usize = 96;

/// Where an instruction file is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Root {
    /// In the working tree.
    Repo,
    /// In the user's home directory.
    Home,
}

/// An instruction file that an agent had read, or would have, as a record has it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct InstructionFile {
    /// `repo` for a file of the working tree, `home` for one of the user.
    pub root: String,
    /// The path from there.
    pub path: String,
    /// The length of the text after redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The SHA-256, in hex, of the text after redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The segment that has the text, as a hex blob id; `None` if only its digest is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why nothing is known of the text: `size`, `number`, `link`, `kind`, `name` or `secret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// The value of a record's key `rules`, as text. It is kept as it is, whoever wrote it: a value that cannot be understood must
/// not hide the record. It is parsed only where somebody wants to know; a list of ten thousand commits does not.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Told(Box<RawValue>);

impl PartialEq for Told {
    fn eq(&self, other: &Told) -> bool {
        self.0.get() == other.0.get()
    }
}

/// How the files that an agent was told differ from those before. Each list has names; see [`InstructionFile::name`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Files whose text differs.
    pub changed: Vec<String>,
    /// Files that were not there before.
    pub added: Vec<String>,
    /// Files that are not there any more.
    pub removed: Vec<String>,
}

impl Root {
    /// Returns the word that records have for it.
    pub fn name(self) -> &'static str {
        match self {
            Root::Repo => "repo",
            Root::Home => "home",
        }
    }
}

impl InstructionFile {
    /// Returns an entry without a text.
    pub fn new(root: Root, path: &str) -> Self {
        InstructionFile { root: root.name().to_owned(), path: path.to_owned(), ..InstructionFile::default() }
    }

    /// Returns the name for people: the path, with `~/` before it if the file is in the home directory.
    pub fn name(&self) -> String {
        match self.root.as_str() {
            "repo" => self.path.clone(),
            "home" => format!("~/{}", self.path),
            root => format!("{root}:{}", self.path),
        }
    }

    /// Says whether both are the same file with the same text, as far as the digests tell.
    fn is_same_text(&self, other: &InstructionFile) -> bool {
        self.sha256 == other.sha256 && self.left == other.left
    }
}

impl Told {
    /// Returns the value for these files.
    pub fn new(files: &[InstructionFile]) -> Self {
        Told(to_raw_value(files).unwrap_or_default())
    }

    /// Returns the files; those that cannot be understood are left out.
    pub fn files(&self) -> Vec<InstructionFile> {
        let file = |entry: &Value| InstructionFile::deserialize(entry).ok();
        self.entries().as_array().into_iter().flatten().take(MAX_ENTRIES).filter_map(file).collect()
    }

    /// Returns the segments, in hex, that have the texts.
    pub fn texts(&self) -> Vec<String> {
        let text = |entry: &Value| entry.get("text")?.as_str().map(str::to_owned);
        self.entries().as_array().into_iter().flatten().filter_map(text).collect()
    }

    /// Changes each entry with a text: `change` gets its segment, in hex, and returns what replaces segment, length and
    /// digest, or `None` inside if nothing is left of the text; `None` if the entry stays as it is.
    pub fn map_texts(&mut self, change: impl Fn(&str) -> Option<Option<(String, u64, String)>>) {
        self.map(|entry| {
            let Some(changed) = entry.get("text").and_then(Value::as_str).and_then(&change) else { return false };
            match changed {
                Some((text, bytes, sha256)) => {
                    entry.insert("bytes".into(), bytes.into());
                    entry.insert("sha256".into(), sha256.into());
                    entry.insert("text".into(), text.into());
                }
                None => ["bytes", "sha256", "text"].iter().for_each(|key| drop(entry.shift_remove(*key))),
            }
            true
        });
    }

    /// Changes each path.
    pub fn map_paths(&mut self, change: impl Fn(&str) -> String) {
        self.map(|entry| match entry.get_mut("path") {
            Some(Value::String(path)) => {
                *path = change(path);
                true
            }
            _ => false,
        });
    }

    /// Changes each entry. The text stays as it is unless `change` says that it has changed an entry.
    fn map(&mut self, mut change: impl FnMut(&mut Map<String, Value>) -> bool) {
        let mut entries = self.entries();
        let mut has_changed = false;
        for entry in entries.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            has_changed |= change(entry);
        }
        if let Some(text) = to_raw_value(&entries).ok().filter(|_| has_changed) {
            self.0 = text;
        }
    }

    fn entries(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl Changes {
    /// Compares the files of a session with those of each session before: at one commit an agent can have several. A text is
    /// the same if one of these had it, and a file is gone if all of them had it.
    pub fn between(before: &[Vec<InstructionFile>], after: &[InstructionFile]) -> Self {
        let is_it =
            |file: &InstructionFile, other: &InstructionFile| file.root == other.root && file.path == other.path;
        let mut changes = Changes::default();
        let mut seen = HashSet::new();
        for file in after.iter().filter(|file| seen.insert(file.name())) {
            let others: Vec<_> = before.iter().flatten().filter(|other| is_it(file, other)).collect();
            if others.is_empty() {
                changes.added.push(file.name());
            } else if !others.iter().any(|other| file.is_same_text(other)) {
                changes.changed.push(file.name());
            }
        }
        if let Some((first, others)) = before.split_first() {
            let is_in =
                |files: &[InstructionFile], file: &InstructionFile| files.iter().any(|other| is_it(file, other));
            let is_gone =
                |file: &&InstructionFile| !is_in(after, file) && others.iter().all(|files| is_in(files, file));
            changes.removed = first.iter().filter(is_gone).map(InstructionFile::name).collect();
        }
        changes
    }

    /// Says whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty() && self.removed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, sha256: Option<&str>) -> InstructionFile {
        InstructionFile { sha256: sha256.map(str::to_owned), ..InstructionFile::new(Root::Repo, path) }
    }

    #[test]
    fn changed_added_and_removed_files_are_told_apart() {
        let before = [file("AGENTS.md", Some("1")), file("a.md", Some("2")), file("same.md", None)];
        let after = [file("AGENTS.md", Some("3")), file("b.md", Some("2")), file("same.md", None)];
        let changes = Changes::between(&[before.to_vec()], &after);
        assert_eq!(changes.changed, ["AGENTS.md"]);
        assert_eq!((changes.added, changes.removed), (vec!["b.md".to_owned()], vec!["a.md".to_owned()]));
        assert!(Changes::between(&[before.to_vec()], &before).is_empty());
    }

    #[test]
    fn of_several_sessions_before_each_is_looked_at_whatever_their_order() {
        let old = vec![file("AGENTS.md", Some("1")), file("a.md", Some("1"))];
        let new = vec![file("AGENTS.md", Some("2"))];
        for before in [[old.clone(), new.clone()], [new.clone(), old.clone()]] {
            assert!(Changes::between(&before, &old).is_empty() && Changes::between(&before, &new).is_empty());
            let changes = Changes::between(&before, &[file("AGENTS.md", Some("3"))]);
            assert_eq!((changes.changed, changes.removed), (vec!["AGENTS.md".to_owned()], vec![]));
            assert_eq!(Changes::between(&before, &[]).removed, ["AGENTS.md"], "one of the sessions had no 'a.md'");
        }
    }

    #[test]
    fn entries_that_cannot_be_understood_are_left_out_and_stay_in_the_value() {
        let text =
            r#"[{"root":"repo","path":"AGENTS.md","text":"ab","mood":1},7,{"path":"x"},{"root":"home","path":".c/a"}]"#;
        let mut told: Told = serde_json::from_str(text).expect("JSON");
        let names: Vec<String> = told.files().iter().map(InstructionFile::name).collect();
        assert_eq!(names, ["AGENTS.md", "~/.c/a"]);
        assert_eq!(serde_json::to_string(&told).expect("JSON"), text, "what others wrote stays");
        told.map_texts(|text| (text == "ab").then(|| Some(("cd".to_owned(), 3, "00".to_owned()))));
        assert_eq!(told.texts(), ["cd"]);
        told.map_texts(|_| Some(None));
        assert_eq!(told.files()[0], InstructionFile::new(Root::Repo, "AGENTS.md"), "the file is still named");
        assert!(serde_json::from_str::<Told>("\"nonsense\"").expect("JSON").files().is_empty());
    }
}
