//! Where the token goes, and what a hostile server can do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
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

#[test]
fn no_more_logs_are_fetched_than_were_asked_for() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org((0..300).map(|number| row(&format!("07L5g0000000{number:03}"), "Ada")).collect());
    scratch.logged_in(&org.url);
    let (_, answer) = scratch.synced(&["--limit=2"]);
    assert_eq!((answer["logs"].as_array().unwrap().len(), org.fetched().len()), (2, 2));
}

#[test]
fn a_program_of_the_project_is_not_taken_for_the_cli() {
    let mut scratch = Scratch::new();
    scratch.project();
    let org = Server::org(Vec::new());
    scratch.logged_in(&org.url);
    let planted = scratch.top.join("sf");
    fs::write(&planted, format!("#!/bin/sh\necho >'{}'\n", scratch.root().join("was-run").display())).unwrap();
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(".:{}", scratch.env["PATH"]);
    scratch.env.insert("PATH".into(), path);
    assert_eq!(scratch.synced(&[]).0, 0);
    assert!(!scratch.root().join("was-run").exists());
}

#[test]
fn a_token_that_the_org_repeats_is_written_nowhere() {
    let scratch = Scratch::new();
    scratch.project();
    let body = &TOKEN[16..];
    // As it stands, and as JSON may write it.
    let mut repeating = row(ID, TOKEN);
    repeating["Operation"] = json!(format!("/x?sid={TOKEN}"));
    let rows = json!({ "records": [repeating, row(TOKEN, "Ada")] }).to_string();
    let escaped = rows.replace(&body[..4], &body[..4].bytes().map(|byte| format!("\\u{byte:04x}")).collect::<String>());
    for rows in [rows, escaped] {
        let text = format!("sent with {TOKEN}, and with {TOKEN}\n");
        let org = Server::start(move |request| match request.soql().is_some() {
            true => Reply::ok(rows.clone()),
            false => Reply::ok(text.clone()),
        });
        scratch.logged_in(&org.url);
        let (code, answer) = scratch.synced(&[]);
        let stars = "*".repeat(TOKEN.len());
        assert_eq!((code, &answer["logs"][0]["Operation"]), (0, &json!(format!("/x?sid={stars}"))), "{answer}");
        assert_eq!(answer["skipped"], json!([{ "id": stars, "reason": "invalid id" }]));
        let file = scratch.top.join(answer["saved"][0]["file"].as_str().unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("sent with {stars}, and with {stars}\n"));
        assert_has_not(&scratch.top, body);
        let ran = scratch.shiftlog("evidence", ["pull", "apex"]);
        assert!(ran.code == 2 && !format!("{ran:?}").contains(body), "{ran:?}");
        fs::remove_dir_all(scratch.top.join("apexlogs")).unwrap();
    }
    // Where it is sent to.
    let org = Server::start(|_| Reply {
        headers: vec![format!("Location: /{{}} \"{TOKEN}\"")],
        ..Reply::status("302 Found")
    });
    scratch.logged_in(&org.url);
    let (_, answer) = scratch.synced(&[]);
    assert!(answer["ok"] == false && !answer.to_string().contains(body), "{answer}");
}

#[test]
fn what_a_killed_process_has_not_finished_is_removed_later() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(ID, "Ada")]);
    scratch.logged_in(&org.url);
    for name in ["apexlogs/.tmp-1-old", "apexlogs/.tmp-2-new"] {
        scratch.write(name, "half\n");
    }
    let hour = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let old = fs::File::options().write(true).open(scratch.top.join("apexlogs/.tmp-1-old")).unwrap();
    old.set_modified(hour).unwrap();
    scratch.synced(&[]);
    let names = fs::read_dir(scratch.top.join("apexlogs")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".tmp-2-new".to_owned(), format!("Ada_{ID}.log")], "another process may write to a new one");
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
