//! Which instruction files an agent reads by itself. The lists are in each agent's own file.
//!
//! They say what an agent reads by default. Of what its settings add, only Gemini CLI's names of files are looked at.

use std::path::PathBuf;

/// The instruction files that an agent reads when a session begins, or while it works.
#[derive(Clone, Debug, Default)]
pub struct Instructions {
    /// The files of the working tree, in the order in which they are looked for.
    pub repo: &'static [FilePatterns],
    /// The files of the user.
    pub home: Vec<HomeFolder>,
    /// Whether `@path` in a file stands for the text of another file.
    pub has_imports: bool,
}

/// Files of the working tree.
#[derive(Clone, Copy, Debug)]
pub struct FilePatterns {
    /// Paths below a directory. In the last part, `*` stands for any part of a name; `**` before it stands for any
    /// directories.
    pub patterns: &'static [&'static str],
    /// The directories.
    pub reach: Reach,
    /// Which of the files are read.
    pub choice: Choice,
}

/// The directories of the working tree in which files are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// The top.
    Top,
    /// The directories from the top to the one in which the session runs.
    Path,
    /// Those, and the directories from the top to each edited file.
    Edited,
}

/// Which of the files that exist are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// All.
    All,
    /// In each directory, the first one.
    First,
    /// All, if no earlier entry of the list has a file.
    Fallback,
}

/// Files of the user.
#[derive(Clone, Debug)]
pub struct HomeFolder {
    /// The directory, wherever it is now.
    pub directory: PathBuf,
    /// Its usual path below the home directory.
    pub name: &'static str,
    /// Paths below it, as in [`FilePatterns::patterns`].
    pub patterns: &'static [&'static str],
    /// Which of the files are read.
    pub choice: Choice,
}

impl FilePatterns {
    /// Returns all such files at the top.
    pub const fn top(patterns: &'static [&'static str]) -> Self {
        FilePatterns { patterns, reach: Reach::Top, choice: Choice::All }
    }

    /// Returns all such files from the top to the session's directory.
    pub const fn path(patterns: &'static [&'static str]) -> Self {
        FilePatterns { patterns, reach: Reach::Path, choice: Choice::All }
    }

    /// Returns all such files from the top to the session's directory and to edited files.
    pub const fn edited(patterns: &'static [&'static str]) -> Self {
        FilePatterns { patterns, reach: Reach::Edited, choice: Choice::All }
    }

    /// Returns the first file of each directory alone.
    pub const fn first(self) -> Self {
        FilePatterns { choice: Choice::First, ..self }
    }

    /// Returns the same files, read only if no earlier entry of the list has a file.
    pub const fn fallback(self) -> Self {
        FilePatterns { choice: Choice::Fallback, ..self }
    }
}

impl HomeFolder {
    /// Returns all such files in a directory; nothing if there is no home directory.
    pub fn all(directory: Option<PathBuf>, name: &'static str, patterns: &'static [&'static str]) -> Vec<Self> {
        directory.map(|directory| HomeFolder { directory, name, patterns, choice: Choice::All }).into_iter().collect()
    }

    /// Returns the first such file in a directory; nothing if there is no home directory.
    pub fn first(directory: Option<PathBuf>, name: &'static str, patterns: &'static [&'static str]) -> Vec<Self> {
        directory.map(|directory| HomeFolder { directory, name, patterns, choice: Choice::First }).into_iter().collect()
    }
}
