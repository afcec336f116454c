//! The promise that nothing is lost, tried at random: several clones of one server record, rewrite, merge, collect
//! garbage and die, and afterwards each of them has every conversation.
//!
//! `SHIFTLOG_MODEL_SECS` says for how long runs are started, `SHIFTLOG_MODEL_SEED` repeats one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sharing::{Team, line};

/// How many things happen in one run.
const ROUNDS: u32 = 200;
/// Where a process of ours can die.
const FAULTS: &[&str] = &["segment-written", "archived", "objects-written", "commit-written", "ref-moved", "recorded"];

/// SplitMix64: the same numbers for the same seed, on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

struct Model {
    team: Team,
    clones: Vec<PathBuf>,
    random: Random,
    ticks: u32,
    count: u32,
    /// What was said, by the file that the commit adds it was said for.
    said: BTreeMap<String, Vec<String>>,
    happened: Vec<String>,
}

impl Model {
    fn new(seed: u64, clones: usize) -> Self {
        let team = Team::new();
        let clones = (0..clones).map(|number| team.clone_of(&format!("clone{number}"), &[])).collect();
        Model { team, clones, random: Random(seed), ticks: 0, count: 0, said: BTreeMap::new(), happened: Vec::new() }
    }

    fn tick(&mut self) {
        self.ticks += 1;
        let date =
            format!("2026-01-{:02}T{:02}:{:02}:00Z", 3 + self.ticks / 1440, self.ticks / 60 % 24, self.ticks % 60);
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            self.team.scratch.env.insert(name.into(), date.clone());
        }
    }

    fn happens(&mut self, clone: &Path, what: &str) {
        self.happened.push(format!("{}: {what}", clone.file_name().unwrap().display()));
    }

    fn git(&self, clone: &Path, args: &[&str]) {
        let ran = self.team.git(clone, args);
        assert_eq!(ran.code, 0, "git {args:?}: {ran:?}\n{}", self.happened.join("\n"));
    }

    fn shiftlog(&self, clone: &Path, name: &str, args: &[&str]) {
        let ran = self.team.shiftlog(clone, name, args);
        assert_eq!(ran.code, 0, "git shiftlog {name} {args:?}: {ran:?}\n{}", self.happened.join("\n"));
    }

    /// Says something about HEAD, which adds `file`. Sometimes the process dies, and the person does it again.
    fn say(&mut self, clone: &Path, file: &str) {
        self.count += 1;
        let words = format!("words {}", self.count);
        self.happens(clone, &format!("{words} about {file}"));
        let said = clone.join(".git/said");
        fs::write(&said, line(&words)).unwrap();
        let session = words.replace(' ', "-");
        let args = ["HEAD", "--transcript", said.to_str().unwrap(), "--session", &session, "-q"];
        let dies = self.random.below(5) == 0;
        if dies {
            let fault = *self.random.pick(FAULTS);
            self.happens(clone, &format!("dies at {fault}"));
            self.team.scratch.env.insert("SHIFTLOG_FAULT".into(), fault.into());
            self.team.shiftlog(clone, "add", &args);
            self.team.scratch.env.remove("SHIFTLOG_FAULT");
        }
        let ran = self.team.shiftlog(clone, "add", &args);
        // Whoever died late had done it all.
        assert!(ran.code == 0 || (dies && ran.code == 1), "{ran:?}\n{}", self.happened.join("\n"));
        self.said.entry(file.to_owned()).or_default().push(words);
    }

    fn commit(&mut self, clone: &Path) -> String {
        self.tick();
        self.count += 1;
        let file = format!("file{}", self.count);
        fs::write(clone.join(&file), format!("{file}\n")).unwrap();
        self.git(clone, &["add", &file]);
        self.git(clone, &["commit", "-q", "-m", &format!("add {file}")]);
        file
    }

    fn record(&mut self, clone: &Path) {
        let file = self.commit(clone);
        self.say(clone, &file);
    }

    /// Returns the files that commits beyond the server's branch add, the newest first.
    fn unpushed(&self, clone: &Path) -> Vec<String> {
        let listed =
            self.team.git(clone, &["log", "--format=", "--name-only", "--diff-filter=A", "origin/main..HEAD"]).ok();
        listed.lines().map(str::to_owned).collect()
    }

    fn integrate(&mut self, clone: &Path) {
        self.tick();
        self.git(clone, &["pull", "-q", "--rebase", "origin", "main"]);
        self.git(clone, &["push", "-q", "--no-verify", "origin", "main"]);
    }

    /// A branch with two commits comes back as one, or picked one by one, and is deleted.
    fn topic(&mut self, clone: &Path, is_squash: bool) {
        self.git(clone, &["switch", "-q", "-c", "topic"]);
        self.record(clone);
        self.record(clone);
        self.git(clone, &["switch", "-q", "main"]);
        if self.random.below(2) == 0 {
            self.record(clone);
        }
        self.tick();
        if is_squash {
            self.git(clone, &["merge", "-q", "--squash", "topic"]);
            self.git(clone, &["commit", "-q", "-m", "squash"]);
        } else {
            self.git(clone, &["cherry-pick", "main..topic"]);
        }
        self.shiftlog(clone, "remap", &["-q"]);
        self.git(clone, &["branch", "-q", "-D", "topic"]);
    }

    fn step(&mut self) {
        let clone = self.random.pick(&self.clones).clone();
        match self.random.below(16) {
            0..=3 => self.record(&clone),
            4 => {
                if let Some(file) = self.unpushed(&clone).first().cloned() {
                    self.say(&clone, &file);
                }
            }
            5 | 6 => {
                self.happens(&clone, "sync");
                self.shiftlog(&clone, "sync", &["-q"]);
            }
            7 => {
                let fault = *self.random.pick(FAULTS);
                self.happens(&clone, &format!("sync that dies at {fault}"));
                self.team.scratch.env.insert("SHIFTLOG_FAULT".into(), fault.into());
                self.team.shiftlog(&clone, "sync", &["-q"]);
                self.team.scratch.env.remove("SHIFTLOG_FAULT");
            }
            8 | 9 => {
                self.happens(&clone, "pull --rebase and push");
                self.integrate(&clone);
            }
            10 => {
                if !self.unpushed(&clone).is_empty() {
                    self.happens(&clone, "amend");
                    self.tick();
                    self.git(&clone, &["commit", "-q", "--amend", "-m", "amended"]);
                }
            }
            11 => {
                self.happens(&clone, "squash");
                self.topic(&clone, true);
            }
            12 => {
                self.happens(&clone, "pick");
                self.topic(&clone, false);
            }
            13 => {
                self.happens(&clone, "gc");
                self.git(&clone, &["reflog", "expire", "--expire=now", "--all"]);
                self.git(&clone, &["gc", "-q", "--prune=now"]);
            }
            14 => {
                self.happens(&clone, "git notes merge");
                let refs = "+refs/notes/shiftlog:refs/notes/theirs";
                if self.team.git(&clone, &["fetch", "-q", "origin", refs]).code == 0 {
                    let has_ours =
                        self.team.git(&clone, &["rev-parse", "-q", "--verify", "refs/notes/shiftlog"]).code == 0;
                    if has_ours {
                        let args =
                            ["notes", "--ref=shiftlog", "merge", "-q", "-s", "cat_sort_uniq", "refs/notes/theirs"];
                        self.git(&clone, &args);
                    }
                    self.git(&clone, &["update-ref", "-d", "refs/notes/theirs"]);
                }
            }
            _ => {
                self.happened.push("all sync at once".into());
                let (team, clones) = (&self.team, &self.clones);
                std::thread::scope(|scope| {
                    for clone in clones {
                        scope.spawn(move || team.shiftlog(clone, "sync", &["-q"]).ok());
                    }
                });
            }
        }
    }

    /// Lets everybody exchange everything, and looks for every word in every clone.
    fn check(&mut self) {
        for _ in 0..2 {
            for clone in self.clones.clone() {
                self.integrate(&clone);
                self.shiftlog(&clone, "sync", &["-q"]);
            }
        }
        for clone in &self.clones {
            self.git(clone, &["fsck", "--strict", "--no-dangling"]);
            self.shiftlog(clone, "fsck", &["-q"]);
            let listed = self.team.git(clone, &["log", "--format=commit %H", "--name-only", "--diff-filter=A"]).ok();
            let mut commit = "";
            let mut shown: BTreeMap<&str, String> = BTreeMap::new();
            let mut found = 0;
            for each in listed.lines() {
                if let Some(id) = each.strip_prefix("commit ") {
                    commit = id;
                } else if let Some(said) = self.said.get(each) {
                    found += 1;
                    let text = shown.entry(commit).or_insert_with(|| self.team.raw(clone, commit).stdout);
                    for words in said {
                        assert!(
                            text.contains(&line(words)),
                            "'{words}' about {each} is lost in {} on {commit}:\n{text}\n{}",
                            clone.display(),
                            self.happened.join("\n")
                        );
                    }
                }
            }
            assert_eq!(found, self.said.len(), "every file is in the history that all share");
        }
    }
}

fn run(seed: u64) {
    let clones = if seed.is_multiple_of(2) { 2 } else { 8 };
    println!("SHIFTLOG_MODEL_SEED={seed}: {clones} clones");
    let mut model = Model::new(seed, clones);
    for _ in 0..ROUNDS {
        model.step();
    }
    model.check();
}

#[test]
fn nothing_is_lost_whatever_several_clones_do() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    if let Some(seed) = variable("SHIFTLOG_MODEL_SEED") {
        return run(seed);
    }
    let end = Instant::now() + Duration::from_secs(variable("SHIFTLOG_MODEL_SECS").unwrap_or(0));
    let mut seed = u64::from(std::process::id()) << 20
        | u64::from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_micros());
    loop {
        run(seed);
        seed = seed.wrapping_add(1);
        if Instant::now() >= end {
            return;
        }
    }
}
