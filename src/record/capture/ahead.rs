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
    piece: Receiver<Option<Arc<Piece>>>,
    frame: RefCell<Option<Receiver<Option<Vec<u8>>>>>,
}

/// A piece that was redacted ahead.
pub struct Ready {
    /// What is new.
    pub piece: Arc<Piece>,
    frame: Receiver<Option<Vec<u8>>>,
}

impl Ready {
    /// Returns the frame of its segment; waits for it.
    pub fn frame(self) -> Option<Vec<u8>> {
        self.frame.recv().ok()?
    }
}

/// What the thread has of a transcript.
struct Work {
    file: File,
    stored: u64,
    digest: SyncSender<Option<XxHash3_64>>,
    piece: SyncSender<Option<Arc<Piece>>>,
    frame: SyncSender<Option<Vec<u8>>>,
}

impl Ahead {
    /// Starts with the long transcripts among these that have grown; `None` if there is none.
    pub fn start(sessions: &[Live]) -> Option<Self> {
        let (watched, work): (Vec<_>, Vec<_>) = sessions.iter().filter_map(watch).unzip();
        if work.is_empty() {
            return None;
        }
        let (redaction, redactions) = channel();
        beside::spawn(move || do_all(&work, &redactions)).ok()?;
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

    /// Returns what follows them as one piece, once; waits for it. There is none if it would be too large.
    pub fn piece(&self, path: &Path) -> Option<Ready> {
        let watched = self.of(path)?;
        Some(Ready { piece: watched.piece.recv().ok()??, frame: watched.frame.take()? })
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

/// Pieces come first, as soon as it is known with what to redact: counting what is in them takes longest.
fn do_all(work: &[Work], redactions: &Receiver<Redaction>) {
    let mut pieces = None;
    for each in work {
        let mut digest = XxHash3_64::new();
        let read = each_step(&each.file, each.stored, |bytes| {
            digest.write(bytes);
            if pieces.is_none()
                && let Ok(redaction) = redactions.try_recv()
            {
                pieces = Some(all_pieces(work, &redaction));
            }
        });
        let _ = each.digest.send(read.is_ok().then_some(digest));
    }
    let pieces = pieces.or_else(|| redactions.recv().ok().map(|redaction| all_pieces(work, &redaction)));
    for (each, piece) in work.iter().zip(pieces.into_iter().flatten()) {
        let frame = piece.and_then(|piece| segment::compress(piece.redacted()).ok());
        let _ = each.frame.send(frame);
    }
}

fn all_pieces(work: &[Work], redaction: &Redaction) -> Vec<Option<Arc<Piece>>> {
    let send = |each: &Work| {
        let piece = piece(each, redaction);
        let _ = each.piece.send(piece.clone());
        piece
    };
    work.iter().map(send).collect()
}

/// Returns what is new as one piece, if it is one: of several, the others would have to wait until the first is stored.
fn piece(work: &Work, redaction: &Redaction) -> Option<Arc<Piece>> {
    let file = work.file.try_clone().ok()?;
    let mut lines = Lines::new(Box::new(Positioned { file, at: 0 }), redaction).ok()?;
    let end = lines.end();
    let piece = lines.piece(work.stored, end.max(work.stored), PIECE_BYTES).ok()?;
    (!piece.is_empty() && piece.end() == end).then_some(piece)
}

fn each_step(file: &File, end: u64, mut visit: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut buffer = vec![0; STEP_BYTES];
    let mut at = 0;
    while at < end {
        let step = STEP_BYTES.min(usize::try_from(end - at).unwrap_or(STEP_BYTES));
        file.read_exact_at(&mut buffer[..step], at)?;
        visit(&buffer[..step]);
        at += step as u64;
    }
    Ok(())
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
