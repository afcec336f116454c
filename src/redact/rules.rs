//! The parts of a rule. The rules themselves are in [`table`](super::table).

use super::class::is_in;
use super::piece::Piece::{Is, Run, Uuid};
use super::shape::Shape;

/// One kind of secret.
#[derive(Debug)]
pub struct Rule {
    /// The name in `[REDACTED:<name>]`.
    pub name: &'static str,
    /// The service that issues the credential, or the format that defines it: the source of the facts in this row.
    pub source: &'static str,
    /// The words of the rule: a match begins with one of them, or follows it. At least three bytes each. Tokens are
    /// matched with case, names of values without.
    pub words: &'static [&'static str],
    /// How the secret continues after the word.
    pub shape: Shape,
    /// An example that matches, as a pattern.
    pub example: &'static str,
    /// A similar text that does not match, as a pattern.
    pub look_alike: &'static str,
}

impl Rule {
    /// Says whether `byte` may follow a word of three bytes.
    pub fn may_follow(&self, byte: u8) -> bool {
        match self.shape {
            // Three bytes of base64 that encode digits end in one of these.
            Shape::Around(..) if self.name == "discord-token" => matches!(byte, b'w'..=b'z' | b'0'..=b'5'),
            Shape::Token(pieces) | Shape::Around(_, _, _, pieces) | Shape::After(pieces) | Shape::KeyPair(pieces) => {
                match pieces.first() {
                    Some(Run(class, _, _)) => is_in(byte, *class) || is_in(byte.to_ascii_uppercase(), *class),
                    Some(Is(literal)) => literal.as_bytes()[0].eq_ignore_ascii_case(&byte),
                    Some(Uuid) => byte.is_ascii_hexdigit(),
                    None => true,
                }
            }
            _ => true,
        }
    }

    /// Says whether the case of the word matters.
    pub fn is_exact(&self) -> bool {
        matches!(self.shape, Shape::Token(_) | Shape::Around(..) | Shape::KeyPair(_) | Shape::Jwt | Shape::Pem)
    }
}
