//! The answers of tools, compressed at the end of a large page. Its script puts them in their places.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, html};

/// A shorter answer, in bytes, stays where it is: what stands in its place would be as long.
const MIN_BYTES: usize = 256;

/// The packed answers of a page, in the order of their places.
#[derive(Debug)]
pub struct Packed {
    /// A list of strings in JSON.
    out: GzEncoder<Vec<u8>>,
    count: usize,
}

impl Packed {
    pub fn new() -> Self {
        Packed { out: GzEncoder::new(Vec::new(), Compression::default()), count: 0 }
    }

    /// Returns the element of an answer, which says how long it is until the script fills it; `None` for a short one.
    pub fn add(&mut self, text: &str) -> Option<Markup> {
        if text.len() < MIN_BYTES {
            return None;
        }
        let comma = if self.count == 0 { "[" } else { "," };
        let text_json = serde_json::Value::from(text).to_string();
        // Writing to memory does not fail.
        self.out.write_all(comma.as_bytes()).and_then(|()| self.out.write_all(text_json.as_bytes())).ok()?;
        let lines = super::super::count(text.lines().count() as u64, "line");
        let element =
            html! { pre.result tabindex="0" data-packed=(self.count) { (lines) ", which JavaScript unpacks" } };
        self.count += 1;
        Some(element)
    }

    /// Returns the element with all of them; it is empty if there is none.
    ///
    /// # Errors
    ///
    /// None in practice: all is in memory.
    pub fn element(mut self) -> io::Result<String> {
        if self.count == 0 {
            return Ok(String::new());
        }
        self.out.write_all(b"]")?;
        let packed = STANDARD.encode(self.out.finish()?);
        Ok(format!("<script type=\"application/gzip\" id=\"packed\">{packed}</script>"))
    }
}
