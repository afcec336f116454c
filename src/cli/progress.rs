//! How far long work has come, for a person at a terminal.

use std::io::{IsTerminal as _, Write as _};

/// Tells on stderr how far work has come, as Git does; without a terminal it says nothing.
pub struct Progress {
    title: &'static str,
    is_shown: bool,
    percent: Option<usize>,
}

impl Progress {
    /// Begins a line; `is_wanted` is what the options say.
    pub fn new(title: &'static str, is_wanted: bool) -> Self {
        Progress { title, is_shown: is_wanted && std::io::stderr().is_terminal(), percent: None }
    }

    /// Tells that `done` of `total` are done; the line ends with the last.
    pub fn tell(&mut self, done: usize, total: usize) {
        if !self.is_shown || total == 0 {
            return;
        }
        let percent = done * 100 / total;
        if self.percent.replace(percent) == Some(percent) && done < total {
            return;
        }
        let end = if done < total { "\r" } else { ", done.\n" };
        // Whoever cannot see it misses nothing.
        let _ = write!(std::io::stderr(), "{}: {percent:3}% ({done}/{total}){end}", self.title);
    }
}
