//! Segments that are lost: they are stored anew, or taken out of the archive, and Git fails at nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::integrity::{four_commits, lose, remove_object, segment};
use crate::sharing::Team;
use crate::support::{Scratch, Session};

/// Starts a session whose transcript is where its agent keeps it.
fn kept_by_its_agent<'s>(scratch: &'s Scratch, id: &str) -> Session<'s> {
    let directory: String =
        scratch.top.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let store = scratch.home().join(".claude/projects").join(directory);
    fs::create_dir_all(&store).unwrap();
    let mut session = scratch.session(id);
    session.transcript = store.join(format!("{id}.jsonl"));
    session
}

fn archived(scratch: &Scratch) -> Vec<String> {
    let listed = scratch.git(["ls-tree", "-r", "--object-only", "refs/shiftlog/sessions"]).ok();
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_lost_segment_that_is_stored_anew_is_named_nowhere_whichever_it_is() {
    for lost in [&[0][..], &[1], &[2], &[3], &[4], &[3, 4], &[0, 1, 2, 3, 4], &[1, 3]] {
        let scratch = Scratch::set_up();
        let session = kept_by_its_agent(&scratch, "s1");
        let turn = |word: &str| {
            session.prompt(word);
            session.edits(&format!("{word}.txt"), word);
            session.commits(word)
        };
        let commits: Vec<String> = ["one", "two", "three"].map(turn).into();
        // No commit has this.
        session.prompt("words of the end");
        session.says("the end");
        session.hook("SessionEnd");
        let segments = archived(&scratch);
        assert_eq!(segments.len(), 5, "{segments:?}");
        let words = || commits.iter().map(|commit| scratch.raw(commit, &[])).collect::<Vec<_>>();
        let (before, whole) = (words(), session.text());
        lost.iter().for_each(|number| remove_object(&scratch, &segments[*number]));
        assert_ne!(scratch.git(["gc", "-q"]).code, 0);
        let ran = scratch.shiftlog("fsck", ["--repair"]);
        let begins = ran.stdout.starts_with("stored session claude/s1 anew from the agent's own file\nchecked ");
        assert!(ran.code == 0 && begins && ran.stdout.ends_with(": 0 problems\n"), "{lost:?}: {ran:?}");
        assert_eq!(words(), before, "{lost:?}: each commit has its own words again");
        let stored = archived(&scratch);
        let bodies = stored.iter().map(|id| {
            let mut command = scratch.command("git", &scratch.top);
            let segment = command.args(["cat-file", "blob", id]).output().unwrap().stdout;
            String::from_utf8(zstd::stream::decode_all(&segment[..]).unwrap()).unwrap()
        });
        let mut bodies: Vec<String> = bodies.collect();
        bodies.sort_by_key(|body| whole.find(body.as_str()));
        assert_eq!(bodies.concat(), whole, "{lost:?}: so has the end, which no commit has");
        assert!(
            segments[..lost[0]].iter().all(|id| stored.contains(id)),
            "{lost:?}: what is before the lost one stays"
        );
        scratch.git(["gc", "-q", "--prune=now"]).ok();
        scratch.assert_sound();
        // The session goes on.
        let next = turn("four");
        assert_eq!(scratch.raw(&next, &["--full"]), session.text(), "{lost:?}");
        assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "", "{lost:?}");
        scratch.git(["gc", "-q", "--prune=now"]).ok();
    }
}

#[test]
fn a_segment_that_is_nowhere_is_told_and_keeps_git_from_nothing() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    for (number, words) in ["one", "two"].into_iter().enumerate() {
        team.commit(&a, "x", &format!("{number}\n"), words);
    }
    let lost = segment(&team, &a);
    lose(&team, &a, &lost);
    let gone = if team.raw(&a, "HEAD").code == 0 { "one" } else { "two" };
    // A push says what is wrong.
    let pushed = team.shiftlog(&a, "sync", &["push"]);
    let said = format!(
        "error: cannot push 'refs/shiftlog/sessions' to 'origin': object {lost}, which it names, is missing here\n\
         hint: 'git shiftlog fsck --repair' repairs what can be repaired\n"
    );
    assert!(pushed.code == 1 && pushed.stderr.contains(&said), "{pushed:?}");
    assert!(!pushed.stderr.contains("sessionsRemote"), "{pushed:?}");
    assert_ne!(team.git(&a, &["gc", "-q"]).code, 0);
    let ran = team.shiftlog(&a, "fsck", &["--repair"]);
    let took = format!("took segment {lost} of claude/{gone} out of the archive, because it is nowhere\n");
    assert!(ran.stdout.contains(&took) && ran.stdout.ends_with("the words of 1 record are not here\n"), "{ran:?}");
    team.git(&a, &["gc", "-q"]).ok();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.assert_sound(&a);
    // Where nobody else can have it, a record that names it is a problem.
    let scratch = four_commits();
    let lost = archived(&scratch)[1].clone();
    remove_object(&scratch, &lost);
    let planned = scratch.shiftlog("fsck", ["--repair", "-nq"]).stdout;
    let take = format!("segment {lost} of claude/s1 out of the archive, because it is nowhere\n");
    assert!(planned.starts_with(&format!("would take {take}")), "{planned}");
    assert!(archived(&scratch).contains(&lost));
    let missing = |took: String| {
        let ran = scratch.shiftlog("fsck", ["--repair", "-q"]);
        assert!(
            ran.code == 1 && ran.stdout.starts_with(&format!("{took}missing-segment {lost} claude/s1: ")),
            "{ran:?}"
        );
    };
    missing(format!("took {take}"));
    missing(String::new());
    scratch.git(["gc", "-q", "--prune=now"]).ok();
    scratch.assert_sound();
    assert!(scratch.raw("HEAD", &[]).contains("four"), "the rest is there");
}

#[test]
fn a_segment_that_only_a_copy_of_a_remotes_archive_names_is_fetched_when_the_remote_is_back() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let lost = segment(&team, &a);
    lose(&team, &a, &lost);
    let away = team.scratch.root().join("away.git");
    fs::rename(&team.server, &away).unwrap();
    let ran = team.shiftlog(&a, "fsck", &["--repair", "-q"]);
    let removed = "removed 'refs/shiftlog/remotes/origin/sessions', a damaged copy of what a remote has\n";
    assert!(ran.stdout.contains(removed), "{ran:?}");
    team.git(&a, &["gc", "-q"]).ok();
    fs::rename(&away, &team.server).unwrap();
    team.shiftlog(&a, "sync", &["-q"]).ok();
    team.assert_said(&a, "HEAD", &["words"]);
    assert_eq!(team.shiftlog(&a, "fsck", &["-q"]).ok(), "");
    team.assert_sound(&a);
}

/// Damages the file of a loose object: puts nonsense in its place, or cuts it.
fn damage(repository: &std::path::Path, id: &str, is_cut: bool) {
    let file = repository.join(".git/objects").join(&id[..2]).join(&id[2..]);
    let bytes = fs::read(&file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&file, if is_cut { &bytes[..bytes.len() / 2] } else { &b"nonsense"[..] }).unwrap();
}

#[test]
fn a_segment_whose_file_is_damaged_is_stored_anew_and_the_file_moved_out_of_the_way() {
    for (is_cut, has_file) in [(false, true), (true, true), (false, false), (true, false)] {
        let scratch = Scratch::set_up();
        let session = kept_by_its_agent(&scratch, "s1");
        let mut commits = Vec::new();
        for word in ["one", "two"] {
            session.prompt(word);
            session.edits(word, word);
            commits.push(session.commits(word));
        }
        let words = || commits.iter().map(|commit| scratch.raw(commit, &[])).collect::<Vec<_>>();
        let (before, lost) = (words(), archived(&scratch)[0].clone());
        damage(&scratch.top, &lost, is_cut);
        assert_ne!(scratch.git(["gc", "-q"]).code, 0);
        if !has_file {
            fs::remove_file(&session.transcript).unwrap();
        }
        let aside: PathBuf = scratch.state().join(format!("damaged-{lost}"));
        let moved = format!("the damaged file of object {lost} to '{}'\n", aside.display());
        let planned = scratch.shiftlog("fsck", ["--repair", "-nq"]);
        assert!(planned.stdout.starts_with(&format!("would move {moved}")) && !aside.exists(), "{planned:?}");
        let ran = scratch.shiftlog("fsck", ["--repair", "-q"]);
        let then = match has_file {
            true => "stored session claude/s1 anew from the agent's own file\n".to_owned(),
            false => format!("took segment {lost} of claude/s1 out of the archive, because it is nowhere\n"),
        };
        assert!(ran.stdout.starts_with(&format!("moved {moved}{then}")) && aside.exists(), "{ran:?}");
        assert_eq!(ran.code, i32::from(!has_file), "{ran:?}");
        if has_file {
            assert_eq!(words(), before);
        }
        scratch.git(["gc", "-q"]).ok();
        scratch.assert_sound();
    }
}

#[test]
fn a_segment_whose_file_is_damaged_is_fetched_again() {
    let team = Team::new();
    let a = team.clone_of("a", &[]);
    team.says(&a, "HEAD", "words");
    team.shiftlog(&a, "sync", &["-q"]).ok();
    let lost = segment(&team, &a);
    damage(&a, &lost, false);
    let ran = team.shiftlog(&a, "fsck", &["--repair", "-q"]).ok();
    assert!(
        ran.starts_with("moved the damaged file of object ") && ran.contains("fetched again what origin has"),
        "{ran}"
    );
    team.assert_said(&a, "HEAD", &["words"]);
    team.git(&a, &["gc", "-q"]).ok();
    team.assert_sound(&a);
}

#[test]
fn a_long_session_that_is_stored_anew_has_segments_as_those_of_a_capture() {
    let scratch = Scratch::set_up();
    // To look for secrets in so much would take most of the time.
    scratch.git(["config", "shiftlog.redact", "false"]).ok();
    let session = kept_by_its_agent(&scratch, "s1");
    session.prompt("count");
    for number in 0..4 {
        session.says(&format!("{number} {}", "a word and another ".repeat(5 << 15)));
    }
    session.edits("a", "a");
    let commit = session.commits("one");
    let (words, segments) = (scratch.raw(&commit, &[]), archived(&scratch));
    assert!(segments.len() > 1 && words.len() > 10 << 20, "{} segments", segments.len());
    segments.iter().for_each(|id| remove_object(&scratch, id));
    let ran = scratch.shiftlog("fsck", ["--repair", "-q"]);
    assert!(ran.code == 0 && archived(&scratch).len() > 1, "{ran:?}");
    assert!(scratch.raw(&commit, &[]) == words);
}
