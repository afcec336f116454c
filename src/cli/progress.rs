//! How far long work has come, for a person at a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::progress::delay;

/// How often a line without a known end is written again.
const INTERVAL: Duration = Duration::from_millis(200);

/// Tells on stderr how far work has come, as Git does; without a terminal it says nothing.
pub struct Progress {
    is_shown: bool,
    delay: Duration,
    line: Option<Line>,
}

/// A line that is written over and over.
struct Line {
    title: &'static str,
    begun: Instant,
    written: Option<Instant>,
    done: usize,
    total: usize,
}

impl Progress {
    /// Makes one; `is_wanted` is what the options say.
    pub fn new(is_wanted: bool) -> Self {
        Progress { is_shown: is_wanted && std::io::stderr().is_terminal(), delay: delay(), line: None }
    }

    /// Tells that `done` of `total` are done; `total` is 0 where nobody knows it. Another title begins another line.
    pub fn tell(&mut self, title: &'static str, done: usize, total: usize) {
        if !self.is_shown {
            return;
        }
        let now = Instant::now();
        if self.line.as_ref().is_some_and(|line| line.title != title) {
            self.end();
        }
        let line = self.line.get_or_insert(Line { title, begun: now, written: None, done, total });
        let percent = |done: usize, total: usize| (done * 100).checked_div(total);
        let has_moved = percent(done, total) != percent(line.done, line.total) || total == 0;
        let is_due = match line.written {
            None => now >= line.begun + self.delay,
            Some(written) => has_moved && (total > 0 || now >= written + INTERVAL),
        };
        (line.done, line.total) = (done, total);
        if is_due {
            line.written = Some(now);
            line.write("\r");
        }
    }

    /// Ends the line, if one was begun: all of it is done.
    pub fn end(&mut self) {
        if let Some(mut line) = self.line.take().filter(|line| line.written.is_some()) {
            line.done = line.done.max(line.total);
            line.write(", done.\n");
        }
    }
}

/// Ends the line of work that failed; it keeps its last count.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(line) = self.line.take().filter(|line| line.written.is_some()) {
            line.write("\n");
        }
    }
}

impl Line {
    fn write(&self, end: &str) {
        let Line { title, done, total, .. } = self;
        let count = match (done * 100).checked_div(*total) {
            Some(percent) => format!("{percent:3}% ({done}/{total})"),
            None => done.to_string(),
        };
        let count = count + &rate(*done, self.begun.elapsed());
        // Progress that cannot be written is no failure.
        let _ = write!(std::io::stderr(), "{title}: {count}{end}");
    }
}

/// Returns how many things a second were done, to stand behind their number; nothing in the first second.
fn rate(done: usize, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64();
    match elapsed.as_secs() {
        0 => String::new(),
        _ if rate < 10.0 => format!(", {rate:.1}/s"),
        _ => format!(", {rate:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_from_the_first_second_on() {
        assert_eq!(rate(900, Duration::from_millis(999)), "");
        assert_eq!(rate(900, Duration::from_millis(1500)), ", 600/s");
        assert_eq!(rate(3, Duration::from_secs(10)), ", 0.3/s");
    }
}
