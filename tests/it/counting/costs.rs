//! What fixtures have cost, counted another way than the program counts it.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{answers, total, usage, work};
use crate::support::Scratch;

#[test]
fn an_independent_recount_of_the_raw_usage_gives_the_same_cents() {
    let scratch = Scratch::new();
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = top.join("tests/data/agents/claude");
    let session = "projects/-home-dev-harbour/3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e.jsonl";
    for (number, name) in ["many-tools.jsonl", session].iter().enumerate() {
        // A copy, beside which no sub-agents are: the script counts one file.
        let path = scratch.root().join("alone.jsonl");
        fs::copy(data.join(name), &path).unwrap();
        let transcript = format!("--transcript={}", path.display());
        scratch.git(["commit", "-q", "--allow-empty", "-m", name]).ok();
        scratch.shiftlog("add", ["-q", &transcript, &format!("--session=s{number}")]).ok();
        let table = top.join("src/stats/prices.tsv");
        let script = top.join("tests/recount.py");
        let recount = scratch.run_in(&scratch.top, "python3", [&script, &table, &path]).ok();
        let expected: f64 = recount.trim().parse().unwrap();
        assert!(expected > 0.0, "{name} has used something");
        for words in [&["HEAD^!"][..], &["HEAD^!", "--words"]] {
            let cost: f64 = total(&scratch, words)["cost"].as_str().unwrap().parse().unwrap();
            assert!((cost - expected).abs() < 1e-9, "{name}: {cost}, but recounted {expected}");
        }
    }
}

#[test]
fn every_model_of_the_fixtures_has_a_price_or_a_reason() {
    // Names that are no model's of a maker's list: chosen by the agent, run by whoever pleases, or no longer listed.
    let known =
        ["Claude", "Gemini", "auto", "claude-3", "gpt-oss", "qwen3-coder", "gemini-3-pro", "gpt-4o-mini-test", "m-1"];
    let prices = shiftlog::stats::Prices::listed();
    let mut unpriced = std::collections::BTreeSet::new();
    let mut count = 0;
    for agent in shiftlog::agent::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents").join(agent.name());
        for path in if folder.is_dir() { crate::fixtures::transcripts(&folder) } else { Vec::new() } {
            let messages = agent.read(&path).map(|raw| agent.parse(&raw)).unwrap_or_default();
            for model in messages.iter().filter_map(|message| message.model.as_deref()) {
                count += 1;
                if prices.find(model, None, "2026-11-30").is_none() && !known.iter().any(|known| model.contains(known))
                {
                    unpriced.insert(model.to_owned());
                }
            }
        }
    }
    assert!(count > 50, "{count}");
    assert!(unpriced.is_empty(), "{unpriced:?}");
}

#[test]
fn an_answer_that_the_agent_made_up_itself_has_no_model_and_costs_nothing() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let before = total(&scratch, &[]);
    let session = scratch.session("errors");
    session.prompt("make two");
    answers(&session, "msg_error", "<synthetic>", &usage());
    session.edits("two.txt", "words\n");
    session.commits("add two");
    let record = scratch.record("HEAD");
    assert!(record.get("usage").is_none(), "one model is told by the record itself: {record}");
    let after = total(&scratch, &[]);
    for key in ["cost", "cacheRead", "cacheWrite"] {
        assert_eq!(after[key], before[key], "{key}");
    }
}

#[test]
fn the_table_of_the_action_tells_what_a_commit_has_cost() {
    let scratch = Scratch::set_up();
    scratch.git(["init", "-q", "--bare", "../server.git"]).ok();
    scratch.git(["remote", "add", "origin", "../server.git"]).ok();
    work(&scratch, "one");
    scratch.shiftlog("sync", ["push", "-q"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/actions/shiftlog/run.sh");
    let summary = scratch.run_in(&scratch.top, "sh", [script.to_str().unwrap(), "summary", "origin", "HEAD~1.."]).ok();
    let id = scratch.id("HEAD");
    assert!(summary.contains(&format!("| {} | `claude` | 3 | at least 0.05 | `make one` |\n", &id[..7])), "{summary}");
}

// Records are made now, commits and answers in January: an import of old sessions took the prices of the day of the import.
#[test]
fn a_dated_price_holds_for_the_day_of_the_work() {
    let scratch = Scratch::set_up();
    let rows = |from: &str, dollars: u32| {
        let prices = format!("{dollars}\t").repeat(5);
        format!("claude-opus-4-8\t{from}\t{}\n", prices.trim_end())
    };
    let table = format!("{}{}claude-test-1\t-\t0\t0\n", rows("2025-01-01", 40), rows("2026-03-01", 80));
    std::fs::write(scratch.root().join("prices.tsv"), table).unwrap();
    scratch.git(["config", "shiftlog.prices", scratch.root().join("prices.tsv").to_str().unwrap()]).ok();
    work(&scratch, "one");
    for args in [&[][..], &["--words"]] {
        assert_eq!(total(&scratch, args)["cost"], "1.004", "{args:?}");
    }
    let told = |args: &[&str]| scratch.shiftlog(args[0], &args[1..]).ok();
    assert_eq!(told(&["log", "--format=%(cost)"]), "1.00\n");
    assert!(told(&["show"]).contains(", 1.00 USD by list prices\n"), "{}", told(&["show"]));
    // Whoever rebases it later does not make it dearer.
    let mut amend = scratch.command("git", &scratch.top);
    amend.env("GIT_COMMITTER_DATE", "2026-06-01T00:00:00Z").args(["commit", "-q", "--amend", "-m", "later"]);
    assert!(amend.status().unwrap().success());
    assert_eq!(told(&["log", "--format=%(cost)"]), "1.00\n");
    assert_eq!(total(&scratch, &[])["cost"], "1.004");
    // An answer that was written on another day than its commit has the price of its own day.
    let session = scratch.session("two");
    session.prompt("make two");
    let message = json!({ "id": "late", "role": "assistant", "model": "claude-opus-4-8", "usage": usage(),
        "content": [{ "type": "text", "text": "Well." }] });
    let record = json!({ "type": "assistant", "uuid": "late", "sessionId": "two",
        "timestamp": "2026-04-01T00:00:00Z", "message": message });
    session.append(format!("{record}\n").as_bytes());
    session.edits("two.txt", "words\n");
    session.commits("add two");
    assert_eq!(total(&scratch, &["HEAD^!"])["cost"], "1.004", "notes know the day of the commit");
    assert_eq!(total(&scratch, &["HEAD^!", "--words"])["cost"], "2.008");
}

/// What the fixtures of other agents have cost, computed by hand from their raw counters. The counters of Codex, Copilot, Gemini
/// and Qwen have cached tokens within the input, those of Pi, Amp and OpenCode beside it; the thoughts of Gemini and OpenCode are
/// output, those of Codex and Qwen are within the output. An answer that was written twice counts once. Cursor tells its
/// tokens to hooks alone, Factory Droid writes them beside its transcript: their records have none.
#[test]
fn the_cost_of_other_agents_is_what_their_raw_counters_come_to() {
    let scratch = Scratch::new();
    let table = "gpt-5.1-codex\t-\t1.25\t10\t0.125\t-\t-\ngemini-3-pro\t-\t2\t12\t0.2\t-\t-\n\
                 claude-sonnet-4-5\t-\t3\t15\t0.3\t3.75\t6\nqwen3-coder\t-\t1\t5\t0.1\t-\t-\n\
                 claude-opus-4-6\t-\t5\t25\t0.5\t6.25\t10\ngpt-4o\t-\t2.5\t10\t1.25\t-\t-\n";
    scratch.write("prices.tsv", table);
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents");
    for (number, (agent, path, cost)) in [
        // 2,500 new and 4,500 cached of 7,000; 250 out.
        (
            "codex",
            "codex/sessions/2026/06/16/rollout-2026-06-16T11-48-29-019ed11e-aeff-7173-9228-5b048d95c933.jsonl",
            "0.0061875",
        ),
        // Twice 300 new and 800 cached of 1,100; 70 and 30 thoughts out. The second record of the first answer is a copy.
        ("gemini", "gemini/tmp/harbour/chats/session-2026-08-10T09-15-b4c1f6d2.jsonl", "0.00392"),
        // 800 new, 600 cached, 50 out.
        ("pi", "pi/a-branch-left.jsonl", "0.00333"),
        // Three times 60 new and 40 cached of 100, 20 out; and 140 new, 10 out.
        ("qwen", "qwen/34ee1580-9287-481d-8c27-9bd6ef5239ff.jsonl", "0.000682"),
        // 150 new and 750 cached of 900; 400 out.
        ("copilot", "copilot/session-state/301561f1-558a-43e9-a144-82d3ca12ab62/events.jsonl", "0.006675"),
        // Twice 3 new, 11,000 cached, 1,500 written; 120 and 40 out.
        ("amp", "amp/threads/T-019ca1ce-3ae2-7686-a41e-ccc078837f8a.json", "0.03378"),
        // 800 new, 600 cached, 90 written; 50 and 10 thoughts out. The end of the step says it again.
        ("opencode", "opencode/export-v1.json", "0.0038175"),
        // 900 new, 30 out; the requests before it tell nothing.
        ("vscode", "vscode/whole.json", "0.00255"),
        // Twice 900 new, 30 out.
        ("vscode", "vscode/patched-from-whole.jsonl", "0.0051"),
    ]
    .into_iter()
    .enumerate()
    {
        scratch.git(["commit", "-q", "--allow-empty", "-m", path]).ok();
        let (named, transcript) = (format!("--agent={agent}"), format!("--transcript={}", data.join(path).display()));
        scratch.shiftlog("add", ["-q", &named, &transcript, &format!("--session=s-{number}")]).ok();
        let total = total(&scratch, &["--prices=prices.tsv", "HEAD^!"]);
        assert_eq!((&total["cost"], &total["unpriced"]), (&json!(cost), &json!([])), "{agent}: {total}");
        // Nobody told for how long the cache keeps what was written.
        assert_eq!(total["atLeast"], ["amp", "opencode"].contains(&agent), "{agent}: {total}");
    }
}

#[test]
fn a_cost_that_an_agent_tells_stands_beside_ours_and_is_not_mixed_in() {
    let scratch = Scratch::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/agents");
    let add = |agent: &str, transcript: &Path| {
        let (agent, transcript) = (format!("--agent={agent}"), format!("--transcript={}", transcript.display()));
        scratch.git(["commit", "-q", "--allow-empty", "-m", &agent]).ok();
        scratch.shiftlog("add", ["-q", &agent, &transcript, "--session=told"]).ok();
    };
    add("opencode", &data.join("opencode/export-v1.json"));
    let told = total(&scratch, &["HEAD^!", "--words"]);
    assert_eq!((&told["told"], &told["cost"]), (&json!("0.01"), &json!("0.0038175")), "{told}");
    assert!(total(&scratch, &["HEAD^!"])["told"].is_null(), "a record does not have it");
    assert!(total(&scratch, &["HEAD^!", "--words", "--no-cost"])["told"].is_null());

    let pi = fs::read_to_string(data.join("pi/a-branch-left.jsonl")).unwrap();
    let (before, after) = pi.split_once("\"usage\":{").expect("an answer has usage");
    let file = scratch.root().join("pi.jsonl");
    fs::write(&file, format!("{before}\"usage\":{{\"cost\":{{\"input\":0.1,\"total\":0.1234}},{after}")).unwrap();
    add("pi", &file);
    let told = total(&scratch, &["HEAD^!", "--words"]);
    assert_eq!(told["told"], "0.1234", "{told}");
    assert_eq!(total(&scratch, &["HEAD~2..", "--words"])["told"], "0.1334");
    let groups = scratch.shiftlog("stats", ["--json", "--by=path", "--words", "HEAD~2.."]).ok();
    assert!(groups.lines().last().unwrap().contains("\"told\":\"0.1334\""), "{groups}");
}
