//! What `init` puts in place and `deinit` takes away: Git hooks, config values, agents' settings.
//!
//! Read [`install`] and [`remove`]: both make a [`Plan`], which can be shown or carried out. How files of other programs
//! are edited and put back is the business of `managed`.

pub mod advice;
mod agents;
mod check;
mod earlier;
mod finding;
mod git_hooks;
mod hook_check;
mod left;
mod proof;
mod sharing;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub use self::agents::{has_hooks, is_set_up};
pub use self::check::{check, check_agents, is_complete, mirrored};
pub use self::earlier::{Directory, earlier_directories, remove_earlier};
pub use self::finding::{Finding, Verdict};
pub use self::git_hooks::{are_wanted as wants_git_hooks, stops_pushes};
pub use self::left::{changed_for_all, has_hooks_of_others, left_alone, question};
use crate::agent;
use crate::error::{Error, Kind, Result};
use crate::git::Repository;
use crate::managed::client::{CLIENTS, Client, declared};
pub use crate::managed::hook::STOP as STOP_PUSH;
pub use crate::managed::{Declared, LeftAlone, Plan, open_when_free};
use crate::managed::{Edit, FileKind, HOOK_PROGRAM};
use crate::outside;

/// Our notes ref as `notes.rewriteRef` gets it. A pattern, because Git warns at each amend about a plain name whose ref
/// does not exist yet.
const REWRITE_REF: &str = "refs/notes/shiftlog*";

/// How Git merges our notes: no line is lost.
const MERGE_STRATEGY: (&str, &str) = ("notes.shiftlog.mergeStrategy", "cat_sort_uniq");

/// What leaves the machine when the user shares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Share {
    /// Nothing, and nothing that others share is fetched.
    Nothing,
    /// Notes only: summaries, no transcript.
    Notes,
    /// Notes and transcripts.
    All,
}

/// What to install.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The agents by name; empty for those that are installed.
    pub agents: Vec<String>,
    /// Whether agents' hooks go into the files that a team commits, and name our program without a path.
    pub is_shared: bool,
    /// Whether agents' hooks go into the user's own settings, where the agent reads hooks there.
    pub is_global: bool,
    /// What to share; `None` for what is set up.
    pub share: Option<Share>,
    /// The clients that the MCP server is declared to: `None` for none, empty for VS Code and those whose file is there.
    pub clients: Option<Vec<String>>,
    /// Whether they start `git` instead of this very program.
    pub is_portable: bool,
    /// Whether Git's hooks are wanted; `None` for what `shiftlog.gitHooks` says.
    pub git_hooks: Option<bool>,
    /// Whether hooks may change that serve other repositories too.
    pub is_for_all: bool,
}

/// Plans the installation into a repository. Nothing is written.
///
/// # Errors
///
/// If an agent or a client is unknown, or our own state cannot be read. A file that cannot be edited is one of
/// [`Plan::failures`], and keeps nothing else from being set up.
pub fn install(repo: &Repository, wanted: &Wanted) -> Result<Plan> {
    check_worktree(repo)?;
    let mut plan = Plan::new(repo, false, wanted.is_for_all)?;
    let program = program()?;
    // What is done is written down as JSON, which has no way to spell any bytes.
    if [Some(repo.common_dir().as_path()), repo.worktree()].into_iter().flatten().any(|dir| dir.to_str().is_none()) {
        return Err(Error::other("cannot set up a repository whose path is not UTF-8"));
    }
    match wanted.git_hooks {
        Some(true) => plan.remove_config(git_hooks::KEY, |_| true),
        Some(false) => plan.set_config(repo, git_hooks::KEY, "false", true),
        None => {}
    }
    let has_git_hooks = wanted.git_hooks.unwrap_or_else(|| git_hooks::are_wanted(repo));
    if has_git_hooks {
        git_hooks::plan(repo, &mut plan, &program)?;
    } else {
        git_hooks::take_back(repo, &mut plan)?;
    }
    let carries_notes = has_git_hooks && git_hooks::will_run(repo, &mut plan, "post-rewrite")?;
    plan_config(repo, &mut plan, carries_notes);
    // Whoever changes what is shared has chosen the agents before.
    let mut agents = agents::chosen(&wanted.agents)?;
    if wanted.share.is_some() && wanted.agents.is_empty() && !plan.knows_nothing() {
        let set_up = || agent::ALL.iter().copied().filter(|agent| agents::has_hooks(repo, *agent));
        if set_up().next().is_some() {
            agents = set_up().collect();
        }
    }
    for agent in agents {
        agents::plan(repo, &mut plan, agent, wanted, &program)?;
    }
    match wanted.share {
        Some(share) => sharing::plan(repo, &mut plan, share),
        None => sharing::remark_on_present(repo, &mut plan),
    }
    if let Some(names) = &wanted.clients {
        plan_clients(repo, &mut plan, names, wanted.is_portable)?;
    }
    Ok(plan)
}

/// Plans the removal of what was installed. Nothing is written. `is_for_all` says that hooks may change that serve other
/// repositories too.
///
/// # Errors
///
/// As [`install`].
pub fn remove(repo: &Repository, is_for_all: bool) -> Result<Plan> {
    check_worktree(repo)?;
    let mut plan = Plan::new(repo, true, is_for_all)?;
    let is_gone = |path: &Path| {
        let id = path.to_str().and_then(|name| Some(name.strip_prefix("worktree ")?.split_once(':')?.0));
        id.is_some_and(|id| !repo.common_dir().join("worktrees").join(id).exists())
    };
    // With a worktree that was removed its files have gone.
    for path in plan.foreign_files().into_iter().filter(|path| !is_gone(path)) {
        plan.remark(format!("'{}' belongs to another repository and is left alone", path.display()));
    }
    let mut files = known_files(repo)?;
    // Links can lead from two names to one file.
    let mut seen = HashSet::new();
    files.retain(|(path, kind)| seen.insert(plan.settled(path, *kind)));
    // Another worktree may have been set up from there; its files are known by their names alone.
    for path in plan.installed_files() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let kind = match name.as_str() {
            "exclude" => FileKind::Exclude,
            name if git_hooks::EVENTS.contains(&name) => FileKind::Hook,
            _ if CLIENTS.iter().any(|client| path.ends_with(client.file)) => FileKind::Client,
            _ => agents::hook_files()
                .find(|file| path.ends_with(file.path))
                .map_or(FileKind::Settings, |file| agents::kind_of(&file)),
        };
        if seen.insert(plan.settled(&path, kind)) {
            files.push((path, kind));
        }
    }
    let is_unknown = plan.knows_nothing();
    for (path, kind) in files {
        if plan.is_obstructed(&path) {
            continue;
        }
        match kind {
            FileKind::Own { .. } if is_unknown && agents::is_as_made(repo, &path)? => plan.remove_made(&path, kind),
            kind => plan.take_back(&path, kind)?,
        }
    }
    let found = if is_unknown && !plan.edits().is_empty() { own_config(repo) } else { Vec::new() };
    plan.take_back_config(found);
    sharing::remark_on_rest(repo, &mut plan, is_unknown);
    Ok(plan)
}

/// Fails if the files of the working tree are those of another repository.
fn check_worktree(repo: &Repository) -> Result<()> {
    let Some((owner, worktree)) = repo.other_owner_of_worktree().zip(repo.worktree()) else { return Ok(()) };
    let message = format!("'{}' is the working tree of another repository, '{}'", worktree.display(), owner.display());
    let names = if std::env::var_os("GIT_WORK_TREE").is_some() { "GIT_WORK_TREE" } else { "core.worktree" };
    Err(Error::other(message).hint(format!("{names} names it, perhaps since this repository is a copy")))
}

/// Returns the values in the repository's own config that `init` writes. Whether it did, nobody knows any more.
fn own_config(repo: &Repository) -> Vec<(String, String)> {
    let is_ours = |(key, value): &(String, String)| match key.as_str() {
        "notes.rewriteref" => value == REWRITE_REF,
        "notes.shiftlog.mergestrategy" => value == MERGE_STRATEGY.1,
        key if key.starts_with("hook.shiftlog-") => true,
        key => key.starts_with("remote.") && key.ends_with(".fetch") && sharing::remote_of(value).is_some(),
    };
    repo.own_config().into_iter().filter(is_ours).collect()
}

/// Returns the files that can hold a part of ours, whether or not they do.
fn known_files(repo: &Repository) -> Result<Vec<(PathBuf, FileKind)>> {
    let hooks = git_hooks::files_directory(repo)?;
    let mut files: Vec<(PathBuf, FileKind)> =
        git_hooks::EVENTS.iter().map(|name| (hooks.join(name), FileKind::Hook)).collect();
    files.extend(git_hooks::moved_aside(&hooks).into_iter().map(|path| (path, FileKind::Hook)));
    if let Some(worktree) = repo.worktree() {
        files.extend(agents::hook_files().map(|file| (worktree.join(file.path), agents::kind_of(&file))));
        files.extend(CLIENTS.iter().map(|client| (worktree.join(client.file), FileKind::Client)));
    }
    files.push((repo.common_dir().join("info/exclude"), FileKind::Exclude));
    files.extend(agent::all().flat_map(agents::user_files).map(|path| (path, FileKind::Settings)));
    Ok(files)
}

/// Says whether the list exists of what `init` has set up in this repository; `deinit` removes it.
pub fn is_written_down(repo: &Repository) -> bool {
    crate::managed::is_written_down(&repo.common_dir())
}

/// Says whether our hook program is installed beside the program that runs now.
pub fn has_program() -> bool {
    program().is_ok()
}

/// Returns the absolute path of our hook program, which is beside the program that runs now.
fn program() -> Result<PathBuf> {
    let missing = || Error::new(Kind::Missing, format!("cannot find '{HOOK_PROGRAM}' beside this program"));
    let own = std::env::current_exe().map_err(|error| missing().because(error))?;
    let program = own.with_file_name(HOOK_PROGRAM);
    if program.is_file() { Ok(program) } else { Err(missing().hint("'cargo install' puts all programs in one place")) }
}

/// Returns a command line that runs our hook program, and does nothing where it is not installed.
fn guarded(program: &Path, is_bare_name: bool, args: &str) -> String {
    let (is_there, program) = guard(program, is_bare_name);
    format!("{is_there} && {program} {args} || :")
}

/// Returns the condition of a shell that our hook program is there, and its name for the shell.
fn guard(program: &Path, is_bare_name: bool) -> (String, String) {
    if is_bare_name {
        return (format!("command -v {HOOK_PROGRAM} >/dev/null 2>&1"), HOOK_PROGRAM.to_owned());
    }
    let program = outside::shell(&program.to_string_lossy()).to_string();
    (format!("test -x {program}"), program)
}

/// Plans the config of notes. `carries_notes` says that our `post-rewrite` hook will run. Otherwise Git has to copy our
/// notes itself, although a lock on the notes ref then makes `git commit --amend` fail.
fn plan_config(repo: &Repository, plan: &mut Plan, carries_notes: bool) {
    if carries_notes {
        plan.remove_config("notes.rewriteRef", |value| value == REWRITE_REF);
    } else {
        plan.add_config(repo, "notes.rewriteRef", REWRITE_REF);
    }
    plan.set_config(repo, MERGE_STRATEGY.0, MERGE_STRATEGY.1, false);
    for (key, refspec) in check::replacing_refspecs(repo) {
        plan.remark(format!("{key} {refspec}: a fetch replaces our notes or transcripts; see 'git shiftlog doctor'"));
    }
    let is_copied = !carries_notes || check::are_copied_by_git(repo);
    if is_copied && repo.config_string("notes.rewriteMode").is_some_and(|mode| mode == "overwrite") {
        plan.remark("notes.rewriteMode is 'overwrite': an amend loses notes until our own hook has run".into());
    }
}

fn plan_clients(repo: &Repository, plan: &mut Plan, names: &[String], is_portable: bool) -> Result<()> {
    let Some(worktree) = repo.worktree() else {
        plan.remark("a bare repository has no place for the files of MCP clients".into());
        return Ok(());
    };
    let known = || CLIENTS.iter().map(|client| client.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = names.iter().find(|name| !CLIENTS.iter().any(|client| client.name == **name)) {
        return Err(
            Error::new(Kind::Usage, format!("unknown client '{unknown}'")).hint(format!("known clients: {}", known()))
        );
    }
    let is_wanted = |client: &&Client| match names {
        [] => client.name == "vscode" || worktree.join(client.file).is_file(),
        names => names.iter().any(|name| name == client.name),
    };
    let program = program()?.with_file_name("git-shiftlog");
    for client in CLIENTS.iter().filter(is_wanted) {
        let path = worktree.join(client.file);
        if plan.is_obstructed(&path) {
            continue;
        }
        let words = client.words((!is_portable).then_some(program.as_path()));
        let text = String::from_utf8(plan.planned(&path)?.unwrap_or_default());
        let text = text.map_err(|_| Error::other("it is not UTF-8"));
        match text.and_then(|text| client.add(&text, &words)) {
            Err(error) => plan.leave_unedited(&path, error),
            Ok(Some(after)) => {
                // A file of the user's own is theirs to commit or to hide.
                let is_new = !path.exists();
                if !is_portable {
                    agents::remark_on_tracked(repo, plan, client.file, &path, after.as_bytes())?;
                }
                plan.edit(path.clone(), FileKind::Client, after.into_bytes())?;
                if is_new && !is_portable && !plan.is_left(&path) {
                    agents::plan_exclude(repo, plan, client.file)?;
                }
            }
            Ok(None) => plan.remark(format!(
                "'{}' has a server called shiftlog that is not ours; {} is left alone",
                path.display(),
                client.title
            )),
        }
    }
    Ok(())
}

/// Returns our MCP server as the clients' files in the working tree declare it.
pub fn declared_servers(repo: &Repository) -> Vec<Declared> {
    let program = program().map(|program| program.with_file_name("git-shiftlog")).unwrap_or_default();
    repo.worktree().map(|worktree| declared(worktree, &program)).unwrap_or_default()
}

/// Returns what a plan would do, a line each, in words that `--dry-run` prints.
pub fn describe(plan: &Plan) -> Vec<String> {
    plan.edits().iter().map(Edit::describe).collect()
}
