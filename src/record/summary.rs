//! The data of records, in one form for all tools and versions that wrote them.

use std::collections::HashMap;

use super::{Hidden, Note, Record, Unit, edits, newer};
use crate::told::Told;
use crate::transcript::{EditedPath, Message, ModelUsage, SessionKey, Tally, Tokens, UsageSums};

/// The most models of one record that are told apart: each counts for each file. Real sessions have a few.
const MAX_MODELS: usize = 16;
/// The longest name of a model, in bytes.
const MAX_MODEL_BYTES: usize = 200;

/// The data of one record or document.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The session.
    pub key: SessionKey,
    /// The model.
    pub model: Option<String>,
    /// When the record was made; RFC 3339.
    pub time: String,
    /// The first prompt of the increment, shortened; for a hidden record the author of the purge mark.
    pub prompt: Option<String>,
    /// A summary of the conversation, if one was written.
    pub summary: Option<String>,
    /// The number of prompts in the increment.
    pub turns: u64,
    /// The number of prompts and assistant texts in the increment.
    pub messages: u64,
    /// The tokens that the increment used.
    pub tokens: Option<Tokens>,
    /// The tokens of each model; empty if they are unknown.
    pub usage: Vec<ModelUsage>,
    /// The files of the repository that calls of the increment changed; empty if none did or nothing is known.
    pub edits: Vec<EditedPath>,
    /// The seconds of the increment in which somebody was at work.
    pub active: Option<u64>,
    /// The length of the whole transcript up to the end of the increment; 0 if it is unknown.
    pub bytes: u64,
    /// The segment that the increment begins after; `None` for the beginning of the session.
    pub since: Option<String>,
    /// The segment that the increment ends with; `None` if the words are not in the archive.
    pub through: Option<String>,
    /// The digest of the whole transcript up to there.
    pub sha256: String,
    /// The trees of the commits that it was made for, in hex: several if it was joined.
    pub trees: Vec<String>,
    /// Where what counts of it lies in the transcript, in bytes; `None` for all of the increment.
    pub within: Option<std::ops::Range<u64>>,
    /// The instruction files that the agent had read; `None` if that is not known.
    pub rules: Option<Told>,
    /// Whether the record is hidden by a purge mark of others.
    pub is_removed: bool,
    /// The version of the record's format, if it is newer than this program.
    pub newer_version: Option<u64>,
}

impl Summary {
    /// Says whether the name of a model has a part: of one with tokens in the increment, or of the last one.
    pub fn has_model(&self, part: &str) -> bool {
        let models = self.usage.iter().map(|usage| &usage.model).chain([&self.model]);
        models.flatten().any(|model| model.contains(part))
    }

    /// Returns the data of a record that says no more than its session and its time.
    fn new(key: SessionKey, time: String) -> Summary {
        Summary {
            key,
            model: None,
            time,
            prompt: None,
            summary: None,
            turns: 0,
            messages: 0,
            tokens: None,
            usage: Vec::new(),
            edits: Vec::new(),
            active: None,
            bytes: 0,
            since: None,
            through: None,
            sha256: String::new(),
            trees: Vec::new(),
            within: None,
            rules: None,
            is_removed: false,
            newer_version: None,
        }
    }

    /// Returns the summary that is shown in place of a hidden record.
    pub(super) fn of_hidden(hidden: &Hidden) -> Summary {
        let prompt = Some(hidden.removed_by.clone());
        Summary { prompt, is_removed: true, ..Summary::new(hidden.key.clone(), hidden.time.clone()) }
    }

    pub(super) fn of_record(record: &Record) -> Summary {
        Summary {
            key: record.key(),
            model: record.model.clone().map(short_name),
            time: record.time.clone(),
            prompt: record.prompt.clone(),
            summary: record.summary.clone(),
            turns: record.turns,
            messages: record.messages,
            tokens: record.tokens,
            usage: few_models(record.usage_by_model()),
            edits: edits::few(record.edits.clone(), edits::MAX_READ),
            active: record.active,
            bytes: record.bytes,
            since: record.since.clone(),
            through: Some(record.through.clone()).filter(|through| !through.is_empty()),
            sha256: record.sha256.clone(),
            trees: record.tree.iter().chain(&record.joined_trees).cloned().collect(),
            within: None,
            rules: record.rules.clone(),
            is_removed: false,
            newer_version: None,
        }
    }

    /// Replaces the counts of the increment by those of messages: of the whole session.
    pub(super) fn count(&mut self, messages: &[Message]) {
        let mut tally = Tally::default();
        tally.add(messages);
        (self.turns, self.messages) = (tally.turns, tally.messages);
        if let Some(tokens) = tally.tokens() {
            (self.tokens, self.usage) = (Some(tokens), few_models(tally.usage()));
        }
        self.active = tally.first_time.map(|_| tally.active_secs).or(self.active);
    }

    /// Returns the same record with no counts, of which no part counts.
    pub fn without_counts(&self) -> Summary {
        let usage = self.usage.iter().map(|usage| ModelUsage { tokens: Tokens::default(), ..usage.clone() });
        let (turns, messages, tokens, active) = (0, 0, None, None);
        Summary { turns, messages, tokens, active, usage: usage.collect(), edits: Vec::new(), ..self.clone() }
    }

    /// Returns the model that answered last, or the one that all tokens are of: records of sub-agents do not tell the last.
    pub fn only_model(&self) -> Option<&str> {
        let mut models = self.usage.iter().map(|usage| usage.model.as_deref());
        let first = models.next().flatten();
        self.model.as_deref().or_else(|| first.filter(|_| models.all(|model| model == first)))
    }

    /// Returns the prompt for people: with an ellipsis if it may have been cut.
    pub fn shown_prompt(&self) -> Option<String> {
        self.prompt.as_deref().map(super::shown_prompt)
    }

    /// Returns the notice that is shown for a record of a newer version; `None` for other records.
    pub fn newer_notice(&self) -> Option<String> {
        self.newer_version.map(newer::notice)
    }

    /// Returns the data of a unit; `None` for a line that is not a record.
    pub(super) fn of(unit: &Unit) -> Option<Summary> {
        match unit {
            Unit::Record(record) => Some(Summary::of_record(record)),
            Unit::Newer(newer) => {
                Some(Summary { newer_version: Some(newer.version), ..Summary::of_record(&newer.record) })
            }
            Unit::Earlier(earlier, _) => Some(Summary {
                turns: earlier.turns(),
                messages: earlier.message_count,
                tokens: earlier.tokens(),
                usage: few_models(earlier.usage()),
                model: earlier.model.clone().map(short_name),
                ..Summary::new(earlier.key(), earlier.timestamp.clone())
            }),
            Unit::Foreign(_) => None,
        }
    }
}

impl Note {
    /// Returns the data of all records, those of sub-agents after their sessions, hidden records last.
    pub fn summaries(&self) -> Vec<Summary> {
        let hidden: Vec<Summary> = self.hidden().iter().map(Summary::of_hidden).collect();
        let summaries = self.units().iter().filter_map(|unit| Some((Summary::of(unit)?, ()))).collect();
        in_order(summaries).into_iter().map(|(summary, ())| summary).chain(hidden).collect()
    }
}

/// Returns the tokens of a record by model. Of too many models, those with the fewest tokens become one without a name, so
/// that the sum stays.
fn few_models(mut usage: Vec<ModelUsage>) -> Vec<ModelUsage> {
    for one in &mut usage {
        one.model = one.model.take().map(short_name);
        one.tier = one.tier.take().map(short_name);
    }
    if usage.len() <= MAX_MODELS {
        return usage;
    }
    usage.sort_by_key(|one| std::cmp::Reverse(one.tokens.total()));
    let rest = usage.split_off(MAX_MODELS - 1);
    let rest = rest.into_iter().map(|one| ModelUsage { model: None, tier: None, ..one });
    usage.into_iter().chain(rest).collect::<UsageSums>().list().collect()
}

/// Returns the name of a model, cut if it is none.
fn short_name(mut name: String) -> String {
    if name.len() > MAX_MODEL_BYTES {
        let cut = (0..=MAX_MODEL_BYTES).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(cut);
        name.push('…');
    }
    name
}

/// Moves sub-agents after their sessions.
pub(super) fn in_order<T>(mut units: Vec<(Summary, T)>) -> Vec<(Summary, T)> {
    if units.iter().any(|(summary, _)| summary.key.parent_id().is_some()) {
        let mut order: HashMap<SessionKey, usize> = HashMap::new();
        for (at, (summary, _)) in units.iter().enumerate() {
            order.entry(summary.key.clone()).or_insert(at);
        }
        let at = |key: &SessionKey| order.get(key).copied();
        units.sort_by_cached_key(|(summary, _)| {
            let parent = summary.key.parent_id().map(|id| SessionKey::new(&summary.key.agent, id));
            (parent.as_ref().and_then(at).or_else(|| at(&summary.key)), parent.is_some())
        });
    }
    units
}
