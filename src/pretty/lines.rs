//! Who wrote the lines of commits: a table, JSON, and values separated by commas.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::stats::quoted;
use super::table::{fit, write_rows};
use super::width::listed;
use super::{Style, count};
use crate::outside;
use crate::stats::{CountedLines, Key, LineSum};

/// The columns that are left out on a narrow terminal, in this order.
const LEFT_OUT: [&str; 8] = ["moved", "shell", "commits", "written", "left", "share", "other", "added"];

/// Writes a table for people. `names` has the shown values of each group, `room` is the width of the terminal.
///
/// # Errors
///
/// If writing fails.
pub fn write_line_table(
    out: &mut dyn Write,
    counted: &CountedLines,
    keys: &[Key],
    names: &[Vec<String>],
    style: &Style,
    (room, end): (Option<usize>, char),
) -> io::Result<()> {
    let total = &counted.total;
    let mut facts = vec![
        count(counted.commits, "commit"),
        format!("{} added", count(total.added, "line")),
        format!("{} of them recorded ({})", total.recorded, share(total.recorded, total.added)),
    ];
    facts.extend((total.written > 0).then(|| format!("{} written by calls", total.written)));
    facts.extend(total.left.map(|left| format!("{left} still there ({})", share(left, total.added))));
    write!(out, "{}{end}", listed(0, &facts, room))?;
    let mut head: Vec<String> = keys.iter().map(|key| key.name().to_owned()).collect();
    head.extend(["commits", "written", "added", "recorded", "moved", "shell", "other"].map(str::to_owned));
    if total.left.is_some() {
        head.extend(["left".to_owned(), "share".to_owned()]);
    }
    let mut rows = vec![head];
    for ((_, sum), names) in counted.groups.iter().zip(names) {
        let mut row = names.clone();
        row.extend(cells(sum));
        rows.push(row);
    }
    if counted.groups.len() > 1 {
        let mut row = vec![String::new(); keys.len()];
        row[0] = "total".into();
        row.extend(cells(total));
        rows.push(row);
    }
    fit(&mut rows, keys.len(), &LEFT_OUT, room);
    write_rows(out, &rows, keys.len(), style, end)
}

fn cells(sum: &LineSum) -> Vec<String> {
    let numbers = [sum.commits, sum.written, sum.added, sum.recorded, sum.moved, sum.shell, unrecorded(sum)];
    let mut cells: Vec<String> = numbers.iter().map(u64::to_string).collect();
    cells.extend(sum.left.into_iter().flat_map(|left| [left.to_string(), share(left, sum.added)]));
    cells
}

fn unrecorded(sum: &LineSum) -> u64 {
    sum.added - sum.recorded - sum.moved - sum.shell
}

pub(super) fn share(part: u64, whole: u64) -> String {
    format!("{} %", (part * 100 + whole / 2).checked_div(whole).unwrap_or(0))
}

/// Writes one JSON object for each group, and one for all.
///
/// # Errors
///
/// If writing fails.
pub fn write_line_objects(out: &mut dyn Write, counted: &CountedLines, keys: &[Key], end: char) -> io::Result<()> {
    for (values, sum) in &counted.groups {
        let by = keys.iter().zip(values).map(|(key, value)| (key.name().to_owned(), outside::line(value).into()));
        let mut object =
            Map::from_iter([("version".to_owned(), json!(1)), ("by".to_owned(), Value::Object(by.collect()))]);
        object.append(&mut object_of(sum));
        write!(out, "{}{end}", outside::json(&Value::Object(object)))?;
    }
    let mut object = Map::from_iter([("version".to_owned(), json!(1)), ("total".to_owned(), json!(true))]);
    object.append(&mut object_of(&counted.total));
    write!(out, "{}{end}", outside::json(&Value::Object(object)))
}

fn object_of(sum: &LineSum) -> Map<String, Value> {
    let mut object = Map::new();
    let numbers = [
        ("commits", sum.commits),
        ("added", sum.added),
        ("recorded", sum.recorded),
        ("moved", sum.moved),
        ("shell", sum.shell),
        ("other", unrecorded(sum)),
    ];
    object.extend(numbers.map(|(name, number)| (name.to_owned(), number.into())));
    object.extend(sum.left.map(|left| ("left".to_owned(), left.into())));
    object.insert("written".to_owned(), sum.written.into());
    object
}

/// Writes the groups as values separated by commas (RFC 4180), with a head.
///
/// # Errors
///
/// If writing fails.
pub fn write_line_values(out: &mut dyn Write, counted: &CountedLines, keys: &[Key], end: &str) -> io::Result<()> {
    let mut head: Vec<&str> = keys.iter().map(|key| key.name()).collect();
    head.extend(["commits", "added", "recorded", "moved", "shell", "other"]);
    head.extend(counted.total.left.map(|_| "left"));
    head.push("written");
    write!(out, "{}{end}", head.join(","))?;
    for (values, sum) in &counted.groups {
        let mut row: Vec<String> = values.iter().map(|value| quoted(&outside::line(value))).collect();
        let numbers = [sum.commits, sum.added, sum.recorded, sum.moved, sum.shell, unrecorded(sum)];
        row.extend(numbers.iter().chain(&sum.left).chain([&sum.written]).map(u64::to_string));
        write!(out, "{}{end}", row.join(","))?;
    }
    Ok(())
}
