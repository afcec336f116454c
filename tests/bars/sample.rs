//! Measuring: two commands that run in turn, and what is printed of them.

use std::process::Command;
use std::time::{Duration, Instant};

/// The values of something that was measured several times, in order of size.
pub struct Sample(Vec<f64>);

/// What a bar is about.
#[derive(Clone, Copy)]
pub enum Bar {
    /// Ours over theirs, at most.
    Ratio(f64),
    /// Ours beyond theirs, in milliseconds, at most.
    Extra(f64),
    /// There is none: the figures are for comparison.
    None,
}

impl Sample {
    /// Makes one of values in any order.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Sample(values)
    }

    /// Makes one of a single value.
    pub fn one(value: f64) -> Self {
        Sample(vec![value])
    }

    /// Makes one of times, in milliseconds.
    pub fn of_times(times: &[Duration]) -> Self {
        Self::new(times.iter().map(|time| time.as_secs_f64() * 1e3).collect())
    }

    /// Returns the value below which a share of the values lies.
    fn quantile(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share).round() as usize]
    }

    /// Returns the value in the middle.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the median with the quartiles, if there are several values.
    fn text(&self, unit: &str) -> String {
        match self.0.len() {
            1 => format!("{:.2} {unit}", self.0[0]),
            _ => format!("{:.2} {unit} ({:.2} to {:.2})", self.median(), self.quantile(0.25), self.quantile(0.75)),
        }
    }
}

/// Prints what was measured of us and of others, medians with their quartiles; says whether that is within the bar.
pub fn report(what: &str, ours: &Sample, theirs: &Sample, unit: &str, against: &str, bar: Bar) -> bool {
    let (ratio, extra) = (ours.median() / theirs.median(), ours.median() - theirs.median());
    let (told, is_within) = match bar {
        Bar::Ratio(bar) => (format!("ratio {ratio:.2} (bar {bar:.2})"), ratio <= bar),
        Bar::Extra(bar) => (format!("ratio {ratio:.2}, {extra:+.2} {unit} (bar {bar:+.1})"), extra <= bar),
        Bar::None => (format!("ratio {ratio:.2}, {extra:+.2} {unit}"), true),
    };
    let mark = if is_within { "" } else { "  ABOVE THE BAR" };
    println!("{what}: {}; {against}: {}; {told}{mark}", ours.text(unit), theirs.text(unit));
    is_within
}

/// Runs a command that must succeed, and returns how long it took.
pub fn time(mut command: Command) -> Duration {
    let started = Instant::now();
    let status = command.status().expect("it runs");
    let elapsed = started.elapsed();
    assert!(status.success(), "{command:?}");
    elapsed
}

/// The times of two commands that are run side by side.
#[derive(Default)]
pub struct Pairs {
    ours: Vec<Duration>,
    theirs: Vec<Duration>,
}

impl Pairs {
    /// Runs both, now this one first, now the other: whoever is second finds caches warm.
    pub fn run(&mut self, ours: Command, theirs: Command) {
        self.measure(|| time(ours), || time(theirs));
    }

    /// Does the same with measurements that prepare something each.
    pub fn measure(&mut self, ours: impl FnOnce() -> Duration, theirs: impl FnOnce() -> Duration) {
        if self.ours.len().is_multiple_of(2) {
            self.ours.push(ours());
            self.theirs.push(theirs());
        } else {
            self.theirs.push(theirs());
            self.ours.push(ours());
        }
    }

    /// Prints the medians in milliseconds; see [`report`].
    pub fn report(&self, what: &str, against: &str, bar: Bar) -> bool {
        report(what, &Sample::of_times(&self.ours), &Sample::of_times(&self.theirs), "ms", against, bar)
    }
}

/// Runs two commands side by side.
pub fn compare(rounds: usize, ours: impl Fn() -> Command, theirs: impl Fn() -> Command) -> Pairs {
    let mut pairs = Pairs::default();
    (0..rounds).for_each(|_| pairs.run(ours(), theirs()));
    pairs
}
