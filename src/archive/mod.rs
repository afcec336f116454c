//! The archive: all segments of all sessions, reachable from one ref.
//!
//! Read [`Archive::transcript`], [`Archive::beginning`] and [`Archive::add`]. Paths in the archive's tree keep segments
//! reachable and sessions listable (`tree`); segments are read by blob id (`contents`, `reader`).

mod contents;
mod reader;
pub mod segment;
pub mod text;
mod tree;
mod unpack;

use std::collections::HashSet;
use std::time::Instant;

pub use self::contents::{Chunk, Contents, SegmentSpan, Stored};
pub use self::reader::Transcript;
pub use self::segment::Header;
use self::tree::{MAX_SEQUENCE, session_directory};
pub use self::tree::{is_name_byte, is_path_of, session_of_path};
pub use self::unpack::Unpacker;
use crate::error::{Error, Kind, Result};
use crate::git::{Merged, ObjectId, Repository};
pub use crate::hex::{hex, unhex};
use crate::transcript::SessionKey;

/// The ref that holds all segments.
pub const REF: &str = crate::git::sign::ARCHIVE_REF;

/// The largest segment file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 128 << 20;
/// The longest chain that is followed, in segments.
const MAX_CHAIN: usize = 20_000;
/// How many stored bytes are read to follow a chain.
const MAX_CHAIN_BYTES: u64 = 512 << 20;

/// A segment of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// The blob id.
    pub segment_id: ObjectId,
    /// The segment's header.
    pub header: Header,
    /// The size of its file, in bytes.
    pub stored_bytes: u64,
}

/// The segments of a repository.
#[derive(Clone, Copy)]
pub struct Archive<'r> {
    repo: &'r Repository,
    /// Segments whose words must not be read.
    barred: Option<&'r HashSet<ObjectId>>,
    /// The session whose segments are read, if it is only one.
    session: Option<&'r SessionKey>,
}

impl<'r> Archive<'r> {
    /// Returns the archive of `repo`. Reads nothing.
    pub fn new(repo: &'r Repository) -> Self {
        Archive { repo, barred: None, session: None }
    }

    /// Returns the archive of `repo` in which the words of `barred` segments read as gaps.
    pub fn without(repo: &'r Repository, barred: &'r HashSet<ObjectId>) -> Self {
        Archive { repo, barred: Some(barred), session: None }
    }

    /// Returns the same archive, in which the segments of other sessions count as damaged when a header or a chain is
    /// read.
    ///
    /// Anyone can write a record that names the segments of another session, so the words of a record are read with
    /// this. The header of a segment says whose it is, and capturing only makes chains whose segments are all of one
    /// session.
    pub fn only<'k>(self, session: &'k SessionKey) -> Archive<'k>
    where
        'r: 'k,
    {
        Archive { session: Some(session), ..self }
    }

    /// Returns the repository.
    pub fn repo(&self) -> &'r Repository {
        self.repo
    }

    /// Reads the header of a segment.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if the repository lacks the object, [`Kind::Corrupt`] if it is not a segment or, after
    /// [`Archive::only`], one of another session.
    pub fn header(&self, segment_id: ObjectId) -> Result<Header> {
        let file = self.repo.read_blob(segment_id, MAX_FILE_BYTES)?;
        self.header_in(segment_id, &file)
    }

    /// Returns the header in the file of a segment.
    fn header_in(&self, segment_id: ObjectId, file: &[u8]) -> Result<Header> {
        let (header, _) = segment::split(file)?;
        match self.session {
            Some(session) if header.agent != session.agent || header.session != session.id => {
                Err(Error::new(Kind::Corrupt, format!("segment {segment_id} is of another session")))
            }
            _ => Ok(header),
        }
    }

    /// Reads the header and the bytes of one segment.
    ///
    /// # Errors
    ///
    /// As [`Archive::header`].
    pub fn read(&self, segment_id: ObjectId) -> Result<(Header, Vec<u8>)> {
        segment::decode(&self.repo.read_blob(segment_id, MAX_FILE_BYTES)?)
    }

    /// Returns the chain of segments that ends at `through`, newest first.
    ///
    /// The chain ends at the first segment of the session, at `stop` (which is included), or where a segment is missing
    /// or damaged, or of another session than that of [`Archive::only`]; then the error is returned beside the segments
    /// that were read. A loop counts as damage, and so does a segment that keeps more than its parent has: the lengths
    /// of a chain that is returned fit together. Costs one read per segment.
    pub fn chain(&self, through: ObjectId, stop: Option<ObjectId>) -> (Vec<Link>, Option<Error>) {
        self.chain_until(through, |link| Some(link.segment_id) == stop)
    }

    /// Returns the chain of segments that ends at `through`, newest first, up to the first one for which `is_last`
    /// holds.
    fn chain_until(&self, through: ObjectId, mut is_last: impl FnMut(&Link) -> bool) -> (Vec<Link>, Option<Error>) {
        let mut links: Vec<Link> = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some(through);
        let mut stored_bytes = 0;
        while let Some(segment_id) = next {
            if !seen.insert(segment_id) || links.len() >= MAX_CHAIN {
                return (links, Some(Error::new(Kind::Corrupt, "the chain of segments has no end")));
            }
            if stored_bytes > MAX_CHAIN_BYTES {
                return (links, Some(Error::new(Kind::Corrupt, "the chain of segments is too large to be read")));
            }
            let file = self.repo.read_blob(segment_id, MAX_FILE_BYTES);
            let file_bytes = file.as_ref().map_or(0, |file| file.len() as u64);
            stored_bytes += file_bytes;
            let header = match file.and_then(|file| self.header_in(segment_id, &file)) {
                Ok(header) => header,
                Err(error) => return (links, Some(error)),
            };
            if links.last().is_some_and(|successor| successor.header.keep > header.total_bytes()) {
                let why = format!("segment {segment_id} is shorter than its successor says");
                return (links, Some(Error::new(Kind::Corrupt, why)));
            }
            next = header.parent.as_deref().and_then(|hex| self.repo.parse_id(hex));
            if header.keep > 0 && next.is_none() {
                let why = format!("segment {segment_id} keeps a part of a transcript that it does not name");
                return (links, Some(Error::new(Kind::Corrupt, why)));
            }
            links.push(Link { segment_id, header, stored_bytes: file_bytes });
            if links.last().is_some_and(&mut is_last) {
                break;
            }
        }
        (links, None)
    }

    /// Opens the whole transcript that ends with `through`, to be read like a file with one segment in memory at a
    /// time.
    ///
    /// # Errors
    ///
    /// If a segment of the chain is missing or its header damaged. A damaged body shows only when it is read.
    pub fn open(&self, through: ObjectId) -> Result<Transcript<'r>> {
        // A segment that keeps nothing of its parent does not need the older segments.
        let (links, error) = self.chain_until(through, |link| link.header.keep == 0);
        error.map_or_else(|| Ok(Transcript::new(*self, &links)), Err)
    }

    /// Writes one segment as a blob and returns its id; [`Archive::add`] makes it reachable.
    ///
    /// # Errors
    ///
    /// [`Kind::Storage`] when the disk is full or read-only.
    pub fn write(&self, header: &Header, body: &[u8]) -> Result<ObjectId> {
        let segment_id = self.repo.write_blob(&segment::encode(header, body)?)?;
        crate::git::fault_point("segment-written");
        Ok(segment_id)
    }

    /// Returns the id that [`Archive::write`] would return. Writes nothing.
    ///
    /// # Errors
    ///
    /// If the segment cannot be encoded.
    pub fn id_of(&self, header: &Header, body: &[u8]) -> Result<ObjectId> {
        let id = self.repo.blob_id(&segment::encode(header, body)?);
        id.ok_or_else(|| Error::other("cannot name a segment"))
    }

    /// Waits while another process holds the lock of the archive's ref.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if the lock stays; the message names it.
    pub fn wait_while_locked(&self, deadline: Instant) -> Result<()> {
        self.repo.wait_while_locked(REF, deadline)
    }

    /// Makes written segments of a session reachable from the archive's ref, after those that are there.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn add(&self, session: &SessionKey, segment_ids: &[ObjectId], deadline: Instant) -> Result<()> {
        let message = format!("shiftlog: {session}\n");
        self.add_all(&[(session.clone(), segment_ids.to_vec())], &message, deadline)
    }

    /// Like [`Archive::add`], for several sessions in one commit with this message.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn add_all(&self, sessions: &[(SessionKey, Vec<ObjectId>)], message: &str, deadline: Instant) -> Result<()> {
        self.repo.update_ref(REF, message, deadline, |tip| {
            let root = tip.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
            let mut new = Vec::new();
            for (session, segment_ids) in sessions {
                let directory = session_directory(session);
                let present = self.entries(tip, &directory)?;
                // Segments of other people can have any number; those that leave no room for ours are ignored.
                let last = present.iter().map(|(number, _)| *number).filter(|number| *number < MAX_SEQUENCE).max();
                let mut sequence = last.map_or(0, |number| number + 1);
                for segment_id in segment_ids.iter().filter(|id| !present.iter().any(|(_, known)| known == *id)) {
                    let name = format!("{sequence:06}-{}.zst", segment_id.to_hex_with_len(12));
                    new.push((format!("{directory}/{name}"), *segment_id));
                    sequence = (sequence + 1).min(MAX_SEQUENCE);
                }
            }
            self.edited(root, new, &[]).map(Some)
        })?;
        Ok(())
    }

    /// Returns segments in an order in which each follows its parent, if the parent is among them. Unreadable segments
    /// keep their places.
    pub fn in_chain_order(&self, segment_ids: &[ObjectId]) -> Vec<ObjectId> {
        let among: HashSet<ObjectId> = segment_ids.iter().copied().collect();
        let mut ordered = Vec::with_capacity(segment_ids.len());
        let mut placed = HashSet::new();
        for segment_id in segment_ids {
            let (mut line, mut next) = (Vec::new(), Some(*segment_id));
            // Follow the parents back to a segment that has its place already.
            while let Some(id) = next.filter(|id| among.contains(id) && placed.insert(*id)) {
                line.push(id);
                next = self.header(id).ok().and_then(|header| self.repo.parse_id(header.parent.as_deref()?));
            }
            ordered.extend(line.into_iter().rev());
        }
        ordered
    }

    /// Returns the directory in the archive's tree for a segment, as its header tells.
    ///
    /// # Errors
    ///
    /// As [`Archive::header`].
    pub fn directory_of(&self, segment_id: ObjectId) -> Result<String> {
        let header = self.header(segment_id)?;
        Ok(session_directory(&SessionKey::new(&header.agent, &header.session)))
    }

    /// Moves a segment in the archive's tree from a wrong `path` to its right one.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn rename(&self, path: &str, session: &SessionKey, segment_id: ObjectId, deadline: Instant) -> Result<()> {
        self.add(session, &[segment_id], deadline)?;
        self.repo.update_ref(REF, "shiftlog: remove a wrong name\n", deadline, |tip| {
            let Some(tip) = tip else { return Ok(None) };
            let has_another_name = |(other_path, id): &(String, ObjectId)| *id == segment_id && other_path != path;
            if !self.listing_of(tip.tree_id)?.iter().any(has_another_name) {
                return Ok(None);
            }
            self.edited(tip.tree_id, Vec::new(), &[path.to_owned()]).map(Some)
        })?;
        Ok(())
    }

    /// Adds to our archive the segments of the archive commit `theirs`. Returns whether our ref moved.
    ///
    /// Adds the paths that ours lacks, unless `is_barred(path, segment)` holds. Skips names that no archive has. The
    /// cost is proportional to the number of sessions that differ.
    ///
    /// # Errors
    ///
    /// As [`Repository::merge_ref`].
    pub fn merge(
        &self,
        theirs: ObjectId,
        deadline: Instant,
        is_barred: impl Fn(&str, ObjectId) -> bool,
    ) -> Result<bool> {
        let message = format!("shiftlog: merge sessions of {}\n", theirs.to_hex_with_len(12));
        self.repo.merge_ref(REF, theirs, &message, deadline, |ours, theirs, _| {
            let root = ours.map_or(self.repo.empty_tree_id(), |ours| ours.tree_id);
            let mut new = self.added(root, theirs.tree_id)?;
            let theirs_count = new.len();
            new.retain(|(path, segment_id)| !is_barred(path, *segment_id));
            let joins_theirs = new.len() == theirs_count;
            Ok(Merged { tree_id: self.edited(root, new, &[])?, joins_ours: true, joins_theirs })
        })
    }

    /// Returns the segments of a session that the archive's ref reaches. Reads trees only.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn segments_of(&self, session: &SessionKey) -> Result<Vec<ObjectId>> {
        let entries = self.entries(self.repo.tip(REF)?, &session_directory(session))?;
        Ok(entries.into_iter().map(|(_, segment_id)| segment_id).collect())
    }

    /// Returns the newest segment of a session. `None` if the archive has none, and also if the archive is damaged:
    /// then nothing can be stored, and words that are kept meanwhile must not build on it.
    ///
    /// # Errors
    ///
    /// If the archive's tree cannot be read for another reason.
    pub fn newest(&self, session: &SessionKey) -> Result<Option<ObjectId>> {
        let entries = self.repo.tip(REF).and_then(|tip| self.entries(tip, &session_directory(session)));
        match entries {
            Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => Ok(None),
            entries => Ok(entries?.last().map(|(_, id)| *id)),
        }
    }
}
