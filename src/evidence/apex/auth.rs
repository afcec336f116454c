//! Asking Salesforce's own CLI who is logged in to an org, and for the token.
//!
//! The token is only ever in memory. What the CLI prints is not shown, but for its messages, without secrets.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::without_secrets;
use crate::evidence::process::{self, Ended};

/// How long the CLI may take to answer.
const LIMIT: Duration = Duration::from_secs(60);
/// How much of a message of the CLI is reported, in bytes.
const MAX_MESSAGE_BYTES: usize = 8 << 10;
/// No notice of a new version, no telemetry, no log file.
const VARIABLES: &[(&str, &str)] =
    &[("SF_SKIP_NEW_VERSION_CHECK", "true"), ("SF_DISABLE_TELEMETRY", "true"), ("SF_DISABLE_LOG_FILE", "true")];

/// A user who is logged in to an org.
#[derive(Clone)]
pub struct Login {
    /// The user, if the CLI says it.
    pub username: Option<String>,
    /// The address of the org, without a slash at the end.
    pub instance_url: String,
    /// The access token. Never shown, never stored.
    pub token: String,
}

/// The keys of an answer that count.
struct Fields {
    token: Option<String>,
    instance_url: Option<String>,
    username: Option<String>,
}

/// Why a CLI did not tell.
enum Refusal {
    /// It is not there.
    NotStarted(String),
    /// It gave a bad answer, or none.
    Bad(String),
}

impl Refusal {
    fn words(self) -> String {
        let (Refusal::NotStarted(words) | Refusal::Bad(words)) = self;
        words
    }
}

/// Returns who is logged in to the org `target`, or to the default org of a directory.
///
/// # Errors
///
/// The reason in a few words, without secrets.
pub fn login(directory: &Path, target: Option<&str>) -> Result<Login, String> {
    let with_sf = match with_sf(directory, target) {
        Ok(login) => return Ok(login),
        Err(refusal) => refusal,
    };
    match with_sfdx(directory, target) {
        Ok(login) => Ok(login),
        Err(Refusal::NotStarted(_)) => Err(with_sf.words()),
        Err(Refusal::Bad(words)) => Err(words),
    }
}

fn with_sf(directory: &Path, target: Option<&str>) -> Result<Login, Refusal> {
    let ask = |words: &[&str]| {
        let named = target.map(|target| ["--target-org", target]);
        let words: Vec<&str> = words.iter().copied().chain(named.into_iter().flatten()).collect();
        ask(directory, "sf", &words)
    };
    let shown = ask(&["org", "display", "--json"])?;
    let answer = ask(&["org", "auth", "show-access-token", "--json", "--no-prompt"]);
    let fields = match answer.ok().and_then(|answer| answer.token).or(shown.token) {
        Some(token) => Fields { token: Some(token), ..shown },
        // An older CLI shows the token when it is asked for all.
        None => {
            let all = ask(&["org", "display", "--json", "--verbose"])?;
            Fields {
                token: all.token,
                instance_url: shown.instance_url.or(all.instance_url),
                username: shown.username.or(all.username),
            }
        }
    };
    fields.login()
}

fn with_sfdx(directory: &Path, target: Option<&str>) -> Result<Login, Refusal> {
    let named = target.map(|target| ["-u", target]);
    let words: Vec<&str> = ["force:org:display", "--json"].into_iter().chain(named.into_iter().flatten()).collect();
    ask(directory, "sfdx", &words)?.login()
}

fn ask(directory: &Path, program: &str, words: &[&str]) -> Result<Fields, Refusal> {
    let ended = process::run(program, words, VARIABLES, directory, LIMIT).map_err(|failure| match failure {
        process::Failure::NotStarted(error) => Refusal::NotStarted(format!("command failed: {program}: {error}")),
        process::Failure::Late(limit) => {
            Refusal::Bad(format!("command failed: {program}: no answer within {} seconds", limit.as_secs()))
        }
    })?;
    if !ended.status.success() {
        return Err(Refusal::Bad(format!(
            "command failed: {program} exited {}: {}",
            ended.status,
            message(&ended).unwrap_or_else(|| "it says nothing".into())
        )));
    }
    parse(&ended.stdout).ok_or_else(|| Refusal::Bad("invalid auth json".into()))
}

/// Returns the JSON in an output: the CLI prints notices and colours around it.
fn json_in(output: &str) -> Option<Value> {
    let (start, end) = (output.find('{')?, output.rfind('}')?);
    serde_json::from_str(output.get(start..=end)?).ok().filter(Value::is_object)
}

fn parse(output: &str) -> Option<Fields> {
    let answer = json_in(output)?;
    let field = |names: &[&str]| {
        let places = [answer.get("result"), Some(&answer)];
        let found =
            places.into_iter().flatten().find_map(|place| names.iter().find_map(|name| place.get(name)?.as_str()));
        found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    Some(Fields {
        token: field(&["accessToken", "access_token"]).filter(|token| is_token(token)),
        instance_url: field(&["instanceUrl", "instance_url", "loginUrl"]),
        username: field(&["username"]),
    })
}

/// Says whether a text is a token, not what newer CLIs print in its place.
fn is_token(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_word = text.bytes().all(|byte| byte.is_ascii_graphic());
    is_word && !lower.starts_with("[redacted") && !lower.starts_with("redacted") && !lower.contains("use 'sf org auth")
}

impl Fields {
    fn login(self) -> Result<Login, Refusal> {
        match (self.token, self.instance_url) {
            (Some(token), Some(url)) => {
                Ok(Login { username: self.username, instance_url: url.trim_end_matches('/').to_owned(), token })
            }
            _ => Err(Refusal::Bad("missing auth fields".into())),
        }
    }
}

/// Returns the message of a CLI that failed: that in its JSON, else its errors. The CLI prints notices beside that.
fn message(ended: &Ended) -> Option<String> {
    let in_json = |output: &String| json_in(output)?.get("message")?.as_str().map(str::to_owned);
    let words = || Some(ended.stderr.trim().to_owned());
    let said = [&ended.stdout, &ended.stderr].into_iter().find_map(in_json).or_else(words);
    let said = said.filter(|text| !text.trim().is_empty())?;
    let safe = without_secrets(&crate::outside::text(&said));
    // Of a secret that is cut in two the redactor would not know the first half.
    let end = (0..=safe.len().min(MAX_MESSAGE_BYTES)).rev().find(|at| safe.is_char_boundary(*at)).unwrap_or_default();
    Some(safe[..end].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_under_each_of_their_names() {
        for output in [
            r#"{"status":0,"result":{"accessToken":"T","instanceUrl":"https://x/","username":"u@x"}}"#,
            r#"{"access_token":"T","instance_url":"https://x","username":"u@x"}"#,
            "Warning: update\n\u{1b}[1m{\"result\":{\"accessToken\":\"T\",\"loginUrl\":\"https://x\",\"username\":\"u@x\"}}\u{1b}[0m done",
        ] {
            let login = parse(output).and_then(|fields| fields.login().ok()).expect("a login");
            assert_eq!(login.instance_url, "https://x");
            assert_eq!((login.token.as_str(), login.username.as_deref()), ("T", Some("u@x")));
        }
        assert!(parse("no braces").is_none() && parse("} {").is_none() && parse("{\"a\":").is_none());
    }

    #[test]
    fn what_stands_in_place_of_a_token_is_none() {
        for text in ["[REDACTED]", "REDACTED", "redacted", "Redacted: use 'sf org auth show-access-token'", "a b"] {
            assert!(!is_token(text), "{text}");
        }
        assert!(is_token("00D000000000001!AQcAQ.x_y"));
    }
}
