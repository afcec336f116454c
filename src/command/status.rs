//! `git shiftlog status`: what would be recorded now.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use serde_json::json;

use super::open::UNFINISHED_PURGE;
use crate::capture::{self, PendingFile, SessionStatus};
use crate::cli::{self, Json, Outcome, Output, Porcelain, Screen};
use crate::error::Error;
use crate::git::{Repository, date};
use crate::pretty::{self, count, size};
use crate::record::tombstone::Tombstones;
use crate::share::purge;
use crate::transcript::Tally;
use crate::{outside, setup};

/// The longest prompt that programs get, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// The problem of a session that was purged as a whole.
const PURGED: &str = "removed by purge: not recorded again";

/// Show what would be recorded now
#[derive(Debug, Parser)]
#[command(name = "git-shiftlog-status", override_usage = "git shiftlog status [<options>]")]
pub struct Options {
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    porcelain: Porcelain,
    /// End each entry with NUL
    #[arg(short = 'z')]
    nul: bool,
    /// Show dates in this format
    #[arg(long, value_name = "format")]
    date: Option<String>,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(args, |options: Options| {
        let repo = cli::repository()?;
        let (mut sessions, waiting) = (capture::session_statuses(&repo), capture::waiting(&repo));
        let purged = Tombstones::read(&repo)?;
        for session in sessions.iter_mut().filter(|session| purged.bars(&session.key)) {
            (session.tally, session.bytes, session.problem) = (Tally::default(), 0, Some(PURGED.to_owned()));
        }
        let end = if options.nul { '\0' } else { '\n' };
        let lines = match (options.json.is_on, options.porcelain.is_on()) {
            (true, _) => objects(&sessions, &waiting),
            (false, true) => porcelain(&sessions, &waiting),
            (false, false) => {
                let date = date::Format::parse(options.date.as_deref().unwrap_or("human-local"))?;
                for_people(&repo, &sessions, &waiting, &date).iter().map(|entry| outside::text(entry)).collect()
            }
        };
        let mut out = Output::plain();
        lines.iter().try_for_each(|line| write!(out, "{line}{end}")).map_err(Error::output)?;
        out.finish()?;
        if !options.json.is_on && !options.porcelain.is_on() {
            tell_what_helps(&repo, &sessions, &waiting);
        }
        Ok(Outcome::Done)
    })
}

/// Returns an entry for each session and for what waits, some of more than one line.
fn for_people(
    repo: &Repository,
    sessions: &[SessionStatus],
    waiting: &[PendingFile],
    date: &date::Format,
) -> Vec<String> {
    // A clock that goes wrong makes no time to come.
    let now = date::Time::now().seconds;
    let when = |seconds: i64| date.show(date::Time { seconds: seconds.min(now), offset: 0 });
    // Where there is no terminal, nothing is cut.
    let columns = if Screen::is_seen() { Screen::columns() } else { None };
    let mut entries = Vec::new();
    for session in sessions {
        let mut lines = vec![pretty::listed(0, &about(repo, session, &when), columns)];
        lines.extend(left(session, &when).map(|left| pretty::listed(2, &left, columns)));
        if let Some(prompt) = &session.tally.prompt {
            let prompt = format!("  > {}", outside::line(prompt));
            lines.push(columns.map_or_else(|| prompt.clone(), |columns| pretty::cut(&prompt, columns)));
        }
        entries.push(lines.join("\n"));
    }
    if sessions.is_empty() {
        let facts = ["no session is going on here".into(), "and nothing is left to record".into()];
        entries.push(pretty::listed(0, &facts, columns));
    }
    let mut names = repo.names();
    for waiting in waiting {
        let short = |hex: &String| repo.parse_id(hex).map_or_else(|| hex.clone(), |id| names.shorten(id));
        let commits: Vec<String> = waiting.commits.iter().map(short).collect();
        let target = if commits.is_empty() { String::new() } else { format!(" on {}", commits.join(", ")) };
        let what = if waiting.sessions.is_empty() { "something".into() } else { waiting.sessions.join(", ") };
        let facts = [format!("waits to be recorded: {what}{target}"), format!("in '{}'", waiting.path.display())];
        entries.push(pretty::listed(0, &facts, columns));
    }
    entries
}

fn tell_what_helps(repo: &Repository, sessions: &[SessionStatus], waiting: &[PendingFile]) {
    if !waiting.is_empty() {
        cli::hint(
            repo,
            match capture::why_waiting(repo, waiting) {
                Some(_) => capture::HOW_TO_READ,
                None => "'git shiftlog log' and most other commands store what waits",
            },
        );
    }
    if purge::is_unfinished(repo) {
        cli::hint(repo, UNFINISHED_PURGE);
    }
    if sessions.is_empty() && !setup::is_complete(repo).unwrap_or(true) {
        cli::hint(repo, "'git shiftlog doctor' says what is not set up here");
    }
}

/// Returns which session it is, and where and when it was seen.
fn about(repo: &Repository, session: &SessionStatus, when: &impl Fn(i64) -> String) -> Vec<String> {
    let key = &session.key;
    let mut facts = vec![format!("{} {}", outside::line(&key.agent), outside::line(&key.id))];
    facts.push(if session.is_going_on { "going on".into() } else { format!("last seen {}", when(session.seen)) });
    if let Some(problem) = &session.problem {
        let cannot = if problem == PURGED { "" } else { "cannot be read: " };
        facts.push(format!("{cannot}{}", outside::line(problem)));
    } else if session.bytes == 0 {
        facts.push("nothing new to record".into());
    }
    if let Some(other) = session.worktree.as_deref().filter(|top| Some(*top) != repo.worktree()) {
        facts.push(format!("in {}", outside::line(&other.to_string_lossy())));
    }
    facts
}

/// Returns how much of a session is on no commit; `None` if nothing is.
fn left(session: &SessionStatus, when: &impl Fn(i64) -> String) -> Option<Vec<String>> {
    if session.problem.is_some() || session.bytes == 0 {
        return None;
    }
    let tally = &session.tally;
    let mut facts = vec![count(tally.turns, "turn"), count(tally.messages, "message")];
    if !tally.edited_paths.is_empty() {
        facts.push(format!("{} edited", count(tally.edited_paths.len() as u64, "file")));
    }
    facts.push(size(session.bytes));
    facts.extend(tally.first_time.map(|time| format!("begun {}", when(time))));
    facts[0] = format!("on no commit: {}", facts[0]);
    Some(facts)
}

/// Returns a prompt on one line of at most so many characters.
fn short(prompt: &str, max_chars: usize) -> String {
    let line = outside::line(prompt);
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// Returns the lines of `--porcelain=v1`.
fn porcelain(sessions: &[SessionStatus], waiting: &[PendingFile]) -> Vec<String> {
    let known = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let of_session = |session: &SessionStatus| {
        let tally = &session.tally;
        let fields = [
            "session".to_owned(),
            known(outside::line(&session.key.agent)),
            known(outside::line(&session.key.id)),
            if session.is_going_on { "live" } else { "over" }.to_owned(),
            session.seen.to_string(),
            known(tally.first_time.map(|time| time.to_string()).unwrap_or_default()),
            tally.turns.to_string(),
            tally.messages.to_string(),
            tally.edited_paths.len().to_string(),
            session.bytes.to_string(),
            known(outside::line(&session.worktree.as_deref().unwrap_or("".as_ref()).to_string_lossy())),
            known(short(tally.prompt.as_deref().unwrap_or_default(), MAX_PROMPT_CHARS)),
        ];
        fields.join("\t")
    };
    let of_waiting = |waiting: &PendingFile| {
        let (sessions, commits) = (waiting.sessions.join(","), waiting.commits.join(","));
        let path = outside::line(&waiting.path.to_string_lossy());
        format!("pending\t{}\t{}\t{path}", known(sessions), known(commits))
    };
    sessions.iter().map(of_session).chain(waiting.iter().map(of_waiting)).collect()
}

/// Returns the objects of `--json`.
fn objects(sessions: &[SessionStatus], waiting: &[PendingFile]) -> Vec<String> {
    let time = |seconds: i64| date::Time { seconds, offset: 0 }.to_rfc3339();
    let of_session = |session: &SessionStatus| {
        let tally = &session.tally;
        json!({
            "version": 1, "kind": "session", "agent": session.key.agent, "session": session.key.id,
            "live": session.is_going_on, "seen": time(session.seen), "since": tally.first_time.map(time),
            "turns": tally.turns, "messages": tally.messages, "edited": tally.edited_paths, "bytes": session.bytes,
            "worktree": session.worktree.as_ref().map(|top| top.to_string_lossy()),
            "prompt": tally.prompt.as_deref().map(|prompt| short(prompt, MAX_PROMPT_CHARS)),
            "problem": session.problem,
        })
    };
    let of_waiting = |waiting: &PendingFile| {
        json!({
            "version": 1, "kind": "pending", "sessions": waiting.sessions, "commits": waiting.commits,
            "path": waiting.path.to_string_lossy(),
        })
    };
    let values = sessions.iter().map(of_session).chain(waiting.iter().map(of_waiting));
    values.map(|value| outside::json(&value)).collect()
}
