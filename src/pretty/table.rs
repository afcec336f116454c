//! Rows in columns: names first, then numbers. On a terminal, they are as narrow as it is.

use std::io::{self, Write};

use super::Style;
use super::width::{cut_within, padded, width};

/// Names are cut to this width before columns of numbers are left out.
const MAX_NAME: usize = 36;
/// No name is cut to less than this.
const MIN_NAME: usize = 8;

/// Makes rows fit into the columns of a terminal: cuts long names, leaves out columns of numbers, which `left_out` names in
/// this order, and then cuts names further. The first row has the names of the columns, as many of which as `names` says are
/// of names.
pub(super) fn fit(rows: &mut [Vec<String>], names: usize, left_out: &[&str], room: Option<usize>) {
    let Some(room) = room else { return };
    let mut widths = widths(rows);
    let too_wide = |widths: &[usize]| (widths.iter().sum::<usize>() + 2 * (widths.len() - 1)).saturating_sub(room);
    // The widest column of names gives way to the others.
    let narrow = |widths: &mut [usize], least: usize| {
        while too_wide(widths) > 0 {
            let Some(at) = (0..names).max_by_key(|at| widths[*at]).filter(|at| widths[*at] > least) else { break };
            widths[at] -= 1;
        }
    };
    narrow(&mut widths, MAX_NAME);
    for name in left_out {
        let at = rows[0].iter().skip(names).position(|head| head == name);
        if let Some(at) = at.filter(|_| too_wide(&widths) > 0) {
            rows.iter_mut().for_each(|row| drop(row.remove(names + at)));
            widths.remove(names + at);
        }
    }
    narrow(&mut widths, MIN_NAME);
    rows.iter_mut().for_each(|row| (0..names).for_each(|at| row[at] = cut_within(&row[at], widths[at])));
}

/// Writes rows in columns, the first row as their head: as many columns with names as `names` says, then numbers.
///
/// # Errors
///
/// If writing fails.
pub(super) fn write_rows(
    out: &mut dyn Write,
    rows: &[Vec<String>],
    names: usize,
    style: &Style,
    end: char,
) -> io::Result<()> {
    let widths = widths(rows);
    for (number, row) in rows.iter().enumerate() {
        let cell = |(at, text): (usize, &String)| match at < names {
            true => padded(text, widths[at]),
            false => format!("{}{text}", " ".repeat(widths[at] - width(text))),
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        let color = if number == 0 { style.dim.as_str() } else { "" };
        write!(out, "{}{end}", style.paint(color, line.trim_end()))?;
    }
    Ok(())
}

/// Returns a line for each row, with its cells below each other.
pub(super) fn columns_of(rows: &[Vec<String>]) -> Vec<String> {
    let widths = widths(rows);
    let line =
        |row: &Vec<String>| row.iter().zip(&widths).map(|(text, width)| padded(text, *width)).collect::<Vec<_>>();
    rows.iter().map(|row| line(row).join("  ").trim_end().to_owned()).collect()
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).map(|at| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0)).collect()
}
