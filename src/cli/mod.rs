//! The manners of a process: options, exit codes, messages, colour, pager.
//!
//! Read [`main`]: every command but the hook is one call of it. Only this room says which exit code an outcome has, and `fatal:`.

mod color;
mod confirm;
mod flags;
mod interruption;
mod man;
mod mdoc;
mod message;
mod negation;
mod notes_source;
mod options;
mod output;
mod packed;
mod pager_signals;
mod printing;
mod progress;
mod usage;
mod writing;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

pub use self::color::{Color, ColorWhen, SLOTS, is_color, is_color_when};
pub use self::confirm::{ask, confirm};
pub use self::flags::{Json, NotesRef, Porcelain, Quiet, Silent};
pub use self::interruption::{Interruption, survive_full_files};
pub use self::man::{PAGES, show_hook_page, show_page};
pub use self::mdoc::Page;
pub use self::message::{error, hint, warning};
pub use self::notes_source::NotesSource;
pub use self::options::{Words, limit, neither, prepared, split_at_dashes, split_words, split_words_or, without_paths};
pub use self::output::{Output, Screen, print, print_steps};
pub(crate) use self::packed::{packed, unpacked};
pub use self::printing::Printing;
pub use self::progress::Progress;
pub use self::writing::Writing;
use crate::capture::agents;
use crate::error::{Error, Kind, Result};
use crate::git::{self, Repository};
use crate::{notes, outside, record};

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Done.
    Done,
    /// Nothing was found, or some items failed.
    No,
    /// Some of many were fetched, others were not; asking again can help.
    Partly,
    /// Generated files were edited by hand; the user must choose which version stays.
    Differs,
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Outcome::Done
    }
}

const PARTLY: u8 = 2;
const DIFFERS: u8 = 3;
const FATAL: u8 = 128;
const USAGE: u8 = 129;
/// 128 and the number of SIGPIPE, as the shell reports a process that it killed.
const READER_GONE: u8 = 141;

/// Runs a command: reads its options, does the work, tells what went wrong, and returns the exit code.
///
/// `args` is the name of the command, as its program has it, and what was typed behind it.
/// `-h` prints the usage, `--help` shows the man page. Options that are given several times count once, the last;
/// `--no-<option>` takes one back.
pub fn main<O: CommandFactory + FromArgMatches>(
    args: Vec<OsString>,
    run: impl FnOnce(O) -> Result<Outcome>,
) -> ExitCode {
    let command = O::command();
    if options::wants_page(&args) {
        return finish(show_page(command.get_name()).map(|()| Outcome::Done));
    }
    // The code that makes a command is long: it is here once for each command, and what can be shared is not.
    let known = command.clone();
    let mut read = None;
    let outcome = options::parse(command, args, &mut |matches| {
        read = Some(O::from_arg_matches(matches)?);
        Ok(())
    });
    match (read, outcome) {
        (Some(options), Ok(())) => finish(run(options).map_err(|error| options::with_typed_names(&known, error))),
        (_, outcome) => outcome.err().unwrap_or(ExitCode::from(USAGE)),
    }
}

/// Prints what went wrong, if anything did, and returns the exit code.
pub fn finish(outcome: Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Partly) => ExitCode::from(PARTLY),
        Ok(Outcome::Differs) => ExitCode::from(DIFFERS),
        Err(error) if error.kind() == Kind::ReaderGone => ExitCode::from(READER_GONE),
        Err(error) if error.kind() == Kind::Usage => {
            message::error(&error);
            ExitCode::from(USAGE)
        }
        Err(error) => {
            message::fatal(&error);
            ExitCode::from(FATAL)
        }
    }
}

/// Turns "there is no such thing" into [`Outcome::No`]: it is printed as an error, and the command has not failed.
///
/// # Errors
///
/// Every other failure, as it stands.
pub fn or_no(outcome: Result<impl Into<Outcome>>) -> Result<Outcome> {
    match outcome {
        Err(error) if error.kind() == Kind::Missing => {
            message::error(&error);
            Ok(Outcome::No)
        }
        outcome => outcome.map(Into::into),
    }
}

/// Returns the current directory.
///
/// # Errors
///
/// If it was removed, or may not be read.
pub fn current_directory() -> Result<PathBuf> {
    std::env::current_dir().map_err(|error| Error::other("cannot read the current directory").because(error))
}

/// Opens the repository that Git would use here.
///
/// # Errors
///
/// As [`repository_as_it_is`]; also if `shiftlog.notesRef` names no ref.
pub fn repository() -> Result<Repository> {
    let repo = repository_as_it_is()?;
    if let Some(name) = record::configured_notes_ref(&repo).filter(|name| !git::is_ref_name(&notes::expand_ref(name))) {
        let what = format!("bad value '{}' for shiftlog.notesRef: it is not a valid ref name", outside::line(&name));
        return Err(Error::other(what).hint("git config --show-origin --get shiftlog.notesRef"));
    }
    if let Some(name) = notes_ref_of_environment().filter(|name| !git::is_ref_name(&notes::expand_ref(name))) {
        let what = format!("bad value '{}' for GIT_NOTES_REF: it is not a valid ref name", outside::line(&name));
        return Err(Error::other(what));
    }
    Ok(repo)
}

/// Opens the repository that Git would use here, also with values of the config that other commands refuse.
///
/// # Errors
///
/// As [`Repository::open`]; also if the current directory is gone.
pub fn repository_as_it_is() -> Result<Repository> {
    let repo = Repository::open(&current_directory()?)?;
    agents::define(&repo);
    Ok(repo)
}

/// Returns the notes ref for reading and writing by hand: the option, then `GIT_NOTES_REF`, then `shiftlog.notesRef`.
///
/// `None` means the default. Hooks do not look here: a notes ref that is set for somebody's own notes must not get
/// ours.
pub fn notes_ref(repo: &Repository, option: Option<&str>) -> Option<String> {
    option.map(str::to_owned).or_else(notes_ref_of_environment).or_else(|| record::configured_notes_ref(repo))
}

fn notes_ref_of_environment() -> Option<String> {
    std::env::var("GIT_NOTES_REF").ok().filter(|name| !name.is_empty())
}

/// Returns the full name of the notes ref that a command works on; see [`notes_ref`].
pub fn full_notes_ref(repo: &Repository, option: Option<&str>) -> String {
    notes::expand_ref(notes_ref(repo, option).as_deref().unwrap_or(notes::DEFAULT_REF))
}

/// How many files with something that waits are named.
const MAX_FILES: usize = 3;

/// Warns of what a recorder could not do.
pub fn tell(repo: &Repository, report: &crate::capture::Report) {
    // Several captures can wait for one thing.
    let (mut warned, mut hinted) = (BTreeSet::new(), BTreeSet::new());
    // A session can have a hundred sub-agents, and each a file.
    let mut files = 0;
    for error in &report.warnings {
        if warned.insert(error.to_string()) {
            message::warning(&error.to_string());
        }
        let reason = std::error::Error::source(error).and_then(|reason| reason.downcast_ref::<Error>());
        let hints = error.hints().iter().chain(reason.into_iter().flat_map(Error::hints));
        for text in hints.filter(|text| hinted.insert(text.as_str())) {
            files += usize::from(text.starts_with(crate::capture::NOTED_IN));
            if !text.starts_with(crate::capture::NOTED_IN) || files <= MAX_FILES {
                message::hint(repo, text);
            }
        }
    }
    if files > MAX_FILES {
        message::hint(repo, &format!("so it is in {} more files", files - MAX_FILES));
    }
}
