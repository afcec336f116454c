//! The parts that all pages share: head, style, script and policy, the bar at the top, the end.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::{Outlet, PageOptions, Span, Theme};
use crate::outside;

/// The style of all pages.
const CSS: &str = include_str!("page.css");
/// The script of all pages.
const JS: &str = include_str!("page.js");

/// The pages that each page of the server links to.
const SITE: &[(&str, &str)] = &[
    ("/commits", "Commits"),
    ("/search", "Search"),
    ("/branches", "Branches"),
    ("/stats", "Costs"),
    ("/about", "About"),
];

/// Returns a digest as a policy names it.
fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// Returns the beginning of a document up to the body's first element. Nothing is fetched from anywhere, and no script or
/// style runs but ours.
pub fn head(title: &str, shape: &PageOptions) -> String {
    let theme = match shape.theme {
        Theme::Auto => "auto",
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" data-theme=(theme) {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(shape.outlet));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content={ "git-shiftlog " (env!("CARGO_PKG_VERSION")) };
                @if shape.outlet == Outlet::Server { link rel="icon" href="data:,"; }
                title { (title) }
                style { (PreEscaped(CSS)) }
            }
            body {}
        }
    };
    let markup = markup.into_string();
    markup.strip_suffix("</body></html>").unwrap_or(&markup).to_owned()
}

/// Returns the content security policy of a page: the browser runs our script and uses our style, and on a page of the
/// server it may send our forms there.
pub fn policy(outlet: Outlet) -> String {
    let form = if outlet == Outlet::Server { "'self'" } else { "'none'" };
    let (style, script) = (digest(CSS), digest(JS));
    format!(
        "default-src 'none'; style-src {style}; script-src {script}; img-src data:; base-uri 'none'; form-action {form}"
    )
}

/// Returns a whole page without a conversation. `body` stands below the title.
pub fn document(title: &str, lead: &str, body: &Markup, shape: &PageOptions) -> String {
    let title = outside::line(title);
    let markup = html! {
        (header(None, shape, false))
        main #main.index tabindex="-1" {
            header.title { h1 { (title) } @if !lead.is_empty() { p.lead { (outside::line(lead)) } } }
            (body)
        }
    };
    format!("{}{}{}", head(&title, shape), markup.into_string(), end())
}

/// Returns the bar at the top of a page; `up` is the address of the overview.
pub fn header(up: Option<&str>, shape: &PageOptions, has_views: bool) -> Markup {
    let views =
        [("focused", "Focused", Span::Focused), ("normal", "Normal", Span::Normal), ("full", "Full", Span::Full)];
    html! {
        a.skip href="#main" { "Skip to the conversation" }
        header.top {
            @if shape.outlet == Outlet::Server {
                nav.site aria-label="Pages" {
                    a.brand href="/" { "git shiftlog" }
                    @for (address, name) in SITE { a href=(address) { (name) } }
                }
            } @else if let Some(up) = up { a.up href=(up) { "← Overview" } } @else { span.brand { "git shiftlog" } }
            @if has_views && shape.span != Span::Focused {
                fieldset.views {
                    legend { "View" }
                    @for (id, name, span) in views {
                        label { input #{ "view-" (id) } type="radio" name="view" value=(id) checked[span == shape.span]; span { (name) } }
                    }
                }
            }
            div #tools {}
            @if has_views { a.jump href="#contents" { "Contents" } }
        }
    }
}

/// Returns the end of a document.
pub fn end() -> String {
    format!("<script>{JS}</script></body></html>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_are_small_and_cannot_end_early() {
        assert!(CSS.len() <= 20 << 10, "{} bytes of CSS", CSS.len());
        assert!(JS.len() <= 12 << 10, "{} bytes of JavaScript", JS.len());
        assert!(!CSS.contains("</") && !CSS.contains("url(") && !CSS.contains("@import"));
        assert!(!JS.contains("</") && !JS.contains("innerHTML") && !JS.contains("fetch("));
    }
}
