//! Files that cannot be edited: something else is in their place, or they do not parse. They are named and left, and all
//! other steps are taken.

use std::path::{Path, PathBuf};

use super::Plan;
use crate::error::Error;
use crate::managed::file;

impl Plan {
    /// Says whether a file cannot be edited: something that is no file is in its place, or it cannot be read. It stays as it is,
    /// and what is written down of it stays known. Where it has nothing of ours, a removal says nothing of it.
    pub fn is_obstructed(&mut self, path: &Path) -> bool {
        let Some(error) = obstacle(path, self.is_removal) else { return false };
        let is_known = self.names(path).iter().any(|path| self.installed.file(path).is_some());
        if is_known || !self.is_removal {
            self.leave(path, error, "move it away");
        }
        true
    }

    /// Leaves a file as it is whose content keeps it from being edited, such as one that does not parse. What is written down
    /// of it stays known.
    pub fn leave_unedited(&mut self, path: &Path, reason: Error) {
        let error = Error::new(reason.kind(), format!("cannot edit '{}'", path.display())).because(reason);
        self.leave(path, error, "correct it");
    }

    fn leave(&mut self, path: &Path, error: Error, remedy: &str) {
        let names = self.names(path);
        if self.obstructed.contains(&names[1]) {
            return;
        }
        self.obstructed.extend(names);
        let command = if self.is_removal { "git shiftlog deinit" } else { "git shiftlog init" };
        self.failures.push(error.hint(format!("it stays as it is; {remedy}, then '{command}' does the rest")));
    }

    /// Returns the names by which a file can be written down: a hook by its own name, any other file by its place.
    fn names(&self, path: &Path) -> [PathBuf; 2] {
        [path.to_owned(), self.places.settled(path)]
    }

    /// Returns the errors about files that cannot be edited.
    pub fn failures(&self) -> &[Error] {
        &self.failures
    }

    /// Says whether a file, or one in a directory, cannot be edited.
    pub(super) fn has_obstructed(&self, path: &Path) -> bool {
        self.obstructed.iter().any(|obstructed: &PathBuf| obstructed.starts_with(path))
    }
}

/// Returns why a file cannot be edited. What is not there need not be removed.
fn obstacle(path: &Path, is_removal: bool) -> Option<Error> {
    match file::read(path) {
        Err(error) => Some(error),
        Ok(None) if !is_removal => {
            let target = file::target(path);
            let above = target.ancestors().skip(1).find(|above| above.exists()).filter(|above| !above.is_dir())?;
            Some(Error::other(format!("cannot write '{}': '{}' is no directory", path.display(), above.display())))
        }
        Ok(_) => None,
    }
}
