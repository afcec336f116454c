//! Purge marks of other people, fetched from remotes. They hide sessions and segments, and change nothing until the user
//! accepts them.
//!
//! They stay in the refs that they were fetched to, separate from our own marks (see `tombstone`). Nothing in our refs
//! is changed because of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::contested::{Contested, Parents, contested};
use super::tombstone::{MAX_MARK_BYTES, Mark, Replacement, Tombstones, mark_of_path};
use super::{Evidence, Record};
use crate::archive::{self, Archive};
use crate::error::Result;
use crate::git::sign::{Signature, SignatureState};
use crate::git::{Commit, ObjectId, Order, Range, Repository, date};
use crate::transcript::SessionKey;

/// How many marks are read from the history of a ref to find their authors: enough for a thousand commits with a
/// thousand marks. The authors of older marks are not reported.
const MAX_READ: usize = 1_000_000;

/// How many replacements of others for a segment are kept in our mark.
const MAX_REPLACEMENTS: usize = 16;

/// How many marks a hook reads to find out whether they name a session.
const MAX_ASKED: usize = 2000;

/// The purge marks of other people.
#[derive(Clone, Debug, Default)]
pub struct ForeignMarks {
    /// Each mark with the refs that have it, and its blob there.
    marks: HashMap<Mark, Vec<(Arc<str>, ObjectId)>>,
    /// The segments that we have purged, too.
    contested: Vec<Contested>,
    /// The mark that is meant, where it is for a contested segment and not for the segment that it counts for here.
    meant: HashMap<Mark, Mark>,
    /// The text that replaces a hidden record, for each mark; computed when first needed.
    texts: OnceLock<BTreeMap<Mark, String>>,
}

/// The author of a mark.
#[derive(Clone, Debug)]
pub struct MarkAuthor {
    /// The commit that added the mark; `None` if it was not found within [`MAX_READ`] marks.
    pub commit: Option<Box<Commit>>,
    /// The signature of that commit.
    pub signature: Signature,
}

impl ForeignMarks {
    /// Reads the marks that were fetched from remotes and are not among ours, and those that replace a segment in another way
    /// than ours; see [`Contested`]. Skips refs that cannot be read.
    pub fn read(repo: &Repository, ours: &Tombstones) -> Self {
        let mut bars = ForeignMarks::default();
        let parents = Parents::new(repo);
        for name in repo.fetched_refs("purged") {
            let Ok(Some(tip)) = repo.tip(&name) else { continue };
            let mut found = Vec::new();
            let listed = Archive::new(repo).each_path(tip.tree_id, |path, blob_id| {
                let mark = mark_of_path(repo, path).filter(|mark| !ours.has(mark));
                found.extend(mark.map(|mark| (mark, blob_id)));
            });
            let shared: Arc<str> = name.as_str().into();
            for (mark, blob_id) in found.into_iter().filter(|_| listed.is_ok()) {
                // There may be very many, nearly all of them in one ref.
                let refs = bars.marks.entry(mark).or_insert_with(|| Vec::with_capacity(1));
                refs.push((Arc::clone(&shared), blob_id));
            }
            if !ours.segments.is_empty() && listed.is_ok() {
                bars.contest(&name, contested(repo, ours, tip, &parents), &parents);
            }
        }
        bars
    }

    /// Lets the marks of a ref for contested segments count for both replacements.
    fn contest(&mut self, name: &str, contested: Vec<Contested>, parents: &Parents<'_>) {
        for one in contested {
            let meant = Mark::Segment(one.purged);
            let ours = one.ours.filter(|_| one.concerns_ours(parents));
            let theirs = one.theirs.filter(|_| one.concerns_theirs(parents));
            for id in ours.into_iter().chain(theirs) {
                self.marks.entry(Mark::Segment(id)).or_default().push((name.into(), one.mark));
                self.meant.insert(Mark::Segment(id), meant.clone());
            }
            self.contested.push(Contested { theirs, ..one });
        }
    }

    /// Returns the segments that we have purged and others as well, leaving different words.
    pub fn contested(&self) -> impl Iterator<Item = &Contested> {
        self.contested.iter()
    }

    /// Returns the segments by which others replaced a segment, according to their marks, as hex blob ids.
    pub fn replacements(&self, repo: &Repository, segment_id: ObjectId) -> Vec<String> {
        let marks = self.marks.get(&Mark::Segment(segment_id)).into_iter().flatten();
        let replacements = marks.filter_map(|(_, blob_id)| {
            serde_json::from_slice::<Replacement>(&repo.read_blob(*blob_id, MAX_MARK_BYTES).ok()?).ok()
        });
        let mut found: Vec<String> =
            replacements.flat_map(|mark| [mark.others, Vec::from_iter(mark.became)].concat()).collect();
        found.retain(|hex| repo.parse_id(hex).is_some_and(|id| id != segment_id));
        found.sort();
        found.dedup();
        found.truncate(MAX_REPLACEMENTS);
        found
    }

    /// Says whether a segment is what others have put in the place of one that we have purged.
    pub fn replaces_purged(&self, segment_id: ObjectId) -> bool {
        self.contested.iter().any(|one| one.theirs == Some(segment_id))
    }

    /// Says whether there are no marks besides our own.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the marks.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.keys()
    }

    /// Says whether there is a mark for a segment at a path of an archive, or for its session.
    pub fn name_path(&self, path: &str, segment_id: ObjectId) -> bool {
        self.marks.contains_key(&Mark::Segment(segment_id))
            || archive::session_of_path(path).is_some_and(|session| self.of_session(&session).is_some())
    }

    /// Returns the mark for a session or for its parent session, if there is one.
    pub fn of_session(&self, session: &SessionKey) -> Option<Mark> {
        if self.is_empty() {
            return None;
        }
        let parent = session.parent_id().map(|id| SessionKey::new(&session.agent, id));
        let names = [Some(session.file_name()), parent.map(|parent| parent.file_name())];
        names.into_iter().flatten().map(Mark::Session).find(|mark| self.marks.contains_key(mark))
    }

    /// Returns the mark for the record's session or for its last segment, if there is one.
    pub fn of_record(&self, repo: &Repository, record: &Record) -> Option<Mark> {
        if self.is_empty() {
            return None;
        }
        let through = repo.parse_id(&record.through).map(Mark::Segment);
        self.of_session(&record.key()).or_else(|| through.filter(|mark| self.marks.contains_key(mark)))
    }

    /// Returns the mark for evidence or for the segment with its text, if there is one.
    pub fn of_evidence(&self, repo: &Repository, evidence: &Evidence) -> Option<Mark> {
        let blob = evidence.blob.as_deref().and_then(|hex| repo.parse_id(hex)).map(Mark::Segment);
        self.of_session(&evidence.key()).or_else(|| blob.filter(|mark| self.marks.contains_key(mark)))
    }

    /// Returns the mark for the record's session or for any segment of its increment, if there is one. Reads the chain
    /// of segments.
    pub fn of_increment(&self, repo: &Repository, record: &Record) -> Option<Mark> {
        if self.is_empty() {
            return None;
        }
        self.of_record(repo, record).or_else(|| {
            let since = record.since.as_deref().and_then(|hex| repo.parse_id(hex));
            let (links, _) = Archive::new(repo).chain(repo.parse_id(&record.through)?, since);
            let within = links.iter().map(|link| link.segment_id).filter(|id| Some(*id) != since);
            within.map(Mark::Segment).find(|mark| self.marks.contains_key(mark))
        })
    }

    /// Returns the sessions that a mark names: itself, in its text, or by the segment that its maker has in the place of the
    /// purged one. Nothing but the name is taken from that segment.
    pub fn sessions_of(&self, repo: &Repository, mark: &Mark) -> Vec<SessionKey> {
        if let Mark::Session(name) = mark {
            return SessionKey::of_file_name(name).into_iter().collect();
        }
        let replacement = |blob_id: ObjectId| -> Option<SessionKey> {
            let text = repo.read_blob(blob_id, MAX_MARK_BYTES).ok()?;
            let became: Replacement = serde_json::from_slice(&text).ok()?;
            if let Some(session) = &became.session {
                return SessionKey::of_file_name(session);
            }
            let header = Archive::new(repo).header(repo.parse_id(&became.became?)?).ok()?;
            Some(SessionKey::new(&header.agent, &header.session))
        };
        self.marks.get(mark).into_iter().flatten().filter_map(|(_, blob_id)| replacement(*blob_id)).collect()
    }

    /// Says whether a mark is for this very session, or for a segment and says that it is of this session. Reads
    /// [`MAX_ASKED`] marks at most, and no segment.
    pub fn name(&self, repo: &Repository, session: &SessionKey) -> bool {
        let name = session.file_name();
        if self.marks.contains_key(&Mark::Session(name.clone())) {
            return true;
        }
        let blobs = self.marks.values().flatten().map(|(_, blob_id)| *blob_id).take(MAX_ASKED);
        let mut replacements = blobs.filter_map(|blob_id| {
            let text = repo.read_blob(blob_id, MAX_MARK_BYTES).ok()?;
            serde_json::from_slice::<Replacement>(&text).ok()
        });
        replacements.any(|became| became.session.as_ref() == Some(&name))
    }

    /// Returns all sessions that these marks name; see [`ForeignMarks::sessions_of`]. Reads each mark.
    pub fn sessions(&self, repo: &Repository) -> HashSet<SessionKey> {
        self.marks().flat_map(|mark| self.sessions_of(repo, mark)).collect()
    }

    /// Returns the segments that may have purged words although no mark names them, by their sessions. In a new clone, the agent's
    /// file can be recorded once more before the marks come. Then a mark names the session, the archive has none of the segments
    /// that marks name, and these segments were never shared. Sessions for which `is_begun_late` holds were recorded without the
    /// words that they had before.
    ///
    /// # Errors
    ///
    /// If the archive's tree cannot be read.
    pub fn doubtful(
        &self,
        repo: &Repository,
        is_begun_late: impl Fn(&SessionKey) -> bool,
    ) -> Result<HashMap<SessionKey, Vec<ObjectId>>> {
        let mut doubtful: HashMap<SessionKey, Vec<ObjectId>> = HashMap::new();
        if self.is_empty() {
            return Ok(doubtful);
        }
        let (archive, named, marked) = (Archive::new(repo), self.sessions(repo), self.segments());
        for (path, segment_id) in archive.listing(archive::REF)? {
            if let Some(session) = archive::session_of_path(&path).filter(|session| named.contains(session)) {
                doubtful.entry(session).or_default().push(segment_id);
            }
        }
        let is_marked = |segment_ids: &[ObjectId]| segment_ids.iter().any(|id| marked.contains(id));
        doubtful.retain(|session, segment_ids| !is_marked(segment_ids) && !is_begun_late(session));
        if !doubtful.is_empty() {
            let mut shared = HashSet::new();
            for name in repo.fetched_refs("sessions") {
                shared.extend(archive.listing(&name)?.into_iter().map(|(_, id)| id));
            }
            doubtful.values_mut().for_each(|segment_ids| segment_ids.retain(|id| !shared.contains(id)));
            doubtful.retain(|_, segment_ids| !segment_ids.is_empty());
        }
        Ok(doubtful)
    }

    /// Returns the segments that have a mark of their own.
    pub fn segments(&self) -> HashSet<ObjectId> {
        let segment = |mark: &Mark| if let Mark::Segment(id) = mark { Some(*id) } else { None };
        self.marks.keys().filter_map(segment).collect()
    }

    /// Returns the authors of marks. Of several authors of one mark, returns the one with the best signature.
    ///
    /// Reads the history of the refs that have these marks.
    ///
    /// # Errors
    ///
    /// If the history of a ref cannot be read.
    pub fn makers(&self, repo: &Repository, wanted: &[Mark]) -> Result<BTreeMap<Mark, MarkAuthor>> {
        let mut brought: HashMap<Mark, Vec<ObjectId>> = HashMap::new();
        let meant = |mark: &Mark| self.meant.get(mark).unwrap_or(mark).clone();
        let found = wanted.iter().filter_map(|mark| self.marks.get(mark)).flatten();
        let refs: HashSet<&Arc<str>> = found.map(|(name, _)| name).collect();
        for name in refs {
            for (mark, commit_id) in introduced(repo, name, &wanted.iter().map(meant).collect())? {
                brought.entry(mark).or_default().push(commit_id);
            }
        }
        let commit_ids: HashSet<ObjectId> = brought.values().flatten().copied().collect();
        let signatures = repo.signatures(&commit_ids.into_iter().collect::<Vec<_>>())?;
        let mut makers = BTreeMap::new();
        for mark in wanted {
            let signed = brought
                .get(&meant(mark))
                .into_iter()
                .flatten()
                .map(|id| (*id, signatures.get(id).cloned().unwrap_or_else(Signature::none)));
            let maker = match signed.max_by_key(|(_, signature)| signature.state) {
                // What a contested mark names depends on its text, which another commit can have changed.
                Some((id, _)) if self.meant.contains_key(mark) => {
                    MarkAuthor { commit: Some(Box::new(repo.commit(id)?)), signature: Signature::none() }
                }
                Some((id, signature)) => MarkAuthor { commit: Some(Box::new(repo.commit(id)?)), signature },
                None => MarkAuthor { commit: None, signature: Signature::none() },
            };
            makers.insert(mark.clone(), maker);
        }
        Ok(makers)
    }

    /// Returns the text that replaces a record hidden by a mark: `removed by <name> <<address>> on <date>`, and whether the
    /// mark is signed.
    pub fn removed_by(&self, repo: &Repository, mark: &Mark) -> String {
        let texts = self.texts.get_or_init(|| {
            let all: Vec<Mark> = self.marks.keys().cloned().collect();
            let makers = self.makers(repo, &all).unwrap_or_default();
            makers.into_iter().map(|(mark, maker)| (mark, maker.to_string())).collect()
        });
        texts.get(mark).cloned().unwrap_or_else(|| "removed by somebody".to_owned())
    }
}

impl MarkAuthor {
    /// Says whether the mark has a good signature by a trusted key.
    pub fn is_trusted(&self) -> bool {
        self.signature.state == SignatureState::Good
    }
}

impl std::fmt::Display for MarkAuthor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Some(commit) = &self.commit else { return write!(f, "removed by somebody") };
        let author = &commit.author;
        let date = date::Format::STRICT.show(author.time);
        let day = date.split('T').next().unwrap_or_default();
        write!(f, "removed by {} <{}> on {day}, ", author.name, author.email)?;
        match self.signature.state {
            SignatureState::Good => write!(f, "good signature by {}", self.signature.signer),
            SignatureState::None => write!(f, "unsigned"),
            _ => write!(f, "no good signature"),
        }
    }
}

/// Returns the marks among `wanted` with the commits of a ref that added them: no parent of such a commit has the mark.
fn introduced(repo: &Repository, ref_name: &str, wanted: &HashSet<Mark>) -> Result<Vec<(Mark, ObjectId)>> {
    let Some(tip) = repo.tip(ref_name)? else { return Ok(Vec::new()) };
    let mut read = 0;
    let mut marks_of = |tree_id: ObjectId| -> Result<HashSet<Mark>> {
        let mut marks = HashSet::new();
        read += 1;
        if read < MAX_READ {
            Archive::new(repo).each_path(tree_id, |path, _| {
                read += 1;
                marks.extend(mark_of_path(repo, path).filter(|mark| wanted.contains(mark)));
            })?;
        }
        Ok(marks)
    };
    let range = Range { tips: vec![tip.commit_id], hidden: Vec::new() };
    let mut found = Vec::new();
    for step in repo.walk(&range, Order::AsFound)? {
        let step = step?;
        let mut marks = marks_of(repo.commit(step.commit_id)?.tree_id)?;
        for parent in &step.parent_ids {
            let before = marks_of(repo.commit(*parent)?.tree_id)?;
            marks.retain(|mark| !before.contains(mark));
        }
        found.extend(marks.into_iter().map(|mark| (mark, step.commit_id)));
    }
    Ok(found)
}
