//! Sessions as agents keep them.

use std::fs;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::Sha256;

use super::stage::Stage;

/// Where and how an agent keeps a session.
pub enum Kept {
    /// Lines that are appended.
    Lines(PathBuf),
    /// A document that is written anew each time: what is before the messages, and behind them.
    Document(PathBuf, String, String),
    /// OpenCode's database, and the session in it.
    Rows(Connection, String),
    /// A chat of Cursor's: a database with a blob for each message.
    Blobs(PathBuf),
}

impl Kept {
    /// Makes room for a session of an agent's.
    pub fn of(agent: &str, stage: &Stage, id: &str) -> Kept {
        let home = stage.home();
        let folder = |path: &str| {
            fs::create_dir_all(home.join(path)).expect("a directory");
            home.join(path)
        };
        let top = stage.top();
        match agent {
            "amp" => {
                let tree = json!({ "initial": { "trees": [{ "uri": format!("file://{}", top.display()) }] } });
                let path = folder(".local/share/amp/threads").join(format!("{id}.json"));
                Kept::Document(path, format!("{{\"v\":1,\"id\":\"{id}\",\"messages\":["), format!("],\"env\":{tree}}}"))
            }
            "continue" => {
                let path = folder(".continue/sessions").join(format!("{id}.json"));
                let before = json!({ "sessionId": id, "workspaceDirectory": top }).to_string();
                let before = before.trim_end_matches('}');
                Kept::Document(path, format!("{before},\"history\":["), "]}".into())
            }
            "cline" => {
                let path = folder(&format!(".cline/data/tasks/{id}")).join("api_conversation_history.json");
                Kept::Document(path, "[".into(), "]".into())
            }
            "opencode" => {
                let path = folder(".local/share/opencode").join("opencode.db");
                let database = Connection::open(path).expect("a database");
                let tables = "PRAGMA journal_mode = WAL;
                    CREATE TABLE IF NOT EXISTS session(id text primary key, parent_id text, directory text,
                        time_created integer, time_updated integer);
                    CREATE TABLE IF NOT EXISTS message(id text primary key, session_id text, time_created integer,
                        time_updated integer, data text);
                    CREATE INDEX IF NOT EXISTS message_session ON message(session_id);
                    CREATE TABLE IF NOT EXISTS part(id text primary key, message_id text, session_id text,
                        time_created integer, time_updated integer, data text);
                    CREATE INDEX IF NOT EXISTS part_session ON part(session_id);";
                database.execute_batch(tables).expect("tables");
                let values = params![id, top.to_str()];
                database.execute("INSERT INTO session VALUES(?1, NULL, ?2, 0, 0)", values).expect("a row");
                Kept::Rows(database, id.to_owned())
            }
            "cursor" => {
                Kept::Blobs(folder(&format!(".cursor/chats/{}/{id}", hex(&Md5::digest(top.to_str().expect("UTF-8"))))))
            }
            _ => Kept::Lines(home.join(format!("{id}.jsonl"))),
        }
    }

    /// Returns what a hook tells of where it is, if it does.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Kept::Lines(path) | Kept::Document(path, ..) => Some(path),
            Kept::Rows(..) | Kept::Blobs(_) => None,
        }
    }

    /// Writes the session; `old` bytes of the text are written already.
    pub fn write(&self, text: &str, old: usize) {
        let records =
            |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect() };
        match self {
            Kept::Lines(path) => fs::write(path, text).expect("room"),
            Kept::Document(path, before, after) => {
                let list = text.lines().collect::<Vec<_>>().join(",");
                fs::write(path, format!("{before}{list}{after}")).expect("room");
            }
            Kept::Rows(database, session) => {
                let number = i64::try_from(text[..old].lines().count()).expect("it is small");
                let change = database.unchecked_transaction().expect("a transaction");
                for (index, record) in (number..).zip(records(&text[old..])) {
                    let id = format!("msg_{session}_{index:06}");
                    let [info, part] = rows_of(&record);
                    let values = params![id, session, index, info];
                    change.execute("INSERT INTO message VALUES(?1, ?2, ?3, ?3, ?4)", values).expect("a row");
                    let values = params![format!("prt_{id}"), id, session, index, part];
                    change.execute("INSERT INTO part VALUES(?1, ?2, ?3, ?4, ?4, ?5)", values).expect("a row");
                }
                let now = "UPDATE session SET time_updated = unixepoch() * 1000 WHERE id = ?1";
                change.execute(now, [session]).expect("a row");
                change.commit().expect("room");
            }
            Kept::Blobs(folder) => {
                let database = Connection::open(folder.join("store.db")).expect("a database");
                let tables = "CREATE TABLE IF NOT EXISTS blobs(id text primary key, data blob);
                    CREATE TABLE IF NOT EXISTS meta(key text primary key, value text);";
                database.execute_batch(tables).expect("tables");
                let change = database.unchecked_transaction().expect("a transaction");
                let insert = |data: &[u8]| {
                    let id = Sha256::digest(data);
                    let values = params![hex(&id), data];
                    change.execute("INSERT OR IGNORE INTO blobs VALUES(?1, ?2)", values).expect("a row");
                    id
                };
                let mut root = Vec::new();
                for record in records(text) {
                    let id = insert(blob_of(&record).as_bytes());
                    root.extend(b"\x0a\x20");
                    root.extend(id);
                }
                let root = hex(&insert(&root));
                let id = folder.file_name().and_then(|name| name.to_str());
                let meta = json!({ "agentId": id, "latestRootBlobId": root }).to_string();
                change.execute("REPLACE INTO meta VALUES('0', ?1)", [hex(meta.as_bytes())]).expect("a row");
                change.commit().expect("room");
            }
        }
    }

    /// Removes the session where all share one place.
    pub fn remove(&self) {
        if let Kept::Rows(database, _) = self {
            database.execute_batch("DELETE FROM session; DELETE FROM message; DELETE FROM part;").expect("room");
        }
    }
}

/// Returns how much an agent writes for a record.
pub fn bytes_of(agent: &str, record: &Value) -> usize {
    match agent {
        "opencode" => rows_of(record).iter().map(String::len).sum(),
        "cursor" => blob_of(record).len(),
        _ => record.to_string().len() + 1,
    }
}

/// Returns what OpenCode has of a message, and of the one part of it.
fn rows_of(record: &Value) -> [String; 2] {
    let info = json!({ "role": record["role"], "modelID": "bench" });
    [info, json!({ "type": "text", "text": words_of(record) })].map(|row| row.to_string())
}

/// Returns what Cursor has of a message.
fn blob_of(record: &Value) -> String {
    let content = json!([{ "type": "text", "text": words_of(record) }]);
    json!({ "role": record["role"], "content": content }).to_string()
}

/// Returns what a message says, or the input or the answer of its tool.
fn words_of(record: &Value) -> String {
    let part = &record["content"][0];
    let words = [&part["text"], &part["content"]].into_iter().find_map(Value::as_str);
    words.map_or_else(|| part["input"].to_string(), str::to_owned)
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
