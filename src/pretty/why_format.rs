//! `--format=` of `why` and `blame`: placeholders of `git log` that mean the same, and ours.

use bstr::ByteSlice as _;

use super::Style;
use super::why::WhyView;
use crate::outside;
use crate::replay::Block;

/// Takes a format as it is given.
///
/// # Errors
///
/// If it has no placeholder, as the name of a format has none: there are no named ones here.
pub fn why_format(format: &str) -> Result<String, String> {
    format
        .contains('%')
        .then(|| format.to_owned())
        .ok_or_else(|| "a text with placeholders such as %h and %(prompt)".to_owned())
}

/// Returns a block in a format, on one line unless the format has line ends. An unknown placeholder stays as it is.
pub fn why_line(format: &str, block: &Block, view: &WhyView<'_>, style: &Style) -> String {
    filled(format, |name| own(name, block, view), |text| of_git(text, view, style))
}

/// Returns a format with its placeholders filled: `%(<name>)` by `own`, others by `of_git`, which returns the value and how long
/// the placeholder is; `%%`, `%n` and `%x00` are as in Git. An unknown placeholder stays as it is.
pub(super) fn filled(
    format: &str,
    own: impl Fn(&str) -> Option<String>,
    of_git: impl Fn(&str) -> Option<(String, usize)>,
) -> String {
    let mut line = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        line.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')).map(|(name, _)| name);
        if let Some(value) = name.and_then(&own) {
            line.push_str(&outside::line(&value));
            rest = &rest[name.map_or(0, str::len) + 2..];
        } else if let Some((value, length)) = character(rest).or_else(|| of_git(rest)) {
            line.push_str(&value);
            rest = &rest[length..];
        } else {
            line.push('%');
        }
    }
    line + rest
}

/// Returns the character that a placeholder stands for, and how long the placeholder is.
fn character(text: &str) -> Option<(String, usize)> {
    if let Some(hex) = text.strip_prefix('x').and_then(|text| text.get(..2)) {
        let byte = u8::from_str_radix(hex, 16).ok().filter(u8::is_ascii)?;
        return Some((char::from(byte).to_string(), 3));
    }
    match text.as_bytes() {
        [b'%', ..] => Some(("%".to_owned(), 1)),
        [b'n', ..] => Some(("\n".to_owned(), 1)),
        _ => None,
    }
}

/// Returns the value of a placeholder of Git, and how long the placeholder is.
fn of_git(text: &str, view: &WhyView<'_>, style: &Style) -> Option<(String, usize)> {
    let of_commit = |value: &dyn Fn(&crate::git::Commit) -> String| view.commit.map(value).unwrap_or_default();
    let (value, length) = match text.as_bytes() {
        [b'H', ..] => (of_commit(&|commit| commit.commit_id.to_string()), 1),
        [b'h', ..] => (view.commit_name.to_owned(), 1),
        [b's', ..] => (of_commit(&|commit| commit.subject().to_str_lossy().into_owned()), 1),
        [b'a', b'n', ..] => (of_commit(&|commit| commit.author.name.to_str_lossy().into_owned()), 2),
        [b'a', b'e', ..] => (of_commit(&|commit| commit.author.email.to_str_lossy().into_owned()), 2),
        [b'a', b'd', ..] => (of_commit(&|commit| style.date.show(commit.author.time)), 2),
        [b'a', b't', ..] => (of_commit(&|commit| commit.author.time.seconds.to_string()), 2),
        _ => return None,
    };
    Some((outside::line(&value), length))
}

/// Returns the value of a placeholder of ours.
fn own(name: &str, block: &Block, view: &WhyView<'_>) -> Option<String> {
    let (work, call) = (block.found.work(), block.found.call());
    let value = match name {
        "agent" => work.map(|work| work.key.agent.clone()),
        "session" => work.map(|work| work.key.id.clone()),
        "model" => block.found.model().map(str::to_owned),
        "turn" => call.map(|call| call.turn.to_string()),
        "turns" => work.map(|work| work.turns.to_string()),
        "tool" => call.map(|call| call.tool.clone()),
        "call" => call.map(|call| call.id.clone()),
        "evidence" => Some(block.found.certainty.word().to_owned()),
        "prompt" => block.found.prompt().map(|prompt| view.clean(&prompt).into_owned()),
        "continues" => block.found.continues.as_ref().map(|begun| begun.commit_id.to_string()),
        "path" => Some(view.path.to_owned()),
        "lines" => Some(block.ranges()),
        _ => return None,
    };
    Some(value.unwrap_or_default())
}
