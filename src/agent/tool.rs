//! Tool calls as all agents make them: which are shells and what they run, which change files and how.

use serde_json::Value;

use super::place;
use crate::transcript::{Edit, ToolCall};

/// The names of tools, and of members of their inputs. Names are compared by their letters and digits alone, in any
/// case: `run_command` is `runCommand`.
pub struct ToolNames {
    /// The tools that run a command line.
    pub shells: &'static [&'static str],
    /// The tools that write a file or a part of one.
    pub editors: &'static [&'static str],
    /// The tools whose input is a patch.
    pub patchers: &'static [&'static str],
    /// The members of an input that hold a command line.
    pub command: &'static [&'static str],
    /// The members that hold the path of a file.
    pub path: &'static [&'static str],
    /// The members that hold the text to replace.
    pub old: &'static [&'static str],
    /// The members that hold the text to write.
    pub new: &'static [&'static str],
    /// The members that hold a list of changes to one file.
    pub changes: &'static [&'static str],
    /// The members that hold a patch.
    pub patch: &'static [&'static str],
}

/// No names: for an agent that uses only common ones.
pub const NONE: ToolNames = ToolNames {
    shells: &[],
    editors: &[],
    patchers: &[],
    command: &[],
    path: &[],
    old: &[],
    new: &[],
    changes: &[],
    patch: &[],
};

/// The words that several agents use; those of one agent are in its own file.
const COMMON: ToolNames = ToolNames {
    shells: &[
        "bash",
        "shell",
        "exec",
        "terminal",
        "execute",
        "execute_bash",
        "execute_command",
        "run_command",
        "powershell",
    ],
    editors: &[
        "write",
        "edit",
        "write_file",
        "write_to_file",
        "edit_file",
        "create",
        "create_file",
        "insert",
        "replace",
        "str_replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "fs_write",
        "save_file",
        "delete",
        "delete_file",
    ],
    patchers: &["apply_patch", "patch"],
    command: &["command", "cmd"],
    path: &["file_path", "filePath", "filepath", "path", "absolute_path", "filename", "uri"],
    old: &["old_string", "oldString", "old_str", "oldText", "search", "original_content"],
    new: &[
        "new_string",
        "newString",
        "new_str",
        "newText",
        "content",
        "contents",
        "file_text",
        "new_content",
        "code",
        "replace",
    ],
    changes: &["edits", "replacements"],
    patch: &["patch", "input", "patchText", "patch_text"],
};

/// Returns words of all agents, the common ones first: models call tools by the names that other agents have for them.
fn all(choose: fn(&'static ToolNames) -> &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    let own = super::ALL.iter().flat_map(move |agent| choose(agent.tools()));
    choose(&COMMON).iter().chain(own).copied()
}

/// Says whether two names are the same but for their spelling: `run_command` and `runCommand`.
pub fn is_same_name(one: &str, other: &str) -> bool {
    plain(one).eq(plain(other))
}

/// Returns the letters and digits of a name, small.
fn plain(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
}

/// Returns a tool call with the command line or the edits that its input asks for.
///
/// An input that is JSON in a string is read as JSON.
pub fn call(call_id: impl Into<String>, name: &str, input: Value) -> ToolCall {
    let input = match input {
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(text),
        },
        input => input,
    };
    let is_one_of = |choose| all(choose).any(|known| is_same_name(known, name));
    let command = if is_one_of(|words| words.shells) { command_line(&input) } else { None };
    let edits = match () {
        // One tool for everything about files says with a word of its own what it does.
        () if input.get("command").is_some_and(|command| command == "view") => Vec::new(),
        () if is_one_of(|words| words.editors) => edits(&input),
        () if is_one_of(|words| words.patchers) => patch_of(&input).map(patch_edits).unwrap_or_default(),
        () => Vec::new(),
    };
    ToolCall { call_id: call_id.into(), name: name.to_owned(), input, command, edits }
}

/// Returns the command line in a shell's input: text, or the words of a program that is a shell itself.
pub fn command_line(input: &Value) -> Option<String> {
    match all(|words| words.command).find_map(|key| input.get(key)).unwrap_or(input) {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flags, script] if flags.starts_with('-') && flags.ends_with('c') => Some((*script).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

fn first(value: &Value, choose: fn(&'static ToolNames) -> &'static [&'static str]) -> Option<&str> {
    all(choose).find_map(|key| value.get(key)?.as_str())
}

fn edits(input: &Value) -> Vec<Edit> {
    let path_of = |value: &Value| first(value, |words| words.path).map(place::path_or_uri);
    let edit = |path: String, value: &Value| {
        let old = first(value, |words| words.old).map(str::to_owned);
        Edit { path, old, new: first(value, |words| words.new).map(str::to_owned), under: None }
    };
    let path = path_of(input);
    let changes = all(|words| words.changes).find_map(|key| input.get(key)?.as_array());
    match changes.filter(|changes| !changes.is_empty()) {
        None => match input.get("diff").and_then(Value::as_str).zip(path.as_deref()) {
            Some((diff, path)) if has_blocks(diff) => block_edits(path, diff),
            _ => path.map(|path| edit(path, input)).into_iter().collect(),
        },
        Some(changes) => {
            let change = |change: &Value| Some(edit(path_of(change).or_else(|| path.clone())?, change));
            changes.iter().filter_map(change).collect()
        }
    }
}

/// Says whether a line is one of those around a block, such as `<<<<<<< SEARCH`.
fn is_mark(line: &str, word: &str) -> bool {
    let signs = line.trim_end().strip_suffix(word).map(str::trim_end);
    signs.is_some_and(|signs| signs.len() >= 3 && signs.bytes().all(|byte| b"<>-+".contains(&byte)))
}

fn has_blocks(diff: &str) -> bool {
    diff.lines().any(|line| is_mark(line, "SEARCH"))
}

/// Returns the edits of a text of blocks: what to search for, a line of `=`, and what to put there.
fn block_edits(path: &str, diff: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    // The texts of a block that is not finished.
    let mut open: Option<(String, Option<String>)> = None;
    for line in diff.lines() {
        match &mut open {
            _ if is_mark(line, "SEARCH") => open = Some((String::new(), None)),
            Some((old, Some(new))) if is_mark(line, "REPLACE") => {
                let (old, new) = (std::mem::take(old), std::mem::take(new));
                edits.push(Edit { path: path.to_owned(), old: Some(old), new: Some(new), under: None });
                open = None;
            }
            Some((_, new @ None)) if line.trim_end() == "=======" => *new = Some(String::new()),
            Some((old, new)) => {
                let text = new.as_mut().unwrap_or(old);
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    edits
}

fn patch_of(input: &Value) -> Option<&str> {
    input.as_str().or_else(|| first(input, |words| words.patch))
}

/// Returns the edits of a patch of the form `*** Begin Patch`: one for each new file and for each hunk.
pub fn patch_edits(patch: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut path: Option<(String, bool)> = None;
    // Where the file's own entry is, until a hunk takes its place.
    let mut own: Option<usize> = None;
    let open = |path: &str, is_new: bool| {
        let text = Some(String::new());
        Edit { path: path.to_owned(), old: if is_new { None } else { text.clone() }, new: text, under: None }
    };
    for line in patch.lines() {
        let file = |mark: &str| line.strip_prefix(mark).map(|path| path.trim().to_owned());
        if let Some(name) = file("*** Add File: ") {
            own = None;
            edits.push(open(&name, true));
            path = Some((name, true));
        } else if let Some(name) = file("*** Update File: ") {
            own = Some(edits.len());
            edits.push(Edit { path: name.clone(), ..Edit::default() });
            path = Some((name, false));
        } else if let Some(name) = file("*** Delete File: ").or_else(|| file("*** Move to: ")) {
            edits.push(Edit { path: name, ..Edit::default() });
        } else if let Some((name, is_new)) = &path {
            let is_text = line.starts_with([' ', '+', '-']);
            let is_open = edits.last().is_some_and(|edit| edit.path == *name && edit.new.is_some());
            if line.starts_with("@@") || (is_text && !is_open) {
                if let Some(at) = own.take() {
                    edits.remove(at);
                }
                let under = line.strip_prefix("@@").map(str::trim).filter(|under| !under.is_empty());
                edits.push(Edit { under: under.map(str::to_owned), ..open(name, *is_new) });
            }
            if let Some(edit) = edits.last_mut().filter(|_| is_text) {
                let (kind, text) = line.split_at(1);
                for (side, other) in [(&mut edit.old, "+"), (&mut edit.new, "-")] {
                    if let Some(side) = side.as_mut().filter(|_| kind != other) {
                        side.push_str(text);
                        side.push('\n');
                    }
                }
            }
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_shell_is_known_however_the_agent_spells_it() {
        let command = |name: &str, input: Value| call("1", name, input).command;
        let expected = Some("git commit -m x".to_owned());
        assert_eq!(command("Bash", json!({ "command": "git commit -m x" })), expected);
        assert_eq!(command("exec_command", json!({ "cmd": "git commit -m x" })), expected);
        assert_eq!(command("shell", json!({ "command": ["bash", "-lc", "git commit -m x"] })), expected);
        assert_eq!(command("shell", json!("{\"command\":[\"git\",\"commit\",\"-m\",\"x\"]}")), expected);
        assert_eq!(command("run_command", json!({ "CommandLine": "git commit -m x" })), expected);
        assert_eq!(command("SlashCommand", json!({ "command": "/review" })), None);
    }

    #[test]
    fn blocks_tell_what_is_replaced() {
        let edit = |old: &str, new: &str| Edit {
            path: "a.rs".into(),
            old: Some(old.into()),
            new: Some(new.into()),
            under: None,
        };
        let diff = "------- SEARCH\none\n=======\n1\ntwo\n+++++++ REPLACE\n\n<<<<<<< SEARCH\nx = y\n=======\n>>>>>>> REPLACE\n";
        let read = |diff: &str| call("1", "replace_in_file", json!({ "path": "a.rs", "diff": diff })).edits;
        assert_eq!(read(diff), [edit("one\n", "1\ntwo\n"), edit("x = y\n", "")]);
        let unknown = [Edit { path: "a.rs".into(), ..Edit::default() }];
        assert_eq!(read("-one\n+1\n"), unknown, "the path is known in any case");
    }

    #[test]
    fn a_patch_of_a_million_hunks_is_read_in_its_length() {
        let edits = patch_edits(&format!("*** Update File: a.rs\n{}", "@@\n".repeat(1_000_000)));
        assert_eq!(edits.len(), 1_000_000);
    }

    #[test]
    fn a_patch_tells_its_files_and_what_changes_in_them() {
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+one\n+two\n*** Update File: b.rs\n@@ fn b\n keep\n-old\n+new\n\
                     @@\n-x\n*** Delete File: c.rs\n*** End Patch\n";
        let edit = |path: &str, old: Option<&str>, new: Option<&str>| Edit {
            path: path.into(),
            old: old.map(Into::into),
            new: new.map(Into::into),
            under: None,
        };
        let expected = [
            edit("a.rs", None, Some("one\ntwo\n")),
            Edit { under: Some("fn b".into()), ..edit("b.rs", Some("keep\nold\n"), Some("keep\nnew\n")) },
            edit("b.rs", Some("x\n"), Some("")),
            edit("c.rs", None, None),
        ];
        assert_eq!(call("1", "apply_patch", json!(patch)).edits, expected);
        assert_eq!(call("1", "apply_patch", json!({ "patch": patch })).edits, expected);
        let edits =
            call("1", "MultiEdit", json!({ "file_path": "/a", "edits": [{ "old_string": "x", "new_string": "y" }] }));
        assert_eq!(edits.edits, [edit("/a", Some("x"), Some("y"))]);
    }
}
