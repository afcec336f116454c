//! Evidence: logs of an org that a server of the test plays, with a CLI that is a shell script.

mod alone;
mod asking;
mod attached;
mod pull;
mod purged;
mod safety;
mod sync;
mod tls;
mod tool;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Ran, Scratch};

/// A token as Salesforce makes them; nobody's.
pub const TOKEN: &str = "00D5g000004XyZ1!AQcAQFJ3kq8Vt0sWnR5yBz1uXh7LpMdEoGcTiQaKvNfHrUwYjSxPlZ_m2b4C6D8e0FgIhJkLmNoPqRsTuVwX.yZ0123456789ab";

/// A request that the server got.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: BTreeMap<String, String>,
}

impl Request {
    /// Returns the query of SOQL in it, decoded.
    pub fn soql(&self) -> Option<String> {
        let coded = self.path.split_once("/tooling/query?q=")?.1;
        Some(percent_decode(coded))
    }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&behind[..2]).unwrap(), 16).unwrap());
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// What the server answers.
pub struct Reply {
    pub status: &'static str,
    pub headers: Vec<String>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Reply { status: "200 OK", headers: Vec::new(), body: body.into() }
    }

    pub fn status(status: &'static str) -> Self {
        Reply { status, headers: Vec::new(), body: br#"[{"errorCode":"X","message":"y"}]"#.to_vec() }
    }
}

/// A server on this machine.
pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server that answers with a function, each connection in a thread of its own.
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&requests), Arc::new(answer));
        // The thread ends with the process of the tests.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let Some(request) = read_request(&connection) else { return };
                    log.lock().unwrap().push(request.clone());
                    send(connection, &answer(&request));
                });
            }
        });
        Server { url, requests }
    }

    /// Starts a server of an org that has these rows; the text of a log is made of its id.
    pub fn org(rows: Vec<Value>) -> Self {
        Self::start(move |request| answer_as_org(&rows, request))
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the paths of the requests for texts of logs.
    pub fn fetched(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.path).filter(|path| path.ends_with("/Body")).collect()
    }
}

/// Answers as an org with these rows does.
pub fn answer_as_org(rows: &[Value], request: &Request) -> Reply {
    if request.soql().is_some() {
        return Reply::ok(json!({ "totalSize": rows.len(), "done": true, "records": rows }).to_string());
    }
    match request.path.split('/').rev().collect::<Vec<_>>().as_slice() {
        ["Body", id, "ApexLog", "sobjects", "tooling", ..] => Reply::ok(text_of(id)),
        _ => Reply::status("404 Not Found"),
    }
}

/// The text of the log with an id.
pub fn text_of(id: &str) -> String {
    format!("64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|USER_INFO|[EXTERNAL]|{id}\n")
}

/// A row as an org tells it.
pub fn row(id: &str, user: &str) -> Value {
    json!({ "attributes": { "type": "ApexLog" }, "Id": id, "StartTime": "2026-11-20T12:00:00.000+0000",
        "Operation": "/apex/x", "Application": "Unknown", "DurationMilliseconds": 42, "Status": "Success",
        "Request": "API", "LogLength": text_of(id).len(), "LogUser": { "attributes": {}, "Name": user } })
}

fn read_request(connection: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(connection).lines();
    let first = lines.next()?.ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let headers = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let pair = |line: String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Some(Request { path, headers: headers.filter_map(pair).collect() })
}

fn send(mut connection: TcpStream, reply: &Reply) {
    let length = reply.body.len();
    let mut head = format!("HTTP/1.1 {}\r\nContent-Length: {length}\r\nConnection: close\r\n", reply.status);
    reply.headers.iter().for_each(|header| head += &format!("{header}\r\n"));
    let _ = connection.write_all(format!("{head}\r\n").as_bytes());
    let _ = connection.write_all(&reply.body);
    let _ = connection.shutdown(std::net::Shutdown::Write);
    let _ = connection.read_to_end(&mut Vec::new());
}

/// One answer of a CLI: the beginning of the words that it is for, what it prints, and how it ends.
pub type Told<'a> = (&'a str, String, &'a str, i32);

impl Scratch {
    /// Makes a Salesforce project of the repository.
    pub fn project(&self) {
        self.write("sfdx-project.json", r#"{"packageDirectories":[],"sourceApiVersion":"64.0"}"#);
    }

    /// Puts a CLI into the path that gives these answers, and notes its words and variables.
    pub fn cli(&self, name: &str, told: &[Told<'_>]) {
        let root = self.root();
        let root = root.display();
        let mut script = format!(
            "#!/bin/sh\nprintf '%s %s\\n' {name} \"$*\" >>'{root}/calls'\nenv | grep '^SF_' | sort >'{root}/variables'\n\
             wc -c >'{root}/stdin'\n\
             output=$(readlink /proc/$$/fd/1)\necho \"$output\" >>'{root}/outputs'\ncase \"$*\" in\n"
        );
        for (number, (words, stdout, stderr, code)) in told.iter().enumerate() {
            let file = self.root().join(format!("{name}-{number}"));
            fs::write(&file, stdout).unwrap();
            fs::write(file.with_extension("err"), stderr).unwrap();
            let file = file.display();
            script += &format!("'{words}'*) cat '{file}'; cat '{file}.err' >&2; exit {code};;\n");
        }
        script += "esac\necho \"unknown: $*\" >&2\nexit 2\n";
        let path = self.root().join("bin").join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Puts a CLI into the path for a user who is logged in to the org at an address.
    pub fn logged_in(&self, url: &str) {
        self.cli(
            "sf",
            &[("org display --json", shown(url), "", 0), ("org auth show-access-token", token(TOKEN), "", 0)],
        );
    }

    /// Returns the words that the CLIs were called with.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.root().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Runs `git shiftlog logs sync` and returns its answer, which must be JSON on one line.
    #[track_caller]
    pub fn synced(&self, args: &[&str]) -> (i32, Value) {
        let ran = self.shiftlog("logs", [&["sync"], args].concat());
        (ran.code, answer_of(&ran))
    }
}

#[track_caller]
pub fn answer_of(ran: &Ran) -> Value {
    assert_eq!((ran.stderr.as_str(), ran.stdout.lines().count()), ("", 1), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// What `sf org display --json` prints where it does not print the token.
pub fn shown(url: &str) -> String {
    let result = json!({ "username": "ada@example.com", "instanceUrl": url, "accessToken": "[REDACTED]" });
    json!({ "status": 0, "result": result, "warnings": [] }).to_string()
}

/// What `sf org auth show-access-token --json` prints.
pub fn token(token: &str) -> String {
    json!({ "status": 0, "result": { "accessToken": token } }).to_string()
}
