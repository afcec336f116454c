//! The archive: every segment of every session, reachable from one ref.
//!
//! Read [`Archive::transcript`] and [`Archive::add`]. Paths in the archive's tree keep segments reachable and make
//! sessions listable; reading goes by blob id.

mod reader;
pub mod segment;

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use bstr::ByteSlice as _;
use sha2::{Digest as _, Sha256};

pub use self::reader::Transcript;
pub use self::segment::Header;
use crate::error::{Error, Kind, Result};
use crate::git::{Merged, ObjectId, Repository, Tip};
use crate::transcript::SessionKey;

/// The ref that holds all segments.
pub const REF: &str = "refs/shiftlog/sessions";

/// The most bytes a stored segment file may have.
pub const MAX_FILE_BYTES: u64 = 128 << 20;
/// The longest chain of segments that is followed.
const MAX_CHAIN: usize = 20_000;
/// The most stored bytes that are read to follow a chain.
const MAX_CHAIN_BYTES: u64 = 512 << 20;

/// A segment with its id.
#[derive(Clone, Debug)]
pub struct Link {
    /// The blob id.
    pub segment_id: ObjectId,
    /// What the segment says about itself.
    pub header: Header,
}

/// A stretch of a transcript as it was read back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Bytes that are there.
    Bytes(Vec<u8>),
    /// This many bytes belong here, but the segment that held them is missing or damaged.
    Gap(u64),
}

/// A transcript, or a part of one, read back from its segments.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The pieces in order.
    pub pieces: Vec<Piece>,
    /// What is wrong with it: missing segments, or a digest that differs.
    pub problems: Vec<String>,
    /// The segments that were unpacked, each with the size of its file.
    pub sources: Vec<(ObjectId, u64)>,
    /// How many segments were looked at.
    pub links: usize,
}

impl Contents {
    /// Returns the bytes that are there, gaps left out.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            if let Piece::Bytes(piece) = piece {
                bytes.extend_from_slice(piece);
            }
        }
        bytes
    }

    /// Does the same and gives up the pieces one by one, so that a transcript is not in memory twice.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in self.pieces {
            match piece {
                Piece::Bytes(piece) if bytes.is_empty() => bytes = piece,
                Piece::Bytes(piece) => bytes.extend_from_slice(&piece),
                Piece::Gap(_) => {}
            }
        }
        bytes
    }

    /// Returns how many bytes were unpacked.
    pub fn unpacked_bytes(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Gap(_) => 0,
        });
        lengths.sum()
    }
}

/// The segments of a repository.
#[derive(Clone, Copy)]
pub struct Archive<'r> {
    repo: &'r Repository,
    /// Segments whose words are not to be read.
    barred: Option<&'r HashSet<ObjectId>>,
}

impl<'r> Archive<'r> {
    /// Returns the archive of `repo`; nothing is read yet.
    pub fn new(repo: &'r Repository) -> Self {
        Archive { repo, barred: None }
    }

    /// Returns the archive of `repo` without the words of some segments: they read as a gap.
    pub fn without(repo: &'r Repository, barred: &'r HashSet<ObjectId>) -> Self {
        Archive { repo, barred: Some(barred) }
    }

    /// Reads what a segment says about itself.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] if the object is not here, [`Kind::Corrupt`] if it is no segment.
    pub fn header(&self, segment_id: ObjectId) -> Result<Header> {
        let file = self.repo.read_blob(segment_id, MAX_FILE_BYTES)?;
        segment::split(&file).map(|(header, _)| header)
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
    /// The chain ends at the first segment, at `stop` (which is included), or where a segment is missing or damaged;
    /// in the last case the error is returned beside what could be read. A loop counts as damage.
    pub fn chain(&self, through: ObjectId, stop: Option<ObjectId>) -> (Vec<Link>, Option<Error>) {
        self.chain_until(through, |link| Some(link.segment_id) == stop)
    }

    /// Returns the chain of segments that ends at `through`, newest first, to the first one that `is_last` says.
    fn chain_until(&self, through: ObjectId, mut is_last: impl FnMut(&Link) -> bool) -> (Vec<Link>, Option<Error>) {
        let mut links: Vec<Link> = Vec::new();
        let mut seen = std::collections::HashSet::new();
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
            stored_bytes += file.as_ref().map_or(0, |file| file.len() as u64);
            let header = match file.and_then(|file| segment::split(&file).map(|(header, _)| header)) {
                Ok(header) => header,
                Err(error) => return (links, Some(error)),
            };
            next = header.parent.as_deref().and_then(|hex| self.repo.parse_id(hex));
            links.push(Link { segment_id, header });
            if links.last().is_some_and(&mut is_last) {
                break;
            }
        }
        (links, None)
    }

    /// Returns the whole transcript after `through`, checked against its SHA-256.
    ///
    /// Costs one read and one decompression per segment. What is missing shows as a gap and as a problem; so does a
    /// digest that differs.
    pub fn transcript(&self, through: ObjectId) -> Contents {
        // What a segment does not keep of its parent is not looked for.
        let (links, error) = self.chain_until(through, |link| link.header.keep == 0);
        let mut contents = self.assemble(&links, 0, error);
        let is_whole = !contents.pieces.iter().any(|piece| matches!(piece, Piece::Gap(_)));
        if let Some(last) = links.first().filter(|_| is_whole) {
            let mut digest = Sha256::new();
            for piece in &contents.pieces {
                if let Piece::Bytes(bytes) = piece {
                    digest.update(bytes);
                }
            }
            if hex(&digest.finalize()) != last.header.sha256 {
                contents.problems.push(format!("the transcript does not match the digest in segment {through}"));
            }
        }
        contents
    }

    /// Opens the whole transcript after `through`, to be read like a file: one segment is in memory at a time.
    ///
    /// # Errors
    ///
    /// If a segment of its chain is missing or damaged. A body that is damaged shows when it is read.
    pub fn open(&self, through: ObjectId) -> Result<Transcript<'r>> {
        let (links, error) = self.chain(through, None);
        error.map_or_else(|| Transcript::new(*self, &links), Err)
    }

    /// Returns where the increment from `since` to `through` begins, in bytes of the transcript at `through`.
    ///
    /// That is the length at `since`, or the smallest `keep` on the way if the agent rewrote its file in between.
    pub fn increment_start(&self, since: Option<ObjectId>, through: ObjectId) -> u64 {
        let Some(since) = since else { return 0 };
        let (links, _) = self.chain(through, Some(since));
        increment_start(&links, since)
    }

    /// Returns the increment from `since` to `through`; only its own segments are unpacked.
    pub fn increment(&self, since: Option<ObjectId>, through: ObjectId) -> Contents {
        let Some(since) = since else { return self.transcript(through) };
        let (links, error) = self.chain(through, Some(since));
        let start = increment_start(&links, since);
        // A rewritten file can keep less than `since` has; then older segments are needed after all.
        let reaches = links.last().is_some_and(|link| link.header.keep <= start);
        if reaches || error.is_some() {
            self.assemble(&links, start, error)
        } else {
            let (links, error) = self.chain(through, None);
            self.assemble(&links, start, error)
        }
    }

    /// Puts together the bytes from `start` on, from a chain that is newest first.
    fn assemble(&self, links: &[Link], start: u64, mut error: Option<Error>) -> Contents {
        let mut contents = Contents::default();
        let mut limit = u64::MAX;
        let mut reversed = Vec::new();
        let (mut stored, mut unpacked) = (0, 0);
        contents.links = links.len();
        for link in links {
            let (from, to) = (link.header.keep.max(start), link.header.total_bytes().min(limit));
            if limit != u64::MAX && link.header.total_bytes() < limit {
                reversed.push(Piece::Gap(limit - link.header.total_bytes().max(start)));
                contents.problems.push(format!("segment {} is shorter than its successor says", link.segment_id));
            }
            if from < to && self.barred.is_some_and(|barred| barred.contains(&link.segment_id)) {
                reversed.push(Piece::Gap(to - from));
            } else if from < to {
                let file = self.repo.read_blob(link.segment_id, MAX_FILE_BYTES);
                let file_bytes = file.as_ref().map_or(0, |file| file.len() as u64);
                stored += file_bytes;
                unpacked = link.header.bytes.saturating_add(unpacked);
                contents.sources.push((link.segment_id, file_bytes));
                // Each can be within bounds, and all of them a bomb.
                let is_too_much = unpacked > segment::unpacked_limit(stored);
                let read = file.and_then(|file| match is_too_much {
                    true => Err(Error::new(Kind::Corrupt, "the session is too large for what is stored of it")),
                    false => segment::decode(&file),
                });
                match read {
                    Ok((header, mut body)) => {
                        body.truncate((to - header.keep) as usize);
                        body.drain(..((from - header.keep) as usize).min(body.len()));
                        reversed.push(Piece::Bytes(body));
                    }
                    Err(problem) => {
                        contents.problems.push(format!("segment {} cannot be read: {problem}", link.segment_id));
                        reversed.push(Piece::Gap(to - from));
                    }
                }
            }
            limit = link.header.keep.min(limit);
            if limit <= start {
                error = None;
                break;
            }
        }
        if let Some(error) = error {
            contents.problems.push(error.to_string());
            if limit > start && limit != u64::MAX {
                reversed.push(Piece::Gap(limit - start));
            }
        }
        reversed.reverse();
        contents.pieces = reversed;
        contents
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

    /// Makes written segments of a session reachable, behind those it has.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn add(&self, session: &SessionKey, segment_ids: &[ObjectId], deadline: Instant) -> Result<()> {
        let directory = session_directory(session);
        let message = format!("shiftlog: {session}\n");
        self.repo.update_ref(REF, &message, deadline, |tip| {
            let root = tip.map_or(self.repo.empty_tree_id(), |tip| tip.tree_id);
            let there = self.entries(tip, &directory)?;
            // Somebody else can have given any number; those that leave no room for ours do not count.
            let last = there.iter().map(|(number, _)| *number).filter(|number| *number < MAX_SEQUENCE).max();
            let mut sequence = last.map_or(0, |number| number + 1);
            let mut new = Vec::new();
            for segment_id in segment_ids.iter().filter(|id| !there.iter().any(|(_, there)| there == *id)) {
                let name = format!("{sequence:06}-{}.zst", segment_id.to_hex_with_len(12));
                new.push((format!("{directory}/{name}"), *segment_id));
                sequence = (sequence + 1).min(MAX_SEQUENCE);
            }
            self.edited(root, new, &[]).map(Some)
        })?;
        Ok(())
    }

    /// Returns segments in an order in which each follows its parent, if that is among them. Segments that cannot be read
    /// keep their places.
    pub fn in_chain_order(&self, segment_ids: &[ObjectId]) -> Vec<ObjectId> {
        let among: HashSet<ObjectId> = segment_ids.iter().copied().collect();
        let mut ordered = Vec::with_capacity(segment_ids.len());
        let mut placed = HashSet::new();
        for segment_id in segment_ids {
            let (mut line, mut next) = (Vec::new(), Some(*segment_id));
            // Back to one that has its place.
            while let Some(id) = next.filter(|id| among.contains(id) && placed.insert(*id)) {
                line.push(id);
                next = self.header(id).ok().and_then(|header| self.repo.parse_id(header.parent.as_deref()?));
            }
            ordered.extend(line.into_iter().rev());
        }
        ordered
    }

    /// Takes a segment from where it has no business in the archive's tree to where it belongs.
    ///
    /// # Errors
    ///
    /// As [`Repository::update_ref`].
    pub fn rename(&self, path: &str, session: &SessionKey, segment_id: ObjectId, deadline: Instant) -> Result<()> {
        self.add(session, &[segment_id], deadline)?;
        self.repo.update_ref(REF, "shiftlog: remove a wrong name\n", deadline, |tip| {
            let Some(tip) = tip else { return Ok(None) };
            let has_another_name = |(there, id): &(String, ObjectId)| *id == segment_id && there != path;
            if !self.listing_of(tip.tree_id)?.iter().any(has_another_name) {
                return Ok(None);
            }
            self.edited(tip.tree_id, Vec::new(), &[path.to_owned()]).map(Some)
        })?;
        Ok(())
    }

    /// Adds to our archive what the archive of the commit `theirs` has. Returns whether our ref moved.
    ///
    /// Their paths that ours has not are added; `is_barred` says of a path and a segment that it may not come back. Names that no archive
    /// has are left out. Costs in proportion to the sessions that differ.
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

    /// Returns the paths and ids of the segments that the archive tree `after` has and `before` has not. Subtrees that
    /// are the same are not read.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn added(&self, before: ObjectId, after: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let mut found = Vec::new();
        // Each tree is read once: to look an entry up in it would be to unpack it again.
        let by_name = |tree_id: Option<ObjectId>| -> Result<HashMap<String, ObjectId>> {
            Ok(tree_id.map_or_else(|| Ok(Vec::new()), |tree_id| self.subtrees(tree_id))?.into_iter().collect())
        };
        let directories_before = by_name(Some(before))?;
        for (directory, after) in self.subtrees(after)? {
            let before = directories_before.get(&directory).copied();
            if before == Some(after) {
                continue;
            }
            let sessions_before = by_name(before)?;
            for (session, after) in self.subtrees(after)? {
                let before = sessions_before.get(&session).copied();
                if before == Some(after) {
                    continue;
                }
                let there = before.map_or_else(|| Ok(Vec::new()), |before| self.files(before))?;
                let new = self.files(after)?.into_iter().filter(|file| !there.contains(file));
                found.extend(new.map(|(name, id)| (format!("{directory}/{session}/{name}"), id)));
            }
        }
        Ok(found)
    }

    /// Returns a tree with segments added at their paths and others removed. Segments that a partial clone has not fetched
    /// may be in it.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn edited(&self, root: ObjectId, segments: Vec<(String, ObjectId)>, gone: &[String]) -> Result<ObjectId> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot edit the archive's tree", &error);
        // Where the editor of the repository would look whether each entry is there, this one does not.
        let mut editor = self.repo.gix().edit_tree(root).map_err(fail)?.detach();
        for (path, segment_id) in segments {
            let parts = path.split('/');
            editor.upsert(parts, gix::object::tree::EntryKind::Blob, segment_id).map_err(fail)?;
        }
        for path in gone {
            editor.remove(path.split('/')).map_err(fail)?;
        }
        editor.write(|tree| Ok(self.repo.gix().write_object(tree)?.detach())).map_err(fail)
    }

    /// Returns the names and ids of the trees in a tree: only such names as ours have.
    fn subtrees(&self, tree_id: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let is_wanted = |mode: gix::objs::tree::EntryMode, name: &str| {
            mode.is_tree() && name.len() <= 200 && !name.starts_with('.') && name.bytes().all(is_name_byte)
        };
        self.entries_of(tree_id, is_wanted)
    }

    /// Returns the names and ids of the segments in a session's tree: only names as we give them.
    fn files(&self, tree_id: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let files = self.entries_of(tree_id, |mode, name| mode.is_blob() && sequence(name).is_some())?;
        let is_its_name = |(name, id): &(String, ObjectId)| name.contains(&id.to_hex_with_len(12).to_string());
        Ok(files.into_iter().filter(is_its_name).collect())
    }

    fn entries_of(
        &self,
        tree_id: ObjectId,
        is_wanted: impl Fn(gix::objs::tree::EntryMode, &str) -> bool,
    ) -> Result<Vec<(String, ObjectId)>> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot read the archive's tree", &error);
        let tree = self.repo.gix().find_tree(tree_id).map_err(fail)?;
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(fail)?;
            if let Ok(name) = entry.filename().to_str()
                && is_wanted(entry.mode(), name)
            {
                entries.push((name.to_owned(), entry.object_id()));
            }
        }
        Ok(entries)
    }

    /// Returns the newest segment of a session, or `None` if the archive has none, or is damaged: then nothing can be
    /// stored either, and what is put aside meanwhile must not build on it.
    ///
    /// # Errors
    ///
    /// If the archive's tree cannot be read now.
    pub fn newest(&self, session: &SessionKey) -> Result<Option<ObjectId>> {
        let entries = self.repo.tip(REF).and_then(|tip| self.entries(tip, &session_directory(session)));
        match entries {
            Err(error) if matches!(error.kind(), Kind::Missing | Kind::Corrupt) => Ok(None),
            entries => Ok(entries?.last().map(|(_, id)| *id)),
        }
    }

    /// Returns the ids of all segments that the archive's ref reaches, session by session, each session's oldest first.
    ///
    /// Reads trees only.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn segments(&self) -> Result<Vec<ObjectId>> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot read the archive's tree", &error);
        let Some(tip) = self.repo.tip(REF)? else { return Ok(Vec::new()) };
        let mut segment_ids = Vec::new();
        let mut trees = vec![(tip.tree_id, 0)];
        while let Some((tree_id, depth)) = trees.pop() {
            let tree = self.repo.gix().find_tree(tree_id).map_err(fail)?;
            for entry in tree.iter() {
                let entry = entry.map_err(fail)?;
                match (entry.mode().is_tree(), depth) {
                    (true, 0 | 1) => trees.push((entry.object_id(), depth + 1)),
                    (false, 2) => segment_ids.push(entry.object_id()),
                    _ => {}
                }
            }
        }
        Ok(segment_ids)
    }

    /// Returns all paths and ids in the archive that `ref_name` names, as they are, in the order of paths; nothing if
    /// there is no such ref.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn listing(&self, ref_name: &str) -> Result<Vec<(String, ObjectId)>> {
        self.repo.tip(ref_name)?.map_or(Ok(Vec::new()), |tip| self.listing_of(tip.tree_id))
    }

    /// Does the same for a tree.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn listing_of(&self, tree_id: ObjectId) -> Result<Vec<(String, ObjectId)>> {
        let mut listing = Vec::new();
        self.list(tree_id, "", 0, &mut listing)?;
        Ok(listing)
    }

    fn list(&self, tree_id: ObjectId, prefix: &str, depth: u32, listing: &mut Vec<(String, ObjectId)>) -> Result<()> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot read the archive's tree", &error);
        let tree = self.repo.gix().find_tree(tree_id).map_err(fail)?;
        for entry in tree.iter() {
            let entry = entry.map_err(fail)?;
            let path = format!("{prefix}{}", entry.filename().to_str_lossy());
            match (entry.mode().is_tree(), depth) {
                (true, 0 | 1) => self.list(entry.object_id(), &format!("{path}/"), depth + 1, listing)?,
                // A link to a commit of another repository names no object of this one.
                (false, _) if entry.mode().is_blob() => listing.push((path, entry.object_id())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the sequence numbers and ids of the segments in a session's directory, oldest first.
    fn entries(&self, tip: Option<Tip>, directory: &str) -> Result<Vec<(u32, ObjectId)>> {
        let fail = |error: gix::Error| crate::git::gix_error("cannot read the archive's tree", &error);
        let Some(tip) = tip else { return Ok(Vec::new()) };
        let root = self.repo.gix().find_tree(tip.tree_id).map_err(fail)?;
        let Some(entry) = root.lookup_entry_by_path(directory).map_err(fail)? else { return Ok(Vec::new()) };
        let object = entry.object().map_err(fail)?;
        let Ok(tree) = object.try_into_tree() else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in tree.iter() {
            let entry = entry.map_err(fail)?;
            let number = entry.filename().to_str().ok().and_then(sequence);
            entries.extend(number.map(|number| (number, entry.object_id())));
        }
        Ok(entries)
    }
}

fn increment_start(links: &[Link], since: ObjectId) -> u64 {
    let mut start = u64::MAX;
    for link in links {
        if link.segment_id == since {
            return start.min(link.header.total_bytes());
        }
        start = start.min(link.header.keep);
    }
    // `since` is not on this chain: what both can share is what the oldest segment read keeps, at most.
    if start == u64::MAX { 0 } else { start }
}

/// Says whether names in our trees may have this byte.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.~%".contains(&byte)
}

/// Says whether a path in the archive is one that a segment of this session has.
pub fn is_path_of(path: &str, session: &SessionKey, segment_id: ObjectId) -> bool {
    let name = path.strip_prefix(&session_directory(session)).and_then(|rest| rest.strip_prefix('/'));
    let suffix = format!("-{}.zst", segment_id.to_hex_with_len(12));
    name.is_some_and(|name| sequence(name).is_some() && name.ends_with(&suffix))
}

/// Returns the session whose segments a path in the archive holds, as far as the path tells it: not if its name was too
/// long to stand there whole.
pub fn session_of_path(path: &str) -> Option<SessionKey> {
    let key = SessionKey::of_file_name(path.split('/').nth(1)?)?;
    path.starts_with(&session_directory(&key)).then_some(key)
}

/// The highest number that we give to a segment. No session comes near it; numbers beyond are somebody's invention.
const MAX_SEQUENCE: u32 = 9_999_999;

/// Returns the sequence number in a segment's file name.
fn sequence(name: &str) -> Option<u32> {
    let (digits, rest) = name.split_once('-')?;
    let is_ours = (6..=9).contains(&digits.len()) && rest.len() == 16 && rest.ends_with(".zst");
    if is_ours { digits.parse().ok() } else { None }
}

/// Returns the directory of a session in the archive's tree.
fn session_directory(session: &SessionKey) -> String {
    let digest = Sha256::digest(format!("{}/{}", session.agent, session.id));
    format!("{}/{}", hex(&digest[..1]), session.file_name())
}

/// Returns the bytes that hex digits stand for; `None` if they stand for none.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

/// Returns bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
