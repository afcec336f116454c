//! What a second thread does ahead. While this one opens the repository and looks around, it finds out whether the
//! stored part of long transcripts is still the same, and redacts what is new; while this one counts that, it
//! compresses it.
//!
//! All of it is only likely to be wanted: what nobody asks for is lost, and what is not done ahead is done when needed.

use std::cell::RefCell;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use twox_hash::XxHash3_64;

use super::piece::{Lines, PIECE_BYTES, Piece};
use super::{Redaction, STEP_BYTES};
use crate::agent;
use crate::archive::segment;
use crate::record::beside;
use crate::record::state::Live;

/// From how much stored text on a thread is worth while.
const LONG_BYTES: u64 = 512 << 10;

/// A thread that works ahead. It ends when this is dropped, or with the process.
pub struct Ahead {
    watched: Vec<Watched>,
    redaction: Sender<Redaction>,
}

/// A transcript that it looks at.
struct Watched {
    path: PathBuf,
    file: File,
    stored: u64,
    digest: Receiver<Option<XxHash3_64>>,
    piece: Receiver<Arc<Piece>>,
    frame: RefCell<Option<Receiver<Vec<u8>>>>,
}

/// What the thread has of a transcript.
struct Work {
    file: File,
    stored: u64,
    digest: SyncSender<Option<XxHash3_64>>,
    piece: SyncSender<Arc<Piece>>,
    frame: SyncSender<Vec<u8>>,
}

impl Ahead {
    /// Starts with the long transcripts among these that have grown; `None` if there is none.
    pub fn start(sessions: &[Live]) -> Option<Self> {
        let (watched, work): (Vec<_>, Vec<_>) = sessions.iter().filter_map(watch).unzip();
        if work.is_empty() {
            return None;
        }
        let (redaction, redactions) = channel();
        beside::spawn(move || do_all(work, &redactions)).ok()?;
        Some(Ahead { watched, redaction })
    }

    /// Says with what to redact.
    pub fn redact_with(&self, redaction: &Redaction) {
        let _ = self.redaction.send(Arc::clone(redaction));
    }

    /// Returns a transcript that is looked at: the very file, whatever has its name by now.
    pub fn file(&self, path: &Path) -> Option<File> {
        self.of(path)?.file.try_clone().ok()
    }

    /// Returns XXH3 of the first `stored` bytes of that file, once; waits for it.
    pub fn digest(&self, path: &Path, stored: u64) -> Option<XxHash3_64> {
        self.of(path).filter(|watched| watched.stored == stored)?.digest.recv().ok()?
    }

    /// Returns what follows them as one piece, once, and what gives the frame of its segment; waits for the piece. There
    /// is none if it would be too large.
    pub fn piece(&self, path: &Path) -> Option<(Arc<Piece>, Receiver<Vec<u8>>)> {
        let watched = self.of(path)?;
        Some((watched.piece.recv().ok()?, watched.frame.take()?))
    }

    fn of(&self, path: &Path) -> Option<&Watched> {
        self.watched.iter().find(|watched| watched.path == path)
    }
}

fn watch(live: &Live) -> Option<(Watched, Work)> {
    let stored = live.progress.stored.raw.filter(|raw| *raw >= LONG_BYTES && live.progress.check.is_some())?;
    let is_wanted = agent::find(&live.agent).is_some_and(|agent| !agent.is_rendered(&live.transcript))
        && live.transcript.metadata().is_ok_and(|file| file.is_file() && file.len() > stored);
    let file = is_wanted.then(|| File::open(&live.transcript).ok()).flatten()?;
    let same_file = file.try_clone().ok()?;
    let ((digest, digests), (piece, pieces), (frame, frames)) = (sync_channel(1), sync_channel(1), sync_channel(1));
    let path = live.transcript.clone();
    let watched = Watched { path, file, stored, digest: digests, piece: pieces, frame: RefCell::new(Some(frames)) };
    Some((watched, Work { file: same_file, stored, digest, piece, frame }))
}

fn do_all(work: Vec<Work>, redactions: &Receiver<Redaction>) {
    for each in &work {
        let _ = each.digest.send(digest(&each.file, each.stored));
    }
    let Ok(redaction) = redactions.recv() else { return };
    for Work { file, stored, piece: pieces, frame: frames, .. } in work {
        let Ok(mut lines) = Lines::new(Box::new(Positioned { file, at: 0 }), &redaction) else { continue };
        let end = lines.end();
        let Ok(piece) = lines.piece(stored, end.max(stored), PIECE_BYTES) else { continue };
        // Of more than one piece, the others would have to wait until the first is stored.
        if piece.is_empty() || piece.end() < end {
            continue;
        }
        let _ = pieces.send(Arc::clone(&piece));
        if let Ok(frame) = segment::compress(piece.redacted()) {
            let _ = frames.send(frame);
        }
    }
}

fn digest(file: &File, stored: u64) -> Option<XxHash3_64> {
    let mut buffer = vec![0; STEP_BYTES];
    let mut digest = XxHash3_64::new();
    let mut read = 0;
    while read < stored {
        let step = STEP_BYTES.min(usize::try_from(stored - read).unwrap_or(STEP_BYTES));
        file.read_exact_at(&mut buffer[..step], read).ok()?;
        digest.write(&buffer[..step]);
        read += step as u64;
    }
    Some(digest)
}

/// A file with a position of its own: that of the system is shared with the other thread.
struct Positioned {
    file: File,
    at: u64,
}

impl Read for Positioned {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Positioned {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.file.metadata()?.len().checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
