//! A file whose every line is known, and the transcripts of those who write it, as several agents write them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Scratch, Session};

/// A small generator of numbers that are the same on every machine.
pub struct Numbers(u64);

impl Numbers {
    pub fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.next(100) < percent
    }
}

/// Who wrote a line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Writer {
    Base,
    Person,
    Call(String),
}

/// A line, and who wrote it: of lines with the same text next to each other, or in one edit, nobody can tell which was
/// whose, so they can have several writers. Texts repeat.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub writers: Vec<Writer>,
}

/// Lines that every program has.
const COMMON: &[&str] = &["}", "", "    }", "    return Ok(());", "    let mut count = 0;", "    self.lock();", "end"];

pub struct World {
    pub numbers: Numbers,
    pub lines: Vec<Line>,
    fresh: usize,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut world = World { numbers: Numbers(seed * 7919 + 1), lines: Vec::new(), fresh: 0 };
        for _ in 0..300 {
            let text = world.text();
            world.lines.push(Line { text, writers: vec![Writer::Base] });
        }
        world
    }

    /// Returns a line: one of those that are everywhere, or one that is new, or one that stands in the file.
    fn text(&mut self) -> String {
        match self.numbers.next(10) {
            0..3 => COMMON[self.numbers.next(COMMON.len())].to_owned(),
            3 if !self.lines.is_empty() => self.lines[self.numbers.next(self.lines.len())].text.clone(),
            _ => {
                self.fresh += 1;
                format!("    step_{}(value, {});", self.fresh, self.numbers.next(50))
            }
        }
    }

    pub fn file(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    /// Returns where some lines stand for the first time that have these texts.
    fn first_place(&self, wanted: &[Line]) -> usize {
        let is_it = |window: &[Line]| window.iter().zip(wanted).all(|(one, other)| one.text == other.text);
        self.lines.windows(wanted.len()).position(is_it).unwrap()
    }

    /// Makes an edit as an agent does: the texts to replace and to put there. Its first and last lines may stay.
    pub fn edit(&mut self, writer: &Writer) -> (String, String) {
        loop {
            let count = 1 + self.numbers.next(6);
            let start = self.numbers.next(self.lines.len() - count);
            let old: Vec<Line> = self.lines[start..start + count].to_vec();
            // An agent has to name a text that is there once.
            let text: String = old.iter().map(|line| format!("{}\n", line.text)).collect();
            if self.first_place(&old) != start || self.file().matches(&text).count() != 1 {
                continue;
            }
            let has_anchors = count > 2 && self.numbers.chance(50);
            let kept = if has_anchors { 1 } else { 0 };
            let added = 1 + self.numbers.next(6);
            let middle =
                (0..added).map(|_| Line { text: self.text(), writers: vec![writer.clone()] }).collect::<Vec<_>>();
            let new = [&old[..kept], &middle, &old[count - kept..]].concat();
            let new_text: String = new.iter().map(|line| format!("{}\n", line.text)).collect();
            // A line that is in both texts stays: no reader of the edit could tell.
            let ops = similar_lines(&old, &new);
            let mut written = new.clone();
            for (before, after) in ops {
                written[after].writers.clone_from(&old[before].writers);
            }
            for line in &mut written {
                let same = |lines: &[Line]| lines.iter().filter(|other| other.text == line.text).count();
                if same(&old) > 0 && same(&old) + same(&new) > 2 {
                    let others = old.iter().filter(|other| other.text == line.text).flat_map(|other| &other.writers);
                    line.writers = each_once(others.chain([writer]));
                }
            }
            self.lines.splice(start..start + count, written);
            self.share_repeated();
            return (text, new_text);
        }
    }

    pub fn person_types(&mut self) {
        let at = self.numbers.next(self.lines.len());
        let text = self.text();
        self.lines.insert(at, Line { text, writers: vec![Writer::Person] });
        self.share_repeated();
    }

    /// Somebody types a line that an edit had.
    pub fn person_types_again(&mut self, text: &str) {
        let at = self.numbers.next(self.lines.len());
        self.lines.insert(at, Line { text: text.to_owned(), writers: vec![Writer::Person] });
        self.share_repeated();
    }

    pub fn formatter(&mut self) {
        for line in &mut self.lines {
            line.text = line.text.replace("    ", "\t").replace(", ", " , ");
        }
    }

    /// Gives lines with the same text next to each other the writers of all of them.
    fn share_repeated(&mut self) {
        for run in self.lines.chunk_by_mut(|one, next| one.text == next.text).filter(|run| run.len() > 1) {
            let all = each_once(run.iter().flat_map(|line| &line.writers));
            run.iter_mut().for_each(|line| line.writers.clone_from(&all));
        }
    }

    /// Moves a block within the file, as a person does with an editor.
    pub fn move_block(&mut self) {
        let start = self.numbers.next(self.lines.len() - 12);
        let block: Vec<Line> = self.lines.drain(start..start + 8).collect();
        let at = self.numbers.next(self.lines.len());
        self.lines.splice(at..at, block);
        self.share_repeated();
    }
}

fn each_once<'w>(writers: impl Iterator<Item = &'w Writer>) -> Vec<Writer> {
    let mut all: Vec<Writer> = Vec::new();
    for writer in writers {
        if !all.contains(writer) {
            all.push(writer.clone());
        }
    }
    all
}

/// Returns the longest common lines of two texts, as pairs of positions.
fn similar_lines(old: &[Line], new: &[Line]) -> Vec<(usize, usize)> {
    let (n, m) = (old.len(), new.len());
    let mut best = vec![vec![0; m + 1]; n + 1];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            best[i][j] =
                if old[i].text == new[j].text { best[i + 1][j + 1] + 1 } else { best[i + 1][j].max(best[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < n && j < m {
        if old[i].text == new[j].text {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[i + 1][j] >= best[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// Whose transcripts are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// Edits with the text to replace; results have the file as it was before.
    Claude,
    /// Patches in calls, or changes that events tell.
    Codex,
    /// Edits with the text to replace, the results with the calls.
    Gemini,
}

/// What is edited, and how the file was and is.
pub struct Edited<'e> {
    pub path: &'e Path,
    pub old: &'e str,
    pub new: &'e str,
    pub before: &'e str,
    pub after: &'e str,
}

/// A session that writes its transcript as one of the agents.
pub struct Speaker<'s> {
    scratch: &'s Scratch,
    format: Format,
    session: Session<'s>,
    lines: usize,
    /// The parent that the next record names, of agents that name any.
    parent: Option<String>,
}

impl<'s> Speaker<'s> {
    pub fn new(scratch: &'s Scratch, format: Format, id: &str) -> Self {
        let session = match format {
            Format::Claude => scratch.session(id),
            // No hooks of theirs are set up: they are recorded by hand.
            _ => {
                let transcript = scratch.root().join(format!("{id}.jsonl"));
                Session { scratch, id: id.into(), dir: scratch.top.clone(), transcript }
            }
        };
        let mut speaker = Speaker { scratch, format, session, lines: 0, parent: None };
        if format == Format::Codex {
            let meta = json!({ "id": id, "cwd": scratch.top });
            speaker.write(0, &json!({ "type": "session_meta", "payload": meta }));
        }
        speaker
    }

    fn id(&self) -> &str {
        &self.session.id
    }

    /// Writes a record; `tick` counts what happens in all sessions.
    fn write(&mut self, tick: usize, record: &Value) {
        let mut record = record.clone();
        let seconds = 6 + 3 * tick;
        record["timestamp"] = json!(format!("2026-01-02T03:{:02}:{:02}Z", 4 + seconds / 60, seconds % 60));
        self.lines += 1;
        match self.format {
            Format::Claude => {
                let id = format!("{}-{}", self.id(), self.lines);
                record["uuid"] = json!(id);
                record["sessionId"] = json!(self.id());
                record["cwd"] = json!(self.scratch.top);
                if let Some(parent) = &self.parent {
                    record["parentUuid"] = json!(parent);
                }
                self.parent = Some(id);
            }
            Format::Gemini => record["id"] = json!(format!("m{}", self.lines)),
            Format::Codex => {}
        }
        self.session.append(format!("{record}\n").as_bytes());
    }

    pub fn prompt(&mut self, tick: usize, text: &str) {
        match self.format {
            Format::Claude => {
                self.write(tick, &json!({ "type": "user", "message": { "role": "user", "content": text } }));
                self.session.hook("UserPromptSubmit");
            }
            Format::Codex => {
                let payload = json!({ "type": "user_message", "message": text });
                self.write(tick, &json!({ "type": "event_msg", "payload": payload }));
            }
            Format::Gemini => self.write(tick, &json!({ "type": "user", "content": text })),
        }
    }

    /// Edits a part of the file, or with `is_whole` writes all of it. Without `is_done` the tool fails.
    pub fn edits(&mut self, tick: usize, call: &str, edited: &Edited<'_>, is_whole: bool, is_done: bool) {
        let Edited { path, old, new, before, after } = *edited;
        match self.format {
            Format::Claude => {
                let (name, input) = match is_whole {
                    true => ("Write", json!({ "file_path": path, "content": after })),
                    false => ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new })),
                };
                self.claude_call(tick, call, name, &input);
                let told = if is_done { json!({ "originalFile": before }) } else { json!("no") };
                let result =
                    json!({ "type": "tool_result", "tool_use_id": call, "content": "-", "is_error": !is_done });
                let message = json!({ "role": "user", "content": [result] });
                self.write(tick, &json!({ "type": "user", "message": message, "toolUseResult": told }));
            }
            Format::Codex => self.codex_edits(tick, call, edited, is_done),
            Format::Gemini => {
                let (name, input) = match is_whole {
                    true => ("write_file", json!({ "file_path": path, "content": after })),
                    false => ("replace", json!({ "file_path": path, "old_string": old, "new_string": new })),
                };
                let status = if is_done { "success" } else { "error" };
                let call = json!({ "id": call, "name": name, "args": input, "status": status });
                self.write(tick, &json!({ "type": "gemini", "content": "", "toolCalls": [call] }));
            }
        }
    }

    fn claude_call(&mut self, tick: usize, call: &str, name: &str, input: &Value) {
        let content = json!([{ "type": "tool_use", "id": call, "name": name, "input": input }]);
        let message = json!({ "role": "assistant", "model": "claude-test-1", "content": content });
        self.write(tick, &json!({ "type": "assistant", "message": message }));
    }

    /// Restores the file with a command.
    pub fn restores(&mut self, tick: usize, path: &Path) {
        let command = format!("git checkout -- {}", path.file_name().unwrap().to_str().unwrap());
        let call = format!("restore-{tick}");
        match self.format {
            Format::Claude => {
                self.claude_call(tick, &call, "Bash", &json!({ "command": command }));
                let result = json!({ "type": "tool_result", "tool_use_id": call, "content": "" });
                self.write(tick, &json!({ "type": "user", "message": { "role": "user", "content": [result] } }));
            }
            Format::Codex => {
                let arguments = json!({ "cmd": command }).to_string();
                let item =
                    json!({ "type": "function_call", "name": "exec_command", "call_id": call, "arguments": arguments });
                self.write(tick, &json!({ "type": "response_item", "payload": item }));
                let item = json!({ "type": "function_call_output", "call_id": call, "output": "" });
                self.write(tick, &json!({ "type": "response_item", "payload": item }));
            }
            Format::Gemini => {
                let (name, args) = ("run_shell_command", json!({ "command": command }));
                let call = json!({ "id": call, "name": name, "args": args, "status": "success" });
                self.write(tick, &json!({ "type": "gemini", "content": "", "toolCalls": [call] }));
            }
        }
    }

    /// Some models call a tool with a patch; of others only events tell what they changed.
    fn codex_edits(&mut self, tick: usize, call: &str, edited: &Edited<'_>, is_done: bool) {
        let signed = |sign: &str, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
        let hunk = signed("-", edited.old) + &signed("+", edited.new);
        let path = edited.path.to_str().unwrap();
        if tick.is_multiple_of(2) {
            let input = format!("*** Begin Patch\n*** Update File: {path}\n@@\n{hunk}*** End Patch\n");
            let item = json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": input });
            self.write(tick, &json!({ "type": "response_item", "payload": item }));
            let output = json!({ "output": "-", "metadata": { "exit_code": i32::from(!is_done) } }).to_string();
            let item = json!({ "type": "custom_tool_call_output", "call_id": call, "output": output });
            return self.write(tick, &json!({ "type": "response_item", "payload": item }));
        }
        let at = 1 + edited.before[..edited.before.find(edited.old).unwrap()].lines().count();
        let (less, more) = (edited.old.lines().count(), edited.new.lines().count());
        let diff = format!("@@ -{at},{less} +{at},{more} @@\n{hunk}");
        let status = if is_done { "completed" } else { "failed" };
        let changes = json!({ path: { "type": "update", "unified_diff": diff, "move_path": null } });
        let item = json!({ "type": "FileChange", "id": call, "changes": changes, "status": status });
        self.write(tick, &json!({ "type": "event_msg", "payload": { "type": "item_completed", "item": item } }));
    }

    /// Edits the file, and the person goes back to before that, with all files, if the agent can do so.
    pub fn takes_back(&mut self, tick: usize, call: &str, edited: &Edited<'_>) {
        if self.format != Format::Claude {
            return;
        }
        let parent = self.parent.clone();
        self.edits(tick, call, edited, false, true);
        self.parent = parent;
        self.prompt(tick, "no, not so");
    }

    /// Commits everything, with these arguments for `git commit`, and is recorded on the commit.
    pub fn commits(&mut self, tick: usize, args: &[&str]) {
        if self.format == Format::Claude {
            let call = format!("commit-{tick}");
            self.claude_call(tick, &call, "Bash", &json!({ "command": format!("git commit {}", args.join(" ")) }));
            let id = self.session.runs_commit(args);
            let result =
                json!({ "type": "tool_result", "tool_use_id": call, "content": format!("[main {}] x", &id[..7]) });
            self.write(tick, &json!({ "type": "user", "message": { "role": "user", "content": [result] } }));
            return self.session.hook_for("PostToolUse", &call);
        }
        self.scratch.git(["add", "-A"]).ok();
        self.scratch.git([&["commit", "-q"][..], args].concat()).ok();
        self.is_recorded();
    }

    /// Records the session on HEAD by hand, unless its hooks do.
    pub fn is_recorded(&self) {
        let agent = match self.format {
            Format::Claude => return,
            Format::Codex => "--agent=codex",
            Format::Gemini => "--agent=gemini",
        };
        let (session, file) = (format!("--session={}", self.id()), self.session.transcript.to_str().unwrap());
        self.scratch.shiftlog("add", ["-q", "--force", agent, &session, "--transcript", file]).ok();
    }
}

/// Writes the file to where it is.
pub fn save(world: &World, path: &Path) {
    fs::write(path, world.file()).unwrap();
}
