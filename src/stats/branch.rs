//! Which branch a commit belongs to.

use std::collections::HashMap;

use bstr::{BStr, ByteSlice as _};

use crate::error::Result;
use crate::git::{ObjectId, Order, Range, Repository};

/// Returns the local branch of each of these commits: the default branch if that reaches it, else, of the branches that
/// do, the one whose tip is oldest. A commit that no local branch reaches is not in the map. A commit of the default branch that
/// stands for a branch, by the number behind its subject as forges write it, is in the map with that number, such as `#12`.
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
    for (is_other, _, branch) in tips {
        if found.len() == wanted.len() {
            break;
        }
        let range = Range { tips: vec![branch.commit_id], hidden: hidden.clone() };
        for step in repo.walk(&range, Order::AsFound)? {
            let commit_id = step?.commit_id;
            if wanted.contains(&commit_id) {
                let commit = if is_other { None } else { repo.commit(commit_id).ok() };
                let number = commit.and_then(|commit| squashed(commit.subject().as_ref()));
                found.entry(commit_id).or_insert_with(|| number.unwrap_or_else(|| branch.name.clone()));
            }
        }
        hidden.push(branch.commit_id);
    }
    Ok(found)
}

/// Returns the number of the request of which a commit is the squash: `#12`, behind its subject in parentheses.
fn squashed(subject: &BStr) -> Option<String> {
    let (_, number) = subject.trim_end().strip_suffix(b")")?.rsplit_once_str(" (#")?;
    let is_number = !number.is_empty() && number.len() < 10 && number.iter().all(u8::is_ascii_digit);
    is_number.then(|| format!("#{}", number.to_str_lossy()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squash_is_known_by_the_number_behind_its_subject() {
        let of = |subject: &str| squashed(subject.into());
        assert_eq!(of("Log arrivals (#12)").as_deref(), Some("#12"));
        assert_eq!(of("Log arrivals (#12) "), Some("#12".into()));
        for other in ["Log arrivals", "See #12", "Log (#x)", "Log (#)", "(#12) log", "Log (#1234567890)", "Log(#12)"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
