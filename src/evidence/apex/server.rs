//! Requests to an org: which logs it has, and their text.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Map, Value, json};

use super::auth::{self, Login};
use super::project::is_version;
use crate::evidence::http::{Client, Failure};
use crate::evidence::masked::{Masked, masked};
use crate::outside;

/// The columns of a log, in the order in which they are printed.
const COLUMNS: &str =
    "Id, StartTime, Operation, Application, DurationMilliseconds, Status, Request, LogLength, LogUser.Name";
/// The largest answer to a query, in bytes. 200 rows have some 60 kB.
const MAX_ANSWER_BYTES: u64 = 8 << 20;
/// The largest log, in bytes. Salesforce cuts logs at 20 MB.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// A connection to an org, with the user's login.
pub struct Org {
    client: Client,
    directory: PathBuf,
    target: Option<String>,
    login: Mutex<Known>,
}

/// Who is logged in.
struct Known {
    login: Login,
    /// Whether the CLI was asked once more, since the org did not accept the token.
    is_renewed: bool,
}

/// Why a query failed.
pub enum QueryFailure {
    /// There is no whole answer.
    Http(Failure),
    /// The answer is not the one that was expected.
    Decode,
}

impl QueryFailure {
    /// Returns the failure in a few words.
    pub fn words(&self) -> String {
        match self {
            QueryFailure::Http(failure) => failure.to_string(),
            QueryFailure::Decode => "response decode failed".to_owned(),
        }
    }

    fn is_not_found(&self) -> bool {
        matches!(self, QueryFailure::Http(Failure::Status { code: 404, .. }))
    }
}

/// A log that an org has.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its id, as the org says it: check it with [`is_log_id`] before it becomes a name.
    pub id: String,
    /// Its length in bytes; 0 if it is unknown.
    pub length: u64,
    /// The name of the user whose work was logged.
    pub user: Option<String>,
    /// All columns, as they are printed.
    pub columns: Value,
}

/// Which logs are asked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The most rows.
    pub limit: u64,
    /// Conditions of SOQL, of which all must hold.
    pub conditions: Vec<String>,
}

impl Org {
    /// Asks the CLI who is logged in, in a directory.
    ///
    /// # Errors
    ///
    /// As [`auth::login`].
    pub fn new(directory: &Path, target: Option<&str>) -> Result<Self, String> {
        let login = auth::login(directory, target)?;
        Ok(Org {
            client: Client::new(),
            directory: directory.to_owned(),
            target: target.map(str::to_owned),
            login: Mutex::new(Known { login, is_renewed: false }),
        })
    }

    /// Returns the user's name, if it is known, and where the org is.
    pub fn whose(&self) -> (Option<String>, String) {
        let known = self.login.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        (known.login.username.clone(), known.login.instance_url.clone())
    }

    /// Writes what the org has at a path to `out`, without the token, should the org repeat it. When the org does not
    /// accept the token, the CLI is asked for it once more.
    fn get(&self, path: &str, max_bytes: u64, out: &mut dyn Write) -> Result<u64, Failure> {
        let known = || {
            let known = self.login.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            (known.login.clone(), known.is_renewed)
        };
        let ask = |login: &Login, out: &mut dyn Write| {
            let mut out = Masked::new(out, &login.token);
            let url = format!("{}{path}", login.instance_url);
            let length = self.client.get(&url, &login.token, max_bytes, &mut out).map_err(|failure| match failure {
                Failure::Request(reason) => Failure::Request(masked(&reason, &login.token)),
                failure => failure,
            })?;
            out.finish().map_err(Failure::Write)?;
            Ok(length)
        };
        let (login, was_renewed) = known();
        match ask(&login, out) {
            Err(Failure::Status { code: 401, name }) => {
                if !was_renewed && self.renew() {
                    return ask(&known().0, out);
                }
                Err(Failure::Status { code: 401, name })
            }
            answer => answer,
        }
    }

    /// Asks the CLI for the token once more, unless that was done. Says whether there is one.
    fn renew(&self) -> bool {
        // Other requests wait here for the new token.
        let mut known = self.login.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !known.is_renewed {
            known.is_renewed = true;
            match auth::login(&self.directory, self.target.as_deref()) {
                // The default org can be another one by now.
                Ok(login) if login.instance_url == known.login.instance_url => known.login = login,
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }

    fn get_json(&self, path: &str) -> Result<Value, QueryFailure> {
        let mut text = Vec::new();
        self.get(path, MAX_ANSWER_BYTES, &mut text).map_err(QueryFailure::Http)?;
        let answer: Value = serde_json::from_slice(&text).map_err(|_| QueryFailure::Decode)?;
        // JSON can write a letter in several ways.
        let known = self.login.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        serde_json::from_str(&masked(&answer.to_string(), &known.login.token)).map_err(|_| QueryFailure::Decode)
    }

    /// Returns the logs that the org has, newest first, and the version of the API that answered: `version`, or the
    /// newest one of the org if it does not have that.
    ///
    /// # Errors
    ///
    /// [`QueryFailure`].
    pub fn logs(&self, version: &str, filter: &Filter) -> Result<(Vec<Row>, String), QueryFailure> {
        let soql = soql(filter);
        let ask = |version: &str| {
            self.get_json(&format!("/services/data/v{version}/tooling/query?q={}", outside::component(&soql)))
        };
        let (answer, version) = match ask(version) {
            Err(failure) if failure.is_not_found() => {
                let newest = self.newest_version().filter(|newest| newest != version).ok_or(failure)?;
                (ask(&newest)?, newest)
            }
            answer => (answer?, version.to_owned()),
        };
        let rows = answer.get("records").and_then(Value::as_array).ok_or(QueryFailure::Decode)?;
        let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
        let rows = rows.iter().take(limit).map(row).collect::<Option<Vec<_>>>().ok_or(QueryFailure::Decode)?;
        Ok((rows, version))
    }

    fn newest_version(&self) -> Option<String> {
        let versions = self.get_json("/services/data").ok()?;
        let versions = versions.as_array()?.iter().filter_map(|each| each.get("version")?.as_str());
        let number = |version: &str| {
            let (major, minor) = version.split_once('.')?;
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        };
        let known = versions.filter(|version| is_version(version));
        known.max_by_key(|version| number(version)).map(str::to_owned)
    }

    /// Writes the text of a log to `out`, and returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`Failure`].
    pub fn body(&self, version: &str, id: &str, out: &mut dyn Write) -> Result<u64, Failure> {
        self.get(&format!("/services/data/v{version}/tooling/sobjects/ApexLog/{id}/Body"), MAX_LOG_BYTES, out)
    }
}

fn soql(filter: &Filter) -> String {
    let conditions = match filter.conditions.as_slice() {
        [] => String::new(),
        conditions => format!(" WHERE {}", conditions.join(" AND ")),
    };
    format!("SELECT {COLUMNS} FROM ApexLog{conditions} ORDER BY StartTime DESC, Id DESC LIMIT {}", filter.limit)
}

/// Says whether a text is the id of a log: then it can be a part of a path and of an address.
pub fn is_log_id(text: &str) -> bool {
    matches!(text.len(), 15 | 18) && text.starts_with("07L") && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn row(value: &Value) -> Option<Row> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |name: &str| value.get(name).and_then(Value::as_f64).unwrap_or_default().max(0.0) as u64;
    let id = value.get("Id")?.as_str()?.to_owned();
    let start_time = value.get("StartTime")?.as_str()?.to_owned();
    let user = value.get("LogUser").filter(|user| user.is_object());
    let name = user.map(|user| user.get("Name").and_then(Value::as_str).unwrap_or_default());
    let length = number("LogLength");
    let mut columns = Map::new();
    let mut add = |name: &str, value: Value| drop(columns.insert(name.to_owned(), value));
    add("Id", json!(id));
    add("StartTime", json!(start_time));
    for name in ["Operation", "Application"] {
        add(name, json!(text(name)));
    }
    add("DurationMilliseconds", json!(number("DurationMilliseconds")));
    for name in ["Status", "Request"] {
        add(name, json!(text(name)));
    }
    add("LogLength", json!(length));
    add("LogUser", name.map_or(Value::Null, |name| json!({ "Name": name })));
    let user = name.map(str::to_owned);
    Some(Row { id, length, user, columns: Value::Object(columns) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_the_one_that_is_promised() {
        let filter = Filter { limit: 7, conditions: vec!["A = 1".into(), "(B = 2)".into()] };
        assert_eq!(
            soql(&Filter { conditions: Vec::new(), ..filter.clone() }),
            "SELECT Id, StartTime, Operation, Application, DurationMilliseconds, Status, Request, LogLength, \
             LogUser.Name FROM ApexLog ORDER BY StartTime DESC, Id DESC LIMIT 7"
        );
        assert!(soql(&filter).contains(" FROM ApexLog WHERE A = 1 AND (B = 2) ORDER BY "));
    }

    #[test]
    fn a_row_has_its_columns_in_order_and_nothing_else() {
        let whole = json!({ "attributes": {}, "LogUser": { "Name": "Ada", "x": 1 }, "Id": "07L", "StartTime": "t",
            "DurationMilliseconds": 42, "Status": null });
        let row = row(&whole).expect("a row");
        assert_eq!(
            row.columns.to_string(),
            r#"{"Id":"07L","StartTime":"t","Operation":"","Application":"","DurationMilliseconds":42,"Status":"","Request":"","LogLength":0,"LogUser":{"Name":"Ada"}}"#
        );
        for lacking in [json!({ "Id": "07L" }), json!({ "Id": null, "StartTime": "t" }), json!(3)] {
            assert!(super::row(&lacking).is_none(), "{lacking}");
        }
    }

    #[test]
    fn an_id_has_a_fixed_form() {
        assert!(is_log_id("07L000000000001") && is_log_id("07L000000000001AAA"));
        for id in ["07L", "07L0000000000011", "08L000000000001", "07L../../../../x", "07L00000000000/", ""] {
            assert!(!is_log_id(id), "{id}");
        }
    }
}
