//! The instruction files of an agent: in one line, as texts, and as a diff.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Style;
use super::diff::painted;
use crate::compare::LineDiff;
use crate::outside;
use crate::told::{Changes, InstructionFile};

/// How many files one line names.
const MAX_NAMED: usize = 8;
/// How long two texts are compared; after that the diff is larger than it need be.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Returns the instruction files of a record in one line, with what has changed since an earlier commit, given by its
/// abbreviated id. `None` if there are no files and nothing has changed.
pub fn told_line(files: &[InstructionFile], before: Option<(&str, &Changes)>) -> Option<String> {
    let name = |file: &InstructionFile| match &file.left {
        Some(why) => format!("{} (not read: {})", file.name(), outside::line(why)),
        None => file.name(),
    };
    let names: Vec<String> = files.iter().map(name).collect();
    let mut line = if names.is_empty() { "nothing".to_owned() } else { listed(&names) };
    let (commit, changes) = before.filter(|(_, changes)| !changes.is_empty()).unzip();
    if let (Some(commit), Some(changes)) = (commit, changes) {
        let parts = [(&changes.changed, "changed"), (&changes.added, "added"), (&changes.removed, "removed")];
        let parts = parts.iter().filter(|(names, _)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(names, word)| format!("{} {word}", listed(names))).collect();
        // Writing to memory does not fail.
        let _ = write!(line, "; {} since {commit}", parts.join(", "));
    } else if names.is_empty() {
        return None;
    }
    Some(outside::line(&format!("told: {line}")))
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the entries of a record for JSON.
pub fn told_value(files: &[InstructionFile]) -> Value {
    let value = |file: &InstructionFile| {
        let mut value = serde_json::to_value(file).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.values_mut().for_each(|value| {
                if let Value::String(text) = value {
                    *text = outside::line(text);
                }
            });
        }
        value
    };
    files.iter().map(value).collect()
}

/// Writes the text of an instruction file, or why it cannot be shown.
///
/// # Errors
///
/// If writing fails.
pub fn write_told(
    out: &mut dyn Write,
    file: &InstructionFile,
    agents: &[String],
    text: Result<&[u8], &str>,
    style: &Style,
) -> io::Result<()> {
    let bytes = file.bytes.map(|bytes| format!(", {}", super::size(bytes))).unwrap_or_default();
    let head = format!("{}{bytes}, {}", file.name(), agents.join(", "));
    writeln!(out, "{}", style.paint(&style.strong, &outside::line(&head)))?;
    match text {
        Err(why) => writeln!(out, "{}", style.paint(&style.dim, &format!("[{}]", outside::line(why))))?,
        Ok(text) => {
            writeln!(out)?;
            for line in String::from_utf8_lossy(text).lines() {
                writeln!(out, "{}", format!("    {}", outside::text(line)).trim_end())?;
            }
        }
    }
    writeln!(out)
}

/// Returns a unified diff of two texts of an instruction file; a text that was not there is `None`.
pub fn told_diff(name: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let text = |text: Option<&[u8]>| String::from_utf8_lossy(text.unwrap_or_default()).into_owned();
    let name = |side: &str, text: Option<&[u8]>| match text {
        Some(_) => outside::line(&format!("{side}/{name}")),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (text(before), text(after));
    let deadline = Some(Instant::now() + MAX_TIME);
    LineDiff::of(&old, &new, deadline).unified(&name("a", before), &name("b", after))
}

/// Writes a diff of [`told_diff`].
///
/// # Errors
///
/// If writing fails.
pub fn write_told_diff(out: &mut dyn Write, diff: &str, style: &Style) -> io::Result<()> {
    outside::text(diff).lines().try_for_each(|line| writeln!(out, "{}", painted(line, style)))
}

/// Returns the object of a difference for JSON.
pub fn told_difference(
    name: &str,
    before: Option<&InstructionFile>,
    after: Option<&InstructionFile>,
    diff: Result<String, String>,
) -> Value {
    let sha256 = |file: Option<&InstructionFile>| file.and_then(|file| file.sha256.clone());
    let mut value = json!({ "version": 1, "name": name, "before": sha256(before), "after": sha256(after) });
    match diff {
        Ok(diff) => value["diff"] = diff.into(),
        Err(problem) => value["problem"] = problem.into(),
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::Root;

    #[test]
    fn one_line_names_files_and_what_changed() {
        let files =
            [InstructionFile::new(Root::Repo, "AGENTS.md"), InstructionFile::new(Root::Home, ".claude/CLAUDE.md")];
        assert_eq!(told_line(&files, None).as_deref(), Some("told: AGENTS.md, ~/.claude/CLAUDE.md"));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let changes = Changes { changed: names(&["AGENTS.md"]), added: names(&["a\x1b[2J.md"]), removed: Vec::new() };
        let line = told_line(&files[..1], Some(("1a2b3c4", &changes))).expect("a line");
        assert!(line.starts_with("told: AGENTS.md; AGENTS.md changed, a"), "{line}");
        assert!(line.ends_with(".md added since 1a2b3c4") && !line.contains('\x1b'), "{line}");
        assert_eq!(told_line(&[], None), None);
        let gone = Changes { removed: names(&["b.md"]), ..Changes::default() };
        assert_eq!(told_line(&[], Some(("1", &gone))).as_deref(), Some("told: nothing; b.md removed since 1"));
        assert_eq!(told_line(&[], Some(("1", &Changes::default()))), None);
    }

    #[test]
    fn a_diff_says_which_side_is_missing() {
        assert_eq!(told_diff("x", None, Some(b"a\n")), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(told_diff("x", Some(b"a\n"), Some(b"b\n")), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    }
}
