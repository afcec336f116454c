//! The path language: any text is an error or a path, which is rendered to one that reads the same; and it walks any JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::path::{self, Document};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (query, json) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(segments) = path::parse(query, &["commits"]) else { return };
    let rendered = path::render(&segments);
    let again = path::parse(&rendered, &["commits"]).expect("a rendered path parses");
    assert_eq!(path::render(&again), rendered);
    if let Ok(document) = Document::new(json) {
        let found = document.walk(&segments, 0);
        let _ = found.and_then(|found| found.keys().map(drop).and(found.compact().map(drop)));
    }
});
