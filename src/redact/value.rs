//! Values: whether the value of a name such as `api_key` is a secret, or a word, a path, a reference, an example.

use super::class::{ALNUM, ANYHEX, B64, DIGITS, DOTTED, OPAQUE, URL64, WORD, is_in};
use super::words;

/// How likely a name makes it that its value is a secret.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd, Ord)]
pub enum Sure {
    /// `token`, `_key`: only a long and random value is a secret.
    Maybe,
    /// `api_key`, `client_secret`: a digest or an id is a secret too.
    Secret,
    /// `password`: people choose them, short and of any kind.
    Password,
}

/// How a value is written in the text.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ValueForm {
    /// In quotes.
    pub is_quoted: bool,
    /// As in `DB_PASSWORD=…`.
    pub is_setting: bool,
    /// Name and value fill a line of their own.
    pub is_line: bool,
    /// After the name and a comma, like the next element of a list.
    pub is_listed: bool,
    /// As in `name: DB_PASSWORD` and `value: …`.
    pub is_paired: bool,
    /// The last word of the name is `token`, or one that means a key.
    pub is_telling: bool,
}

/// Words that occur only in examples, anywhere in a value.
#[rustfmt::skip]
const EXAMPLES: &[&str] = &[
    "example", "xxxxx", "placeholder", "changeme", "change_me", "change-me", "dummy", "redacted", "replace_",
    "replace-", "replaceme", "insert_", "insert-", "fixme", "foobar", "lorem", "notreal", "not-a-real", "your_",
    "your-", "yourkey", "yourtoken", "yoursecret", "yourpassword", "yourapi", "1234567890", "0123456789",
    "abcdefgh", "....", "****", "00000000", "11111111", "deadbeef", "cafebabe", "_here", "-here", "undefined",
    "sample_", "sample-",
];

/// Says whether a value is a placeholder, as documentation and tests use in place of a secret.
pub fn is_placeholder(value: &[u8]) -> bool {
    // A long random value can contain a word by chance.
    let lower = value[..value.len().min(64)].to_ascii_lowercase();
    has_example(&lower) || is_monotone(&lower) || is_made_of_words(value)
}

/// For each first byte of these words, the set of second bytes, by their last six bits.
const PAIRS: [u64; 256] = {
    let mut pairs = [0; 256];
    let mut word = 0;
    while word < EXAMPLES.len() {
        let bytes = EXAMPLES[word].as_bytes();
        pairs[bytes[0] as usize] |= 1 << (bytes[1] & 63);
        word += 1;
    }
    pairs
};

fn has_example(lower: &[u8]) -> bool {
    // Few positions have the first two bytes of any word.
    let is_begun = |pair: &[u8]| PAIRS[usize::from(pair[0])] >> (pair[1] & 63) & 1 != 0;
    lower
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| is_begun(pair))
        .any(|(at, _)| EXAMPLES.iter().any(|word| lower[at..].starts_with(word.as_bytes())))
}

/// Says whether a value has so few different bytes that it is not random.
fn is_monotone(lower: &[u8]) -> bool {
    let mut seen = [false; 256];
    lower.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let different = seen.iter().filter(|is_seen| **is_seen).count();
    match lower.len() {
        0..=5 => different <= 1,
        6..=11 => different <= 2,
        12..=15 => different <= 3,
        _ => different <= 5,
    }
}

/// Says whether a value consists of words of examples and small numbers: `my-secret-token-123`.
fn is_made_of_words(value: &[u8]) -> bool {
    value.len() <= 64
        && parts(value).all(|part| match part[0] {
            b'0'..=b'9' => is_counting(part),
            _ => words::is_made_of_example_words(&part.to_ascii_lowercase()),
        })
}

/// Says whether the digits count up or down, or are at most two.
fn is_counting(digits: &[u8]) -> bool {
    let step = |by: u8| digits.windows(2).all(|pair| (pair[1] - b'0') % 10 == (pair[0] - b'0' + by) % 10);
    digits.len() == 1 || step(1) || step(0) || step(9)
}

/// Returns the words and numbers of a value, separated by signs and by the change from letters to digits.
fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit() && is_in(*a, ALNUM) == is_in(*b, ALNUM))
        .filter(|part| is_in(part[0], ALNUM))
}

/// Says whether a password is publicly known, or equal to its user.
pub fn is_known_password(user: &[u8], password: &[u8]) -> bool {
    password == user
        || is_reference(password)
        || is_placeholder(password)
        || matches!(password.first(), None | Some(b'*' | b'[' | b':'))
        || password.eq_ignore_ascii_case(b"x-oauth-basic")
        || password.eq_ignore_ascii_case(b"x-access-token")
        || matches!(password, b"oauth2" | b"pat" | b"pw" | b"rabbitmq" | b"123456" | b"12345678")
        // A port: `://[::1]:80@`, or the clock time of a log line.
        || (password.len() <= 5 && password.iter().all(u8::is_ascii_digit))
}

/// Says whether a value refers to another: a variable, a template, a call to a store of secrets.
pub fn is_reference(value: &[u8]) -> bool {
    let has = |word: &[u8]| value.windows(word.len()).any(|window| window == word);
    match value {
        [b'$', b'{' | b'(' | b'[' | b'$', ..] | [b'{', b'{' | b'%', ..] | [b'#', b'{', ..] | [b'@', b'{', ..] => true,
        // `$FOO`, `%FOO%`, `<foo>`, `[foo]`, `@foo@`, `:foo`.
        [b'$' | b':', rest @ ..] => !rest.is_empty() && rest.iter().all(|byte| is_in(*byte, WORD)),
        [b'<', .., b'>'] | [b'[', .., b']'] | [b'{', .., b'}'] => true,
        [b'%', rest @ .., b'%'] | [b'@', rest @ .., b'@'] => rest.iter().all(|byte| is_in(*byte, DOTTED)),
        [b'%', b's' | b'd' | b'v' | b'r' | b'q'] | [b'&', b'l', b't', b';', ..] => true,
        _ => {
            value.starts_with(b"[REDACTED:")
                || value.starts_with(b"ENC[")
                || value.starts_with(b"ENC(")
                || value.starts_with(b"op://")
                || value.starts_with(b"arn:")
                || (value.contains(&b'%') && has(b"%s"))
                || (value.contains(&b'$') && (has(b"${") || has(b"$(")))
                || (value.contains(&b'{') && (has(b"{{") || has(b"#{")))
                || (value.contains(&b'[') && has(b"[REDACTED:"))
        }
    }
}

/// Says whether a value has letters and digits, or letters of both cases.
pub fn is_mixed(value: &[u8]) -> bool {
    let has = |is_one: fn(&u8) -> bool| value.iter().any(is_one);
    let letters = has(u8::is_ascii_lowercase) || has(u8::is_ascii_uppercase);
    (letters && has(u8::is_ascii_digit)) || (has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

/// Says whether a value looks like code: names with dots between them, or a name as programs write it.
pub fn is_code(value: &[u8]) -> bool {
    value.split(|byte| matches!(byte, b'.' | b':' | b'-' | b'/')).all(|part| part.is_empty() || is_name(part))
}

/// Says whether bytes look like a name in a program.
pub fn is_name(part: &[u8]) -> bool {
    part.first().is_some_and(|first| !first.is_ascii_digit()) && part.iter().all(|byte| is_in(*byte, WORD)) && {
        // An `_` between words does not count as a change.
        let stem: Vec<u8> = part.iter().copied().filter(|byte| *byte != b'_').collect();
        turns(&stem) * 5 < part.len().max(6)
    }
}

/// Counts the changes from one kind of byte to another; a random value has one at every second byte.
fn turns(value: &[u8]) -> usize {
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'_' | b'-' => 3,
        _ => 4,
    };
    // A capital that begins a word does not count as a change.
    value
        .windows(2)
        .filter(|pair| kind(&pair[0]) != kind(&pair[1]) && !(kind(&pair[0]) == 2 && kind(&pair[1]) == 1))
        .count()
}

/// Says whether the value of an assignment can only be a secret.
pub fn is_secret(value: &[u8], sure: Sure, form: ValueForm) -> bool {
    let value = value.strip_suffix(b".").filter(|_| !form.is_quoted).unwrap_or(value);
    let (min, max) = match sure {
        Sure::Password => (6, 1024),
        Sure::Secret => (8, 4096),
        Sure::Maybe => (16, 4096),
    };
    if value.len() < min || value.len() > max || is_reference(value) {
        return false;
    }
    let is_certain = form.is_quoted || form.is_setting || form.is_line || form.is_paired;
    let all = |class| value.iter().all(|byte| is_in(*byte, class));
    if value.iter().all(|byte| is_in(*byte, DIGITS) || *byte == b'.') {
        return match sure {
            Sure::Password => is_certain && all(DIGITS) && !is_counting(value) && !is_monotone(value),
            Sure::Secret => is_certain && all(DIGITS) && value.len() >= 12 && !is_placeholder(value),
            Sure::Maybe => false,
        };
    }
    if is_uuid(value) {
        return sure >= Sure::Secret || form.is_telling;
    }
    if all(ANYHEX) && value.len() >= 16 {
        let is_long = if sure == Sure::Maybe { form.is_telling && value.len() >= 32 } else { true };
        return is_long && is_mixed(value) && !is_placeholder(value);
    }
    if is_path_or_url(value) || value.ends_with(b":") || words::is_type(value) {
        return false;
    }
    // A number, or a variable of a shell or of Perl.
    let is_number = !form.is_quoted && is_number(value);
    let is_variable = value[0] == b'$' && value.len() > 3 && value[1..4].iter().all(|byte| is_in(*byte, WORD));
    let is_member = !form.is_quoted && (value.starts_with(b"self.") || value.starts_with(b"this."));
    if is_number
        || is_member
        || is_public_key(value)
        || (is_variable && !form.is_quoted)
        || (form.is_listed && value.iter().all(u8::is_ascii_alphabetic))
    {
        return false;
    }
    if value.iter().all(u8::is_ascii_alphabetic) && (value.len() < 20 || !is_shuffled(value)) {
        // Names and words have only letters, but so have some passwords.
        let is_strange = words::is_gibberish(value) && value.len() >= if sure == Sure::Password { 7 } else { 14 };
        // No word has as many letters as several words together.
        let least = if form.is_setting || form.is_paired { 8 } else { 16 };
        let is_chosen = sure == Sure::Password && value.len() >= least && !words::is_camel(value);
        return is_certain && sure > Sure::Maybe && (is_strange || is_chosen) && !is_placeholder(value);
    }
    let is_token = all(OPAQUE);
    match sure {
        Sure::Password => is_password(value, form, is_token),
        Sure::Secret => {
            let signs = value.iter().filter(|byte| !is_in(**byte, OPAQUE)).count();
            is_mixed(value)
                && turns(value) >= 2
                && !is_code(value)
                && (is_token || (form.is_quoted && !value.contains(&b'(')) || (is_certain && signs <= value.len() / 4))
                && !is_words(value)
                && !is_placeholder(value)
        }
        Sure::Maybe => {
            let stem = value.strip_suffix(b"=").unwrap_or(value);
            is_token
                && value.len() >= 20
                && is_mixed(value)
                && !is_code(value)
                && (value.iter().any(u8::is_ascii_digit) || is_shuffled(value))
                && turns(stem) * 4 >= stem.len()
                && entropy_bits(value) >= 3.5
                && !is_words(value)
                && value.iter().filter(|byte| !is_in(**byte, URL64)).count() <= value.len() / 8
                && !is_placeholder(value)
        }
    }
}

/// Says whether a value begins with a number as programs write it, perhaps with its type, followed by nothing that
/// belongs to a value: `2048u32`, `0xC000_0195`, `4096,/*`.
fn is_number(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let end = value.iter().position(|byte| !is_in(*byte, WORD)).unwrap_or(value.len());
    let (number, rest) = value.split_at(end);
    let lower: Vec<u8> = number.iter().filter(|byte| **byte != b'_').map(u8::to_ascii_lowercase).collect();
    let (digits, is_digit): (&[u8], fn(&u8) -> bool) = match lower.strip_prefix(b"0x") {
        Some(digits) => (digits, u8::is_ascii_hexdigit),
        None => (&lower, u8::is_ascii_digit),
    };
    let count = digits.iter().take_while(|byte| is_digit(byte)).count();
    const SUFFIXES: &[&[u8]] = &[
        b"", b"u8", b"u16", b"u32", b"u64", b"usize", b"i8", b"i16", b"i32", b"i64", b"isize", b"u", b"l", b"ul",
        b"ull", b"ll", b"n",
    ];
    (1..=20).contains(&count)
        && SUFFIXES.contains(&&digits[count..])
        && matches!(rest.first(), None | Some(b',' | b';' | b')'))
}

/// Says whether a value is a public key of SSH.
fn is_public_key(value: &[u8]) -> bool {
    ["AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh"].iter().any(|begin| value.starts_with(begin.as_bytes()))
}

/// Says whether a value with letters and other characters is a password.
fn is_password(value: &[u8], form: ValueForm, is_token: bool) -> bool {
    let signs = value.iter().filter(|byte| !is_in(**byte, ALNUM) && !matches!(byte, b'-' | b'_' | b'.')).count();
    let is_certain = form.is_quoted || form.is_setting || form.is_line || form.is_paired;
    if signs == 0 {
        let is_varied = is_mixed(value) && turns(value) >= 1 && (is_certain || turns(value) >= 2);
        let is_plain = is_code(value) || is_words(value);
        // `summer2024x` is a password in a settings file, and a variable in a program.
        let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_word = |stem: &[u8]| stem.iter().all(u8::is_ascii_alphabetic) && !words::is_camel(stem);
        let least = if form.is_setting || form.is_paired { 8 } else { 10 };
        let is_ended = value.len() >= least && is_word(&value[..value.len() - 2]);
        let is_many = (is_ended || value.len() >= 9) && digits >= if is_ended { 2 } else { 3 };
        let is_numbered = digits > 0 && (!is_code(value) || is_many || words::is_gibberish(value));
        let is_likely = is_varied && (!is_plain || (is_certain && !form.is_listed && is_numbered));
        return (is_likely || (form.is_setting && is_passphrase(value))) && !is_placeholder(value);
    }
    let is_code = !form.is_quoted && reads_as_code(value, form);
    let is_varied = value.iter().any(u8::is_ascii_alphanumeric)
        && (is_mixed(value) || (is_certain && value.iter().any(u8::is_ascii_alphanumeric) && turns(value) >= 2));
    is_varied && !is_code && (is_certain || is_token || signs <= value.len() / 3) && !is_placeholder(value)
}

/// Says whether a value is three words or more with hyphens between them, as generators of passphrases write them.
fn is_passphrase(value: &[u8]) -> bool {
    let words = value.split(|byte| *byte == b'-');
    let is_word = |word: &[u8]| word.len() >= 3 && word.iter().all(|byte| is_in(*byte, ALNUM));
    value.len() >= 14 && words.clone().count() >= 3 && words.clone().all(is_word)
}

/// Says whether an unquoted value with signs in it is code: a call, a type, a list.
fn reads_as_code(value: &[u8], form: ValueForm) -> bool {
    if matches!(value[0], b'[' | b'{' | b'(' | b'&' | b'*' | b'!' | b'|' | b'<' | b'>' | b',' | b';' | b'=')
        && !(form.is_setting && value.len() >= 8)
    {
        return true;
    }
    let name = value.iter().take_while(|byte| is_in(**byte, DOTTED)).count();
    let next = value.get(name).copied().unwrap_or_default();
    if name >= 2 && is_code(&value[..name]) && matches!(next, b'(' | b'[' | b'{' | b'<' | b':' | b'|' | b'=') {
        return true;
    }
    // Names and numbers with signs between them, as in `a.b||c`.
    !form.is_setting
        && value
            .split(|byte| !is_in(*byte, DOTTED))
            .filter(|part| !part.is_empty())
            .all(|part| is_code(part) || part.iter().all(u8::is_ascii_digit))
        && !(form.is_line && is_mixed(value) && value.len() >= 8 && value.iter().any(u8::is_ascii_digit))
}

/// Says whether upper and lower case are mixed as in a random value.
fn is_shuffled(value: &[u8]) -> bool {
    let letters: Vec<u8> = value.iter().copied().filter(u8::is_ascii_alphabetic).collect();
    let turns = value.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()).count();
    turns * 6 >= value.len() && words::is_gibberish(&letters)
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

/// Says whether a value is written as a UUID.
pub fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value
            .iter()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() })
}

fn is_path_or_url(value: &[u8]) -> bool {
    value.windows(3).any(|window| window == b"://")
        || matches!(value, [b'~', b'/', ..] | [b'.', b'/', ..] | [b'.', b'.', b'/', ..])
        || (value[0] == b'/' && (!value.iter().all(|byte| is_in(*byte, B64) || *byte == b'=') || value.len() < 24))
        || {
            // Words with slashes between them, as in `docs/api/v2`.
            let parts: Vec<&[u8]> = value.split(|byte| *byte == b'/').collect();
            parts.len() >= 2
                && parts.iter().all(|part| part.len() <= 16 && (turns(part) * 4 < part.len().max(4) || is_code(part)))
        }
}

/// Says whether a value is as random as a token. For values behind a name that says little.
pub fn is_random(value: &[u8]) -> bool {
    is_mixed(value)
        && value.iter().any(u8::is_ascii_digit)
        && turns(value) * 5 >= value.len()
        && entropy_bits(value) >= 3.0
        && !is_words(value)
        && !is_code(value)
        && !is_placeholder(value)
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
