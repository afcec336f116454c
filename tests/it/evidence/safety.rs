//! Where the token goes, and what a hostile server can do.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{Reply, Server, TOKEN, answer_as_org, row};
use crate::support::{Scratch, bin_dir};

const ID: &str = "07L5g00000AbCdEFGH";

#[test]
fn the_token_does_not_follow_a_redirect_to_another_server() {
    let mut scratch = Scratch::new();
    scratch.project();
    let thief = Server::org(vec![row(ID, "Ada")]);
    // Nor does it go to a proxy that could read it.
    scratch.env.insert("ALL_PROXY".into(), thief.url.clone());
    let elsewhere = thief.url.clone();
    let org = Server::start(move |request| match request.path.starts_with("/services/") {
        // First to another path of the same server, then away from it.
        true => Reply {
            headers: vec![format!("Location: /moved{}", request.path)],
            ..Reply::status("307 Temporary Redirect")
        },
        false => Reply { headers: vec![format!("Location: {elsewhere}/x")], ..Reply::status("302 Found") },
    });
    scratch.logged_in(&org.url);
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, &answer["details"]), (1, &json!("request failed: redirected to another server")));
    assert_eq!((org.requests().len(), thief.requests().len()), (2, 0));
    // In a circle.
    let org =
        Server::start(|_| Reply { headers: vec!["Location: /x".into()], ..Reply::status("301 Moved Permanently") });
    scratch.logged_in(&org.url);
    assert_eq!(scratch.synced(&[]).1["details"], "request failed: redirected too often");
    // Not over the network without TLS.
    scratch.logged_in("http://salesforce.example.com");
    assert_eq!(scratch.synced(&[]).1["details"], "request failed: the address of the server is not https");
}

#[test]
fn a_version_that_the_org_does_not_have_is_replaced_by_its_newest() {
    let scratch = Scratch::new();
    scratch.project();
    let rows = vec![row(ID, "Ada")];
    let org = Server::start(move |request| match request.path.as_str() {
        "/services/data" => {
            Reply::ok(r#"[{"version":"9.0"},{"version":"62.0"},{"version":"x/../y"},{"version":"61.0"}]"#)
        }
        path if path.starts_with("/services/data/v62.0/") => answer_as_org(&rows, request),
        _ => Reply::status("404 Not Found"),
    });
    scratch.logged_in(&org.url);
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, &answer["apiVersion"]), (0, &json!("62.0")), "{answer}");
    assert_eq!(org.fetched(), [format!("/services/data/v62.0/tooling/sobjects/ApexLog/{ID}/Body")]);
    let empty = Server::start(|_| Reply::status("404 Not Found"));
    scratch.logged_in(&empty.url);
    assert_eq!(scratch.synced(&[]).1["details"], "request failed: 404 Not Found");
}

#[test]
fn answers_that_are_none_are_told() {
    let scratch = Scratch::new();
    scratch.project();
    let details = |reply: fn() -> Reply| {
        let org = Server::start(move |_| reply());
        scratch.logged_in(&org.url);
        let (code, answer) = scratch.synced(&[]);
        assert_eq!((code, &answer["errorCode"]), (1, &json!("LOGS_QUERY_FAILED")), "{answer}");
        answer["details"].as_str().unwrap().to_owned()
    };
    assert_eq!(details(|| Reply::ok("<html>login</html>")), "response decode failed");
    assert_eq!(details(|| Reply::ok("{}")), "response decode failed");
    assert_eq!(details(|| Reply::ok(r#"{"records":[{"Id":7}]}"#)), "response decode failed");
    assert_eq!(details(|| Reply::status("500 Internal Server Error")), "request failed: 500 Internal Server Error");
    assert_eq!(details(|| Reply::status("403 Forbidden")), "request failed: 403 Forbidden");
    let large = || Reply::ok(" ".repeat(9 << 20));
    assert_eq!(details(large), "request failed: the answer is longer than 8388608 bytes");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    scratch.logged_in(&format!("http://{closed}"));
    let (_, answer) = scratch.synced(&[]);
    assert!(answer["details"].as_str().unwrap().starts_with("request failed: "), "{answer}");
}

#[test]
fn an_id_that_is_none_becomes_no_path() {
    let scratch = Scratch::new();
    scratch.project();
    let ids = ["../../../../etc/x", "07L5g00000AbC/..", "07L", "", "07L5g00000AbCdEFGHIJ", "08L5g00000AbCdE"];
    let org = Server::org(ids.iter().map(|id| row(id, "../../x")).collect());
    scratch.logged_in(&org.url);
    let (code, answer) = scratch.synced(&[]);
    let skipped: Vec<_> = ids.iter().map(|id| json!({ "id": id, "reason": "invalid id" })).collect();
    assert_eq!((code, &answer["skipped"]), (0, &json!(skipped)));
    assert_eq!((org.fetched().len(), fs::read_dir(scratch.top.join("apexlogs")).unwrap().count()), (0, 0));
}

#[test]
fn the_token_is_written_nowhere() {
    let mut scratch = Scratch::new();
    scratch.project();
    let rows = vec![row(ID, "Ada"), row("07L5g00000AbCd1", "Ada")];
    let org = Server::start(move |request| match request.path.contains("AbCd1") {
        true => Reply::status("503 Service Unavailable"),
        false => answer_as_org(&rows, request),
    });
    // Every log that a library could write.
    scratch.env.insert("RUST_LOG".into(), "trace".into());
    scratch.logged_in(&org.url);
    let mut told = scratch.shiftlog("logs", ["sync"]).stdout;
    scratch.logged_in("http://127.0.0.1:1");
    told += &scratch.shiftlog("logs", ["sync"]).stdout;
    // A CLI that says it itself.
    let says = format!("could not refresh {TOKEN}");
    scratch.cli("sf", &[("org display", String::new(), &says, 1)]);
    let ran = scratch.shiftlog("logs", ["sync"]);
    assert!(ran.stdout.contains("could not refresh [REDACTED:salesforce-token]"), "{}", ran.stdout);
    told += &ran.stdout;
    told += &ran.stderr;
    let body = &TOKEN[16..];
    assert!(!told.contains(body));
    // Not even a file without a name has what the CLI prints.
    let outputs = fs::read_to_string(scratch.root().join("outputs")).unwrap();
    assert!(outputs.lines().count() > 3 && outputs.lines().all(|output| output.starts_with("pipe:")), "{outputs}");
    for directory in [scratch.top.clone(), scratch.home()] {
        assert_has_not(&directory, body);
    }
}

#[track_caller]
fn assert_has_not(directory: &Path, secret: &str) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_has_not(&path, secret);
        } else {
            let text = fs::read(&path).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{}", path.display());
        }
    }
}

#[test]
fn the_program_of_hooks_has_no_http_client() {
    let has = |program: &str| {
        let bytes = fs::read(bin_dir().join(program)).unwrap();
        // A message of the client.
        bytes.windows(18).any(|part| part.eq_ignore_ascii_case(b"too many redirects"))
    };
    assert!(has("git-shiftlog"), "the program that fetches has it");
    assert!(!has("git-shiftlog--hook"));
}
