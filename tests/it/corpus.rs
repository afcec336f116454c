//! Repositories that somebody made to cost whoever reads them memory and time. The tests and the measurement use them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use shiftlog::archive::{Header, hex, segment};

/// The most memory that a command may use on any of them, in KiB.
pub const MAX_KIB: u64 = 256 << 10;

/// A case: its name, and what makes its repository.
pub type Case = (&'static str, fn(&Maker));

/// All cases. In each, the last commit has the note.
pub const CASES: &[Case] = &[
    ("a note of a million lines", |maker| {
        maker.note(&lines(1_000_000, |number| format!("line {number}")));
    }),
    ("a note of 600,000 records", |maker| {
        maker.note(&lines(600_000, |number| {
            format!("{{\"shiftlog\":1,\"agent\":\"claude\",\"session\":\"{number}\",\"through\":\"x\"}}")
        }));
    }),
    ("a note of 200 MiB in one line", |maker| maker.note(&vec![b'a'; 200 << 20])),
    ("a note of 100 MiB of short lines", |maker| maker.note(&b"a\n".repeat(50 << 20))),
    ("a note of 600,000 lines of evidence", |maker| {
        maker.note(&lines(600_000, |number| evidence(&number.to_string(), "x")));
    }),
    ("evidence whose texts are one large segment", |maker| {
        let text = "error: x\n".repeat(3 << 20);
        let sha256 = hex(&<sha2::Sha256 as sha2::Digest>::digest(&text));
        let bytes = text.len() as u64;
        let time = "2026-01-02T03:04:05Z".into();
        let (agent, session) = ("evidence".to_owned(), sha256.clone());
        let header = Header { shiftlog: 1, agent, session, parent: None, keep: 0, bytes, sha256: sha256.clone(), time };
        let id = maker.blob(&segment::encode(&header, text.as_bytes()).unwrap());
        maker.note(&lines(4_000, |number| {
            let line = evidence(&number.to_string(), &text[..2_000]);
            line.replace("\"size\":0", &format!("\"size\":{bytes},\"sha256\":\"{sha256}\",\"blob\":\"{id}\""))
        }));
    }),
    ("a session id of 40 MiB", |maker| maker.note(record(&"s".repeat(40 << 20), None, "x").as_bytes())),
    ("records with a million values", |maker| {
        let values = "0,".repeat(30_000);
        maker.note(&lines(60, |number| {
            record(&number.to_string(), None, "x").replace("\"bytes\":0", &format!("\"x\":[{values}0],\"bytes\":0"))
        }));
    }),
    ("a document of an earlier tool that is all transcript", |maker| {
        maker.note(document(&"A".repeat(46 << 20)).as_bytes());
    }),
    ("a document of an earlier tool that unpacks to 110 MiB", |maker| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        (0..110).for_each(|_| packer.write_all(&[b'\n'; 1 << 20]).unwrap());
        let packed = packer.finish().unwrap();
        let engine = &base64::engine::general_purpose::STANDARD;
        maker.note(document(&base64::Engine::encode(engine, packed)).as_bytes());
    }),
    ("4,000 documents of an earlier tool", |maker| {
        maker.note(&lines(4_000, |number| document("zzz\n").replace("earlier", &number.to_string())));
    }),
    ("5,000 segments that keep nothing", |maker| maker.rewritten(0)),
    ("5,000 segments that keep one byte", |maker| maker.rewritten(1)),
    ("a header of 60 KiB", |maker| {
        let id = maker.blob(&encode(&"s".repeat(60 << 10), None, 0, b"{}\n"));
        maker.note(record("s", None, &id).as_bytes());
    }),
    ("60 MiB of nothing", |maker| maker.session(&vec![b'\n'; 60 << 20])),
    ("60 MiB of small messages", |maker| {
        maker.session(&b"{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\n".repeat((60 << 20) / 41));
    }),
    ("a line of ten million values", |maker| {
        maker.session(format!("{{\"type\":\"user\",\"x\":[{}0]}}\n", "0,".repeat(10_000_000)).as_bytes());
    }),
    ("a line of two million parts", |maker| {
        let part = "{\"type\":\"text\",\"text\":\"a\"},".repeat(2_000_000);
        let line = format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{part}{{}}]}}}}\n");
        maker.session(line.as_bytes());
    }),
    ("a message of 30 MiB", |maker| {
        let text = "a word and another\\n".repeat((30 << 20) / 20);
        maker.session(
            format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n").as_bytes(),
        );
    }),
    ("two messages of 30 MiB", |maker| {
        let text = "a word and another\\n".repeat((30 << 20) / 20);
        let line = format!("{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n");
        let id = |number: usize| maker.blob(&encode(&number.to_string(), None, 0, line.as_bytes()));
        maker.note(&lines(2, |number| record(&number.to_string(), None, &id(number))));
    }),
    ("200,000 edits of a file", |maker| {
        let edit = |number: usize| {
            let input = json!({ "file_path": "lines.txt", "old_string": format!("line {}", number % 1_000),
                "new_string": format!("line {}", (number + 1) % 1_000) });
            let call = json!({ "type": "tool_use", "id": number.to_string(), "name": "Edit", "input": input });
            json!({ "type": "assistant", "message": { "role": "assistant", "content": [call] } }).to_string()
        };
        maker.session(&lines(200_000, edit));
    }),
    ("an edit of 10 MiB", |maker| {
        let text = "line 1\nline 2\n".repeat((10 << 20) / 14);
        let input = json!({ "file_path": "lines.txt", "old_string": "line 1\n", "new_string": text });
        let call = json!({ "type": "tool_use", "id": "1", "name": "Edit", "input": input });
        let message = json!({ "type": "assistant", "message": { "role": "assistant", "content": [call] } });
        maker.session(format!("{message}\n").as_bytes());
    }),
    ("200 sessions of 8 MiB that are stored in a few bytes", |maker| {
        let id = |number: usize| {
            let body = [format!("{{\"number\":{number}}}\n").into_bytes(), b"\n".repeat(8 << 20)].concat();
            maker.blob(&encode(&number.to_string(), None, 0, &body))
        };
        maker.note(&lines(200, |number| record(&number.to_string(), None, &id(number))));
    }),
    ("4,000 records of one large segment", |maker| {
        let id = maker.blob(&encode("s", None, 0, &vec![b'\n'; 50 << 20]));
        maker.note(&lines(4_000, |number| record("s", Some(&number.to_string()), &id)));
    }),
    ("20,000 sessions that were told something, on two commits", |maker| {
        let note = |text: &str| {
            let rules =
                format!("\"rules\":[{{\"root\":\"repo\",\"path\":\"AGENTS.md\",\"sha256\":\"{text}\"}}],\"bytes\":0");
            lines(20_000, |number| record(&number.to_string(), Some("x"), "y").replace("\"bytes\":0", &rules))
        };
        maker.note(&note("00"));
        maker.feed(&["commit", "-q", "--allow-empty", "-m", "second"], b"");
        maker.note(&note("11"));
    }),
    ("4,000 records of one long chain", |maker| {
        let ids = maker.chain(4_000, |_, keep| (keep, b"{}\n".to_vec()));
        let through = ids.last().unwrap();
        maker.note(&lines(4_000, |number| record("s", Some(&number.to_string()), through)));
    }),
    ("4,000 records of ever shorter ends of one long chain", |maker| {
        let ids = maker.chain(4_000, |_, keep| (keep, b"{}\n".to_vec()));
        let through = ids.last().unwrap();
        maker.note(&lines(4_000 - 1, |number| record("s", Some(&ids[number]), through)));
    }),
    ("2,000 records of 8,000 segments that keep a half", |maker| {
        let line = |number: usize| format!("{{\"number\":{number:05}}}\n");
        let half = |length: u64| length / 2 / line(0).len() as u64 * line(0).len() as u64;
        let ids = maker.chain(8_000, |number, length| (half(length), line(number).repeat(30).into_bytes()));
        maker.note(&lines(2_000, |number| record("s", None, &ids[number * 4])));
    }),
    ("a million turns in little more than a megabyte", |maker| {
        let turn = |number: usize| {
            let prompt = json!({ "type": "user", "message": { "role": "user", "content": format!("p{number}") } });
            let part = json!({ "type": "text", "text": format!("a{number}") });
            let answer = json!({ "type": "assistant", "message": { "role": "assistant", "content": [part] } });
            format!("{prompt}\n{answer}")
        };
        let ids = maker.chain(25, |number, length| (length, lines(20_000, |of| turn(number * 20_000 + of))));
        maker.archive(&ids);
        maker.note(record("s", None, ids.last().unwrap()).as_bytes());
    }),
    ("4,000 sessions of 300 messages", |maker| {
        let line = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a message of some words\"}}\n";
        let id = |number: usize| maker.blob(&encode(&number.to_string(), None, 0, line.repeat(300).as_bytes()));
        maker.note(&lines(4_000, |number| record(&number.to_string(), None, &id(number))));
    }),
    ("200,000 purge marks of others", |maker| {
        maker.session("{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a message\"}}\n".as_bytes());
        let mark = "{\"shiftlog\":1,\"became\":null,\"bytes\":0,\"sha256\":\"\"}\n";
        let head = "commit refs/shiftlog/remotes/origin/purged\ncommitter A <a@x> 1 +0000\ndata 0\n";
        let blob = format!("blob\nmark :1\ndata {}\n{mark}", mark.len());
        let marks = lines(200_000, |number| {
            let id = hex(&<sha2::Sha256 as sha2::Digest>::digest(number.to_string())[..20]);
            format!("M 100644 :1 segments/{}/{id}", &id[..2])
        });
        maker.feed(&["fast-import", "--quiet"], &[blob.as_bytes(), head.as_bytes(), &marks].concat());
    }),
    ("a notes tree of 300,000 entries", |maker| {
        maker.note(b"x");
        let blob = maker.blob(b"y");
        let entries = lines(300_000, |number| format!("100644 blob {blob}\t{number:040x}"));
        let tree = maker.feed(&["mktree"], &entries);
        let commit = maker.feed(&["commit-tree", tree.trim(), "-m", "x"], b"");
        maker.feed(&["update-ref", "refs/notes/shiftlog", commit.trim()], b"");
    }),
];

fn lines(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = Vec::new();
    (0..count).for_each(|number| writeln!(text, "{}", line(number)).unwrap());
    text
}

fn record(session: &str, since: Option<&str>, through: &str) -> String {
    json!({ "shiftlog": 1, "agent": "claude", "session": session, "time": "2026-01-02T03:04:05Z", "turns": 1,
        "messages": 1, "since": since, "through": through, "bytes": 0, "sha256": "00" })
    .to_string()
}

fn evidence(id: &str, error: &str) -> String {
    json!({ "shiftlog": 1, "evidence": "log", "id": id, "time": "2026-01-02T03:04:05Z", "size": 0, "status": "failed",
        "error": error, "name": format!("{id}.log") })
    .to_string()
}

fn document(transcript: &str) -> String {
    json!({ "version": 1, "session_id": "earlier", "timestamp": "2026-01-02T03:04:05Z", "message_count": 3,
        "checksum": "sha256:00", "transcript": transcript })
    .to_string()
}

fn encode(session: &str, parent: Option<&str>, keep: u64, body: &[u8]) -> Vec<u8> {
    let digest = if parent.is_none() { hex(&<sha2::Sha256 as sha2::Digest>::digest(body)) } else { "00".repeat(32) };
    let header = Header {
        shiftlog: 1,
        agent: "claude".into(),
        session: session.into(),
        parent: parent.map(str::to_owned),
        keep,
        bytes: body.len() as u64,
        sha256: digest,
        time: "2026-01-02T03:04:05Z".into(),
    };
    segment::encode(&header, body).unwrap()
}

/// Makes things in a repository that has a commit.
pub struct Maker {
    /// The top of the repository.
    pub top: PathBuf,
    /// Runs Git there, in the environment that its commits need.
    pub git: Box<dyn Fn(&Path) -> Command>,
}

impl Maker {
    /// Commits a file of lines, so that there is something to ask about.
    pub fn new(top: PathBuf, git: Box<dyn Fn(&Path) -> Command>) -> Self {
        let maker = Maker { top, git };
        std::fs::write(maker.top.join("lines.txt"), lines(1_000, |number| format!("line {number}"))).unwrap();
        maker.feed(&["add", "lines.txt"], b"");
        maker.feed(&["commit", "-q", "-m", "lines"], b"");
        maker
    }

    fn feed(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = (self.git)(&self.top);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
        let writer = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn blob(&self, bytes: &[u8]) -> String {
        self.feed(&["hash-object", "-w", "--stdin"], bytes)
    }

    fn note(&self, bytes: &[u8]) {
        let id = self.blob(bytes);
        self.feed(&["notes", "--ref=shiftlog", "add", "-f", "-C", &id], b"");
    }

    /// A session of one segment, which the archive has.
    fn session(&self, transcript: &[u8]) {
        let id = self.blob(&encode("s", None, 0, transcript));
        self.archive(std::slice::from_ref(&id));
        self.note(record("s", None, &id).as_bytes());
    }

    fn archive(&self, ids: &[String]) {
        let entry = |(number, id): (usize, &String)| format!("100644 blob {id}\t{number:06}-{}.zst\n", &id[..12]);
        let entries: String = ids.iter().enumerate().map(entry).collect();
        let digest = hex(&<sha2::Sha256 as sha2::Digest>::digest("claude/s"));
        let inner = self.feed(&["mktree"], entries.as_bytes());
        let middle = self.feed(&["mktree"], format!("040000 tree {inner}\tclaude~s\n").as_bytes());
        let root = self.feed(&["mktree"], format!("040000 tree {middle}\t{}\n", &digest[..2]).as_bytes());
        let commit = self.feed(&["commit-tree", &root, "-m", "x"], b"");
        self.feed(&["update-ref", "refs/shiftlog/sessions", &commit], b"");
    }

    /// Segments, each of which follows the one before; `make` says what it keeps and adds after so many bytes.
    fn chain(&self, count: usize, make: impl Fn(usize, u64) -> (u64, Vec<u8>)) -> Vec<String> {
        let mut command = (self.git)(&self.top);
        command.args(["fast-import", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut importer = command.spawn().unwrap();
        let (mut stdin, stdout) = (importer.stdin.take().unwrap(), importer.stdout.take().unwrap());
        let (mut stdout, mut ids, mut length) = (BufReader::new(stdout), Vec::<String>::new(), 0);
        for number in 0..count {
            let (keep, body) = make(number, length);
            length = keep + body.len() as u64;
            let file = encode("s", ids.last().map(String::as_str), keep, &body);
            let data = format!("blob\nmark :1\ndata {}\n", file.len());
            stdin.write_all(&[data.as_bytes(), &file, b"\nget-mark :1\n"].concat()).unwrap();
            let mut id = String::new();
            stdout.read_line(&mut id).unwrap();
            ids.push(id.trim().to_owned());
        }
        drop(stdin);
        assert!(importer.wait().unwrap().success());
        ids
    }

    /// Sessions of a commit with words that do not repeat, each of this many bytes, as they are recorded. Returns their
    /// transcripts.
    pub fn honest(&self, count: usize, bytes: usize) -> Vec<String> {
        let mut state = 7_u64;
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:05x} ", (state >> 40) & 0xf_ffff)
        };
        let mut note = Vec::new();
        let mut texts = Vec::new();
        for number in 0..count {
            let (mut text, mut parent, mut keep) = (String::new(), None::<String>, 0);
            let mut digest = <sha2::Sha256 as sha2::Digest>::new();
            while text.len() < bytes {
                let start = text.len();
                while text.len() < bytes && text.len() - start < segment::TARGET_BYTES {
                    let words: String = (0..400).map(|_| word()).collect();
                    let line = json!({ "type": "user", "message": { "role": "user", "content": words } });
                    text += &format!("{line}\n");
                }
                let body = &text.as_bytes()[start..];
                sha2::Digest::update(&mut digest, body);
                let header = Header {
                    shiftlog: 1,
                    agent: "claude".into(),
                    session: format!("s{number}"),
                    parent: parent.take(),
                    keep,
                    bytes: body.len() as u64,
                    sha256: hex(&sha2::Digest::finalize(digest.clone())),
                    time: "2026-01-02T03:04:05Z".into(),
                };
                keep += body.len() as u64;
                parent = Some(self.blob(&segment::encode(&header, body).unwrap()));
            }
            writeln!(note, "{}", record(&format!("s{number}"), None, parent.as_ref().unwrap())).unwrap();
            texts.push(text);
        }
        self.note(&note);
        texts
    }

    /// A session whose agent rewrote its file 5,000 times.
    fn rewritten(&self, keep: u64) {
        let body = |number: usize| format!("{{\"number\":{number}}}\n").into_bytes().repeat(1000);
        let ids = self.chain(5_000, |number, length| (keep.min(length), body(number)));
        self.archive(&ids);
        self.note(record("s", None, ids.last().unwrap()).as_bytes());
    }
}

/// How many of the commands the tests try: those that read in different ways. The measurement tries all.
pub const TRIED: usize = 19;

/// The commands that read, as they are typed behind `git shiftlog`; `mcp` is asked questions.
pub const COMMANDS: &[&[&str]] = &[
    &["show"],
    &["show", "--json"],
    &["show", "--full", "--tool-output=full"],
    &["show", "--format=markdown"],
    &["log"],
    &["get", "[conversation][HEAD]"],
    &["get", "[conversation][HEAD][messages][0]"],
    &["get", "[commit][HEAD][records]"],
    &["fsck"],
    &["verify", "HEAD"],
    &["mcp"],
    &["grep", "-i", "x"],
    &["grep", "-E", "(a*)*b"],
    &["search", "x", "word"],
    &["log", "-Sx"],
    &["why", "lines.txt:1"],
    &["blame", "lines.txt"],
    &["evidence"],
    &["evidence", "show"],
    &["show", "--raw"],
    &["log", "--json"],
    &["log", "--porcelain"],
    &["branches"],
    &["keys", "[conversation][HEAD][messages]"],
    &["scan", "--archive"],
    &["scan", "--branches"],
    &["resume", "--print"],
    &["export", "--html"],
    &["export", "--markdown"],
    &["summarise", "-n"],
    &["stats"],
    &["doctor"],
];

/// What a client asks the server: everything at once.
pub fn questions() -> String {
    let ask = |id: usize, method: &str, params: serde_json::Value| {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    let client =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let mut text = ask(0, "initialize", client);
    let calls = [
        ("shiftlog_get_conversation", json!({ "commit_sha": "HEAD" })),
        ("shiftlog_get_conversation", json!({ "commit_sha": "HEAD", "format": "raw" })),
        ("shiftlog_search", json!({ "query": "zzz" })),
        ("shiftlog_search", json!({ "query": "a word another" })),
        ("shiftlog_search", json!({ "query": "(a*)*b", "regex": true })),
        ("shiftlog_why", json!({ "path": "lines.txt", "line": 2 })),
        ("shiftlog_list_keys", json!({ "path": "[conversation][HEAD][messages]" })),
        ("shiftlog_get_value", json!({ "path": "[commit][HEAD][records]" })),
        ("shiftlog_list_conversations", json!({})),
    ];
    for (number, (name, arguments)) in calls.into_iter().enumerate() {
        text += &ask(number + 1, "tools/call", json!({ "name": name, "arguments": arguments }));
    }
    text
}

/// What a program needed.
#[derive(Clone, Copy, Default)]
pub struct Used {
    /// The most memory, in KiB.
    pub peak_kib: u64,
    /// Processor time, its children's included, in seconds. A busy machine makes it no longer, as it does the time that
    /// passes.
    pub cpu_secs: f64,
}

impl Used {
    /// Reads what a running process has used so far from its directory in `/proc`.
    fn now(directory: &str) -> Option<Self> {
        let status = std::fs::read_to_string(format!("{directory}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let peak_kib = line.split_whitespace().next()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("{directory}/stat")).ok()?;
        // The name, in parentheses, may hold anything. Behind it the times of the process and its children are the
        // twelfth to the fifteenth, in hundredths of a second.
        let times = stat.rsplit(')').next()?.split_whitespace().skip(11).take(4);
        let ticks: u64 = times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
        Some(Used { peak_kib, cpu_secs: ticks as f64 / 100.0 })
    }
}

/// Runs a command that reads nothing of ours but `input`, and returns its output with what it used.
pub fn measured(mut command: Command, input: String) -> (std::process::Output, Used) {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child: Child = child.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let directory = format!("/proc/{}", child.id());
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut used = Used::default();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                used = Used::now(&directory).unwrap_or(used);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            used
        });
        scope.spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
        let output = child.wait_with_output().unwrap();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        (output, watch.join().unwrap())
    })
}
