//! Markdown, styled lightly: the source stays as it is, code and strong words get a colour.

use pulldown_cmark::{Event, Parser, Tag};

use super::Style;

/// Returns Markdown with colours around code, headings and strong words. Without colours it is returned unchanged.
pub fn styled(source: &str, style: &Style) -> String {
    if style.reset.is_empty() {
        return source.to_owned();
    }
    let mut spans: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    for (event, range) in Parser::new(source).into_offset_iter() {
        let color = match event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => &style.code,
            Event::Start(Tag::Heading { .. } | Tag::Strong) => &style.strong,
            _ => continue,
        };
        // Nested spans would need their outer colour again after their end; the outermost is enough.
        if spans.last().is_none_or(|(last, _)| range.start >= last.end) {
            spans.push((range, color));
        }
    }
    let mut styled = String::with_capacity(source.len() + spans.len() * 10);
    let mut end = 0;
    for (range, color) in spans {
        styled.push_str(&source[end..range.start]);
        // A colour does not reach over line ends: pagers show each line on its own.
        for part in source[range.clone()].split_inclusive('\n') {
            let text = part.trim_end_matches('\n');
            if !text.is_empty() {
                styled.push_str(&style.paint(color, text));
            }
            styled.push_str(&part[text.len()..]);
        }
        end = range.end;
    }
    styled.push_str(&source[end..]);
    styled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_added_and_nothing_else_changes() {
        let style = Style { code: "<".into(), strong: "[".into(), reset: "|".into(), ..Style::default() };
        let source = "# Head\n\nUse `x` and **`y` now**.\n\n```sh\na\nb\n```\nend";
        let expected = "[# Head|\n\nUse <`x`| and [**`y` now**|.\n\n<```sh|\n<a|\n<b|\n<```|\nend";
        assert_eq!(styled(source, &style), expected);
        assert_eq!(styled(source, &Style::default()), source);
    }
}
