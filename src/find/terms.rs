//! The words of a search, and where they are in a text.

use std::collections::HashSet;
use std::ops::Range;

use bstr::ByteSlice as _;

use super::needles::Needles;
use super::stored_words::redacted;
use super::{PartKind, Parts, literal};
use crate::error::{Error, Kind, Result};
use crate::redact::Redactor;

/// When capital letters count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Case {
    /// In a word that has one.
    Smart,
    /// Never.
    Folded,
    /// Always.
    Exact,
}

/// How placeholders of secrets begin; they are no words of anybody.
const PLACEHOLDER: &str = "[REDACTED:";

/// Words that are in every English text. They are left out of a search that has others.
const EVERYWHERE: &[&str] = &[
    "about", "all", "and", "any", "are", "but", "can", "did", "does", "for", "from", "had", "has", "have", "how",
    "into", "its", "not", "our", "out", "should", "that", "the", "their", "them", "then", "there", "they", "this",
    "was", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// More words than this are not searched for: each costs a pass.
const MAX_WORDS: usize = 64;

/// How many places of a word of a search are returned for one text. More places do not change a rank.
const MAX_KEPT: usize = 1 << 16;

/// The words that are searched for.
#[derive(Clone, Debug)]
pub struct Terms {
    wanted: Vec<Term>,
    excluded: Vec<Term>,
    /// Literals of which one is in every line that has one of the words; `None` if a word is too short for that.
    pub(super) lines: Option<Needles>,
    /// How much of the words a turn must have, by their weights: 1 for all of them.
    pub(super) min_share: f64,
    /// The parts in which words count.
    parts: Parts,
    /// The bytes with which a text's word can begin that is one of these words.
    first_bytes: Vec<bool>,
}

/// A word of a text that is among the words of a search.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Its number among all words of the text.
    number: usize,
    place: Range<usize>,
}

/// A word, or words that follow each other.
#[derive(Clone, Debug)]
struct Term {
    /// In small letters, unless capital letters count.
    words: Vec<String>,
    /// Whether the last word may go on.
    is_prefix: bool,
    is_exact: bool,
    kind: Option<PartKind>,
    /// The spellings of its longest word in a transcript, one of which is in every line that has the term, and needles
    /// for them.
    literals: Option<Vec<Vec<u8>>>,
    needles: Option<Needles>,
}

impl Terms {
    /// Reads words as they are typed: `word`, `a phrase`, `begin*`, `prompt:word`. A turn must have a share of `min_share`
    /// of the wanted ones, and none of the excluded.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`] if there is no word to search for, or if a turn must have more than 64. Of a longer question, of
    /// which a turn need not have all words, the first ones count.
    pub fn new(wanted: &[String], excluded: &[String], case: Case, min_share: f64) -> Result<Self> {
        let read = |all: &[String]| {
            let mut seen = HashSet::new();
            let new = all.iter().filter(|text| seen.insert(text.as_str()));
            new.filter_map(|text| Term::read(text, case)).collect::<Vec<_>>()
        };
        let (mut wanted, excluded) = (read(wanted), read(excluded));
        // Words that are everywhere say nothing of what is searched for, and would have all lines read.
        if wanted.iter().any(Term::is_telling) {
            wanted.retain(Term::is_telling);
        }
        if excluded.len() > MAX_WORDS || (wanted.len() > MAX_WORDS && min_share >= 1.0) {
            return Err(Error::new(Kind::Usage, format!("more than {MAX_WORDS} words to search for")));
        }
        wanted.truncate(MAX_WORDS);
        let literals: Option<Vec<_>> = wanted.iter().chain(&excluded).map(|term| term.literals.clone()).collect();
        let lines = literals.and_then(|literals| Needles::new(&literals.concat(), true));
        let mut first_bytes = vec![false; 128];
        // Letters beyond ASCII may have a small form in it.
        first_bytes.resize(256, true);
        for first in wanted.iter().chain(&excluded).flat_map(|term| &term.words).filter_map(|word| word.bytes().next())
        {
            first_bytes[usize::from(first.to_ascii_lowercase())] = true;
            first_bytes[usize::from(first.to_ascii_uppercase())] = true;
        }
        let terms = Terms { wanted, excluded, lines, min_share, parts: Parts::ALL, first_bytes };
        match terms.wanted.is_empty() {
            true => Err(Error::new(Kind::Usage, "there is no word to search for")),
            false => Ok(terms),
        }
    }

    /// Returns the same words, which count in some parts alone.
    #[must_use]
    pub fn within(self, parts: Parts) -> Self {
        Terms { parts, ..self }
    }

    /// Returns how many words are wanted.
    pub fn count(&self) -> usize {
        self.wanted.len()
    }

    /// Marks the words that may be in some lines, and those of which a line has one outside secrets, without the others
    /// being read. A word that is too short to be looked for is marked.
    pub(super) fn look_outside_secrets(
        &self,
        bytes: &[u8],
        redactor: &Redactor,
        may_have: &mut [bool],
        has: &mut [bool],
    ) {
        for ((term, may_have), has) in self.wanted.iter().zip(may_have).zip(has).filter(|(_, has)| !**has) {
            let Some(needles) = &term.needles else {
                (*may_have, *has) = (true, true);
                continue;
            };
            let mut from = 0;
            while let Some(hit) = needles.next(bytes, from).filter(|_| !*has) {
                *may_have = true;
                let start = bytes[..hit.start].rfind_byte(b'\n').map_or(0, |at| at + 1);
                let end = bytes[hit.start..].find_byte(b'\n').map_or(bytes.len(), |at| hit.start + at);
                *has = redacted(redactor, &bytes[start..end], Some(needles)).is_some();
                from = end.max(hit.end);
            }
        }
    }

    /// Says of each wanted word whether it may be in a part of a transcript, beyond those that `known` has. Of a word
    /// that is nowhere in the transcript, as `anywhere` says, nothing is looked for.
    pub(super) fn look(&self, text: &[u8], anywhere: &[bool], known: &mut [bool]) {
        for ((term, anywhere), known) in self.wanted.iter().zip(anywhere).zip(known) {
            let is_in = || *anywhere && term.needles.as_ref().is_none_or(|needles| needles.is_in(text));
            *known = *known || is_in();
        }
    }

    /// Says whether so many words may be enough, whatever their weights.
    pub(super) fn may_be_enough(&self, has: &[bool]) -> bool {
        let count = has.iter().filter(|has| **has).count();
        if self.min_share >= 1.0 { count == has.len() } else { 3 * count >= has.len() }
    }

    /// Returns the words of a text that are among these and not in a placeholder of a secret. A text can have millions of
    /// others, and of these [`MAX_KEPT`] each are returned.
    pub(super) fn spoken(&self, text: &str) -> Vec<Word> {
        let (mut found, mut number) = (Vec::new(), 0);
        let mut kept = vec![0; self.wanted.len() + self.excluded.len()];
        let mut hidden = placeholder(text, 0);
        each_word(text, |place| {
            number += 1;
            while let Some(passed) = hidden.as_ref().filter(|hidden| hidden.end <= place.start) {
                hidden = placeholder(text, passed.end);
            }
            let is_hidden = hidden.as_ref().is_some_and(|hidden| hidden.start < place.end);
            let term = if is_hidden { None } else { self.term_of(&text[place.clone()]) };
            if let Some(term) = term.filter(|term| kept[*term] < MAX_KEPT) {
                kept[term] += 1;
                found.push(Word { number, place });
            }
        });
        found
    }

    /// Returns the number of the first term with a word.
    fn term_of(&self, word: &str) -> Option<usize> {
        let may_be = word.bytes().next().is_some_and(|first| self.first_bytes[usize::from(first)]);
        self.wanted.iter().chain(&self.excluded).position(|term| may_be && term.has_word(word))
    }

    /// Returns the places of each wanted word in a text with these words, and whether an excluded one is there.
    pub(super) fn places(&self, kind: PartKind, text: &str, words: &[Word]) -> (Vec<Vec<Range<usize>>>, bool) {
        let of = |term: &Term| match self.parts.has(kind) && term.kind.is_none_or(|wanted| wanted == kind) {
            true => term.places(text, words),
            false => Vec::new(),
        };
        let is_excluded = self.excluded.iter().any(|term| !of(term).is_empty());
        (self.wanted.iter().map(of).collect(), is_excluded)
    }
}

impl Term {
    /// Says whether the word can tell turns apart: it is not too short, and none of those that are in every text.
    fn is_telling(&self) -> bool {
        let is_everywhere = self.words.len() == 1 && EVERYWHERE.contains(&self.words[0].to_lowercase().as_str());
        self.literals.is_some() && !is_everywhere
    }

    fn read(text: &str, case: Case) -> Option<Self> {
        let named = text.split_once(':').and_then(|(name, rest)| Some((PartKind::named(name)?, rest)));
        let (kind, text) = named.map_or((None, text), |(kind, rest)| (Some(kind), rest));
        let (text, is_prefix) = text.strip_suffix('*').map_or((text, false), |text| (text, true));
        let is_exact = match case {
            Case::Smart => text.chars().any(char::is_uppercase),
            Case::Folded => false,
            Case::Exact => true,
        };
        let spell = |word: Range<usize>| if is_exact { text[word].to_owned() } else { text[word].to_lowercase() };
        let mut words: Vec<String> = Vec::new();
        // Of a longer phrase the first words count.
        each_word(text, |word| words.extend((words.len() < MAX_WORDS).then(|| spell(word))));
        // Several words would have to follow each other in the transcript as they are typed.
        let literals = words.iter().filter_map(|word| literal::in_json_folded(word)).max_by_key(|all| all[0].len());
        let needles = literals.as_ref().and_then(|literals| Needles::new(literals, true));
        (!words.is_empty()).then_some(Term { words, is_prefix, is_exact, kind, literals, needles })
    }

    fn places(&self, text: &str, words: &[Word]) -> Vec<Range<usize>> {
        let last = self.words.len() - 1;
        let starts = words.windows(self.words.len()).filter(|window| {
            window[last].number - window[0].number == last
                && window.iter().enumerate().all(|(at, word)| self.is_at(&text[word.place.clone()], at))
        });
        starts.map(|window| window[0].place.start..window[last].place.end).collect()
    }

    /// Says whether a word is one of this phrase.
    fn has_word(&self, found: &str) -> bool {
        (0..self.words.len()).any(|at| self.is_at(found, at))
    }

    /// Says whether a word can stand in one place of this phrase.
    fn is_at(&self, found: &str, at: usize) -> bool {
        let is_open = self.is_prefix && at + 1 == self.words.len();
        if is_open { self.begins(found, &self.words[at]) } else { self.is(found, &self.words[at]) }
    }

    fn is(&self, found: &str, word: &str) -> bool {
        match (self.is_exact, found.is_ascii()) {
            (true, _) => found == word,
            (false, true) => found.eq_ignore_ascii_case(word),
            (false, false) => found.to_lowercase() == word,
        }
    }

    fn begins(&self, found: &str, word: &str) -> bool {
        match self.is_exact {
            true => found.starts_with(word),
            false => found.to_lowercase().starts_with(word),
        }
    }
}

/// Returns the words of a query that was typed as one text, for [`Terms::new`]. A text in quotes is a phrase.
pub fn words_of(query: &str) -> Vec<String> {
    let pieces = query.split('"').enumerate();
    let words = pieces.flat_map(|(number, piece)| match number % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.to_owned()],
    });
    words.filter(|word| !word.trim().is_empty()).collect()
}

/// Returns the first placeholder of a secret behind a place, up to its end.
fn placeholder(text: &str, from: usize) -> Option<Range<usize>> {
    let start = from + text[from..].find(PLACEHOLDER)?;
    Some(start..text[start..].find(']').map_or(text.len(), |at| start + at))
}

/// Visits the words of a text: runs of letters and digits, and each character of a script without spaces between words.
fn each_word(text: &str, mut visit: impl FnMut(Range<usize>)) {
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let is_letter = c.is_alphanumeric();
        let is_single = is_letter && !c.is_ascii() && is_ideograph(c);
        if !is_letter || is_single {
            open.take().into_iter().for_each(|start| visit(start..at));
        }
        if is_single {
            visit(at..at + c.len_utf8());
        } else if is_letter {
            open.get_or_insert(at);
        }
    }
    open.into_iter().for_each(|start| visit(start..text.len()));
}

/// Says whether a character is of a script in which words are not told apart by spaces.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(typed: &str, case: Case, text: &str) -> Vec<String> {
        let terms = Terms::new(&[typed.to_owned()], &[], case, 1.0).expect("a word");
        let (places, _) = terms.places(PartKind::Prompt, text, &terms.spoken(text));
        places[0].iter().map(|place| text[place.clone()].to_owned()).collect()
    }

    #[test]
    fn words_phrases_beginnings_and_parts_are_found() {
        let text = "Back off: the back-off loop, backOff and BACK OFF; reconnecting";
        assert_eq!(found("back off", Case::Smart, text), ["Back off", "back-off", "BACK OFF"]);
        assert_eq!(found("Back", Case::Smart, text), ["Back"]);
        assert_eq!(found("Back", Case::Folded, text).len(), 3);
        assert_eq!(found("reconn*", Case::Smart, text), ["reconnecting"]);
        assert_eq!(found("prompt:loop", Case::Smart, text), ["loop"]);
        assert_eq!(found("answer:loop", Case::Smart, text), [""; 0]);
        assert_eq!(found("数据", Case::Smart, "大数据库"), ["数据"]);
        assert_eq!(found("GRÖSSE", Case::Folded, "größe grösse"), ["grösse"]);
        assert!(Terms::new(&["--".to_owned()], &[], Case::Smart, 1.0).is_err());
    }
}
