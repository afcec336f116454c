//! Which branch a commit belongs to.

use std::collections::HashMap;

use crate::error::Result;
use crate::git::{ObjectId, Order, Range, Repository};

/// Returns the local branch of each of these commits: the default branch if that reaches it, else, of the branches that
/// do, the one whose tip is oldest. A commit that no local branch reaches is not in the map.
///
/// # Errors
///
/// If history cannot be read.
pub fn branches_of(repo: &Repository, commits: &[ObjectId]) -> Result<HashMap<ObjectId, String>> {
    let mut branches = repo.branches(true, false)?;
    let default = default_branch(repo);
    let mut tips = Vec::new();
    for branch in branches.drain(..) {
        let time = repo.commit(branch.commit_id).map_or(i64::MAX, |commit| commit.committer.time.seconds);
        let is_other = default.as_deref() != Some(&branch.name);
        tips.push((is_other, time, branch));
    }
    tips.sort_by(|a, b| (a.0, a.1, &a.2.name).cmp(&(b.0, b.1, &b.2.name)));
    let wanted: std::collections::HashSet<ObjectId> = commits.iter().copied().collect();
    let mut found = HashMap::new();
    let mut hidden = Vec::new();
    for (.., branch) in tips {
        if found.len() == wanted.len() {
            break;
        }
        let range = Range { tips: vec![branch.commit_id], hidden: hidden.clone() };
        for step in repo.walk(&range, Order::AsFound)? {
            let commit_id = step?.commit_id;
            if wanted.contains(&commit_id) {
                found.entry(commit_id).or_insert_with(|| branch.name.clone());
            }
        }
        hidden.push(branch.commit_id);
    }
    Ok(found)
}

/// Returns the name of the branch that others start from: that of the remote `origin`, else `main` or `master`.
fn default_branch(repo: &Repository) -> Option<String> {
    let remote = crate::git::git(["symbolic-ref", "-q", "--short", "refs/remotes/origin/HEAD"]);
    let output = remote.repository(repo).capture().ok();
    let name = output.map(|name| String::from_utf8_lossy(&name).trim().to_owned());
    let name = name.and_then(|name| name.strip_prefix("origin/").map(str::to_owned)).filter(|name| !name.is_empty());
    let exists = |name: &str| repo.tip(&format!("refs/heads/{name}")).is_ok_and(|tip| tip.is_some());
    name.or_else(|| ["main", "master"].into_iter().find(|name| exists(name)).map(str::to_owned))
}
