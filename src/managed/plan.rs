//! Planning edits of files and of the config, which can be shown before they are made.

mod carrying_out;
mod config;
mod obstacles;

use std::path::{Path, PathBuf};

pub use self::carrying_out::open_when_free;
use super::edit::Edit;
use super::installed::{Installed, Original};
use super::part::{has_our_part, is_blank, stripped};
use super::place::{Places, is_of_one_repository};
use super::{FileKind, file};
use crate::error::{Error, Result};
use crate::git::Repository;

/// The edits to make, in order, and the warnings and hints about them.
pub struct Plan {
    common_dir: PathBuf,
    places: Places,
    installed: Installed,
    edits: Vec<Edit>,
    remarks: Vec<String>,
    hints: Vec<String>,
    /// Whether everything that was installed goes.
    is_removal: bool,
    /// Whether hooks that serve other repositories too may change.
    is_for_all: bool,
    /// The files that would be edited, but are outside the repository, and nobody has agreed to change them.
    left: Vec<LeftAlone>,
    /// Directories that lose a file that was not written down, and go with it if nothing else is in them.
    emptied: Vec<PathBuf>,
    /// The files that were read, with digests of what they had; `None` for one that was not there.
    read: Vec<(PathBuf, Option<String>)>,
    /// The files that cannot be edited, and stay written down.
    obstructed: Vec<PathBuf>,
    /// The errors about the files that cannot be edited.
    failures: Vec<Error>,
}

/// A file outside the repository that is left alone, since nobody has agreed to change it.
#[derive(Clone, Debug)]
pub struct LeftAlone {
    /// Where it is.
    pub path: PathBuf,
    /// The path in the repository that leads there by a link; `None` for a hook in a directory outside, or for settings of
    /// the user's own.
    pub link: Option<PathBuf>,
}

impl Plan {
    /// Begins a plan without edits, and reads what was installed before. With `is_removal` all of that is to be removed. With
    /// `is_for_all` hooks may be edited that serve other repositories too.
    ///
    /// # Errors
    ///
    /// If the file `shiftlog/installed`, which records it, cannot be read.
    pub fn new(repo: &Repository, is_removal: bool, is_for_all: bool) -> Result<Self> {
        let common_dir = repo.common_dir();
        let places = Places::of(repo);
        let mut installed = Installed::read(&common_dir, &places)?;
        installed.follow(repo);
        Ok(Plan {
            installed,
            common_dir,
            places,
            edits: Vec::new(),
            remarks: Vec::new(),
            hints: Vec::new(),
            is_removal,
            is_for_all,
            left: Vec::new(),
            emptied: Vec::new(),
            read: Vec::new(),
            obstructed: Vec::new(),
            failures: Vec::new(),
        })
    }

    /// Returns the edits, in the order in which they are made.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Returns the warnings for the user.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Returns the hints: commands that the user can type.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Returns the files that are left alone since they are outside the repository, and nobody has agreed to change them.
    pub fn left(&self) -> &[LeftAlone] {
        &self.left
    }

    /// Returns the files that are written down and belong to another repository: this one is a copy of it.
    pub fn foreign_files(&self) -> Vec<PathBuf> {
        self.installed.foreign.clone()
    }

    /// Returns the files that were edited or made.
    pub fn installed_files(&self) -> Vec<PathBuf> {
        self.installed.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Adds a warning for the user.
    pub fn remark(&mut self, remark: String) {
        self.remarks.push(remark);
    }

    /// Adds a hint: a command that the user can type.
    pub fn hint(&mut self, hint: &str) {
        self.hints.push(hint.to_owned());
    }

    /// Returns the place of a file that links in the repository lead to, or another name by which the file is edited already. A
    /// hook keeps the name that Git runs it by.
    pub fn settled(&self, path: &Path, kind: FileKind) -> PathBuf {
        if kind == FileKind::Hook { path.to_owned() } else { self.place(path) }
    }

    /// Returns the place of a file. One outside the repository has the name by which it is written down, or is edited by the
    /// steps so far, if links give it several.
    fn place(&self, path: &Path) -> PathBuf {
        let settled = self.places.settled(path);
        if settled != path || self.places.have(path) {
            return settled;
        }
        let planned = self.edits.iter().filter_map(|step| match step {
            Edit::Write { path, .. } => Some(path),
            _ => None,
        });
        let known: Vec<&PathBuf> = self.installed.files.iter().map(|file| &file.path).chain(planned).collect();
        let real = file::real(path);
        let is_same = |known: &&PathBuf| !self.places.have(known) && file::real(known) == real;
        let is_known = known.iter().any(|known| *known == path);
        known.into_iter().find(|known| !is_known && is_same(known)).map_or_else(|| path.to_owned(), Clone::clone)
    }

    /// Says whether a file is left alone since it is outside the repository. `path` is the file, `named` how it was named.
    /// Settings of the user's own are edited only when that is asked for.
    fn leaves(&mut self, path: &Path, named: &Path, kind: FileKind) -> bool {
        let is_linked = match kind {
            // Of a directory with hooks that is outside, one cause is told for all.
            FileKind::Hook => path.is_symlink() && path.parent().is_some_and(|hooks| !self.places.is_outside(hooks)),
            _ => self.places.have(named),
        };
        let hooks = path.parent().filter(|_| kind == FileKind::Hook && !is_linked && self.places.is_outside(path));
        if let Some(hooks) = hooks.filter(|hooks| is_of_one_repository(hooks)) {
            let remark = format!("the hooks in '{}' belong to another repository, and are left alone", hooks.display());
            if !self.remarks.contains(&remark) {
                self.remark(remark);
            }
            return true;
        }
        let needs_consent = kind == FileKind::Hook || is_linked || self.is_removal;
        let is_left = needs_consent && !self.is_for_all && self.places.is_outside(path);
        if is_left && !self.is_left(named) {
            let target = if is_linked { self.places.settled(path) } else { path.to_owned() };
            self.left.push(LeftAlone { path: target, link: is_linked.then(|| named.to_owned()) });
        }
        is_left
    }

    /// Says whether a file is left alone.
    pub fn is_left(&self, named: &Path) -> bool {
        self.left.iter().any(|left| left.link.as_deref().unwrap_or(&left.path) == named)
    }

    /// Says whether a link leads to a file outside the repository that this repository has not edited. With `matters`, adds
    /// a remark.
    fn is_of_another(&mut self, path: &Path, named: &Path, kind: FileKind, matters: bool) -> bool {
        let is_other = kind != FileKind::Hook
            && self.places.have(named)
            && self.places.is_outside(path)
            && self.installed.file(path).is_none();
        if is_other && matters {
            let (named, path) = (named.display(), path.display());
            self.remark(format!("'{named}' leads to '{path}' outside this repository, and is left alone"));
        }
        is_other
    }

    /// Returns what a file would have without our part; `None` if there is no file.
    pub fn current(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        let Some(bytes) = self.planned(path)? else { return Ok(None) };
        Ok(match self.installed.original(path, &bytes) {
            Some(Original::Absent) => None,
            Some(Original::Bytes(original)) => Some(original),
            None => Some(bytes),
        })
    }

    /// Returns the bytes of a file after the edits so far, with our part; `None` if there is no file then.
    pub fn planned(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        let settled = self.place(path);
        let planned = self.edits.iter().rev().find_map(|step| match step {
            Edit::Write { path: planned, after, .. } if planned == path || *planned == settled => Some(after.clone()),
            _ => None,
        });
        planned.map_or_else(|| self.read(path), |after| Ok(Some(after)))
    }

    /// Reads a file that is to be edited. Nothing is done if it is then not as it was when it was first read.
    fn read(&mut self, path: &Path) -> Result<Option<Vec<u8>>> {
        let bytes = file::read(path)?;
        // One file can be named in two ways.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.read.iter().any(|(known, _)| *known == real) {
            self.read.push((real, bytes.as_deref().map(file::digest)));
        }
        Ok(bytes)
    }

    /// Plans that a file gets these bytes.
    pub fn edit(&mut self, named: PathBuf, kind: FileKind, after: Vec<u8>) -> Result<()> {
        let path = self.settled(&named, kind);
        let there = self.read(&path)?;
        // The last planned edit of a file replaces those before it.
        self.edits.retain(|step| !matches!(step, Edit::Write { path: planned, .. } if *planned == path));
        if there.as_deref() == Some(&after[..]) || self.leaves(&path, &named, kind) {
            return Ok(());
        }
        let before = match there {
            None => Original::Absent,
            Some(bytes) => match self.installed.original(&path, &bytes) {
                Some(original) => original,
                None if self.installed.file(&path).is_none() && !has_our_part(kind, &bytes) => Original::Bytes(bytes),
                // Edited by the user since: without our part it is what they want back.
                None => {
                    let stripped = stripped(kind, &bytes).unwrap_or(bytes);
                    let is_new = self.installed.file(&path).is_some_and(|known| known.is_new);
                    if is_new && is_blank(kind, &stripped) { Original::Absent } else { Original::Bytes(stripped) }
                }
            },
        };
        self.edits.push(Edit::Write { path, before, after, kind, is_restore: false });
        Ok(())
    }

    /// Plans that a config value is added, unless it is there.
    pub fn add_config(&mut self, repo: &Repository, key: &str, value: &str) {
        if !repo.config_strings(key).iter().any(|known| known == value) {
            self.edits.push(Edit::AddConfig { key: key.to_owned(), value: value.to_owned() });
        }
    }

    /// Plans that a key with a single value gets this one, in the place of a value that we have set. A value of the user's is
    /// replaced only with `is_asked_for`.
    pub fn set_config(&mut self, repo: &Repository, key: &str, value: &str, is_asked_for: bool) {
        let Some(there) = repo.config_string(key) else { return self.add_config(repo, key, value) };
        if there == value || !(is_asked_for || self.has_set(key, &there)) {
            return;
        }
        self.remove_config(key, |known| known != value);
        self.append_config(key, value);
    }

    /// Plans that a config value is added after those that are there, so that it wins over them.
    pub fn append_config(&mut self, key: &str, value: &str) {
        self.edits.push(Edit::AddConfig { key: key.to_owned(), value: value.to_owned() });
    }

    /// Says whether we added a value of a key.
    pub fn has_set(&self, key: &str, value: &str) -> bool {
        self.installed.config.iter().any(|(known, ours)| known == key && ours == value)
    }

    /// Plans that those values of a key are removed that we have added and for which `fits` holds.
    pub fn remove_config(&mut self, key: &str, fits: impl Fn(&str) -> bool) {
        let ours = self.installed.config.iter().filter(|(k, v)| k == key && fits(v));
        let steps: Vec<Edit> =
            ours.map(|(key, value)| Edit::RemoveConfig { key: key.clone(), value: value.clone() }).collect();
        self.edits.extend(steps);
    }

    /// Plans that our part is removed from a file. In a file that is not written down, our part is found by its text.
    pub fn take_back(&mut self, named: &Path, kind: FileKind) -> Result<()> {
        let path = &self.settled(named, kind);
        let Some(bytes) = self.read(path)? else { return Ok(()) };
        let has_our_part = has_our_part(kind, &bytes);
        if self.is_of_another(path, named, kind, has_our_part) || self.installed.file(path).is_none() && !has_our_part {
            return Ok(());
        }
        let before = match self.installed.original(path, &bytes) {
            Some(original) => original,
            None => {
                let stripped = match stripped(kind, &bytes) {
                    Ok(stripped) => stripped,
                    Err(error) => {
                        self.leave_unedited(path, error);
                        return Ok(());
                    }
                };
                let is_new = self.installed.file(path).is_none_or(|known| known.is_new);
                if is_new && is_blank(kind, &stripped) { Original::Absent } else { Original::Bytes(stripped) }
            }
        };
        // Of a hook that keeps lines of ours nothing goes: it is told as a whole what is left to do.
        let is_hook_to_leave = self.is_removal && kind == FileKind::Hook;
        match before {
            Original::Absent if !self.leaves(path, named, kind) => self.remove_target(path, file::target(path)),
            Original::Bytes(after) if after != bytes && !(is_hook_to_leave && super::hook::has_block(&after)) => {
                if self.leaves(path, named, kind) {
                    return Ok(());
                }
                self.edits.push(Edit::Write {
                    path: path.to_owned(),
                    before: Original::Bytes(bytes),
                    after,
                    kind,
                    is_restore: true,
                });
            }
            Original::Absent => {}
            Original::Bytes(_) => {
                if has_our_part && self.is_removal && kind == FileKind::Hook {
                    self.leave_unedited(path, Error::other("our part of it was changed since it was made"));
                } else if has_our_part {
                    self.remark(format!("'{}' was changed since it was made, and stays", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Plans that a file goes that is ours alone, although nobody wrote down that it was made.
    pub fn remove_made(&mut self, named: &Path, kind: FileKind) {
        let path = self.settled(named, kind);
        if !self.is_of_another(&path, named, kind, true) {
            self.remove_target(&path, file::target(&path));
        }
    }

    /// Says whether a file that we made or edited has been changed since.
    pub fn is_changed(&self, path: &Path, bytes: &[u8]) -> bool {
        self.installed.file(path).is_some() && self.installed.original(path, bytes).is_none()
    }

    /// Plans that a file gets the bytes that `clean` returns. The original that is kept for a later removal is cleaned, too. A
    /// hook that has no commands then is removed.
    pub fn clean(&mut self, named: &Path, kind: FileKind, clean: impl Fn(&[u8]) -> Result<Vec<u8>>) -> Result<()> {
        let path = &self.settled(named, kind);
        let Some(bytes) = self.read(path)? else { return Ok(()) };
        let after = clean(&bytes)?;
        if after == bytes || self.is_of_another(path, named, kind, true) {
            return Ok(());
        }
        let is_idle = |bytes: &[u8]| kind == FileKind::Hook && is_blank(kind, bytes);
        if is_idle(&after) {
            self.remove(path);
            return Ok(());
        }
        let path = path.to_owned();
        self.edits.push(match self.installed.original(&path, &bytes) {
            Some(Original::Bytes(original)) => {
                let before = Original::Bytes(clean(&original)?);
                Edit::Write { path, before, after, kind, is_restore: false }
            }
            _ => Edit::Clean { path, after },
        });
        Ok(())
    }

    /// Plans that a file or a link goes, and with it the directories in the working tree that nothing else is in.
    pub fn remove(&mut self, path: &Path) {
        self.remove_target(path, path.to_owned());
    }

    fn remove_target(&mut self, path: &Path, target: PathBuf) {
        if self.is_removal && self.installed.file(path).is_none() {
            self.emptied.extend(self.places.directories_above(path));
        }
        self.edits.push(Edit::Remove { path: path.to_owned(), target });
    }

    /// Says whether the file `shiftlog/installed` is empty or missing: nothing was installed, or somebody has removed the file.
    pub fn knows_nothing(&self) -> bool {
        self.installed.is_empty()
    }

    /// Plans that the values which we have added, and those in `found`, are removed from the config.
    pub fn take_back_config(&mut self, found: Vec<(String, String)>) {
        let ours = [self.installed.config.clone(), found].concat();
        self.edits.extend(ours.into_iter().map(|(key, value)| Edit::RemoveConfig { key, value }));
    }
}
