//! Counting answers from the recorded words themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use super::{Answer, Collected, Unread, Used};
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::record;
use crate::record::{Conversation, Reader, Summary, Words};
use crate::transcript::{LastAnswers, ModelUsage, SessionKey, Tally, Tokens};

/// How many threads read words. Each needs about ten times the length of a transcript, and all together have 64 MiB.
const MAX_THREADS: usize = 2;
/// Of longer transcripts only one is read at a time.
const LARGE_BYTES: u64 = 4 << 20;

/// Replaces the tokens of records by those of the answers in their words. An answer that several sessions have, as after a
/// fork, counts once, in the oldest record, and so do the turns up to it; an answer that a commit cuts in two counts in both
/// records with its parts. Records whose words cannot be read keep their tokens; their number is returned.
///
/// # Errors
///
/// If a note cannot be read.
pub fn read_words(reader: &Reader<'_>, found: &mut Collected) -> Result<Unread> {
    let summaries = found.entries.iter().filter(|entry| !entry.is_lacking).map(|entry| &entry.summary);
    let ends = summaries.filter_map(|summary| {
        let end =
            summary.within.as_ref().map_or(End::Segment(summary.through.as_deref()?), |within| End::After(within.end));
        Some((&summary.key, end))
    });
    let ends: HashSet<(&SessionKey, End<'_>)> = ends.collect();
    let read = |reader: &Reader<'_>, index: usize, conversation: &Conversation| {
        let entry = &found.entries[index];
        let commit = entry.commit.filter(|_| entry.summary.edits.is_empty()).map(|at| found.commits[at].commit_id);
        let edits = commit.map(|id| reader.edits_of(id, &conversation.messages, &conversation.bytes));
        let mut tally = Tally::default();
        tally.add(&conversation.messages);
        (answers(conversation), before(reader, &entry.summary, &ends), edits, counts_at(conversation), tally)
    };
    let mut counted = Vec::new();
    let unread = each_record(reader, found, read, |index, read| counted.push((index, read)))?;
    let mut seen = Seen::new();
    let mut sessions: HashMap<String, SessionKey> = HashMap::new();
    for (index, (answers, before, edits, counts, tally)) in counted {
        let entry = &mut found.entries[index];
        // Records of earlier versions have no time, and may count turns in another way. A part of an increment counts as its record.
        if entry.summary.within.is_none() {
            (entry.summary.turns, entry.summary.messages) = (tally.turns, tally.messages);
            entry.summary.active = Some(tally.active_secs);
        }
        if entry.summary.key.parent_id().is_none() {
            subtract_repeated(&mut entry.summary, counts, &mut sessions);
        }
        // Only where this record goes on in them: another record can have them whole.
        let of_answer = |(id, tokens): (String, Tokens)| {
            names(&entry.summary.key, &id, None, tokens).into_iter().map(move |name| (name, tokens))
        };
        let before: Seen = before.into_iter().flat_map(of_answer).collect();
        entry.used = new_tokens(&entry.summary.key, answers, &before, &mut seen);
        entry.summary.edits = edits.unwrap_or_else(|| std::mem::take(&mut entry.summary.edits));
    }
    Ok(unread)
}

/// Where what counts of a record ends.
#[derive(Eq, Hash, PartialEq)]
enum End<'e> {
    /// With a segment.
    Segment(&'e str),
    /// After so many bytes: not all of it counts.
    After(u64),
}

/// Returns the last answers before a record, which can go on in it: the record before it counts them, and nobody chose that one.
/// None if what counts of one of those that were chosen ends there.
fn before(reader: &Reader<'_>, summary: &Summary, ends: &HashSet<(&SessionKey, End<'_>)>) -> LastAnswers {
    let key = &summary.key;
    let Some(since) = summary.since.as_deref() else { return LastAnswers::new() };
    let is_end_of_part = || {
        let has_parts = ends.iter().any(|(of, end)| *of == key && matches!(end, End::After(_)));
        let header = if has_parts { reader.segment_header(key, since) } else { None };
        header.is_some_and(|header| ends.contains(&(key, End::After(header.total_bytes()))))
    };
    if ends.contains(&(key, End::Segment(since))) || is_end_of_part() {
        return LastAnswers::new();
    }
    let since_id = reader.repo().parse_id(since);
    since_id.map_or_else(LastAnswers::new, |id| record::before(&reader.archive(), key, id).answers)
}

/// Reads the words of each record that a commit has in several threads, and gives what `read` makes of them to `visit` with the
/// index of the record, those of the oldest commit first. Returns how many records have words that could not be read.
pub(super) fn each_record<T: Send>(
    reader: &Reader<'_>,
    found: &Collected,
    read: impl Fn(&Reader<'_>, usize, &Conversation) -> T + Sync,
    mut visit: impl FnMut(usize, T),
) -> Result<Unread> {
    let mut by_commit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, entry) in found.entries.iter().enumerate() {
        if let Some(commit) = entry.commit.filter(|_| !entry.is_lacking) {
            by_commit.entry(commit).or_default().push(index);
        }
    }
    // The oldest commit comes last.
    let jobs: Vec<(usize, Vec<usize>)> = by_commit.into_iter().rev().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(jobs.len());
    let (git_dir, refs) = (reader.repo().git_dir(), reader.refs());
    let (next, large) = (AtomicUsize::new(0), Mutex::new(()));
    let work = || -> Result<Vec<(usize, ReadRecords<T>)>> {
        let repo = Repository::open_git_dir(git_dir)?;
        let reader = Reader::with_refs(&repo, refs.to_vec());
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Relaxed);
            let Some((commit, indexes)) = jobs.get(job) else { return Ok(done) };
            let bytes = indexes.iter().map(|index| found.entries[*index].summary.bytes).max();
            // Parsed words take many times their size in memory.
            let _alone = (bytes > Some(LARGE_BYTES)).then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            done.push((job, read_commit(&reader, found, *commit, indexes, &read)?));
        }
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<(usize, ReadRecords<T>)>> {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work);
        let workers = (0..threads).map(start).collect::<std::io::Result<Vec<_>>>();
        let workers = workers.map_err(|error| Error::other("cannot start a thread").because(error))?;
        let mut done = Vec::new();
        for worker in workers {
            done.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(job, _)| *job);
    let mut unread = Unread::default();
    for (_, read) in done {
        unread = unread.plus(read.unread);
        read.records.into_iter().for_each(|(index, read)| visit(index, read));
    }
    Ok(unread)
}

/// What was read of a commit.
struct ReadRecords<T> {
    /// The indexes of records, each with what was made of its words.
    records: Vec<(usize, T)>,
    /// How many records have words that could not be read.
    unread: Unread,
}

/// Reads the words of some records of a commit.
fn read_commit<T>(
    reader: &Reader<'_>,
    found: &Collected,
    commit: usize,
    indexes: &[usize],
    read: impl Fn(&Reader<'_>, usize, &Conversation) -> T,
) -> Result<ReadRecords<T>> {
    let (mut records, mut too_large) = (Vec::new(), 0);
    let mut tell = |index: usize, conversation: &Conversation| {
        too_large += usize::from(conversation.is_too_large && !conversation.is_damaged());
        // An increment can have no message of its own.
        if conversation.problems.is_empty() && !conversation.is_too_large {
            records.push((index, read(reader, index, conversation)));
        }
    };
    let summary = |index: &usize| &found.entries[*index].summary;
    let (stored, earlier): (Vec<usize>, Vec<usize>) =
        indexes.iter().partition(|index| summary(index).through.is_some());
    for (index, conversation) in stored.iter().zip(reader.increments(stored.iter().map(summary))) {
        tell(*index, &conversation);
    }
    if !earlier.is_empty() {
        // What an earlier tool recorded has its words in the note.
        let mut wanted: HashMap<&SessionKey, usize> =
            earlier.iter().map(|index| (&summary(index).key, *index)).collect();
        let note = reader.note(found.commits[commit].commit_id)?.unwrap_or_default();
        reader.each_conversation(&note, None, false, Words::Shown, |conversation| {
            let of = &conversation.summary;
            if let Some(index) = wanted.remove(&of.key).filter(|_| of.through.is_none()) {
                tell(index, &conversation);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    let unread = Unread { missing: indexes.len() - records.len() - too_large, too_large };
    Ok(ReadRecords { records, unread })
}

/// The answers that were seen, by the names of [`names`], with the tokens that were counted for each.
type Seen = HashMap<String, Tokens>;

/// An answer, or a record of one that has no id.
struct Answered {
    id: Option<String>,
    usage: ModelUsage,
    time: Option<i64>,
}

/// Returns the answers in words: those with an id in the order of their ids, each with its largest count.
fn answers(conversation: &Conversation) -> Vec<Answered> {
    let mut by_id: BTreeMap<&str, Answered> = BTreeMap::new();
    let mut answers = Vec::new();
    for message in &conversation.messages {
        let Some(tokens) = message.usage else { continue };
        let (model, tier) = (message.model.clone(), message.tier.clone());
        let Some(id) = &message.answer_id else {
            answers.push(Answered { id: None, usage: ModelUsage { model, tier, tokens }, time: message.time });
            continue;
        };
        let new = || Answered { id: Some(id.clone()), usage: ModelUsage::default(), time: None };
        let answer = by_id.entry(id).or_insert_with(new);
        answer.time = answer.time.or(message.time);
        let usage = &mut answer.usage;
        usage.model = model.or_else(|| usage.model.take());
        usage.tier = tier.or_else(|| usage.tier.take());
        usage.tokens = usage.tokens.max(tokens);
    }
    answers.extend(by_id.into_values());
    let last = conversation.messages.iter().rev().find_map(|message| message.model.clone());
    let last = last.or_else(|| conversation.summary.model.clone());
    for Answered { usage, .. } in &mut answers {
        usage.model = usage.model.take().or_else(|| last.clone());
    }
    answers
}

/// The turns, messages and seconds of work of a conversation up to an answer.
struct CountsAt {
    answer_id: String,
    turns: u64,
    messages: u64,
    active_secs: u64,
}

/// Returns what a conversation counts up to the end of each answer whose id no other answer has.
fn counts_at(conversation: &Conversation) -> Vec<CountsAt> {
    let mut tally = Tally::default();
    let mut counts: Vec<CountsAt> = Vec::new();
    for message in &conversation.messages {
        tally.add(std::slice::from_ref(message));
        let id = message.answer_id.as_ref().filter(|id| !message.is_sidechain && !id.starts_with('@'));
        let Some(id) = id else { continue };
        if counts.last().is_some_and(|last| last.answer_id == *id) {
            counts.pop();
        }
        let Tally { turns, messages, active_secs, .. } = tally;
        counts.push(CountsAt { answer_id: id.clone(), turns, messages, active_secs });
    }
    counts
}

/// Takes out of a record what it counts up to the last answer that an older record of another session has: a fork begins
/// with a copy of its session. `sessions` are those of the answers so far.
fn subtract_repeated(summary: &mut Summary, counts: Vec<CountsAt>, sessions: &mut HashMap<String, SessionKey>) {
    let mut repeated = None;
    for count in counts {
        let name = format!("{} {}", summary.key.agent, count.answer_id);
        if *sessions.entry(name).or_insert_with(|| summary.key.clone()) != summary.key {
            repeated = Some(count);
        }
    }
    if let Some(CountsAt { turns, messages, active_secs, .. }) = repeated {
        summary.turns = summary.turns.saturating_sub(turns);
        summary.messages = summary.messages.saturating_sub(messages);
        summary.active = summary.active.map(|active| active.saturating_sub(active_secs));
    }
}

/// Returns the tokens of answers, without those that were counted before: of an answer that goes on in the next record, or that a
/// fork repeats, the largest count holds. `before` are the answers that can go on here, as the record before counts them.
fn new_tokens(key: &SessionKey, answers: Vec<Answered>, before: &Seen, seen: &mut Seen) -> Vec<Used> {
    let mut used = Vec::new();
    for Answered { id, usage, time } in answers {
        let Some(id) = id else {
            // Without an id, a record is an answer.
            used.push(Used { answer: Some(Answer { time, given: usage.tokens.given() }), usage });
            continue;
        };
        let names = names(key, &id, time, usage.tokens);
        let known = names.iter().flat_map(|name| [seen.get(name), before.get(name)]).flatten().copied();
        let known = known.reduce(Tokens::max);
        let whole = usage.tokens.max(known.unwrap_or_default());
        seen.extend(names.into_iter().map(|name| (name, whole)));
        let tokens = usage.tokens.minus(known.unwrap_or_default());
        if known.is_none() || tokens.total() > 0 {
            let answer = Some(Answer { time, given: whole.given() });
            used.push(Used { usage: ModelUsage { tokens, ..usage }, answer });
        }
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
