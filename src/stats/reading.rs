//! Reading the words of records in several threads.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Collected, Unread};
use crate::error::{Error, Result};
use crate::git::Repository;
use crate::record::{Reader, Words};
use crate::transcript::SessionKey;

/// How many threads read words.
const MAX_THREADS: usize = 2;
/// Of longer transcripts that are parsed at once, only one is at a time.
const LARGE_BYTES: usize = 4 << 20;
/// How many commits a thread may be ahead of those that are counted.
const MAX_AHEAD: usize = 8;

/// Counts the words of one record while they are read.
pub(super) trait Counting {
    /// The result.
    type Count: Send;

    /// Adds whole lines, those of the beginning first.
    fn add(&mut self, lines: &[u8]);

    /// Returns the result, after the last line.
    fn end(self, reader: &Reader<'_>) -> Self::Count;
}

/// The results of the records of a commit.
struct ReadRecords<T> {
    /// The indexes of records, each with its result.
    counts: Vec<(usize, T)>,
    /// How many records have words that could not be read.
    unread: Unread,
}

/// Waits until no other long record is parsed, if this one is: parsed words take many times their size in memory.
pub(super) fn alone(large: &Mutex<()>, bytes: usize) -> Option<MutexGuard<'_, ()>> {
    (bytes > LARGE_BYTES).then(|| large.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Reads the words of each record that a commit has, and gives the result of counting them to `visit` with the index of the
/// record, those of the oldest commit first. `begin` returns the counting of the record with an index; `None` if its agent is
/// not known here. Returns how many records have words that could not be read.
///
/// # Errors
///
/// If a note cannot be read, or a thread cannot be started.
pub(super) fn each_record<C: Counting>(
    reader: &Reader<'_>,
    found: &Collected,
    begin: impl Fn(usize) -> Option<C> + Sync,
    mut visit: impl FnMut(usize, C::Count),
) -> Result<Unread> {
    let mut by_commit: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, entry) in found.entries.iter().enumerate() {
        if let Some(commit) = entry.commit.filter(|_| !entry.is_lacking) {
            by_commit.entry(commit).or_default().push(index);
        }
    }
    // Commits are numbered from the newest one.
    let commits: Vec<(usize, Vec<usize>)> = by_commit.into_iter().rev().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(commits.len());
    let (git_dir, refs) = (reader.repo().git_dir(), reader.refs());
    // Of two threads, each reads every second commit, so that their results can be taken in the order of commits.
    let work = |number: usize, sender: &SyncSender<Result<ReadRecords<C::Count>>>| {
        let repo = Repository::open_git_dir(git_dir)?;
        let reader = Reader::with_refs(&repo, refs.to_vec());
        for (commit, indexes) in commits.iter().skip(number).step_by(threads) {
            let read = read_commit(&reader, found, *commit, indexes, &begin)?;
            if sender.send(Ok(read)).is_err() {
                break;
            }
        }
        Ok(())
    };
    let mut unread = Unread::default();
    std::thread::scope(|scope| -> Result<()> {
        let start = |number| -> std::io::Result<Receiver<_>> {
            let (sender, receiver) = sync_channel(MAX_AHEAD);
            let run = move || {
                if let Err(error) = work(number, &sender) {
                    // Nobody waits for it after an error of another thread.
                    let _ = sender.send(Err(error));
                }
            };
            std::thread::Builder::new().spawn_scoped(scope, run)?;
            Ok(receiver)
        };
        let receivers = (0..threads).map(start).collect::<std::io::Result<Vec<_>>>();
        let receivers = receivers.map_err(|error| Error::other("cannot start a thread").because(error))?;
        for number in 0..commits.len() {
            // A thread that ends early has panicked, and so does the scope.
            let Ok(read) = receivers[number % threads].recv() else { break };
            let read = read?;
            unread = unread.plus(read.unread);
            read.counts.into_iter().for_each(|(index, count)| visit(index, count));
        }
        Ok(())
    })?;
    Ok(unread)
}

/// Reads the words of some records of a commit.
fn read_commit<C: Counting>(
    reader: &Reader<'_>,
    found: &Collected,
    commit: usize,
    indexes: &[usize],
    begin: impl Fn(usize) -> Option<C>,
) -> Result<ReadRecords<C::Count>> {
    let mut read = ReadRecords { counts: Vec::new(), unread: Unread::default() };
    let summary = |index: usize| &found.entries[index].summary;
    let mut lines = reader.line_reader()?;
    let mut earlier: HashMap<&SessionKey, usize> = HashMap::new();
    for index in indexes.iter().copied() {
        if summary(index).through.is_none() {
            // Two of one session cannot be told apart.
            read.unread.missing += usize::from(earlier.insert(&summary(index).key, index).is_some());
            continue;
        }
        let Some(mut counting) = begin(index) else {
            read.unread.missing += 1;
            continue;
        };
        match lines.each_block(summary(index), |block| counting.add(block)) {
            Ok(()) => read.counts.push((index, counting.end(reader))),
            Err(why) => read.unread.add(why),
        }
    }
    if earlier.is_empty() {
        return Ok(read);
    }
    // What an earlier tool recorded has its words in the note.
    let note = reader.note(found.commits[commit].commit_id)?.unwrap_or_default();
    reader.each_conversation(&note, None, false, Words::Shown, |conversation| {
        let of = &conversation.summary;
        let index = if of.through.is_none() { earlier.remove(&of.key) } else { None };
        let Some(index) = index else { return Ok(ControlFlow::Continue(())) };
        match begin(index) {
            Some(mut counting) if conversation.problems.is_empty() => {
                counting.add(&conversation.bytes);
                read.counts.push((index, counting.end(reader)));
            }
            Some(_) if conversation.is_too_large && !conversation.is_damaged() => read.unread.too_large += 1,
            _ => read.unread.missing += 1,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    read.unread.missing += earlier.len();
    Ok(read)
}
