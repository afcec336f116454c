//! Asking Salesforce's CLI for the login: every form of its answers, and every way it can fail.

use serde_json::{Value, json};

use super::{Server, TOKEN, Told, row, shown, token};
use crate::support::Scratch;

const ID: &str = "07L5g00000AbCdEFGH";

/// Returns what an org told of its token, with a CLI that gives these answers.
fn asked(scratch: &Scratch, told: &[Told<'_>], other: Option<&[Told<'_>]>) -> Value {
    let _ = std::fs::remove_file(scratch.root().join("calls"));
    scratch.cli("sf", told);
    match other {
        Some(told) => scratch.cli("sfdx", told),
        None => drop(std::fs::remove_file(scratch.root().join("bin/sfdx"))),
    }
    scratch.synced(&[]).1
}

#[test]
fn a_login_is_found_in_every_form_of_the_answers() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(ID, "Ada")]);
    let url = &org.url;
    let display = shown(url);
    let with_token = json!({ "result": { "accessToken": TOKEN, "instanceUrl": url, "username": "u@x" } }).to_string();
    let flat = json!({ "access_token": TOKEN, "loginUrl": format!("{url}/"), "username": "u@x" }).to_string();
    let noise = format!(
        " \u{bb}   Warning: @salesforce/cli update available\n\u{1b}[33m{}\u{1b}[39m\nThank you\n",
        token(TOKEN)
    );
    let refresh = "5Aep861ThisIsARefreshToken";
    let verbose = json!({ "result": { "accessToken": TOKEN, "instanceUrl": url, "username": "u@x",
        "sfdxAuthUrl": format!("force://PlatformCLI::{refresh}@x") } });
    let redacted = token("[REDACTED] Use 'sf org auth show-access-token' to view");
    let unknown = || ("org auth", String::new(), "org:auth:show-access-token is not a sf command.", 2);
    let plain = "org display --json";
    let whole = "org display --json --verbose";
    let cases: Vec<(Vec<Told<'_>>, &[&str])> = vec![
        (vec![(plain, display.clone(), "", 0), ("org auth", noise, "", 0)], &["display", "token"]),
        // Older ones show the token.
        (vec![(plain, with_token.clone(), "", 0), unknown()], &["display", "token"]),
        (vec![(plain, flat, "", 0), unknown()], &["display", "token"]),
        // Others show it when they are asked for all.
        (
            vec![(whole, verbose.to_string(), "", 0), (plain, display.clone(), "", 0), unknown()],
            &["display", "token", "all"],
        ),
        (
            vec![(whole, verbose.to_string(), "", 0), (plain, display, "", 0), ("org auth", redacted, "", 0)],
            &["display", "token", "all"],
        ),
    ];
    for (told, calls) in cases {
        let answer = asked(&scratch, &told, None);
        assert_eq!((&answer["ok"], &answer["org"]["instanceUrl"]), (&json!(true), &json!(url)), "{answer}");
        let words = calls.iter().map(|call| match *call {
            "display" => "sf org display --json",
            "token" => "sf org auth show-access-token --json --no-prompt",
            _ => "sf org display --json --verbose",
        });
        assert_eq!(scratch.calls(), words.collect::<Vec<_>>());
        assert!(!answer.to_string().contains(refresh));
        assert_eq!(org.requests().last().unwrap().headers["authorization"], format!("Bearer {TOKEN}"));
    }
    // The older program, after the newer one failed.
    let bad = || [("org display", String::new(), "No default org", 1)];
    let answer = asked(&scratch, &bad(), Some(&[("force:org:display --json", with_token, "", 0)]));
    assert_eq!(answer["ok"], true, "{answer}");
    assert_eq!(scratch.calls(), ["sf org display --json", "sfdx force:org:display --json"]);
    let ran = scratch.shiftlog("logs", ["sync", "--target", "dev"]);
    assert_eq!(ran.code, 0);
    assert!(scratch.calls().contains(&"sfdx force:org:display --json -u dev".to_owned()), "{:?}", scratch.calls());
}

#[test]
fn a_failure_tells_which_program_failed_and_how() {
    let mut scratch = Scratch::new();
    scratch.project();
    let url = "https://x.my.salesforce.com";
    let details = |answer: &Value| {
        assert_eq!(answer["errorCode"], "AUTH_FAILED", "{answer}");
        assert_eq!(answer["message"], "Failed to retrieve Salesforce auth.");
        answer["details"].as_str().unwrap().to_owned()
    };
    let display = |stdout: String, code: i32| vec![("org display", stdout, "No default org found\n", code)];
    let failed = "command failed: sf exited exit status: 1: No default org found";
    assert_eq!(details(&asked(&scratch, &display(String::new(), 1), None)), failed);
    assert_eq!(details(&asked(&scratch, &display("no braces".into(), 0), None)), "invalid auth json");
    assert_eq!(details(&asked(&scratch, &display("{\"a\": }".into(), 0), None)), "invalid auth json");
    assert_eq!(details(&asked(&scratch, &display("{}".into(), 0), None)), "missing auth fields");
    let no_url = json!({ "result": { "accessToken": TOKEN } }).to_string();
    assert_eq!(details(&asked(&scratch, &display(no_url, 0), None)), "missing auth fields");
    let redacted = json!({ "result": { "accessToken": "redacted", "instanceUrl": url } }).to_string();
    assert_eq!(details(&asked(&scratch, &display(redacted, 0), None)), "missing auth fields");
    // If both are there, the older one has the last word.
    let older = |stdout: &str, code: i32| [("force:org:display", stdout.to_owned(), "expired", code)];
    let with_older = |told: &[Told<'_>]| details(&asked(&scratch, &display(String::new(), 1), Some(told)));
    assert_eq!(with_older(&older("", 1)), "command failed: sfdx exited exit status: 1: expired");
    assert_eq!(with_older(&older("?", 0)), "invalid auth json");
    assert_eq!(with_older(&older("{}", 0)), "missing auth fields");
    // A message in JSON, as the newer one prints it.
    let told = json!({ "status": 1, "name": "E", "message": "no org dev" }).to_string();
    let answer = asked(&scratch, &[("org display", told, "", 1)], None);
    assert_eq!(details(&answer), "command failed: sf exited exit status: 1: no org dev");
    // Notices stand on the other stream.
    let told = || json!({ "status": 1, "name": "E", "message": "no org dev" }).to_string();
    let noise = "Warning: @salesforce/cli update available from 2.1 to 2.2.\n";
    let answer = asked(&scratch, &[("org display", told(), noise, 1)], None);
    assert_eq!(details(&answer), "command failed: sf exited exit status: 1: no org dev");
    let both = format!("{noise}{}\n", told());
    let answer = asked(&scratch, &[("org display", String::new(), &both, 1)], None);
    assert_eq!(details(&answer), "command failed: sf exited exit status: 1: no org dev");
    // What it says of its refresh token.
    let refresh = "5Aep861KIwKdekr90IDidO4EhfJiYo3fzEvTvsEgM9sfDpGX0qFFeQzHG2mZeUH_.0.SvJpbeX0s7eFpRgEwTk";
    for words in [format!("the refresh token {refresh} expired"), format!("force://PlatformCLI::{refresh}@x.com")] {
        let message = json!({ "status": 1, "message": words }).to_string();
        for (stdout, stderr) in [(message, ""), (String::new(), words.as_str())] {
            let answer = asked(&scratch, &[("org display", stdout, stderr, 1)], None);
            assert!(details(&answer).contains("[REDACTED:salesforce-"), "{answer}");
            assert!(!answer.to_string().contains(&refresh[8..]), "{answer}");
        }
    }
    // What would be an option of the program is no name.
    scratch.logged_in(url);
    let (code, answer) = scratch.synced(&["--target=--json"]);
    assert_eq!((code, details(&answer).as_str()), (1, "bad name of an org"));
    // None is there.
    for name in ["sf", "sfdx"] {
        let _ = std::fs::remove_file(scratch.root().join("bin").join(name));
    }
    let own = crate::support::bin_dir();
    scratch.env.insert("PATH".into(), format!("{}:/usr/bin:/bin", own.display()));
    let told = details(&scratch.synced(&[]).1);
    assert!(told.starts_with("command failed: sf: No such file or directory"), "{told}");
}

#[test]
fn a_token_that_is_not_accepted_is_asked_for_once_more() {
    let scratch = Scratch::new();
    scratch.project();
    let newer = TOKEN.replace("AQcAQ", "AQdBR");
    let accepted = format!("Bearer {newer}");
    let rows: Vec<Value> = (0..9).map(|number| row(&format!("07L5g00000AbCd{number}"), "Ada")).collect();
    let org = Server::start(move |request| match request.headers.get("authorization") == Some(&accepted) {
        true => super::answer_as_org(&rows, request),
        false => super::Reply::status("401 Unauthorized"),
    });
    // The CLI gives another token when it is asked again.
    let (old, new) = (scratch.root().join("sf-1"), scratch.root().join("newer"));
    scratch.logged_in(&org.url);
    std::fs::write(&new, token(&newer)).unwrap();
    let script = std::fs::read_to_string(scratch.root().join("bin/sf")).unwrap();
    let again = format!("cat '{0}'; cp '{1}' '{0}'; exit 0;;\n'never'*) cat '{0}'", old.display(), new.display());
    std::fs::write(scratch.root().join("bin/sf"), script.replace(&format!("cat '{}'", old.display()), &again)).unwrap();
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, answer["saved"].as_array().unwrap().len()), (0, 9), "{answer}");
    assert_eq!(scratch.calls().len(), 4, "twice two questions: {:?}", scratch.calls());

    // Once more is enough.
    let refusing = Server::start(|_| super::Reply::status("401 Unauthorized"));
    scratch.logged_in(&refusing.url);
    let (code, answer) = scratch.synced(&[]);
    let expected = json!({ "ok": false, "errorCode": "LOGS_QUERY_FAILED", "message": "Failed to query Apex logs.",
        "details": "request failed: 401 Unauthorized" });
    assert_eq!((code, answer), (1, expected));
    assert_eq!((refusing.requests().len(), scratch.calls().len()), (2, 8));
}
