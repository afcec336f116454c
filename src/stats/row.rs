//! One row of a table of prices: a line of tab-separated values.

use crate::git::date::Time;

/// The kinds of tokens that have a price of their own, in the order of the columns.
pub(super) const CLASSES: usize = 5;

/// Prices of one model from a date on, in millionths of a millionth of a dollar for a token; `None` if unknown.
pub(super) type Classes = [Option<u64>; CLASSES];

/// The prices of a model from a date on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Row {
    /// The model's name, in lower case; `<tier>/<model>` for a service tier.
    pub model: String,
    /// The first day that the prices hold, as `2026-11-22`; empty for all days before the next row.
    pub from: String,
    /// For input, output, reading from the cache, writing to it, and writing to it for an hour.
    pub(super) prices: Classes,
    /// The prices of an answer whose input has more tokens than this.
    pub(super) above: Option<(u64, Classes)>,
    /// The line as it stands in the table.
    pub line: String,
}

impl Row {
    /// Reads a line; `None` if it is no row.
    pub fn parse(line: &str) -> Option<Row> {
        let mut cells = line.split('\t').map(str::trim);
        let (model, from) = (cells.next()?.to_lowercase(), cells.next()?);
        let is_day = from.len() == 10 && Time::parse_rfc3339(&format!("{from}T00:00:00Z")).is_some();
        if model.is_empty() || !(is_day || from == "-") {
            return None;
        }
        let prices = classes(&mut cells)?;
        // Without the price of input and output, nothing is priced.
        if prices[0].is_none() || prices[1].is_none() {
            return None;
        }
        let above = match cells.next() {
            None | Some("-") => None,
            Some(bound) => Some((bound.parse().ok()?, classes(&mut cells)?)),
        };
        let from = if is_day { from.to_owned() } else { String::new() };
        Some(Row { model, from, prices, above, line: line.to_owned() })
    }
}

/// Reads up to five cells; a missing cell is an unknown price.
fn classes<'c>(cells: &mut impl Iterator<Item = &'c str>) -> Option<Classes> {
    let mut classes = [None; CLASSES];
    for class in &mut classes {
        *class = match cells.next() {
            None | Some("-" | "") => None,
            Some(cell) => Some(millionths(cell)?),
        };
    }
    Some(classes)
}

/// Reads a decimal number with up to six decimal places, as millionths.
fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 6 || part.len() > 6 || !is_number(whole) || !is_number(part) {
        return None;
    }
    format!("{whole}{part:0<6}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_prices_in_millionths_and_may_have_a_bound() {
        let row = Row::parse("Big\t2026-05-01\t5\t25\t0.5\t6.25\t10\t200000\t6\t30").expect("a row");
        assert_eq!((row.model.as_str(), row.from.as_str()), ("big", "2026-05-01"));
        assert_eq!(row.prices, [5_000_000, 25_000_000, 500_000, 6_250_000, 10_000_000].map(Some));
        let beyond = [Some(6_000_000), Some(30_000_000), None, None, None];
        assert_eq!(row.above, Some((200_000, beyond)));
        assert_eq!(Row::parse("m\t-\t0\t0").map(|row| row.prices), Some([Some(0), Some(0), None, None, None]));
        for wrong in [
            "",
            "m",
            "m\t-\t1",
            "m\t-\t1\t-",
            "m\tmay\t1\t1",
            "m\t2026-13-45\t1\t1",
            "m\t-\t-1\t1",
            "m\t-\t1e9\t1",
            "m\t-\t1\t.5",
        ] {
            assert_eq!(Row::parse(wrong), None, "{wrong}");
        }
    }
}
