//! Values: whether what is given to a name such as `api_key` is a secret, or a word, a path, a hash, an example.

use super::shape::{ALNUM, B64, DIGITS, DOTTED, HEX, URL64, WORD, is_in};

/// Words that only examples have.
const EXAMPLE_WORDS: &[&str] = &[
    "example",
    "xxxxx",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "dummy",
    "redacted",
    "sample",
    "replace",
    "insert",
    "fixme",
    "foobar",
    "lorem",
    "notreal",
    "not-a-real",
    "1234567890",
    "0123456789",
    "abcdefgh",
    "....",
    "****",
    "0000000",
    "1111111",
    "aaaaaaa",
    "<",
    "${",
    "{{",
    "$(",
    "%s",
    "hunter2",
    "deadbeef",
    "cafebabe",
    "secret_here",
    "token_here",
    "key_here",
    "my-secret",
    "my_secret",
    "mysecret",
    "supersecret",
    "topsecret",
    "test_token",
    "test-token",
    "testtoken",
    "undefined",
    "password",
];

/// Words that examples have, but so short that a random token can hold them by chance.
const SHORT_EXAMPLE_WORDS: &[&str] = &["your", "todo", "fake", "mock", "xxxx", "some-", "some_", "test"];

/// Names that hold a word such as `key` or `token` without any secret behind them.
const HARMLESS_NAMES: &[&str] = &[
    "public",
    "pubkey",
    "keyid",
    "key_id",
    "key-id",
    "keyboard",
    "keyname",
    "key_name",
    "keyword",
    "tokenizer",
    "tokens",
    "token_count",
    "tokencount",
    "token_type",
    "tokentype",
    "token_url",
    "token_uri",
    "tokenurl",
    "max_token",
    "_file",
    "_path",
    "file_",
    "_dir",
    "_url",
    "_uri",
    "endpoint",
    "hash",
    "digest",
    "checksum",
    "sha",
    "md5",
    "etag",
    "integrity",
    "commit",
    "cache",
    "primary_key",
    "foreign_key",
    "sort_key",
    "partition",
    "hotkey",
    "author",
    "_name",
    "_length",
    "_len",
    "_size",
    "_at",
    "expir",
    "ttl",
    "policy",
    "_type",
    "_field",
    "_column",
    "label",
    "regex",
    "pattern",
    "passenger",
    "passive",
    "passthrough",
    "passport_number",
    "secretary",
    "_version",
];

/// Passwords that no one means to hide, and those that the manuals of databases use.
const KNOWN_PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pw",
    "pwd",
    "secret",
    "postgres",
    "root",
    "admin",
    "guest",
    "test",
    "user",
    "mysql",
    "redis",
    "mongo",
    "rabbitmq",
    "token",
    "example",
    "changeme",
    "x-oauth-basic",
    "x-access-token",
    "oauth2",
    "pat",
    "123456",
    "12345678",
];

/// Says whether a value is one that documentation and tests use in place of a secret.
pub fn is_placeholder(value: &[u8]) -> bool {
    if value.windows(10).any(|window| window == b"[REDACTED:") {
        return true;
    }
    // In what is long and random, a short word can come up by chance.
    let lower = value[..value.len().min(64)].to_ascii_lowercase();
    let has = |word: &str| lower.windows(word.len()).any(|window| window == word.as_bytes());
    if EXAMPLE_WORDS.iter().any(|word| has(word)) {
        return true;
    }
    let mut seen = [false; 256];
    lower.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let different = seen.iter().filter(|is_seen| **is_seen).count();
    // Random digits repeat, but never so much.
    value.len() >= 16 && different <= 5
}

/// Says whether a password is as good as public, or repeats its user.
pub fn is_known_password(user: &[u8], password: &[u8]) -> bool {
    let lower = password.to_ascii_lowercase();
    KNOWN_PASSWORDS.iter().any(|known| lower == known.as_bytes())
        || password == user
        || is_placeholder(password)
        || matches!(password.first(), Some(b'$' | b'{' | b'<' | b'%' | b'*' | b'[' | b':'))
        || password.iter().all(|byte| *byte == password[0])
        // A port: `://[::1]:80@`, or the clock time of a log line.
        || (password.len() <= 5 && password.iter().all(u8::is_ascii_digit))
}

/// Says whether a whole name shows that its value is no secret.
pub fn names_no_secret(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    HARMLESS_NAMES.iter().any(|word| lower.windows(word.len()).any(|window| window == word.as_bytes()))
}

/// Says whether a value has letters and digits, or letters of both cases.
pub fn is_mixed(value: &[u8]) -> bool {
    let has = |is_one: fn(&u8) -> bool| value.iter().any(is_one);
    let letters = has(u8::is_ascii_lowercase) || has(u8::is_ascii_uppercase);
    (letters && has(u8::is_ascii_digit)) || (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

/// Says whether a value reads as code: names with dots between them, or a name that is written like one.
pub fn is_code(value: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        part.first().is_some_and(|first| !first.is_ascii_digit())
            && part.iter().all(|byte| is_in(*byte, WORD))
            && turns(part) * 5 < part.len().max(6)
    };
    let parts: Vec<&[u8]> = value.split(|byte| matches!(byte, b'.' | b':' | b'-' | b'/')).collect();
    parts.iter().all(|part| part.is_empty() || is_name(part))
}

/// Counts how often a value goes from one kind of byte to another; in what is random, at every second byte.
fn turns(value: &[u8]) -> usize {
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'_' | b'-' => 3,
        _ => 4,
    };
    // A capital that begins a word is no turn of its own.
    value
        .windows(2)
        .filter(|pair| kind(&pair[0]) != kind(&pair[1]) && !(kind(&pair[0]) == 2 && kind(&pair[1]) == 1))
        .count()
}

/// Says whether the value of an assignment can only be a secret.
///
/// `is_sure` stands for a name that leaves no doubt (`password`, `api_key`); then a hex digest counts too, and a short
/// value with digits or signs. Behind doubtful names (`token`, `key`) only what is long and random does.
pub fn is_secret(value: &[u8], is_sure: bool, is_quoted: bool) -> bool {
    let value = value.strip_suffix(b".").filter(|_| !is_quoted).unwrap_or(value);
    if value.len() < 8 || value.len() > 4096 || is_placeholder(value) || is_uuid(value) {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    if value.len() <= 64
        && SHORT_EXAMPLE_WORDS.iter().any(|word| lower.windows(word.len()).any(|w| w == word.as_bytes()))
    {
        return false;
    }
    if matches!(value[0], b'$' | b'{' | b'<' | b'%' | b'*' | b'[' | b'#' | b'@' | b':') || value.ends_with(b":") {
        return false;
    }
    if is_path_or_url(value) || is_code(value) || value.iter().all(|byte| is_in(*byte, DIGITS) || *byte == b'.') {
        return false;
    }
    let is_token = value.iter().all(|byte| is_in(*byte, DOTTED | B64) || *byte == b'=');
    let is_hex = value.iter().all(|byte| is_in(*byte, HEX)) || value.iter().all(|b| b.is_ascii_hexdigit());
    if is_hex {
        return is_sure && value.len() >= 16 && value.len().is_multiple_of(2) && is_mixed(value);
    }
    if is_sure {
        // `Tr0ub4dor&3`: letters and digits or signs, and no mere words.
        let signs = value.iter().filter(|byte| !is_in(**byte, ALNUM) && !matches!(byte, b'-' | b'_' | b'.')).count();
        let is_varied = is_mixed(value) || (signs > 0 && is_quoted);
        return is_varied
            && turns(value) >= 2
            && (is_token || is_quoted || signs <= value.len() / 3)
            && !is_words(value);
    }
    let stem = value.strip_suffix(b"=").unwrap_or(value);
    is_token
        && value.len() >= 20
        && is_mixed(value)
        && value.iter().any(u8::is_ascii_digit)
        && turns(stem) * 4 >= stem.len()
        && entropy_bits(value) >= 3.5
        && !is_words(value)
        && value.iter().filter(|byte| !is_in(**byte, URL64)).count() <= value.len() / 8
}

/// Says whether a value is words with `-`, `_` or `.` between them, a few of them numbered: `utf8mb4_general_ci`.
fn is_words(value: &[u8]) -> bool {
    let parts = value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':'));
    let mut count = 0;
    let mut all_words = true;
    for part in parts.filter(|part| !part.is_empty()) {
        count += 1;
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_word = part.len() <= 16
            && (digits == 0 || digits == part.len() || turns(part) <= 1)
            && !part.iter().any(|byte| !is_in(*byte, ALNUM));
        all_words &= is_word && (digits < part.len() || part.len() <= 4);
    }
    count >= 2 && all_words
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

fn is_path_or_url(value: &[u8]) -> bool {
    value.windows(3).any(|window| window == b"://")
        || matches!(value, [b'/', ..] | [b'~', b'/', ..] | [b'.', b'/', ..] | [b'.', b'.', b'/', ..])
        || {
            // Words with slashes between them, as in `docs/api/v2`.
            let parts: Vec<&[u8]> = value.split(|byte| *byte == b'/').collect();
            parts.len() >= 2 && parts.iter().all(|part| part.len() <= 16 && turns(part) * 4 < part.len().max(4))
        }
}

/// Returns Shannon's entropy of the bytes, in bits a byte.
fn entropy_bits(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    value.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let total = value.len() as f64;
    let share = |count: &u32| {
        let share = f64::from(*count) / total;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(share).sum()
}
