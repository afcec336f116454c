//! The findings in an Apex debug log: its first exception, the limits that it comes near to, its slowest query.

use super::{Triage, short};

/// How many code units are remembered that were entered and not left. Apex has fewer than this on its stack.
const MAX_UNITS: usize = 200;
/// From which share of a limit on it is reported, in percent.
const NEAR_PERCENT: u64 = 80;
/// How many limits are reported.
const MAX_LIMITS: usize = 4;

/// Says whether a line is the first of an Apex log: a version, and the levels of its categories.
pub fn is_head(line: &str) -> bool {
    let Some((version, levels)) = line.split_once(' ') else { return false };
    let is_version = version.split_once('.').is_some_and(|(major, minor)| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(major) && is_number(minor)
    });
    is_version && levels.contains("APEX_CODE,")
}

/// The state of reading an Apex log.
#[derive(Default)]
pub struct ApexLog {
    /// The code units that were entered and not left.
    units: Vec<String>,
    /// The number of code units that were entered and not left beyond those in the list.
    deeper: usize,
    /// The first exception, the code unit in which it happened, and where in that.
    error: Option<(String, Option<String>, String)>,
    /// Limits by name: how much was used of how much, at most.
    limits: Vec<(String, u64, u64)>,
    /// When the query began that runs, in nanoseconds, and its text.
    query: Option<(u64, String)>,
    /// The slowest query, its time in nanoseconds and its rows.
    slowest: Option<(u64, String, String)>,
}

impl ApexLog {
    /// Reads the next line.
    pub fn line(&mut self, line: &str) {
        if self.limit(line) {
            return;
        }
        // 12:00:00.0 (1234567)|EVENT|[7]|details
        let mut fields = line.splitn(3, '|');
        let (Some(time), Some(event)) = (fields.next(), fields.next()) else { return };
        let rest = fields.next().unwrap_or_default();
        let nanos = time.rsplit_once('(').and_then(|(_, nanos)| nanos.strip_suffix(')')?.parse::<u64>().ok());
        let Some(nanos) = nanos else { return };
        let last = |text: &str| text.rsplit('|').next().unwrap_or_default().to_owned();
        match event {
            "CODE_UNIT_STARTED" if self.units.len() < MAX_UNITS => self.units.push(unit(rest).to_owned()),
            "CODE_UNIT_STARTED" => self.deeper += 1,
            "CODE_UNIT_FINISHED" if self.deeper > 0 => self.deeper -= 1,
            "CODE_UNIT_FINISHED" => drop(self.units.pop()),
            "FATAL_ERROR" | "EXCEPTION_THROWN" if self.error.is_none() => {
                let (place, words) = rest.split_once('|').unwrap_or(("", rest));
                let number = place.trim_matches(['[', ']']);
                let is_line = (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
                let words = if place.starts_with('[') { words } else { rest };
                let line = if is_line { format!(", line {number}") } else { String::new() };
                self.error = Some((words.trim().to_owned(), self.units.last().cloned(), line));
            }
            "SOQL_EXECUTE_BEGIN" => self.query = Some((nanos, query(rest).to_owned())),
            "SOQL_EXECUTE_END" => {
                let Some((begun, query)) = self.query.take() else { return };
                let taken = nanos.saturating_sub(begun);
                if self.slowest.as_ref().is_none_or(|(slowest, ..)| taken > *slowest) {
                    self.slowest = Some((taken, query, last(rest)));
                }
            }
            _ => {}
        }
    }

    /// Reads `  Number of SOQL queries: 81 out of 100`, and says whether the line is of that form.
    fn limit(&mut self, line: &str) -> bool {
        let Some((name, numbers)) = line.split_once(": ") else { return false };
        let Some((used, most)) = numbers.split_once(" out of ") else { return false };
        let number = |text: &str| text.split_whitespace().next()?.parse::<u64>().ok();
        let (Some(used), Some(most)) = (number(used), number(most)) else { return false };
        let name = name.trim();
        // What code prints about its own progress has fields in front.
        if name.contains('|') {
            return false;
        }
        // A log has some twenty.
        let has_room = self.limits.len() < 100;
        match self.limits.iter_mut().find(|(known, ..)| known == name) {
            Some(known) => (known.1, known.2) = (known.1.max(used), most),
            None if has_room => self.limits.push((name.to_owned(), used, most)),
            None => {}
        }
        true
    }

    /// Returns the findings.
    pub fn triage(self, clean: &dyn Fn(&str) -> String) -> Triage {
        let near = |(_, used, most): &&(String, u64, u64)| {
            *most > 0 && used.saturating_mul(100) > most.saturating_mul(NEAR_PERCENT)
        };
        let limits = self.limits.iter().filter(near).take(MAX_LIMITS);
        let mut lines: Vec<String> =
            limits.map(|(name, used, most)| format!("limit: {} {used} of {most}", short(name, clean))).collect();
        lines.extend(self.slowest.map(|(nanos, query, rows)| {
            let rows = rows.strip_prefix("Rows:").map(|rows| format!(", {} rows", short(rows, clean)));
            format!("slowest SOQL: {} ms{}: {}", nanos / 1_000_000, rows.unwrap_or_default(), short(&query, clean))
        }));
        let error = self.error.map(|(words, unit, line)| {
            let unit = unit.map(|unit| format!(" (in {}{line})", short(&unit, clean)));
            format!("{}{}", short(&words, clean), unit.unwrap_or_default())
        });
        Triage { is_apex: true, error, lines }
    }
}

/// Returns the name of the code unit that a line tells of. Behind that of a trigger stands an internal one.
fn unit(fields: &str) -> &str {
    let mut fields = fields.rsplit('|');
    let last = fields.next().unwrap_or_default();
    if last.starts_with("__sfdc_") { fields.next().unwrap_or(last) } else { last }
}

/// Returns the query in `[3]|Aggregations:0|SELECT Id FROM Account`; it can have a `|` itself.
fn query(fields: &str) -> &str {
    let (_, query) = fields.split_once('|').unwrap_or(("", fields));
    let count = query.split_once('|').filter(|(count, _)| count.starts_with("Aggregations:"));
    count.map_or(query, |(_, query)| query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_units_without_an_end_take_no_memory_and_hide_no_later_one() {
        let enter = "12:00:00.0 (1)|CODE_UNIT_STARTED|[EXTERNAL]|deep\n".repeat(MAX_UNITS + 5);
        let leave = "12:00:00.0 (1)|CODE_UNIT_FINISHED|deep\n".repeat(MAX_UNITS + 5);
        let mut log = ApexLog::default();
        enter.lines().for_each(|line| log.line(line));
        assert_eq!((log.units.len(), log.deeper), (MAX_UNITS, 5), "deeper units are counted and not kept");
        let last = "12:00:00.0 (1)|CODE_UNIT_STARTED|[EXTERNAL]|last\n12:00:00.0 (1)|FATAL_ERROR|E\n";
        leave.lines().chain(last.lines()).for_each(|line| log.line(line));
        assert_eq!(log.triage(&str::to_owned).error.as_deref(), Some("E (in last)"));
    }
}
