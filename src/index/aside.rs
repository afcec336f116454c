//! Answers of a scan that is not finished: the index is replaced as a whole or not at all, and no question that was answered is
//! asked again.

use serde::{Deserialize, Serialize};

use super::changed::Snapshot;
use super::files::Project;
use crate::error::{Error, Kind, Result};
use crate::git::private;

/// The index that some answers would make.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Aside {
    /// The four files as they were when the first question was asked.
    before: Vec<String>,
    /// The four files with the answers.
    pub texts: Vec<String>,
    /// What the answers tell of.
    pub scanned: Snapshot,
}

impl Aside {
    /// Returns what an earlier scan has put aside, if the index has not changed since.
    pub fn read(project: &Project, texts: &[String]) -> Option<Self> {
        let text = std::fs::read(path(project)).ok()?;
        let aside: Aside = serde_json::from_slice(&text).ok()?;
        (aside.before == texts && aside.texts.len() == texts.len()).then_some(aside)
    }

    /// Puts answers aside.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(project: &Project, before: &[String], texts: &[String], scanned: &Snapshot) -> Result<()> {
        let aside = Aside { before: before.to_vec(), texts: texts.to_vec(), scanned: scanned.clone() };
        let text = serde_json::to_vec(&aside).map_err(|error| Error::new(Kind::Other, "answers").because(error))?;
        private::write(&path(project), &text)
    }

    /// Removes what was put aside.
    ///
    /// # Errors
    ///
    /// If the file cannot be removed.
    pub fn remove(project: &Project) -> Result<()> {
        private::remove(&path(project))
    }
}

fn path(project: &Project) -> std::path::PathBuf {
    project.history().join("answered.json")
}
