//! The names of projects, by which Gemini CLI calls their folders.

use std::path::{Path, PathBuf};

use super::super::place;
use crate::error::{Error, Result};
use crate::outside;

/// `projects.json`: which project has which name.
#[derive(Default)]
pub struct Registry {
    root: PathBuf,
    value: serde_json::Map<String, serde_json::Value>,
}

impl Registry {
    /// Reads `projects.json` in `root`; a missing file counts as empty.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or has a form to which no name can be added.
    pub fn read(root: &Path) -> Result<Self> {
        let path = root.join("projects.json");
        let value: serde_json::Map<_, _> = match place::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unclear(&path).because(error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => serde_json::Map::new(),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        if value.get("projects").is_some_and(|projects| !projects.is_object()) {
            return Err(unclear(&path));
        }
        Ok(Registry { root: root.to_owned(), value })
    }

    /// Returns the directories of projects with their names.
    pub fn projects(&self) -> impl Iterator<Item = (&str, &str)> {
        let projects = self.value.get("projects").and_then(serde_json::Value::as_object).into_iter().flatten();
        projects.filter_map(|(path, slug)| Some((path.as_str(), slug.as_str()?)))
    }

    /// Says whether no project has a name.
    pub fn is_empty(&self) -> bool {
        self.projects().next().is_none()
    }

    /// Returns the name of the project in a directory, and the file with it if it is a new one.
    ///
    /// # Errors
    ///
    /// If the name that it has cannot be that of a folder.
    pub fn slug(mut self, directory: &Path) -> Result<(String, Option<Vec<u8>>)> {
        let path = directory.to_string_lossy().into_owned();
        if let Some((_, slug)) = self.projects().find(|(known, _)| *known == path) {
            let odd = || Error::other(format!("Gemini CLI has no proper name for '{path}'"));
            return Ok((Some(slug.to_owned()).filter(|slug| outside::is_plain_id(slug)).ok_or_else(odd)?, None));
        }
        let base = plain_name(directory);
        let names = (1..).map(|number| format!("{base}-{number}"));
        let is_free = |name: &String| {
            let owner = |place: &str| place::read_text(&self.root.join(place).join(name).join(".project_root"));
            let is_anothers = |place| owner(place).is_ok_and(|owner| owner.trim() != path);
            !self.projects().any(|(_, slug)| slug == name) && !is_anothers("tmp") && !is_anothers("history")
        };
        let slug = std::iter::once(base.clone()).chain(names).find(is_free).unwrap_or(base);
        let projects = self.value.entry("projects").or_insert_with(|| serde_json::json!({}));
        if let Some(projects) = projects.as_object_mut() {
            projects.insert(path, slug.clone().into());
        }
        let bytes = serde_json::to_vec_pretty(&self.value)
            .map_err(|error| Error::other("cannot write 'projects.json'").because(error))?;
        Ok((slug, Some(bytes)))
    }
}

fn unclear(path: &Path) -> Error {
    Error::other(format!("cannot edit '{}'", path.display()))
}

/// Returns the name that a directory's project would have if no other had it.
fn plain_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "project".to_owned() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_called_by_its_directory() {
        let cases = [("/home/dev/Demo_App (2)", "demo-app-2"), ("/", "project"), ("/x/--a..b--", "a-b")];
        for (directory, name) in cases {
            assert_eq!(plain_name(Path::new(directory)), name);
        }
    }
}
