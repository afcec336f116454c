//! Looking for any of some literals in bytes.

use std::sync::Arc;

use aho_corasick::AhoCorasick;
use bstr::{ByteSlice as _, Finder};

/// How much of a literal is looked for: what has the rest has this, too.
const MAX_LITERAL_BYTES: usize = 64;

/// Literals that are looked for at once.
#[derive(Clone, Debug)]
pub struct Needles(Kind);

#[derive(Clone, Debug)]
enum Kind {
    One(Arc<Finder<'static>>),
    Any(AhoCorasick),
}

impl Needles {
    /// Makes them of literals, of which none is empty. `is_folded`: small and capital letters of ASCII are the same.
    ///
    /// Of a long literal only the beginning is looked for.
    pub fn new(literals: &[Vec<u8>], is_folded: bool) -> Option<Self> {
        let literals: Vec<Vec<u8>> =
            literals.iter().map(|literal| literal[..literal.len().min(MAX_LITERAL_BYTES)].to_vec()).collect();
        let literals = literals.as_slice();
        if let ([literal], false) = (literals, is_folded) {
            return Some(Needles(Kind::One(Arc::new(Finder::new(literal).into_owned()))));
        }
        let any = AhoCorasick::builder().ascii_case_insensitive(is_folded).build(literals).ok()?;
        Some(Needles(Kind::Any(any)))
    }

    /// Returns the place of the first one that begins at `from` or behind it.
    pub fn next(&self, text: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
        match &self.0 {
            Kind::One(finder) => {
                let start = from + finder.find(text.get(from..)?)?;
                Some(start..start + finder.needle().len())
            }
            Kind::Any(any) => Some(any.find(aho_corasick::Input::new(text).range(from..))?.range()),
        }
    }

    /// Says whether one is in a text.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.next(text, 0).is_some()
    }

    /// Visits the lines of a text that have one, each once and without its line end.
    pub fn each_line(&self, text: &[u8], mut visit: impl FnMut(std::ops::Range<usize>)) {
        let mut from = 0;
        while let Some(hit) = self.next(text, from) {
            let start = text[..hit.start].rfind_byte(b'\n').map_or(0, |at| at + 1);
            let end = text[hit.start..].find_byte(b'\n').map_or(text.len(), |at| hit.start + at);
            visit(start..end);
            from = end + 1;
            if from >= text.len() {
                break;
            }
        }
    }
}
