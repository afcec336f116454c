//! Checking one of Git's hooks for `doctor`: whether Git runs it, and whether a shell reaches our part of it.
//!
//! A hook is never run. Where its text does not say whether our part is reached, the finding says that this was not checked.

use std::path::Path;

use bstr::ByteSlice as _;

use super::advice;
use super::finding::Finding;
use super::git_hooks;
use super::proof::unusable_program;
use crate::error::Result;
use crate::git::Repository;
use crate::managed::place::{Places, is_of_one_repository};
use crate::managed::{HOOK_PROGRAM, file, hook};
use crate::outside;

const INIT: &str = "git shiftlog init";
/// The longest line of a hook that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// Looks at the hook for an event in the directory `hooks`, which is an empty path if there is none.
///
/// # Errors
///
/// If the hook cannot be read.
pub(super) fn check(repo: &Repository, places: &Places, hooks: &Path, event: &str) -> Result<Finding> {
    let subject = format!("Git hook {event}");
    let problem = |what: &str, fix: &str| Ok(Finding::problem(subject.clone(), what, fix));
    if git_hooks::are_in_config() {
        let is_declared = repo.config_string(&format!("hook.shiftlog-{event}.command")).is_some();
        return Ok(Finding::new(subject, (!is_declared).then_some(("not declared", INIT))));
    }
    let path = hooks.join(event);
    // Without a directory, the name of a hook is none of a file.
    let has_files = !hooks.as_os_str().is_empty();
    let text = file::contents(&path).filter(|_| has_files).unwrap_or_default();
    let others = git_hooks::others(places, &path);
    let init = if others.is_some() { "git shiftlog init --yes" } else { INIT };
    let has_block = hook::has_block_of(&text, event);
    let obstacle = if has_block { None } else { git_hooks::why_not_installed(repo, hooks, event)? };
    // A program or a script of another language can run ours itself.
    let own_line = obstacle.as_ref().and_then(|_| git_hooks::line_of_ours(&text, event));
    // What 'init' cannot tell from lines of others is left alone by it.
    if own_line.is_none() && hook::has_edited_block(&text) {
        let fix = format!("remove our lines from '{}', then {init}", path.display());
        return problem("our part of it was edited", &fix);
    }
    if !has_block && own_line.is_none() {
        return match (obstacle, others) {
            (Some((what, fix)), _) => problem(&what, &fix),
            (None, Some(_)) if places.is_outside(hooks) && is_of_one_repository(hooks) => problem(
                "not installed, since the hooks belong to another repository",
                &format!("{} && git shiftlog init", advice::unset(repo, "core.hooksPath")),
            ),
            (None, Some(others)) => problem(&others, init),
            (None, None) => problem("not installed", INIT),
        };
    }
    if git_hooks::is_disabled(&path) {
        let chmod = format!("chmod +x {}", outside::shell(&path.to_string_lossy()));
        return problem("not executable, so Git does not run it", &chmod);
    }
    let by_hand = obstacle.map_or_else(|| init.to_owned(), |(_, fix)| fix);
    if let Some(why) = unusable_program(&text.to_str_lossy()) {
        return problem(&format!("names a program that is {why}"), &by_hand);
    }
    if let Some(what) = bad_interpreter(&text, repo.worktree().unwrap_or(repo.git_dir())) {
        return problem(&what, &format!("correct the first line of '{}'", path.display()));
    }
    if !hook::is_shell_script(&text) {
        return match has_block {
            true => problem("it is no shell script, which our lines in it are for", init),
            false => Ok(Finding::note(format!("{subject}: it runs '{HOOK_PROGRAM}' itself, which was not checked"))),
        };
    }
    if has_block && !hook::is_as_written(&text, event) {
        return problem("our part of it was edited", init);
    }
    let above = hook::above_block(&text).filter(|_| has_block);
    let above = above.or_else(|| Some(&text[..own_line?])).unwrap_or_default();
    Ok(match passage(above) {
        Passage::Free => Finding::ok(subject),
        Passage::Closed(line) => {
            let fix = if has_block { init } else { "move our line above it" };
            Finding::problem(subject, &format!("its line '{line}' ends it before our part"), fix)
        }
        Passage::Unknown(line) => Finding::note(format!(
            "{subject}: whether it gets to our part was not checked, since its line '{line}' can end it before that"
        )),
    })
}

/// Returns why Git cannot start a hook that names its interpreter in the first line. Git starts hooks in `directory`.
fn bad_interpreter(text: &[u8], directory: &Path) -> Option<String> {
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let words = first.strip_prefix(b"#!")?;
    if words.ends_with(b"\r") {
        return Some("its first line ends with a carriage return, so its interpreter is not found".to_owned());
    }
    let mut words = words.fields_with(|c| c == ' ' || c == '\t').filter(|word| !word.is_empty());
    let program = directory.join(words.next()?.to_path_lossy());
    let missing = |what: &Path| Some(format!("its interpreter '{}' is not there", what.display()));
    if !program.is_file() {
        return missing(&program);
    }
    if program.file_name().is_none_or(|name| name != "env") {
        return None;
    }
    // 'env' looks for the program on PATH, behind its options and variables.
    let is_name = |word: &&[u8]| !word.starts_with(b"-") && !word.contains(&b'=');
    let name = words.find(is_name)?.to_path_lossy().into_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|on_path| directory.join(on_path).join(&name).is_file());
    if is_there { None } else { missing(&name) }
}

/// Whether a shell gets to the end of some lines.
#[derive(Debug, Eq, PartialEq)]
enum Passage {
    /// The shell reaches our part.
    Free,
    /// This line ends the script before our part.
    Closed(String),
    /// Their text does not say so: this line can end the script, or is a part of something longer.
    Unknown(String),
}

/// Words with which a shell can end, or do what other lines of the script do not show.
const LEAVING: &[&str] =
    &["exit", "exec", "return", "eval", "trap", "set", ".", "source", "kill", "command", "builtin", "alias"];
/// Words that begin or end a compound command, so that a line with one of them is not a command by itself.
const COMPOUND: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "select", "do", "done", "case", "esac", "function",
    "{", "}", "[[", "]]", "!",
];

/// Says whether a shell gets to the end of the lines of a script above ours.
fn passage(above: &[u8]) -> Passage {
    let text = above.to_str_lossy();
    let ends_at_errors = text.lines().next().is_some_and(|first| first.starts_with("#!") && first.contains(" -"));
    // The lines that are advised for a file of several hooks end none of them.
    let is_idle = |line: &&str| line.is_empty() || line.starts_with('#') || line.contains(HOOK_PROGRAM);
    for line in text.lines().map(str::trim).filter(|line| !is_idle(line)) {
        let shown = || outside::line(&line.chars().take(MAX_SHOWN_CHARS).collect::<String>());
        let words: Vec<&str> = line.split([' ', '\t', ';', '&', '|']).filter(|word| !word.is_empty()).collect();
        let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
        if !is_whole(line) || has(COMPOUND) {
            return Passage::Unknown(shown());
        }
        if always_leaves(line, &words) {
            return Passage::Closed(shown());
        }
        if ends_at_errors || has(LEAVING) {
            return Passage::Unknown(shown());
        }
    }
    Passage::Free
}

/// Says whether a line is a command by itself, rather than a part of one that has several lines.
fn is_whole(line: &str) -> bool {
    let mut quote = None;
    for c in line.chars() {
        match quote {
            None if matches!(c, '\'' | '"') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
    }
    quote.is_none() && !line.contains(['\\', '`', '(', ')']) && !line.contains("<<") && !line.ends_with(['|', '&'])
}

/// Says whether a line ends the script, whatever came before it: it is `exit`, or `exec` with a program.
fn always_leaves(line: &str, words: &[&str]) -> bool {
    let is_in_list = line.replace(">&", "").contains(['&', '|']);
    let is_program =
        |word: &&str| !word.starts_with(['<', '>', '-', '{']) && !word.starts_with(|c: char| c.is_ascii_digit());
    match words {
        ["exit", ..] => !is_in_list,
        ["exec", word, ..] => is_program(word) && !is_in_list,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_always_ends_a_script_is_told_from_one_that_can() {
        let closed = |line: &str| Passage::Closed(line.to_owned());
        let unknown = |line: &str| Passage::Unknown(line.to_owned());
        for (above, expected) in [
            ("#!/bin/sh\n", Passage::Free),
            ("", Passage::Free),
            ("#!/bin/sh\n# exit 0\n\necho \"${0##*/}\" >>ran\nnpm test || true\n", Passage::Free),
            ("#!/bin/sh\nexec >>log 2>&1\n", unknown("exec >>log 2>&1")),
            ("#!/bin/sh\nexit 0\n", closed("exit 0")),
            ("#!/bin/sh\n  exit\n", closed("exit")),
            ("#!/bin/sh\nexit 0; echo\n", closed("exit 0; echo")),
            ("#!/bin/sh\nexec other-hook \"$@\" 2>&1\n", closed("exec other-hook \"$@\" 2>&1")),
            ("#!/bin/sh\ntest -t 1 && exit 0\n", unknown("test -t 1 && exit 0")),
            ("#!/bin/sh\nexit 0 &\n", unknown("exit 0 &")),
            ("#!/bin/sh\nif test -t 1; then\nexit 0\nfi\n", unknown("if test -t 1; then")),
            ("#!/bin/sh\ncat <<x\nexit 0\nx\n", unknown("cat <<x")),
            ("#!/bin/sh\necho 'one\nexit 0\n'\n", unknown("echo 'one")),
            ("#!/bin/sh\nleave() {\nexit 0\n}\n", unknown("leave() {")),
            ("#!/bin/sh\nset -e\nfalse\n", unknown("set -e")),
            ("#!/bin/sh -e\nfalse\n", unknown("false")),
            ("#!/bin/sh\n. ./husky.sh\n", unknown(". ./husky.sh")),
            ("#!/bin/sh\necho \\\nexit 0\n", unknown("echo \\")),
        ] {
            assert_eq!(passage(above.as_bytes()), expected, "{above:?}");
        }
    }
}
