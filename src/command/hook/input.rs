//! Reading the standard input of a hook.

use std::io::{self, IsTerminal as _, Read};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The most bytes of a payload that are read; tools can answer a lot.
const MAX_PAYLOAD_BYTES: u64 = 256 * 1024 * 1024;

/// How long an agent, or Git, may take to hand over what it has to say.
pub const INPUT_TIMEOUT: Duration = Duration::from_secs(3);

/// The input that an agent or Git has passed to the hook.
pub struct Input {
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// Whether they are all, up to the end of the input.
    pub is_whole: bool,
}

/// Reads what an agent or Git hands over. Whoever keeps the pipe open is waited for as long as `limit`.
pub fn standard_input(limit: Duration) -> Input {
    match io::stdin().is_terminal() {
        // Nobody hands anything over.
        true => Input { bytes: Vec::new(), is_whole: true },
        false => input_of(io::stdin(), limit),
    }
}

/// Reads to the end, at most for `limit`.
fn input_of(from: impl Read + Send + 'static, limit: Duration) -> Input {
    let mut input = Input { bytes: Vec::new(), is_whole: false };
    let (sender, receiver) = channel();
    let reader = std::thread::Builder::new().spawn(move || {
        let (mut from, mut buffer) = (from.take(MAX_PAYLOAD_BYTES), vec![0; 64 << 10]);
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
    let deadline = Instant::now() + limit;
    while reader.is_ok() {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Ok(bytes)) if bytes.is_empty() => {
                input.is_whole = true;
                break;
            }
            Ok(Ok(bytes)) => input.bytes.extend(bytes),
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    input
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_is_kept_when_the_rest_does_not_come() {
        let long = Duration::from_secs(600);
        let whole = input_of(&b"words"[..], long);
        assert!(whole.is_whole && whole.bytes == b"words");
        let large = vec![b'x'; 1 << 20];
        assert!(input_of(io::Cursor::new(large.clone()), long).bytes == large);
        let (reader, writer) = io::pipe().unwrap();
        io::Write::write_all(&mut &writer, b"first").unwrap();
        let part = input_of(reader, Duration::from_millis(200));
        assert!(!part.is_whole && part.bytes == b"first", "whoever wrote it has not closed the pipe");
        drop(writer);
    }
}
