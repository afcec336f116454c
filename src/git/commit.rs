//! A commit as a value.

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};
use encoding_rs::Encoding;

use super::date::Time;
use super::{ObjectId, Repository, gix_error};
use crate::error::Result;

/// A name, an address and a time, as in the header of a commit.
#[derive(Clone, Debug)]
pub struct Person {
    /// As in the commit, without surrounding space, in UTF-8 if the commit says in which encoding it is.
    pub name: BString,
    /// As in the commit, without angle brackets.
    pub email: BString,
    /// The time, with the offset of the person's clock.
    pub time: Time,
}

/// The parts of a commit that we show.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The commit's own id.
    pub commit_id: ObjectId,
    /// The id of its tree.
    pub tree_id: ObjectId,
    /// The ids of its parents, in order.
    pub parent_ids: Vec<ObjectId>,
    /// Who wrote the change.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// The message as it is stored, or in UTF-8 if the commit says in which other encoding it is.
    pub message: BString,
}

impl Commit {
    /// Returns the subject by Git's rule: the lines up to the first blank one, joined by a space.
    pub fn subject(&self) -> BString {
        let mut subject = BString::default();
        for line in self.message.lines().skip_while(|line| line.trim().is_empty()) {
            if line.trim().is_empty() {
                break;
            }
            if !subject.is_empty() {
                subject.push(b' ');
            }
            subject.push_str(line.trim_end());
        }
        subject
    }

    /// Returns the commits that `git cherry-pick -x` names in the message, in order, in hex.
    pub fn picked_from(&self) -> impl DoubleEndedIterator<Item = Cow<'_, str>> {
        self.message.lines().filter_map(|line| {
            Some(line.strip_prefix(b"(cherry picked from commit ")?.strip_suffix(b")")?.to_str_lossy())
        })
    }
}

impl Repository {
    /// Reads a commit; one object is decoded.
    ///
    /// # Errors
    ///
    /// If there is no such object or it is no commit.
    pub fn commit(&self, commit_id: ObjectId) -> Result<Commit> {
        let fail = |error: gix::Error| gix_error(format!("cannot read commit '{commit_id}'"), &error);
        let object = self.gix().find_commit(commit_id).map_err(fail)?;
        let decoded = object.decode().map_err(fail)?;
        let encoding = decoded.encoding.and_then(|label| Encoding::for_label(label));
        let person = |signature: gix::actor::SignatureRef<'_>| Person {
            name: in_utf8(encoding, signature.name.trim().into()),
            email: signature.email.trim().into(),
            time: signature.time().map(|time| Time { seconds: time.seconds, offset: time.offset }).unwrap_or_default(),
        };
        Ok(Commit {
            commit_id,
            tree_id: decoded.tree(),
            parent_ids: decoded.parents().collect(),
            author: person(decoded.author().map_err(fail)?),
            committer: person(decoded.committer().map_err(fail)?),
            message: in_utf8(encoding, decoded.message),
        })
    }
}

/// Returns a text in UTF-8: as it is if it is said to be in no encoding, or in one in which it is none.
fn in_utf8(encoding: Option<&'static Encoding>, text: &BStr) -> BString {
    let decoded = encoding.and_then(|encoding| encoding.decode_without_bom_handling_and_without_replacement(text));
    decoded.map_or_else(|| text.to_owned(), |text| text.into_owned().into())
}
