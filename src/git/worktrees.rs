//! All worktrees of a repository: the main one and those that `git worktree add` made.

use std::path::{Path, PathBuf};

use super::{MAX_OBJECT_BYTES, Repository, private};

/// A worktree, as `git worktree list` has it. Its directory may be gone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Worktree {
    /// The top of the working tree.
    pub top: PathBuf,
    /// Its own git directory.
    pub git_dir: PathBuf,
}

impl Repository {
    /// Returns all worktrees, the main one first; leaves out those that cannot be read.
    pub fn worktrees(&self) -> Vec<Worktree> {
        let mut found = Vec::new();
        if let Ok(main) = self.gix().main_repo()
            && let Some(top) = main.workdir()
        {
            found.push(Worktree { top: top.to_owned(), git_dir: main.git_dir().to_owned() });
        }
        for proxy in self.gix().worktrees().unwrap_or_default() {
            if let Ok(top) = proxy.base() {
                found.push(Worktree { top, git_dir: proxy.git_dir().to_owned() });
            }
        }
        // GIT_WORK_TREE can name a working tree that is none of these.
        if let Some(top) = self.worktree()
            && !found.iter().any(|worktree| worktree.git_dir == self.git_dir() || worktree.top == top)
        {
            found.push(Worktree { top: top.to_owned(), git_dir: self.git_dir().to_owned() });
        }
        found
    }

    /// Returns the bytes that Git would store for a path of the working tree, before any conversion: the text of a
    /// link, the bytes of a file. `None` for anything else, such as a pipe, and for a file that is larger than the
    /// largest object that is read.
    pub fn worktree_content(&self, path: &Path) -> Option<Vec<u8>> {
        let path = self.worktree()?.join(path);
        if path.symlink_metadata().ok()?.is_symlink() {
            return Some(std::fs::read_link(path).ok()?.into_os_string().into_encoded_bytes());
        }
        private::read_open(private::open_no_link(&path).ok()?, MAX_OBJECT_BYTES).ok()
    }
}
