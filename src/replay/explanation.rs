//! The explanation of a line: its session, its call and its prompt, and how sure that is.

use std::rc::Rc;

use super::certainty::Certainty;
use super::session_work::{Call, SessionWork};
use super::source::Source;
use crate::git::ObjectId;
use crate::transcript::SessionKey;

/// The beginning of a turn that an earlier commit recorded.
#[derive(Debug)]
pub struct Continued {
    /// The commit.
    pub commit_id: ObjectId,
    /// Its short name.
    pub commit_name: String,
    /// The prompt, as a record holds it.
    pub prompt: Rc<str>,
}

/// The explanation of a line.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// How sure it is.
    pub certainty: Certainty,
    /// The sessions of the line's commit.
    pub source: Rc<Source>,
    /// The session among them, and the call if one is named.
    pub(super) place: Option<(usize, Option<usize>)>,
    /// The path that the call wrote the line to, if that is another one.
    pub other_path: Option<String>,
    /// The commit whose record has the session, if that is not the line's.
    pub recorded_on: Option<ObjectId>,
    /// The commit that recorded the prompt, if the turn began before what the record has.
    pub continues: Option<Rc<Continued>>,
    /// Whether several edits of the file have the line, and none is named.
    pub is_in_several: bool,
    /// Why the edits of the file were not done again.
    pub(super) problem: Option<&'static str>,
}

impl Explanation {
    /// Returns the work of the session that wrote the line.
    pub fn work(&self) -> Option<&SessionWork> {
        self.source.sessions.get(self.place?.0)
    }

    /// Returns the call.
    pub fn call(&self) -> Option<&Call> {
        self.work()?.calls.get(self.place?.1?)
    }

    /// Returns the model that made the call, or else the one that the record names.
    pub fn model(&self) -> Option<&str> {
        let of_call = self.call().and_then(|call| call.model.as_deref());
        of_call.or_else(|| self.work()?.model.as_deref())
    }

    /// Returns the prompt that led to the line. For a sub-agent that of the session that sent it.
    pub fn prompt(&self) -> Option<Rc<str>> {
        self.own_prompt().or_else(|| Some(Rc::clone(&self.continues.as_ref()?.prompt)))
    }

    /// Returns the prompt that led to the line, if the words that were read have it.
    fn own_prompt(&self) -> Option<Rc<str>> {
        let (work, call) = (self.work()?, self.call()?);
        if work.key.parent_id().is_none() {
            return call.prompt.clone();
        }
        self.session()?.prompt_that_sent(&work.key, call.time)
    }

    /// Returns the work of the session, for a sub-agent that of the session that sent it.
    fn session(&self) -> Option<&SessionWork> {
        let work = self.work()?;
        let Some(parent) = work.key.parent_id() else { return Some(work) };
        let parent = SessionKey::new(&work.key.agent, parent);
        self.source.sessions.iter().find(|work| work.key == parent)
    }

    /// Returns the session whose earlier records may have the prompt, if the words that were read do not.
    pub(super) fn begun_before(&self) -> Option<&SessionWork> {
        let session = self.session().filter(|session| session.since.is_some() && !session.is_beyond_record)?;
        (self.call().is_some() && self.own_prompt().is_none()).then_some(session)
    }

    /// Returns the session and the number of its turn that led to the line. For a sub-agent those of the session that
    /// sent it.
    pub fn turn(&self) -> Option<(SessionKey, usize)> {
        let (work, call) = (self.work()?, self.call()?);
        if work.key.parent_id().is_none() {
            return Some((work.key.clone(), call.turn));
        }
        let session = self.session()?;
        Some((session.key.clone(), session.turn_that_sent(&work.key, call.time)?))
    }

    /// Returns a sentence for people about how sure the explanation is; `is_one` says whether it is about one line.
    pub fn sentence(&self, is_one: bool) -> &'static str {
        match (self.recorded_on, is_one) {
            (None, true) if self.is_in_several => "several edits have this line, and it is not known which wrote it",
            (None, false) if self.is_in_several => {
                "several edits have these lines, and it is not known which wrote them"
            }
            (None, _) => self.certainty.sentence(is_one),
            (Some(_), true) => "an edit that another commit recorded has this line",
            (Some(_), false) => "an edit that another commit recorded has these lines",
        }
    }

    /// Returns the problems of the explanation: words and edits that are missing, damaged or left out.
    pub fn problems(&self) -> Vec<String> {
        self.source.problems.iter().cloned().chain(self.problem.map(str::to_owned)).collect()
    }

    /// Says whether both name the same call of the same session, or the same session, with the same evidence.
    pub fn is_same(&self, other: &Explanation) -> bool {
        Rc::ptr_eq(&self.source, &other.source)
            && (self.certainty, self.place) == (other.certainty, other.place)
            && (&self.other_path, self.recorded_on) == (&other.other_path, other.recorded_on)
            && (self.is_in_several, self.problem) == (other.is_in_several, other.problem)
    }
}
