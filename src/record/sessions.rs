//! The sessions of one note, read one after the other. A note can have thousands, so it is read once for all of them, and
//! their unpacked size is limited together.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::conversation::ends;
use super::{Conversation, Note, Query, Reader, Summary, Unit, Words, bounds};
use crate::error::Result;
use crate::git::{ObjectId, Range};
use crate::transcript::SessionKey;

/// Sub-agents by the session that they worked for, each with a commit that has it.
pub type SubAgents = HashMap<SessionKey, Vec<(ObjectId, SessionKey)>>;

/// The note of a commit, by the sessions in it.
pub struct Sessions {
    note: Note,
    /// What the records say, those of sub-agents after their sessions, hidden ones last; each with the number of its unit.
    summaries: Vec<(Summary, Option<usize>)>,
    /// The numbers of a session's summaries.
    of: HashMap<SessionKey, Vec<usize>>,
    /// The sub-agents of a session, in the order of the note.
    sub_agents: HashMap<SessionKey, Vec<SessionKey>>,
    budget: bounds::Budget,
}

impl Sessions {
    /// Orders the records of a note.
    pub(super) fn new(note: Note) -> Self {
        let units =
            note.units().iter().enumerate().filter_map(|(number, unit)| Some((Summary::of(unit)?, Some(number))));
        let mut summaries = super::summary::in_order(units.collect());
        summaries.extend(note.hidden().iter().map(|hidden| (Summary::of_hidden(hidden), None)));
        let mut of: HashMap<SessionKey, Vec<usize>> = HashMap::new();
        let mut sub_agents: HashMap<SessionKey, Vec<SessionKey>> = HashMap::new();
        for (number, (summary, _)) in summaries.iter().enumerate() {
            let key = &summary.key;
            let numbers = of.entry(key.clone()).or_default();
            if let Some(parent) = key.parent().filter(|_| numbers.is_empty()) {
                sub_agents.entry(parent).or_default().push(key.clone());
            }
            numbers.push(number);
        }
        Sessions { note, summaries, of, sub_agents, budget: bounds::Budget::default() }
    }

    /// Returns the summaries of all records, in the order of [`Note::summaries`].
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.summaries.iter().map(|(summary, _)| summary)
    }

    /// Says whether the note has a session.
    pub fn has(&self, key: &SessionKey) -> bool {
        self.of.contains_key(key)
    }

    /// Returns the sub-agents of a session.
    pub fn sub_agents(&self, key: &SessionKey) -> &[SessionKey] {
        self.sub_agents.get(key).map_or(&[], Vec::as_slice)
    }

    /// Returns the summaries of the records of a session.
    pub fn of(&self, key: &SessionKey) -> impl Iterator<Item = &Summary> {
        self.of.get(key).into_iter().flatten().map(|number| &self.summaries[*number].0)
    }

    /// Returns the length of a session's transcript when it was recorded, in bytes.
    pub fn bytes_of(&self, key: &SessionKey) -> u64 {
        let numbers = self.of.get(key).into_iter().flatten().filter_map(|number| self.summaries[*number].1);
        let bytes = numbers.filter_map(|unit| match &self.note.units()[unit] {
            Unit::Record(record) => Some(record.bytes),
            _ => None,
        });
        bytes.max().unwrap_or(0)
    }
}

impl Reader<'_> {
    /// Reads the note of a commit, to read its sessions; `None` if it has none.
    ///
    /// # Errors
    ///
    /// As [`Reader::note`].
    pub fn sessions(&self, commit_id: ObjectId) -> Result<Option<Sessions>> {
        Ok(self.note(commit_id)?.map(Sessions::new))
    }

    /// Does the same with the blobs of a note, as [`Reader::note_of_blobs`].
    ///
    /// # Errors
    ///
    /// As that.
    pub fn sessions_of_blobs(&self, blob_ids: &[ObjectId]) -> Result<Sessions> {
        self.note_of_blobs(blob_ids).map(Sessions::new)
    }

    /// Returns the sub-agents that are recorded on a commit or on those before it, by the session that they worked for: in the
    /// order in which they were recorded, each with the last commit that has it. Reads the notes of all commits before it.
    ///
    /// # Errors
    ///
    /// As [`Reader::each`].
    pub fn sub_agents_until(&self, commit_id: ObjectId) -> Result<SubAgents> {
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        let mut seen = HashSet::new();
        let mut found = SubAgents::new();
        self.each(&Query { range, ..Query::default() }, |listed| {
            for summary in listed.summaries.into_iter().rev() {
                let Some(parent) = summary.key.parent() else { continue };
                if seen.insert(summary.key.clone()) {
                    found.entry(parent).or_default().push((listed.commit.commit_id, summary.key));
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        found.values_mut().for_each(|sub_agents| sub_agents.reverse());
        Ok(found)
    }

    /// Visits the conversations of a session as the note has them; with `is_full` the whole session up to the end of
    /// its last record. A conversation that is left out, because the earlier ones were too large, has a problem that says so.
    ///
    /// # Errors
    ///
    /// What `visit` returns.
    pub fn each_of_session(
        &self,
        sessions: &mut Sessions,
        key: &SessionKey,
        is_full: bool,
        mut visit: impl FnMut(Conversation) -> Result<()>,
    ) -> Result<()> {
        let Sessions { note, summaries, of, budget, .. } = sessions;
        let numbers = of.get(key).into_iter().flatten().map(|number| &summaries[*number]);
        let (recorded, hidden): (Vec<_>, Vec<_>) = numbers.partition(|(_, unit)| unit.is_some());
        let ends = is_full.then(|| ends(recorded.iter().map(|(summary, _)| summary)));
        let recorded = recorded.into_iter().enumerate();
        for (_, (summary, unit)) in
            recorded.filter(|(number, _)| ends.as_ref().is_none_or(|ends| ends.contains(number)))
        {
            let Some(unit) = unit.map(|unit| &note.units()[unit]) else { continue };
            visit(self.conversation(summary.clone(), unit, is_full, Words::Shown, budget))?;
        }
        let hidden = hidden.into_iter().zip(note.hidden().iter().filter(|hidden| hidden.key == *key));
        for ((summary, _), hidden) in hidden {
            visit(Conversation::hidden(summary.clone(), hidden))?;
        }
        Ok(())
    }
}
