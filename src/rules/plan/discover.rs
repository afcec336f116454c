//! Finding what is generated and is not in the registry: an earlier tool has written it, or the registry was lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::backup;
use super::super::block;
use super::super::generate::{self, stable_digest};
use super::super::places::{self, Form, Rules, SKILL_TARGETS};
use super::super::registry::{Entry, Owned};
use super::super::tree::tree_digest;
use super::super::{Scope, want};
use super::Planner;
use crate::error::Result;
use crate::managed::disk::{self, Node};

/// How `.mdc` and `.md` files in a directory of rules are found.
const EACH: &[(&str, &str, Form)] = &[
    ("cursor", ".cursor/rules", Form::Cursor),
    ("kiro", ".kiro/steering", Form::Kiro),
    ("claude", ".claude/rules", Form::Claude),
];

impl Planner<'_> {
    /// Adds to the registry what an earlier tool has generated, or what we have before the registry was lost.
    pub(super) fn discover(&mut self) -> Result<()> {
        let place = self.store.place.clone();
        let is_repository = place.scope == Scope::Repository;
        let mut files: Vec<(&'static str, PathBuf)> = Vec::new();
        for agent in ["claude", "gemini"] {
            files.extend(places::instructions(agent, is_repository).map(|file| (agent, place.base.join(file))));
        }
        for agent in ["codex", "kiro"] {
            for is_current in [false, true] {
                if let Some(Rules::Joined(file) | Rules::Headed(file)) = places::rules(agent, is_current, is_repository)
                {
                    files.push((agent, place.base.join(file)));
                }
            }
        }
        files.extend(self.named().iter().map(|(path, target)| (*target, path.clone())));
        files.extend(self.store.unnamed.iter().cloned());
        if self.wanted.is_empty() {
            // Nothing stays, also where the manifest names a file no longer that an earlier tool has replaced.
            let saved = self.saved().keys().cloned().collect();
            let saved = backup::paths(&place).union(&saved).cloned().collect::<Vec<_>>();
            files.extend(
                saved.into_iter().filter(|path| !self.is_of_store_or_skill(path)).map(|path| ("agents-md", path)),
            );
        }
        for (target, path) in files {
            self.discover_file(target, &path)?;
        }
        for (agent, directory, form) in EACH {
            let directory = place.base.join(directory);
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.to_str().is_some_and(|name| name.ends_with(form.suffix())) {
                    self.discover_file(agent, &directory.join(name))?;
                }
            }
        }
        for agent in SKILL_TARGETS {
            for is_current in [false, true] {
                let Some(directory) = places::skills(agent, is_current, is_repository) else { continue };
                let directory = place.base.join(directory);
                for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                    let path = entry.path();
                    if path.to_str().is_none() || self.is_known(&path) || self.link_above(&path).is_some() {
                        continue;
                    }
                    let (owned, digest) = match disk::observe(&path) {
                        // A home can be a repository, and its store that of both.
                        Ok(Node::Link(_) | Node::Directory) if self.is_of_another(&path) => continue,
                        Ok(Node::Link(target)) if self.store.has(&target) => {
                            (Owned::Link, target.display().to_string())
                        }
                        Ok(Node::Directory) if self.is_copy(&path) => match disk::tree(&path) {
                            Ok(tree) => (Owned::Tree, tree_digest(&tree)),
                            Err(error) if disk::odd_name(&path).is_some() => {
                                self.left_out(&path, error)?;
                                continue;
                            }
                            // Somebody has put something there that cannot be read.
                            Err(_) => (Owned::Tree, String::new()),
                        },
                        _ => continue,
                    };
                    let name = entry.file_name();
                    let is_misnamed = !name.to_str().is_some_and(super::super::is_id);
                    if is_misnamed
                        && (owned == Owned::Link && path.is_dir() || self.store.skills_directory().join(&name).is_dir())
                    {
                        // An earlier tool has put it there, and nothing here would bring it back.
                        let shown = self.store.place.shown(&path);
                        self.warnings
                            .push(format!("    Warning: '{shown}' has a name that no skill can have; it stays"));
                        continue;
                    }
                    let original = self.earlier_skill(&path)?;
                    let entry = Entry { owned, target: (*agent).to_owned(), digest, original };
                    self.discovered.insert(path.clone());
                    self.registry.entries.insert(path, entry);
                }
            }
        }
        Ok(())
    }

    /// Returns the files that the settings name, and warns if some of them were not looked for.
    pub(super) fn named(&mut self) -> Rc<BTreeMap<PathBuf, &'static str>> {
        if let Some(named) = &self.named {
            return Rc::clone(named);
        }
        let (named, warning) = want::named(self.store);
        self.warnings.extend(warning);
        let mut by_path = BTreeMap::new();
        for (target, path) in named {
            // Of two settings that name a file, the first one counts.
            by_path.entry(path).or_insert(target);
        }
        Rc::clone(self.named.insert(Rc::new(by_path)))
    }

    /// Says whether a path is in the store, or in a skill: nothing is generated there, however its text begins.
    fn is_of_store_or_skill(&self, path: &Path) -> bool {
        let place = &self.store.place;
        let is_skill = |above: &Path| {
            let is_place = above.strip_prefix(&place.base).is_ok_and(places::is_skill);
            let is_ours =
                || matches!(self.registry.get(above), Some(entry) if matches!(entry.owned, Owned::Link | Owned::Tree));
            is_place || is_ours() || disk::is_there(&above.join("SKILL.md"))
        };
        path.starts_with(place.store())
            || path.ancestors().skip(1).take_while(|above| *above != place.base).any(is_skill)
    }

    fn is_known(&self, path: &Path) -> bool {
        self.wanted.contains(path) || self.registry.entries.contains_key(path)
    }

    fn discover_file(&mut self, target: &str, path: &Path) -> Result<()> {
        if path.to_str().is_none() || self.is_known(path) || self.link_above(path).is_some() {
            return Ok(());
        }
        // A link is not ours, and neither is what cannot be read.
        let Ok(Node::File { bytes, mode }) = disk::observe(path) else { return Ok(()) };
        if !generate::is_generated(&bytes) && !block::is_in(&bytes) {
            return Ok(());
        }
        if self.registry.is_elsewhere(&self.store.place, path) || self.is_of_another(path) {
            self.stays_for_another(path);
            return Ok(());
        }
        let (owned, digest, original) = if let Some(split) = block::split(&bytes) {
            let digest = stable_digest(split.block);
            (Owned::Block, digest, self.keep_users(path, block::without(&bytes), mode, true))
        } else if block::open(&bytes).is_some() {
            // Nobody knows where it ends.
            (Owned::Block, String::new(), self.earlier_original(path)?)
        } else {
            (Owned::Whole, stable_digest(&bytes), self.earlier_original(path)?)
        };
        self.discovered.insert(path.to_owned());
        self.registry.entries.insert(path.to_owned(), Entry { owned, target: target.to_owned(), digest, original });
        Ok(())
    }

    /// Writes down what an earlier tool has written where the settings name nothing from now on, since it would be found no more
    /// after this. Whether somebody has edited it is not known.
    pub fn keep_unnamed(&mut self) -> Result<()> {
        let named = self.named();
        for (target, path) in &self.store.unnamed {
            if named.contains_key(path) {
                continue;
            }
            self.discover_file(target, path)?;
            if self.discovered.contains(path)
                && let Some(entry) = self.registry.entries.get_mut(path)
            {
                entry.digest.clear();
            }
        }
        Ok(())
    }
}
