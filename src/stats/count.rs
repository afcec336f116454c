//! Putting records into groups, and adding them up.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::branch::branches_of;
use super::price::RowFinder;
use super::share::Shares;
use super::{Collected, Cost, Entry, Key, Prices, Used, clean_values};
use crate::error::Result;
use crate::git::date::Time;
use crate::git::{Commit, ObjectId};
use crate::record::{Query, Reader};
use crate::redact::Redactor;
use crate::transcript::{ModelUsage, Tokens};

/// The sums of a group.
#[derive(Clone, Debug, Default)]
pub struct Sum {
    /// Commits with a record; each counts once.
    pub commits: u64,
    /// Sessions, without sub-agents; each counts once.
    pub sessions: u64,
    /// Prompts of people.
    pub turns: u64,
    /// Prompts and texts of agents.
    pub messages: u64,
    /// Seconds in which somebody was at work, as far as records tell.
    pub active_secs: u64,
    /// Tokens of all models and of sub-agents.
    pub tokens: Tokens,
    /// Their cost; `None` if no tokens are known.
    pub cost: Option<Cost>,
    /// The models that could not be priced.
    pub unpriced: BTreeSet<String>,
    last_commit: Option<usize>,
    /// The numbers of the sessions that were counted.
    seen: HashSet<usize>,
}

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The value of each key, which all its records have.
    pub values: Vec<String>,
    /// The sums.
    pub sum: Sum,
}

/// The groups, and all of them together.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Ordered by time if the first key is one, by the order of commits if it is the commit, and otherwise the dearest first.
    pub groups: Vec<Group>,
    /// The sum of all records.
    pub total: Sum,
    /// How many commits were looked at, without merges; and how many of these have a record of what the query asks for.
    pub coverage: (u64, u64),
    /// The part of a model's name, if only commits with such a model count as recorded.
    pub model: Option<String>,
    /// Whether records have more than could be counted.
    pub is_at_least: bool,
}

/// How many days a chart has at most.
const MAX_DAYS: usize = 3660;

impl Counted {
    /// Adds the days between the first and the last group of which nothing is known, if the groups are days.
    pub fn fill_days(&mut self) {
        let day = |group: &Group| group.values.first().and_then(|day| day.parse::<Date>().ok());
        let mut filled: Vec<Group> = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            if let (Some(last), Some(next)) = (filled.last().and_then(day), day(&group)) {
                let between = last.series(1.day()).skip(1).take_while(|between| *between < next);
                let empty = |day: Date| Group { values: vec![day.to_string()], sum: Sum::default() };
                let room = MAX_DAYS.saturating_sub(filled.len());
                filled.extend(between.take(room).map(empty));
            }
            filled.push(group);
        }
        self.groups = filled;
    }
}

/// Puts the records that a query found into groups.
///
/// # Errors
///
/// If history cannot be read.
pub fn counted(
    reader: &Reader<'_>,
    query: &Query,
    found: &Collected,
    keys: &[Key],
    prices: &Prices,
) -> Result<Counted> {
    let ids: Vec<_> = found.commits.iter().map(|commit| commit.commit_id).collect();
    let has_branches = keys.contains(&Key::Branch);
    let branches = if has_branches { branches_of(reader.repo(), &ids)? } else { HashMap::new() };
    let has_merges = query.is_of_merges();
    let is_recorded =
        |(commit, has_model): &(&Commit, &bool)| **has_model && (has_merges || commit.parent_ids.len() < 2);
    let recorded = found.commits.iter().zip(&found.has_model).filter(is_recorded).count() as u64;
    let coverage = (found.in_range, recorded);
    let counted = count(found, keys, prices, &branches);
    let is_at_least = found.uncounted.is_at_least() || !found.problems.is_empty();
    Ok(Counted { coverage, model: query.model.clone(), is_at_least, ..counted })
}

/// Puts records into groups. `branches` is used for [`Key::Branch`] alone.
///
/// Tokens count for the model that used them; turns, messages and time for the last model of their record. For
/// [`Key::Path`] tokens are shared among the files that the record tells of by their changed lines, and the rest counts for
/// the file with the most.
fn count(found: &Collected, keys: &[Key], prices: &Prices, branches: &HashMap<ObjectId, String>) -> Counted {
    let mut counted = Counted::default();
    let mut index: HashMap<Vec<String>, usize> = HashMap::new();
    let mut prices = RowFinder::new(prices);
    // A sub-agent counts as its session.
    let mut numbers: HashMap<(&str, &str), usize> = HashMap::new();
    for entry in &found.entries {
        let key = &entry.summary.key;
        let next = numbers.len();
        let session = *numbers.entry((&key.agent, key.parent_id().unwrap_or(&key.id))).or_insert(next);
        let origin = found.origin(entry, branches);
        let shares = if keys.contains(&Key::Path) { Shares::of(&entry.summary.edits) } else { Shares::default() };
        let mut group = |usage: &ModelUsage, path: &str| {
            let value = |key: &Key| key.value(&origin, Some(&entry.summary.key), Some(usage), path);
            let values: Vec<String> = keys.iter().map(value).collect();
            if let Some(at) = index.get(&values) {
                return *at;
            }
            index.insert(values.clone(), counted.groups.len());
            counted.groups.push(Group { values, sum: Sum::default() });
            counted.groups.len() - 1
        };
        let last = ModelUsage { model: entry.summary.model.clone(), ..ModelUsage::default() };
        // Of a model in two tiers, the record does not tell which one spoke last; that of a sub-agent may not tell it at all.
        let is_last = |usage: &&ModelUsage| last.model.is_none() || usage.model == last.model;
        let main = entry.used.iter().map(|used| &used.usage).find(is_last).unwrap_or(&last);
        let main = group(main, shares.largest());
        let mut parts: Vec<(usize, ModelUsage, Cost)> = Vec::new();
        let worked = found.time_of(entry);
        for Used { usage, answer } in &entry.used {
            let answered = answer.and_then(|answer| answer.time);
            let time = answered.map(|seconds| Time { seconds, offset: 0 }.to_rfc3339());
            let mut cost = prices.cost(usage, time.as_ref().unwrap_or(&worked), answer.map(|answer| answer.given));
            cost.is_at_least |= entry.is_lacking;
            for (path, tokens, cost) in shares.divided(usage.tokens, cost) {
                parts.push((group(usage, path), ModelUsage { tokens, ..usage.clone() }, cost));
            }
        }
        counted.groups[main].sum.add_record(entry, session);
        counted.total.add_record(entry, session);
        for (at, usage, cost) in parts {
            counted.groups[at].sum.add_usage((entry, session), &usage, cost);
            counted.total.add_usage((entry, session), &usage, cost);
        }
    }
    // The cost of tokens that are cut is at least this.
    for sum in counted.groups.iter_mut().map(|group| &mut group.sum).chain([&mut counted.total]) {
        let has_cut_tokens = sum.has_cut_tokens();
        sum.cost.iter_mut().for_each(|cost| cost.is_at_least |= has_cut_tokens);
    }
    order(&mut counted.groups, keys);
    counted
}

impl Counted {
    /// Takes secrets out of the values of all groups and the names of models: they are handed on with the counts.
    pub fn clean(&mut self, keys: &[Key], redactor: &Redactor) {
        for group in &mut self.groups {
            clean_values(keys, &mut group.values, redactor);
            group.sum.clean_unpriced(redactor);
        }
        self.total.clean_unpriced(redactor);
    }
}

impl Sum {
    /// Counts the commit and the session of a record, each once.
    fn see(&mut self, entry: &Entry, session: usize) {
        if entry.commit.is_some_and(|commit| self.last_commit.replace(commit) != Some(commit)) {
            self.commits += 1;
        }
        self.sessions += u64::from(self.seen.insert(session));
    }

    /// Adds what a record says apart from tokens. A sub-agent has no turns with people, and works while its session does.
    fn add_record(&mut self, entry: &Entry, session: usize) {
        self.see(entry, session);
        let summary = &entry.summary;
        if summary.key.parent_id().is_none() {
            self.turns = self.turns.saturating_add(summary.turns);
            self.messages = self.messages.saturating_add(summary.messages);
            self.active_secs = self.active_secs.saturating_add(summary.active.unwrap_or(0));
        }
    }

    fn add_usage(&mut self, (entry, session): (&Entry, usize), usage: &ModelUsage, cost: Cost) {
        self.see(entry, session);
        self.tokens = self.tokens.plus(usage.tokens);
        self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        if cost.is_unknown() && !entry.is_lacking {
            let model = usage.model.as_deref().unwrap_or("unknown");
            match &usage.tier {
                Some(tier) => drop(self.unpriced.insert(format!("{tier}/{model}"))),
                None if self.unpriced.contains(model) => {}
                None => drop(self.unpriced.insert(model.to_owned())),
            }
        }
    }

    fn clean_unpriced(&mut self, redactor: &Redactor) {
        self.unpriced = self.unpriced.iter().map(|model| redactor.without_secrets(model).into_owned()).collect();
    }

    /// Says whether a count was so large that it is cut.
    pub fn is_cut(&self) -> bool {
        self.has_cut_tokens() || [self.turns, self.messages, self.active_secs].contains(&u64::MAX)
    }

    fn has_cut_tokens(&self) -> bool {
        let Tokens { input, output, cache_read, cache_write, .. } = self.tokens;
        [input, output, cache_read, cache_write].contains(&u64::MAX)
    }
}

fn order(groups: &mut [Group], keys: &[Key]) {
    match keys.first() {
        // Groups were made in the order of commits.
        Some(Key::Commit) => {}
        Some(key) if key.is_time() => groups.sort_by(|a, b| {
            let dearer = b.sum.weight().cmp(&a.sum.weight());
            a.values[0].cmp(&b.values[0]).then(dearer).then_with(|| a.values.cmp(&b.values))
        }),
        _ => groups.sort_by(|a, b| b.sum.weight().cmp(&a.sum.weight()).then_with(|| a.values.cmp(&b.values))),
    }
}

impl Sum {
    fn weight(&self) -> (u128, u64, u64) {
        (self.cost.map_or(0, Cost::amount), self.tokens.total(), self.messages)
    }
}
