//! `evidence pull apex`: all logs since the last time, page by page.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Reply, Request, Server, answer_as_org, row, text_of};
use crate::support::{Ran, Scratch};

/// Returns logs with ids in the order of their times; several begin in the same second.
fn rows(numbers: std::ops::Range<usize>) -> Vec<Value> {
    let log = |number: usize| {
        let mut row = row(&format!("07L5g00000{number:05}"), "Ada");
        row["StartTime"] = json!(format!("2026-11-20T12:00:{:02}.000+0000", number / 150));
        row
    };
    numbers.map(log).collect()
}

/// Returns what stands in a text between two others.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after).map_or(rest, |(found, _)| found))
}

/// Answers as an org that understands the conditions of time and place in a query.
fn answer_in_pages(rows: &[Value], request: &Request) -> Reply {
    let Some(soql) = request.soql() else { return answer_as_org(rows, request) };
    let fraction = |text: &str| format!("{:0<4}", text.trim_end_matches('Z').get(19..23).unwrap_or("."));
    let moment = |text: &str| format!("{}{}", &text[..19], fraction(text));
    let key = |row: &Value| (moment(row["StartTime"].as_str().unwrap()), row["Id"].as_str().unwrap().to_owned());
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| std::cmp::Reverse(key(row)));
    if let Some(since) = between(&soql, "StartTime >= ", "Z") {
        rows.retain(|row| key(row).0 >= moment(since));
    }
    if let Some((time, id)) = between(&soql, "(StartTime < ", " OR").zip(between(&soql, "Id < '", "'")) {
        rows.retain(|row| key(row) < (moment(time), id.to_owned()));
    }
    rows.truncate(soql.rsplit(' ').next().unwrap().parse().unwrap());
    Reply::ok(json!({ "records": rows }).to_string())
}

impl Server {
    fn queries(&self) -> Vec<String> {
        self.requests().iter().filter_map(Request::soql).collect()
    }
}

fn pull(scratch: &Scratch, args: &[&str]) -> Ran {
    scratch.shiftlog("evidence", [&["pull", "apex"], args].concat())
}

/// The checkpoints that are kept.
fn checkpoints(scratch: &Scratch) -> usize {
    fs::read_dir(scratch.top.join(".git/shiftlog/apex")).map_or(0, Iterator::count)
}

#[test]
fn a_pull_fetches_every_page_and_the_next_one_only_what_is_new() {
    let scratch = Scratch::new();
    scratch.project();
    let logs = Arc::new(Mutex::new(rows(0..450)));
    let known = Arc::clone(&logs);
    let org = Server::start(move |request| answer_in_pages(&known.lock().unwrap(), request));
    scratch.logged_in(&org.url);
    let planned = pull(&scratch, &["-n", "--max-count=1"]).ok();
    assert_eq!(
        planned,
        format!("would fetch apexlogs/Ada_07L5g0000000449.log, {} bytes\n", text_of("07L5g0000000449").len())
    );
    let told = pull(&scratch, &[]).ok();
    assert_eq!(told.lines().count(), 450);
    assert!(told.starts_with("fetched apexlogs/Ada_07L5g0000000449.log, "), "{told}");
    let queries = org.queries();
    assert_eq!(queries.len(), 1 + 3);
    assert!(queries[1].contains(" FROM ApexLog ORDER BY StartTime DESC, Id DESC LIMIT 200"), "{}", queries[1]);
    let cursor = " WHERE (StartTime < 2026-11-20T12:00:01Z OR (StartTime = 2026-11-20T12:00:01Z AND Id < \
                  '07L5g0000000250')) ORDER BY";
    assert!(queries[2].contains(cursor), "{}", queries[2]);
    for number in [0, 149, 150, 249, 250, 449] {
        let id = format!("07L5g00000{number:05}");
        let file = scratch.top.join(format!("apexlogs/Ada_{id}.log"));
        assert_eq!(fs::read_to_string(file).unwrap(), text_of(&id));
    }
    assert_eq!(scratch.git(["status", "--porcelain", "apexlogs"]).ok(), "", "logs get into no commit");
    assert_eq!(pull(&scratch, &[]).ok(), "");
    let asked = org.queries();
    assert!(asked[4].contains(" WHERE StartTime >= 2026-11-20T11:50:02Z ORDER BY"), "{}", asked[4]);
    assert_eq!(org.fetched().len(), 450, "nothing is fetched again");
    logs.lock().unwrap().extend(rows(450..451));
    let told = pull(&scratch, &["--json"]).ok();
    let objects: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.iter().filter(|object| object["state"] == "fetched").count(), 1, "{told}");
    assert_eq!((&objects[0]["id"], &objects[1]["state"]), (&json!("07L5g0000000450"), &json!("there")));
    assert_eq!(checkpoints(&scratch), 1);
}

#[test]
fn logs_of_one_second_are_not_lost_between_two_pages() {
    let scratch = Scratch::new();
    scratch.project();
    let mut logs = rows(0..450);
    for (number, log) in logs.iter_mut().enumerate() {
        log["StartTime"] = json!(format!("2026-11-20T12:00:00.{:03}+0000", number * 2));
    }
    let org = Server::start(move |request| answer_in_pages(&logs, request));
    scratch.logged_in(&org.url);
    assert_eq!(pull(&scratch, &[]).ok().lines().count(), 450);
    let cursor = "(StartTime < 2026-11-20T12:00:00.500Z OR (StartTime = 2026-11-20T12:00:00.500Z AND Id < \
                  '07L5g0000000250'))";
    assert!(org.queries()[1].contains(cursor), "{}", org.queries()[1]);
}

#[test]
fn what_a_pull_did_not_get_is_asked_for_again() {
    let scratch = Scratch::new();
    scratch.project();
    let is_broken = Arc::new(AtomicBool::new(true));
    let (logs, broken) = (rows(0..3), Arc::clone(&is_broken));
    let org =
        Server::start(move |request| match request.path.contains("00001/Body") && broken.load(Ordering::SeqCst) {
            true => Reply::status("503 Service Unavailable"),
            false => answer_in_pages(&logs, request),
        });
    scratch.logged_in(&org.url);
    let ran = pull(&scratch, &[]);
    let told = "error: log '07L5g0000000001' is not fetched: request failed: 503 Service Unavailable\n";
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.lines().count()), (2, told, 2));
    assert_eq!(checkpoints(&scratch), 0, "the checkpoint stays");
    is_broken.store(false, Ordering::SeqCst);
    let ran = pull(&scratch, &[]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 1));
    assert!(!org.queries()[1].contains("WHERE"));
    assert_eq!((org.fetched().len(), checkpoints(&scratch)), (4, 1));

    // A page that is not listed.
    let scratch = Scratch::new();
    scratch.project();
    let logs = rows(0..300);
    let org = Server::start(move |request| match request.soql().is_some_and(|soql| soql.contains("WHERE")) {
        true => Reply::status("500 Internal Server Error"),
        false => answer_in_pages(&logs, request),
    });
    scratch.logged_in(&org.url);
    let ran = pull(&scratch, &["-q"]);
    let told = "error: some logs are not listed: request failed: 500 Internal Server Error\n";
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.as_str()), (2, told, ""));
    assert_eq!((org.fetched().len(), checkpoints(&scratch)), (200, 0));

    // An org that tells the same page for ever.
    let logs = rows(0..200);
    let org = Server::start(move |request| answer_as_org(&logs, request));
    scratch.logged_in(&org.url);
    let ran = pull(&scratch, &["-q"]);
    let told = "error: some logs are not listed: the pages of the list do not follow each other\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (2, told));
    assert_eq!(org.queries().len(), 2);
}

#[test]
fn a_choice_of_logs_goes_into_the_query_and_does_not_move_the_checkpoint() {
    let scratch = Scratch::new();
    scratch.project();
    let logs = rows(0..4);
    let org = Server::start(move |request| answer_in_pages(&logs, request));
    scratch.logged_in(&org.url);
    let chosen =
        ["--since=2026-11-20T00:00:00Z", "--until=2026-11-21T00:00:00Z", "--user=O'Brien", "--failed", "-o", "dev"];
    pull(&scratch, &[&chosen[..], &["--max-count=2"]].concat()).ok();
    let expected = " WHERE StartTime >= 2026-11-20T00:00:00Z AND StartTime <= 2026-11-21T00:00:00Z AND LogUser.Name = \
                    'O\\'Brien' AND Status != 'Success' ORDER BY StartTime DESC, Id DESC LIMIT 2";
    assert!(org.queries()[0].ends_with(expected), "{}", org.queries()[0]);
    assert!(scratch.calls().iter().all(|call| call.ends_with("--target-org dev")), "{:?}", scratch.calls());
    pull(&scratch, &["--user=ada@example.com"]).ok();
    assert!(org.queries()[1].contains(" WHERE LogUser.Username = 'ada@example.com' ORDER"), "{}", org.queries()[1]);
    pull(&scratch, &["--max-count=4"]).ok();
    assert_eq!(checkpoints(&scratch), 0);
    pull(&scratch, &["--max-count=5"]).ok();
    assert_eq!(checkpoints(&scratch), 1, "no log was left out");
    for wrong in [&["--max-count=0"][..], &["--user="], &["--words"], &["--kind=ci"], &["x"]] {
        assert_eq!(pull(&scratch, wrong).code, 129, "{wrong:?}");
    }
    for wrong in [&["pull"][..], &["pull", "moon"], &["list", "--failed"], &["show", "--words"]] {
        assert_eq!(scratch.shiftlog("evidence", wrong).code, 129, "{wrong:?}");
    }
    fs::remove_file(scratch.top.join("sfdx-project.json")).unwrap();
    let ran = pull(&scratch, &[]);
    let told = "fatal: cannot pull Apex logs: sfdx-project.json not found. Run inside a valid SFDX project\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
}

#[test]
fn pulled_logs_are_attached_once_and_their_words_stay_without_the_files() {
    let scratch = Scratch::new();
    scratch.project();
    let failing = "64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|FATAL_ERROR|System.NullPointerException: null\n";
    let mut logs = rows(0..2);
    logs[1]["LogLength"] = json!(failing.len());
    let org = Server::start(move |request| match request.path.contains("00001/Body") {
        true => Reply::ok(failing),
        false => answer_in_pages(&logs, request),
    });
    scratch.logged_in(&org.url);
    let told = pull(&scratch, &["--attach=HEAD", "--words"]).ok();
    let short = &scratch.id("HEAD")[..7];
    let attached =
        format!("attached apex apexlogs/Ada_07L5g0000000001.log to {short}\n  System.NullPointerException: null\n");
    assert!(told.contains(&attached) && told.matches("attached ").count() == 2, "{told}");
    assert_eq!(pull(&scratch, &["--attach=HEAD", "--words"]).ok(), "", "nothing is attached twice");
    // An older log of the time that is asked for again belongs to the earlier commit.
    let other = scratch.commit("x", "1\n", "next");
    assert_eq!(pull(&scratch, &["--attach=HEAD"]).ok(), "");
    assert_eq!(scratch.shiftlog("evidence", ["list", &other]).code, 1);
    fs::remove_dir_all(scratch.top.join("apexlogs")).unwrap();
    let words: Vec<String> =
        ["1", "2"].iter().map(|number| scratch.shiftlog("evidence", ["show", "HEAD~1", number]).ok()).collect();
    assert!(words.contains(&failing.to_owned()), "{words:?}");
    assert!(scratch.shiftlog("show", ["HEAD~1", "--evidence=full"]).ok().contains("|FATAL_ERROR|"));
    scratch.shiftlog("fsck", [""; 0]).ok();

    let many = rows(0..101);
    let org = Server::start(move |request| answer_in_pages(&many, request));
    scratch.logged_in(&org.url);
    let ran = pull(&scratch, &["--attach=HEAD"]);
    let told = "fatal: 101 logs are too many for one commit, which gets 100 at most\n";
    assert!(ran.code == 128 && ran.stderr.starts_with(told), "{ran:?}");
    assert_eq!(org.fetched().len(), 0);
}

#[test]
fn a_log_that_cannot_be_attached_keeps_no_other_back() {
    let scratch = Scratch::new();
    scratch.project();
    let logs = Arc::new(Mutex::new(rows(0..1)));
    let known = Arc::clone(&logs);
    let org = Server::start(move |request| answer_in_pages(&known.lock().unwrap(), request));
    scratch.logged_in(&org.url);
    pull(&scratch, &["--attach=HEAD", "--words"]).ok();
    assert_eq!(crate::purging::purge(&scratch, &[&scratch.id("HEAD")]).code, 0);
    logs.lock().unwrap().extend(rows(1..3));
    fs::remove_dir_all(scratch.top.join(".git/shiftlog/apex")).unwrap();
    let ran = pull(&scratch, &["--attach=HEAD"]);
    let told = "Ada_07L5g0000000000.log': its text was removed with 'git shiftlog purge'\n";
    assert!(ran.stderr.starts_with("error: cannot attach '") && ran.stderr.ends_with(told), "{ran:?}");
    assert_eq!((ran.code, ran.stdout.matches("attached apex ").count()), (2, 2), "{ran:?}");
    assert_eq!(super::words::evidence(&scratch, "HEAD").len(), 2);
    // The checkpoint does not wait for what can never be attached.
    assert_eq!(checkpoints(&scratch), 1);
    assert_eq!(pull(&scratch, &["--attach=HEAD"]).ok(), "");
}

#[test]
fn an_interrupted_pull_leaves_no_unfinished_file_and_no_checkpoint() {
    let scratch = Scratch::new();
    scratch.project();
    let logs = rows(0..2);
    let org = Server::start(move |request| {
        if request.path.ends_with("00000/Body") {
            // Until the test ends.
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
        answer_in_pages(&logs, request)
    });
    scratch.logged_in(&org.url);
    let mut command = scratch.command("git-shiftlog-evidence", &scratch.top);
    let mut child = command.args(["pull", "apex"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while org.fetched().len() < 2 || !scratch.top.join("apexlogs/Ada_07L5g0000000001.log").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(child.try_wait().unwrap().is_none(), "it waits for the log");
    }
    scratch.run_in(&scratch.top, "kill", ["-s", "INT", &child.id().to_string()]).ok();
    // A shell reports 130.
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    let left: Vec<_> =
        fs::read_dir(scratch.top.join("apexlogs")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["Ada_07L5g0000000001.log"]);
    assert_eq!(checkpoints(&scratch), 0);
}
