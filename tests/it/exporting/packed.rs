//! The answers of tools stand packed on large pages, and on all if that is asked for.

use std::io::Read as _;

use base64::Engine as _;
use serde_json::json;

use super::super::support::Scratch;
use super::{assert_whole, values};

/// Returns the texts that a page has packed.
fn packed(html: &str) -> Vec<String> {
    let Some((_, rest)) = html.split_once("<script type=\"application/gzip\" id=\"packed\">") else {
        return Vec::new();
    };
    let (text, _) = rest.split_once("</script>").expect("it ends");
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let mut json = String::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

/// Returns the texts of the answers that stand on a page.
fn answers(html: &str) -> Vec<String> {
    let parts = html.split("<pre class=\"result\" tabindex=\"0\"").skip(1);
    let text = |part: &str| part.split_once('>').unwrap().1.split_once("</pre>").unwrap().0.to_owned();
    let unescaped =
        |text: String| text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    parts.map(text).map(unescaped).collect()
}

#[test]
fn packed_answers_are_those_of_the_page_without_packing() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("look around");
    let secret = format!("sk-ant-api03-{}-{}AA", "Zk3".repeat(31), "");
    for (id, lines) in [("a", 3), ("b", 30), ("c", 90)] {
        session.calls(id, "Bash", &json!({ "command": format!("look {id}") }));
        let text: Vec<String> = (0..lines).map(|n| format!("</script> \"{id}\" & line {n} \u{2028} <b>")).collect();
        session.answers(id, &text.join("\n"));
    }
    session.calls("d", "Read", &json!({ "file_path": "notes" }));
    session.answers("d", &format!("{}ANTHROPIC_API_KEY={secret}\n", "plain words\n".repeat(70)));
    session.edits("one.rs", "fn one() {}\n");
    session.commits("one");
    let export = |embed: &str| scratch.shiftlog("export", ["--html", "--full", embed]).ok();
    let (plain, page) = (export("--embed=never"), export("--embed=always"));
    assert_whole(&page);
    assert_eq!(page, export("--embed=always"), "the same conversation is the same page");
    assert_eq!(plain, export("--embed=auto"), "the page is small");
    assert_eq!(packed(&plain), [""; 0]);
    let texts = packed(&page);
    let places = values(&page, "data-packed");
    assert_eq!(places, (0..texts.len()).map(|at| at.to_string()).collect::<Vec<_>>());
    let all = answers(&plain);
    assert!(texts.len() >= 5 && all.iter().any(|text| text.len() < 256), "{all:?}");
    let mut filled = answers(&page);
    for (shown, text) in filled.iter_mut().filter(|text| text.ends_with(" lines, which JavaScript unpacks")).zip(&texts)
    {
        assert!(shown.starts_with(&text.lines().count().to_string()), "{shown}");
        shown.clone_from(text);
    }
    assert_eq!(filled, all);
    assert!(!texts.concat().contains(&secret) && texts.concat().contains("ANTHROPIC_API_KEY="), "{texts:?}");
    assert_eq!(scratch.shiftlog("export", ["--markdown", "--embed=always"]).code, 129);
}

#[test]
fn only_a_page_above_eight_mebibytes_is_packed_by_itself() {
    let scratch = Scratch::set_up();
    let session = scratch.session("alpha");
    session.prompt("print much");
    for id in 0..9 {
        session.calls(&format!("c{id}"), "Bash", &json!({ "command": format!("print {id}") }));
        let text: Vec<String> = (0..40_000).map(|n| format!("part {id} has line {n}: {}", n * 7919 % 10_007)).collect();
        session.answers(&format!("c{id}"), &text.join("\n"));
    }
    session.edits("one.rs", "fn one() {}\n");
    session.commits("one");
    let file = scratch.root().join("page.html");
    let to_file = scratch.shiftlog("export", ["--html", "-o", file.to_str().unwrap()]);
    assert_eq!((to_file.code, to_file.stderr.as_str()), (0, ""));
    let large = std::fs::read_to_string(&file).unwrap();
    assert!(large.len() < 4 << 20 && large.contains("print much"), "{}", large.len());
    assert_eq!(packed(&large).concat().matches("line 39999: ").count(), 9);
    assert!(!large.contains("line 39999: "));
    let plain = scratch.shiftlog("export", ["--html", "--embed=never"]).ok();
    assert!(plain.len() > 8 << 20 && plain.matches("line 39999: ").count() == 9, "{}", plain.len());
    let focused = scratch.shiftlog("export", ["--html", "--view=focused"]).ok();
    assert_eq!(packed(&focused), [""; 0]);
}

#[test]
fn a_page_that_is_written_anew_because_it_is_large_has_all_that_was_read() {
    let scratch = Scratch::set_up();
    let session = scratch.session("beta");
    session.prompt("words of beta");
    session.edits("one.rs", "fn one() {}\n");
    let id = session.commits("one");
    let text = (0..400).map(|n| format!("line {n} of much output that is repeated")).collect::<Vec<_>>().join("\n");
    let line = |kind: &str, content: serde_json::Value| {
        json!({ "type": kind, "message": { "role": kind, "content": content } }).to_string()
    };
    let mut long = line("user", json!("words of alpha")) + "\n";
    while long.len() < 36 << 20 {
        long += &(line("assistant", json!([{ "type": "text", "text": text }])) + "\n");
    }
    let file = scratch.root().join("alpha.jsonl");
    std::fs::write(&file, long).unwrap();
    scratch.shiftlog("add", ["-q", "--session=alpha", &format!("--transcript={}", file.display()), &id]).ok();
    // The limit counts what is read before a session.
    let last = scratch.root().join("gamma.jsonl");
    std::fs::write(&last, line("user", json!("words of gamma")) + "\n").unwrap();
    scratch.shiftlog("add", ["-q", "--session=gamma", &format!("--transcript={}", last.display()), &id]).ok();
    let page = |embed: &str| scratch.shiftlog("export", ["--html", embed]).stdout;
    let (auto, never) = (page("--embed=auto"), page("--embed=never"));
    assert!(never.len() > 8 << 20, "{}", never.len());
    for page in [auto, never] {
        for name in ["alpha", "beta", "gamma"] {
            assert!(page.contains(&format!("words of {name}")), "{name}");
        }
        assert!(!page.contains("left out"));
    }
}
