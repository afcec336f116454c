//! Removing words for good: from the archive, the notes, their history and reflogs, and from the object database.
//!
//! Read [`plan`], then [`carry_out`]. A session from which a part is taken is stored anew without it, so that what is
//! left still reads back and has a digest. What became of each segment is marked, see `tombstone`.

mod rewrite;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};

use super::pending::{self, Pending};
use super::state::{Mark, Progress, write_private};
use super::tombstone::{self, Tombstones};
use super::{Earlier, Note, Record, State, Unit, kept, sync};
use crate::agent::{self, Agent};
use crate::archive::{self, Archive, Header, hex};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::notes;
use crate::redact::Redactor;
use crate::transcript::{SessionKey, line_ends, without_last_line};

/// The ref of an earlier tool; what it repeats is removed as well.
const EARLIER_REF: &str = "refs/notes/claude-conversations";
/// How long one write may wait for other processes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What to remove.
pub enum Target {
    /// What was said for these commits.
    Commits(Vec<ObjectId>),
    /// Sessions with this id, whole, with their sub-agents; nothing of them is stored any more.
    Session(String),
    /// What a redactor finds, wherever it stands; a placeholder takes its place.
    Matches(Redactor),
    /// What was said before, in seconds since the epoch.
    Before(i64),
    /// What others have removed.
    Received,
}

/// What is to go.
#[derive(Default)]
pub struct Plan {
    /// Segments of which nothing is left.
    pub dropped: usize,
    /// Segments from which a part goes, or that follow one.
    pub changed: usize,
    /// Notes that change.
    pub notes: usize,
    /// The sessions concerned.
    pub sessions: BTreeSet<SessionKey>,
    marks: Tombstones,
    /// Documents of earlier tools to remove, by commit.
    earlier_commits: HashSet<ObjectId>,
    earlier_before: Option<i64>,
    redactor: Option<Redactor>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Purged {
    /// How many objects are gone.
    pub objects: usize,
    /// Objects that could not be removed.
    pub left: Vec<ObjectId>,
    /// Refs that are not ours and keep what ours had.
    pub other_refs: Vec<String>,
    /// Files of agents that still have the words.
    pub agent_files: Vec<PathBuf>,
    /// Remotes that had our refs.
    pub remotes: Vec<String>,
}

impl Plan {
    /// Says whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.dropped == 0 && self.changed == 0 && self.notes == 0
    }
}

fn deadline() -> Instant {
    Instant::now() + TIMEOUT
}

/// Finds out what is to go. New segments are written already, but nothing reaches them.
///
/// Costs a read of every note, and of every segment for what must be looked for in the words.
///
/// # Errors
///
/// If a note or a segment cannot be read.
pub fn plan(repo: &Repository, notes_ref: &str, target: Target) -> Result<Plan> {
    let archive = Archive::new(repo);
    let mut plan = Plan::default();
    let mut wanted: HashSet<ObjectId> = HashSet::new();
    match &target {
        Target::Received => plan.marks = Tombstones::read(repo)?,
        Target::Commits(commit_ids) => {
            for commit_id in commit_ids {
                plan.earlier_commits.insert(*commit_id);
                let note = notes::get(repo, notes_ref, *commit_id)?.unwrap_or_default();
                for record in Note::parse(&note).records() {
                    let parse = |hex: &str| repo.parse_id(hex);
                    let Some(through) = parse(&record.through) else { continue };
                    let since = record.since.as_deref().and_then(parse);
                    let (links, _) = archive.chain(through, since);
                    wanted.extend(links.iter().map(|link| link.segment_id).filter(|id| Some(*id) != since));
                }
            }
        }
        Target::Session(id) => {
            let known =
                archive.listing(archive::REF)?.into_iter().filter_map(|(path, _)| archive::session_of_path(&path));
            let noted = noted_sessions(repo, notes_ref)?;
            for key in known.chain(noted) {
                if key.id == *id || key.parent_id() == Some(id) {
                    plan.marks.sessions.insert(key.file_name());
                }
            }
        }
        Target::Before(time) => plan.earlier_before = Some(*time),
        Target::Matches(_) => {}
    }
    let mut by_session: BTreeMap<String, Vec<ObjectId>> = BTreeMap::new();
    for (path, segment_id) in archive.listing(archive::REF)? {
        let session = path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default();
        by_session.entry(session).or_default().push(segment_id);
    }
    for segment_ids in by_session.values() {
        let is_wanted = |segment_id: ObjectId, header: &Header| match &target {
            Target::Commits(_) => wanted.contains(&segment_id),
            Target::Session(_) => plan.marks.bars(&SessionKey::new(&header.agent, &header.session)),
            Target::Before(time) => Time::parse_rfc3339(&header.time).is_some_and(|at| at.seconds < *time),
            Target::Matches(_) | Target::Received => false,
        };
        let redactor = if let Target::Matches(redactor) = &target { Some(redactor) } else { None };
        let outcome = rewrite::rewrite(repo, segment_ids, is_wanted, redactor)?;
        plan.dropped += outcome.dropped;
        plan.changed += outcome.changed;
        plan.sessions.extend(outcome.session.filter(|_| outcome.dropped + outcome.changed > 0));
        plan.marks.segments.extend(outcome.became);
    }
    if let Target::Received = target {
        let ours: Vec<ObjectId> = by_session.into_values().flatten().collect();
        plan.dropped = ours.iter().filter(|id| plan.marks.segments.contains_key(*id)).count();
    }
    if let Target::Matches(redactor) = target {
        plan.redactor = Some(redactor);
    }
    for name in [notes_ref, EARLIER_REF] {
        for entry in notes::list(repo, name)? {
            let bytes = notes::read(repo, entry.note_blob_id)?;
            plan.notes += usize::from(plan.changed_note(repo, entry.annotated_id, &bytes).is_some());
        }
    }
    Ok(plan)
}

/// Returns the sessions that records name.
fn noted_sessions(repo: &Repository, notes_ref: &str) -> Result<Vec<SessionKey>> {
    let mut sessions = Vec::new();
    for name in [notes_ref, EARLIER_REF] {
        for entry in notes::list(repo, name)? {
            let note = Note::parse(&notes::read(repo, entry.note_blob_id)?);
            sessions.extend(note.units().iter().filter_map(|unit| match unit {
                Unit::Record(record) => Some(record.key()),
                Unit::Earlier(document, _) => Some(document.key()),
                Unit::Foreign(_) => None,
            }));
        }
    }
    Ok(sessions)
}

impl Plan {
    /// Returns what a note is to be; `None` if it stays as it is.
    fn changed_note(&self, repo: &Repository, commit_id: ObjectId, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut note = Note::parse(bytes);
        let mut has_changed = false;
        let before: HashMap<(SessionKey, String), Record> =
            note.records().map(|record| ((record.key(), record.time.clone()), record.clone())).collect();
        if self.marks.apply(repo, &mut note) {
            has_changed = true;
            // Here it is known what the prompt and the summary were, and what of them may stay.
            note.map_records(|mut record| {
                let before = before.get(&(record.key(), record.time.clone()));
                if let Some(before) = before.filter(|_| record.prompt.is_none() && self.redactor.is_some()) {
                    record.prompt.clone_from(&before.prompt);
                    record.summary.clone_from(&before.summary);
                    record.summary_time.clone_from(&before.summary_time);
                }
                Some(record)
            });
        }
        let is_kept = |unit: &Unit| match unit {
            Unit::Earlier(document, _) => {
                let is_old = |time: i64| Time::parse_rfc3339(&document.timestamp).is_some_and(|at| at.seconds < time);
                !self.earlier_commits.contains(&commit_id) && !self.earlier_before.is_some_and(is_old)
            }
            _ => true,
        };
        let count = note.units().len();
        note.retain(is_kept);
        has_changed |= note.units().len() != count;
        let mut after = note.to_bytes();
        if let Some(redactor) = &self.redactor {
            let mut redacted = Note::default();
            for unit in note.units() {
                match unit {
                    Unit::Earlier(document, text) => {
                        let unit = without_matches(document, text, redactor);
                        has_changed |= unit.is_some();
                        redacted.add_unit(unit.unwrap_or_else(|| Unit::Earlier(document.clone(), text.clone())));
                    }
                    unit => redacted.add_unit(unit.clone()),
                }
            }
            let lines = redacted.to_bytes();
            let (clean, dealt) = redactor.redact(&lines);
            let clean = [&clean[..], &lines[dealt..]].concat();
            has_changed |= clean != lines;
            after = clean;
        }
        has_changed.then_some(after)
    }
}

/// Returns a document of an earlier tool without what a redactor finds in its transcript; `None` if it finds nothing.
fn without_matches(document: &Earlier, text: &[u8], redactor: &Redactor) -> Option<Unit> {
    let (transcript, _) = document.transcript().ok()?;
    let (clean, dealt) = redactor.redact(&transcript);
    let clean = [&clean[..], &transcript[dealt..]].concat();
    if clean == transcript {
        return None;
    }
    let (document, text) = document.with_transcript(text, &clean)?;
    Some(Unit::Earlier(Box::new(document), text.into()))
}

/// Carries a plan out: marks, archive, notes, our own state, and then everything that reached what is gone.
///
/// A crash in between leaves the marks; [`Target::Received`] does the rest then.
///
/// # Errors
///
/// If a ref cannot be written, or Git cannot pack again.
pub fn carry_out(repo: &Repository, notes_ref: &str, plan: &Plan) -> Result<Purged> {
    let mut purged = Purged::default();
    let mut old_tips = keep_old_tips(repo, notes_ref)?;
    keep_known(repo, notes_ref)?;
    plan.marks.write(repo, deadline())?;
    crate::git::fault_point("purge-marked");
    rewrite_refs(repo, notes_ref, plan)?;
    kept::forget(repo, notes_ref, deadline())?;
    for name in repo.ref_names("refs/shiftlog/remotes/") {
        if let Some(remote) =
            name.split('/').nth(3).filter(|remote| !purged.remotes.iter().any(|known| known == remote))
        {
            purged.remotes.push(remote.to_owned());
        }
        old_tips.extend(repo.tip(&name)?.map(|tip| tip.commit_id));
        repo.delete_ref(&name)?;
    }
    purged.agent_files = update_state(repo, plan)?;
    for name in [notes_ref, EARLIER_REF, archive::REF] {
        repo.forget_reflog(name)?;
    }
    // What was fetched once and joined never, or left over by a crash, is known by the segments that it names.
    let marked: HashSet<String> = plan.marks.segments.keys().map(ToString::to_string).collect();
    let is_marked = |id: ObjectId, bytes: &[u8]| {
        plan.marks.segments.contains_key(&id)
            || Note::parse(bytes).records().any(|record| {
                marked.contains(&record.through) || record.since.as_ref().is_some_and(|since| marked.contains(since))
            })
    };
    let gone = repo.unneeded(&old_tips, is_marked)?;
    purged.other_refs = other_refs(repo, notes_ref, &old_tips)?;
    purged.left = repo.drop_objects(&gone)?;
    purged.objects = gone.len() - purged.left.len();
    if purged.left.is_empty() {
        let file = old_tips_file(repo);
        std::fs::remove_file(&file).map_err(|error| Error::io("remove", &file, error))?;
    }
    Ok(purged)
}

fn old_tips_file(repo: &Repository) -> PathBuf {
    State::new(&repo.common_dir()).root().join("purging")
}

/// Returns where our refs are and were, as far as their reflogs tell, and writes it down until what they reached has
/// been dropped: by then the refs are elsewhere, and a purge can end early.
fn keep_old_tips(repo: &Repository, notes_ref: &str) -> Result<Vec<ObjectId>> {
    let file = old_tips_file(repo);
    let left_over = std::fs::read_to_string(&file).unwrap_or_default();
    let mut tips: Vec<ObjectId> = left_over.lines().filter_map(|hex| repo.parse_id(hex)).collect();
    for name in [notes_ref, EARLIER_REF, archive::REF] {
        tips.extend(repo.tip(name)?.map(|tip| tip.commit_id));
        tips.extend(repo.reflog(name));
    }
    tips.sort();
    tips.dedup();
    tips.retain(|id| repo.has_object(*id));
    let lines: String = tips.iter().map(|id| format!("{id}\n")).collect();
    write_private(&file, lines.as_bytes())?;
    Ok(tips)
}

/// Returns refs of somebody's own making that reach what ours did: a copy of our notes under another name.
fn other_refs(repo: &Repository, notes_ref: &str, old_tips: &[ObjectId]) -> Result<Vec<String>> {
    let old: HashSet<ObjectId> = old_tips.iter().copied().collect();
    let mut found = Vec::new();
    for (name, id) in repo.ref_targets("refs/notes/").into_iter().chain(repo.ref_targets("refs/shiftlog/")) {
        if [notes_ref, EARLIER_REF, archive::REF, tombstone::REF].contains(&name.as_str()) || repo.commit(id).is_err() {
            continue;
        }
        let range = crate::git::Range { tips: vec![id], hidden: Vec::new() };
        let reaches =
            repo.walk(&range, crate::git::Order::AsFound)?.flatten().any(|step| old.contains(&step.commit_id));
        found.extend(reaches.then_some(name));
    }
    Ok(found)
}

/// Rewrites our own refs by what is marked. Refs without any of it stay as they are.
///
/// # Errors
///
/// As [`Repository::replace_ref`].
fn rewrite_refs(repo: &Repository, notes_ref: &str, plan: &Plan) -> Result<()> {
    rewrite_archive(repo, &plan.marks)?;
    crate::git::fault_point("purge-archived");
    for name in [notes_ref, EARLIER_REF] {
        notes::rewrite(repo, name, "shiftlog: purge\n", deadline(), |commit_id, bytes| {
            plan.changed_note(repo, commit_id, bytes)
        })?;
    }
    Ok(())
}

fn rewrite_archive(repo: &Repository, marks: &Tombstones) -> Result<()> {
    let archive = Archive::new(repo);
    repo.replace_ref(archive::REF, "shiftlog: purge\n", deadline(), |tip| {
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        let listing = archive.listing_of(tip.tree_id)?;
        let mut there: HashSet<ObjectId> = listing.iter().map(|(_, id)| *id).collect();
        for (path, segment_id) in listing {
            let session = archive::session_of_path(&path);
            let became = marks.segments.get(&segment_id);
            if became.is_none() && !session.is_some_and(|session| marks.bars(&session)) {
                continue;
            }
            let new_id = became.and_then(|became| repo.parse_id(became.became.as_deref()?));
            if let Some(new_id) = new_id.filter(|id| there.insert(*id)) {
                let (directory, name) = path.rsplit_once('/').unwrap_or_default();
                let number = name.split('-').next().unwrap_or_default();
                new.push((format!("{directory}/{number}-{}.zst", new_id.to_hex_with_len(12)), new_id));
            }
            gone.push(path);
        }
        if gone.is_empty() { Ok(None) } else { archive.edited(tip.tree_id, new, &gone).map(Some) }
    })?;
    Ok(())
}

/// Rewrites our own refs after others' marks have come. Nothing is dropped: that is for whoever asks for it.
///
/// # Errors
///
/// As [`carry_out`].
pub(super) fn apply_received(repo: &Repository, notes_ref: &str) -> Result<()> {
    let plan = Plan { marks: Tombstones::read(repo)?, ..Plan::default() };
    keep_old_tips(repo, notes_ref)?;
    rewrite_refs(repo, notes_ref, &plan)?;
    update_state(repo, &plan).map(drop)
}

/// Writes down where remotes' refs are that we have joined already: fetching them would bring everything back.
fn keep_known(repo: &Repository, notes_ref: &str) -> Result<()> {
    let mut known = sync::Known::read(repo);
    for name in repo.ref_names("refs/shiftlog/remotes/") {
        let Some(tip) = repo.tip(&name)? else { continue };
        let own = match name.rsplit('/').next() {
            Some("notes") => notes_ref,
            Some("sessions") => archive::REF,
            _ => tombstone::REF,
        };
        // Only what has been joined: the rest must still come.
        let ours = repo.tip(own)?.map(|ours| ours.commit_id);
        if ours.is_some_and(|ours| repo.merge_base(ours, tip.commit_id).is_ok_and(|base| base == Some(tip.commit_id))) {
            known.add(&name, tip.commit_id);
        }
    }
    known.write(repo)
}

/// Takes what is gone out of our own files. Returns the agents' files that still have it.
fn update_state(repo: &Repository, plan: &Plan) -> Result<Vec<PathBuf>> {
    let state = State::new(&repo.common_dir());
    // Documents that other agents were started with repeat what was said.
    let handed_over = super::restore::handed_over(&state);
    if let Err(error) = std::fs::remove_dir_all(&handed_over)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(Error::io("remove", &handed_over, error));
    }
    let archive = Archive::new(repo);
    let changed = |mark: &Mark| -> Mark {
        let segment_id = mark.segment.as_deref().and_then(|hex| repo.parse_id(hex));
        match segment_id.and_then(|id| plan.marks.final_of(repo, id)) {
            Some(became) => Mark { segment: became.became, bytes: became.bytes, raw: mark.raw },
            None => mark.clone(),
        }
    };
    let update = |agent: Option<&dyn Agent>, progress: &mut Progress| {
        let stored = changed(&progress.stored);
        if stored != progress.stored {
            let segment_id = stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
            let text = segment_id.map(|id| archive.transcript(id).bytes()).unwrap_or_default();
            let digest_of = |text: &[u8]| hex(&Sha256::new().chain_update(text).serialize());
            progress.digest = Some(digest_of(&text));
            // Lines that only changed are as many as they were. Where some are gone, the last ones are looked for: the one
            // about the whole, and what stands between it and the other beginnings that are remembered.
            let segment_id = progress.stored.segment.as_deref().and_then(|hex| repo.parse_id(hex));
            let before = segment_id.map(|id| archive.transcript(id).bytes()).unwrap_or_default();
            let (ends, new_ends): (Vec<_>, Vec<_>) = (line_ends(&before).collect(), line_ends(&text).collect());
            let moved = |bytes: u64| {
                let line = ends.iter().position(|end| *end as u64 == bytes).filter(|_| ends.len() == new_ends.len());
                line.map(|line| new_ends[line])
            };
            let longest = progress.heads.last().cloned();
            let staying = match &longest {
                // No line is about the whole, and yet the last one may change.
                Some(head)
                    if agent.is_some_and(|agent| agent.lines_that_stay(&text) == text.len())
                        && Some(head.raw) < progress.stored.raw =>
                {
                    without_last_line(&text)
                }
                _ => agent.map_or(0, |agent| agent.lines_that_stay(&text)),
            };
            let at = |bytes: u64| {
                let end = longest.as_ref().map_or(bytes, |head| head.bytes);
                let behind =
                    before.get(bytes as usize..end as usize).filter(|behind| text[..staying].ends_with(behind));
                moved(bytes).unwrap_or(staying - behind.map_or(0, <[u8]>::len))
            };
            for head in &mut progress.heads {
                let bytes = at(head.bytes);
                (head.bytes, head.digest) = (bytes as u64, digest_of(&text[..bytes]));
            }
        }
        (progress.stored, progress.recorded) = (stored, changed(&progress.recorded));
    };
    let mut files = BTreeSet::new();
    for mut live in state.all_sessions() {
        let before = live.clone();
        let agent = agent::find(&live.agent);
        update(agent, &mut live.progress);
        live.sub_agents.values_mut().for_each(|progress| update(agent, progress));
        if live != before {
            state.update(&live)?;
        }
        if plan.sessions.contains(&live.key()) && live.transcript.exists() {
            files.insert(live.transcript.clone());
        }
    }
    let here = repo.worktree().unwrap_or(repo.git_dir()).to_owned();
    for session in &plan.sessions {
        state.mark_purged(session)?;
        let found = agent::find(&session.agent).and_then(|agent| agent.transcript(&session.id, &here));
        files.extend(found);
    }
    // What a hook was writing when it was killed.
    for entry in std::fs::read_dir(state.pending_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(".tmp-") {
            std::fs::remove_file(entry.path()).map_err(|error| Error::io("remove", &entry.path(), error))?;
        }
    }
    for path in pending::list(&state) {
        let Ok((pending, bytes)) = pending::read(&path) else { continue };
        let is_barred = match &pending {
            Pending::Link(_) => false,
            Pending::Capture(capture) => plan.marks.bars(&SessionKey::new(&capture.agent, &capture.session)),
        };
        let is_of = |hex: &str| repo.parse_id(hex).is_some_and(|id| plan.earlier_commits.contains(&id));
        if is_barred || pending.commits().into_iter().any(is_of) {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
        } else if let Some(redactor) = &plan.redactor {
            pending::redact(&state, &path, pending, &bytes, redactor)?;
        }
    }
    Ok(files.into_iter().collect())
}
