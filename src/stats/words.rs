//! Counting answers from the recorded words themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use super::{Answer, Collected, Used};
use crate::error::Result;
use crate::record::{Conversation, Reader, Words};
use crate::transcript::{ModelUsage, SessionKey};

/// Replaces the tokens of records by those of the answers in their words. An answer that several sessions have, as after a
/// fork, counts once, in the oldest record. Records whose words are not here keep their tokens; their number is returned.
///
/// # Errors
///
/// If a note cannot be read.
pub fn read_words(reader: &Reader<'_>, found: &mut Collected) -> Result<usize> {
    let mut seen: HashSet<(String, String)> = HashSet::new();
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
    // The oldest commit comes last.
    for (commit, indexes) in by_commit.into_iter().rev() {
        let mut wanted: HashMap<(SessionKey, Option<String>, Option<String>), usize> = HashMap::new();
        for index in indexes {
            let summary = &found.entries[index].summary;
            wanted.insert((summary.key.clone(), summary.since.clone(), summary.through.clone()), index);
        }
        let Some(note) = reader.note(found.commits[commit].commit_id)? else { continue };
        reader.each_conversation(&note, None, false, Words::Shown, |conversation| {
            let summary = &conversation.summary;
            let key = (summary.key.clone(), summary.since.clone(), summary.through.clone());
            if let Some(index) = wanted.remove(&key) {
                match conversation.problems.is_empty() && !conversation.messages.is_empty() {
                    true => visit(index, &conversation),
                    false => lacking += 1,
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        lacking += wanted.len();
    }
    Ok(lacking)
}

/// Returns the tokens of each answer that was not seen before.
fn answers(conversation: &Conversation, seen: &mut HashSet<(String, String)>) -> Vec<Used> {
    let agent = &conversation.summary.key.agent;
    let mut answers: BTreeMap<String, (ModelUsage, Option<i64>)> = BTreeMap::new();
    for (index, message) in conversation.messages.iter().enumerate() {
        let Some(tokens) = message.usage else { continue };
        // Without an id, a record is an answer.
        let id = message.answer_id.clone().unwrap_or_else(|| format!("@{index}"));
        let (answer, time) = answers.entry(id).or_default();
        *time = time.or(message.time);
        answer.model = message.model.clone().or_else(|| answer.model.take());
        answer.tier = message.tier.clone().or_else(|| answer.tier.take());
        answer.tokens = answer.tokens.max(tokens);
    }
    let last = conversation.messages.iter().rev().find_map(|message| message.model.clone());
    let last = last.or_else(|| conversation.summary.model.clone());
    let new = answers.into_iter().filter(|(id, _)| id.starts_with('@') || seen.insert((agent.clone(), id.clone())));
    let used = new.map(|(_, (usage, time))| {
        let answer = Some(Answer { time, given: usage.tokens.given() });
        Used { usage: ModelUsage { model: usage.model.clone().or_else(|| last.clone()), ..usage }, answer }
    });
    let mut used: Vec<Used> = used.collect();
    used.sort_by(|a, b| (&a.usage.model, &a.usage.tier).cmp(&(&b.usage.model, &b.usage.tier)));
    used
}
