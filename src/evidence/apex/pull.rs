//! Fetching all logs that an org has made since the last time, page by page.
//!
//! Read [`Pull::new`], [`Pull::list`] and [`Pull::fetch`]. The time of the newest log is kept as a checkpoint for each
//! org; it moves only when everything was fetched, so that a log which failed is asked for again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::files::{self, Kept};
use super::server::{Filter, Org, Row, is_log_id};
use super::{Failure, checked, project};
use crate::capture::State;
use crate::error::Result;
use crate::evidence::exclude;
use crate::git::Repository;
use crate::git::date::Time;
use crate::git::private;
use crate::hex::hex;

/// How many logs one query lists.
const PAGE: u64 = 200;
/// The most pages that are asked for. An org keeps 1,000 MB of logs.
const MAX_PAGES: usize = 5_000;
/// How far before the checkpoint logs are asked for, in seconds. An org stores a log when the transaction ends, under the
/// time at which it began; a transaction may take ten minutes.
const OVERLAP_SECS: i64 = 600;

/// Which logs are wanted.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// The org, by its alias or the name of a user; the default org of the directory if it is `None`.
    pub target: Option<String>,
    /// Begun at or after this time, in seconds since the epoch; since the checkpoint if it is `None`.
    pub since: Option<i64>,
    /// Begun at or before this time.
    pub until: Option<i64>,
    /// Of this user: a user name if it has an `@`, otherwise the name of a person.
    pub user: Option<String>,
    /// Only logs whose status tells a failure.
    pub is_failed: bool,
    /// At most this many, the newest.
    pub max_count: Option<usize>,
}

/// The checkpoint of an org, as it is stored.
#[derive(Deserialize, Serialize)]
struct Checkpoint {
    shiftlog: u32,
    org: String,
    /// When the newest log began; RFC 3339.
    time: String,
}

/// A pull of one org.
pub struct Pull {
    directory: PathBuf,
    org: Org,
    version: String,
    wanted: LogQuery,
    file: PathBuf,
    /// When the newest log of the last whole pull began.
    checkpoint: Option<i64>,
}

/// The logs that an org has listed.
#[derive(Default)]
pub struct Listing {
    /// The logs, newest first.
    pub logs: Vec<Log>,
    /// Why there are no more pages, if the org did not list everything.
    pub problem: Option<String>,
    /// Whether `max_count` has left some out.
    is_cut: bool,
}

/// A log that an org has listed.
pub struct Log {
    row: Row,
    /// When it began; `None` if the org does not say it.
    began: Option<Moment>,
    /// Whether it began after the last whole pull, or was asked for by a time.
    pub is_after: bool,
}

/// A time as an org knows it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Moment {
    /// Seconds since the epoch.
    seconds: i64,
    millis: u32,
}

/// The result of pulling a log.
pub struct Pulled {
    /// Its id, as the org says it.
    pub id: String,
    /// The result of fetching it.
    pub kept: Kept,
    /// Whether it belongs to this pull: no earlier one has brought it.
    pub is_new: bool,
}

impl Pull {
    /// Finds out who is logged in, and how far the last pull of the org got.
    ///
    /// # Errors
    ///
    /// [`Failure`], as `logs sync` tells it.
    pub fn new(repo: &Repository, directory: &Path, wanted: LogQuery) -> Result<Self, Failure> {
        let version = project::api_version(directory)?;
        let target = checked(wanted.target.as_deref())?;
        let org = Org::new(directory, target).map_err(Failure::auth)?;
        let (_, url) = org.whose();
        let name = hex(&Sha256::digest(url.to_ascii_lowercase())[..8]);
        let file = State::new(&repo.common_dir()).root().join("apex").join(format!("{name}.json"));
        let known = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Checkpoint>(&text).ok());
        let known = known.filter(|known| known.org.eq_ignore_ascii_case(&url));
        let checkpoint = known.and_then(|known| Some(Time::parse_rfc3339(&known.time)?.seconds));
        Ok(Pull { directory: directory.to_owned(), org, version, wanted, file, checkpoint })
    }

    /// Lists the wanted logs. `tell` gets how many are listed.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the org lists none. If a later page fails, [`Listing::problem`] says why.
    pub fn list(&mut self, mut tell: impl FnMut(usize)) -> Result<Listing, Failure> {
        let wanted = self.conditions();
        let max_count = self.wanted.max_count.unwrap_or(usize::MAX);
        let (mut listing, mut ids) = (Listing::default(), HashSet::new());
        let mut before: Option<(Moment, String)> = None;
        for page in 0..MAX_PAGES {
            let left = max_count - listing.logs.len();
            let limit = PAGE.min(left as u64);
            let mut conditions = wanted.clone();
            conditions.extend(before.as_ref().map(|(time, id)| {
                let time = time.literal();
                format!("(StartTime < {time} OR (StartTime = {time} AND Id < '{id}'))")
            }));
            let rows = match self.org.logs(&self.version, &Filter { limit, conditions }) {
                Err(failure) if page == 0 => return Err(Failure::query(failure.words())),
                Err(failure) => {
                    listing.problem = Some(failure.words());
                    return Ok(listing);
                }
                Ok((rows, version)) => {
                    self.version = version;
                    rows
                }
            };
            let is_last = (rows.len() as u64) < limit;
            let logs = rows.into_iter().take(left).filter(|row| ids.insert(row.id.clone()));
            let logs: Vec<Log> = logs.map(|row| self.log(row)).collect();
            let last = logs.iter().rev().find_map(|log| Some((log.began?, log.row.id.clone())));
            let last = last.filter(|(_, id)| is_log_id(id));
            listing.logs.extend(logs);
            tell(listing.logs.len());
            if is_last {
                return Ok(listing);
            }
            if listing.logs.len() >= max_count {
                listing.is_cut = true;
                return Ok(listing);
            }
            // Of an org that tells the same logs again there would be no end.
            let goes_on =
                last.is_some() && before.as_ref().is_none_or(|before| last.as_ref().is_some_and(|last| last < before));
            if !goes_on {
                break;
            }
            before = last;
        }
        listing.problem = Some("the pages of the list do not follow each other".to_owned());
        Ok(listing)
    }

    fn log(&self, row: Row) -> Log {
        let began = row.columns.get("StartTime").and_then(Value::as_str).and_then(parse_time);
        let is_later = || began.zip(self.checkpoint).is_none_or(|(began, checkpoint)| began.seconds > checkpoint);
        let is_after = self.wanted.since.is_some() || is_later();
        Log { row, began, is_after }
    }

    /// Returns the conditions that all pages have.
    fn conditions(&self) -> Vec<String> {
        let wanted = &self.wanted;
        let since = wanted.since.or(self.checkpoint.map(|time| time - OVERLAP_SECS));
        let user = wanted.user.as_deref().map(|user| {
            let column = if user.contains('@') { "LogUser.Username" } else { "LogUser.Name" };
            format!("{column} = '{}'", user.replace('\\', "\\\\").replace('\'', "\\'"))
        });
        let conditions = [
            since.map(|time| format!("StartTime >= {}", literal(time))),
            wanted.until.map(|time| format!("StartTime <= {}", literal(time))),
            user,
            wanted.is_failed.then(|| "Status != 'Success'".to_owned()),
        ];
        conditions.into_iter().flatten().collect()
    }

    /// Fetches logs into `apexlogs/` of the directory. `tell` gets how many are fetched.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the directory cannot be made.
    pub fn fetch(&self, listing: &Listing, mut tell: impl FnMut(usize)) -> Result<Vec<Pulled>, Failure> {
        files::make_directory(&self.directory).map_err(Failure::io)?;
        exclude::apex_logs(&self.directory);
        let mut pulled = Vec::new();
        for logs in listing.logs.chunks(usize::try_from(PAGE).unwrap_or(usize::MAX)) {
            let rows: Vec<Row> = logs.iter().map(|log| log.row.clone()).collect();
            let kept = files::fetch(&self.org, &self.version, &self.directory, &rows, &|| false);
            pulled.extend(logs.iter().zip(kept).map(|(log, kept)| {
                let is_fetched = matches!(kept, Kept::Saved { is_new: true, .. });
                Pulled { id: log.row.id.clone(), is_new: log.is_after || is_fetched, kept }
            }));
            tell(pulled.len());
        }
        Ok(pulled)
    }

    /// Moves the checkpoint to the newest log, if every log of the org since the last one was fetched.
    ///
    /// # Errors
    ///
    /// If the checkpoint cannot be written.
    pub fn finish(&self, listing: &Listing, pulled: &[Pulled]) -> Result<()> {
        let LogQuery { since, until, user, is_failed, .. } = &self.wanted;
        let is_chosen = since.is_some() || until.is_some() || user.is_some() || *is_failed;
        let is_whole = !is_chosen && !listing.is_cut && listing.problem.is_none();
        let newest = listing.logs.iter().filter_map(|log| Some(log.began?.seconds)).max();
        let has_all = pulled.iter().all(|log| matches!(log.kept, Kept::Saved { .. }));
        let Some(newest) = newest.filter(|_| is_whole && has_all).max(self.checkpoint) else { return Ok(()) };
        if Some(newest) == self.checkpoint {
            return Ok(());
        }
        let checkpoint = Checkpoint { shiftlog: 1, org: self.org.whose().1, time: literal(newest) };
        private::write(&self.file, format!("{}\n", serde_json::json!(checkpoint)).as_bytes())
    }
}

impl Listing {
    /// Returns how many logs no earlier pull can have brought.
    pub fn after(&self) -> usize {
        self.logs.iter().filter(|log| log.is_after).count()
    }
}

impl Log {
    /// Returns the file that it gets, from the directory of `apexlogs/`; `None` if its id is none.
    pub fn file(&self) -> Option<String> {
        is_log_id(&self.row.id).then(|| files::file_of(&self.row))
    }

    /// Returns its length in bytes.
    pub fn size(&self) -> u64 {
        self.row.length
    }
}

/// Returns a time as SOQL writes it.
fn literal(seconds: i64) -> String {
    Time { seconds, offset: 0 }.to_rfc3339()
}

impl Moment {
    /// Returns the time as SOQL writes it. Without its milliseconds, logs of the same second would be left out of a page.
    fn literal(self) -> String {
        let whole = literal(self.seconds);
        match self.millis {
            0 => whole,
            millis => format!("{}.{millis:03}Z", whole.trim_end_matches('Z')),
        }
    }
}

/// Parses a time as an org writes it, `2026-11-20T12:00:00.000+0000`.
fn parse_time(text: &str) -> Option<Moment> {
    let utc = text.strip_suffix("+0000").map(|text| format!("{text}Z"));
    let seconds = Time::parse_rfc3339(utc.as_deref().unwrap_or(text))?.seconds;
    let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).take(3);
    let millis = digits.zip([100, 10, 1]).map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    Some(Moment { seconds, millis })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_an_org_are_read_and_written() {
        for (text, literal) in [
            ("2026-11-20T12:00:00.000+0000", "2026-11-20T12:00:00Z"),
            ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z"),
            ("2026-11-20T13:00:00.000+01:00", "2026-11-20T12:00:00Z"),
            ("2026-11-20T12:00:00.05+0000", "2026-11-20T12:00:00.050Z"),
            ("2026-11-20T12:00:00.1234567Z", "2026-11-20T12:00:00.123Z"),
        ] {
            let time = parse_time(text).expect(text);
            assert_eq!((time.seconds, time.literal().as_str()), (1_795_176_000, literal));
        }
        assert_eq!(parse_time("x' OR Id != '"), None);
    }
}
