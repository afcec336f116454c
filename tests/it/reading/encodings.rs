//! Commits that are not in UTF-8 are shown in it, as Git shows them.

use std::fs;

use crate::support::Scratch;

#[test]
fn a_message_in_another_encoding_is_shown_in_utf8() {
    for (encoding, message, shown) in [
        ("ISO-8859-1", &b"caf\xe9 stra\xdfe"[..], "caf\u{e9} stra\u{df}e"),
        ("windows-1252", b"\x80 5", "\u{20ac} 5"),
        ("Shift_JIS", b"\x92\xaa\x82\xf0\x93\xc7\x82\xde", "\u{6f6e}\u{3092}\u{8aad}\u{3080}"),
        ("KOI8-R", b"\xcd\xcf\xd2\xc5", "\u{43c}\u{43e}\u{440}\u{435}"),
    ] {
        let scratch = Scratch::set_up();
        scratch.git(["config", "i18n.commitEncoding", encoding]).ok();
        let session = scratch.session("s1");
        session.prompt("write it down");
        session.edits("a.txt", "a\n");
        let file = scratch.root().join("message");
        fs::write(&file, message).unwrap();
        scratch.git(["add", "-A"]).ok();
        scratch.git(["commit", "-q", "-F", file.to_str().unwrap()]).ok();
        assert_eq!(scratch.git(["log", "-1", "--encoding=UTF-8", "--format=%s"]).ok().trim_end(), shown, "{encoding}");
        for (name, args) in [
            ("show", &["HEAD"][..]),
            ("show", &["--json", "HEAD"]),
            ("why", &["a.txt:1"]),
            ("log", &["--json", "-1"]),
            ("log", &["--oneline", "-1"]),
            ("export", &["--markdown", "HEAD"]),
            ("export", &["--html", "HEAD"]),
        ] {
            let out = scratch.shiftlog(name, args).ok();
            assert!(out.contains(shown), "{encoding}: {name} {args:?}: {out}");
        }
    }
}

#[test]
fn a_message_that_is_not_in_its_encoding_is_shown_as_it_is() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("write it down");
    session.edits("a.txt", "a\n");
    let id = session.commits("plain words");
    for encoding in ["UTF-8", "EUC-JP", "nonsense", "../../etc", "utf-16le", ""] {
        let commit = scratch.git(["cat-file", "commit", &id]).ok();
        let odd = commit.replacen("\n\n", &format!("\nencoding {encoding}\n\n"), 1);
        let file = scratch.root().join("commit");
        fs::write(&file, odd.replace("plain words", "plain words caf\u{e9}")).unwrap();
        let made = scratch.git(["hash-object", "-t", "commit", "-w", "--literally", file.to_str().unwrap()]).ok();
        let made = made.trim_end();
        scratch.git(["notes", "--ref=shiftlog", "copy", "-f", &id, made]).ok();
        let shown = scratch.shiftlog("show", ["--json", made]).ok();
        let wanted = if encoding == "utf-16le" { "plain" } else { "plain words" };
        assert!(
            shown.contains("write it down") && (shown.contains(wanted) || encoding == "utf-16le"),
            "{encoding}: {shown}"
        );
    }
}
