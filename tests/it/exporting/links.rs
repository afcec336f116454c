//! Exports to paths that are symbolic links.

use std::fs;

use super::recorded;

#[test]
fn a_symbolic_link_that_the_user_names_is_written_through() {
    let scratch = recorded();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, scratch.top.join(name)).unwrap();
    let is_link = |name: &str| fs::symlink_metadata(scratch.top.join(name)).unwrap().is_symlink();
    let page = scratch.shiftlog("export", ["--html", "HEAD"]).bytes;
    fs::create_dir(scratch.top.join("d")).unwrap();
    scratch.write("d/old.html", "mine");
    for (to, name, file) in [("d/old.html", "a.html", "d/old.html"), ("d/new.html", "b.html", "d/new.html")] {
        link(to, name);
        let refused = scratch.shiftlog("export", ["--html", "-o", name, "HEAD"]);
        assert_eq!(refused.stderr, format!("fatal: '{name}' already exists\nhint: '-f' replaces it\n"));
        scratch.shiftlog("export", ["--html", "-f", "-o", name, "HEAD"]).ok();
        assert!(is_link(name), "{name}");
        assert_eq!(fs::read(scratch.top.join(file)).unwrap(), page, "{name}");
    }
    // A link to a link, and one in a circle.
    link("../a.html", "d/c.html");
    fs::write(scratch.top.join("d/old.html"), "mine").unwrap();
    scratch.shiftlog("export", ["--html", "-f", "-o", "d/c.html", "HEAD"]).ok();
    assert!(is_link("d/c.html") && is_link("a.html"));
    assert_eq!(fs::read(scratch.top.join("d/old.html")).unwrap(), page);
    link("circle", "circle");
    assert_eq!(scratch.shiftlog("export", ["--html", "-f", "-o", "circle", "HEAD"]).code, 128);
    // What is Git's stays so, also through a link.
    link(".git/config", "e.html");
    let config = fs::read(scratch.top.join(".git/config")).unwrap();
    let refused = scratch.shiftlog("export", ["--html", "-f", "-o", "e.html", "HEAD"]);
    assert_eq!((refused.code, fs::read(scratch.top.join(".git/config")).unwrap()), (128, config));
    // The names in a directory are those of sessions, which others choose: nothing is written through them.
    fs::create_dir(scratch.top.join("site")).unwrap();
    scratch.write("victim", "mine");
    link("../victim", "site/index.html");
    scratch.shiftlog("export", ["--html", "-f", "-o", "site/", "HEAD"]).ok();
    assert!(!is_link("site/index.html") && fs::read(scratch.top.join("victim")).unwrap() == b"mine");
}
