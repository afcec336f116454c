//! `git-shiftlog--hook`: what every hook runs.
//!
//! It exits 0 whatever happens and prints nothing on stdout, since agents parse it. The exception is a push that would
//! publish conversations that must not be shared: then it exits with [`setup::STOP_PUSH`], the one status on which the hook's
//! script stops the push.

use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::agent::{self, Event, Payload};
use crate::capture::{Leave, State, agents, carry, commit, hook, hook_recorder, rewritten};
use crate::error::{Error, Kind, Result};
use crate::git::{Location, Repository, locate};
use crate::index::{Project, refresh};
use crate::record;
use crate::remap::Scope;
use crate::share::guard::UserPush;
use crate::share::sync::{self, Level};
use crate::transcript::SessionKey;
use crate::{cli, setup};

/// The most bytes of a payload that are read; tools can answer a lot.
const MAX_PAYLOAD_BYTES: u64 = 256 * 1024 * 1024;

/// How long a hook waits for locks, all together; what it cannot store then waits for the next command.
const LOCK_WAIT: Duration = Duration::from_millis(300);

/// How long an agent, or Git, may take to hand over what it has to say.
const INPUT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long Git may take to say which refs are pushed. Without all of them a push may have to be stopped, so it gets more time.
const REFS_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the program: `git post-commit`, `git post-rewrite <command>`, `git post-merge`, `git pre-push <remote>`, or
/// `<agent> <event>`. This program itself starts `git push-now <remote>` and `git refresh-index` in the background.
pub fn run() -> ExitCode {
    // A defect of ours must not show in somebody's commit.
    std::panic::set_hook(Box::new(|panic| {
        let here = std::env::current_dir().unwrap_or_default();
        if let Some(location) = locate(&here) {
            // Its text may quote the words of a transcript.
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            State::new(&location.common_dir).log(&format!("defect at {place}"));
        }
        std::process::exit(0);
    }));
    let args: Vec<String> = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
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
        ["git", "push-now", remote, ..] => push_now(&here, remote),
        ["git", "refresh-index"] => refresh_index(&here),
        [name, event, ..] => run_agent_hook(name, event, &here),
        _ => Ok(()),
    };
    if let Err(error) = outcome
        && let Some(location) = locate(&here)
    {
        let is_logged = State::new(&location.common_dir).try_log(&format!("warning: {}: {error}", args.join(" ")));
        // Nobody would learn of it otherwise. What an agent would read stays empty.
        if (!is_logged || error.kind() == Kind::Storage) && args.first() == Some(&"git") {
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
    if location.git_dir.join("rebase-merge").is_dir() {
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
    let is_in_rebase = || locate(here).is_some_and(|location| location.git_dir.join("rebase-merge").is_dir());
    if command == "amend" && is_in_rebase() {
        return Ok(());
    }
    let input = standard_input(INPUT_TIMEOUT);
    let repo = open(here)?;
    let pairs: Vec<_> = String::from_utf8_lossy(&input.bytes)
        .lines()
        .filter_map(|line| {
            let mut ids = line.split_whitespace().map(|hex| repo.parse_id(hex));
            Some((ids.next()??, ids.next()??))
        })
        .collect();
    let notes_ref = record::notes_ref(&repo);
    // The first note of all may still be pending.
    if repo.tip(&notes_ref)?.is_none() && State::new(&repo.common_dir()).is_idle() {
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
    if repo.tip(&record::notes_ref(&repo))?.is_none() {
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

/// What becomes of the user's push.
enum Push {
    Goes,
    Stops,
}

/// Stops a push that would publish what is not to be shared. Otherwise starts a push of ours beside the user's, which does
/// not wait for it and does not learn how it ends; not with `is_off`.
fn run_pre_push(here: &Path, remote: &str, is_off: bool) -> Result<Push> {
    let input = standard_input(REFS_TIMEOUT);
    let moves = String::from_utf8_lossy(&input.bytes);
    let repo = open(here)?;
    let level = Level::of(&repo, remote);
    let (guarded, notes_ref) = (UserPush::of(remote, &moves), record::notes_ref(&repo));
    let shared = level.as_ref().copied().unwrap_or_default();
    let is_allowed = || repo.config_bool("shiftlog.allowMirror") == Some(true);
    if guarded.publishes_more_than(&repo, &notes_ref, shared) {
        // A level that cannot be read shares nothing.
        if let Err(error) = level {
            cli::warning(&error.to_string());
        }
        return Ok(tell_of_refs(&repo, shared, is_allowed()));
    }
    if !input.is_whole && shared < Level::All && !is_allowed() {
        cli::error(&Error::other(
            "cannot tell whether this push takes conversations along: the list of its refs did not end",
        ));
        cli::hint(
            &repo,
            "the hook that runs 'git-shiftlog--hook git pre-push' must hand its standard input on, and close it",
        );
        cli::hint(&repo, "'git push --no-verify' pushes without this check");
        return Ok(Push::Stops);
    }
    let level = level?;
    if is_off || remote.is_empty() {
        return Ok(Push::Goes);
    }
    if !State::new(&repo.common_dir()).is_idle() {
        cli::tell(&repo, &hook_recorder(&repo, &notes_ref, Leave::Nothing).finish());
    }
    // Where the user's push takes our refs along, ours would only be in its way.
    if level == Level::None || guarded.moves_our_refs(&repo) || !sync::has_news(&repo, &notes_ref, remote, level)? {
        return Ok(Push::Goes);
    }
    start_beside(&["git", "push-now", remote]).map(|()| Push::Goes)
}

/// Starts this program with other words, beside what the user does, which does not wait for it.
fn start_beside(words: &[&str]) -> Result<()> {
    let own = std::env::current_exe().map_err(|error| Error::other("cannot find this program").because(error))?;
    let mut command = Command::new(own);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A commit names its own index file, which is gone when the commit is made.
    command.env_remove("GIT_INDEX_FILE");
    command.spawn().map(drop).map_err(|error| Error::other(format!("cannot start '{}'", words[1])).because(error))
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

/// Tells that a push takes conversations along that are not to be shared, and whether it goes.
fn tell_of_refs(repo: &Repository, level: Level, is_allowed: bool) -> Push {
    let what = match level {
        Level::None => "this push takes conversations along, and sharing is off",
        Level::Notes | Level::All => "this push takes transcripts along, and only notes are shared",
    };
    if is_allowed {
        cli::warning(what);
        return Push::Goes;
    }
    cli::error(&Error::other(what));
    cli::hint(repo, "push branches and tags by name, as in 'git push <remote> --all', to leave them out");
    cli::hint(
        repo,
        "'git push --no-verify' lets them go once, 'git config shiftlog.allowMirror true' always: whoever can read the remote reads them",
    );
    Push::Stops
}

fn push_now(here: &Path, remote: &str) -> Result<()> {
    leave_terminal();
    let repo = open(here)?;
    sync::push_quietly(&repo, &record::notes_ref(&repo), remote);
    Ok(())
}

/// The input that an agent or Git has passed to the hook.
struct Input {
    /// What has arrived.
    bytes: Vec<u8>,
    /// Whether that is all.
    is_whole: bool,
}

/// Reads what an agent or Git hands over. Whoever keeps the pipe open is waited for as long as `limit`.
fn standard_input(limit: Duration) -> Input {
    match io::stdin().is_terminal() {
        // Nobody hands anything over.
        true => Input { bytes: Vec::new(), is_whole: true },
        false => input_of(io::stdin(), limit),
    }
}

/// Reads to the end, at most for `limit`.
fn input_of(from: impl Read + Send + 'static, limit: Duration) -> Input {
    let mut input = Input { bytes: Vec::new(), is_whole: false };
    let (sender, receiver) = channel();
    let reader = std::thread::Builder::new().spawn(move || {
        let (mut from, mut buffer) = (from.take(MAX_PAYLOAD_BYTES), vec![0; 64 << 10]);
        loop {
            let read = match from.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map(|count| buffer[..count].to_vec()),
            };
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    let deadline = Instant::now() + limit;
    while reader.is_ok() {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(bytes)) if bytes.is_empty() => {
                input.is_whole = true;
                break;
            }
            Ok(Ok(bytes)) => input.bytes.extend(bytes),
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    input
}

/// Opens the first repository that a tool call names, for an agent that was started outside of any repository.
fn open_named(payload: &Payload, directory: &Path) -> Option<Repository> {
    let folder = |place: PathBuf| if place.is_dir() { Some(place) } else { place.parent().map(Path::to_owned) };
    let mut folders = payload.places(directory).into_iter().filter_map(folder);
    folders.find_map(|folder| locate(&folder).and_then(|_| open(&folder).ok()))
}

fn run_agent_hook(name: &str, event: &str, here: &Path) -> Result<()> {
    let payload = Payload::parse(&standard_input(INPUT_TIMEOUT).bytes);
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
    let leave = session.as_ref().filter(|_| is_after_tool).map_or(Leave::Nothing, Leave::CommitsOf);
    let mut recorder = hook_recorder(&repo, &record::notes_ref(&repo), leave);
    let outcome = hook::agent_event(&mut recorder, agent, event, &payload);
    if let Err(error) = &outcome {
        State::new(&repo.common_dir()).log(&format!("warning: {} {event}: {error}", agent.name()));
    }
    recorder.finish();
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_is_kept_when_the_rest_does_not_come() {
        let long = Duration::from_secs(600);
        let whole = input_of(&b"words"[..], long);
        assert!(whole.is_whole && whole.bytes == b"words");
        let large = vec![b'x'; 1 << 20];
        assert!(input_of(io::Cursor::new(large.clone()), long).bytes == large);
        let (reader, writer) = io::pipe().unwrap();
        io::Write::write_all(&mut &writer, b"first").unwrap();
        let part = input_of(reader, Duration::from_millis(200));
        assert!(!part.is_whole && part.bytes == b"first", "whoever wrote it has not closed the pipe");
        drop(writer);
    }
}
