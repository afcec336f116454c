//! Leading the edits in a generated text back to the rules that they are in.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;

use super::generate::{Piece, stable, whole};

/// Returns the new texts of the rules that were changed in a generated text; `None` if something else was changed in it.
pub fn texts(pieces: &[Piece], current: &[u8]) -> Option<BTreeMap<String, String>> {
    // The lines that say who wrote it, and when, are no edit.
    let (old, new) = (stable(whole(pieces).as_bytes()), stable(current));
    let (old, new) = (old.to_str().ok()?, new.to_str().ok()?);
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let owners = owners(pieces, &old_lines);
    let mut texts: BTreeMap<&str, String> =
        pieces.iter().filter_map(|piece| Some((piece.rule.as_deref()?, String::new()))).collect();
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &old_lines, &new_lines) {
        let (tag, from, to) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            for (at, line) in from.zip(&new_lines[to]) {
                if let Some(owner) = owners[at] {
                    texts.get_mut(owner)?.push_str(line);
                }
            }
            continue;
        }
        // What is added belongs to the rule before it, or else behind it.
        let before = from.start.checked_sub(1).and_then(|at| owners[at]);
        let behind = owners.get(from.end).copied().flatten();
        let owner = match from.is_empty() {
            true => before.or(behind)?,
            false => {
                let owner = owners[from.start]?;
                if owners[from].iter().any(|other| *other != Some(owner)) {
                    return None;
                }
                owner
            }
        };
        texts.get_mut(owner)?.push_str(&new_lines[to].concat());
    }
    let mut changed = BTreeMap::new();
    for piece in pieces {
        let Some(id) = &piece.rule else { continue };
        let mut text = texts.remove(id.as_str())?;
        if !piece.text.ends_with('\n') && text.ends_with('\n') {
            text.pop();
        }
        if text != piece.text {
            changed.insert(id.clone(), text);
        }
    }
    Some(changed)
}

/// Returns the rule that each line begins in.
fn owners<'p>(pieces: &'p [Piece], lines: &[&str]) -> Vec<Option<&'p str>> {
    // Only the first piece has lines that are not in `lines`: its length is what is left.
    let all: usize = lines.iter().map(|line| line.len()).sum();
    let rest: usize = pieces.iter().skip(1).map(|piece| piece.text.len()).sum();
    let mut ends = Vec::new();
    let mut end = 0;
    for (at, piece) in pieces.iter().enumerate() {
        end += if at == 0 { all.saturating_sub(rest) } else { piece.text.len() };
        ends.push((end, piece.rule.as_deref()));
    }
    let mut start = 0;
    let owner = |line: &&str| {
        let owner = ends.iter().find(|(end, _)| start < *end).and_then(|(_, rule)| *rule);
        start += line.len();
        owner
    };
    lines.iter().map(owner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces() -> Vec<Piece> {
        let piece = |text: &str, rule: Option<&str>| Piece { text: text.into(), rule: rule.map(str::to_owned) };
        vec![
            piece("# Generated from ~/.ai-agent/ -- do not edit directly\n# Last synced: x\n\n\n", None),
            piece("# A\n\none\n", Some("a")),
            piece("\n\n", None),
            piece("# B\ntwo", Some("b")),
            piece("\n", None),
        ]
    }

    #[test]
    fn an_edit_is_led_back_to_its_rule() {
        let text = whole(&pieces());
        let edited = |from: &str, to: &str| texts(&pieces(), text.replace(from, to).as_bytes());
        let one = |id: &str, text: &str| Some(BTreeMap::from([(id.to_owned(), text.to_owned())]));
        assert_eq!(edited("one\n", "one\nand more\n"), one("a", "# A\n\none\nand more\n"));
        assert_eq!(edited("two", "2\n3"), one("b", "# B\n2\n3"));
        assert_eq!(edited("synced: x", "synced: y"), Some(BTreeMap::new()));
        assert_eq!(edited("# Generated", "# generated"), None, "the head is not a rule's");
    }
}
