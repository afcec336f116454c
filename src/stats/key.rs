//! What records are grouped by.

use std::str::FromStr;

use bstr::ByteSlice as _;
use jiff::civil::Date;

use crate::git::{Commit, date};
use crate::record::redaction;
use crate::redact::Redactor;
use crate::transcript::{ModelUsage, SessionKey};

/// A key by which records are grouped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Key {
    /// The agent.
    Agent,
    /// The model, with its service tier if that is not the usual one.
    Model,
    /// The author of the commit.
    Author,
    /// The local branch that has the commit.
    Branch,
    /// The commit.
    Commit,
    /// The day of the commit, as its committer's clock showed it.
    Day,
    /// The week of the commit, as ISO 8601 numbers weeks.
    Week,
    /// The month of the commit.
    Month,
    /// The session; sub-agents count for the session that started them.
    Session,
    /// The file that was changed.
    Path,
}

/// Where what is counted belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'o> {
    /// The commit; `None` for a session that no commit has.
    pub commit: Option<&'o Commit>,
    /// The branch of the commit.
    pub branch: &'o str,
    /// When it was recorded (RFC 3339): this counts where there is no commit.
    pub time: &'o str,
}

/// The keys by their names.
const NAMES: &[(&str, Key)] = &[
    ("agent", Key::Agent),
    ("model", Key::Model),
    ("author", Key::Author),
    ("branch", Key::Branch),
    ("commit", Key::Commit),
    ("day", Key::Day),
    ("week", Key::Week),
    ("month", Key::Month),
    ("session", Key::Session),
    ("path", Key::Path),
];

impl FromStr for Key {
    /// The names that there are.
    type Err = String;

    fn from_str(name: &str) -> Result<Key, String> {
        let known = || NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = NAMES.iter().find(|(known, _)| *known == name).map(|(_, key)| *key);
        found.ok_or_else(known)
    }
}

impl Key {
    /// Returns the name of the key.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }

    /// Says whether groups are listed by time rather than by cost.
    pub fn is_time(self) -> bool {
        matches!(self, Key::Day | Key::Week | Key::Month)
    }

    /// Returns the group of what a session did. `session` and `usage` are `None` for what nobody recorded; `path` is that of
    /// the file.
    pub(super) fn value(
        self,
        origin: &Origin<'_>,
        session: Option<&SessionKey>,
        usage: Option<&ModelUsage>,
        path: &str,
    ) -> String {
        let none = || "(none)".to_owned();
        let day = || origin.commit.map_or_else(|| origin.time.chars().take(10).collect(), day);
        let author =
            |commit: &Commit| format!("{} <{}>", commit.author.name.to_str_lossy(), commit.author.email.to_str_lossy());
        match self {
            Key::Agent => session.map_or_else(none, |key| key.agent.clone()),
            Key::Model => usage.map_or_else(none, |usage| {
                let model = usage.model.as_deref().unwrap_or("unknown");
                usage.tier.as_ref().map_or_else(|| model.to_owned(), |tier| format!("{model} ({tier})"))
            }),
            Key::Author => origin.commit.map_or_else(none, author),
            Key::Branch => origin.branch.to_owned(),
            Key::Commit => origin.commit.map_or_else(none, |commit| commit.commit_id.to_string()),
            Key::Day => day(),
            Key::Week => week(&day()),
            Key::Month => day().chars().take(7).collect(),
            Key::Session => session.map_or_else(none, |key| key.parent_id().unwrap_or(&key.id).to_owned()),
            Key::Path => path.to_owned(),
        }
    }
}

fn day(commit: &Commit) -> String {
    date::Format::SHORT.show(commit.committer.time)
}

/// Returns the week of a day: `2026-W47`.
fn week(day: &str) -> String {
    let Ok(date) = day.parse::<Date>() else { return day.to_owned() };
    let week = date.iso_week_date();
    format!("{}-W{:02}", week.year(), week.week())
}

/// Takes secrets out of the values of a group, such as names of models and branches. Ids of commits stay. A session whose id
/// is a secret has the name that pages give it, so that two of them remain two groups.
pub fn clean_values(keys: &[Key], values: &mut [String], redactor: &Redactor) {
    for (at, value) in values.iter_mut().enumerate() {
        match keys.get(at) {
            Some(Key::Commit) => {}
            Some(Key::Session) => *value = redaction::clean_key(redactor, &SessionKey::new("", &*value)).id,
            _ => *value = redactor.without_secrets(value).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_those_of_iso_8601() {
        assert_eq!(week("2026-11-22"), "2026-W47");
        assert_eq!(week("2027-01-01"), "2026-W53", "the week of a Thursday in the year before");
        assert_eq!("week".parse(), Ok(Key::Week));
        assert!("weeks".parse::<Key>().is_err());
        assert!(NAMES.iter().all(|(name, key)| key.name() == *name));
    }
}
