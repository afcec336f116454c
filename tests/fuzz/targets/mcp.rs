//! Lines of the MCP: whatever a client sends, every line that comes back is one message, and each question has one answer.
#![no_main]

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use shiftlog::mcp::{Server, Toolset};

/// What the server has written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread writes").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

const OPENING: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"opening","method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n"
);

fuzz_target!(|data: &[u8]| {
    // Half of them open the conversation properly, and get further.
    let (opening, lines) = match data.split_first() {
        Some((choice, lines)) if choice % 2 == 0 => (OPENING, lines.to_vec()),
        _ => ("", data.to_vec()),
    };
    let asked = lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
    let input = [opening.as_bytes(), &lines].concat();
    let written = Written::default();
    let output = written.clone();
    // Nowhere: what is tried is the wire. The tools' own reading is what the other targets try.
    let server = Server {
        directory: Some("/nonexistent".into()),
        name: None,
        toolset: Toolset::Only { conversations: true, index: true, logs: false, rules: false },
        index_directory: None,
    };
    let _ = server.serve_on(move || Cursor::new(input), move || output);
    let bytes = written.0.lock().expect("nobody writes any more").clone();
    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(line.iter().all(|byte| *byte >= b' '), "no control characters: {}", String::from_utf8_lossy(line));
        let message: Value = serde_json::from_slice(line).expect("a line is one message");
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(message.get("result").is_some() != message.get("error").is_some(), "{message}");
        *answers.entry(message["id"].to_string()).or_default() += 1;
    }
    let answered: usize = answers.values().sum();
    assert!(answered <= asked + 1, "{answered} answers to {asked} lines");
});
