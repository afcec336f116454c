//! Records with more in them than real work makes.

use serde_json::{Value, json};

use super::objects;
use crate::support::Scratch;

/// Attaches a record with so many models and files to HEAD; each model has used one token.
fn note(scratch: &Scratch, models: usize, files: usize) {
    let tokens = |input: usize| json!({ "input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
    let usage: Vec<Value> =
        (0..models).map(|number| json!({ "model": format!("m{number}"), "tokens": tokens(1) })).collect();
    let edits: Vec<Value> = (0..files)
        .map(|number| json!({ "path": format!("f{number:03}"), "calls": 1, "added": number + 1, "removed": 0 }))
        .collect();
    let record = json!({ "shiftlog": 1, "agent": "claude", "session": "s", "turns": 1, "messages": 2,
        "time": "2026-01-02T03:04:05Z", "tokens": tokens(models), "usage": usage, "edits": edits,
        "through": "5".repeat(40) });
    assert!(record.to_string().len() < 60 << 10, "it is read");
    let blob = scratch.run_with_input("git", ["hash-object", "-w", "--stdin"], format!("{record}\n").as_bytes()).ok();
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-C", blob.trim()]).ok();
}

#[test]
fn a_record_of_very_many_models_and_files_is_counted_in_bounds() {
    let scratch = Scratch::new();
    note(&scratch, 400, 500);
    let groups = objects(&scratch, &["--by=path,model"]);
    let (total, groups) = groups.split_last().unwrap();
    assert!(groups.len() <= 16 * 256, "{}", groups.len());
    assert_eq!(total["tokens"]["input"], 400, "no token is lost");
    let models = objects(&scratch, &["--by=model"]);
    let named: Vec<_> = models.iter().filter_map(|group| group["by"]["model"].as_str()).collect();
    assert_eq!((named.len(), named[0]), (16, "unknown"), "{named:?}");
    let files = objects(&scratch, &["--by=path"]);
    assert_eq!(files.len(), 256 + 1);
    assert!(files.iter().any(|group| group["by"]["path"] == "f499"), "those with the most lines stay");
}

#[test]
fn a_record_of_some_models_and_files_is_counted_whole() {
    let scratch = Scratch::new();
    note(&scratch, 16, 200);
    assert_eq!(objects(&scratch, &["--by=model"]).len(), 17);
    assert_eq!(objects(&scratch, &["--by=path"]).len(), 201);
}
