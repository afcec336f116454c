//! The MCP server, driven over its standard input and output as a client does.

mod conversations;
mod index;
mod lines;
mod rules;
mod secrets;
mod stats;
mod wire;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::Scratch;

/// A running server and its client's end of the wire.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    is_modern: bool,
    next_id: i64,
}

impl Client {
    fn start(scratch: &Scratch, dir: &Path, args: &[&str]) -> Self {
        let mut command = scratch.command("git-shiftlog-mcp", dir);
        command.args(args);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Client { child, stdin, stdout, is_modern: false, next_id: 1000 }
    }

    /// Opens the conversation as an older client does.
    pub fn legacy(scratch: &Scratch) -> Self {
        let mut client = Self::start(scratch, &scratch.top, &[]);
        let answer = client.ask(&initialize("2025-11-25").to_string());
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Starts a server in a directory, and opens the conversation as an older client does.
    pub fn opened(scratch: &Scratch, dir: &Path, args: &[&str]) -> Self {
        let mut command = scratch.command("git-shiftlog-mcp", dir);
        command.args(args);
        Self::of(command)
    }

    /// Starts a server, and opens the conversation as an older client does.
    pub fn of(command: Command) -> Self {
        let mut client = Self::spawn(command);
        client.ask(&initialize("2025-11-25").to_string());
        client.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn modern(scratch: &Scratch) -> Self {
        let mut client = Self::start(scratch, &scratch.top, &[]);
        client.is_modern = true;
        client
    }

    pub fn tell(&mut self, line: &str) {
        self.tell_bytes(line.as_bytes());
    }

    fn tell_bytes(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, line: &str) -> Value {
        self.tell(line);
        self.hear()
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let line = self.line(method, params, json!(self.next_id));
        let answer = self.ask(&line);
        assert_eq!(answer["id"], self.next_id, "{answer}");
        answer
    }

    /// Returns a request in this client's era.
    pub fn line(&self, method: &str, mut params: Value, id: Value) -> String {
        if self.is_modern {
            params["_meta"] = meta("2026-07-28");
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// Returns what a tool found; text and structured content must tell the same.
    #[track_caller]
    pub fn found(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let structured = result["structuredContent"].clone();
        let same = ["conversations", "branches", "matches"].iter().find_map(|root| structured.get(root));
        assert_eq!(&text, same.unwrap_or(&structured), "both tell the same");
        let schema = schema_of(tool);
        assert_fits(&structured, &schema, tool);
        structured
    }

    /// Returns why a call was refused.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result.get("structuredContent").is_none());
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Ends the input and returns what was still said, and the exit code.
    pub fn end(mut self) -> (Vec<String>, i32) {
        self.stdin = None;
        let rest = self.stdout.by_ref().lines().map(Result::unwrap).collect();
        (rest, self.child.wait().unwrap().code().unwrap())
    }
}

fn initialize(version: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": version,
        "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } })
}

fn meta(version: &str) -> Value {
    json!({ "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {} })
}

/// A repository with two recorded commits.
fn recorded() -> (Scratch, String, String) {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("add a greeting");
    session.says("I will write greet.txt.");
    session.edits("greet.txt", "hi\n");
    let first = session.commits("add greeting");
    session.prompt("make it \u{202e}louder");
    session.says("HELLO instead of hi, since hi is too quiet.");
    session.edits("greet.txt", "HELLO\n");
    let second = session.commits("shout");
    session.hook("Stop");
    (scratch, first, second)
}

fn schema_of(tool: &str) -> Value {
    let scratch = Scratch::new();
    let mut client = Client::legacy(&scratch);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    tools.as_array().unwrap().iter().find(|each| each["name"] == tool).unwrap()["outputSchema"].clone()
}

/// Checks a value against the narrow kind of schema that we write.
#[track_caller]
fn assert_fits(value: &Value, schema: &Value, place: &str) {
    match schema["type"].as_str().unwrap() {
        "object" => {
            let object = value.as_object().unwrap_or_else(|| panic!("{place}: {value}"));
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(object.contains_key(name.as_str().unwrap()), "{place}: {name} is missing in {value}");
            }
            for (name, member) in object {
                let any = schema.get("additionalProperties").filter(|any| any.is_object());
                let property = schema["properties"].get(name).or(any);
                let property = property.unwrap_or_else(|| panic!("{place}: {name} is too much"));
                assert_fits(member, property, &format!("{place}.{name}"));
            }
        }
        "array" => {
            let items = value.as_array().unwrap_or_else(|| panic!("{place}: {value}"));
            items.iter().for_each(|item| assert_fits(item, &schema["items"], place));
        }
        "integer" => assert!(value.is_u64(), "{place}: {value}"),
        "boolean" => assert!(value.is_boolean(), "{place}: {value}"),
        _ => assert!(value.is_string(), "{place}: {value}"),
    }
}
