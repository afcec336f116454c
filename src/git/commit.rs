//! A commit as a value.

use std::borrow::Cow;

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};

use super::date::Time;
use super::{ObjectId, Repository, git, gix_error};
use crate::error::Result;

/// How many commits a command has Git put into UTF-8.
const MAX_ENCODED_AGAIN: u32 = 1000;

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
        let person = |signature: gix::actor::SignatureRef<'_>| Person {
            name: signature.name.trim().into(),
            email: signature.email.trim().into(),
            time: signature.time().map(|time| Time { seconds: time.seconds, offset: time.offset }).unwrap_or_default(),
        };
        let mut commit = Commit {
            commit_id,
            tree_id: decoded.tree(),
            parent_ids: decoded.parents().collect(),
            author: person(decoded.author().map_err(fail)?),
            committer: person(decoded.committer().map_err(fail)?),
            message: decoded.message.to_owned(),
        };
        // The names by which Git knows UTF-8.
        let is_other =
            |name: &&BStr| !["", "utf-8", "utf8"].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        if let Some(encoding) = decoded.encoding.filter(is_other) {
            self.encode_again(&mut commit, encoding);
        }
        Ok(commit)
    }

    /// Converts names, addresses and message from an encoding to UTF-8: Latin-1 here, all others by `git show`, in which a message
    /// ends at a NUL. They stay as they are if Git does not know the encoding, and in commits beyond a bound: each takes three
    /// milliseconds.
    fn encode_again(&self, commit: &mut Commit, encoding: &BStr) {
        let [author, committer] = [&mut commit.author, &mut commit.committer];
        let words =
            [&mut author.name, &mut author.email, &mut committer.name, &mut committer.email, &mut commit.message];
        // ISO-2022-JP is ASCII with escapes.
        if words.iter().all(|text| text.is_ascii() && !text.contains(&0x1B)) {
            return;
        }
        let is_latin = ["iso-8859-1", "iso8859-1", "latin1", "latin-1"]
            .iter()
            .any(|name| encoding.eq_ignore_ascii_case(name.as_bytes()));
        if is_latin {
            return words
                .into_iter()
                .for_each(|text| *text = text.iter().map(|byte| char::from(*byte)).collect::<String>().into());
        }
        if self.encoded_again.replace(self.encoded_again.get() + 1) >= MAX_ENCODED_AGAIN {
            return;
        }
        let id = commit.commit_id.to_string();
        let format = "--format=%an%x00%ae%x00%cn%x00%ce%x00%B";
        let asked = ["-c", "log.showSignature=false", "show", "--no-patch", "--encoding=UTF-8", format, &id];
        let Ok(output) = git(asked).repository(self).capture() else { return };
        let output = output.strip_suffix(b"\n").unwrap_or(&output);
        for (text, encoded) in words.into_iter().zip(output.splitn_str(5, "\0")) {
            *text = encoded.into();
        }
    }
}
