//! Our entry in a client's file that is TOML: Codex's. Comments, order and everything else in it stay.

use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::error::{Error, Result};

/// Says whether a client's file is TOML: those that are not hold a JSON object, perhaps behind a comment.
pub fn is_toml(text: &str) -> bool {
    !text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/'])
}

fn parse(text: &str) -> Result<DocumentMut> {
    text.parse::<DocumentMut>().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        let reason = error.message().lines().next().unwrap_or_default().to_owned();
        Error::other(format!("it does not parse at line {line}, column {column}")).because(reason)
    })
}

/// Returns the entry of a server as JSON; `None` if there is none.
pub fn entry(text: &str, servers: &str, name: &str) -> Option<Value> {
    let document = parse(text).ok()?;
    let entry = document.get(servers)?.get(name)?;
    let command = entry.get("command")?.as_str()?;
    let args = entry.get("args").and_then(Item::as_array).into_iter().flatten().filter_map(|word| word.as_str());
    Some(json!({ "command": command, "args": args.collect::<Vec<_>>() }))
}

/// Returns the text with an entry, in place of one of that name.
///
/// # Errors
///
/// If the text does not parse, or has something else where servers belong.
pub fn add(text: &str, servers: &str, name: &str, words: &[String]) -> Result<String> {
    let mut document = parse(text)?;
    let mut implicit = Table::new();
    // '[mcp_servers.shiftlog]' alone is enough.
    implicit.set_implicit(true);
    let table = document.entry(servers).or_insert(Item::Table(implicit));
    let table = table.as_table_like_mut().ok_or_else(|| Error::other(format!("'{servers}' is not a table")))?;
    let (command, args) = words.split_first().map_or(("", &[][..]), |(command, args)| (command.as_str(), args));
    let mut entry = Table::new();
    entry.insert("command", value(command));
    entry.insert("args", value(args.iter().map(String::as_str).collect::<Array>()));
    table.insert(name, Item::Table(entry));
    Ok(document.to_string())
}

/// Returns the text without an entry, and without the table of servers if nothing else was in it.
///
/// # Errors
///
/// If the text does not parse.
pub fn remove(text: &str, servers: &str, name: &str) -> Result<String> {
    let mut document = parse(text)?;
    let Some(table) = document.get_mut(servers).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    table.remove(name);
    if table.is_empty() {
        document.remove(servers);
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_goes_in_and_comes_out_and_nothing_else_changes() {
        let words = ["/opt/git-shiftlog".to_owned(), "mcp".to_owned()];
        let text = "# mine\nmodel = \"x\"   # why\n\n[mcp_servers.other]\ncommand = 'y'\n\n[zeta]\na=1\n";
        let added = add(text, "mcp_servers", "shiftlog", &words).expect("it parses");
        assert!(
            added.contains("[mcp_servers.shiftlog]\ncommand = \"/opt/git-shiftlog\"\nargs = [\"mcp\"]\n"),
            "{added}"
        );
        let expected = json!({ "command": "/opt/git-shiftlog", "args": ["mcp"] });
        assert_eq!(entry(&added, "mcp_servers", "shiftlog"), Some(expected));
        assert_eq!(remove(&added, "mcp_servers", "shiftlog").expect("it parses"), text);
        let alone = add("", "mcp_servers", "shiftlog", &words).expect("it is empty");
        assert_eq!(remove(&alone, "mcp_servers", "shiftlog").expect("it parses"), "");
        let error = add("a = \n", "mcp_servers", "shiftlog", &words).expect_err("it does not parse").to_string();
        assert!(error.starts_with("it does not parse at line 1, column "), "{error}");
    }
}
