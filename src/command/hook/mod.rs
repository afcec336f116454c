//! `git-shiftlog--hook`: what every hook runs.
//!
//! It exits 0 whatever happens and prints nothing on stdout, since agents parse it. The exception is a push that would
//! publish conversations that must not be shared: then it exits with [`setup::STOP_PUSH`], the one status on which the hook's
//! script stops the push.

mod input;
mod push;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use self::input::{INPUT_TIMEOUT, standard_input};
use self::push::{Push, UNCHECKED, push_now, run_pre_push};
use crate::agent::{self, Event, Payload};
use crate::capture::{Leave, State, agent_hook, agents, carry, commit, hook_recorder, rewritten};
use crate::error::{Error, Kind, Result};
use crate::git::{Location, Repository, locate};
use crate::index::{Project, refresh};
use crate::remap::Scope;
use crate::transcript::SessionKey;
use crate::{cli, record, setup};

/// How long a hook waits for locks, all together, and as long for databases of agents; what it cannot read or store then
/// waits for the next command.
const LOCK_WAIT: Duration = Duration::from_millis(300);

/// Runs the program: `git post-commit`, `git post-rewrite <command>`, `git post-merge`, `git pre-push <remote>`, or
/// `<agent> <event>`. This program itself starts `git push-now <remote>` and `git refresh-index` in the background.
pub fn run() -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let is_push = matches!(args.as_slice(), ["git", "pre-push", ..]);
    // A defect of ours must not show in somebody's commit.
    std::panic::set_hook(Box::new(move |panic| {
        if is_push {
            cli::warning(&format!("{UNCHECKED}: there is a defect in git-shiftlog"));
        }
        let here = std::env::current_dir().unwrap_or_default();
        if let Some(location) = locate(&here) {
            // Its text may quote the words of a transcript.
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            State::new(&location.common_dir).log(&format!("defect at {place}"));
        }
        std::process::exit(0);
    }));
    cli::survive_full_files();
    agent::limit_waits(LOCK_WAIT);
    let is_off = std::env::var_os("SHIFTLOG_HOOK").is_some_and(|value| value == "off");
    let here = std::env::current_dir().unwrap_or_default();
    let outcome = match args.as_slice() {
        ["--help" | "-h"] => return cli::finish(cli::show_hook_page().map(|()| cli::Outcome::Done)),
        // A hook that somebody has written may not hand the name of the remote on; what is published is checked all the same.
        ["git", "pre-push", rest @ ..] => match run_pre_push(&here, rest.first().unwrap_or(&""), is_off) {
            Ok(Push::Goes) => Ok(()),
            Ok(Push::Stops) => return ExitCode::from(setup::STOP_PUSH),
            Err(error) => Err(error),
        },
        _ if is_off => Ok(()),
        ["git", "post-commit"] => run_post_commit(&here),
        ["git", "post-rewrite", command, ..] => run_post_rewrite(&here, command),
        ["git", "post-merge", "1", ..] => remember_squash(&here).and_then(|()| run_post_merge(&here)),
        ["git", "post-merge", ..] => run_post_merge(&here),
        ["git", "push-now", remote, words @ ..] => push_now(&here, remote, words),
        ["git", "refresh-index"] => refresh_index(&here),
        [name, event, ..] => run_agent_hook(name, event, &here),
        _ => Ok(()),
    };
    if let Err(error) = outcome {
        let location = locate(&here);
        let log = |location: &Location| {
            State::new(&location.common_dir).try_log(&format!("warning: {}: {error}", args.join(" ")))
        };
        let is_logged = location.as_ref().is_some_and(log);
        let is_unseen = location.is_some() && (!is_logged || error.kind() == Kind::Storage);
        // Nobody would learn of it otherwise. What an agent would read stays empty.
        if is_push || is_unseen && args.first() == Some(&"git") {
            cli::warning(&error.to_string());
        }
    }
    ExitCode::SUCCESS
}

fn open(directory: &Path) -> Result<Repository> {
    let repo = Repository::open(directory)?;
    agents::define(&repo);
    repo.limit_lock_waits(LOCK_WAIT);
    repo.stay_offline();
    Ok(repo)
}

fn run_post_commit(here: &Path) -> Result<()> {
    let Some(location) = locate(here) else { return Ok(()) };
    // Hooks that are installed without this condition run for each commit that a rebase picks.
    if location.is_picking() {
        return Ok(());
    }
    if let Err(error) = start_refresh(here, &location) {
        State::new(&location.common_dir).log(&format!("warning: the index is not refreshed: {error}"));
    }
    if commit::is_idle(&location) {
        return Ok(());
    }
    // Git's files that name the sources of a cherry-pick or a squash exist only now, so the agent's hook would be too late.
    if !carry::may_have_sources(&location) && commit::leave_to_agent(&location)? {
        return Ok(());
    }
    let repo = open(here)?;
    let mut recorder = hook_recorder(&repo, &record::notes_ref(&repo), Leave::Nothing);
    let outcome = commit::after_commit(&mut recorder);
    cli::tell(&repo, &recorder.finish());
    outcome
}

fn run_post_rewrite(here: &Path, command: &str) -> Result<()> {
    // The hook at the end of the rebase names all commits.
    if command == "amend" && locate(here).is_some_and(|location| location.is_picking()) {
        return Ok(());
    }
    let input = standard_input(INPUT_TIMEOUT);
    let repo = open(here)?;
    let pairs: Vec<_> = String::from_utf8_lossy(&input.bytes)
        .lines()
        // Git names two commits in each line; what does not is not from Git, and may go on for long.
        .map_while(|line| {
            let mut ids = line.split_whitespace().map(|hex| repo.parse_id(hex));
            Some((ids.next()??, ids.next()??))
        })
        .collect();
    let notes_ref = record::notes_ref(&repo);
    // The first note of all may still be pending. Of a damaged ref, what was rewritten is kept until it is repaired.
    if matches!(repo.tip(&notes_ref), Ok(None)) && State::new(&repo.common_dir()).is_idle() {
        return Ok(());
    }
    let mut recorder = hook_recorder(&repo, &notes_ref, Leave::Commits);
    let outcome = rewritten::after_rewrite(&mut recorder, command, &pairs);
    let report = recorder.finish();
    cli::tell(&repo, &report);
    outcome?;
    if !input.is_whole {
        return Err(Error::new(
            Kind::Busy,
            "the list of rewritten commits did not end, and what was missing is not carried",
        ));
    }
    // 'git pull --rebase' brings commits of others, and runs no other hook.
    if command == "rebase" && report.warnings.is_empty() { run_post_merge(here) } else { Ok(()) }
}

/// Remembers the commits that `git merge --squash` has put into the index. The next commit gets their records.
fn remember_squash(here: &Path) -> Result<()> {
    let repo = open(here)?;
    if matches!(repo.tip(&record::notes_ref(&repo)), Ok(None)) {
        return Ok(());
    }
    carry::keep_squash(&repo)
}

/// Records on a merge the sessions that made it. Then carries records to commits that came with it and make the change
/// of one that has them.
fn run_post_merge(here: &Path) -> Result<()> {
    let repo = open(here)?;
    if commit::merge_at_head(&repo).is_some() && locate(here).is_some_and(|location| !commit::is_idle(&location)) {
        let mut recorder = hook_recorder(&repo, &record::notes_ref(&repo), Leave::Nothing);
        let outcome = commit::after_merge(&mut recorder);
        cli::tell(&repo, &recorder.finish());
        outcome?;
    }
    let remapped = crate::remap::remap_new(&repo, &record::notes_ref(&repo), &Scope::New)?;
    let state = State::new(&repo.common_dir());
    for carried in &remapped.carried {
        state.log(&format!("carried records to {}", carried.to));
    }
    Ok(())
}

/// Starts this program with other words, beside what the user does, which does not wait for it.
fn start_beside(words: &[&str]) -> Result<()> {
    start(&mut beside(words)?, words[1])
}

/// Starts this program as [`start_beside`] does, but in the directory that all worktrees share, so that a linked worktree
/// can be removed meanwhile. Where
/// `extensions.worktreeConfig` is set, the program runs in the worktree, whose configuration it needs.
fn start_beside_worktrees(repo: &Repository, words: &[&str]) -> Result<()> {
    let shared = repo.common_dir();
    let mut command = beside(words)?;
    if repo.git_dir() != shared && repo.config_bool("extensions.worktreeConfig") != Some(true) {
        command.current_dir(&shared).env("GIT_DIR", &shared).env_remove("GIT_WORK_TREE").env_remove("GIT_COMMON_DIR");
    }
    start(&mut command, words[1])
}

fn beside(words: &[&str]) -> Result<Command> {
    let own = std::env::current_exe().map_err(|error| Error::other("cannot find this program").because(error))?;
    let mut command = Command::new(own);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A commit names its own index file, which is gone when the commit is made.
    command.env_remove("GIT_INDEX_FILE");
    Ok(command)
}

fn start(command: &mut Command, name: &str) -> Result<()> {
    command.spawn().map(drop).map_err(|error| Error::other(format!("cannot start '{name}'")).because(error))
}

/// Starts a new session, so that closing the terminal does not end this process, and nothing can ask at the terminal;
/// fails silently for a process group leader.
fn leave_terminal() {
    let _ = rustix::process::setsid();
}

/// Starts an update of the project's index in the background, if `shiftlog.index` asks for it.
fn start_refresh(here: &Path, location: &Location) -> Result<()> {
    match &location.worktree {
        Some(top) if refresh::is_wanted(here, top)? => start_beside(&["git", "refresh-index"]),
        _ => Ok(()),
    }
}

fn refresh_index(here: &Path) -> Result<()> {
    leave_terminal();
    let repo = open(here)?;
    let state = State::new(&repo.common_dir());
    for line in refresh::refresh(&repo, &Project::around(here.to_owned()))? {
        state.log(&line);
    }
    Ok(())
}

/// Opens the first repository that a tool call names, for an agent that was started outside of any repository.
fn open_named(payload: &Payload, directory: &Path) -> Option<Repository> {
    let folder = |place: PathBuf| if place.is_dir() { Some(place) } else { place.parent().map(Path::to_owned) };
    let mut folders = payload.places(directory).into_iter().filter_map(folder);
    folders.find_map(|folder| locate(&folder).and_then(|_| open(&folder).ok()))
}

fn run_agent_hook(name: &str, event: &str, here: &Path) -> Result<()> {
    // The session's state stays as it was, so its next hook sees the same moves of HEAD.
    let Some(payload) = standard_input(INPUT_TIMEOUT).payload() else {
        return Err(Error::new(Kind::Busy, "the payload did not end, or is too large; the next hook makes up for it"));
    };
    let directory: PathBuf = payload.directory().filter(|dir| dir.is_dir()).unwrap_or_else(|| here.to_owned());
    let repo = match open(&directory) {
        Ok(repo) => repo,
        Err(error) if error.kind() == Kind::Missing => match open_named(&payload, &directory) {
            Some(repo) => repo,
            // An agent outside a repository is no failure.
            None => return Ok(()),
        },
        Err(error) => return Err(error),
    };
    // The repository may describe agents.
    let Some(agent) = agent::caller(name, &payload) else { return Ok(()) };
    if !setup::is_set_up(&repo, agent) {
        return Ok(());
    }
    // After a tool, the session knows which call made its commits.
    let is_after_tool = Event::of(payload.event().unwrap_or(event)) == Event::AfterTool;
    let session = payload.session_id().map(|id| SessionKey::new(agent.name(), id));
    let leave = match &session {
        Some(own) if is_after_tool => Leave::CommitsOf(own),
        Some(own) => Leave::CommitsOfOthers(own),
        None => Leave::Nothing,
    };
    let mut recorder = hook_recorder(&repo, &record::notes_ref(&repo), leave);
    let outcome = agent_hook::agent_event(&mut recorder, agent, event, &payload);
    if let Err(error) = &outcome {
        State::new(&repo.common_dir()).log(&format!("warning: {} {event}: {error}", agent.name()));
    }
    recorder.finish();
    Ok(())
}
