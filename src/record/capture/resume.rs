//! Finding out how much of a transcript is stored.

use std::hash::Hasher as _;

use sha2::digest::common::hazmat::SerializableState as _;
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

use super::ahead::Known;
use super::piece::{PIECE_BYTES, Piece};
use super::{Reading, Survey, hex_of, parse_id};
use crate::archive::Archive;
use crate::error::Result;
use crate::record::state::{Head, Progress};
use crate::transcript::complete_lines;

impl Reading<'_> {
    /// Takes up where `progress` says, if the stored part of the agent's file is still the same.
    pub(super) fn resume(&mut self, progress: &Progress) -> Result<bool> {
        let (Some(check), Some(digest), Some(raw)) = (&progress.check, &progress.digest, progress.stored.raw) else {
            return Ok(false);
        };
        if self.base != progress.base {
            return Ok(false);
        }
        let ahead = if self.is_document { self.known.take() } else { None };
        let whole = Head { bytes: progress.stored.bytes, raw, digest: digest.clone(), check: check.clone() };
        for head in std::iter::once(&whole).chain(progress.heads.iter().rev()) {
            if self.resume_at(head, progress)? {
                if let Some(known) = ahead {
                    self.count_ahead(&known, head.raw, progress)?;
                    self.proof = Some(known);
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn resume_at(&mut self, head: &Head, progress: &Progress) -> Result<bool> {
        let parent = parse_id(progress.stored.segment.as_deref());
        // Of what was removed for good nothing may be left, and yet it counts as stored.
        let has_parent = parent.is_some() || (head.bytes == 0 && head.raw > 0);
        let start = self.base.as_ref().map_or(0, |base| base.anchor.lines);
        let is_there = (start..=self.end()).contains(&head.raw);
        let (Some(digest), true, true) = (restore_digest(&head.digest), has_parent, is_there) else {
            return Ok(false);
        };
        let known = self.known.take();
        if let Some(known) = &known {
            self.count_ahead(known, head.raw, progress)?;
        }
        let seen = match known.and_then(|known| known.digest(head.raw)) {
            Some(seen) => seen,
            None => {
                let mut seen = XxHash3_64::new();
                self.lines.each_step(start, head.raw, |bytes| seen.write(bytes))?;
                seen
            }
        };
        if hex_of(&seen) != head.check {
            (self.ready, self.counted) = (None, None);
            return Ok(false);
        }
        self.heads.extend(progress.heads.iter().filter(|other| other.raw <= head.raw).cloned());
        (self.check, self.digest, self.parent, self.is_same) = (seen, digest, parent, true);
        (self.kept, self.kept_bytes, self.parent_bytes) = (head.raw, head.bytes, progress.stored.bytes);
        Ok(true)
    }

    /// Counts what most likely will be asked for, while the other thread looks at what is stored.
    ///
    /// What is not redacted yet is counted as it is: mostly there is nothing to redact, and what was counted holds.
    fn count_ahead(&mut self, known: &Known, from: u64, progress: &Progress) -> Result<()> {
        let to = self.end();
        let is_wanted = progress.recorded.raw >= Some(from) && from < to;
        let is_early = is_wanted && !known.is_redacted();
        let early = if is_early { self.lines.as_written(from, to) } else { None };
        let early = early.map(|piece| {
            let mut survey = Survey::default();
            survey.add(&piece, &mut *self.agent.parser());
            (piece, survey)
        });
        self.ready = known.piece();
        if is_wanted {
            let ready = self.ready.as_ref().map(|ready| &ready.piece);
            // A file may have been written anew between the two.
            let is_same = |counted: &Piece| ready.is_some_and(|ready| ready.is_stored_as(counted.lines(), from, to));
            let survey = match early.filter(|(piece, _)| is_same(piece)) {
                Some((_, survey)) => survey,
                None => self.survey(from, to)?,
            };
            self.counted = Some((from, to, survey));
        }
        Ok(())
    }

    /// Finds the longest common beginning with what the archive has. Without a redactor that cannot be told, nor is
    /// anything stored then.
    pub(super) fn compare(&mut self, archive: &Archive<'_>, progress: &Progress) -> Result<()> {
        if self.lines.can_redact().is_err() {
            return Ok(());
        }
        let known = parse_id(progress.stored.segment.as_deref());
        let Some(newest) = known.map_or_else(|| archive.newest(&self.key), |id| Ok(Some(id)))? else { return Ok(()) };
        self.parent = Some(newest);
        self.parent_bytes = archive.header(newest)?.total_bytes();
        let stored = archive.transcript(newest);
        // Across a gap nothing can be compared; what comes then is stored anew, from the beginning.
        let stored = if stored.problems.is_empty() { stored.bytes() } else { Vec::new() };
        let mut rest = &stored[..];
        while self.kept < self.end() {
            let piece = self.piece(self.kept, self.end(), PIECE_BYTES)?;
            let redacted = piece.redacted();
            let common = redacted.iter().zip(rest).take_while(|(a, b)| a == b).count();
            let kept = complete_lines(&redacted[..common]);
            let position = piece.position(kept);
            self.digest.update(&redacted[..kept]);
            self.check.write(&piece.lines()[..(position - self.kept) as usize]);
            self.kept = position;
            self.kept_bytes += kept as u64;
            rest = &rest[kept..];
            if kept < redacted.len() || piece.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

fn restore_digest(hex: &str) -> Option<Sha256> {
    let digits = hex.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    Sha256::deserialize(bytes?.as_slice().try_into().ok()?).ok()
}
