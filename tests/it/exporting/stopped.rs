//! Exports that a signal ends.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::recorded;
use crate::support::bin_dir;

#[test]
fn an_export_that_is_interrupted_leaves_nothing() {
    let scratch = recorded();
    let git = scratch.run_in(&scratch.top, "sh", ["-c", "command -v git"]).ok();
    // Git stands still where it is asked for the change of a commit: the page is begun by then.
    let stand_in = format!(
        "#!/bin/sh\ncase \" $* \" in *' --patch '*) >'{}/begun'; exec sleep 2 ;; esac\nexec {} \"$@\"\n",
        scratch.root().display(),
        git.trim()
    );
    let place = scratch.root().join("stand-in");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("git"), stand_in).unwrap();
    Command::new("chmod").args(["+x".as_ref(), place.join("git").as_os_str()]).status().unwrap();
    let path = format!("{}:{}", place.display(), scratch.env["PATH"]);
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        for target in ["x.html", "site/"] {
            let begun = scratch.root().join("begun");
            let _ = fs::remove_file(&begun);
            let mut command = scratch.command(bin_dir().join("git-shiftlog-export"), &scratch.top);
            command.args(["--html", "-o", target, "HEAD"]).env("PATH", &path).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let until = Instant::now() + Duration::from_secs(60);
            while !begun.exists() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            let kill = format!("kill -s {signal} {}", child.id());
            assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
            assert_eq!(child.wait().unwrap().signal(), Some(number), "the signal ends it");
            for directory in [scratch.top.clone(), scratch.top.join("site")] {
                let names = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().file_name());
                let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".shiftlog-")).collect();
                assert!(left.is_empty(), "{signal} {target}: {left:?}");
            }
        }
    }
}
