//! What `init` puts in place and `deinit` takes away: Git hooks, config values, agents' settings.
//!
//! Read [`install`] and [`remove`]: both make a [`Plan`], which can be shown or carried out. What was done is written
//! down in `$GIT_COMMON_DIR/shiftlog/installed`, so that every byte can be put back.

mod check;
mod client;
mod earlier;
mod file;
mod hook;
mod installed;
mod place;
mod plan;
mod toml;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

pub use self::check::{Finding, check, is_complete};
pub use self::client::Declared;
use self::client::{CLIENTS, Client};
pub use self::earlier::{Directory, earlier_directories, remove_earlier};
pub use self::hook::STOP as STOP_PUSH;
pub use self::plan::Plan;
use self::plan::{FileKind, Step};
use crate::agent::{self, Agent, Commands, HookFile, Shape};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, git};
use crate::outside;

/// The program that every hook runs.
const HOOK_PROGRAM: &str = "git-shiftlog--hook";
/// The hooks of Git that are installed.
const GIT_HOOKS: &[&str] = &["post-commit", "post-rewrite", "post-merge", "pre-push"];

/// Whether Git's hooks are set up.
const GIT_HOOKS_KEY: &str = "shiftlog.gitHooks";

/// Our notes ref as `notes.rewriteRef` gets it. A pattern, because Git warns at each amend about a plain name whose ref
/// does not exist yet.
const REWRITE_REF: &str = "refs/notes/shiftlog*";

/// What leaves the machine when the user shares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Share {
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
    /// What to share, if anything.
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
/// If a file is not what it should be: the message names it, and nothing is replaced.
pub fn install(repo: &Repository, wanted: &Wanted) -> Result<Plan> {
    let mut plan = Plan::new(repo, false, wanted.is_for_all)?;
    let program = program()?;
    // What is done is written down as JSON, which has no way to spell any bytes.
    if [Some(repo.common_dir().as_path()), repo.worktree()].into_iter().flatten().any(|dir| dir.to_str().is_none()) {
        return Err(Error::other("cannot set up a repository whose path is not UTF-8"));
    }
    match wanted.git_hooks {
        Some(true) => plan.remove_config(GIT_HOOKS_KEY, |_| true),
        Some(false) => plan.set_config(repo, GIT_HOOKS_KEY, "false", true),
        None => {}
    }
    if wanted.git_hooks.unwrap_or_else(|| wants_git_hooks(repo)) {
        plan_git_hooks(repo, &mut plan, &program)?;
    } else {
        take_back_git_hooks(repo, &mut plan)?;
    }
    plan_config(repo, &mut plan);
    for agent in chosen_agents(&wanted.agents)? {
        plan_agent(repo, &mut plan, agent, wanted.is_shared, &program)?;
    }
    if let Some(share) = wanted.share {
        plan_sharing(repo, &mut plan, share);
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
    let mut plan = Plan::new(repo, true, is_for_all)?;
    for path in plan.foreign_files() {
        plan.remark(format!("'{}' belongs to another repository and is left alone", path.display()));
    }
    let mut files = known_files(repo)?;
    let mut seen = HashSet::new();
    files.retain(|(path, _)| seen.insert(path.clone()));
    // Another worktree may have been set up from there; its files are known by their names alone.
    for path in plan.installed_files() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let kind = match name.as_str() {
            "exclude" => FileKind::Exclude,
            name if GIT_HOOKS.contains(&name) => FileKind::Hook,
            _ if CLIENTS.iter().any(|client| path.ends_with(client.file)) => FileKind::Client,
            _ => hook_files().find(|file| path.ends_with(file.path)).map_or(FileKind::Settings, |file| kind_of(&file)),
        };
        if !files.iter().any(|(known, _)| *known == path) {
            files.push((path, kind));
        }
    }
    for (path, kind) in files {
        plan.take_back(&path, kind)?;
    }
    plan.take_back_config();
    Ok(plan)
}

/// Returns the files that can hold a part of ours, whether or not they do.
fn known_files(repo: &Repository) -> Result<Vec<(PathBuf, FileKind)>> {
    let hooks = hooks_dir(repo)?;
    let mut files: Vec<(PathBuf, FileKind)> = GIT_HOOKS.iter().map(|name| (hooks.join(name), FileKind::Hook)).collect();
    if let Some(worktree) = repo.worktree() {
        files.extend(hook_files().map(|file| (worktree.join(file.path), kind_of(&file))));
        files.extend(CLIENTS.iter().map(|client| (worktree.join(client.file), FileKind::Client)));
    }
    files.push((repo.common_dir().join("info/exclude"), FileKind::Exclude));
    Ok(files)
}

/// Says whether somebody wants sessions of an agent recorded in a repository: it was set up, or its working tree has the
/// agent's hooks of ours. An agent that walks into another repository takes its hooks with it.
pub fn is_set_up(repo: &Repository, agent: &dyn Agent) -> bool {
    let declares = |file: HookFile| {
        let text = repo.worktree().map(|worktree| std::fs::read(worktree.join(file.path)).unwrap_or_default());
        text.is_some_and(|text| text.contains_str(HOOK_PROGRAM))
    };
    repo.common_dir().join("shiftlog/installed").is_file()
        || [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)).any(declares)
}

/// Returns the files in which the agents' hooks are declared, each once.
fn hook_files() -> impl Iterator<Item = HookFile> {
    let files = || {
        agent::ALL.iter().flat_map(|agent| [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)))
    };
    files()
        .enumerate()
        .filter(move |(at, file)| !files().take(*at).any(|other| other.path == file.path))
        .map(|(_, file)| file)
}

fn kind_of(file: &HookFile) -> FileKind {
    match file.shape {
        Shape::Json(_) => FileKind::Settings,
        Shape::Own(_, is_executable) => FileKind::Own { is_executable },
    }
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

/// Returns the directory that Git takes hooks from, absolute.
fn hooks_dir(repo: &Repository) -> Result<PathBuf> {
    let output = git(["rev-parse", "--git-path", "hooks"]).repository(repo).capture()?;
    let dir = output.trim_end().to_path_lossy().into_owned();
    Ok(repo.worktree().unwrap_or(repo.git_dir()).join(dir))
}

/// Says whether hooks are declared in config rather than in files: Git can since 2.54.
fn uses_config_hooks() -> bool {
    crate::git::version() >= (2, 54)
}

/// Says whether Git's hooks are to be set up, as far as the config says.
fn wants_git_hooks(repo: &Repository) -> bool {
    repo.config_bool(GIT_HOOKS_KEY) != Some(false)
}

/// Plans that our part of Git's hooks goes.
fn take_back_git_hooks(repo: &Repository, plan: &mut Plan) -> Result<()> {
    let hooks = hooks_dir(repo)?;
    for event in GIT_HOOKS {
        plan.remove_config(&format!("hook.shiftlog-{event}.command"), |_| true);
        plan.remove_config(&format!("hook.shiftlog-{event}.event"), |_| true);
        plan.take_back(&hooks.join(event), FileKind::Hook)?;
    }
    Ok(())
}

fn plan_git_hooks(repo: &Repository, plan: &mut Plan, program: &Path) -> Result<()> {
    if uses_config_hooks() {
        for event in GIT_HOOKS {
            let name = format!("hook.shiftlog-{event}");
            let command = hook::command(event, &guard(program, false));
            plan.set_config(repo, &format!("{name}.command"), &command, false);
            plan.add_config(repo, &format!("{name}.event"), event);
        }
        return Ok(());
    }
    let hooks = hooks_dir(repo)?;
    if hooks.exists() && !hooks.is_dir() {
        plan.remark(format!("hooks are turned off: '{}' is no directory", hooks.display()));
        return Ok(());
    }
    // A directory in the working tree is one that a team commits; there a path of this machine has no business.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let below_top = repo.worktree().and_then(|top| real(&hooks).strip_prefix(real(top)).ok().map(Path::to_owned));
    let below_top = below_top.filter(|_| !real(&hooks).starts_with(real(&repo.common_dir())));
    let is_committed = below_top.is_some();
    let steps_before = plan.steps().len();
    for event in GIT_HOOKS {
        let path = hooks.join(event);
        if let Some(tracked) = tracked_target(repo, &path).filter(|_| !is_committed) {
            plan.remark(format!(
                "'{}' leads to '{}', which is tracked, and is left alone; have it run: {}",
                path.display(),
                tracked.display(),
                guarded(program, true, &format!("git {event}"))
            ));
            continue;
        }
        match plan.current(&path)? {
            Some(text) if !hook::is_shell_script(&text) => plan.remark(format!(
                "'{}' is no shell script and is left alone; have it run: {}",
                path.display(),
                guarded(program, is_committed, &format!("git {event}"))
            )),
            _ if plan.is_disabled(&path) => {
                plan.remark(format!("'{}' is not executable and is left alone", path.display()));
            }
            text => {
                let after = hook::add_block(text.as_deref(), event, &guard(program, is_committed));
                plan.edit(path, FileKind::Hook, after)?;
            }
        }
    }
    if let Some(below_top) = below_top.filter(|_| plan.steps().len() > steps_before) {
        remark_on_tracked_hooks(repo, plan, &below_top);
    }
    Ok(())
}

/// Tells what it means that hooks are in the working tree.
fn remark_on_tracked_hooks(repo: &Repository, plan: &mut Plan, below_top: &Path) {
    let shown = below_top.display();
    let spec = format!(":(top,literal){shown}");
    let is_tracked = git(["ls-files", "--", &spec]).repository(repo).capture().is_ok_and(|files| !files.is_empty());
    if is_tracked {
        plan.remark(format!("the hooks in '{shown}' are tracked: our lines in them go to everybody once committed"));
    } else if below_top.ends_with(".husky/_") {
        plan.remark(format!("Husky writes '{shown}' anew when it is installed; run 'git shiftlog init' after that"));
    } else {
        return;
    }
    plan.hint("'git shiftlog init --no-git-hooks' leaves them alone; then what agents commit is recorded");
}

/// Returns the tracked file that a hook leads to through symbolic links: others would get what is private to this clone.
fn tracked_target(repo: &Repository, path: &Path) -> Option<PathBuf> {
    let target = path.canonicalize().ok()?;
    let below_top = target.strip_prefix(repo.worktree()?.canonicalize().ok()?).ok()?.to_owned();
    if target.starts_with(repo.common_dir().canonicalize().ok()?) {
        return None;
    }
    let spec = format!(":(top,literal){}", below_top.display());
    git(["ls-files", "--error-unmatch", "--", &spec]).repository(repo).capture().ok().map(|_| below_top)
}

fn plan_config(repo: &Repository, plan: &mut Plan) {
    plan.add_config(repo, "notes.rewriteRef", REWRITE_REF);
    plan.set_config(repo, "notes.shiftlog.mergeStrategy", "cat_sort_uniq", false);
    if repo.config_string("notes.rewriteMode").is_some_and(|mode| mode == "overwrite") {
        plan.remark("notes.rewriteMode is 'overwrite': an amend loses notes until our own hook has run".into());
    }
}

fn chosen_agents(names: &[String]) -> Result<Vec<&'static dyn Agent>> {
    if names.is_empty() {
        return Ok(agent::ALL.iter().copied().filter(|agent| agent.is_installed()).collect());
    }
    names.iter().map(|name| agent::named(name)).collect()
}

fn plan_agent(repo: &Repository, plan: &mut Plan, agent: &dyn Agent, is_shared: bool, program: &Path) -> Result<()> {
    let Some(worktree) = repo.worktree() else {
        plan.remark(format!("a bare repository has no place for the settings of {}", agent.title()));
        return Ok(());
    };
    let files = agent.hook_files(is_shared);
    if files.is_empty() {
        plan.remark(format!("{} has no hooks; its sessions are looked for when a commit is made", agent.title()));
    }
    files.iter().try_for_each(|file| plan_hook_file(repo, plan, agent, worktree, file, is_shared, program))
}

fn plan_hook_file(
    repo: &Repository,
    plan: &mut Plan,
    agent: &dyn Agent,
    worktree: &Path,
    file: &HookFile,
    is_shared: bool,
    program: &Path,
) -> Result<()> {
    let path = worktree.join(file.path);
    if let Some(above) = path.ancestors().skip(1).find(|above| above.is_file()) {
        plan.remark(format!("'{}' is a file: there is no place for hooks of {}", above.display(), agent.title()));
        return Ok(());
    }
    // What is committed must name no path of this machine.
    let is_committed = is_shared || is_tracked(repo, file.path);
    let shell = |event: &str| guarded(program, is_committed, &format!("{} {event}", owner(agent, file, is_shared)));
    let there = plan.planned(&path)?;
    let after = match file.shape {
        Shape::Json(layout) => {
            let cannot =
                |error: Error| Error::new(error.kind(), format!("cannot edit '{}'", path.display())).because(error);
            let text = std::str::from_utf8(there.as_deref().unwrap_or_default())
                .map_err(|_| cannot(Error::other("it is not UTF-8")))?;
            agent::add_hooks(text, &layout, file.handlers, shell).map_err(cannot)?
        }
        Shape::Own(..) if there.as_ref().is_some_and(|there| !there.contains_str(HOOK_PROGRAM)) => {
            plan.remark(format!("'{}' is not ours and is left alone", path.display()));
            return Ok(());
        }
        Shape::Own(..) if there.as_ref().is_some_and(|there| plan.is_changed(&path, there)) => {
            plan.remark(format!("'{}' was changed since it was made, and is left alone", path.display()));
            return Ok(());
        }
        Shape::Own(text, _) => {
            let program = program.to_string_lossy();
            text(&Commands { program: if is_committed { HOOK_PROGRAM } else { &program }, shell: &shell })
        }
    };
    if let Some(remark) = file.remark.filter(|_| there.as_deref() != Some(after.as_bytes())) {
        plan.remark(remark.to_owned());
    }
    if let Some(obstacle) = agent.obstacle(&after) {
        plan.remark(obstacle);
    }
    plan.edit(path, kind_of(file), after.into_bytes())?;
    if is_committed { Ok(()) } else { plan_exclude(repo, plan, file.path) }
}

/// Returns the agent that a hook file is written for: the first of those that run it, so that there is one text. Which of
/// them runs a hook is told by the payload.
fn owner(agent: &dyn Agent, file: &HookFile, is_shared: bool) -> &'static str {
    let is_in = |other: &&&dyn Agent| other.hook_files(is_shared).iter().any(|other| other.path == file.path);
    agent::ALL.iter().find(is_in).map_or(agent.name(), |other| other.name())
}

fn is_tracked(repo: &Repository, file: &str) -> bool {
    git(["ls-files", "--error-unmatch", "--", file]).repository(repo).capture().is_ok()
}

/// Keeps a file that names a path of this machine out of what is committed, unless it is tracked or hidden already.
fn plan_exclude(repo: &Repository, plan: &mut Plan, file: &str) -> Result<()> {
    let is_hidden = || git(["check-ignore", "--quiet", "--no-index", file]).repository(repo).capture().is_ok();
    if is_hidden() || is_tracked(repo, file) {
        return Ok(());
    }
    let exclude = repo.common_dir().join("info/exclude");
    // What an earlier step plans for the file is in its text already.
    let text = plan.planned(&exclude)?.unwrap_or_default();
    plan.edit(exclude, FileKind::Exclude, file::add_exclude(&text, file))
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
        let text = plan.planned_text(&path)?;
        let words = client.words((!is_portable).then_some(program.as_path()));
        let cannot =
            |error: Error| Error::new(error.kind(), format!("cannot edit '{}'", path.display())).because(error);
        match client.add(&text, &words).map_err(cannot)? {
            Some(after) => {
                // A file of the user's own is theirs to commit or to hide.
                let is_new = !path.exists();
                plan.edit(path, FileKind::Client, after.into_bytes())?;
                if is_new && !is_portable {
                    plan_exclude(repo, plan, client.file)?;
                }
            }
            None => plan.remark(format!(
                "'{}' has a server called shiftlog that is not ours; {} is left alone",
                path.display(),
                client.title
            )),
        }
    }
    Ok(())
}

fn plan_sharing(repo: &Repository, plan: &mut Plan, share: Share) {
    let value = if share == Share::All { "all" } else { "notes" };
    plan.set_config(repo, "shiftlog.push", value, true);
    let remotes = git(["remote"]).repository(repo).capture().unwrap_or_default();
    let remotes: Vec<String> = remotes.lines().map(|line| line.to_str_lossy().into_owned()).collect();
    if remotes.is_empty() {
        plan.remark("there is no remote to share with yet; run this again when there is one".into());
    }
    for remote in remotes {
        // Wildcards, because Git refuses to fetch an exact ref that the remote does not have.
        let key = format!("remote.{remote}.fetch");
        plan.add_config(repo, &key, &format!("+refs/notes/shiftlog*:refs/shiftlog/remotes/{remote}/notes*"));
        // Marks of what was removed for good say nothing of what it was.
        let purged = format!("+refs/shiftlog/purged*:refs/shiftlog/remotes/{remote}/purged*");
        plan.add_config(repo, &key, &purged);
        let sessions = format!("+refs/shiftlog/sessions*:refs/shiftlog/remotes/{remote}/sessions*");
        match share {
            Share::All => plan.add_config(repo, &key, &sessions),
            Share::Notes => plan.remove_config(&key, |value| value == sessions),
        }
    }
}

/// Returns our MCP server as the clients' files in the working tree declare it.
pub fn declared_servers(repo: &Repository) -> Vec<Declared> {
    let program = program().map(|program| program.with_file_name("git-shiftlog")).unwrap_or_default();
    repo.worktree().map(|worktree| client::declared(worktree, &program)).unwrap_or_default()
}

/// Returns what a plan would do, a line each, in words that `--dry-run` prints.
pub fn describe(plan: &Plan) -> Vec<String> {
    plan.steps().iter().map(Step::describe).collect()
}
