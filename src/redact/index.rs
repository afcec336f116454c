//! The index: finds the words of all rules in one pass over a text.
//!
//! A text matches a rule only if it has one of the rule's words. Their first four bytes, in lower case, are hashed into
//! a table of bits that fits into the fastest cache. A text is searched four bytes at a time, so a rule whose words are
//! absent costs nothing.

use super::encoded::WORDS;
use super::rules::Rule;

/// The bits of the table, as a power of two: 16 KiB.
const BITS: u32 = 17;
/// How many bits share one entry of the second table, as a power of two.
const SHARED: u32 = 4;

/// A word of a rule.
#[derive(Clone, Copy)]
pub struct Word {
    /// The first four bytes, folded.
    key: u32,
    /// The position of its rule in the table of rules; beyond the table for an escape.
    pub rule: usize,
    /// The word itself.
    pub text: &'static str,
    /// For a word of three bytes: a byte that must follow, so that there are four.
    fourth: Option<u8>,
    /// Whether the case of its letters counts.
    is_exact: bool,
    /// The next word that shares this one's entry.
    next: u16,
}

/// Escapes that can hide a word: printable ASCII, colours and characters without width, as JSON and other formats write
/// them. After an escape of three bytes, only the digits that can follow count.
const ESCAPES: &[&str] = &[
    "\\u001b", "\\u009b", "\\u00ad", "\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007", "\\u200", "\\u206",
    "\\ufeff", "\\x1b", "\\x2", "\\x3", "\\x4", "\\x5", "\\x6", "\\x7", "&#x2", "&#x3", "&#x4", "&#x5", "&#x6", "&#x7",
    "&#3", "&#4", "&#5", "&#6", "&#7", "&#8", "&#9", "&#1",
];

/// All words of some rules.
pub struct Index {
    bits: Box<[u64; 1 << (BITS - 6)]>,
    /// The first of the words whose slots share an entry; they are chained in the order of the rules.
    first: Box<[u16; 1 << (BITS - SHARED)]>,
    words: Vec<Word>,
}

impl Index {
    /// Makes the index of a table of rules. Costs some twenty microseconds.
    pub fn new(rules: &[Rule]) -> Self {
        let mut index = Index {
            bits: Box::new([0; 1 << (BITS - 6)]),
            first: Box::new([u16::MAX; 1 << (BITS - SHARED)]),
            words: Vec::with_capacity(2048),
        };
        // Each word is chained before the others of its entry.
        for text in ESCAPES {
            match text.as_bytes() {
                [a, b, c] => {
                    let digits = b"0123456789abcdef;".iter();
                    digits.for_each(|d| index.put(&[*a, *b, *c, *d], rules.len(), text, Some(*d), false));
                }
                bytes => index.put(&bytes[..4], rules.len(), text, None, false),
            }
        }
        // Two percent-encoded bytes in a row, or one that is a sign of a connection string.
        for high in b"234567" {
            for low in b"0123456789abcdef" {
                index.put(&[b'%', *high, *low, b'%'], rules.len(), "%", None, false);
            }
        }
        for text in WORDS {
            index.put(&text.as_bytes()[..4], rules.len(), text, None, true);
        }
        for (rule, row) in rules.iter().enumerate().rev() {
            for text in row.words {
                match text.as_bytes() {
                    [a, b, c] => {
                        let graphic = (b'!'..=b'~').filter(|byte| !byte.is_ascii_uppercase() && row.may_follow(*byte));
                        graphic.for_each(|d| index.put(&[*a, *b, *c, d], rule, text, Some(d), false));
                    }
                    [_, _, _, _, ..] => index.put(&text.as_bytes()[..4], rule, text, None, false),
                    _ => unreachable!("a test looks at the words of all rules"),
                }
            }
        }
        index
    }

    fn put(&mut self, quad: &[u8], rule: usize, text: &'static str, fourth: Option<u8>, is_exact: bool) {
        let key = fold(quad);
        let slot = slot(key);
        self.bits[slot >> 6] |= 1 << (slot & 63);
        let place = u16::try_from(self.words.len()).expect("there are fewer words than that");
        let next = std::mem::replace(&mut self.first[slot >> SHARED], place);
        self.words.push(Word { key, rule, text, fourth, is_exact, next });
    }

    /// Returns the first place at or after `from` where a word may begin.
    #[inline]
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let is_marked = |quad: &[u8]| {
            let slot = slot(fold(quad));
            self.bits[slot >> 6] >> (slot & 63) & 1 != 0
        };
        text.get(from..)?.windows(4).position(is_marked).map(|offset| from + offset)
    }

    /// Visits each word in `text` from `from` on, with its position. `visit` returns the position at which to continue.
    pub fn each(&self, text: &[u8], mut from: usize, mut visit: impl FnMut(usize, &Word) -> Option<usize>) {
        while let Some(at) = self.next(text, from) {
            from = at + 1;
            let key = fold(&text[at..at + 4]);
            let mut place = self.first[slot(key) >> SHARED];
            while let Some(word) = self.words.get(usize::from(place)) {
                place = word.next;
                if word.key != key {
                    continue;
                }
                let found = &text[at..text.len().min(at + word.text.len())];
                let is_there = found.eq_ignore_ascii_case(word.text.as_bytes())
                    && (!word.is_exact || found == word.text.as_bytes())
                    && word.fourth.is_none_or(|fourth| text[at + 3].eq_ignore_ascii_case(&fourth));
                if is_there && let Some(next) = visit(at, word) {
                    from = next.max(from);
                    break;
                }
            }
        }
    }
}

/// Returns four bytes as a number, letters in lower case.
fn fold(quad: &[u8]) -> u32 {
    u32::from_le_bytes(quad.try_into().unwrap_or_default()) | 0x2020_2020
}

fn slot(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}
