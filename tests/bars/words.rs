//! What agents write, made up: records with ids, words of a vocabulary, and tools' output that repeats itself.

use serde_json::{Value, json};

use super::kept;

/// Returns about `bytes` of transcript: records with ids, words of a vocabulary of which few are used often, and tools'
/// output that repeats itself. `zstd -9` makes a fifth of 100 KB of it; of real sessions it makes a fifth to an eighth.
pub fn transcript(bytes: usize, seed: &mut u64) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text += &record(seed).to_string();
        text.push('\n');
    }
    text
}

/// Returns one line of it.
pub fn record(seed: &mut u64) -> Value {
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    };
    let syllables = ["re", "con", "st", "pro", "ma", "ti", "un", "ex", "lo", "da", "in", "ter"];
    let mut words = String::new();
    for _ in 0..20 + next() % 60 {
        let rank = next() % (1 << (3 + next() % 8));
        let syllable = |place: u64| syllables[((rank * 7 + place * 5) as usize % 12) ^ ((rank >> 3) as usize % 4)];
        words += &format!("{}{}{} ", syllable(0), syllable(1), if rank > 64 { syllable(2) } else { "" });
    }
    let path = format!("src/{}/{}.rs", syllables[(next() % 12) as usize], syllables[(next() % 12) as usize]);
    let (id, line) = (next(), next() % 400);
    let message = match next() % 3 {
        0 => json!({ "id": format!("msg_{:012x}", id >> 16), "role": "assistant", "model": "claude-bench",
            "content": [{ "type": "text", "text": words }], "usage": { "input_tokens": next() % 4000, "output_tokens": line } }),
        1 => json!({ "id": format!("msg_{:012x}", id >> 16), "role": "assistant", "model": "claude-bench",
            "content": [{ "type": "tool_use", "id": format!("toolu_{:012x}", id >> 16), "name": "Read",
                "input": { "file_path": format!("/home/dev/demo-app/{path}"), "offset": line } }] }),
        _ => {
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": format!("toolu_{:012x}", id >> 16),
            "content": (0..12).map(|n| format!("{:5}\u{2192}    let {} = self.{}(&{path:?})?;\n", line + n,
                &words[..12], &words[12..24])).collect::<String>() }] })
        }
    };
    json!({ "parentUuid": format!("{id:016x}-4b8a-9d0e"), "isSidechain": false, "userType": "external",
        "cwd": "/home/dev/demo-app", "sessionId": "3f6b1c9e-52d4-4b8a-9d0e-7a1f2c3b4d5e", "version": "2.1.178", "gitBranch": "main",
        "type": message["role"], "message": message, "uuid": format!("{:016x}-4b8a-9d0e", id.rotate_left(9)),
        "timestamp": format!("2026-01-02T03:{:02}:{:02}.{:03}Z", line % 60, next() % 60, next() % 1000) })
}
/// Returns what another agent would write of a session, as long as that: a prompt, and what the model does. In a database
/// only the texts in its rows count. Texts and answers are longer than Claude Code's, so that there are about as many
/// messages as in a transcript of its of that length, which has more around each.
pub fn session_of(agent: &str, bytes: usize, seed: &mut u64) -> String {
    const TEXT_BYTES: usize = 900;
    let prompt = json!({ "role": "user", "content": [{ "type": "text", "text": format!("go on {seed:x}") }] });
    let (mut text, mut written) = (String::new(), 0);
    let mut message = prompt;
    while written < bytes {
        let record = in_form_of(agent, &format!("m{seed:x}"), &message);
        written += kept::bytes_of(agent, &record);
        text += &format!("{record}\n");
        message = self::record(seed)["message"].take();
        for member in ["text", "content"] {
            while let Some(words) = message["content"][0][member].as_str()
                && words.len() < TEXT_BYTES
            {
                let more = self::record(seed)["message"]["content"][0][member].take();
                message["content"][0][member] = format!("{words}{}", more.as_str().unwrap_or_default()).into();
            }
        }
    }
    text
}

/// Returns a message of Claude Code's as another agent would write it.
pub fn in_form_of(agent: &str, id: &str, message: &Value) -> Value {
    let part = &message["content"][0];
    let words = part["text"].as_str().unwrap_or_default();
    let answer = part["content"].as_str().unwrap_or_default();
    let (role, content) = (&message["role"], &message["content"]);
    match (agent, role.as_str(), part["type"].as_str()) {
        ("codex", Some("user"), Some("text")) => {
            json!({ "type": "event_msg", "payload": { "type": "user_message", "message": words } })
        }
        ("codex", _, Some("text")) => {
            json!({ "type": "event_msg", "payload": { "type": "agent_message", "message": words } })
        }
        ("codex", _, Some("tool_use")) => json!({ "type": "response_item", "payload": { "type": "function_call",
            "call_id": id, "name": "read_file", "arguments": part["input"].to_string() } }),
        ("codex", ..) => json!({ "type": "response_item", "payload": { "type": "function_call_output",
            "call_id": id, "output": answer } }),
        ("gemini", Some("user"), Some("text")) => json!({ "id": id, "type": "user", "content": [{ "text": words }] }),
        ("gemini", ..) => json!({ "id": id, "type": "gemini", "content": words, "toolCalls": [{ "id": id,
            "name": "read_file", "args": part["input"], "resultDisplay": answer }] }),
        ("copilot", Some("user"), Some("text")) => json!({ "type": "user.message", "data": { "content": words } }),
        ("copilot", ..) => json!({ "type": "assistant.message", "data": { "content": format!("{words}{answer}") } }),
        ("droid" | "pi" | "continue", ..) => {
            json!({ "type": "message", "id": id, "message": { "role": role, "content": content } })
        }
        _ => json!({ "role": role, "content": content }),
    }
}
