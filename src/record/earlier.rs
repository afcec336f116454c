//! Notes of the earlier tools of this name: one JSON document that contains the whole transcript.

use std::borrow::Cow;
use std::io::Read as _;

use base64::Engine as _;
use bstr::ByteSlice as _;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::archive::segment;
use crate::error::{Error, Kind, Result};
use crate::transcript::{ModelUsage, SessionKey, Tokens};

/// The largest transcript of an earlier tool, unpacked, in bytes.
const MAX_TRANSCRIPT_BYTES: u64 = 512 << 20;
/// A shorter text can occur in a document by chance.
const MIN_PACKED_BYTES: usize = 64;

/// A document of an earlier tool. [`Earlier::transcript`] unpacks the transcript.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Earlier {
    /// The session's id.
    pub session_id: String,
    /// When the document was stored; RFC 3339.
    #[serde(default)]
    pub timestamp: String,
    /// The number of messages, as the tool counted them.
    #[serde(default)]
    pub message_count: u64,
    /// `sha256:` and the digest of the transcript, in hex.
    pub checksum: String,
    /// The transcript, as base64 of gzip.
    transcript: String,
    /// The agent; `claude` in documents of the first versions, which do not name it.
    #[serde(default = "claude")]
    pub agent: String,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    effort: Option<Effort>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Effort {
    turns: u64,
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

fn claude() -> String {
    "claude".into()
}

impl Earlier {
    /// Parses the document at the beginning of `text`, pretty-printed or not. Returns it and its bytes.
    pub fn parse_prefix(text: &[u8]) -> Option<(Self, &[u8])> {
        let mut documents = serde_json::Deserializer::from_slice(text).into_iter::<Earlier>();
        let document = documents.next()?.ok()?;
        let end = documents.byte_offset();
        Some((document, &text[..end]))
    }

    /// Returns the size of the packed transcript in bytes.
    pub(super) fn packed_bytes(&self) -> usize {
        self.transcript.len()
    }

    /// Returns the name of the session. The earlier tools spelled some agents differently.
    pub fn key(&self) -> SessionKey {
        let agent = self.agent.strip_suffix("-code").unwrap_or(&self.agent);
        SessionKey::new(agent, &self.session_id)
    }

    /// Returns the number of turns, as the tool counted them.
    pub fn turns(&self) -> u64 {
        self.effort.unwrap_or_default().turns
    }

    /// Returns the tokens, if the tool recorded them.
    pub fn tokens(&self) -> Option<Tokens> {
        self.effort.map(|effort| Tokens {
            input: effort.input_tokens,
            output: effort.output_tokens,
            cache_read: effort.cache_read_input_tokens,
            cache_write: effort.cache_creation_input_tokens,
            ..Tokens::default()
        })
    }

    /// Returns the tokens of its one model, if the tool recorded them.
    pub fn usage(&self) -> Vec<ModelUsage> {
        let one = |tokens| ModelUsage { model: self.model.clone(), tier: None, tokens };
        self.tokens().map(one).into_iter().collect()
    }

    /// Returns this document, whose bytes are `text`, with another transcript and its checksum; the document and its
    /// new bytes.
    pub(crate) fn with_transcript(&self, text: &[u8], transcript: &[u8]) -> Option<(Self, Vec<u8>)> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packer, transcript).ok()?;
        let packed = base64::engine::general_purpose::STANDARD.encode(packer.finish().ok()?);
        let mut value: serde_json::Value = serde_json::from_slice(text).ok()?;
        let object = value.as_object_mut()?;
        object.insert("transcript".into(), packed.into());
        let digest = crate::archive::hex(&Sha256::digest(transcript));
        object.insert("checksum".into(), format!("sha256:{digest}").into());
        let text = serde_json::to_vec(&value).ok()?;
        let (document, _) = Self::parse_prefix(&text)?;
        Some((document, text))
    }

    /// Returns this document, whose bytes are `text`, without its packed transcript.
    pub(super) fn without_transcript<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let packed = self.transcript.as_bytes();
        let is_packed = packed.len() >= MIN_PACKED_BYTES
            && packed.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='));
        match text.find(packed).filter(|_| is_packed) {
            Some(at) => [&text[..at], &text[at + packed.len()..]].concat().into(),
            None => text.into(),
        }
    }

    /// Unpacks the transcript. The second value is the problem if the digest differs.
    ///
    /// # Errors
    ///
    /// [`Kind::Corrupt`] if the transcript cannot be unpacked.
    pub fn transcript(&self) -> Result<(Vec<u8>, Option<String>)> {
        let corrupt =
            || Error::new(Kind::Corrupt, format!("the transcript of session '{}' is damaged", self.session_id));
        let packed = base64::engine::general_purpose::STANDARD.decode(self.transcript.trim());
        let packed = packed.map_err(|error| corrupt().because(error))?;
        let mut bytes = Vec::new();
        let limit = MAX_TRANSCRIPT_BYTES.min(segment::unpacked_limit(packed.len() as u64));
        let mut bounded = flate2::read::GzDecoder::new(&packed[..]).take(limit + 1);
        bounded.read_to_end(&mut bytes).map_err(|error| corrupt().because(error))?;
        if bytes.len() as u64 > limit {
            return Err(corrupt().because("it unpacks to far more than is stored"));
        }
        let digest = format!("sha256:{}", crate::archive::hex(&Sha256::digest(&bytes)));
        let problem = (digest != self.checksum).then(|| "the transcript does not match its checksum".to_owned());
        Ok((bytes, problem))
    }
}

#[cfg(test)]
mod tests {
    use crate::record::Note;

    #[test]
    fn what_is_packed_is_left_out_and_what_can_be_read_stays() {
        let document = |transcript: &str| {
            format!(
                r#"{{"session_id":"s","checksum":"sha256:0","transcript":"{transcript}","project_path":"/home/x"}}"#
            )
        };
        let without = |note: &str| String::from_utf8(Note::parse(note.as_bytes()).without_packed()).expect("text");
        let packed = "H4sIAAAA/+".repeat(10);
        let other = "a line of somebody";
        assert_eq!(without(&format!("{}\n{other}\n", document(&packed))), format!("{}\n{other}\n", document("")));
        let readable = document(&"no base64: ".repeat(10));
        assert_eq!(without(&readable), format!("{readable}\n"));
    }
}
