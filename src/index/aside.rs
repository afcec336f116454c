//! Answers of a scan that is not finished: the index is replaced as a whole or not at all, and no question that was
//! answered is asked again.

use serde::{Deserialize, Serialize};

use super::changed::Snapshot;
use super::files::{Project, ROOTS, read_history};
use super::schema;
use crate::error::{Error, Kind, Result};
use crate::git::private;

/// The name of the file that has them, in the history.
const NAME: &str = "answered.json";

/// The index that some answers would make.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Aside {
    /// The four files as they were when the first question was asked.
    before: Vec<String>,
    /// The four files with the answers.
    pub texts: Vec<String>,
    /// The files of the project that the answers are about.
    pub scanned: Snapshot,
}

impl Aside {
    /// Returns the answers that an earlier scan has put aside, if they make a valid index and the present one has not
    /// changed since.
    pub fn read(project: &Project, texts: &[String]) -> Option<Self> {
        let text = read_history(project, NAME)?;
        let aside: Aside = serde_json::from_slice(&text).ok()?;
        let is_of_these = aside.before == texts && aside.texts.len() == ROOTS.len();
        let is_valid = || ROOTS.iter().zip(&aside.texts).all(|(root, text)| schema::check(root, Ok(text)).is_empty());
        (is_of_these && is_valid()).then_some(aside)
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

    /// Removes the answers that were put aside.
    ///
    /// # Errors
    ///
    /// If the file cannot be removed.
    pub fn remove(project: &Project) -> Result<()> {
        private::remove(&path(project))
    }
}

fn path(project: &Project) -> std::path::PathBuf {
    project.history().join(NAME)
}
