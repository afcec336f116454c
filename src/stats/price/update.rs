//! A newer table of list prices, from a repository that the user names.

use std::path::PathBuf;

use super::{Prices, date_of, is_table};
use crate::error::{Error, Kind, Result};
use crate::git::{Asking, git, private, temporary};

/// The table within the repository of the project.
const PATH_IN_REPOSITORY: &str = "src/stats/prices.tsv";

/// A table that was fetched.
#[derive(Debug)]
pub struct Fetched {
    /// Its text.
    text: String,
    /// Its date.
    pub date: String,
}

/// Returns the file in which a fetched table is kept: `git-shiftlog/prices.tsv` in `$XDG_DATA_HOME`, else in `~/.local/share`.
fn kept_at() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folder = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")))?;
    Some(folder.join("git-shiftlog/prices.tsv")).filter(|file| file.is_absolute())
}

/// Returns the text of the table that was fetched last, if it is one.
pub(super) fn kept() -> Option<String> {
    let text = String::from_utf8(private::read(&kept_at()?, super::MAX_FILE_BYTES).ok()?).ok()?;
    is_table(&text).then_some(text)
}

/// Fetches the table of prices from a repository of this project: the newest commit of its default branch, and of that the
/// table alone if the server can do so.
///
/// # Errors
///
/// If Git cannot fetch it, or if what is there is no table with a date.
pub fn fetch(repository: &str) -> Result<Fetched> {
    let failed = |error| Error::other("cannot make a temporary directory").because(error);
    let place = temporary::directory().map_err(failed)?;
    let clone = place.path().join("table.git");
    let directory = clone.to_string_lossy().into_owned();
    let only_newest = ["clone", "--quiet", "--bare", "--depth=1", "--filter=blob:none", "--", repository, &directory];
    git(only_newest).asking(Asking::Quietly).capture()?;
    let named = format!("HEAD:{PATH_IN_REPOSITORY}");
    let text = git(["--git-dir", &directory, "cat-file", "blob", &named]).asking(Asking::Quietly).capture();
    let text = text.map_err(|error| {
        Error::new(Kind::Missing, format!("'{repository}' has no table of prices at '{PATH_IN_REPOSITORY}'"))
            .because(error)
    })?;
    let text = String::from_utf8(text.into()).unwrap_or_default();
    let date = date_of(&text).filter(|_| is_table(&text) && text.len() as u64 <= super::MAX_FILE_BYTES);
    match date.map(str::to_owned) {
        Some(date) => Ok(Fetched { text, date }),
        None => {
            Err(Error::other(format!("'{PATH_IN_REPOSITORY}' of '{repository}' is no table of prices with a date")))
        }
    }
}

impl Fetched {
    /// Says whether it is newer than a table that is in use.
    pub fn is_newer(&self, prices: &Prices) -> bool {
        self.date.as_str() > prices.date()
    }

    /// Returns how many models it has a price for.
    pub fn models(&self) -> usize {
        Prices { listed: self.text.clone().into(), ..Prices::default() }.tables()[1].len()
    }

    /// Keeps it for all repositories of the user.
    ///
    /// # Errors
    ///
    /// If there is no home directory, or the file cannot be written.
    pub fn keep(&self) -> Result<()> {
        let Some(path) = kept_at() else { return Err(Error::new(Kind::Missing, "there is no home directory")) };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        }
        private::write(&path, self.text.as_bytes())
    }
}
