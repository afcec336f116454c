//! Counting the messages of an increment, and finding the results of its tool calls.

use std::ops::Range;
use std::time::Instant;

use super::lines::LineChunk;
use crate::agent::Parser;
use crate::capture::tracked::AwaitedResult;
use crate::error::{Error, Kind, Result};
use crate::transcript::shell::commits_in;
use crate::transcript::{Part, Role, Tally, line_blocks};

/// How many hexadecimal digits Git prints of a commit id at least, unless configured otherwise.
const SHORT_ID_DIGITS: usize = 7;
/// How many commit ids are kept of one result.
const MAX_RESULT_IDS: usize = 256;

/// The result of a tool call in a transcript.
#[derive(Clone, Debug)]
pub struct ResultLine {
    /// The id of the tool call.
    pub call_id: String,
    /// The position after its line.
    pub end: u64,
    /// Whether the call ran `git commit`, as far as its command is known.
    is_of_commit: bool,
    /// The commits that the result may name.
    named: Vec<NamedCommit>,
}

/// A word of a tool's result that may be a commit id.
#[derive(Clone, Copy, Debug)]
struct NamedCommit {
    /// The number that its first digits are.
    short_id: u32,
    /// Whether the id is where `git commit` prints that of its new commit: `[main 4e1c2aa] subject`.
    is_made: bool,
}

impl ResultLine {
    /// Says whether the result names a commit.
    fn names(&self, commit_id: &str) -> bool {
        let wanted = short_id(commit_id);
        self.named.iter().any(|named| Some(named.short_id) == wanted)
    }

    /// Says whether the result tells, as `git commit` does, that a commit was made.
    pub fn tells_of_making(&self, commit_id: &str) -> bool {
        let wanted = short_id(commit_id);
        self.named.iter().any(|named| named.is_made && Some(named.short_id) == wanted)
    }
}

/// Counts and tool results of an increment.
#[derive(Default)]
pub struct Survey {
    /// Counts, prompts, edited paths.
    pub tally: Tally,
    /// The results of tool calls, in order.
    pub results: Vec<ResultLine>,
    /// The ids of calls that run `git commit` and have no result yet, in order.
    pub(super) committing: Vec<String>,
    /// The position before the prompts at the end that have no answer yet.
    pub open_prompt: Option<u64>,
    /// Whether the agent has said or done anything.
    pub(super) has_answer: bool,
    /// The position after the last line that was counted. An unfinished private key at the end is not counted; the next
    /// capture takes it.
    pub until: u64,
}

impl Survey {
    /// Returns the awaited result: the one of the call, or else one that names the commit. Some agents give a call one id in
    /// hooks and another in the transcript.
    pub fn result_of(&self, awaited: &AwaitedResult) -> Option<&ResultLine> {
        let is_of_call = |result: &&ResultLine| awaited.call.as_deref() == Some(&*result.call_id);
        let by_call = self.results.iter().find(is_of_call);
        if awaited.is_unsure {
            return by_call.or_else(|| self.results.iter().find(|result| result.tells_of_making(&awaited.commit)));
        }
        let by_name = || self.results.iter().find(|result| result.names(&awaited.commit));
        // A quiet commit is named nowhere, and no hook may have named the call.
        let by_command = || self.results.iter().find(|result| awaited.call.is_none() && result.is_of_commit);
        by_call.or_else(by_name).or_else(by_command)
    }

    /// Says whether there is a prompt and nothing else: no answer, and no result of an earlier call.
    pub fn is_prompt_alone(&self) -> bool {
        self.open_prompt.is_some() && !self.has_answer && self.results.is_empty()
    }

    /// Says whether anything was said or done: results of earlier calls do not count.
    pub fn has_words(&self) -> bool {
        self.has_answer || self.tally.turns > 0
    }

    /// Returns the calls that run `git commit` and have no result yet.
    pub fn committing_calls(&self) -> &[String] {
        &self.committing
    }

    /// Returns the call that runs `git commit` and has no result yet, the last one; `None` if there is none.
    pub fn committing_call(&self) -> Option<&str> {
        self.committing.last().map(String::as_str)
    }

    /// Counts the next chunk: in blocks, or all of it at once.
    ///
    /// # Errors
    ///
    /// [`Kind::Busy`] if the deadline passes.
    pub(super) fn add(
        &mut self,
        chunk: &LineChunk,
        is_in_pieces: bool,
        parser: &mut dyn Parser,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let lines = chunk.redacted();
        if is_in_pieces {
            line_blocks(lines).try_for_each(|block| self.add_block(chunk, block, parser, deadline))?;
        } else {
            self.add_block(chunk, 0..lines.len(), parser, deadline)?;
        }
        self.until = chunk.end();
        Ok(())
    }

    /// Counts some lines of a chunk.
    fn add_block(
        &mut self,
        chunk: &LineChunk,
        block: Range<usize>,
        parser: &mut dyn Parser,
        deadline: Option<Instant>,
    ) -> Result<()> {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(Error::new(Kind::Busy, "the transcript takes too long to read"));
        }
        let messages = parser.parse(&chunk.redacted()[block.clone()]);
        self.tally.add(&messages);
        for message in &messages {
            let [start, end] = [message.span.start, message.span.end].map(|at| chunk.position(block.start + at));
            match message.role {
                Role::Assistant => (self.open_prompt, self.has_answer) = (None, true),
                _ if message.is_prompt() => self.open_prompt = self.open_prompt.or(Some(start)),
                _ => {}
            }
            message.parts.iter().for_each(|each| self.add_call(each, end));
        }
        Ok(())
    }

    /// Remembers a call that runs `git commit`, or a result whose line ends at `end`.
    fn add_call(&mut self, part: &Part, end: u64) {
        match part {
            Part::ToolCall(call) if call.command.as_deref().is_some_and(|line| !commits_in(line).is_empty()) => {
                self.committing.push(call.call_id.clone());
            }
            Part::ToolResult(result) => {
                let before = self.committing.len();
                self.committing.retain(|call_id| *call_id != result.call_id);
                let is_of_commit = self.committing.len() < before;
                let (call_id, named) = (result.call_id.clone(), named_in(&result.text));
                self.results.push(ResultLine { call_id, end, is_of_commit, named });
            }
            _ => {}
        }
    }
}

/// Returns the number that the first digits of a commit id are; `None` if the word is none.
fn short_id(word: &str) -> Option<u32> {
    let is_id = word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(word.get(..SHORT_ID_DIGITS).filter(|_| is_id)?, 16).ok()
}

/// Returns the last commit ids that a text may name. Other output of the command comes before them.
fn named_in(text: &str) -> Vec<NamedCommit> {
    let named = text.lines().rev().flat_map(|line| {
        let made = made_in(line);
        let words = line.split(|c: char| !c.is_alphanumeric()).rev().filter_map(short_id);
        words.map(move |short_id| NamedCommit { short_id, is_made: Some(short_id) == made })
    });
    named.take(MAX_RESULT_IDS).collect()
}

/// Returns the commit of a line such as `[main 4e1c2aa] subject`, also with `(root-commit)` before the id, or of one such as
/// `Commit 4e1c2aa subject`, which an agent prints for a commit that it has made itself.
fn made_in(line: &str) -> Option<u32> {
    let line = line.trim_start();
    if let Some((id, _)) = line.strip_prefix("Commit ").and_then(|told| told.split_once(' ')) {
        return short_id(id);
    }
    // An agent may name what follows.
    let line = line.strip_prefix("Output: ").unwrap_or(line);
    let (inside, _) = line.strip_prefix('[')?.split_once("] ")?;
    short_id(inside.rsplit_once(' ')?.1)
}
