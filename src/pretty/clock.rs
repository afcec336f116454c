//! Times of day and durations within a conversation.

use crate::git::date::{self, Time};

/// Tells times of day as the commit's author saw them, with the day where it is another than that of the time before.
#[derive(Debug)]
pub struct Clock<'a> {
    format: &'a date::Format,
    offset: i32,
    day: String,
}

impl<'a> Clock<'a> {
    /// Makes a clock for the conversation of a commit that was written at this time.
    pub fn new(format: &'a date::Format, commit: Time) -> Self {
        Clock { format, offset: commit.offset, day: format.day_and_clock(commit).0 }
    }

    /// Returns a time of day: `13:44`, or `2026-11-20 13:44` on another day.
    pub fn tell(&mut self, seconds: i64) -> String {
        let (day, clock) = self.format.day_and_clock(Time { seconds, offset: self.offset });
        if day == self.day {
            return clock;
        }
        self.day = day;
        format!("{} {clock}", self.day)
    }
}

/// Returns how long something took, as people say it: `40 s`, `2 min`, `1 h 5 min`; `None` if it was done at once.
pub fn duration(seconds: i64) -> Option<String> {
    let minutes = (seconds + 30) / 60;
    Some(match seconds {
        ..=0 => return None,
        1..=59 => format!("{seconds} s"),
        _ if minutes < 60 => format!("{minutes} min"),
        _ if minutes % 60 == 0 || minutes >= 24 * 60 => format!("{} h", (minutes + 30) / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_is_told_when_it_changes() {
        let format = date::Format::default();
        // 2026-11-20 14:49 in the author's zone.
        let mut clock = Clock::new(&format, Time { seconds: 1_795_182_540, offset: 3600 });
        assert_eq!(clock.tell(1_795_182_480), "14:48");
        assert_eq!(clock.tell(1_795_182_540 - 86_400), "2026-11-19 14:49");
        assert_eq!(clock.tell(1_795_182_540 - 86_340), "14:50");
        assert_eq!(clock.tell(1_795_182_540), "2026-11-20 14:49");
    }

    #[test]
    fn durations_are_told_as_people_do() {
        let told = |seconds| duration(seconds).unwrap_or_default();
        let all: Vec<String> = [-5, 0, 1, 59, 60, 89, 90, 3569, 3600, 3900, 7200, 90_000].map(told).to_vec();
        let expected = ["", "", "1 s", "59 s", "1 min", "1 min", "2 min", "59 min", "1 h", "1 h 5 min", "2 h", "25 h"];
        assert_eq!(all, expected);
    }
}
