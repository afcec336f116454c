//! What somebody finds who tries the programs from the README alone: wrong words help, and nothing is lost by one.

use crate::purging::{purge, says};
use crate::sharing::Team;
use crate::support::{Ran, Scratch};

/// A repository with two commits that have a conversation: `first-session` and `second-session`.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    for (number, name) in [(1, "first"), (2, "second")] {
        let session = scratch.session(&format!("{name}-session"));
        session.prompt(&format!("prompt {number}"));
        session.edits("a.txt", &format!("{number}\n"));
        session.commits(&format!("commit {number}"));
        session.hook("Stop");
    }
    scratch
}

#[track_caller]
fn told(ran: &Ran, code: i32, stderr: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (code, stderr), "{ran:?}");
}

#[test]
fn a_note_goes_although_its_words_are_not_here() {
    for by in ["commit", "date", "range"] {
        let team = Team::new();
        let (a, b) = (team.clone_of("a", &[]), team.bare_clone("b", &[]));
        team.shiftlog(&b, "init", &["--agent=claude", "--share=notes", "-q"]).ok();
        team.commit(&a, "x", "1\n", "words of a");
        let (commit, other) = (team.id(&a, "HEAD"), team.commit(&a, "x", "2\n", "more of a"));
        team.git(&a, &["push", "-q", "--no-verify"]).ok();
        team.shiftlog(&a, "sync", &["-q"]).ok();
        team.git(&b, &["pull", "-q"]).ok();
        team.shiftlog(&b, "sync", &["pull", "-q"]).ok();
        assert!(team.git(&b, &["notes", "--ref=shiftlog", "show", &commit]).ok().contains("words of a"));
        let range = format!("{commit}~..{commit}");
        let args = match by {
            "commit" => vec![commit.as_str()],
            "range" => vec![range.as_str()],
            _ => vec!["--before=now", "--all"],
        };
        let dry = team.shiftlog(&b, "purge", &[&args[..], &["--dry-run"]].concat());
        let notes = if by == "date" { "2 notes" } else { "1 note" };
        assert!(
            dry.stdout.starts_with(&format!("would remove 0 segments and change 0 segments and {notes}\n")),
            "{dry:?}"
        );
        team.shiftlog(&b, "purge", &[&args[..], &["--yes"]].concat()).ok();
        let note = |commit: &str| team.git(&b, &["notes", "--ref=shiftlog", "show", commit]);
        assert_ne!(note(&commit).code, 0, "{by}");
        assert_eq!(note(&other).code == 0, by != "date", "the other one stays: {by}");
        // Nobody brings the words back.
        team.shiftlog(&b, "sync", &["pull", "--all", "-q"]);
        assert_ne!(team.raw(&b, &commit).code, 0, "{by}");
        assert_eq!(team.raw(&b, &other).code == 0, by != "date", "{by}");
    }
}

#[test]
fn purge_takes_ranges_and_helps_with_the_beginning_of_an_id() {
    let scratch = recorded();
    told(&purge(&scratch, &["--session=nosuch"]), 1, "error: nothing that is recorded matches\n");
    told(
        &purge(&scratch, &["--session=first"]),
        1,
        "error: nothing that is recorded matches\nhint: the whole id is needed: --session=first-session\n",
    );
    assert_eq!(scratch.records("HEAD~1").len(), 1);
    let missing = purge(&scratch, &["HEAD~2..nosuch"]);
    told(&missing, 128, "fatal: bad revision 'HEAD~2..nosuch'\n");
    told(&purge(&scratch, &["HEAD~2..HEAD~2"]), 1, "error: no conversation recorded for HEAD~2..HEAD~2\n");
    told(
        &purge(&scratch, &["HEAD~2.."]),
        128,
        "fatal: refusing to remove everything that is recorded here\n\
         hint: 'git shiftlog purge --all' with the same options does it\n",
    );
    purge(&scratch, &["HEAD~1..HEAD"]).ok();
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_eq!(scratch.records("HEAD~1").len(), 1, "only what the range has");
}

#[test]
fn a_branch_without_commits_has_nothing_that_could_be_found_clean() {
    let scratch = Scratch::empty(&[]);
    let stderr = "fatal: your current branch 'main' does not have any commits yet\n";
    for command in ["scan", "remap", "log", "show"] {
        told(&scratch.shiftlog(command, [""; 0]), 128, stderr);
    }
}

#[test]
fn adding_a_session_that_was_purged_says_what_became_of_it() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["first", "second"]);
    purge(&scratch, &["--session=s"]).ok();
    for options in [&[][..], &["--dry-run"]] {
        let args = [&["--transcript", "../said", "--session", "s"], options].concat();
        told(
            &scratch.shiftlog("add", args),
            1,
            "warning: session claude/s was removed by 'git shiftlog purge', and is not recorded again\n",
        );
    }
}
