//! Hooks of agents: our entries in their settings, and files that are ours alone.
//!
//! Read [`plan`]. What names a path of this machine is kept out of what is committed.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::{Wanted, guarded};
use crate::agent::{self, Agent, Commands, HookFile, HookForm, Permission};
use crate::error::{Error, Result};
use crate::git::{Repository, git};
use crate::managed::{FileKind, HOOK_PROGRAM, Plan, file};

/// Says whether somebody wants sessions of an agent recorded in a repository: it was set up, or its working tree has the
/// agent's hooks of ours. An agent that walks into another repository takes its hooks with it.
pub fn is_set_up(repo: &Repository, agent: &dyn Agent) -> bool {
    repo.common_dir().join("shiftlog/installed").is_file() || are_in_worktree(repo, agent)
}

/// Says whether an agent has hooks of ours: in the working tree, or in the user's own settings.
pub fn has_hooks(repo: &Repository, agent: &dyn Agent) -> bool {
    are_in_worktree(repo, agent) || are_in_user_files(agent)
}

/// Says whether the working tree has hooks of ours for an agent.
fn are_in_worktree(repo: &Repository, agent: &dyn Agent) -> bool {
    let declares = |declared: HookFile| {
        let text = repo.worktree().and_then(|worktree| file::contents(&worktree.join(declared.path)));
        text.is_some_and(|text| text.contains_str(HOOK_PROGRAM))
    };
    [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)).any(declares)
}

/// Returns the files in which the agents' hooks are declared, each once.
pub fn hook_files() -> impl Iterator<Item = HookFile> {
    let files = || {
        agent::ALL.iter().flat_map(|agent| [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)))
    };
    files()
        .enumerate()
        .filter(move |(at, file)| !files().take(*at).any(|other| other.path == file.path))
        .map(|(_, file)| file)
}

/// Returns how our part is taken out of such a file.
pub fn kind_of(file: &HookFile) -> FileKind {
    match file.form {
        HookForm::Json(_) => FileKind::Settings,
        HookForm::Own(_, is_executable) => FileKind::Own { is_executable },
    }
}

/// Returns the agents of these names, or those that are installed if there is none.
pub fn chosen(names: &[String]) -> Result<Vec<&'static dyn Agent>> {
    if names.is_empty() {
        return Ok(agent::ALL.iter().copied().filter(|agent| agent.is_installed()).collect());
    }
    names.iter().map(|name| agent::named(name)).collect()
}

/// Whose hook files are edited.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Owner {
    /// Those of a working tree, private to the clone.
    Clone,
    /// Those of a working tree that a team commits.
    Team,
    /// Those in the user's own directory.
    User,
}

/// Plans that an agent runs our program.
pub fn plan(repo: &Repository, plan: &mut Plan, agent: &dyn Agent, wanted: &Wanted, program: &Path) -> Result<()> {
    let files = agent.hook_files(wanted.is_shared);
    let (directory, whose) = match (agent.user_directory().filter(|_| wanted.is_global), repo.worktree()) {
        (Some(home), _) => (home, Owner::User),
        (None, Some(top)) => (top.to_owned(), if wanted.is_shared { Owner::Team } else { Owner::Clone }),
        (None, None) => {
            plan.remark(format!("a bare repository has no place for the settings of {}", agent.title()));
            return Ok(());
        }
    };
    if files.is_empty() {
        plan.remark(format!("{} has no hooks; its sessions are looked for when a commit is made", agent.title()));
    }
    // Of some agents the remark of the file says already what a user has to allow.
    if whose != Owner::User
        && files.iter().all(|file| file.remark.is_none())
        && let Permission::Missing { what, fix } = agent.permission(&directory)
    {
        plan.remark(format!("{}: {what}; {fix}", agent.title()));
    }
    files.iter().try_for_each(|file| plan_hook_file(repo, plan, agent, file, &directory, whose, program))
}

/// Returns the hook files of an agent in the user's own directory, and not those of a working tree.
pub fn user_files(agent: &dyn Agent) -> impl Iterator<Item = PathBuf> {
    let home = agent.user_directory();
    agent.hook_files(false).into_iter().filter_map(move |file| Some(home.as_ref()?.join(file.path)))
}

/// Says whether the user's own settings already have our hooks, which then run in every working tree.
fn are_in_user_files(agent: &dyn Agent) -> bool {
    user_files(agent).filter_map(|path| file::contents(&path)).any(|text| text.contains_str(HOOK_PROGRAM))
}

fn plan_hook_file(
    repo: &Repository,
    plan: &mut Plan,
    agent: &dyn Agent,
    file: &HookFile,
    directory: &Path,
    whose: Owner,
    program: &Path,
) -> Result<()> {
    let is_shared = whose == Owner::Team;
    let path = directory.join(file.path);
    if whose == Owner::Clone && !path.is_file() && are_in_user_files(agent) {
        return Ok(());
    }
    if let Some(above) = path.ancestors().skip(1).find(|above| above.is_file()) {
        plan.remark(format!("'{}' is a file: there is no place for hooks of {}", above.display(), agent.title()));
        return Ok(());
    }
    if plan.is_obstructed(&path) {
        return Ok(());
    }
    // What is committed must name no path of this machine.
    let is_tracked = whose == Owner::Clone && is_tracked(repo, &plan.settled(&path, kind_of(file)));
    let is_committed = is_shared || is_tracked;
    let shell = |event: &str| guarded(program, is_committed, &format!("{} {event}", owner(agent, file, is_shared)));
    let there = plan.planned(&path)?;
    let after = match file.form {
        HookForm::Json(layout) => {
            let others = others_in(&path, file, directory);
            let text = std::str::from_utf8(there.as_deref().unwrap_or_default());
            let text = text.map_err(|_| Error::other("it is not UTF-8"));
            match text.and_then(|text| agent::add_hooks(text, &layout, file.handlers, &others, shell)) {
                Ok(after) => after,
                Err(error) => {
                    plan.leave_unedited(&path, error);
                    return Ok(());
                }
            }
        }
        HookForm::Own(..) if there.as_ref().is_some_and(|there| !there.contains_str(HOOK_PROGRAM)) => {
            plan.remark(format!("'{}' is not ours and is left alone", path.display()));
            return Ok(());
        }
        HookForm::Own(..) if there.as_ref().is_some_and(|there| plan.is_changed(&path, there)) => {
            plan.remark(format!("'{}' was changed since it was made, and is left alone", path.display()));
            return Ok(());
        }
        HookForm::Own(text, _) => {
            let program = program.to_string_lossy();
            let program = if is_committed { HOOK_PROGRAM } else { &program };
            text(&Commands { agent: agent.name(), program, shell: &shell })
        }
    };
    let is_new = there.as_deref() != Some(after.as_bytes());
    if whose != Owner::User && is_new {
        file.remark.into_iter().for_each(|remark| plan.remark(remark.to_owned()));
        if agent.user_directory().is_some() {
            plan.hint(&format!(
                "'git shiftlog init --agent={} --global' puts its hooks into your own settings: then they run wherever {} is \
                 started",
                agent.name(),
                agent.title()
            ));
        }
    }
    if let Some(obstacle) = agent.obstacle(&after) {
        plan.remark(obstacle);
    }
    if is_tracked {
        remark_on_tracked(repo, plan, file.path, &path, after.as_bytes())?;
    }
    plan.edit(path.clone(), kind_of(file), after.into_bytes())?;
    let is_private = !is_committed && whose == Owner::Clone && !plan.is_left(&path);
    if is_private { plan_exclude(repo, plan, file.path) } else { Ok(()) }
}

/// Tells that a file which gets lines of ours is tracked, so that they go to everybody.
pub fn remark_on_tracked(repo: &Repository, plan: &mut Plan, file: &str, path: &Path, after: &[u8]) -> Result<()> {
    let is_new = plan.planned(path)?.as_deref() != Some(after);
    if is_new && is_tracked(repo, &plan.settled(path, FileKind::Settings)) {
        plan.remark(format!("'{file}' is tracked: our lines in it go to everybody once committed"));
    }
    Ok(())
}

/// Says whether a file that is ours alone is as `init` makes it, wherever it names our program.
pub fn is_as_made(repo: &Repository, path: &Path) -> Result<bool> {
    let Some(text) = file::read(path)?.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(false) };
    let Some(below_top) = repo.worktree().and_then(|top| path.strip_prefix(top).ok()) else { return Ok(false) };
    let is_made_for = |agent: &dyn Agent, file: &HookFile, is_shared: bool| {
        let HookForm::Own(make, _) = file.form else { return false };
        let named = text.match_indices(HOOK_PROGRAM).map(|(at, name)| {
            let start = text[..at].rfind(['"', '\'', ' ', '\n']).map_or(0, |start| start + 1);
            &text[start..at + name.len()]
        });
        named.into_iter().any(|program| {
            let is_bare = program == HOOK_PROGRAM;
            let owner = owner(agent, file, is_shared);
            let shell = |event: &str| guarded(Path::new(program), is_bare, &format!("{owner} {event}"));
            make(&Commands { agent: agent.name(), program, shell: &shell }) == text
        })
    };
    let mut files = agent::ALL.iter().flat_map(|agent| {
        let files = move |is_shared| agent.hook_files(is_shared).into_iter().map(move |file| (*agent, file, is_shared));
        [false, true].into_iter().flat_map(files)
    });
    Ok(files.any(|(agent, file, is_shared)| Path::new(file.path) == below_top && is_made_for(agent, &file, is_shared)))
}

/// Returns the agents whose own settings are in the same file, because a link leads there.
fn others_in(path: &Path, file: &HookFile, directory: &Path) -> Vec<&'static str> {
    let real = file::real(path);
    let is_linked = |other: &HookFile| other.path != file.path && file::real(&directory.join(other.path)) == real;
    let has_linked = |agent: &&&dyn Agent| {
        [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)).any(|other| is_linked(&other))
    };
    agent::ALL.iter().filter(has_linked).map(|agent| agent.name()).collect()
}

/// Returns the agent that a hook file is written for: the first of those that run it, so that there is one text. Which of
/// them runs a hook is known from the payload.
fn owner<'a>(agent: &'a dyn Agent, file: &HookFile, is_shared: bool) -> &'a str {
    let is_in = |other: &&&dyn Agent| other.hook_files(is_shared).iter().any(|other| other.path == file.path);
    agent::ALL.iter().find(is_in).map_or(agent.name(), |other| other.name())
}

/// Says whether a file of the working tree is tracked. Its path has no links in it: Git looks at none beyond one.
fn is_tracked(repo: &Repository, path: &Path) -> bool {
    let top = repo.worktree().map(|top| top.canonicalize().unwrap_or_else(|_| top.to_owned()));
    let tops = [repo.worktree().map(Path::to_owned), top];
    let below_top = tops.iter().flatten().find_map(|top| path.strip_prefix(top).ok());
    let spec = below_top.map(|below_top| format!(":(top,literal){}", below_top.display()));
    spec.is_some_and(|spec| git(["ls-files", "--error-unmatch", "--", &spec]).repository(repo).capture().is_ok())
}

/// Keeps a file that names a path of this machine out of what is committed, unless it is tracked or hidden already.
pub fn plan_exclude(repo: &Repository, plan: &mut Plan, file: &str) -> Result<()> {
    let exclude = repo.common_dir().join("info/exclude");
    // Git would wait for ever for a named pipe.
    if plan.is_obstructed(&exclude) {
        return Ok(());
    }
    let is_hidden = || git(["check-ignore", "--quiet", "--no-index", file]).repository(repo).capture().is_ok();
    let is_tracked = || repo.worktree().is_some_and(|top| is_tracked(repo, &top.join(file)));
    if is_hidden() || is_tracked() {
        return Ok(());
    }
    // What an earlier step plans for the file is in its text already.
    let text = plan.planned(&exclude)?.unwrap_or_default();
    plan.edit(exclude, FileKind::Exclude, file::add_exclude(&text, file))
}
