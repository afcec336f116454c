//! How far long work has come: the rooms that work tell it, and `cli` shows it.

use std::time::Duration;

/// Gets a title such as `Checking segments`, how many are done, and of how many; 0 where nobody knows how many there are.
pub type Tell<'t> = &'t mut dyn FnMut(&'static str, usize, usize);

/// Tells nobody.
pub fn silent() -> impl FnMut(&'static str, usize, usize) {
    |_, _, _| {}
}

/// Returns how long work goes on before progress is reported: two seconds as in Git, or what `GIT_PROGRESS_DELAY` says.
pub fn delay() -> Duration {
    let seconds = std::env::var("GIT_PROGRESS_DELAY").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}
