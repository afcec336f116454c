//! Tool calls as all agents make them: which are shells and what they run, which change files and how.

use serde_json::Value;

use super::place;
use crate::transcript::{Edit, ToolCall};

/// The tools that run a command line; small letters and digits only.
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "localshell",
    "shellcommand",
    "execcommand",
    "functionsexeccommand",
    "exec",
    "runshellcommand",
    "runinterminal",
    "runterminalcommand",
    "runterminalcmd",
    "terminal",
    "execute",
    "executebash",
    "executecommand",
    "runcommand",
    "runcommands",
    "powershell",
];
/// The tools that write a file or a part of one.
const EDITORS: &[&str] = &[
    "write",
    "edit",
    "multiedit",
    "notebookedit",
    "writefile",
    "writetofile",
    "replace",
    "replaceinfile",
    "replacefilecontent",
    "multireplacefilecontent",
    "createfile",
    "create",
    "editfile",
    "strreplace",
    "strreplaceeditor",
    "strreplacebasededittool",
    "searchreplace",
    "insert",
    "inserteditintofile",
    "replacestringinfile",
    "multireplacestringinfile",
    "fswrite",
    "writecode",
    "editnotebook",
    "savefile",
    "delete",
    "deletefile",
    "codeaction",
];
/// The tools whose input is a patch.
const PATCHERS: &[&str] = &["applypatch", "patch", "functionsapplypatch"];

const COMMAND: &[&str] = &["command", "cmd", "command_line", "CommandLine", "commands"];
const PATH: &[&str] = &[
    "file_path",
    "filePath",
    "filepath",
    "path",
    "absolute_path",
    "notebook_path",
    "target_file",
    "TargetFile",
    "target_notebook",
    "filename",
    "uri",
];
const OLD: &[&str] = &["old_string", "oldString", "old_str", "oldText", "TargetContent", "search", "original_content"];
const NEW: &[&str] = &[
    "new_string",
    "newString",
    "new_str",
    "newText",
    "content",
    "contents",
    "file_text",
    "new_source",
    "new_content",
    "code",
    "CodeContent",
    "ReplacementContent",
    "replace",
];
const CHANGES: &[&str] = &["edits", "replacements", "ReplacementChunks"];
const PATCH: &[&str] = &["patch", "input", "patchText", "patch_text"];

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
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let is_one_of = |names: &[&str]| names.contains(&plain.as_str());
    let command = if is_one_of(SHELLS) { command_line(&input) } else { None };
    let edits = match () {
        // One tool for everything about files says with a word of its own what it does.
        () if input.get("command").is_some_and(|command| command == "view") => Vec::new(),
        () if is_one_of(EDITORS) => edits(&input),
        () if is_one_of(PATCHERS) => patch_of(&input).map(patch_edits).unwrap_or_default(),
        () => Vec::new(),
    };
    ToolCall { call_id: call_id.into(), name: name.to_owned(), input, command, edits }
}

/// Returns the command line in a shell's input: text, or the words of a program that is a shell itself.
pub fn command_line(input: &Value) -> Option<String> {
    match COMMAND.iter().find_map(|key| input.get(key)).unwrap_or(input) {
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

fn first<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

fn edits(input: &Value) -> Vec<Edit> {
    let text = |value: &Value, keys: &[&str]| first(value, keys).map(str::to_owned);
    let path = first(input, PATH).map(place::path_or_uri);
    let changes = CHANGES.iter().find_map(|key| input.get(key)?.as_array()).filter(|changes| !changes.is_empty());
    let Some(changes) = changes else {
        return path.map(|path| Edit { path, old: text(input, OLD), new: text(input, NEW) }).into_iter().collect();
    };
    let edit = |change: &Value| {
        let path = first(change, PATH).map(place::path_or_uri).or_else(|| path.clone())?;
        Some(Edit { path, old: text(change, OLD), new: text(change, NEW) })
    };
    changes.iter().filter_map(edit).collect()
}

fn patch_of(input: &Value) -> Option<&str> {
    input.as_str().or_else(|| first(input, PATCH))
}

/// Returns what a patch of the form `*** Begin Patch` changes: an edit for each new file and for each hunk.
pub fn patch_edits(patch: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut path: Option<(String, bool)> = None;
    let open = |path: &str, is_new: bool| {
        let text = Some(String::new());
        Edit { path: path.to_owned(), old: if is_new { None } else { text.clone() }, new: text }
    };
    for line in patch.lines() {
        let file = |mark: &str| line.strip_prefix(mark).map(|path| path.trim().to_owned());
        if let Some(name) = file("*** Add File: ") {
            edits.push(open(&name, true));
            path = Some((name, true));
        } else if let Some(name) = file("*** Update File: ") {
            edits.push(Edit { path: name.clone(), old: None, new: None });
            path = Some((name, false));
        } else if let Some(name) = file("*** Delete File: ").or_else(|| file("*** Move to: ")) {
            edits.push(Edit { path: name, old: None, new: None });
        } else if let Some((name, is_new)) = &path {
            let is_text = line.starts_with([' ', '+', '-']);
            let is_open = edits.last().is_some_and(|edit| edit.path == *name && edit.new.is_some());
            if line.starts_with("@@") || (is_text && !is_open) {
                // The first hunk takes the place of the file's own entry.
                edits.retain(|edit| edit.path != *name || edit.new.is_some());
                edits.push(open(name, *is_new));
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
    fn a_patch_tells_its_files_and_what_changes_in_them() {
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+one\n+two\n*** Update File: b.rs\n@@ fn b\n keep\n-old\n+new\n\
                     @@\n-x\n*** Delete File: c.rs\n*** End Patch\n";
        let edit = |path: &str, old: Option<&str>, new: Option<&str>| Edit {
            path: path.into(),
            old: old.map(Into::into),
            new: new.map(Into::into),
        };
        let expected = [
            edit("a.rs", None, Some("one\ntwo\n")),
            edit("b.rs", Some("keep\nold\n"), Some("keep\nnew\n")),
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
