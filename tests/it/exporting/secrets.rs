//! Secrets that an earlier version or another tool has recorded: no page and no document has them.

use std::fs;

use serde_json::json;

use crate::support::Scratch;

/// The places of a repository that have a secret, each another one.
const PLACES: &[&str] = &[
    "prompt", "answer", "edit", "subject", "author", "email", "model", "path", "branch", "tool", "argument", "result",
    "maker",
];

/// Returns the secret of a place.
pub fn secret(place: &str) -> String {
    let number = PLACES.iter().position(|known| *known == place).unwrap();
    format!("ghp_16C7e42F292c6912E7710c838347Ae17{number:04}")
}

/// A repository with a conversation that was recorded with its secrets.
pub fn planted() -> Scratch {
    let mut scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    scratch.env.insert("GIT_AUTHOR_NAME".into(), format!("A U {}", secret("author")));
    scratch.env.insert("GIT_AUTHOR_EMAIL".into(), format!("{}@example.com", secret("email")));
    let session = scratch.session("alpha-1");
    session.prompt(&format!("use {} as the token", secret("prompt")));
    session.says(&format!("I set `{}`.", secret("answer")));
    session.calls("c", &format!("Tool_{}", secret("tool")), &json!({ "a": secret("argument") }));
    session.answers("c", &secret("result"));
    session.edits("token.txt", &format!("token = {}\nplain\n", secret("edit")));
    session.edits(&format!("of_{}/token.txt", secret("path")), "plain\n");
    let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
    let model = format!("model-{}", secret("model"));
    let content = json!([{ "type": "text", "text": "Done." }]);
    session.record("assistant", &json!({ "role": "assistant", "model": model, "content": content, "usage": usage }));
    session.runs_commit(&["-m", &format!("use {}", secret("subject"))]);
    session.hook("Stop");
    scratch.git(["branch", &format!("of/{}", secret("branch"))]).ok();
    let shown = scratch.shiftlog("show", ["--json", "HEAD"]).ok();
    for place in ["prompt", "answer", "edit", "model", "path"] {
        assert!(shown.contains(&secret(place)), "the {place} was recorded: {shown}");
    }
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    scratch
}

/// A repository with a conversation on HEAD that somebody has removed elsewhere, who has a secret for a name. The conversation
/// has edited `a.txt`.
pub fn removed_elsewhere() -> Scratch {
    let mut scratch = Scratch::set_up();
    let session = scratch.session("alpha-1");
    session.prompt("write");
    session.edits("a.txt", "words\n");
    session.commits("a commit");
    session.hook("SessionEnd");
    let segment = scratch.record("HEAD")["through"].as_str().unwrap().to_owned();
    let mark = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], b"{\"shiftlog\":1}\n").ok();
    let mut entry = format!("100644 blob {}\t{segment}\n", mark.trim());
    for name in [&segment[..2], "segments"] {
        let tree = scratch.run_with_input("git", ["mktree"], entry.as_bytes()).ok();
        entry = format!("040000 tree {}\t{name}\n", tree.trim());
    }
    let tree = scratch.run_with_input("git", ["mktree"], entry.as_bytes()).ok();
    let own = scratch.env.insert("GIT_AUTHOR_NAME".into(), format!("Bob {}", secret("maker"))).unwrap();
    let commit = scratch.git(["commit-tree", "-m", "shiftlog: purge", tree.trim()]).ok();
    scratch.env.insert("GIT_AUTHOR_NAME".into(), own);
    scratch.git(["update-ref", "refs/shiftlog/remotes/origin/purged", commit.trim()]).ok();
    let shown = scratch.shiftlog("show", ["HEAD"]).stdout;
    assert!(shown.contains(&format!("removed by Bob {}", secret("maker"))), "{shown}");
    scratch
}

/// Asserts that a page or document has no secret.
#[track_caller]
pub fn assert_clean(text: &str, name: &str) {
    let found: Vec<&&str> = PLACES.iter().filter(|place| text.contains(&secret(place))).collect();
    assert!(found.is_empty(), "{name} has the secret of {found:?}");
}

#[test]
fn a_secret_that_was_recorded_is_in_no_byte() {
    let scratch = planted();
    for format in ["--html", "--markdown"] {
        let ran = scratch.shiftlog("export", [format]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_clean(&ran.stdout, format);
        assert!(ran.stdout.contains("as the token"), "{}", ran.stdout);
        assert_eq!(ran.stderr, "warning: secrets were removed from 1 conversation\n");
        for view in ["--view=full", "--view=focused", "--full"] {
            assert_clean(&scratch.shiftlog("export", [format, view]).ok(), view);
        }
        scratch.shiftlog("export", [format, "-q", "-o", "site/"]).ok();
    }
    for entry in fs::read_dir(scratch.top.join("site")).unwrap() {
        let path = entry.unwrap().path();
        assert_clean(&path.to_string_lossy(), "a name");
        assert_clean(&fs::read_to_string(&path).unwrap(), &path.to_string_lossy());
    }
}

#[test]
fn counts_of_any_kind_and_form_have_no_secret() {
    let scratch = planted();
    for by in ["agent,model", "author", "branch", "commit", "commit,model", "session", "path", "day,branch,path"] {
        let by = format!("--by={by}");
        for form in ["--json", "--csv", "--chart", "--color=never", "--words", "--lines", "--tools"] {
            if form != "--tools" || !by.contains("path") {
                let counted = scratch.shiftlog("stats", ["--branches", &by, form]).ok();
                assert_clean(&counted, &format!("{by} {form}"));
            }
        }
    }
}

/// A key as `ssh-keygen` writes one, of random bytes.
fn key(seed: u32) -> Vec<String> {
    let line = |number: u32| {
        let letter = |at: u32| char::from(b'A' + ((seed * 7 + number * 11 + at * at * 5) % 26) as u8);
        (0..64).map(letter).collect::<String>()
    };
    let begin = ["-----BEGIN OPENSSH PRIVATE KEY-----".to_owned()];
    let end = ["-----END OPENSSH PRIVATE KEY-----".to_owned()];
    begin.into_iter().chain((0..24).map(line)).chain(end).collect()
}

#[test]
fn a_hunk_from_the_middle_of_a_key_has_none_of_its_lines() {
    let scratch = Scratch::set_up();
    let before = key(1);
    let mut after = before.clone();
    after[12] = key(2)[5].clone();
    scratch.write("keys/k \"odd\" é.pem", &(before.join("\n") + "\n"));
    scratch.write("k.pem", &(before.join("\n") + "\n"));
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "a key"]).ok();
    let session = scratch.session("alpha-1");
    session.prompt("change the key");
    session.edits("k.pem", &(after.join("\n") + "\n"));
    session.edits("keys/k \"odd\" é.pem", &(after.join("\n") + "\n"));
    session.edits("plain.txt", "a plain line\n");
    session.commits("another key");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    for line in before.iter().chain(&after).filter(|line| !line.starts_with("--")) {
        assert!(!page.contains(line.as_str()), "{line}");
    }
    assert!(page.contains("a plain line") && page.contains("k.pem"), "{page}");
}

/// Returns lines as those of a key, of 64 characters of base64.
fn key_lines(seed: u32, count: u32) -> Vec<String> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let line = |number: u32| {
        let mut state = seed.wrapping_mul(977).wrapping_add(number * 31 + 7);
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(letters[(state >> 24) as usize % letters.len()])
        };
        (0..64).map(next).collect()
    };
    (0..count).map(line).collect()
}

#[test]
fn a_part_of_a_key_without_its_first_line_is_in_no_page_and_no_document() {
    let scratch = Scratch::set_up();
    let lines = key_lines(3, 6);
    let end = "aB3+dE5gH7jK9mN1pQ==";
    let plain = "0f5c7d6f7a1e4bb0c3d2e1f00f5c7d6f7a1e4bb0c3d2e1f00f5c7d6f7a1e4bb0";
    let numbered = |from: usize| {
        let one = |(at, line): (usize, &String)| format!("{:6}\u{2192}{line}", at + from);
        lines.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
    };
    let session = scratch.session("alpha-1");
    session.prompt(&format!("is this a part of it?\n{}\nand {plain}", lines[0]));
    session.calls("r", "Read", &json!({ "file_path": scratch.top.join("key.pem"), "offset": 5, "limit": 6 }));
    session.answers("r", &format!("{}\n    11\u{2192}{end}\n", numbered(5)));
    let edit = json!({ "file_path": scratch.top.join("key.pem"), "old_string": lines[1], "new_string": lines[2] });
    session.calls("e", "Edit", &edit);
    session.answers("e", "done");
    session.calls("o", "Odd", &json!({ "text": format!("{}\n{}", lines[3], lines[4]), "other": [lines[5]] }));
    session.answers("o", plain);
    session.says(&format!("It says:\n\n    {}\n\nand no more.", lines[2]));
    session.edits("a.txt", "words\n");
    session.commits("look at a key");
    session.hook("SessionEnd");
    for options in [&["--html"][..], &["--html", "--full"], &["--html", "--view=full"], &["--markdown", "--view=full"]]
    {
        let page = scratch.shiftlog("export", options).ok();
        let is_there = |line: &&String| page.contains(line.as_str());
        assert_eq!(lines.iter().find(is_there), None, "{options:?}");
        assert!(!page.contains(end) && page.contains(plain) && page.contains("is this a part of it?"), "{page}");
    }
    scratch.shiftlog("export", ["--html", "-q", "-o", "site/", "HEAD"]).ok();
    let index = fs::read_to_string(scratch.top.join("site/index.html")).unwrap();
    assert_eq!(lines.iter().find(|line| index.contains(line.as_str())), None, "the search of the overview");
}

#[test]
fn a_title_that_somebody_gives_has_no_secret() {
    let scratch = planted();
    let title = format!("--title=of {}", secret("prompt"));
    for arguments in [&["--html", "-q"][..], &["--html", "-q", "-o", "site/"], &["--markdown", "-q", "-o", "text/"]] {
        assert_clean(&scratch.shiftlog("export", [&[title.as_str()], arguments].concat()).ok(), "a page");
    }
    for index in ["site/index.html", "text/index.md"] {
        assert_clean(&fs::read_to_string(scratch.top.join(index)).unwrap(), index);
    }
}
