//! Keeping fetched logs out of commits.

use std::path::Path;

use crate::error::Result;
use crate::git::{Repository, git};
use crate::managed::file::{APEX_LOGS, add_exclude};
use crate::managed::{FileKind, Plan};

/// Keeps `apexlogs/` of a directory out of commits, with a line in `info/exclude`, unless it is hidden or tracked
/// already. Outside a repository there is nothing to do. The logs are more than the line: if it cannot be written, they
/// are fetched all the same.
pub fn apex_logs(directory: &Path) {
    let Ok(repo) = Repository::open(directory) else { return };
    let _ = exclude(&repo, directory);
}

fn exclude(repo: &Repository, directory: &Path) -> Result<()> {
    let (Some(top), Ok(directory)) =
        (repo.worktree().and_then(|top| top.canonicalize().ok()), directory.canonicalize())
    else {
        return Ok(());
    };
    let Ok(below) = directory.strip_prefix(&top) else { return Ok(()) };
    let below = below.join(APEX_LOGS);
    // A directory inside a submodule, or in .git.
    let Some(below) = below.to_str() else { return Ok(()) };
    let is_hidden = || {
        let file = format!("{below}/x.log");
        git(["check-ignore", "--quiet", "--no-index", "--", &file]).repository(repo).capture().is_ok()
    };
    let is_tracked =
        || git(["--literal-pathspecs", "ls-files", "--error-unmatch", "--", below]).repository(repo).capture().is_ok();
    if is_hidden() || is_tracked() {
        return Ok(());
    }
    let file = repo.common_dir().join("info/exclude");
    let mut plan = Plan::new(repo, false, false)?;
    let text = plan.planned(&file)?.unwrap_or_default();
    plan.edit(file, FileKind::Exclude, add_exclude(&text, &format!("{}/", pattern(below))))?;
    plan.carry_out(repo)
}

/// Returns a path as a pattern that matches it alone.
fn pattern(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
