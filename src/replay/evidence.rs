//! How sure it is that an edit wrote a line.

/// What ties a line to a session, the strongest first. What nobody recorded is "not recorded", whoever wrote it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Evidence {
    /// Doing the edits again leaves the line where it is.
    Replay,
    /// An edit of the same file has the line, but for white space.
    Text,
    /// An edit of another file has the line.
    Moved,
    /// The text of a command has the line.
    Shell,
    /// The session edited the file, but not this line.
    Path,
    /// The commit has a record, and nothing ties it to the file.
    Commit,
    /// There is no record.
    None,
}

impl Evidence {
    /// Returns the word that programs get.
    pub fn word(self) -> &'static str {
        match self {
            Evidence::Replay => "replay",
            Evidence::Text => "text",
            Evidence::Moved => "moved",
            Evidence::Shell => "shell",
            Evidence::Path => "path",
            Evidence::Commit => "commit",
            Evidence::None => "none",
        }
    }

    /// Returns what people read; `is_one` says whether it is about one line.
    pub fn sentence(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Evidence::Replay, true) => "this edit wrote the line",
            (Evidence::Replay, false) => "this edit wrote the lines",
            (Evidence::Text, true) => "an edit of this file has this line",
            (Evidence::Text, false) => "an edit of this file has these lines",
            (Evidence::Moved, true) => "the same line was written in another file",
            (Evidence::Moved, false) => "the same lines were written in another file",
            (Evidence::Shell, true) => "a command has this line",
            (Evidence::Shell, false) => "a command has these lines",
            (Evidence::Path, true) => "no recorded edit has this line, but the session edited this file",
            (Evidence::Path, false) => "no recorded edit has these lines, but the session edited this file",
            (Evidence::Commit, _) => "recorded with the commit",
            (Evidence::None, _) => "not recorded",
        }
    }

    /// Says whether a call is named.
    pub fn names_a_call(self) -> bool {
        self <= Evidence::Shell
    }
}
