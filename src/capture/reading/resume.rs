//! Finding out how much of a transcript is stored.

use std::hash::Hasher as _;
use std::io::Read as _;

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::lines::PIECE_BYTES;
use super::store::hex_of;
use super::{Reading, parse_id};
use crate::archive::{Archive, unhex};
use crate::capture::state::{Head, Progress};
use crate::error::Result;
use crate::transcript::complete_lines;

impl<'a> Reading<'a> {
    /// Takes up where `progress` says, if the stored part of the agent's file is unchanged. Of a rendered transcript,
    /// whose last lines the agent changes in place, the longest remembered beginning that is unchanged counts.
    ///
    /// Reads the stored part once.
    pub(super) fn resume(&mut self, progress: &Progress) -> Result<bool> {
        let (Some(check), Some(digest), Some(raw)) = (&progress.check, &progress.digest, progress.stored.raw) else {
            return Ok(false);
        };
        let parent = parse_id(progress.stored.segment.as_deref());
        let whole = Head { bytes: progress.stored.bytes, raw, digest: digest.clone(), check: check.clone() };
        let mut found = None;
        let (mut seen, mut position) = (XxHash3_64::new(), 0);
        for head in progress.heads.iter().chain([&whole]) {
            if !(position..=self.end()).contains(&head.raw) {
                break;
            }
            self.lines.each_step(position, head.raw, |bytes| seen.write(bytes))?;
            position = head.raw;
            // Of a purged session no segment may be left, and yet its words count as stored.
            let has_parent = parent.is_some() || (head.bytes == 0 && head.raw > 0);
            if hex_of(&seen) == head.check
                && has_parent
                && let Some(digest) = restore_digest(&head.digest)
            {
                found = Some((head.clone(), seen.clone(), digest));
            }
        }
        let Some((head, seen, digest)) = found else { return Ok(false) };
        self.heads.extend(progress.heads.iter().filter(|other| other.raw <= head.raw).cloned());
        (self.check, self.digest, self.parent, self.is_same) = (seen, digest, parent, true);
        (self.kept, self.kept_bytes, self.parent_bytes) = (head.raw, head.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Finds the longest common beginning with what the archive has, with one piece and one segment in memory. Without a
    /// redactor that cannot be told, nor is anything stored then.
    pub(super) fn compare(&mut self, archive: &Archive<'a>, progress: &Progress) -> Result<()> {
        if self.lines.can_redact().is_err() {
            return Ok(());
        }
        let known = parse_id(progress.stored.segment.as_deref());
        let Some(newest) = known.map_or_else(|| archive.newest(&self.key), |id| Ok(Some(id)))? else { return Ok(()) };
        self.parent = Some(newest);
        self.parent_bytes = archive.header(newest)?.total_bytes();
        // Across a gap nothing can be compared; what comes then is stored anew, from the beginning.
        let Ok(mut stored) = archive.open(newest) else { return Ok(()) };
        while self.kept < self.end() {
            let piece = self.lines.piece(self.kept, self.end(), PIECE_BYTES)?;
            let redacted = piece.redacted();
            let mut expected = Vec::with_capacity(redacted.len());
            // A damaged segment ends what is common, as a gap does.
            let _ = stored.by_ref().take(redacted.len() as u64).read_to_end(&mut expected);
            let common = redacted.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            let kept = complete_lines(&redacted[..common]);
            let position = piece.position(kept);
            self.digest.update(&redacted[..kept]);
            self.check.write(&piece.lines()[..(position - self.kept) as usize]);
            self.kept = position;
            self.kept_bytes += kept as u64;
            if kept < redacted.len() || piece.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

fn restore_digest(hex: &str) -> Option<Sha256> {
    Sha256::deserialize(unhex(hex)?.as_slice().try_into().ok()?).ok()
}
