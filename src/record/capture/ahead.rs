//! What a second thread does ahead. While this one opens the repository and looks around, it finds out whether the
//! stored part of long transcripts is still the same, makes lines of what is new in a document, and redacts what is new.
//! This one counts it meanwhile, and that one compresses it. Whether a document begins as it did it finds out last, while this
//! one records what is new. Only Git's hook after a commit has it: nobody waits for what agents' own hooks store.
//!
//! All of it is only likely to be wanted: what nobody asks for is lost, and what is not done ahead is done when needed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use twox_hash::XxHash3_64;

use super::Redaction;
use super::piece::{Lines, PIECE_BYTES, Piece, ReadSeek, each_step};
use crate::agent::{self, Agent, Anchor, Found, Wanted};
use crate::archive::segment;
use crate::record::beside::{self, Borrower, Lender};
use crate::record::state::{Base, Head, Live, Progress};

/// From how much stored text on a thread is worth while.
const LONG_BYTES: u64 = 512 << 10;

/// How much memory the thread needs at least for a transcript in a database.
const ROOM_BYTES: usize = 1 << 20;

/// A thread that works ahead, on the transcripts of the sessions themselves: their sub-agents' are short.
pub struct Ahead {
    known: RefCell<Vec<Known>>,
    recent: RefCell<Vec<(String, Borrower<Vec<Found>>)>>,
    redaction: Sender<Redaction>,
}

/// What is known of a transcript by and by.
pub struct Known {
    agent: String,
    path: PathBuf,
    /// `None` if it is no file: a session in a database is read as it is at one moment.
    stamp: Option<Stamp>,
    form: Form<Borrower<XxHash3_64>, Borrower<NewLines>, Borrower<Anchor>>,
    piece: Borrower<Arc<Piece>>,
    frame: Cell<Option<Borrower<Vec<u8>>>>,
}

/// What a transcript is, and what is to be known of it.
enum Form<D, L, A> {
    /// A file of lines: the digest of the stored part.
    File { file: Arc<File>, stored: u64, digest: D },
    /// A document: the lines behind the stored beginning, which ends at `known`, and whether that is the same.
    Document { known: Anchor, lines: L, anchor: A },
}

/// The lines of a document behind its stored beginning.
pub struct NewLines {
    pub lines: Shared,
    /// Where those about the list's elements end, counted from the document's beginning on.
    pub list_end: u64,
    /// Whether that beginning is taken for granted.
    pub is_granted: bool,
}

/// Bytes that both threads read.
#[derive(Clone)]
pub struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A piece that was redacted ahead.
pub struct Ready {
    /// What is new.
    pub piece: Arc<Piece>,
    frame: Borrower<Vec<u8>>,
}

impl Ready {
    /// Returns the frame of its segment; waits for it.
    pub fn frame(self) -> Option<Arc<Vec<u8>>> {
        self.frame.receive()
    }
}

/// Makes the memory of this thread one stretch from the beginning.
///
/// The allocator of the GNU C library lets a thread have it page by page, with a system call for each. What is larger than
/// anything before it is no part of that memory; once that is given back, as much may be, and stays.
fn make_room() {
    for bytes in [2 * ROOM_BYTES, ROOM_BYTES] {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
    }
}

/// What the thread has of a transcript: what it reads, and who waits for what.
struct Work {
    live: Live,
    form: Form<Lender<XxHash3_64>, Lender<NewLines>, Lender<Anchor>>,
    piece: Lender<Arc<Piece>>,
    frame: Lender<Vec<u8>>,
}

/// Which file it is, and what it was like: device, number, length, time in seconds and nanoseconds.
type Stamp = (u64, u64, u64, i64, i64);

impl Ahead {
    /// Starts with the long transcripts among these that have news; `None` if there is none. `look_around` finds the sessions
    /// that an agent wrote lately: a database that they share is opened once.
    pub fn start(sessions: Vec<Live>, look_around: impl Fn(&dyn Agent) -> Vec<Found> + Send + 'static) -> Option<Self> {
        let (known, work): (Vec<_>, Vec<_>) = sessions.into_iter().filter_map(watch).unzip();
        if work.is_empty() {
            return None;
        }
        let names: BTreeSet<String> =
            known.iter().filter(|known| known.is_looked_around()).map(|known| known.agent.clone()).collect();
        let needs_room = known.iter().any(Known::is_in_database);
        let (recent, around): (Vec<_>, Vec<_>) = names
            .into_iter()
            .map(|name| {
                let (sender, receiver) = beside::lend();
                ((name.clone(), receiver), (name, sender))
            })
            .unzip();
        let (redaction, redactions) = channel();
        let work = move || {
            if needs_room {
                make_room();
            }
            for (name, sender) in &around {
                let found = agent::find(name).map(&look_around);
                sender.send(found.unwrap_or_default());
            }
            do_all(work, &redactions);
            // Nor is what is here given back.
            let _kept = beside::keep((around, redactions, look_around));
        };
        beside::spawn(work).ok()?;
        Some(Ahead { known: RefCell::new(known), recent: RefCell::new(recent), redaction })
    }

    /// Returns the sessions that an agent wrote lately, once, if the thread has looked for them; waits for it.
    pub fn recent(&self, agent: &str) -> Option<Vec<Found>> {
        let mut recent = self.recent.borrow_mut();
        let place = recent.iter().position(|(name, _)| name == agent)?;
        recent.swap_remove(place).1.receive().map(|found| found.to_vec())
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
        (stamp(path) == known.stamp).then_some(known)
    }
}

impl Known {
    fn is_document(&self) -> bool {
        matches!(self.form, Form::Document { .. })
    }

    /// Says whether its agent writes documents: lists, that is.
    fn is_listed(&self) -> bool {
        agent::find(&self.agent).is_some_and(|agent| agent.list().is_some())
    }

    fn is_in_database(&self) -> bool {
        // A session that shares a database with others is no file.
        self.is_document() && (self.stamp.is_none() || !self.is_listed())
    }

    /// Says whether the thread looks for other sessions of the agent. It has most to do where it reads a database; yet one
    /// that sessions share is opened only once that way.
    fn is_looked_around(&self) -> bool {
        self.is_document() && (self.stamp.is_none() || self.is_listed())
    }

    /// Returns the file of lines, at its beginning.
    pub fn source(&self) -> Option<Positioned> {
        match &self.form {
            Form::File { file, .. } => Some(Positioned::at_start(file)),
            Form::Document { .. } => None,
        }
    }

    /// Returns XXH3 of the first `stored` bytes of it; waits for it. `None` if it is about more or less.
    pub fn digest(&self, stored: u64) -> Option<XxHash3_64> {
        match &self.form {
            Form::File { stored: known, digest, .. } if *known == stored => {
                digest.receive().map(|digest| (*digest).clone())
            }
            _ => None,
        }
    }

    /// Returns the lines of the document behind the stored beginning, once; waits for them. `None` if they are not those
    /// behind `base`: while this process waited for another, that may have stored more.
    pub fn rest(&self, base: &Base) -> Option<Arc<NewLines>> {
        match &self.form {
            Form::Document { known, lines, .. } if *known == base.anchor => lines.receive(),
            _ => None,
        }
    }

    /// Returns where the next reading of the document can go on, once, if that beginning is what it was; waits for it.
    pub fn anchor(&self) -> Option<Anchor> {
        match &self.form {
            Form::Document { anchor, .. } => anchor.receive().map(|anchor| (*anchor).clone()),
            Form::File { .. } => None,
        }
    }

    /// Says whether what follows them is redacted already.
    pub fn is_redacted(&self) -> bool {
        self.piece.is_there()
    }

    /// Returns what follows them, once, if it is one piece; waits for it.
    pub fn piece(&self) -> Option<Ready> {
        let frame = self.frame.take()?;
        Some(Ready { piece: Arc::clone(&*self.piece.receive()?), frame })
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = path.metadata().ok()?;
    Some((file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec()))
}

fn watch(live: Live) -> Option<(Known, Work)> {
    if live.has_no_news() {
        return None;
    }
    let (path, progress) = (live.transcript.clone(), &live.progress);
    let stored = progress.stored.raw.filter(|raw| *raw >= LONG_BYTES && progress.check.is_some())?;
    let is_document = agent::find(&live.agent)?.is_rendered(&path);
    let stamp = stamp(&path);
    let ((piece, pieces), (frame, frames)) = (beside::lend(), beside::lend());
    let (ours, theirs) = if is_document {
        let ((rest, lines), (proof, anchor)) = (beside::lend(), beside::lend());
        let known = progress.continued_base()?.anchor.clone();
        let theirs = Form::Document { known: known.clone(), lines: rest, anchor: proof };
        (Form::Document { known, lines, anchor }, theirs)
    } else {
        path.metadata().ok().filter(|file| file.is_file() && file.len() > stored)?;
        let file = Arc::new(File::open(&path).ok()?);
        let (digest, receiver) = beside::lend();
        let same_file = Arc::clone(&file);
        (Form::File { file, stored, digest: receiver }, Form::File { file: same_file, stored, digest })
    };
    let known =
        Known { agent: live.agent.clone(), path, stamp, form: ours, piece: pieces, frame: Cell::new(Some(frames)) };
    Some((known, Work { live, form: theirs, piece, frame }))
}

/// Pieces come first, as soon as it is known with what to redact: counting what is in them takes longest. What is not to
/// be had is told by dropping its sender.
fn do_all(work: Vec<Work>, redactions: &Receiver<Redaction>) {
    let (mut digests, mut proofs, mut news) = (Vec::new(), Vec::new(), Vec::new());
    let mut work = beside::keep(work.into_iter());
    for Work { live, form, piece, frame } in work.by_ref() {
        let live = beside::keep(live);
        news.push(match form {
            Form::File { file, stored, digest } => {
                digests.push((Positioned::at_start(&file), stored, digest));
                News { text: Text::File(file), stored, piece, frame }
            }
            Form::Document { known, lines, anchor } => {
                let known = beside::keep(known);
                let Some(agent) = agent::find(&live.agent) else { continue };
                let (rest, list_end, is_granted) = if let Some(mut rest) = agent.read_rest(&live.transcript, &known) {
                    let lines = rest.take_lines();
                    let list_end = rest.list_end();
                    proofs.push((rest, anchor));
                    (lines, list_end, false)
                } else if let Ok(rendered) = agent.read_on(&live.transcript, Some(&known), Wanted::RestAtOnce)
                    && let (true, Some(proved)) = (rendered.skipped == known.lines, rendered.anchor)
                {
                    let list_end = proved.lines;
                    anchor.send(proved);
                    (rendered.lines, list_end, rendered.is_granted)
                } else {
                    continue;
                };
                let stored = end_of_stored(&live.progress, known.lines, &rest);
                let rest = Shared(Arc::new(rest));
                lines.send(NewLines { lines: rest.clone(), list_end, is_granted });
                News { text: Text::Lines(rest, known.lines), stored, piece, frame }
            }
        });
    }
    let mut frames = Vec::new();
    let mut buffer = Vec::new();
    for (mut file, stored, sender) in digests {
        let mut digest = XxHash3_64::new();
        let read = each_step(&mut file, stored, &mut buffer, |bytes| {
            digest.write(bytes);
            if !news.is_empty()
                && let Ok(redaction) = redactions.try_recv()
            {
                frames = send_pieces(std::mem::take(&mut news), &redaction);
            }
        });
        if read.is_ok() {
            sender.send(digest);
        }
    }
    // Nor does this thread sleep for it: it would be woken where the other runs.
    if !news.is_empty()
        && let Some(redaction) = beside::receive(redactions)
    {
        frames = send_pieces(news, &redaction);
    }
    for (piece, sender) in frames {
        if let Ok(frame) = segment::compress(piece.redacted()) {
            sender.send(frame);
        }
    }
    for (mut rest, sender) in proofs {
        if let Ok(Some(anchor)) = rest.prove() {
            sender.send(anchor);
        }
    }
}

/// Returns how far the lines of a document are stored that begin at `start`. A message that may have changed is among them,
/// and often has not.
fn end_of_stored(progress: &Progress, start: u64, lines: &[u8]) -> u64 {
    let is_same = |head: &&Head| {
        let length = head.raw.checked_sub(start).and_then(|length| usize::try_from(length).ok());
        let stored = length.and_then(|length| lines.get(..length));
        stored.is_some_and(|stored| format!("{:016x}", XxHash3_64::oneshot(stored)) == head.check)
    };
    progress.heads.iter().rev().find(is_same).map_or(start, |head| head.raw)
}

/// What is new in a transcript, and who waits for it.
struct News {
    text: Text,
    stored: u64,
    piece: Lender<Arc<Piece>>,
    frame: Lender<Vec<u8>>,
}

/// Where the lines are.
enum Text {
    /// In a file, from its beginning on.
    File(Arc<File>),
    /// Here, from a position on.
    Lines(Shared, u64),
}

/// Makes the pieces and sends them; returns them with whom to send their frames.
fn send_pieces(news: Vec<News>, redaction: &Redaction) -> Vec<(Arc<Piece>, Lender<Vec<u8>>)> {
    let send = |news: News| {
        let piece = piece(news.text, news.stored, redaction)?;
        news.piece.send(Arc::clone(&piece));
        Some((piece, news.frame))
    };
    news.into_iter().filter_map(send).collect()
}

/// Returns what is new as one piece, if it is one: of several, the others would have to wait until the first is stored.
fn piece(text: Text, stored: u64, redaction: &Redaction) -> Option<Arc<Piece>> {
    let (source, start): (Box<dyn ReadSeek>, u64) = match text {
        Text::File(file) => (Box::new(Positioned::at_start(&file)), 0),
        Text::Lines(lines, start) => (Box::new(Cursor::new(lines)), start),
    };
    let mut lines = Lines::new(source, start, redaction).ok()?;
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
