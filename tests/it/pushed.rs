//! What somebody who can push may do to others: hide what they name, visibly, and nothing more.

mod arrivals;
mod foreseen;
mod signatures;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::sharing::{Team, line};
use crate::support::{Ran, feed, skip};

const WORDS: &str = "honest words of the victim";

/// Runs `git` in a clone with something on standard input, in somebody's name.
fn git_as(team: &Team, clone: &Path, name: &str, args: &[&str], input: &str) -> String {
    let mut command = team.scratch.command("git", clone);
    let mail = format!("{}@example.com", name.to_lowercase());
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), name).env(format!("GIT_{role}_EMAIL"), &mail);
    }
    feed(command.args(args), input.as_bytes()).ok().trim().to_owned()
}

/// Pushes a commit with these files to a ref of the server, on top of what is there. Returns the commit.
pub fn push_files(team: &Team, clone: &Path, name: &str, ref_name: &str, files: &[(&str, &str)]) -> String {
    let index = clone.join(".git/forged-index");
    let _ = fs::remove_file(&index);
    let git = |args: &[&str], input: &str| {
        let mut command = team.scratch.command("git", clone);
        command.env("GIT_INDEX_FILE", &index);
        feed(command.args(args), input.as_bytes())
    };
    team.git(clone, &["fetch", "-q", "origin", &format!("+{ref_name}:refs/forged")]);
    let has_parent = team.git(clone, &["rev-parse", "-q", "--verify", "refs/forged"]).code == 0;
    if has_parent {
        git(&["read-tree", "refs/forged"], "").ok();
    }
    for (path, entry) in files {
        let (mode, rest) = entry.split_once(' ').unwrap();
        let id = match rest.strip_prefix("text:") {
            Some(text) => git(&["hash-object", "-w", "--stdin"], text).ok().trim().to_owned(),
            None => rest.to_owned(),
        };
        git(&["update-index", "--add", "--cacheinfo", &format!("{mode},{id},{path}")], "").ok();
    }
    let tree = git(&["write-tree", "--missing-ok"], "").ok();
    let mut args = vec!["commit-tree", tree.trim(), "-m", "forged"];
    if has_parent {
        args.extend(["-p", "refs/forged"]);
    }
    let commit = git_as(team, clone, name, &args, "");
    team.git(clone, &["push", "-q", "--no-verify", "-f", "origin", &format!("{commit}:{ref_name}")]).ok();
    team.git(clone, &["update-ref", "-d", "refs/forged"]);
    commit
}

/// Makes a clone sign with a key of its own, which all of `trusting` trust; `false` without `ssh-keygen`.
fn signs(team: &Team, clone: &Path, mail: &str, trusting: &[&Path]) -> bool {
    let key = team.scratch.home().join(mail);
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", mail, "-f"]).arg(&key).status();
    if !made.is_ok_and(|status| status.success()) {
        skip("there is no ssh-keygen here");
        return false;
    }
    let public = fs::read_to_string(key.with_extension("com.pub")).unwrap();
    for (name, value) in [("gpg.format", "ssh"), ("user.signingKey", key.to_str().unwrap()), ("shiftlog.sign", "true")]
    {
        team.git(clone, &["config", name, value]).ok();
    }
    for clone in trusting {
        let allowed = clone.join(".git/allowed");
        let known = fs::read_to_string(&allowed).unwrap_or_default();
        fs::write(&allowed, format!("{known}{mail} {public}")).unwrap();
        team.git(clone, &["config", "gpg.ssh.allowedSignersFile", allowed.to_str().unwrap()]).ok();
    }
    true
}

/// Returns the note on HEAD and the paths of the archive: what nobody else may change.
fn kept(team: &Team, clone: &Path) -> (String, String) {
    let note = team.git(clone, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    (note, team.git(clone, &["ls-tree", "-r", "refs/shiftlog/sessions"]).ok())
}

fn segment_of(team: &Team, clone: &Path) -> String {
    let note = team.git(clone, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    let record: Value = serde_json::from_str(note.lines().next().unwrap()).unwrap();
    record["through"].as_str().unwrap().to_owned()
}

/// The ways to name what is to be removed, as files of a tree of marks.
fn marks(segment: &str, other: &str) -> Vec<(String, String)> {
    let path = format!("segments/{}/{segment}", &segment[..2]);
    let became = |became: Value| {
        let mark = json!({ "shiftlog": 1, "became": became, "bytes": 10, "sha256": "00" });
        format!("100644 text:{mark}\n")
    };
    vec![
        (path.clone(), became(json!(other))),
        (path, became(Value::Null)),
        ("sessions/claude~honest-words-of-the-victim".into(), "100644 text:{\"shiftlog\":1}\n".into()),
    ]
}

struct Attack {
    team: Team,
    victim: PathBuf,
    attacker: PathBuf,
    /// A segment with words of the attacker, which the server has.
    forged: String,
}

impl Attack {
    fn new() -> Self {
        let team = Team::new();
        let (victim, attacker) = (team.clone_of("victim", &[]), team.clone_of("attacker", &[]));
        team.says(&victim, "HEAD", WORDS);
        team.shiftlog(&victim, "sync", &["-q"]).ok();
        team.shiftlog(&attacker, "sync", &["-q"]).ok();
        let file = attacker.join(".git/said");
        fs::write(&file, line("forged words")).unwrap();
        let empty = team.scratch.root().join("elsewhere");
        team.scratch.git(["clone", "-q", ".", empty.to_str().unwrap()]).ok();
        let args = ["--transcript", file.to_str().unwrap(), "--session", "honest-words-of-the-victim", "-q"];
        team.shiftlog(&empty, "add", &args).ok();
        let forged = segment_of(&team, &empty);
        let path = team.git(&empty, &["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok();
        team.git(&attacker, &["fetch", "-q", empty.to_str().unwrap(), "refs/shiftlog/sessions"]).ok();
        let entry = format!("100644 {forged}");
        push_files(&team, &attacker, "Mallory", "refs/shiftlog/sessions", &[(path.trim(), &entry)]);
        Attack { team, victim, attacker, forged }
    }

    fn show(&self) -> Ran {
        self.team.shiftlog(&self.victim, "show", &[])
    }
}

#[test]
fn marks_of_others_hide_what_they_name_and_change_nothing_of_ours() {
    for variant in 0..3 {
        let attack = Attack::new();
        let (team, victim) = (&attack.team, &attack.victim);
        let (path, entry) = &marks(&segment_of(team, victim), &attack.forged)[variant];
        push_files(team, &attack.attacker, "Mallory", "refs/shiftlog/purged", &[(path, entry)]);
        let before = kept(team, victim);
        let synced = team.shiftlog(victim, "sync", &[]);
        assert_eq!(synced.code, 0, "{synced:?}");
        assert!(synced.stderr.contains("hint: others have removed words that are here; "), "{synced:?}");
        let after = kept(team, victim);
        assert_eq!(after.0, before.0, "{variant}: our note stays as it is");
        assert!(before.1.lines().all(|line| after.1.contains(line)), "{variant}: our archive keeps what it has");
        assert_eq!(team.git(victim, &["rev-parse", "-q", "--verify", "refs/shiftlog/purged"]).code, 1, "{variant}");
        let shown = attack.show();
        assert!(
            shown.stdout.contains("[removed by Mallory <mallory@example.com> on 2026-01-02, unsigned]"),
            "{shown:?}"
        );
        assert!(!shown.stdout.contains("forged words") && !shown.stdout.contains(WORDS), "{shown:?}");
        let listed = team.shiftlog(victim, "log", &[]).ok();
        assert!(listed.contains("removed by Mallory"), "{listed}");
        // A push by itself, which joins first, changes nothing either.
        team.commit(victim, "x", "1\n", "more");
        team.git(victim, &["push", "-q"]).ok();
        team.shiftlog(victim, "sync", &["push", "-q"]).ok();
        team.git(victim, &["reset", "-q", "--hard", "HEAD~1"]).ok();
        assert_eq!(kept(team, victim).0, before.0, "{variant}");
        // When the attacker's marks are gone, everything is as it was.
        team.git(victim, &["update-ref", "-d", "refs/shiftlog/remotes/origin/purged"]).ok();
        team.assert_said(victim, "HEAD", &[WORDS]);
        team.assert_sound(victim);
    }
}

#[test]
fn what_others_removed_goes_only_when_the_user_says_so_and_sees_who_did() {
    let attack = Attack::new();
    let (team, victim) = (&attack.team, &attack.victim);
    let segment = segment_of(team, victim);
    let (path, entry) = &marks(&segment, &attack.forged)[0];
    // The name is a forgery too; the signature is not there.
    push_files(team, &attack.attacker, "Victim", "refs/shiftlog/purged", &[(path, entry)]);
    team.shiftlog(victim, "sync", &["-q"]).ok();
    let before = kept(team, victim);
    let listed = "removed by Victim <victim@example.com> on 2026-01-02, unsigned: 1 segment\n\
                  would remove 1 segment and change 0 segments and 1 note\n\
                  session claude/honest-words-of-the-victim\n";
    assert_eq!(team.shiftlog(victim, "purge", &["--received", "--dry-run"]).ok(), listed);
    let asked = team.shiftlog(victim, "purge", &["--received"]);
    assert_eq!(asked.code, 128, "there is nobody to ask: {asked:?}");
    team.git(victim, &["config", "shiftlog.trustPurges", "signed"]).ok();
    let untrusted = team.shiftlog(victim, "purge", &["--received", "--yes"]);
    assert_eq!(untrusted.code, 1, "{untrusted:?}");
    assert!(untrusted.stdout.contains(" (left alone: shiftlog.trustPurges is 'signed')\n"), "{untrusted:?}");
    assert_eq!(kept(team, victim), before, "without a signature nothing goes");
    team.git(victim, &["config", "shiftlog.trustPurges", "all"]).ok();
    team.shiftlog(victim, "purge", &["--received", "--yes"]).ok();
    assert_eq!(team.git(victim, &["cat-file", "-e", &segment]).code, 1, "now it is gone");
    let notes = team.git(victim, &["log", "-p", "--format=%H", "refs/notes/shiftlog"]).stdout;
    assert!(!notes.contains(&attack.forged), "nothing has taken its place: {notes}");
    team.assert_sound(victim);
}

#[test]
fn what_others_removed_is_not_sent() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    team.says(&a, "HEAD", "to be barred");
    let segment = segment_of(&team, &a);
    let (path, entry) = &marks(&segment, &segment)[1];
    push_files(&team, &m, "Mallory", "refs/shiftlog/purged", &[(path, entry)]);
    team.says(&a, "HEAD", "to be sent");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    assert_eq!(team.git(&team.server, &["cat-file", "-e", &segment]).code, 1, "the words were not sent");
    let log = team.git(&team.server, &["log", "-p", "--all"]).ok();
    assert!(!log.contains("to be barred") && log.contains("to be sent"), "nor the record: {log}");
    let again = team.shiftlog(&a, "sync", &[]).ok();
    assert_eq!(again, "origin: received 0 notes, 0 segments; sent 0 notes, 0 segments\n", "it comes to rest");
    let b = team.clone_of("b", &[]);
    team.shiftlog(&b, "sync", &["-q"]).ok();
    team.assert_said(&b, "HEAD", &["to be sent"]);
}

#[test]
fn with_trusted_purges_what_an_allowed_signer_removed_goes() {
    let team = Team::new();
    let (a, b) = (team.clone_of("a", &[]), team.clone_of("b", &[]));
    if !signs(&team, &a, "a@example.com", &[&a, &b]) {
        return;
    }
    team.says(&a, "HEAD", "a secret of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let segment = segment_of(&team, &b);
    team.shiftlog(&a, "purge", &["--all", "--yes", "HEAD"]).ok();
    team.shiftlog(&a, "sync", &["push", "-q"]).ok();
    team.git(&b, &["config", "shiftlog.trustPurges", "signed"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    let purged = team.shiftlog(&b, "purge", &["--received", "--all", "--yes"]);
    assert_eq!(purged.code, 0, "{purged:?}");
    assert!(purged.stdout.contains(", good signature by a@example.com: 1 segment\n"), "{purged:?}");
    assert_eq!(team.git(&b, &["cat-file", "-e", &segment]).code, 1);
    // Marks of somebody else beside them are still told apart.
    team.says(&b, "HEAD", "of b");
    let (path, entry) = &marks(&segment_of(&team, &b), &segment)[1];
    push_files(&team, &a, "Mallory", "refs/shiftlog/purged", &[(path, entry)]);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&b, "sync", &["-q"]).ok();
    assert_eq!(team.shiftlog(&b, "purge", &["--received", "--yes"]).code, 1, "a signature vouches for its own marks");
}

/// Returns what `verify --json` says of HEAD: session, signature, signer, writer and carrier.
fn verified(team: &Team, clone: &Path) -> Vec<(String, String, String, String, Option<String>)> {
    let ran = team.shiftlog(clone, "verify", &["--json"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut verified: Vec<_> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|each| {
            let carrier = each["carriedBy"].as_str().map(str::to_owned);
            (text(&each["session"]), text(&each["signature"]), text(&each["signer"]), text(&each["writer"]), carrier)
        })
        .collect();
    verified.sort();
    verified
}

#[test]
fn a_signature_is_for_what_its_owner_recorded_and_not_for_what_came_along() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    if !signs(&team, &a, "a@example.com", &[&a]) {
        return;
    }
    team.says(&a, "HEAD", "of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // Somebody without a key adds a record on the same commit, in the name of a.
    team.git(&m, &["config", "user.name", "A"]).ok();
    team.says(&m, "HEAD", "forged");
    team.shiftlog(&m, "sync", &["-q"]).ok();
    team.says(&a, "HEAD", "more of a");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let me = "A U Thor <author@example.com>";
    let states = |verified: Vec<(String, String, String, String, Option<String>)>| {
        verified.into_iter().map(|(session, signature, ..)| (session, signature)).collect::<Vec<_>>()
    };
    let expected = [("claude/forged", "unsigned"), ("claude/more-of-a", "good"), ("claude/of-a", "good")]
        .map(|(session, state)| (session.to_owned(), state.to_owned()));
    assert_eq!(states(verified(&team, &a)), expected, "{me}");
    let merge = team.git(&a, &["log", "-1", "--merges", "--format=%G?", "refs/notes/shiftlog"]).ok();
    assert_eq!(merge, "N\n", "what only joins is not signed");
    // Carried to another commit, each is still its writer's.
    fs::write(a.join("x"), "amended").unwrap();
    team.git(&a, &["add", "x"]).ok();
    team.git(&a, &["commit", "-q", "--amend", "--no-edit"]).ok();
    assert_eq!(states(verified(&team, &a)), expected, "carrying vouches for nothing");
    assert!(verified(&team, &a).iter().all(|each| each.4.is_some()), "and is told: {:?}", verified(&team, &a));
    let shown = team.shiftlog(&a, "show", &["--show-signature"]).ok();
    assert!(shown.contains("claude/forged: unsigned, written in the name of "), "{shown}");
    assert!(shown.contains("claude/of-a: good signature by a@example.com, carried here by "), "{shown}");
    // A purge of something else leaves the history behind, and vouches for nobody's records.
    team.shiftlog(&a, "purge", &["--yes", "--session=more-of-a"]).ok();
    let after = states(verified(&team, &a));
    assert!(after.contains(&expected[0]), "{after:?}");
}

#[test]
fn a_record_made_of_a_forged_one_is_not_taken_for_the_signers() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    if !signs(&team, &a, "a@example.com", &[&a]) {
        return;
    }
    let session = team.scratch.session_in("live", &a);
    session.prompt("honest");
    session.edits("x", "1\n");
    session.commits("one");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&m, &["pull", "-q"]).ok();
    team.shiftlog(&m, "sync", &["-q"]).ok();
    // The same session is said to have gone on.
    let file = m.join(".git/said");
    fs::write(&file, format!("{}{}", team.raw(&m, "HEAD").stdout, line("forged"))).unwrap();
    team.shiftlog(&m, "add", &["--transcript", file.to_str().unwrap(), "--session", "live", "-q"]).ok();
    team.shiftlog(&m, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    session.says("the turn goes on");
    session.hook("Stop");
    team.shiftlog(&a, "verify", &["--signed"]);
    for (session, signature, ..) in verified(&team, &a) {
        let words = team.raw(&a, "HEAD").stdout;
        assert!(signature != "good" || !words.contains("forged"), "{session}: {words}");
    }
}

#[test]
fn a_longer_record_of_somebody_else_does_not_take_the_place_of_ours() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    team.says(&a, "HEAD", WORDS);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.shiftlog(&m, "sync", &["-q"]).ok();
    let ours = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    // Another transcript of the same session, and longer; our record is taken out of the note.
    let mut record: Value = serde_json::from_str(ours.trim()).unwrap();
    let other = git_as(&team, &m, "Mallory", &["hash-object", "-w", "--stdin"], "no segment");
    record["through"] = json!(other);
    record["bytes"] = json!(1_000_000);
    team.git(&m, &["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), "HEAD"]).ok();
    team.git(&m, &["push", "-q", "--no-verify", "origin", "refs/notes/shiftlog"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let note = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    assert!(note.contains(ours.trim()), "{note}");
    let shown = team.shiftlog(&a, "show", &[]);
    assert!(shown.stdout.contains(WORDS), "ours is shown beside it: {shown:?}");
}

#[test]
fn a_forged_record_does_not_take_the_place_of_the_true_one_where_the_words_are_not() {
    let team = Team::new();
    let (a, m, b) = (team.clone_of("a", &[]), team.clone_of("m", &[]), team.bare_clone("b", &[]));
    team.shiftlog(&b, "init", &["--agent=claude", "--share=notes", "-q"]).ok();
    team.says(&a, "HEAD", WORDS);
    team.shiftlog(&a, "sync", &["-q"]).ok();
    for clone in [&b, &m] {
        team.shiftlog(clone, "sync", &["-q"]).ok();
    }
    let note = || team.git(&b, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
    let pushed = |record: &Value| {
        team.git(&m, &["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), "HEAD"]).ok();
        team.git(&m, &["push", "-q", "--no-verify", "-f", "origin", "refs/notes/shiftlog"]).ok();
        team.shiftlog(&b, "sync", &["-q"]).ok();
    };
    assert_eq!(team.raw(&b, "HEAD").code, 1, "b has no words");
    let ours: Value = serde_json::from_str(note().trim()).unwrap();
    let mut record = ours.clone();
    record["summary"] = json!("a summary by a colleague");
    record["summaryTime"] = json!("2026-11-21T09:00:00Z");
    pushed(&record);
    let honest = record.clone();
    let records = || note().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    assert_eq!(records(), [ours.clone(), honest.clone()], "the same words, summarised");
    record["prompt"] = json!("FORGED");
    record["through"] = json!("1".repeat(40));
    record["bytes"] = json!(1_000_000);
    pushed(&record);
    assert_eq!(records(), [ours, honest, record], "all stay");
    let listed = team.shiftlog(&b, "log", &["--json"]).ok();
    assert!(listed.contains(WORDS) && listed.contains("FORGED"), "the reader shows them apart: {listed}");
}

#[test]
fn what_is_joined_again_or_migrated_is_not_signed() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    if !signs(&team, &a, "a@example.com", &[&a]) {
        return;
    }
    team.says(&m, "HEAD", "forged");
    team.shiftlog(&m, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    // A forced fetch takes all notes away; the next command joins them again.
    let empty = git_as(&team, &a, "A", &["mktree"], "");
    let empty = git_as(&team, &a, "A", &["commit-tree", &empty, "-m", "x"], "");
    team.git(&a, &["update-ref", "refs/notes/shiftlog", &empty]).ok();
    team.shiftlog(&a, "fsck", &["--repair"]);
    let session = team.scratch.session_in("live", &a);
    session.prompt("honest");
    session.edits("x", "1\n");
    session.commits("one");
    let state = |commit: &str| {
        let ran = team.shiftlog(&a, "verify", &["--json", commit]);
        serde_json::from_str::<Value>(ran.stdout.lines().next().unwrap()).unwrap()["signature"].clone()
    };
    assert_eq!((state("HEAD~1"), state("HEAD")), (json!("unsigned"), json!("good")));
}

#[test]
fn a_longer_record_of_somebody_else_stays_beside_ours_whoever_writes_next() {
    let team = Team::new();
    let (a, m) = (team.clone_of("a", &[]), team.clone_of("m", &[]));
    let session = team.scratch.session_in("live", &a);
    session.prompt("HONEST");
    session.edits("x", "1\n");
    session.commits("one");
    team.git(&a, &["push", "-q", "--no-verify"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.git(&m, &["pull", "-q"]).ok();
    let file = m.join(".git/said");
    fs::write(&file, line(&"FORGED ".repeat(1000))).unwrap();
    team.shiftlog(&m, "add", &["--transcript", file.to_str().unwrap(), "--session", "live", "-q"]).ok();
    team.shiftlog(&m, "sync", &["-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let has_both = |what: &str| {
        let note = team.git(&a, &["notes", "--ref=shiftlog", "show", "HEAD"]).ok();
        assert!(note.contains("HONEST") && note.contains("FORGED"), "{what}: {note}");
    };
    has_both("synced");
    let listed = team.shiftlog(&a, "log", &["--json"]).ok();
    assert!(listed.contains("HONEST"), "the list has ours too: {listed}");
    team.says(&a, "HEAD", "another session");
    has_both("recorded");
    fs::write(a.join("x"), "amended").unwrap();
    team.git(&a, &["add", "x"]).ok();
    team.git(&a, &["commit", "-q", "--amend", "--no-edit"]).ok();
    has_both("amended");
}

#[test]
fn a_record_to_which_somebody_adds_a_summary_stays_as_its_owner_wrote_it() {
    let attack = Attack::new();
    let team = &attack.team;
    let (note, _) = kept(team, &attack.victim);
    let ours = note.lines().next().unwrap();
    let mut forged: Value = serde_json::from_str(ours).unwrap();
    forged["summary"] = json!("a forged summary");
    let ref_name = "refs/notes/shiftlog";
    team.git(&attack.attacker, &["fetch", "-q", "origin", &format!("+{ref_name}:{ref_name}")]).ok();
    team.git(&attack.attacker, &["notes", "--ref=shiftlog", "add", "-f", "-m", &forged.to_string()]).ok();
    team.git(&attack.attacker, &["push", "-q", "--no-verify", "-f", "origin", ref_name]).ok();
    for _ in 0..2 {
        team.shiftlog(&attack.victim, "sync", &["-q"]).ok();
        let (after, _) = kept(team, &attack.victim);
        assert!(after.contains("a forged summary"), "it came: {after}");
        assert!(after.lines().any(|line| line == ours), "ours is gone: {after}");
    }
}

#[test]
fn a_push_that_cannot_be_looked_at_goes_and_says_so() {
    let team = Team::new();
    let clone = team.scratch.root().join("a");
    let url = team.server.to_str().unwrap();
    // Git can use it, and we cannot.
    if team.scratch.git(["clone", "-q", "--ref-format=reftable", url, clone.to_str().unwrap()]).code != 0 {
        return skip("this Git has no reftable");
    }
    let hook = clone.join(".git/hooks/pre-push");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexec git-shiftlog--hook git pre-push \"$@\"\n").unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = team.git(&clone, &["push", "-q", "origin", "main:other"]);
    let warning = "warning: cannot tell whether this push takes conversations along: '";
    assert!(ran.code == 0 && ran.stderr.starts_with(warning) && ran.stderr.lines().count() == 1, "{ran:?}");
    assert!(team.git(&team.server, &["rev-parse", "-q", "--verify", "other"]).code == 0);
    // The names that Git tells are enough to know ours.
    team.git(&clone, &["update-ref", "refs/shiftlog/sessions", "HEAD"]).ok();
    let ran = team.git(&clone, &["push", "-q", "--mirror", "origin"]);
    assert!(ran.code != 0 && ran.stderr.contains("error: this push takes conversations along"), "{ran:?}");
    assert!(team.git(&team.server, &["rev-parse", "-q", "--verify", "refs/shiftlog/sessions"]).code != 0);
}
