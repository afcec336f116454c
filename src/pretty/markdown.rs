//! Markdown, styled lightly: the source stays as it is, code and strong words get a colour.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::Style;

/// Longer text gets no colours.
const MAX_STYLED_BYTES: usize = 1 << 20;

/// The schemes of addresses that a link may lead to.
const SCHEMES: &[&str] = &["http", "https", "mailto"];

/// How often text is looked at once more after a link in it was undone.
const MAX_ROUNDS: usize = 4;

/// Returns Markdown with colours around code, headings and strong words. Without colours it is returned unchanged.
pub fn styled(source: &str, style: &Style) -> String {
    // To read that much as Markdown would take many times its size.
    if style.reset.is_empty() || source.len() > MAX_STYLED_BYTES {
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

/// A space without width between a sign and a name, so that no forge takes them for a mention. It is written as a code,
/// which the source shows.
const GAP: &str = "&#8203;";

/// Returns Markdown of others that is harmless as HTML and has no effect where it is pasted: no HTML, no pictures from
/// elsewhere, no links but to web and mail addresses or within the document, no mentions of people and issues, and no
/// code that goes on after its end. The words stay as they are.
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
    let text = without_mentions(&text);
    match open_fence(&text) {
        Some(fence) => format!("{}\n{fence}", text.trim_end_matches('\n')),
        None => text,
    }
}

/// Returns inert Markdown as a quotation, line by line. A tab at the beginning of a line leads two columns less far behind the
/// mark, so that code would become text; it becomes spaces.
pub fn quotation(source: &str) -> String {
    let mut text = String::with_capacity(source.len() + 2);
    for line in source.lines() {
        text.push_str("> ");
        let (mut column, mut rest) = (0, line);
        while let Some(c) = rest.chars().next().filter(|c| " \t-*+>.)0123456789".contains(*c)) {
            let width = if c == '\t' { 4 - column % 4 } else { 1 };
            if c == '\t' {
                text.extend(std::iter::repeat_n(' ', width))
            } else {
                text.push(c)
            }
            (column, rest) = (column + width, &rest[1..]);
        }
        text.push_str(rest);
        text.push('\n');
    }
    text
}

/// Removes the meaning that forges give to words: mentions, references to issues, and commands at the beginning of a
/// line.
fn without_mentions(source: &str) -> String {
    let mut changes: Vec<(usize, &str)> = Vec::new();
    let mut is_code = false;
    for (event, range) in Parser::new(source).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            // A character that is written as a code is one that the parser sees and we do not.
            Event::Text(text) if !is_code && is_written_as_code(&text, &source[range.clone()]) => {
                changes.push((range.start + 1, "amp;"));
            }
            Event::Text(_) if !is_code => mentions(source, range, &mut changes),
            _ => {}
        }
    }
    let mut text = String::with_capacity(source.len() + changes.len() * GAP.len());
    let mut end = 0;
    for (at, insert) in changes {
        text.push_str(&source[end..at]);
        text.push_str(insert);
        end = at;
    }
    text.push_str(&source[end..]);
    text
}

/// Says whether a visible character is written as a character code, such as `&#64;`.
fn is_written_as_code(text: &str, source: &str) -> bool {
    text != source
        && source.starts_with('&')
        && text.bytes().any(|byte| byte.is_ascii_graphic() && !b"<>&\"".contains(&byte))
}

/// Finds the places of insertions in a stretch of plain text.
fn mentions(source: &str, range: Range<usize>, changes: &mut Vec<(usize, &str)>) {
    let bytes = source.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let mut at = range.start;
    while at < range.end {
        // An address begins with a letter; elsewhere this can be within a character.
        if let Some(length) = source.get(at..range.end).and_then(address) {
            if is_issue(&source[at..at + length]) {
                let scheme = source[at..].find("://").map_or(0, |colon| colon + 3);
                changes.push((at + scheme, GAP));
            }
            at += length;
            continue;
        }
        let before = if at == 0 { b' ' } else { byte(at - 1) };
        // A '_' there can be markup that nobody sees.
        let is_word_before = before.is_ascii_alphanumeric();
        let next = byte(at + 1);
        match byte(at) {
            b'@' if (next.is_ascii_alphanumeric() || next == b'_') && !is_word_before => changes.push((at + 1, GAP)),
            b'&' if next.is_ascii_digit() => changes.push((at + 1, GAP)),
            b'#' if next.is_ascii_digit() => changes.push((at + 1, GAP)),
            b'!' if next.is_ascii_digit() && !is_word_before => changes.push((at + 1, GAP)),
            b'-' if next.is_ascii_digit() && at >= 2 && bytes[at - 2..at].eq_ignore_ascii_case(b"gh") => {
                changes.push((at + 1, GAP));
            }
            b'/' if next.is_ascii_alphabetic() && is_line_start(&bytes[..at]) => changes.push((at, "\\")),
            _ => {}
        }
        at += 1;
    }
}

fn is_line_start(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte != b'\n').all(|byte| *byte == b' ')
}

/// Returns the length of a web address that the text begins with, if a forge makes a link of it: within it nothing is
/// taken for a mention.
fn address(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let host = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b".-".contains(byte)).count();
    let is_host = rest[..host].trim_matches('.').contains('.');
    let end = rest.find(|c: char| c.is_whitespace() || c == '<').unwrap_or(rest.len());
    let is_followed_well = end == host || rest[host..].starts_with(['/', '?', '#', ':', ')', ']', ',', ';']);
    (is_host && is_followed_well).then_some(text.len() - rest.len() + end)
}

/// Says whether an address names an issue or a change on a forge, which then tells those who follow it.
fn is_issue(address: &str) -> bool {
    let mut parts = address.split(['/', '?', '#']);
    let is_kind = |part: &str| {
        let kinds = ["issues", "pull", "pulls", "merge_requests", "discussions", "work_items", "epics"];
        kinds.iter().any(|kind| part.eq_ignore_ascii_case(kind))
    };
    parts.any(is_kind) && parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
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

/// Returns where the brackets of links are that lead to anything but web and mail addresses, or within the document, or to
/// an issue; and the beginnings of pictures that are elsewhere, which then are links.
fn bad_links(text: &str) -> Vec<usize> {
    let bad = Parser::new(text).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. }) if !is_harmless(&dest_url) || is_issue(&dest_url) => {
            text[range.clone()].find('[').map(|at| range.start + at)
        }
        Event::Start(Tag::Image { dest_url, .. }) if !is_harmless(&dest_url) => {
            text[range.clone()].find('[').map(|at| range.start + at)
        }
        Event::Start(Tag::Image { dest_url, .. }) if is_elsewhere(&dest_url) => Some(range.start),
        _ => None,
    });
    let mut bad: Vec<usize> = bad.collect();
    bad.sort_unstable();
    bad.dedup();
    bad
}

/// Returns an address without the characters that browsers skip.
fn plain_address(address: &str) -> String {
    address.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect()
}

/// Returns the scheme of a plain address; `None` for an address within the document or the server.
fn scheme_of(plain: &str) -> Option<&str> {
    plain.split_once(':').map(|(scheme, _)| scheme).filter(|scheme| !scheme.contains(['/', '?', '#']))
}

/// Says whether a link may have a scheme.
pub(super) fn is_harmless_scheme(scheme: &str) -> bool {
    SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

fn is_harmless(address: &str) -> bool {
    scheme_of(&plain_address(address)).is_none_or(is_harmless_scheme)
}

/// Says whether an address leads to another server: whoever is there learns who looks at a picture, and when.
fn is_elsewhere(address: &str) -> bool {
    let plain = plain_address(address);
    // Browsers take a backslash for a slash.
    let is_other_host = plain.starts_with('\\') || plain.starts_with('/') && plain[1..].starts_with(['/', '\\']);
    is_other_host || scheme_of(&plain).is_some()
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
    fn no_picture_comes_from_elsewhere() {
        for hostile in [
            "![x](https://evil.example/p.png)",
            "a ![x](//evil.example/p.png) b",
            "![x](\\\\evil.example/p.png)",
            "![x][r]\n\n[r]: HTTP://evil.example/p.png",
            "[![x](https://evil.example/p.png)](https://example.com)",
        ] {
            let html = html(&inert(hostile));
            assert!(!html.contains("<img"), "{hostile:?}\n{html}");
            assert!(html.contains("evil.example"), "what it says stays: {html}");
        }
        assert_eq!(inert("![i](docs/i.png)"), "![i](docs/i.png)");
    }

    #[test]
    fn what_is_quoted_means_what_it_means_alone() {
        for source in ["* * *\n\t@octocat\n", "1.\tone\n\n\t\t@octocat\n", "a\tb\n-\tx\n\n\ty\n"] {
            let quoted = html(&quotation(&inert(source)));
            let inner =
                quoted.trim().strip_prefix("<blockquote>\n").and_then(|html| html.strip_suffix("</blockquote>"));
            assert_eq!(inner.expect("a quotation"), html(&inert(source)), "{source:?}");
        }
        assert_eq!(quotation("a\tb\n\tc"), "> a\tb\n>     c\n");
    }

    #[test]
    fn nobody_is_mentioned_and_nothing_is_closed() {
        for (hostile, safe) in [
            ("ask @octocat, (@org/team) or a@example.com", "ask @&#8203;octocat, (@&#8203;org/team) or a@example.com"),
            ("fixes #12, org/repo#3, GH-4 and !5", "fixes #&#8203;12, org/repo#&#8203;3, GH-&#8203;4 and !&#8203;5"),
            ("&#64;octocat and &commat;octocat", "&amp;#64;octocat and &amp;commat;octocat"),
            ("/close\n\n  /assign me\na/b", "\\/close\n\n  \\/assign me\na/b"),
            ("see https://forge.example/o/r/issues/7", "see https://&#8203;forge.example/o/r/issues/7"),
            ("[x](https://forge.example/o/r/pull/7)", "\\[x](https://&#8203;forge.example/o/r/pull/7)"),
            ("https://@octocat", "https://@&#8203;octocat"),
            ("\\@octocat **@octocat**", "\\@&#8203;octocat **@&#8203;octocat**"),
            ("_@octocat_ @_x and g&12", "_@&#8203;octocat_ @&#8203;_x and g&&#8203;12"),
        ] {
            assert_eq!(inert(hostile), safe);
        }
        for harmless in [
            "`@octocat #12` and https://example.com/@octocat?a=1#12",
            "```\n@octocat fixes #12\n/close\n```\n",
            "[x](https://example.com/a#12) C# 5, #include, 100 @ 5, a &amp; b",
        ] {
            assert_eq!(inert(harmless), harmless);
        }
    }

    #[test]
    fn what_is_harmless_stays() {
        for source in [
            "# Head\n\n**strong** `a < b` [x](https://example.com/a?b#c) ![i](docs/i.png) [m](mailto:a@example.com)",
            "```rust\nlet x: Vec<u8> = a << 2;\n```\n\n- one\n- two [top](#head)\n\ntext\n\n    indented <code>\n",
            "[r] is nothing; `[x](javascript:1)` is code",
            "Ebbe über Föhr, marée à Café, 潮汐, 🌊 https://example.com/é",
        ] {
            assert_eq!(inert(source), source);
        }
        assert_eq!(inert("Vec<u8> <https://example.com>"), "Vec&lt;u8> &lt;https://example.com>");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in r"([<>`~!\[\]():#&;*_\\ \né日-]|script|javascript:|https:|x|    |```|\[a\]: ){0,60}") {
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
