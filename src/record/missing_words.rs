//! Records without words whose notes were shared without the archive. They are not damaged.

use super::{Reader, Record};
use crate::archive::{self, Archive};
use crate::git::{ObjectId, REMOTES_PREFIX, Repository, private};
use crate::hex;

/// The file, below the common directory, that names the remotes of which all transcripts are here.
const COMPLETE: &str = "shiftlog/complete";

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
        let refs: Vec<String> = [archive::REF.to_owned()].into_iter().chain(repo.fetched_refs("sessions")).collect();
        let is_listed = |segment: Option<ObjectId>| refs.iter().any(|name| archive.lists(name, &key, segment));
        if is_listed(Some(through)) {
            // What is listed is here, but in a partial clone.
            return repo.is_partial().then_some(MissingWords::NotFetched);
        }
        // Of a session that has some words here, the others are lost if no remote has any.
        let is_started = is_listed(None);
        match if is_started { may_have_more(repo) } else { may_be_fetched(repo) } {
            true => Some(MissingWords::NotFetched),
            false => (!is_started).then_some(MissingWords::NotShared),
        }
    }
}

/// Says whether a remote may have transcripts that were never fetched: it was not asked since its notes were last fetched,
/// or had some then that were left there.
pub fn may_be_fetched(repo: &Repository) -> bool {
    let complete = private::text(&repo.common_dir().join(COMPLETE));
    let elsewhere = repo.config_string("shiftlog.sessionsRemote");
    let is_complete = |remote: &String| {
        let complete_line = complete_line(repo, remote);
        // A plain 'git fetch' that brings the notes brings the transcripts, too.
        let is_fetched = || {
            let tracking = repo.tracking_ref(remote, "sessions");
            let refspecs = repo.config_strings(&format!("remote.{remote}.fetch"));
            elsewhere.is_none()
                && refspecs.iter().any(|refspec| refspec.ends_with(&format!(":{tracking}")))
                && repo.tip(&tracking).is_ok_and(|tip| tip.is_some())
        };
        complete.lines().any(|known| known == complete_line) || is_fetched()
    };
    let remotes = elsewhere.clone().map_or_else(|| repo.remotes(), |remote| vec![remote]);
    !remotes.iter().all(is_complete)
}

/// Says whether a remote whose notes were fetched may have words that were not.
pub fn may_have_more(repo: &Repository) -> bool {
    let mut fetched = repo.ref_names(REMOTES_PREFIX).into_iter();
    fetched.any(|name| is_of_notes(&name)) && may_be_fetched(repo)
}

fn is_of_notes(tracking: &str) -> bool {
    tracking.rsplit('/').next().is_some_and(|last| last.starts_with("notes"))
}

/// Writes down whether all transcripts of a remote are here, for [`may_be_fetched`]. A failure costs a needless hint.
pub fn remember_words(repo: &Repository, remote: &str, is_complete: bool) {
    let path = repo.common_dir().join(COMPLETE);
    let known = private::text(&path);
    let of_others = known.lines().filter(|line| line.split_once(' ').is_none_or(|(_, name)| name != remote));
    let mut text: String = of_others.map(|line| format!("{line}\n")).collect();
    if is_complete {
        text += &complete_line(repo, remote);
        text.push('\n');
    }
    if text != known {
        let _ = crate::git::private::write(&path, text.as_bytes());
    }
}

/// Returns the line of a remote: a digest of the fetched notes that name its transcripts, and its name.
fn complete_line(repo: &Repository, remote: &str) -> String {
    let from = match repo.config_string("shiftlog.sessionsRemote") {
        Some(_) => REMOTES_PREFIX.to_owned(),
        None => repo.tracking_ref(remote, ""),
    };
    let mut notes = repo.ref_targets(&from);
    notes.retain(|(name, _)| is_of_notes(name));
    notes.sort();
    let notes: String = notes.iter().map(|(name, id)| format!("{name} {id}\n")).collect();
    format!("{} {remote}", hex::xxh3(notes.as_bytes()))
}
