//! Asking before something is done that cannot be taken back, or that others notice.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::error::{Error, Result};
use crate::outside;

/// Asks a question on the terminal and returns whether the answer is yes; `None` if there is no terminal to ask on.
///
/// # Errors
///
/// If the answer cannot be read.
pub fn confirm(question: &str) -> Result<Option<bool>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    eprint!("{} [y/N] ", outside::line(question));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| Error::other("cannot read the answer").because(error))?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}
