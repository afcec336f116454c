//! Attaching evidence to a commit: a line in its note. The text itself stays in its file, or is stored in the archive
//! too.
//!
//! Read [`observe`], then [`attach`].

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::apex::is_log_id;
use super::triage::triage;
use crate::archive::{Archive, text};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::git::{ObjectId, Repository};
use crate::hex::hex;
use crate::notes;
use crate::record::tombstone::Tombstones;
use crate::record::{Evidence, Note, redaction};
use crate::redact::Redactor;

/// The kind of an Apex log, which is recognized by its text or its name.
const APEX: &str = "apex";
/// How many digits of the digest are the id of a text that has no other.
const ID_DIGITS: usize = 12;
/// The status of a text that tells of a failure.
const FAILED: &str = "failed";
/// The longest remark, in characters.
const MAX_NOTE_CHARS: usize = 500;
/// The longest name of a file, in characters.
const MAX_NAME_CHARS: usize = 1000;

/// The largest file whose text is stored, in bytes.
const MAX_STORED_BYTES: u64 = 32 << 20;

/// A file that was read, to be attached.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The entry for the note.
    pub evidence: Evidence,
    /// The text without secrets, if it is to be stored.
    words: Option<Vec<u8>>,
    /// The entries that a note can have for the same file: with its text stored, and without.
    forms: Vec<Evidence>,
}

/// Reads a file, to be attached. `kind` is `test`, `ci` or `log`; an Apex log is recognized whatever `kind` is. With
/// `has_words` its text is to be stored.
///
/// The returned texts have no secrets.
///
/// # Errors
///
/// If the file cannot be read or is too large to be stored, if its text was purged, or if the redactor cannot run.
pub fn observe(repo: &Repository, path: &Path, kind: &str, remark: Option<&str>, has_words: bool) -> Result<Observed> {
    let plain = described(repo, path, kind, remark)?;
    let mut forms = vec![plain.clone()];
    let mut words = if has_words || plain.size <= MAX_STORED_BYTES { Some(words(repo, path)?) } else { None };
    if let Some(words) = &words {
        let sha256 = hex(&Sha256::digest(words));
        // The segment is named when it is stored.
        forms.push(Evidence { blob: None, ..plain.with_text(String::new(), words.len() as u64, sha256) });
    }
    words = words.filter(|_| has_words);
    let evidence = forms[usize::from(has_words)].clone();
    let refused = |reason: &str| Err(Error::other(format!("cannot attach '{}': {reason}", path.display())));
    let purged = Tombstones::read(repo)?;
    if forms.iter().any(|form| purged.bars(&form.key())) {
        return refused("its text was removed with 'git shiftlog purge'");
    }
    if forms.iter().any(Evidence::is_too_long) {
        return refused("what a note would say of it is too long");
    }
    Ok(Observed { evidence, words, forms })
}

/// Returns the text of a file without its secrets. A key that does not end is left out.
fn words(repo: &Repository, path: &Path) -> Result<Vec<u8>> {
    let failed = |error: io::Error| Error::io("read", path, error);
    let mut text = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_STORED_BYTES + 1).read_to_end(&mut text)).map_err(failed)?;
    if text.len() as u64 > MAX_STORED_BYTES {
        let most = MAX_STORED_BYTES >> 20;
        return Err(Error::other(format!("cannot store '{}': it is larger than {most} MiB", path.display()))
            .hint("attach it without --words, or a part of it"));
    }
    let is_ended = text.is_empty() || text.ends_with(b"\n");
    if !is_ended {
        text.push(b'\n');
    }
    let (clean, _) = redaction::redactor(repo)?.redact(&text);
    let mut clean = clean.into_owned();
    if !is_ended && clean.ends_with(b"\n") {
        clean.pop();
    }
    Ok(clean)
}

/// Returns the entry of a file for a note.
fn described(repo: &Repository, path: &Path, kind: &str, remark: Option<&str>) -> Result<Evidence> {
    let redactor = redaction::redactor(repo)?;
    let clean = |text: &str| cleaned(&redactor, text);
    let failed = |error: io::Error| Error::io("read", path, error);
    // Opening a named pipe would wait for somebody who writes.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(Error::other(format!("cannot read '{}': it is not a file", path.display())));
    }
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mut text = Hashed { file, digest: Sha256::new(), length: 0 };
    let triage = triage(BufReader::with_capacity(64 << 10, &mut text), &clean).map_err(failed)?;
    let sha256 = hex(&text.digest.finalize());
    let log_id = log_id(path).map(str::to_owned);
    let seconds = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let seconds = seconds.and_then(|age| i64::try_from(age.as_secs()).ok()).unwrap_or_default();
    Ok(Evidence {
        shiftlog: 1,
        evidence: if triage.is_apex || log_id.is_some() { APEX.to_owned() } else { kind.to_owned() },
        id: log_id.unwrap_or_else(|| sha256[..ID_DIGITS].to_owned()),
        time: Time { seconds, offset: 0 }.to_rfc3339(),
        size: text.length,
        sha256,
        status: if triage.error.is_some() { FAILED.to_owned() } else { String::new() },
        error: triage.error,
        triage: triage.lines,
        // A secret that is cut in two is none that the redactor knows.
        note: remark.map(|remark| clean(remark).chars().take(MAX_NOTE_CHARS).collect()),
        name: clean(&name(repo, path)),
        blob: None,
    })
}

/// Attaches evidence to a commit, and stores the texts that are to be stored. Returns of each whether it is new. Evidence
/// that has been attached without its text gets it.
///
/// # Errors
///
/// As [`Archive::add`] and [`notes::edit`].
pub fn attach(
    repo: &Repository,
    notes_ref: &str,
    commit_id: ObjectId,
    observed: &[Observed],
    deadline: Instant,
) -> Result<Vec<bool>> {
    let archive = Archive::new(repo);
    let texts = observed.iter().filter_map(|one| Some((one.evidence.sha256.as_str(), one.words.as_deref()?)));
    let purged = Tombstones::read(repo)?;
    let is_purged = |id| purged.segments.contains_key(&id);
    // The archive is written before the note that names it.
    let segments = archive.store_texts(text::EVIDENCE, texts, is_purged, "shiftlog: evidence\n", deadline)?;
    let mut is_new = Vec::new();
    let message = format!("shiftlog: evidence on {}\n", commit_id.to_hex_with_len(12));
    notes::edit(repo, notes_ref, &message, deadline, |editor| {
        let note = editor.get(commit_id)?.unwrap_or_default();
        let mut known = Note::parse_unjoined(&note).evidence();
        // Nothing of the note changes but what is added.
        let mut text = note.clone();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        is_new.clear();
        for one in observed {
            let blob = one.words.as_ref().and_then(|_| segments.get(&one.evidence.sha256)).map(ToString::to_string);
            let evidence = Evidence { blob, ..one.evidence.clone() };
            let is_it = |known: &Evidence| one.forms.iter().any(|form| known.is_same(form));
            let has_it = known.iter().any(|known| is_it(known) && (known.blob.is_some() || evidence.blob.is_none()));
            is_new.push(!has_it);
            if has_it {
                continue;
            }
            if known.iter().any(is_it) {
                let mut note = Note::parse_unjoined(&text);
                note.retain(|unit| !unit.evidence().is_some_and(|known| is_it(&known)));
                text = note.to_bytes();
            }
            text.extend_from_slice(evidence.to_line().as_bytes());
            text.push(b'\n');
            known.retain(|known| !is_it(known));
            known.push(evidence);
        }
        if is_new.contains(&true) { editor.replace(commit_id, &text) } else { Ok(()) }
    })?;
    Ok(is_new)
}

/// Removes evidence from a commit's note. Says whether it was there.
///
/// # Errors
///
/// As [`notes::edit`].
pub fn remove(
    repo: &Repository,
    notes_ref: &str,
    commit_id: ObjectId,
    evidence: &Evidence,
    deadline: Instant,
) -> Result<bool> {
    let mut was_there = false;
    let message = format!("shiftlog: drop evidence on {}\n", commit_id.to_hex_with_len(12));
    notes::edit(repo, notes_ref, &message, deadline, |editor| {
        let mut note = Note::parse_unjoined(editor.get(commit_id)?.as_deref().unwrap_or_default());
        let before = note.units().len();
        note.retain(|unit| !unit.evidence().is_some_and(|known| known.is_same(evidence)));
        was_there = note.units().len() < before;
        match note.to_bytes() {
            _ if !was_there => Ok(()),
            text if text.is_empty() => editor.remove(commit_id),
            text => editor.replace(commit_id, &text),
        }
    })?;
    Ok(was_there)
}

/// Returns the name of a file for a note: from the top of the working tree, or the last component of one that is
/// elsewhere or has a very long path.
fn name(repo: &Repository, path: &Path) -> String {
    let top = repo.worktree().and_then(|top| top.canonicalize().ok());
    let whole = path.canonicalize().ok();
    let below = top.zip(whole.as_ref()).and_then(|(top, whole)| whole.strip_prefix(top).ok().map(Path::to_owned));
    let below = below.map(|below| below.to_string_lossy().into_owned());
    below
        .filter(|below| below.chars().count() <= MAX_NAME_CHARS)
        .unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Returns the id in the name of a log's file, as [`super::apex::sync`] makes it.
fn log_id(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".log")?;
    name.rsplit('_').next().filter(|id| is_log_id(id))
}

fn cleaned(redactor: &Redactor, text: &str) -> String {
    redactor.without_secrets(&crate::outside::line(text)).trim_end().to_owned()
}

/// A file whose digest is known when it has been read.
struct Hashed {
    file: File,
    digest: Sha256,
    length: u64,
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.digest.update(&buffer[..count]);
        self.length += count as u64;
        Ok(count)
    }
}
