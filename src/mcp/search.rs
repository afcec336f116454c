//! What the tool for searching does, through the same room as `grep` and `search`.

use std::collections::HashMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::Answer;
use super::conversations::{Arguments, LIST_BYTES, date, flag, number, quoted, range, refusal, string};
use super::{Context, Refusal};
use crate::find::{
    self, Case, Effort, PartKind, Parts, Pattern, PatternOptions, Plan, Session, Terms, Wanted, Worker, matches_of,
};
use crate::git::date::{Format, Time};
use crate::git::{Paths, Repository};
use crate::outside;
use crate::record::{Query, Reader};

/// How many answers there are by default. More of a history does not help a model, and may mislead it.
pub(super) const LIMIT: usize = 3;
/// The longest excerpt, in characters: about eighty tokens.
const EXCERPT_CHARS: usize = 320;
/// How much of the words of a query a turn must have, by their weights. A question has words that no answer has.
const MIN_SHARE: f64 = 0.6;

/// `search`.
pub fn search(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let query = string(arguments, "query").unwrap_or_default();
    if query.is_empty() {
        return Err("invalid arguments: query must not be empty".into());
    }
    let wanted = wanted(&repo, arguments)?;
    let reader = context.reader(&repo);
    let plan = Plan::new(&reader, &wanted, false).map_err(|error| refusal(&error))?;
    let page = Page { offset: number(arguments, "offset", 0), limit: number(arguments, "limit", LIMIT) };
    let case = if flag(arguments, "case_sensitive") { Case::Exact } else { Case::Folded };
    let words: Vec<String> = words(query);
    // What has no word in it is looked for as it stands.
    let terms = Terms::new(&words, &[], case, MIN_SHARE).ok().filter(|_| !flag(arguments, "regex"));
    let found = match terms {
        Some(terms) => by_words(context, &reader, &plan, &terms, page)?,
        None => {
            let is_fixed = !flag(arguments, "regex");
            let options = PatternOptions { is_fixed, is_folded: case == Case::Folded, is_word: false };
            let pattern = Pattern::new(&[query.to_owned()], options)
                .map_err(|_| format!("invalid arguments: '{}' is not a regular expression", quoted(query)))?;
            by_pattern(context, &reader, &plan, pattern, page)?
        }
    };
    Ok(page.answer(found))
}

/// Which of the answers are wanted.
#[derive(Clone, Copy)]
struct Page {
    offset: usize,
    limit: usize,
}

impl Page {
    /// Returns how many answers must be found, to know whether there are more.
    fn enough(self) -> usize {
        self.offset.saturating_add(self.limit).saturating_add(1)
    }

    /// Makes an answer of all that was found.
    fn answer(self, found: Vec<Value>) -> Answer {
        let all = found.len();
        let (mut matches, mut bytes) = (Vec::new(), 0);
        for one in found.into_iter().skip(self.offset).take(self.limit) {
            bytes += one.to_string().len();
            if bytes > LIST_BYTES && !matches.is_empty() {
                break;
            }
            matches.push(one);
        }
        let mut structured = json!({ "matches": matches });
        if self.offset + matches.len() < all {
            structured["nextOffset"] = json!(self.offset + matches.len());
        }
        Answer { text: json!(matches), structured }
    }
}

/// Returns the commits that the arguments choose.
fn wanted(repo: &Repository, arguments: &Arguments) -> Result<Query, Refusal> {
    let date_of = |name: &str| match string(arguments, name) {
        Some(text) => repo.parse_date(text).map(Some).map_err(|_| format!("invalid arguments: {name} is not a date")),
        None => Ok(None),
    };
    let paths = string(arguments, "path").map(|path| {
        // As it stands, without pathspec magic, from the top.
        let specs = vec![std::ffi::OsString::from(format!(":(top,literal){path}"))];
        Paths { specs, directory: repo.worktree().unwrap_or_else(|| repo.git_dir()).to_owned() }
    });
    Ok(Query {
        range: range(repo, string(arguments, "branch"))?,
        paths,
        since: date_of("since")?,
        until: date_of("until")?,
        agent: string(arguments, "agent").map(str::to_owned),
        ..Query::default()
    })
}

/// Returns the words of a query; what stands in quotes is a phrase.
fn words(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, piece) in query.split('"').enumerate() {
        match number % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    words
}

/// Finds turns that have words, best first.
fn by_words(
    context: &Context<'_>,
    reader: &Reader<'_>,
    plan: &Plan,
    terms: &Terms,
    page: Page,
) -> Result<Vec<Value>, Refusal> {
    let now = Time::now().seconds;
    let effort = Effort { max_count: page.enough(), threads: find::default_threads(), now };
    let (hits, _) = find::search(reader, plan, terms, effort, || context.go_on()).map_err(|error| refusal(&error))?;
    let tell = |hit: find::Hit| {
        let around = hit.excerpt.spans.first().map_or(hit.excerpt.line.start, |span| span.start);
        let session = &plan.sessions[hit.answer.session];
        let excerpt = excerpt(&hit.excerpt.text, around);
        object(plan, session, hit.excerpt.kind, excerpt, hit.excerpt.message, hit.answer.turn)
    };
    Ok(hits.into_iter().map(tell).collect())
}

/// Finds the messages that match a pattern, newest commit first.
fn by_pattern(
    context: &Context<'_>,
    reader: &Reader<'_>,
    plan: &Plan,
    pattern: Pattern,
    page: Page,
) -> Result<Vec<Value>, Refusal> {
    let wanted = Wanted { parts: Parts::ALL, has_numbers: true, ..Wanted::new(pattern) };
    let (mut found, mut seen) = (Vec::new(), HashMap::new());
    let work = |worker: &mut Worker<'_>, _: usize, session: &Session| matches_of(worker, session, &wanted);
    let walked = find::run(reader, plan, find::default_threads(), work, |number, all| {
        context.go_on()?;
        let mut last = None;
        for one in all.matches {
            let is_first = last.replace(one.message) != Some(one.message);
            // Several commits can have the same message.
            if !is_first || *seen.entry(one.place.clone()).or_insert(number) != number {
                continue;
            }
            let Some(line) = one.lines.first() else { continue };
            let around = line.spans.iter().flatten().next().map_or(0, |span| span.start);
            let (excerpt, message) = (excerpt(&line.text, around), one.message.unwrap_or(0));
            found.push(object(plan, &plan.sessions[number], one.kind, excerpt, message, one.turn));
            if found.len() >= page.enough() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    });
    walked.map_err(|error| refusal(&error)).map(|()| found)
}

/// Returns the words around a place in a text, on one line.
fn excerpt(text: &str, around: usize) -> String {
    let before = text[..around].char_indices().rev().take(EXCERPT_CHARS / 3).last().map_or(around, |(at, _)| at);
    let end = text[before..].char_indices().nth(EXCERPT_CHARS).map_or(text.len(), |(at, _)| before + at);
    let (first, last) = (if before > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{first}{}{last}", outside::line(&text[before..end]).trim())
}

/// Returns what is told of an answer.
fn object(plan: &Plan, session: &Session, kind: PartKind, excerpt: String, message: usize, turn: usize) -> Value {
    let role = match kind {
        PartKind::Prompt => "user",
        PartKind::Answer | PartKind::Thinking => "assistant",
        PartKind::Call | PartKind::Result => "tool",
        PartKind::Notice => "system",
    };
    let author = session.commit.map(|commit| plan.commits[commit].author.time).unwrap_or_default();
    let age = Format::parse("relative").map(|format| format.show(author)).unwrap_or_default();
    json!({
        "sha": session.commit_id.map(|id| id.to_string()),
        "date": date(author.seconds),
        "age": age,
        "sessionId": outside::line(&session.key.id),
        "turn": turn,
        "role": role,
        "excerpt": excerpt,
        "messageOffset": message,
    })
}
