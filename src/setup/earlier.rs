//! What the earlier tools of this name put into a repository, known by the marks they left, and taken out again.
//!
//! Read [`remove_earlier`]. Their blocks in hook files stand between two marks; their entries in settings run their
//! program; a few files are theirs alone. Their directory holds a user's data and stays.

use std::path::Path;

use bstr::ByteSlice as _;

use super::git_hooks;
use crate::agent;
use crate::error::{Error, Result};
use crate::git::{self, Repository, private};
use crate::managed::{FileKind, Plan, file, hook};
use crate::notes;

/// The names that the tools had.
const NAMES: &[&str] = &["claudit", "shiftlog"];
/// The hooks of Git that they installed.
const HOOKS: &[&str] = &["pre-push", "post-merge", "post-checkout", "post-commit"];
/// What their blocks run.
const COMMANDS: &[&str] = &[" sync push", " sync pull", " remap", " store --manual"];
/// The files that they added their entries to.
const SETTINGS: &[&str] =
    &[".claude/settings.local.json", ".claude/settings.json", ".gemini/settings.json", ".github/hooks/hooks.json"];
/// The most bytes of one of their config files.
const MAX_CONFIG_BYTES: u64 = 1 << 16;

/// A directory of an earlier tool in the working tree.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Directory {
    /// Its name.
    pub name: String,
    /// What its config file says, and what that is for us.
    pub advice: Vec<String>,
    /// The notes ref that it names, if that is not one we read anyway.
    pub notes_ref: Option<String>,
}

/// Plans that what the earlier tools installed goes. Nothing is written.
///
/// What is not just as they wrote it stays, with a remark.
///
/// # Errors
///
/// If a file cannot be read.
pub fn remove_earlier(repo: &Repository) -> Result<Plan> {
    let mut plan = Plan::new(repo, false, false)?;
    let used = git_hooks::files_directory(repo)?;
    // They wrote into the git directory, wherever Git looks for hooks.
    let mut directories = vec![repo.common_dir().join("hooks"), repo.git_dir().join("hooks"), used.clone()];
    directories.sort();
    directories.dedup();
    for directory in directories {
        let is_own = directory.starts_with(repo.common_dir()) || directory.starts_with(repo.git_dir());
        let is_here = is_own || repo.worktree().is_some_and(|top| directory.starts_with(top));
        for name in HOOKS {
            plan_hook(&mut plan, &directory.join(name), is_here)?;
        }
    }
    if let Some(worktree) = repo.worktree() {
        for name in SETTINGS {
            plan_settings(&mut plan, &worktree.join(name), false)?;
        }
        for name in NAMES {
            plan_settings(&mut plan, &worktree.join(format!(".github/hooks/{name}.json")), true)?;
            plan_plugin(&mut plan, &worktree.join(format!(".opencode/plugins/{name}.js")))?;
        }
    }
    Ok(plan)
}

/// Reads a file; `None` if there is none, or something else, in which the tools have written nothing.
fn regular(path: &Path) -> Result<Option<Vec<u8>>> {
    if path.exists() && !path.is_file() { Ok(None) } else { file::read(path) }
}

fn plan_hook(plan: &mut Plan, path: &Path, is_here: bool) -> Result<()> {
    let Some(text) = regular(path)? else { return Ok(()) };
    let has_mark = |text: &[u8]| NAMES.iter().any(|name| text.contains_str(mark(name, "start")));
    let after = without_blocks(&text);
    if after != text && !is_here {
        plan.remark(format!("'{}' serves other repositories too and is left alone", path.display()));
        return Ok(());
    }
    if has_mark(&after) {
        plan.remark(format!("'{}' has a block of an earlier tool that somebody has changed", path.display()));
    }
    plan.clean(path, FileKind::Hook, |text| Ok(without_blocks(text)))
}

fn plan_settings(plan: &mut Plan, path: &Path, is_theirs: bool) -> Result<()> {
    let Some(bytes) = regular(path)? else { return Ok(()) };
    if !NAMES.iter().any(|name| bytes.contains_str(name)) {
        return Ok(());
    }
    let clean = |bytes: &[u8]| -> Result<Vec<u8>> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8"))?;
        agent::remove_earlier_hooks(text).map(String::into_bytes)
    };
    match clean(&bytes) {
        Ok(after) if is_theirs && after != bytes && is_bare(&after) => plan.remove(path),
        Ok(_) => plan.clean(path, FileKind::Settings, clean)?,
        Err(error) => plan.remark(format!("'{}' is left alone: {error}", path.display())),
    }
    Ok(())
}

/// Says whether nothing is left in a file of hooks but its version.
fn is_bare(bytes: &[u8]) -> bool {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    value.as_object().is_some_and(|object| object.keys().all(|key| key == "version"))
}

fn plan_plugin(plan: &mut Plan, path: &Path) -> Result<()> {
    let Some(text) = regular(path)? else { return Ok(()) };
    let is_generated =
        |line: &[u8]| NAMES.iter().any(|name| line.starts_with(format!("// Auto-generated by {name} init").as_bytes()));
    if text.lines().take(3).any(is_generated) {
        plan.remove(path);
    } else if NAMES.iter().any(|name| text.contains_str(format!("{name} store"))) {
        plan.remark(format!("'{}' is left alone: it does not say that an earlier tool made it", path.display()));
    }
    Ok(())
}

fn mark(name: &str, which: &str) -> String {
    format!("# {name}-managed {which}")
}

/// Returns a hook file without their blocks, and without the blank line that came with each.
fn without_blocks(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for name in NAMES {
        let mut from = 0;
        while let Some((begin, end)) = block(&text, name, from) {
            if is_theirs(&text[begin..end]) {
                // To a file that was there they added a line end and a blank line, to their own a blank line.
                let head = &text[..begin];
                let added = if hook::is_bare(&hook::remove_block(head)) { 1 } else { 2 };
                let there = head.len() - head.trim_end_with(|c| c == '\n').len();
                let begin = begin - there.saturating_sub(usize::from(end < text.len())).min(added);
                text.drain(begin..end);
                from = begin;
            } else {
                from = end;
            }
        }
    }
    text
}

/// Finds a block from its first mark through the line of its last.
fn block(text: &[u8], name: &str, from: usize) -> Option<(usize, usize)> {
    let line = |which: &str, from: usize| {
        let mut start = 0;
        text.lines_with_terminator().find_map(|line| {
            let range = (start, start + line.len());
            start = range.1;
            (range.0 >= from && line.trim() == mark(name, which).as_bytes()).then_some(range)
        })
    };
    let (begin, body) = line("start", from)?;
    let (_, end) = line("end", body)?;
    Some((begin, end))
}

/// Says whether all lines of a block but its marks run one of their programs, as they wrote them.
fn is_theirs(block: &[u8]) -> bool {
    let lines: Vec<&[u8]> = block.lines().map(<[u8]>::trim).collect();
    let [_, body @ .., _] = lines.as_slice() else { return false };
    body.iter().all(|line| {
        let program = COMMANDS.iter().find_map(|command| line.strip_suffix(command.as_bytes()));
        let Some(program) = program else { return line.is_empty() };
        // They wrote one plain word; more than that is a user's.
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/\\:._-+@~".contains(byte);
        let program = program.strip_suffix(b".exe").unwrap_or(program);
        let name = program.rsplit(|byte| b"/\\".contains(byte)).next().unwrap_or_default();
        program.iter().all(is_plain) && (name == b"git-shiftlog" || NAMES.iter().any(|known| name == known.as_bytes()))
    })
}

/// Returns the directories of the earlier tools that are in the working tree.
pub fn earlier_directories(repo: &Repository) -> Vec<Directory> {
    let Some(worktree) = repo.worktree() else { return Vec::new() };
    let names = NAMES.iter().map(|name| format!(".{name}")).filter(|name| worktree.join(name).is_dir());
    names.map(|name| directory(worktree, name)).collect()
}

fn directory(worktree: &Path, name: String) -> Directory {
    let mut directory = Directory { name, ..Directory::default() };
    for file in ["config", "config.json"] {
        let path = worktree.join(&directory.name).join(file);
        let Ok(text) = private::read(&path, MAX_CONFIG_BYTES) else { continue };
        let config: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        for (key, value) in config.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if value.is_empty() {
                continue;
            }
            let ours = ours(key, &value, &mut directory.notes_ref);
            let value: String = value.chars().take(100).collect();
            directory.advice.push(format!("'{}/{file}' has {key} '{value}': {ours}", directory.name));
        }
    }
    directory
}

/// Returns what to do here for what a key of theirs says.
fn ours(key: &str, value: &str, notes_ref: &mut Option<String>) -> String {
    match key {
        "agent" => match agent::find(value.strip_suffix("-code").unwrap_or(value)) {
            Some(agent) => format!("git shiftlog init --agent={}", agent.name()),
            None => "this version does not know that agent".into(),
        },
        "notes_ref" => {
            let name = notes::expand_ref(value);
            if name == notes::DEFAULT_REF {
                return "that is where notes are kept here too".into();
            }
            let is_safe = name.starts_with("refs/notes/") && git::is_ref_name(&name);
            if is_safe {
                *notes_ref = Some(name);
            }
            "its documents become records; shiftlog.notesRef is where notes are kept here".into()
        }
        "debug" => "what hooks do is always in the log, '.git/shiftlog/log'".into(),
        _ => "nothing corresponds to it here".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(text: &str, name: &str, command: &str) -> String {
        let section = format!("\n# {name}-managed start\n{command}\n# {name}-managed end\n");
        if text.is_empty() { format!("#!/bin/sh\n{section}") } else { format!("{text}\n{section}") }
    }

    #[test]
    fn a_block_goes_and_what_was_there_before_it_stays_byte_for_byte() {
        for name in NAMES {
            for command in
                ["claudit sync push", "/opt/x/shiftlog sync pull\n/opt/x/shiftlog remap", "C:\\a\\claudit.exe remap"]
            {
                for text in ["#!/bin/sh\necho mine\n", "#!/bin/bash\nexit 0", "#!/bin/sh\r\nx\r\n", "x\n\n\n"] {
                    let with = added(text, name, command);
                    assert_eq!(without_blocks(with.as_bytes()).as_bstr(), text, "{name} {command}");
                    let followed = format!("{with}echo after\n");
                    let line_end = if text.ends_with('\n') { "" } else { "\n" };
                    let expected = format!("{text}{line_end}echo after\n");
                    assert_eq!(without_blocks(followed.as_bytes()).as_bstr(), expected.as_str());
                }
            }
        }
        let both = added(&added("", "claudit", "claudit remap"), "shiftlog", "shiftlog remap");
        assert!(hook::is_bare(&without_blocks(both.as_bytes())), "both tools, one after the other");
    }

    #[test]
    fn a_block_that_is_not_as_they_wrote_it_stays() {
        for text in [
            "#!/bin/sh\n\n# claudit-managed start\nclaudit sync push\nrm -rf build\n# claudit-managed end\n",
            "#!/bin/sh\n\n# claudit-managed start\nclaudit sync push\n",
            "#!/bin/sh\n\n# claudit-managed start\nclaudit sync push\n# shiftlog-managed end\n",
            "#!/bin/sh\n# claudit-managed end\n# claudit-managed start\n",
            "#!/bin/sh\necho '# claudit-managed start'\necho '# claudit-managed end'\n",
            "#!/bin/sh\n\n# claudit-managed start\nnpm run lint && claudit sync push\n# claudit-managed end\n",
            "#!/bin/sh\n\n# claudit-managed start\nnpm run lint;/opt/claudit sync push\n# claudit-managed end\n",
            "#!/bin/sh\n\n# claudit-managed start\nnice -n 5 claudit sync push\n# claudit-managed end\n",
            "#!/bin/sh\n\n# claudit-managed start\n\"$BIN\"/claudit remap\n# claudit-managed end\n",
            "#!/bin/sh\n\n# shiftlog-managed start\nmy-notshiftlog remap\n# shiftlog-managed end\n",
        ] {
            assert_eq!(without_blocks(text.as_bytes()).as_bstr(), text);
        }
    }
}
