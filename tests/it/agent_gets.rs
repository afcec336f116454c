//! What an agent gets from the server, measured without a model: on generated histories, do `shiftlog_search` and
//! `shiftlog_why` find the right turn, in few words, and nothing where there is nothing?
//!
//! `cargo test --test it -- --ignored --nocapture what_an_agent_gets` prints the figures of larger histories.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::made::Made;
use crate::support::{Scratch, feed};

/// How many characters count as a token.
const TOKEN_CHARS: usize = 4;
/// The budgets of an agent, in tokens.
const BUDGETS: [usize; 3] = [300, 500, 1000];

const COMPONENTS: &[&str] = &[
    "parser",
    "scheduler",
    "uploader",
    "tokenizer",
    "renderer",
    "mailer",
    "indexer",
    "watcher",
    "router",
    "importer",
    "billing",
    "webhook",
    "thumbnail",
    "exporter",
    "gateway",
    "installer",
    "translator",
    "sitemap",
    "calendar",
    "archiver",
    "profiler",
    "notifier",
    "sandbox",
    "crawler",
    "formatter",
    "dispatcher",
    "downloader",
    "validator",
    "registry",
    "ledger",
    "planner",
    "balancer",
    "compiler",
    "linker",
    "loader",
    "resolver",
    "mirror",
    "telemetry",
    "checkout",
    "signup",
];
const ASPECTS: &[&str] = &[
    "timeout",
    "retry",
    "encoding",
    "ordering",
    "locking",
    "memory",
    "pagination",
    "rounding",
    "escaping",
    "validation",
    "caching",
    "logging",
    "quota",
    "rollback",
    "throttling",
    "signature",
    "compression",
    "timezone",
    "duplicates",
    "deadlock",
];
/// What another repository is about.
const FOREIGN: &[&str] = &[
    "shader",
    "mesh",
    "skybox",
    "raycast",
    "tilemap",
    "joystick",
    "physics",
    "sprite",
    "lighting",
    "animation",
    "camera",
    "collision",
    "inventory",
    "dialogue",
    "quest",
    "savegame",
    "minimap",
    "particle",
    "terrain",
    "multiplayer",
];
const SYMPTOMS: &[&str] = &[
    "it breaks when two users work at once",
    "customers complained about it yesterday",
    "it fails on large files",
    "the numbers do not add up",
    "it is far too slow on Mondays",
    "nobody knows why it behaves like that",
];
const VERBS: &[&str] = &["rework", "tighten", "simplify", "fix", "revisit", "adjust", "clean up", "extend"];
const EXTRAS: &[&str] = &["handling", "for windows", "once more", "in the nightly build", "path", "and its tests", ""];
/// What is said about anything.
const TALK: &[&str] = &[
    "I want to rework this once more before the release.",
    "Maybe we should tighten the handling first.",
    "Let me simplify it, and fix the tests.",
    "We revisit that path later.",
    "I adjust the nightly build.",
    "First I clean up what is there.",
    "It is easy to extend for windows.",
    "Nothing else changes.",
];
const WAYS: &[&str] =
    &["a bounded", "a single", "an explicit", "a lazy", "a sorted", "a shared", "a private", "a versioned"];
const THINGS: &[&str] =
    &["table", "worker", "window", "counter", "ledger", "token", "snapshot", "barrier", "journal", "budget"];
const FILLER: &[&str] = &[
    "def main(args):",
    "    return value",
    "import os",
    "class Config:",
    "    self.items = []",
    "for item in items:",
    "        raise ValueError(item)",
    "if __name__ == '__main__':",
    "    print(result)",
    "# see the documentation",
];

/// A turn about one aspect of a component, in which something was decided.
struct Planted {
    commit: String,
    turn: usize,
    component: usize,
    aspect: usize,
    /// Words that are nowhere else.
    decision: String,
    /// The line that the turn wrote.
    line: String,
}

struct History {
    scratch: Scratch,
    planted: Vec<Planted>,
    /// What was said in each commit's session: the texts of each turn.
    said: BTreeMap<String, Vec<String>>,
    /// The commits of each component, oldest first.
    commits: BTreeMap<usize, Vec<String>>,
}

fn path(component: usize) -> String {
    format!("src/{}.py", COMPONENTS[component])
}

impl History {
    /// Makes a history: each commit has a session of several turns about one component, with files read in between that
    /// mention others.
    fn new(seed: u64, count: usize) -> Self {
        let mut scratch = Scratch::new();
        let mut made = Made::new(seed);
        let (mut planted, mut said, mut commits) = (Vec::new(), BTreeMap::new(), BTreeMap::<usize, Vec<String>>::new());
        let mut files: BTreeMap<usize, String> = BTreeMap::new();
        for number in 0..count {
            let component = made.below(COMPONENTS.len());
            let name = COMPONENTS[component];
            let file = files.entry(component).or_insert_with(|| "# end\n".to_owned());
            let (mut lines, mut turns, mut new) = (String::new(), Vec::new(), Vec::new());
            let mut aspects: Vec<usize> = (0..ASPECTS.len()).collect();
            let turn_count = 4 + made.below(4);
            for turn in 1..=turn_count {
                let aspect = aspects.swap_remove(made.below(aspects.len()));
                let about = ASPECTS[aspect];
                let prompt = match turn {
                    1 => format!("Have a look at the {name} and tell me what you think of it."),
                    _ if turn == turn_count => "Now run the tests, please, and commit.".to_owned(),
                    _ => format!("The {name} has a problem with {about}: {}. {}", made.one(SYMPTOMS), made.one(TALK)),
                };
                let mut text = format!("{prompt}\n");
                record(&mut lines, "user", json!([{ "type": "text", "text": prompt }]));
                let read: Vec<String> = (0..20 + made.below(30)).map(|_| line_of_code(&mut made)).collect();
                let call = format!("r{number}-{turn}");
                let input =
                    json!({ "file_path": format!("{}/{}", scratch.top.display(), path(made.below(COMPONENTS.len()))) });
                record(
                    &mut lines,
                    "assistant",
                    json!([{ "type": "tool_use", "id": call, "name": "Read", "input": input }]),
                );
                let result = json!([{ "type": "tool_result", "tool_use_id": call, "content": read.join("\n") }]);
                record(&mut lines, "user", result);
                let _ = writeln!(text, "{}", read.join("\n"));
                if (2..turn_count).contains(&turn) {
                    let code = format!("{}{number}x{turn}", made.run('L', 6));
                    let decision = format!("{} {} {code}", made.one(WAYS), made.one(THINGS));
                    let answer = format!(
                        "I have read the code.\n\nFor {about} the {name} gets {decision}, because {}.\n{}",
                        made.one(SYMPTOMS),
                        made.one(TALK)
                    );
                    record(&mut lines, "assistant", json!([{ "type": "text", "text": answer }]));
                    let line = format!("{about}_{number}_{turn} = {}", made.below(1000));
                    let (old, fresh) = ("# end", format!("{line}\n# end"));
                    *file = file.replace(old, &fresh);
                    let input = json!({ "file_path": format!("{}/{}", scratch.top.display(), path(component)),
                        "old_string": old, "new_string": fresh });
                    let call = format!("e{number}-{turn}");
                    record(
                        &mut lines,
                        "assistant",
                        json!([{ "type": "tool_use", "id": call, "name": "Edit", "input": input }]),
                    );
                    record(
                        &mut lines,
                        "user",
                        json!([{ "type": "tool_result", "tool_use_id": call, "content": "done" }]),
                    );
                    let _ = writeln!(text, "{answer}");
                    new.push(Planted { commit: String::new(), turn, component, aspect, decision, line });
                } else {
                    let answer = format!("All is as it should be. {} {}", made.one(TALK), made.one(TALK));
                    record(&mut lines, "assistant", json!([{ "type": "text", "text": answer }]));
                    let _ = writeln!(text, "{answer}");
                }
                turns.push(text);
            }
            let hour = format!("2026-01-{:02}T{:02}:{:02}:00Z", 1 + number / 1440 % 28, number / 60 % 24, number % 60);
            for variable in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
                scratch.env.insert(variable.into(), hour.clone());
            }
            let commit = scratch.commit(&path(component), file, &format!("work on part {number}"));
            let transcript = scratch.root().join("t.jsonl");
            fs::write(&transcript, lines).unwrap();
            let session = format!("--session=s{number}");
            scratch.shiftlog("add", ["-q", &session, "--transcript", transcript.to_str().unwrap(), &commit]).ok();
            planted.extend(new.into_iter().map(|one| Planted { commit: commit.clone(), ..one }));
            said.insert(commit.clone(), turns);
            commits.entry(component).or_default().push(commit);
        }
        History { scratch, planted, said, commits }
    }

    /// Calls tools of the server, one after the other, and returns their answers.
    fn call(&self, calls: &[(&str, Value)]) -> Vec<Value> {
        let ask = |id: usize, method: &str, params: Value| {
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
        };
        let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let mut input = ask(0, "initialize", client);
        for (number, (tool, arguments)) in calls.iter().enumerate() {
            input += &ask(number + 1, "tools/call", json!({ "name": tool, "arguments": arguments }));
        }
        let ran = feed(&mut self.scratch.command("git-shiftlog-mcp", &self.scratch.top), input.as_bytes());
        let mut answers: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        answers.sort_by_key(|answer| answer["id"].as_u64());
        assert_eq!(answers.len(), calls.len() + 1, "{}", ran.stderr);
        answers.remove(0);
        let result = |answer: Value| {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            answer["result"].clone()
        };
        answers.into_iter().map(result).collect()
    }
}

fn record(lines: &mut String, role: &str, content: Value) {
    let message = json!({ "type": role, "message": { "role": role, "content": content } });
    let _ = writeln!(lines, "{message}");
}

/// Returns a line of a file that was read; now and then it mentions some component and some aspect.
fn line_of_code(made: &mut Made) -> String {
    match made.below(40) {
        0 => format!("# {} of the {}", made.one(ASPECTS), made.one(COMPONENTS)),
        1 => format!("from {} import {}", made.one(COMPONENTS), made.one(ASPECTS)),
        _ => (*made.one(FILLER)).to_owned(),
    }
}

/// Returns the subject of a later commit.
fn subject(made: &mut Made, component: &str, aspect: &str) -> String {
    let (verb, extra) = (*made.one(VERBS), *made.one(EXTRAS));
    match made.below(3) {
        0 => format!("{component}: {verb} {aspect} {extra}"),
        1 => format!("{verb} the {aspect} of the {component} {extra}"),
        _ => format!("{verb} {component} {aspect} {extra}"),
    }
}

/// The words of an answer, as an agent sees them.
fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Says whether a text has some words within a number of tokens.
fn has_within(text: &str, words: &str, tokens: usize) -> bool {
    text.char_indices().nth(tokens * TOKEN_CHARS).map_or(text, |(end, _)| &text[..end]).contains(words)
}

/// Shares, from 0 to 1.
#[derive(Debug)]
struct Figures {
    recall_1: f64,
    recall_3: f64,
    /// Questions about another repository that were answered.
    false_answers: f64,
    /// Decisions that are within each budget.
    why: [f64; 3],
    search: [f64; 3],
    newest_turn: [f64; 3],
    whole_session: [f64; 3],
    /// Answers about files that were changed since and that say so.
    marked: f64,
}

/// Measures some of the planted turns of a history.
fn measure(history: &History, seed: u64, count: usize) -> Figures {
    let mut made = Made::new(seed);
    let chosen: Vec<&Planted> = (0..count).map(|_| made.one(&history.planted)).collect();
    let share = |found: usize, of: usize| found as f64 / of.max(1) as f64;
    let of_chosen = |is_found: &dyn Fn(usize) -> bool| share((0..count).filter(|at| is_found(*at)).count(), count);

    let asked: Vec<_> = chosen
        .iter()
        .map(|one| {
            let query = subject(&mut made, COMPONENTS[one.component], ASPECTS[one.aspect]);
            ("shiftlog_search", json!({ "query": query, "path": path(one.component) }))
        })
        .collect();
    let found = history.call(&asked);
    // Several turns of the history can be about the same.
    let fits = |hit: &Value, one: &Planted| {
        let is_it = |other: &&Planted| {
            hit["sha"] == other.commit.as_str() && hit["turn"] == other.turn && other.aspect == one.aspect
        };
        history.planted.iter().find(is_it).is_some_and(|other| other.component == one.component)
    };
    let hits = |at: usize| found[at]["structuredContent"]["matches"].as_array().unwrap();
    let recall = |k: usize| of_chosen(&|at| hits(at).iter().take(k).any(|hit| fits(hit, chosen[at])));

    let foreign: Vec<_> = (0..count)
        .map(|_| {
            let (component, aspect) = (*made.one(FOREIGN), *made.one(FOREIGN));
            // Some words are the same in all repositories.
            let aspect = if made.below(4) == 0 { *made.one(ASPECTS) } else { aspect };
            ("shiftlog_search", json!({ "query": subject(&mut made, component, aspect) }))
        })
        .collect();
    let surfaced = history.call(&foreign);
    let is_answer = |at: usize| !surfaced[at]["structuredContent"]["matches"].as_array().unwrap().is_empty();

    // The last line that is about the same, which the turn wrote.
    let line_of = |one: &Planted| {
        let content = fs::read_to_string(history.scratch.top.join(path(one.component))).unwrap();
        content.lines().position(|line| line == one.line).unwrap() + 1
    };
    let whys: Vec<_> = chosen
        .iter()
        .map(|one| ("shiftlog_why", json!({ "path": path(one.component), "line": line_of(one) })))
        .collect();
    let whys = history.call(&whys);

    // An agent that has no line asks for words, and reads on at the best answer.
    let precise: Vec<_> = chosen
        .iter()
        .map(|one| {
            let query = format!("why {} {}", COMPONENTS[one.component], ASPECTS[one.aspect]);
            ("shiftlog_search", json!({ "query": query, "path": path(one.component), "limit": 1 }))
        })
        .collect();
    let best = history.call(&precise);
    let first = |at: usize| best[at]["structuredContent"]["matches"].get(0);
    let further: Vec<_> = (0..count)
        .map(|at| match first(at) {
            Some(hit) => json!({ "commit_sha": hit["sha"], "session": hit["sessionId"], "incremental": true,
                "offset": hit["messageOffset"], "limit": 4, "format": "markdown" }),
            None => json!({ "commit_sha": "HEAD" }),
        })
        .map(|arguments| ("shiftlog_get_conversation", arguments))
        .collect();
    let further = history.call(&further);
    let searched = |at: usize| {
        let transcript = further[at]["structuredContent"]["transcript"].as_str().unwrap_or_default();
        format!("{}{transcript}", text(&best[at]))
    };
    // Several turns of the history can have decided about the same.
    let has_decision = |text: &str, one: &Planted, tokens: usize| {
        let is_same = |other: &&Planted| (other.component, other.aspect) == (one.component, one.aspect);
        history.planted.iter().filter(is_same).any(|other| has_within(text, &other.decision, tokens))
    };
    let newest = |one: &Planted| history.commits[&one.component].last().unwrap();
    let within = |has: &dyn Fn(usize, usize) -> bool| BUDGETS.map(|tokens| of_chosen(&|at| has(at, tokens)));

    let head = |sha: &str, component: usize| {
        let range = format!("{sha}..HEAD");
        let count = history.scratch.git(["rev-list", "--count", &range, "--", &path(component)]).ok();
        count.trim().parse::<u64>().unwrap()
    };
    let told: Vec<(u64, &Value)> = (0..count)
        .flat_map(|at| hits(at).iter().map(move |hit| (at, hit)))
        .map(|(at, hit)| (head(hit["sha"].as_str().unwrap(), chosen[at].component), &hit["fileChangesSince"]))
        .collect();
    let stale = || told.iter().filter(|(changes, _)| *changes > 0);
    let marked = stale().filter(|(changes, told)| **told == json!(changes)).count();
    Figures {
        recall_1: recall(1),
        recall_3: recall(3),
        false_answers: of_chosen(&is_answer),
        why: within(&|at, tokens| has_within(text(&whys[at]), &chosen[at].decision, tokens)),
        search: within(&|at, tokens| has_decision(&searched(at), chosen[at], tokens)),
        newest_turn: within(&|at, tokens| {
            let turns = &history.said[newest(chosen[at])];
            has_decision(turns.last().unwrap(), chosen[at], tokens)
        }),
        whole_session: within(&|at, tokens| {
            has_decision(&history.said[&chosen[at].commit].concat(), chosen[at], tokens)
        }),
        marked: share(marked, stale().count()),
    }
}

#[track_caller]
fn assert_good(figures: &Figures) {
    assert!(figures.recall_1 >= 0.35 && figures.recall_3 >= 0.5, "{figures:#?}");
    assert!(figures.false_answers <= 0.05, "{figures:#?}");
    assert!(figures.marked >= 1.0, "{figures:#?}");
    for at in 0..BUDGETS.len() {
        let baseline = figures.newest_turn[at].max(figures.whole_session[at]);
        assert!(figures.why[at] > baseline && figures.search[at] > baseline, "{figures:#?}");
    }
    assert!(figures.why[1] >= 0.95 && figures.search[2] >= 0.8, "{figures:#?}");
}

#[test]
fn an_agent_gets_the_right_turn_in_few_words_and_nothing_where_there_is_nothing() {
    let history = History::new(3, 40);
    assert_good(&measure(&history, 5, 40));
}

#[test]
#[ignore = "it prints figures of larger histories, which takes a minute"]
fn what_an_agent_gets() {
    for seed in 1..=3 {
        let history = History::new(seed, 250);
        let figures = measure(&history, seed + 100, 200);
        println!("seed {seed}: {figures:#?}");
        assert_good(&figures);
    }
}
