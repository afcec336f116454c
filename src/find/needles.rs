//! Searching bytes for any of several literals.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use bstr::{ByteSlice as _, Finder};

/// How many bytes of a literal are searched for: every place of the whole literal has them.
const MAX_LITERAL_BYTES: usize = 64;

/// How much of a literal without case is looked for at first: the forms of three letters are eight, and vector instructions
/// look for a few dozen forms at once.
const HEAD_BYTES: usize = 3;
/// More forms than this are looked for letter by letter.
const MAX_FORMS: usize = 64;

/// Literals that are searched for together.
#[derive(Clone, Debug)]
pub struct Needles(Kind);

#[derive(Clone, Debug)]
enum Kind {
    One(Arc<Finder<'static>>),
    Any(AhoCorasick),
    Folded(Arc<Folded>),
}

/// Literals of which small and capital letters are the same.
#[derive(Debug)]
struct Folded {
    /// Their beginnings in all forms, each of the same length.
    heads: AhoCorasick,
    /// The literals that begin so, by the numbers of the forms; shorter ones first.
    literals: Vec<Vec<Vec<u8>>>,
}

impl Folded {
    /// Returns the literals prepared for a search; `None` if they have too many forms.
    fn new(literals: &[Vec<u8>]) -> Option<Self> {
        let shortest = literals.iter().map(Vec::len).min()?;
        let mut by_form: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
        for literal in literals {
            for form in forms(&literal[..shortest.min(HEAD_BYTES)]) {
                by_form.entry(form).or_default().push(literal.clone());
            }
        }
        if by_form.len() > MAX_FORMS {
            return None;
        }
        let heads = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(by_form.keys()).ok()?;
        let mut literals: Vec<_> = by_form.into_values().collect();
        literals.iter_mut().for_each(|literals| literals.sort_by_key(Vec::len));
        Some(Folded { heads, literals })
    }

    fn next(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        loop {
            let head = self.heads.find(Input::new(text).range(from..))?;
            let start = head.start();
            let is_here = |literal: &&Vec<u8>| {
                text.get(start..start + literal.len()).is_some_and(|there| there.eq_ignore_ascii_case(literal))
            };
            if let Some(literal) = self.literals[head.pattern().as_usize()].iter().find(is_here) {
                return Some(start..start + literal.len());
            }
            from = start + 1;
        }
    }
}

/// Returns all forms of some bytes with small and capital letters of ASCII.
fn forms(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![Vec::new()];
    for byte in bytes {
        let (small, capital) = (byte.to_ascii_lowercase(), byte.to_ascii_uppercase());
        let capitals =
            forms.iter().filter(|_| capital != small).map(|form: &Vec<u8>| [form.as_slice(), &[capital]].concat());
        let capitals: Vec<_> = capitals.collect();
        forms.iter_mut().for_each(|form| form.push(small));
        forms.extend(capitals);
    }
    forms
}

impl Needles {
    /// Returns needles for literals, none of which may be empty. `is_folded`: small and capital letters of ASCII are
    /// the same.
    ///
    /// Only the beginning of a long literal is searched for.
    pub fn new(literals: &[Vec<u8>], is_folded: bool) -> Option<Self> {
        let literals: Vec<Vec<u8>> =
            literals.iter().map(|literal| literal[..literal.len().min(MAX_LITERAL_BYTES)].to_vec()).collect();
        let literals = literals.as_slice();
        if let ([literal], false) = (literals, is_folded) {
            return Some(Needles(Kind::One(Arc::new(Finder::new(literal).into_owned()))));
        }
        if let Some(folded) = Folded::new(literals).filter(|_| is_folded) {
            return Some(Needles(Kind::Folded(Arc::new(folded))));
        }
        let any = AhoCorasick::builder().ascii_case_insensitive(is_folded).build(literals).ok()?;
        Some(Needles(Kind::Any(any)))
    }

    /// Returns the place of the first needle at `from` or behind it.
    pub fn next(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        match &self.0 {
            Kind::One(finder) => {
                let start = from + finder.find(text.get(from..)?)?;
                Some(start..start + finder.needle().len())
            }
            Kind::Any(any) => Some(any.find(Input::new(text).range(from..))?.range()),
            Kind::Folded(folded) => folded.next(text, from),
        }
    }

    /// Says whether a text has one of the needles.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.next(text, 0).is_some()
    }

    /// Visits the lines of a text that have a needle, each once and without its line end.
    pub fn each_line(&self, text: &[u8], mut visit: impl FnMut(Range<usize>)) {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn needles_are_found_where_a_naive_search_finds_them(
            literals in proptest::collection::vec("[a-cA-C.]{1,6}", 1..6), text in "[a-cA-C.\n]{0,80}", is_folded: bool
        ) {
            let needles = Needles::new(&literals.iter().map(|one| one.clone().into_bytes()).collect::<Vec<_>>(), is_folded);
            let needles = needles.expect("there are some");
            let fold = |text: &str| if is_folded { text.to_ascii_lowercase() } else { text.to_owned() };
            let (naive_text, naive_literals) = (fold(&text), literals.iter().map(|one| fold(one)).collect::<Vec<_>>());
            let starts = |literal: &String| -> Vec<usize> {
                (0..naive_text.len()).filter(|at| naive_text[*at..].starts_with(literal.as_str())).collect()
            };
            let mut expected: Vec<usize> = naive_literals.iter().flat_map(starts).collect();
            expected.sort_unstable();
            expected.dedup();
            let mut found = Vec::new();
            let mut from = 0;
            while let Some(hit) = needles.next(text.as_bytes(), from) {
                prop_assert!(naive_literals.contains(&fold(&text[hit.clone()])));
                found.push(hit.start);
                from = hit.start + 1;
            }
            // Of literals that are not folded, one can hide another that begins before it and ends behind it.
            if is_folded {
                prop_assert_eq!(found, expected);
            } else {
                prop_assert!(found.iter().all(|at| expected.contains(at)));
                prop_assert_eq!(found.is_empty(), expected.is_empty());
            }
        }
    }
}
