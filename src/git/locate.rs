//! Finding the repository without opening it, for hooks, which usually have nothing to do.

use std::path::{Path, PathBuf};

/// Where a repository keeps its parts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Location {
    /// The git directory of this worktree.
    pub git_dir: PathBuf,
    /// The directory that all worktrees share.
    pub common_dir: PathBuf,
    /// The top of the working tree, if it is known.
    pub worktree: Option<PathBuf>,
}

impl Location {
    /// Says whether a rebase, cherry-pick, revert, merge or `am` is under way in this worktree, as
    /// [`Repository::is_mid_operation`](super::Repository::is_mid_operation) does.
    pub fn is_mid_operation(&self) -> bool {
        let names = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD"];
        self.is_rebasing() || names.iter().any(|name| self.git_dir.join(name).exists())
    }
}

/// Finds the repository that Git would use from `directory`, or `None`.
///
/// Honours `GIT_DIR` and `GIT_COMMON_DIR`. Reads no config and no object: about thirty microseconds. Use the result only to
/// see whether there is work; [`Repository::open`](super::Repository::open) checks whether the repository may be used.
pub fn locate(directory: &Path) -> Option<Location> {
    let (git_dir, worktree) = match std::env::var_os("GIT_DIR") {
        Some(dir) => (directory.join(dir), {
            // Git runs hooks at the top of the working tree, and sets GIT_WORK_TREE only if it is in an unusual place.
            let named = std::env::var_os("GIT_WORK_TREE").map(|tree| directory.join(tree));
            Some(named.unwrap_or_else(|| directory.to_owned()))
        }),
        // The usual case for hooks. The full discovery takes five times as long.
        None if is_git_dir(&directory.join(".git")) => (directory.join(".git"), Some(directory.to_owned())),
        None => {
            let options = gix::discover::upwards::Options {
                trust: gix::discover::upwards::TrustPolicy::Assume(gix::sec::Trust::Full),
                match_ceiling_dir_or_error: false,
                ..Default::default()
            }
            .apply_environment();
            let (found, _) = gix::discover::upwards_opts(directory, options).ok()?;
            found.into_repository_and_work_tree_directories()
        }
    };
    let common_dir = match std::env::var_os("GIT_COMMON_DIR") {
        Some(dir) => directory.join(dir),
        None => match std::fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end()),
            Err(_) => git_dir.clone(),
        },
    };
    git_dir.is_dir().then_some(Location { git_dir, common_dir, worktree })
}

/// Returns in Git's words why no repository is found from a directory.
pub(super) fn why_missing(directory: &Path) -> String {
    let broken = |file: &Path| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        match text.strip_prefix("gitdir: ") {
            Some(place) => {
                let place = file.parent().unwrap_or(file).join(place.trim_end());
                format!("not a git repository: {}", place.display())
            }
            None => format!("invalid gitfile format: {}", file.display()),
        }
    };
    match std::env::var_os("GIT_DIR") {
        Some(named) if directory.join(&named).is_file() => broken(Path::new(&named)),
        Some(named) => format!("not a git repository: '{}'", named.to_string_lossy()),
        None => match directory.ancestors().map(|above| above.join(".git")).find(|path| path.is_file()) {
            Some(file) => broken(&file),
            None => "not a git repository (or any of the parent directories): .git".to_owned(),
        },
    }
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir()
}
