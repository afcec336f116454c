//! A store in memory: its manifest, the texts of its rules, its skills, and the changes that a command makes to them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::generate::Written;
use super::manifest::Manifest;
use super::tree::{META, tree_steps, whole_tree};
use super::{Place, STORE, Scope, all_folders, folders};
use crate::error::{Error, Result};
use crate::git::date::Time;
use crate::managed::Step;
use crate::managed::disk::{self, Node};

/// A skill of the store.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Skill {
    /// Its name, which is that of its directory.
    pub name: String,
    /// Where it is read. A command that restores it, or takes an edited copy in, writes the store only after that.
    pub now: PathBuf,
}

/// A store, as it is or as a command leaves it.
#[derive(Clone, Debug)]
pub struct Store {
    /// Its path.
    pub place: Place,
    /// Its settings.
    pub manifest: Manifest,
    /// The settings as they were read; `None` for a new store.
    pub(super) read: Option<String>,
    /// The skills, by name.
    pub(super) skills: Vec<Skill>,
    /// The names of folders beside the skills that no skill can have.
    pub(super) misnamed: Vec<String>,
    /// The names of archived skills.
    pub(super) archived: Vec<String>,
    /// Texts of rules that are not written yet.
    pub(super) texts: BTreeMap<String, String>,
    /// The steps that change the store itself, but for the manifest.
    pub(super) steps: Vec<Step>,
    /// What is to be kept in the backup.
    pub(super) saved: Vec<(PathBuf, Node)>,
    /// The user's files whose text was taken in, with its digest.
    pub(super) imported: Vec<(PathBuf, String)>,
    /// Files that the settings named until now, each with what is written there.
    pub(super) unnamed: Vec<(&'static str, PathBuf)>,
    /// Whether the settings were changed.
    pub(super) is_changed: bool,
}

impl Store {
    /// Reads the store of a place, but for the texts of its rules.
    ///
    /// # Errors
    ///
    /// If there is none, or it cannot be understood.
    pub fn read(place: &Place) -> Result<Self> {
        place.check_inside(&place.manifest())?;
        let (manifest, text) = Manifest::read(place)?;
        let mut store = Self::empty(place, manifest);
        store.read = Some(text);
        store.find_skills()?;
        Ok(store)
    }

    /// Begins a store for a directory that has no manifest, but may have skills.
    pub fn begin(place: &Place, manifest: Manifest) -> Result<Self> {
        let mut store = Self::empty(place, manifest);
        store.find_skills()?;
        Ok(store)
    }

    fn find_skills(&mut self) -> Result<()> {
        let directory = self.skills_directory();
        let skill = |name: String| Skill { now: directory.join(&name), name };
        let (names, misnamed) = all_folders(&directory);
        self.skills = names.into_iter().map(skill).collect();
        self.misnamed = misnamed;
        self.archived = folders(&self.archive());
        self.skills.iter().try_for_each(|skill| self.place.check_inside(&skill.now))
    }

    /// Begins a store that is not there yet.
    pub fn empty(place: &Place, manifest: Manifest) -> Self {
        Store {
            place: place.clone(),
            manifest,
            read: None,
            skills: Vec::new(),
            misnamed: Vec::new(),
            archived: Vec::new(),
            texts: BTreeMap::new(),
            steps: Vec::new(),
            saved: Vec::new(),
            imported: Vec::new(),
            unnamed: Vec::new(),
            is_changed: false,
        }
    }

    /// Returns the file of a rule.
    pub fn rule_path(&self, file: &str) -> PathBuf {
        self.place.store().join("rules").join(file)
    }

    /// Returns the directory of skills.
    pub fn skills_directory(&self) -> PathBuf {
        self.place.store().join(self.manifest.skills_directory())
    }

    /// Returns the directory of archived skills.
    pub fn archive(&self) -> PathBuf {
        self.place.store().join("skills-archived")
    }

    /// Returns the names of the skills.
    pub fn skill_names(&self) -> Vec<String> {
        self.skills.iter().map(|skill| skill.name.clone()).collect()
    }

    /// Says whether a path is in the store, whatever it calls the home.
    pub(super) fn has(&self, path: &Path) -> bool {
        let is_store = |above: &Path| {
            let is_named = above.file_name().is_some_and(|name| name == STORE);
            is_named && above.parent().is_some_and(|base| disk::is_same(base, &self.place.base))
        };
        path.starts_with(self.place.store()) || path.is_absolute() && path.ancestors().any(is_store)
    }

    /// Reads the texts of all rules.
    ///
    /// # Errors
    ///
    /// If one is missing or cannot be read.
    pub(super) fn rules(&self) -> Result<Vec<Written>> {
        let (mut written, mut read) = (Vec::new(), HashMap::<String, Rc<str>>::new());
        let mut left = disk::MAX_FILE_BYTES;
        for rule in self.manifest.rules()? {
            // Several rules can name one file.
            if let Some(text) = read.get(&rule.file).cloned() {
                left = within(left, &text)?;
                written.push(Written { rule, text });
                continue;
            }
            let text = match self.texts.get(&rule.file) {
                Some(text) => text.clone(),
                None => {
                    let path = self.rule_path(&rule.file);
                    self.place.check_inside(&path)?;
                    let missing =
                        || Error::other(format!("cannot read rule '{}': '{}' is missing", rule.id, path.display()));
                    disk::text(&path)?.ok_or_else(missing)?
                }
            };
            let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text };
            if super::block::has_marker(&text) {
                return Err(Error::other(format!("rule '{}' has a marker line of a block of ours", rule.id)));
            }
            left = within(left, &text)?;
            let text: Rc<str> = text.into();
            read.insert(rule.file.clone(), Rc::clone(&text));
            written.push(Written { rule, text });
        }
        if self.place.scope == Scope::Repository && self.manifest.includes_home() && self.place.shares_home {
            let home = Place::of_home(&self.place.home)?;
            if disk::is_there(&home.manifest()) {
                let known: Vec<String> = written.iter().map(|written| written.rule.id.clone()).collect();
                let others = Store::read(&home)?.rules()?.into_iter();
                written.extend(others.filter(|other| !known.contains(&other.rule.id)));
            }
        }
        Ok(written)
    }

    /// Changes the text of a rule, or adds it. A text that it replaces is kept in the backup. A file that is kept elsewhere
    /// is written there.
    pub(super) fn set_text(&mut self, file: &str, text: &str) -> Result<()> {
        let path = self.rule_path(file);
        self.place.check_inside(&self.place.store().join("rules"))?;
        self.place.check_inside(&path)?;
        let path = disk::resolved(&path)?;
        if text.len() as u64 > disk::MAX_FILE_BYTES {
            return Err(Error::other(format!(
                "the text of '{file}' is too large (at most {} bytes)",
                disk::MAX_FILE_BYTES
            )));
        }
        if self.texts.contains_key(file) || path != self.rule_path(file) {
            self.steps.retain(|step| !matches!(step, Step::Write { path: planned, .. } if *planned == path));
        }
        let before = disk::observe(&path)?;
        let mode = if let Node::File { mode, .. } = before { Some(mode) } else { None };
        self.steps.push(Step::write(path.clone(), text.as_bytes(), mode, &before)?);
        let is_saved = || self.saved.iter().any(|(saved, _)| *saved == path);
        if matches!(&before, Node::File { bytes, .. } if bytes != text.as_bytes()) && !is_saved() {
            self.saved.push((path, before));
        }
        self.texts.insert(file.to_owned(), text.to_owned());
        Ok(())
    }

    /// Adds a skill: a copy of a directory of the user's.
    pub(super) fn add_skill(&mut self, name: &str, from: &Path) -> Result<()> {
        let to = self.skills_directory().join(name);
        let tree = if self.place.scope == Scope::Home { whole_tree(&self.place, from)? } else { disk::tree(from)? };
        self.steps.push(Step::MakeDirectory { path: to.clone() });
        for (path, node) in tree {
            let path = to.join(path);
            self.steps.push(match node {
                Node::File { bytes, mode } => Step::write(path, &bytes, Some(mode), &Node::Absent)?,
                Node::Link(target) => Step::link(path, target, &Node::Absent),
                _ => Step::MakeDirectory { path },
            });
        }
        self.skills.push(Skill { name: name.to_owned(), now: from.to_owned() });
        self.skills.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(())
    }

    /// Replaces a skill by what is in a copy of it. What was in it is kept in the backup.
    pub(super) fn replace_skill(&mut self, name: &str, copy: &Path) -> Result<()> {
        let to = self.skills_directory().join(name);
        let (there, mut tree) = (disk::tree(&to)?, disk::tree(copy)?);
        tree.retain(|path, _| !path.starts_with(META));
        self.steps.extend(tree_steps(&to, &there, &tree, true)?);
        let replaced = there.into_iter().filter(|(path, node)| tree.get(path) != Some(node));
        self.saved.extend(replaced.map(|(path, node)| (to.join(path), node)));
        // The store has the new text only after these steps.
        if let Some(skill) = self.skills.iter_mut().find(|skill| skill.name == name) {
            skill.now = copy.to_owned();
        }
        Ok(())
    }

    /// Returns the steps that change the store: those of the command, then the manifest, if it is to be written.
    pub(super) fn steps(&self, is_synced: bool, now: Time) -> Result<Vec<Step>> {
        let mut steps = self.steps.clone();
        let text = self.manifest.to_text(now)?;
        // A manifest that is committed does not change with the day alone.
        let is_dated = is_synced && self.place.scope == Scope::Home;
        let is_written = self.is_changed || !steps.is_empty() || is_dated || self.read.is_none();
        if is_written && self.read.as_deref() != Some(&text) {
            let path = disk::resolved(&self.place.manifest())?;
            let before = disk::observe(&path)?;
            let mode = if let Node::File { mode, .. } = before { Some(mode) } else { None };
            steps.push(Step::write(path, text.as_bytes(), mode, &before)?);
        }
        Ok(steps)
    }
}

/// Returns how many bytes the rules may still have after this one: no file of an agent's can have more.
///
/// # Errors
///
/// If they have too many.
fn within(left: u64, text: &str) -> Result<u64> {
    let too_many = || Error::other(format!("the rules have more than {} bytes together", disk::MAX_FILE_BYTES));
    left.checked_sub(text.len() as u64).ok_or_else(too_many)
}
