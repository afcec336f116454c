//! The paths that turns are wanted about: pathspecs of Git. Those that are mere names are looked for as they are, since a
//! conversation may speak of files that are gone; of others, Git says which files of the commit they stand for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::cli;
use crate::command::target;
use crate::error::Result;
use crate::git::{ObjectId, Paths, Repository};
use crate::transcript::WantedPaths;

/// The pathspecs of a command line.
#[derive(Default)]
pub(super) struct Pathspecs {
    typed: Vec<OsString>,
    /// Names, from the top of the working tree.
    names: Vec<String>,
    /// Whether some are more than names.
    are_patterns: bool,
}

impl Pathspecs {
    /// Reads pathspecs as they are typed in the current directory.
    ///
    /// # Errors
    ///
    /// If a name is outside the working tree.
    pub fn read(repo: &Repository, typed: &[OsString]) -> Result<Self> {
        let read: Vec<Option<OsString>> = typed.iter().map(|spec| name(repo, spec)).collect();
        let names: Vec<OsString> = read.iter().flatten().cloned().collect();
        let are_patterns = names.len() < typed.len();
        // What a name stands for may be taken out by another one, which only Git knows.
        let may_exclude =
            typed.iter().zip(&read).any(|(spec, name)| name.is_none() && spec.as_bytes().starts_with(b":"));
        let names = target::paths_from_top(repo, if may_exclude { &[] } else { &names })?;
        Ok(Pathspecs { typed: typed.to_vec(), names, are_patterns })
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.typed.is_empty()
    }

    /// Returns the first, as it was typed.
    pub fn first(&self) -> Option<&OsString> {
        self.typed.first()
    }

    /// Returns the paths that they stand for at a commit; `None` if there are no pathspecs.
    ///
    /// # Errors
    ///
    /// If Git refuses a pathspec, for instance because it has an unknown magic word.
    pub fn wanted(&self, repo: &Repository, commit_id: ObjectId) -> Result<Option<WantedPaths>> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut wanted = WantedPaths { below: self.names.clone(), ..WantedPaths::default() };
        if self.are_patterns {
            let paths = Paths { specs: self.typed.clone(), directory: cli::current_directory()? };
            wanted.files = repo.files_at(commit_id, &paths)?;
        }
        Ok(Some(wanted))
    }

    /// Returns them for a command of Git in the current directory.
    pub fn for_git(&self) -> Vec<OsString> {
        match self.are_patterns {
            true => self.typed.clone(),
            // An empty pathspec is no path.
            false => self.names.iter().map(|path| format!(":(top,literal){path}").into()).collect(),
        }
    }
}

/// Returns the name that a pathspec is; `None` if it is a pattern, or has another magic word than `top`.
fn name(repo: &Repository, spec: &OsStr) -> Option<OsString> {
    let is_literal = std::env::var("GIT_LITERAL_PATHSPECS").is_ok_and(|value| !["", "0", "false"].contains(&&*value));
    if is_literal {
        return Some(spec.to_owned());
    }
    let bytes = spec.as_bytes();
    let is_pattern = |bytes: &[u8]| bytes.iter().any(|byte| b"*?[\\".contains(byte));
    let Some(magic) = bytes.strip_prefix(b":") else { return (!is_pattern(bytes)).then(|| spec.to_owned()) };
    let from_top = match magic {
        b"" => magic,
        _ => magic.strip_prefix(b"/").or_else(|| magic.strip_prefix(b"(top)"))?,
    };
    let is_name = from_top.first().is_none_or(|byte| byte.is_ascii_alphanumeric() || b"._".contains(byte));
    if !is_name || is_pattern(from_top) {
        return None;
    }
    let top = repo.worktree()?.canonicalize().ok()?;
    Some(top.join(OsString::from_vec(from_top.to_vec())).into_os_string())
}
