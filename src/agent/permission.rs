//! Whether an agent lets the hooks of a working tree run, as far as its own files tell.

use std::path::Path;

use serde_json::{Map, Value};

use super::place;
use crate::git::private;

/// Whether an agent runs the hooks of a working tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Permission {
    /// The agent runs them without asking the user.
    NotNeeded,
    /// Somebody has allowed it. Says where that stands.
    Given(String),
    /// The agent does not run them.
    Missing {
        /// The reason.
        what: String,
        /// A hint for the user.
        fix: String,
    },
    /// Its files do not tell. Says what it depends on.
    Unknown(String),
}

/// Reads a file of JSON, with or without comments; `None` if it is missing or no JSON.
pub fn read(path: &Path) -> Option<Value> {
    parsed(&place::read_text(path).ok()?)
}

fn parsed(text: &str) -> Option<Value> {
    jsonc_parser::cst::CstRootNode::parse(text, &jsonc_parser::ParseOptions::default()).ok()?.to_serde_value()
}

/// The largest file of a working tree that is read.
const MAX_BYTES: u64 = 256 << 10;
/// How deep objects and lists in it may be nested.
const MAX_DEPTH: usize = 64;

/// Reads a file of JSON that anybody may have made, with or without comments; `None` also if it is no regular file,
/// large, or deeply nested.
pub fn read_small(path: &Path) -> Option<Value> {
    let text = private::read_open(private::open_no_link(path).ok()?, MAX_BYTES).ok()?;
    let nesting = text.iter().scan(0usize, |depth, byte| {
        *depth = match byte {
            b'{' | b'[' => *depth + 1,
            b'}' | b']' => depth.saturating_sub(1),
            _ => *depth,
        };
        Some(*depth)
    });
    if nesting.max() > Some(MAX_DEPTH) { None } else { parsed(std::str::from_utf8(&text).ok()?) }
}

/// Returns the entry of a map for a directory, or for the nearest one above it: its key and its value.
pub fn nearest<'m>(map: &'m Map<String, Value>, directory: &Path) -> Option<(&'m str, &'m Value)> {
    let resolved = place::resolved(directory);
    let find = |above: &Path| map.iter().find(|(name, _)| place::resolved(Path::new(name)) == above);
    resolved.ancestors().find_map(find).map(|(name, value)| (name.as_str(), value))
}

/// Says whether a list of directories has one, or one above it.
pub fn is_in(list: &[Value], directory: &Path) -> bool {
    let resolved = place::resolved(directory);
    list.iter().filter_map(Value::as_str).any(|above| resolved.starts_with(place::resolved(Path::new(above))))
}
