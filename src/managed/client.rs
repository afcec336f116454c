//! The project files in which clients of the Model Context Protocol declare servers, and our entry in them.
//!
//! Files are edited in place: comments, order and the entries of others stay.

use std::path::Path;

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use super::{file, toml};
use crate::agent::parse_settings as parse;
use crate::error::{Error, Result};

/// The name of our server in all of them.
const SERVER: &str = "shiftlog";

/// What opencode's file names as its schema.
pub(super) const OPENCODE_SCHEMA: &str = "https://opencode.ai/config.json";

/// A client.
#[derive(Debug)]
pub struct Client {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Its file, below the top of a working tree.
    pub file: &'static str,
    /// The member that holds the servers.
    servers: &'static str,
    /// What an entry has besides the command, and how the command is written.
    form: EntryForm,
}

/// How a client writes an entry.
#[derive(Clone, Copy, Debug)]
enum EntryForm {
    /// `command` and `args`, behind a `type` if there is one.
    Plain(Option<&'static str>),
    /// The same with `tools`, which Copilot wants.
    WithTools,
    /// One `command` with all words in it.
    OneCommand,
    /// A table of TOML with `command` and `args`.
    Toml,
}

/// All clients with a project file.
pub const CLIENTS: &[Client] = &[
    client("vscode", "VS Code", ".vscode/mcp.json", "servers", EntryForm::Plain(Some("stdio"))),
    client("claude", "Claude Code", ".mcp.json", "mcpServers", EntryForm::Plain(Some("stdio"))),
    client("cursor", "Cursor", ".cursor/mcp.json", "mcpServers", EntryForm::Plain(None)),
    client("gemini", "Gemini CLI", ".gemini/settings.json", "mcpServers", EntryForm::Plain(None)),
    client("copilot", "Copilot CLI", ".github/mcp.json", "mcpServers", EntryForm::WithTools),
    client("opencode", "opencode", "opencode.json", "mcp", EntryForm::OneCommand),
    client("zed", "Zed", ".zed/settings.json", "context_servers", EntryForm::Plain(None)),
    client("amp", "Amp", ".amp/settings.json", "amp.mcpServers", EntryForm::Plain(None)),
    client("kiro", "Kiro", ".kiro/settings/mcp.json", "mcpServers", EntryForm::Plain(None)),
    client("junie", "Junie", ".junie/mcp/mcp.json", "mcpServers", EntryForm::Plain(None)),
    client("roo", "Roo Code", ".roo/mcp.json", "mcpServers", EntryForm::Plain(None)),
    client("codex", "Codex", ".codex/config.toml", "mcp_servers", EntryForm::Toml),
];

const fn client(
    name: &'static str,
    title: &'static str,
    file: &'static str,
    servers: &'static str,
    form: EntryForm,
) -> Client {
    Client { name, title, file, servers, form }
}

impl Client {
    /// Returns the words that start the server: our program by its path, or `git` for a file that a team commits.
    pub fn words(&self, program: Option<&Path>) -> Vec<String> {
        let words: Vec<&str> = match (program, self.name) {
            (Some(_), _) => vec!["mcp"],
            // These start servers anywhere, but tell where the project is.
            (None, "vscode" | "cursor") => vec!["git", "-C", "${workspaceFolder}", "shiftlog", "mcp"],
            (None, _) => vec!["git", "shiftlog", "mcp"],
        };
        let program = program.map(|program| program.to_string_lossy().into_owned());
        program.into_iter().chain(words.into_iter().map(str::to_owned)).collect()
    }

    /// Returns the text of a file without servers.
    fn empty(&self) -> &'static str {
        match self.name {
            // It adds this line to a file that lacks it, which would then not be as we made it.
            "opencode" => "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
            _ => "{\n}\n",
        }
    }

    /// Returns our entry in a file that is TOML.
    fn toml_entry(&self, text: &str) -> Option<Value> {
        let is_toml = matches!(self.form, EntryForm::Toml);
        toml::entry(text, self.servers, SERVER).filter(|entry| is_toml && is_ours(entry))
    }

    fn entry(&self, words: &[String]) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let list = |words: &[String]| CstInputValue::Array(words.iter().map(|word| text(word)).collect());
        let (command, args) = words.split_first().map_or(("", &[][..]), |(command, args)| (command.as_str(), args));
        let mut members = Vec::new();
        match self.form {
            EntryForm::OneCommand => {
                members.push(("type", text("local")));
                members.push(("command", list(words)));
                members.push(("enabled", CstInputValue::Bool(true)));
            }
            form => {
                let kind = match form {
                    EntryForm::Plain(kind) => kind,
                    EntryForm::Toml => None,
                    _ => Some("local"),
                };
                members.extend(kind.map(|kind| ("type", text(kind))));
                members.push(("command", text(command)));
                members.push(("args", list(args)));
                if matches!(form, EntryForm::WithTools) {
                    members.push(("tools", CstInputValue::Array(vec![text("*")])));
                }
            }
        }
        CstInputValue::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the text of the file with our entry; `None` if somebody else's has our name.
    ///
    /// # Errors
    ///
    /// If the text does not parse, or has something else where servers belong.
    pub fn add(&self, text: &str, words: &[String]) -> Result<Option<String>> {
        if matches!(self.form, EntryForm::Toml) {
            return match toml::entry(text, self.servers, SERVER) {
                Some(there) if !is_ours(&there) => Ok(None),
                Some(there) if words_of(&there) == words => Ok(Some(text.to_owned())),
                _ => toml::add(text, self.servers, SERVER, words).map(Some),
            };
        }
        let root = parse(if text.trim().is_empty() { self.empty() } else { text })?;
        let misplaced = |what: &str| Error::other(format!("{what} is not an object"));
        let top = root.object_value().ok_or_else(|| misplaced("the file"))?;
        let servers =
            top.object_value_or_create(self.servers).ok_or_else(|| misplaced(&format!("'{}'", self.servers)))?;
        if let Some(there) = servers.get(SERVER) {
            let value = there.value().and_then(|value| value.to_serde_value()).unwrap_or_default();
            if !is_ours(&value) {
                return Ok(None);
            }
            let is_same = words_of(&value) == words;
            if is_same {
                return Ok(Some(text.to_owned()));
            }
            there.set_value(self.entry(words));
            return Ok(Some(root.to_string()));
        }
        servers.append(SERVER, self.entry(words));
        Ok(Some(root.to_string()))
    }
}

/// Returns the text of a client's file without our entry, and without what became empty because of that.
///
/// # Errors
///
/// If the text does not parse.
pub fn remove(text: &str) -> Result<String> {
    if toml::is_toml(text) {
        return match CLIENTS.iter().find(|client| client.toml_entry(text).is_some()) {
            Some(client) => toml::remove(text, client.servers, SERVER),
            None => Ok(text.to_owned()),
        };
    }
    let root = parse(text)?;
    let Some(top) = root.object_value() else { return Ok(text.to_owned()) };
    for client in CLIENTS {
        let Some(holder) = top.get(client.servers) else { continue };
        let Some(servers) = holder.object_value() else { continue };
        let Some(there) = servers.get(SERVER) else { continue };
        if there.value().and_then(|value| value.to_serde_value()).is_some_and(|value| is_ours(&value)) {
            there.remove();
            if servers.properties().is_empty() {
                holder.remove();
            }
        }
    }
    Ok(root.to_string())
}

/// A server as a client's file declares it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The client, for people.
    pub title: &'static str,
    /// The words that start the server; `None` if they are not such as `init` writes. The file can be anybody's who made
    /// the repository: what else it names is not run.
    pub words: Option<Vec<String>>,
}

/// Returns our server as the clients of a working tree would start it; `program` is the one that `init` would name.
pub fn declared(worktree: &Path, program: &Path) -> Vec<Declared> {
    let of_client = |client: &Client| {
        let text = file::text(&worktree.join(client.file))?;
        let entry = match client.form {
            EntryForm::Toml => client.toml_entry(&text)?,
            _ => {
                let value: Value = parse(&text).ok()?.to_serde_value()?;
                value.get(client.servers)?.get(SERVER).filter(|entry| is_ours(entry))?.clone()
            }
        };
        let words = words_of(&entry);
        let is_known = words == client.words(None) || words == client.words(Some(program));
        // What VS Code and Cursor put in.
        let top = worktree.to_string_lossy();
        let words = words.into_iter().map(|word| word.replace("${workspaceFolder}", &top)).collect();
        Some(Declared { title: client.title, words: is_known.then_some(words) })
    };
    CLIENTS.iter().filter_map(of_client).collect()
}

/// Says whether a client's file has our entry.
pub fn has_entry(text: &str) -> bool {
    if toml::is_toml(text) {
        return CLIENTS.iter().any(|client| client.toml_entry(text).is_some());
    }
    let Ok(root) = parse(text) else { return false };
    let value: Value = root.to_serde_value().unwrap_or_default();
    CLIENTS.iter().filter_map(|client| value.get(client.servers)?.get(SERVER)).any(is_ours)
}

/// Returns the words that an entry starts its server with.
fn words_of(entry: &Value) -> Vec<String> {
    let list = |value: &Value| -> Vec<String> {
        let words = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    match &entry["command"] {
        Value::String(command) => [vec![command.clone()], list(&entry["args"])].concat(),
        command => list(command),
    }
}

/// Says whether an entry starts our server, wherever it is.
fn is_ours(entry: &Value) -> bool {
    let words = words_of(entry);
    let is_server = words.last().is_some_and(|word| word == "mcp" || word == "mcp-server");
    is_server && words.iter().any(|word| word.ends_with("git-shiftlog") || word == "shiftlog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_goes_in_and_comes_out_again_and_nothing_else_changes() {
        let words = vec!["/opt/git-shiftlog".to_owned(), "mcp".to_owned()];
        let text = "{\n  // mine\n  \"inputs\": [],\n  \"servers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n";
        let client = &CLIENTS[0];
        let added = client.add(text, &words).expect("it parses").expect("the name is free");
        assert!(added.contains("// mine") && added.contains("\"other\"") && has_entry(&added), "{added}");
        assert_eq!(client.add(&added, &words).expect("it parses").as_deref(), Some(&*added), "twice changes nothing");
        let moved =
            client.add(&added, &["git".into(), "shiftlog".into(), "mcp".into()]).expect("it parses").expect("ours");
        assert!(!moved.contains("/opt") && has_entry(&moved), "{moved}");
        assert_eq!(remove(&added).expect("it parses"), text);
        let theirs = r#"{"servers":{"shiftlog":{"command":"their-own"}}}"#;
        assert_eq!(client.add(theirs, &words).expect("it parses"), None, "somebody else's entry stays");
        assert_eq!(remove(theirs).expect("it parses"), theirs);
        let error = client.add("{ oops", &words).expect_err("it does not parse").to_string();
        assert!(error.contains("line 1"), "{error}");
    }

    #[test]
    fn each_client_gets_its_shape() {
        for client in CLIENTS {
            let words = client.words(None);
            let text = client.add("", &words).expect("it is empty").expect("the name is free");
            assert!(has_entry(&text), "{}: {text}", client.name);
            let entry = client.toml_entry(&text).unwrap_or_else(|| {
                let value: Value = serde_json::from_str(&text).expect("it is JSON");
                value[client.servers][SERVER].clone()
            });
            assert_eq!(words_of(&entry), words, "{}", client.name);
        }
    }
}
