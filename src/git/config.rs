//! Git's configuration: reading through gix, writing through `git config`, and the values of `git -c`.

use gix::actor::Signature;
use gix::bstr::{BString, ByteSlice as _};

use super::private::Lock;
use super::{Output, Repository, git, private};
use crate::error::{Error, Kind, Result};

/// The committer of our commits. Resolved once: gix scans the time zone database on each write.
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

    /// Returns the value of a config key, as `git config --get` prints it: that of a key that stands there without one is empty,
    /// and values that were set before do not count.
    pub fn config_word(&self, key: &str) -> Option<String> {
        let snapshot = self.gix().config_snapshot();
        let wanted = gix::config::KeyRef::parse_unvalidated(key.into())?;
        let sections: Vec<_> = snapshot.plumbing().sections_by_name(wanted.section_name)?.collect();
        let of_section = sections.into_iter().rev();
        let mut values = of_section
            .filter(|section| section.header().subsection_name() == wanted.subsection_name)
            .filter_map(|section| section.body().value_implicit(wanted.value_name));
        values.next().map(|value| value.unwrap_or_default().to_str_lossy().into_owned())
    }

    /// Returns all values of a multi-valued config key, in the order Git reads them.
    pub fn config_strings(&self, key: &str) -> Vec<String> {
        let snapshot = self.gix().config_snapshot();
        let values = snapshot.plumbing().strings(key).unwrap_or_default();
        values.iter().map(|value| value.to_str_lossy().into_owned()).collect()
    }

    /// Returns all values of a config key, each with the scope that Git says it is set in, in the order Git reads them.
    pub fn config_with_scopes(&self, key: &str) -> Vec<(String, String)> {
        let listed = git(["config", "--show-scope", "-z", "--get-all", key]).repository(self).capture();
        let listed = listed.unwrap_or_default();
        let words: Vec<String> = listed.split_str("\0").map(|word| word.to_str_lossy().into_owned()).collect();
        words.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    }

    /// Returns the entries of the repository's own config file, with keys as Git lists them. Keys without a value are left
    /// out.
    pub fn own_config(&self) -> Vec<(String, String)> {
        let listed = git(["config", "--local", "--list", "-z"]).repository(self).capture().unwrap_or_default();
        let entries = listed.split_str("\0").filter_map(|entry| entry.split_once_str("\n"));
        entries.map(|(key, value)| (key.to_str_lossy().into_owned(), value.to_str_lossy().into_owned())).collect()
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

    /// Returns the names of the variables of a section and of its subsections, as they are written, each once. That of a
    /// subsection stands before the name, with a dot.
    pub fn config_names(&self, section: &str) -> Vec<String> {
        let snapshot = self.gix().config_snapshot();
        let sections = snapshot.plumbing().sections_by_name(section).into_iter().flatten();
        let names = sections.flat_map(|section| {
            let subsection = section.header().subsection_name().map(|name| format!("{name}.")).unwrap_or_default();
            section.body().value_names().map(|name| format!("{subsection}{name}")).collect::<Vec<_>>()
        });
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

    /// Fails if the repository's own config file cannot be edited now. Whoever takes several steps asks before the first one.
    ///
    /// # Errors
    ///
    /// If it is locked.
    pub fn require_unlocked_config(&self) -> Result<()> {
        let lock = self.common_dir().join("config.lock");
        if !lock.exists() {
            return Ok(());
        }
        let error = Error::new(Kind::Busy, format!("cannot edit the config: '{}' exists", lock.display()));
        Err(error.hint("a running process holds it, or one that was killed left it behind: then remove it"))
    }

    /// Adds a value to a key of the repository's own config file, beside the values that are there. Git holds the lock, too: if
    /// we are killed, it may write later.
    pub fn config_add(&self, key: &str, value: &str, lock: &Lock) -> Result<()> {
        let added = git(["config", "--local", "--add", key, value])
            .repository(self)
            .holding(lock.for_child()?)
            .capture()
            .map(drop);
        self.hand_over_config();
        added
    }

    /// Gives the config file, which Git makes anew for each change, to the owner of the repository.
    fn hand_over_config(&self) {
        let directory = self.common_dir();
        private::hand_over_path(&directory.join("config"), &directory);
    }

    /// Removes a value of a key from the repository's own config file, however often it stands there; other values stay. It
    /// may have gone already. Git holds the lock, as in [`Repository::config_add`].
    ///
    /// # Errors
    ///
    /// If it is still there.
    pub fn config_remove(&self, key: &str, value: &str, lock: &Lock) -> Result<()> {
        let removed = self.config_edit(&["--unset-all", key, value], lock).map(drop);
        if removed.is_err() && self.config_edit(&["--get", key, value], lock).is_err() { Ok(()) } else { removed }
    }

    /// Removes one entry with a value, as [`Repository::config_remove`] removes all of them: the others may be a user's.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn config_remove_one(&self, key: &str, value: &str, lock: &Lock) -> Result<()> {
        let count = self.config_edit(&["--get-all", key, value], lock).unwrap_or_default().lines().count();
        if count < 2 {
            return self.config_remove(key, value, lock);
        }
        // Git puts one entry in the place of all that fit.
        self.config_edit(&["--replace-all", key, value, value], lock)?;
        (2..count).try_for_each(|_| self.config_add(key, value, lock))
    }

    /// Runs `git config` on the repository's own file. Values are compared as they are, not as regular expressions.
    fn config_edit(&self, args: &[&str], lock: &Lock) -> Result<Output> {
        let edited = git([&["config", "--local", "--fixed-value"], args].concat());
        let edited = edited.repository(self).holding(lock.for_child()?).capture();
        self.hand_over_config();
        edited
    }

    /// Returns the committer for commits on our refs, with the present time in UTC.
    pub(super) fn signature(&self) -> Signature {
        let Identity { name, email } = &self.user_config;
        let time = gix::date::Time::new(super::date::Time::now().seconds, 0);
        Signature { name: name.clone(), email: email.clone(), time }
    }
}

/// Returns the settings of `git -c`, as `key=value`; gix does not read the variable that has them.
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
