//! Tables for the server's pages: branches, and what recorded work has used.

use maud::{Markup, html};

use super::head::document;
use super::listing::NOTHING;
use super::turn::time_html;
use super::{PageOptions, address};
use crate::outside;
use crate::pretty::stats::{NUMBERS, bar, cells, headline, remarks};
use crate::pretty::{Statistics, count};
use crate::record::BranchSummary;
use crate::stats::{Cost, Group, Key};

/// The most rows that a page has.
const MAX_ROWS: usize = 1000;
/// How long the longest bar is, in characters.
const BAR: usize = 16;
/// The keys to group by, each with its name.
const CHOICES: &[(&str, &str)] = &[
    ("agent,model", "Agent and model"),
    ("author", "Author"),
    ("branch", "Branch"),
    ("day", "Day"),
    ("week", "Week"),
    ("month", "Month"),
    ("session", "Session"),
    ("path", "File"),
    ("commit", "Commit"),
];

/// Returns the page with the local branches. Each has the abbreviated id of its head.
pub fn branches_page(branches: &[(BranchSummary, String)], problems: &[String], shape: &PageOptions) -> String {
    let body = html! {
        (super::listing::problems(problems))
        @if branches.is_empty() { p { "There are no local branches." } }
        @else { div.table tabindex="0" {
            table {
                thead { tr { th scope="col" { "branch" } th.minor scope="col" { "head" } th.number scope="col" { "conversations" } th scope="col" { "newest" } } }
                tbody {
                    @for (summary, name) in branches.iter().take(MAX_ROWS) {
                        tr {
                            td {
                                a href=(address::with("/commits", &[("branch", &summary.branch.name)])) { (outside::line(&summary.branch.name)) }
                                @if summary.is_current { " " span.badge { "checked out" } }
                            }
                            td.minor { code { (name) } }
                            td.number { (summary.conversations) }
                            td { @if let Some(seconds) = summary.last_time { (time_html(seconds, 0)) } }
                        }
                    }
                }
            }
        } }
        (left_out(branches.len()))
    };
    document("Branches", &count(branches.len() as u64, "local branch"), &body, shape)
}

/// Returns the page that counts what recorded work has used. `names` are what the values of each group are called, `by`
/// is what the groups were asked for.
pub fn stats_page(
    of: Statistics<'_>,
    names: &[Vec<String>],
    by: &str,
    problems: &[String],
    shape: &PageOptions,
) -> String {
    let has_cost = of.counted.total.cost.is_some_and(|cost| cost.amount() > 0);
    let amount = |group: &Group| match has_cost {
        true => group.sum.cost.map_or(0, Cost::amount),
        false => u128::from(group.sum.tokens.total()),
    };
    let largest = of.counted.groups.iter().map(amount).max().unwrap_or(0).max(1);
    let body = html! {
        nav.choices aria-label="Group by" {
            @for (keys, name) in CHOICES.iter().copied() {
                @let address = address::with("/stats", &[("by", keys)]);
                @if keys == by { a href=(address) aria-current="true" { (name) } } @else { a href=(address) { (name) } }
            }
        }
        (super::listing::problems(problems))
        @if of.counted.groups.is_empty() { p { (NOTHING) } }
        @else { div.table tabindex="0" {
            table {
                thead {
                    tr {
                        @for key in of.keys { th scope="col" { (key.name()) } }
                        @for name in NUMBERS { th.(class(name)) scope="col" { (name) } }
                        td.minor { }
                    }
                }
                tbody {
                    @for (group, names) in of.counted.groups.iter().zip(names).take(MAX_ROWS) {
                        tr {
                            @for ((key, value), name) in of.keys.iter().zip(&group.values).zip(names) {
                                td.key { (value_cell(*key, value, name)) }
                            }
                            @for (name, cell) in NUMBERS.iter().zip(cells(&group.sum)) { td.(class(name)) { (cell) } }
                            td.bar.minor aria-hidden="true" { (bar(amount(group), largest, BAR, false)) }
                        }
                    }
                }
                @if of.counted.groups.len() > 1 {
                    tfoot {
                        tr {
                            th scope="row" colspan=(of.keys.len()) { "total" }
                            @for (name, cell) in NUMBERS.iter().zip(cells(&of.counted.total)) { td.(class(name)) { (cell) } }
                            td.minor { }
                        }
                    }
                }
            }
        } }
        (left_out(of.counted.groups.len()))
        @for remark in remarks(of) { p.notice { (remark) } }
    };
    document("What it cost", &headline(of), &body, shape)
}

/// Returns the value of a group; a commit and a branch lead to their pages.
fn value_cell(key: Key, value: &str, name: &str) -> Markup {
    let name = outside::line(name);
    match key {
        Key::Commit => html! { a href={ "/c/" (outside::component(value)) } { code { (name) } } },
        Key::Branch if value != "(none)" => {
            html! { a href=(address::with("/commits", &[("branch", value)])) { (name) } }
        }
        _ => html! { (name) },
    }
}

/// Returns the class of a column of numbers: a phone does not show the minor columns.
fn class(name: &str) -> &'static str {
    if name == "cost" { "number" } else { "number minor" }
}

fn left_out(rows: usize) -> Markup {
    html! { @if rows > MAX_ROWS { p.notice { (rows - MAX_ROWS) " more are not shown" } } }
}
