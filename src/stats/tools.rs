//! Counting the calls of tools in the recorded words.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use super::branch::branches_of;
use super::reading::{Counting, alone, each_record};
use super::{Collected, Key, Unread};
use crate::agent;
use crate::error::Result;
use crate::record::{Reader, Summary, readable};
use crate::transcript::{ModelUsage, Part, SessionKey};

/// The calls of a tool in the answers of one model of a record.
#[derive(Clone, Debug, Default)]
struct Calls {
    /// The index of the record.
    entry: usize,
    model: Option<String>,
    tool: String,
    calls: u64,
    failed: u64,
}

/// What a group of calls adds up to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CallSum {
    /// All calls.
    pub calls: u64,
    /// Those of which the tool says that they failed.
    pub failed: u64,
}

/// Calls in groups, and all of them together.
#[derive(Clone, Debug, Default)]
pub struct CountedCalls {
    /// The groups, each with its value for each key and behind those the name of the tool. Those with the most calls come
    /// first, unless the first key is a time or the commit.
    pub groups: Vec<(Vec<String>, CallSum)>,
    /// The sum of all.
    pub total: CallSum,
    /// Prompts that were taken back, with what was answered to them.
    pub abandoned: u64,
    /// How often the user interrupted the agent.
    pub interrupted: u64,
    /// How many records have words that could not be read.
    pub unread: Unread,
}

/// A call of a tool, or its result.
enum CallOrResult {
    Call { model: Option<String>, tool: String, call_id: String, answer_id: Option<String> },
    Result { call_id: String, is_error: bool },
}

/// Collects the words of a record, to parse them as a whole: only its end tells which prompts were taken back.
struct RecordCalls<'f> {
    summary: &'f Summary,
    lines: Vec<u8>,
    large: &'f Mutex<()>,
    /// Held from when the record is long.
    alone: Option<MutexGuard<'f, ()>>,
}

impl Counting for RecordCalls<'_> {
    /// The calls and their results in order, how many prompts were taken back, how many interruptions there were, and whether the
    /// record has more than is read.
    type Count = (Vec<CallOrResult>, [u64; 2], bool);

    fn add(&mut self, lines: &[u8]) {
        self.alone = self.alone.take().or_else(|| alone(self.large, self.lines.len() + lines.len()));
        self.lines.extend_from_slice(lines);
    }

    fn end(self, _: &Reader<'_>) -> Self::Count {
        let agent = agent::find(&self.summary.key.agent);
        // Many small lines take many times their length. Real transcripts compress to an eighth, and have fewer values than that.
        let length = readable(&self.lines, self.lines.len() as u64 / 12);
        let messages = agent.map(|agent| agent.parse(&self.lines[..length])).unwrap_or_default();
        let (mut steps, mut abandoned, mut interrupted) = (Vec::new(), 0, 0);
        let mut model = self.summary.model.clone();
        for message in messages {
            model = message.model.clone().or(model);
            abandoned += u64::from(message.is_abandoned && message.is_prompt());
            let is_interruption = |part: &&Part| matches!(part, Part::Notice(text) if text == agent::INTERRUPTED);
            interrupted += message.parts.iter().filter(is_interruption).count() as u64;
            steps.extend(message.parts.into_iter().filter_map(|part| match part {
                Part::ToolCall(call) => Some(CallOrResult::Call {
                    model: model.clone(),
                    tool: call.name,
                    call_id: call.call_id,
                    answer_id: message.answer_id.clone(),
                }),
                Part::ToolResult(result) => {
                    Some(CallOrResult::Result { call_id: result.call_id, is_error: result.is_error })
                }
                _ => None,
            }));
        }
        (steps, [abandoned, interrupted], length < self.lines.len())
    }
}

/// Counts the calls in the words of the records that a query found. A call that several sessions have, as after a fork, counts
/// once, in the oldest record. `model` is part of the name of the models whose calls count.
///
/// # Errors
///
/// If a note or history cannot be read.
pub fn counted_calls(
    reader: &Reader<'_>,
    found: &Collected,
    keys: &[Key],
    model: Option<&str>,
) -> Result<CountedCalls> {
    let mut counted = CountedCalls::default();
    let mut all: Vec<Calls> = Vec::new();
    // The result of a call can stand in the next record.
    let mut waiting: HashMap<(SessionKey, String), Option<usize>> = HashMap::new();
    let mut seen = HashSet::new();
    let large = Mutex::new(());
    let begin = |index: usize| {
        Some(RecordCalls { summary: &found.entries[index].summary, lines: Vec::new(), large: &large, alone: None })
    };
    let mut too_large = 0;
    counted.unread = each_record(reader, found, begin, |entry, (steps, [abandoned, interrupted], is_cut)| {
        too_large += usize::from(is_cut);
        let key = &found.entries[entry].summary.key;
        let mut own: HashMap<(Option<String>, String), usize> = HashMap::new();
        let mut latest = None;
        counted.abandoned += abandoned;
        counted.interrupted += interrupted;
        for step in steps {
            match step {
                CallOrResult::Call { model, tool, call_id, answer_id } => {
                    let is_copy = answer_id.is_some_and(|id| !seen.insert((key.agent.clone(), id, call_id.clone())));
                    let at = *own.entry((model.clone(), tool.clone())).or_insert_with(|| {
                        all.push(Calls { entry, model, tool, ..Calls::default() });
                        all.len() - 1
                    });
                    latest = Some(at).filter(|_| !is_copy);
                    all[at].calls += u64::from(!is_copy);
                    waiting.entry((key.clone(), call_id)).or_insert(latest);
                }
                CallOrResult::Result { call_id, is_error } => {
                    let known = waiting.remove(&(key.clone(), call_id.clone())).flatten();
                    // Some agents number no calls.
                    let at = if call_id.is_empty() { latest } else { known };
                    if let Some(at) = at.filter(|_| is_error) {
                        all[at].failed += 1;
                    }
                }
            }
        }
    })?;
    counted.unread.too_large += too_large;
    let ids: Vec<_> = found.commits.iter().map(|commit| commit.commit_id).collect();
    let branches = if keys.contains(&Key::Branch) { branches_of(reader.repo(), &ids)? } else { HashMap::new() };
    all.sort_by_key(|calls| calls.entry);
    let mut index: HashMap<Vec<String>, usize> = HashMap::new();
    let is_wanted = |calls: &&Calls| {
        let fits = |part| calls.model.as_deref().is_some_and(|model| model.contains(part));
        calls.calls > 0 && model.is_none_or(fits)
    };
    for calls in all.iter().filter(is_wanted) {
        let entry = &found.entries[calls.entry];
        let origin = found.origin(entry, &branches);
        let usage = ModelUsage { model: calls.model.clone(), ..ModelUsage::default() };
        let value = |key: &Key| key.value(&origin, Some(&entry.summary.key), Some(&usage), "(none)");
        let values: Vec<String> = keys.iter().map(value).chain([calls.tool.clone()]).collect();
        let at = *index.entry(values.clone()).or_insert_with(|| {
            counted.groups.push((values, CallSum::default()));
            counted.groups.len() - 1
        });
        for sum in [&mut counted.groups[at].1, &mut counted.total] {
            sum.calls += calls.calls;
            sum.failed += calls.failed;
        }
    }
    let by_calls = |a: &(Vec<String>, CallSum), b: &(Vec<String>, CallSum)| b.1.calls.cmp(&a.1.calls);
    match keys.first() {
        // Groups were made in the order of commits.
        Some(Key::Commit) => {}
        Some(key) if key.is_time() => {
            counted.groups.sort_by(|a, b| a.0[0].cmp(&b.0[0]).then(by_calls(a, b)).then_with(|| a.0.cmp(&b.0)));
        }
        _ => counted.groups.sort_by(|a, b| by_calls(a, b).then_with(|| a.0.cmp(&b.0))),
    }
    Ok(counted)
}
