//! The texts of pages, for the search of their overview: a browser lets a page that was opened from a file read no
//! other.

use crate::outside;

/// The longest text of one place, in bytes.
const MAX_TEXT_BYTES: usize = 2 << 10;
/// The most that an overview holds of the texts of all pages, in bytes.
const MAX_BYTES: usize = 5_000_000;

/// A text of a page.
#[derive(Debug)]
struct Text {
    /// The id of its place.
    id: String,
    /// Its beginning.
    text: String,
    /// Whether it is a prompt or an answer; otherwise it is work: thinking, a call, a tool's answer.
    is_said: bool,
}

/// The texts of a page.
#[derive(Debug, Default)]
pub struct PageTexts(Vec<Text>);

impl PageTexts {
    /// Adds a text of the place with this id.
    pub(super) fn add(&mut self, id: &str, text: &str, is_said: bool) {
        let text = text.trim();
        let end = (0..=text.len().min(MAX_TEXT_BYTES)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        let text = outside::text(&text[..end]);
        if !text.is_empty() {
            self.0.push(Text { id: id.to_owned(), text, is_said });
        }
    }
}

/// Returns the texts of pages, by their addresses, as an element for the script of the overview, and how many texts it
/// has no room for; prompts and answers go before work.
pub(super) fn element(pages: &[(&str, &PageTexts)]) -> (String, u64) {
    let (mut room, mut left) = (MAX_BYTES, 0);
    let mut fits = |text: &Text| {
        let has_room = text.text.len() <= room;
        room = if has_room { room - text.text.len() } else { 0 };
        left += u64::from(!has_room);
        has_room
    };
    let mut chosen: Vec<Vec<bool>> = pages.iter().map(|(_, texts)| vec![false; texts.0.len()]).collect();
    for is_said in [true, false] {
        for ((_, texts), chosen) in pages.iter().zip(&mut chosen) {
            for (text, chosen) in texts.0.iter().zip(chosen).filter(|(text, _)| text.is_said == is_said) {
                *chosen = fits(text);
            }
        }
    }
    let kept = pages.iter().zip(&chosen).map(|((address, texts), chosen)| {
        let kept = texts.0.iter().zip(chosen).filter(|(_, is_chosen)| **is_chosen);
        (*address, kept.map(|(text, _)| (text.id.as_str(), text.text.as_str())).collect::<Vec<_>>())
    });
    let json = serde_json::json!(kept.collect::<Vec<_>>()).to_string();
    // Nothing in a text may end the element.
    (format!("<script type=\"application/json\" id=\"words\">{}</script>", json.replace('<', "\\u003c")), left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_goes_before_work_and_no_text_ends_the_data() {
        let mut one = PageTexts::default();
        one.add("t1m1", "</script><b>", true);
        (0..2500).for_each(|_| one.add("t1m2", &"w".repeat(3000), false));
        let mut other = PageTexts::default();
        other.add("t1m1", "said", true);
        let (element, left) = element(&[("one.html", &one), ("other.html", &other)]);
        let json = element.strip_prefix("<script type=\"application/json\" id=\"words\">").expect("it is there");
        let json = json.strip_suffix("</script>").expect("it is there");
        assert!(!json.contains('<') && json.len() < MAX_BYTES + (1 << 20), "{}", json.len());
        let pages: Vec<(String, Vec<(String, String)>)> = serde_json::from_str(json).expect("it is there");
        assert_eq!(pages[0].1[0], ("t1m1".to_owned(), "</script><b>".to_owned()));
        assert_eq!(pages[1], ("other.html".to_owned(), vec![("t1m1".to_owned(), "said".to_owned())]));
        assert_eq!((pages[0].1.len() as u64 - 1 + left, pages[0].1[1].1.len()), (2500, MAX_TEXT_BYTES));
        assert!(left > 0);
    }
}
