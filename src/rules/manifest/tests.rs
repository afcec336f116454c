//! The manifest: read and written again.

use super::*;

fn names(targets: &[Target]) -> Vec<&str> {
    targets.iter().map(|target| target.name.as_str()).collect()
}

#[test]
fn a_manifest_is_written_as_it_was_read_but_for_the_day() {
    let text = "{\n  \"x-mine\": [],\n  \"version\": \"1.0\",\n  \"updated\": \"2025-01-01\",\n  \"rules\": [\n    {\n      \"id\": \"zwölf\\\"\"\n    }\n  ]\n}\n"
        .replace("zwölf\\\"", "zw").replace("\"x-mine\": []", "\"x-mine\": \"ü\"");
    let manifest = Manifest::parse(&text).unwrap();
    let now = Time { seconds: 1_767_323_047, offset: 0 };
    assert_eq!(manifest.to_text(now).unwrap(), text.replace("2025-01-01", "2026-01-02"));
}

#[test]
fn targets_are_read_leniently_and_wrong_ones_named() {
    let (instructions, rules) = Manifest::parse(
        r#"{"active_targets":{"rules":["kiro","gemini","agents-md",{"name":"cursor"},"claude","cursor"]}}"#,
    )
    .unwrap()
    .targets();
    assert_eq!(names(&instructions), ["cursor", "codex", "claude", "gemini"]);
    assert_eq!(names(&rules), ["kiro", "cursor"]);
    let (instructions, _) = Manifest::parse(
        r#"{"active_targets":{"instructions":[{"name":"claude","mode":"block"}],"rules":["agents-md"]}}"#,
    )
    .unwrap()
    .targets();
    assert_eq!(instructions, [Target { name: "claude".into(), is_block: Some(true) }]);
    let skills = |entry: &str| {
        Manifest::parse(&format!(r#"{{"active_targets":{{"skills":[{entry}]}}}}"#)).unwrap().skill_targets()
    };
    let plain = SkillTarget { name: "claude".into(), mode: SyncMode::Symlink, conflict: Conflict::Overwrite };
    assert_eq!(skills(r#""claude""#).unwrap(), [plain]);
    for (entry, message) in [
        (r#"{"sync_mode":"copy"}"#, r#"skill target missing 'name': {"sync_mode":"copy"}"#),
        (r#"{"name":"x","sync_mode":"X"}"#, "invalid sync_mode 'X' for target 'x'. Valid: symlink, copy"),
        (
            r#"{"name":"x","conflict_strategy":"X"}"#,
            "invalid conflict_strategy 'X' for target 'x'. Valid: overwrite, archive",
        ),
        ("7", "invalid skill target entry: 7"),
    ] {
        assert_eq!(skills(entry).unwrap_err().to_string(), message);
    }
}

#[test]
fn no_name_leads_out_of_the_store() {
    for (id, file) in [
        ("../../x", "x.md"),
        ("a/b", "x.md"),
        ("", "x.md"),
        (".x", "x.md"),
        ("a", "../x.md"),
        ("a", "x"),
        ("a", "/etc/x.md"),
    ] {
        let text = json!({ "rules": [{ "id": id, "file": file }] }).to_string();
        assert!(Manifest::parse(&text).is_err(), "{id} {file}");
    }
    assert!(Manifest::parse(r#"{"rules":[{"id":"a"},{"id":"a"}]}"#).is_err());
    assert!(Manifest::parse(&"[".repeat(100_000)).is_err());
    assert!(!is_id(&"a".repeat(101)) && is_id(&"a".repeat(100)));
}

#[test]
fn numbers_of_others_stay_as_they_are_written() {
    let text = r#"{"x":12345678901234567890123,"rules":[{"id":"a","y":{"n":[-0,1e400]},"cursor":{"globs":1e400}}]}"#;
    let mut manifest = Manifest::parse(text).unwrap();
    assert_eq!(manifest.rules().unwrap()[0].cursor["globs"], "1e400");
    manifest.exclude("a", "kiro");
    manifest.set("agents_md", "header", json!("H"));
    let written = manifest.to_text(Time { seconds: 1_767_323_047, offset: 0 }).unwrap();
    let plain: String = written.split_whitespace().collect();
    let expected = r#"{"x":12345678901234567890123,"rules":[{"id":"a","y":{"n":[-0,1e400]},"cursor":{"globs":1e400},"exclude":["kiro"]}],"agents_md":{"header":"H"},"updated":"2026-01-02"}"#;
    assert_eq!(plain, expected);
}

#[test]
fn an_agent_that_is_chosen_twice_is_there_once() {
    let mut manifest = Manifest::fresh();
    let names = ["claude", "gemini", "claude"].map(str::to_owned);
    for key in ["instructions", "skills"] {
        manifest.set_targets(key, &names);
        assert_eq!(manifest.at(&["active_targets", key]).as_array().unwrap().len(), 2, "{key}");
    }
}
