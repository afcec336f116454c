//! How often tools were called, and failed: a table, JSON, and values separated by commas.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::lines::share;
use super::stats::quoted;
use super::table::{fit, write_rows};
use super::width::listed;
use super::{Style, count};
use crate::outside;
use crate::stats::{CallSum, CountedCalls, Key};

/// The columns that are left out on a narrow terminal, in this order.
const LEFT_OUT: [&str; 2] = ["share", "failed"];

/// Writes a table for people. `names` has the shown values of each group: one for each key, then the tool. `room` is the
/// width of the terminal.
///
/// # Errors
///
/// If writing fails.
pub fn write_call_table(
    out: &mut dyn Write,
    counted: &CountedCalls,
    keys: &[Key],
    names: &[Vec<String>],
    style: &Style,
    (room, end): (Option<usize>, char),
) -> io::Result<()> {
    let total = counted.total;
    let failed = format!("{} of them failed ({})", total.failed, share(total.failed, total.calls));
    let mut facts = vec![count(total.calls, "call"), failed];
    facts.extend((counted.interrupted > 0).then(|| count(counted.interrupted, "interruption")));
    facts.extend((counted.abandoned > 0).then(|| format!("{} taken back", count(counted.abandoned, "prompt"))));
    write!(out, "{}{end}", listed(0, &facts, room))?;
    let mut head: Vec<String> = keys.iter().map(|key| key.name().to_owned()).collect();
    head.extend(["tool", "calls", "failed", "share"].map(str::to_owned));
    let mut rows = vec![head];
    for ((_, sum), names) in counted.groups.iter().zip(names) {
        let mut row = names.clone();
        row.extend([sum.calls.to_string(), sum.failed.to_string(), share(sum.failed, sum.calls)]);
        rows.push(row);
    }
    fit(&mut rows, keys.len() + 1, &LEFT_OUT, room);
    write_rows(out, &rows, keys.len() + 1, style, end)
}

/// Writes one JSON object for each group, and one for all.
///
/// # Errors
///
/// If writing fails.
pub fn write_call_objects(out: &mut dyn Write, counted: &CountedCalls, keys: &[Key], end: char) -> io::Result<()> {
    let object_of = |sum: &CallSum| [("calls".to_owned(), sum.calls.into()), ("failed".to_owned(), sum.failed.into())];
    for (values, sum) in &counted.groups {
        let names = keys.iter().map(|key| key.name()).chain(["tool"]);
        let by = names.zip(values).map(|(name, value)| (name.to_owned(), Value::from(outside::line(value))));
        let head = [("version".to_owned(), json!(1)), ("by".to_owned(), Value::Object(by.collect()))];
        let object: Map<String, Value> = head.into_iter().chain(object_of(sum)).collect();
        write!(out, "{}{end}", outside::json(&Value::Object(object)))?;
    }
    let head = [("version".to_owned(), json!(1)), ("total".to_owned(), json!(true))];
    let abandoned = [("takenBack", counted.abandoned), ("interrupted", counted.interrupted)];
    let abandoned = abandoned.map(|(name, number)| (name.to_owned(), number.into()));
    let object: Map<String, Value> = head.into_iter().chain(object_of(&counted.total)).chain(abandoned).collect();
    write!(out, "{}{end}", outside::json(&Value::Object(object)))
}

/// Writes the groups as values separated by commas (RFC 4180), with a head.
///
/// # Errors
///
/// If writing fails.
pub fn write_call_values(out: &mut dyn Write, counted: &CountedCalls, keys: &[Key], end: &str) -> io::Result<()> {
    let head: Vec<&str> = keys.iter().map(|key| key.name()).chain(["tool", "calls", "failed"]).collect();
    write!(out, "{}{end}", head.join(","))?;
    for (values, sum) in &counted.groups {
        let names = values.iter().map(|value| quoted(&outside::line(value)));
        let row: Vec<String> = names.chain([sum.calls.to_string(), sum.failed.to_string()]).collect();
        write!(out, "{}{end}", row.join(","))?;
    }
    Ok(())
}
