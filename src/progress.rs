//! How far long work has come: the rooms that work tell it, and `cli` shows it.

use std::time::Duration;

/// A function that gets a title such as `Checking segments`, the number of things done, and their total; 0 if the total
/// is unknown.
pub type Tell<'t> = &'t mut dyn FnMut(&'static str, usize, usize);

/// Returns a function that reports nothing.
pub fn silent() -> impl FnMut(&'static str, usize, usize) {
    |_, _, _| {}
}

/// Returns how long work goes on before progress is reported: two seconds as in Git, or what `GIT_PROGRESS_DELAY` says.
pub fn delay() -> Duration {
    let seconds = std::env::var("GIT_PROGRESS_DELAY").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}
