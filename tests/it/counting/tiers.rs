//! Models in a service tier of another price, and models that a record names nowhere.

use super::*;

#[test]
fn a_service_tier_has_prices_of_its_own() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make a");
    let mut fast = usage();
    fast["speed"] = json!("fast");
    answers(&session, "msg_1", "claude-opus-4-8", &fast);
    fast["speed"] = json!("breakneck");
    answers(&session, "msg_2", "claude-opus-4-8", &fast);
    // The usual one, by a name of the vendor's.
    let mut usual = usage();
    usual["service_tier"] = json!("default");
    answers(&session, "msg_3", "claude-opus-4-8", &usual);
    session.edits("a.txt", "words\n");
    session.commits("add a");
    let groups = objects(&scratch, &["--by=model", "--model=opus"]);
    let told: Vec<_> = groups.iter().map(|group| (&group["by"]["model"], &group["cost"], &group["atLeast"])).collect();
    assert_eq!(
        told[..3],
        [
            (&json!("claude-opus-4-8 (fast)"), &json!("0.1075"), &json!(false)),
            (&json!("claude-opus-4-8"), &json!("0.05375"), &json!(false)),
            (&json!("claude-opus-4-8 (breakneck)"), &json!("0.00"), &json!(true))
        ]
    );
    assert_eq!(groups[0]["tokens"], groups[2]["tokens"]);
}

#[test]
fn turns_of_a_model_in_two_tiers_count_alike_from_notes_and_words() {
    let scratch = Scratch::set_up();
    let session = scratch.session("s1");
    session.prompt("make a");
    session.edits("a.txt", "words\n");
    let mut fast = usage();
    fast["speed"] = json!("fast");
    answers(&session, "1", "claude-test-1", &fast);
    session.commits("add a");
    let turns = |args: &[&str]| -> Vec<(Value, Value)> {
        let groups = objects(&scratch, &[&["--by=model"], args].concat());
        groups.iter().map(|group| (group["by"]["model"].clone(), group["turns"].clone())).collect()
    };
    assert!(turns(&[]).contains(&(json!("claude-test-1"), json!(1))), "{:?}", turns(&[]));
    assert_eq!(turns(&["--words"]), turns(&[]));
}

#[test]
fn a_record_that_names_no_last_model_counts_for_one_that_it_used() {
    let scratch = Scratch::set_up();
    work(&scratch, "one");
    let mut record = scratch.record("HEAD");
    record.as_object_mut().unwrap().remove("model");
    scratch.git(["notes", "--ref=shiftlog", "add", "-f", "-m", &record.to_string(), "HEAD"]).ok();
    let groups = objects(&scratch, &["--by=model"]);
    let names: Vec<_> = groups.iter().filter_map(|group| group["by"]["model"].as_str()).collect();
    assert_eq!(names, ["claude-opus-4-8", "claude-test-1"]);
}
