//! Shapes: how a rule distinguishes a secret from text that only begins like one.
//!
//! Each shape reads a bounded distance around its word, or asks [`Text`] for the end of a run, so the time is linear
//! for any input.

use std::ops::Range;

use super::class::{ALNUM, B64, Class, DOTTED, is_in};
use super::piece::{Piece, pieces_end};
use super::text::Text;
use super::value::{self, Sure};
use super::view::hides;
use super::{assigned, command, key, web};

/// How a secret continues after the word of its rule.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A token: word and pieces are redacted together. It must not be directly preceded or followed by characters of a
    /// token.
    Token(&'static [Piece]),
    /// A token with its word inside, after this many bytes of a class.
    Around(Class, usize, usize, &'static [Piece]),
    /// The pieces after the word; the word is kept.
    After(&'static [Piece]),
    /// A name with the word of a service in it, and a value that the pieces match.
    Named(&'static [Piece]),
    /// `word…: value` or `word…=value` in any language, the value such that it can only be a secret.
    Assigned(Sure),
    /// An access key's id, which is redacted as a token, and the secret beside it.
    KeyPair(&'static [Piece]),
    /// The password in `://user:password@host`, or a token in place of the user.
    Url,
    /// The password of a `.netrc` or of `curl -u`.
    Login,
    /// The quoted text after the word, as in SQL.
    Quoted,
    /// The value of an option of the command that begins with the word: `-p` with its value attached or separate.
    Option(&'static str),
    /// The password of `user<separator>password`: the value of an option of the command, or its first word that is no option.
    Pair(&'static str, u8),
    /// The value of `name=value` after the word, in a command about a Secret.
    Literal,
    /// The text that is printed into the command. If `true`, the command reads `user:password`, and only the password goes.
    Piped(bool),
    /// The word after the rule's word.
    Argument,
    /// The last field of a line of `.pgpass`.
    PgPass,
    /// The value of an HTTP header; `Basic` or `Bearer` is kept.
    Header,
    /// The values of session cookies.
    Cookies,
    /// The value of a cookie after its name.
    Cookie,
    /// `"auth": "…"` with `user:password` in base64.
    Encoded64,
    /// The data of a Kubernetes Secret.
    Manifest,
    /// Three base64url parts with dots between them; the first begins with the word.
    Jwt,
    /// A key from `-----BEGIN` to `-----END`.
    Pem,
    /// The end of a key whose beginning is not there.
    PemEnd,
    /// A file in base64, in one line or many.
    Encoded,
    /// `<private>` to `</private>`.
    Private,
}

/// The result of a shape besides the spans: whether the secret continues after the text, and where to continue the
/// search.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Match {
    /// A key without its end: the following lines may belong to it.
    pub is_open: bool,
    /// Only the first line of a key: if no line of base64 follows, there is no key.
    pub is_bare: bool,
    /// The position at which to continue the search.
    pub next: usize,
}

impl Shape {
    /// Says quickly, whatever the escapes of the text, whether there can be a match. `end` is the end of the word.
    pub fn is_plausible(&self, text: &[u8], end: usize) -> bool {
        let rest = &text[end..];
        match self {
            Shape::Token(pieces) | Shape::Around(_, _, _, pieces) | Shape::After(pieces) | Shape::KeyPair(pieces) => {
                let (class, min) = match pieces.first() {
                    Some(Piece::Run(class, min, _)) => (*class, *min),
                    Some(Piece::Uuid) => (DOTTED, 36),
                    _ => return true,
                };
                let count = rest.iter().take(min).take_while(|byte| is_in(**byte, class)).count();
                count == min || hides(&rest[count..])
            }
            Shape::Assigned(_) | Shape::Named(_) => assigned::is_plausible(text, end),
            Shape::Url => rest[..rest.len().min(512)].contains(&b'@'),
            _ => true,
        }
    }

    /// Adds the secrets found for the word at `word` to `spans`, in a text without escapes.
    pub fn find(&self, text: &mut Text<'_>, word: Range<usize>, spans: &mut Vec<Range<usize>>) -> Option<Match> {
        let mut is_bare = false;
        let (next, is_open) = match self {
            Shape::Token(pieces) => {
                spans.push(token(text, word, pieces)?);
                (spans[0].end, false)
            }
            Shape::KeyPair(pieces) => {
                let id = token(text, word, pieces)?;
                let end = id.end;
                spans.push(id);
                web::secret_beside(text, end, spans);
                (end, false)
            }
            Shape::Around(class, min, max, pieces) => {
                let start = text.start(*class, word.start);
                let before = word.start - start;
                if before < *min || before > *max {
                    return None;
                }
                spans.push(start..pieces_end(text, word.end, pieces)?);
                (spans[0].end, false)
            }
            Shape::After(pieces) => {
                spans.push(word.end..pieces_end(text, word.end, pieces)?);
                (spans[0].end, false)
            }
            Shape::Named(pieces) => {
                spans.push(assigned::named(text, word.clone(), pieces)?);
                (word.end, false)
            }
            // A value can contain a token of a known kind.
            Shape::Assigned(sure) => {
                spans.push(assigned::find(text, word.clone(), *sure)?);
                (word.end, false)
            }
            Shape::Url => {
                spans.push(web::url_password(text, word.end)?);
                (word.end, false)
            }
            Shape::Login => {
                spans.push(command::login(text, word.clone())?);
                (word.end, false)
            }
            Shape::Quoted => {
                spans.push(command::quoted(text, word.clone())?);
                (word.end, false)
            }
            Shape::Option(flag) => {
                spans.push(command::option(text, word.clone(), flag)?);
                (word.end, false)
            }
            Shape::Pair(flag, separator) => {
                spans.push(command::pair(text, word.clone(), flag, *separator)?);
                (word.end, false)
            }
            Shape::Literal => {
                spans.push(command::literal(text, word.clone())?);
                (word.end, false)
            }
            Shape::Piped(is_pair) => {
                spans.push(command::piped(text, word.clone(), *is_pair)?);
                (word.end, false)
            }
            Shape::Argument => {
                spans.push(command::argument(text, word.clone())?);
                (word.end, false)
            }
            Shape::PgPass => {
                spans.push(command::pgpass(text, word.clone())?);
                (word.end, false)
            }
            Shape::Header => {
                spans.push(web::header(text, word.clone())?);
                (word.end, false)
            }
            Shape::Cookies => (web::cookies(text, word.end, spans)?, false),
            Shape::Cookie => {
                spans.push(web::cookie(text, word.end)?);
                (word.end, false)
            }
            Shape::Encoded64 => {
                spans.push(web::basic_auth(text, word.end)?);
                (word.end, false)
            }
            Shape::Manifest => (web::manifest(text, word.clone(), spans)?, false),
            Shape::Jwt => {
                spans.push(web::jwt(text, word.start)?);
                (spans[0].end, false)
            }
            Shape::Pem => {
                let (span, is_open) = key::pem(text, word.clone())?;
                let end = span.end;
                is_bare = is_open && end - word.end <= 64;
                spans.push(span);
                (end, is_open)
            }
            Shape::PemEnd => {
                spans.push(key::pem_end(text, word.clone())?);
                (spans[0].end, false)
            }
            Shape::Encoded => {
                let (span, is_open) = key::encoded(text, word.clone())?;
                let end = span.end;
                is_bare = end - word.end <= 4;
                spans.push(span);
                (end, is_open)
            }
            // All passages of a text are found at once.
            Shape::Private => return None,
        };
        Some(Match { is_open, is_bare, next })
    }
}

fn token(text: &mut Text<'_>, word: Range<usize>, pieces: &[Piece]) -> Option<Range<usize>> {
    // A word that begins with a sign, such as `://`, does not continue the text before it.
    if is_in(text.at(word.start)?, ALNUM) && word.start > 0 && is_in(text.bytes[word.start - 1], ALNUM) {
        return None;
    }
    let end = pieces_end(text, word.end, pieces)?;
    // A word of only letters and digits can occur by chance within a file in base64.
    let is_plain = text.bytes[word.clone()].iter().all(|byte| is_in(*byte, ALNUM));
    if is_plain && text.start(B64, word.start) + DATA_BYTES <= word.start {
        let before = &text.bytes[word.start - DATA_BYTES..word.start];
        if value::is_random(before) {
            return None;
        }
    }
    Some(word.start..end)
}

/// A word after this much base64 is part of the base64.
const DATA_BYTES: usize = 40;
