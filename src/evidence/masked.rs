//! Text of a server without the token that it was asked with: a server can repeat the header of a request, and no file,
//! answer or message is to have the token.

use std::io::{self, Write};

use bstr::ByteSlice as _;

/// The shortest text that is taken for a token, in bytes. One of a few letters would stand in every answer.
const MIN_TOKEN_BYTES: usize = 16;

/// A writer that replaces a token by as many asterisks.
pub struct Masked<'m> {
    out: &'m mut dyn Write,
    token: &'m [u8],
    /// The end of the text, which is held back: the token may begin in it.
    held: Vec<u8>,
}

impl<'m> Masked<'m> {
    /// Makes a writer on top of another one.
    pub fn new(out: &'m mut dyn Write, token: &'m str) -> Self {
        Masked { out, token: token.as_bytes(), held: Vec::new() }
    }

    /// Writes the rest of the text.
    ///
    /// # Errors
    ///
    /// As the writer below.
    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.held)
    }
}

impl Write for Masked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        mask(&mut self.held, self.token);
        let left = self.token.len().saturating_sub(1).min(self.held.len());
        let end = self.held.len() - left;
        self.out.write_all(&self.held[..end])?;
        self.held.drain(..end);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns a text with asterisks in the place of a token.
pub fn masked(text: &str, token: &str) -> String {
    match token.len() {
        0..MIN_TOKEN_BYTES => text.to_owned(),
        length => text.replace(token, &"*".repeat(length)),
    }
}

fn mask(text: &mut [u8], token: &[u8]) {
    if token.len() < MIN_TOKEN_BYTES {
        return;
    }
    let places: Vec<usize> = text.find_iter(token).collect();
    places.into_iter().for_each(|at| text[at..at + token.len()].fill(b'*'));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_masked_however_it_is_cut_into_pieces() {
        let token = "00D000000000001!secret";
        let text = format!("a{token}b{token}{token} {}", &token[..10]);
        let stars = "*".repeat(token.len());
        let expected = format!("a{stars}b{stars}{stars} {}", &token[..10]);
        assert_eq!(masked(&text, token), expected);
        for length in 1..=text.len() {
            let mut out = Vec::new();
            let mut writer = Masked::new(&mut out, token);
            text.as_bytes().chunks(length).for_each(|piece| writer.write_all(piece).expect("room"));
            writer.finish().expect("room");
            assert_eq!(String::from_utf8_lossy(&out), expected, "{length}");
        }
    }
}
