//! `--no-<option>`: it takes back what was said before.
//!
//! clap would need a second option for each; Git's own parser knows the negative form of every option.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Applies each `--no-<option>`: it removes what was said before by `--<option>`, by its letter or by a beginning of its name, and
/// the other way round for an option whose own name begins with `no-`.
pub(super) fn take_back(command: &Command, args: Vec<OsString>) -> Vec<OsString> {
    let mut kept: Vec<OsString> = Vec::new();
    let mut rest = args.into_iter();
    while let Some(arg) = rest.next() {
        if arg == "--" || arg == "--end-of-options" {
            kept.push("--".into());
            kept.extend(rest);
            break;
        }
        let Some(option) =
            arg.to_str().and_then(|text| text.strip_prefix("--")).and_then(|name| negated(command, name))
        else {
            kept.push(arg);
            continue;
        };
        match option.get_long() {
            // Git's option says never, whatever the config says.
            Some("color") => kept.push("--color=never".into()),
            _ => kept = without(command, kept, option),
        }
    }
    kept
}

/// Returns the option that a name takes back, written whole or so that no other fits. A name of an option's own says what it does.
fn negated<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    if name.is_empty() || named(command, name).is_some() {
        return None;
    }
    let opposite = |name: &str| name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned);
    let options = || command.get_arguments();
    let exact = options().find(|arg| names(arg).any(|own| opposite(own) == name));
    let is_begun = |arg: &&Arg| names(arg).any(|own| opposite(own).starts_with(name));
    let begins_own = options().any(|arg| names(arg).any(|own| own.starts_with(name)));
    exact.or_else(|| only(options().filter(is_begun)).filter(|_| !begins_own))
}

/// Returns the option of this name, or the only one whose name begins so.
fn named<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let exact = command.get_arguments().find(|arg| names(arg).any(|own| own == name));
    exact.or_else(|| only(command.get_arguments().filter(|arg| names(arg).any(|own| own.starts_with(name)))))
}

fn names(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default())
}

fn only<'c>(mut options: impl Iterator<Item = &'c Arg>) -> Option<&'c Arg> {
    let one = options.next()?;
    options.next().is_none().then_some(one)
}

/// Says whether the value of an option can be the next word.
fn takes_word(option: &Arg) -> bool {
    option.get_action().takes_values() && !option.is_require_equals_set()
}

/// Returns what was typed without an option and its value.
fn without(command: &Command, typed: Vec<OsString>, option: &Arg) -> Vec<OsString> {
    let is_it = |arg: &Arg| arg.get_id() == option.get_id();
    let mut kept = Vec::new();
    let mut rest = typed.into_iter();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy().into_owned();
        // Whose value the next word is, and what stays of this one.
        let (owner, left) = if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let arg = named(command, name);
            let left = (!arg.is_some_and(is_it)).then_some(word);
            (arg.filter(|arg| value.is_none() && takes_word(arg)), left)
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let (mut owner, mut stay) = (None, String::new());
            for (at, letter) in letters.char_indices() {
                let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter));
                let has_value = arg.is_some_and(|arg| arg.get_action().takes_values());
                let end = if has_value { letters.len() } else { at + letter.len_utf8() };
                if !arg.is_some_and(is_it) {
                    stay.push_str(&letters[at..end]);
                }
                if has_value {
                    owner = arg.filter(|arg| takes_word(arg) && at + letter.len_utf8() == letters.len());
                    break;
                }
            }
            let left = match stay.len() == letters.len() {
                true => Some(word),
                false => (!stay.is_empty()).then(|| format!("-{stay}").into()),
            };
            (owner, left)
        } else {
            (None, Some(word))
        };
        kept.extend(left);
        if let Some(owner) = owner {
            let value = rest.next();
            kept.extend(value.filter(|_| !is_it(owner)));
        }
    }
    kept
}
