//! Who gets an answer, and what every answer forbids.

use super::*;

#[test]
fn a_link_is_good_once_and_gives_the_browser_a_cookie() {
    let scratch = recorded();
    let mut served = Served::unopened(&scratch, &[]);
    let without = served.ask("GET /", &[]);
    assert_eq!(without.status, 403);
    assert!(without.body.contains("git shiftlog web") && !without.body.contains("add two"), "{}", without.body);
    let first = format!("GET /?t={}", served.token);
    let entered = served.ask(&first, &[]);
    assert_eq!((entered.status, entered.headers["location"].as_str()), (303, "/"));
    let cookie = &entered.headers["set-cookie"];
    assert!(cookie.starts_with(&format!("shiftlog_{}=", served.port)), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    assert!(!cookie.contains(&served.token), "the cookie is another secret");
    served.cookie = cookie.split(';').next().unwrap().to_owned();
    assert!(served.page("/").contains("add two"));
    assert_eq!(served.ask(&first, &[]).status, 403, "a second browser does not get in by the same link");
    let next = served.line();
    let second = next.trim_end().rsplit("/?t=").next().unwrap().to_owned();
    assert!(next.starts_with("http://127.0.0.1:") && second != served.token, "{next}");
    assert_eq!(served.ask(&format!("GET /c?t={second}"), &[]).status, 403, "only at the front door");
    assert_eq!(served.ask(&format!("HEAD /?t={second}"), &[]).status, 403, "looking does not use it up");
    assert_eq!(served.ask(&format!("GET /?t={second}"), &[]).status, 303);
}

#[test]
fn only_requests_to_this_server_from_its_own_pages_get_something() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let (port, cookie) = (served.port, format!("Cookie: {}", served.cookie));
    let raw = |line: &str, host: &str| served.send(&format!("{line} HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n\r\n"));
    assert_eq!(raw("GET /", &format!("localhost:{port}")).status, 200);
    for host in
        ["evil.example".to_owned(), format!("evil.example:{port}"), "127.0.0.1".to_owned(), format!("[::1]:{port}")]
    {
        let reply = raw("GET /", &host);
        assert_eq!(reply.status, 403, "{host}");
        assert!(!reply.body.contains("add two"), "{host}");
    }
    assert_eq!(raw(&format!("GET http://127.0.0.1:{port}/"), &format!("127.0.0.1:{port}")).status, 403, "no proxy");
    let bare = served.send(&format!("GET / HTTP/1.1\r\n{cookie}\r\n\r\n")).status;
    assert!([400, 403].contains(&bare), "{bare}");
    for line in
        ["Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"]
    {
        assert_eq!(served.ask("GET /", &[&cookie, line]).status, 403, "{line}");
    }
    let own = format!("Origin: http://127.0.0.1:{port}");
    assert_eq!(served.ask("GET /", &[&cookie, &own, "Sec-Fetch-Site: same-origin"]).status, 200);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let reply = served.ask(&format!("{method} /"), &[&cookie, "Content-Length: 0"]);
        assert_eq!((reply.status, reply.headers["allow"].as_str()), (405, "GET, HEAD"), "{method}");
    }
    assert_eq!(served.ask("GET /", &["Cookie: shiftlog=x; other=y"]).status, 403);
    let head = served.ask("HEAD /", &[&cookie]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(head.headers["content-length"].parse::<usize>().unwrap() > 1000);
}

#[test]
fn two_servers_side_by_side_have_cookies_of_their_own() {
    let scratch = recorded();
    let (one, other) = (Served::start(&scratch, &[]), Served::start(&scratch, &[]));
    // A browser sends the cookies of 127.0.0.1 to both.
    let both = format!("Cookie: {}; {}", one.cookie, other.cookie);
    assert_ne!(one.cookie.split('=').next(), other.cookie.split('=').next());
    assert_eq!([&one, &other].map(|served| served.ask("GET /", &[&both]).status), [200, 200]);
    assert_eq!(one.ask("GET /", &[&format!("Cookie: {}", other.cookie)]).status, 403);
}

#[test]
fn every_answer_forbids_what_a_page_does_not_need() {
    let scratch = recorded();
    let served = Served::start(&scratch, &[]);
    let replies = [served.get("/"), served.get("/nothing"), served.ask("GET /", &[]), served.get("/stats?by=mood")];
    assert_eq!(replies.each_ref().map(|reply| reply.status), [200, 404, 403, 400]);
    for reply in replies {
        let policy = &reply.headers["content-security-policy"];
        for part in ["default-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|own| own == part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("content-type", "text/html; charset=utf-8"),
        ] {
            assert_eq!(reply.headers[name], value, "{}", reply.status);
        }
    }
}

#[test]
fn a_browser_that_cannot_be_opened_is_told() {
    let mut scratch = recorded();
    if scratch.run_in(&scratch.top, "sh", ["-c", "command -v script"]).code != 0 {
        crate::support::skip("no script(1) to make a terminal with");
        return;
    }
    scratch.env.insert("TERM".into(), "xterm".into());
    // Without the word it would end after a minute, and have said nothing.
    let args = ["-qec", "echo $$; exec git-shiftlog-web --browser=nosuch --idle=1", "/dev/null"];
    let mut command = scratch.command("script", &scratch.top);
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let group = lines.next().expect("the number of the process").trim_end().to_owned();
    let told = lines.find(|line| line.starts_with("warning: "));
    // script(1) gives a group of its own to what it runs; killed alone, it would leave that behind.
    scratch.run_in(&scratch.top, "kill", ["-KILL", "--", &format!("-{group}")]).ok();
    let _ = child.kill();
    let _ = child.wait();
    let told = told.expect("a warning").trim_end().to_owned();
    assert_eq!(told, "warning: the browser 'nosuch' could not be opened; open the address yourself");
}
