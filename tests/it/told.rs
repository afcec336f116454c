//! What agents were told: the instruction files in records, and reading their texts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::purging::places;
use crate::support::{Scratch, Session};

/// Returns the entries of the only record of a commit.
#[track_caller]
pub fn rules(scratch: &Scratch, revision: &str) -> Vec<Value> {
    let record = scratch.record(revision);
    record["rules"].as_array().unwrap_or_else(|| panic!("{record:#}")).clone()
}

/// Returns the paths that the only record of a commit names, with `~/` for those in the home directory.
#[track_caller]
pub fn names(scratch: &Scratch, revision: &str) -> Vec<String> {
    let name = |entry: Value| match (entry["root"].as_str().unwrap(), entry["path"].as_str().unwrap()) {
        ("home", path) => format!("~/{path}"),
        (_, path) => path.to_owned(),
    };
    rules(scratch, revision).into_iter().map(name).collect()
}

/// A session edits a file and commits everything.
#[track_caller]
pub fn works(session: &Session<'_>, words: &str) -> String {
    session.prompt(words);
    session.edits("work.txt", &format!("{words}\n"));
    session.commits(words)
}

/// Keeps a file out of the commits of a test.
pub fn exclude(scratch: &Scratch, path: &str) {
    let file = scratch.top.join(".git/info/exclude");
    let text = fs::read_to_string(&file).unwrap_or_default();
    fs::write(file, format!("{text}{path}\n")).unwrap();
}

fn segments(scratch: &Scratch) -> usize {
    scratch.git(["ls-tree", "-r", "--name-only", "refs/shiftlog/sessions"]).ok().matches("/rules~").count()
}

#[test]
fn a_commit_names_what_its_agent_had_read_and_tells_what_changed_since_the_one_before() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", "Follow @docs/style.md always.\n");
    scratch.write("docs/style.md", "Tabs.\n");
    fs::write(scratch.home().join(".claude/CLAUDE.md"), "my own words\n").unwrap();
    let session = scratch.session("s1");
    let one = works(&session, "one");
    assert_eq!(names(&scratch, &one), ["~/.claude/CLAUDE.md", "CLAUDE.md", "docs/style.md"]);
    let entries = rules(&scratch, &one);
    assert_eq!(entries[0].get("text"), None, "files in the home directory have a digest alone");
    assert_eq!((&entries[2]["bytes"], entries[2]["sha256"].as_str().unwrap().len()), (&json!(6), 64));
    assert!(places(&scratch, &scratch.top, "my own words").is_empty());

    let two = works(&session, "two");
    assert_eq!(rules(&scratch, &two), entries, "nothing has changed");
    assert_eq!(segments(&scratch), 2, "a text is stored once");

    scratch.write("docs/style.md", "Spaces.\n");
    fs::remove_file(scratch.home().join(".claude/CLAUDE.md")).unwrap();
    let three = works(&session, "three");
    let shown = scratch.shiftlog("show", [&three]).ok();
    let line = format!(
        "told: CLAUDE.md, docs/style.md; docs/style.md changed, ~/.claude/CLAUDE.md removed since {}\n",
        &two[..7]
    );
    assert!(shown.contains(&line), "{shown}");
    let shown = scratch.shiftlog("show", [&two]).ok();
    assert!(shown.contains("told: ~/.claude/CLAUDE.md, CLAUDE.md, docs/style.md\n"), "{shown}");

    let listed = scratch.shiftlog("log", ["-n2", "--format=%s %(rules)"]).ok();
    assert_eq!(listed, "three CLAUDE.md,docs/style.md\ntwo ~/.claude/CLAUDE.md,CLAUDE.md,docs/style.md\n");
    let page = |range: &str| scratch.shiftlog("export", ["--html", range]).ok();
    assert!(page(&three).contains("told: CLAUDE.md, docs/style.md</p>"), "the page of a commit says it");
    let all = page("HEAD~3..HEAD");
    assert_eq!(all.matches("told: ").count(), 2, "a page with three commits says it where it has changed: {all}");
    assert!(all.contains("docs/style.md changed, ~/.claude/CLAUDE.md removed since the commit before</p>"), "{all}");

    let log = |args: &[&str]| scratch.shiftlog("log", [&["--format=%s", "--rules-changed"], args].concat()).ok();
    assert_eq!(log(&[]), "three\n", "there is nothing before the first one");
    assert_eq!((log(&["-n0"]), log(&["main~1"])), (String::new(), String::new()));

    let diff = scratch.shiftlog("rules", ["diff", &two, &three]);
    let expected = "--- a/docs/style.md\n+++ b/docs/style.md\n@@ -1 +1 @@\n-Tabs.\n+Spaces.\n\
                    '~/.claude/CLAUDE.md' differs: only the digest is kept\n";
    assert_eq!((diff.code, diff.stdout.as_str()), (1, expected));
    assert_eq!(scratch.shiftlog("rules", ["diff", &one, &two]).ok(), "");

    let shown = scratch.shiftlog("rules", ["show"]).ok();
    let expected = "CLAUDE.md, 30 bytes, claude\n\n    Follow @docs/style.md always.\n\n\
                    docs/style.md, 8 bytes, claude\n\n    Spaces.\n\n";
    assert_eq!(shown, expected);
    let shown = scratch.shiftlog("rules", ["show", "--json", &two]).ok();
    let objects: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&objects[2]["content"], &objects[0]["problem"]),
        (&json!("Tabs.\n"), &json!("only the digest is kept"))
    );
    let object: Value = serde_json::from_str(&scratch.shiftlog("show", ["--json", &two]).ok()).unwrap();
    assert_eq!(object["rules"], json!(entries));
    assert_eq!(scratch.shiftlog("fsck", ["-q"]).ok(), "");
    scratch.assert_sound();
    // Texts are no conversations.
    assert_eq!(scratch.shiftlog("grep", ["--unrecorded", "Spaces"]).stdout, "");
}

#[test]
fn a_session_reads_what_is_above_its_directory_and_in_its_own_working_tree() {
    let scratch = Scratch::set_up();
    for path in ["CLAUDE.md", "sub/CLAUDE.md", "other/CLAUDE.md"] {
        scratch.write(path, &format!("{path}\n"));
    }
    let inside = scratch.top.join("sub");
    let session = scratch.session_in("inside", &inside);
    assert_eq!(names(&scratch, &works(&session, "inside")), ["CLAUDE.md", "sub/CLAUDE.md"]);

    let linked = scratch.root().join("linked");
    scratch.git(["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]).ok();
    fs::write(linked.join("CLAUDE.md"), "of the linked one\n").unwrap();
    fs::remove_dir_all(linked.join("sub")).unwrap();
    let session = scratch.session_in("linked", &linked);
    let commit = works(&session, "linked");
    assert_eq!(names(&scratch, &commit), ["CLAUDE.md"]);
    let shown = scratch.shiftlog_in(&linked, "rules", ["show", &commit]).ok();
    assert_eq!(shown, "CLAUDE.md, 18 bytes, claude\n\n    of the linked one\n\n");
}

#[test]
fn files_above_a_working_tree_in_the_home_directory_count_with_their_digest_alone() {
    let scratch = Scratch::set_up();
    let home = scratch.home();
    let top = home.join("ws/project");
    fs::create_dir_all(&top).unwrap();
    scratch.git(["clone", "-q", scratch.top.to_str().unwrap(), top.to_str().unwrap()]).ok();
    scratch.shiftlog_in(&top, "init", ["--agent=claude", "-q"]).ok();
    fs::write(home.join("ws/CLAUDE.md"), "for all projects\n@private.md\n").unwrap();
    fs::write(home.join("ws/private.md"), "no\n").unwrap();
    fs::write(top.join("CLAUDE.md"), "@../private.md\n").unwrap();
    let session = scratch.session_in("s1", &top);
    let commit = works(&session, "one");
    let note = scratch.git_in(&top, ["notes", "--ref=shiftlog", "show", &commit]).ok();
    let record: Value = serde_json::from_str(note.trim()).unwrap();
    let paths: Vec<_> =
        record["rules"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["ws/CLAUDE.md", "CLAUDE.md"]);
    assert_eq!((&record["rules"][0]["root"], record["rules"][0].get("text")), (&json!("home"), None));
    assert!(places(&scratch, &top, "for all projects").is_empty());
}

#[test]
fn codex_gemini_and_cursor_are_told_their_own_files() {
    let scratch = Scratch::new();
    scratch.shiftlog("init", ["--agent=codex", "--agent=gemini", "--agent=cursor", "-q"]).ok();
    for path in ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules/a.mdc"] {
        scratch.write(path, &format!("{path}\n"));
    }
    scratch.write("RULES.md", "its settings name this file\n");
    let settings = fs::read_to_string(scratch.top.join(".gemini/settings.json")).unwrap();
    let named = settings.replacen('{', "{ \"context\": { \"fileName\": [\"RULES.md\", \"../outside.md\"] },", 1);
    scratch.write(".gemini/settings.json", &named);
    fs::create_dir_all(scratch.home().join(".codex")).unwrap();
    fs::write(scratch.home().join(".codex/AGENTS.md"), "mine\n").unwrap();
    scratch.git(["add", "-A"]).ok();
    scratch.git(["commit", "-q", "-m", "rules"]).ok();
    let id = "019ed11e-aeff-7173-9228-5b048d95c933";
    let prompt = |text: &str| match text {
        "codex" => format!(
            "{}\n{}\n",
            json!({ "type": "session_meta", "payload": { "id": id, "cwd": scratch.top } }),
            json!({ "type": "event_msg", "payload": { "type": "user_message", "message": "go" } })
        ),
        "gemini" => format!(
            "{}\n{}\n",
            json!({ "sessionId": id, "startTime": "2026-01-02T03:04:20.000Z", "kind": "main" }),
            json!({ "id": "u", "type": "user", "content": [{ "text": "go" }] })
        ),
        _ => format!("{}\n", json!({ "role": "user", "message": { "content": [{ "type": "text", "text": "go" }] } })),
    };
    let cases: [(&str, &str, &[&str]); 3] = [
        ("codex", "UserPromptSubmit", &["~/.codex/AGENTS.md", "AGENTS.md"]),
        ("gemini", "BeforeAgent", &["RULES.md"]),
        ("cursor", "beforeSubmitPrompt", &[".cursor/rules/a.mdc", "AGENTS.md", "CLAUDE.md"]),
    ];
    for (agent, event, expected) in cases {
        let transcript = scratch.root().join(format!("rollout-2026-06-16T11-48-29-{id}-{agent}.jsonl"));
        fs::write(&transcript, prompt(agent)).unwrap();
        let payload = json!({ "session_id": id, "conversation_id": id, "hook_event_name": event, "cwd": scratch.top,
            "transcript_path": transcript, "prompt": "go", "workspace_roots": [scratch.top] });
        let payload = payload.to_string();
        let ran = scratch.run_with_input("git-shiftlog--hook", [agent, event], payload.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
        let commit = scratch.commit("work.txt", agent, agent);
        let record = scratch.record(&commit);
        assert_eq!(record["agent"], agent);
        assert_eq!(names(&scratch, &commit), expected, "{agent}");
        // The next one must be the only session with a prompt.
        let ran = scratch.run_with_input("git-shiftlog--hook", [agent, "SessionEnd"], payload.as_bytes());
        assert_eq!(ran.code, 0);
    }
    let changed = scratch.shiftlog("log", ["--rules-changed", "--format=%s"]).ok();
    assert_eq!(changed, "", "agents are compared with themselves");
}

#[test]
fn what_leads_out_of_the_repository_or_is_too_much_is_named_and_never_read() {
    let scratch = Scratch::set_up();
    for path in ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules", "circle.md"] {
        exclude(&scratch, path);
    }
    symlink("/etc/passwd", scratch.top.join("CLAUDE.md")).unwrap();
    scratch.run_in(&scratch.top, "mkfifo", [Path::new("CLAUDE.local.md")]).ok();
    fs::File::create(scratch.top.join(".claude/CLAUDE.md")).unwrap().set_len(100 << 20).unwrap();
    scratch.write(".claude/rules/a.md", "@../../circle.md @/etc/passwd @~/.ssh/id_rsa\n");
    scratch.write("circle.md", "@.claude/rules/a.md\n");
    let session = scratch.session("s1");
    let commit = works(&session, "one");
    let left = |entry: &Value| (entry["path"].as_str().unwrap().to_owned(), entry["left"].as_str().map(str::to_owned));
    let entries: Vec<_> = rules(&scratch, &commit).iter().map(left).collect();
    let expected = [
        ("CLAUDE.md", Some("link")),
        (".claude/CLAUDE.md", Some("size")),
        ("CLAUDE.local.md", Some("kind")),
        (".claude/rules/a.md", None),
        ("circle.md", None),
    ];
    assert_eq!(entries, expected.map(|(path, left)| (path.to_owned(), left.map(str::to_owned))));
    assert!(places(&scratch, &scratch.top, "root:x:0:0").is_empty());
    let shown = scratch.shiftlog("rules", ["show"]).ok();
    assert!(shown.starts_with("CLAUDE.md, claude\n[left out: link]\n\n"), "{shown}");
    assert!(scratch.shiftlog("show", [&commit]).ok().contains("told: CLAUDE.md (not read: link), "));
}

#[test]
fn secrets_in_instruction_files_are_stored_redacted_and_escapes_reach_no_terminal() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let scratch = Scratch::set_up();
    exclude(&scratch, "CLAUDE.local.md");
    scratch.write(
        "CLAUDE.local.md",
        &format!("token: {secret}\n\x1b]0;owned\x07visible\n-----BEGIN RSA PRIVATE KEY-----\nMIIE"),
    );
    let session = scratch.session("s1");
    works(&session, "one");
    assert!(places(&scratch, &scratch.top, secret).is_empty());
    assert!(places(&scratch, &scratch.top, "MIIE").is_empty(), "a key that is not ended is left out");
    let shown = scratch.shiftlog("rules", ["show"]).ok();
    assert!(shown.contains("visible") && !shown.contains('\x1b') && !shown.contains(secret), "{shown}");
}

#[test]
fn the_config_decides_what_is_kept() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", "ours\n");
    fs::write(scratch.home().join(".claude/CLAUDE.md"), "mine\n").unwrap();
    let session = scratch.session("s1");
    scratch.git(["config", "shiftlog.rules", "false"]).ok();
    let off = works(&session, "off");
    assert_eq!(scratch.record(&off).get("rules"), None);
    let ran = scratch.shiftlog("rules", ["show"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: no record of HEAD says what the agent was told\n"));
    scratch.git(["config", "shiftlog.rules", "all"]).ok();
    let all = works(&session, "all");
    assert!(rules(&scratch, &all).iter().all(|entry| entry["text"].is_string()));
    let shown = scratch.shiftlog("rules", ["show"]).ok();
    assert!(shown.starts_with("~/.claude/CLAUDE.md, 5 bytes, claude\n\n    mine\n\n"), "{shown}");
}

#[test]
fn a_rewritten_commit_keeps_what_its_agent_was_told() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", "one\n");
    let session = scratch.session("s1");
    let first = works(&session, "one");
    let told = rules(&scratch, &first);
    scratch.git(["commit", "-q", "--amend", "-m", "amended"]).ok();
    assert_eq!(rules(&scratch, "HEAD"), told);
    session.says("Done.");
    session.hook("Stop");
    assert_eq!(rules(&scratch, "HEAD"), told, "the end of the turn does not take it away");
    scratch.git(["switch", "-q", "-c", "topic", "main~1"]).ok();
    scratch.git(["cherry-pick", "main"]).ok();
    assert_eq!(rules(&scratch, "HEAD"), told);
}

#[test]
fn a_record_cannot_pass_other_words_off_as_instructions_and_odd_values_hide_nothing() {
    let scratch = Scratch::set_up();
    scratch.write("CLAUDE.md", "rules\n");
    let session = scratch.session("s1");
    let commit = works(&session, "say nothing of the wedding");
    let record = scratch.record(&commit);
    let with = |rules: Value| {
        let mut record = record.clone();
        record["rules"] = rules;
        scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), &commit]).ok();
    };
    // The segment of the conversation, under the name of an instruction file.
    let mut entry = record["rules"][0].clone();
    entry["text"] = record["through"].clone();
    entry["sha256"] = record["sha256"].clone();
    with(json!([entry]));
    let ran = scratch.shiftlog("rules", ["show"]);
    assert_eq!(ran.code, 1);
    assert!(!ran.stdout.contains("wedding") && ran.stdout.contains("is of another session"), "{}", ran.stdout);
    for odd in [json!("words"), json!({ "a": 1 }), json!([1, { "path": 7 }, null])] {
        with(odd.clone());
        assert!(scratch.shiftlog("show", [&commit]).ok().contains("say nothing of the wedding"));
        assert_eq!(scratch.record(&commit)["rules"], odd, "what others wrote stays");
    }
    let many: Vec<Value> = (0..500).map(|n| json!({ "root": "repo", "path": format!("{n}.md") })).collect();
    with(json!(many));
    assert!(
        scratch
            .shiftlog("show", [&commit])
            .ok()
            .contains("told: 0.md, 1.md, 2.md, 3.md, 4.md, 5.md, 6.md, 7.md and 88 more\n")
    );
}

#[test]
fn the_manual_names_every_instruction_file_that_is_looked_for() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/man/gitshiftlog-agents.7")).unwrap();
    let section = page.split(".Sh INSTRUCTION FILES").nth(1).unwrap().replace("\\:", "");
    let item = |agent: &str| {
        let items = section.split(".It Cm ").skip(1);
        let mut named = items.filter_map(|item| item.split_once('\n'));
        named.find(|(names, _)| names.split(" , ").any(|name| name == agent)).map(|(_, text)| text.to_owned())
    };
    for agent in shiftlog::agent::ALL {
        let Some(instructions) = agent.instructions() else {
            assert_eq!(item(agent.name()), None);
            continue;
        };
        let text = item(agent.name()).unwrap_or_else(|| panic!("nothing about {}", agent.name()));
        for pattern in instructions.repo.iter().flat_map(|place| place.patterns) {
            let path = pattern.split_once("/**").map_or(*pattern, |(folder, _)| folder);
            assert!(text.contains(path), "{pattern} of {}", agent.name());
        }
        assert_eq!(text.contains("Imports."), instructions.has_imports, "{}", agent.name());
        assert_eq!(text.contains("\nAbove"), agent.instructions_above().is_some(), "{}", agent.name());
        assert_eq!(text.contains("Home:"), !instructions.home.is_empty(), "{}", agent.name());
    }
}
