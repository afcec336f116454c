//! Asking before something is done that cannot be taken back, or that others notice.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::error::{Error, Result};
use crate::outside;

/// Asks a question on the terminal and returns whether the answer is yes; `None` if there is no terminal to ask on.
///
/// # Errors
///
/// If the question cannot be printed, or the answer cannot be read.
pub fn confirm(question: &str) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    put(&format!("{} [y/N] ", outside::line(question)))?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Error::other("cannot read the answer").because(error))?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}

fn put(question: &str) -> Result<()> {
    io::stderr()
        .write_all(question.as_bytes())
        .map_err(|error| Error::other("cannot print the question").because(error))
}

/// Asks a question and returns the line that answers it; `None` at the end of input.
///
/// # Errors
///
/// If the question cannot be printed, or the answer cannot be read.
pub fn ask(question: &str) -> Result<Option<String>> {
    let lines: Vec<String> = question.split('\n').map(outside::line).collect();
    put(&lines.join("\n"))?;
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    let length = read.map_err(|error| Error::other("cannot read the answer").because(error))?;
    if length == 0 {
        // The question has no line end.
        put("\n")?;
    }
    Ok((length > 0).then_some(answer))
}
