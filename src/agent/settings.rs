//! Hooks in settings files of JSON: events, each with a list of hooks or of groups of hooks.
//!
//! Files are edited in place: comments, order, unknown events and handlers stay. An entry is ours if its command
//! names our hook program, or a command of the earlier tools of this name.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::hooks::{Handler, Layout};
use crate::error::{Error, Result};

/// The text of a settings file after an edit.
pub type Edited = String;

/// The members that can hold events, in the files of all agents.
const MEMBERS: &[&str] = &["hooks", "shiftlog"];
/// The members of a hook that can hold its command line.
const COMMANDS: &[&str] = &["command", "bash", "powershell"];

/// Returns `text` with one entry of ours per handler; entries of ours that were there are replaced, but for those of the agents
/// `others`, whose settings are in the same file by a link.
///
/// `command` gives the command line for an event. An empty text stands for a file that does not exist.
///
/// # Errors
///
/// If the text does not parse, or has something else where hooks belong; the message has line and column.
pub fn add_hooks(
    text: &str,
    layout: &Layout,
    handlers: &[Handler],
    others: &[&str],
    command: impl Fn(&str) -> String,
) -> Result<Edited> {
    let is_replaced = |command: &str| is_ours(command) && !others.iter().any(|other| is_for(command, other));
    if has_exactly(text, handlers, is_replaced, &command) {
        return Ok(text.to_owned());
    }
    let root = parse(if text.trim().is_empty() { "{\n}\n" } else { text })?;
    let top = root.object_value().ok_or_else(|| misplaced("the file", "an object"))?;
    remove(&top, &is_replaced);
    if let Some(version) = layout.version.filter(|_| top.get("version").is_none()) {
        top.insert(0, "version", CstInputValue::Number(version.to_string()));
    }
    let hooks = match layout.member {
        Some(member) => {
            top.object_value_or_create(member).ok_or_else(|| misplaced(&format!("'{member}'"), "an object"))?
        }
        None => top,
    };
    for handler in handlers {
        let groups = hooks.array_value_or_create(handler.event);
        let groups = groups.ok_or_else(|| misplaced(&format!("'{}'", handler.event), "an array"))?;
        groups.ensure_multiline();
        groups.append(entry(layout, handler, command(handler.event)));
    }
    Ok(root.to_string())
}

fn entry(layout: &Layout, handler: &Handler, command: String) -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let member = |name: &str, value| (name.to_owned(), value);
    let mut hook = Vec::new();
    if !layout.is_flat {
        hook.push(member("type", text("command")));
    }
    if layout.is_named {
        hook.push(member("name", text(&format!("shiftlog-{}", handler.event))));
    }
    hook.push(member("command", CstInputValue::String(command)));
    if let Some(is_millis) = layout.is_millis {
        let timeout = u64::from(handler.timeout_secs) * if is_millis { 1000 } else { 1 };
        hook.push(member("timeout", CstInputValue::Number(timeout.to_string())));
    }
    let matcher = handler.matcher.map(|matcher| member("matcher", text(matcher)));
    if layout.is_flat || (layout.groups_tools_only && matcher.is_none()) {
        hook.extend(matcher);
        return CstInputValue::Object(hook);
    }
    let hooks = member("hooks", CstInputValue::Array(vec![CstInputValue::Object(hook)]));
    CstInputValue::Object(matcher.into_iter().chain([hooks]).collect())
}

/// Returns `text` without our entries, and without what became empty because of that.
///
/// # Errors
///
/// If the text does not parse.
pub fn remove_hooks(text: &str) -> Result<Edited> {
    without(text, &is_ours)
}

/// Returns `text` without the entries of the earlier tools of this name, also where an entry is a handler itself, as in
/// the hooks of Copilot.
///
/// # Errors
///
/// As [`add_hooks`].
pub fn remove_earlier_hooks(text: &str) -> Result<Edited> {
    without(text, &is_earlier)
}

fn without(text: &str, is_meant: IsMeant<'_>) -> Result<Edited> {
    let root = parse(text)?;
    if let Some(top) = root.object_value() {
        remove(&top, is_meant);
    }
    Ok(root.to_string())
}

/// Says whether `text` has an entry of ours for each handler.
pub fn has_hooks(text: &str, handlers: &[Handler]) -> bool {
    let ours = ours(text);
    handlers.iter().all(|handler| ours.iter().any(|entry| entry.event == handler.event))
}

/// Returns the event and the matcher of an entry of ours that the agent runs for fewer tools than its handler is for. Where
/// one for the event is run for all of them, another one may be for another agent, whose settings are in the same file.
pub fn narrowed(text: &str, handlers: &[Handler]) -> Option<(String, String)> {
    narrowed_among(&ours(text), handlers)
}

fn narrowed_among(ours: &[Entry], handlers: &[Handler]) -> Option<(String, String)> {
    let narrowed = |handler: &Handler| {
        let of_event = || ours.iter().filter(|entry| entry.event == handler.event);
        let first = of_event().find(|entry| !entry.is_for_all_of(handler))?;
        let is_one_whole = of_event().any(|entry| entry.is_for_all_of(handler));
        (!is_one_whole).then(|| (first.event.clone(), first.matcher.clone().unwrap_or_default()))
    };
    handlers.iter().find_map(narrowed)
}

/// Says whether those entries of ours that would be replaced are just the wanted ones already.
fn has_exactly(
    text: &str,
    handlers: &[Handler],
    is_replaced: impl Fn(&str) -> bool,
    command: impl Fn(&str) -> String,
) -> bool {
    let mut ours = ours(text);
    ours.retain(|entry| is_replaced(&entry.command));
    let is_there = |handler: &Handler| {
        let wanted = command(handler.event);
        ours.iter().any(|entry| entry.event == handler.event && entry.command == wanted)
    };
    ours.len() == handlers.len() && handlers.iter().all(is_there) && narrowed_among(&ours, handlers).is_none()
}

/// An entry of ours.
struct Entry {
    event: String,
    /// The tools that it is run for, in the agent's own words; all of them if there is none.
    matcher: Option<String>,
    command: String,
}

impl Entry {
    /// Says whether the agent runs it for all tools that a handler is for.
    fn is_for_all_of(&self, handler: &Handler) -> bool {
        let Some(matcher) = self.matcher.as_deref().filter(|matcher| !matches!(*matcher, "" | "*" | ".*")) else {
            return true;
        };
        let has = |tool: &str| matcher.split('|').any(|known| known == tool);
        handler.matcher.is_some_and(|wanted| wanted == matcher || wanted.split('|').all(has))
    }
}

/// Returns our entries.
fn ours(text: &str) -> Vec<Entry> {
    let Ok(value) = read(text) else { return Vec::new() };
    let places = MEMBERS.iter().filter_map(|member| value.get(member)).chain([&value]);
    let events = places.filter_map(Value::as_object).flatten();
    let entry = |event: &String, matcher: Option<&str>, command: &str| Entry {
        event: event.clone(),
        matcher: matcher.map(str::to_owned),
        command: command.to_owned(),
    };
    let found =
        events.flat_map(|(event, list)| matched(list).map(move |(matcher, command)| entry(event, matcher, command)));
    found.filter(|entry| is_ours(&entry.command)).collect()
}

/// Returns the command lines in the list of an event.
pub(super) fn commands(list: &Value) -> impl Iterator<Item = &str> {
    matched(list).map(|(_, command)| command)
}

/// Returns the matcher, if there is one, and the command line of each hook in the list of an event.
fn matched(list: &Value) -> impl Iterator<Item = (Option<&str>, &str)> {
    let elements = list.as_array().into_iter().flatten();
    let hooks = elements.flat_map(|each| {
        let hooks = each.get("hooks").and_then(Value::as_array);
        let hooks = hooks.map_or_else(|| vec![each], |hooks| hooks.iter().collect());
        hooks.into_iter().map(|hook| (each.get("matcher").and_then(Value::as_str), hook))
    });
    hooks.filter_map(|(matcher, hook)| Some((matcher, COMMANDS.iter().find_map(|key| hook.get(key)?.as_str())?)))
}

/// Reads a settings file.
///
/// # Errors
///
/// If the text does not parse.
pub(super) fn read(text: &str) -> Result<Value> {
    Ok(parse(text)?.to_serde_value().unwrap_or_default())
}

/// Parses JSON that may have comments, so that it can be edited in place.
///
/// # Errors
///
/// As [`read`].
pub fn parse(text: &str) -> Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| {
        if text.starts_with('\u{feff}') {
            return Error::other("it begins with a byte order mark (U+FEFF), which JSON does not allow");
        }
        let place = format!("line {}, column {}", error.line_display(), error.column_display());
        Error::other(format!("it does not parse at {place}")).because(error.kind().to_string())
    })
}

fn misplaced(what: &str, wanted: &str) -> Error {
    Error::other(format!("{what} is not {wanted}"))
}

/// Says whether a hook's command line is one of ours, wherever the program is.
fn is_ours(command: &str) -> bool {
    command.contains("git-shiftlog--hook") || is_earlier(command)
}

/// Says whether a command line runs our program for an agent.
fn is_for(command: &str, agent: &str) -> bool {
    let arguments = command.rsplit("git-shiftlog--hook").next().filter(|rest| rest.len() < command.len());
    arguments.is_some_and(|rest| rest.trim_start_matches(['"', '\'']).split_whitespace().next() == Some(agent))
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

/// Says whether an entry with a command line is meant.
type IsMeant<'f> = &'f dyn Fn(&str) -> bool;

fn remove(top: &CstObject, is_meant: IsMeant<'_>) {
    for member in MEMBERS {
        let Some(hooks) = top.get(member) else { continue };
        let Some(events) = hooks.object_value() else { continue };
        if remove_from(&events, is_meant) && events.properties().is_empty() {
            hooks.remove();
        }
    }
    remove_from(top, is_meant);
}

/// Takes the entries that are meant out of all events, and says whether there were any.
fn remove_from(events: &CstObject, is_meant: IsMeant<'_>) -> bool {
    let mut has_removed = false;
    for event in events.properties() {
        let Some(list) = event.array_value() else { continue };
        if remove_from_list(&list, is_meant) {
            has_removed = true;
            if list.elements().is_empty() {
                event.remove();
            }
        }
    }
    has_removed
}

fn remove_from_list(list: &CstArray, is_meant: IsMeant<'_>) -> bool {
    let mut has_removed = false;
    for element in list.elements() {
        let hooks = element.as_object().and_then(|group| group.array_value("hooks"));
        let Some(hooks) = hooks else {
            if runs(&element, is_meant) {
                element.remove();
                has_removed = true;
            }
            continue;
        };
        let ours: Vec<CstNode> = hooks.elements().into_iter().filter(|hook| runs(hook, is_meant)).collect();
        has_removed |= !ours.is_empty();
        // A group that was empty before is somebody's.
        if !ours.is_empty() && ours.len() == hooks.elements().len() {
            element.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
    has_removed
}

/// Says whether all command lines of a hook are meant; some agents have one for each shell.
fn runs(hook: &CstNode, is_meant: IsMeant<'_>) -> bool {
    let Some(hook) = hook.as_object() else { return false };
    let command = |key: &&str| hook.get(key)?.value()?.as_string_lit()?.decoded_value().ok();
    let mut commands = COMMANDS.iter().filter_map(command).peekable();
    commands.peek().is_some() && commands.all(|command| is_meant(&command))
}
