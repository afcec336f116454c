//! What somebody finds who tries the programs from the README alone: wrong words help, and nothing is lost by one.

use crate::support::{Ran, Scratch};

#[track_caller]
fn told(ran: &Ran, code: i32, stderr: &str) {
    assert_eq!((ran.code, ran.stderr.as_str()), (code, stderr), "{ran:?}");
}

#[test]
fn a_branch_without_commits_has_nothing_that_could_be_found_clean() {
    let scratch = Scratch::empty(&[]);
    let stderr = "fatal: your current branch 'main' does not have any commits yet\n";
    for command in ["scan", "remap", "log", "show"] {
        told(&scratch.shiftlog(command, [""; 0]), 128, stderr);
    }
}
