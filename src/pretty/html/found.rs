//! The result of a search, as a page of the server.

use maud::{Markup, html};

use super::head::document;
use super::listing::{problems, search_form, subject};
use super::page::agent_name;
use super::turn::time_html;
use super::{PageOptions, address};
use crate::find::{Hit, Increments};
use crate::outside;
use crate::pretty::count;
use crate::pretty::found::{hit_pieces, part_name};

/// A search and its result.
#[derive(Debug)]
pub struct Searched<'a> {
    /// The words as they were typed.
    pub query: &'a str,
    /// The sessions that were searched.
    pub plan: &'a Increments,
    /// The turns, best first.
    pub hits: &'a [Hit],
    /// Descriptions of parts that could not be searched.
    pub problems: &'a [String],
}

/// Returns the page of a search; without words it has the form alone.
pub fn search_page(of: &Searched<'_>, shape: &PageOptions) -> String {
    let lead = match (of.query.is_empty(), of.hits.len()) {
        (true, _) => "words, or phrases in quotes; the turns that have all of them, best first".to_owned(),
        (false, 0) => "no turn has these words".to_owned(),
        (false, found) => count(found as u64, "turn"),
    };
    let body = html! {
        (search_form(of.query, of.query.is_empty()))
        (problems(of.problems))
        @if !of.hits.is_empty() { h2 { "Turns" } }
        @for hit in of.hits { (card(of.plan, hit)) }
    };
    let title = if of.query.is_empty() { "Search".to_owned() } else { format!("Search: {}", of.query) };
    document(&title, &lead, &body, shape)
}

fn card(plan: &Increments, hit: &Hit) -> Markup {
    let session = &plan.sessions[hit.answer.session];
    let commit = session.commit.map(|at| &plan.commits[at]);
    // The turns of a sub-agent stand within those of the session that started it.
    let parent = session.key.parent_id();
    let link = commit.map(|commit| match parent {
        Some(_) => address::commit(commit.commit_id),
        None => format!("{}#t{}", address::part(commit.commit_id, &session.key), hit.answer.turn),
    });
    let title = commit.map(subject).unwrap_or_default();
    html! {
        article.card.hit {
            h3 { @if let Some(link) = &link { a href=(link) { (title) ", turn " (hit.answer.turn) } } @else { (title) } }
            p.line {
                span.part { (outside::line(&part_name(hit.excerpt.kind, &hit.excerpt.tool))) } " "
                @for (text, is_found) in hit_pieces(hit) { @if is_found { mark { (text) } } @else { (text) } }
            }
            ul.facts {
                li { (agent_name(&session.key.agent)) }
                @if let Some(commit) = commit {
                    li { code { (commit.commit_id.to_hex_with_len(7)) } }
                    li { (time_html(commit.author.time.seconds, commit.author.time.offset)) }
                }
            }
        }
    }
}
