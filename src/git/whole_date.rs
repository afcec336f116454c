//! Dates of commands that remove. In a date, Git skips words that it does not know and counts on where a day or an hour does
//! not exist; both are refused here.

use jiff::civil::Date;
use regex::Regex;

use super::Repository;
use crate::error::Result;

const CLOCK: &str = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?";
const ZONE: &str = r" ?(?:z|utc|gmt|[+-]\d\d:?\d\d)";
const HALF: &str = r"(?:0?[1-9]|1[0-2])(?::[0-5]\d(?::[0-5]\d)?)? ?[ap]m";
const DAY: &str = "(?:mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)";
const MONTHS: &str = "(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|\
                      oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const COUNTED: &str = r"(?:\d{1,5}[ .]?|(?:last|one|two|three|four|five|six|seven|eight|nine|ten)[ .])(?:second|minute|hour|day|week|month|year)s?";

impl Repository {
    /// Parses a date as [`Repository::parse_date`] does, if each of its words has a meaning and the day and the time exist.
    ///
    /// # Errors
    ///
    /// If the date cannot be read.
    pub fn parse_whole_date(&self, text: &str) -> Result<i64> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_date(&words) { self.parse_date(text) } else { Err(super::walk::unreadable(text)) }
    }
}

fn is_date(text: &str) -> bool {
    let time = format!("(?:{CLOCK}(?:{ZONE})?|{HALF})");
    let hour = format!("(?:{time}|noon|midnight|tea)");
    let ago = format!(r"(?:yesterday|last[ .]{DAY}|{COUNTED}(?:[ .](?:and[ .])?{COUNTED})*(?:[ .]ago)?)");
    let tail = format!("(?:(?:t| | at ){time})?");
    let (day, year) = (r"(?<day>\d\d?)(?:st|nd|rd|th)?", r"(?<year>\d{4})");
    let (month, day_number) = (r"(?<month>\d\d?)", r"(?<day>\d\d?)");
    [
        "now|all|never".to_owned(),
        format!(r"@?[1-9]\d{{8,10}}(?:{ZONE})?"),
        format!(r"{hour}(?:[ .]{ago})?"),
        format!(r"{ago}(?:[ .](?:at[ .])?{hour})?"),
        format!("{year}-{month}-{day_number}{tail}"),
        format!("{year}/{month}/{day_number}{tail}"),
        format!(r"{year}\.{month}\.{day_number}{tail}"),
        format!("{month}/{day_number}/{year}{tail}"),
        format!("{day_number}/{month}/{year}{tail}"),
        format!(r"{day_number}\.{month}\.{year}{tail}"),
        format!("(?:{DAY},? )?{day} {MONTHS}(?:,? {year})?{tail}"),
        format!("(?:{DAY},? )?{MONTHS} {day}(?:,? {year})?{tail}"),
        format!("{DAY} {MONTHS} {day} {CLOCK} {year}(?:{ZONE})?"),
    ]
    .iter()
    .any(|form| Regex::new(&format!("(?i-u)^(?:{form})$")).is_ok_and(|form| fits(&form, text)))
}

/// Says whether a text has a form and, if that has a day, whether there is such a day.
fn fits(form: &Regex, text: &str) -> bool {
    let Some(found) = form.captures(text) else { return false };
    let Some(day) = found.name("day").and_then(|day| day.as_str().parse().ok()) else { return true };
    let month = found.name("month").map_or("", |month| month.as_str());
    let named = month.get(..3).and_then(|name| {
        let at = "janfebmaraprmayjunjulaugsepoctnovdec".find(&name.to_ascii_lowercase())?;
        i8::try_from(at / 3 + 1).ok()
    });
    // Without a year, it may be a leap year.
    let year = found.name("year").map_or(Ok(2024), |year| year.as_str().parse());
    let month = month.parse().ok().or(named);
    month
        .zip(year.ok())
        .is_some_and(|(month, year)| (1970..2200).contains(&year) && Date::new(year, month, day).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_no_word_without_a_meaning_and_names_a_day_that_exists() {
        for date in [
            "now",
            "all",
            "never",
            "yesterday",
            "noon yesterday",
            "yesterday noon",
            "3am yesterday",
            "noon",
            "10:00",
            "2.weeks.ago",
            "2 weeks ago",
            "2.weeks",
            "2weeks",
            "one week ago",
            "1 year and 2 months ago",
            "last monday",
            "last week",
            "last friday at noon",
            "2026-11-20",
            "2026/11/20",
            "2026.11.20",
            "11/20/2026",
            "20/11/2026",
            "20.11.2026",
            "2026-11-20 04:05",
            "2026-11-20T04:05:06Z",
            "2026-11-20T04:05:06.123+02:00",
            "2026-11-20 4pm",
            "2026-11-20 04:05:06 +0100",
            "Fri, 20 Nov 2026 04:05:06 +0100",
            "Fri Nov 20 04:05:06 2026 +0100",
            "20 November 2026",
            "nov 20th",
            "Nov 20, 2026",
            "29 feb",
            "29 feb 2024",
            "@1795756000",
            "1795756000",
            "100000000 +0100",
        ] {
            assert!(is_date(date), "{date}");
        }
        for date in [
            "",
            "2026",
            "0",
            "31/11/2026",
            "2026-11-27 25:00",
            "2026-11-27 24:00",
            "2026-11-27 04:57:05 garbage",
            "2 dyas ago",
            "3.dayz.ago",
            "1,000 days ago",
            "2026-02-30",
            "2026-13-01",
            "2026-11/20",
            "30 feb",
            "29 feb 2026",
            "10:60",
            "13pm",
            "garbage",
            "lastmonth",
            "monday",
            "@5",
            "99999999",
            "-1795756000",
            "2026-11",
            "nov",
            "2 weeks ago garbage",
            "ago",
            "11",
            "20261120",
            "2026-11-20 2 days ago",
            "1969-12-31",
            "false",
            "2026-11-20 noon",
            "a week ago",
            "\u{661}.weeks",
        ] {
            assert!(!is_date(date), "{date}");
        }
    }
}
