//! The truth model: sessions whose every line is known, and how many of them `blame` finds.
//!
//! A seeded generator makes edits as agents make them, with what makes them hard to tell apart: anchors that an edit repeats,
//! lines that stand in many places, people who type between edits, formatters, blocks that move, edits that fail or are
//! taken back. Lines repeat, so the file itself does not tell who wrote one; the generator knows. Each of these things happens alone
//! in a case, and together in cases that are drawn at random, always the same ones.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::Scratch;
use crate::why::objects;
use crate::why_world::{Edited, Format, Line, Speaker, World, Writer, save};

/// What becomes of the commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rewritten {
    Not,
    Amended,
    Rebased,
    Squashed,
    Picked,
}

/// What happens in a history.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    format: Format,
    /// Another session that edits the file at the same time.
    other: Option<Format>,
    /// How often the agent writes the whole file, in percent; likewise below.
    whole: usize,
    typed: usize,
    failed: usize,
    taken_back: usize,
    /// Whether the agent restores the file in the middle of it, and somebody types some of the lines again.
    is_restored: bool,
    /// How often a formatter runs between the edits, and whether it does at the end.
    formatted: usize,
    is_formatted: bool,
    is_moved: bool,
    is_renamed: bool,
    rewritten: Rewritten,
}

/// Plain edits of one session.
const PLAIN: Case = Case {
    seed: 1,
    format: Format::Claude,
    other: None,
    whole: 0,
    typed: 0,
    failed: 0,
    taken_back: 0,
    is_restored: false,
    formatted: 0,
    is_formatted: false,
    is_moved: false,
    is_renamed: false,
    rewritten: Rewritten::Not,
};

/// Each thing alone.
const ALONE: [(&str, Case); 21] = [
    ("plain", PLAIN),
    ("codex", Case { format: Format::Codex, ..PLAIN }),
    ("gemini", Case { format: Format::Gemini, ..PLAIN }),
    ("whole files", Case { whole: 40, ..PLAIN }),
    ("typed", Case { typed: 50, ..PLAIN }),
    ("typed, whole", Case { typed: 50, whole: 40, ..PLAIN }),
    ("typed, codex", Case { typed: 50, format: Format::Codex, ..PLAIN }),
    ("typed, gemini", Case { typed: 50, format: Format::Gemini, ..PLAIN }),
    ("formatter", Case { is_formatted: true, ..PLAIN }),
    ("moved", Case { is_moved: true, ..PLAIN }),
    ("failed", Case { failed: 30, ..PLAIN }),
    ("taken back", Case { taken_back: 30, ..PLAIN }),
    ("restored", Case { is_restored: true, ..PLAIN }),
    ("restored, codex", Case { is_restored: true, format: Format::Codex, ..PLAIN }),
    ("restored, gemini", Case { is_restored: true, format: Format::Gemini, other: Some(Format::Codex), ..PLAIN }),
    ("two sessions", Case { other: Some(Format::Codex), ..PLAIN }),
    ("renamed", Case { is_renamed: true, ..PLAIN }),
    ("rebased", Case { rewritten: Rewritten::Rebased, ..PLAIN }),
    ("amended", Case { rewritten: Rewritten::Amended, ..PLAIN }),
    ("squashed", Case { rewritten: Rewritten::Squashed, ..PLAIN }),
    ("picked", Case { rewritten: Rewritten::Picked, ..PLAIN }),
];

/// Draws what happens.
fn cases() -> impl Strategy<Value = Case> {
    let format = || prop_oneof![3 => Just(Format::Claude), 1 => Just(Format::Codex), 1 => Just(Format::Gemini)];
    let sometimes = |percent: usize| prop_oneof![2 => Just(0), 1 => Just(percent)];
    let rewritten = prop_oneof![
        Just(Rewritten::Not),
        Just(Rewritten::Amended),
        Just(Rewritten::Rebased),
        Just(Rewritten::Squashed),
        Just(Rewritten::Picked)
    ];
    let often = (sometimes(20), sometimes(20), sometimes(30), sometimes(30), sometimes(5));
    let is = (proptest::bool::weighted(0.3), proptest::bool::weighted(0.2), proptest::bool::weighted(0.2));
    (1..1_000_000u64, format(), proptest::option::weighted(0.3, format()), often, is, rewritten).prop_map(
        |(seed, format, other, often, is, rewritten)| {
            let (whole, typed, failed, taken_back, formatted) = often;
            let (is_formatted, is_moved, is_renamed) = is;
            Case {
                seed,
                format,
                other,
                whole,
                typed,
                failed,
                taken_back,
                is_restored: seed.is_multiple_of(5),
                formatted,
                is_formatted,
                is_moved,
                is_renamed,
                rewritten,
            }
        },
    )
}

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

/// Makes the history of a case, and compares what `blame` says with the truth.
fn score(case: Case) -> Score {
    let scratch = Scratch::set_up();
    let mut world = World::new(case.seed);
    scratch.commit("code.rs", &world.file(), "base");
    if matches!(case.rewritten, Rewritten::Squashed | Rewritten::Picked) {
        scratch.git(["switch", "-q", "-c", "topic"]).ok();
    }
    let formats = [Some(case.format), case.other];
    let formats = formats.into_iter().flatten().enumerate();
    let mut speakers: Vec<Speaker<'_>> =
        formats.map(|(at, format)| Speaker::new(&scratch, format, ["first", "second"][at])).collect();
    let mut path = scratch.top.join("code.rs");
    let base = world.lines.clone();
    speakers.iter_mut().for_each(|speaker| speaker.prompt(0, "work on it"));
    for tick in 1..=30 {
        let at = world.numbers.next(speakers.len());
        let speaker = &mut speakers[at];
        // What is asked for and does not come about.
        for (percent, is_taken_back) in [(case.failed, false), (case.taken_back, true)] {
            if !world.numbers.chance(percent) {
                continue;
            }
            let (lines, before) = (world.lines.clone(), world.file());
            let (old, new) = world.edit(&Writer::Person);
            let after = world.file();
            world.lines = lines;
            let edited = Edited { path: &path, old: &old, new: &new, before: &before, after: &after };
            let call = format!("{}-{tick}", if is_taken_back { "back" } else { "failed" });
            match is_taken_back {
                true => speaker.takes_back(tick, &call, &edited),
                false => speaker.edits(tick, &call, &edited, false, false),
            }
        }
        if case.is_restored && tick == 10 {
            let undone = std::mem::replace(&mut world.lines, base.clone());
            speaker.restores(tick, &path);
            let is_of_call = |line: &&Line| matches!(line.writers[..], [Writer::Call(_)]) && line.text.len() > 12;
            undone.iter().filter(is_of_call).take(1).for_each(|line| world.person_types_again(&line.text));
        }
        if world.numbers.chance(case.typed) {
            world.person_types();
        }
        if world.numbers.chance(case.formatted) {
            world.formatter();
        }
        let (call, before) = (format!("call-{tick}"), world.file());
        let (old, new) = world.edit(&Writer::Call(call.clone()));
        let after = world.file();
        let edited = Edited { path: &path, old: &old, new: &new, before: &before, after: &after };
        let is_whole = world.numbers.chance(case.whole);
        speaker.edits(tick, &call, &edited, is_whole, true);
        save(&world, &path);
        if tick == 15 && matches!(case.rewritten, Rewritten::Amended | Rewritten::Squashed) {
            speakers[0].commits(tick, &["-m", "half of it"]);
            speakers[1..].iter().for_each(Speaker::is_recorded);
        }
        if case.is_renamed && tick == 16 {
            let renamed = scratch.top.join("renamed.rs");
            fs::rename(&path, &renamed).unwrap();
            path = renamed;
        }
    }
    if case.is_formatted {
        world.formatter();
    }
    if case.is_moved {
        world.move_block();
    }
    save(&world, &path);
    match case.rewritten {
        Rewritten::Amended => speakers[0].commits(31, &["--amend", "-m", "all of it"]),
        _ => speakers[0].commits(31, &["-m", "all of it"]),
    }
    speakers[1..].iter().for_each(Speaker::is_recorded);
    match case.rewritten {
        Rewritten::Not | Rewritten::Amended => {}
        Rewritten::Squashed => {
            scratch.git(["switch", "-q", "main"]).ok();
            scratch.git(["merge", "-q", "--squash", "topic"]).ok();
            scratch.git(["commit", "-q", "-m", "squashed"]).ok();
        }
        Rewritten::Picked => {
            scratch.git(["switch", "-q", "main"]).ok();
            scratch.commit("other.txt", "x\n", "other");
            scratch.git(["cherry-pick", "topic"]).ok();
        }
        Rewritten::Rebased => {
            scratch.git(["switch", "-q", "-c", "other", "HEAD~1"]).ok();
            scratch.commit("other.txt", "x\n", "other");
            scratch.git(["switch", "-q", "main"]).ok();
            scratch.git(["rebase", "-q", "other"]).ok();
        }
    }
    compare(&scratch, &world, path.file_name().unwrap().to_str().unwrap())
}

/// Counts the lines of the last commit by whether `blame` names the call that wrote them.
fn compare(scratch: &Scratch, world: &World, name: &str) -> Score {
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
        let is_right = match call {
            Some(call) => line.writers.contains(&Writer::Call(call.clone())),
            // Git gives the commit a line that it only moved; that nobody's call wrote it is right.
            None => line.writers.iter().any(|writer| matches!(writer, Writer::Base | Writer::Person)),
        };
        match call {
            _ if is_right => score.right += 1,
            None => score.unknown += 1,
            Some(call) => {
                let is_of_nothing = call.starts_with("failed") || call.starts_with("back");
                assert!(!(is_replay && is_of_nothing), "{call} wrote nothing");
                score.wrong += 1;
                score.replayed_wrong += usize::from(is_replay);
            }
        }
    }
    score
}

#[track_caller]
fn assert_good(score: &Score, told: &str) {
    let lines = score.right + score.wrong + score.unknown;
    assert!(Score::percent(score.right, lines) >= 95.0, "{told}");
    assert!(Score::percent(score.wrong, lines) <= 2.0, "{told}");
    assert!(Score::percent(score.replayed_wrong, score.replayed) <= 1.0, "{told}");
}

/// How many times each is tried; more of them, with `SHIFTLOG_TRUTH_SEEDS`, are for measuring.
fn rounds() -> u64 {
    std::env::var("SHIFTLOG_TRUTH_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1)
}

#[test]
fn nearly_all_lines_are_traced_to_the_call_that_wrote_them_whatever_happens() {
    let (mut all, mut told, mut kinds) = (Score::default(), String::new(), Vec::new());
    for (number, (name, case)) in ALONE.into_iter().enumerate() {
        let mut of_kind = Score::default();
        let seeds = (1..=rounds()).map(|round| 100 * round + number as u64);
        seeds.for_each(|seed| of_kind.add(&score(Case { seed, ..case })));
        told += &format!("{name:14}{}\n", of_kind.shown());
        all.add(&of_kind);
        kinds.push(of_kind);
    }
    told += &format!("{:14}{}\n", "all", all.shown());
    println!("{told}");
    assert!(all.replayed > 1000, "there is something to find: {told}");
    // The sum could hide a kind of history.
    kinds.iter().chain([&all]).for_each(|score| assert_good(score, &told));
}

#[test]
fn nearly_all_lines_are_traced_when_much_happens_at_once() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut all, mut told) = (Score::default(), String::new());
    for _ in 0..16 * rounds() {
        let case = cases().new_tree(&mut runner).unwrap().current();
        let of_case = score(case);
        told += &format!("{}  {case:?}\n", of_case.shown());
        all.add(&of_case);
    }
    told += &format!("{}  all\n", all.shown());
    println!("{told}");
    assert!(all.replayed > 1000, "there is something to find: {told}");
    assert_good(&all, &told);
}

#[test]
fn the_generator_makes_the_same_of_the_same_seed() {
    let (mut one, mut other) = (World::new(5), World::new(5));
    let edits = |world: &mut World| (0..20).map(|_| world.edit(&Writer::Person)).collect::<Vec<_>>();
    assert_eq!(edits(&mut one), edits(&mut other));
    assert_ne!(World::new(6).file(), World::new(5).file());
}
