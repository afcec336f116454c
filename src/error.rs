//! The error type of the crate: the kind of failure, a message for the user, and hints.
//!
//! Read [`Kind`] first; callers decide by it. Nothing here knows about exit codes or the word `fatal:`.

use std::fmt;

/// The kind of a failure, by which callers decide what to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A named thing does not exist.
    Missing,
    /// The command line was wrong.
    Usage,
    /// Another process holds a lock or keeps changing a ref; trying again later can help.
    Busy,
    /// The disk is full or cannot be written to; trying again at once is of no use.
    Storage,
    /// Stored data is damaged, or contradicts its own checksums.
    Corrupt,
    /// The repository uses a feature that this program does not know.
    Unsupported,
    /// The reader of our output has closed it; no message can reach the user.
    ReaderGone,
    /// Anything else; the message says what.
    Other,
}

/// An error: a message that says what has happened, and hints, which are commands to type or places to look at.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    hints: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error of `kind`; `message` is lower case, without a full stop, and needs no reason appended.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), hints: Vec::new(), source: None }
    }

    /// Makes an error of kind [`Kind::Other`].
    pub fn other(message: impl Into<String>) -> Self {
        Error::new(Kind::Other, message)
    }

    /// Keeps `source` as the reason; it is shown after a colon.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a line that tells the user what to type or look at next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Makes an error about `path` from an I/O error; a full or read-only disk becomes [`Kind::Storage`].
    pub fn io(action: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        Error::new(kind_of_io(&source), format!("cannot {action} '{}'", path.display())).because(source)
    }

    /// Makes an error from a failed write to our output.
    pub fn output(source: std::io::Error) -> Self {
        match source.get_ref() {
            // One of our own says what failed.
            Some(_) => Error::new(kind_of_io(&source), source.to_string()),
            // Git's words.
            None => Error::new(kind_of_io(&source), "write failure on standard output").because(source),
        }
    }

    /// Replaces the message; reason and hints stay.
    #[must_use]
    pub fn map_message(mut self, change: impl FnOnce(String) -> String) -> Self {
        self.message = change(self.message);
        self
    }

    /// Returns what kind of failure this is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the hints, in the order they were added.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// Returns the kind that an I/O error amounts to.
pub fn kind_of_io(error: &std::io::Error) -> Kind {
    use std::io::ErrorKind as Io;
    match error.kind() {
        Io::NotFound => Kind::Missing,
        Io::StorageFull | Io::ReadOnlyFilesystem | Io::QuotaExceeded | Io::PermissionDenied => Kind::Storage,
        Io::BrokenPipe => Kind::ReaderGone,
        Io::WouldBlock | Io::TimedOut | Io::ResourceBusy => Kind::Busy,
        _ => Kind::Other,
    }
}

impl fmt::Display for Error {
    /// Writes the message, and after a colon the reason, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(source) = &self.source {
            let reason = source.to_string();
            write!(f, ": {}", without_number(reason.lines().next().unwrap_or_default()))?;
        }
        Ok(())
    }
}

/// Returns the reason of an I/O error without the number that the standard library puts behind it, and without the name
/// of a temporary file.
fn without_number(reason: &str) -> &str {
    let Some((words, rest)) = reason.rsplit_once(" (os error ") else { return reason };
    match rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(')') {
        Some(place) if place.is_empty() || place.starts_with(" at path ") => words,
        _ => reason,
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::without_number;

    #[test]
    fn a_reason_has_no_number_and_no_temporary_file() {
        assert_eq!(without_number("No such file or directory (os error 2)"), "No such file or directory");
        assert_eq!(without_number("Permission denied (os error 13) at path \"/tmp/.x\""), "Permission denied");
        for other in ["nothing (os error x)", "it (os error 2) was", "plain"] {
            assert_eq!(without_number(other), other);
        }
    }
}
