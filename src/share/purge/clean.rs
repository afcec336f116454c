//! The lines of a note without words that are purged.

use serde_json::{Map, Value};

use crate::record::{Unit, cleaned_line};
use crate::redact::Redactor;
use crate::told::Told;

/// The keys of a record that say whose it is and where its words are. Without them, the words that stay are not found.
const IDENTITY: &[&str] =
    &["shiftlog", "agent", "session", "time", "since", "through", "bytes", "sha256", "tree", "joinedTrees", "earlier"];

/// Returns the text of a unit of a note without the matches.
pub fn text_without_matches(unit: &Unit, redactor: &Redactor) -> Vec<u8> {
    let clean = |text: &[u8]| {
        let (clean, dealt) = redactor.redact(text);
        [&clean[..], &text[dealt..]].concat()
    };
    let text = unit.text();
    match unit {
        Unit::Earlier(document, _) => {
            let transcript = document.transcript().ok().map(|(transcript, _)| transcript);
            let cleaned = transcript.and_then(|before| Some(clean(&before)).filter(|after| *after != before));
            let changed = cleaned.and_then(|cleaned| document.with_transcript(&text, &cleaned));
            clean(changed.as_ref().map_or(&text, |(_, text)| text))
        }
        Unit::Record(_) | Unit::Newer(_) => {
            let cleaned = clean(&text);
            if cleaned == *text {
                return cleaned;
            }
            let object = |text: &[u8]| serde_json::from_slice::<Map<String, Value>>(text).unwrap_or_default();
            let (before, mut after) = (object(&text), object(&cleaned));
            after.retain(|key, _| before.contains_key(key));
            let told = before.get("rules").and_then(|rules| serde_json::from_value::<Told>(rules.clone()).ok());
            after.extend(before.into_iter().filter(|(key, _)| IDENTITY.contains(&key.as_str())));
            if let Some(mut told) = told {
                // The digests and ids in it must stay.
                told.map_paths(|path| String::from_utf8_lossy(&clean(path.as_bytes())).into_owned());
                after.insert("rules".into(), serde_json::to_value(told).unwrap_or_default());
            }
            Value::Object(after).to_string().into_bytes()
        }
        Unit::Foreign(line) => match cleaned_line(line, clean) {
            Some(cleaned) if cleaned != **line => cleaned,
            Some(_) => text.into_owned(),
            None => clean(&text),
        },
    }
}
