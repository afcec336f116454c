//! Running a program of others for its output, with an end at a given time. The output is never written to a disk: it can
//! have a token.

use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::git::child;

/// The longest output that is read, in bytes. A program that writes more gets SIGPIPE.
const MAX_OUTPUT_BYTES: usize = 4 << 20;
/// How long the end of the output is waited for after the program has ended: a process that it has started and that has
/// inherited the pipe may live on.
const REST: Duration = Duration::from_secs(1);

/// How a program ended, and its output.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Why a program gave no output.
#[derive(Debug)]
pub enum Failure {
    /// The program could not be started, or not be waited for.
    NotStarted(io::Error),
    /// The program was ended when its time was over.
    Late(Duration),
}

/// Runs a program in a directory until it ends, at most for `limit`. It has no standard input, and cannot ask anybody.
pub fn run(
    program: &str,
    words: &[&str],
    variables: &[(&str, &str)],
    directory: &Path,
    limit: Duration,
) -> Result<Ended, Failure> {
    let absent = || Failure::NotStarted(rustix::io::Errno::NOENT.into());
    let mut command = Command::new(child::find_program(program).ok_or_else(absent)?);
    command.args(words).envs(variables.iter().copied()).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    child::forbid_asking(&mut command);
    let mut child = command.spawn().map_err(Failure::NotStarted)?;
    let (stdout, stderr) = (child.stdout.take().map(read), child.stderr.take().map(read));
    match child::wait_until(&mut child, Instant::now() + limit) {
        Ok(Some(status)) => {
            let end = Instant::now() + REST;
            let text = |pieces: Option<Receiver<Vec<u8>>>| pieces.map(|pieces| text(&pieces, end)).unwrap_or_default();
            Ok(Ended { status, stdout: text(stdout), stderr: text(stderr) })
        }
        Ok(None) => Err(Failure::Late(limit)),
        Err(error) => Err(Failure::NotStarted(error)),
    }
}

/// Reads a pipe in a thread, and sends what it reads.
fn read(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let (mut piece, mut length) = (vec![0; 64 << 10], 0);
        loop {
            let count = match pipe.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            length += count;
            if length > MAX_OUTPUT_BYTES || sender.send(piece[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Returns the text that was read until the pipe ended, or until `end`.
fn text(pieces: &Receiver<Vec<u8>>, end: Instant) -> String {
    let mut bytes = Vec::new();
    while let Ok(piece) = pieces.recv_timeout(end.saturating_duration_since(Instant::now())) {
        bytes.extend(piece);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let directory = tempfile::tempdir().expect("a directory");
        let fifo = directory.path().join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        // The reader gets the end of the file once no process has it open for writing.
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || std::fs::read(fifo).expect("the end")
        });
        let failure = run("sh", &["-c", "sleep 1000 >fifo; :"], &[], directory.path(), Duration::from_secs(1)).err();
        assert!(matches!(failure, Some(Failure::Late(_))), "{failure:?}");
        assert_eq!(reader.join().expect("it ends"), b"");
    }

    #[test]
    fn a_program_that_is_not_there_is_told_apart() {
        let here = Path::new("/");
        let failure = run("no-such-program-at-all", &[], &[], here, Duration::from_secs(1)).err();
        assert!(matches!(failure, Some(Failure::NotStarted(_))), "{failure:?}");
    }
}
