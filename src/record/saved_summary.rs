//! Storing the summary of a conversation in its record.

use std::time::Instant;

use super::{Note, Reader, Record, add_proven, redaction};
use crate::error::{Error, Kind, Result};
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::notes;

/// The longest summary that is stored, in bytes.
const MAX_SUMMARY_BYTES: usize = 4096;

/// Returns the stored summary of a commit; the newest if there are several.
///
/// # Errors
///
/// As [`Reader::note`].
pub fn saved_summary(reader: &Reader<'_>, commit_id: ObjectId) -> Result<Option<String>> {
    Ok(reader.note(commit_id)?.and_then(|note| chosen(&note)?.summary.clone()))
}

/// Stores the summary of a commit's conversation in its record under `notes_ref`, and replaces an earlier summary. If
/// several sessions made the commit, uses the record of the first. Secrets are redacted, and the text is cut at 4 KiB.
///
/// # Errors
///
/// [`Kind::Missing`] if the commit has no record of this version, [`Kind::Other`] if the redactor cannot run; otherwise
/// as [`notes::edit`].
pub fn save_summary(
    reader: &Reader<'_>,
    notes_ref: &str,
    commit_id: ObjectId,
    text: &str,
    deadline: Instant,
) -> Result<()> {
    let note = reader.note(commit_id)?.unwrap_or_default();
    let cannot = |kind, reason: &'static str| {
        Error::new(kind, format!("cannot save a summary for '{}'", commit_id.to_hex_with_len(7))).because(reason)
    };
    let record = chosen(&note).ok_or_else(|| cannot(Kind::Missing, "it has no record of this version"))?;
    let redactor = redaction::redactor(reader.repo())?;
    let line = format!("{text}\n");
    let (clean, _) = redactor.redact(line.as_bytes());
    let summary = shortened(String::from_utf8_lossy(&clean).trim_end());
    if summary.is_empty() {
        return Err(cannot(Kind::Other, "nothing remains of it after redaction"));
    }
    // The new summary must count as the newer one even if a clock was wrong.
    let last = record.summary_time.as_deref().and_then(Time::parse_rfc3339).map_or(i64::MIN, |time| time.seconds);
    let time = Time { seconds: Time::now().seconds.max(last.saturating_add(1)), offset: 0 }.to_rfc3339();
    let message = format!("shiftlog: summary of {} on {}\n", record.key(), commit_id.to_hex_with_len(12));
    notes::edit(reader.repo(), notes_ref, &message, deadline, |editor| {
        let mut note = Note::parse_unjoined(editor.get(commit_id)?.as_deref().unwrap_or_default());
        // The record may be only in a ref fetched from a remote.
        add_proven(reader.repo(), &mut note, record.clone());
        note.map_records(|mut known| {
            if known.is_same_session(record) && known.since == record.since {
                (known.summary, known.summary_time) = (Some(summary.clone()), Some(time.clone()));
            }
            Some(known)
        });
        editor.replace(commit_id, &note.to_bytes())
    })?;
    Ok(())
}

/// Returns the record with the newest summary; otherwise the first that is not of a sub-agent.
fn chosen(note: &Note) -> Option<&Record> {
    let summarised =
        note.records().filter(|record| record.summary.is_some()).max_by_key(|record| record.summary_rank());
    let of_a_session = || note.records().find(|record| record.key().parent_id().is_none());
    summarised.or_else(of_a_session).or_else(|| note.records().next())
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_SUMMARY_BYTES {
        return text.to_owned();
    }
    let max = MAX_SUMMARY_BYTES - '…'.len_utf8();
    let cut = (0..=max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text[..cut].trim_end())
}
