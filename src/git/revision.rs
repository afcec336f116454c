//! The commit that a revision names.

use bstr::ByteSlice as _;

use super::{ObjectId, Repository, git};
use crate::error::{Error, Kind, Result};

impl Repository {
    /// Returns the commit that `revision` names, by the rules of gitrevisions(7); tags are peeled.
    ///
    /// # Errors
    ///
    /// [`Kind::Missing`] with Git's words for a revision that names no commit.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId> {
        let parsed = (!is_by_message(revision))
            .then(|| self.inner.rev_parse_single(revision.as_bytes().as_bstr()).ok())
            .flatten()
            .and_then(|id| id.object().ok())
            .and_then(|object| object.peel_to_commit().ok())
            .map(|commit| commit.id);
        parsed.map_or_else(|| self.resolve_with_git(revision), Ok)
    }

    /// Returns the object that an annotated tag names, through all tags; any other object is its own. `None` if one of them
    /// is not here.
    pub fn peeled(&self, id: ObjectId) -> Option<ObjectId> {
        let object = self.gix().find_object(id).ok()?;
        object.peel_tags_to_end().ok().map(|object| object.id)
    }

    /// Asks `git rev-parse`, which knows the few spellings that gix does not (`:/text`).
    fn resolve_with_git(&self, revision: &str) -> Result<ObjectId> {
        let bad = || match revision {
            "HEAD" | "@" if self.head().is_ok_and(|head| head.commit_id.is_none()) => self.no_commits(),
            _ => {
                let bad = || Error::new(Kind::Missing, format!("bad revision '{revision}'"));
                self.ambiguous(revision).unwrap_or_else(bad)
            }
        };
        // A suffix would belong to the text.
        let spec = if revision.starts_with(":/") { revision.to_owned() } else { format!("{revision}^{{commit}}") };
        let output = git(["rev-parse", "--quiet", "--verify", "--end-of-options", &spec])
            .repository(self)
            .capture()
            .map_err(|_| bad())?;
        self.parse_id(output.trim_end().to_str_lossy().as_ref()).ok_or_else(bad)
    }

    /// Returns the error that `revision` is the beginning of several object ids, names an upstream or a state of a ref that
    /// there is not, or a tree or a blob, if that is so.
    pub fn ambiguous(&self, revision: &str) -> Option<Error> {
        if revision.contains("@{") {
            let asked = git(["rev-parse", "--verify", "--end-of-options", revision]).repository(self).capture();
            let reason = asked.err().and_then(|error| Some(std::error::Error::source(&error)?.to_string()));
            return reason
                .filter(|words| words != "Needed a single revision")
                .map(|words| Error::new(Kind::Missing, words));
        }
        let prefix = gix::hash::Prefix::from_hex(revision).ok();
        if prefix.and_then(|prefix| self.inner.objects.lookup_prefix(prefix, None).ok()?) == Some(Err(())) {
            let error = Error::new(Kind::Missing, format!("short object ID {revision} is ambiguous"));
            return Some(error.hint(format!("'git rev-parse --disambiguate={revision}' lists the candidates")));
        }
        let named = self.inner.rev_parse_single(revision.as_bytes().as_bstr()).ok()?.object().ok()?;
        let kind = named.peel_tags_to_end().ok()?.kind;
        (kind != gix::object::Kind::Commit)
            .then(|| Error::new(Kind::Missing, format!("'{revision}' names a {kind}, not a commit")))
    }
}

/// Says whether a revision names a commit by a regular expression on messages; gix knows only plain text there.
pub(super) fn is_by_message(revision: &str) -> bool {
    revision.starts_with(":/") || revision.contains("^{/") || revision.contains("..:/")
}
