//! Whether Codex runs the hooks of a working tree: each has to be approved once, which its configuration tells.

use std::path::{Path, PathBuf};

use super::super::{Permission, place};

/// Returns whether all of `count` hooks in a file below a working tree are approved in the configuration at `config`.
pub fn permission(worktree: &Path, file: &str, count: usize, config: &Path) -> Permission {
    if worktree.join(".git").is_file() {
        let what = "release 0.169 ran none in linked worktrees; each commit looks for its sessions";
        return Permission::Unknown(what.into());
    }
    let text = place::read_text(config).unwrap_or_default();
    let approved = match text.parse::<toml_edit::DocumentMut>() {
        Ok(config) => approved(&config, &[worktree.join(file), place::resolved(worktree).join(file)]),
        Err(_) => return Permission::Unknown(format!("'{}' cannot be read", config.display())),
    };
    let fix = "start 'codex' and type '/hooks'".to_owned();
    match approved {
        0 => Permission::Missing { what: "nobody has approved its hooks".into(), fix },
        some if some < count => {
            let are = if some == 1 { "is" } else { "are" };
            Permission::Missing { what: format!("only {some} of its {count} hooks {are} approved"), fix }
        }
        _ => Permission::Given(format!("by approvals in '{}'", config.display())),
    }
}

/// Counts the hooks of a file that are approved: `[hooks.state."<file>:<event>:<group>:<hook>"]` with a `trusted_hash`.
fn approved(config: &toml_edit::DocumentMut, files: &[PathBuf]) -> usize {
    let states = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table_like());
    let is_of_file = |name: &str| {
        let file =
            |file: &PathBuf| name.strip_prefix(&*file.to_string_lossy()).is_some_and(|rest| rest.starts_with(':'));
        files.iter().any(file)
    };
    let all = states.into_iter().flat_map(toml_edit::TableLike::iter);
    all.filter(|(name, state)| is_of_file(name) && state.get("trusted_hash").is_some()).count()
}
