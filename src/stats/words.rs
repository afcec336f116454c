//! Counting answers from the recorded words themselves.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use super::{Answer, Collected, Used};
use crate::error::Result;
use crate::record::{Conversation, Reader, Words};
use crate::transcript::{ModelUsage, SessionKey, Tokens};

/// Replaces the tokens of records by those of the answers in their words. An answer that several sessions have, as after a
/// fork, counts once, in the oldest record; an answer that a commit cuts in two counts in both records with its parts. Records whose words are not here keep their tokens; their number is returned.
///
/// # Errors
///
/// If a note cannot be read.
pub fn read_words(reader: &Reader<'_>, found: &mut Collected) -> Result<usize> {
    let mut seen = Seen::new();
    let mut counted = Vec::new();
    let lacking = each_record(reader, found, |index, conversation| {
        let entry = &found.entries[index];
        let commit = entry.commit.filter(|_| entry.summary.edits.is_empty()).map(|at| found.commits[at].commit_id);
        let edits = commit.map(|id| reader.edits_of(id, &conversation.messages, &conversation.bytes));
        counted.push((index, answers(conversation, &mut seen), edits));
    })?;
    for (index, used, edits) in counted {
        let entry = &mut found.entries[index];
        entry.used = used;
        entry.summary.edits = edits.unwrap_or_else(|| std::mem::take(&mut entry.summary.edits));
    }
    Ok(lacking)
}

/// Reads the words of each record that a commit has, those of the oldest commit first, and gives them to `visit` with the index
/// of the record. Returns how many records have no words here.
pub(super) fn each_record(
    reader: &Reader<'_>,
    found: &Collected,
    mut visit: impl FnMut(usize, &Conversation),
) -> Result<usize> {
    let mut lacking = 0;
    let mut by_commit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, entry) in found.entries.iter().enumerate() {
        if let Some(commit) = entry.commit {
            by_commit.entry(commit).or_default().push(index);
        }
    }
    let mut tell = |index: usize, conversation: &Conversation| match conversation.problems.is_empty()
        && !conversation.messages.is_empty()
    {
        true => visit(index, conversation),
        false => lacking += 1,
    };
    let mut absent = 0;
    // The oldest commit comes last.
    for (commit, indexes) in by_commit.into_iter().rev() {
        let summary = |index: &usize| &found.entries[*index].summary;
        let (stored, earlier): (Vec<_>, Vec<_>) =
            indexes.into_iter().partition(|index| summary(index).through.is_some());
        for (index, conversation) in stored.iter().zip(reader.increments(stored.iter().map(summary))) {
            tell(*index, &conversation);
        }
        // What an earlier tool recorded has its words in the note.
        let mut wanted: HashMap<SessionKey, usize> =
            earlier.into_iter().map(|index| (summary(&index).key.clone(), index)).collect();
        if wanted.is_empty() {
            continue;
        }
        let note = reader.note(found.commits[commit].commit_id)?.unwrap_or_default();
        reader.each_conversation(&note, None, false, Words::Shown, |conversation| {
            let key = &conversation.summary.key;
            if let Some(index) = wanted.remove(key).filter(|_| conversation.summary.through.is_none()) {
                tell(index, &conversation);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        absent += wanted.len();
    }
    Ok(lacking + absent)
}

/// The answers that were seen, by the names of [`names`], with the tokens that were counted for each.
type Seen = HashMap<String, Tokens>;

/// Returns the tokens of each answer, without those that were counted before: of an answer that goes on in the next record, or
/// that a fork repeats, the largest count holds.
fn answers(conversation: &Conversation, seen: &mut Seen) -> Vec<Used> {
    let key = &conversation.summary.key;
    let mut answers: BTreeMap<&str, (ModelUsage, Option<i64>)> = BTreeMap::new();
    let mut used = Vec::new();
    for message in &conversation.messages {
        let Some(tokens) = message.usage else { continue };
        let (model, tier) = (message.model.clone(), message.tier.clone());
        let Some(id) = &message.answer_id else {
            // Without an id, a record is an answer.
            let answer = Some(Answer { time: message.time, given: tokens.given() });
            used.push(Used { usage: ModelUsage { model, tier, tokens }, answer });
            continue;
        };
        let (answer, time) = answers.entry(id).or_default();
        *time = time.or(message.time);
        answer.model = model.or_else(|| answer.model.take());
        answer.tier = tier.or_else(|| answer.tier.take());
        answer.tokens = answer.tokens.max(tokens);
    }
    for (id, (usage, time)) in answers {
        let names = names(key, id, time, usage.tokens);
        let known = names.iter().filter_map(|name| seen.get(name).copied()).reduce(Tokens::max);
        let whole = usage.tokens.max(known.unwrap_or_default());
        seen.extend(names.into_iter().map(|name| (name, whole)));
        let tokens = usage.tokens.minus(known.unwrap_or_default());
        if known.is_none() || tokens.total() > 0 {
            let answer = Some(Answer { time, given: whole.given() });
            used.push(Used { usage: ModelUsage { tokens, ..usage }, answer });
        }
    }
    let last = conversation.messages.iter().rev().find_map(|message| message.model.clone());
    let last = last.or_else(|| conversation.summary.model.clone());
    for Used { usage, .. } in &mut used {
        usage.model = usage.model.take().or_else(|| last.clone());
    }
    used.sort_by(|a, b| (&a.usage.model, &a.usage.tier).cmp(&(&b.usage.model, &b.usage.tier)));
    used
}

/// Returns the names under which an answer may have been seen. Where an id is unique in its session alone, a fork repeats it
/// with its time and tokens.
fn names(key: &SessionKey, id: &str, time: Option<i64>, tokens: Tokens) -> Vec<String> {
    let agent = &key.agent;
    if !id.starts_with('@') {
        return vec![format!("{agent} {id}")];
    }
    let own = format!("{agent} {} {id}", key.id);
    time.map(|time| format!("{agent} {id} {time} {tokens:?}")).into_iter().chain([own]).collect()
}
