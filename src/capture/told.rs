//! Recording the instruction files of a session's agent, as they are when a commit is recorded.

use std::path::PathBuf;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::increment::Increment;
use super::recorder::Recorder;
use super::tracked::TrackedSession;
use crate::agent;
use crate::archive::hex;
use crate::error::Result;
use crate::git::date::Time;
use crate::redact::Redactor;
use crate::told::{self, Content, FoundFile, InstructionFile, Root, Search, Told, find};

/// After this many seconds, the files may have changed since the commit was made; then they are not looked at.
const FRESH_SECS: i64 = 60;

/// The value of `shiftlog.rules`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kept {
    /// Nothing is recorded.
    Nothing,
    /// The texts of files in the working tree, and the digests of those in the home directory.
    Repo,
    /// The texts of all files.
    All,
}

/// Returns the instruction files that a session had read for a commit made at `made`, in seconds since the epoch, and
/// stores their texts. `None` if they are not known: then the commit is recorded without them.
pub(super) fn told(
    recorder: &Recorder<'_>,
    live: &TrackedSession,
    increment: &Increment<'_>,
    made: i64,
) -> Option<Told> {
    let may_store = recorder.hindrance().is_none() && !recorder.must_wait(&increment.key);
    let is_fresh = made >= Time::now().seconds - FRESH_SECS;
    if !may_store || !is_fresh || recorder.purged.bars(&increment.key) {
        return None;
    }
    let kept = kept(recorder);
    let agent = agent::find(&live.agent)?;
    let instructions = agent.instructions().filter(|_| kept != Kept::Nothing)?;
    let top = live.worktree.as_deref().or_else(|| recorder.repo.worktree())?;
    let edited = &increment.survey.tally.edited_paths;
    let (directory, names) = (live.directory.as_deref(), agent.instruction_names(top));
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let above = agent.instructions_above().zip(home.as_deref());
    let search = Search { top, directory, edited, instructions: &instructions, names: &names, above };
    let redactor = (*recorder.redaction).as_ref().ok()?;
    let mut files = Vec::new();
    for found in find(search) {
        match entry(found, redactor, recorder.deadline) {
            Ok(file) => files.push(file),
            Err(error) => {
                recorder
                    .state
                    .log(&format!("warning: the instruction files of {} are not recorded: {error}", live.key()));
                return None;
            }
        }
    }
    if let Err(error) = store_texts(recorder, &mut files, kept) {
        // Their digests are known all the same.
        recorder.state.log(&format!("warning: the texts of instruction files are not stored: {error}"));
    }
    Some(Told::new(&files.into_iter().map(|(file, _)| file).collect::<Vec<_>>()))
}

fn kept(recorder: &Recorder<'_>) -> Kept {
    match recorder.repo.config_string("shiftlog.rules").as_deref() {
        Some("all") => Kept::All,
        _ if recorder.repo.config_bool("shiftlog.rules") == Some(false) => Kept::Nothing,
        _ => Kept::Repo,
    }
}

/// Stores the texts that are to be kept, and names their segments in the entries.
fn store_texts(recorder: &Recorder<'_>, files: &mut [(InstructionFile, Vec<u8>)], kept: Kept) -> Result<()> {
    let is_of_repo = |file: &InstructionFile| file.root == Root::Repo.name();
    let is_kept = |file: &InstructionFile| file.left.is_none() && (kept == Kept::All || is_of_repo(file));
    let texts = files.iter().filter(|(file, _)| is_kept(file));
    let texts = texts.filter_map(|(file, text)| Some((file.sha256.as_deref()?, text.as_slice())));
    let is_purged = |id| recorder.purged.segments.contains_key(&id);
    let segments = told::store(&recorder.archive, texts, is_purged, recorder.deadline)?;
    for (file, _) in files.iter_mut().filter(|(file, _)| is_kept(file)) {
        file.text = file.sha256.as_deref().and_then(|sha256| segments.get(sha256)).map(ToString::to_string);
    }
    crate::git::fault_point("told");
    Ok(())
}

/// Returns the entry for a file, and its redacted text.
///
/// # Errors
///
/// If the deadline passes before the text is redacted.
fn entry(found: FoundFile, redactor: &Redactor, deadline: Instant) -> Result<(InstructionFile, Vec<u8>)> {
    let file = InstructionFile::new(found.root, &found.path);
    let mut text = match found.content {
        Content::Text(text) => text,
        Content::Left(why) => return Ok((InstructionFile { left: Some(why.to_owned()), ..file }, Vec::new())),
    };
    let is_ended = text.is_empty() || text.ends_with(b"\n");
    if !is_ended {
        text.push(b'\n');
    }
    // A key that is not ended is left out.
    let (clean, _) = redactor.redact_until(&text, deadline)?;
    let mut clean = clean.into_owned();
    if !is_ended && clean.ends_with(b"\n") {
        clean.pop();
    }
    let (bytes, sha256) = (Some(clean.len() as u64), Some(hex(&Sha256::digest(&clean))));
    Ok((InstructionFile { bytes, sha256, ..file }, clean))
}
