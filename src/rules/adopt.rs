//! Taking edits in generated files into the store.
//!
//! Read [`adopt`]. An edit of a file is accepted only as a whole: if one of its lines belongs to nothing in the store, or two
//! files say different things, the file stays as it is, and the command reports it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::generate::{MARK, Passage, Source, stable, stable_digest, stable_lines, whole};
use super::import::front;
use super::registry::{Owned, Registry};
use super::report::Drift;
use super::store::Store;
use super::tree::{Meta, skill_tree, tree_digest};
use super::want::{What, Wishes};
use super::{block, is_id};
use crate::compare::{DiffOp, steps};
use crate::error::Result;
use crate::managed::disk::{self, Node};

/// The keys of Cursor's front matter that a manifest has.
const FIELDS: &[&str] = &["description", "alwaysApply", "globs"];

/// A part of the store that an edit changes.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Part {
    /// The text of a rule.
    Text(String),
    /// The members of a rule in the manifest, by key; `null` removes one.
    Field(String, &'static str),
    /// The heading of `AGENTS.md`.
    Header,
    /// The text below the heading of `AGENTS.md`.
    Preamble,
    /// Whether a rule is left out of `AGENTS.md`.
    Unlisted(String),
}

/// The edited parts, with their new values.
type Edits = BTreeMap<Part, Value>;

/// Takes the edits in files that have drifted into the store, as far as possible. Returns the files whose edits were taken.
/// `registry` is that of the plan which found them, with the paths after links were followed.
///
/// # Errors
///
/// If a file cannot be read.
pub fn adopt(store: &mut Store, registry: &Registry, wishes: &Wishes, drift: &[Drift]) -> Result<BTreeSet<PathBuf>> {
    let (place, mut adopted) = (store.place.clone(), BTreeSet::new());
    let mut edits = Edits::new();
    let mut skills: BTreeMap<String, String> = BTreeMap::new();
    let rules = store.manifest.rules()?;
    // A skill that the same command moves is not where it will be.
    let is_as_kept = |what: &What| !matches!(what, What::Copy { now, source, .. } if now != source);
    let is_known = |part: &Part| match part {
        // The rules of the home that follow those of a repository are not in its store.
        Part::Text(id) | Part::Field(id, _) | Part::Unlisted(id) => rules.iter().any(|rule| rule.id == *id),
        Part::Header | Part::Preamble => true,
    };
    for wanted in &wishes.wanted {
        let has_drifted = |path: &&PathBuf| drift.iter().any(|drift| drift.path == **path);
        let followed = registry.followed.get(&wanted.path);
        let Some(path) = Some(&wanted.path).into_iter().chain(followed).find(has_drifted) else { continue };
        match &wanted.what {
            What::Text { pieces, .. } => {
                let Ok(Node::File { bytes, .. }) = disk::observe(path) else { continue };
                // If the store has changed too, nobody can tell which words are whose.
                let was_written = stable_digest(whole(pieces).as_bytes());
                if registry.get(path).is_none_or(|entry| entry.digest != was_written) {
                    continue;
                }
                let is_block = registry.get(path).is_some_and(|entry| entry.owned == Owned::Block);
                let split = block::split(&bytes);
                if block::open(&bytes).is_some() || is_block && split.is_none() {
                    continue;
                }
                let current = split.map_or(&bytes[..], |split| split.block);
                let Some(found) = edits_in(pieces, current, store.manifest.agents_md_header()) else { continue };
                let file_of = |id: &String| rules.iter().find(|rule| rule.id == *id).map(|rule| &rule.file);
                // Two rules can have one file.
                let is_same = |one: &Part, other: &Part| match (one, other) {
                    (Part::Text(one), Part::Text(other)) => file_of(one) == file_of(other),
                    (one, other) => one == other,
                };
                let fits = |(part, value): (&Part, &Value)| {
                    edits.iter().chain(&found).all(|(other, known)| !is_same(part, other) || known == value)
                };
                if found.keys().all(is_known) && found.iter().all(fits) {
                    edits.extend(found);
                    adopted.insert(path.clone());
                }
            }
            What::Copy { source, .. } | What::Link { target: source, .. }
                if is_as_kept(&wanted.what) && disk::is_directory(source) =>
            {
                let entry = registry.get(path).filter(|entry| entry.owned == Owned::Tree);
                let is_as_written =
                    |digest: &String| skill_tree(&place, source).is_ok_and(|tree| tree_digest(&tree) == *digest);
                // Without the file that makes it a copy, it can be a folder of the user's; words in its place have none in the store.
                let is_copy = matches!(Meta::at(path), Meta::Of { .. });
                if !is_copy || !entry.is_some_and(|entry| is_as_written(&entry.digest)) {
                    continue;
                }
                let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let Ok(digest) = disk::tree(path).map(|tree| tree_digest(&tree)) else { continue };
                if skills.get(&name).is_none_or(|known| *known == digest) {
                    if skills.insert(name.clone(), digest).is_none() {
                        store.replace_skill(&name, path)?;
                    }
                    adopted.insert(path.clone());
                }
            }
            What::Copy { .. } | What::Link { .. } => {}
        }
    }
    for (part, value) in edits {
        match part {
            Part::Text(id) => {
                if let (Some(rule), Some(text)) = (rules.iter().find(|rule| rule.id == id), value.as_str()) {
                    store.set_text(&rule.file, text)?;
                }
                continue;
            }
            Part::Field(id, key) => store.manifest.set_field(&id, key, value),
            Part::Header => store.manifest.set("agents_md", "header", value),
            Part::Preamble => store.manifest.set("agents_md", "preamble", value),
            Part::Unlisted(id) => store.manifest.exclude(&id, "agents-md"),
        }
        store.is_changed = true;
    }
    Ok(adopted)
}

/// Returns the edits in a generated text; `None` if something else was changed in it. `header` is the heading of `AGENTS.md`.
fn edits_in(pieces: &[Passage], current: &[u8], header: &str) -> Option<Edits> {
    let mut edits = Edits::new();
    for (piece, mut text) in pieces.iter().zip(texts(pieces, current)?) {
        match &piece.source {
            Source::Fixed => {}
            Source::Text(id) => {
                if !piece.text.ends_with('\n') && text.ends_with('\n') {
                    text.pop();
                }
                if *text != *piece.text {
                    edits.insert(Part::Text(id.clone()), text.into());
                }
            }
            Source::Front(id) => {
                let (before, after) = (fields(&format!("{}\n", piece.text))?, fields(&text)?);
                let changed = FIELDS.iter().filter(|key| before[**key] != after[**key]);
                edits.extend(changed.map(|key| (Part::Field(id.clone(), key), after[*key].clone())));
            }
            Source::Header if *text != *piece.text => {
                edits.insert(Part::Header, text.trim_matches('\n').into());
            }
            Source::Header => {}
            Source::List => edits.extend(List::parse(&piece.text, header)?.edits(&List::parse(&text, header)?)?),
        }
    }
    Some(edits)
}

/// Returns the text that each piece has in an edited text; `None` if a line was changed that no piece has from the store.
fn texts(pieces: &[Passage], current: &[u8]) -> Option<Vec<String>> {
    // The lines that say who wrote it, and when, are no edit.
    let (old, new) = (whole(pieces), stable(current));
    let starts: Vec<_> = stable_lines(old.as_bytes()).collect();
    let plain = stable(old.as_bytes());
    let old_lines: Vec<&str> = plain.to_str().ok()?.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.to_str().ok()?.split_inclusive('\n').collect();
    // Words directly behind the first line belong to no rule.
    let first = new_lines.iter().position(|line| line.trim_end() == MARK)?;
    if new_lines.get(first + 1).is_some_and(|line| !line.trim().is_empty()) {
        return None;
    }
    let ends = pieces.iter().scan(0, |end, piece| {
        *end += piece.text.len();
        Some(*end)
    });
    let ends: Vec<usize> = ends.collect();
    let owner = |line: usize| {
        let piece = ends.partition_point(|end| *end <= starts[line].start);
        pieces.get(piece).filter(|piece| piece.source != Source::Fixed).map(|_| piece)
    };
    let mut texts = vec![String::new(); pieces.len()];
    for step in steps(&old_lines, &new_lines, None) {
        let (from, to) = (step.old_range(), step.new_range());
        if let DiffOp::Equal { .. } = step {
            for (at, line) in from.zip(&new_lines[to]) {
                if let Some(owner) = owner(at) {
                    texts[owner].push_str(line);
                }
            }
            continue;
        }
        let words = new_lines[to].concat();
        if let Some(first) = from.clone().next() {
            let owner_of_all = owner(first)?;
            if from.clone().any(|line| owner(line) != Some(owner_of_all)) {
                return None;
            }
            texts[owner_of_all].push_str(&words);
            continue;
        }
        // Lines that were added belong to the piece before them, or else to the one behind, over blank lines between.
        let is_blank = |line: &usize| owner(*line).is_none() && old_lines[*line].trim().is_empty();
        let blank_before: Vec<usize> = (0..from.start).rev().take_while(is_blank).collect();
        let blank_behind: Vec<usize> = (from.start..old_lines.len()).take_while(is_blank).collect();
        let lines = |blank: &[usize]| blank.iter().map(|line| old_lines[*line]).collect::<String>();
        let before = (from.start - blank_before.len()).checked_sub(1).and_then(owner);
        let behind = Some(from.start + blank_behind.len()).filter(|line| *line < old_lines.len()).and_then(owner);
        match (before, behind) {
            (Some(before), _) => texts[before].push_str(&(lines(&blank_before) + &words)),
            (None, Some(behind)) => texts[behind].push_str(&(words + &lines(&blank_behind))),
            (None, None) => return None,
        }
    }
    Some(texts)
}

/// Returns what front matter says; `None` if the manifest has no place for one of its lines.
fn fields(text: &str) -> Option<Value> {
    let lines = text.strip_prefix("---\n")?.strip_suffix("---\n")?;
    let has_place = |line: &str| {
        let Some((key, value)) = line.split_once(':') else { return line.trim().is_empty() };
        let is_truth = key != "alwaysApply" || matches!(value.trim(), "" | "true" | "false");
        FIELDS.contains(&key) && is_truth
    };
    lines.lines().all(has_place).then(|| front(text).0)
}

/// The text of `AGENTS.md` without its first lines.
struct List<'t> {
    header: &'t str,
    preamble: String,
    /// The ids of rules, with their summaries.
    items: Vec<(&'t str, &'t str)>,
}

impl<'t> List<'t> {
    /// Parses a list. `header` is the heading that it had.
    fn parse(text: &'t str, header: &str) -> Option<Self> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let items: Vec<_> = lines.iter().map(|line| item(line)).collect();
        let first = items.iter().position(Option::is_some).unwrap_or(lines.len());
        let behind = items.iter().rposition(Option::is_some).map_or(lines.len(), |last| last + 1);
        let is_item_or_blank = |at: usize| items[at].is_some() || lines[at].trim().is_empty();
        if !(first..behind).all(is_item_or_blank) {
            return None;
        }
        let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
        let (above, below) = (&text[..length(&lines[..first])], &text[length(&lines[..behind])..]);
        let above = above.trim_matches('\n');
        let rest = above.strip_prefix(header).filter(|rest| rest.is_empty() || rest.starts_with('\n'));
        let (header, rest) = match rest {
            Some(rest) => (&above[..above.len() - rest.len()], rest),
            None => above.split_at(above.find('\n').unwrap_or(above.len())),
        };
        let parts = [rest, below].map(|part| part.trim_matches('\n'));
        let preamble = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        Some(List { header, preamble, items: items.into_iter().flatten().collect() })
    }

    /// Returns what differs in another list; `None` if it has other rules, or the rules in another order.
    fn edits(&self, new: &List<'_>) -> Option<Edits> {
        let mut edits = Edits::new();
        let mut left = new.items.iter().peekable();
        for (id, summary) in &self.items {
            match left.next_if(|(other, _)| other == id) {
                None => drop(edits.insert(Part::Unlisted((*id).to_owned()), true.into())),
                Some((_, other)) if other == summary => {}
                Some((_, other)) => drop(edits.insert(Part::Field((*id).to_owned(), "description"), json!(other))),
            }
        }
        if left.next().is_some() {
            return None;
        }
        if self.header != new.header {
            edits.insert(Part::Header, json!(new.header));
        }
        if self.preamble != new.preamble {
            edits.insert(Part::Preamble, json!(new.preamble));
        }
        Some(edits)
    }
}

/// Returns the id and the summary of a rule, if a line has them.
fn item(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.trim_end().split_once(". **")?;
    let (id, summary) = rest.split_once("** -- ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && is_id(id)).then_some((id, summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, source: Source) -> Passage {
        Passage { text: text.into(), source }
    }

    const HEAD: &str = "# Generated from ~/.ai-agent/ -- do not edit directly\n# Last synced: 2026-01-02T03:04:07Z\n";

    fn edited(pieces: &[Passage], from: &str, to: &str) -> Option<Edits> {
        let text = whole(pieces);
        assert!(text.contains(from), "{text}");
        edits_in(pieces, text.replace(from, to).as_bytes(), "# AGENTS Rules")
    }

    fn one(part: Part, value: impl Into<Value>) -> Option<Edits> {
        Some(Edits::from([(part, value.into())]))
    }

    #[test]
    fn an_edit_of_a_line_belongs_to_the_rule_that_has_the_line() {
        let pieces = [
            piece(&format!("{HEAD}\n\n"), Source::Fixed),
            piece("# A\n\none\n", Source::Text("a".into())),
            piece("\n\n", Source::Fixed),
            piece("# B\ntwo\n", Source::Text("b".into())),
            piece("\n", Source::Fixed),
        ];
        let text = |id: &str, text: &str| one(Part::Text(id.into()), text);
        assert_eq!(edited(&pieces, "one\n", "one\nand more\n"), text("a", "# A\n\none\nand more\n"));
        assert_eq!(edited(&pieces, "two", "2\n3"), text("b", "# B\n2\n3\n"));
        assert_eq!(edited(&pieces, "two\n\n", "two\n\nat the end\n"), text("b", "# B\ntwo\n\nat the end\n"));
        assert_eq!(edited(&pieces, "# A\n", "first of all\n# A\n"), text("a", "first of all\n# A\n\none\n"));
        assert_eq!(edited(&pieces, "03:04:07", "11:11:11"), Some(Edits::new()));
        assert_eq!(edited(&pieces, "# Generated", "# generated"), None, "the first lines are no rule's");
    }

    #[test]
    fn an_edit_of_front_matter_changes_what_the_manifest_says_of_the_rule() {
        let front = "---\ndescription: \"how code looks\"\nalwaysApply: true\n---";
        let pieces = [
            piece(front, Source::Front("a".into())),
            piece(&format!("\n\n{HEAD}\n"), Source::Fixed),
            piece("A\n", Source::Text("a".into())),
        ];
        let field = |key, value: Value| one(Part::Field("a".into(), key), value);
        assert_eq!(edited(&pieces, "\"how code looks\"", "looks"), field("description", json!("looks")));
        assert_eq!(edited(&pieces, "true\n", "false\nglobs: *.rs\n").map(|edits| edits.len()), Some(2));
        assert_eq!(edited(&pieces, "alwaysApply: true\n", ""), field("alwaysApply", Value::Null));
        assert_eq!(edited(&pieces, "true\n", "true\nmine: x\n"), None, "the manifest has no place for it");
        assert_eq!(edited(&pieces, "true\n", "perhaps\n"), None);
        assert_eq!(edited(&pieces, "---\nd", "d"), None);
        assert_eq!(edited(&pieces, "\nA\n", "\nA\nB\n"), one(Part::Text("a".into()), "A\nB\n"));
    }

    #[test]
    fn an_edit_of_the_list_changes_the_header_the_preamble_or_what_rules_are_about() {
        let list = "# AGENTS Rules\n\nsome words\n\n1. **a** -- first\n2. **b** -- second\n3. **c** -- third\n";
        let pieces = [piece(&format!("{HEAD}\n"), Source::Fixed), piece(list, Source::List)];
        assert_eq!(edited(&pieces, "# AGENTS Rules", "# Ours"), one(Part::Header, "# Ours"));
        assert_eq!(edited(&pieces, "some words", "other words\n\nmore"), one(Part::Preamble, "other words\n\nmore"));
        assert_eq!(edited(&pieces, "some words\n\n", ""), one(Part::Preamble, ""));
        assert_eq!(edited(&pieces, "third\n", "third\n\nbehind\n"), one(Part::Preamble, "some words\n\nbehind"));
        let field = one(Part::Field("b".into(), "description"), "another");
        assert_eq!(edited(&pieces, "second", "another"), field);
        assert_eq!(edited(&pieces, "2. **b** -- second\n3", "2"), one(Part::Unlisted("b".into()), true));
        assert_eq!(edited(&pieces, "2. **b** -- second\n", ""), one(Part::Unlisted("b".into()), true));
        assert_eq!(
            edited(&pieces, "3. **c** -- third\n", "3. **c** -- third\n4. **d** -- new\n"),
            None,
            "no such rule"
        );
        let turned =
            edited(&pieces, "1. **a** -- first\n2. **b** -- second\n", "1. **b** -- second\n2. **a** -- first\n");
        assert_eq!(turned, None, "the order is that of the manifest");
        assert_eq!(edited(&pieces, "2. **b**", "between\n2. **b**"), None);
        assert_eq!(edited(&pieces, "# Generated", "mine\n# Generated"), None);
    }
}
