//! Which commits have a record with edits of a file.
//!
//! A session that edits two files and commits one after the other has nothing new to say at the second commit, which
//! gets no record, or one without these edits. They are recorded all the same: with the first one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use bstr::{BString, ByteSlice as _};

use super::replayed_file::path_before;
use crate::error::Result;
use crate::git::{BlamedFile, ObjectId};
use crate::notes;
use crate::record::{Reader, edited_paths};

/// How many notes are read at once.
const WINDOW: usize = 512;

/// Which commits have recorded edits of which files.
#[derive(Debug, Default)]
pub struct RecordedEdits(HashMap<String, Vec<ObjectId>>);

impl RecordedEdits {
    /// Reads all notes.
    fn read(reader: &Reader<'_>) -> Result<Self> {
        let mut edits: HashMap<String, Vec<ObjectId>> = HashMap::new();
        // Many commits can have the same note, which is read once.
        let mut commits_of: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
        for (commit_id, blob_ids) in reader.noted()? {
            for blob_id in blob_ids {
                commits_of.entry(blob_id).or_default().push(commit_id);
            }
        }
        let mut blob_ids: Vec<ObjectId> = commits_of.keys().copied().collect();
        reader.repo().sort_as_packed(&mut blob_ids);
        for window in blob_ids.chunks(WINDOW) {
            for (blob_id, note) in window.iter().zip(notes::read_many(reader.repo(), window)) {
                for path in edited_paths(&note.unwrap_or_default()) {
                    edits.entry(path).or_default().extend(&commits_of[blob_id]);
                }
            }
        }
        Ok(RecordedEdits(edits))
    }
}

/// A commit whose record has edits of a file.
#[derive(Clone, Copy)]
pub struct EditingCommit {
    /// The commit.
    pub commit_id: ObjectId,
    /// When it was written, in seconds since the epoch.
    pub time: i64,
    /// The file in it.
    pub blob_id: Option<ObjectId>,
    /// Whether it changes the file, and may have the edits itself.
    pub is_change: bool,
}

/// The commits whose records have edits of the files that were asked about.
#[derive(Default)]
pub struct EditingCommits {
    /// Read when it is first needed.
    pub edits: Option<Rc<RecordedEdits>>,
    /// By the path in a commit and the path before.
    of_files: HashMap<[BString; 2], Rc<[EditingCommit]>>,
}

impl EditingCommits {
    /// Returns the commits whose records have edits of a file, newest first.
    pub fn of_file(&mut self, reader: &Reader<'_>, of: &BlamedFile) -> Result<Rc<[EditingCommit]>> {
        let before = path_before(of);
        let key = [of.path.clone(), before.to_owned()];
        if let Some(known) = self.of_files.get(&key) {
            return Ok(Rc::clone(known));
        }
        let edits = match &self.edits {
            Some(edits) => Rc::clone(edits),
            None => Rc::clone(self.edits.insert(Rc::new(RecordedEdits::read(reader)?))),
        };
        let mut commit_ids: Vec<ObjectId> =
            key.iter().filter_map(|path| edits.0.get(&*path.to_str_lossy())).flatten().copied().collect();
        commit_ids.sort_unstable();
        commit_ids.dedup();
        let blob_of = |id: ObjectId| reader.repo().blob_at(id, before).ok().flatten();
        let recorded = commit_ids.into_iter().filter_map(|commit_id| {
            // A note can be of a commit that is gone.
            let commit = reader.repo().commit(commit_id).ok()?;
            let blob_id = blob_of(commit_id);
            let is_change = commit.parent_ids.first().copied().and_then(blob_of) != blob_id;
            Some(EditingCommit { commit_id, time: commit.author.time.seconds, blob_id, is_change })
        });
        let mut recorded: Vec<EditingCommit> = recorded.collect();
        recorded.sort_by_key(|one| (Reverse(one.time), one.commit_id));
        let recorded: Rc<[EditingCommit]> = recorded.into();
        self.of_files.insert(key, Rc::clone(&recorded));
        Ok(recorded)
    }
}
