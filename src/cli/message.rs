//! Messages on stderr, with Git's prefixes.

use std::io::Write as _;

use crate::error::Error;
use crate::git::Repository;
use crate::outside;

fn tell(prefix: &str, text: &str) {
    // A message that cannot be written has nobody to read it.
    let _ = writeln!(std::io::stderr(), "{prefix}: {}", outside::line(text));
}

/// Tells that one item failed.
pub fn error(error: &Error) {
    tell("error", &error.to_string());
    error.hints().iter().for_each(|text| tell_hint(text));
}

/// Tells that the command stops here.
pub(super) fn fatal(error: &Error) {
    tell("fatal", &error.to_string());
    error.hints().iter().for_each(|text| tell_hint(text));
}

/// Tells that the command line is wrong, and the usage below it.
pub(super) fn wrong_usage(problem: &str, usage: &str) {
    tell("error", problem);
    let _ = std::io::stderr().write_all(usage.as_bytes());
}

/// Tells something to look at; the command goes on.
pub fn warning(text: &str) {
    tell("warning", text);
}

/// Tells what to type next, unless `GIT_ADVICE=0` or `advice.shiftlog=false` silences it.
pub fn hint(repo: &Repository, text: &str) {
    if repo.config_bool("advice.shiftlog") != Some(false) {
        tell_hint(text);
    }
}

/// Tells what to type next where no repository can have silenced it.
pub(super) fn tell_hint(text: &str) {
    if !std::env::var("GIT_ADVICE").is_ok_and(|value| matches!(&*value, "0" | "false" | "no" | "off")) {
        tell("hint", text);
    }
}
