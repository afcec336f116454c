//! Ids of sessions can be any text, and so a secret: no page, no file name and no address has one.

use std::fs;

use serde_json::json;

use crate::support::Scratch;

/// A secret that is the id of a session.
pub const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178888";

/// A repository with a session, and a sub-agent of it, whose id is a secret, recorded by an earlier version. HEAD has both.
pub fn named_by_a_secret() -> Scratch {
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    scratch.commit("a.txt", "words\n", "a commit");
    for (id, text) in [(SECRET.to_owned(), "the words of it"), (format!("{SECRET}.agent1"), "helping words")] {
        let message = json!({ "role": "user", "content": text });
        let line = json!({ "type": "user", "uuid": "u", "timestamp": "2026-01-02T03:04:06Z", "message": message });
        let file = scratch.root().join("transcript.jsonl");
        fs::write(&file, format!("{line}\n")).unwrap();
        let (transcript, session) = (format!("--transcript={}", file.display()), format!("--session={id}"));
        scratch.shiftlog("add", [transcript, session, "HEAD".into()]).ok();
    }
    let other = scratch.session("other-1");
    other.prompt("more");
    other.edits("b.txt", "words\n");
    other.commits("another");
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    scratch
}

#[test]
fn an_id_that_is_a_secret_is_in_no_byte_of_an_export() {
    let scratch = named_by_a_secret();
    assert!(scratch.git(["notes", "--ref=shiftlog", "show", "HEAD~1"]).ok().contains(SECRET), "it was recorded");
    for (format, extension) in [("--html", "html"), ("--markdown", "md")] {
        for option in ["--view=full", "--full", "--no-patch"] {
            let ran = scratch.shiftlog("export", [format, option, "HEAD~2..HEAD"]);
            assert!(!ran.ok().contains(SECRET), "{format} {option}");
        }
        let directory = format!("site-{extension}/");
        let ran = scratch.shiftlog("export", [format, "-o", &directory, "HEAD~2..HEAD"]);
        assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
        let mut pages = 0;
        for entry in fs::read_dir(scratch.top.join(&directory)).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.to_string_lossy().contains(&SECRET[..12]), "{}", path.display());
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains(&SECRET[..12]), "{}: {text}", path.display());
            pages += usize::from(text.contains("the words of it"));
        }
        assert!(pages > 0, "its words are there");
    }
}

#[test]
fn two_sessions_whose_ids_are_secrets_count_in_two_rows_with_the_names_of_their_pages() {
    let scratch = named_by_a_secret();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    let second = SECRET.replace("88", "99");
    let file = scratch.root().join("transcript.jsonl");
    let (transcript, session) = (format!("--transcript={}", file.display()), format!("--session={second}"));
    scratch.shiftlog("add", [transcript, session, "HEAD".into()]).ok();
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    scratch.shiftlog("export", ["--html", "-o", "site/", "HEAD~2..HEAD"]);
    let mut pages: Vec<String> = fs::read_dir(scratch.top.join("site"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_prefix("claude~")?.strip_suffix(".html")?.to_owned())
        })
        .collect();
    pages.sort();
    assert_eq!(pages.len(), 3, "{pages:?}");
    for options in [&["--json", "--by=session"][..], &["--json", "--by=session", "--tools"]] {
        let printed = scratch.shiftlog("stats", options).ok();
        assert!(!printed.contains("REDACTED") && !printed.contains(&SECRET[..12]), "{printed}");
        let rows = printed.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let mut rows: Vec<String> = rows.filter_map(|row| Some(row["by"]["session"].as_str()?.to_owned())).collect();
        rows.sort();
        rows.dedup();
        let is_wanted = |name: &&String| options.len() == 2 || !name.starts_with("hidden-");
        assert_eq!(rows, pages.iter().filter(is_wanted).cloned().collect::<Vec<_>>(), "{options:?}");
    }
}

#[test]
fn an_export_is_the_same_byte_for_byte_whatever_is_missing() {
    let scratch = named_by_a_secret();
    let write = |name: &str| scratch.shiftlog("export", ["--html", "-o", name, "HEAD~2..HEAD"]).ok();
    for name in ["one/", "two/"] {
        write(name);
    }
    let mut names: Vec<_> =
        fs::read_dir(scratch.top.join("one")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names.len(), 3, "{names:?}");
    for name in names {
        let read = |folder: &str| fs::read(scratch.top.join(folder).join(&name)).unwrap();
        assert!(read("one") == read("two"), "{name:?}");
    }
}
