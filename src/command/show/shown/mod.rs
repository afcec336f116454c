//! The output of one run of `git shiftlog show`, commit by commit.

mod narrowed;

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::paths::Pathspecs;
use super::session::{Group, parents, print};
use super::{Amount, Options, observed};
use crate::cli::{self, Screen};
use crate::command::{change, target};
use crate::error::Result;
use crate::git::{Commit, ObjectId, Range, Repository, date};
use crate::outside;
use crate::pretty::{self, RecordOrigin, SubAgent, Tasks};
use crate::record::{Conversation, Evidence, MissingWords, Note, Query, Reader, SubAgents, Summary, Words};
use crate::transcript::{WantedPaths, about, turn_numbers};

/// For how many sessions of a commit earlier commits are asked what a session continues and what its agent was told before:
/// each time up to some hundred notes are read, and a note that others push can have thousands of sessions.
const MAX_LOOKED_BACK: usize = 16;

/// The options of one run, its output, and what its exit code and hints depend on.
pub struct Shown<'a> {
    repo: &'a Repository,
    options: &'a Options,
    /// The paths that turns are wanted about; all are wanted if there are none.
    paths: Pathspecs,
    /// The files that these paths match at the present commit; `None` if there are no paths.
    wanted: Option<WantedPaths>,
    dates: date::Format,
    /// Started with the first thing to show, so that an error alone does not flash by in a pager.
    screen: Option<Screen>,
    has_problems: bool,
    lacks_words: bool,
    /// Whether others have removed something.
    is_hidden: bool,
    /// Whether something of the present commit was shown.
    has_shown: bool,
    /// Whether a conversation of the present commit was not removed by others.
    has_words: bool,
    /// Why a conversation of the present commit has no turns to choose from.
    words_problem: Option<String>,
    /// Whether a conversation of the present commit has a turn with a wanted number.
    has_turn: bool,
    /// The evidence of the present commit.
    evidence: Vec<Evidence>,
    /// The sub-agents of the present commit and those before it, if they are wanted.
    sub_agents: SubAgents,
    /// How many sessions of the present commit were shown. Only for the first ones are the notes of earlier commits read.
    session_count: usize,
}

impl<'a> Shown<'a> {
    /// Returns the output of one run, with nothing shown yet.
    pub fn new(repo: &'a Repository, options: &'a Options, paths: Pathspecs, dates: date::Format) -> Self {
        Shown {
            repo,
            options,
            wanted: None,
            paths,
            dates,
            screen: None,
            has_problems: false,
            lacks_words: false,
            is_hidden: false,
            has_shown: false,
            has_words: false,
            words_problem: None,
            has_turn: false,
            evidence: Vec::new(),
            sub_agents: SubAgents::new(),
            session_count: 0,
        }
    }

    /// Takes other options for the commits that follow.
    pub fn follow(&mut self, options: &'a Options) {
        self.options = options;
    }

    /// Ends the output and gives hints about what was missing in it. Says whether there were problems.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn finish(self) -> Result<bool> {
        self.screen.map_or(Ok(()), |screen| screen.out.finish())?;
        if self.lacks_words {
            cli::hint(self.repo, "'git shiftlog sync pull --all' fetches transcripts that others share");
        }
        if self.is_hidden {
            cli::hint(self.repo, "'git shiftlog purge --received --dry-run' lists what others have removed");
        }
        Ok(self.has_problems)
    }

    /// Shows what is recorded on a commit: its conversations, its evidence, and its change if that is wanted.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`](crate::error::Kind::Missing) if there is no such commit, or nothing to show on it.
    pub fn commit(&mut self, reader: &Reader<'_>, revision: &str) -> Result<()> {
        let commit_id = target::commit_of(self.repo, revision)?;
        // Before the note is read: a large one is not in memory twice.
        self.sub_agents =
            if self.options.wants_sub_agents() { reader.sub_agents_until(commit_id)? } else { SubAgents::new() };
        self.session_count = 0;
        self.wanted = self.paths.wanted(self.repo, commit_id)?;
        let note = reader.note(commit_id)?.ok_or_else(|| target::nothing_on(self.repo, revision, "show"))?;
        for problem in note.problems() {
            cli::warning(problem);
            self.has_problems = true;
        }
        let commit = self.repo.commit(commit_id)?;
        self.evidence = if self.options.wants_evidence() { note.evidence() } else { Vec::new() };
        (self.has_shown, self.has_words, self.words_problem, self.has_turn) = (false, false, None, false);
        self.conversations(reader, &commit, &note)?;
        if !self.has_shown && !self.observed(&commit)? {
            return Err(self.nothing_shown(revision));
        }
        self.has_problems |= !self.has_words;
        self.print_evidence(reader)?;
        self.change(commit_id)
    }

    /// Shows the conversations of a commit one after the other: only one is in memory, with its sub-agents.
    fn conversations(&mut self, reader: &Reader<'_>, commit: &Commit, note: &Note) -> Result<()> {
        let origin = RecordOrigin::of(commit, note.trees());
        let words = if self.options.raw { Words::All } else { Words::Shown };
        let session = self.options.session.as_deref();
        let is_folding = !self.options.raw && !self.options.json.is_on;
        let parents = if is_folding { parents(&note.summaries()) } else { HashSet::new() };
        let mut group: Option<Group> = None;
        reader.each_conversation(note, session, self.options.full, words, |mut conversation| {
            let about = self.about_paths(&conversation);
            let is_wanted = self.has_wanted_turn(&conversation, about.as_deref());
            if about.as_ref().is_some_and(|about| !about.contains(&true)) {
                self.take_note_of_no_words(&conversation);
                return Ok(ControlFlow::Continue(()));
            }
            let is_json = self.options.json.is_on;
            let numbers = if is_json { self.retain(&mut conversation, about.as_deref()) } else { Vec::new() };
            self.take_note_of_lack(&conversation);
            self.tell_of_earlier_records(reader, commit.commit_id, &mut conversation)?;
            if let Some(group) = group.as_mut().filter(|group| group.has(&conversation)) {
                group.sub_agents.push(SubAgent::new(conversation, self.options.depth().is_whole()));
                return Ok(ControlFlow::Continue(()));
            }
            if !is_wanted {
                self.take_note_of_no_words(&conversation);
                return Ok(ControlFlow::Continue(()));
            }
            if let Some(group) = group.take() {
                self.group(reader, commit, group)?;
            }
            // Most sessions have no sub-agents, and are not kept until the next one is read.
            let is_alone = !parents.contains(&conversation.summary.key);
            let one = Group { numbers, about, origin, ..Group::of(conversation) };
            match is_alone {
                true => self.group(reader, commit, one)?,
                false => group = Some(one),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        group.map_or(Ok(()), |group| self.group(reader, commit, group))
    }

    /// Takes note of what a conversation lacks, for the exit code and the hints. What others have removed is said in its place;
    /// it is no problem.
    fn take_note_of_lack(&mut self, conversation: &Conversation) {
        let (is_removed, lack) = (conversation.summary.is_removed, conversation.lack);
        self.is_hidden |= is_removed;
        self.has_problems |= !is_removed && lack.is_none() && !conversation.problems.is_empty();
        // With '--raw', missing words are a failure.
        self.has_problems |= self.options.raw && lack.is_some();
        self.lacks_words |= lack == Some(MissingWords::NotFetched);
        self.has_words |= !is_removed;
    }

    /// Adds to a session that is shown whole and has no words here how many records of it are on earlier commits: what is
    /// shown is the last one alone.
    fn tell_of_earlier_records(
        &self,
        reader: &Reader<'_>,
        commit_id: ObjectId,
        conversation: &mut Conversation,
    ) -> Result<()> {
        if !self.options.full || conversation.lack.is_none() || conversation.summary.since.is_none() {
            return Ok(());
        }
        let key = &conversation.summary.key;
        let range = Range { tips: vec![commit_id], hidden: Vec::new() };
        let query = Query { range, session: Some(key.id.clone()), ..Query::default() };
        let mut earlier = 0;
        reader.each(&query, |listed| {
            let is_other = |summary: &&Summary| summary.key == *key && summary.through != conversation.summary.through;
            earlier += listed.summaries.iter().filter(is_other).count();
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(problem) = conversation.problems.first_mut().filter(|_| earlier > 0) {
            let records = pretty::count(earlier as u64, "earlier record");
            problem.push_str(&format!("; the words of {records} of this session are not here either"));
        }
        Ok(())
    }

    /// Begins to show a commit that has evidence and no conversation. Says whether it is one, and evidence is wanted.
    fn observed(&mut self, commit: &Commit) -> Result<bool> {
        let is_narrow = self.options.session.is_some() || self.options.turn.is_some() || !self.paths.is_empty();
        if self.evidence.is_empty() || is_narrow {
            return Ok(false);
        }
        let (printing, repo, dates) = (&self.options.printing, self.repo, &self.dates);
        let screen = self.screen.get_or_insert_with(|| printing.priced_screen(repo, dates.clone()));
        let (evidence, is_json, end) = (&self.evidence, self.options.json.is_on, printing.end());
        screen.write(|out, style| match is_json {
            true => write!(out, "{}{end}", outside::json(&pretty::observed_object(commit, evidence))),
            false => pretty::write_commit(out, commit, style),
        })?;
        (self.has_shown, self.has_words) = (true, true);
        Ok(true)
    }

    /// Prints the evidence of the present commit.
    fn print_evidence(&mut self, reader: &Reader<'_>) -> Result<()> {
        let Some(screen) = self.screen.as_mut().filter(|_| !self.options.json.is_on) else { return Ok(()) };
        let is_whole = self.options.evidence == Some(Amount::Full) || self.options.verbose > 0;
        observed::print(screen, reader, &self.evidence, is_whole)
    }

    /// Keeps the messages of turns that are wanted and, as `about` says, about a wanted path. Returns the number of each one's
    /// turn.
    fn retain(&self, conversation: &mut Conversation, about: Option<&[bool]>) -> Vec<usize> {
        let mut numbers = turn_numbers(&conversation.messages);
        let is_wanted = |at: usize, turn: usize| {
            self.options.turn.as_ref().is_none_or(|wanted| wanted.contains(turn)) && about.is_none_or(|about| about[at])
        };
        let kept: Vec<bool> = numbers.iter().enumerate().map(|(at, turn)| is_wanted(at, *turn)).collect();
        let mut of_messages = kept.iter();
        conversation.messages.retain(|_| of_messages.next() == Some(&true));
        let mut of_numbers = kept.iter();
        numbers.retain(|_| of_numbers.next() == Some(&true));
        numbers
    }

    /// Says of each message whether its turn is about one of the wanted paths; `None` if none is wanted.
    fn about_paths(&self, conversation: &Conversation) -> Option<Vec<bool>> {
        let top = self.repo.worktree().map(|top| top.to_string_lossy());
        Some(about(&conversation.messages, self.wanted.as_ref()?, top.as_deref()))
    }

    /// Prints what a commit changed, if that is wanted.
    fn change(&mut self, commit_id: ObjectId) -> Result<()> {
        let Some(screen) = self.screen.as_mut() else { return Ok(()) };
        let options = self.options.change.options(screen, self.paths.for_git());
        change::print(screen, self.repo, commit_id, &options, "")
    }

    /// Shows a session; the first of a commit comes with the commit.
    fn group(&mut self, reader: &Reader<'_>, commit: &Commit, mut group: Group) -> Result<()> {
        let is_first = !std::mem::replace(&mut self.has_shown, true);
        let others = self.further_sub_agents(reader, commit.commit_id, &mut group)?;
        let (printing, repo, dates) = (&self.options.printing, self.repo, &self.dates);
        let screen = self.screen.get_or_insert_with(|| printing.priced_screen(repo, dates.clone()));
        let begins_within = group.conversation.messages.iter().find(|message| !message.parts.is_empty());
        let begins_within = begins_within.is_some_and(|message| !message.is_prompt() && !message.is_sidechain);
        self.session_count += 1;
        let may_look_back = self.session_count <= MAX_LOOKED_BACK;
        let continues = begins_within && !self.options.full && may_look_back;
        let continues = Some(&group.conversation.summary).filter(|_| continues);
        let continues =
            continues.and_then(|summary| reader.continued(commit.commit_id, &summary.key, summary.since.as_deref()));
        group.continues = continues.map(|(id, prompt)| (repo.abbreviate(id), prompt));
        let summary = &group.conversation.summary;
        let is_for_people = !self.options.raw && !self.options.json.is_on;
        if is_for_people && may_look_back {
            let changes = reader.told_changes(commit.commit_id, summary);
            group.told_before = changes.map(|(id, changes)| (repo.abbreviate(id), changes));
        }
        if is_for_people && !self.options.full && may_look_back && Tasks::are_made_before(&group.conversation.messages)
        {
            group.tasks = Tasks::until(reader, commit.commit_id, &group.conversation.summary.key)?;
        }
        let origin = group.origin;
        print(repo, screen, self.options, commit, group, is_first, &self.evidence)?;
        others.into_iter().try_for_each(|conversation| {
            let one = Group { origin, ..Group::of(conversation) };
            print(repo, screen, self.options, commit, one, false, &self.evidence)
        })
    }

    /// Adds the sub-agents of a session that were left out with the rest of the note, where one session was asked for, and
    /// those of earlier commits, where the whole session is shown. Returns those that have a place of their own.
    fn further_sub_agents(
        &mut self,
        reader: &Reader<'_>,
        commit_id: ObjectId,
        group: &mut Group,
    ) -> Result<Vec<Conversation>> {
        let Options { json, full, session, .. } = self.options;
        let mut found = self.sub_agents.remove(&group.conversation.summary.key).unwrap_or_default();
        let is_here = |other: &ObjectId| *other == commit_id;
        found.retain(|(other, _)| if *full { session.is_some() || !is_here(other) } else { is_here(other) });
        let mut sub_agents = Vec::new();
        let mut others = Vec::new();
        let mut of_commit = None;
        for (other, key) in found {
            if of_commit.as_ref().is_none_or(|(commit_id, _)| *commit_id != other) {
                of_commit = reader.sessions(other)?.map(|sessions| (other, sessions));
            }
            let Some((_, sessions)) = &mut of_commit else { continue };
            reader.each_of_session(sessions, &key, *full, |conversation| {
                match json.is_on {
                    true => others.push(conversation),
                    false => sub_agents.push(SubAgent::new(conversation, self.options.depth().is_whole())),
                }
                Ok(())
            })?;
        }
        group.sub_agents.splice(0..0, sub_agents);
        Ok(others)
    }
}
