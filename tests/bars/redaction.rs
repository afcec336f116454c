//! What redaction costs where hostile text is repeated, beside plain text of the same length.

use std::fs;
use std::time::{Duration, Instant};

use shiftlog::redact::{Redactor, Settings};

use crate::sample::{Bar, Sample, report};
use crate::words::record;

/// How long a text is.
const BYTES: usize = 8 << 20;
/// How often each is redacted; the shortest time counts.
const ROUNDS: usize = 5;
/// How many times longer hostile text may take. Where a name such as `password=` begins at every tenth byte, the name and
/// its value are judged each time, and of plain text nothing is: twice the time is out of reach there.
const BAR: f64 = 20.0;

/// Returns the time that this thread has run, where the system tells; else the time of day.
fn ran(since: Instant) -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next().and_then(|nanos| nanos.parse().ok()));
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Prints the ratios of all shapes that are above two, and says whether all are within the bar.
pub fn redaction() -> bool {
    let redactor = Redactor::new(&Settings::default()).expect("no patterns");
    let started = Instant::now();
    let time = |text: &str| {
        let once = || {
            let before = ran(started);
            std::hint::black_box(redactor.redact(text.as_bytes()));
            ran(started) - before
        };
        (0..ROUNDS).map(|_| once()).min().unwrap_or_default().as_secs_f64() * 1e3
    };
    let json = |text: String| format!("{}\n", serde_json::json!({ "text": text }));
    let (mut seed, mut plain) = (17, String::new());
    while plain.len() < BYTES {
        let words = record(&mut seed)["message"]["content"][0]["text"].take();
        plain += words.as_str().unwrap_or_default();
    }
    let of_plain = [time(&plain), time(&json(plain.clone()))];
    println!("redaction of {} MB of plain text: {:.1} ms, as JSON {:.1} ms", BYTES >> 20, of_plain[0], of_plain[1]);
    let shapes = include_str!("../data/shapes.txt").lines().filter(|line| !line.starts_with('#'));
    let (mut worst, mut is_within, mut above_two) = (0.0, true, 0);
    for line in shapes {
        let shape: String = serde_json::from_str(line).expect("a string");
        let text = shape.repeat(BYTES / shape.len());
        for (place, (text, of_plain)) in [text.clone(), json(text)].into_iter().zip(of_plain).enumerate() {
            // Escapes make it longer.
            let ours = time(&text) * BYTES as f64 / text.len() as f64;
            worst = f64::max(worst, ours / of_plain);
            above_two += usize::from(ours > 2.0 * of_plain);
            if ours > 2.0 * of_plain {
                let what = format!("redaction, {line} repeated{}", if place == 1 { " in JSON" } else { "" });
                is_within &=
                    report(&what, &Sample::one(ours), &Sample::one(of_plain), "ms", "plain text", Bar::Ratio(BAR));
            }
        }
    }
    println!("redaction: {above_two} above twice the time of plain text, at most {worst:.1} times");
    is_within
}
