//! Tokens, turns and costs of recorded work: a table, a chart, JSON, and values separated by commas.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::table::{columns_of, fit, write_rows};
use super::why_format::filled;
use super::width::{listed, padded, width};
use super::{Style, count};
use crate::outside;
use crate::stats::{Cost, Counted, Group, Key, Prices, Sum};

/// The heads of the columns with numbers.
pub(super) const NUMBERS: [&str; 7] = ["commits", "turns", "input", "output", "cache read", "written", "cost"];
/// The index of the tokens that were read from the cache.
const CACHE_READ: usize = 4;
/// The width of the longest bar, in columns: at most, and at least, however wide the names are.
const MAX_BAR: usize = 60;
const MIN_BAR: usize = 8;

/// The columns that are left out on a narrow terminal, in this order. The names and the cost stay.
const LEFT_OUT: [&str; 6] = ["written", "cache read", "turns", "commits", "input", "output"];

/// The statistics that are printed, and how they are grouped and priced.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<'a> {
    /// The groups and their sum.
    pub counted: &'a Counted,
    /// What they are grouped by.
    pub keys: &'a [Key],
    /// The prices; `None` if costs are not wanted.
    pub prices: Option<&'a Prices>,
}

/// Writes a table for people. `names` has the shown values of each group, `room` is the width of the terminal.
///
/// # Errors
///
/// If writing fails.
pub fn write_table(
    out: &mut dyn Write,
    of: Statistics<'_>,
    names: &[Vec<String>],
    style: &Style,
    (room, end): (Option<usize>, char),
) -> io::Result<()> {
    write!(out, "{}{end}", listed(0, &facts(of), room))?;
    let numbers = NUMBERS;
    let numbers = &numbers[..numbers.len() - usize::from(of.prices.is_none())];
    let mut rows = vec![of.keys.iter().map(|key| key.name().to_owned()).collect::<Vec<_>>()];
    rows[0].extend(numbers.iter().map(|name| (*name).to_owned()));
    let has_sessions = of.keys.contains(&Key::Session);
    for (group, names) in of.counted.groups.iter().zip(names) {
        let mut row = names.clone();
        row.extend(cells(&group.sum).into_iter().take(numbers.len()));
        if has_sessions {
            row[of.keys.len() + CACHE_READ].push(if is_cold(&group.sum) { '*' } else { ' ' });
        }
        rows.push(row);
    }
    if of.counted.groups.len() > 1 {
        let mut row = vec![String::new(); of.keys.len()];
        row[0] = "total".into();
        row.extend(cells(&of.counted.total).into_iter().take(numbers.len()));
        if has_sessions {
            row[of.keys.len() + CACHE_READ].push(' ');
        }
        rows.push(row);
    }
    fit(&mut rows, of.keys.len(), &LEFT_OUT, room);
    write_rows(out, &rows, of.keys.len(), style, end)?;
    let is_marked = has_sessions && rows[0].iter().any(|head| head == NUMBERS[CACHE_READ]);
    if is_marked && of.counted.groups.iter().any(|group| is_cold(&group.sum)) {
        write!(out, "{}{end}", style.paint(&style.dim, "* less than half of what was read came from the cache"))?;
    }
    let wrapped = |remark: &String| {
        let facts: Vec<String> = remark.split(", ").map(str::to_owned).collect();
        listed(0, &facts, room)
    };
    let mut lines = remarks(of).into_iter().map(|remark| wrapped(&remark));
    lines.try_for_each(|remark| write!(out, "{}{end}", style.paint(&style.dim, &remark)))
}

/// Says whether less than half of what models read came from the cache.
fn is_cold(sum: &Sum) -> bool {
    sum.tokens.cache_read < sum.tokens.given().div_ceil(2)
}

/// Writes a bar for each group, as long as its cost, or as its tokens if no cost is known. `columns` is the width of the
/// terminal; without `is_plain`, bars have eighths of a column.
///
/// # Errors
///
/// If writing fails.
pub fn write_chart(
    out: &mut dyn Write,
    of: Statistics<'_>,
    names: &[Vec<String>],
    (columns, is_plain): (usize, bool),
    end: char,
) -> io::Result<()> {
    let has_cost = of.prices.is_some() && of.counted.total.cost.is_some_and(|cost| cost.amount() > 0);
    let amount = |sum: &Sum| match has_cost {
        true => sum.cost.map_or(0, Cost::amount),
        false => u128::from(sum.tokens.total()),
    };
    let value = |sum: &Sum| match has_cost {
        true => cells(sum)[6].clone(),
        false => short(sum.tokens.total()),
    };
    let groups = &of.counted.groups;
    let value_width = groups.iter().map(|group| width(&value(&group.sum))).max().unwrap_or(0);
    let widest = columns.saturating_sub(value_width + 4 + MIN_BAR).max(1);
    let mut names = names.to_vec();
    fit(&mut names, of.keys.len(), &[], Some(widest));
    let names = columns_of(&names);
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let room = columns.saturating_sub(name_width + value_width + 4).clamp(MIN_BAR, MAX_BAR);
    let largest = groups.iter().map(|group| amount(&group.sum)).max().unwrap_or(0).max(1);
    for (group, name) in groups.iter().zip(&names) {
        let value = value(&group.sum);
        let indent = " ".repeat(value_width - width(&value));
        let line = format!(
            "{}  {indent}{value}  {}",
            padded(name, name_width),
            bar(amount(&group.sum), largest, room, is_plain)
        );
        write!(out, "{}{end}", line.trim_end())?;
    }
    Ok(())
}

/// Returns a bar of so many columns at most.
pub(super) fn bar(amount: u128, largest: u128, room: usize, is_plain: bool) -> String {
    // In millionths of the largest amount, so that nothing overflows.
    let unit = (largest / 1_000_000).max(1);
    let eighths = (amount / unit) * 8 * room as u128 / (largest / unit).max(1);
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).clamp(usize::from(amount > 0), room * 8);
    if is_plain {
        return "=".repeat(eighths.div_ceil(8));
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

pub(super) fn headline(of: Statistics<'_>) -> String {
    facts(of).join(", ")
}

fn facts(of: Statistics<'_>) -> Vec<String> {
    let (all, recorded) = of.counted.coverage;
    let total = &of.counted.total;
    let share = (recorded * 100 + all / 2).checked_div(all).unwrap_or(0);
    let model = of.counted.model.as_deref().map_or_else(String::new, |part| format!(" of {}", outside::quoted(part)));
    let mut facts = vec![count(all, "commit"), format!("{recorded} with a record{model} ({share} %)")];
    facts.push(count(total.sessions, "session"));
    let bound = if of.counted.is_at_least { "at least " } else { "" };
    facts.push(format!("{bound}{}", count(total.turns, "turn")));
    match total.active_secs {
        0 => {}
        seconds @ 1..60 => facts.push(format!("{seconds} s active")),
        seconds @ 60..3600 => facts.push(format!("{} min active", seconds.div_ceil(60))),
        seconds => facts.push(format!("{} h active", seconds.saturating_add(1800) / 3600)),
    }
    facts
}

pub(super) fn remarks(of: Statistics<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if of.counted.total.is_cut() {
        remarks.push("some counts are too large to add up, and are cut".to_owned());
    }
    let Some(prices) = of.prices else { return remarks };
    let unpriced: Vec<String> = of.counted.total.unpriced.iter().map(|model| outside::line(model)).collect();
    if !unpriced.is_empty() {
        remarks.push(format!("no price known for {}", unpriced.join(", ")));
    }
    if of.counted.total.cost.is_some() {
        let own = if prices.has_own() { " and your own" } else { "" };
        remarks.push(format!("list prices of {}{own}, in US dollars, not what a subscription costs", prices.date()));
    }
    remarks
}

/// Returns the numbers of a row.
pub(super) fn cells(sum: &Sum) -> [String; 7] {
    let tokens = sum.tokens;
    [
        sum.commits.to_string(),
        sum.turns.to_string(),
        short(tokens.input),
        short(tokens.output),
        short(tokens.cache_read),
        short(tokens.cache_write),
        sum.cost.map_or_else(|| "-".into(), Cost::rounded),
    ]
}

/// Returns a number in at most six columns: `812`, `18.3k`, `783M`.
pub(super) fn short(number: u64) -> String {
    let units = [(1_000_000_000_000, 'T'), (1_000_000_000, 'G'), (1_000_000, 'M'), (1_000, 'k')];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        None => number.to_string(),
        Some((unit, name)) if number / unit >= 100 => format!("{}{name}", number / unit),
        Some((unit, name)) => format!("{}.{}{name}", number / unit, number % unit / (unit / 10)),
    }
}

/// Returns the object of a group.
pub fn group_object(group: &Group, keys: &[Key], has_cost: bool) -> Value {
    let by: Map<String, Value> = keys
        .iter()
        .zip(&group.values)
        .map(|(key, value)| (key.name().to_owned(), outside::line(value).into()))
        .collect();
    let mut object = Map::from_iter([("version".to_owned(), json!(1)), ("by".to_owned(), Value::Object(by))]);
    object.append(&mut sum_object(&group.sum, has_cost));
    Value::Object(object)
}

/// Returns the object of all groups together.
pub fn total_object(of: Statistics<'_>) -> Value {
    let mut object = Map::from_iter([("version".to_owned(), json!(1)), ("total".to_owned(), json!(true))]);
    object.append(&mut sum_object(&of.counted.total, of.prices.is_some()));
    object.insert("coverage".into(), json!({"commits": of.counted.coverage.0, "recorded": of.counted.coverage.1}));
    if of.counted.is_at_least {
        object.insert("uncounted".into(), true.into());
    }
    if let Some(prices) = of.prices {
        object.insert("prices".into(), prices.date().into());
    }
    Value::Object(object)
}

fn sum_object(sum: &Sum, has_cost: bool) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("commits".into(), sum.commits.into());
    object.insert("sessions".into(), sum.sessions.into());
    object.insert("turns".into(), sum.turns.into());
    object.insert("messages".into(), sum.messages.into());
    object.insert("active".into(), sum.active_secs.into());
    object.insert("tokens".into(), serde_json::to_value(sum.tokens).unwrap_or_default());
    if sum.is_cut() {
        object.insert("cut".into(), true.into());
    }
    if has_cost && let Some(cost) = sum.cost {
        object.insert("cost".into(), cost.exact().into());
        object.insert("atLeast".into(), cost.is_at_least.into());
        // Another number than ours: some agents have prices of their own, or of a contract.
        if let Some(told) = sum.tokens.told_cost {
            object.insert("told".into(), Cost::of_told(told).exact().into());
        }
        object.insert("unpriced".into(), sum.unpriced.iter().map(|model| outside::line(model)).collect());
    }
    object
}

/// The names of the counts of a group, in CSV and in formats.
const COUNTS: [&str; 12] = [
    "commits",
    "sessions",
    "turns",
    "messages",
    "active",
    "input",
    "output",
    "cacheRead",
    "cacheWrite",
    "cacheWriteLong",
    "cost",
    "atLeast",
];
/// How many of them are costs, at the end.
const COSTS: usize = 2;

/// Returns the counts of a group, as [`COUNTS`] names them. What is unknown is empty.
fn counts_of(sum: &Sum) -> [String; 12] {
    let tokens = sum.tokens;
    let number = |number: u64| number.to_string();
    [
        number(sum.commits),
        number(sum.sessions),
        number(sum.turns),
        number(sum.messages),
        number(sum.active_secs),
        number(tokens.input),
        number(tokens.output),
        number(tokens.cache_read),
        number(tokens.cache_write),
        tokens.cache_write_long.map_or_else(String::new, number),
        // A cost that is unknown is empty, not 0.
        sum.cost.filter(|cost| !cost.is_unknown()).map_or_else(String::new, Cost::exact),
        sum.cost.is_some_and(|cost| cost.is_at_least).to_string(),
    ]
}

/// Writes the groups as values separated by commas (RFC 4180), with a head.
///
/// # Errors
///
/// If writing fails.
pub fn write_values(out: &mut dyn Write, of: Statistics<'_>, end: &str) -> io::Result<()> {
    let shown = COUNTS.len() - if of.prices.is_some() { 0 } else { COSTS };
    let head: Vec<&str> = of.keys.iter().map(|key| key.name()).chain(COUNTS.into_iter().take(shown)).collect();
    write!(out, "{}{end}", head.join(","))?;
    for group in &of.counted.groups {
        let mut row: Vec<String> = group.values.iter().map(|value| quoted(&outside::line(value))).collect();
        row.extend(counts_of(&group.sum).into_iter().take(shown));
        write!(out, "{}{end}", row.join(","))?;
    }
    Ok(())
}

/// Returns a group in a format with the placeholders `%(<key>)` and `%(<count>)`. A key that was not asked for is empty.
pub fn group_line(format: &str, group: &Group, of: Statistics<'_>) -> String {
    let shown = COUNTS.len() - if of.prices.is_some() { 0 } else { COSTS };
    let own = |name: &str| {
        if let Ok(key) = name.parse::<Key>() {
            let at = of.keys.iter().position(|known| *known == key);
            return Some(at.and_then(|at| group.values.get(at)).cloned().unwrap_or_default());
        }
        let at = COUNTS.iter().position(|count| *count == name)?;
        Some(if at < shown { counts_of(&group.sum)[at].clone() } else { String::new() })
    };
    filled(format, own, |_| None)
}

/// Returns a value as it stands between commas. What a spreadsheet would take for a formula gets an apostrophe.
pub(super) fn quoted(value: &str) -> String {
    // Some spreadsheets take full-width characters for the same.
    if value.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']) {
        return quoted(&format!("'{value}"));
    }
    // Where spreadsheets separate values by semicolons, what follows one could be taken for a formula.
    match value.contains(['"', ',', ';', '\t', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bars_stay_short() {
        let shown = [999, 1000, 12_345, 99_999, 783_400_000, u64::MAX].map(short);
        assert_eq!(shown, ["999", "1.0k", "12.3k", "99.9k", "783M", "18446744T"]);
        assert_eq!(["＝1", "＠a", "\tb", "x＝"].map(quoted), ["'＝1", "'＠a", "\"'\tb\"", "x＝"]);
        assert_eq!(bar(10, 10, 4, false), "████");
        assert_eq!(bar(3, 8, 1, false), "▍");
        assert_eq!(bar(1, 1000, 8, true), "=", "something is never nothing");
        assert_eq!(bar(u128::MAX, u128::MAX, 8, true), "========");
        assert_eq!(bar(0, 1, 8, true), "");
    }

    #[test]
    fn values_are_quoted_as_rfc_4180_says() {
        assert_eq!(quoted("A U Thor <a@b>"), "A U Thor <a@b>");
        assert_eq!(quoted("Thor, \"A\""), "\"Thor, \"\"A\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("Thor;=1+1"), "\"Thor;=1+1\"", "semicolons divide nothing");
    }
}
