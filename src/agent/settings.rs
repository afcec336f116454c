//! Hooks in settings files of Claude Code's shape: `hooks.<event>[].{matcher,hooks[]}`.
//!
//! Files are edited in place: comments, order, unknown events and handlers stay. An entry is ours if its command
//! names our hook program, or a command of the earlier tools of this name.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::json;

use crate::error::{Error, Result};

/// A hook that an agent should run.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// The agent's name for the event.
    pub event: &'static str,
    /// Which tools it is for, if the event has tools.
    pub matcher: Option<&'static str>,
    /// How long the agent waits for it.
    pub timeout_secs: u32,
}

/// The text of a settings file after an edit.
pub type Edited = String;

/// Returns `text` with one entry of ours per handler; entries of ours that were there are replaced.
///
/// `command` gives the command line for an event. An empty text stands for a file that does not exist.
///
/// # Errors
///
/// If the text does not parse, or has something else where hooks belong; the message has line and column.
pub fn add_hooks(text: &str, handlers: &[Handler], command: impl Fn(&str) -> String) -> Result<Edited> {
    let wanted = |handler: &Handler| {
        let (command, timeout_secs) = (command(handler.event), handler.timeout_secs);
        let entry = json!({ "type": "command", "command": command, "timeout": timeout_secs });
        match handler.matcher {
            Some(matcher) => json!({ "matcher": matcher, "hooks": [entry] }),
            None => json!({ "hooks": [entry] }),
        }
    };
    if has_exactly(text, handlers, &command) {
        return Ok(text.to_owned());
    }
    let root = parse(if text.trim().is_empty() { "{\n}\n" } else { text })?;
    let top = root.object_value().ok_or_else(|| misplaced("the file", "an object"))?;
    remove(&top, is_ours)?;
    let hooks = top.object_value_or_create("hooks").ok_or_else(|| misplaced("'hooks'", "an object"))?;
    for handler in handlers {
        let groups = hooks.array_value_or_create(handler.event);
        let groups = groups.ok_or_else(|| misplaced(&format!("'hooks.{}'", handler.event), "an array"))?;
        groups.ensure_multiline();
        let group: CstInputValue = wanted(handler);
        groups.append(group);
    }
    Ok(root.to_string())
}

/// Returns `text` without our entries, and without what became empty because of that.
///
/// # Errors
///
/// As [`add_hooks`].
pub fn remove_hooks(text: &str) -> Result<Edited> {
    without(text, is_ours)
}

/// Returns `text` without the entries of the earlier tools of this name, also where an entry is a handler itself, as in
/// the hooks of Copilot.
///
/// # Errors
///
/// As [`add_hooks`].
pub fn remove_earlier_hooks(text: &str) -> Result<Edited> {
    without(text, is_earlier)
}

fn without(text: &str, is_meant: fn(&str) -> bool) -> Result<Edited> {
    let root = parse(text)?;
    if let Some(top) = root.object_value() {
        remove(&top, is_meant)?;
    }
    Ok(root.to_string())
}

/// Says whether `text` has an entry of ours for each handler.
pub fn has_hooks(text: &str, handlers: &[Handler]) -> bool {
    let Ok(value) = read(text) else { return false };
    handlers.iter().all(|handler| commands(&value, handler.event).iter().any(|command| is_ours(command)))
}

/// Says whether the entries of ours are just the wanted ones already.
fn has_exactly(text: &str, handlers: &[Handler], command: impl Fn(&str) -> String) -> bool {
    let Ok(value) = read(text) else { return false };
    let events = value.get("hooks").and_then(|hooks| hooks.as_object()).into_iter().flatten();
    let ours: Vec<(String, String)> = events
        .flat_map(|(event, _)| commands(&value, event).into_iter().map(|command| (event.clone(), command)))
        .filter(|(_, command)| is_ours(command))
        .collect();
    let wanted = handlers.iter().map(|handler| (handler.event.to_owned(), command(handler.event)));
    ours.len() == handlers.len() && wanted.into_iter().all(|entry| ours.contains(&entry))
}

fn read(text: &str) -> Result<serde_json::Value> {
    Ok(parse(text)?.to_serde_value().unwrap_or_default())
}

fn commands(value: &serde_json::Value, event: &str) -> Vec<String> {
    let groups = value.get("hooks").and_then(|hooks| hooks.get(event)?.as_array()).into_iter().flatten();
    let handlers = groups.filter_map(|group| group.get("hooks")?.as_array()).flatten();
    handlers.filter_map(|handler| handler.get("command")?.as_str().map(str::to_owned)).collect()
}

fn parse(text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| does_not_parse(&error))
}

fn does_not_parse(error: &jsonc_parser::errors::ParseError) -> Error {
    let place = format!("line {}, column {}", error.line_display(), error.column_display());
    Error::other(format!("it does not parse at {place}")).because(error.kind().to_string())
}

fn misplaced(what: &str, wanted: &str) -> Error {
    Error::other(format!("{what} is not {wanted}"))
}

/// Says whether a hook's command line is one of ours, wherever the program is.
fn is_ours(command: &str) -> bool {
    command.contains("git-shiftlog--hook") || is_earlier(command)
}

/// Says whether a hook's command line is one of the earlier tools of this name.
fn is_earlier(command: &str) -> bool {
    const EARLIER: &[&str] = &["store", "session-start", "session-end", "hook"];
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).any(|pair| {
        let name = pair[0].trim_matches(['"', '\'']).rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        ["shiftlog", "git-shiftlog", "claudit"].contains(&name) && EARLIER.contains(&pair[1])
    })
}

fn remove(top: &CstObject, is_meant: fn(&str) -> bool) -> Result<()> {
    let Some(hooks) = top.get("hooks") else { return Ok(()) };
    let Some(events) = hooks.object_value() else { return Err(misplaced("'hooks'", "an object")) };
    let mut has_removed = false;
    for event in events.properties() {
        let Some(groups) = event.array_value() else { continue };
        let mut has_emptied = false;
        for group in groups.elements() {
            let Some(handlers) = group.as_object().and_then(|group| group.array_value("hooks")) else {
                if runs(&group, is_meant) {
                    group.remove();
                    (has_removed, has_emptied) = (true, true);
                }
                continue;
            };
            let ours: Vec<CstNode> =
                handlers.elements().into_iter().filter(|handler| runs(handler, is_meant)).collect();
            let is_group_ours = !ours.is_empty() && ours.len() == handlers.elements().len();
            has_removed |= !ours.is_empty();
            if is_group_ours {
                group.remove();
                has_emptied = true;
            } else {
                ours.into_iter().for_each(CstNode::remove);
            }
        }
        if has_emptied && groups.elements().is_empty() {
            event.remove();
        }
    }
    if has_removed && events.properties().is_empty() {
        hooks.remove();
    }
    Ok(())
}

/// Says whether all command lines of a handler are meant; there is one for each shell in the hooks of Copilot.
fn runs(handler: &CstNode, is_meant: fn(&str) -> bool) -> bool {
    let Some(handler) = handler.as_object() else { return false };
    let command = |key: &str| handler.get(key)?.value()?.as_string_lit()?.decoded_value().ok();
    let mut commands = ["command", "bash", "powershell"].into_iter().filter_map(command).peekable();
    commands.peek().is_some() && commands.all(|command| is_meant(&command))
}
