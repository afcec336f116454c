//! `git shiftlog logs sync`: what it asks for, what it writes, what it answers.

use std::fs;
use std::io::Write as _;
use std::sync::{Barrier, Mutex};

use serde_json::{Value, json};

use super::{Reply, Server, TOKEN, answer_as_org, row, text_of};
use crate::support::{Ran, Scratch};

const FIRST: &str = "07L5g00000AbCdEFGH";
const SECOND: &str = "07L5g00000AbCd1";

#[test]
fn logs_are_saved_and_the_answer_is_the_one_that_is_promised() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(FIRST, "Ada Lovelace"), row(SECOND, "bob@example.com")]);
    scratch.logged_in(&org.url);
    let ran = scratch.shiftlog("logs", ["sync", "--limit", "7", "-o", "dev"]);
    let (one, two) = (text_of(FIRST), text_of(SECOND));
    let columns = |id: &str, length: usize, user: &str| {
        format!(
            r#"{{"Id":"{id}","StartTime":"2026-11-20T12:00:00.000+0000","Operation":"/apex/x","Application":"Unknown","DurationMilliseconds":42,"Status":"Success","Request":"API","LogLength":{length},"LogUser":{{"Name":"{user}"}}}}"#
        )
    };
    let (url, first, second) =
        (&org.url, columns(FIRST, one.len(), "Ada Lovelace"), columns(SECOND, two.len(), "bob@example.com"));
    let files = [format!("apexlogs/Ada_Lovelace_{FIRST}.log"), format!("apexlogs/bob@example.com_{SECOND}.log")];
    let expected = format!(
        r#"{{"ok":true,"org":{{"username":"ada@example.com","instanceUrl":"{url}"}},"apiVersion":"64.0","limit":7,"savedDir":"apexlogs","logs":[{first},{second}],"saved":[{{"id":"{FIRST}","file":"{}","size":{}}},{{"id":"{SECOND}","file":"{}","size":{}}}],"skipped":[],"errors":[]}}"#,
        files[0],
        one.len(),
        files[1],
        two.len()
    );
    assert_eq!((ran.code, ran.stdout, ran.stderr.as_str()), (0, format!("{expected}\n"), ""));
    assert_eq!(fs::read_to_string(scratch.top.join(&files[0])).unwrap(), one);
    assert_eq!(fs::read_to_string(scratch.top.join(&files[1])).unwrap(), two);
    let requests = org.requests();
    assert_eq!(
        requests[0].soql().unwrap(),
        "SELECT Id, StartTime, Operation, Application, DurationMilliseconds, Status, Request, LogLength, LogUser.Name \
         FROM ApexLog ORDER BY StartTime DESC, Id DESC LIMIT 7"
    );
    assert!(requests[0].path.starts_with("/services/data/v64.0/tooling/query?q=SELECT%20Id"), "{}", requests[0].path);
    let mut fetched = org.fetched();
    fetched.sort();
    let mut expected = [FIRST, SECOND].map(|id| format!("/services/data/v64.0/tooling/sobjects/ApexLog/{id}/Body"));
    expected.sort();
    assert_eq!(fetched, expected);
    for request in &requests {
        assert_eq!(request.headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!(request.headers["accept-encoding"], "gzip");
    }
    assert_eq!(
        scratch.calls(),
        ["sf org display --json --target-org dev", "sf org auth show-access-token --json --no-prompt --target-org dev"]
    );
    let variables = fs::read_to_string(scratch.root().join("variables")).unwrap();
    assert_eq!(variables, "SF_DISABLE_LOG_FILE=true\nSF_DISABLE_TELEMETRY=true\nSF_SKIP_NEW_VERSION_CHECK=true\n");
    assert_eq!(fs::read_to_string(scratch.root().join("stdin")).unwrap().trim(), "0", "it has no standard input");

    // A second time, nothing is fetched that is there.
    let (code, again) = scratch.synced(&[]);
    assert_eq!((code, &again["saved"][1]["file"], &again["limit"]), (0, &json!(files[1]), &json!(100)));
    assert_eq!(org.fetched().len(), 2, "both are there");
    fs::write(scratch.top.join(&files[1]), "shorter").unwrap();
    scratch.synced(&[]);
    assert_eq!(fs::read_to_string(scratch.top.join(&files[1])).unwrap(), two, "one of another length is fetched");
    assert_eq!(org.fetched().len(), 3);
}

#[test]
fn a_dry_run_tells_which_logs_are_missing_and_writes_nothing() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(FIRST, "Ada Lovelace"), row(SECOND, "bob@example.com")]);
    scratch.logged_in(&org.url);
    let planned = |id: &str, user: &str| json!({ "id": id, "file": format!("apexlogs/{user}_{id}.log"), "size": text_of(id).len() });
    let (one, two) = (planned(FIRST, "Ada_Lovelace"), planned(SECOND, "bob@example.com"));
    let exclude = fs::read(scratch.top.join(".git/info/exclude")).unwrap();
    for option in ["-n", "--dry-run"] {
        let (code, answer) = scratch.synced(&[option]);
        assert_eq!((code, &answer["planned"]), (0, &json!([one, two])));
        assert_eq!((&answer["saved"], answer["logs"].as_array().unwrap().len()), (&json!([]), 2));
    }
    assert!(!scratch.top.join("apexlogs").exists());
    assert_eq!(fs::read(scratch.top.join(".git/info/exclude")).unwrap(), exclude);
    assert_eq!(org.fetched(), [""; 0]);
    assert_eq!(scratch.synced(&[]).1.get("planned"), None);
    fs::write(scratch.top.join(two["file"].as_str().unwrap()), "shorter").unwrap();
    assert_eq!(scratch.synced(&["-n"]).1["planned"], json!([two]), "what is there is not fetched again");
}

#[test]
fn a_limit_is_brought_into_its_range() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(Vec::new());
    scratch.logged_in(&org.url);
    for (limit, expected) in [("0", 1), ("-3", 1), ("201", 200), ("99999999999", 200), ("200", 200)] {
        let (code, answer) = scratch.synced(&["--limit", limit]);
        assert_eq!((code, &answer["limit"]), (0, &json!(expected)), "{limit}");
        let asked = org.requests().last().unwrap().soql().unwrap();
        assert!(asked.ends_with(&format!(" LIMIT {expected}")), "{asked}");
    }
    assert_eq!(scratch.shiftlog("logs", ["sync", "--limit", "many"]).code, 129);
    assert_eq!(scratch.shiftlog("logs", [""; 0]).code, 129);
    assert_eq!(scratch.shiftlog("logs", ["fetch"]).code, 129);
}

#[test]
fn logs_are_kept_out_of_commits_until_deinit() {
    let scratch = Scratch::new();
    scratch.project();
    scratch.write("sub [x]/a.txt", "a\n");
    scratch.git(["add", "."]).ok();
    scratch.git(["commit", "-q", "-m", "project"]).ok();
    let exclude = scratch.top.join(".git/info/exclude");
    let before = fs::read(&exclude).unwrap();
    let org = Server::org(vec![row(FIRST, "Ada")]);
    scratch.logged_in(&org.url);
    scratch.shiftlog("logs", ["sync"]).ok();
    let below = scratch.top.join("sub [x]");
    scratch.shiftlog_in(&below, "logs", ["sync"]).ok();
    assert!(below.join(format!("apexlogs/Ada_{FIRST}.log")).is_file(), "they are under the current directory");
    assert_eq!(scratch.git(["status", "--porcelain"]).ok(), "", "nothing of it can be added by accident");
    let after = fs::read_to_string(&exclude).unwrap();
    scratch.shiftlog("logs", ["sync"]).ok();
    assert_eq!(fs::read_to_string(&exclude).unwrap(), after, "one line is enough");
    scratch.shiftlog("deinit", ["-q"]).ok();
    assert_eq!(fs::read(&exclude).unwrap(), before, "deinit puts the file back");
    assert!(scratch.top.join(format!("apexlogs/Ada_{FIRST}.log")).is_file(), "logs are the user's");
    // A line of the user's own does as well.
    scratch.write(".gitignore", "apexlogs/\n");
    scratch.shiftlog("logs", ["sync"]).ok();
    assert_eq!(fs::read(&exclude).unwrap(), before);
}

#[test]
fn logs_are_saved_outside_a_repository_too() {
    let scratch = Scratch::new();
    let project = scratch.root().join("elsewhere/force-app");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("../sfdx-project.json"), r#"{"sourceApiVersion":"63.0"}"#).unwrap();
    let org = Server::org(vec![row(FIRST, "")]);
    scratch.logged_in(&org.url);
    let ran = scratch.shiftlog_in(&project, "logs", ["sync"]);
    let answer = super::answer_of(&ran);
    assert_eq!((ran.code, &answer["apiVersion"]), (0, &json!("63.0")), "{answer}");
    assert!(project.join(format!("apexlogs/default_{FIRST}.log")).is_file());
}

#[test]
fn absent_and_null_fields_have_their_values() {
    let scratch = Scratch::new();
    scratch.project();
    let bare = json!({ "Id": FIRST, "StartTime": "t" });
    let null = json!({ "Id": SECOND, "StartTime": "t", "Operation": null, "Application": null, "Status": null,
        "DurationMilliseconds": null, "Request": null, "LogLength": null, "LogUser": null });
    let org = Server::org(vec![bare, null]);
    let display = json!({ "result": { "instanceUrl": org.url } }).to_string();
    scratch.cli("sf", &[("org display", display, "", 0), ("org auth", super::token(TOKEN), "", 0)]);
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, &answer["org"]["username"]), (0, &Value::Null), "{answer}");
    let expected = |id: &str| {
        json!({ "Id": id, "StartTime": "t", "Operation": "", "Application": "", "DurationMilliseconds": 0,
            "Status": "", "Request": "", "LogLength": 0, "LogUser": null })
    };
    assert_eq!(answer["logs"], json!([expected(FIRST), expected(SECOND)]));
    assert_eq!(answer["saved"][0]["file"], format!("apexlogs/default_{FIRST}.log"));
}

#[test]
fn one_log_that_fails_does_not_fail_the_others() {
    let scratch = Scratch::new();
    scratch.project();
    let rows = vec![row(FIRST, "Ada"), row(SECOND, "Ada"), row("07L5g00000AbCd2", "Ada")];
    let org = Server::start(move |request| match request.path.contains(FIRST) {
        true => Reply::status("404 Not Found"),
        false => answer_as_org(&rows, request),
    });
    scratch.logged_in(&org.url);
    // Where a file should be stands a directory.
    fs::create_dir_all(scratch.top.join(format!("apexlogs/Ada_{SECOND}.log/x"))).unwrap();
    let (code, answer) = scratch.synced(&[]);
    assert_eq!((code, &answer["ok"]), (0, &json!(true)));
    assert_eq!(answer["skipped"], json!([{ "id": FIRST, "reason": "request failed: 404 Not Found" }]));
    assert_eq!(answer["errors"][0]["id"], SECOND);
    assert!(!answer["errors"][0]["message"].as_str().unwrap().is_empty());
    assert_eq!((answer["errors"].as_array().unwrap().len(), answer["saved"].as_array().unwrap().len()), (1, 1));
    let left: Vec<_> = fs::read_dir(scratch.top.join("apexlogs")).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "nothing unfinished is left: {left:?}");
}

#[test]
fn eight_logs_are_fetched_at_once_and_no_more() {
    let scratch = Scratch::new();
    scratch.project();
    let rows: Vec<Value> = (0..16).map(|number| row(&format!("07L5g00000AbC{number:02}"), "Ada")).collect();
    // Nobody gets an answer before eight have asked.
    let (barrier, now, most) = (Barrier::new(8), Mutex::new(0), std::sync::Arc::new(Mutex::new(0)));
    let seen = std::sync::Arc::clone(&most);
    let org = Server::start(move |request| {
        if request.path.ends_with("/Body") {
            let running = {
                let mut now = now.lock().unwrap();
                *now += 1;
                *now
            };
            {
                let mut most = seen.lock().unwrap();
                *most = running.max(*most);
            }
            barrier.wait();
            *now.lock().unwrap() -= 1;
        }
        answer_as_org(&rows, request)
    });
    scratch.logged_in(&org.url);
    let (_, answer) = scratch.synced(&[]);
    let saved: Vec<&Value> = answer["saved"].as_array().unwrap().iter().map(|saved| &saved["id"]).collect();
    let listed: Vec<&Value> = answer["logs"].as_array().unwrap().iter().map(|log| &log["Id"]).collect();
    assert_eq!(saved, listed, "they are told in the order of the rows");
    assert_eq!(*most.lock().unwrap(), 8);
}

#[test]
fn compressed_and_large_answers_come_out_whole() {
    let scratch = Scratch::new();
    scratch.project();
    let large: Vec<u8> = (0..20_u32 << 18).flat_map(u32::to_le_bytes).collect();
    let expected = large.clone();
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        Reply { headers: vec!["Content-Encoding: gzip".into()], ..Reply::ok(packer.finish().unwrap()) }
    };
    let rows = vec![row(FIRST, "large"), row(SECOND, "packed")];
    let org = Server::start(move |request| match &request.path {
        path if path.contains(FIRST) => Reply::ok(large.clone()),
        path if path.contains(SECOND) => packed(text_of(SECOND).as_bytes()),
        _ => packed(&answer_as_org(&rows, request).body),
    });
    scratch.logged_in(&org.url);
    let (_, answer) = scratch.synced(&[]);
    assert_eq!(answer["saved"][0]["size"], 20 << 20, "{answer}");
    let file = |user: &str, id: &str| fs::read(scratch.top.join(format!("apexlogs/{user}_{id}.log"))).unwrap();
    assert!(file("large", FIRST) == expected);
    assert_eq!(file("packed", SECOND), text_of(SECOND).as_bytes());
    assert_eq!(answer["saved"][1]["size"], text_of(SECOND).len(), "the size is that of the text");
}

#[test]
fn each_error_of_a_project_has_its_code() {
    let scratch = Scratch::new();
    let told = |code: &str, message: &str| {
        format!("{{\"ok\":false,\"errorCode\":\"{code}\",\"message\":\"{message}\",\"details\":null}}\n")
    };
    let sync = || {
        let ran = scratch.shiftlog("logs", ["sync"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
        ran.stdout
    };
    let missing = "sfdx-project.json not found. Run inside a valid SFDX project.";
    assert_eq!(sync(), told("NO_SFDX_PROJECT", missing));
    scratch.write("sfdx-project.json", "{");
    assert_eq!(sync(), told("INVALID_SFDX_PROJECT", "Invalid sfdx-project.json."));
    scratch.write("sfdx-project.json", "{}");
    assert_eq!(sync(), told("MISSING_API_VERSION", "sfdx-project.json is missing sourceApiVersion."));
}

#[test]
fn a_directory_that_cannot_be_written_is_told() {
    let scratch = Scratch::new();
    scratch.project();
    let org = Server::org(vec![row(FIRST, "Ada")]);
    scratch.logged_in(&org.url);
    let outside = scratch.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let (code, answer) = {
        scratch.write("apexlogs", "a file\n");
        scratch.synced(&[])
    };
    assert_eq!((code, &answer["errorCode"]), (1, &json!("IO_ERROR")));
    assert_eq!(answer["message"], "Failed to write log file.");
    assert_eq!(answer["details"], "'apexlogs' is not a directory");
    fs::remove_file(scratch.top.join("apexlogs")).unwrap();
    std::os::unix::fs::symlink(&outside, scratch.top.join("apexlogs")).unwrap();
    let (_, answer) = scratch.synced(&[]);
    assert_eq!(answer["details"], "'apexlogs' is a symbolic link");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing is written elsewhere");
    let script = "mkdir gone && cd gone && rmdir ../gone && git-shiftlog-logs sync";
    let ran: Ran = scratch.run_in(&scratch.root(), "sh", ["-c", script]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &answer["errorCode"]), (1, &json!("CWD_FAILED")), "{ran:?}");
    assert_eq!(answer["message"], "Failed to resolve current directory.");
}
