//! The tool for searching, through the same room as `grep` and `search`.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::arguments::{Arguments, flag, number, range, string};
use super::conversations::mark_changed;
use super::texts::{LIST_BYTES, age, date};
use super::tokens::excerpt;
use super::{Answer, Context, Refusal, refusal};
use crate::error::Kind;
use crate::find::{
    self, Case, Increments, Limits, LineSearch, PartKind, Parts, Pattern, PatternOptions, PlannedIncrement,
    SearchOptions, Terms, Worker, matches_of,
};
use crate::git::date::Time;
use crate::git::{FilesSince, Paths, Repository};
use crate::record::{Query, Reader};
use crate::{agent, outside};

/// How many answers there are by default. More of a history does not help a model, and may mislead it.
pub(super) const LIMIT: usize = 3;
/// The longest excerpt, in tokens; two more say that something was left out.
const EXCERPT_TOKENS: usize = 78;
/// How much of the words of a query a turn must have, by their weights. A question has words that no answer has.
const MIN_SHARE: f64 = 0.4;

/// How long words are looked for. An agent waits for the answer, and clients give up on a call after some time.
const SEARCH_TIME: Duration = Duration::from_secs(5);

/// `search`.
pub fn search(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let query = string(arguments, "query").unwrap_or_default();
    if query.trim().is_empty() {
        return Err("invalid arguments: query must not be empty".into());
    }
    let wanted = wanted(&repo, arguments)?;
    let reader = context.reader(&repo);
    let plan = Increments::new(&reader, &wanted, false).map_err(|error| refusal(&error))?;
    let page = Page { offset: number(arguments, "offset", 0), limit: number(arguments, "limit", LIMIT) };
    let case = if flag(arguments, "case_sensitive") { Case::Exact } else { Case::Folded };
    let words = find::words_of(query);
    // What has no word in it is looked for as it stands.
    let terms = Terms::new(&words, &[], case, MIN_SHARE).ok().filter(|_| !flag(arguments, "regex"));
    let limits = Limits { deadline: Some(Instant::now() + SEARCH_TIME), ..Limits::default() };
    let search = Search { context, reader: &reader, plan: &plan, limits };
    let (found, searched) = match terms {
        Some(terms) => search.by_words(&terms, page)?,
        None => {
            let is_fixed = !flag(arguments, "regex");
            let options = PatternOptions { is_fixed, is_folded: case == Case::Folded, ..PatternOptions::default() };
            let pattern =
                Pattern::new(&[query.to_owned()], options).map_err(|error| format!("invalid arguments: {error}"))?;
            search.by_pattern(pattern, page)?
        }
    };
    if let Some(name) = string(arguments, "agent").filter(|name| found.is_empty() && agent::find(name).is_none()) {
        // As on the command line, what is recorded counts first.
        agent::named(name).map_err(|error| format!("invalid arguments: {}", outside::line(&error.to_string())))?;
    }
    let mut answer = page.answer(&repo, found);
    if let Some(left) = left(&plan, searched) {
        answer.structured["notSearched"] = left;
    }
    Ok(answer)
}

/// Says which sessions of a plan were not searched in time, if only the first `searched` were.
fn left(plan: &Increments, searched: usize) -> Option<Value> {
    let first = plan.sessions.get(searched)?;
    let count = plan.sessions.len() - searched;
    let from = first.commit.map(|commit| date(plan.commits[commit].author.time.seconds)).unwrap_or_default();
    let advice =
        "the search took too long; these sessions are older than all that was searched: pass until, path or agent";
    Some(json!({ "sessions": count, "of": plan.sessions.len(), "from": from, "reason": advice }))
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
    fn answer(self, repo: &Repository, found: Vec<Value>) -> Answer {
        let all = found.len();
        let (mut matches, mut bytes) = (Vec::new(), 0);
        for one in found.into_iter().skip(self.offset).take(self.limit) {
            bytes += one.to_string().len();
            if bytes > LIST_BYTES && !matches.is_empty() {
                break;
            }
            matches.push(one);
        }
        mark_all_changed(repo, &mut matches);
        let mut structured = json!({ "matches": matches });
        if self.offset + matches.len() < all {
            structured["nextOffset"] = json!(self.offset + matches.len());
        }
        Answer { text: json!(matches), structured }
    }
}

/// Adds the later history of its commit's files to each match: words about them may no longer hold.
fn mark_all_changed(repo: &Repository, matches: &mut [Value]) {
    let Some(head) = repo.head().ok().and_then(|head| head.commit_id) else { return };
    let mut known: HashMap<String, Option<FilesSince>> = HashMap::new();
    for one in matches {
        let Some(sha) = one["sha"].as_str().map(str::to_owned) else { continue };
        let look = |sha: &String| repo.files_since(repo.parse_id(sha)?, head);
        if let Some(since) = *known.entry(sha).or_insert_with_key(look) {
            mark_changed(one, since);
        }
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

/// The increments to search, and the deadline.
struct Search<'s> {
    context: &'s Context<'s>,
    reader: &'s Reader<'s>,
    plan: &'s Increments,
    limits: Limits,
}

/// The answer, and how many increments were searched in time.
type Answers = (Vec<Value>, usize);

impl Search<'_> {
    /// Finds turns that have words, best first.
    fn by_words(&self, terms: &Terms, page: Page) -> Result<Answers, Refusal> {
        let wanted = SearchOptions { max_count: page.enough(), limits: self.limits, now: Time::now().seconds };
        let found = find::search(self.reader, self.plan, terms, wanted, &|| self.context.go_on());
        let found = found.map_err(|error| refusal(&error))?;
        let tell = |hit: find::Hit| {
            let around = hit.excerpt.spans.first().map_or(hit.excerpt.line.start, |span| span.start);
            let session = &self.plan.sessions[hit.answer.session];
            let excerpt = excerpt(&hit.excerpt.text, around, EXCERPT_TOKENS);
            object(self.plan, session, hit.excerpt.kind, excerpt, hit.excerpt.message, hit.answer.turn)
        };
        Ok((found.hits.into_iter().map(tell).collect(), found.searched))
    }

    /// Finds the messages that match a pattern, newest commit first.
    fn by_pattern(&self, pattern: Pattern, page: Page) -> Result<Answers, Refusal> {
        let wanted = LineSearch { parts: Parts::ALL, has_numbers: true, ..LineSearch::new(pattern) };
        let (mut found, mut seen, mut searched) = (Vec::new(), HashMap::new(), 0);
        let work = |worker: &mut Worker<'_>, _: usize, session: &PlannedIncrement| matches_of(worker, session, &wanted);
        let walked = find::run(self.reader, self.plan, self.limits, work, |number, all| {
            self.context.go_on()?;
            if all.problem.is_some_and(|problem| problem.kind() == Kind::Busy) {
                return Ok(ControlFlow::Break(()));
            }
            let mut last = None;
            for one in all.matches {
                let is_first = last.replace(one.message) != Some(one.message);
                // Several commits can have the same message.
                if !is_first || *seen.entry(one.place.clone()).or_insert(number) != number {
                    continue;
                }
                let Some(line) = one.lines.first() else { continue };
                let around = line.spans.iter().flatten().next().map_or(0, |span| span.start);
                let (excerpt, message) = (excerpt(&line.text, around, EXCERPT_TOKENS), one.message.unwrap_or(0));
                found.push(object(self.plan, &self.plan.sessions[number], one.kind, excerpt, message, one.turn));
                if found.len() >= page.enough() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            searched = number + 1;
            Ok(ControlFlow::Continue(()))
        });
        walked.map_err(|error| refusal(&error))?;
        let is_late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let all = self.plan.sessions.len();
        Ok((found, if is_late { searched } else { all }))
    }
}

/// Returns the object of an answer.
fn object(
    plan: &Increments,
    session: &PlannedIncrement,
    kind: PartKind,
    excerpt: String,
    message: usize,
    turn: usize,
) -> Value {
    let role = match kind {
        PartKind::Prompt => "user",
        PartKind::Answer | PartKind::Thinking => "assistant",
        PartKind::Call | PartKind::Result => "tool",
        PartKind::Notice => "system",
    };
    let author = session.commit.map(|commit| plan.commits[commit].author.time).unwrap_or_default();
    json!({
        "sha": session.commit_id.map(|id| id.to_string()),
        "date": date(author.seconds),
        "age": age(author),
        "sessionId": outside::line(&session.key.id),
        "turn": turn,
        "role": role,
        "excerpt": excerpt,
        "messageOffset": message,
    })
}
