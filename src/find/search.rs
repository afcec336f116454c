//! Searching for words: all increments are looked through, the turns are ranked, and the best are read once more.

use std::ops::ControlFlow;

use super::{Answer, Excerpt, Plan, Ranking, Session, Terms, Worker, excerpt_of, run, turns_of};
use crate::error::{Error, Result};
use crate::record::Reader;

/// A turn that answers a search.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Which turn, and how well it fits.
    pub answer: Answer,
    /// Its words that answer best.
    pub excerpt: Excerpt,
}

/// How many answers are wanted, and how they are found.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The most answers.
    pub max_count: usize,
    /// How many threads work.
    pub threads: usize,
    /// The time that ages are counted from, in seconds since the epoch.
    pub now: i64,
}

/// Returns the turns of a plan that have the words of a search, best first, and why not all could be searched. `go_on` is
/// asked between increments.
///
/// # Errors
///
/// What `go_on` returns; otherwise as [`turns_of`].
pub fn search(
    reader: &Reader<'_>,
    plan: &Plan,
    terms: &Terms,
    effort: Effort,
    go_on: impl Fn() -> Result<()>,
) -> Result<(Vec<Hit>, Vec<Error>)> {
    let (mut ranking, mut problems) = (Ranking::new(terms), Vec::new());
    let count = |worker: &mut Worker<'_>, _: usize, session: &Session| turns_of(worker, session, terms);
    run(reader, plan, effort.threads, count, |number, mut census| {
        problems.extend(census.problem.take());
        ranking.add(number, census);
        go_on().map(ControlFlow::Continue)
    })?;
    let best = ranking.best(plan, effort.now, effort.max_count);
    let sessions = best.iter().map(|answer| plan.sessions[answer.session].clone()).collect();
    let chosen = Plan { sessions, ..Plan::default() };
    let read = |worker: &mut Worker<'_>, number: usize, session: &Session| {
        excerpt_of(worker, session, best[number].turn, terms)
    };
    let mut hits = Vec::new();
    run(reader, &chosen, effort.threads, read, |number, excerpt| {
        hits.extend(excerpt.map(|excerpt| Hit { answer: best[number].clone(), excerpt }));
        go_on().map(ControlFlow::Continue)
    })?;
    Ok((hits, problems))
}
