//! HEAD, its reflog, and whether Git is in the middle of an operation.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice as _};

use super::{Commit, Location, ObjectId, Repository, gix_error};
use crate::error::{Error, Result};

/// The branch and commit of HEAD.
#[derive(Clone, Debug)]
pub struct Head {
    /// The full name of the branch, or `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The commit, or `None` on a branch without commits.
    pub commit_id: Option<ObjectId>,
}

/// One entry of the reflog of HEAD.
#[derive(Clone, Debug)]
pub struct ReflogEntry {
    /// The commit of HEAD before; the null id if there was none.
    pub old_id: ObjectId,
    /// The commit of HEAD after.
    pub new_id: ObjectId,
    /// The message, such as `commit (amend): fix the parser`.
    pub message: BString,
}

/// The suffixes that Git adds to the action in the reflog entries of a rebase.
const STEPS: &[&[u8]] = &[
    b" (start)",
    b" (pick)",
    b" (reword)",
    b" (edit)",
    b" (squash)",
    b" (fixup)",
    b" (continue)",
    b" (merge)",
    b" (reset)",
    b" (finish)",
    b" (abort)",
];

/// How the message of a move by `git reset` begins.
const RESET: &[u8] = b"reset: ";

/// How many bytes at the end of a reflog are read for its last line.
const MAX_MESSAGE_BYTES: u64 = 4096;

/// Returns the action in a reflog message, such as `commit (amend)`: the part before the commit's subject, which may be
/// empty.
fn action(message: &BStr) -> &[u8] {
    // Without a subject, Git writes the colon but not the space after it.
    let action = message.split_str(": ").next().unwrap_or_default();
    action.strip_suffix(b":").unwrap_or(action)
}

/// Returns the last message in the reflog of HEAD without opening the repository; empty if there is no reflog.
pub fn last_message(location: &Location) -> BString {
    last_line(location).split_once_str("\t").map(|(_, message)| message.into()).unwrap_or_default()
}

/// Returns the last entry of the reflog of HEAD without opening the repository; `None` if it cannot be read from Git's
/// files, or if HEAD names another commit by now.
pub fn last_move(location: &Location) -> Option<ReflogEntry> {
    let line = last_line(location);
    let (ids, message) = line.split_once_str("\t")?;
    let mut ids = ids.split_str(" ").map(|hex| ObjectId::from_hex(hex).ok());
    let entry = ReflogEntry { old_id: ids.next()??, new_id: ids.next()??, message: message.into() };
    let read = |path: std::path::PathBuf| super::private::read_whole(&path).ok();
    let head = read(location.git_dir.join("HEAD"))?;
    // A ref that has just moved is loose, not packed.
    let head = match head.strip_prefix(b"ref: ") {
        Some(name) => read(location.common_dir.join(name.trim().to_path().ok()?))?,
        None => head,
    };
    (ObjectId::from_hex(head.trim()).ok()? == entry.new_id).then_some(entry)
}

/// Says, without opening the repository, whether one of the last moves of HEAD was a `git reset` to another commit.
pub fn was_reset_lately(location: &Location) -> bool {
    let end = end_of(&location.git_dir.join("logs/HEAD")).unwrap_or_default();
    end.lines().any(|line| {
        let Some((ids, message)) = line.split_once_str("\t") else { return false };
        let mut ids = ids.split_str(" ");
        message.starts_with(RESET) && ids.next() != ids.next()
    })
}

/// Returns the last line of the reflog of HEAD, or the end of it if it is long; empty if there is none.
fn last_line(location: &Location) -> BString {
    let end = end_of(&location.git_dir.join("logs/HEAD")).unwrap_or_default();
    end.lines().next_back().unwrap_or_default().into()
}

/// Returns the end of a reflog, which is as long as a long line.
pub(super) fn end_of(log: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_MESSAGE_BYTES)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(end)
}

impl ReflogEntry {
    fn action(&self) -> &[u8] {
        action(self.message.as_bstr())
    }

    /// Says whether `git reset` moved HEAD to another commit.
    pub fn is_reset(&self) -> bool {
        self.message.starts_with(RESET) && self.old_id != self.new_id
    }

    /// Says whether `git cherry-pick` made this entry, or the commit that ended one with conflicts.
    pub fn is_pick(&self) -> bool {
        Self::is_pick_message(self.message.as_bstr())
    }

    /// Says whether a reflog message is that of `git cherry-pick`, or of the commit that ended one with conflicts.
    pub fn is_pick_message(message: &BStr) -> bool {
        [&b"cherry-pick"[..], b"commit (cherry-pick)"].contains(&action(message))
    }

    /// Says whether `git commit --amend` made the entry with this message.
    pub fn is_amend_message(message: &BStr) -> bool {
        action(message) == b"commit (amend)"
    }

    /// Says whether this entry is a merge commit that was made here: by `git merge` or `git pull`, or by the commit that
    /// ended a merge with conflicts. A fast-forward to somebody else's merge is none.
    pub fn is_merge(&self) -> bool {
        let is_clean =
            self.message.contains_str(": Merge made by the '") || self.message.ends_with(b": In-index merge");
        self.action() == b"commit (merge)" || (is_clean && !self.is_new_work() && !self.is_old_work())
    }

    /// Says whether a plain `git commit` made this entry: a new commit or an amended one, but no merge, cherry-pick,
    /// revert or rebase step.
    pub fn is_new_work(&self) -> bool {
        [&b"commit"[..], b"commit (initial)", b"commit (amend)"].contains(&self.action())
    }

    /// Says whether a rebase made this entry: it began, made a commit, or ended.
    pub fn is_of_rebase(&self) -> bool {
        let action = self.action();
        action.starts_with(b"rebase") || action.starts_with(b"pull") && action.ends_with(b")")
    }

    /// Says whether this entry is the first of a rebase.
    pub fn begins_rebase(&self) -> bool {
        // Git before 2.26 names no step.
        self.is_of_rebase() && (self.action().ends_with(b"(start)") || self.message.contains_str(": checkout "))
    }

    /// Says whether this entry is the last of a rebase.
    pub fn ends_rebase(&self) -> bool {
        self.aborts_rebase() || self.is_of_rebase() && self.action().ends_with(b"(finish)")
    }

    /// Says whether `git rebase --abort` made this entry.
    pub fn aborts_rebase(&self) -> bool {
        self.is_of_rebase() && self.action().ends_with(b"(abort)")
    }

    /// Says whether `git rebase --continue` made this entry: a commit of what somebody staged where the rebase had stopped.
    pub fn is_continued(&self) -> bool {
        self.is_of_rebase() && self.action().ends_with(b"(continue)")
    }

    /// Says whether this entry can be a commit in the place of the one before: an amended, melded or reworded one.
    pub fn may_replace(&self) -> bool {
        let steps = [&b"(continue)"[..], b"(fixup)", b"(squash)", b"(reword)"];
        Self::is_amend_message(self.message.as_bstr())
            || self.is_of_rebase() && steps.iter().any(|step| self.action().ends_with(step))
    }

    /// Says whether the entry tells neither that a commit was made here, nor that one was made of others: `GIT_REFLOG_ACTION`
    /// can name any action. The steps of a rebase have their own names behind it.
    pub fn is_unknown(&self) -> bool {
        let is_known = self.is_new_work() || self.is_merge() || self.is_old_work() || self.is_of_rebase();
        !is_known && !STEPS.iter().any(|step| self.action().ends_with(step))
    }

    /// Says whether `git commit` seems to have made a commit with this entry, by whatever name: the entry ends with the first
    /// line of the message, the commit follows that of HEAD before, and it is as old as its change. The change of a pick or an
    /// amended commit is older, unless somebody has set its time.
    pub fn has_made(&self, commit: &Commit) -> bool {
        // Git folds white space there, and leaves the encoding of the message.
        let folded = |text: &[u8]| {
            let ascii: Vec<u8> = text.iter().copied().filter(u8::is_ascii).collect();
            ascii.fields().collect::<Vec<_>>().join(&b' ')
        };
        let told = folded(&self.message);
        let first_line = folded(commit.message.lines().next().unwrap_or_default());
        let is_revert = commit.message.lines().any(|line| line.starts_with(b"This reverts commit "));
        let is_next = match commit.parent_ids.as_slice() {
            [] => self.old_id.is_null(),
            [parent_id] => *parent_id == self.old_id,
            _ => false,
        };
        let action = told.strip_suffix(&first_line[..]).map(|action| action.trim_ascii_end());
        let is_told = action.is_some_and(|action| action.ends_with(b":"));
        is_next && is_told && !is_revert && commit.author.time == commit.committer.time
    }

    /// Says whether this entry is a commit that was made from older ones: a step of a rebase, a cherry-pick, a revert, a
    /// mailed patch. A move of HEAD to an existing commit is none.
    pub fn is_old_work(&self) -> bool {
        let action = self.action();
        let steps = [&b"pick)"[..], b"(reword)", b"(squash)", b"(fixup)", b"(edit)", b"(continue)", b"(merge)"];
        let is_step = steps.iter().any(|step| action.ends_with(step));
        let others = [&b"rebase"[..], b"cherry-pick", b"revert", b"am", b"commit (cherry-pick)", b"commit (merge)"];
        let is_rebase = (action.starts_with(b"rebase") || action.starts_with(b"pull")) && is_step;
        is_rebase || others.contains(&action)
    }
}

impl Repository {
    /// Returns the error that HEAD names a branch without commits.
    pub fn no_commits(&self) -> Error {
        let branch = self.head().ok().and_then(|head| head.branch).unwrap_or_default();
        let name = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
        Error::other(format!("your current branch '{name}' does not have any commits yet"))
    }

    /// Returns the branch and commit of HEAD in this worktree.
    ///
    /// # Errors
    ///
    /// If HEAD cannot be read.
    pub fn head(&self) -> Result<Head> {
        let head = self.gix().head().map_err(|error| gix_error("cannot read 'HEAD'", &error))?;
        let branch = head.referent_name().map(|name| name.as_bstr().to_string());
        Ok(Head { branch, commit_id: head.id().map(|id| id.detach()) })
    }

    /// Returns the newest entries of the reflog of HEAD, newest first, at most `limit`; none if there is no reflog.
    pub fn head_reflog(&self, limit: usize) -> Vec<ReflogEntry> {
        self.head_reflog_while(limit, |_| true)
    }

    /// Returns the newest entries as [`Repository::head_reflog`] does, as long as `is_wanted` says so. Reads no more of the
    /// reflog.
    pub fn head_reflog_while(&self, limit: usize, is_wanted: impl Fn(&ReflogEntry) -> bool) -> Vec<ReflogEntry> {
        // The reflog of HEAD itself, not of its branch.
        let Ok(Some(head)) = self.gix().try_find_reference("HEAD") else { return Vec::new() };
        let mut log = head.log_iter();
        let Ok(Some(entries)) = log.rev() else { return Vec::new() };
        let entries = entries.take(limit).flatten();
        entries
            .map(|line| ReflogEntry { old_id: line.previous_oid, new_id: line.new_oid, message: line.message })
            .take_while(is_wanted)
            .collect()
    }

    /// Returns the ids in the reflog of a ref; none if it has no reflog.
    pub fn reflog(&self, ref_name: &str) -> Vec<ObjectId> {
        let Ok(Some(reference)) = self.gix().try_find_reference(ref_name) else { return Vec::new() };
        let mut log = reference.log_iter();
        let Ok(Some(entries)) = log.rev() else { return Vec::new() };
        entries.flatten().flat_map(|line| [line.previous_oid, line.new_oid]).filter(|id| !id.is_null()).collect()
    }

    /// Says whether a rebase, cherry-pick, revert, merge or `am` is under way in this worktree. A bisection makes no commit, and
    /// is easily forgotten: what is committed meanwhile is work like any other.
    pub fn is_mid_operation(&self) -> bool {
        match self.gix().state() {
            // A bisection is named even if a revert is under way, too.
            Some(gix::state::InProgress::Bisect) => self.git_dir().join("REVERT_HEAD").exists(),
            state => state.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(message: &str) -> ReflogEntry {
        let null = ObjectId::null(gix::hash::Kind::Sha1);
        ReflogEntry { old_id: null, new_id: null, message: message.into() }
    }

    #[test]
    fn a_commit_without_a_subject_is_what_it_would_be_with_one() {
        for action in ["commit", "commit (initial)", "commit (amend)"] {
            for message in [format!("{action}:"), format!("{action}: rebase (pick): x")] {
                assert!(entry(&message).is_new_work() && !entry(&message).is_old_work(), "{message}");
            }
        }
        for action in ["cherry-pick", "revert", "am", "commit (merge)", "rebase (pick)", "pull --rebase x:8 (pick)"] {
            for message in [format!("{action}:"), format!("{action}: commit: x")] {
                assert!(!entry(&message).is_new_work() && entry(&message).is_old_work(), "{message}");
            }
        }
    }
}
