//! The truth model: sessions whose every line is known, and how many of them `blame` finds.
//!
//! A seeded generator makes edits as agents make them, with what makes them hard to tell apart: anchors that an edit repeats,
//! lines that stand in many places, people who type between edits, formatters, blocks that move, edits that fail or are
//! taken back. Each line has an id of its own, which the file holds in a form that says nothing about the edit, so that the
//! truth can be read off the committed file.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use crate::support::Scratch;
use crate::why::objects;

/// A small generator of numbers that are the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.next(100) < percent
    }
}

/// Who wrote a line.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Writer {
    Base,
    Person,
    Call(String),
}

/// A line, and who wrote it. Texts repeat.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    writer: Writer,
}

/// Lines that every program has.
const COMMON: &[&str] = &["}", "", "    }", "    return Ok(());", "    let mut count = 0;", "    self.lock();", "end"];

struct World {
    numbers: Numbers,
    lines: Vec<Line>,
    fresh: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = World { numbers: Numbers(seed * 7919 + 1), lines: Vec::new(), fresh: 0 };
        for _ in 0..300 {
            let text = world.text();
            world.lines.push(Line { text, writer: Writer::Base });
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

    fn file(&self) -> String {
        self.lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }

    /// Returns where some lines stand for the first time that have these texts.
    fn first_place(&self, wanted: &[Line]) -> usize {
        let is_it = |window: &[Line]| window.iter().zip(wanted).all(|(one, other)| one.text == other.text);
        self.lines.windows(wanted.len()).position(is_it).unwrap()
    }

    /// Makes an edit as an agent does: the texts to replace and to put there. Its first and last lines may stay.
    fn edit(&mut self, writer: &Writer) -> (String, String) {
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
            let middle = (0..added).map(|_| Line { text: self.text(), writer: writer.clone() }).collect::<Vec<_>>();
            let new = [&old[..kept], &middle, &old[count - kept..]].concat();
            let new_text: String = new.iter().map(|line| format!("{}\n", line.text)).collect();
            // A line that is in both texts stays: no reader of the edit could tell.
            let ops = similar_lines(&old, &new);
            let mut written = new;
            for (before, after) in ops {
                written[after].writer = old[before].writer.clone();
            }
            self.lines.splice(start..start + count, written);
            return (text, new_text);
        }
    }

    fn person_types(&mut self) {
        let at = self.numbers.next(self.lines.len());
        let text = self.text();
        self.lines.insert(at, Line { text, writer: Writer::Person });
    }

    fn formatter(&mut self) {
        for line in &mut self.lines {
            line.text = line.text.replace("    ", "\t").replace(", ", " , ");
        }
    }

    /// Moves a block within the file, as a person does with an editor.
    fn move_block(&mut self) {
        let start = self.numbers.next(self.lines.len() - 12);
        let block: Vec<Line> = self.lines.drain(start..start + 8).collect();
        let at = self.numbers.next(self.lines.len());
        self.lines.splice(at..at, block);
    }
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

/// What happens in a session beside plain edits.
const KINDS: &[&str] = &[
    "plain",
    "person",
    "formatter",
    "moved",
    "failed",
    "two sessions",
    "patches",
    "rename",
    "rebase",
    "amend",
    "squash",
];

#[derive(Debug, Default)]
struct Score {
    right: usize,
    wrong: usize,
    /// Lines of a call for which none is named.
    unknown: usize,
    replayed: usize,
    replayed_wrong: usize,
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.unknown += other.unknown;
        self.replayed += other.replayed;
        self.replayed_wrong += other.replayed_wrong;
    }

    fn percent(part: usize, whole: usize) -> f64 {
        part as f64 * 100.0 / whole.max(1) as f64
    }

    fn shown(&self) -> String {
        let all = self.right + self.wrong + self.unknown;
        format!(
            "{all:5} lines, right {:5.1} %, wrong {:4.1} %, none named {:4.1} %, replay wrong {:4.1} % of {}",
            Self::percent(self.right, all),
            Self::percent(self.wrong, all),
            Self::percent(self.unknown, all),
            Self::percent(self.replayed_wrong, self.replayed),
            self.replayed
        )
    }
}

/// Makes a session of a kind, commits, and compares what `blame` says with the truth.
fn score(kind: &str, seed: u64) -> Score {
    let scratch = Scratch::set_up();
    let mut world = World::new(seed);
    scratch.commit("code.rs", &world.file(), "base");
    if kind == "squash" {
        scratch.git(["switch", "-q", "-c", "topic"]).ok();
    }
    let sessions = [scratch.session("first"), scratch.session("second")];
    let mut path = scratch.top.join("code.rs");
    sessions[0].prompt("work on it");
    sessions[1].prompt("work on it, too");
    for number in 0..30 {
        let session = &sessions[if kind == "two sessions" { world.numbers.next(2) } else { 0 }];
        let call = format!("call-{number}");
        if kind == "failed" && world.numbers.chance(30) {
            // The agent asks for the edit, and nothing comes of it.
            let lines = world.lines.clone();
            let (old, new) = world.edit(&Writer::Person);
            world.lines = lines;
            let failed = format!("failed-{number}");
            session.calls(&failed, "Edit", &json!({ "file_path": path, "old_string": old, "new_string": new }));
            let result = json!({ "type": "tool_result", "tool_use_id": failed, "content": "no", "is_error": true });
            let record = json!({ "type": "user", "uuid": failed, "sessionId": session.id,
                "timestamp": "2026-01-02T03:04:06Z", "message": { "role": "user", "content": [result] } });
            session.append(format!("{record}\n").as_bytes());
        }
        if kind == "person" && world.numbers.chance(50) {
            world.person_types();
        }
        let (old, new) = world.edit(&Writer::Call(call.clone()));
        let file = path.to_str().unwrap().to_owned();
        match kind {
            "patches" => {
                let lines =
                    |sign: &str, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {file}\n@@\n{}{}*** End Patch\n",
                    lines("-", &old),
                    lines("+", &new)
                );
                session.calls(&call, "apply_patch", &json!({ "input": patch }));
            }
            _ => session.calls(&call, "Edit", &json!({ "file_path": file, "old_string": old, "new_string": new })),
        }
        fs::write(&path, world.file()).unwrap();
        session.answers(&call, "done");
        if matches!(kind, "amend" | "squash") && number == 15 {
            session.commits("half of it");
        }
        if kind == "rename" && number == 15 {
            let renamed = scratch.top.join("renamed.rs");
            fs::rename(&path, &renamed).unwrap();
            path = renamed;
        }
    }
    match kind {
        "formatter" => world.formatter(),
        "moved" => world.move_block(),
        _ => {}
    }
    fs::write(&path, world.file()).unwrap();
    match kind {
        "amend" => {
            sessions[0].runs_commit(&["--amend", "-m", "all of it"]);
        }
        _ => {
            sessions[0].commits("all of it");
        }
    }
    if kind == "squash" {
        scratch.git(["switch", "-q", "main"]).ok();
        scratch.git(["merge", "-q", "--squash", "topic"]).ok();
        scratch.git(["commit", "-q", "-m", "squashed"]).ok();
    }
    if kind == "rebase" {
        scratch.git(["switch", "-q", "-c", "other", "HEAD~1"]).ok();
        scratch.commit("other.txt", "x\n", "other");
        scratch.git(["switch", "-q", "main"]).ok();
        scratch.git(["rebase", "-q", "other"]).ok();
    }
    let name = path.file_name().unwrap().to_str().unwrap();
    let head = scratch.id("HEAD");
    let mut found: BTreeMap<usize, (String, Option<String>)> = BTreeMap::new();
    for object in objects(scratch.shiftlog("blame", ["--json", name])) {
        if object["final"] == head.as_str() {
            let call = object["call"]["id"].as_str().map(str::to_owned);
            let evidence = object["evidence"].as_str().unwrap().to_owned();
            for line in object["lines"].as_array().unwrap() {
                found.insert(usize::try_from(line.as_u64().unwrap()).unwrap(), (evidence.clone(), call.clone()));
            }
        }
    }
    let mut score = Score::default();
    for (number, (evidence, call)) in &found {
        let line = &world.lines[number - 1];
        let is_replay = evidence == "replay";
        score.replayed += usize::from(is_replay);
        match (&line.writer, call) {
            (Writer::Call(writer), Some(call)) if writer == call => score.right += 1,
            (Writer::Call(_), None) => score.unknown += 1,
            // Git gives the commit a line that it only moved; that nobody's call wrote it is right.
            (Writer::Base | Writer::Person, None) => score.right += 1,
            (_, Some(_)) => {
                score.wrong += 1;
                score.replayed_wrong += usize::from(is_replay);
            }
        }
    }
    score
}

#[test]
fn nearly_all_lines_are_traced_to_the_call_that_wrote_them() {
    let mut all = Score::default();
    let mut told = String::new();
    let seeds: u64 = std::env::var("SHIFTLOG_TRUTH_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3);
    for kind in KINDS {
        let mut of_kind = Score::default();
        (1..=seeds).for_each(|seed| of_kind.add(&score(kind, seed)));
        told += &format!("{kind:14}{}\n", of_kind.shown());
        all.add(&of_kind);
    }
    told += &format!("{:14}{}\n", "all", all.shown());
    println!("{told}");
    let lines = all.right + all.wrong + all.unknown;
    assert!(lines > 1000, "there is something to find: {told}");
    assert!(Score::percent(all.right, lines) >= 95.0, "{told}");
    assert!(Score::percent(all.wrong, lines) <= 2.0, "{told}");
    assert!(Score::percent(all.replayed_wrong, all.replayed) <= 1.0, "{told}");
}

#[test]
fn the_generator_makes_the_same_of_the_same_seed() {
    let (mut one, mut other) = (World::new(5), World::new(5));
    let edits = |world: &mut World| (0..20).map(|_| world.edit(&Writer::Person)).collect::<Vec<_>>();
    assert_eq!(edits(&mut one), edits(&mut other));
    assert_ne!(World::new(6).file(), World::new(5).file());
}
