//! Pictures of a conversation, as far as a page may show them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest picture that is kept, in bytes.
const MAX_BYTES: usize = 2 << 20;
/// How many characters of Base64 show the type of a picture: those of its first twelve bytes.
const MARK_CHARS: usize = 16;

/// A picture of a kind that browsers show and that runs nothing: PNG, JPEG, GIF or WebP, of two mebibytes at most.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    media_type: &'static str,
    base64: String,
}

impl Picture {
    /// Returns the picture that stands in a record as Base64, or as an address with Base64 in it; `None` if there is
    /// none, or if it is too large. Its first bytes decide its type, whatever the record says.
    pub fn of(content: &str) -> Option<Self> {
        let base64 = match content.strip_prefix("data:") {
            Some(address) => address.split_once(";base64,")?.1,
            None => content,
        };
        if base64.len() > MAX_BYTES.div_ceil(3) * 4 {
            return None;
        }
        let media_type = media_type(&STANDARD.decode(base64.get(..MARK_CHARS)?).ok()?)?;
        Some(Picture { media_type, base64: base64.to_owned() })
    }

    /// Returns its bytes; `None` if they are not whole.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.base64).ok()
    }

    /// Returns an address that holds it, if it is whole.
    pub fn address(&self) -> Option<String> {
        // Encoded anew, so that nothing stands in the address but what Base64 has.
        Some(format!("data:{};base64,{}", self.media_type, STANDARD.encode(self.bytes()?)))
    }
}

/// Returns the media type that the first bytes of a file show.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(beginning: &[u8]) -> String {
        STANDARD.encode([beginning, &[7; 40]].concat())
    }

    #[test]
    fn the_first_bytes_say_what_a_picture_is() {
        let kinds: [(&[u8], &str); 5] = [
            (b"\x89PNG\r\n\x1a\n", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF87a", "image/gif"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        ];
        for (beginning, media_type) in kinds {
            let base64 = encoded(beginning);
            let address = format!("data:{media_type};base64,{base64}");
            assert_eq!(Picture::of(&base64).and_then(|picture| picture.address()).as_deref(), Some(&*address));
            let lied = format!("data:image/svg+xml;base64,{base64}");
            assert_eq!(
                Picture::of(&lied).and_then(|picture| picture.address()).as_deref(),
                Some(&*address),
                "what it is called is not asked"
            );
        }
        for no_picture in
            [&b"<svg xmlns='http"[..], b"<html><script>al", b"%PDF-1.7 %\xe2\xe3", b"RIFF\x10\0\0\0WAVEfmt "]
        {
            assert_eq!(Picture::of(&encoded(no_picture)), None);
        }
        assert_eq!(Picture::of(""), None);
        assert_eq!(Picture::of("https://example.com/a.png"), None);
    }

    #[test]
    fn a_broken_picture_has_no_address() {
        let base64 = encoded(b"\x89PNG\r\n\x1a\n");
        for broken in [format!("{base64}\" onload=\"x"), format!("{}é", &base64[..20]), base64[..21].to_owned()] {
            assert_eq!(Picture::of(&broken).and_then(|picture| picture.address()), None, "{broken}");
        }
    }

    #[test]
    fn a_picture_that_is_too_large_is_left_out() {
        let of_size = |bytes: usize| {
            let mut picture = vec![0; bytes];
            picture[..8].copy_from_slice(b"\x89PNG\r\n\x1a\n");
            Picture::of(&STANDARD.encode(picture))
        };
        assert!(of_size(MAX_BYTES).is_some());
        assert!(of_size(MAX_BYTES + 3).is_none());
    }
}
