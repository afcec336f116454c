//! Literals, one of which is in every match of a pattern, and their spellings in a transcript.

use regex_syntax::hir::{Hir, HirKind};

/// More alternatives than this are not looked for.
const MAX_ALTERNATIVES: usize = 64;
/// A shorter literal is in nearly every transcript.
const MIN_BYTES: usize = 3;

/// Returns literals of which one is in every match of a pattern; `None` if there are no such literals.
pub fn required(pattern: &Hir) -> Option<Vec<Vec<u8>>> {
    match pattern.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => of_parts(parts),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(required(branch)?);
            }
            (all.len() <= MAX_ALTERNATIVES).then_some(all)
        }
        HirKind::Repetition(_) | HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) => None,
    }
}

/// Returns the best literals of parts that follow each other.
fn of_parts(parts: &[Hir]) -> Option<Vec<Vec<u8>>> {
    let mut best: Option<Vec<Vec<u8>>> = None;
    let mut propose = |literals: Vec<Vec<u8>>| {
        if !literals.is_empty() && best.as_ref().is_none_or(|best| shortest(&literals) > shortest(best)) {
            best = Some(literals);
        }
    };
    let mut run = Vec::new();
    for part in parts {
        match part.kind() {
            HirKind::Literal(literal) => run.extend_from_slice(&literal.0),
            // They stand between two characters and match neither.
            HirKind::Look(_) | HirKind::Empty => {}
            _ => {
                propose(vec![std::mem::take(&mut run)]);
                required(part).into_iter().for_each(&mut propose);
            }
        }
    }
    propose(vec![run]);
    best
}

fn shortest(literals: &[Vec<u8>]) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(0)
}

/// Returns, for each literal, its spellings in a transcript, however JSON was written. `None` if one of them is too
/// short for that.
pub fn in_json(literals: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let mut needles = Vec::new();
    for literal in literals {
        needles.extend(spellings(&longest_run(&String::from_utf8_lossy(literal), is_kept)?));
    }
    Some(needles)
}

/// Returns the spellings in a transcript of a literal whose letters may be small or capital.
pub fn in_json_folded(literal: &str) -> Option<Vec<Vec<u8>>> {
    let has_no_case = |c: char| c.is_ascii() || (c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]));
    Some(spellings(&longest_run(literal, |c| is_kept(c) && has_no_case(c))?))
}

/// Returns the longest run of characters of which JSON writers either all write as they are or all escape.
fn longest_run(text: &str, is_wanted: impl Fn(char) -> bool) -> Option<String> {
    let (mut best, mut run, mut plane) = (String::new(), String::new(), 0);
    for c in text.chars() {
        // Some writers escape only what takes two units of UTF-16.
        let own = if c.is_ascii() { 0 } else { c.len_utf16() };
        if !is_wanted(c) || (own > 0 && plane > 0 && own != plane) {
            keep_longer(&mut best, &mut run);
            plane = 0;
        }
        if is_wanted(c) {
            run.push(c);
            plane = plane.max(own);
        }
    }
    keep_longer(&mut best, &mut run);
    (best.len() >= MIN_BYTES).then_some(best)
}

fn keep_longer(best: &mut String, run: &mut String) {
    if run.len() > best.len() {
        std::mem::swap(best, run);
    }
    run.clear();
}

/// Says whether every JSON writer writes a character as it is, or as its code. Writers differ about `/`, quotes, `<`, `>`,
/// `&`, `'`, `+`, `=` and the backquote; brackets can come from a parser.
fn is_kept(c: char) -> bool {
    match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || " _.,:;()*#@!?|^$%~{}-".contains(c),
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffd}' | '\u{feff}' => false,
        _ => true,
    }
}

/// Returns the ways in which JSON writers write a run.
fn spellings(run: &str) -> Vec<Vec<u8>> {
    if run.is_ascii() {
        return vec![run.as_bytes().to_vec()];
    }
    let escaped = |backslash: &str, is_upper: bool| {
        let mut text = String::new();
        for c in run.chars() {
            if c.is_ascii() {
                text.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                text += backslash;
                text += &if is_upper { format!("u{unit:04X}") } else { format!("u{unit:04x}") };
            }
        }
        text.into_bytes()
    };
    // Some agents write the input of a call as a string of JSON: its escapes are escaped again.
    let all = [(r"\", false), (r"\", true), (r"\\", false), (r"\\", true)];
    let escaped = all.map(|(backslash, is_upper)| escaped(backslash, is_upper));
    [vec![run.as_bytes().to_vec()], escaped.into()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(pattern: &str) -> Option<Vec<String>> {
        let hir =
            regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).expect("a pattern");
        Some(required(&hir)?.into_iter().map(|literal| String::from_utf8(literal).expect("text")).collect())
    }

    #[test]
    fn the_literal_of_a_pattern_is_in_all_its_matches() {
        let some = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(literals("back ?off"), some(&["back"]));
        assert_eq!(literals("a(?:bc)+reconnect"), some(&["reconnect"]));
        assert_eq!(literals("fn (main|start)\\("), some(&["main", "start"]));
        assert_eq!(literals("^foo$"), some(&["foo"]));
        for open in ["\\d{4}", "foo|", "(foo)?", "a*|b", ""] {
            assert_eq!(literals(open), None, "{open}");
        }
    }

    #[test]
    fn only_what_every_writer_writes_alike_is_looked_for() {
        let looked_for = |text: &str| {
            in_json(&[text.as_bytes().to_vec()])
                .map(|all| all.into_iter().map(|one| String::from_utf8(one).expect("text")).collect::<Vec<_>>())
        };
        assert_eq!(looked_for("src/main.rs"), Some(vec!["main.rs".to_owned()]));
        assert_eq!(looked_for("a<b>&'c"), None);
        assert_eq!(looked_for("ab"), None);
        assert_eq!(
            looked_for("größe"),
            Some(vec![
                "größe".into(),
                r"gr\u00f6\u00dfe".into(),
                r"gr\u00F6\u00DFe".into(),
                r"gr\\u00f6\\u00dfe".into(),
                r"gr\\u00F6\\u00DFe".into(),
            ])
        );
        let [face, upper] = [r"\ud83d\ude00", r"\uD83D\uDE00"].map(str::to_owned);
        let twice = |text: &str| text.replace('\\', r"\\");
        let both = vec!["😀".to_owned(), face.clone(), upper.clone(), twice(&face), twice(&upper)];
        assert_eq!(looked_for("é😀"), Some(both));
        assert_eq!(in_json_folded("größe"), None, "an umlaut has two forms, and what is left is too short");
        assert_eq!(in_json_folded("数据").map(|all| all.len()), Some(5));
    }
}
