//! Clients and people that mean harm.

use super::*;

#[test]
fn a_client_that_says_too_much_or_too_slowly_keeps_nobody_out() {
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
    // Twenty clients begin a request and do not go on; others are served meanwhile.
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = served.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
            stream
        })
        .collect();
    assert_eq!(served.get("/").status, 200);
    // More than are served at once: those that come later wait until the slow ones are sent away.
    let more: Vec<TcpStream> = (0..20).map(|_| served.connect()).collect();
    assert_eq!(served.get("/").status, 200);
    for stream in slow.into_iter().chain(more) {
        assert_ne!(reply(stream).status, 200, "the server gives up on them");
    }
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
    let scratch = Scratch::set_up();
    scratch.git(["config", "shiftlog.redact", "off"]).ok();
    let key = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    let session = scratch.session("alpha-1");
    session.prompt(&format!("use {key} as the token"));
    session.says(&format!("I set `{key}`."));
    session.edits("token.txt", &format!("token = {key}\nplain\n"));
    session.commits(&format!("use {key}"));
    scratch.git(["config", "--unset", "shiftlog.redact"]).ok();
    let served = Served::start(&scratch, &[]);
    let mut pages = crawl(&served);
    pages.insert("search".into(), served.page("/search?q=token"));
    for (address, page) in &pages {
        assert!(!page.contains(&key), "{address}");
    }
    assert!(pages["/"].contains("as the token") && pages["search"].contains("turn 1"), "the rest is there");
}
