//! How far long work has come, for a person at a terminal.

use crate::importing::Past;
use crate::migrating::{FIRST_REF, one_session};
use crate::reading::Talk;
use crate::sharing::Team;
use crate::support::{Ran, Scratch};

/// Runs a command line on a terminal, or without one if there is no script(1) to make it with.
fn on_terminal(scratch: &Scratch, dir: &std::path::Path, command: &str) -> Option<Ran> {
    if scratch.run_in(dir, "sh", ["-c", "command -v script"]).code != 0 {
        crate::support::skip("no script(1) to make a terminal with");
        return None;
    }
    Some(scratch.run_in(dir, "script", ["-qec", command, "/dev/null"]))
}

/// Returns a line of progress as it was at its end, without the rate, which is told of work that takes a second.
fn last_state(line: &str) -> String {
    let last = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or("");
    let is_rate = |part: &&str| part.ends_with("/s") && part.starts_with(|c: char| c.is_ascii_digit());
    last.split(", ").filter(|part| !is_rate(part)).collect::<Vec<_>>().join(", ")
}

#[test]
fn long_work_is_shown_on_a_terminal_and_nowhere_else() {
    let mut scratch = Scratch::new();
    let mut talk = Talk::new();
    talk.prompt("Make it back off.");
    talk.add(&scratch, &[]);
    let checked = "checked 1 note, 1 record, 1 segment: 0 problems";
    let Some(quick) = on_terminal(&scratch, &scratch.top, "git shiftlog fsck") else { return };
    assert_eq!(quick.stdout.trim_end(), checked, "what is quick shows nothing");
    scratch.env.insert("GIT_PROGRESS_DELAY".into(), "0".into());
    let shown = on_terminal(&scratch, &scratch.top, "git shiftlog fsck").unwrap().ok();
    let lines: Vec<String> = shown.lines().map(last_state).collect();
    assert_eq!(lines, ["Checking segments: 100% (1/1), done.", "Checking notes: 100% (1/1), done.", checked]);
    let quiet = on_terminal(&scratch, &scratch.top, "git shiftlog fsck --quiet").unwrap();
    assert_eq!(quiet.stdout, "");
    let exported = on_terminal(&scratch, &scratch.top, "git shiftlog export --html -o x.html").unwrap().ok();
    assert_eq!(last_state(exported.trim_end()), "Writing conversations: 100% (1/1), done.");
    let shown = on_terminal(&scratch, &scratch.top, "git shiftlog export --markdown").unwrap().ok();
    assert!(shown.contains("Make it back off.") && !shown.contains("Writing"), "{shown}");
    let piped = scratch.shiftlog("export", ["--html", "-f", "-o", "x.html"]);
    assert_eq!((&*piped.stdout, &*piped.stderr), ("", ""));
    let piped = scratch.shiftlog("fsck", [""; 0]);
    assert_eq!((piped.stdout.trim_end(), &*piped.stderr), (checked, ""));
}

#[test]
fn a_sync_shows_what_git_says_of_its_progress() {
    let mut team = Team::new();
    team.scratch.env.insert("GIT_PROGRESS_DELAY".into(), "0".into());
    let clone = team.clone_of("one", &[]);
    team.commit(&clone, "net.py", "1\n", "Make it back off.");
    let Some(quiet) = on_terminal(&team.scratch, &clone, "git shiftlog sync --quiet --dry-run") else { return };
    assert_eq!(quiet.stdout, "");
    let shown = on_terminal(&team.scratch, &clone, "git shiftlog sync").unwrap().ok();
    assert!(shown.contains("Writing objects: 100%"), "{shown}");
    assert!(shown.lines().last().unwrap().starts_with("origin: received 0 notes"), "{shown}");
    let other = team.clone_of("two", &[]);
    let shown = on_terminal(&team.scratch, &other, "git shiftlog sync pull --all").unwrap().ok();
    assert!(shown.lines().last().unwrap().starts_with("origin: received 1 note"), "{shown}");
}

/// Returns the lines of progress on a terminal, each as it was at its end.
fn progress_of(scratch: &Scratch, command: &str) -> Option<Vec<String>> {
    let shown = on_terminal(scratch, &scratch.top, command)?.ok();
    Some(shown.lines().map(last_state).filter(|line| line.ends_with(", done.")).collect())
}

#[test]
fn each_command_that_takes_long_shows_its_own_progress() {
    let with_progress = |mut scratch: Scratch| {
        scratch.env.insert("GIT_PROGRESS_DELAY".into(), "0".into());
        scratch
    };
    let earlier = with_progress(Scratch::new());
    one_session(&earlier, FIRST_REF, 2);
    let Some(migrated) = progress_of(&earlier, "git shiftlog migrate") else { return };
    assert_eq!(migrated, ["Reading notes: 100% (2/2), done.", "Storing sessions: 100% (1/1), done."]);
    let past = with_progress(Scratch::new());
    let session = Past::new(&past, "alpha");
    session.at(1, |session| session.prompt("make one")).at(2, |session| session.edits("one.txt", "1\n"));
    session.commits(3, "add one");
    let imported = progress_of(&past, "git shiftlog import").unwrap();
    assert_eq!(imported, ["Reading sessions: 100% (1/1), done.", "Recording sessions: 100% (1/1), done."]);
    past.git(["commit", "-q", "--amend", "--no-verify", "-m", "add one again"]).ok();
    let remapped = progress_of(&past, "git shiftlog remap").unwrap();
    assert!(remapped.iter().any(|line| line.starts_with("Comparing commits: 100% (")), "{remapped:?}");
    let purged = progress_of(&past, "git shiftlog purge --dry-run --session=alpha").unwrap();
    assert!(purged.contains(&"Reading sessions: 100% (1/1), done.".to_owned()), "{purged:?}");
}
