//! The turns of a conversation that are about a path.

use std::collections::HashSet;

use super::{Message, Part, ToolCall};

/// Keys of a tool's input that name a file.
const PATH_KEYS: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "target_file", "absolute_path", "filename", "file"];

/// Paths from the top of the working tree, with `/` between components.
#[derive(Clone, Debug, Default)]
pub struct WantedPaths {
    /// Files and directories: a directory stands for what is below it, and an empty path for everything.
    pub below: Vec<String>,
    /// Files; there may be many.
    pub files: HashSet<String>,
}

/// Says which of the messages belong to turns that are about one of the wanted paths: a tool call changes, reads or
/// names it, or the prompt does. A turn is a prompt and what follows it up to the next one.
///
/// `top` is the directory that the session worked in, as far as that is known.
pub fn about(messages: &[Message], wanted: &WantedPaths, top: Option<&str>) -> Vec<bool> {
    let mut is_about = vec![false; messages.len()];
    let mut start = 0;
    while start < messages.len() {
        let next = messages[start + 1..].iter().position(Message::is_prompt);
        let end = next.map_or(messages.len(), |next| start + 1 + next);
        let is_named =
            |name: &str| wanted.below.iter().any(|path| is_at(name, path, top)) || is_one_of(name, &wanted.files, top);
        let names_one = messages[start..end].iter().any(|message| names_one(message, &is_named));
        is_about[start..end].fill(names_one);
        start = end;
    }
    is_about
}

fn names_one(message: &Message, is_named: &impl Fn(&str) -> bool) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text(text) if message.is_prompt() => words(text).any(is_named),
        Part::ToolCall(call) => call_names_one(call, is_named),
        _ => false,
    })
}

fn call_names_one(call: &ToolCall, is_named: &impl Fn(&str) -> bool) -> bool {
    let inputs = PATH_KEYS.iter().filter_map(|key| call.input.get(key)?.as_str());
    call.edits.iter().any(|edit| is_named(&edit.path))
        || inputs.into_iter().any(is_named)
        || call.command.as_deref().is_some_and(|command| words(command).any(is_named))
}

/// Returns the words of a text that can be paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;:=|&@".contains(c);
    text.split(is_between).map(|word| word.trim_end_matches(['.', '!', '?'])).filter(|word| !word.is_empty())
}

/// Says whether a name is that of a file.
fn is_one_of(name: &str, files: &HashSet<String>, top: Option<&str>) -> bool {
    let inside = top.and_then(|top| name.strip_prefix(top)?.strip_prefix('/'));
    if files.is_empty() {
        return false;
    }
    if let Some(name) = inside {
        return files.contains(name);
    }
    let is_elsewhere = name.starts_with('/') && name.match_indices('/').any(|(at, _)| files.contains(&name[at + 1..]));
    is_elsewhere || files.contains(name.strip_prefix("./").unwrap_or(name))
}

/// Says whether a name is that of a path or of something below it.
fn is_at(name: &str, path: &str, top: Option<&str>) -> bool {
    if path.is_empty() {
        return true;
    }
    let below = |name: &str| name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let inside = top.and_then(|top| name.strip_prefix(top)?.strip_prefix('/'));
    if let Some(name) = inside {
        return below(name);
    }
    // Another machine has its working tree elsewhere.
    let is_elsewhere = name.starts_with('/') && name.match_indices('/').any(|(at, _)| below(&name[at + 1..]));
    is_elsewhere || below(name.strip_prefix("./").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Role;

    fn message(role: Role, part: Part) -> Message {
        Message { parts: vec![part], ..Message::new(role, 0..0) }
    }

    fn call(key: &str, value: &str) -> Part {
        let command = (key == "command").then(|| value.to_owned());
        let input = serde_json::json!({ key: value });
        Part::ToolCall(ToolCall { call_id: "c".into(), name: "t".into(), input, command, edits: Vec::new() })
    }

    #[test]
    fn a_turn_is_about_a_path_that_one_of_its_calls_or_its_prompt_names() {
        let messages = [
            message(Role::User, Part::Text("look at src/a.rs, please.".into())),
            message(Role::Assistant, Part::Text("done".into())),
            message(Role::User, Part::Text("and now".into())),
            message(Role::Assistant, call("file_path", "/repo/src/b.rs")),
            message(Role::User, Part::Text("run it".into())),
            message(Role::Assistant, call("command", "cat 'lib/c.rs' | wc")),
        ];
        let below = |path: &str| WantedPaths { below: vec![path.to_owned()], ..WantedPaths::default() };
        let about = |path: &str| about(&messages, &below(path), Some("/repo"));
        assert_eq!(about("src/a.rs"), [true, true, false, false, false, false]);
        assert_eq!(about("src"), [true, true, true, true, false, false]);
        assert_eq!(about("lib/c.rs"), [false, false, false, false, true, true]);
        assert_eq!(about("b.rs"), [false; 6], "a file of that name elsewhere is another file");
        assert_eq!(about("sr"), [false; 6]);
        assert_eq!(about(""), [true; 6]);
        let files = |name: &str| WantedPaths { files: HashSet::from([name.to_owned()]), ..WantedPaths::default() };
        assert_eq!(
            super::about(&messages, &files("src/a.rs"), Some("/repo")),
            [true, true, false, false, false, false]
        );
        assert_eq!(
            super::about(&messages, &files("src/b.rs"), Some("/home/me")),
            [false, false, true, true, false, false]
        );
        assert_eq!(super::about(&messages, &files("src"), Some("/repo")), [false; 6], "it is no file");
    }

    #[test]
    fn a_working_tree_of_another_machine_is_told_by_the_end_of_its_paths() {
        assert!(is_at("/home/else/work/src/a.rs", "src/a.rs", Some("/repo")));
        assert!(is_at("/home/else/work/src/a.rs", "src", Some("/repo")));
        assert!(!is_at("src/src/a.rs", "a.rs", Some("/repo")), "a relative name is what it says");
        assert!(is_at("./a.rs", "a.rs", None));
    }
}
