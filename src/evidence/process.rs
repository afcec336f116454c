//! Running a program of others for its output, with an end at a given time.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest output that is read, in bytes.
const MAX_OUTPUT_BYTES: u64 = 4 << 20;

/// How a program ended, and its output.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Why a program gave no output.
#[derive(Debug)]
pub enum Failure {
    /// It could not be started.
    NotStarted(io::Error),
    /// It was ended when its time was over.
    Late(Duration),
}

/// Runs a program in a directory until it ends, at most for `limit`. It has no standard input.
pub fn run(
    program: &str,
    words: &[&str],
    variables: &[(&str, &str)],
    directory: &Path,
    limit: Duration,
) -> Result<Ended, Failure> {
    let mut command = Command::new(program);
    command.args(words).envs(variables.iter().copied()).current_dir(directory).stdin(Stdio::null());
    // Files, not pipes: a process that has inherited one cannot keep us waiting for its end.
    let file = || tempfile::tempfile().map_err(Failure::NotStarted);
    let (mut stdout, mut stderr) = (file()?, file()?);
    let clone = |file: &File| file.try_clone().map_err(Failure::NotStarted);
    command.stdout(clone(&stdout)?).stderr(clone(&stderr)?);
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(Failure::NotStarted)?;
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) | Err(_) => {
                let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
                if let Some(group) = group {
                    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                }
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::Late(limit));
            }
        }
    };
    Ok(Ended { status, stdout: text(&mut stdout), stderr: text(&mut stderr) })
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = file.rewind().and_then(|()| file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes));
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
