//! Lists of commits for the server's pages: the overview, the list that a form chooses, and pages that only say something.

use std::collections::BTreeMap;

use bstr::ByteSlice as _;
use maud::{Markup, html};

use super::super::stats::short;
use super::head::document;
use super::page::{agent_name, cost_text};
use super::turn::clock_html;
use super::words::beginning;
use super::{PageOptions, address};
use crate::git::date::Format;
use crate::outside;
use crate::pretty::count;
use crate::record::{Listed, Summary};
use crate::stats::Cost;

/// The sentence of a page that would list what was recorded.
pub(super) const NOTHING: &str = "No conversation recorded for the commits of this repository's branches.";
/// How many sessions of a commit a list names.
const MAX_SESSIONS: usize = 5;
/// The longest prompt in a list, in characters.
const PROMPT_CHARS: usize = 180;
/// How many problems are listed one by one.
const MAX_PROBLEMS: usize = 10;
/// How many days the chart has.
const MAX_DAYS: usize = 60;

/// A commit of a list.
#[derive(Debug)]
pub struct Entry {
    /// The commit and its records.
    pub listed: Listed,
    /// Its abbreviated id.
    pub name: String,
    /// The cost of its tokens; `None` if none are known.
    pub cost: Option<Cost>,
}

/// The values of the form that chooses commits; empty if they choose nothing.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// The agent.
    pub agent: String,
    /// Part of the model's name.
    pub model: String,
    /// A pattern for the author.
    pub author: String,
    /// A pattern for the subject.
    pub grep: String,
    /// A path from the top.
    pub path: String,
    /// A local branch.
    pub branch: String,
    /// A date as Git reads it.
    pub since: String,
    /// Another one.
    pub until: String,
}

impl Filters {
    /// Returns the values by the names that the form gives them.
    pub fn values(&self) -> [(&'static str, &str); 8] {
        [
            ("agent", &self.agent),
            ("model", &self.model),
            ("author", &self.author),
            ("grep", &self.grep),
            ("path", &self.path),
            ("branch", &self.branch),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }
}

/// A list of commits.
#[derive(Debug)]
pub struct Listing<'a> {
    /// The commits, newest first.
    pub entries: &'a [Entry],
    /// The values of the form.
    pub filters: &'a Filters,
    /// The names of local branches.
    pub branches: &'a [String],
    /// Descriptions of commits that could not be listed.
    pub problems: &'a [String],
    /// The addresses of the lists of newer and of older commits.
    pub around: [Option<String>; 2],
}

/// Returns the first page of the server.
pub fn overview_page(title: &str, list: &Listing<'_>, shape: &PageOptions) -> String {
    let entries = list.entries;
    let lead = match entries.is_empty() {
        true => String::new(),
        false => format!("the newest {} with a conversation", count(entries.len() as u64, "commit")),
    };
    let body = html! {
        (search_form("", false))
        (chart(entries))
        details.filters { summary { "Choose commits" } (form(list)) }
        (problems(list.problems))
        @if entries.is_empty() {
            p { (NOTHING) }
            p { code { "git shiftlog init" } " sets up recording; from then on each commit gets the conversation that made it." }
        }
        (days(entries))
        @if list.around[1].is_some() { p.more-pages { a href="/commits" { "All commits" } } }
    };
    document(title, &lead, &body, shape)
}

/// Returns a page with the commits that the form chooses.
pub fn commits_page(list: &Listing<'_>, shape: &PageOptions) -> String {
    let [newer, older] = &list.around;
    let body = html! {
        details.filters open { summary { "Choose commits" } (form(list)) }
        (problems(list.problems))
        @if list.entries.is_empty() && list.problems.is_empty() { p { "No commit with a conversation fits." } }
        (days(list.entries))
        @if newer.is_some() || older.is_some() {
            p.more-pages {
                @if let Some(newer) = newer { a href=(newer) rel="prev" { "← Newer commits" } }
                " "
                @if let Some(older) = older { a href=(older) rel="next" { "Older commits →" } }
            }
        }
    };
    document("Commits with a conversation", "", &body, shape)
}

/// Returns a page with a few sentences.
pub fn notice_page(title: &str, sentences: &[&str], shape: &PageOptions) -> String {
    let body = html! { @for sentence in sentences { p { (outside::line(sentence)) } } };
    document(title, "", &body, shape)
}

/// Returns a list of problems, for the top of a page.
pub fn problems(problems: &[String]) -> Markup {
    html! {
        @for problem in problems.iter().take(MAX_PROBLEMS) { p.problem { (outside::line(problem)) } }
        @if problems.len() > MAX_PROBLEMS {
            p.problem { "and " (problems.len() - MAX_PROBLEMS) " more; 'git shiftlog fsck' lists all" }
        }
    }
}

/// Returns the form that searches all conversations.
pub fn search_form(query: &str, has_focus: bool) -> Markup {
    html! {
        form.find action="/search" method="get" role="search" {
            input type="search" name="q" value=(query) placeholder="Search all conversations" autofocus[has_focus]
                aria-label="Search all conversations" autocomplete="off";
            button { "Search" }
        }
    }
}

fn form(list: &Listing<'_>) -> Markup {
    let of = list.filters;
    let field = |name: &str, label: &str, value: &str, hint: &str| {
        html! { label { span { (label) } input name=(name) value=(value) placeholder=(hint) autocomplete="off"; } }
    };
    html! {
        form.choose action="/commits" method="get" {
            (field("agent", "Agent", &of.agent, "such as claude"))
            (field("model", "Model", &of.model, "part of its name"))
            (field("author", "Author", &of.author, "a pattern"))
            (field("grep", "Subject", &of.grep, "a pattern"))
            (field("path", "Path", &of.path, "src/net.rs"))
            label {
                span { "Branch" }
                select name="branch" {
                    option value="" { "all" }
                    @for name in list.branches { option value=(name) selected[*name == of.branch] { (outside::line(name)) } }
                }
            }
            (field("since", "Since", &of.since, "2.weeks"))
            (field("until", "Until", &of.until, "yesterday"))
            button { "Choose" }
        }
    }
}

/// Returns the commits by the day on which they were made.
fn days(entries: &[Entry]) -> Markup {
    let day = |entry: &Entry| Format::SHORT.show(entry.listed.commit.committer.time);
    html! {
        @for run in entries.chunk_by(|one, next| day(one) == day(next)) {
            section.day {
                h2 { (day(&run[0])) }
                @for entry in run { (card(entry)) }
            }
        }
    }
}

fn card(entry: &Entry) -> Markup {
    let (commit, summaries) = (&entry.listed.commit, &entry.listed.summaries);
    let is_own = |summary: &&Summary| {
        let parent = summary.key.parent_id();
        parent.is_none_or(|id| summaries.iter().all(|other| other.key.id != id || other.key.agent != summary.key.agent))
    };
    let own: Vec<&Summary> = summaries.iter().filter(is_own).collect();
    let time = commit.committer.time;
    html! {
        article.card {
            h3 { a href=(address::commit(commit.commit_id)) { (subject(commit)) } }
            ul.asked {
                @for summary in own.iter().take(MAX_SESSIONS) {
                    li {
                        span.who { (agent_name(&summary.key.agent)) } " "
                        a href=(address::part(commit.commit_id, &summary.key)) { (asked(summary)) }
                    }
                }
                @if own.len() > MAX_SESSIONS { li { (own.len() - MAX_SESSIONS) " more" } }
            }
            ul.facts {
                li { code { (entry.name) } }
                li { (outside::line(&commit.author.name.to_str_lossy())) }
                li { (clock_html(time.seconds, time.offset)) }
                @for fact in facts(summaries, entry.cost) { li { (fact) } }
            }
            (problems(&entry.listed.problems))
        }
    }
}

/// Returns the subject of a commit, or words in its place if it is empty.
pub fn subject(commit: &crate::git::Commit) -> String {
    let subject = outside::line(&commit.subject().to_str_lossy());
    if subject.is_empty() { "(no subject)".to_owned() } else { subject }
}

/// Returns the first prompt of a session in one line, or words in its place.
fn asked(summary: &Summary) -> String {
    let prompt = beginning(summary.prompt.as_deref().unwrap_or_default(), PROMPT_CHARS);
    match (summary.is_removed, prompt.is_empty()) {
        (true, _) => format!("removed by {prompt}"),
        (false, true) => "(no prompt)".to_owned(),
        (false, false) => prompt,
    }
}

fn facts(summaries: &[Summary], cost: Option<Cost>) -> Vec<String> {
    let turns = summaries.iter().filter(|summary| summary.key.parent_id().is_none()).map(|summary| summary.turns);
    let mut models: Vec<&str> = summaries.iter().filter_map(|summary| summary.model.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    let mut facts: Vec<String> = Vec::new();
    if !models.is_empty() {
        facts.push(outside::line(&models.join(", ")));
    }
    facts.push(count(turns.fold(0, u64::saturating_add), "turn"));
    facts.extend(Some(tokens(summaries)).filter(|tokens| *tokens > 0).map(|n| match n {
        1 => count(1, "token"),
        n => format!("{} tokens", short(n)),
    }));
    facts.extend(cost.map(cost_text));
    facts
}

fn tokens(summaries: &[Summary]) -> u64 {
    let of_each = summaries.iter().filter_map(|summary| summary.tokens).map(|tokens| tokens.total());
    of_each.fold(0, u64::saturating_add)
}

/// Returns a chart of the tokens of each day.
fn chart(entries: &[Entry]) -> Markup {
    let mut days: BTreeMap<String, u64> = BTreeMap::new();
    for entry in entries {
        let day = days.entry(Format::SHORT.show(entry.listed.commit.committer.time)).or_default();
        *day = day.saturating_add(tokens(&entry.listed.summaries));
    }
    let days: Vec<(String, u64)> = days.into_iter().rev().take(MAX_DAYS).collect();
    let largest = days.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
    let (Some((last, _)), Some((first, _))) = (days.first(), days.last()) else { return html! {} };
    // Two columns tell no more than two numbers.
    if largest == 0 || days.len() < 3 {
        return html! {};
    }
    let width = (600 / days.len()).clamp(8, 24);
    let label = format!("Tokens of each day with commits, {first} to {last}; the most is {}", short(largest));
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (width * days.len()) " 44" } width=(width * days.len()) height="44" role="img" aria-label=(label) {
                @for (at, (day, tokens)) in days.iter().rev().enumerate() {
                    @let height = height(*tokens, largest);
                    rect x=(at * width + 1) y=(44 - height) width=(width - 2) height=(height) rx="1.5" {
                        title { (day) ": " (short(*tokens)) " tokens" }
                    }
                }
            }
            figcaption { "tokens a day, " (first) " to " (last) }
        }
    }
}

/// Returns the height of a column; 0 for no tokens alone.
fn height(tokens: u64, largest: u64) -> u64 {
    let part = u128::from(tokens) * 42 / u128::from(largest.max(1));
    u64::try_from(part).unwrap_or(42).max(u64::from(tokens > 0)) + 1
}
