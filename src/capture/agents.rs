//! Agents that are defined in Git's config.

use crate::agent::{self, Definition};
use crate::git::{Location, Repository, private};

/// Defines the agents of `shiftlog.agent.<name>.{transcript,format,resume}` in the repository's config.
pub fn define(repo: &Repository) {
    agent::define(|| {
        let names = repo.config_subsections("shiftlog").into_iter();
        let definition = |name: String| {
            let value = |key: &str| repo.config_string(&format!("shiftlog.{name}.{key}"));
            let transcript = value("transcript")?;
            let (format, resume) = (value("format").unwrap_or_default(), value("resume"));
            Some(Definition { name: name.strip_prefix("agent.")?.to_owned(), transcript, format, resume })
        };
        names.filter_map(definition).collect()
    });
}

/// Says whether one of the usual config files defines an agent: the repository's, `~/.gitconfig`, `git/config` below
/// `XDG_CONFIG_HOME`. Reads these three files.
pub fn may_be_defined(location: &Location) -> bool {
    use bstr::ByteSlice as _;
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let config = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), Into::into);
    let files = [location.common_dir.join("config"), home.join(".gitconfig"), config.join("git/config")];
    files.iter().any(|path| private::read_whole(path).unwrap_or_default().contains_str("[shiftlog \"agent."))
}
