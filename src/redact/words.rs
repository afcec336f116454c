//! Words: those of examples, those that say what the value of a name is, and a test for random letters.

/// Words of which examples of secrets consist, sorted.
#[rustfmt::skip]
const EXAMPLE_WORDS: &[&str] = &[
    "a", "abc", "access", "account", "actual", "admin", "adminpass", "an", "and", "anthropic", "any", "api",
    "apikey", "app", "at", "auth", "aws", "azure", "bad", "bar", "basic", "baz", "bearer", "been", "blah", "bot",
    "bytes", "change", "changeit", "changeme", "channel", "client", "code", "config", "confirm", "confirmation",
    "cookie", "correct", "credential", "credentials", "current", "custom", "data", "database", "db", "def",
    "default", "demo", "dev", "development", "does", "dummy", "empty", "encrypted", "enter", "env", "environment",
    "example", "expired", "fake", "false", "field", "fixme", "foo", "for", "from", "generated", "github",
    "gitlab", "goes", "good", "google", "guest", "has", "hash", "hashed", "hello", "here", "hidden", "host", "id",
    "in", "input", "insert", "invalid", "is", "it", "key", "keys", "letmein", "local", "localhost", "login",
    "long", "main", "masked", "me", "missing", "mock", "mongo", "must", "my", "mysql", "name", "new", "nil", "no",
    "none", "not", "nothing", "npm", "null", "old", "on", "openai", "optional", "or", "org", "pass", "passphrase",
    "passw", "passwd", "password", "passwords", "paste", "phrase", "pin", "placeholder", "plain", "please",
    "postgres", "private", "prod", "production", "project", "provided", "public", "put", "pw", "pwd", "qux",
    "qwerty", "random", "read", "real", "redacted", "redis", "replace", "required", "root", "safe", "same",
    "sample", "secret", "secrets", "secure", "server", "service", "session", "set", "short", "should", "signing",
    "slack", "some", "staging", "state", "str", "string", "stripe", "strong", "super", "supersecret", "test",
    "tester", "testing", "tests", "text", "that", "the", "this", "to", "todo", "token", "tokens", "top", "true",
    "type", "undefined", "unit", "unknown", "unset", "use", "user", "username", "users", "valid", "value",
    "values", "very", "weak", "webhook", "will", "with", "world", "wrong", "xxx", "xyz", "you", "your",
];

/// If the last word of a name is one of these, the value describes a secret and is not one.
#[rustfmt::skip]
const LAST_WORDS: &[&str] = &[
    "alg", "algorithm", "algorithms", "alias", "arn", "at", "attempts", "attr", "attribute", "base", "bits",
    "board", "bucket", "button", "bytes", "cache", "callback", "check", "checks", "checksum", "class", "cls",
    "code", "codes", "column", "command", "complexity", "config", "count", "created", "date", "days",
    "description", "digest", "dir", "directory", "dn", "domain", "duration", "element", "enabled", "encoding", "encryption",
    "endpoint", "endpoints", "env", "error", "errors", "event", "exists", "expiration", "expired", "expires",
    "expiry", "factory", "failed", "field", "fields", "file", "filename", "files", "filter", "fingerprint",
    "flag", "flow", "fmt", "form", "format", "func", "function", "generator", "group", "handler", "hash",
    "header", "headers", "help", "hint", "host", "icon", "id", "identifier", "ids", "index", "info", "input",
    "invalid", "issuer", "kind", "label", "last", "len", "length", "level", "lifetime", "limit", "link", "list",
    "location", "manager", "map", "max", "message", "method", "min", "mode", "model", "name", "names",
    "namespace", "ns", "number", "offset", "option", "options", "org", "owner", "page", "param", "parameter",
    "params", "parser", "path", "paths", "pattern", "permissions", "placeholder", "policies", "policy", "port",
    "position", "prefix", "presence", "prompt", "property", "protection", "provider", "range", "reader", "ref",
    "regex", "region", "rejected", "required", "requirements", "reset", "resource", "response", "role",
    "rotation", "rule", "rules", "schema", "scope", "scopes", "screen", "selector", "separator", "service",
    "size", "sizes", "source", "spec", "start", "state", "status", "store", "strength", "style", "suffix",
    "table", "tag", "text", "time", "timeout", "title", "ttl", "type", "types", "uri", "uris", "url", "urls",
    "usage", "used", "user", "username", "utils", "valid", "validator", "variable", "version", "view", "visible",
];

/// If any word of a name is one of these, the value is not a secret.
#[rustfmt::skip]
const HARMLESS_WORDS: &[&str] = &[
    "author", "authors", "cache", "checksum", "commit", "continuation", "csrf", "cursor", "dedupe", "etag",
    "fingerprint", "foreign", "hotkey", "idempotency", "integrity", "keyboard", "keyid", "keyname", "keyword",
    "keywords", "max", "md5", "next", "nonce", "page", "partition", "passenger", "passive", "passport",
    "passthrough", "prev", "primary", "pub", "pubkey", "public", "publishable", "secretary", "sha1", "sha256",
    "sha512", "shortcut", "sitekey", "sort", "tokenized", "tokenizer", "tokens", "unique", "xsrf",
];

/// Types and other words that can be in the place of a value.
#[rustfmt::skip]
const TYPES: &[&str] = &[
    "any", "binary", "blob", "boolean", "bytes", "char", "complex", "credential", "false", "function", "hidden",
    "integer", "interface", "masked", "none", "null", "number", "object", "optional", "password", "protected",
    "public", "required", "secret", "securestring", "sensitive", "static", "string", "text", "true", "undefined",
    "unknown", "varchar", "void", "writeonly",
];

/// For each letter, those that often follow it in words and names.
#[rustfmt::skip]
const FOLLOWERS: [&str; 26] = [
    "bcdfgiklmnprstuvwxyz", "aeiloruybs", "aehiklortuyc", "aeioruysdgm", "abcdefglmnopqrstvwxy", "aeiloruft",
    "aehilnorugs", "aeiotury", "abcdefgklmnoprstvz", "aeou", "eiynsal", "aeiouldtysfkmvcp", "aeiopmbuysn",
    "aeiotgdcsknyuvf", "abcdfgklmnoprstuvwyih", "aeiloprthsuy", "u", "aeiodtsmnkrucylgvpb", "aeiotshpucmklynwqd",
    "aehiortusywlcm", "abcdegilmnprstkf", "aeioy", "aeihonrsd", "aeptiycu", "aeosmptil", "aeozyi",
];

/// Says whether letters consist of words of examples only.
pub fn is_made_of_example_words(lower: &[u8]) -> bool {
    // For each length, whether the beginning of that length consists of words.
    let mut reached = [false; 65];
    reached[0] = true;
    if lower.len() >= reached.len() {
        return false;
    }
    for at in 0..lower.len() {
        if reached[at] {
            let begin = EXAMPLE_WORDS.partition_point(|word| word.as_bytes()[0] < lower[at]);
            let words = EXAMPLE_WORDS[begin..].iter().take_while(|word| word.as_bytes()[0] == lower[at]);
            words
                .filter(|word| lower[at..].starts_with(word.as_bytes()))
                .for_each(|word| reached[at + word.len()] = true);
        }
    }
    reached[lower.len()]
}

/// Says whether a name shows that its value is not a secret.
pub fn names_no_secret(name: &[u8]) -> bool {
    let (mut before, mut last): (&[u8], &[u8]) = (b"", b"");
    let mut is_harmless = false;
    each_word(name, |word| {
        is_harmless |= HARMLESS.has(word);
        (before, last) = (last, word);
    });
    // Rails derives its keys from a `secret_key_base`.
    let is_key_base = last.eq_ignore_ascii_case(b"base") && before.eq_ignore_ascii_case(b"key");
    is_harmless || (LAST.has(last) && !is_key_base)
}

/// Visits the words of a name, separated by signs and capitals.
pub fn each_word<'n>(name: &'n [u8], mut visit: impl FnMut(&'n [u8])) {
    for part in name.split(|byte| !byte.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        part.chunk_by(|a, b| !(a.is_ascii_lowercase() && b.is_ascii_uppercase())).for_each(&mut visit);
    }
}

/// Sorted words, and for each first letter the set of their lengths, as bits: most words of a text are rejected by it.
struct List {
    sorted: &'static [&'static str],
    lengths: [u32; 26],
}

impl List {
    const fn new(sorted: &'static [&'static str]) -> List {
        let mut lengths = [0; 26];
        let mut at = 0;
        while at < sorted.len() {
            let word = sorted[at].as_bytes();
            lengths[(word[0] - b'a') as usize] |= 1 << word.len();
            at += 1;
        }
        List { sorted, lengths }
    }

    /// Says whether the list has a word, in either case.
    fn has(&self, word: &[u8]) -> bool {
        let lower = |byte: &u8| byte.to_ascii_lowercase();
        let first = word.first().map_or(26, |byte| usize::from(lower(byte).wrapping_sub(b'a')));
        let lengths = self.lengths.get(first).copied().unwrap_or(0);
        word.len() < 32
            && lengths >> word.len() & 1 != 0
            && self.sorted.binary_search_by(|known| known.bytes().cmp(word.iter().map(lower))).is_ok()
    }
}

static LAST: List = List::new(LAST_WORDS);
static HARMLESS: List = List::new(HARMLESS_WORDS);
static TYPE: List = List::new(TYPES);

/// Says whether a value is the name of a type, or another word that can be in the place of a value.
pub fn is_type(value: &[u8]) -> bool {
    TYPE.has(value)
}

/// Says whether letters are a name with inner capitals.
pub fn is_camel(letters: &[u8]) -> bool {
    letters.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Says whether the sequence of letters occurs in no word.
pub fn is_gibberish(letters: &[u8]) -> bool {
    let is_rare = |pair: &&[u8]| {
        let (a, b) = (pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase());
        a.is_ascii_lowercase() && !FOLLOWERS[usize::from(a - b'a')].as_bytes().contains(&b)
    };
    let rare = letters.windows(2).filter(is_rare).count();
    rare >= 2 && rare * 5 > letters.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_in_order() {
        for list in [EXAMPLE_WORDS, LAST_WORDS, HARMLESS_WORDS, TYPES] {
            assert!(list.is_sorted(), "{:?}", list.windows(2).find(|pair| pair[0] > pair[1]));
        }
    }

    #[test]
    fn words_of_examples_are_told_from_what_nobody_says() {
        for word in ["mysecretpassword", "test", "yourapikey", "changeme"] {
            assert!(is_made_of_example_words(word.as_bytes()), "{word}");
        }
        assert!(!is_made_of_example_words(b"testkqzv"));
        for word in ["kqzjvwpxmt", "xvbnqwrtzp"] {
            assert!(is_gibberish(word.as_bytes()), "{word}");
        }
        for word in ["connection", "getpassphrase", "newpassword", "environment", "describe", "authenticator"] {
            assert!(!is_gibberish(word.as_bytes()), "{word}");
        }
    }

    #[test]
    fn a_name_tells_what_its_value_is() {
        for name in ["password_file", "tokenUrl", "csrf_token", "primaryKey", "SECRET_NAME", "max_tokens", "key_id"] {
            assert!(names_no_secret(name.as_bytes()), "{name}");
        }
        for name in [
            "shared_secret",
            "authorization_token",
            "HASHICORP_TOKEN",
            "file_password",
            "profileSecret",
            "secret_key_base",
        ] {
            assert!(!names_no_secret(name.as_bytes()), "{name}");
        }
    }
}
