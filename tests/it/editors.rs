//! Editors: the language server, and the recipes of gitshiftlog-editors(7) in the editors themselves.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Scratch, skip};
use crate::why::reconnect;

/// An editor that speaks with the server.
struct Editor {
    server: Child,
    answers: BufReader<ChildStdout>,
    last_id: u64,
}

impl Editor {
    fn new(scratch: &Scratch, formats: &[&str]) -> Self {
        let mut command = scratch.command("git-shiftlog", &scratch.home());
        let mut server = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Editor { server, answers, last_id: 0 };
        let hover = json!({ "textDocument": { "hover": { "contentFormat": formats } } });
        let about = editor.asks("initialize", json!({ "processId": null, "rootUri": null, "capabilities": hover }));
        assert_eq!(about["result"]["capabilities"]["hoverProvider"], true, "{about}");
        editor.tells("initialized", json!({}));
        editor
    }

    fn write(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        let text = message.to_string();
        write!(self.server.stdin.as_mut().unwrap(), "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }

    fn tells(&mut self, method: &str, params: Value) {
        self.write(json!({ "method": method, "params": params }));
    }

    fn asks(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        self.write(json!({ "id": self.last_id, "method": method, "params": params }));
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.answers.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.answers.read_exact(&mut text).unwrap();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(answer["id"], self.last_id);
        answer
    }

    /// Returns what is shown for a line, counted from 1; empty if nothing is.
    fn hover(&mut self, uri: &str, line: u64) -> String {
        let answer = self.asks("textDocument/hover", place(uri, line));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"]["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    fn ends(mut self) {
        self.asks("shutdown", Value::Null);
        self.tells("exit", Value::Null);
        assert_eq!(self.server.wait().unwrap().code(), Some(0));
    }
}

fn place(uri: &str, line: u64) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": line - 1, "character": 0 } })
}

fn uri(scratch: &Scratch, path: &str) -> String {
    format!("file://{}", scratch.top.join(path).display())
}

#[test]
fn a_hover_has_the_prompt_of_a_turn_that_an_earlier_commit_began() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("Fix both.");
    session.edits("a.txt", "first_bug()\n");
    let first = session.commits("first");
    session.edits("b.txt", "second_bug()\n");
    session.commits("second");
    for (format, expected) in
        [("markdown", "continues {}:\n\n> Fix both.\n"), ("plaintext", "continues {}: Fix both.\n")]
    {
        let mut editor = Editor::new(&scratch, &[format]);
        let shown = editor.hover(&uri(&scratch, "b.txt"), 1);
        assert!(shown.contains(&expected.replace("{}", &first[..7])), "{shown}");
        editor.ends();
    }
}

#[test]
fn very_long_lines_are_cut_and_a_hover_is_bounded() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    let long = |letter: &str, lines: usize| format!("{}\n", letter.repeat(30_000)).repeat(lines);
    session.prompt(&long("p ", 20));
    session.says(&long("r ", 20));
    session.edits("min.js", &format!("{}\n", "x();".repeat(100_000)));
    session.commits("minified");
    let shown = scratch.shiftlog("why", ["min.js:1"]).ok();
    assert!(shown.lines().all(|line| line.chars().count() <= 2050), "{}", shown.len());
    assert!(shown.contains(" … 398000 more characters (--full)\n"));
    let whole = scratch.shiftlog("why", ["--full", "min.js:1"]).ok();
    assert!(whole.contains(&"x();".repeat(100_000)), "{}", whole.len());
    for format in ["markdown", "plaintext"] {
        let mut editor = Editor::new(&scratch, &[format]);
        let hover = editor.hover(&uri(&scratch, "min.js"), 1);
        assert!(!hover.is_empty() && hover.len() <= (64 << 10) + 4, "{}", hover.len());
        editor.ends();
    }
}

#[test]
fn a_hover_tells_the_prompt_the_reason_and_how_to_see_more() {
    let scratch = reconnect();
    let mut editor = Editor::new(&scratch, &["markdown", "plaintext"]);
    let file = uri(&scratch, "reconnect.py");
    let shown = editor.hover(&file, 5);
    let short_id = scratch.git(["rev-parse", "--short", "HEAD"]).ok();
    let more = format!("```sh\ngit shiftlog show {} --session=3f6b1c9e --turn=2\n```\n", short_id.trim());
    assert!(shown.contains("\n> Cap it.\n\nA cap keeps recovery quick.\n") && shown.ends_with(&more), "{shown}");
    assert!(shown.contains("*this edit wrote the line*"), "{shown}");
    assert!(editor.hover(&file, 2).contains("> The loop hammers the server.\n> Make it back off.\n"));
    assert_eq!(editor.hover(&file, 1), "", "nobody recorded that line");
    let answer = editor.asks(
        "workspace/executeCommand",
        json!({ "command": "shiftlog.conversation", "arguments": [place(&file, 5)] }),
    );
    assert_eq!(answer["result"]["directory"], scratch.top.to_str().unwrap());
    let ran = scratch.run_in(&scratch.top, "sh", ["-c", answer["result"]["command"].as_str().unwrap()]).ok();
    assert!(ran.contains("Cap it.") && !ran.contains("Make it back off."), "{ran}");
    editor.ends();
    let mut editor = Editor::new(&scratch, &["plaintext"]);
    let plain = editor.hover(&file, 5);
    assert!(plain.contains("\n> Cap it.\n") && plain.starts_with("reconnect.py:5\n"), "{plain}");
    editor.ends();
}

#[test]
fn lines_are_those_of_the_text_that_the_editor_shows() {
    let scratch = reconnect();
    let mut editor = Editor::new(&scratch, &["markdown"]);
    let file = uri(&scratch, "reconnect.py");
    let text = fs::read_to_string(scratch.top.join("reconnect.py")).unwrap();
    let document = json!({ "uri": file, "languageId": "python", "version": 1, "text": text });
    editor.tells("textDocument/didOpen", json!({ "textDocument": document }));
    let changed = format!("# one\n# two\n{text}");
    let change = json!({ "textDocument": { "uri": file, "version": 2 }, "contentChanges": [{ "text": changed }] });
    editor.tells("textDocument/didChange", change);
    assert!(editor.hover(&file, 7).contains("> Cap it."));
    assert_eq!(editor.hover(&file, 1), "", "what is typed now is nobody's yet");
    editor.tells("textDocument/didClose", json!({ "textDocument": { "uri": file } }));
    assert!(editor.hover(&file, 5).contains("> Cap it."));
    editor.ends();
}

#[test]
fn what_cannot_be_answered_is_no_error_in_an_editor_and_what_is_no_question_is_refused() {
    let scratch = reconnect();
    scratch.write("untracked.txt", "x\n");
    scratch.write("a b\u{e9}.txt", "x\n");
    fs::write(scratch.home().join("elsewhere.txt"), "x\n").unwrap();
    let mut editor = Editor::new(&scratch, &["markdown"]);
    let elsewhere = format!("file://{}", scratch.home().join("elsewhere.txt").display());
    let here = |path: &str| uri(&scratch, path);
    let places = [&*elsewhere, "untitled:1", "file:///", "file:///no/such/file", &here("untracked.txt")];
    for place in places.into_iter().chain([&*here("a%20b%C3%A9.txt"), &*here("../../x"), &*here("")]) {
        assert_eq!(editor.hover(place, 1), "", "{place}");
    }
    assert_eq!(editor.hover(&here("reconnect.py"), 4_000_000_000), "", "there is no such line");
    assert_eq!(editor.asks("textDocument/definition", json!({}))["error"]["code"], -32601);
    assert_eq!(editor.asks("textDocument/hover", json!({ "position": 1 }))["error"]["code"], -32602);
    let unknown = json!({ "command": "rm", "arguments": [place(&here("reconnect.py"), 5)] });
    assert_eq!(editor.asks("workspace/executeCommand", unknown)["error"]["code"], -32602);
    assert!(editor.hover(&here("reconnect.py"), 5).contains("> Cap it."), "it goes on");
    editor.ends();
    // An editor that dies takes the server with it.
    let mut editor = Editor::new(&scratch, &[]);
    drop(editor.server.stdin.take());
    editor.server.wait().unwrap();
}

/// Sends bytes to the server and returns its answers, the exit code, and what it says on stderr.
fn speak(scratch: &Scratch, said: &[u8]) -> (Vec<Value>, i32, String) {
    let ran = scratch.run_with_input("git-shiftlog", ["lsp"], said);
    let mut answers = Vec::new();
    let mut rest = ran.stdout.as_str();
    while let Some((header, body)) = rest.split_once("\r\n\r\n") {
        let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        answers.push(serde_json::from_str(&body[..length]).unwrap());
        rest = &body[length..];
    }
    assert_eq!(rest, "", "nothing else is on stdout");
    (answers, ran.code, ran.stderr)
}

fn framed(messages: &[Value]) -> Vec<u8> {
    let texts = messages.iter().map(Value::to_string);
    texts.map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len())).collect::<String>().into_bytes()
}

#[test]
fn the_server_keeps_the_order_of_the_protocol_and_says_how_it_ended() {
    let scratch = Scratch::set_up();
    let asked = |id: Value, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
    let told = |method: &str| json!({ "jsonrpc": "2.0", "method": method });
    let hello = asked(json!(1), "initialize");
    let codes = |answers: &[Value]| answers.iter().map(|answer| answer["error"]["code"].clone()).collect::<Vec<_>>();
    // What is asked before the beginning is refused, and what is told is dropped.
    let said = [
        asked(json!("early"), "textDocument/hover"),
        told("textDocument/didOpen"),
        hello.clone(),
        hello.clone(),
        json!({ "jsonrpc": "2.0", "id": 7, "result": null }),
        asked(json!(9_000_000_000_u64), "shutdown"),
        asked(json!(3), "textDocument/hover"),
        told("exit"),
        asked(json!(4), "never/read"),
    ];
    let (answers, code, stderr) = speak(&scratch, &framed(&said));
    assert_eq!(codes(&answers), [json!(-32002), json!(null), json!(-32600), json!(null), json!(-32600)]);
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("early"), &json!(1), &json!(1), &json!(9_000_000_000_u64), &json!(3)]);
    assert_eq!((code, &*stderr), (0, ""));
    // 'exit' without 'shutdown', and an editor that goes away.
    for said in [
        framed(&[hello.clone(), told("exit")]),
        framed(&[told("exit")]),
        framed(std::slice::from_ref(&hello)),
        Vec::new(),
    ] {
        let (_, code, stderr) = speak(&scratch, &said);
        assert_eq!((code, &*stderr), (1, ""), "{}", String::from_utf8_lossy(&said));
    }
}

#[test]
fn what_is_not_the_protocol_ends_the_server_with_one_line() {
    let scratch = Scratch::set_up();
    let hello = framed(&[json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} })]);
    let bad = [
        &b"hello\n"[..],
        b"\0\xff\xff",
        b"Content-Length: 18446744073709551615\r\n\r\n{}",
        b"Content-Length: 9\r\n\r\n{}",
    ];
    for said in bad {
        for before in [&hello[..], b""] {
            let (answers, code, stderr) = speak(&scratch, &[before, said].concat());
            assert_eq!((answers.len(), code), (usize::from(!before.is_empty()), 128), "{stderr}");
            assert!(
                stderr.starts_with("fatal: cannot speak with the editor: ") && stderr.lines().count() == 1,
                "{stderr}"
            );
        }
    }
    // The frame is whole, so that the next message can be read.
    let (answers, ..) = speak(&scratch, &[b"Content-Length: 4\r\n\r\n}}}}", &hello[..]].concat());
    assert_eq!((&answers[0]["error"]["code"], &answers[0]["id"]), (&json!(-32700), &json!(null)));
    assert_eq!(answers[1]["result"]["serverInfo"]["name"], "git-shiftlog");
}

#[test]
fn words_of_a_conversation_do_nothing_in_an_editor() {
    let scratch = Scratch::set_up();
    scratch.commit("a.txt", "one\n", "start");
    let session = scratch.session("s1");
    session.prompt("<img src=x onerror=alert(1)> ![p](https://example.com/p.png) @somebody \u{1b}[31mred\u{202e}");
    session.says("```\nnever closed [l](javascript:alert(1))");
    session.edits("a.txt", "two\n");
    session.commits("**bold** <b>");
    let mut editor = Editor::new(&scratch, &["markdown"]);
    let shown = editor.hover(&uri(&scratch, "a.txt"), 1);
    for bad in ["<img", " ![p](", "\u{1b}", "\u{202e}", "@somebody", "**bold**", "<b>"] {
        assert!(!shown.contains(bad), "{bad}: {shown}");
    }
    assert!(
        shown.contains("onerror") && shown.matches("```").count() == 4,
        "what it says stays, and code ends: {shown}"
    );
    editor.ends();
}

/// Returns the blocks of code below a heading of the page about editors.
fn recipes(heading: &str) -> Vec<String> {
    let page = include_str!("../../man/gitshiftlog-editors.7");
    let section = page.split("\n.Ss ").find(|section| section.starts_with(heading)).unwrap();
    let blocks = section.split(".Bd -literal -offset indent\n").skip(1);
    blocks.map(|block| block.split("\n.Ed").next().unwrap().to_owned()).collect()
}

/// Runs an editor; `None`, loudly, if it is not here.
fn run(scratch: &Scratch, editor: &str, name: &str, args: &[&str]) -> Option<String> {
    if Command::new(editor).arg("--version").output().is_err() {
        skip(&format!("there is no {name} here"));
        return None;
    }
    let ran = scratch.run_in(&scratch.top, editor, args);
    Some(format!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn the_recipe_for_neovim_shows_what_is_behind_a_line_and_the_conversation() {
    let scratch = reconnect();
    let root = scratch.root();
    scratch.git(["config", "core.pager", "cat"]).ok();
    fs::write(root.join("init.lua"), &recipes("Neovim")[0]).unwrap();
    let driver = r#"
        local function wait(is_there)
          if not vim.wait(30000, is_there, 20) then print('NOTHING') vim.cmd('qa!') end
        end
        wait(function() return #vim.lsp.buf_get_clients(0) > 0 end)
        vim.api.nvim_win_set_cursor(0, { 5, 0 })
        local found = vim.lsp.buf_request_sync(0, 'textDocument/hover', vim.lsp.util.make_position_params(), 30000)
        for _, answer in pairs(found) do print(answer.result.contents.value) end
        vim.api.nvim_feedkeys('gw', 'x', false)
        wait(function() return vim.bo.buftype == 'terminal' end)
        local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), ' ') end
        wait(function() return text():find('Process exited') ~= nil end)
        print('TERMINAL ' .. text())
        vim.cmd('qa!')
    "#;
    fs::write(root.join("driver.lua"), driver).unwrap();
    let (init, driver) = (root.join("init.lua"), format!("luafile {}", root.join("driver.lua").display()));
    let args = ["--headless", "-n", "-u", init.to_str().unwrap(), "reconnect.py", "-c", &driver];
    let Some(said) = run(&scratch, "nvim", "Neovim", &args) else { return };
    assert!(said.contains("> Cap it.") && !said.contains("NOTHING"), "{said}");
    let terminal = said.split("TERMINAL").nth(1).unwrap_or_default();
    assert!(terminal.contains("Cap it.") && !terminal.contains("hammers"), "{said}");
}

#[test]
fn the_recipe_for_emacs_shows_the_conversation_behind_an_unsaved_line() {
    let scratch = reconnect();
    let root = scratch.root();
    fs::write(root.join("init.el"), &recipes("Emacs")[0]).unwrap();
    let driver = r##"(progn (find-file "NAME") (insert "# one\n") (goto-char (point-max)) (forward-line -1)
        (shiftlog-why) (princ (with-current-buffer "*shiftlog*" (buffer-string))))"##;
    let init = root.join("init.el");
    // A name may look like an option.
    scratch.git(["mv", "--", "reconnect.py", "-reconnect.py"]).ok();
    scratch.git(["commit", "-q", "-m", "rename"]).ok();
    let driver = driver.replace("NAME", "-reconnect.py");
    let args = ["-Q", "--batch", "-l", init.to_str().unwrap(), "--eval", &driver];
    let Some(said) = run(&scratch, "emacs", "Emacs", &args) else { return };
    assert!(said.contains("reconnect.py:6\n") && said.contains("\n> Cap it.\n"), "{said}");
}

/// Says what a client for language servers in Emacs shows of a line.
#[test]
fn the_recipe_for_a_client_in_emacs_shows_what_is_behind_a_line() {
    let scratch = reconnect();
    let root = scratch.root();
    let Some(found) = run(&scratch, "emacs", "Emacs", &["--batch", "--eval", r#"(princ (locate-library "eglot"))"#])
    else {
        return;
    };
    if !found.contains("eglot") {
        skip("Emacs has no eglot here");
        return;
    }
    fs::write(root.join("init.el"), &recipes("Emacs")[1]).unwrap();
    let driver = r#"(progn (find-file "reconnect.py") (forward-line 4) (apply #'eglot (eglot--guess-contact))
        (princ (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))"#;
    let init = root.join("init.el");
    let said = run(&scratch, "emacs", "Emacs", &["--batch", "-l", init.to_str().unwrap(), "--eval", driver]).unwrap();
    assert!(said.contains("reconnect.py:5\n") && said.contains("\n> Cap it.\n"), "{said}");
}
