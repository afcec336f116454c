//! The overview of several pages.

use std::io::{self, Write};

use bstr::ByteSlice as _;
use maud::html;

use super::PageOptions;
use super::head::{end, head, header};
use super::page::{agent_name, cost_text};
use super::texts::{self, PageTexts};
use super::turn::time_html;
use super::words::beginning;
use crate::git::Commit;
use crate::git::date::Format;
use crate::outside;
use crate::pretty::count;
use crate::pretty::stats::short;
use crate::record::Summary;
use crate::stats::Cost;

/// A session as the overview lists it.
#[derive(Debug)]
pub struct Indexed<'a> {
    /// The address of its page.
    pub address: String,
    /// Its agent.
    pub agent: &'a str,
    /// Its commits with the summaries of their records, in the order in which they were made.
    pub made: Vec<(&'a Commit, &'a Summary)>,
    /// The records that it counts with, each stretch of a transcript once, and those of its sub-agents.
    pub counted: Vec<Summary>,
    /// Whether it has more than could be counted.
    pub is_at_least: bool,
    /// Its cost with its sub-agents; `None` if no tokens are known.
    pub cost: Option<Cost>,
    /// The texts of its page.
    pub texts: &'a PageTexts,
}

/// A commit with evidence alone, as the overview lists it.
#[derive(Debug)]
pub struct ObservedCommit<'a> {
    /// The address of its page.
    pub address: String,
    /// The commit.
    pub commit: &'a Commit,
}

/// Writes the overview: the sessions by the day of their last commit and the commits without one, the newest first. Its
/// search finds what the pages of sessions say.
///
/// # Errors
///
/// If writing fails.
pub fn write_index(
    out: &mut dyn Write,
    title: &str,
    sessions: &[Indexed<'_>],
    observed: &[ObservedCommit<'_>],
    shape: &PageOptions,
) -> io::Result<()> {
    let last = |session: &Indexed<'_>| session.made.last().map(|(commit, _)| commit.author.time);
    let mut sessions: Vec<_> = sessions.iter().filter_map(|session| Some((last(session)?, session))).collect();
    sessions.sort_by_key(|(time, _)| std::cmp::Reverse(time.seconds));
    let day = |time| Format::default().day_and_clock(time).0;
    let commits = sessions.iter().map(|(_, session)| session.made.len()).sum::<usize>() + observed.len();
    let turns = sessions.iter().map(|(_, session)| turns(session));
    let is_at_least = sessions.iter().any(|(_, session)| session.is_at_least);
    let lead = [
        count(sessions.len() as u64, "session"),
        format!("{}{}", bound(is_at_least), count(turns.fold(0, u64::saturating_add), "turn")),
        count(commits as u64, "commit"),
    ];
    let pages: Vec<_> = sessions.iter().map(|(_, session)| (session.address.as_str(), session.texts)).collect();
    let (words, left) = texts::element(&pages);
    let of_sessions = sessions.iter().map(|(time, session)| (*time, card(session, time.offset)));
    let of_commits = observed.iter().map(|one| (one.commit.author.time, observed_card(one)));
    let mut cards: Vec<_> = of_sessions.chain(of_commits).collect();
    cards.sort_by_key(|(time, _)| std::cmp::Reverse(time.seconds));
    let markup = html! {
        (header(None, shape, false))
        main #main.index tabindex="-1" {
            header.title { h1 { (outside::line(title)) } p.lead { (lead.join(", ")) } }
            @for run in cards.chunk_by(|one, next| day(one.0) == day(next.0)) {
                section.day {
                    h2 { (day(run[0].0)) }
                    @for (_, card) in run { (card) }
                }
            }
            @if left > 0 {
                p.notice { "The search of this page leaves out " (count(left, "text")) "; that of each session finds all of it." }
            }
        }
    };
    write!(out, "{}{}{words}{}", head(&outside::line(title), shape), markup.into_string(), end())
}

fn observed_card(observed: &ObservedCommit<'_>) -> maud::Markup {
    let commit = observed.commit;
    html! {
        article.card {
            h3 { a href=(observed.address) { (outside::line(&commit.subject().to_str_lossy())) } }
            ul.facts { li { "evidence" } }
            ol.commits { (commit_item(commit, commit.author.time.offset)) }
        }
    }
}

fn commit_item(commit: &Commit, offset: i32) -> maud::Markup {
    html! {
        li {
            code { (commit.commit_id.to_hex_with_len(7)) } " "
            span.subject { (outside::line(&commit.subject().to_str_lossy())) } " "
            span.by { bdi { (outside::line(&commit.author.name.to_str_lossy())) } } " "
            (time_html(commit.author.time.seconds, offset))
        }
    }
}

fn bound(is_at_least: bool) -> &'static str {
    if is_at_least { "at least " } else { "" }
}

fn turns(session: &Indexed<'_>) -> u64 {
    let key = session.made.first().map(|(_, summary)| &summary.key);
    let own = session.counted.iter().filter(|summary| Some(&summary.key) == key);
    own.map(|summary| summary.turns).fold(0, u64::saturating_add)
}

fn card(session: &Indexed<'_>, offset: i32) -> maud::Markup {
    let Some((_, first)) = session.made.first() else { return html! {} };
    let prompt = session.made.iter().find_map(|(_, summary)| summary.prompt.as_deref()).unwrap_or_default();
    let prompt = beginning(prompt, 160);
    let turns = turns(session);
    let tokens = session.counted.iter().filter(|summary| summary.key == first.key);
    let tokens = tokens.filter_map(|summary| summary.tokens).map(|tokens| tokens.total());
    let tokens = tokens.fold(0, u64::saturating_add);
    let model = session.made.iter().rev().find_map(|(_, summary)| summary.model.as_deref());
    html! {
        article.card {
            h3 { a href=(session.address) { @if prompt.is_empty() { "(no prompt)" } @else { (prompt) } } }
            ul.facts {
                li { span.who { (agent_name(session.agent)) } " " @if let Some(model) = model { (outside::line(model)) } }
                li { (bound(session.is_at_least)) (count(turns, "turn")) }
                @if tokens > 0 { li { (bound(session.is_at_least)) (short(tokens)) " tokens" } }
                @if let Some(cost) = session.cost { li { (cost_text(cost)) } }
            }
            ol.commits {
                @for (commit, _) in &session.made { (commit_item(commit, offset)) }
            }
        }
    }
}
