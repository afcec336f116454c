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

    /// Returns the error, in Git's words, that `revision` is the beginning of several object ids, or names an upstream
    /// or a state of a ref that there is not, if that is so.
    pub fn ambiguous(&self, revision: &str) -> Option<Error> {
        if revision.contains("@{") {
            let asked = git(["rev-parse", "--verify", "--end-of-options", revision]).repository(self).capture();
            let reason = asked.err().and_then(|error| Some(std::error::Error::source(&error)?.to_string()));
            return reason
                .filter(|words| words != "Needed a single revision")
                .map(|words| Error::new(Kind::Missing, words));
        }
        let prefix = gix::hash::Prefix::from_hex(revision).ok()?;
        let found = self.inner.objects.lookup_prefix(prefix, None).ok()?;
        let error = Error::new(Kind::Missing, format!("short object ID {revision} is ambiguous"));
        (found == Some(Err(())))
            .then(|| error.hint(format!("'git rev-parse --disambiguate={revision}' lists the candidates")))
    }
}

/// Says whether a revision names a commit by a regular expression on messages; gix knows only plain text there.
pub(super) fn is_by_message(revision: &str) -> bool {
    revision.starts_with(":/") || revision.contains("^{/") || revision.contains("..:/")
}
