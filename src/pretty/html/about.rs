//! The page about the repository: the refs that the server reads, and what is missing of them.

use maud::html;

use super::PageOptions;
use super::head::document;
use crate::outside;

/// The data of the page about the repository.
#[derive(Debug, Default)]
pub struct About {
    /// Facts, each with a name, such as `Git` and its version.
    pub facts: Vec<(&'static str, String)>,
    /// The refs with notes, and how many commits each has a note for.
    pub refs: Vec<(String, usize)>,
    /// How many recorded sessions have their words here, and how many have not.
    pub sessions: (usize, usize),
    /// Descriptions of refs and records that could not be read.
    pub problems: Vec<String>,
}

/// Returns the page.
pub fn about_page(about: &About, shape: &PageOptions) -> String {
    let (here, absent) = about.sessions;
    let body = html! {
        (super::listing::problems(&about.problems))
        div.table tabindex="0" {
            table {
                tbody { @for (name, value) in &about.facts { tr { th scope="row" { (name) } td.value { (outside::line(value)) } } } }
            }
        }
        h2 { "Refs" }
        div.table tabindex="0" {
            table {
                thead { tr { th scope="col" { "notes" } th.number scope="col" { "commits" } } }
                tbody {
                    @for (name, count) in &about.refs { tr { td { code { (outside::line(name)) } } td.number { (count) } } }
                }
            }
        }
        h2 { "Words" }
        p { "The words of " (super::super::count(here as u64, "session")) " are here." }
        @if absent > 0 {
            p { "Those of " (super::super::count(absent as u64, "session")) " are not: they were not shared, or not fetched. "
                code { "git shiftlog sync pull --all" } " gets what a remote has." }
        }
    };
    document("About", "", &body, shape)
}
