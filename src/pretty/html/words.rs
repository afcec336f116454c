//! Text of others as HTML: Markdown of answers, and plain text of prompts and tools.
//!
//! Only this file marks text as HTML that is already escaped, and only the output of [`markdown`].

use std::ops::Range;

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::super::markdown::is_harmless_scheme;
use super::super::printer::attachment;
use crate::outside;
use crate::transcript::{Attachment, Picture};

/// Longer text is shown as it stands: to read that much as Markdown would take many times its size.
const MAX_MARKDOWN_BYTES: usize = 1 << 20;
/// How deep quotes, lists and emphasis nest at most. What nests deeper is shown at this depth: browsers give up on more.
const MAX_DEPTH: usize = 32;

/// Returns an attachment: its picture if there is one, otherwise its kind.
pub fn attached(what: &Attachment) -> Markup {
    let name = attachment(what);
    match what.picture.as_ref().and_then(Picture::address) {
        Some(address) => html! { img.picture src=(address) alt=(name); },
        None => html! { p.notice { (name) } },
    }
}

/// Returns an answer of a model as HTML. HTML in it is shown as text, nothing is fetched, and a link leads to the web or to
/// mail alone.
pub fn markdown(source: &str) -> Markup {
    let source = outside::text(source.trim());
    if source.len() > MAX_MARKDOWN_BYTES {
        return html! { pre { (source) } };
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut html = String::with_capacity(source.len() * 5 / 4);
    let mut open = Open::default();
    let mut is_code = false;
    let mut nesting = Nesting::default();
    let mut rest = Rest { source: &source, at: 0, kept: String::new() };
    let events = Parser::new_ext(&source, options).into_offset_iter();
    let events = events.flat_map(|(event, range)| {
        let before = rest.before(&event, &range);
        let event = nesting.bounded(event).map(|event| match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                is_code = true;
                Event::Start(Tag::CodeBlock(language(kind)))
            }
            Event::End(TagEnd::CodeBlock) => {
                is_code = false;
                event
            }
            event if is_code => event,
            event => harmless(event, &mut open),
        });
        before.into_iter().chain(event)
    });
    pulldown_cmark::html::push_html(&mut html, events);
    html.push_str(&rest.at_the_end());
    // A reader with a keyboard scrolls only what takes the focus.
    let html = html.replace("<pre>", "<pre tabindex=\"0\">");
    let html = html.replace("<table>", "<div class=\"table\" tabindex=\"0\"><table>");
    // The numbers of a list stand where its words begin, which with some scripts is on the right.
    let html = html.replace("<ul", "<ul dir=\"auto\"").replace("<ol", "<ol dir=\"auto\"");
    PreEscaped(html.replace("</table>", "</table></div>"))
}

/// Collects text that the Markdown parser does not output: definitions of links, the words after the language of a code block,
/// and table cells beyond the last column.
struct Rest<'s> {
    source: &'s str,
    /// The end of the text that was output or collected.
    at: usize,
    /// The text that was collected and is not printed yet.
    kept: String,
}

impl Rest<'_> {
    /// Returns the collected text as HTML if it can stand before this event, the beginning of a block or the end of a row.
    fn before(&mut self, event: &Event<'_>, range: &Range<usize>) -> Option<Event<'static>> {
        if let Event::End(TagEnd::TableRow | TagEnd::TableHead) = event {
            let cells = self.source.get(self.at..range.end).unwrap_or_default().trim_matches(['|', ' ', '\t', '\n']);
            self.at = self.at.max(range.end);
            return cells.contains(char::is_alphanumeric).then(|| ours(html! { td { (cells) } }.into_string()));
        }
        if let Event::End(_) = event {
            // The address and the title of a link are shown at its end.
            self.at = self.at.max(range.end);
            return None;
        }
        self.keep(range.start);
        let mut end = range.end;
        if let Event::Start(tag) = event {
            end = range.start;
            if let Tag::CodeBlock(CodeBlockKind::Fenced(info)) = tag {
                let line = self.source.get(range.clone()).and_then(|block| block.find('\n'));
                end = line.map_or(range.end, |line| range.start + line);
                self.put(info.trim().split_once(char::is_whitespace).map_or("", |(_, rest)| rest));
            }
        }
        self.at = self.at.max(end);
        let is_block = matches!(
            event,
            Event::Rule
                | Event::Start(
                    Tag::Paragraph
                        | Tag::Heading { .. }
                        | Tag::BlockQuote(_)
                        | Tag::CodeBlock(_)
                        | Tag::List(_)
                        | Tag::Table(_)
                        | Tag::HtmlBlock
                )
        );
        (is_block && !self.kept.is_empty()).then(|| ours(self.told()))
    }

    /// Returns the text that was collected after the last block, as HTML.
    fn at_the_end(&mut self) -> String {
        self.keep(self.source.len());
        if self.kept.is_empty() { String::new() } else { self.told() }
    }

    /// Collects the text up to a position, if it has letters.
    fn keep(&mut self, until: usize) {
        let gap = self.source.get(self.at..until).unwrap_or_default();
        if gap.contains(char::is_alphabetic) {
            self.put(gap);
        }
    }

    fn put(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.kept += if self.kept.is_empty() { "" } else { "\n" };
            self.kept += text;
        }
    }

    fn told(&mut self) -> String {
        html! { p.place { (std::mem::take(&mut self.kept)) } }.into_string()
    }
}

/// The elements that can nest, as far as they are open.
#[derive(Default)]
struct Nesting {
    /// The number of open elements that are shown.
    shown: usize,
    /// The number of open elements within them that are left out.
    left_out: usize,
}

impl Nesting {
    /// Returns an event unless it begins or ends an element that nests too deep. A line break stands in place of a list item.
    fn bounded<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        match &event {
            Event::Start(tag) if can_nest(&tag.to_end()) && self.shown == MAX_DEPTH => {
                self.left_out += 1;
                matches!(tag, Tag::Item).then_some(Event::SoftBreak)
            }
            Event::Start(tag) if can_nest(&tag.to_end()) => {
                self.shown += 1;
                Some(event)
            }
            Event::End(end) if can_nest(end) && self.left_out > 0 => {
                self.left_out -= 1;
                None
            }
            Event::End(end) if can_nest(end) => {
                self.shown = self.shown.saturating_sub(1);
                Some(event)
            }
            _ => Some(event),
        }
    }
}

fn can_nest(end: &TagEnd) -> bool {
    let inline =
        matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image);
    inline || matches!(end, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item)
}

/// The elements that are open at the parser's position.
#[derive(Default)]
struct Open {
    /// The addresses of links and pictures, and their titles.
    addresses: Vec<(String, String)>,
    /// How the columns of a table are aligned, the name of its cells, and the column of the next one.
    columns: Vec<Alignment>,
    cell: &'static str,
    column: usize,
}

/// Returns an event of the parser that makes no HTML of others.
fn harmless<'e>(event: Event<'e>, open: &mut Open) -> Event<'e> {
    let addresses = &mut open.addresses;
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        Event::Start(Tag::Table(columns)) => {
            open.columns.clone_from(&columns);
            Event::Start(Tag::Table(columns))
        }
        Event::Start(Tag::TableHead | Tag::TableRow) => {
            (open.cell, open.column) = (if event == Event::Start(Tag::TableHead) { "th" } else { "td" }, 0);
            event
        }
        // The alignment of columns would be an attribute 'style'.
        Event::Start(Tag::TableCell) => {
            let class = match open.columns.get(open.column) {
                Some(Alignment::Right) => " class=\"right\"",
                Some(Alignment::Center) => " class=\"center\"",
                _ => "",
            };
            open.column += 1;
            ours(format!("<{}{class}>", open.cell))
        }
        Event::End(TagEnd::TableCell) => ours(format!("</{}>", open.cell)),
        // The heading of a turn is one of the third level; those of an answer stand below it.
        Event::Start(Tag::Heading { level, .. }) => {
            ours(format!("<h{} class=\"h{}\">", below(level as usize), level as usize))
        }
        Event::End(TagEnd::Heading(level)) => ours(format!("</h{}>\n", below(level as usize))),
        Event::Start(Tag::Link { link_type, dest_url, title, .. }) => {
            let scheme = if link_type == LinkType::Email { "mailto:" } else { "" };
            let address = format!("{scheme}{}", outside::line(&dest_url));
            let opening = match is_harmless(&address) {
                true => html! { a href=(address) rel="noopener noreferrer" title=(address) {} }.into_string(),
                false => "<em></em>".to_owned(),
            };
            addresses.push((address, titled(&title)));
            // The end of the element is another event.
            ours(opening.rsplit_once("</").map(|(opening, _)| opening.to_owned()).unwrap_or_default())
        }
        Event::End(TagEnd::Link) => {
            let (address, title) = addresses.pop().unwrap_or_default();
            let place = shown_place(&address);
            ours(match is_harmless(&address) {
                true if place.is_empty() => format!("</a>{}", html! { (title) }.into_string()),
                true => format!("</a>{}", html! { " " span.place { "(" (place) (title) ")" } }.into_string()),
                false => format!("</em>{}", html! { " " code { (address) } (title) }.into_string()),
            })
        }
        Event::Start(Tag::Image { dest_url, title, .. }) => {
            addresses.push((outside::line(&dest_url), titled(&title)));
            ours("<span class=\"image\">image: ".to_owned())
        }
        Event::End(TagEnd::Image) => {
            let (address, title) = addresses.pop().unwrap_or_default();
            ours(format!("{}</span>", html! { " " code { (address) } (title) }.into_string()))
        }
        event => event,
    }
}

/// Returns the title of a link as it stands behind its address.
fn titled(title: &str) -> String {
    if title.trim().is_empty() { String::new() } else { format!(" \u{201c}{}\u{201d}", outside::line(title.trim())) }
}

fn below(level: usize) -> usize {
    (level + 3).min(6)
}

fn ours(html: String) -> Event<'static> {
    Event::InlineHtml(CowStr::from(html))
}

/// Returns where a link leads, to be shown behind its text; empty for mail.
fn shown_place(address: &str) -> String {
    let rest = address.split_once("://").map_or("", |(_, rest)| rest);
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    host.rsplit('@').next().unwrap_or_default().to_owned()
}

/// Says whether an address has one of the schemes that a link may have. Browsers skip white space and control characters in
/// front of it and within it, so an address with any of them is none.
fn is_harmless(address: &str) -> bool {
    let is_plain = !address.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    is_plain && scheme.is_some_and(is_harmless_scheme)
}

/// Returns the language of a code block in letters that are safe in a class.
fn language(kind: CodeBlockKind<'_>) -> CodeBlockKind<'_> {
    match kind {
        CodeBlockKind::Fenced(info) => {
            let word = info.split_whitespace().next().unwrap_or_default();
            let plain: String = word.chars().filter(|c| c.is_ascii_alphanumeric() || "+-#.".contains(*c)).collect();
            CodeBlockKind::Fenced(plain.into())
        }
        CodeBlockKind::Indented => CodeBlockKind::Indented,
    }
}

/// Returns the beginning of a text on one line, cut at `max_chars` characters.
pub fn beginning(text: &str, max_chars: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = outside::line(line);
    match line.char_indices().nth(max_chars) {
        // A comma before what was left out reads like a slip.
        Some((end, _)) => format!("{}…", line[..end].trim_end_matches([' ', ',', '.', ';', ':'])),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(source: &str) -> String {
        markdown(source).into_string()
    }

    #[test]
    fn markdown_becomes_html_and_html_becomes_text() {
        assert_eq!(shown("a **b** `c < d`"), "<p>a <strong>b</strong> <code>c &lt; d</code></p>\n");
        assert_eq!(shown("# Head"), "<h4 class=\"h1\">Head</h4>\n");
        assert_eq!(shown("3. a"), "<ol dir=\"auto\" start=\"3\">\n<li>a</li>\n</ol>\n");
        for hostile in ["<script>alert(1)</script>", "a <img src=x onerror=alert(1)> b", "<!-- x --> <b onclick=x>"] {
            let html = shown(hostile);
            assert!(
                !html.contains("<script") && !html.contains("<img") && !html.contains("<b ") && !html.contains("<!--")
            );
            assert!(html.contains("&lt;"), "what it says stays: {html}");
        }
    }

    #[test]
    fn what_markdown_leaves_out_stays() {
        for (source, expected) in [
            (
                "| a | b |\n|---|---|\n| count | `sort x | uniq -c | head` |\n| 1 | 2 |",
                vec!["uniq -c | head`</td>", "<td>2</td>"],
            ),
            (
                "one\n\n[note]: https://e.x/READTHIS \"and this\"\n\ntwo",
                vec!["[note]: https://e.x/READTHIS &quot;and this&quot;"],
            ),
            ("[a]: https://e.x/one\n[a]: https://e.x/two\n\n[a]", vec!["https://e.x/two"]),
            ("[a](https://e.x/y \"the title\") b", vec!["(e.x \u{201c}the title\u{201d})"]),
            ("![a](https://e.x/y 'what it shows')", vec!["what it shows"]),
            ("```sh title=\"RUN.sh\"\nls\n```", vec!["title=&quot;RUN.sh&quot;", "class=\"language-sh\""]),
        ] {
            let html = shown(source);
            for words in expected {
                assert!(html.contains(words), "{words} of {source:?} -> {html}");
            }
        }
        for usual in [
            "1. a\n2. b\n   - c\n\n> d **e** &amp; `f` \\*g\\*\n\n# h\n\ni\n===\n\n- [x] j\n\n| k |\n|---|\n| l |",
            "~~~js\nx\n~~~",
        ] {
            assert!(!shown(usual).contains("class=\"place\""), "{}", shown(usual));
        }
    }

    #[test]
    fn columns_of_a_table_are_aligned_without_a_style() {
        assert_eq!(
            shown("| a | b | c |\n|---|--:|:-:|\n| 1 | 2 | 3 |"),
            "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th>a</th><th class=\"right\">b</th>\
             <th class=\"center\">c</th></tr></thead><tbody>\n<tr><td>1</td><td class=\"right\">2</td>\
             <td class=\"center\">3</td></tr>\n</tbody></table></div>\n"
        );
    }

    #[test]
    fn a_link_leads_to_the_web_or_to_mail_and_says_where() {
        let link = shown("[docs](https://example.com/x?a=1&b=2)");
        assert!(link.contains("<a href=\"https://example.com/x?a=1&amp;b=2\" rel=\"noopener noreferrer\""), "{link}");
        assert!(link.contains("docs</a> <span class=\"place\">(example.com)</span>"), "{link}");
        assert!(shown("[x](https://bank.example@evil.example/)").contains("(evil.example)"));
        let mail = shown("<me@example.com>");
        assert!(
            mail.contains("<a href=\"mailto:me@example.com\"") && mail.contains(">me@example.com</a></p>"),
            "{mail}"
        );
        for hostile in [
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java&#115;cript:alert(1))",
            "[x](&#1;javascript:alert(1))",
            "[x](<java\tscript:alert(1)>)",
            "[x](data:text/html;base64,PHNjcmlwdD4=)",
            "[x](vbscript:x)",
            "[x](//evil.example/)",
            "[x](file:///etc/passwd)",
            "<javascript:alert(1)>",
            "[x][r]\n\n[r]: javascript:alert(1)",
            "[x](docs/a.md)",
        ] {
            let html = shown(hostile);
            assert!(!html.contains("href="), "{hostile:?} -> {html}");
        }
    }

    #[test]
    fn a_picture_is_its_text_and_its_address() {
        let html = shown("![a cat](https://evil.example/p.png)");
        assert!(!html.contains("<img"), "{html}");
        assert!(html.contains("image: a cat <code>https://evil.example/p.png</code>"), "{html}");
        let html = shown("[![a](https://a.example/p.png)](https://b.example)");
        assert!(!html.contains("<img") && html.contains("(b.example)"), "{html}");
    }

    #[test]
    fn what_nests_too_deep_is_shown_at_the_deepest_level() {
        let many = 200_000;
        let hostile = [
            (format!("{}the end", "> ".repeat(many)), "<blockquote>"),
            (format!("{}the end", "- ".repeat(many)), "<ul>"),
            (format!("{}the end{}", "*a _b ".repeat(5_000), "_ *".repeat(5_000)), "<em>"),
            (format!("{}the end{}", "![".repeat(5_000), "](x)".repeat(5_000)), "<span"),
        ];
        for (source, element) in hostile {
            let html = shown(&source);
            assert!(html.contains("the end"), "what it says stays");
            let (mut depth, mut deepest) = (0usize, 0);
            for (at, _) in html.match_indices('<') {
                match html[at..].starts_with("</") {
                    true => depth -= 1,
                    false if html[at..].starts_with("<br") => {}
                    false => depth += 1,
                }
                deepest = deepest.max(depth);
            }
            assert_eq!(depth, 0, "each element is closed");
            assert!(deepest <= MAX_DEPTH + 2, "{deepest} levels of {element}");
            assert!(html.len() < 3 * source.len() + 10_000, "{} bytes of {}", html.len(), source.len());
        }
        let usual = shown(&format!("{}the end", "> ".repeat(MAX_DEPTH)));
        assert_eq!(usual.matches("<blockquote>").count(), MAX_DEPTH, "nothing is left out at the bound");
    }

    /// The elements and attributes that Markdown may become.
    const ALLOWED: &[&str] = &[
        "p",
        "h4",
        "h5",
        "h6",
        "strong",
        "em",
        "del",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "blockquote",
        "hr",
        "br",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "div",
    ];

    proptest! {
        #[test]
        fn no_text_makes_an_element_that_is_not_ours(
            text in r"([<>`~!\[\]():#&;*_\\ |\né日\x00\x1b-]|script|/|onclick=|style=|javascript:|https:|x|    |```|\[a\]: |\|-\|){0,60}"
        ) {
            let html = shown(&text);
            for (at, _) in html.match_indices('<') {
                let tag: String = html[at + 1..].trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                prop_assert!(ALLOWED.contains(&tag.as_str()), "{:?} -> {}", text, html);
                let whole = &html[at..at + html[at..].find('>').unwrap_or(0)];
                prop_assert!(!whole.contains("style=") || whole.contains('"'), "{}", whole);
                let names = whole.split('"').step_by(2).collect::<String>();
                prop_assert!(!names.contains(" on") && !names.contains("style="), "{:?} -> {}", text, whole);
            }
        }
    }
}
