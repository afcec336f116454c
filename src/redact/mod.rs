//! Redaction: replaces secrets by placeholders before anything is stored.
//!
//! Read [`Redactor::redact`]. The result for a line depends only on that line (and, for a key in a plain-text
//! transcript, on the lines of that key) and on the settings. So it is deterministic, and a longer transcript redacts
//! to the same beginning. Line ends are kept, and JSON stays valid. This room does not know Git, agents or files.
//!
//! `index` finds the words of all rules in a text, and the [`Rule`] of a word finds the secret beside it: `table` has the
//! rules, `shape` how each is matched. `view` undoes escapes first; `lines` keeps findings inside of strings.

mod assigned;
mod class;
mod command;
mod encoded;
mod example;
mod index;
mod key;
mod lines;
mod parts;
mod piece;
mod rules;
mod shape;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod value;
mod view;
mod watch;
mod web;
mod words;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::time::Instant;

use bstr::ByteSlice as _;
use regex::bytes::{Regex, RegexBuilder};
use sha2::{Digest as _, Sha256};

use self::class::{URL64, is_in};
pub use self::example::expand;
use self::index::Index;
use self::lines::{Block, line_end, put_placeholders, seems_json, settle};
pub use self::parts::{KEY_PART, is_like_key_line, without_key_parts};
pub use self::rules::Rule;
use self::shape::Shape;
pub use self::table::RULES;
use self::text::Text;
use self::view::{View, next_hidden, with_ends_of_strings};
use self::watch::Watch;
use crate::error::{Error, Result};
use crate::hex::hex;

/// Lines longer than this are examined in pieces, so that memory is bounded.
const PIECE_BYTES: usize = 1 << 20;
/// The overlap of two pieces. A longer secret that is cut by the end of a piece may be found in two parts.
const OVERLAP_BYTES: usize = 64 << 10;
/// Longer than any word of a rule.
const LONGEST_WORD_BYTES: usize = 64;
/// A key in plain text that is longer than this is not a key.
const MAX_BLOCK_BYTES: usize = 64 << 10;

/// Patterns to redact in addition to the rules, and exceptions.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Nothing is redacted at all.
    pub is_off: bool,
    /// Nothing is redacted but what the additional patterns match.
    pub has_patterns_alone: bool,
    /// Additional patterns, each with its name in the placeholder.
    pub patterns: Vec<(String, String)>,
    /// Patterns of values that are not secrets.
    pub allowed: Vec<String>,
    /// SHA-256, in hex, of values that are not secrets.
    pub allowed_sha256: Vec<String>,
    /// The home directory, which is replaced by `~`; `None` to keep it.
    pub home: Option<String>,
    /// Whether e-mail addresses are redacted.
    pub has_email: bool,
    /// Whether telephone numbers are redacted.
    pub has_phone: bool,
}

/// A secret in a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: Cow<'static, str>,
    /// Where it is.
    pub span: Range<usize>,
}

/// Finds secrets and replaces them by placeholders.
pub struct Redactor {
    is_off: bool,
    index: Index,
    patterns: Vec<(String, Regex)>,
    allowed: Vec<Regex>,
    allowed_sha256: HashSet<String>,
    home: Option<String>,
}

/// The findings in one line, each with the rank of its rule.
#[derive(Default)]
struct LineFindings {
    findings: Vec<(usize, Finding)>,
    /// Whether a key begins whose further lines follow.
    is_open: bool,
    /// Whether the line has only the first line of that key.
    is_bare: bool,
}

/// The spans to replace in one line, in order.
struct Settled {
    findings: Vec<Finding>,
    is_open: bool,
    is_bare: bool,
}

impl Redactor {
    /// Makes a redactor. Costs about thirty microseconds, plus compiling the additional patterns.
    ///
    /// # Errors
    ///
    /// If a pattern is no regular expression. Then nothing may be stored.
    pub fn new(settings: &Settings) -> Result<Self> {
        let compile = |name: &str, pattern: &str| {
            // In a message each line begins and ends, as in grep; what is allowed is one finding as a whole.
            let has_lines = name != "allow";
            RegexBuilder::new(pattern).unicode(false).multi_line(has_lines).build().map_err(|error| {
                let reason =
                    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let key = if name == "allow" { "allow" } else { "pattern" };
                Error::other(format!("bad pattern for '{name}'"))
                    .because(reason)
                    .hint(format!("git config --show-origin --get-all shiftlog.redact.{key}"))
            })
        };
        let mut patterns = Vec::new();
        for (name, pattern) in &settings.patterns {
            patterns.push((name.clone(), compile(name, pattern)?));
        }
        if settings.has_email {
            let email = r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9][A-Za-z0-9.-]{0,252}\.[A-Za-z]{2,24}";
            patterns.push(("email".to_owned(), compile("email", email)?));
        }
        if settings.has_phone {
            let phone =
                r"(?:\+|\b00)[1-9][0-9]{0,2}[ .\-]?(?:\(0?[0-9]{1,4}\)[ .\-]?)?(?:[0-9]{2,4}[ .\-]?){2,4}[0-9]{2,4}\b";
            patterns.push(("phone".to_owned(), compile("phone", phone)?));
        }
        let allowed = settings.allowed.iter().map(|pattern| compile("allow", pattern)).collect::<Result<_>>()?;
        Ok(Redactor {
            is_off: settings.is_off,
            index: Index::new(if settings.has_patterns_alone { &[] } else { RULES }),
            patterns,
            allowed,
            allowed_sha256: settings.allowed_sha256.iter().map(|hex| hex.to_ascii_lowercase()).collect(),
            home: settings.home.clone().filter(|home| home.len() > 1),
        })
    }

    /// Says whether redaction is switched off.
    pub fn is_off(&self) -> bool {
        self.is_off
    }

    /// Redacts whole lines. Returns the redacted text and how many bytes of `text` it covers.
    ///
    /// It covers all bytes, unless the text ends within a key in plain text: then it ends before that key, and the rest
    /// must be passed again with the lines that follow. Linear in the length of the text. A text without any word of a
    /// rule is searched at more than a gigabyte a second and returned unchanged.
    pub fn redact<'t>(&self, lines: &'t [u8]) -> (Cow<'t, [u8]>, usize) {
        self.redact_watched(lines, &mut Watch::new(None)).expect("nothing limits the time")
    }

    /// Redacts a whole text, which then ends with a line end. A key that has no end is left out.
    pub fn redact_text(&self, text: &str) -> String {
        let lines = format!("{}\n", text.trim_end_matches('\n'));
        String::from_utf8_lossy(&self.redact(lines.as_bytes()).0).into_owned()
    }

    /// Returns a text without secrets: one that has none as it is. A key that has no end is left out.
    pub fn without_secrets<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let lines = format!("{text}\n");
        match self.redact(lines.as_bytes()) {
            (Cow::Borrowed(_), dealt) if dealt == lines.len() => Cow::Borrowed(text),
            (redacted, _) => {
                let redacted = String::from_utf8_lossy(&redacted);
                Cow::Owned(redacted.strip_suffix('\n').unwrap_or(&redacted).to_owned())
            }
        }
    }

    /// Redacts as [`redact`](Self::redact) does, until `deadline`.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`](crate::error::Kind::Busy) if the deadline passes before the end. Then nothing of the text may be
    /// stored.
    pub fn redact_until<'t>(&self, lines: &'t [u8], deadline: Instant) -> Result<(Cow<'t, [u8]>, usize)> {
        self.redact_watched(lines, &mut Watch::new(Some(deadline)))
    }

    fn redact_watched<'t>(&self, lines: &'t [u8], watch: &mut Watch) -> Result<(Cow<'t, [u8]>, usize)> {
        let mut redacted = Vec::new();
        let mut copied = 0;
        let mut dealt = lines.len();
        self.each_finding(lines, watch, |line, findings, is_whole| {
            if is_whole {
                redacted.extend_from_slice(&lines[copied..line.start]);
                put_placeholders(&lines[line.clone()], findings, &mut redacted);
                copied = line.end;
            } else {
                dealt = line.start;
            }
        })?;
        if copied == 0 {
            return Ok((Cow::Borrowed(&lines[..dealt]), dealt));
        }
        redacted.extend_from_slice(&lines[copied..dealt]);
        Ok((Cow::Owned(redacted), dealt))
    }

    /// Returns how many bytes are examined to redact some lines.
    #[cfg(test)]
    fn work(&self, lines: &[u8]) -> usize {
        let mut watch = Watch::new(None);
        self.redact_watched(lines, &mut watch).expect("nothing limits the time");
        watch.spent
    }

    /// Returns the findings in a text, each with the number of its line, counted from 1.
    pub fn scan(&self, text: &[u8]) -> Vec<(usize, Finding)> {
        let mut found = Vec::new();
        let (mut number, mut counted) = (1, 0);
        let all = self.each_finding(text, &mut Watch::new(None), |line, findings, _| {
            number += text[counted..line.start].iter().filter(|byte| **byte == b'\n').count();
            counted = line.start;
            found.extend(findings.iter().map(|finding| {
                let span = line.start + finding.span.start..line.start + finding.span.end;
                (number, Finding { rule: finding.rule.clone(), span })
            }));
        });
        all.expect("nothing limits the time");
        found
    }

    /// Visits the lines with findings, in order. The last one is visited with `false` if a key begins there that does
    /// not end in this text.
    fn each_finding(
        &self,
        text: &[u8],
        watch: &mut Watch,
        mut visit: impl FnMut(Range<usize>, &[Finding], bool),
    ) -> Result<()> {
        if self.is_off {
            return Ok(());
        }
        let mut at = 0;
        while let Some(line) = self.next_suspect(text, at, watch)? {
            let mut found = self.line(&text[line.clone()], watch)?;
            at = line.end;
            // A line of JSON contains whole strings; only in plain text can a key continue in the next line.
            let block = found.is_open.then(|| Block::after(text, line.end));
            if let Some(Block { end, is_over: false }) = block
                && end - line.start < MAX_BLOCK_BYTES
            {
                visit(line, &found.findings, false);
                return Ok(());
            }
            // The text only mentions a key's first line.
            let is_empty = |block: &Block| text[line.end..block.end].iter().all(u8::is_ascii_whitespace);
            if found.is_bare && block.as_ref().is_some_and(is_empty) {
                found.findings.pop();
            }
            if !found.findings.is_empty() {
                visit(line, &found.findings, true);
            }
            while block.as_ref().is_some_and(|block| at < block.end) {
                let line = at..line_end(text, at);
                let content = text[line.clone()].trim_ascii_end().len();
                at = line.end;
                if content > 0 {
                    let whole = Finding { rule: "private-key".into(), span: 0..content };
                    visit(line, &[whole], true);
                }
            }
        }
        Ok(())
    }

    /// Returns the next line, with its line end, that can have a secret.
    fn next_suspect(&self, text: &[u8], from: usize, watch: &mut Watch) -> Result<Option<Range<usize>>> {
        let mut suspect = None;
        if !self.patterns.is_empty() || self.home.is_some() {
            suspect = (from < text.len()).then_some(from);
        } else {
            let mut start = from;
            // In pieces, to check the deadline between them. They overlap, because a word can cross their ends.
            while suspect.is_none() && start < text.len() {
                let end = text.len().min(start + PIECE_BYTES);
                let seen = text.len().min(end + LONGEST_WORD_BYTES);
                self.index.each(&text[..seen], start, |at, word| {
                    let end = at + word.text.len();
                    let is_suspect = RULES.get(word.rule).is_none_or(|rule| rule.shape.is_plausible(text, end));
                    is_suspect.then(|| {
                        suspect = Some(at);
                        text.len()
                    })
                });
                let limit = suspect.unwrap_or(end);
                watch.spend(limit - start)?;
                suspect = next_hidden(&text[..limit], start).or(suspect);
                start = end;
            }
        }
        let Some(at) = suspect else { return Ok(None) };
        let start = text[from..at].iter().rposition(|byte| *byte == b'\n').map_or(from, |before| from + before + 1);
        Ok(Some(start..line_end(text, at)))
    }

    /// Finds the secrets in one line.
    fn line(&self, line: &[u8], watch: &mut Watch) -> Result<Settled> {
        let mut found = LineFindings::default();
        let seems_json = seems_json(line);
        let mut start = 0;
        loop {
            let end = line.len().min(start + PIECE_BYTES);
            Look {
                redactor: self,
                chain: Vec::new(),
                offset: start,
                is_last: end == line.len(),
                found: &mut found,
                watch,
            }
            .piece(&line[start..end], seems_json)?;
            if end == line.len() {
                break;
            }
            // A piece must not end within an escape.
            start = end - OVERLAP_BYTES;
            while start + 1 < end && line[start - 1] == b'\\' {
                start += 1;
            }
        }
        let (findings, is_json) = settle(line, found.findings);
        Ok(Settled { findings, is_open: found.is_open && !is_json, is_bare: found.is_bare && !is_json })
    }

    fn is_allowed(&self, value: &[u8]) -> bool {
        if self.allowed.iter().any(|pattern| pattern.is_match(value)) {
            return true;
        }
        !self.allowed_sha256.is_empty() && { self.allowed_sha256.contains(&hex(&Sha256::digest(value))) }
    }
}

/// Says whether a position is within an existing placeholder.
fn is_in_placeholder(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(LONGEST_WORD_BYTES)..at];
    before.rfind("[REDACTED:").is_some_and(|start| !before[start..].contains(&b']'))
}

/// A piece of a line that is examined.
struct Look<'l, 'w> {
    redactor: &'l Redactor,
    /// The views from the piece to the text that is examined.
    chain: Vec<View>,
    /// The position in the line at which the piece begins.
    offset: usize,
    /// Whether the line ends with the piece.
    is_last: bool,
    found: &'l mut LineFindings,
    watch: &'w mut Watch,
}

impl Look<'_, '_> {
    /// Examines a piece: a line of JSON with its escapes undone, a line of plain text as it is; then with further
    /// escapes undone.
    fn piece(&mut self, piece: &[u8], seems_json: bool) -> Result<()> {
        let view = View::unescaped(piece).filter(|_| seems_json);
        match view {
            Some(view) => self.view(view)?,
            None => self.text(piece, self.is_last)?,
        }
        let source = self.chain.last().map_or(piece, |view| &view.text);
        if let Some(view) = View::flattened(source) {
            self.view(view)?;
        }
        // Each view builds on the views before it.
        for undo in [View::of_entities, View::percent_decoded] {
            let view = undo(self.chain.last().map_or(piece, |view| &view.text));
            if let Some(view) = view {
                self.view(view)?;
            }
        }
        for leave_out in [View::uncoloured, View::visible, View::as_read, encoded::decoded] {
            self.aside(leave_out(self.chain.last().map_or(piece, |view| &view.text)))?;
        }
        // A line end between two secrets that were found has not cut one in two.
        let spans = || self.found.findings.iter().map(|(_, finding)| &finding.span);
        let (starts, ends): (HashSet<usize>, HashSet<usize>) = spans().map(|span| (span.start, span.end)).unzip();
        let is_end = |at: usize| {
            let line_end = self.source(at..at + 1);
            ends.contains(&line_end.start) && starts.contains(&line_end.end)
        };
        self.aside(View::unwrapped(self.chain.last().map_or(piece, |view| &view.text), is_end))
    }

    /// Examines a view that no other view builds on.
    fn aside(&mut self, view: Option<View>) -> Result<()> {
        if let Some(view) = view {
            self.view(view)?;
            self.chain.pop();
        }
        Ok(())
    }

    fn view(&mut self, view: View) -> Result<()> {
        self.chain.push(view);
        let text = std::mem::take(&mut self.chain.last_mut().expect("it was put there").text);
        let seen = self.text(&text, false);
        self.chain.last_mut().expect("it was put there").text = text;
        seen
    }

    /// Finds the secrets in one text.
    fn text(&mut self, bytes: &[u8], is_last: bool) -> Result<()> {
        self.watch.spend(bytes.len())?;
        let redactor = self.redactor;
        let mut text = Text::new(bytes);
        let mut spans = Vec::new();
        let mut has_privates = false;
        let mut is_late = None;
        let mut worked = 0;
        redactor.index.each(bytes, 0, |at, word| {
            let rule = RULES.get(word.rule)?;
            if rule.is_exact() && !bytes[at..].starts_with(word.text.as_bytes()) {
                return None;
            }
            // The bytes that rules read count too; each word counts as sixteen bytes.
            text.work += 16;
            if let Err(error) = self.watch.spend(text.work - std::mem::replace(&mut worked, text.work)) {
                is_late = Some(error);
                return Some(bytes.len());
            }
            spans.clear();
            let found = if matches!(rule.shape, Shape::Private) {
                if !std::mem::replace(&mut has_privates, true) {
                    key::privates(&mut text, at, &mut spans);
                }
                None
            } else {
                rule.shape.find(&mut text, at..at + word.text.len(), &mut spans)
            };
            spans.retain(|span| !redactor.is_allowed(&bytes[span.clone()]));
            for span in spans.drain(..).filter(|span| !is_in_placeholder(bytes, span.start)) {
                let span = self.source(span);
                self.found.findings.push((word.rule, Finding { rule: rule.name.into(), span }));
            }
            let found = found?;
            self.found.is_open |= found.is_open && is_last;
            self.found.is_bare |= found.is_bare && is_last;
            Some(found.next.max(at + 1))
        });
        if let Some(error) = is_late {
            return Err(error);
        }
        let has_ends = |pattern: &Regex| pattern.as_str().contains(['^', '$']);
        let has_any = redactor.patterns.iter().any(|(_, pattern)| has_ends(pattern));
        let lines = if has_any { with_ends_of_strings(bytes) } else { Vec::new() };
        for (name, pattern) in &redactor.patterns {
            let ends = if has_ends(pattern) { &lines[..] } else { &[] };
            let hits = pattern.find_iter(bytes).chain(pattern.find_iter(ends)).map(|hit| hit.range());
            for hit in hits.filter(|hit| !hit.is_empty() && !redactor.is_allowed(&bytes[hit.clone()])) {
                let span = self.source(hit);
                self.found.findings.push((RULES.len(), Finding { rule: name.clone().into(), span }));
            }
        }
        if let Some(home) = &redactor.home {
            for at in bytes.find_iter(home.as_bytes()) {
                let end = at + home.len();
                if !bytes.get(end).is_some_and(|byte| is_in(*byte, URL64)) {
                    let span = self.source(at..end);
                    self.found.findings.push((RULES.len(), Finding { rule: "home".into(), span }));
                }
            }
        }
        Ok(())
    }

    /// Returns the span of the line that a span of the last view was made of.
    fn source(&self, span: Range<usize>) -> Range<usize> {
        let span = self.chain.iter().rev().fold(span, |span, view| view.source(span));
        span.start + self.offset..span.end + self.offset
    }
}
