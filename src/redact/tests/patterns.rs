//! Patterns of the user's.

use super::*;

#[test]
fn a_pattern_of_the_users_is_found_however_its_letters_are_written() {
    let settings = Settings { patterns: vec![("own".into(), "Müller|日本|😀".into())], ..Settings::default() };
    let redactor = Redactor::new(&settings).expect("these are patterns");
    for written in [
        "Müller",
        r"M\u00fcller",
        r"M\u00FCller",
        r"\u65e5\u672c",
        r"\ud83d\ude00",
        r#"{\"name\": \"M\\u00fcller\"}"#,
        r#"{\"name\": \"\\ud83d\\ude00\"}"#,
        "M%C3%BCller",
        "M&#252;ller",
        "&#x65E5;&#x672c;",
        "&#128512;",
        "&#x1F600;",
    ] {
        let line = format!("{{\"text\":\"to {written} and\"}}\n");
        let clean = redactor.redact(line.as_bytes()).0.to_vec();
        assert!(clean.contains_str("[REDACTED:own]"), "{}", clean.as_bstr());
        assert!(clean.contains_str("to ") && clean.contains_str(" and"), "{}", clean.as_bstr());
        assert!(serde_json::from_slice::<serde_json::Value>(&clean).is_ok(), "{}", clean.as_bstr());
    }
}

#[test]
fn a_pattern_with_anchors_matches_each_line_of_a_message_and_no_part_of_one() {
    let with = |pattern: &str, line: &str| {
        let settings = Settings { patterns: vec![("x".into(), pattern.into())], ..Settings::default() };
        let redactor = Redactor::new(&settings).expect("a pattern");
        String::from_utf8(redactor.redact(line.as_bytes()).0.into_owned()).expect("text")
    };
    for (pattern, line, clean) in [
        ("^one line$", r#"{"text":"one line"}"#, r#"{"text":"[REDACTED:x]"}"#),
        ("^first", r#"{"text":"first\nfirst of all"}"#, r#"{"text":"[REDACTED:x]\n[REDACTED:x] of all"}"#),
        ("last$", r#"{"text":"at last\nthe last"}"#, r#"{"text":"at [REDACTED:x]\nthe [REDACTED:x]"}"#),
        ("^inner$", r#"{"text":"{\"text\":\"inner\"}"}"#, r#"{"text":"{\"text\":\"[REDACTED:x]\"}"}"#),
        ("^z\u{fc}$", r#"["z\u00fc", "az\u00fc"]"#, r#"["[REDACTED:x]", "az\u00fc"]"#),
        ("^plain$", "plain\nplain text\n", "[REDACTED:x]\nplain text\n"),
    ] {
        assert_eq!(with(pattern, line), clean, "{pattern}");
    }
}
