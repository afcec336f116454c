//! Shapes: how a rule tells a secret from what only begins like one.
//!
//! Each shape looks a bounded way around its word, or asks [`Text`] where a run ends: time is linear whatever the input.

use std::ops::Range;

use super::class::{ALNUM, B64, Class, DOTTED, is_in};
use super::piece::{Piece, pieces_end};
use super::text::Text;
use super::value::{self, Sure};
use super::view::hides;
use super::{assigned, command, key, web};

/// How what a rule looks for goes on behind its word.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A token: word and pieces are redacted together. Nothing of its kind may stand right before or behind it.
    Token(&'static [Piece]),
    /// A token whose word stands within it, behind this many bytes of a class.
    Around(Class, usize, usize, &'static [Piece]),
    /// What the pieces match behind the word; the word stays.
    After(&'static [Piece]),
    /// A name with the word of a service in it, and a value that the pieces match.
    Named(&'static [Piece]),
    /// `word…: value` or `word…=value` in any language, the value such that it can only be a secret.
    Assigned(Sure),
    /// An access key's id, which stays a token, and the secret that stands beside it.
    KeyPair(&'static [Piece]),
    /// The password in `://user:password@host`, or a token in the user's place.
    Url,
    /// The password of a `.netrc` or of `curl -u`.
    Login,
    /// What stands in quotes behind the word, as in SQL.
    Quoted,
    /// The value of an option of the command that the word begins: `-p` with the value right behind it or apart.
    Option(&'static str),
    /// The word behind the word.
    Argument,
    /// The last field of a line of `.pgpass`.
    PgPass,
    /// The value of an HTTP header, `Basic` or `Bearer` left standing.
    Header,
    /// The values of the cookies that keep a session.
    Cookies,
    /// A cookie's value behind its name.
    Cookie,
    /// `"auth": "…"` with `user:password` in base64.
    Encoded64,
    /// The data of a Kubernetes Secret.
    Manifest,
    /// Three base64url parts with dots between them, the word being the beginning of the first.
    Jwt,
    /// A key from `-----BEGIN` to `-----END`.
    Pem,
    /// What a file holds in base64, in one line or in many.
    Encoded,
    /// `<private>` to `</private>`.
    Private,
}

/// What a shape found beside the spans: whether it goes on behind the end of the text, and where to look on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Match {
    /// A key whose end is not here: the lines that follow may belong to it.
    pub is_open: bool,
    /// Nothing of the key stands here but its beginning; if no line of it follows, there is none.
    pub is_bare: bool,
    /// From where on there can be something else.
    pub next: usize,
}

impl Shape {
    /// Says, at little cost and without knowing how the text is escaped, whether there can be a match; `end` is where
    /// the word ends.
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

    /// Puts what is found for the word at `word` into `spans`, in a text that holds no escapes.
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
            // Within a value there can be a token whose kind is known.
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
            Shape::Encoded => {
                let (span, is_open) = key::encoded(text, word.clone())?;
                let end = span.end;
                is_bare = end - word.end <= 4;
                spans.push(span);
                (end, is_open)
            }
            // All of a text are found at once.
            Shape::Private => return None,
        };
        Some(Match { is_open, is_bare, next })
    }
}

fn token(text: &mut Text<'_>, word: Range<usize>, pieces: &[Piece]) -> Option<Range<usize>> {
    // A word that itself begins with a sign, such as `://`, is not part of what stands before it.
    if is_in(text.at(word.start)?, ALNUM) && word.start > 0 && is_in(text.bytes[word.start - 1], ALNUM) {
        return None;
    }
    let end = pieces_end(text, word.end, pieces)?;
    // A word of letters and digits alone can come up by chance within a file in base64.
    let is_plain = text.bytes[word.clone()].iter().all(|byte| is_in(*byte, ALNUM));
    if is_plain && text.start(B64, word.start) + DATA_BYTES <= word.start {
        let before = &text.bytes[word.start - DATA_BYTES..word.start];
        if value::is_random(before) {
            return None;
        }
    }
    Some(word.start..end)
}

/// How much base64 before a word tells that the word is part of it.
const DATA_BYTES: usize = 40;
