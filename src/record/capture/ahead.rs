//! What a second thread does ahead. While this one opens the repository and looks around, it finds out whether the
//! stored part of long transcripts is still the same, and redacts what is new; while this one counts that, it
//! compresses it. Only Git's hook after a commit has it: nobody waits for what agents' own hooks store.
//!
//! All of it is only likely to be wanted: what nobody asks for is lost, and what is not done ahead is done when needed.

use std::cell::RefCell;
use std::fs::{File, Metadata};
use std::hash::Hasher as _;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use twox_hash::XxHash3_64;

use super::Redaction;
use super::piece::{Lines, PIECE_BYTES, Piece, each_step};
use crate::agent;
use crate::archive::segment;
use crate::record::beside;
use crate::record::state::Live;

/// From how much stored text on a thread is worth while.
const LONG_BYTES: u64 = 512 << 10;

/// A thread that works ahead, on the transcripts of the sessions themselves: their sub-agents' are short. It ends with
/// its work, or with the process.
pub struct Ahead {
    known: RefCell<Vec<Known>>,
    redaction: Sender<Redaction>,
}

/// What is known of a transcript by and by.
pub struct Known {
    path: PathBuf,
    stamp: Stamp,
    stored: u64,
    file: Arc<File>,
    digest: Receiver<XxHash3_64>,
    piece: Receiver<Arc<Piece>>,
    frame: Option<Receiver<Vec<u8>>>,
}

/// A piece that was redacted ahead.
pub struct Ready {
    /// What is new.
    pub piece: Arc<Piece>,
    frame: Receiver<Vec<u8>>,
}

impl Ready {
    /// Returns the frame of its segment; waits for it.
    pub fn frame(self) -> Option<Vec<u8>> {
        self.frame.recv().ok()
    }
}

/// What the thread has of a transcript: what it reads, and who waits for what.
struct Work {
    file: Arc<File>,
    stored: u64,
    digest: SyncSender<XxHash3_64>,
    piece: SyncSender<Arc<Piece>>,
    frame: SyncSender<Vec<u8>>,
}

/// Which file it is, and what it was like: device, number, length, time in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

impl Ahead {
    /// Starts with the long transcripts among these that have grown; `None` if there is none.
    pub fn start(sessions: &[Live]) -> Option<Self> {
        let (known, work): (Vec<_>, Vec<_>) = sessions.iter().filter_map(watch).unzip();
        if work.is_empty() {
            return None;
        }
        let (redaction, redactions) = channel();
        beside::spawn(move || do_all(work, &redactions)).ok()?;
        Some(Ahead { known: RefCell::new(known), redaction })
    }

    /// Says with what to redact.
    pub fn redact_with(&self, redaction: &Redaction) {
        let _ = self.redaction.send(Arc::clone(redaction));
    }

    /// Returns what is known of a transcript, once, and only if nobody has written to it since: while this process waited
    /// for another, the agent can have written it anew.
    pub fn take(&self, path: &Path) -> Option<Known> {
        let mut known = self.known.borrow_mut();
        let place = known.iter().position(|known| known.path == path)?;
        let known = known.swap_remove(place);
        path.metadata().is_ok_and(|now| stamp(&now) == known.stamp).then_some(known)
    }
}

impl Known {
    /// Returns the file, at its beginning.
    pub fn source(&self) -> Positioned {
        Positioned::at_start(&self.file)
    }

    /// Returns XXH3 of the first `stored` bytes; waits for it. `None` if it is about more or less.
    pub fn digest(&self, stored: u64) -> Option<XxHash3_64> {
        if self.stored == stored { self.digest.recv().ok() } else { None }
    }

    /// Returns what follows them, once, if it is one piece; waits for it.
    pub fn piece(&mut self) -> Option<Ready> {
        let frame = self.frame.take()?;
        Some(Ready { piece: self.piece.recv().ok()?, frame })
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.dev(), metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec())
}

fn watch(live: &Live) -> Option<(Known, Work)> {
    let stored = live.progress.stored.raw.filter(|raw| *raw >= LONG_BYTES && live.progress.check.is_some())?;
    let is_wanted = agent::find(&live.agent).is_some_and(|agent| !agent.is_rendered(&live.transcript))
        && live.transcript.metadata().is_ok_and(|file| file.is_file() && file.len() > stored);
    let file = Arc::new(is_wanted.then(|| File::open(&live.transcript).ok()).flatten()?);
    let stamp = stamp(&file.metadata().ok()?);
    let ((digest, digests), (piece, pieces), (frame, frames)) = (sync_channel(1), sync_channel(1), sync_channel(1));
    let (path, same_file) = (live.transcript.clone(), Arc::clone(&file));
    let known = Known { path, stamp, stored, file, digest: digests, piece: pieces, frame: Some(frames) };
    Some((known, Work { file: same_file, stored, digest, piece, frame }))
}

/// Pieces come first, as soon as it is known with what to redact: counting what is in them takes longest. What is not to
/// be had is told by dropping its sender.
fn do_all(work: Vec<Work>, redactions: &Receiver<Redaction>) {
    let (mut digests, mut rest) = (Vec::new(), Vec::new());
    for Work { file, stored, digest, piece, frame } in work {
        digests.push((Positioned::at_start(&file), stored, digest));
        rest.push(Rest { file, stored, piece, frame });
    }
    let mut frames = Vec::new();
    let mut buffer = Vec::new();
    for (mut file, stored, sender) in digests {
        let mut digest = XxHash3_64::new();
        let read = each_step(&mut file, stored, &mut buffer, |bytes| {
            digest.write(bytes);
            if !rest.is_empty()
                && let Ok(redaction) = redactions.try_recv()
            {
                frames = send_pieces(std::mem::take(&mut rest), &redaction);
            }
        });
        if read.is_ok() {
            let _ = sender.send(digest);
        }
    }
    if !rest.is_empty()
        && let Ok(redaction) = redactions.recv()
    {
        frames = send_pieces(rest, &redaction);
    }
    for (piece, sender) in frames {
        if let Ok(frame) = segment::compress(piece.redacted()) {
            let _ = sender.send(frame);
        }
    }
}

/// What is to be done with a transcript besides its digest.
struct Rest {
    file: Arc<File>,
    stored: u64,
    piece: SyncSender<Arc<Piece>>,
    frame: SyncSender<Vec<u8>>,
}

/// Makes the pieces and sends them; returns them with whom to send their frames.
fn send_pieces(rest: Vec<Rest>, redaction: &Redaction) -> Vec<(Arc<Piece>, SyncSender<Vec<u8>>)> {
    let send = |rest: Rest| {
        let piece = piece(&rest.file, rest.stored, redaction)?;
        let _ = rest.piece.send(Arc::clone(&piece));
        Some((piece, rest.frame))
    };
    rest.into_iter().filter_map(send).collect()
}

/// Returns what is new as one piece, if it is one: of several, the others would have to wait until the first is stored.
fn piece(file: &Arc<File>, stored: u64, redaction: &Redaction) -> Option<Arc<Piece>> {
    let mut lines = Lines::new(Box::new(Positioned::at_start(file)), redaction).ok()?;
    let end = lines.end();
    if end.saturating_sub(stored) > PIECE_BYTES as u64 {
        return None;
    }
    let piece = lines.piece(stored, end.max(stored), PIECE_BYTES).ok()?;
    (!piece.is_empty() && piece.end() == end).then_some(piece)
}

/// A file with a position of its own, so that both threads can read it.
pub struct Positioned {
    file: Arc<File>,
    at: u64,
}

impl Positioned {
    fn at_start(file: &Arc<File>) -> Self {
        Positioned { file: Arc::clone(file), at: 0 }
    }
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
