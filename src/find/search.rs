//! Searching for words: all increments are looked through, the turns are ranked, and the best are read once more.

use std::ops::ControlFlow;
use std::time::Instant;

use super::{
    Excerpt, Increments, Limits, PlannedIncrement, RankedTurn, Ranking, Terms, Worker, excerpt_of, run, turns_of,
};
use crate::error::{Error, Kind, Result};
use crate::record::Reader;

/// A turn that answers a search.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The turn and its score.
    pub answer: RankedTurn,
    /// The passage of the turn that fits best.
    pub excerpt: Excerpt,
}

/// How many answers are wanted, and how they are found.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// The most answers.
    pub max_count: usize,
    /// How much may be spent.
    pub limits: Limits,
    /// The time that ages are counted from, in seconds since the epoch.
    pub now: i64,
}

/// The result of a search.
#[derive(Debug)]
pub struct SearchResult {
    /// The turns, best first.
    pub hits: Vec<Hit>,
    /// The reasons if a part could not be searched.
    pub problems: Vec<Error>,
    /// How many increments were searched before the time was over, from the first one of the plan on.
    pub searched: usize,
}

/// Returns the turns of a plan that have the words of a search. `go_on` is called between increments; its error ends
/// the search.
///
/// Reading the excerpts may take as long again as the deadline allows.
///
/// # Errors
///
/// Those of `go_on`, and those of [`turns_of`].
pub fn search(
    reader: &Reader<'_>,
    plan: &Increments,
    terms: &Terms,
    options: SearchOptions,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<SearchResult> {
    let started = Instant::now();
    let (mut ranking, mut problems, mut searched) = (Ranking::new(terms), Vec::new(), 0);
    let count = |worker: &mut Worker<'_>, _: usize, session: &PlannedIncrement| turns_of(worker, session, terms);
    let left_out = run(reader, plan, options.limits, count, |number, mut census| {
        let problem = census.problem.take();
        if problem.as_ref().is_some_and(|problem| problem.kind() == Kind::Busy) {
            return Ok(ControlFlow::Break(()));
        }
        problems.extend(problem);
        ranking.add(number, census);
        searched = number + 1;
        go_on().map(ControlFlow::Continue)
    })?;
    problems.extend(left_out);
    let is_late = options.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let searched = if is_late { searched } else { plan.sessions.len() };
    let best = ranking.best(plan, options.now, options.max_count);
    let sessions = best.iter().map(|answer| plan.sessions[answer.session].clone()).collect();
    let chosen = Increments { sessions, ..Increments::default() };
    let read = |worker: &mut Worker<'_>, number: usize, session: &PlannedIncrement| {
        excerpt_of(worker, session, best[number].turn, terms)
    };
    let mut hits = Vec::new();
    let deadline = options.limits.deadline.map(|deadline| Instant::now() + (deadline - started));
    let limits = Limits { deadline, ..options.limits };
    run(reader, &chosen, limits, read, |number, excerpt| {
        hits.extend(excerpt.map(|excerpt| Hit { answer: best[number].clone(), excerpt }));
        go_on().map(ControlFlow::Continue)
    })?;
    Ok(SearchResult { hits, problems, searched })
}
