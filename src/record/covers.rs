//! Whether a record of somebody else may take the place of one that is here.

use sha2::{Digest as _, Sha256};

use super::Record;
use crate::archive::{self, Archive};
use crate::git::Repository;

/// Says whether a record of others has all the words of one that is here, as their segments tell: only then may it take
/// its place. The words of a record that are not here cannot be lost.
pub(crate) fn has_all_of(repo: &Repository, later: &Record, record: &Record) -> bool {
    let Some(through) = repo.parse_id(&record.through) else { return false };
    if !repo.has_object(through) {
        return true;
    }
    let Some(later) = repo.parse_id(&later.through) else { return false };
    let archive = Archive::new(repo);
    let (links, _) = archive.chain(later, Some(through));
    if links.last().is_some_and(|link| link.segment_id == through) {
        return links.iter().take_while(|link| link.segment_id != through).all(|link| link.header.keep >= record.bytes);
    }
    // Two clones can have stored the same words in other segments.
    let text = archive.transcript(later).bytes();
    let beginning = usize::try_from(record.bytes).ok().and_then(|length| text.get(..length));
    beginning.is_some_and(|text| archive::hex(&Sha256::digest(text)) == record.sha256)
}
