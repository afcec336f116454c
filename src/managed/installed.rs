//! What `init` has changed, as it is written down: for each file what was cut out or put in, so that every byte can be put
//! back. Nothing else of the file is kept.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{self, Splice};
use super::place::Places;
use crate::error::{Error, Result};
use crate::git::{Repository, private};

/// The file `$GIT_COMMON_DIR/shiftlog/installed`. There, paths are named as [`Places`] says; here they are absolute.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Installed {
    /// The version of the format: 1.
    pub shiftlog: u32,
    /// The files that were edited or made.
    #[serde(default)]
    pub files: Vec<EditedFile>,
    /// The directories that were made, outermost first.
    #[serde(default)]
    pub directories: Vec<PathBuf>,
    /// The config values that were added to the repository's own config.
    #[serde(default)]
    pub config: Vec<(String, String)>,
    /// How the config file is put back, if only we have changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_file: Option<EditedConfig>,
    /// Files that are named there and belong to another repository: this one is a copy of it.
    #[serde(skip)]
    pub foreign: Vec<PathBuf>,
}

/// A file that was edited or made.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EditedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whether there was none before.
    pub is_new: bool,
    /// SHA-256 of what was written, in hex.
    pub after: String,
    /// What turns it back into what was there.
    pub splices: Vec<Splice>,
    /// The name that the file has while it is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
}

/// Says whether the file exists that lists what was installed.
pub fn is_written_down(common_dir: &Path) -> bool {
    Installed::path(common_dir).exists()
}

/// The config file as Git has made it of the one that was there.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EditedConfig {
    /// SHA-256 of the file, in hex.
    pub after: String,
    /// What turns it back into what was there.
    pub splices: Vec<Splice>,
}

impl Installed {
    fn path(common_dir: &Path) -> PathBuf {
        common_dir.join("shiftlog/installed")
    }

    /// Reads what was installed; nothing, if nothing was.
    ///
    /// # Errors
    ///
    /// If the file is there but is none of ours.
    pub fn read(common_dir: &Path, places: &Places) -> Result<Self> {
        let path = Self::path(common_dir);
        let Some(bytes) = file::read(&path)? else { return Ok(Installed { shiftlog: 1, ..Installed::default() }) };
        let named: Installed = serde_json::from_slice(&bytes).map_err(|error| {
            Error::new(crate::error::Kind::Corrupt, format!("cannot read '{}'", path.display()))
                .because(error)
                .hint("if you move the file away, our parts are known by what is in them, and 'git shiftlog deinit' removes them")
        })?;
        let mut installed = Installed { files: Vec::new(), directories: Vec::new(), ..named };
        for mut file in named.files {
            match places.resolve(&file.path) {
                Some(path) => {
                    file.path = path;
                    installed.files.push(file);
                }
                None => installed.foreign.push(file.path),
            }
        }
        installed.directories.extend(named.directories.iter().filter_map(|directory| places.resolve(directory)));
        Ok(installed)
    }

    /// Brings the config values up to what is there: `git remote rename` takes those of a remote along to another section,
    /// and what somebody has removed or changed is no longer ours.
    pub fn follow(&mut self, repo: &Repository) {
        let has = |key: &str, value: &str| repo.config_strings(key).iter().any(|known| known == value);
        let moved = |value: &str| {
            let keys = repo.remotes().into_iter().map(|remote| format!("remote.{remote}.fetch"));
            keys.into_iter().find(|key| has(key, value))
        };
        let known = std::mem::take(&mut self.config);
        self.config = known
            .into_iter()
            .filter_map(|(key, value)| match has(&key, &value) {
                true => Some((key, value)),
                false if key.starts_with("remote.") => Some((moved(&value)?, value)),
                false => None,
            })
            .collect();
    }

    /// Writes it down, or removes the file if nothing is installed any more.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, common_dir: &Path, places: &Places) -> Result<()> {
        let path = Self::path(common_dir);
        if self.is_empty() {
            return private::remove(&path);
        }
        let mut named = self.clone();
        named.files.iter_mut().for_each(|file| file.path = places.name(&file.path));
        named.directories.iter_mut().for_each(|directory| *directory = places.name(directory));
        let mut bytes =
            serde_json::to_vec_pretty(&named).map_err(|error| Error::other("cannot write").because(error))?;
        bytes.push(b'\n');
        private::write(&path, &bytes)
    }

    /// Says whether nothing is installed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.config.is_empty() && self.directories.is_empty()
    }

    /// Adds what is about to be done to a file. What was known of it stays until [`Installed::keep_newest`]: either can be
    /// true after a crash.
    pub fn add_file(&mut self, file: EditedFile) {
        for directory in file::missing_directories(&file.path) {
            if !self.directories.contains(&directory) {
                self.directories.push(directory);
            }
        }
        self.files.push(file);
    }

    /// Removes what a process that was killed has left of files that it was writing.
    pub fn sweep(&mut self) {
        for file in &mut self.files {
            // What cannot be removed now is removed by a later command.
            file.unfinished.take_if(|name| {
                file::sweep(&file::target(&file.path), |other| other.file_name() != Some(name.as_ref())).is_ok()
            });
        }
    }

    /// Keeps only the newest entry of a file, once its edit is complete.
    pub fn keep_newest(&mut self, path: &Path) {
        let newest = self.files.iter().rposition(|file| file.path == path);
        let mut index = 0;
        self.files.retain(|file| {
            index += 1;
            file.path != path || Some(index - 1) == newest
        });
        self.files.iter_mut().filter(|file| file.path == path).for_each(|file| file.unfinished = None);
    }

    /// Returns what is known of a file.
    pub fn file(&self, path: &Path) -> Option<&EditedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns what a file was before we edited it, if nobody has edited it since.
    pub fn original(&self, path: &Path, current: &[u8]) -> Option<Original> {
        let digest = file::digest(current);
        let known = self.files.iter().find(|file| file.path == path && file.after == digest)?;
        if known.is_new {
            return Some(Original::Absent);
        }
        file::unsplice(current, &known.splices).map(Original::Bytes)
    }
}

/// Returns the directories that `init` has made in the main working tree, whose top this is; outermost first.
pub fn made_directories(common_dir: &Path, top: &Path) -> Vec<PathBuf> {
    let Ok(Some(bytes)) = file::read(&Installed::path(common_dir)) else { return Vec::new() };
    let installed: Installed = serde_json::from_slice(&bytes).unwrap_or_default();
    let below = |name: &PathBuf| Some(top.join(name.to_str()?.strip_prefix("top:")?));
    installed.directories.iter().filter_map(below).collect()
}

/// What was in the place of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Original {
    /// No file.
    Absent,
    /// A file with these bytes.
    Bytes(Vec<u8>),
}
