//! What a second thread does ahead. While this one opens the repository and looks around, it finds out whether the
//! stored part of long transcripts is still the same; while this one counts what is new, it compresses that.
//!
//! All of it is only likely to be wanted: what nobody asks for is lost, and what is not done ahead is done when needed.

use std::fs::File;
use std::hash::Hasher as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use twox_hash::XxHash3_64;

use super::STEP_BYTES;
use super::piece::Piece;
use crate::agent;
use crate::archive::segment;
use crate::record::beside;
use crate::record::state::Live;

/// From how much stored text on a thread is worth while.
const LONG_BYTES: u64 = 512 << 10;

/// A thread that works ahead. It ends when this is dropped, or with the process.
pub struct Ahead {
    checks: Vec<Check>,
    packing: Sender<(Arc<Piece>, SyncSender<Vec<u8>>)>,
}

/// A file that is looked at.
struct Check {
    path: PathBuf,
    file: File,
    stored: u64,
    digest: Receiver<XxHash3_64>,
}

impl Ahead {
    /// Starts with the long transcripts among these that have grown; `None` if there is none.
    pub fn start(sessions: &[Live]) -> Option<Self> {
        let (mut checks, mut work) = (Vec::new(), Vec::new());
        for live in sessions {
            let stored = live.progress.stored.raw.unwrap_or(0);
            let is_wanted = stored >= LONG_BYTES
                && live.progress.check.is_some()
                && agent::find(&live.agent).is_some_and(|agent| !agent.is_rendered(&live.transcript))
                && live.transcript.metadata().is_ok_and(|file| file.is_file() && file.len() > stored);
            let Some(file) = is_wanted.then(|| File::open(&live.transcript).ok()).flatten() else { continue };
            let Ok(same_file) = file.try_clone() else { continue };
            let (sender, digest) = sync_channel(1);
            work.push((same_file, stored, sender));
            checks.push(Check { path: live.transcript.clone(), file, stored, digest });
        }
        if checks.is_empty() {
            return None;
        }
        let (packing, pieces) = channel::<(Arc<Piece>, SyncSender<Vec<u8>>)>();
        beside::spawn(move || {
            for (file, stored, sender) in work {
                if let Some(digest) = digest(&file, stored) {
                    let _ = sender.send(digest);
                }
            }
            for (piece, sender) in pieces {
                if let Ok(frame) = segment::compress(piece.redacted()) {
                    let _ = sender.send(frame);
                }
            }
        })
        .ok()?;
        Some(Ahead { checks, packing })
    }

    /// Returns a transcript that is looked at: the very file, whatever has its name by now.
    pub fn file(&self, path: &Path) -> Option<File> {
        self.checks.iter().find(|check| check.path == path)?.file.try_clone().ok()
    }

    /// Returns XXH3 of the first `stored` bytes of that file, once; waits for it.
    pub fn digest(&self, path: &Path, stored: u64) -> Option<XxHash3_64> {
        self.checks.iter().find(|check| check.path == path && check.stored == stored)?.digest.recv().ok()
    }

    /// Compresses a piece. What is returned gives the frame of its segment, or nothing if that failed.
    pub fn pack(&self, piece: &Arc<Piece>) -> Receiver<Vec<u8>> {
        let (sender, frame) = sync_channel(1);
        let _ = self.packing.send((Arc::clone(piece), sender));
        frame
    }
}

fn digest(file: &File, stored: u64) -> Option<XxHash3_64> {
    let mut buffer = vec![0; STEP_BYTES];
    let mut digest = XxHash3_64::new();
    let mut read = 0;
    while read < stored {
        let step = STEP_BYTES.min(usize::try_from(stored - read).unwrap_or(STEP_BYTES));
        // At a position, since the other thread moves the file's own.
        file.read_exact_at(&mut buffer[..step], read).ok()?;
        digest.write(&buffer[..step]);
        read += step as u64;
    }
    Some(digest)
}
