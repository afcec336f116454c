//! A selection of everything that is recorded.

use super::*;

#[test]
fn everything_goes_only_where_that_is_typed() {
    let scratch = Scratch::new();
    says(&scratch, &scratch.top, "s", &["first"]);
    scratch.commit("x", "1\n", "next");
    says(&scratch, &scratch.top, "t", &["second"]);
    // The thirtieth of this month may be still to come.
    for target in
        [&["--before=now"][..], &["--before=2099-12-31"], &["--match=."], &["--match=[^q]"], &["HEAD", "HEAD~1"]]
    {
        let ran = scratch.shiftlog("purge", [target, &["--yes"]].concat());
        assert_eq!(ran.code, 128, "{target:?}: {ran:?}");
        assert_eq!(
            ran.stderr,
            "fatal: refusing to remove everything that is recorded here\n\
             hint: 'git shiftlog purge --all' with the same options does it\n",
            "{target:?}"
        );
        let dry = scratch.shiftlog("purge", [target, &["--dry-run"]].concat());
        assert_eq!(dry.code, 0, "{target:?}: {dry:?}");
        let line = dry.stdout.split(": ").last().unwrap_or_default();
        assert!(line.starts_with("would remove "), "it says how much: {dry:?}");
        assert_eq!(dry.stderr, "warning: this is everything that is recorded here: it is removed only with --all\n");
        assert_eq!(scratch.raw("HEAD", &[]), text(&["second"]), "{target:?}");
        assert_eq!(scratch.raw("HEAD~1", &[]), text(&["first"]), "{target:?}");
    }
    // What a session says behind its last commit is on no commit, and a selection of all commits does not name it.
    let session = scratch.session("behind");
    session.prompt("BEHIND");
    session.hook("SessionEnd");
    let ran = scratch.shiftlog("purge", ["HEAD", "HEAD~1", "--yes"]);
    assert!(ran.stderr.starts_with("fatal: refusing to remove everything"), "{ran:?}");
    assert_eq!(scratch.shiftlog("purge", ["--all", "--yes"]).code, 129, "--all names nothing");
    // A pattern of some letters is no selection of everything, and neither is one commit of several.
    let one = |target| scratch.shiftlog("purge", [target, "--yes"]);
    one("--match=[e-i]+rst").ok();
    one("HEAD~1").ok();
    // The last one is, by whatever name.
    for target in ["HEAD", "--session=t"] {
        let ran = one(target);
        assert!(ran.code == 128 && ran.stderr.starts_with("fatal: refusing to remove everything"), "{target}: {ran:?}");
    }
    assert_eq!(scratch.raw("HEAD", &[]), text(&["second"]));
    scratch.shiftlog("purge", ["HEAD", "--all", "--yes"]).ok();
    assert_eq!(scratch.shiftlog("show", ["HEAD"]).code, 1);
    says(&scratch, &scratch.top, "u", &["third"]);
    purge(&scratch, &["--before=now", "--all"]).ok();
    assert_eq!(places(&scratch, &scratch.top, "third"), Vec::<String>::new());
}
