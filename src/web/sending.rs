//! Pages on their way to a browser: one thread writes them, another sends them.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{mpsc, oneshot};

/// How much of a page is sent at once.
const PIECE_BYTES: usize = 16 << 10;
/// How many pieces may wait for the browser; then the page waits, too.
const WAITING: usize = 16;

/// The use of a response's bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// A page that is shown.
    Page,
    /// Bytes that the browser saves.
    File,
}

/// A response.
pub struct Answer {
    /// The HTTP status.
    pub status: StatusCode,
    /// The use of its bytes.
    pub form: Form,
    /// Its bytes.
    pub content: Content,
}

/// The bytes of an answer: all at once, or piece by piece.
pub enum Content {
    /// All of them; `None` once they are sent.
    Whole(Option<Bytes>),
    /// Pieces, as they are written. An error says that the rest does not come.
    Pieces(mpsc::Receiver<io::Result<Bytes>>),
}

/// Where a page is written to. A page that is written piece by piece is sent while it is made; if it fails before the first
/// piece is full, the browser gets the page of that failure instead.
pub struct Outgoing {
    answer: Option<oneshot::Sender<Answer>>,
    piece: Vec<u8>,
    pieces: Option<mpsc::Sender<io::Result<Bytes>>>,
}

impl Outgoing {
    /// Returns a place to write to, and the receiver of the answer.
    pub fn new() -> (Self, oneshot::Receiver<Answer>) {
        let (answer, answered) = oneshot::channel();
        (Outgoing { answer: Some(answer), piece: Vec::new(), pieces: None }, answered)
    }

    /// Sends an answer that is there as a whole, unless a part of another one was sent.
    pub fn send(&mut self, answer: Answer) {
        if let Some(own) = self.answer.take() {
            drop(own.send(answer));
        }
    }

    /// Ends a page that was written piece by piece.
    pub fn end(&mut self) {
        match self.answer.take() {
            Some(answer) => drop(answer.send(Answer::page(std::mem::take(&mut self.piece)))),
            None => drop(self.send_piece()),
        }
        self.pieces = None;
    }

    fn send_piece(&mut self) -> io::Result<()> {
        if let Some(answer) = self.answer.take() {
            let (pieces, content) = mpsc::channel(WAITING);
            self.pieces = Some(pieces);
            let answer_now = Answer { status: StatusCode::OK, form: Form::Page, content: Content::Pieces(content) };
            answer.send(answer_now).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        let pieces = self.pieces.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        Ok(pieces.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe)?)
    }
}

impl Drop for Outgoing {
    /// Breaks off a page that was not ended, so that the browser does not take it for a whole one.
    fn drop(&mut self) {
        if let Some(pieces) = self.pieces.take() {
            drop(pieces.blocking_send(Err(io::Error::other("the page could not be made"))));
        }
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.send_piece()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Answer {
    /// Returns a page that was asked for and is there as a whole.
    pub fn page(page: Vec<u8>) -> Self {
        Answer { status: StatusCode::OK, form: Form::Page, content: Content::Whole(Some(page.into())) }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Pieces(pieces) => pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}
