//! How sure it is that an edit wrote a line.

/// The tie between a line and a session, the strongest first. A line without a record is "not recorded", whoever wrote
/// it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Certainty {
    /// Doing the edits again leaves the line where it is.
    Replay,
    /// An edit of the same file has the line, white space aside.
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

impl Certainty {
    /// Returns the word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Certainty::Replay => "replay",
            Certainty::Text => "text",
            Certainty::Moved => "moved",
            Certainty::Shell => "shell",
            Certainty::Path => "path",
            Certainty::Commit => "commit",
            Certainty::None => "none",
        }
    }

    /// Returns the sentence for people; `is_one` says whether it is about one line.
    pub fn sentence(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Certainty::Replay, true) => "this edit wrote the line",
            (Certainty::Replay, false) => "this edit wrote the lines",
            (Certainty::Text, true) => "an edit of this file has this line",
            (Certainty::Text, false) => "an edit of this file has these lines",
            (Certainty::Moved, true) => "the same line was written in another file",
            (Certainty::Moved, false) => "the same lines were written in another file",
            (Certainty::Shell, true) => "a command has this line",
            (Certainty::Shell, false) => "a command has these lines",
            (Certainty::Path, true) => "no recorded edit has this line, but the session edited this file",
            (Certainty::Path, false) => "no recorded edit has these lines, but the session edited this file",
            (Certainty::Commit, _) => "recorded with the commit",
            (Certainty::None, _) => "not recorded",
        }
    }

    /// Says whether a call is named.
    pub fn names_a_call(self) -> bool {
        self <= Certainty::Shell
    }
}
