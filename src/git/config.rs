//! Git's configuration: reading through gix, writing through `git config`, and what `git -c` passed on.

use gix::bstr::{BString, ByteSlice as _};

use super::{Repository, git};
use crate::error::Result;

/// Who writes our commits; resolved once, since gix's own way scans the time zone database on each write.
pub(super) struct Identity {
    name: BString,
    email: BString,
}

impl Identity {
    pub(super) fn of(repo: &gix::Repository) -> Self {
        let config = repo.config_snapshot();
        let from = |variable: &str, keys: [&str; 2], fallback: &str| -> BString {
            std::env::var(variable)
                .ok()
                .filter(|value| !value.is_empty())
                .map(BString::from)
                .or_else(|| keys.iter().find_map(|key| config.string(*key)))
                // A name with a line break or an angle bracket would end the commit header early.
                .map(|value| value.replace("\n", " ").replace("<", "").replace(">", "").into())
                .filter(|value: &BString| !value.trim().is_empty())
                .unwrap_or_else(|| fallback.into())
        };
        Identity {
            name: from("GIT_COMMITTER_NAME", ["committer.name", "user.name"], "git-shiftlog"),
            email: from("GIT_COMMITTER_EMAIL", ["committer.email", "user.email"], "shiftlog@localhost"),
        }
    }
}

impl Repository {
    /// Returns the value of a config key; the last one set wins.
    pub fn config_string(&self, key: &str) -> Option<String> {
        self.gix().config_snapshot().string(key).map(|value| value.to_str_lossy().into_owned())
    }

    /// Returns all values of a multi-valued config key, in the order Git reads them.
    pub fn config_strings(&self, key: &str) -> Vec<String> {
        let snapshot = self.gix().config_snapshot();
        let values = snapshot.plumbing().strings(key).unwrap_or_default();
        values.iter().map(|value| value.to_str_lossy().into_owned()).collect()
    }

    /// Returns the names of the subsections of a section, each once.
    pub fn config_subsections(&self, section: &str) -> Vec<String> {
        let snapshot = self.gix().config_snapshot();
        let sections = snapshot.plumbing().sections_by_name(section).into_iter().flatten();
        let names =
            sections.filter_map(|section| Some(section.header().subsection_name()?.to_str_lossy().into_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns a boolean config value, by Git's rules for `yes`, `on`, `1` and their opposites.
    pub fn config_bool(&self, key: &str) -> Option<bool> {
        self.gix().config_snapshot().boolean(key)
    }

    /// Returns an integer config value, with `k`, `m` and `g` applied.
    pub fn config_integer(&self, key: &str) -> Option<i64> {
        self.gix().config_snapshot().integer(key)
    }

    /// Adds a value to a key of the repository's own config file, beside the values that are there.
    pub fn config_add(&self, key: &str, value: &str) -> Result<()> {
        git(["config", "--local", "--add", key, value]).repository(self).capture().map(drop)
    }

    /// Removes one value of a key from the repository's own config file; other values stay.
    pub fn config_remove(&self, key: &str, value: &str) -> Result<()> {
        git(["config", "--local", "--fixed-value", "--unset", key, value]).repository(self).capture().map(drop)
    }

    /// Returns the name and e-mail address for commits on our own refs.
    pub(super) fn committer(&self) -> (&BString, &BString) {
        (&self.user_config.name, &self.user_config.email)
    }
}

/// Returns what `git -c key=value` passed on, as `key=value`; gix does not read this variable.
pub(super) fn overrides_from_environment() -> Vec<BString> {
    std::env::var("GIT_CONFIG_PARAMETERS").map(|text| parse_parameters(&text)).unwrap_or_default()
}

/// Parses the value of `GIT_CONFIG_PARAMETERS`: `'key'='value'` since Git 2.31, `'key=value'` before.
fn parse_parameters(text: &str) -> Vec<BString> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(chars.next()),
            ' ' if !is_quoted => found.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    found.push(word);
    found.retain(|word| !word.is_empty());
    found.into_iter().map(BString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::parse_parameters;

    #[test]
    fn both_spellings_of_git_config_parameters_are_read() {
        assert_eq!(parse_parameters("'a.b'='c d' 'e.f'='it'\\''s'"), ["a.b=c d", "e.f=it's"]);
        assert_eq!(parse_parameters("'a.b=c d' 'e.f=g'"), ["a.b=c d", "e.f=g"]);
        assert!(parse_parameters("").is_empty());
    }
}
