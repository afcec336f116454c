//! Markdown, styled lightly: the source stays as it is, code and strong words get a colour.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::Style;

/// How often text is looked at once more after a link in it was undone.
const MAX_ROUNDS: usize = 4;

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

/// Returns Markdown of others that a reader of HTML cannot be harmed with: no HTML, no links or images but to web and mail
/// addresses or within the document, and no code that goes on after its end. What it says stays as it is.
pub fn inert(source: &str) -> String {
    let mut text = without_html(source);
    for round in 0.. {
        let bad: Vec<usize> = bad_links(&text);
        if bad.is_empty() {
            break;
        }
        if round == MAX_ROUNDS {
            // Somebody has gone to great lengths.
            text = text.replace('[', "\\[");
            break;
        }
        for bracket in bad.into_iter().rev() {
            text.insert(bracket, '\\');
        }
    }
    match open_fence(&text) {
        Some(fence) => format!("{}\n{fence}", text.trim_end_matches('\n')),
        None => text,
    }
}

/// Replaces each `<` outside of code.
fn without_html(source: &str) -> String {
    let code: Vec<Range<usize>> = Parser::new(source)
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .collect();
    let mut rest = code.iter().peekable();
    let mut text = String::with_capacity(source.len());
    for (at, c) in source.char_indices() {
        while rest.next_if(|range| range.end <= at).is_some() {}
        let is_code = rest.peek().is_some_and(|range| range.contains(&at));
        if c == '<' && !is_code { text.push_str("&lt;") } else { text.push(c) }
    }
    text
}

/// Returns where the brackets of links and images are that lead to anything but web and mail addresses, or within the
/// document.
fn bad_links(text: &str) -> Vec<usize> {
    let bad = Parser::new(text).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) if !is_harmless(&dest_url) => {
            text[range.clone()].find('[').map(|at| range.start + at)
        }
        _ => None,
    });
    let mut bad: Vec<usize> = bad.collect();
    bad.sort_unstable();
    bad.dedup();
    bad
}

fn is_harmless(address: &str) -> bool {
    let plain: String = address.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    match plain.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            ["http", "https", "mailto"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        }
        _ => true,
    }
}

/// Returns the fence that ends the code with which the text ends, if nothing has ended it.
fn open_fence(text: &str) -> Option<String> {
    let probe = format!("{}\n\nend", text.trim_end_matches('\n'));
    let code = Parser::new(&probe).into_offset_iter().filter_map(|(event, range)| {
        (matches!(event, Event::Start(Tag::CodeBlock(_))) && range.end == probe.len()).then_some(range)
    });
    let last = code.last()?;
    let opening = probe[last].trim_start();
    let mark = opening.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    Some(opening.chars().take_while(|c| *c == mark).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_are_added_and_nothing_else_changes() {
        let style = Style { code: "<".into(), strong: "[".into(), reset: "|".into(), ..Style::default() };
        let source = "# Head\n\nUse `x` and **`y` now**.\n\n```sh\na\nb\n```\nend";
        let expected = "[# Head|\n\nUse <`x`| and [**`y` now**|.\n\n<```sh|\n<a|\n<b|\n<```|\nend";
        assert_eq!(styled(source, &style), expected);
        assert_eq!(styled(source, &Style::default()), source);
    }

    /// Renders as the strictest of readers would that still takes HTML.
    fn html(source: &str) -> String {
        let mut html = String::new();
        pulldown_cmark::html::push_html(&mut html, Parser::new(source));
        html
    }

    #[test]
    fn nothing_in_it_acts() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[x](javascript:alert(1)) and [y](JavaScript:alert(1) \"t\")",
            "[x](java&#115;cript:alert(1))",
            "[x]( <javascript:alert(1)> )",
            "![x](data:text/html,<script>)",
            "[x][r]\n\n[r]: javascript:alert(1)",
            "[r]\n\n[r]: vbscript:x",
            "<javascript:alert(1)>",
            "[![a](javascript:1)](javascript:2)",
            "`a` <b onclick=x> ``c` <i> ``",
            "```\nopen <script>alert(1)</script>",
            "- ~~~~\n  open <script>",
        ] {
            let safe = inert(hostile);
            // Whatever follows, it is not code of this text.
            let html = html(&format!("{safe}\n\n<follows>\n"));
            assert!(html.contains("<follows>"), "{safe:?}\n{html}");
            let html = html.replace("<follows>", "");
            for bad in
                ["<script", "<img src=\"x", "onerror=alert(1)>", "<b ", "href=\"java", "href=\"vb", "src=\"data", "<i>"]
            {
                assert!(!html.to_lowercase().contains(bad), "{hostile:?} -> {safe:?}\n{html}");
            }
        }
    }

    #[test]
    fn what_is_harmless_stays() {
        for source in [
            "# Head\n\n**strong** `a < b` [x](https://example.com/a?b#c) ![i](docs/i.png) [m](mailto:a@example.com)",
            "```rust\nlet x: Vec<u8> = a << 2;\n```\n\n- one\n- two [top](#head)\n\ntext\n\n    indented <code>\n",
            "[r] is nothing; `[x](javascript:1)` is code",
        ] {
            assert_eq!(inert(source), source);
        }
        assert_eq!(inert("Vec<u8> <https://example.com>"), "Vec&lt;u8> &lt;https://example.com>");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in r"([<>`~!\[\]():#&;*_\\ \n-]|script|javascript:|https:|x|    |```|\[a\]: ){0,60}") {
            let safe = inert(&text);
            let followed = format!("{safe}\n\n<follows>\n");
            let html: Vec<_> = Parser::new(&followed)
                .filter(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)))
                .collect();
            prop_assert_eq!(html.len(), 1, "{:?} -> {:?}", text, safe);
            prop_assert!(bad_links(&followed).is_empty(), "{:?} -> {:?}", text, safe);
        }
    }
}
