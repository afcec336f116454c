//! The typed text of a prompt, without the text that the agent's program adds.

/// Returns a prompt without the passages in these tags, and without space around the rest. The texts before and after a
/// removed passage stay on lines of their own.
pub fn without(text: &str, tags: &[&str]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // The tags of which no end follows: it is not looked for again.
    let mut endless = vec![false; tags.len()];
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        // Somebody may ask about such a tag: only one that is closed was put there by the program.
        let passage = tags.iter().zip(&mut endless).find_map(|(tag, is_endless)| {
            let inside = from.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>').filter(|_| !*is_endless)?;
            let after = inside.split_once(&format!("</{tag}>")).map(|(_, after)| after);
            *is_endless = after.is_none();
            after
        });
        rest = match passage {
            Some(after) => {
                if !kept.is_empty() && !kept.ends_with('\n') && !after.starts_with('\n') {
                    kept.push('\n');
                }
                after
            }
            None => {
                kept.push('<');
                &from[1..]
            }
        };
    }
    kept.push_str(rest);
    // A prompt can be as long as a file, and is not copied for the space around it.
    kept.truncate(kept.trim_end().len());
    kept.drain(..kept.len() - kept.trim_start().len());
    kept
}

/// Returns the text inside a tag, if there is such a tag.
pub fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, from) = text.split_once(&format!("<{tag}>"))?;
    let (inside, _) = from.split_once(&format!("</{tag}>"))?;
    Some(inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_in_tags_go_and_tags_without_an_end_stay() {
        assert_eq!(without("<a>x</a>one<b>y</b>\ntwo <a> three", &["a", "b"]), "one\ntwo <a> three");
        assert_eq!(without("<a><a>x</a> <b> <a>y</a>z", &["a", "b"]), "<b> \nz");
    }

    #[test]
    fn a_million_tags_without_an_end_are_read_in_their_length() {
        let text = "<bash-input>".repeat(1_000_000);
        assert_eq!(without(&text, &["bash-stdout", "bash-input"]), text);
    }
}
