//! Reading the standard input of a hook.

use std::io::{self, IsTerminal as _, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::agent::Payload;

/// The most bytes of a payload that are read; tools can answer a lot.
const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// How many pieces of the input are read ahead.
const MAX_PIECES: usize = 16;

/// How long an agent, or Git, may take to hand over what it has to say.
pub const INPUT_TIMEOUT: Duration = Duration::from_secs(3);

/// The input that an agent or Git has passed to the hook.
#[derive(Default)]
pub struct Input {
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Whether they are all, up to the end of the input.
    pub is_whole: bool,
}

impl Input {
    /// Returns the payload of an agent's hook; `None` if the input was cut and says nothing that can be read.
    pub fn payload(&self) -> Option<Payload> {
        let is_too_large = !self.is_whole && self.bytes.len() >= MAX_PAYLOAD_BYTES;
        let payload = (!is_too_large).then(|| Payload::parse(&self.bytes));
        // Some agents hand all of it over and leave the pipe open.
        payload.filter(|payload| self.is_whole || !payload.is_empty())
    }
}

/// A piece of the input; an empty one is its end.
type Piece = io::Result<Vec<u8>>;

/// Reads what an agent or Git hands over. Whoever keeps the pipe open is waited for as long as `limit`.
pub fn standard_input(limit: Duration) -> Input {
    match io::stdin().is_terminal() {
        // Nobody hands anything over.
        true => Input { bytes: Vec::new(), is_whole: true },
        false => pieces_of(io::stdin()).map_or(Input::default(), |pieces| collect(&pieces, limit, MAX_PAYLOAD_BYTES)),
    }
}

/// Starts reading, in a thread that nobody waits for; `None` if it cannot be started.
fn pieces_of(mut from: impl Read + Send + 'static) -> Option<Receiver<Piece>> {
    // Whoever writes without end fills no memory: the pieces that nobody takes are few.
    let (sender, receiver) = sync_channel(MAX_PIECES);
    let reader = std::thread::Builder::new().spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = match from.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map(|count| buffer[..count].to_vec()),
            };
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    reader.ok().map(|_| receiver)
}

/// Puts pieces together to the end of the input, at most for `limit`, and at most `max_bytes`.
fn collect(pieces: &Receiver<Piece>, limit: Duration, max_bytes: usize) -> Input {
    let mut input = Input::default();
    let deadline = Instant::now() + limit;
    loop {
        match pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(bytes)) if bytes.is_empty() => {
                input.is_whole = true;
                return input;
            }
            Ok(Ok(bytes)) => input.bytes.extend(bytes),
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return input,
        }
        if input.bytes.len() > max_bytes {
            input.bytes.truncate(max_bytes);
            return input;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn input_of(from: impl Read + Send + 'static, max_bytes: usize) -> Input {
        collect(&pieces_of(from).unwrap(), LONG, max_bytes)
    }

    #[test]
    fn what_has_arrived_is_kept_when_the_rest_does_not_come() {
        let whole = input_of(&b"words"[..], usize::MAX);
        assert!(whole.is_whole && whole.bytes == b"words");
        let large = vec![b'x'; 1 << 20];
        assert!(input_of(io::Cursor::new(large.clone()), usize::MAX).bytes == large);
        let (sender, pieces) = sync_channel(MAX_PIECES);
        sender.send(Ok(b"first".to_vec())).unwrap();
        let part = collect(&pieces, Duration::ZERO, usize::MAX);
        assert!(!part.is_whole && part.bytes == b"first", "whoever wrote it has not closed the pipe");
        drop(sender);
    }

    #[test]
    fn input_that_is_cut_is_not_whole() {
        for (max_bytes, is_whole, bytes) in [(4, false, "word"), (5, true, "words"), (6, true, "words")] {
            let input = input_of(&b"words"[..], max_bytes);
            assert_eq!((input.is_whole, &*input.bytes), (is_whole, bytes.as_bytes()), "{max_bytes}");
        }
    }
}
