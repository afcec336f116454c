//! One edit of a file or of the config.

use std::path::PathBuf;

use super::FileKind;
use super::installed::Original;

/// One edit, and what must be known to take it back.
#[derive(Clone, Debug)]
pub enum Edit {
    /// Make or change a file.
    Write { path: PathBuf, before: Original, after: Vec<u8>, kind: FileKind, is_restore: bool },
    /// Change a file, and nothing that would have to be put back.
    Clean { path: PathBuf, after: Vec<u8> },
    /// Remove a file that we, or an earlier tool, made. `target` is what goes: the file that `path` leads to, or `path`.
    Remove { path: PathBuf, target: PathBuf },
    /// Add a value to the repository's config.
    AddConfig { key: String, value: String },
    /// Remove a value that we added.
    RemoveConfig { key: String, value: String },
}

impl Edit {
    /// Returns the step in words, for `--dry-run` and for the report.
    pub fn describe(&self) -> String {
        match self {
            // A file that we made earlier is edited.
            Edit::Write { path, before: Original::Absent, .. } if path.symlink_metadata().is_err() => {
                format!("create {}", path.display())
            }
            Edit::Write { path, is_restore: true, .. } => format!("restore {}", path.display()),
            Edit::Write { path, .. } | Edit::Clean { path, .. } => format!("edit {}", path.display()),
            Edit::Remove { target, .. } => format!("remove {}", target.display()),
            Edit::AddConfig { key, value } => format!("config {key} += {value}"),
            Edit::RemoveConfig { key, value } => format!("config {key} -= {value}"),
        }
    }
}
