//! Our part in a file of another program: whether it is there, and the file without it.

use super::{FileKind, HOOK_PROGRAM, client, file, hook, toml};
use crate::agent;
use crate::error::{Error, Result};

/// Returns a file without our part.
pub fn stripped(kind: FileKind, bytes: &[u8]) -> Result<Vec<u8>> {
    match kind {
        FileKind::Hook => Ok(hook::remove_block(bytes)),
        FileKind::Exclude => Ok(file::remove_exclude(bytes, is_file_of_ours)),
        // As the user has made it since, it is theirs; of JSON our part can still be recognized.
        FileKind::Own { .. } => {
            let stripped = std::str::from_utf8(bytes).ok().and_then(|text| agent::remove_hooks(text).ok());
            Ok(stripped.map_or_else(|| bytes.to_vec(), String::into_bytes))
        }
        FileKind::Settings | FileKind::Client => {
            let text = std::str::from_utf8(bytes).map_err(|_| Error::other("it is not UTF-8"))?;
            if text.trim().is_empty() {
                return Ok(bytes.to_vec());
            }
            // Some agents have hooks and servers in one file.
            let text = client::remove(text)?;
            let stripped = if toml::is_toml(&text) { text } else { agent::remove_hooks(&text)? };
            Ok(stripped.into_bytes())
        }
    }
}

/// Says whether a file of a working tree is one that this program keeps out of commits.
fn is_file_of_ours(path: &str) -> bool {
    let has_hooks = |agent: &'static dyn agent::Agent| {
        [false, true].into_iter().flat_map(|is_shared| agent.hook_files(is_shared)).any(|file| file.path == path)
    };
    let is_logs = path.strip_suffix('/').and_then(|path| path.strip_suffix(file::APEX_LOGS));
    client::CLIENTS.iter().any(|client| client.file == path)
        || agent::all().any(has_hooks)
        || is_logs.is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

/// Says whether a file has a part that this program put there.
pub fn has_our_part(kind: FileKind, bytes: &[u8]) -> bool {
    match kind {
        FileKind::Hook => hook::has_block(bytes),
        FileKind::Exclude => file::remove_exclude(bytes, is_file_of_ours) != bytes,
        FileKind::Own { .. } => bstr::ByteSlice::contains_str(bytes, HOOK_PROGRAM),
        FileKind::Settings | FileKind::Client => {
            bstr::ByteSlice::contains_str(bytes, HOOK_PROGRAM)
                || std::str::from_utf8(bytes).is_ok_and(client::has_entry)
        }
    }
}

/// Says whether a file has only the frame that `init` writes, without content of a user.
pub fn is_blank(kind: FileKind, bytes: &[u8]) -> bool {
    match kind {
        FileKind::Hook => hook::is_bare(bytes),
        FileKind::Exclude => bytes.trim_ascii().is_empty(),
        FileKind::Own { .. } => false,
        FileKind::Settings | FileKind::Client => {
            bytes.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}')) || is_only_framed(bytes)
        }
    }
}

/// Says whether a file of JSON has no more than the version or the schema that its format asks for.
fn is_only_framed(bytes: &[u8]) -> bool {
    // A comment is somebody's, and does not parse here.
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap_or_default();
    let is_frame = |(key, value): (&String, &serde_json::Value)| match key.as_str() {
        // Qwen Code adds one of its own to any settings.
        "version" | "$version" => value.is_number(),
        "$schema" => value.as_str() == Some(client::OPENCODE_SCHEMA),
        _ => false,
    };
    value.as_object().is_some_and(|members| members.iter().all(is_frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_in_which_nobody_wrote_anything_is_blank() {
        let is_blank = |text: &str| is_blank(FileKind::Settings, text.as_bytes());
        for text in [
            "",
            "{\n}\n",
            "{\"version\": 1}",
            "{\"$version\": 4}",
            "{\"$schema\": \"https://opencode.ai/config.json\"}",
        ] {
            assert!(is_blank(text), "{text}");
        }
        for text in ["{\"version\": 1, \"model\": \"x\"}", "{\"version\": \"1.0.0\"}", "{ // mine\n}", "[]", "1"] {
            assert!(!is_blank(text), "{text}");
        }
    }
}
