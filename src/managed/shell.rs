//! Whether a shell understands a script without lines of ours. No script is run.

use std::process::{Command, Stdio};

use bstr::ByteSlice as _;

use crate::git::child::{Streams, find_program};

/// The shells that read a script without running it, by `-n`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ksh", "zsh", "ash"];

/// Says whether a shell understands a script, and no longer what is left of it: our lines were all that a command of
/// somebody's did.
pub fn is_broken(script: &[u8], rest: &[u8]) -> bool {
    parses(rest) == Some(false) && parses(script) != Some(false)
}

/// Returns the shell that runs a script.
pub fn shell_of(script: &[u8]) -> Option<&'static str> {
    let Some(interpreter) = script.lines().next().and_then(|first| first.strip_prefix(b"#!")) else {
        return Some("sh");
    };
    let mut words = interpreter.fields_with(|c: char| c == ' ' || c == '/' || c == '\t');
    words.find_map(|word| SHELLS.iter().find(|shell| shell.as_bytes() == word).copied())
}

/// Says whether the shell of a script understands it; `None` if the shell is not here.
fn parses(script: &[u8]) -> Option<bool> {
    let shell = shell_of(script)?;
    let mut command = Command::new(find_program(shell)?);
    // Some read files of the user's first, and would run what is in them.
    command.arg(if shell == "zsh" { "-fn" } else { "-n" }).env_remove("BASH_ENV").env_remove("ENV");
    let _streams = Streams::of(&mut command, script).ok()?;
    command.stderr(Stdio::null()).status().ok().map(|status| status.success())
}
