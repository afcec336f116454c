//! Names of refs, by Git's rules for those.

use crate::error::{Error, Kind, Result};

/// Returns text as the full name of a ref, by Git's rules for those.
pub(super) fn full_name(text: &str) -> Result<gix::refs::FullName> {
    gix::refs::FullName::try_from(text)
        .map_err(|_| Error::new(Kind::Usage, format!("'{text}' is not a valid ref name")))
}

/// Says whether text can be the full name of a ref.
pub fn is_ref_name(text: &str) -> bool {
    full_name(text).is_ok()
}
