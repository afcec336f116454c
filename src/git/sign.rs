//! Signatures of commits, made and checked by Git with the programs it is configured for: OpenPGP, SSH or X.509.

use std::collections::HashMap;
use std::time::Instant;

use bstr::ByteSlice as _;

use super::{ObjectId, Repository, git};
use crate::error::Result;

/// The ref of the archive, whose commits are never signed.
pub(crate) const ARCHIVE_REF: &str = "refs/shiftlog/sessions";

/// The signature of a commit, as Git has checked it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Signature {
    /// The letter that `%G?` of `git log` has.
    pub state: SignatureState,
    /// The name in the key; may be empty.
    pub signer: String,
    /// The key.
    pub key: String,
}

/// The result of checking a signature, the worst first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SignatureState {
    /// A bad signature.
    Bad,
    /// No signature.
    None,
    /// Not checked: the key or the program is missing.
    Unchecked,
    /// Good, but the key is not trusted, has expired or was revoked.
    Doubtful,
    /// Good, by a trusted key.
    Good,
}

impl Signature {
    /// Returns the value for a commit without a signature.
    pub fn none() -> Self {
        Signature { state: SignatureState::None, signer: String::new(), key: String::new() }
    }
}

impl SignatureState {
    /// Returns the word that is printed for it.
    pub fn name(self) -> &'static str {
        match self {
            SignatureState::None => "unsigned",
            SignatureState::Good => "good",
            SignatureState::Doubtful => "doubtful",
            SignatureState::Bad => "bad",
            SignatureState::Unchecked => "unchecked",
        }
    }
}

impl Repository {
    /// Says whether commits on one of our own refs are signed: `shiftlog.sign`, then `commit.gpgSign`.
    ///
    /// Commits of the archive are never signed. A record has the digest of the whole transcript, so the signature of the
    /// notes commit covers the words too, and the user is asked for a passphrase once.
    pub fn signs(&self, ref_name: &str) -> bool {
        ref_name != ARCHIVE_REF
            && self.config_bool("shiftlog.sign").or_else(|| self.config_bool("commit.gpgSign")).unwrap_or(false)
    }

    /// Makes a signed commit with `git commit-tree`. The tree must be written.
    ///
    /// # Errors
    ///
    /// If the signing program fails, or has not finished at `deadline`.
    pub(super) fn commit_signed(
        &self,
        message: &str,
        tree_id: ObjectId,
        parents: &[ObjectId],
        deadline: Instant,
    ) -> Result<ObjectId> {
        let signature = self.signature();
        let time = format!("{} +0000", signature.time.seconds);
        let mut args = vec!["commit-tree".to_owned(), "-S".to_owned(), tree_id.to_string()];
        args.extend(parents.iter().flat_map(|parent| ["-p".to_owned(), parent.to_string()]));
        let mut command = git(args).repository(self).input(message.as_bytes().to_vec()).until(deadline);
        for (variables, value) in [
            (["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"], signature.name.to_str_lossy()),
            (["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"], signature.email.to_str_lossy()),
            (["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"], time.into()),
        ] {
            for variable in variables {
                command = command.env(variable, value.clone());
            }
        }
        let unsigned = "git config shiftlog.sign false    # stores records without a signature";
        let printed = command.capture().map_err(|error| error.hint(unsigned))?;
        let hex = printed.trim().to_str_lossy().into_owned();
        self.parse_id(&hex).ok_or_else(|| crate::error::Error::other("'git commit-tree' printed no commit"))
    }

    /// Returns the signatures of commits on refs with notes or purge marks, as Git has checked them. The signature of a
    /// commit of the project counts as none; see `is_root_of_ours`.
    ///
    /// # Errors
    ///
    /// If `git log` fails.
    pub fn signatures(&self, commit_ids: &[ObjectId]) -> Result<HashMap<ObjectId, Signature>> {
        if commit_ids.is_empty() {
            return Ok(HashMap::new());
        }
        // With this setting, Git would print signatures between the lines.
        let mut args: Vec<String> =
            ["-c", "log.showSignature=false", "log", "--no-walk=unsorted", "--format=%H%x00%G?%x00%GS%x00%GK"]
                .map(str::to_owned)
                .to_vec();
        args.extend(commit_ids.iter().map(ToString::to_string));
        let output = git(args).repository(self).capture()?;
        let parse = |line: &[u8]| {
            let mut parts = line.split_str("\0").map(|part| part.to_str_lossy().into_owned());
            let id = self.parse_id(&parts.next()?)?;
            let state = match parts.next().as_deref() {
                Some("G") => SignatureState::Good,
                Some("U" | "X" | "Y" | "R") => SignatureState::Doubtful,
                Some("B") => SignatureState::Bad,
                Some("E") => SignatureState::Unchecked,
                _ => SignatureState::None,
            };
            let is_ours = || self.commit(id).is_ok_and(|commit| self.is_root_of_ours(commit.tree_id));
            if state != SignatureState::None && !is_ours() {
                return Some((id, Signature::none()));
            }
            let signer = parts.next().unwrap_or_default();
            Some((id, Signature { state, signer, key: parts.next().unwrap_or_default() }))
        };
        Ok(output.lines().filter_map(parse).collect())
    }
}
