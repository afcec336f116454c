//! `git shiftlog evidence`: logs and test output, kept with a commit.

mod pull;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use super::removal;
use crate::cli::{self, Color, Outcome, Screen, Writing};
use crate::error::{Error, Kind, Result};
use crate::evidence::{self, Observed};
use crate::git::date::Format;
use crate::git::{ObjectId, Repository};
use crate::record::{Evidence, Reader};
use crate::{outside, pretty};

/// How long other processes that keep moving the ref are waited for.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Keep logs and test output with a commit
#[derive(Debug, Parser)]
#[command(
    name = "git-shiftlog-evidence",
    override_usage = "git shiftlog evidence [<options>] [<action>] [<commit>] [<file>...]"
)]
pub struct Options {
    /// With 'attach', the kind of the files (test, ci or log; default: log)
    #[arg(long, value_name = "kind", value_parser = ["test", "ci", "log"])]
    kind: Option<String>,
    /// With 'attach', a remark that is kept with the files
    #[arg(long, value_name = "text")]
    note: Option<String>,
    /// With 'attach' and 'pull', store the texts in the archive, without secrets
    #[arg(long = "words")]
    has_words: bool,
    #[command(flatten)]
    pull: pull::PullOptions,
    /// With 'list' and 'pull', print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Print what would be attached, fetched or dropped, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    writing: Writing,
    /// The action (list, attach, pull, show or drop), then a commit, then files or the number of the evidence
    #[arg(value_name = "action")]
    words: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Action {
    List,
    Attach,
    Pull,
    Show,
    Drop,
}

/// Runs the command.
pub fn run(args: Vec<OsString>) -> ExitCode {
    cli::main(with_count(args), |options: Options| {
        let repo = cli::repository()?;
        let words: Vec<String> = options.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        // Names of files are bytes.
        let typed = options.words.get(1..).unwrap_or_default();
        let (action, words) = match words.split_first().map(|(first, rest)| (first.as_str(), rest)) {
            Some(("list", rest)) => (Action::List, rest),
            Some(("attach", rest)) => (Action::Attach, rest),
            Some(("pull", rest)) => (Action::Pull, rest),
            Some(("show", rest)) => (Action::Show, rest),
            Some(("drop", rest)) => (Action::Drop, rest),
            _ => (Action::List, words.as_slice()),
        };
        if let (Action::List, [first, ..]) = (action, words)
            && repo.resolve(first).is_err()
            && first.bytes().all(|byte| byte.is_ascii_lowercase())
        {
            return Err(Error::new(Kind::Usage, format!("'{first}' is neither an action nor a commit"))
                .hint("the actions are list, attach, pull, show and drop"));
        }
        options.check(action)?;
        if matches!(action, Action::List | Action::Show | Action::Drop) {
            options.writing.warn_if_missing(&repo);
        }
        match action {
            Action::Pull => pull::pull(&repo, &options, words),
            Action::List => list(&repo, &options, words),
            Action::Attach => attach(&repo, &options, typed),
            Action::Show => cli::or_no(show(&repo, &options, words)),
            Action::Drop => cli::or_no(remove(&repo, &options, words)),
        }
    })
}

impl Options {
    /// Fails for an option that the action does not have.
    fn check(&self, action: Action) -> Result<()> {
        let given = [
            ("--kind", self.kind.is_some(), &[Action::Attach][..]),
            ("--note", self.note.is_some(), &[Action::Attach]),
            ("--words", self.has_words, &[Action::Attach, Action::Pull]),
            ("--json", self.json, &[Action::List, Action::Pull]),
        ];
        let of_pull = self.pull.given().map(|option| (option, true, &[Action::Pull][..]));
        match given.into_iter().chain(of_pull).find(|(_, is_given, actions)| *is_given && !actions.contains(&action)) {
            Some((option, ..)) => Err(Error::new(Kind::Usage, format!("option '{option}' is not for this action"))),
            None => Ok(()),
        }
    }
}

/// Returns the evidence of a commit.
fn evidence_of(repo: &Repository, options: &Options, commit_id: ObjectId) -> Result<Vec<Evidence>> {
    let reader = Reader::beside(repo, &options.writing.notes_ref(repo));
    if options.writing.notes_ref(repo) == cli::full_notes_ref(repo, None) {
        super::open::carry_to(&reader, &commit_id.to_string());
    }
    Ok(reader.note(commit_id)?.map(|note| note.evidence()).unwrap_or_default())
}

/// Takes `-n <number>` for `--max-count`, where something is pulled; elsewhere, and without a number, it is `--dry-run`.
fn with_count(args: Vec<OsString>) -> Vec<OsString> {
    let is_number = |word: &OsString| word.to_str().is_some_and(|word| word.parse::<u64>().is_ok());
    if !args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "pull") {
        return args;
    }
    let mut taken: Vec<OsString> = Vec::new();
    let mut rest = args.into_iter().peekable();
    while let Some(arg) = rest.next() {
        let stuck = arg
            .to_str()
            .and_then(|arg| arg.strip_prefix("-n"))
            .map(|number| OsString::from(number.trim_start_matches('=')));
        match stuck {
            Some(number) if is_number(&number) => taken.extend(["--max-count".into(), number]),
            Some(number) if number.is_empty() && rest.peek().is_some_and(is_number) => taken.push("--max-count".into()),
            _ => taken.push(arg),
        }
    }
    taken
}

fn too_many(word: &str) -> Error {
    Error::new(Kind::Usage, format!("unexpected argument '{word}'"))
}

fn list(repo: &Repository, options: &Options, words: &[String]) -> Result<Outcome> {
    if let Some(word) = words.get(1) {
        return Err(too_many(word));
    }
    let revision = words.first().map_or("HEAD", String::as_str);
    let commit_id = repo.resolve(revision)?;
    let evidence = evidence_of(repo, options, commit_id)?;
    if evidence.is_empty() {
        return cli::or_no(Err::<(), _>(Error::new(Kind::Missing, format!("no evidence attached to {revision}"))));
    }
    let mut text = Vec::new();
    for (number, one) in evidence.iter().enumerate() {
        if options.json {
            let mut object = serde_json::json!({ "version": 1, "commit": commit_id.to_string() });
            object["number"] = (number + 1).into();
            object["evidence"] = pretty::evidence_object(one);
            text.extend_from_slice(format!("{}\n", outside::json(&object)).as_bytes());
        } else {
            pretty::write_evidence(&mut text, number + 1, one, &pretty::Style::default()).map_err(Error::output)?;
        }
    }
    cli::print(&String::from_utf8_lossy(&text)).map(|()| Outcome::Done)
}

/// Tells the commit, if one is named, from the files. What stands behind `--` is a file.
fn commit_and_files<'w>(repo: &Repository, words: &'w [OsString]) -> Result<(ObjectId, &'w [OsString])> {
    let usage = || Error::new(Kind::Usage, "name the files to attach");
    let (before, files) = cli::split_at_dashes(words);
    match before {
        [] if !files.is_empty() => return Ok((repo.resolve("HEAD")?, files)),
        [commit] if !files.is_empty() => return Ok((repo.resolve(&commit.to_string_lossy())?, files)),
        [_, word, ..] if !files.is_empty() => return Err(too_many(&word.to_string_lossy())),
        _ => {}
    }
    let (name, rest) = words.split_first().ok_or_else(usage)?;
    let first = name.to_string_lossy();
    let is_file = Path::new(name).exists();
    match repo.resolve(&first) {
        Ok(_) if is_file => Err(Error::other(format!("ambiguous argument '{first}': both revision and filename"))
            .hint("use '--' to separate the commit from the files")),
        Ok(_) if rest.is_empty() => Err(usage()),
        Ok(commit_id) => Ok((commit_id, rest)),
        Err(_) if is_file => Ok((repo.resolve("HEAD")?, words)),
        Err(error) if rest.is_empty() && error.kind() == Kind::Missing => {
            Err(Error::other(format!("cannot read '{}': there is no such file or commit", outside::line(&first))))
        }
        Err(error) => Err(error),
    }
}

fn attach(repo: &Repository, options: &Options, words: &[OsString]) -> Result<Outcome> {
    let (commit_id, files) = commit_and_files(repo, words)?;
    let kind = options.kind.as_deref().unwrap_or("log");
    let observe =
        |file: &OsString| evidence::observe(repo, Path::new(file), kind, options.note.as_deref(), options.has_words);
    let observed: Vec<Observed> = files.iter().map(observe).collect::<Result<_>>()?;
    let short = repo.abbreviate(commit_id);
    if options.dry_run {
        observed.iter().try_for_each(|one| tell_attached("would attach", &one.evidence, &short))?;
        return Ok(Outcome::Done);
    }
    removal::finish_before(repo, false)?;
    let notes_ref = options.writing.notes_ref(repo);
    let is_new = evidence::attach(repo, &notes_ref, commit_id, &observed, Instant::now() + TIMEOUT)?;
    let mut outcome = Outcome::Done;
    for (one, is_new) in observed.iter().zip(is_new) {
        if !is_new {
            cli::warning(&format!("'{}' is attached to {short} already", outside::line(&one.evidence.name)));
            outcome = Outcome::No;
        } else if !options.writing.is_quiet() {
            tell_attached("attached", &one.evidence, &short)?;
        }
    }
    Ok(outcome)
}

/// Prints what is attached to a commit, and what matters in it.
fn tell_attached(verb: &str, one: &Evidence, short: &str) -> Result<()> {
    let mut text = format!("{verb} {} {} to {short}\n", outside::line(&one.evidence), outside::line(&one.name));
    pretty::evidence_lines(one).iter().for_each(|line| text += &format!("  {line}\n"));
    cli::print(&text)
}

/// Finds the evidence that a commit and a number name: the first of HEAD by default.
fn chosen(repo: &Repository, options: &Options, words: &[String]) -> Result<(ObjectId, Evidence)> {
    // A number of five digits or more is the beginning of an id.
    let number = |word: &str| word.parse::<usize>().ok().filter(|_| word.len() < 5);
    let (revision, number) = match words {
        [] => ("HEAD", None),
        [word] => number(word).map_or((word.as_str(), None), |number| ("HEAD", Some(number))),
        [revision, word] => {
            let number = number(word).ok_or_else(|| Error::new(Kind::Usage, format!("'{word}' is not a number")))?;
            (revision.as_str(), Some(number))
        }
        [_, _, word, ..] => return Err(too_many(word)),
    };
    let commit_id = super::target::commit_of(repo, revision)?;
    let evidence = evidence_of(repo, options, commit_id)?;
    let number = number.unwrap_or(1);
    let found = number.checked_sub(1).and_then(|at| evidence.get(at)).cloned();
    let missing = || match evidence.len() {
        0 => format!("no evidence attached to {revision}"),
        count => format!("{revision} has no evidence {number}; it has {count}"),
    };
    Ok((commit_id, found.ok_or_else(|| Error::new(Kind::Missing, missing()))?))
}

fn show(repo: &Repository, options: &Options, words: &[String]) -> Result<()> {
    let (_, evidence) = chosen(repo, options, words)?;
    let reader = Reader::beside(repo, &options.writing.notes_ref(repo));
    let text = evidence::text_of(&reader.archive(), &evidence)?;
    let mut screen = Screen::paged(repo, Color { color: None }, Format::SHORT);
    let is_screen = screen.is_screen;
    // Bytes on their way into a file stay as they are; a terminal would act on some of them.
    screen.write(|out, _| if is_screen { outside::write_text(out, &text) } else { out.write_all(&text) })?;
    screen.out.finish()
}

fn remove(repo: &Repository, options: &Options, words: &[String]) -> Result<()> {
    if words.len() != 2 {
        return Err(Error::new(Kind::Usage, "name the commit and the number of the evidence"));
    }
    let (commit_id, evidence) = chosen(repo, options, words)?;
    let what = format!("{} {} of {}", evidence.evidence, evidence.name, repo.abbreviate(commit_id));
    if options.dry_run {
        return cli::print(&format!("would drop {what}\n"));
    }
    let notes_ref = options.writing.notes_ref(repo);
    if !evidence::remove(repo, &notes_ref, commit_id, &evidence, Instant::now() + TIMEOUT)? {
        return Err(Error::new(Kind::Missing, format!("'{notes_ref}' does not have it; it was received")));
    }
    if options.writing.is_quiet() { Ok(()) } else { cli::print(&format!("dropped {what}\n")) }
}
