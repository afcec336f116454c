//! Redaction: JSON stays JSON, lines stay lines, doing it again changes nothing, and no cut at a line end shows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::redact::{Redactor, Settings};

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

fuzz_target!(|data: &[u8]| {
    let redactor = Redactor::new(&Settings::default()).expect("no patterns");
    let text = [data, b"\n"].concat();
    let (redacted, dealt) = redactor.redact(&text);
    let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(count(&redacted), count(&text[..dealt]), "line count");
    for (before, after) in text[..dealt].split(|b| *b == b'\n').zip(redacted.split(|b| *b == b'\n')) {
        assert!(!is_json(before) || is_json(after), "{}", String::from_utf8_lossy(after));
    }
    let (again, _) = redactor.redact(&redacted);
    assert!(again.len() <= redacted.len() && redacted.starts_with(&again), "once is enough");
    // A longer transcript redacts to the same beginning.
    let cut = text[..text.len() / 2].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (head, head_dealt) = redactor.redact(&text[..cut]);
    assert!(head_dealt <= dealt && redacted.starts_with(&head), "a prefix stays a prefix");
});
