//! Reading the command line as Git does, with clap underneath.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::builder::TypedValueParser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use super::negation::take_back;
use super::usage::{synopsis, usage, way};
use super::{Outcome, USAGE};
use crate::error::{Error, Kind, Result};
use crate::git::{Repository, is_ref_name};
use crate::notes;

/// Parses the arguments of a program and hands them to `read`, or prints what is wrong and returns the exit code.
pub(super) fn parse(
    command: Command,
    args: Vec<OsString>,
    read: &mut dyn FnMut(&ArgMatches) -> Result<(), clap::Error>,
) -> Result<(), ExitCode> {
    let command = prepared(command);
    let is_lone_h = args.len() == 2 && args[1] == "-h" && has_own_h(&command);
    let typed: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args = take_back(&command, with_counts(&command, args));
    let mut shown = command.clone();
    if is_lone_h {
        return Err(print_usage(&usage(&mut shown)));
    }
    let has_merges = command.get_arguments().any(|arg| arg.get_long() == Some("merges"));
    let mut command = if has_merges { command.arg(merge()) } else { command };
    let parsed =
        command.try_get_matches_from_mut(args).and_then(|matches| match has_merges && matches.get_flag(MERGE) {
            true => Err(unknown(&command, &format!("--{MERGE}"))),
            false => read(&matches),
        });
    let Err(error) = parsed else { return Ok(()) };
    let usage = usage(&mut shown);
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Err(print_usage(&usage));
    }
    let is_clear = matches!(
        error.kind(),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::TooManyValues | ErrorKind::ArgumentConflict
    );
    // The list of all options would hide what is wrong with one; 'git log' leaves it out, too.
    let problem = ambiguous(&shown, &error).unwrap_or_else(|| problem(&shown, &error, &typed));
    super::message::wrong_usage(&problem, if is_clear { "" } else { synopsis(&usage) });
    if !is_clear {
        let way = match (error.kind(), error.get(ContextKind::InvalidArg)) {
            (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => {
                way(shown.get_name(), with_value(&typed, name_of(option)))
            }
            _ => None,
        };
        let list =
            || format!("'{} -h' lists the options", shown.get_name().replacen("git-shiftlog-", "git shiftlog ", 1));
        super::message::tell_hint(&way.unwrap_or_else(list));
    }
    Err(ExitCode::from(USAGE))
}

fn print_usage(usage: &str) -> ExitCode {
    super::finish(super::print(usage).map(|()| Outcome::Done))
}

/// Gives a command the manners of Git: unique prefixes, the last option wins, usage as Git prints it.
pub fn prepared(command: Command) -> Command {
    let has_own = has_own_h(&command);
    let command = command
        .infer_long_args(true)
        .args_override_self(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .help_template("usage: {usage}\n\n{options}\n")
        // The help of an option says its values.
        .mut_args(|arg| {
            let takes_value = arg.get_action().takes_values();
            arg.hide_possible_values(takes_value)
        })
        .mut_args(|arg| match arg.get_long() {
            // An empty name would fit all.
            Some("session" | "model") => arg.value_parser(clap::builder::NonEmptyStringValueParser::new()),
            // Refused here, before words are stored for a note that cannot be written.
            Some("ref") => arg.value_parser(clap::builder::NonEmptyStringValueParser::new().try_map(notes_ref)),
            Some("agent" | "as") => {
                let takes_many = matches!(arg.get_action(), clap::ArgAction::Append);
                let parser = clap::builder::NonEmptyStringValueParser::new();
                arg.value_parser(parser.try_map(move |name| one_name(name, takes_many)))
            }
            _ => arg,
        });
    let usage = clap::Arg::new("usage").short('h').action(clap::ArgAction::HelpShort).help("Print this usage");
    if has_own { command } else { command.arg(usage) }
}

fn notes_ref(name: String) -> Result<String, String> {
    match is_ref_name(&notes::expand_ref(&name)) {
        true => Ok(name),
        false => Err("it is not a valid ref name".into()),
    }
}

/// Refuses a list of names: each needs an option of its own, where several can be given.
fn one_name(names: String, takes_many: bool) -> Result<String, String> {
    let each = || names.split(',').map(|name| format!(" --agent={name}")).collect::<String>();
    match (names.contains(','), takes_many) {
        (false, _) => Ok(names),
        (true, true) => Err(format!("give{}", each())),
        (true, false) => Err("it takes one name".into()),
    }
}

/// Says whether `-h` means something of a command's own, as for `git grep`; then it prints the usage only if it is alone.
fn has_own_h(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_short() == Some('h') && arg.get_id() != "usage")
}

/// The name of an option of `git log` that begins the name of ours, `--merges`, and means something else.
const MERGE: &str = "merge";

/// Returns that option, so that it is not taken for the beginning of ours.
fn merge() -> clap::Arg {
    clap::Arg::new(MERGE).long(MERGE).action(clap::ArgAction::SetTrue).hide(true)
}

/// Returns clap's error for an option that a command does not have.
fn unknown(command: &Command, option: &str) -> clap::Error {
    let mut error = clap::Error::new(ErrorKind::UnknownArgument).with_cmd(command);
    error.insert(ContextKind::InvalidArg, ContextValue::String(option.into()));
    error
}

/// Returns Git's words for a beginning of several options' names, if that is wrong.
fn ambiguous(command: &Command, error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    let beginning = name_of(option).strip_prefix("--").filter(|beginning| !beginning.is_empty())?;
    let mut names = command.get_arguments().filter_map(clap::Arg::get_long).filter(|name| name.starts_with(beginning));
    let (one, other) = (names.next()?, names.next()?);
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    is_unknown.then(|| format!("ambiguous option: {beginning} (could be --{one} or --{other})"))
}

/// Returns an option with the value that was typed behind it.
fn with_value<'a>(typed: &'a [String], option: &'a str) -> &'a str {
    let is_it = |arg: &&String| match arg.strip_prefix(option) {
        Some(value) => value.is_empty() || value.starts_with('=') || !option.starts_with("--"),
        None => false,
    };
    typed.iter().skip(1).find(is_it).map_or(option, String::as_str)
}

/// Returns clap's message in Git's words.
fn problem(command: &Command, error: &clap::Error, typed: &[String]) -> String {
    let name_of = |option: &str| as_typed(command, name_of(option));
    let value = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        _ => None,
    };
    match (error.kind(), value(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(option)) if option.starts_with('-') => {
            // A number with something behind it is no option with other options behind it.
            let is_number = option[1..].starts_with(|letter: char| letter.is_ascii_digit());
            format!("unknown option '{}'", if is_number { with_value(typed, &option) } else { &option })
        }
        (ErrorKind::UnknownArgument, Some(word)) => format!("unexpected argument '{word}'"),
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(option)) => {
            let wrong = value(ContextKind::InvalidValue).unwrap_or_default();
            let known = value(ContextKind::ValidValue).filter(|known| !known.is_empty());
            match known {
                _ if wrong.is_empty() && known.is_none() => format!("option '{}' requires a value", name_of(&option)),
                Some(known) if wrong.is_empty() => {
                    format!("option '{}' requires a value: {known}", name_of(&option))
                }
                Some(known) => format!("'{wrong}' is not a value for '{}': {known}", name_of(&option)),
                None => not_a_value(error, &name_of(&option), &wrong),
            }
        }
        (ErrorKind::MissingRequiredArgument, Some(missing)) if missing.starts_with('-') => {
            format!("option '{}' must be given, too", name_of(&missing))
        }
        (ErrorKind::MissingRequiredArgument, Some(missing)) => format!("{missing} is missing"),
        // What clap calls these three it says in many words; these are Git's.
        (ErrorKind::TooManyValues, Some(word)) if !word.starts_with('-') => {
            let wrong = value(ContextKind::InvalidValue).unwrap_or_default();
            format!("unexpected argument '{wrong}'")
        }
        (ErrorKind::TooManyValues, Some(option)) => format!("option '{}' takes no value", name_of(&option)),
        (ErrorKind::ArgumentConflict, Some(option)) => {
            let other = value(ContextKind::PriorArg).unwrap_or_default();
            let (one, other) = (name_of(&option), name_of(&other));
            match (one.starts_with('-'), other.starts_with('-')) {
                (true, false) => format!("option '{one}' cannot be used with <{other}>"),
                (false, _) => format!("option '{other}' cannot be used with <{one}>"),
                (true, true) => format!("options '{one}' and '{other}' cannot be used together"),
            }
        }
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

/// Says why a word is no value for an option: what the option's own parser says, or Git's words for numbers.
fn not_a_value(error: &clap::Error, option: &str, wrong: &str) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) if source.is::<std::num::ParseIntError>() => {
            format!("option '{option}' expects a numerical value")
        }
        Some(source) => match source.to_string().split_once(" is not in ").map(|(_, range)| range.split_once("..")) {
            Some(Some((first, last))) => {
                format!("option '{option}' expects a number from {first} to {}", last.trim_start_matches('='))
            }
            _ => format!("'{wrong}' is not a value for '{option}': {source}"),
        },
        None => format!("'{wrong}' is not a value for '{option}'"),
    }
}

/// Returns an option without what clap says about its value.
fn name_of(option: &str) -> &str {
    let name = option.trim_start_matches(['[', '<']).split(['=', ' ', '[', ']', '>']).next().unwrap_or(option);
    // clap marks so what counts.
    name.trim_end_matches("...")
}

/// Returns the name of an option as it was typed, which is `-n` for `--max-count` if only that was.
fn as_typed(command: &Command, name: &str) -> String {
    let long = |arg: &clap::Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(aliases).map(str::to_owned).collect::<Vec<_>>()
    };
    let is_it = |arg: &&clap::Arg| long(arg).iter().any(|long| name.strip_prefix("--") == Some(long));
    let Some(arg) = command.get_arguments().find(is_it) else { return name.to_owned() };
    let words = std::env::args_os().skip(1).take_while(|word| word != "--");
    let mut by_letter = None;
    for word in words.map(|word| word.to_string_lossy().into_owned()) {
        if matches!(name, "--max-count" | "--context")
            && word.strip_prefix('-').is_some_and(|rest| {
                rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(|c: char| !c.is_ascii_digit())
            })
        {
            return word;
        }
        if let Some(beginning) = word.strip_prefix("--") {
            let beginning = beginning.split('=').next().unwrap_or_default();
            if let Some(name) = long(arg).iter().find(|name| name.starts_with(beginning)) {
                return format!("--{name}");
            }
        } else if let Some(letters) = word.strip_prefix('-') {
            by_letter = by_letter.or(arg.get_short().filter(|letter| letters.contains(*letter)));
        }
    }
    by_letter.map_or_else(|| name.to_owned(), |letter| format!("-{letter}"))
}

/// Names the options in an error about the usage as they were typed.
pub(super) fn with_typed_names(command: &Command, error: Error) -> Error {
    if error.kind() != Kind::Usage {
        return error;
    }
    let names = command.get_arguments().filter(|arg| arg.get_short().is_some()).filter_map(clap::Arg::get_long);
    error.map_message(|message| {
        names.fold(message, |message, name| {
            let name = format!("--{name}");
            message.replace(&format!("'{name}'"), &format!("'{}'", as_typed(command, &name)))
        })
    })
}

/// Says whether `--help` is among the options.
pub(super) fn wants_page(args: &[OsString]) -> bool {
    args.iter().skip(1).take_while(|arg| *arg != "--" && *arg != "--end-of-options").any(|arg| arg == "--help")
}

/// Turns `-<number>`, and what begins like one, into `--context=<number>` where there is such an option, as in
/// `git grep -3`, else into `--max-count=<number>`, as in `git log -3`.
fn with_counts(command: &Command, args: Vec<OsString>) -> Vec<OsString> {
    let has = |name: &&&str| command.get_arguments().any(|arg| arg.get_long() == Some(**name));
    let Some(option) = ["context", "max-count"].iter().find(has) else { return args };
    let limit = command.get_arguments().find(|arg| arg.get_long() == Some("max-count"));
    let limit = limit.and_then(clap::Arg::get_short_and_visible_aliases).unwrap_or_default();
    let is_limit = |arg: &OsString| arg == "--max-count" || limit.iter().any(|short| *arg == *format!("-{short}"));
    let (mut is_over, mut is_value) = (false, false);
    let turned = args.into_iter().map(|arg| {
        is_over |= arg == "--" || arg == "--end-of-options";
        // '-n -1' has a value that looks like such an option.
        let is_after_name = std::mem::replace(&mut is_value, is_limit(&arg));
        let digits = arg.to_str().and_then(|text| text.strip_prefix('-'));
        match digits.filter(|digits| !is_over && !is_after_name && digits.starts_with(|c: char| c.is_ascii_digit())) {
            Some(digits) => format!("--{option}={digits}").into(),
            None => arg,
        }
    });
    turned.collect()
}

/// Reads how many there may be at most: a negative number is no limit, as in Git.
///
/// # Errors
///
/// If it is no number.
pub fn limit(text: &str) -> Result<usize, std::num::ParseIntError> {
    text.parse::<i64>().map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// Positional words, told apart: revisions, then paths.
#[derive(Debug, Default)]
pub struct Words {
    /// What may be a revision, as typed.
    pub revisions: Vec<String>,
    /// Paths, as typed; `None` if there are none.
    pub paths: Vec<OsString>,
}

/// Tells revisions from paths as Git does: everything after `--` is a path; without it, the first word that is no
/// revision begins the paths, and must exist.
///
/// # Errors
///
/// If a word is both or neither.
pub fn split_words(repo: &Repository, words: &[OsString]) -> Result<Words> {
    split_words_or(repo, words, |word| Err(repo.ambiguous(word).unwrap_or_else(|| neither(word))))
}

/// Like [`split_words`], but calls `unknown` for a word that is neither a revision nor a path; if that succeeds, the word
/// is added to `revisions`.
///
/// # Errors
///
/// As [`split_words`], and those of `unknown`.
pub fn split_words_or(repo: &Repository, words: &[OsString], unknown: impl Fn(&str) -> Result<()>) -> Result<Words> {
    let (before, after) = split_at_dashes(words);
    let has_dashes = has_dashes();
    let mut found = Words { paths: after.to_vec(), ..Words::default() };
    for (index, word) in before.iter().enumerate() {
        // '--end-of-options' became a '--' for clap, so a '--' of the user's own came through as a word.
        if word == "--" {
            continue;
        }
        let text = word.to_string_lossy().into_owned();
        let is_revision = is_revision(repo, &text);
        let is_path = !has_dashes && is_path(repo, word);
        match (is_revision, is_path) {
            (true, true) if is_file(repo, word) && has_users_files(repo) => {
                return Err(Error::other(format!("ambiguous argument '{text}': both revision and filename"))
                    .hint("use '--' to separate paths from revisions"));
            }
            (true, _) => found.revisions.push(text),
            (false, true) => {
                let paths = &before[index..];
                if let Some(missing) = paths.iter().find(|path| !self::is_path(repo, path)) {
                    let message = format!("{}: no such path in the working tree", missing.to_string_lossy());
                    return Err(Error::other(message).hint("'--' before a path says that it is one"));
                }
                found.paths.extend(paths.iter().cloned());
                break;
            }
            (false, false) => {
                unknown(&text)?;
                found.revisions.push(text);
            }
        }
    }
    Ok(found)
}

/// Returns the error for a word that is neither a revision nor a path.
pub fn neither(word: &str) -> Error {
    if has_dashes() {
        return Error::other(format!("bad revision '{word}'"));
    }
    Error::other(format!("ambiguous argument '{word}': unknown revision or path not in the working tree"))
        .hint("use '--' to separate paths from revisions")
}

/// Says whether files of the current directory are the user's: those of a Git directory have names such as `HEAD`.
fn has_users_files(repo: &Repository) -> bool {
    let is_in = |directory: &Path| {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        here.is_ok_and(|here| directory.canonicalize().is_ok_and(|directory| here.starts_with(directory)))
    };
    repo.worktree().is_some_and(is_in) && !is_in(repo.git_dir()) && !is_in(&repo.common_dir())
}

/// Says whether a word that is no revision is a path for Git: it is there, or looks like a pathspec.
fn is_path(repo: &Repository, word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    is_file(repo, word) || [":(", ":!", ":^"].iter().any(|magic| text.starts_with(magic)) || has_wildcard(&text)
}

/// Says whether a word names a file that is there, which Git asks also of a word that is a revision.
fn is_file(repo: &Repository, word: &OsStr) -> bool {
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    match word.to_string_lossy().strip_prefix(":/") {
        Some("") => true,
        Some(from_top) => repo.worktree().is_some_and(|top| is_there(&top.join(from_top))),
        None => is_there(Path::new(word)),
    }
}

fn has_wildcard(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'*' | b'?' | b'[' => return true,
            _ => {}
        }
    }
    false
}

/// Refuses paths behind `--` where a command takes revisions alone.
///
/// # Errors
///
/// [`Kind::Usage`] if a word behind `--` is no revision.
pub fn without_paths(repo: &Repository, words: &[String]) -> Result<()> {
    let after = typed_after_dashes().min(words.len());
    match words[words.len() - after..].iter().find(|word| !is_revision(repo, word)) {
        Some(word) => Err(Error::new(Kind::Usage, format!("unexpected path '{word}': only revisions are taken"))),
        None => Ok(()),
    }
}

/// Returns the positional words in front of `--` and those behind it.
pub fn split_at_dashes(words: &[OsString]) -> (&[OsString], &[OsString]) {
    words.split_at(words.len() - typed_after_dashes().min(words.len()))
}

fn typed_after_dashes() -> usize {
    let typed: Vec<OsString> = std::env::args_os().collect();
    typed.iter().position(|arg| arg == "--").map_or(0, |at| typed.len() - at - 1)
}

fn has_dashes() -> bool {
    std::env::args_os().any(|arg| arg == "--")
}

fn is_revision(repo: &Repository, text: &str) -> bool {
    repo.add_to_range(&mut crate::git::Range::default(), text).is_ok()
}
