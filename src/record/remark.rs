//! Text in a note that is no record, such as a remark by a person.

use std::ops::Deref;

use bstr::{BStr, BString, ByteSlice as _};

/// A paragraph in a note that is no record: its lines as they stand there, with the blank lines before it.
///
/// Two are equal if they differ only in blank lines around them. Dereferences to the text without white space around it.
#[derive(Clone, Debug)]
pub struct Remark {
    text: BString,
}

impl Remark {
    /// Returns a remark with this text, without its last line end.
    pub(super) fn new(text: &[u8]) -> Self {
        Remark { text: text.strip_suffix(b"\n").unwrap_or(text).into() }
    }

    /// Returns the bytes as they stand in the note, without the last line end.
    pub fn text(&self) -> &BStr {
        self.text.as_bstr()
    }

    /// Returns the text without the blank lines around it. The first line keeps its indentation.
    pub(super) fn content(&self) -> &[u8] {
        let blank_bytes: usize =
            self.text.lines_with_terminator().take_while(|line| line.trim().is_empty()).map(<[u8]>::len).sum();
        self.text[blank_bytes..].trim_end()
    }

    /// Says whether a blank line must be written between this remark and `next`: without it, they would be one paragraph.
    pub(super) fn runs_into(&self, next: &Remark) -> bool {
        let starts_blank = next.text.lines().next().is_none_or(|line| line.trim().is_empty());
        !starts_blank && !stands_alone(self) && !stands_alone(next)
    }
}

impl Deref for Remark {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.text.trim()
    }
}

impl PartialEq for Remark {
    fn eq(&self, other: &Self) -> bool {
        self.content() == other.content()
    }
}

/// Says whether a line without white space around it is a remark of its own: a broken record, or a fragment of a document
/// that an earlier tool merged line by line.
pub(super) fn stands_alone(line: &[u8]) -> bool {
    line.starts_with(b"{") || is_fragment(line)
}

/// Says whether a line is a fragment of a document that an earlier tool merged line by line.
pub(super) fn is_fragment(line: &[u8]) -> bool {
    line.starts_with(b"\"checksum\"") || line.starts_with(b"\"transcript\"")
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice as _;
    use proptest::prelude::*;

    use crate::record::Note;
    use crate::record::note::tests::record;

    const REMARK: &str =
        "Reviewed by hand:\n\n    if x:\n        a()\n    else:\n        a()\n\n\nDone.\n    a()\nDone.\n\nDone.\n";

    fn merged(ours: &str, theirs: &str) -> String {
        let mut note = Note::parse_unjoined(ours.as_bytes());
        note.merge_lines(&Note::parse_unjoined(theirs.as_bytes()));
        note.to_bytes().to_str_lossy().into_owned()
    }

    #[test]
    fn what_a_person_wrote_is_written_again_byte_for_byte() {
        let ours = record("s", None, "a", 10).to_line();
        for text in [
            REMARK.to_owned(),
            format!("{ours}\n\n{REMARK}"),
            format!("\n\n{REMARK}{ours}\n{REMARK}"),
            format!("{{\"session_id\":\"s\",\"checksum\":\"sha256:0\",\"transcript\":\"\"}}\n{REMARK}"),
            format!("void f()\n{{\n\ta();\n}}\n{ours}\n\n\n  indented\r\n\r\n\twith tabs  \n"),
        ] {
            for parsed in [Note::parse(text.as_bytes()), Note::parse_unjoined(text.as_bytes())] {
                assert_eq!(parsed.to_bytes().as_bstr(), text.as_bytes().as_bstr());
            }
        }
    }

    #[test]
    fn joining_two_sides_doubles_no_paragraph_and_drops_none() {
        let ours = record("s", None, "a", 10).to_line();
        let both = format!("{ours}\n\n{REMARK}");
        assert_eq!(merged(&both, &both), both);
        assert_eq!(merged(&both, REMARK), both);
        assert_eq!(merged(&format!("{ours}\n"), &both), both);
        assert_eq!(merged("one\n\nmine\n", "one\n\ntheirs\n"), "one\n\nmine\n\ntheirs\n");
        assert_eq!(merged("mine\n", "theirs\n"), "mine\n\ntheirs\n");
        assert_eq!(merged("one\n", "one\n\none\n"), "one\n\none\n", "as often as the side that has it more often");
        assert_eq!(merged("x:\n  a()\n", "y:\n  a()\n"), "x:\n  a()\n\ny:\n  a()\n");
    }

    proptest! {
        #[test]
        fn any_two_sides_come_to_rest(ours in "[a{\" \n]{0,12}", theirs in "[a{\" \n]{0,12}") {
            let once = merged(&ours, &theirs);
            prop_assert_eq!(&merged(&once, &theirs), &once);
            prop_assert_eq!(&merged(&once, &ours), &once);
        }
    }
}
