//! Counting answers from the recorded words themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use twox_hash::XxHash3_64;

use super::price::RowFinder;
use super::reading::{Counting, alone, each_record};
use super::{Answer, Collected, Prices, Unread, Used};
use crate::agent::{self, Parser};
use crate::error::Result;
use crate::git::ObjectId;
use crate::git::date::Time;
use crate::record;
use crate::record::{CountedWords, Reader, Summary};
use crate::transcript::{Before, EditedPath, Message, ModelUsage, SessionKey, Tally, Tokens, active_gap};

/// Replaces the tokens of records by those of the answers in their words; the answers of a record that have the same
/// prices in `prices` are added up. An answer that several sessions have, as after a fork, counts once, in the oldest record, and so do the
/// turns up to it; an answer that a commit cuts in two counts in both records with its parts. Records whose words cannot be
/// read keep their tokens; their number is returned.
///
/// # Errors
///
/// If a note cannot be read, or a thread cannot be started.
pub fn read_words(reader: &Reader<'_>, found: &mut Collected, prices: &Prices) -> Result<Unread> {
    let summaries = found.entries.iter().filter(|entry| !entry.is_lacking).map(|entry| &entry.summary);
    let ends = summaries.filter_map(|summary| {
        let end =
            summary.within.as_ref().map_or(End::Segment(summary.through.as_deref()?), |within| End::After(within.end));
        Some((&summary.key, end))
    });
    let ends: HashSet<(&SessionKey, End<'_>)> = ends.collect();
    let large = Mutex::new(());
    let begin = |index: usize| {
        let entry = &found.entries[index];
        let commit = entry.commit.filter(|_| entry.summary.edits.is_empty()).map(|at| found.commits[at].commit_id);
        RecordWords::of(&entry.summary, &ends, commit, &large)
    };
    let (mut seen, mut sessions, mut rows) = (Seen::new(), BTreeMap::new(), RowFinder::new(prices));
    let (mut counted, mut last_times) = (Vec::new(), HashMap::new());
    let unread = each_record(reader, found, begin, |index, count: RecordCount| {
        let summary = &found.entries[index].summary;
        let mut totals = match summary.within {
            // Records of earlier versions have no time, and may count turns in another way.
            None => count.totals,
            // A part of an increment counts as its record.
            Some(_) => Totals { turns: summary.turns, messages: summary.messages, active: summary.active },
        };
        if summary.within.is_none() {
            let since = summary.since.as_deref().map(|since| name(&[&summary.key.agent, &summary.key.id, since]));
            let last = since.and_then(|since| last_times.get(&since).copied()).or(count.time_before);
            totals.active = totals.active.map(|active| active.saturating_add(count.gap_after(last)));
        }
        if let (Some(through), Some((_, last))) = (&summary.through, count.times) {
            last_times.insert(name(&[&summary.key.agent, &summary.key.id, through]), last);
        }
        if summary.key.parent_id().is_none() {
            totals = totals.without(&repeated(&summary.key, count.totals_at, &mut sessions));
        }
        let used = new_tokens(count.answers, &count.before, &mut seen);
        let worked = found.time_of(&found.entries[index]);
        counted.push((index, totals, priced_together(used, &mut rows, &worked), count.edits));
    })?;
    for (index, totals, used, edits) in counted {
        let entry = &mut found.entries[index];
        let Totals { turns, messages, active } = totals;
        (entry.summary.turns, entry.summary.messages, entry.summary.active) = (turns, messages, active);
        entry.used = used;
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

/// Returns what comes before a record, of which the last answers can go on in it: the record before it counts them, and nobody
/// chose that one. Nothing if what counts of one of those that were chosen ends there.
fn before(reader: &Reader<'_>, summary: &Summary, ends: &HashSet<(&SessionKey, End<'_>)>) -> Before {
    let key = &summary.key;
    let Some(since) = summary.since.as_deref() else { return Before::default() };
    let is_end_of_part = || {
        let has_parts = ends.iter().any(|(of, end)| *of == key && matches!(end, End::After(_)));
        let header = if has_parts { reader.segment_header(key, since) } else { None };
        header.is_some_and(|header| ends.contains(&(key, End::After(header.total_bytes()))))
    };
    if ends.contains(&(key, End::Segment(since))) || is_end_of_part() {
        return Before::default();
    }
    let since_id = reader.repo().parse_id(since);
    since_id.map_or_else(Before::default, |id| record::before(&reader.archive(), key, id))
}

/// The turns, messages and seconds of work of a conversation, or of its beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    turns: u64,
    messages: u64,
    active: Option<u64>,
}

impl Totals {
    fn of(tally: &Tally) -> Self {
        Totals { turns: tally.turns, messages: tally.messages, active: Some(tally.active_secs) }
    }

    fn without(self, other: &Totals) -> Self {
        Totals {
            turns: self.turns.saturating_sub(other.turns),
            messages: self.messages.saturating_sub(other.messages),
            active: self.active.map(|active| active.saturating_sub(other.active.unwrap_or(0))),
        }
    }
}

/// The digest of what distinguishes an answer. A repository can have so many answers that their names take too much memory.
type Name = u64;

/// The answers that were seen, by the names of [`names`], with the tokens that were counted for each. A hash map would need twice
/// the memory while it grows.
type Seen = BTreeMap<Name, Tokens>;

/// An answer, or a record of one that has no id.
#[derive(Default)]
struct Answered {
    /// See [`names`]; empty if it has no id.
    names: Vec<Name>,
    usage: ModelUsage,
    time: Option<i64>,
}

/// The counts of a record's words.
struct RecordCount {
    totals: Totals,
    /// Those with an id in the order of their ids, each with its largest count.
    answers: Vec<Answered>,
    /// The answers before the record that can go on in it, with what they had used by then.
    before: Seen,
    /// When the last message before it was written, if no record that counts ends there.
    time_before: Option<i64>,
    /// When its first and its last message were written.
    times: Option<(i64, i64)>,
    /// The totals at the end of each answer, except those whose id other sessions have for other answers.
    totals_at: Vec<(Name, Totals)>,
    /// The files that it changed, if the record does not tell them.
    edits: Option<Vec<EditedPath>>,
}

/// Counts the words of a record while they are read.
struct RecordWords<'f> {
    summary: &'f Summary,
    /// Where the records that count end.
    ends: &'f HashSet<(&'f SessionKey, End<'f>)>,
    /// The commit that has the record, if its files are looked for.
    commit_id: Option<ObjectId>,
    large: &'f Mutex<()>,
    parser: Box<dyn Parser>,
    words: CountedWords,
    named: BTreeMap<String, Answered>,
    unnamed: Vec<Answered>,
    last_model: Option<String>,
    totals_at: Vec<(Name, Totals)>,
}

impl<'f> RecordWords<'f> {
    /// Begins with a record; `None` if its agent is not known here.
    fn of(
        summary: &'f Summary,
        ends: &'f HashSet<(&'f SessionKey, End<'f>)>,
        commit_id: Option<ObjectId>,
        large: &'f Mutex<()>,
    ) -> Option<Self> {
        Some(RecordWords {
            summary,
            ends,
            commit_id,
            large,
            parser: agent::find(&summary.key.agent)?.parser(),
            words: CountedWords::default(),
            named: BTreeMap::new(),
            unnamed: Vec::new(),
            last_model: None,
            totals_at: Vec::new(),
        })
    }

    fn add_message(&mut self, message: Message) {
        self.words.tally.add(std::slice::from_ref(&message));
        if let Some(id) = message.answer_id.as_deref().filter(|id| !message.is_sidechain && !id.starts_with('@')) {
            let name = name(&[&self.summary.key.agent, id]);
            self.totals_at.pop_if(|(last, _)| *last == name);
            self.totals_at.push((name, Totals::of(&self.words.tally)));
        }
        self.last_model = message.model.clone().or_else(|| self.last_model.take());
        let Some(tokens) = message.usage else { return };
        let usage = ModelUsage { model: message.model, tier: message.tier, tokens };
        match message.answer_id {
            None => self.unnamed.push(Answered { names: Vec::new(), usage, time: message.time }),
            Some(id) => self.named.entry(id).or_default().go_on(usage, message.time),
        }
    }
}

impl Counting for RecordWords<'_> {
    type Count = RecordCount;

    fn add(&mut self, lines: &[u8]) {
        if self.commit_id.is_some() {
            self.words.locate(lines);
        }
        let _alone = alone(self.large, lines.len());
        self.parser.parse(lines).into_iter().for_each(|message| self.add_message(message));
    }

    fn end(self, reader: &Reader<'_>) -> RecordCount {
        let key = &self.summary.key;
        // Only where this record goes on in them: another record can have them whole.
        let of_answer =
            |(id, tokens): (String, Tokens)| names(key, &id, None, tokens).into_iter().map(move |name| (name, tokens));
        let Before { answers, time: time_before } = before(reader, self.summary, self.ends);
        let before = answers.into_iter().flat_map(of_answer).collect();
        let named = self.named.into_iter().map(|(id, answer)| {
            let names = names(key, &id, answer.time, answer.usage.tokens);
            Answered { names, ..answer }
        });
        let mut answers: Vec<Answered> = self.unnamed.into_iter().chain(named).collect();
        let last = self.last_model.or_else(|| self.summary.model.clone());
        for Answered { usage, .. } in &mut answers {
            usage.model = usage.model.take().or_else(|| last.clone());
        }
        let edits = self.commit_id.map(|id| reader.edits_of(id, &self.words));
        let tally = &self.words.tally;
        let (totals, times) = (Totals::of(tally), tally.first_time.zip(tally.last_time));
        RecordCount { totals, answers, before, time_before, times, totals_at: self.totals_at, edits }
    }
}

impl RecordCount {
    /// Returns for how many seconds somebody was at work between the last message before the record and its first.
    fn gap_after(&self, last: Option<i64>) -> u64 {
        last.zip(self.times).map_or(0, |(last, (first, _))| active_gap(last, first))
    }
}

impl Answered {
    /// Adds what a further record tells of the answer.
    fn go_on(&mut self, usage: ModelUsage, time: Option<i64>) {
        self.time = self.time.or(time);
        let known = &mut self.usage;
        known.model = usage.model.or_else(|| known.model.take());
        known.tier = usage.tier.or_else(|| known.tier.take());
        known.tokens = known.tokens.max(usage.tokens);
    }
}

/// Returns what a record counts up to the last answer that an older record of another session has: a fork begins with a copy
/// of its session. `sessions` are those of the answers so far.
fn repeated(key: &SessionKey, totals_at: Vec<(Name, Totals)>, sessions: &mut BTreeMap<Name, Name>) -> Totals {
    let session = name(&[&key.agent, &key.id]);
    let mut repeated = Totals::default();
    for (answer, totals) in totals_at {
        if *sessions.entry(answer).or_insert(session) != session {
            repeated = totals;
        }
    }
    repeated
}

/// Returns the tokens of answers, without those that were counted before: of an answer that goes on in the next record, or that a
/// fork repeats, the largest count holds. `before` are the answers that can go on here, as the record before counts them.
fn new_tokens(answers: Vec<Answered>, before: &Seen, seen: &mut Seen) -> Vec<Used> {
    let mut used = Vec::new();
    for Answered { names, usage, time } in answers {
        let known = names.iter().flat_map(|name| [seen.get(name), before.get(name)]).flatten().copied();
        let known = known.reduce(Tokens::max);
        let whole = usage.tokens.max(known.unwrap_or_default());
        let tokens = usage.tokens.minus(known.unwrap_or_default());
        // Without an id, a record is an answer.
        if names.is_empty() || known.is_none() || tokens.total() > 0 {
            let answer = Some(Answer { time, given: whole.given() });
            used.push(Used { usage: ModelUsage { tokens, ..usage }, answer });
        }
        seen.extend(names.into_iter().map(|name| (name, whole)));
    }
    used
}

/// Adds up the answers that have the same prices, sorted by model and tier: those of one day that are all above or all below the
/// bound of long input. Those that do not tell how long the cache keeps what they wrote, and those without any price, stay
/// apart from the others, since it is told that there are some. An answer without a time was given at `worked` (RFC 3339).
fn priced_together(used: Vec<Used>, rows: &mut RowFinder<'_>, worked: &str) -> Vec<Used> {
    let mut together: BTreeMap<_, Used> = BTreeMap::new();
    for Used { mut usage, answer } in used {
        let time = answer.and_then(|answer| answer.time);
        let time = time.map_or_else(|| worked.to_owned(), |seconds| Time { seconds, offset: 0 }.to_rfc3339());
        let bound = rows.find(&usage, &time).and_then(|row| row.above.as_ref()).map(|(bound, _)| *bound);
        let is_long = answer.is_some_and(|answer| bound.is_some_and(|bound| answer.given > bound));
        let is_unknown = rows.cost(&usage, &time, answer.map(|answer| answer.given)).is_unknown();
        let tokens = &mut usage.tokens;
        // A part is no more than the whole of each answer.
        tokens.cache_write_long = tokens.cache_write_long.map(|long| long.min(tokens.cache_write));
        let (tokens, is_told) = (*tokens, tokens.cache_write_long.is_some());
        let key = (usage.model.clone(), usage.tier.clone(), time[..10].to_owned(), is_long, is_told, is_unknown);
        let sum = together.entry(key).or_insert_with(|| {
            let usage = ModelUsage { tokens: Tokens::default(), ..usage };
            Used { usage, answer }
        });
        sum.usage.tokens = sum.usage.tokens.plus(tokens);
    }
    together.into_values().collect()
}

/// Returns the names under which an answer may have been seen. Where an id is unique in its session alone, a fork repeats it
/// with its time and tokens.
fn names(key: &SessionKey, id: &str, time: Option<i64>, tokens: Tokens) -> Vec<Name> {
    let agent = &key.agent;
    if !id.starts_with('@') {
        return vec![name(&[agent, id])];
    }
    let own = name(&[agent, &key.id, id]);
    time.map(|time| name(&[agent, id, &time.to_string(), &format!("{tokens:?}")])).into_iter().chain([own]).collect()
}

fn name(parts: &[&str]) -> Name {
    XxHash3_64::oneshot(parts.join("\0").as_bytes())
}
