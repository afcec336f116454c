//! Texts of files in history, kept in memory while sessions are compared with commits.

use std::collections::HashMap;
use std::rc::Rc;

use crate::git::{ObjectId, Repository};

/// The largest file whose edits are done again to compare the outcome.
const MAX_FILE_BYTES: u64 = 256 << 10;
/// How many bytes of files are kept in memory.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The texts of files, kept for the next session that edited them.
#[derive(Default)]
pub struct Texts {
    by_id: HashMap<ObjectId, Option<Rc<str>>>,
    bytes: usize,
}

impl Texts {
    /// Returns a file; `None` if it is too large, no text, or not here.
    pub fn get(&mut self, repo: &Repository, blob_id: ObjectId) -> Option<Rc<str>> {
        if let Some(text) = self.by_id.get(&blob_id) {
            return text.clone();
        }
        if self.bytes > MAX_KEPT_BYTES {
            *self = Texts::default();
        }
        let bytes = repo.read_blob(blob_id, MAX_FILE_BYTES).ok();
        let text: Option<Rc<str>> = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map(Rc::from);
        // An entry costs something too.
        self.bytes += 100 + text.as_ref().map_or(0, |text| text.len());
        self.by_id.insert(blob_id, text.clone());
        text
    }
}
