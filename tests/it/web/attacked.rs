//! Clients and people that mean harm.

use std::time::Instant;

use super::*;
use crate::exporting::secrets::{assert_clean, planted};

#[test]
fn clients_that_say_too_much_or_too_slowly_keep_nobody_out() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let long = format!("X-Long: {}", "x".repeat(1 << 20));
    let many = vec!["X-Many: 1"; 2000].join("\r\n");
    for lines in [long.as_str(), &many] {
        let status = served.ask("GET /", &[lines]).status;
        assert!([0, 431].contains(&status), "{status}");
    }
    let status = served.ask(&format!("GET /search?q={}", "x".repeat(100_000)), &[]).status;
    assert!([0, 414, 431].contains(&status), "{status}");
    assert_ne!(served.send("\u{0}\r\n\r\n").status, 200);
    assert_ne!(served.send("GET / SPDY/9\r\n\r\n").status, 200);
    // Many more clients than are served at once begin a request and do not go on, or say nothing at all, or are refused and
    // do not read why.
    let begun = ["GET / HTTP/1.1\r\nHost:", "", "GET / HTTP/1.1\r\n\r\n"];
    let slow: Vec<TcpStream> = (0..150)
        .map(|at| {
            let mut stream = served.connect();
            stream.write_all(begun[at % 3].as_bytes()).unwrap();
            stream
        })
        .collect();
    let begin = Instant::now();
    for _ in 0..3 {
        assert_eq!(served.get("/").status, 200);
    }
    let waited = begin.elapsed();
    // The oldest go when more come, the others when they have had their time.
    let more: Vec<TcpStream> = (0..150).map(|_| served.connect()).collect();
    assert_eq!(served.get("/").status, 200);
    for stream in slow.into_iter().chain(more) {
        assert_ne!(reply(stream).status, 200, "the server gives up on them");
    }
    // The slow ones were given ten seconds: whoever is served before they are sent away has not waited for them.
    assert!(waited < begin.elapsed() - waited, "{waited:?}");
}

#[test]
fn fifty_clients_at_once_are_all_served() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let expected = served.page("/branches");
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..50).map(|_| scope.spawn(|| served.page("/branches"))).collect();
        for client in clients {
            assert_eq!(client.join().unwrap(), expected);
        }
    });
}

#[test]
fn what_hostile_people_have_recorded_stays_text_on_every_page() {
    let scratch = Scratch::set_up();
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)><!-- ]]> & \" ' \u{202e}\u{1b}[31m";
    let session = scratch.session("alpha-1");
    session.prompt(hostile);
    session.says(&format!("{hostile} remarkable\n\n[x](javascript:alert(1)) ![y](https://evil.example/p.png)"));
    session.calls("c", "Bash", &json!({ "command": hostile }));
    session.answers("c", hostile);
    session.edits("one.rs", &format!("{hostile}\n"));
    scratch.write("<img src=x onerror=alert(2)>.txt", "x\n");
    session.commits("a <script>alert(3)</script> commit");
    scratch.git(["branch", "\"><svg/onload=alert(4)>"]).ok();
    let served = Served::start(&scratch, &[]);
    let mut pages = crawl(&served);
    pages.insert("search".into(), served.page("/search?q=remarkable"));
    assert!(pages.len() > 8, "{:?}", pages.keys());
    // A file that is saved is as it was recorded.
    pages.retain(|address, _| !address.starts_with("/raw/"));
    for (address, page) in &pages {
        assert_whole(page, address);
        for element in ["<img", "<iframe", "<svg/", "<svg onload", "<object", "<!--"] {
            assert!(!page.contains(element), "{address} has {element}");
        }
        assert!(!page.contains(['\u{202e}', '\u{1b}']), "{address}");
        assert!(values(page, "href").iter().all(|link| link.starts_with(['/', '#', 'd'])), "{address}");
    }
    assert!(pages["/"].contains("a &lt;script&gt;alert(3)&lt;/script&gt; commit"));
}

#[test]
fn a_secret_that_was_recorded_is_on_no_page() {
    let scratch = planted();
    let served = Served::start(&scratch, &[]);
    let mut pages = crawl(&served);
    pages.insert("search".into(), served.page("/search?q=token"));
    for (address, page) in &pages {
        assert_clean(page, address);
    }
    assert!(pages["/"].contains("as the token") && pages["search"].contains("turn 1"), "the rest is there");
    // A branch is chosen by its name as the form has it.
    let option = pages["/commits"].split_once("<option value=\"of/").unwrap().1;
    let name = option.split_once('"').unwrap().0;
    assert!(served.page(&format!("/commits?branch=of%2F{name}")).contains("as the token"), "{name}");
}
