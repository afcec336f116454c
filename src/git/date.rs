//! Points in time and how `--date=` shows them.

use jiff::{Timestamp, Zoned, tz};

use crate::error::{Error, Result};

/// Seconds since the epoch, with the offset in seconds that the writer's clock had.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Seconds east of UTC.
    pub offset: i32,
}

impl Time {
    /// Returns the current time, in UTC.
    pub fn now() -> Self {
        Time { seconds: Timestamp::now().as_second(), offset: 0 }
    }

    /// Parses a timestamp of RFC 3339, such as `2026-11-20T13:49:00.123Z`.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let time: Timestamp = text.parse().ok()?;
        Some(Time { seconds: time.as_second(), offset: 0 })
    }

    /// Returns the time as RFC 3339 in UTC with whole seconds.
    pub fn to_rfc3339(self) -> String {
        Timestamp::from_second(self.seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
    }

    fn zoned(self) -> Zoned {
        let offset = tz::Offset::from_seconds(self.offset).unwrap_or(tz::Offset::UTC);
        Timestamp::from_second(self.seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(offset.to_time_zone())
    }
}

/// How to show a time; the modes of `git log --date=`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Format {
    mode: Mode,
    is_local: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Mode {
    Default,
    Iso,
    IsoStrict,
    Rfc,
    Short,
    Raw,
    Unix,
    Relative,
    Human,
    Strftime(String),
}

impl Default for Format {
    fn default() -> Self {
        Format { mode: Mode::Default, is_local: false }
    }
}

impl Format {
    /// The format `iso-strict`, which reads the same everywhere.
    pub const STRICT: Format = Format { mode: Mode::IsoStrict, is_local: false };
    /// The format `short`: only the day.
    pub const SHORT: Format = Format { mode: Mode::Short, is_local: false };
    /// The format `iso-local`.
    pub const LOCAL: Format = Format { mode: Mode::Iso, is_local: true };

    /// Parses the value of `--date=` or `log.date`.
    ///
    /// # Errors
    ///
    /// For a mode that Git does not have.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(format) = text.strip_prefix("format:") {
            return Ok(Format { mode: Mode::Strftime(format.into()), is_local: false });
        }
        if let Some(format) = text.strip_prefix("format-local:") {
            return Ok(Format { mode: Mode::Strftime(format.into()), is_local: true });
        }
        let (name, is_local) = match text.strip_suffix("-local") {
            Some(name) => (name, true),
            None if text == "local" => ("default", true),
            None => (text, false),
        };
        let mode = match name {
            "default" => Mode::Default,
            "iso" | "iso8601" => Mode::Iso,
            "iso-strict" | "iso8601-strict" => Mode::IsoStrict,
            "rfc" | "rfc2822" => Mode::Rfc,
            "short" => Mode::Short,
            "raw" => Mode::Raw,
            "unix" => Mode::Unix,
            "relative" => Mode::Relative,
            "human" => Mode::Human,
            _ => return Err(Error::other(format!("unknown date format {text}"))),
        };
        Ok(Format { mode, is_local })
    }

    /// Returns the day of `time` and its hour and minute, in the zone in which this format shows times.
    pub fn day_and_clock(&self, time: Time) -> (String, String) {
        let zoned = self.zoned(time);
        (Format::SHORT.show(Time { offset: zoned.offset().seconds(), ..time }), zoned.strftime("%H:%M").to_string())
    }

    fn zoned(&self, time: Time) -> Zoned {
        if self.is_local {
            Timestamp::from_second(time.seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(tz::TimeZone::system())
        } else {
            time.zoned()
        }
    }

    /// Returns `time` in this format. Only the `-local` modes look at the time zone of this machine.
    pub fn show(&self, time: Time) -> String {
        let zoned = self.zoned(time);
        let format = match &self.mode {
            Mode::Default if self.is_local => "%a %b %-d %H:%M:%S %Y",
            Mode::Default => "%a %b %-d %H:%M:%S %Y %z",
            Mode::Iso => "%Y-%m-%d %H:%M:%S %z",
            Mode::IsoStrict if zoned.offset().is_zero() => "%Y-%m-%dT%H:%M:%SZ",
            Mode::IsoStrict => "%Y-%m-%dT%H:%M:%S%:z",
            Mode::Rfc => "%a, %-d %b %Y %H:%M:%S %z",
            // The one that lists use: worth not to go through a format string for each line.
            Mode::Short => return format!("{:04}-{:02}-{:02}", zoned.year(), zoned.month(), zoned.day()),
            Mode::Raw => return format!("{} {}", time.seconds, zoned.strftime("%z")),
            Mode::Unix => return time.seconds.to_string(),
            Mode::Relative => return relative(Timestamp::now().as_second().saturating_sub(time.seconds)),
            Mode::Human => return human(&zoned, &Zoned::now(), self.is_local),
            Mode::Strftime(format) => format,
        };
        jiff::fmt::strtime::format(format, &zoned).unwrap_or_else(|_| format.to_owned())
    }
}

/// Returns a time as `--date=human` shows it, by the rules of git-log(1): what it shares with `now` is left out.
fn human(time: &Zoned, now: &Zoned, is_local: bool) -> String {
    if time.year() != now.year() {
        return time.strftime("%b %-d %Y").to_string();
    }
    let days_ago = i32::from(now.day()) - i32::from(time.day());
    match days_ago {
        _ if time.month() != now.month() => {}
        0 => return relative(now.timestamp().as_second() - time.timestamp().as_second()),
        // A few days ago, the day of the week says it.
        1..5 if is_local || time.offset() == now.offset() => return time.strftime("%a %H:%M").to_string(),
        1..5 => return time.strftime("%a %H:%M %z").to_string(),
        _ => {}
    }
    time.strftime("%a %b %-d %H:%M").to_string()
}

/// Returns how long ago `seconds` is, in the steps and roundings of Git's `show_date_relative`.
fn relative(seconds: i64) -> String {
    if seconds < 0 {
        return "in the future".into();
    }
    let ago = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    if seconds < 90 {
        return ago(seconds, "second");
    }
    let minutes = seconds.saturating_add(30) / 60;
    if minutes < 90 {
        return ago(minutes, "minute");
    }
    let hours = (minutes + 30) / 60;
    if hours < 36 {
        return ago(hours, "hour");
    }
    let days = (hours + 12) / 24;
    if days < 14 {
        return ago(days, "day");
    }
    if days < 70 {
        return ago((days + 3) / 7, "week");
    }
    if days < 365 {
        return ago((days + 15) / 30, "month");
    }
    if days < 1825 {
        let months = (days * 12 * 2 + 365) / (365 * 2);
        let (years, rest) = (months / 12, months % 12);
        let years_text = format!("{years} year{}", if years == 1 { "" } else { "s" });
        return match rest {
            0 => format!("{years_text} ago"),
            _ => format!("{years_text}, {}", ago(rest, "month")),
        };
    }
    ago((days + 183) / 365, "year")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_as_git_log_writes_them() {
        let time = Time { seconds: 1_795_182_540, offset: 3600 };
        let shown = |name: &str| Format::parse(name).expect("a mode of Git").show(time);
        assert_eq!(shown("default"), "Fri Nov 20 14:49:00 2026 +0100");
        assert_eq!(shown("iso"), "2026-11-20 14:49:00 +0100");
        assert_eq!(shown("iso-strict"), "2026-11-20T14:49:00+01:00");
        assert_eq!(shown("rfc"), "Fri, 20 Nov 2026 14:49:00 +0100");
        assert_eq!(shown("short"), "2026-11-20");
        assert_eq!(shown("raw"), "1795182540 +0100");
        assert_eq!(shown("unix"), "1795182540");
        assert_eq!(shown("format:%Y"), "2026");
        assert!(Format::parse("yesterday-ish").is_err());
    }

    #[test]
    fn relative_times_round_as_git_does() {
        let cases = [
            (1, "1 second ago"),
            (89, "89 seconds ago"),
            (91, "2 minutes ago"),
            (5400, "2 hours ago"),
            (129_600, "2 days ago"),
            (1_209_600, "2 weeks ago"),
            (31_536_000, "1 year ago"),
            (34_000_000, "1 year, 1 month ago"),
            (i64::MAX, "292471208678 years ago"),
        ];
        for (seconds, text) in cases {
            assert_eq!(relative(seconds), text, "{seconds} seconds");
        }
    }
}
