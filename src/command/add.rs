//! `git shiftlog add`: a transcript attached to a commit by hand.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use super::removal;
use crate::agent::{self, Agent};
use crate::capture;
use crate::capture::by_hand::{self, Addition, Words};
use crate::cli::{self, Outcome, Writing};
use crate::error::{Error, Kind, Result};
use crate::pretty;
use crate::record::tombstone::Tombstones;
use crate::transcript::{Message, SessionKey};

/// Attach a transcript to a commit by hand
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-add",
    override_usage = "git shiftlog add [<options>] (--transcript=<file> | --session=<id>) [<commit>]"
)]
pub struct Options {
    /// Read the transcript from a file, or from standard input for '-'
    #[arg(long, value_name = "file")]
    transcript: Option<PathBuf>,
    /// Take the session with this id from the agent's own store; with --transcript, name the session
    #[arg(long, value_name = "id")]
    session: Option<String>,
    /// Name the agent that wrote it
    #[arg(long, value_name = "name", default_value = "claude", hide_default_value = true)]
    agent: String,
    /// Let the increment begin after this segment
    #[arg(long, value_name = "segment")]
    since: Option<String>,
    /// Record a file also if no message of the agent is found in it
    #[arg(short = 'f', long)]
    force: bool,
    /// Say what would be recorded, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    writing: Writing,
    /// The commit; HEAD by default
    #[arg(value_name = "commit")]
    commit: Option<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        removal::finish_before(&repo, options.dry_run)?;
        let commit_id = repo.resolve(options.commit.as_deref().unwrap_or("HEAD"))?;
        let agent = agent::named(&options.agent)?;
        let since = match &options.since {
            Some(hex) => {
                Some(repo.parse_id(hex).ok_or_else(|| Error::new(Kind::Usage, format!("'{hex}' is no object id")))?)
            }
            None => None,
        };
        let (transcript, file) = transcript(&options, agent)?;
        let beginning = beginning(&transcript)?;
        if let Some(file) = options.transcript.as_deref().or(file.as_deref()).filter(|_| !options.force) {
            require_messages(agent, file, &beginning)?;
        }
        let mut named = session_of_file(agent, file.as_deref(), &beginning);
        if let Words::File(path) = &transcript
            && named.is_none()
            && beginning.len() >= ENOUGH_BYTES
        {
            // It may be named further on.
            named = session_of_file(agent, file.as_deref(), &agent.read(path)?);
        }
        let key = SessionKey::new(agent.name(), session_id(&options, named.as_deref())?);
        if let Some(parent) = key
            .parent_id()
            .filter(|parent| !parent.is_empty() && options.session.is_some() && options.transcript.is_some())
        {
            cli::warning(&format!("session {key} counts as a sub-agent of session {parent}: its id has a dot in it"));
        }
        let purged = Tombstones::read(&repo)?;
        if purged.bars(&key) {
            cli::warning(&format!("session {key} was removed by 'git shiftlog purge', and is not recorded again"));
            return Ok(Outcome::No);
        }
        let named = named.map(|id| SessionKey::new(agent.name(), id)).filter(|named| *named != key);
        let addition = Addition { key: key.clone(), named, transcript, file, since };
        if !options.force {
            by_hand::refuse_purged(&repo, &addition)?;
        }
        let notes_ref = options.writing.notes_ref(&repo);
        let nothing = || -> Result<Outcome> {
            let purged = match purged.concern(&repo, &key, &[])? {
                true => " or was removed by 'git shiftlog purge'",
                false => "",
            };
            cli::warning(&format!("session {key} has nothing that is not recorded yet{purged}"));
            Ok(Outcome::No)
        };
        if options.dry_run {
            if !by_hand::has_unrecorded(&repo, &notes_ref, &addition)? {
                return nothing();
            }
            let (id, bytes) = (repo.abbreviate(commit_id), pretty::size(addition.transcript.len_bytes()?));
            let line = format!("would record session {key} on {id} from a transcript of {bytes}\n");
            return cli::print(&line).map(|()| Outcome::Done);
        }
        let mut recorder = capture::recorder(&repo, &notes_ref);
        if !options.force {
            // No purge comes in between any more.
            by_hand::refuse_purged(&repo, &addition)?;
        }
        let has_recorded = by_hand::add(&mut recorder, commit_id, addition)?;
        cli::tell(&repo, &recorder.finish());
        if !has_recorded {
            return nothing();
        }
        if !options.writing.is_quiet() {
            cli::print(&format!("recorded session {key} on {}\n", repo.abbreviate(commit_id)))?;
        }
        Ok(Outcome::Done)
    })
}

/// Returns a transcript, and its file if it has one.
fn transcript(options: &Options, agent: &dyn Agent) -> Result<(Words, Option<PathBuf>)> {
    let path = match (&options.transcript, &options.session) {
        (Some(path), _) if path == Path::new("-") => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            return read
                .map(|_| (Words::Lines(bytes), None))
                .map_err(|error| Error::io("read", Path::new("standard input"), error));
        }
        (Some(path), _) => path.clone(),
        (None, Some(session_id)) => {
            let here = std::env::current_dir().unwrap_or_default();
            let missing = || {
                if agent::has_no_place(agent) {
                    let title = agent.title();
                    return Error::other(format!("cannot look for session '{session_id}' of {title}: HOME is not set"));
                }
                Error::other(format!("{} has no session '{session_id}'", agent.title()))
                    .hint("the whole id is needed; 'git shiftlog status' lists the sessions that are going on here")
            };
            match agent.transcript(session_id, &here).or_else(|| sub_agent(agent, session_id, &here)) {
                Some(path) => path,
                None => return agent.fetch(session_id)?.map(|bytes| (Words::Lines(bytes), None)).ok_or_else(missing),
            }
        }
        (None, None) => return Err(Error::new(Kind::Usage, "one of --transcript and --session is needed")),
    };
    let kind = path.metadata().map(|metadata| metadata.file_type());
    if kind.as_ref().is_ok_and(|kind| kind.is_char_device() || kind.is_fifo()) {
        return Err(Error::other(format!("'{}' is not a regular file", path.display()))
            .hint("--transcript=- reads standard input"));
    }
    let words = match kind.is_ok_and(|kind| kind.is_file()) && !agent.is_rendered(&path) {
        true => Words::File(path.clone()),
        false => Words::Lines(agent.read(&path)?),
    };
    Ok((words, Some(path)))
}

/// Returns the transcript of a sub-agent that is named `<session>.<sub-agent>`.
fn sub_agent(agent: &dyn Agent, session_id: &str, directory: &Path) -> Option<PathBuf> {
    let (session, _) = session_id.split_once('.')?;
    let found = agent.sub_agents(&agent.transcript(session, directory)?);
    found.into_iter().find(|found| found.session_id == session_id).map(|found| found.transcript)
}

/// How much of a transcript shows who wrote it.
const ENOUGH_BYTES: usize = 1 << 20;

/// Returns the lines of a transcript, of a file only as many as show who wrote it.
fn beginning(transcript: &Words) -> Result<Cow<'_, [u8]>> {
    let path = match transcript {
        Words::Lines(lines) => return Ok(lines.into()),
        Words::File(path) => path,
    };
    let failed = |error| Error::io("read", path, error);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    // A line that begins before that ends after it.
    while bytes.len() < ENOUGH_BYTES && file.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {}
    Ok(bytes.into())
}

/// Refuses a file that this agent has not written, by its first lines.
fn require_messages(agent: &dyn Agent, file: &Path, transcript: &[u8]) -> Result<()> {
    let found = read_by(agent, whole_lines(transcript));
    let others = agent::all().filter(|other| other.name() != agent.name());
    let others = others.map(|other| {
        let lines = match file == Path::new("-") {
            true => Cow::Owned(other.lines(transcript.to_vec())),
            // A file of lines is the same for all.
            false if !agent.is_rendered(file) && !other.is_rendered(file) => Cow::Borrowed(transcript),
            // Where lines have messages, it is no document.
            false if !agent.is_rendered(file) && found.0 > 0 => Cow::Owned(other.lines(transcript.to_vec())),
            false => Cow::Owned(other.read(file).unwrap_or_default()),
        };
        (read_by(other, whole_lines(&lines)), other)
    });
    // Of several that read it as well the first counts: what goes back to another agent stands behind that.
    let others: Vec<_> = others.collect();
    let best = others.into_iter().rev().max_by_key(|(found, _)| *found).filter(|(other, _)| *other > found);
    let name = if file == Path::new("-") { "standard input".to_owned() } else { format!("'{}'", file.display()) };
    Err(match best {
        None if found.0 > 0 => return Ok(()),
        // An index of sessions names some, too.
        None => Error::other(format!("{name} has no message of {} in it", agent.title()))
            .hint("--agent=<name> says which agent wrote it; --force records it all the same"),
        Some((_, other)) => {
            let problem = match found.0 {
                0 => format!("{name} has no message of {} in it", agent.title()),
                _ => format!("{name} is rather a session of {} than of {}", other.title(), agent.title()),
            };
            let (option, title) = (other.name(), other.title());
            Error::other(problem).hint(format!("--agent={option} if {title} wrote it; --force records it all the same"))
        }
    })
}

/// Returns the whole lines among as many bytes as show who wrote a transcript; all of it if there is no line end among them.
fn whole_lines(transcript: &[u8]) -> &[u8] {
    let enough = transcript.get(..ENOUGH_BYTES).unwrap_or(transcript);
    enough.iter().rposition(|byte| *byte == b'\n').map_or(transcript, |end| &enough[..=end])
}

/// Returns how much an agent's parser finds in a transcript. In a format that is like the agent's own it finds less than the
/// parser of the agent that wrote it.
fn read_by(agent: &dyn Agent, transcript: &[u8]) -> (usize, bool) {
    let found = |message: &Message| {
        let facts =
            [message.time.is_some(), message.model.is_some(), message.usage.is_some(), message.answer_id.is_some()];
        message.parts.len() + facts.into_iter().filter(|is_known| *is_known).count()
    };
    let messages = agent.parse(transcript);
    // Lines of any log may have a time.
    let is_more = |message: &Message| found(message) > usize::from(message.time.is_some());
    let count = if messages.iter().any(is_more) { messages.iter().map(found).sum() } else { 0 };
    (count, count > 0 && agent.session_id(transcript).is_some())
}

/// Returns the session that a transcript says it is of: `<session>.<sub-agent>` for a sub-agent's.
fn session_of_file(agent: &dyn Agent, file: Option<&Path>, transcript: &[u8]) -> Option<String> {
    let id = agent.session_id(transcript)?;
    let parent = file.filter(|_| !id.contains('.')).and_then(|file| agent.parent_session(file));
    Some(parent.map_or(id.clone(), |parent| format!("{parent}.{id}")))
}

fn session_id(options: &Options, named: Option<&str>) -> Result<String> {
    let stem = || Some(options.transcript.as_ref()?.file_stem()?.to_str()?.to_owned()).filter(|stem| stem != "-");
    options.session.clone().or_else(|| named.map(str::to_owned)).or_else(stem).ok_or_else(|| {
        Error::new(Kind::Usage, "the transcript does not tell its session").hint("name it with --session=<id>")
    })
}
