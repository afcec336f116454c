//! How JSON is written: the whitespace between its tokens.

/// Nothing nested deeper is indented: the indentation of a few brackets would outgrow everything else.
const MAX_DEPTH: usize = 128;

/// Takes the next piece of a text; `None` stops the writing.
pub type Put<'p> = &'p mut dyn FnMut(&[u8]) -> Option<()>;

/// Writes the tokens of a value: with each member and element in a line that is indented by so many spaces for each level,
/// or with nothing between them for 0.
pub fn write<'t>(tokens: impl Iterator<Item = &'t [u8]>, indent: usize, put: Put<'_>) -> Option<()> {
    let mut depth = 0_usize;
    let mut last: &[u8] = b"";
    for token in tokens {
        let closes = matches!(token, b"]" | b"}");
        depth = depth.saturating_sub(usize::from(closes));
        let breaks = match last {
            b"" => false,
            b"[" | b"{" => !closes,
            b"," => true,
            _ => closes,
        };
        if breaks && indent > 0 {
            put(format!("\n{:1$}", "", depth * indent).as_bytes())?;
        }
        put(token)?;
        match token {
            b"[" | b"{" => depth += 1,
            b":" if indent > 0 => put(b" ")?,
            _ => {}
        }
        if indent > 0 && depth > MAX_DEPTH {
            return None;
        }
        last = token;
    }
    Some(())
}
