//! A pager has the terminal until it ends, whatever is typed meanwhile.

use std::fs;

use crate::support::Scratch;

/// Runs a command at a terminal, sends it SIGINT once its pager has started, and lets the pager end then. Prints how the
/// command has ended, and whether the pager had ended before.
const DRIVER: &str = r#"
import os, pathlib, pty, signal, subprocess, sys, threading, time
here = pathlib.Path(sys.argv[1])
leader, terminal = pty.openpty()
command = subprocess.Popen(sys.argv[2:], stdout=terminal, stderr=terminal)
while not (here / "started").exists():
    time.sleep(0.01)
command.send_signal(signal.SIGINT)
time.sleep(0.2)
(here / "go").touch()
print(command.wait(), (here / "ended").exists())
"#;

/// Says whether there is nothing here that runs [`DRIVER`].
fn lacks_driver(scratch: &Scratch) -> bool {
    let is_absent = scratch.run_in(&scratch.top, "sh", ["-c", "command -v python3"]).code != 0;
    if is_absent {
        crate::support::skip("there is no python3");
    }
    is_absent
}

#[test]
fn a_command_that_is_interrupted_waits_for_its_pager() {
    let mut scratch = Scratch::set_up();
    if lacks_driver(&scratch) {
        return;
    }
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", &"much to show\n".repeat(20_000));
    session.commits("one");
    let program = crate::support::bin_dir().join("git-shiftlog-show");
    for (name, reads) in [("all", "cat >\"$PLACE/shown\""), ("nothing", ":")] {
        let place = scratch.root().join(name);
        fs::create_dir(&place).unwrap();
        scratch.env.insert("PLACE".into(), place.to_str().unwrap().into());
        let pager = format!(
            "trap '' INT; {reads}; : >\"$PLACE/started\"; until [ -e \"$PLACE/go\" ]; do sleep 0.01; done; \
             sleep 0.3; : >\"$PLACE/ended\""
        );
        scratch.env.insert("GIT_PAGER".into(), pager);
        let words = ["-c", DRIVER, place.to_str().unwrap(), program.to_str().unwrap(), "-vv", "HEAD"];
        let ended = scratch.run_in(&scratch.top, "python3", words).ok();
        assert_eq!(ended, "-2 True\n", "a pager that reads {name}");
    }
}

#[test]
fn a_command_whose_pager_cannot_be_started_is_interrupted_at_once() {
    let mut scratch = Scratch::set_up();
    if lacks_driver(&scratch) {
        return;
    }
    let session = scratch.session("s1");
    session.prompt("make it");
    session.edits("a.txt", "text\n");
    session.commits("one");
    // Git asks for the text of the file to compare, which is long work for the command.
    let waits = ": >\"$PLACE/started\"; until [ -e \"$PLACE/go\" ]; do sleep 0.01; done; cat";
    scratch.git(["config", "diff.slow.textconv", waits]).ok();
    fs::write(scratch.top.join(".git/info/attributes"), "*.txt diff=slow\n").unwrap();
    let place = scratch.root().join("place");
    fs::create_dir(&place).unwrap();
    scratch.env.insert("PLACE".into(), place.to_str().unwrap().into());
    scratch.env.insert("GIT_PAGER".into(), "no-such-pager".into());
    let program = crate::support::bin_dir().join("git-shiftlog-show");
    let words = ["-c", DRIVER, place.to_str().unwrap(), program.to_str().unwrap(), "--patch", "HEAD"];
    assert_eq!(scratch.run_in(&scratch.top, "python3", words).ok(), "-2 False\n");
}
