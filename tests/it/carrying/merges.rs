//! Merges that are made again: what they merge was rewritten where no hook runs.

use serde_json::json;

use super::sessions;
use crate::support::{Ran, Scratch};

/// A history whose last commit is a merge that an agent made, and the id of that.
fn merged_by_an_agent() -> (Scratch, String) {
    let scratch = Scratch::set_up();
    scratch.git(["switch", "-q", "-c", "side"]).ok();
    scratch.commit("side.txt", "side\n", "on the side");
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.commit("main.txt", "main\n", "on main");
    let session = scratch.session("merging");
    session.prompt("merge the side branch");
    session.calls("c1", "Bash", &json!({ "command": "git merge side" }));
    let mut merge = scratch.command("git", &scratch.top);
    merge.env("CLAUDE_CODE_SESSION_ID", "merging").args(["merge", "-q", "--no-edit", "side"]);
    Ran::of(merge.output().unwrap()).ok();
    session.answers("c1", "Merge made by the 'ort' strategy.");
    session.hook_for("PostToolUse", "c1");
    session.hook("SessionEnd");
    let merge = scratch.id("HEAD");
    assert_eq!(sessions(&scratch, &merge), ["merging"], "the history is made");
    (scratch, merge)
}

#[test]
fn a_merge_that_filter_branch_rewrites_keeps_its_conversation() {
    let (scratch, before) = merged_by_an_agent();
    let line = "git -c core.hooksPath=/dev/null filter-branch -f --index-filter 'git rm -q --cached --ignore-unmatch main.txt' main";
    scratch.run_in(&scratch.top, "sh", ["-c", line]).ok();
    assert_ne!(scratch.id("HEAD"), before);
    scratch.shiftlog("log", [""; 0]).ok();
    assert_eq!(sessions(&scratch, "HEAD"), ["merging"]);
}

#[test]
fn a_merge_of_a_person_gets_nothing_of_one_that_an_agent_made() {
    let (scratch, before) = merged_by_an_agent();
    scratch.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    scratch.git(["merge", "-q", "--no-ff", "-m", "by hand", "side"]).ok();
    scratch.shiftlog("log", [""; 0]);
    assert_eq!(scratch.records("HEAD").len(), 0);
    assert_eq!(sessions(&scratch, &before), ["merging"]);
}
