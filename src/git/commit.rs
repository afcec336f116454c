//! A commit as a value: what `log` and `show` print of it, and the paths it changes.

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice as _, ByteVec as _};

use super::date::Time;
use super::{ObjectId, Repository, gix_error};
use crate::error::Result;

/// A name, an address and the moment they signed.
#[derive(Clone, Debug)]
pub struct Person {
    /// As in the commit, without surrounding space.
    pub name: BString,
    /// As in the commit, without angle brackets.
    pub email: BString,
    /// When, with the offset that the person's clock had.
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
    /// The message as it is stored.
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

    /// Returns what follows the subject, without the blank lines between.
    pub fn body(&self) -> BString {
        let mut lines = self.message.lines_with_terminator().skip_while(|line| line.trim().is_empty());
        lines.by_ref().find(|line| line.trim().is_empty());
        lines.skip_while(|line| line.trim().is_empty()).flat_map(|line| line.iter().copied()).collect::<Vec<_>>().into()
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
        Ok(Commit {
            commit_id,
            tree_id: decoded.tree(),
            parent_ids: decoded.parents().collect(),
            author: person(decoded.author().map_err(fail)?),
            committer: person(decoded.committer().map_err(fail)?),
            message: decoded.message.to_owned(),
        })
    }

    /// Returns the paths that differ between a commit and its first parent (or nothing, for a root commit).
    ///
    /// Costs two reads for each directory that differs. Renames count as one path gone and one new.
    ///
    /// # Errors
    ///
    /// If a tree cannot be read.
    pub fn changed_paths(&self, commit: &Commit) -> Result<Vec<BString>> {
        let old = match commit.parent_ids.first() {
            Some(parent) => self.commit(*parent).map(|parent| parent.tree_id).ok(),
            None => None,
        };
        let mut changed = Vec::new();
        self.compare_trees(old, Some(commit.tree_id), &BString::default(), &mut changed)?;
        Ok(changed)
    }

    fn compare_trees(
        &self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &BString,
        changed: &mut Vec<BString>,
    ) -> Result<()> {
        let (old, new) = (self.tree_entries(old)?, self.tree_entries(new)?);
        let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for name in names {
            let (before, after) = (old.get(name), new.get(name));
            if before == after {
                continue;
            }
            let mut path = prefix.clone();
            path.push_str(name);
            let tree_of = |entry: Option<&(bool, ObjectId)>| entry.filter(|entry| entry.0).map(|entry| entry.1);
            if before.is_some_and(|entry| !entry.0) || after.is_some_and(|entry| !entry.0) {
                changed.push(path.clone());
            }
            if tree_of(before).is_some() || tree_of(after).is_some() {
                path.push(b'/');
                self.compare_trees(tree_of(before), tree_of(after), &path, changed)?;
            }
        }
        Ok(())
    }

    /// Returns the entries of a tree: whether each is a tree itself, and its id. No id means no entries.
    fn tree_entries(&self, tree_id: Option<ObjectId>) -> Result<BTreeMap<BString, (bool, ObjectId)>> {
        let Some(tree_id) = tree_id else { return Ok(BTreeMap::new()) };
        let fail = |error: gix::Error| gix_error(format!("cannot read tree '{tree_id}'"), &error);
        let tree = self.gix().find_tree(tree_id).map_err(fail)?;
        let decoded = tree.decode().map_err(fail)?;
        let entries = decoded.entries.iter();
        Ok(entries.map(|entry| (entry.filename.to_owned(), (entry.mode.is_tree(), entry.oid.to_owned()))).collect())
    }
}
