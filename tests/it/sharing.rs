//! What sharing promises: a server and several clones, with real Git between them.

mod levels;
mod servers;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::Daemon;
use crate::support::{Ran, Scratch};

/// A bare repository that stands for the server, and clones of it.
pub struct Team {
    pub scratch: Scratch,
    pub server: PathBuf,
}

pub fn line(text: &str) -> String {
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": text } }))
}

impl Team {
    pub fn new() -> Self {
        Self::with(&[])
    }

    /// Makes one whose repositories are made with options for `git init`.
    pub fn with(init_options: &[&str]) -> Self {
        let scratch = Scratch::with(init_options);
        let server = scratch.root().join("server.git");
        scratch.git(["clone", "-q", "--bare", ".", server.to_str().unwrap()]).ok();
        Team { scratch, server }
    }

    /// Makes a clone, set up to share everything.
    pub fn clone_of(&self, name: &str, options: &[&str]) -> PathBuf {
        let clone = self.bare_clone(name, options);
        self.shiftlog(&clone, "init", &["--agent=claude", "--share=all", "-q"]).ok();
        clone
    }

    /// Makes two clones: the first one has recorded these words and shared them.
    pub fn clones_after(&self, words: &str) -> [PathBuf; 2] {
        let clones = ["a", "b"].map(|name| self.clone_of(name, &[]));
        self.commit(&clones[0], "x", "1\n", words);
        self.git(&clones[0], &["push", "-q", "--no-verify"]).ok();
        self.shiftlog(&clones[0], "sync", &["-q"]).ok();
        clones
    }

    /// Makes a clone without our program in it.
    pub fn bare_clone(&self, name: &str, options: &[&str]) -> PathBuf {
        let clone = self.scratch.root().join(name);
        let url = format!("file://{}", self.server.display());
        let args = [&["clone", "-q"], options, &[&url, clone.to_str().unwrap()]].concat();
        self.scratch.git(args).ok();
        // Reading a commit must not do what the hooks and commands under test have to do.
        self.git(&clone, &["config", "shiftlog.carryOnRead", "false"]).ok();
        clone
    }

    pub fn git(&self, clone: &Path, args: &[&str]) -> Ran {
        self.scratch.git_in(clone, args)
    }

    pub fn shiftlog(&self, clone: &Path, name: &str, args: &[&str]) -> Ran {
        self.scratch.shiftlog_in(clone, name, args)
    }

    pub fn id(&self, clone: &Path, revision: &str) -> String {
        self.git(clone, &["rev-parse", "--verify", revision]).ok().trim().to_owned()
    }

    /// Commits a change and attaches a conversation of one line to it. Returns the commit.
    pub fn commit(&self, clone: &Path, path: &str, text: &str, words: &str) -> String {
        fs::write(clone.join(path), text).unwrap();
        self.git(clone, &["add", path]).ok();
        self.git(clone, &["commit", "-q", "-m", &format!("change {path}: {words}")]).ok();
        self.says(clone, "HEAD", words);
        self.id(clone, "HEAD")
    }

    /// Attaches a conversation of one line to a commit.
    pub fn says(&self, clone: &Path, revision: &str, words: &str) {
        let file = clone.join(".git/said");
        fs::write(&file, line(words)).unwrap();
        let session = words.replace(' ', "-");
        self.shiftlog(clone, "add", &[revision, "--transcript", file.to_str().unwrap(), "--session", &session, "-q"])
            .ok();
    }

    /// Returns what `show --raw` prints about a commit.
    pub fn raw(&self, clone: &Path, revision: &str) -> Ran {
        self.shiftlog(clone, "show", &["--raw", revision])
    }

    #[track_caller]
    pub fn assert_said(&self, clone: &Path, revision: &str, words: &[&str]) {
        let ran = self.raw(clone, revision);
        let said: std::collections::BTreeSet<_> = ran.stdout.lines().map(|line| format!("{line}\n")).collect();
        let expected: std::collections::BTreeSet<_> = words.iter().map(|words| line(words)).collect();
        assert_eq!((ran.code, said), (0, expected), "{ran:?}");
    }

    #[track_caller]
    pub fn assert_sound(&self, clone: &Path) {
        let fsck = self.git(clone, &["fsck", "--strict", "--no-dangling"]);
        assert_eq!(fsck.code, 0, "{fsck:?}");
        self.git(clone, &["notes", "--ref=shiftlog", "list"]).ok();
    }

    /// Makes the server refuse refs that a shell condition on `$1` names.
    pub fn refuse(&self, condition: &str) {
        let hook = self.server.join("hooks/update");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\nif {condition}; then echo 'not here' >&2; exit 1; fi\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn two_clones_exchange_what_they_recorded_on_the_same_commit_and_on_different_ones() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "first of a");
    team.says(&b, "HEAD", "first of b");
    let commit = team.commit(&a, "x", "1\n", "second of a");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    let sent = team.shiftlog(&a, "sync", &[]).ok();
    assert_eq!(sent, "origin: received 0 notes, 0 segments; sent 2 notes, 2 segments\n");
    let both = team.shiftlog(&b, "sync", &["--json"]).ok();
    let both: Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["received"], json!({ "notes": 2, "segments": 2 }));
    assert_eq!(both["sent"], json!({ "notes": 1, "segments": 1 }));
    team.git(&b, &["pull", "-q"]).ok();
    assert_eq!(
        team.shiftlog(&a, "sync", &["pull"]).ok(),
        "origin: received 1 note, 1 segment; sent 0 notes, 0 segments\n"
    );
    for clone in [&a, &b] {
        team.assert_said(clone, &format!("{commit}~1"), &["first of a", "first of b"]);
        team.assert_said(clone, &commit, &["second of a"]);
        team.assert_sound(clone);
    }
    let rest = team.shiftlog(&b, "sync", &[]).ok();
    assert_eq!(rest, "origin: received 0 notes, 0 segments; sent 0 notes, 0 segments\n", "clones come to rest");
    assert_eq!(team.id(&a, "refs/notes/shiftlog"), team.id(&b, "refs/notes/shiftlog"));
    team.assert_sound(&team.server);
}

#[test]
fn a_plain_fetch_shows_what_others_shared() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.clone_of("b", &[]);
    team.git(&b, &["fetch", "-q"]).ok();
    team.assert_said(&b, "HEAD", &["words of a"]);
    assert_eq!(team.git(&b, &["rev-parse", "--verify", "-q", "refs/notes/shiftlog"]).code, 1, "no merge was needed");
}

#[test]
fn a_fetch_leaves_conversations_to_sync_where_it_is_to_be_quiet() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.git(&b, &["config", "shiftlog.fetch", "false"]).ok();
    team.shiftlog(&b, "init", &["--agent=claude", "--share=all", "-q"]).ok();
    team.says(&a, "HEAD", "words of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    assert_eq!(team.git(&b, &["fetch"]).stderr, "");
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.assert_said(&b, "HEAD", &["words of a"]);
    assert_eq!(team.git(&b, &["fetch"]).stderr, "");
}

#[test]
fn notes_alone_show_the_summary_and_say_where_the_words_are() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let b = team.bare_clone("b", &[]);
    team.shiftlog(&b, "init", &["--agent=claude", "--share", "-q"]).ok();
    assert_eq!(team.shiftlog(&b, "sync", &[]).ok(), "origin: received 1 note, 0 segments; sent 0 notes, 0 segments\n");
    let shown = team.shiftlog(&b, "show", &[]);
    assert_eq!(shown.code, 0, "nothing is damaged: {shown:?}");
    assert!(
        shown.stdout.ends_with("\n[transcript not fetched]\n\n> words of a\n\n"),
        "the note has the prompt: {shown:?}"
    );
    assert!(shown.stderr.contains("hint: 'git shiftlog sync pull --all' fetches transcripts"), "{shown:?}");
    team.shiftlog(&b, "sync", &["pull", "--all"]).ok();
    team.assert_said(&b, "HEAD", &["words of a"]);
}

#[test]
fn nothing_is_pushed_before_somebody_says_so() {
    let team = Team::new();
    let a = team.bare_clone("a", &[]);
    team.shiftlog(&a, "init", &["--agent=claude", "-q"]).ok();
    team.commit(&a, "x", "1\n", "private");
    let pushed = team.shiftlog(&a, "sync", &["push"]);
    assert_eq!(pushed.code, 128);
    assert!(
        pushed.stderr.starts_with("fatal: shiftlog.push is 'none': nothing may leave this machine\nhint: "),
        "{pushed:?}"
    );
    let both = team.shiftlog(&a, "sync", &[]);
    assert_eq!(
        (both.code, both.stdout.as_str()),
        (0, "origin: received 0 notes, 0 segments; sent 0 notes, 0 segments\n")
    );
    team.scratch.run_until_nothing_runs(&a, &["git", "push", "-q"]).ok();
    assert_eq!(team.git(&team.server, &["for-each-ref", "--format=%(refname)"]).ok(), "refs/heads/main\n");
    let dry = team.shiftlog(&a, "sync", &["push", "--all", "--dry-run"]).ok();
    assert_eq!(dry, "would push refs/shiftlog/sessions to origin\nwould push refs/notes/shiftlog to origin\n");
    team.shiftlog(&a, "sync", &["push", "--notes-only", "-q"]).ok();
    let refs = team.git(&team.server, &["for-each-ref", "--format=%(refname)"]).ok();
    assert_eq!(refs, "refs/heads/main\nrefs/notes/shiftlog\n");
}

#[test]
fn a_push_of_a_branch_takes_the_conversations_along_and_never_fails_with_them() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.commit(&a, "x", "1\n", "along");
    team.scratch.run_until_nothing_runs(&a, &["git", "push", "-q"]).ok();
    let of = |clone: &Path| team.git(clone, &["notes", "--ref=shiftlog", "show", "main"]).ok();
    assert_eq!(of(&team.server), of(&a));
    let before = team.id(&team.server, "refs/notes/shiftlog");
    team.commit(&a, "x", "3\n", "dry");
    team.scratch.run_until_nothing_runs(&a, &["git", "push", "-q", "--dry-run"]).ok();
    assert_eq!(team.id(&team.server, "refs/notes/shiftlog"), before, "a push that is only tried takes nothing along");
    team.refuse("test \"$1\" != refs/heads/main");
    team.commit(&a, "x", "2\n", "refused");
    let pushed = team.git(&a, &["push", "-q"]);
    assert_eq!((pushed.code, pushed.stderr.as_str()), (0, ""), "the user's push is as it would be without us");
}

#[test]
fn clones_that_push_at_the_same_moment_lose_nothing() {
    let team = Team::new();
    let clones: Vec<PathBuf> = (0..4).map(|number| team.clone_of(&format!("clone{number}"), &[])).collect();
    std::thread::scope(|scope| {
        for (number, clone) in clones.iter().enumerate() {
            let team = &team;
            scope.spawn(move || {
                for round in 0..4 {
                    team.says(clone, "HEAD", &format!("clone {number} round {round}"));
                    team.shiftlog(clone, "sync", &["-q"]).ok();
                }
            });
        }
    });
    let words: Vec<String> =
        (0..4).flat_map(|number| (0..4).map(move |round| format!("clone {number} round {round}"))).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for clone in &clones {
        team.shiftlog(clone, "sync", &["pull", "-q"]).ok();
        team.assert_said(clone, "HEAD", &words);
        team.assert_sound(clone);
    }
}

#[test]
fn a_union_keeps_records_and_lets_other_lines_go_that_one_side_removed() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    team.says(&a, "HEAD", "words");
    team.git(&a, &["notes", "--ref=shiftlog", "append", "-m", "a remark"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let note = team.git(&b, &["notes", "--ref=shiftlog", "show"]).ok();
    let record = note.lines().next().unwrap();
    team.git(&b, &["notes", "--ref=shiftlog", "add", "-f", "-m", record]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    assert_eq!(team.git(&a, &["notes", "--ref=shiftlog", "show"]).ok().trim(), record, "the remark is gone");
    team.git(&b, &["notes", "--ref=shiftlog", "remove"]).ok();
    for clone in [&b, &a, &b] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    team.assert_said(&b, "HEAD", &["words"]);
}

#[test]
fn what_is_removed_by_hand_is_not_read_from_what_was_fetched_before() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&a, &["notes", "--ref=shiftlog", "remove"]).ok();
    let shown = team.raw(&a, "HEAD");
    assert_eq!((shown.code, shown.stdout.as_str()), (1, ""), "{shown:?}");
}

#[test]
fn shallow_partial_and_mirror_clones_sync_and_show() {
    let team = Team::new();
    team.git(&team.server, &["config", "uploadpack.allowFilter", "true"]).ok();
    team.git(&team.server, &["config", "uploadpack.allowAnySHA1InWant", "true"]).ok();
    let a = team.clone_of("a", &[]);
    for number in 0..4 {
        team.commit(&a, "x", &format!("{number}\n"), &format!("words {number}"));
    }
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let mut said = vec!["words 3".to_owned()];
    for (name, options) in [
        ("shallow", &["--depth=1"][..]),
        ("partial", &["--filter=blob:none"]),
        ("treeless", &["--filter=tree:0"]),
        ("single", &["--single-branch"]),
    ] {
        let clone = team.clone_of(name, options);
        team.shiftlog(&clone, "sync", &["-q"]).ok();
        team.assert_said(&clone, "HEAD", &said.iter().map(String::as_str).collect::<Vec<_>>());
        said.push(format!("words of {name}"));
        team.says(&clone, "HEAD", &format!("words of {name}"));
        let synced = team.shiftlog(&clone, "sync", &[]).ok();
        assert!(synced.ends_with("sent 1 note, 1 segment\n"), "{name}: {synced}");
    }
    let mirror = team.bare_clone("mirror", &["--mirror"]);
    team.assert_said(&mirror, "HEAD", &said.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a_clone_without_our_program_can_merge_and_push_the_notes_with_git_alone() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.bare_clone("b", &[]));
    team.says(&a, "HEAD", "one");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    team.git(&b, &["notes", "--ref=shiftlog", "append", "-m", "a remark of b"]).ok();
    team.says(&a, "HEAD", "two");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&b, &["fetch", "-q", "origin", "refs/notes/shiftlog:refs/notes/theirs"]).ok();
    team.git(&b, &["notes", "--ref=shiftlog", "merge", "-q", "-s", "cat_sort_uniq", "refs/notes/theirs"]).ok();
    team.git(&b, &["push", "-q", "origin", "refs/notes/shiftlog"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.assert_said(&a, "HEAD", &["one", "two"]);
    let note = team.git(&a, &["notes", "--ref=shiftlog", "show"]).ok();
    assert!(note.contains("a remark of b"), "{note}");
}

#[test]
fn repositories_with_sha256_and_borrowed_objects_share_like_others() {
    let team = Team::with(&["--object-format=sha256"]);
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &["--shared"]));
    team.says(&a, "HEAD", "of a");
    team.says(&b, "HEAD", "of b");
    for clone in [&a, &b, &a] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    for clone in [&a, &b] {
        team.assert_said(clone, "HEAD", &["of a", "of b"]);
        team.assert_sound(clone);
        team.shiftlog(clone, "fsck", &["-q"]).ok();
    }
}

#[test]
fn what_we_merge_has_the_fanout_that_git_would_choose() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    let mut import = String::new();
    for number in 1..=600 {
        let time = 1_700_000_000 + number;
        import +=
            &format!("commit refs/heads/many\nmark :{number}\ncommitter B <b@example.com> {time} +0000\ndata 1\nx\n");
    }
    for (clone, numbers) in [(&a, 1..=300), (&b, 301..=600)] {
        let mut notes = import.clone();
        notes += "commit refs/notes/shiftlog\ncommitter B <b@example.com> 1700000000 +0000\ndata 1\nx\n";
        for number in numbers {
            notes += &format!("N inline :{number}\ndata 2\n{{}}\n");
        }
        let mut command = team.scratch.command("git", clone);
        let ran = crate::support::feed(command.args(["fast-import", "--quiet"]), notes.as_bytes());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    for clone in [&a, &b, &a] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    let listed = team.git(&a, &["notes", "--ref=shiftlog", "list"]).ok();
    assert_eq!(listed.lines().count(), 600, "stock Git finds them all");
    let ours = team.git(&a, &["rev-parse", "refs/notes/shiftlog^{tree}"]).ok();
    // Stock Git writes the whole tree anew with each note; what it makes of the same notes is what we made.
    team.git(&a, &["update-ref", "refs/notes/again", "refs/notes/shiftlog"]).ok();
    team.git(&a, &["notes", "--ref=again", "add", "-m", "x", "main"]).ok();
    team.git(&a, &["notes", "--ref=again", "remove", "main"]).ok();
    assert_eq!(team.git(&a, &["rev-parse", "refs/notes/again^{tree}"]).ok(), ours);
}

/// The commands that the README's section for teams shows are run as they stand there.
#[test]
fn the_section_for_teams_in_the_readme_holds() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let section = readme.split("## With a team").nth(1).unwrap().split("\n## ").next().unwrap();
    let commands: Vec<&str> = section
        .split("```")
        .skip(1)
        .step_by(2)
        .flat_map(str::lines)
        .map(|line| line.split('#').next().unwrap().trim())
        .filter(|line| line.starts_with("git "))
        .collect();
    assert_eq!(commands.len(), 6, "{commands:?}");
    let team = Team::new();
    let (a, b) = (team.bare_clone("a", &[]), team.bare_clone("b", &[]));
    let run = |clone: &Path, command: &str| {
        // There is no terminal to ask on.
        let command = command.replace("git shiftlog purge", "git shiftlog purge --yes");
        team.scratch.run_in(clone, "sh", ["-c", &command]).ok()
    };
    team.commit(&a, "x", "1\n", "the password is hunter2");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    run(&a, commands[0]);
    run(&a, commands[1]);
    run(&a, commands[2]);
    run(&b, commands[1]);
    team.git(&b, &["pull", "-q"]).ok();
    team.assert_said(&b, "HEAD", &["the password is hunter2"]);
    team.says(&b, "HEAD", "of the colleague");
    run(&b, commands[2]);
    run(&a, commands[4]);
    run(&a, commands[5]);
    run(&b, commands[2]);
    for clone in [&a, &b] {
        run(clone, commands[2]);
        team.assert_said(clone, "HEAD", &["the password is [REDACTED:purged]", "of the colleague"]);
    }
    run(&a, commands[3]);
    assert_eq!(team.git(&a, &["config", "shiftlog.push"]).code, 1, "nothing is shared any more");
}

#[test]
fn notes_of_another_ref_stay_apart() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "public");
    let file = a.join(".git/said");
    fs::write(&file, line("private")).unwrap();
    let args = ["--transcript", file.to_str().unwrap(), "--session=private", "--ref=private", "-q"];
    team.shiftlog(&a, "add", &args).ok();
    team.shiftlog(&a, "sync", &["push", "--notes-only", "--ref=private", "-q"]).ok();
    team.shiftlog(&a, "purge", &["--yes", "--match=nothing-fits-this"]);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.assert_said(&a, "HEAD", &["public"]);
    assert!(!team.git(&a, &["notes", "--ref=shiftlog", "show"]).ok().contains("private"));
}
