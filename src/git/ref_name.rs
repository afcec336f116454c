//! Names of refs, by the rules of git-check-ref-format(1).

use crate::error::{Error, Kind, Result};

/// Parses the full name of a ref.
pub(super) fn full_name(text: &str) -> Result<gix::refs::FullName> {
    gix::refs::FullName::try_from(text)
        .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a valid ref name")))
}

/// Says whether a text is a valid full name of a ref.
pub fn is_ref_name(text: &str) -> bool {
    full_name(text).is_ok()
}
