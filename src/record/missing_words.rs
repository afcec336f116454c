//! Records without words whose notes were shared without the archive. They are not damaged.

use super::{Reader, Record};
use crate::archive::{self, Archive};
use crate::git::Repository;

/// The file, below the common directory, that names the remotes without transcripts.
const WORDLESS: &str = "shiftlog/wordless";

/// Why no words of a record are here although nothing is damaged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MissingWords {
    /// No remote has them, as far as is known.
    NotShared,
    /// A remote has them, or was not asked yet.
    NotFetched,
}

impl MissingWords {
    /// Returns the sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            MissingWords::NotShared => "transcript not shared by its author",
            MissingWords::NotFetched => "transcript not fetched",
        }
    }
}

impl Reader<'_> {
    /// Returns why no words of a record are here; `None` if some are, or should be.
    pub(super) fn lack(&self, record: &Record, is_full: bool) -> Option<MissingWords> {
        let repo = self.repo();
        let through = repo.parse_id(&record.through)?;
        if repo.has_object(through) || repo.remotes().is_empty() || self.mark_on(record, is_full).is_some() {
            return None;
        }
        let (archive, key) = (Archive::new(repo), record.key());
        if [archive::REF.to_owned()]
            .into_iter()
            .chain(repo.fetched_refs("sessions"))
            .any(|name| archive.lists(&name, &key))
        {
            // What is listed is here, but in a partial clone.
            return repo.is_partial().then_some(MissingWords::NotFetched);
        }
        Some(if may_be_fetched(repo) { MissingWords::NotFetched } else { MissingWords::NotShared })
    }
}

/// Says whether a remote may have transcripts that were never fetched.
pub fn may_be_fetched(repo: &Repository) -> bool {
    let wordless = std::fs::read_to_string(repo.common_dir().join(WORDLESS)).unwrap_or_default();
    let remotes = match repo.config_string("shiftlog.sessionsRemote") {
        Some(remote) => vec![remote],
        None => repo.remotes(),
    };
    let is_known = |remote: &String| {
        let tracking = repo.tracking_ref(remote, "sessions");
        wordless.lines().any(|line| line == remote) || repo.tip(&tracking).is_ok_and(|tip| tip.is_some())
    };
    !remotes.iter().all(is_known)
}

/// Writes down whether a remote has transcripts, for [`may_be_fetched`]. A failure costs a needless hint.
pub fn remember_words(repo: &Repository, remote: &str, has_words: bool) {
    let path = repo.common_dir().join(WORDLESS);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let mut names: Vec<&str> = known.lines().filter(|name| *name != remote).collect();
    if !has_words {
        names.push(remote);
    }
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    if text != known {
        let _ = crate::git::private::write(&path, text.as_bytes());
    }
}
