//! The repository's config file as it was before `init`. Git adds a final newline and drops empty sections, so taking our values
//! out again is not enough.

use std::path::PathBuf;

use super::{Edit, Plan};
use crate::error::{Error, Result};
use crate::managed::disk::{self, Node};
use crate::managed::file;
use crate::managed::installed::EditedConfig;
use crate::managed::step::Step;

impl Plan {
    pub(super) fn config_path(&self) -> PathBuf {
        let path = self.common_dir.join("config");
        path.canonicalize().unwrap_or(path)
    }

    /// Returns the config file as it was before `init` has changed it for the first time; `None` if somebody else has changed it
    /// since, or it is unknown.
    pub(super) fn original_config(&self) -> Option<Vec<u8>> {
        let there = file::read(&self.config_path()).ok()??;
        match &self.installed.config_file {
            Some(known) if known.after == file::digest(&there) => file::unsplice(&there, &known.splices),
            None if self.installed.config.is_empty() => Some(there),
            _ => None,
        }
    }

    /// Notes how the config file comes back that was like `original`.
    pub(super) fn keep_config(&mut self, original: Option<Vec<u8>>) {
        let there = file::read(&self.config_path()).ok().flatten();
        let edited = |(original, there): (Vec<u8>, Vec<u8>)| EditedConfig {
            after: file::digest(&there),
            splices: file::splices(&original, &there),
        };
        let has_ours = !self.installed.config.is_empty();
        self.installed.config_file = original.zip(there).map(edited).filter(|_| has_ours);
    }

    /// Puts the config file back, if nobody else has changed it, instead of removing our values one by one.
    pub(super) fn restore_config(&mut self, steps: &mut Vec<Edit>) -> Result<()> {
        let Some(original) = self.original_config().filter(|_| self.installed.config_file.is_some()) else {
            return Ok(());
        };
        let path = self.config_path();
        let lock = path.with_file_name("config.lock");
        // As Git does it, so that no change of another process is lost.
        let locked = std::fs::OpenOptions::new().write(true).create_new(true).open(&lock);
        locked.map_err(|error| Error::io("create", &lock, error))?;
        let is_still_ours = self.original_config().as_ref() == Some(&original);
        let written = match disk::observe(&path) {
            Ok(node @ Node::File { mode, .. }) if is_still_ours => {
                Step::write(path, &original, Some(mode), &node).and_then(|step| step.take(true))
            }
            _ => Ok(false),
        };
        std::fs::remove_file(&lock).map_err(|error| Error::io("remove", &lock, error))?;
        if written? {
            steps.retain(|step| !matches!(step, Edit::RemoveConfig { .. }));
            self.installed.config.clear();
            self.installed.config_file = None;
            self.installed.write(&self.common_dir, &self.places)?;
        }
        Ok(())
    }
}
