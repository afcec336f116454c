//! Questions. On a terminal or not, they are read as lines; at the end of input the answer is no.

use crate::cli;
use crate::error::{Error, Kind, Result};

/// Asks a question to which yes is proposed.
pub fn agrees(question: &str) -> Result<bool> {
    let Some(answer) = cli::ask(&format!("{question} [Y/n] "))? else {
        nobody_answered("'--yes' does it without a question");
        return Ok(false);
    };
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

/// Tells that the input has ended.
fn nobody_answered(hint: &str) {
    cli::error(&Error::other("nobody has answered").hint(hint));
}

/// Asks which of some things are meant: numbers such as `1,3`, `all`, or nothing for those that are marked. Returns `None`
/// at the end of input.
pub fn which(question: &str, items: &[&str], marked: &[&str]) -> Result<Option<Vec<String>>> {
    let mut text = format!("{question}\n");
    for (number, item) in items.iter().enumerate() {
        let mark = if marked.contains(item) { "*" } else { " " };
        text += &format!(" {mark} {}) {item}\n", number + 1);
    }
    let Some(answer) = cli::ask(&format!("{text}> "))? else {
        nobody_answered("'--yes' takes the answers that are proposed");
        return Ok(None);
    };
    chosen(&answer, items, marked).map(Some)
}

fn chosen(answer: &str, items: &[&str], marked: &[&str]) -> Result<Vec<String>> {
    let owned = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    match answer.trim() {
        "" => return Ok(owned(marked)),
        "all" => return Ok(owned(items)),
        "none" => return Ok(Vec::new()),
        _ => {}
    }
    let mut chosen: Vec<String> = Vec::new();
    for word in answer.split(',').map(str::trim) {
        let number = word.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let item = number.and_then(|number| items.get(number));
        let wrong = || Error::new(Kind::Usage, format!("'{word}' is none of 1 to {}", items.len()));
        let item = (*item.ok_or_else(wrong)?).to_owned();
        if !chosen.contains(&item) {
            chosen.push(item);
        }
    }
    Ok(chosen)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod tests {
    use super::*;

    #[test]
    fn choices_are_numbers_or_all_or_what_is_marked() {
        let items = ["a", "b", "c"];
        let chosen = |answer: &str| chosen(answer, &items, &["b"]).map_err(|error| error.to_string());
        assert_eq!(chosen("3, 1,3\n").unwrap(), ["c", "a"]);
        assert_eq!(chosen("\n").unwrap(), ["b"]);
        assert_eq!(chosen("all").unwrap(), items);
        assert!(chosen("none").unwrap().is_empty());
        assert_eq!(chosen("4"), Err("'4' is none of 1 to 3".into()));
        assert!(chosen("0").is_err() && chosen("x").is_err());
    }
}
