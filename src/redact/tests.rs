//! What redaction must do, whatever the rules are.

mod commands;
mod manifests;
mod pairs;
mod patterns;

use proptest::prelude::*;

use super::lines::is_json;
use super::*;
use crate::error::Kind;

/// Hostile texts that a rule could read again and again.
fn shapes() -> Vec<String> {
    let lines = include_str!("../../tests/data/shapes.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| serde_json::from_str(line).expect("a string")).collect()
}

#[test]
fn secrets_on_lines_of_their_own_are_removed_each() {
    let lines = [
        "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "glpat-x7Qz_9Lm2Rt5Vw8Ky3Np",
        "ghp_b1Z2c3D4e5Q6g7H8i9J0k1L2m3N4o5P6q7R8",
        "ghp_c1Z2c3D4e5Q6g7H8i9J0k1L2m3N4o5P6q7R8",
        "the end",
    ];
    let redactor = redactor();
    for text in [lines.join("\n") + "\n", serde_json::json!({ "text": lines.join("\n") }).to_string() + "\n"] {
        let clean = redactor.redact(text.as_bytes()).0.to_vec();
        assert_eq!(clean.find_iter("[REDACTED:").count(), 4, "{}", clean.as_bstr());
        assert!(clean.contains_str("the end"), "{}", clean.as_bstr());
    }
}

#[test]
fn what_is_repeated_costs_the_same_for_each_byte_however_long_it_is() {
    // Text is examined in pieces of a megabyte; within one, a rule could read the same bytes many times.
    let redactor = redactor();
    let mut slow = Vec::new();
    for shape in shapes() {
        for is_json in [false, true] {
            let text = |bytes: usize| {
                let text = shape.repeat(bytes / shape.len());
                if is_json { format!("{}\n", serde_json::json!({ "text": text })) } else { text }
            };
            let (short, long) = (text(8 << 10), text(128 << 10));
            let (few, many) = (redactor.work(short.as_bytes()), redactor.work(long.as_bytes()));
            let (few, many) = (few as f64 / short.len() as f64, many as f64 / long.len() as f64);
            if many > few * 1.5 + 1.0 || many > 24.0 {
                slow.push(format!("{shape:?}: {many:.1} bytes a byte, of a shorter text {few:.1}"));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn what_is_late_is_not_redacted_at_all() {
    let redactor = redactor();
    let text = format!("{}\n", serde_json::json!({ "text": "password=\"x".repeat(100_000) }));
    let error = redactor.redact_until(text.as_bytes(), Instant::now()).expect_err("there is no time");
    assert_eq!((error.kind(), error.to_string().as_str()), (Kind::Busy, "looking for secrets takes too long"));
    let later = Instant::now() + std::time::Duration::from_secs(3600);
    let in_time = redactor.redact_until(text.as_bytes(), later).expect("there is time");
    assert_eq!(in_time, redactor.redact(text.as_bytes()));
}

#[test]
fn a_finding_removes_its_value_and_no_more() {
    let line = |text: &str| format!("{}\n", serde_json::json!({ "toolUseResult": { "stdout": text } }));
    let kept = [
        "ANTHROPIC_API_KEY=\nOPENAI_API_KEY=\nGITHUB_TOKEN=\nDB_PASSWORD=\n# the end\n",
        "const OLD: &str = \"-----BEGIN PRIVATE KEY-----\";\nlet x = 1;\n",
        "write `<private>` around it\nand go on\n",
        "fn set(key: Local<Private>, n: usize) {}\n",
    ];
    for text in kept {
        assert_eq!(redacted(&line(text)), line(text), "{text}");
    }
    let value = expand("{a32}");
    let with = |value: &str| line(&format!("A_KEY=\nB_API_KEY={value}\nC_SECRET=\n\u{1f511} \"done\"\n"));
    assert_eq!(redacted(&with(&value)), with("[REDACTED:secret]"));
    let open = redacted(&line(&format!("a <private>{}", "word ".repeat(4000))));
    assert!(
        open.contains("a [REDACTED:private]") && open.contains("word word"),
        "an open mark does not take all: {open}"
    );
}

/// Returns the texts with some secrets in which one was not found. Plain text is examined line by line.
fn missed(cases: &[(&str, &str)]) -> Vec<String> {
    let mut missed = Vec::new();
    for (pattern, secret) in cases {
        let (text, secret) = (pattern.replace("@@", &expand(secret)), expand(secret));
        let plain = Some(text.clone()).filter(|text| !text.contains('\n'));
        for text in plain.into_iter().chain([serde_json::json!({ "content": text }).to_string()]) {
            let told = redacted(&text);
            if told.contains(&secret) || !told.contains("[REDACTED:") {
                missed.push(told);
            }
        }
    }
    missed
}

#[test]
fn passwords_are_found_in_the_forms_that_people_write_them() {
    let missed = missed(&[
        ("DB_PASSWORD=@@", "x&K{a3}(7){{[]<;>,|{a3}"),
        ("  secret_key_base: @@", "{h128}"),
        ("DB_PASSWORD=@@", "correcthorsebattery"),
        ("password: @@", "correcthorsebattery"),
        ("DB_PASSWORD=@@", "{d10}"),
        ("DB_PASSWORD=@@", "timberlantern57"),
        ("- name: DB_PASSWORD\n  value: @@\n", "timberlantern"),
        ("CREATE USER app IDENTIFIED BY \"@@\"", "timberlantern"),
        (
            "{\"apiVersion\":\"v1\",\"data\":{\"dsn\":\"@@\"},\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}",
            "{a40}",
        ),
        ("DB_PASSWORD=@@", "maple-river-lantern"),
        ("curl --password=@@ https://app", "Maple-river2-lantern"),
        ("password: @@", "kqzjvwpxmt"),
        ("password: @@", "MyTestPassword{d4}!"),
        ("- name: DB_PASSWORD\n  value: @@\n", "{a14}"),
        ("[{\"name\":\"API_KEY\",\"value\":\"@@\"}]", "{a20}"),
        ("<password>@@</password>", "{a12}"),
        ("<name>db.password</name>\n<value>@@</value>", "{a12}"),
        ("<key>apiKey</key>\n\t<string>@@</string>", "{a24}"),
        ("<add key=\"ApiKey\" value=\"@@\" />", "{a24}"),
        ("CREATE USER 'app'@'%' IDENTIFIED BY '@@';", "{a10}"),
        ("ALTER ROLE app WITH PASSWORD '@@';", "gruenes_{l6}"),
        ("requirepass @@", "{a16}"),
        ("localhost:5432:app:app:@@", "{a12}"),
        ("config.setPassword(\"@@\");", "{a12}"),
        ("HEROKU_API_KEY=@@", "{h8}-{h4}-4{h3}-a{h3}-{h12}"),
        ("SNYK_TOKEN: @@", "{h8}-{h4}-4{h3}-a{h3}-{h12}"),
        ("//npm.internal/:_authToken=@@", "{h8}-{h4}-4{h3}-a{h3}-{h12}"),
        ("CIRCLE_TOKEN=@@", "{h40}"),
        ("\"auth\": \"@@\"", "YXBwOmJsYXVlc1Bmc3Rl"),
        ("kind: Secret\nmetadata:\n  name: app\ndata:\n  dsn: @@\n", "{a40}"),
        ("AKIAQWERTYUIOPASDFGH,@@", "{b40}"),
        ("https://@@@github.com/acme/app", "{a40}"),
        ("Cookie: theme=dark; sessionid=@@", "{a32}"),
        ("curl 'https://b.s3.amazonaws.com/k?X-Amz-Signature=@@'", "{h64}"),
    ]);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn no_disguise_hides_a_token() {
    let token = expand("ghp_{a36}");
    let every = |join: &str| token.chars().map(String::from).collect::<Vec<_>>().join(join);
    let coded = |code: fn(u8) -> String| token.bytes().map(code).collect::<String>();
    let cases = [
        format!("{}\u{200b}{}", &token[..9], &token[9..]),
        format!("gh\u{feff}{}", &token[2..]),
        every("\u{200d}"),
        format!("{}\x1b[1m{}\x1b[0m", &token[..2], &token[2..]),
        format!("export GITHUB_TOKEN={}\n{}\nnext", &token[..30], &token[30..]),
        coded(|byte| format!("%{byte:02x}")),
        coded(|byte| format!("\\x{byte:02x}")),
        coded(|byte| format!("&#{byte};")),
        coded(|byte| format!("&#x{byte:x};")),
        coded(|byte| format!("\\u{byte:04x}")),
        format!("value=&quot;{token}&quot;"),
    ];
    for case in cases {
        let text = serde_json::json!({ "content": format!("before {case} after") }).to_string();
        let told = redacted(&text);
        let (head, tail) = (told.contains("before "), told.contains(" after") || told.contains("next after"));
        assert!(told.contains("[REDACTED:") && head && tail, "{case:?} gave {told:?}");
    }
    let value = expand("{a9}!{a6}");
    let quoted = format!("{{&quot;password&quot;:&quot;{value}&quot;}}");
    assert_eq!(redacted(&quoted), "{&quot;password&quot;:&quot;[REDACTED:secret]&quot;}");
}

#[test]
fn a_key_in_a_list_of_lines_goes_line_by_line() {
    let lines = expand("-----BEGIN RSA PRIVATE KEY-----|{b64}|{b64}|{b20}==|-----END RSA PRIVATE KEY-----");
    for margin in ["", "+", " "] {
        let lines: Vec<String> = lines.split('|').map(|line| format!("{margin}{line}")).collect();
        let patch = serde_json::json!({ "structuredPatch": [{ "lines": lines, "oldStart": 1 }], "n": 1 }).to_string();
        let told = redacted(&patch);
        assert!(is_json(told.as_bytes()) && told.contains("\"oldStart\":1") && told.contains("\"n\":1"), "{told}");
        let left = lines.iter().filter(|line| told.contains(line.trim_start_matches(['+', ' ']))).count();
        assert_eq!(left, 0, "{told}");
    }
    let numbered = expand("     1\tLS0tLS1CRUdJTiBSU0Eg{b56}\n     2\t{b76}\n     3\t{b30}==\n     4\tdone here\n");
    let told = redacted(&serde_json::json!({ "content": numbered }).to_string());
    assert_eq!(told, r#"{"content":"     1\t[REDACTED:private-key]\n     4\tdone here\n"}"#);
}

#[test]
fn private_passages_nest_have_attributes_and_end_with_their_text() {
    let cases = [
        ("a <private>b <private>c</private> d</private> e", "a [REDACTED:private] e"),
        ("a <private reason=\"x\">b</private> e", "a [REDACTED:private] e"),
        ("a <private>b", "a [REDACTED:private]"),
        ("a <PRIVATE>b</PRIVATE> c", "a [REDACTED:private] c"),
    ];
    for (text, expected) in cases {
        assert_eq!(redacted(text), expected);
        let line = |text: &str| serde_json::json!({ "text": text, "n": "x" }).to_string();
        assert_eq!(redacted(&line(text)), line(expected));
    }
    // A message can have its text in several blocks.
    let line = |texts: &[&str]| {
        let blocks: Vec<_> = texts.iter().map(|text| serde_json::json!({ "type": "text", "text": text })).collect();
        serde_json::json!({ "role": "user", "content": blocks, "id": "x" }).to_string()
    };
    let gone = "[REDACTED:private]";
    assert_eq!(
        redacted(&line(&["a <private>b", "c", "d</PRIVATE> e", "f"])),
        line(&["a [REDACTED:private]", gone, "[REDACTED:private] e", "f"])
    );
    assert_eq!(redacted(&line(&["a <private>b", "c"])), line(&["a [REDACTED:private]", "c"]), "it is not closed");
    let with_image = |texts: [&str; 2]| {
        let text = |text| serde_json::json!({ "type": "text", "text": text });
        let source = serde_json::json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo=" });
        let image = serde_json::json!({ "type": "image", "source": source });
        let message = serde_json::json!({ "content": [text(texts[0]), image, text(texts[1])] });
        serde_json::json!([message, { "content": [text("e</private> f")] }]).to_string()
    };
    assert_eq!(
        redacted(&with_image(["a <private>b", "c</private> d"])),
        with_image(["a [REDACTED:private]", "[REDACTED:private] d"])
    );
    let of_two = with_image(["a", "b <private>c"]);
    assert_eq!(redacted(&of_two), with_image(["a", "b [REDACTED:private]"]), "another message has no part of it");
    let list = |texts: &[&str]| serde_json::json!({ "content": texts, "id": "</private>" }).to_string();
    assert_eq!(
        redacted(&list(&["a <private>b", "c</private> d"])),
        list(&["a [REDACTED:private]", "[REDACTED:private] d"])
    );
    let html = r#"{"text":"a \u003cprivate\u003eb\u003c/private\u003e c"}"#;
    assert_eq!(redacted(html), r#"{"text":"a [REDACTED:private] c"}"#);
}

fn redactor() -> Redactor {
    Redactor::new(&Settings::default()).expect("no patterns")
}

fn redacted(text: &str) -> String {
    String::from_utf8(redactor().redact(text.as_bytes()).0.into_owned()).expect("text")
}

#[test]
fn each_rule_finds_its_example_and_not_its_look_alike() {
    let redactor = redactor();
    let mut wrong = Vec::new();
    for rule in RULES {
        assert!(rule.words.iter().all(|word| word.len() >= 3), "{}: a word is too short for the index", rule.name);
        let (example, look_alike) = (expand(rule.example), expand(rule.look_alike));
        let found = redactor.scan(example.as_bytes());
        if !found.iter().any(|(_, finding)| finding.rule == rule.name) {
            wrong.push(format!("{}: {example:?} gave {found:?}", rule.name));
        }
        let found = redactor.scan(look_alike.as_bytes());
        if !found.is_empty() {
            wrong.push(format!("{}: {look_alike:?} gave {found:?}", rule.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn escapes_hide_nothing() {
    let token = expand("ghp_{a36}");
    let value = expand("{a6}/{a20}+{a12}");
    let cases = [
        (format!(r#"{{"a":"x\n{token}\n"}}"#), r#"{"a":"x\n[REDACTED:github-token]\n"}"#),
        (format!(r#"{{"a":"{{\"b\":\"{token}\"}}"}}"#), r#"{"a":"{\"b\":\"[REDACTED:github-token]\"}"}"#),
        (format!(r#"{{"a":"\u0067hp_{}"}}"#, &token[4..]), r#"{"a":"[REDACTED:github-token]"}"#),
        (format!(r#"{{"apiKey":"{}"}}"#, value.replace('/', "\\/")), r#"{"apiKey":"[REDACTED:secret]"}"#),
        (
            format!("GET /?api_key={} HTTP/1.1", value.replace('+', "%2B").replace('/', "%2F")),
            "GET /?api_key=[REDACTED:secret] HTTP/1.1",
        ),
        (
            format!("url=postgres%3A%2F%2Fapp%3A{}%40db%2Fx", expand("{a14}")),
            "url=postgres%3A%2F%2Fapp%3A[REDACTED:connection-string]%40db%2Fx",
        ),
        (
            expand(r#"{{"key":"-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----\n"}"#),
            r#"{"key":"[REDACTED:private-key]\n"}"#,
        ),
        (
            r#"{"text":"a <private>my \"name\"</private> b","n":1}"#.to_owned(),
            r#"{"text":"a [REDACTED:private] b","n":1}"#,
        ),
        (r#"{"a":"<private>","b":"</private>"}"#.to_owned(), r#"{"a":"[REDACTED:private]","b":"</private>"}"#),
    ];
    for (text, expected) in cases {
        assert_eq!(redacted(&text), expected, "{text}");
    }
}

#[test]
fn json_within_json_hides_nothing_four_levels_deep() {
    let nested =
        |secret: &str| (0..5).fold(format!("x\n{secret}\n"), |inner, _| serde_json::json!({ "a": inner }).to_string());
    assert_eq!(redacted(&nested(&expand("ghp_{a36}"))), nested("[REDACTED:github-token]"));
}

#[test]
fn a_prefix_hides_no_json_web_token() {
    let jwt = expand("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{a24}.{_43}");
    for prefix in ["", "session-", "id_", "v1.", "jwt:", "a/"] {
        assert_eq!(redacted(&format!("x {prefix}{jwt} y")), format!("x {prefix}[REDACTED:jwt] y"));
    }
}

#[test]
fn colours_hide_nothing() {
    let token = expand("ghp_{a36}");
    let value = expand("{a40}");
    let azure = expand("{a3}8Q~{_34}");
    let jwt = expand("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{a24}.{_43}");
    let gone = "[REDACTED:github-token]";
    for (before, behind) in [
        ("\x1b[31m", "\x1b[0m"),
        ("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"),
        ("\x1b[38;2;10;200;30m", "\x1b(B\x1b[m"),
        ("\x1b]0;title\x07", "\x1b]0;\x1b\\"),
        ("\u{9b}1m", "\u{9b}m"),
        (r"\033[31m", r"\033[0m"),
    ] {
        let text = |secret: &str| format!("x {before}{secret}{behind} y");
        assert_eq!(redacted(&text(&token)), text(gone));
        let line = |secret: &str| serde_json::json!({ "content": text(secret) }).to_string();
        assert_eq!(redacted(&line(&token)), line(gone));
        let inner = |secret: &str| serde_json::json!({ "a": [line(secret)] }).to_string();
        assert_eq!(redacted(&inner(&token)), inner(gone));
        assert_eq!(redacted(&line(&azure)), line("[REDACTED:azure-client-secret]"));
        assert_eq!(redacted(&line(&jwt)), line("[REDACTED:jwt]"));
        if before.starts_with("\x1b[") {
            let setting = |secret: &str| line(&format!("API_KEY{behind}={before}{secret}"));
            assert_eq!(redacted(&setting(&value)), setting("[REDACTED:secret]"));
        }
    }
    let ascii = format!(r#"{{"content":"\u009b31m{token}\u009b0m"}}"#);
    assert_eq!(redacted(&ascii), format!(r#"{{"content":"\u009b31m{gone}\u009b0m"}}"#));
    let glued = format!("[31m{token}");
    assert_eq!(redacted(&glued), glued, "a bracket alone is none");
}

#[test]
fn a_key_in_plain_text_waits_until_its_end_is_seen_and_goes_line_by_line() {
    let key = expand(
        "before\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{b64}\n  12\u{2192}{b64}\n-----END RSA PRIVATE KEY-----\nafter\n",
    );
    let gone = "[REDACTED:private-key]\n";
    assert_eq!(redacted(&key), format!("before\n{gone}{gone}\n{gone}{gone}{gone}after\n"));
    let cut = key.find("-----END").expect("it ends");
    let redactor = redactor();
    let (text, dealt) = redactor.redact(&key.as_bytes()[..cut]);
    assert_eq!((&*text, dealt), (&b"before\n"[..], 7), "the key waits");
    let mention = "use -----BEGIN PRIVATE KEY-----\nas the first line. Then go on.\n";
    assert_eq!(redacted(mention), mention);
}

#[test]
fn a_line_of_json_is_no_part_of_a_key() {
    // One that held a certificate was taken for the key's last line, and replaced as a whole.
    let certificate = r#"{"text":"\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"}"#;
    let text = expand(&format!("LS0tLS1CRUdJTiBQUklWQVRF{{b300}}\n{}\n", certificate.replace('{', "{{")));
    assert_eq!(redacted(&text), format!("[REDACTED:private-key]\n{certificate}\n"));
}

#[test]
fn settings_add_patterns_and_allow_values() {
    let token = expand("ghp_{a36}");
    let digest = Sha256::digest(&token).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let text = format!("{token} T-4711 a.b@example.com +49 30 901820 /home/dev/x /home/developer");
    let with = |settings: Settings| {
        let redactor = Redactor::new(&settings).expect("good patterns");
        String::from_utf8(redactor.redact(text.as_bytes()).0.into_owned()).expect("text")
    };
    assert_eq!(with(Settings { is_off: true, ..Settings::default() }), text);
    assert_eq!(with(Settings { allowed_sha256: vec![digest], ..Settings::default() }), text);
    assert_eq!(with(Settings { allowed: vec!["^ghp_".into()], ..Settings::default() }), text);
    let all = Settings {
        patterns: vec![("ticket".into(), r"T-\d+".into())],
        home: Some("/home/dev".into()),
        has_email: true,
        has_phone: true,
        ..Settings::default()
    };
    assert_eq!(
        with(all),
        "[REDACTED:github-token] [REDACTED:ticket] [REDACTED:email] [REDACTED:phone] ~/x /home/developer"
    );
    let bad = Settings { patterns: vec![("x".into(), "(".into())], ..Settings::default() };
    assert!(Redactor::new(&bad).is_err(), "what was to be kept out must not get in");
}

/// Lines with secrets in many notations, and lines without.
fn lines() -> impl Strategy<Value = String> {
    let secret = prop_oneof![
        (0..RULES.len()).prop_map(|rule| expand(RULES[rule].example)),
        (0..RULES.len()).prop_map(|rule| expand(RULES[rule].look_alike)),
        "[a-z_]{0,6}(token|secret|password|key)[a-zA-Z0-9_ =:\"'\\\\-]{0,40}",
        "[ -~]{0,40}",
        any::<String>(),
    ];
    let clothes = prop_oneof![Just(0), Just(1), Just(2), Just(3), Just(4), Just(5)];
    (secret, clothes, "[ -~]{0,12}").prop_map(|(secret, clothes, around)| match clothes {
        0 => format!("{around} {}", secret.replace(['\n', '\r'], " ")),
        1 => serde_json::json!({ "type": "user", "text": format!("{around}\n{secret}\n") }).to_string(),
        2 => {
            let inner = serde_json::json!({ "command": format!("{around} {secret}") }).to_string();
            serde_json::json!([{ "input": inner, "n": 12_345_678_901_u64 }]).to_string()
        }
        3 => format!("{around}\x1b[31m{}\x1b[0m{around}", secret.replace(['\n', '\r'], " ")),
        4 => serde_json::json!({ "text": format!("{around}\x1b[1m{secret}\x1b[m{around}\x1b[K") }).to_string(),
        _ => serde_json::json!({ secret: around, "password": 12_345_678 }).to_string(),
    })
}

proptest! {
    #[test]
    fn redaction_keeps_lines_and_json_and_is_stable(lines in proptest::collection::vec(lines(), 0..8), cut in 0usize..9) {
        let redactor = redactor();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let (once, dealt) = redactor.redact(text.as_bytes());
        prop_assert_eq!(
            once.iter().filter(|byte| **byte == b'\n').count(),
            text.as_bytes()[..dealt].iter().filter(|byte| **byte == b'\n').count()
        );
        for (before, after) in text.as_bytes()[..dealt].split(|byte| *byte == b'\n').zip(once.split(|byte| *byte == b'\n')) {
            if is_json(before) {
                prop_assert!(is_json(after), "{}", String::from_utf8_lossy(after));
            }
        }
        let (twice, _) = redactor.redact(&once);
        prop_assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&once), "it is idempotent");
        // A longer transcript redacts to the same beginning, wherever it was cut.
        let head: usize = lines.iter().take(cut).map(|line| line.len() + 1).sum();
        let (first, dealt_first) = redactor.redact(&text.as_bytes()[..head]);
        let (second, dealt_second) = redactor.redact(&text.as_bytes()[dealt_first..]);
        prop_assert_eq!(dealt_first + dealt_second, dealt);
        prop_assert_eq!([&*first, &*second].concat(), once.into_owned());
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(text in proptest::collection::vec(any::<u8>(), 0..400)) {
        let redactor = redactor();
        let (redacted, dealt) = redactor.redact(&text);
        prop_assert!(dealt <= text.len() && redacted.len() <= text.len() * 30);
    }
}

#[test]
fn a_word_ends_where_readers_put_a_space() {
    let redactor = redactor();
    let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let hidden = token.replace("ghp_", "gh\u{200b}p_");
    for separator in ['\0', '\u{b}', '\r', '\u{1c}', '\u{1f}', '\u{85}', '\u{2028}'] {
        let text = format!(
            "{}\n",
            serde_json::json!({ "text": format!("A=b{separator}{hidden}{separator}KEEP=this is kept") })
        );
        let clean = String::from_utf8(redactor.redact(text.as_bytes()).0.to_vec()).expect("it was UTF-8");
        assert!(clean.contains("[REDACTED:") && !clean.contains("a1B2c3D4"), "{separator:?}: {clean}");
        assert!(clean.contains("KEEP=this is kept"), "{separator:?}: {clean}");
        let shown = crate::outside::text(&format!("a{separator}b"));
        assert_ne!(shown, "ab", "{separator:?}");
    }
    let text =
        format!("{}\n", serde_json::json!({ "text": "PATH=/bin\0PASSWORD=x1y2z3w4v5\0HOME=/a\0KEEPME=this is kept" }));
    let clean = String::from_utf8(redactor.redact(text.as_bytes()).0.to_vec()).expect("it was UTF-8");
    assert!(clean.contains("KEEPME=this is kept"), "{clean}");
    for invisible in [
        '\u{1}',
        '\u{8}',
        '\u{7f}',
        '\u{80}',
        '\u{34f}',
        '\u{61c}',
        '\u{1160}',
        '\u{180b}',
        '\u{2066}',
        '\u{fe0f}',
        '\u{fff9}',
        '\u{e0041}',
        '\u{e01ef}',
    ] {
        let inside = token.replace("a1B2", &format!("a1{invisible}B2"));
        for text in [format!("{inside}\n"), format!("{}\n", serde_json::json!({ "text": inside }))] {
            let clean = redactor.redact(text.as_bytes()).0.to_vec();
            assert!(String::from_utf8_lossy(&clean).contains("[REDACTED:"), "{invisible:?}");
        }
    }
}
