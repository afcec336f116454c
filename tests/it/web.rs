//! `git shiftlog web`: pages for the browser that came through the link, and for nobody else.

mod attacked;
mod dead_ends;
mod ended;
mod let_in;
mod observed;
mod secrets;
mod sub_agents;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;

use crate::support::{Scratch, bin_dir};

/// A running server. Dropping it ends it.
struct Served {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
    token: String,
    /// The cookie of a browser that came through the first link.
    cookie: String,
}

/// What the server sent back.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Served {
    /// Starts a server and goes through its link.
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let mut served = Self::unopened(scratch, args);
        let reply = served.ask(&format!("GET /?t={}", served.token), &[]);
        assert_eq!(reply.status, 303, "{reply:?}");
        served.cookie = reply.headers["set-cookie"].split(';').next().unwrap().to_owned();
        served
    }

    fn unopened(scratch: &Scratch, args: &[&str]) -> Self {
        let mut command = scratch.command(bin_dir().join("git-shiftlog"), &scratch.top);
        Self::run_by(command.arg("web").args(args))
    }

    fn run_by(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut served = Served { child, lines, port: 0, token: String::new(), cookie: String::new() };
        let link = served.line();
        let (port, token) = link.strip_prefix("http://127.0.0.1:").unwrap().trim_end().split_once("/?t=").unwrap();
        (served.port, served.token) = (port.parse().unwrap(), token.to_owned());
        served
    }

    /// Returns the next line that the server prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Sends a request: its method and target, and lines of its head beside `Host`.
    fn ask(&self, request: &str, lines: &[&str]) -> Reply {
        let host = format!("Host: 127.0.0.1:{}", self.port);
        self.send(&format!("{request} HTTP/1.1\r\n{}\r\n\r\n", [&[host.as_str()], lines].concat().join("\r\n")))
    }

    fn send(&self, head: &str) -> Reply {
        let mut stream = self.connect();
        // A server that has read enough may be gone before all is sent.
        let _ = stream.write_all(head.as_bytes());
        reply(stream)
    }

    /// Asks as the browser that came through the link.
    fn get(&self, target: &str) -> Reply {
        self.ask(&format!("GET {target}"), &[&format!("Cookie: {}", self.cookie)])
    }

    #[track_caller]
    fn page(&self, target: &str) -> String {
        let reply = self.get(target);
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
        reply.body
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what the server sends until it closes the connection; the status is 0 if that is nothing.
fn reply(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<String, String> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let is_in_pieces = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let body = if is_in_pieces { joined(body) } else { body.to_owned() };
    Reply { status, headers, body }
}

/// Joins the pieces of a body, the last of which is empty.
fn joined(mut pieces: &str) -> String {
    let mut body = String::new();
    loop {
        let (length, rest) = pieces.split_once("\r\n").expect("a length");
        let length = usize::from_str_radix(length, 16).expect("hex digits");
        body.push_str(&rest[..length]);
        pieces = rest[length..].strip_prefix("\r\n").expect("the end of a piece");
        if length == 0 {
            return body;
        }
    }
}

/// A repository with two sessions and three commits, one of them on a branch.
fn recorded() -> Scratch {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha-1");
    session.prompt("make the first part <b>quickly</b>");
    session.says("First **this**.");
    session.edits("src/one.rs", "fn one() {}\nfn more() {}\n");
    session.commits("add one & more");
    session.prompt("make the second part");
    session.edits("src/two.rs", "fn two() {}\n");
    session.commits("add two");
    session.hook("SessionEnd");
    scratch.git(["switch", "-q", "-c", "topic/x"]).ok();
    let session = scratch.session("beta-2");
    session.prompt("a remarkable idea");
    session.edits("src/one.rs", "fn one() { two() }\nfn more() {}\n");
    session.commits("use two");
    scratch
}

/// Returns the values of an attribute, in order.
fn values<'h>(html: &'h str, attribute: &str) -> Vec<&'h str> {
    let mark = format!(" {attribute}=\"");
    html.match_indices(&mark).filter_map(|(at, _)| html[at + mark.len()..].split('"').next()).collect()
}

/// Asserts what holds for every page.
#[track_caller]
fn assert_whole(html: &str, address: &str) {
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"), "{address}: {html}");
    let ids = values(html, "id");
    let unique: BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len(), "{address}: each id is there once");
    assert!(values(html, "src").is_empty() && values(html, "style").is_empty(), "{address}");
    assert_eq!(html.matches("<script").count(), 1, "{address}: ours is the only script");
    let policies: Vec<_> = values(html, "content")
        .into_iter()
        .filter(|value| value.starts_with("default-src 'none'; style-src"))
        .collect();
    assert_eq!(policies.len(), 1, "{address}");
}

/// Follows every link from the first page on, and returns the pages.
fn crawl(served: &Served) -> BTreeMap<String, String> {
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    let mut waiting = vec!["/".to_owned()];
    let mut fragments: Vec<(String, String, String)> = Vec::new();
    while let Some(address) = waiting.pop() {
        if pages.contains_key(&address) {
            continue;
        }
        let reply = served.get(&address);
        assert_eq!(reply.status, 200, "{address}: {reply:?}");
        if address.starts_with("/raw/") {
            assert_eq!(reply.headers["content-disposition"], "attachment", "{address} is saved and not shown");
            assert_eq!(reply.headers["content-type"], "text/plain; charset=utf-8");
            pages.insert(address, reply.body);
            continue;
        }
        assert_whole(&reply.body, &address);
        for link in values(&reply.body, "href").into_iter().map(|link| link.replace("&amp;", "&")) {
            let (target, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = if target.is_empty() { &address } else { target };
            if !fragment.is_empty() {
                fragments.push((address.clone(), target.to_owned(), fragment.to_owned()));
            }
            if target.starts_with('/') {
                waiting.push(target.to_owned());
            } else {
                assert!(["data:,"].contains(&target), "{address} leads to {target}");
            }
        }
        pages.insert(address, reply.body);
    }
    for (from, target, fragment) in fragments {
        assert!(pages[&target].contains(&format!(" id=\"{fragment}\"")), "{from} leads to {target}#{fragment}");
    }
    pages
}

#[test]
fn every_link_of_every_page_leads_to_a_page_and_nothing_is_changed() {
    let scratch = recorded();
    let state = || (scratch.git(["for-each-ref"]).ok(), scratch.git(["status", "--porcelain"]).ok());
    let before = state();
    let served = Served::start(&scratch, &[]);
    let pages = crawl(&served);
    assert_eq!(state(), before);
    let id = |revision: &str| scratch.id(revision);
    for address in [
        "/commits".to_owned(),
        "/search".to_owned(),
        "/branches".to_owned(),
        "/stats?by=day".to_owned(),
        "/commits?branch=topic%2Fx".to_owned(),
        format!("/c/{}", id("HEAD~1")),
        format!("/c/{}/claude/alpha-1", id("HEAD~1")),
        "/s/claude/beta-2".to_owned(),
        format!("/why/{}/src/one.rs", id("HEAD")),
    ] {
        assert!(pages.contains_key(&address), "nothing leads to {address}: {:?}", pages.keys());
    }
    let overview = &pages["/"];
    for text in ["add one &amp; more", "add two", "use two", "make the first part &lt;b&gt;quickly&lt;/b&gt;", "Alpha"]
    {
        assert_eq!(overview.contains(text), text != "Alpha", "{text}: {overview}");
    }
    let order = ["use two", "add two", "add one"].map(|text| overview.find(text).unwrap());
    assert!(order.is_sorted(), "the newest comes first");
    let session = &pages["/s/claude/alpha-1"];
    assert!(session.contains("id=\"t1\"") && session.contains("id=\"t2\"") && !session.contains("remarkable"));
    let file = &pages[&format!("/why/{}/src/one.rs", id("HEAD"))];
    let link = |revision: &str, session: &str| format!("href=\"/c/{}/claude/{session}#t1\"", id(revision));
    assert!(file.contains(&link("HEAD", "beta-2")) && file.contains("a remarkable idea"), "{file}");
    assert!(file.contains(&link("HEAD~2", "alpha-1")) && file.contains("id=\"L2\""), "{file}");
}

#[test]
fn a_commit_page_is_what_export_writes_but_for_its_frame() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let turns = |page: &str| {
        let start = page.find("<section class=\"turn\"").unwrap();
        page[start..page.find("<div class=\"change\">").unwrap()].to_owned()
    };
    let page = served.page(&format!("/c/{}", scratch.id("HEAD~1")));
    assert_eq!(turns(&page), turns(&scratch.shiftlog("export", ["--html", "HEAD~1"]).ok()));
    assert!(page.contains("<a href=\"#t1\">turn 1</a>"), "the hunk leads to its turn: {page}");
    assert!(page.contains("class=\"beside\"") && page.contains("<div class=\"change\">"), "the change is beside it");
    let short = served.page(&format!("/c/{}", &scratch.id("HEAD~1")[..8]));
    assert_eq!(short, page, "the beginning of an id is enough");
}

#[test]
fn a_long_page_is_sent_in_pieces_and_whoever_leaves_holds_nothing_up() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("tell me everything");
    for number in 0..2000 {
        session.says(&format!("Paragraph {number}. {}", "It is a long story. ".repeat(20)));
    }
    session.edits("one.rs", "fn one() {}\n");
    session.commits("add one");
    let served = Served::start(&scratch, &[]);
    let reply = served.get("/s/claude/alpha");
    assert_eq!(reply.headers.get("transfer-encoding").map(String::as_str), Some("chunked"), "{:?}", reply.headers);
    assert!(reply.body.contains("Paragraph 0.") && reply.body.contains("Paragraph 1999."));
    assert!(reply.body.trim_end().ends_with("</html>"));
    for _ in 0..40 {
        let mut stream = served.connect();
        let head =
            format!("GET /s/claude/alpha HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {}", served.port, served.cookie);
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
        let mut beginning = [0; 100];
        stream.read_exact(&mut beginning).unwrap();
        assert!(beginning.starts_with(b"HTTP/1.1 200 "));
    }
    assert_whole(&served.page("/c/HEAD"), "/c/HEAD");
}

#[test]
fn a_transcript_is_saved_as_show_prints_it_and_the_page_about_tells_what_is_not_here() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let session = served.page("/s/claude/alpha-1");
    assert!(session.contains("<a href=\"/raw/claude/alpha-1\" download>transcript</a>"), "{session}");
    let raw = served.get("/raw/claude/alpha-1");
    assert_eq!(raw.body, scratch.shiftlog("show", ["--raw", "--full", "--session=alpha-1", "HEAD~1"]).ok());
    assert_eq!(served.get("/raw/claude/none").status, 404);
    let about = served.page("/about");
    assert_whole(&about, "/about");
    assert!(about.contains("<code>refs/notes/shiftlog</code></td><td class=\"number\">3</td>"), "{about}");
    assert!(about.contains("The words of 2 sessions are here.") && !about.contains("are not"), "{about}");
    // Another clone, with which only notes were shared.
    let other = Scratch::empty(&[]);
    let from = scratch.top.to_str().unwrap();
    other.git(["fetch", "-q", from, "topic/x:refs/heads/work", "refs/notes/shiftlog:refs/notes/shiftlog"]).ok();
    let served = Served::start(&other, &[]);
    let about = served.page("/about");
    assert!(
        about.contains("The words of 0 sessions are here.") && about.contains("Those of 2 sessions are not"),
        "{about}"
    );
    assert_eq!(served.get("/raw/claude/alpha-1").status, 404);
}

#[test]
fn what_other_worktrees_have_checked_out_is_listed_if_wanted() {
    let scratch = recorded();
    scratch.git(["worktree", "add", "-q", "--detach", "../other", "topic/x"]).ok();
    scratch.git(["switch", "-q", "main"]).ok();
    scratch.git(["branch", "-q", "-D", "topic/x"]).ok();
    assert!(!Served::start(&scratch, &[]).page("/").contains("use two"));
    assert!(Served::start(&scratch, &["--all-worktrees"]).page("/").contains("use two"));
}

#[test]
fn forms_choose_as_log_does_and_say_what_is_wrong() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let subjects = ["add one &amp; more", "add two", "use two"];
    let listed = |query: &str| {
        let page = served.page(&format!("/commits?{query}"));
        assert_whole(&page, query);
        subjects.map(|subject| page.contains(&format!(">{subject}</a>")))
    };
    assert_eq!(listed(""), [true, true, true]);
    assert_eq!(listed("agent=claude&model=&since="), [true, true, true], "an empty field chooses nothing");
    assert_eq!(listed("agent=codex"), [false, false, false]);
    assert_eq!(listed("branch=main"), [true, true, false]);
    assert_eq!(listed("path=src%2Ftwo.rs"), [false, true, false]);
    assert_eq!(listed("path=src/one.rs&branch=topic%2Fx"), [true, false, true]);
    assert_eq!(listed("grep=^add+t"), [false, true, false]);
    assert_eq!(listed("until=2000-01-01"), [false, false, false]);
    assert_eq!(listed("skip=2"), [true, false, false]);
    for (query, why) in [
        ("grep=(", "is not a regular expression"),
        ("branch=nosuch", "there is no local branch"),
        ("since=%3Cscript%3E", "cannot read the date"),
    ] {
        let page = served.page(&format!("/commits?{query}"));
        assert!(page.contains(why), "{query}: {page}");
        assert_whole(&page, query);
    }
    let hostile = served.page("/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
    assert_whole(&hostile, "search");
    let found = served.page("/search?q=remarkable+idea");
    assert!(found.contains("<mark>remarkable</mark>"), "{found}");
    assert!(found.contains(&format!("/c/{}/claude/beta-2#t1", scratch.id("HEAD"))), "{found}");
    assert!(served.page("/search?q=nowhere").contains("no turn has these words"));
    assert!(served.page("/branches").contains(" local branches"));
    // Without the archive, what cannot be searched is one line.
    scratch.git(["update-ref", "-d", "refs/shiftlog/sessions"]).ok();
    for object in
        scratch.git(["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]).ok().lines()
    {
        let (name, kind) = object.split_once(' ').unwrap();
        let is_segment =
            kind == "blob" && scratch.git(["cat-file", "blob", name]).bytes.starts_with(&[0x50, 0x2a, 0x4d, 0x18]);
        if is_segment {
            std::fs::remove_file(scratch.top.join(format!(".git/objects/{}/{}", &name[..2], &name[2..]))).unwrap();
        }
    }
    let lacking = served.page("/search?q=remarkable");
    assert_eq!(lacking.matches("<p class=\"problem\">").count(), 1, "{lacking}");
    assert!(lacking.contains("words of 3 records are not here"), "{lacking}");
    let topic = Served::start(&scratch, &["main..topic/x"]);
    let page = topic.page("/commits");
    assert_eq!(subjects.map(|subject| page.contains(subject)), [false, false, true], "only what was named is listed");
}

#[test]
fn addresses_lead_to_commits_sessions_and_files_of_commits_alone() {
    let scratch = recorded();
    scratch.git(["config", "core.quotePath", "false"]).ok();
    scratch.write(".git/secret", "do not tell\n");
    let served = Served::start(&scratch, &[]);
    let id = scratch.id("HEAD");
    let none = "0".repeat(id.len());
    for target in [
        "/etc/passwd",
        "/../etc/passwd",
        "/c/..%2f..%2fetc%2fpasswd",
        "/c/%2e%2e/x",
        "//etc/passwd",
        "/c/",
        "/c",
        "/c/--help",
        "/c/HEAD~1",
        "/c/%40%7B-1%7D",
        "/c/:/add",
        "/c/nosuch",
        "/c/%00",
        "/c/%ff",
        &format!("/c/{none}"),
        &format!("/c/{id}/claude"),
        &format!("/c/{id}/claude/nosuch"),
        &format!("/c/{id}/codex/beta-2"),
        "/s/claude/nosuch",
        "/s/claude/alpha",
        "/s/claude/..",
        "/s/claude/..%2f..",
        &format!("/why/{id}"),
        &format!("/why/{id}/src"),
        &format!("/why/{id}/nosuch"),
        &format!("/why/{id}/.git/secret"),
        &format!("/why/{id}/src/../src/one.rs"),
        &format!("/why/{id}/%2fetc%2fpasswd"),
        &format!("/why/{id}/:(top)src/one.rs"),
        &format!("/why/{none}/src/one.rs"),
        "/favicon.ico",
    ] {
        let reply = served.get(target);
        assert_eq!(reply.status, 404, "{target}: {}", reply.body);
        assert_whole(&reply.body, target);
        assert!(!reply.body.contains("do not tell") && !reply.body.contains("root:"), "{target}");
    }
    assert_eq!(served.get("/c/HEAD").status, 200);
}

#[test]
fn a_server_ends_when_it_is_told_and_takes_no_port_of_another() {
    let scratch = recorded();
    let first = Served::start(&scratch, &[]);
    let port = format!("--port={}", first.port);
    let taken = scratch.shiftlog("web", [&port]);
    assert_eq!((taken.code, taken.stdout.as_str()), (128, ""));
    assert!(taken.stderr.starts_with(&format!("fatal: cannot listen on port {}: ", first.port)), "{}", taken.stderr);
    assert!(TcpStream::connect(("::1", first.port)).is_err(), "it listens on 127.0.0.1 alone");
    let second = Served::start(&scratch, &[]);
    assert_ne!(first.cookie.split('=').next(), second.cookie.split('=').next(), "a browser keeps both cookies");
    let both = format!("Cookie: {}; {}", second.cookie, first.cookie);
    assert_eq!([&first, &second].map(|served| served.ask("GET /", &[&both]).status), [200, 200]);
    assert_eq!(second.ask("GET /", &[&format!("Cookie: {}", first.cookie)]).status, 403);
    let idle = scratch.shiftlog("web", ["--idle=0"]);
    assert_eq!(idle.code, 0, "{idle:?}");
    assert!(idle.stdout.starts_with("http://127.0.0.1:"), "{idle:?}");
    assert_eq!(idle.stderr, "hint: the server has ended: nothing was asked for in 0 minutes\n");
    let wrong = scratch.shiftlog("web", ["nosuch..main"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (128, ""), "{wrong:?}");
}

#[test]
fn no_browser_is_opened_where_nobody_sees_the_output() {
    let scratch = recorded();
    scratch.git(["config", "browser.mine.cmd", "touch opened;"]).ok();
    scratch.git(["config", "shiftlog.browser", "mine"]).ok();
    let ran = scratch.shiftlog("web", ["--idle=0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!scratch.top.join("opened").exists());
}

#[test]
fn pages_of_a_repository_without_conversations_say_so() {
    let scratch = Scratch::new();
    let served = Served::start(&scratch, &[]);
    let pages = crawl(&served);
    assert!(pages["/"].contains("No conversation recorded"), "{}", pages["/"]);
    let unborn = Scratch::empty(&[]);
    let served = Served::start(&unborn, &[]);
    assert!(served.page("/").contains("No conversation recorded"));
    assert_eq!(served.get("/c/HEAD").status, 404);
}

#[test]
fn a_commit_is_found_by_its_branch_or_tag_as_well() {
    let scratch = recorded();
    scratch.git(["tag", "-a", "-m", "a tag", "v1.0", "main"]).ok();
    let served = Served::start(&scratch, &[]);
    for (name, revision) in [("main", "main"), ("topic/x", "topic/x"), ("topic%2Fx", "topic/x"), ("v1.0", "v1.0")] {
        let commit = scratch.id(&format!("{revision}^{{commit}}"));
        assert_eq!(served.page(&format!("/c/{name}")), served.page(&format!("/c/{commit}")), "{name}");
    }
    // What else is a revision can take long.
    for name in ["nosuch", "topic/nosuch", "main~1", ":%2Fadd", "@%7B-1%7D"] {
        let reply = served.get(&format!("/c/{name}"));
        assert_eq!(reply.status, 404, "{name}: {reply:?}");
    }
    let reply = served.get("/c/nosuch");
    assert!(reply.body.contains("this is neither the id of a commit nor a branch or tag"), "{reply:?}");
}
