//! What `git shiftlog index` promises: four files that only the user has made, checked, and read.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Ran, Scratch};

fn index(scratch: &Scratch, args: &[&str]) -> Ran {
    scratch.shiftlog("index", args)
}

fn file(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.top.join(".memo/index").join(name)).unwrap()
}

#[test]
fn init_makes_what_is_absent_and_changes_nothing_else() {
    let scratch = Scratch::new();
    let planned = index(&scratch, &["init", "-n"]).ok();
    assert!(planned.starts_with("would write .memo/index/arch.json\n") && planned.lines().count() == 5, "{planned}");
    assert!(!scratch.top.join(".memo").exists(), "a plan writes nothing");
    scratch.write(".memo/index/stories.json", "{ mine");
    scratch.write(".memo/.gitignore", "mine\n/.history");
    let told = index(&scratch, &["init"]).ok();
    let names = ["index/arch.json", "index/interface.json", "index/issues.json", ".gitignore"];
    assert_eq!(told, names.map(|name| format!("wrote .memo/{name}\n")).concat());
    assert_eq!(file(&scratch, "arch.json"), "{\"modules\": [], \"relationships\": \"\"}\n");
    assert_eq!(file(&scratch, "interface.json"), "{\"external\": [], \"internal\": []}\n");
    assert_eq!(file(&scratch, "issues.json"), "{\"issues\": []}\n");
    assert_eq!(file(&scratch, "stories.json"), "{ mine", "what is there stays as it is");
    let ignored = fs::read_to_string(scratch.top.join(".memo/.gitignore")).unwrap();
    assert_eq!(ignored, "mine\n/.history\nwatcher.lock\nstatus.json\n");
    assert_eq!(index(&scratch, &["init"]).ok(), "nothing to do\n");
    fs::remove_file(scratch.top.join(".memo/index/stories.json")).unwrap();
    assert_eq!(index(&scratch, &["init", "-q"]).ok(), "");
    assert_eq!(file(&scratch, "stories.json"), "{\"stories\": []}\n");
    assert_eq!(index(&scratch, &["validate"]).ok(), "", "what it makes is valid");
    let below = scratch.top.join("sub");
    fs::create_dir(&below).unwrap();
    assert_eq!(
        scratch.shiftlog_in(&below, "index", ["init"]).ok(),
        "nothing to do\n",
        "the project is the working tree"
    );
    assert!(index(&scratch, &["init", "--path=sub"]).ok().starts_with("wrote .memo/index/arch.json\n"));
    assert!(below.join(".memo/index/arch.json").is_file(), "unless another directory is named");
    let outside = scratch.root().join("outside");
    fs::create_dir(&outside).unwrap();
    // What has no repository can have an index.
    Ran::of(scratch.command("git-shiftlog-index", &outside).arg("init").output().unwrap()).ok();
    assert!(outside.join(".memo/index/issues.json").is_file());
}

#[test]
fn validate_lists_every_error_with_its_file_and_place() {
    let scratch = Scratch::new();
    let none = index(&scratch, &["validate"]);
    let told = "error: Index not found: .memo/index; 'git shiftlog index init' makes one\n";
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (1, "", told));
    index(&scratch, &["init", "-q"]).ok();
    scratch.write(".memo/index/arch.json", r#"{"modules": [{"name": 1, "interfaces": ""}], "relationships": ""}"#);
    scratch.write(".memo/index/stories.json", "{\"stories\": [");
    fs::remove_file(scratch.top.join(".memo/index/issues.json")).unwrap();
    let ran = index(&scratch, &["validate"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((ran.code, lines.len(), ran.stderr.as_str()), (1, 4, ""), "{ran:?}");
    assert_eq!(lines[0], "arch.json: [modules][0]: key 'description' is missing");
    assert_eq!(lines[1], "arch.json: [modules][0][name]: expected string, got number");
    assert!(lines[2].starts_with("stories.json: cannot be read as JSON: "), "{ran:?}");
    assert_eq!(lines[3], "issues.json: the file is missing");
    // What is valid is what can be read, and the other way round.
    for (more, is_valid) in [("1e999", true), ("\"\\ud800\"", false)] {
        scratch.write(".memo/index/issues.json", &format!("{{\"issues\": [], \"x\": {more}}}"));
        let told = index(&scratch, &["validate"]).stdout;
        assert_eq!(told.contains("issues.json: "), !is_valid, "{more}: {told}");
        assert_eq!(index(&scratch, &["get", "[issues]"]).code, i32::from(!is_valid), "{more}");
        let code = index(&scratch, &["issues"]).code;
        assert_eq!(code, if is_valid { 0 } else { 128 }, "{more}");
    }
    fs::remove_file(scratch.top.join(".memo/index/issues.json")).unwrap();
    let quiet = index(&scratch, &["validate", "-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (1, ""));
    let status = index(&scratch, &["status"]).ok();
    assert!(status.starts_with("arch.json       2 errors; see 'git shiftlog index validate'\n"), "{status}");
    assert!(status.contains("\ninterface.json  0 external, 0 internal\n"), "{status}");
    let object: Value = serde_json::from_str(&index(&scratch, &["status", "--json"]).ok()).unwrap();
    assert_eq!(object["files"]["interface"], json!({ "valid": true, "counts": { "external": 0, "internal": 0 } }));
    assert_eq!(object["files"]["stories"]["valid"], false);
}

#[test]
fn locations_of_issues_are_looked_for_in_the_tree_and_printed_as_compilers_do() {
    let scratch = Scratch::new();
    index(&scratch, &["init", "-q"]).ok();
    scratch.write("src/net.rs", &format!("{}fn retry() {{}}\n", "\n".repeat(9)));
    symlink("/etc/passwd", scratch.top.join("src/link")).unwrap();
    let at = |file: &str, keyword: &str, line: u64| json!({ "file": file, "keyword": keyword, "line": line });
    let issue = |title: &str, tags: &[&str], locations: Value| json!({ "title": title, "tags": tags, "description": "", "locations": locations });
    let write = |issues: &[Value]| scratch.write(".memo/index/issues.json", &json!({ "issues": issues }).to_string());
    write(&[
        issue("retries for ever", &["bug", "net"], json!([at("src/net.rs", "retry", 10)])),
        issue("no docs", &[], json!([])),
    ]);
    assert_eq!(index(&scratch, &["validate", "--locations"]).ok(), "");
    let printed = "src/net.rs:10: retries for ever [bug, net]\n.memo/index/issues.json:1: no docs\n";
    assert_eq!(index(&scratch, &["issues"]).ok(), printed);
    let below = scratch.shiftlog_in(&scratch.top.join("src"), "index", ["issues"]).ok();
    assert!(below.starts_with("net.rs:10: "), "as seen from the current directory: {below}");
    scratch.write("src/net.rs", &format!("{}fn retry() {{}}\n", "\n".repeat(4)));
    let moved = index(&scratch, &["validate", "--locations"]);
    let told = "warning: issues.json: [issues][0][locations][0]: 'retry' is on line 5 of 'src/net.rs', not 10\n";
    assert_eq!((moved.code, moved.stdout.as_str(), moved.stderr.as_str()), (0, "", told));
    assert!(index(&scratch, &["issues"]).ok().starts_with("src/net.rs:5: "), "the line where the keyword is now");
    let lost = [
        at("src/net.rs", "back off", 5),
        at("../x", "k", 1),
        at("/etc/passwd", "root", 1),
        at("src/link", "root", 1),
        at("src", "k", 1),
    ];
    write(&[issue("a", &[], json!(lost))]);
    let ran = index(&scratch, &["validate", "--locations"]);
    let expected = [
        "[0]: 'back off' at src/net.rs:5: the keyword is neither on that line nor near it",
        "[1]: 'k' at ../x:1: the file is not named from the top of the project",
        "[2]: 'root' at /etc/passwd:1: the file is not named from the top of the project",
        "[3]: 'root' at src/link:1: the file leads out of the project",
        "[4]: 'k' at src:1: it is no file",
    ]
    .map(|reason| format!("issues.json: [issues][0][locations]{reason}\n"));
    assert_eq!((ran.code, ran.stdout), (1, expected.concat()));
    assert_eq!(index(&scratch, &["validate"]).code, 0, "without the option nobody looks");
    scratch.write(".memo/index/issues.json", "{\"issues\": [1]}");
    let broken = index(&scratch, &["issues"]);
    assert_eq!(broken.code, 128, "{broken:?}");
    assert!(broken.stderr.contains("issues.json: [issues][0]: expected object, got number"), "{broken:?}");
}

#[test]
fn values_are_read_from_the_working_tree_and_from_commits() {
    let scratch = Scratch::new();
    scratch.git(["commit", "-q", "--allow-empty", "-m", "before"]).ok();
    index(&scratch, &["init", "-q"]).ok();
    let module =
        |name: &str| json!({ "modules": [{ "name": name, "description": "", "interfaces": "" }], "relationships": "" });
    scratch.commit(".memo/index/arch.json", &module("old").to_string(), "index");
    scratch.write(".memo/index/arch.json", &module("new\u{202e}").to_string());
    assert_eq!(index(&scratch, &["get", "[arch][modules][0][name]"]).ok(), "\"new\\u202e\"\n");
    assert_eq!(index(&scratch, &["get", "[arch][modules][0][name]", "HEAD"]).ok(), "\"old\"\n");
    assert_eq!(index(&scratch, &["keys", "[arch][modules][0]", "HEAD"]).ok(), "name\ndescription\ninterfaces\n");
    assert_eq!(index(&scratch, &["keys", "[arch][modules]"]).ok(), "0\n");
    let none = index(&scratch, &["get", "[arch]", "HEAD~1"]);
    assert_eq!((none.code, none.stderr.as_str()), (1, "error: HEAD~1 has no index file arch.json\n"));
    let bad = index(&scratch, &["get", "[arch]", "nosuch"]);
    assert_eq!((bad.code, bad.stderr.as_str()), (128, "fatal: bad revision 'nosuch'\n"));
    let nowhere = index(&scratch, &["get", "[arch][nope]"]);
    assert_eq!((nowhere.code, nowhere.stderr.as_str()), (1, "error: segment 0: key 'nope' not found\n"));
    for (args, message) in [
        (&["get", "arch"][..], "error: 'arch' is not a path of the index: unexpected character 'a' at position 0\n"),
        (&["get", "[commit][HEAD]"], "error: '[commit][HEAD]' is not a path of the index: invalid file: commit "),
        (&["get"], "error: <path> is missing\n"),
        (&[], "error: an action is missing\n"),
        (&["make"], "error: unknown action 'make'\n"),
        (&["init", "x"], "error: unexpected argument 'x'\n"),
        (&["init", "--locations"], "error: option '--locations' is not for 'init'\n"),
    ] {
        let ran = index(&scratch, args);
        assert!(ran.code == 129 && ran.stderr.starts_with(message), "{args:?}: {ran:?}");
    }
    scratch.write("sub/.memo/index/arch.json", &module("below").to_string());
    scratch.git(["add", "sub"]).ok();
    scratch.git(["commit", "-q", "-m", "sub"]).ok();
    let below = index(&scratch, &["get", "--path=sub", "[arch][modules][0][name]", "HEAD"]).ok();
    assert_eq!(below, "\"below\"\n", "a project below the top has its own index in a commit too");
}

#[test]
fn no_action_goes_through_a_link() {
    let scratch = Scratch::new();
    let elsewhere = scratch.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join("index")).unwrap();
    symlink(&elsewhere, scratch.top.join(".memo")).unwrap();
    let ran = index(&scratch, &["init"]);
    let told = "fatal: .memo is a symbolic link, which is not followed\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (128, told));
    assert_eq!(fs::read_dir(elsewhere.join("index")).unwrap().count(), 0, "nothing is written elsewhere");
    assert_eq!(index(&scratch, &["validate"]).code, 1);
    fs::remove_file(scratch.top.join(".memo")).unwrap();
    scratch.write("target.json", "{\"stories\": []}");
    scratch.write("ignore", "mine\n");
    fs::create_dir_all(scratch.top.join(".memo/index")).unwrap();
    symlink(scratch.top.join("target.json"), scratch.top.join(".memo/index/stories.json")).unwrap();
    symlink(scratch.top.join("nosuch"), scratch.top.join(".memo/index/arch.json")).unwrap();
    index(&scratch, &["init"]).ok();
    assert!(!scratch.top.join("nosuch").exists(), "a link to nowhere is there");
    let ran = index(&scratch, &["validate"]);
    let told = "arch.json: the file is a symbolic link\nstories.json: the file is a symbolic link\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (1, told));
    fs::remove_file(scratch.top.join(".memo/.gitignore")).unwrap();
    // Whoever opened a named pipe would wait for ever.
    scratch.run_in(&scratch.top, "mkfifo", [".memo/.gitignore"]).ok();
    for args in [&["init"][..], &["init", "-n"]] {
        let ran = index(&scratch, args);
        let told = "fatal: '";
        assert!(ran.code == 128 && ran.stderr.starts_with(told), "{ran:?}");
        assert!(ran.stderr.ends_with(".memo/.gitignore' is not a regular file\n"), "{ran:?}");
    }
    fs::remove_file(scratch.top.join(".memo/.gitignore")).unwrap();
    symlink(scratch.top.join("ignore"), scratch.top.join(".memo/.gitignore")).unwrap();
    assert_eq!(index(&scratch, &["init"]).code, 128);
    assert_eq!(fs::read_to_string(scratch.top.join("ignore")).unwrap(), "mine\n");
}
