//! The part of a session's transcript that no commit has yet.

use std::path::{Path, PathBuf};

use super::choose::below;
use super::pending::Capture;
use super::reading::{Reading, Survey};
use super::segment_end::SegmentEnd;
use crate::error::Result;
use crate::git::{ObjectId, Repository};
use crate::record::edits;
use crate::told::Told;
use crate::transcript::{EditedPath, SessionKey};

/// The part of a session's transcript that is not recorded yet.
pub(super) struct Increment<'a> {
    pub key: SessionKey,
    pub reading: Reading<'a>,
    /// The agent's own transcript; `None` for one that is only in memory.
    pub transcript: Option<PathBuf>,
    /// Size and modification time of the transcript before it was read; see [`Progress::size_and_mtime`].
    pub size_and_mtime: Option<(u64, u64)>,
    /// The model that a hook named, for transcripts that do not name it.
    pub model: Option<String>,
    /// Its prompts, tool results, edited paths and tokens.
    pub survey: Survey,
    /// Where the increment begins.
    pub since: SegmentEnd,
    /// The position in the agent's file where the increment ends.
    pub until: u64,
    /// The commits to record it on; none if the words are only to be archived.
    pub commit_ids: Vec<ObjectId>,
    /// The instruction files that the session had read, if they are known.
    pub rules: Option<Told>,
}

impl<'a> Increment<'a> {
    /// Returns the part of a transcript that `survey` counted, for no commit yet.
    pub(super) fn new(key: SessionKey, reading: Reading<'a>, survey: Survey, since: SegmentEnd) -> Self {
        let until = survey.until;
        let (transcript, size_and_mtime, model, commit_ids, rules) = Default::default();
        Increment { key, reading, transcript, size_and_mtime, model, survey, since, until, commit_ids, rules }
    }

    /// Returns the files of the repository that its calls changed.
    pub(super) fn edits(&self, repo: &Repository) -> Vec<EditedPath> {
        edits::placed(self.survey.tally.edits(), |named| {
            let path = Path::new(named);
            if path.is_absolute() {
                return below(repo.worktree()?, path)?.into_os_string().into_string().ok();
            }
            // The agent may have been in a directory below the top.
            let has_file = |id: &ObjectId| repo.blob_at(*id, named.into()).is_ok_and(|blob| blob.is_some());
            self.commit_ids.first().is_some_and(has_file).then(|| named.to_owned())
        })
    }

    /// Returns the capture that a pending file of this increment names; the bytes in the file follow `from`.
    pub(super) fn capture(&self, from: SegmentEnd) -> Capture {
        Capture::new(&self.key, &self.commit_ids, from, self.since.clone())
    }

    /// Makes the increment end before a prompt that has no answer yet; returns `None` if there is nothing else in it.
    ///
    /// # Errors
    ///
    /// If the transcript cannot be read.
    pub(super) fn before_open_prompt(mut self) -> Result<Option<Self>> {
        let Some(open) = self.survey.open_prompt else { return Ok(Some(self)) };
        if self.survey.is_prompt_alone() {
            return Ok(None);
        }
        self.end_at(open.max(self.reading.kept()))?;
        Ok(Some(self))
    }

    /// Makes the increment end at a position, if it reaches further.
    pub(super) fn end_at(&mut self, until: u64) -> Result<()> {
        if self.until > until {
            let from = self.reading.position(&self.since)?;
            self.survey = self.reading.survey(&self.since, from, until)?;
            self.until = until;
        }
        Ok(())
    }
}
