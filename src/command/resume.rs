//! `git shiftlog resume`: resume the session of a commit.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;

use super::open;
use super::target::commit_or_session;
use crate::agent::{self, Agent};
use crate::cli::{self, NotesRef, Outcome};
use crate::error::{Error, Kind, Result};
use crate::git::child::find_program;
use crate::git::{ObjectId, Repository, git};
use crate::outside;
use crate::pretty::{self, Depth, View};
use crate::record::{Reader, redaction};
use crate::resume::{Chosen, FileStep, Restore};

/// Resume the session of a commit
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-resume", override_usage = "git shiftlog resume [<options>] [<commit> | <session id>]")]
pub struct Options {
    /// Resume this session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Resume a session of this agent
    #[arg(long, value_name = "name")]
    agent: Option<String>,
    /// Hand the conversation to this agent instead, which starts with it as a document
    #[arg(long = "as", value_name = "agent")]
    other: Option<String>,
    /// Use a new worktree, and leave this one unchanged
    #[arg(long, value_name = "path", require_equals = true, num_args = 0..=1, default_missing_value = "")]
    worktree: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(short = 'n', long, visible_alias = "dry-run")]
    print: bool,
    /// Go on despite uncommitted changes, and replace a different transcript
    #[arg(short = 'f', long)]
    force: bool,
    #[command(flatten)]
    notes_ref: NotesRef,
    /// The commit, HEAD by default, or a session, whose last commit is meant
    #[arg(value_name = "commit")]
    commit: Option<String>,
}

/// Where the session goes on.
enum Destination {
    /// Here, at the commit that is checked out already.
    Here,
    /// Here, after the commit has been checked out.
    Checkout,
    /// In a new worktree.
    Worktree,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let mut commands = None;
    let code = cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        match options.print {
            false => open::store_missed_or_leave(&repo),
            true => open::warn_of_waiting(&repo),
        }
        let other = options.other.as_deref().map(agent::named).transpose()?;
        let top = repo.worktree().ok_or_else(|| Error::other("this operation must be run in a work tree"))?.to_owned();
        options.notes_ref.warn_if_missing(&repo);
        let reader = Reader::new(&repo, cli::notes_ref(&repo, options.notes_ref.name()).as_deref());
        let (commit_id, named) = commit_or_session(&reader, options.commit.as_deref().unwrap_or("HEAD"))?;
        let (place, directory) = place(&repo, &options, &top, commit_id)?;
        let named = named.map(|key| key.id);
        let (agent, session) = (options.agent.as_deref(), options.session.as_deref().or(named.as_deref()));
        let mut chosen = match Chosen::find(&reader, commit_id, agent, session) {
            Err(error) if error.kind() == Kind::Missing => {
                // A colleague may have described an agent that is not known here, so what is recorded counts first.
                agent.map(agent::named).transpose()?;
                cli::error(&error);
                return Ok(Outcome::No);
            }
            chosen => chosen?,
        };
        let restore = match other {
            Some(other) => hand_over(&repo, commit_id, &mut chosen, other)?,
            None => Restore::plan(&reader, &chosen, &directory, options.force)?,
        };
        if matches!(place, Destination::Checkout) && !options.force {
            require_no_changes(&repo)?;
        }
        // Nothing is changed for an agent that cannot be started.
        let programs = restore.commands.iter().filter_map(|words| words.first());
        let startable = programs.into_iter().try_for_each(|program| look_for(program));
        if options.print {
            print(&place, commit_id, &directory, &restore)?;
            // The plan can be followed on another machine.
            return Ok(match &startable {
                Ok(()) => Outcome::Done,
                Err(error) => {
                    cli::error(error);
                    Outcome::No
                }
            });
        }
        startable?;
        match place {
            Destination::Here => {}
            Destination::Checkout => check_out(&repo, commit_id)?,
            Destination::Worktree => {
                let id = commit_id.to_string();
                let args = ["worktree", "add", "--quiet", "--detach", "--"].map(Into::into).to_vec();
                let args: Vec<std::ffi::OsString> = [args, vec![directory.clone().into(), id.into()]].concat();
                git(args).repository(&repo).capture()?;
            }
        }
        restore.carry_out()?;
        commands = Some((restore.commands, directory));
        Ok(Outcome::Done)
    });
    // Only now, that nothing of ours is held any more.
    match commands {
        Some((commands, directory)) => cli::finish(start(&commands, &directory)),
        None => code,
    }
}

/// Plans to start another agent with the conversation as a document.
fn hand_over(repo: &Repository, commit_id: ObjectId, chosen: &mut Chosen, to: &dyn Agent) -> Result<Restore> {
    let mut document = Vec::new();
    // Another tool may have stored it.
    chosen.conversation.redact(&redaction::redactor(repo)?);
    let commit = repo.commit(commit_id)?;
    let conversation = &chosen.conversation;
    let view = View {
        commit: &commit,
        conversation,
        sub_agents: &[],
        turns: None,
        about: None,
        origin: None,
        continues: None,
        told_before: None,
        tasks: None,
        top: None,
    };
    pretty::write_document(&mut document, &view, Depth::BRIEF).map_err(Error::output)?;
    Restore::hand_over(repo, commit_id, chosen, to, document)
}

fn place(repo: &Repository, options: &Options, top: &Path, commit_id: ObjectId) -> Result<(Destination, PathBuf)> {
    if let Some(path) = &options.worktree {
        let here = cli::current_directory()?;
        let path = if path.is_empty() {
            let name = top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            top.with_file_name(format!("{name}-{}", commit_id.to_hex_with_len(7)))
        } else {
            here.join(path)
        };
        // The agent resolves links when it looks for its sessions, also those to a directory that is not there yet.
        let resolved = path.parent().and_then(|parent| parent.canonicalize().ok());
        let path = match (resolved, path.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => path,
        };
        if path.exists() {
            return Err(Error::other(format!("'{}' already exists", path.display())));
        }
        return Ok((Destination::Worktree, path));
    }
    let is_here = repo.head()?.commit_id == Some(commit_id);
    Ok((if is_here { Destination::Here } else { Destination::Checkout }, top.to_owned()))
}

fn require_no_changes(repo: &Repository) -> Result<()> {
    let changes = git(["status", "--porcelain", "--untracked-files=no"]).repository(repo).capture()?;
    if changes.is_empty() {
        return Ok(());
    }
    Err(Error::other("there are uncommitted changes")
        .hint("commit them, or 'git stash' puts them aside; '--worktree' leaves them alone"))
}

fn check_out(repo: &Repository, commit_id: ObjectId) -> Result<()> {
    let before = repo.head()?;
    // Git still refuses where a change would be lost.
    git(["checkout", "--quiet", "--detach", &commit_id.to_string()]).repository(repo).capture()?;
    let back = match (before.branch, before.commit_id) {
        (Some(branch), _) => outside::shell(branch.strip_prefix("refs/heads/").unwrap_or(&branch)),
        (None, Some(id)) => format!("--detach {}", repo.abbreviate(id)),
        (None, None) => return Ok(()),
    };
    cli::hint(repo, &format!("HEAD is now at {}; 'git switch {back}' goes back", repo.abbreviate(commit_id)));
    Ok(())
}

/// Checks that a program can be started.
fn look_for(program: &str) -> Result<()> {
    if find_program(program).is_some() {
        return Ok(());
    }
    Err(Error::other(format!("cannot start '{program}': it is not on PATH"))
        .hint("'--as=<agent>' hands the conversation to another agent, 'git shiftlog show --full' prints it"))
}

fn print(place: &Destination, commit_id: ObjectId, directory: &Path, restore: &Restore) -> Result<()> {
    let shown = directory.display();
    let mut text = match place {
        Destination::Here => String::new(),
        Destination::Checkout => format!("check out {}\n", commit_id.to_hex_with_len(7)),
        Destination::Worktree => format!("make worktree {shown} at {}\n", commit_id.to_hex_with_len(7)),
    };
    for step in &restore.steps {
        text += &match step {
            FileStep::Write(path, bytes) => format!("write {}, {}\n", path.display(), pretty::size(bytes.len() as u64)),
            FileStep::Keep(path) => format!("keep {}\n", path.display()),
        };
    }
    for words in &restore.commands {
        text += &format!("run {} in {shown}\n", outside::shell_line(words));
    }
    cli::print(&text)
}

/// Runs what puts the session in place and then the agent, and returns how that ended.
fn start(commands: &[Vec<String>], directory: &Path) -> Result<Outcome> {
    for words in commands {
        let (program, args) = words.split_first().ok_or_else(|| Error::other("there is nothing to start"))?;
        // A hook or an alias may have told Git where it is; the agent finds out for itself.
        let mut command = Command::new(program);
        command.args(args).current_dir(directory);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_INDEX_FILE", "GIT_COMMON_DIR"] {
            command.env_remove(name);
        }
        let status = command.status().map_err(|error| {
            let words = outside::shell_line(words);
            Error::other(format!("cannot start '{program}'")).because(error).hint(format!(
                "the session is in place: cd {} && {words}",
                outside::shell(&directory.to_string_lossy())
            ))
        })?;
        if !status.success() {
            return Ok(Outcome::No);
        }
    }
    Ok(Outcome::Done)
}
