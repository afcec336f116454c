//! Finding how much of a transcript is already stored.

use std::hash::Hasher as _;
use std::io::Read as _;

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::lines::CHUNK_BYTES;
use super::store::hex_of;
use super::{Reading, parse_id};
use crate::archive::{Archive, hex, unhex};
use crate::capture::progress::{Progress, ResumePoint};
use crate::capture::state::State;
use crate::error::{Kind, Result};
use crate::record::foreign_marks::ForeignMarks;
use crate::record::tombstone::Tombstones;
use crate::transcript::{complete_lines, line_ends};

impl<'a> Reading<'a> {
    /// Resumes at the end of the stored part that `progress` names, if that part of the agent's file is unchanged. The
    /// last lines of a rendered transcript change in place; there the last resume point before the first change counts.
    /// Returns whether it could resume.
    ///
    /// Reads and hashes the stored part once.
    pub(super) fn resume(&mut self, progress: &Progress) -> Result<bool> {
        let (Some(xxh3), Some(digest), Some(raw)) = (&progress.xxh3, &progress.sha256_state, progress.stored.raw)
        else {
            return Ok(false);
        };
        let parent = parse_id(progress.stored.segment.as_deref());
        let whole = ResumePoint { bytes: progress.stored.bytes, raw, sha256_state: digest.clone(), xxh3: xxh3.clone() };
        let mut found = None;
        let (mut seen, mut position) = (XxHash3_64::new(), 0);
        for point in progress.resume_points.iter().chain([&whole]) {
            if !(position..=self.end()).contains(&point.raw) {
                break;
            }
            self.lines.each_step(position, point.raw, |bytes| seen.write(bytes))?;
            position = point.raw;
            // After a purge the archive may have no segment of the session, and its words still count as stored.
            let has_parent = parent.is_some() || (point.bytes == 0 && point.raw > 0);
            if hex_of(&seen) == point.xxh3
                && has_parent
                && let Some(digest) = restore_digest(&point.sha256_state)
            {
                found = Some((point.clone(), seen.clone(), digest));
            }
        }
        let Some((point, seen, digest)) = found else { return Ok(false) };
        self.resume_points.extend(progress.resume_points.iter().filter(|other| other.raw <= point.raw).cloned());
        (self.xxh3, self.sha256, self.parent, self.is_same) = (seen, digest, parent, true);
        (self.kept, self.kept_bytes, self.parent_bytes) = (point.raw, point.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Says whether the agent's file may have purged words in a part of which our state does not say how far it is stored:
    /// comparing it with the archive would store them again. A rendered transcript that changed far from its end counts
    /// as such.
    ///
    /// # Errors
    ///
    /// If the archive's tree cannot be read.
    pub(super) fn may_have_purged_words(
        &self,
        archive: &Archive<'_>,
        purged: &Tombstones,
        progress: &Progress,
    ) -> Result<bool> {
        if self.is_same {
            return Ok(false);
        }
        let repo = archive.repo();
        if State::new(&repo.common_dir()).is_purged(&self.key) || purged.concern(repo, &self.key, &[])? {
            return Ok(true);
        }
        // Of a session of which nothing was recorded from this file, others can have removed words. Its sub-agents are asked for by
        // their own names: a mark of others must not end a recording that has begun.
        Ok(progress.xxh3.is_none() && ForeignMarks::read(repo, purged).name(repo, &self.key))
    }

    /// Marks the present content of the file as stored, without storing it: only lines added later are new. The
    /// stored transcript ends with the newest segment, if its transcript can be read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(in crate::capture) fn skip_to_end(&mut self, archive: &Archive<'a>) -> Result<()> {
        if let Some(newest) = archive.newest(&self.key)? {
            let stored = archive.only(&self.key).transcript(newest);
            if stored.problems.is_empty() {
                let text = stored.into_bytes();
                self.sha256 = Sha256::new().chain_update(&text);
                (self.parent, self.parent_bytes, self.kept_bytes) =
                    (Some(newest), text.len() as u64, text.len() as u64);
            }
        }
        let (mut last_line, mut end, mut position) = (0, 0, 0);
        self.lines.each_step(0, self.end(), |bytes| {
            for line_end in line_ends(bytes).filter(|line_end| bytes[..*line_end].ends_with(b"\n")) {
                (last_line, end) = (end, position + line_end as u64);
            }
            position += bytes.len() as u64;
        })?;
        let mut xxh3 = XxHash3_64::new();
        self.lines.each_step(0, last_line, |bytes| xxh3.write(bytes))?;
        // The last line is about the whole document, and changes with each message.
        if self.is_rendered && last_line > 0 {
            let sha256_state = hex(&self.sha256.serialize());
            let point = ResumePoint { bytes: self.kept_bytes, raw: last_line, sha256_state, xxh3: hex_of(&xxh3) };
            self.resume_points.push(point);
        }
        self.lines.each_step(last_line, self.end(), |bytes| xxh3.write(bytes))?;
        (self.kept, self.xxh3, self.is_same, self.is_skipped) = (self.end(), xxh3, true, true);
        Ok(())
    }

    /// Returns a warning if the agent's file counts as stored although it is not, because purged words may be in it. Then
    /// updates `progress`, so that only these words are left out.
    pub fn skipped(&self, progress: &mut Progress) -> Option<String> {
        self.is_skipped.then(|| {
            self.update(progress);
            progress.recorded.raw = progress.stored.raw;
            let why = "words of it were purged, and what its file has so far may repeat them";
            format!("warning: {}: {why}; only what comes after is stored", self.key)
        })
    }

    /// Finds the longest common prefix of the transcript and the archive, with one chunk and one segment in memory.
    /// Does nothing without a redactor: the comparison needs redacted lines, and nothing will be stored.
    pub(super) fn compare(&mut self, archive: &Archive<'a>, progress: &Progress) -> Result<()> {
        if self.lines.can_redact().is_err() {
            return Ok(());
        }
        let known = parse_id(progress.stored.segment.as_deref());
        let Some(newest) = known.map_or_else(|| archive.newest(&self.key), |id| Ok(Some(id)))? else { return Ok(()) };
        let key = self.key.clone();
        let archive = archive.only(&key);
        self.parent_bytes = match archive.header(newest) {
            Ok(header) => header.total_bytes(),
            // A partial clone may lack this segment, and anyone who can push can have stored one that is damaged or of another
            // session. Then the whole transcript is stored in a chain of its own.
            Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Missing) => return Ok(()),
            Err(error) => return Err(error),
        };
        self.parent = Some(newest);
        // A transcript with a missing segment cannot be compared; it is stored again from the beginning.
        let Ok(mut stored) = archive.open(newest) else { return Ok(()) };
        while self.kept < self.end() {
            let chunk = self.lines.chunk(self.kept, self.end(), CHUNK_BYTES)?;
            let redacted = chunk.redacted();
            let mut expected = Vec::with_capacity(redacted.len());
            // A damaged segment ends the common prefix.
            let _ = stored.by_ref().take(redacted.len() as u64).read_to_end(&mut expected);
            let common = redacted.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            let kept = complete_lines(&redacted[..common]);
            let position = chunk.position(kept);
            self.sha256.update(&redacted[..kept]);
            self.xxh3.write(&chunk.lines()[..(position - self.kept) as usize]);
            self.kept = position;
            self.kept_bytes += kept as u64;
            if kept < redacted.len() || chunk.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

fn restore_digest(hex: &str) -> Option<Sha256> {
    Sha256::deserialize(unhex(hex)?.as_slice().try_into().ok()?).ok()
}
