//! The arguments of a call, and the commits that they name.

use serde_json::{Map, Value};

use super::{Refusal, refusal};
use crate::git::{ObjectId, Range, Repository};
use crate::outside;

/// The arguments of a call, checked against the tool's schema.
pub type Arguments = Map<String, Value>;

/// Returns an argument that is text.
pub fn string<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a str> {
    arguments.get(name)?.as_str()
}

/// Says whether an argument is `true`.
pub fn flag(arguments: &Arguments, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Returns an argument that is a natural number, or `default`.
pub fn number(arguments: &Arguments, name: &str, default: usize) -> usize {
    arguments.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
}

/// Returns the commit that a revision names.
pub fn commit_id(repo: &Repository, revision: &str) -> Result<ObjectId, Refusal> {
    repo.resolve(revision).map_err(|_| {
        format!(
            "no commit matches {}; call shiftlog_list_conversations to see which commits have one",
            outside::quoted(revision)
        )
    })
}

/// Returns the history of a branch, or of HEAD.
pub fn range(repo: &Repository, branch: Option<&str>) -> Result<Range, Refusal> {
    let head = || repo.head().map_err(|error| refusal(&error));
    let tip = match branch {
        None => head()?.commit_id,
        Some(name) => {
            let branches = repo.branches(true, true).map_err(|error| refusal(&error))?;
            let is_it = |branch: &&crate::git::Branch| branch.name == name || branch.full_name == name;
            let found = branches.iter().find(is_it).map(|branch| branch.commit_id);
            let missing =
                || format!("no branch {}; call shiftlog_list_branches to see what there is", outside::quoted(name));
            Some(found.ok_or_else(missing)?)
        }
    };
    Ok(Range { tips: tip.into_iter().collect(), hidden: Vec::new() })
}
