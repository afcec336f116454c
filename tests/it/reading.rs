//! What `show` looks like to somebody who reads it: whole outputs.

mod asked;
mod encodings;
mod many_records;
mod places;
mod sidechain;
mod tasks;
mod without_words;

use serde_json::{Value, json};

use crate::listing::log_at;
use crate::sharing::Team;
use crate::support::Scratch;

/// A transcript of Claude Code that was written in `/home/dev/harbour`, one record every ten seconds from 13:44 on.
pub struct Talk {
    lines: String,
    count: u32,
}

impl Talk {
    pub fn new() -> Self {
        Talk { lines: String::new(), count: 0 }
    }

    fn record(&mut self, kind: &str, message: &Value, more: &[(&str, Value)]) {
        let (minute, second) = (44 + self.count / 6, self.count % 6 * 10);
        self.count += 1;
        let mut record = json!({ "type": kind, "uuid": format!("u{}", self.count), "sessionId": "s", "cwd": "/home/dev/harbour",
            "timestamp": format!("2026-01-02T13:{minute:02}:{second:02}Z"), "message": message });
        for (key, value) in more {
            record[*key] = value.clone();
        }
        self.lines += &format!("{record}\n");
    }

    pub fn prompt(&mut self, content: impl Into<Value>) {
        self.record("user", &json!({ "role": "user", "content": content.into() }), &[]);
    }

    fn says(&mut self, block: Value) {
        self.record("assistant", &json!({ "role": "assistant", "model": "m-1", "content": [block] }), &[]);
    }

    pub fn answers(&mut self, text: &str) {
        self.says(json!({ "type": "text", "text": text }));
    }

    fn calls(&mut self, id: &str, tool: &str, input: Value) {
        self.says(json!({ "type": "tool_use", "id": id, "name": tool, "input": input }));
    }

    fn result(&mut self, id: &str, content: impl Into<Value>, more: &[(&str, Value)]) {
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": content.into() });
        self.record("user", &json!({ "role": "user", "content": [result] }), more);
    }

    fn runs(&mut self, id: &str, tool: &str, input: Value, answer: &str) {
        self.calls(id, tool, input);
        self.result(id, answer, &[]);
    }

    /// Adds what was said so far to HEAD.
    pub fn add(&self, scratch: &Scratch, options: &[&str]) {
        let path = scratch.root().join("talk.jsonl");
        std::fs::write(&path, &self.lines).unwrap();
        let transcript = format!("--transcript={}", path.display());
        scratch.shiftlog("add", [&["-q", &transcript], options].concat()).ok();
    }
}

/// Returns numbered lines.
fn lines(range: std::ops::RangeInclusive<u32>) -> String {
    range.map(|number| format!("line {number}\n")).collect()
}

pub fn show(scratch: &Scratch, args: &[&str]) -> String {
    scratch.shiftlog("show", args).ok()
}

/// Returns what `show` prints below the head of the session.
fn told(scratch: &Scratch, args: &[&str]) -> String {
    let shown = show(scratch, args);
    let at = shown.find("\nsession ").unwrap();
    shown[at..].splitn(4, '\n').nth(3).unwrap().to_owned()
}

/// A conversation with one of everything.
fn rich() -> Talk {
    let mut talk = Talk::new();
    talk.prompt(json!([
        { "type": "text", "text": "Log arrivals.\n\nAsk before you begin." },
        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGVsbG8gd29ybGQ=" } },
    ]));
    talk.says(json!({ "type": "thinking", "thinking": "one\ntwo\n\nthree\nfour\nfive" }));
    let question = json!({ "questions": [{ "question": "A file or a table?", "header": "Kind",
        "options": [{ "label": "A file", "description": "lines of text" }, { "label": "A table" }] }] });
    let given = "User has answered your questions: \"A file or a table?\"=\"A file\". You can now continue.";
    talk.runs("q", "AskUserQuestion", question, given);
    talk.runs(
        "p",
        "ExitPlanMode",
        json!({ "plan": "# Plan\n\n1. a file" }),
        "User has approved your plan.\n\n# Plan\n\n1. a file",
    );
    let todos = json!({ "todos": [{ "content": "a file", "status": "completed" },
        { "content": "a command", "status": "in_progress" }, { "content": "a page", "status": "pending" }] });
    talk.runs("t", "TodoWrite", todos, "Todos have been modified successfully.");
    talk.runs(
        "k",
        "TaskCreate",
        json!({ "subject": "Write it", "description": "x" }),
        "Task #7 created successfully: Write it",
    );
    talk.runs("l", "TaskUpdate", json!({ "taskId": "7", "status": "completed" }), "Updated task #7 status");
    talk.runs("r", "Read", json!({ "file_path": "/home/dev/harbour/src/main.rs" }), &lines(1..=40));
    talk.runs("c", "Bash", json!({ "command": "cat src/main.rs" }), &lines(1..=30));
    let edit = json!({ "file_path": "/home/dev/harbour/src/main.rs", "old_string": "mod tide;\n",
        "new_string": format!("mod tide;\n{}", lines(1..=20)) });
    talk.runs("e", "Edit", edit, "The file /home/dev/harbour/src/main.rs has been updated successfully.");
    talk.calls("b", "Bash", json!({ "command": "cat > notes <<'E'\n  two\nE\ncargo test" }));
    talk.calls("g", "Grep", json!({ "pattern": "arriv", "path": "/home/dev/harbour" }));
    talk.result("b", lines(1..=9), &[]);
    talk.result("g", "src/main.rs:3:// arrivals", &[]);
    talk.prompt("Good.");
    talk.answers("Done:\n\n> a quotation\n\n| a | table |");
    talk
}

fn recorded() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.env.insert("GIT_COMMITTER_DATE".into(), "2026-01-02T13:50:00Z".into());
    scratch.env.insert("GIT_AUTHOR_DATE".into(), "2026-01-02T13:50:00Z".into());
    scratch.commit("a.txt", "a\n", "log arrivals");
    rich().add(&scratch, &[]);
    scratch
}

#[test]
fn a_conversation_is_shown_with_most_of_what_matters_in_few_lines() {
    let scratch = recorded();
    let expected = "
turn 1, 13:44, 4 min
> Log arrivals.
|
| Ask before you begin.
| [image/png, 11 bytes]

  ~ one
  ~ two
  ~ three
  ~ … 2 more lines (-v)

  AskUserQuestion A file or a table?
    - A file: lines of text
    - A table
    = A file

  ExitPlanMode
    # Plan

    1. a file
    approved by the user

  TodoWrite
    [x] a file
    [>] a command
    [ ] a page

  TaskCreate [ ] Write it

  TaskUpdate [x] Write it

  Read src/main.rs … 40 lines (-v)

  Bash cat src/main.rs
    … 30 lines (-v)

  Edit src/main.rs
     mod tide;
    +line 1
    +line 2
    +line 3
    +line 4
    +line 5
    +line 6
    +line 7
    +line 8
    +line 9
    +line 10
    +line 11
    … 9 more lines (-v)

  Bash cat > notes <<'E'
         two
       E
       cargo test
    line 1
    line 2
    … 5 more lines (-v)
    line 8
    line 9

  Grep arriv .
    src/main.rs:3:// arrivals

turn 2, 13:47, 10 s
> Good.

Done:

 > a quotation

| a | table |

";
    assert_eq!(told(&scratch, &[]), expected);
    let prompts = expected.lines().filter(|line| line.starts_with("> ")).count();
    assert_eq!(prompts, 2, "a search for '^> ' finds each prompt once");
}

#[test]
fn nothing_that_was_said_is_out_of_reach() {
    let scratch = recorded();
    let whole = told(&scratch, &["-v"]);
    assert!(!whole.contains('…'), "{whole}");
    for part in
        ["  ~ \n  ~ three\n  ~ four\n  ~ five\n", "    +line 20\n", "    line 40\n", "    line 30\n", "    line 7\n"]
    {
        assert!(whole.contains(part), "{part:?}\n{whole}");
    }
    assert_eq!(told(&scratch, &["--thinking=full", "--tool-output=full"]), whole, "-v is both");
    let thinking = told(&scratch, &["--thinking=full"]);
    assert!(thinking.contains("  ~ five\n") && !thinking.contains("+line 20\n"), "{thinking}");
    let output = told(&scratch, &["--tool-output=full", "--no-thinking"]);
    assert!(output.contains("+line 20\n") && !output.contains("  ~ "), "{output}");
    assert_eq!(told(&scratch, &["--no-thinking", "--thinking=full"]), thinking, "the last one wins");
    for args in [["-v", "--thinking=short"], ["--tool-output=full", "--thinking=short"]] {
        let short = told(&scratch, &args);
        assert!(short.contains("+line 20\n") && !short.contains("  ~ five\n"), "{args:?}: {short}");
    }
    let twice = told(&scratch, &["-vv"]);
    assert!(twice.contains("  Grep arriv .\n    pattern: arriv\n    path: /home/dev/harbour\n"), "{twice}");
    assert_eq!(told(&scratch, &["-v", "-v"]), twice);
    let mut long = Talk::new();
    long.prompt("Run it.");
    long.runs("c", "Bash", json!({ "command": format!("echo {}", "x".repeat(300)) }), &"y".repeat(500));
    let scratch = Scratch::new();
    long.add(&scratch, &[]);
    let cut = format!("  Bash echo {} … 105 more characters (-v)\n", "x".repeat(195));
    let answer = format!("    {} … 300 more characters (-v)\n", "y".repeat(200));
    assert!(told(&scratch, &[]).ends_with(&format!("\n{cut}{answer}\n")), "{}", told(&scratch, &[]));
    let whole = format!("  Bash echo {}\n    {}\n\n", "x".repeat(300), "y".repeat(500));
    assert!(told(&scratch, &["-v"]).ends_with(&whole));
}

#[test]
fn turns_are_chosen_by_their_numbers() {
    let scratch = recorded();
    let second = "\nturn 2, 13:47, 10 s\n> Good.\n\nDone:\n\n > a quotation\n\n| a | table |\n\n";
    for choice in ["--turn=2", "--turn=2..2", "--turn=2.."] {
        assert_eq!(told(&scratch, &[choice]), second, "{choice}");
    }
    assert_eq!(told(&scratch, &["--turn=1..2"]), told(&scratch, &[]));
    assert!(!told(&scratch, &["--turn=..1"]).contains("turn 2"));
    let document = show(&scratch, &["--turn=2", "--format=markdown"]);
    assert!(
        document.ends_with("\n### Turn 2, 13:47, 10 s\n\n> Good.\n\nDone:\n\n> a quotation\n\n| a | table |\n"),
        "{document}"
    );
    let ran = scratch.shiftlog("show", ["--turn=3"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (1, "", "error: the conversation of HEAD has no such turn\n"));
    for (args, message) in [
        (["--turn=two", "HEAD"], "error: 'two' is not a value for '--turn': <n>, <n>..<m>, <n>.. or ..<m>"),
        (["--turn=1", "--raw"], "error: options '--turn' and '--raw' cannot be used together"),
    ] {
        let ran = scratch.shiftlog("show", args);
        assert_eq!((ran.code, ran.stderr.lines().next().unwrap()), (129, message));
    }
}

#[test]
fn programs_get_the_number_of_each_messages_turn_and_choose_turns_by_it() {
    let scratch = recorded();
    let messages = |args: &[&str]| -> Vec<serde_json::Value> {
        let object: serde_json::Value = serde_json::from_str(&show(&scratch, &[&["--json"], args].concat())).unwrap();
        object["conversation"].as_array().unwrap().clone()
    };
    let all = messages(&[]);
    let turn = |message: &serde_json::Value| message["turn"].as_u64().unwrap();
    assert!(all.windows(2).all(|pair| turn(&pair[0]) <= turn(&pair[1])), "{all:#?}");
    for number in 1..=2 {
        let of_turn: Vec<_> = all.iter().filter(|message| turn(message) == number).cloned().collect();
        assert!(of_turn[0]["role"] == "user" && of_turn.len() > 1, "{of_turn:#?}");
        assert_eq!(messages(&[&format!("--turn={number}")]), of_turn);
    }
    let ran = scratch.shiftlog("show", ["--json", "--turn=3"]);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (1, "", "error: the conversation of HEAD has no such turn\n"));
}

#[test]
fn a_document_marks_its_cuts_and_keeps_commands_in_lines() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Test it.");
    talk.runs("b", "Bash", json!({ "command": "make &&\n  make test" }), &lines(1..=30));
    talk.runs("r", "Read", json!({ "file_path": "/home/dev/harbour/a.rs" }), &lines(1..=3));
    talk.add(&scratch, &[]);
    let document = show(&scratch, &["--format=markdown"]);
    let expected = format!(
        "\n### Turn 1, 13:44, 40 s\n\n> Test it.\n\n- **Bash**\n\n```sh\nmake &&\n  make test\n```\n\n```\n{}```\n\n\
         *… 10 more lines (-v)*\n\n- **Read** `a.rs`\n\n*… 3 lines (-v)*\n",
        lines(1..=20)
    );
    let (_, turns) = document.split_once("- size: 1 turn, 1 message\n").unwrap();
    assert_eq!(turns, expected);
    let whole = show(&scratch, &["--format=markdown", "-v"]);
    assert!(whole.contains("line 30\n```\n") && !whole.contains('…'), "{whole}");
    // An export has another option for that.
    let export = |view: &str| scratch.shiftlog("export", ["--markdown", view, "HEAD"]).ok();
    assert!(export("--view=normal").contains("*… 10 more lines (--view=full)*\n"), "{}", export("--view=normal"));
    assert!(export("--view=full").contains("line 30\n```\n") && !export("--view=full").contains('…'));
}

#[test]
fn a_conversation_that_begins_within_a_turn_says_which() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Begin.");
    talk.answers("Begun.");
    talk.prompt("Now make\nit work.");
    talk.calls("c", "Bash", json!({ "command": "git commit" }));
    scratch.commit("a.txt", "a\n", "one");
    talk.add(&scratch, &[]);
    let first = scratch.id("HEAD")[..7].to_owned();
    talk.result("c", "[main 1] one", &[]);
    talk.answers("It works.");
    scratch.commit("a.txt", "b\n", "two");
    talk.add(&scratch, &[]);
    talk.answers("Still.");
    talk.prompt("Again.");
    scratch.commit("a.txt", "c\n", "three");
    talk.add(&scratch, &[]);
    let second = format!("\ncontinues {first}: Now make it work.\n\n    [main 1] one\n\nIt works.\n\n");
    assert_eq!(told(&scratch, &["HEAD~1"]), second);
    let third = format!("\ncontinues {first}: Now make it work.\n\nStill.\n\nturn 1, 13:45\n> Again.\n\n");
    assert_eq!(told(&scratch, &["HEAD"]), third, "the commit that has the prompt is named");
    assert_eq!(told(&scratch, &["--turn=0"]), format!("\ncontinues {first}: Now make it work.\n\nStill.\n\n"));
    assert!(!told(&scratch, &["--full"]).contains("continues"));
    assert!(told(&scratch, &["--full"]).contains("\nturn 3, 13:45\n> Again.\n"));
    let document = show(&scratch, &["--format=markdown"]);
    assert!(document.contains(&format!("\n### Continues {first}: Now make it work.\n\nStill.\n")), "{document}");
}

#[test]
fn the_head_of_a_whole_session_counts_all_of_it() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    for number in 1..=3 {
        scratch.commit("a.txt", &format!("{number}\n"), "next");
        talk.prompt("Go on.");
        talk.answers("Gone.");
        talk.add(&scratch, &[]);
    }
    let size = shiftlog::pretty::size(talk.lines.len() as u64);
    assert!(show(&scratch, &[]).contains("\n1 turn, 2 messages, "));
    for args in [&["--full"][..], &["--session=s", "--full"]] {
        let shown = show(&scratch, args);
        assert!(shown.contains(&format!("\n3 turns, 6 messages, {size}")), "{shown}");
    }
    assert!(show(&scratch, &["--full", "--format=markdown"]).contains("\n- size: 3 turns, 6 messages\n"));
    let object: Value = serde_json::from_str(&show(&scratch, &["--full", "--json"])).unwrap();
    assert_eq!((&object["turns"], &object["messages"]), (&3.into(), &6.into()));
}

#[test]
fn what_tools_answer_has_paths_from_the_directory_of_the_session() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Where is it?");
    let found = "/home/dev/harbour/src/a.rs:3:fn a\n/home/dev/harbour2/b.rs:1:x\n file:///home/dev/harbour/c";
    talk.runs("g", "Grep", json!({ "pattern": "fn", "path": "/home/dev/harbour/src" }), found);
    talk.runs("l", "Glob", json!({ "pattern": "/home/dev/harbour/**/*.rs" }), "/home/dev/harbour/src/a.rs");
    talk.runs(
        "p",
        "Bash",
        json!({ "command": "pwd; ls -d /home/dev/harbour/*" }),
        "/home/dev/harbour\n/home/dev/harbour/src",
    );
    talk.add(&scratch, &[]);
    let shorter = "    src/a.rs:3:fn a\n    /home/dev/harbour2/b.rs:1:x\n     file:///home/dev/harbour/c\n";
    let expected = format!(
        "  Grep fn src\n{shorter}\n  Glob **/*.rs\n    src/a.rs\n\n  Bash pwd; ls -d /home/dev/harbour/*\n    /home/dev/harbour\n    src\n\n"
    );
    for args in [&[][..], &["-v"]] {
        let shown = told(&scratch, args);
        assert!(shown.ends_with(&expected), "{args:?}: {shown}");
    }
    let document = show(&scratch, &["--format=markdown"]);
    assert!(document.contains("- **Glob** `**/*.rs`\n\n```\nsrc/a.rs\n```\n"), "{document}");
    let whole = told(&scratch, &["-vv"]);
    assert!(whole.contains("\n    /home/dev/harbour/src/a.rs:3:fn a\n"), "as it was answered: {whole}");
}

#[test]
fn colours_and_progress_of_programs_leave_only_their_words() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Build it.");
    let answer = "\u{1b}[1m\u{1b}[31merror\u{1b}[0m: no\u{1b}[K\nfetch 10%\rfetch 99%\rfetched\r\nend";
    talk.runs("b", "Bash", json!({ "command": "make" }), answer);
    talk.add(&scratch, &[]);
    let lines = ["error: no", "fetch 10%", "fetch 99%", "fetched", "end"];
    let expected: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    assert!(told(&scratch, &["-v"]).ends_with(&format!("  Bash make\n{expected}\n")), "{}", told(&scratch, &["-v"]));
    let document = show(&scratch, &["--format=markdown"]);
    assert!(document.contains(&format!("\n```\n{}\n```\n", lines.join("\n"))), "{document}");
}

#[test]
fn sub_agents_are_folded_into_their_session() {
    let scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Find it.");
    talk.calls("a", "Task", json!({ "description": "look around", "prompt": "Look.", "subagent_type": "Explore" }));
    talk.result("a", "It is in a.rs.", &[("toolUseResult", json!({ "agentId": "a1b2" }))]);
    talk.answers("Found.");
    talk.add(&scratch, &[]);
    // Without the sub-agent's own words, its task is marked.
    assert!(told(&scratch, &[]).contains("  Task look around\n    … 1 line (-v)\n"), "{}", told(&scratch, &[]));
    assert!(told(&scratch, &["-v"]).contains("  Task look around\n    Look.\n"));
    let document = |args: &[&str]| show(&scratch, &[&["--format=markdown"], args].concat());
    assert!(document(&[]).contains("- **Task** look around\n\n*… 1 line (-v)*\n"), "{}", document(&[]));
    assert!(document(&["-v"]).contains("- **Task** look around\n\n```\nLook.\n```\n"), "{}", document(&["-v"]));
    let mut other = Talk::new();
    let side = [("isSidechain", json!(true)), ("agentId", json!("a1b2"))];
    other.record("user", &json!({ "role": "user", "content": "Look.\nEverywhere." }), &side);
    let call = json!({ "type": "tool_use", "id": "x", "name": "Bash", "input": { "command": "ls" } });
    other.record("assistant", &json!({ "role": "assistant", "model": "m-1", "content": [call] }), &side);
    let result = json!({ "type": "tool_result", "tool_use_id": "x", "content": "a.rs" });
    other.record("user", &json!({ "role": "user", "content": [result] }), &side);
    let words = json!([{ "type": "text", "text": "It is in a.rs." }]);
    other.record("assistant", &json!({ "role": "assistant", "model": "m-1", "content": words }), &side);
    other.add(&scratch, &["--session=s.a1b2"]);
    let begin = "\nturn 1, 13:44, 30 s\n> Find it.\n\n  Task look around\n";
    let folded = "    It is in a.rs.\n    by sub-agent a1b2: 1 message, 1 tool call, 30 s (-v)\n\nFound.\n\n";
    assert_eq!(told(&scratch, &[]), format!("{begin}{folded}"));
    let open = "  |\n  | > Look.\n  | | Everywhere.\n  |\n  |   Bash ls\n  |     a.rs\n  |\n  | It is in a.rs.\n";
    let shown = told(&scratch, &["-v"]);
    assert_eq!(shown, format!("{begin}{open}\n    It is in a.rs.\n    by sub-agent a1b2\n\nFound.\n\n"));
    let alone = show(&scratch, &["--session=s.a1b2"]);
    assert!(alone.contains("\nsub-agent claude s.a1b2\n") && alone.ends_with(&format!("{open}\n")), "{alone}");
    let ran = scratch.shiftlog("show", ["--turn=2"]);
    let none = "error: the conversation of HEAD has no such turn\n";
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (1, "", none), "a sub-agent has no turns");
    assert_eq!(show(&scratch, &["--json"]).lines().count(), 2, "for programs, each stands alone");
    let whole = document(&["-v"]);
    assert!(whole.contains("<summary>sub-agent a1b2: 1 message, 1 tool call, 30 s</summary>"), "{whole}");
    let document = document(&[]);
    let passage = "- **Task** look around\n\n```\nIt is in a.rs.\n```\n\n*sub-agent a1b2: 1 message, 1 tool call, 30 s (-v)*\n\nFound.\n";
    assert!(document.ends_with(passage), "{document}");
    // The whole session has its sub-agents, also those of earlier commits; one session that is named keeps its own.
    scratch.commit("x", "1\n", "next");
    talk.prompt("More.");
    talk.answers("Done.");
    talk.add(&scratch, &[]);
    assert!(!show(&scratch, &[]).contains("a1b2"));
    for args in [&["--full"][..], &["--full", "--session=s"], &["--session=s", "HEAD~1"]] {
        assert!(show(&scratch, args).contains(folded.trim_end()), "{args:?}: {}", show(&scratch, args));
        let whole = show(&scratch, &[&["-v"], args].concat());
        assert!(whole.contains(open), "{args:?}: {whole}");
    }
    let objects = |args: &[&str]| show(&scratch, &[&["--json"], args].concat()).lines().count();
    assert_eq!((objects(&["--full"]), objects(&["--full", "--session=s"]), objects(&[])), (2, 1, 1));
}

#[test]
fn persian_and_emoji_are_shown_as_they_are_written() {
    let mut scratch = Scratch::new();
    let right = "می\u{200c}خواهم 👩\u{200d}💻 क\u{94d}\u{200d}ष";
    let mut talk = Talk::new();
    talk.prompt(format!("{right} pass\u{200c}word \u{202e}txet\u{200f}"));
    talk.add(&scratch, &[]);
    assert_eq!(told(&scratch, &[]), format!("\nturn 1, 13:44\n> {right} password txet\n\n"));
    assert!(log_at(&mut scratch, 80, &[]).ends_with(&format!("   1 {right} password txet\n")));
    let document = show(&scratch, &["--format=markdown"]);
    assert!(document.ends_with(&format!("\n> {right} password txet\n")), "{document}");
}
