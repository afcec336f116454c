//! `git shiftlog export`: pages and Markdown as files.

mod agents;
mod links;
mod packed;
pub mod secrets;
pub mod session_ids;
mod stopped;
mod unread;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::Scratch;

/// A repository with three commits of one session and one of another.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("make one <b>and</b> tell");
    session.says("First **this**, then `x < y`.");
    session.edits("one.rs", "fn one() {}\n");
    session.commits("add one");
    session.prompt("make two");
    session.edits("two.rs", "fn two() {}\nfn more() {}\n");
    session.calls("r1", "Bash", &json!({ "command": "cargo test" }));
    session.answers("r1", "test result: ok");
    session.commits("add two");
    session.prompt("and tidy up");
    session.edits("one.rs", "fn one() { two() }\n");
    session.says("Tidied.");
    session.commits("tidy");
    session.hook("SessionEnd");
    let session = scratch.session("beta");
    session.prompt("make three");
    session.edits("three.rs", "fn three() {}\n");
    session.commits("add three");
    scratch
}

/// Returns the values of an attribute, in order.
fn values<'h>(html: &'h str, attribute: &str) -> Vec<&'h str> {
    let mark = format!(" {attribute}=\"");
    html.match_indices(&mark).filter_map(|(at, _)| html[at + mark.len()..].split('"').next()).collect()
}

/// Asserts that each element ends within the one in which it began.
#[track_caller]
fn assert_nested(html: &str) {
    let (mut open, mut rest): (Vec<&str>, &str) = (Vec::new(), html);
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{}", &after[..after.len().min(80)]);
        } else if !["!DOCTYPE", "meta", "link", "input", "br", "hr", "img"].contains(&name) {
            open.push(name);
        }
        // What they have is no HTML.
        if ["script", "style"].contains(&tag.split(' ').next().unwrap()) {
            rest = &rest[rest.find("</").expect("it ends")..];
        }
    }
    assert_eq!(open, [""; 0]);
}

/// Asserts what holds for every page: ids that are there once, links that lead somewhere, nothing from elsewhere.
#[track_caller]
fn assert_whole(html: &str) {
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"), "{html}");
    let mut ids = values(html, "id");
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "each id is there once");
    for address in values(html, "href").iter().filter_map(|address| address.strip_prefix('#')) {
        assert!(ids.contains(&address), "nothing has the id {address}");
    }
    assert!(values(html, "src").is_empty() && values(html, "style").is_empty());
    assert_nested(html);
    let policy = values(html, "content").into_iter().find(|value| value.contains("default-src")).unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn a_page_has_the_turns_and_the_commits_with_links_to_each() {
    let scratch = recorded();
    let page = scratch.shiftlog("export", ["--html", "HEAD~3.."]).ok();
    assert_whole(&page);
    let short = |revision: &str| scratch.id(revision)[..7].to_owned();
    for revision in ["HEAD~2", "HEAD~1", "HEAD"] {
        assert!(page.contains(&format!("id=\"{}-t1\"", short(revision))), "{revision}");
        assert!(page.contains(&format!("id=\"c-{}\"", short(revision))), "{revision}");
    }
    assert!(page.find("make two").unwrap() < page.find("and tidy up").unwrap(), "the oldest comes first");
    assert!(!page.contains("make one"), "what is outside the range is not there");
    let one = scratch.shiftlog("export", ["--html", "HEAD~3"]).ok();
    assert_whole(&one);
    assert!(one.contains("id=\"t1\"") && one.contains("id=\"t1m2\""), "a single conversation has plain numbers");
    assert!(one.contains("make one &lt;b&gt;and&lt;/b&gt; tell") && one.contains("First <strong>this</strong>"));
    assert!(one.contains("<a href=\"#t1\">turn 1</a>"), "the hunk leads to its turn: {one}");
}

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

#[test]
fn pictures_are_on_a_page_only_if_that_is_asked_for_and_they_are_nothing_else() {
    let encode = |bytes: &[u8]| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.shows("like this", "image/png", PIXEL);
    session.shows("or this", "image/svg+xml", &encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"));
    session.shows("called a picture", "image/png", &encode(b"<script>alert(1)</script> and more of it"));
    let secret = format!("sk-ant-api03-{}-{}AA", "Zk3".repeat(31), "");
    let secretive = encode(format!("\u{89}PNG\r\n\u{1a}\n ANTHROPIC_API_KEY={secret} ").as_bytes());
    session.shows("with a secret", "image/png", &secretive);
    session.calls("s", "Screenshot", &json!({}));
    session.answers_with("s", "image/gif", "R0lGODlhAQABAAAAACw=\"onload=\"alert(1)");
    session.calls("t", "Screenshot", &json!({}));
    session.answers_with("t", "image/gif", PIXEL);
    session.edits("one.rs", "fn one() {}\n");
    session.commits("add one");
    let plain = scratch.shiftlog("export", ["--html"]).ok();
    assert_whole(&plain);
    assert!(!plain.contains("<img") && plain.contains("[image/png, 68 bytes]"), "{plain}");
    let page = scratch.shiftlog("export", ["--html", "--images"]).ok();
    let shown = format!("<img class=\"picture\" src=\"data:image/png;base64,{PIXEL}\" alt=\"[image/");
    assert_eq!((page.matches("<img").count(), page.matches(&shown).count()), (2, 2), "{page}");
    assert!(!page.contains("onload") && page.contains("[image/svg+xml"), "{page}");
    assert_eq!(page, scratch.shiftlog("export", ["--html", "--images"]).ok(), "the same bytes again");
    let refused = scratch.shiftlog("export", ["--markdown", "--images"]);
    assert_eq!(refused.code, 129, "{refused:?}");
}

#[test]
fn a_hunk_that_nobody_recorded_says_so() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("make one");
    session.edits("one.rs", "fn one() {}\n");
    scratch.write("by_hand.txt", "these lines were typed\nby a person\n");
    session.commits("add one and a file by hand");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    let (file, rest) = page
        .split_once("<code class=\"path\">by_hand.txt</code>")
        .map(|(_, rest)| rest.split_once("</details>").unwrap())
        .unwrap();
    assert!(file.contains("not in the conversation") && !file.contains("href"), "{file}");
    assert!(rest.contains("<a href=\"#t1\">turn 1</a>"), "{rest}");
}

/// A commit of two turns of a session, of which the second has sent a sub-agent, and of another session.
pub fn of_several() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("make one");
    session.edits("one.rs", "fn one() {}\n");
    session.edits("both.rs", "fn first_of_both() {}\nfn first_of_both_too() {}\n");
    session.prompt("make two");
    session.edits("both.rs", "fn first_of_both() {}\nfn first_of_both_too() {}\nfn second_of_both() {}\n");
    session.calls("t", "Task", &json!({ "description": "look", "prompt": "make three" }));
    let folder = session.transcript.with_extension("").join("subagents");
    fs::create_dir_all(&folder).unwrap();
    let file = scratch.top.join("three.rs");
    fs::write(&file, "fn three() {}\n").unwrap();
    let call = json!({ "type": "tool_use", "id": "x", "name": "Write",
        "input": { "file_path": file, "content": "fn three() {}\n" } });
    let words: String = [
        json!({ "type": "user", "message": { "role": "user", "content": "make three" } }),
        json!({ "type": "assistant", "message": { "role": "assistant", "model": "m", "content": [call] } }),
    ]
    .into_iter()
    .map(|mut record| {
        record["isSidechain"] = json!(true);
        record["agentId"] = json!("a1b2");
        record["sessionId"] = json!("alpha");
        record["timestamp"] = json!("2026-01-02T03:04:06Z");
        format!("{record}\n")
    })
    .collect();
    fs::write(folder.join("agent-a1b2.jsonl"), words).unwrap();
    session.answers("t", "made");
    let other = scratch.session("beta");
    other.prompt("make four");
    other.edits("four.rs", "fn four() {}\n");
    session.commits("add all");
    scratch
}

/// Returns the hunk of a file with one hunk, and its id.
fn hunk<'h>(page: &'h str, path: &str) -> (&'h str, &'h str) {
    let file = page.split_once(&format!("<code class=\"path\">{path}</code>")).unwrap().1;
    let hunk = file.split_once("<div class=\"hunk\" id=\"").unwrap().1;
    let (id, rest) = hunk.split_once('"').unwrap();
    (id, rest.split_once("</div>").unwrap().0)
}

#[test]
fn the_change_of_a_commit_stands_beside_its_turns_and_each_leads_to_the_other() {
    let scratch = of_several();
    let page = scratch.shiftlog("export", ["--html"]).ok();
    assert_whole(&page);
    let (said, change) = page.split_once("</div><div class=\"change\">").unwrap();
    assert!(said.contains("<main id=\"main\" tabindex=\"-1\" class=\"beside\">"), "{said}");
    assert!(!said.contains("class=\"hunk\"") && !change.contains("class=\"turn\""));
    assert_eq!(page.matches("<section class=\"commit\"").count(), 1, "the commit is there once");
    let prefix = format!("{}-", &scratch.id("HEAD")[..7]);
    let turn = |page: &str, id: &str| {
        let start =
            page.find(&format!("<section class=\"turn\" id=\"{id}\"")).unwrap_or_else(|| panic!("{id}: {page}"));
        page[start..].split_once("</section>").unwrap().0.to_owned()
    };
    let link = |turn: &str, text: &str| format!("<a href=\"#{turn}\">{text}</a>");
    let alpha = |number: usize| format!("{prefix}t{number}");
    let (id, one) = hunk(&page, "one.rs");
    assert!(one.contains(&link(&alpha(1), "turn 1 of claude alpha")), "{one}");
    assert!(turn(&page, &alpha(1)).contains(&link(id, "one.rs:1")));
    let (id, both) = hunk(&page, "both.rs");
    let turns = [link(&alpha(1), "turn 1 of claude alpha"), link(&alpha(2), "turn 2 of claude alpha")];
    assert!(both.contains(&turns.join(", ")), "both turns wrote it, the first one more: {both}");
    assert!(
        turn(&page, &alpha(1)).contains(&link(id, "both.rs:1"))
            && turn(&page, &alpha(2)).contains(&link(id, "both.rs:1"))
    );
    let (_, three) = hunk(&page, "three.rs");
    assert!(three.contains(&link(&alpha(2), "turn 2 of claude alpha")), "a sub-agent wrote for its session: {three}");
    let (id, four) = hunk(&page, "four.rs");
    let beta = format!("{prefix}s2-t1");
    assert!(four.contains(&link(&beta, "turn 1 of claude beta")), "{four}");
    assert!(turn(&page, &beta).contains(&link(id, "four.rs:1")));
    for args in [&["--html", "--no-patch"][..], &["--html", "--view=focused"], &["--html", "alpha"]] {
        let page = scratch.shiftlog("export", args).ok();
        assert_whole(&page);
        assert!(!page.contains("class=\"beside\"") && !page.contains("class=\"wrote\""), "{args:?}");
    }
    let one = scratch.shiftlog("export", ["--html", "--session=beta"]).ok();
    assert_whole(&one);
    let (_, four) = hunk(&one, "four.rs");
    assert!(four.contains(&link("t1", "turn 1")), "{four}");
    let (_, elsewhere) = hunk(&one, "one.rs");
    assert!(elsewhere.contains("turn 1 of claude alpha") && !elsewhere.contains("href"), "{elsewhere}");
}

#[test]
fn a_file_that_git_quotes_has_its_own_name_and_leads_to_its_turn() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("make it");
    session.edits("an \\odd \"näme\".txt", "words that were written\n");
    session.commits("add one");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    let (_, odd) = hunk(&page, "an \\odd &quot;näme&quot;.txt");
    assert!(odd.contains("<a href=\"#t1\">turn 1</a>"), "{page}");
}

#[test]
fn a_whole_session_has_its_commits_between_its_turns() {
    let scratch = recorded();
    for args in [&["--html", "--full", "HEAD~1"][..], &["--html", "alpha"]] {
        let page = scratch.shiftlog("export", args).ok();
        assert_whole(&page);
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not there"));
        let short = |revision: &str| format!("id=\"c-{}\"", &scratch.id(revision)[..7]);
        let order = [
            place("id=\"t1\""),
            place(&short("HEAD~3")),
            place("id=\"t2\""),
            place(&short("HEAD~2")),
            place("id=\"t3\""),
            place(&short("HEAD~1")),
        ];
        assert!(order.is_sorted(), "{order:?}");
        assert!(!page.contains("make three"));
    }
}

#[test]
fn of_commits_that_were_rewritten_a_session_has_the_newest_each_time() {
    let mut scratch = recorded();
    scratch.git(["branch", "-q", "old"]).ok();
    scratch.env.insert("GIT_COMMITTER_DATE".into(), "2026-02-03T04:05:06Z".into());
    scratch.git(["rebase", "-q", "--force-rebase", "HEAD~4"]).ok();
    assert_ne!(scratch.id("old~3"), scratch.id("HEAD~3"));
    assert_eq!(scratch.record("old~3"), scratch.record("HEAD~3"), "both have the same words");
    let pages: Vec<String> = (0..6).map(|_| scratch.shiftlog("export", ["--html", "--full", "HEAD~1"]).ok()).collect();
    assert!(pages.iter().all(|page| *page == pages[0]));
    for revision in ["HEAD~3", "HEAD~2", "HEAD~1"] {
        assert!(pages[0].contains(&format!("id=\"c-{}\"", &scratch.id(revision)[..7])), "{revision}");
    }
    assert_eq!(pages[0].matches("<section class=\"commit\"").count(), 3);
}

#[test]
fn a_directory_has_a_page_for_each_session_and_an_overview() {
    let scratch = recorded();
    let site = scratch.top.join("site");
    scratch.shiftlog("export", ["--html", "-o", "site/", "HEAD~4.."]).ok();
    let mut names: Vec<_> = fs::read_dir(&site).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["claude~alpha.html", "claude~beta.html", "index.html"]);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert_whole(&index);
    assert!(
        index.contains("href=\"claude%7Ealpha.html\"") && index.contains("2 sessions, 4 turns, 4 commits"),
        "{index}"
    );
    let alpha = fs::read_to_string(site.join("claude~alpha.html")).unwrap();
    assert_whole(&alpha);
    let (_, words) = index.split_once("<script type=\"application/json\" id=\"words\">").unwrap();
    let pages: Vec<(String, Vec<(String, String)>)> =
        serde_json::from_str(words.split_once("</script>").unwrap().0).unwrap();
    let alpha_words = &pages.iter().find(|(address, _)| address == "claude%7Ealpha.html").unwrap().1;
    assert!(alpha_words.iter().any(|(_, text)| text == "make one <b>and</b> tell"), "{alpha_words:?}");
    for (id, _) in alpha_words {
        assert!(alpha.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(alpha.contains("href=\"index.html\"") && !alpha.contains("make three"));
    // A second run replaces nothing unless it is told to.
    let again = scratch.shiftlog("export", ["--html", "-o", "site", "HEAD"]);
    assert_eq!((again.code, again.stdout.as_str()), (128, ""));
    assert!(again.stderr.contains("'site/claude~beta.html' already exists"), "{}", again.stderr);
    scratch.shiftlog("export", ["--html", "-f", "-o", "site", "HEAD"]).ok();
    scratch.shiftlog("export", ["--markdown", "-o", "md/", "HEAD~1.."]).ok();
    let index = fs::read_to_string(scratch.top.join("md/index.md")).unwrap();
    assert_eq!(index, "# Conversations\n\n- [claude/beta](<claude%7Ebeta.md>): add three\n");
}

#[test]
fn an_export_is_the_same_twice_and_whole_or_not_there() {
    let scratch = recorded();
    let file = scratch.top.join("x.html");
    scratch.shiftlog("export", ["--html", "-o", "x.html", "HEAD~3.."]).ok();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(bytes, scratch.shiftlog("export", ["--html", "HEAD~3.."]).bytes);
    assert_eq!(bytes, scratch.shiftlog("export", ["--html", "-o", "-", "HEAD~3.."]).bytes);
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    scratch.write("plain", "");
    assert_eq!(
        mode,
        fs::metadata(scratch.top.join("plain")).unwrap().permissions().mode() & 0o777,
        "as the umask says"
    );
    fs::write(&file, "mine").unwrap();
    let refused = scratch.shiftlog("export", ["--html", "-o", "x.html"]);
    assert_eq!(refused.code, 128);
    assert_eq!(refused.stderr, "fatal: 'x.html' already exists\nhint: '-f' replaces it\n");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    scratch.shiftlog("export", ["--html", "-f", "-o", "x.html", "HEAD~3.."]).ok();
    assert_eq!(fs::read(&file).unwrap(), bytes);
    let nowhere = scratch.shiftlog("export", ["--html", "-o", "no/such/x.html"]);
    assert_eq!(nowhere.code, 128, "{}", nowhere.stderr);
    let left = fs::read_dir(&scratch.top)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".shiftlog-"));
    assert_eq!(left.count(), 0, "no half file is left");
}

#[test]
fn a_page_is_not_written_to_a_terminal_unless_that_is_wanted() {
    let scratch = recorded();
    let shown = |command: &str| scratch.run_in(&scratch.top, "script", ["-qec", command, "/dev/null"]);
    let refused = shown("git shiftlog export --html HEAD");
    let expected = "fatal: refusing to write a page to a terminal\r\nhint: '-o <file>' writes it to a file\r\n";
    assert_eq!((refused.code, refused.stdout.as_str()), (128, expected));
    assert!(shown("git shiftlog export --html -o - HEAD").stdout.contains("<!DOCTYPE html>"));
    assert!(shown("git shiftlog export --markdown HEAD").stdout.contains("make three"));
}

#[test]
fn a_disk_that_is_full_leaves_no_half_file() {
    let scratch = recorded();
    let session = scratch.session("gamma");
    session.prompt("tell much");
    session.says(&"many words ".repeat(20_000));
    session.edits("four.rs", "fn four() {}\n");
    session.commits("much");
    let shell = "ulimit -f 1; trap '' XFSZ; git shiftlog export --html -o x.html HEAD~3..";
    let ran = scratch.run_in(&scratch.top, "sh", ["-c", shell]);
    assert_eq!(ran.code, 128, "{ran:?}");
    assert_eq!(ran.stderr, "fatal: cannot write 'x.html': File too large\n", "the name that the user knows");
    let left: Vec<_> = fs::read_dir(&scratch.top).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("html") && !name.to_string_lossy().contains(".shiftlog-")),
        "{left:?}"
    );
}

#[test]
fn options_leave_out_what_they_say() {
    let scratch = recorded();
    let export = |args: &[&str]| {
        let page = scratch.shiftlog("export", [&["--html"], args, &["HEAD~2"]].concat()).ok();
        assert_whole(&page);
        page
    };
    let (all, focused) = (export(&[]), export(&["--view=focused"]));
    assert!(all.contains("test result: ok") && all.contains("class=\"file\""));
    assert!(focused.contains("make two") && !focused.contains("cargo test") && !focused.contains("class=\"file\""));
    assert!(!focused.contains("name=\"view\""), "there is nothing else to show");
    assert!(!export(&["--no-tools"]).contains("cargo test"));
    assert!(!export(&["--no-patch"]).contains("class=\"file\""));
    assert!(export(&["--title=A <title>"]).contains("<h1>A &lt;title&gt;</h1>"));
    assert!(export(&["--theme=dark"]).contains("data-theme=\"dark\""));
    assert!(export(&["--view=full"]).contains("value=\"full\" checked"));
    let linked = export(&["--url-template=https://forge.example/o/r/commit/%H"]);
    let link = format!("<a href=\"https://forge.example/o/r/commit/{}\" rel=\"", scratch.id("HEAD~2"));
    assert!(linked.contains(&link) && linked.contains("at forge.example</a>"), "{linked}");
    for wrong in ["javascript:alert(1)//%H", "https://forge.example/commit/", "https://forge.example/ %H"] {
        let refused = scratch.shiftlog("export", ["--html", &format!("--url-template={wrong}")]);
        assert_eq!((refused.code, refused.stdout.as_str()), (129, ""), "{wrong}: {}", refused.stderr);
    }
    let documents = scratch.shiftlog("export", ["--markdown", "HEAD~2"]).ok();
    assert_eq!(documents, scratch.shiftlog("show", ["--format=markdown", "HEAD~2"]).ok());
    let missing = scratch.shiftlog("export", ["--html", "HEAD~4"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    let hint = "hint: 'git shiftlog log' lists the commits that have a conversation\n";
    assert_eq!(missing.stderr, format!("error: no conversation recorded for HEAD~4\n{hint}"));
    let formless = scratch.shiftlog("export", ["HEAD"]);
    assert_eq!(formless.code, 129, "{}", formless.stderr);
}

#[test]
fn the_diff_of_a_commit_is_bounded_in_bytes_and_a_line_is_whole_or_not_there() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("make a long line");
    session.edits("short.txt", "a short line\n");
    scratch.write("wide.txt", &format!("{}\n", "wide ".repeat(1 << 20)));
    scratch.git(["add", "wide.txt"]).ok();
    session.commits("add both");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    assert!(page.len() < 1 << 20 && page.contains("a short line") && !page.contains("wide wide"), "{}", page.len());
    assert!(page.contains("(the first part of a long change)"), "it says so");
}

#[test]
fn hostile_text_stays_text() {
    let scratch = Scratch::set_up();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)><!-- ]]> & \u{202e}\u{0}\u{1b}[31m";
    let session = scratch.session("alpha");
    session.prompt(hostile);
    session.says(&format!(
        "{hostile}\n\n[x](javascript:alert(1)) ![y](https://evil.example/p.png)\n\n```\"><script>\n{hostile}"
    ));
    session.calls("c", &format!("Tool{hostile}"), &json!({ "a": hostile, hostile: hostile }));
    session.answers("c", hostile);
    session.edits("one.rs", &format!("{hostile}\n"));
    scratch.write("<img src=x onerror=alert(2)>.txt", "x\n");
    session.commits("a <script>alert(3)</script> commit");
    let page = scratch.shiftlog("export", ["--html"]).ok();
    assert_whole(&page);
    assert_eq!(page.matches("<script").count(), 1, "ours is the only script");
    for element in ["<img", "<iframe", "<object", "<form", "<!--"] {
        assert!(!page.contains(element), "{element}");
    }
    assert!(!page.contains("javascript:alert(1)\"") && !page.contains("src=\"https"));
    assert!(!page.contains(['\u{202e}', '\u{0}', '\u{1b}']), "no character of control is left");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "what was said is there");
    scratch.shiftlog("export", ["--html", "-o", "site/"]).ok();
    let index = fs::read_to_string(scratch.top.join("site/index.html")).unwrap();
    assert_eq!(index.matches("</script").count(), 2, "what pages say ends no element: the words, and our script");
    assert!(!index.contains(['\u{202e}', '\u{0}', '\u{1b}']) && index.contains("onerror=alert(1)"));
}
