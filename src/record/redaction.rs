//! The configuration of redaction, `shiftlog.redact` and `shiftlog.redact.*`, and names without secrets.

use bstr::BString;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::git::{Repository, git};
use crate::hex::hex;
use crate::redact::{Redactor, Settings};
use crate::transcript::SessionKey;

/// The prefix of the digest that is shown instead of a name with a secret, and the length of the digest in digits.
const HIDDEN: &str = "hidden-";
const HIDDEN_BYTES: usize = 12;

/// Makes the redactor that the repository's configuration describes.
///
/// # Errors
///
/// If a value is invalid. Then nothing may be stored, since it would not be redacted as the user wants.
pub fn redactor(repo: &Repository) -> Result<Redactor> {
    Redactor::new(&settings(repo)?)
}

/// Makes a redactor for scanning stored words: it finds secrets even if redaction is switched off.
///
/// # Errors
///
/// As [`redactor`].
pub fn scanner(repo: &Repository) -> Result<Redactor> {
    Redactor::new(&Settings { is_off: false, ..settings(repo)? })
}

/// Makes a redactor for scanning files outside a repository, with the user's own configuration.
///
/// # Errors
///
/// As [`redactor`].
pub fn scanner_outside() -> Result<Redactor> {
    let values = |key: &str| git(["config", "-z", "--get-all", key]).capture().unwrap_or_default();
    let strings = |key: &str| {
        let values = values(key);
        let values = values.split(|byte| *byte == 0).filter(|value| !value.is_empty());
        values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    };
    Redactor::new(&settings_of(&strings)?)
}

/// Makes a redactor that removes the matches of a regular expression, and nothing else.
///
/// # Errors
///
/// If `pattern` is not a regular expression.
pub fn of_pattern(pattern: &str) -> Result<Redactor> {
    let patterns = vec![("purged".to_owned(), pattern.to_owned())];
    Redactor::new(&Settings { patterns, has_patterns_alone: true, ..Settings::default() })
}

/// Returns text without secrets.
pub fn clean(redactor: &Redactor, text: &str) -> String {
    let lines = BString::from(format!("{text}\n"));
    let (clean, _) = redactor.redact(&lines);
    let clean = String::from_utf8_lossy(&clean).into_owned();
    clean.strip_suffix('\n').map(str::to_owned).unwrap_or(clean)
}

/// Returns the name of a session without secrets: of a part that has one, a digest stands in its place. The names of sub-agents
/// begin with that of their session as before.
pub fn clean_key(redactor: &Redactor, key: &SessionKey) -> SessionKey {
    let has_secret = |text: &str| clean(redactor, text) != text;
    let part = |text: &str| match has_secret(text) {
        true => format!("{HIDDEN}{}", hex(&Sha256::digest(text.as_bytes())[..HIDDEN_BYTES])),
        false => text.to_owned(),
    };
    let id = match key.parent_id().and_then(|parent| Some((parent, key.id.strip_prefix(parent)?.strip_prefix('.')?))) {
        // A secret can have a dot in it.
        Some((parent, own)) if has_secret(&key.id) && !has_secret(parent) => {
            format!("{parent}.{}", part(&format!("{parent}.{own}")))
        }
        Some((parent, own)) => format!("{}.{}", part(parent), part(own)),
        None => part(&key.id),
    };
    SessionKey::new(part(&key.agent), id)
}

/// Says whether a name is what [`clean_key`] returns for one with a secret.
pub fn is_hidden(name: &SessionKey) -> bool {
    name.agent.starts_with(HIDDEN) || name.id.split('.').any(|part| part.starts_with(HIDDEN))
}

fn settings(repo: &Repository) -> Result<Settings> {
    let is_on = repo.config_bool("shiftlog.redact");
    if let Some(value) = repo.config_string("shiftlog.redact").filter(|_| is_on.is_none()) {
        return Err(bad("shiftlog.redact", &value));
    }
    Ok(Settings { is_off: is_on == Some(false), ..settings_of(&|key| repo.config_strings(key))? })
}

/// Returns what the config says that is read by `strings`, which returns all values of a key.
fn settings_of(strings: &dyn Fn(&str) -> Vec<String>) -> Result<Settings> {
    let mut settings = Settings {
        allowed: strings("shiftlog.redact.allow"),
        allowed_sha256: strings("shiftlog.redact.allowSha256"),
        ..Settings::default()
    };
    for value in strings("shiftlog.redact.pattern") {
        // `name=pattern`, or a pattern alone.
        let (name, pattern) = match value.split_once('=') {
            Some((name, pattern)) if !name.is_empty() && name.bytes().all(is_name) => (name.to_owned(), pattern),
            _ => ("custom".to_owned(), value.as_str()),
        };
        settings.patterns.push((name, pattern.to_owned()));
    }
    for digest in &settings.allowed_sha256 {
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad("shiftlog.redact.allowSha256", digest));
        }
    }
    let personal = strings("shiftlog.redact.personal");
    for word in personal.iter().flat_map(|value| value.split([',', ' '])).filter(|word| !word.is_empty()) {
        match word {
            "email" => settings.has_email = true,
            "phone" => settings.has_phone = true,
            "home" => settings.home = std::env::home_dir().and_then(|home| home.to_str().map(str::to_owned)),
            "all" => {
                (settings.has_email, settings.has_phone) = (true, true);
                settings.home = std::env::home_dir().and_then(|home| home.to_str().map(str::to_owned));
            }
            "none" => (settings.has_email, settings.has_phone, settings.home) = (false, false, None),
            other => return Err(bad("shiftlog.redact.personal", other)),
        }
    }
    Ok(settings)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn bad(key: &str, value: &str) -> Error {
    Error::other(format!("bad value '{value}' for '{key}'"))
}
