//! Files that another home or repository has generated, and that stay as they are.

use std::path::Path;

use super::super::block;
use super::super::generate;
use super::Planner;
use crate::managed::disk::{self, Node};

impl Planner<'_> {
    /// Says whether a file was generated, is not written down, and is outside of the base or of the other scope: another home
    /// or repository has written it, and nobody here knows what was there before.
    pub(super) fn is_of_another(&self, path: &Path) -> bool {
        if self.registry.get(path).is_some() {
            return false;
        }
        let Ok(Node::File { bytes, .. }) = disk::observe(path) else { return false };
        if path.starts_with(&self.store.place.base) {
            return self.is_of_other_scope(&bytes);
        }
        block::is_in(&bytes) || generate::is_generated(&bytes, false) && !generate::is_of_earlier_tool(&bytes, false)
    }

    /// Says whether a file, or the block in it, is generated and of the other scope.
    pub(super) fn is_of_other_scope(&self, bytes: &[u8]) -> bool {
        let split = block::split(bytes).or_else(|| block::open(bytes));
        generate::is_of_other_scope(split.as_ref().map_or(bytes, |split| split.block), self.store.place.scope)
    }

    pub(super) fn stays_for_another(&mut self, path: &Path) {
        let shown = self.store.place.shown(path);
        self.warnings.push(format!("    Warning: nobody has written down who generated '{shown}'; it stays"));
    }
}
