//! Names of refs, by the rules of git-check-ref-format(1), and where a ref points.

use super::ObjectId;
use crate::error::{Error, Kind, Result};

/// Where the refs of remotes are fetched to: `refs/shiftlog/remotes/<remote>/<name>`.
pub const REMOTES_PREFIX: &str = "refs/shiftlog/remotes/";

/// Where one of our refs points before an edit.
#[derive(Clone, Copy, Debug)]
pub struct Tip {
    /// The commit the ref names.
    pub commit_id: ObjectId,
    /// The tree of that commit.
    pub tree_id: ObjectId,
}

/// Parses the full name of a ref.
pub(super) fn full_name(text: &str) -> Result<gix::refs::FullName> {
    gix::refs::FullName::try_from(text)
        .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a valid ref name")))
}

/// Says whether a text is a valid full name of a ref.
pub fn is_ref_name(text: &str) -> bool {
    full_name(text).is_ok()
}
