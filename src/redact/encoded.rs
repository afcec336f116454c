//! Text that is encoded in base64, as of a file with passwords, or of a reply of a server.

use super::class::{B64, URL64, is_in};
use super::view::View;

/// The base64 forms of words of rules, for each of the three offsets in a group: a text with one of them is decoded. A digit that
/// also has bits of the byte before or behind the word is left out.
#[rustfmt::skip]
pub const WORDS: &[&str] = &[
    "Z2hwX", "docF8", "docF9", "docF+", "docF/", "naHBf", "Z2hvX", "dob18", "dob19", "dob1+", "dob1/", "naG9f",
    "Z2h1X", "dodV8", "dodV9", "dodV+", "dodV/", "naHVf", "Z2hzX", "doc18", "doc19", "doc1+", "doc1/", "naHNf",
    "Z2hyX", "docl8", "docl9", "docl+", "docl/", "naHJf", "Z2l0aHViX3BhdF", "dpdGh1Yl9wYXRf", "naXRodWJfcGF0X",
    "Z2xwYXQt", "dscGF0L", "nbHBhdC", "Z2xkdC", "dsZHQt", "nbGR0L", "c2stYW50L", "NrLWFudC", "zay1hbnQt",
    "c2stcHJvai", "NrLXByb2ot", "zay1wcm9qL", "c2tfbGl2ZV", "NrX2xpdmVf", "za19saXZlX", "cmtfbGl2ZV", "JrX2xpdmVf",
    "ya19saXZlX", "d2hzZWNf", "doc2VjX", "3aHNlY1", "QUtJQ", "FLSUE", "FLSUF", "FLSUG", "FLSUH", "BS0lB", "QVNJQ",
    "FTSUE", "FTSUF", "FTSUG", "FTSUH", "BU0lB", "QUl6Y", "FJemE", "FJemF", "FJemG", "FJemH", "BSXph", "R09DU1BYL",
    "dPQ1NQWC", "HT0NTUFgt", "eWEyOS", "lhMjku", "5YTI5L", "eG94Yi", "hveGIt", "4b3hiL", "eG94cC", "hveHAt",
    "4b3hwL", "eGFwcC", "hhcHAt", "4YXBwL", "bnBtX", "5wbV8", "5wbV9", "5wbV+", "5wbV/", "ucG1f", "cHlwaS1BZ0",
    "B5cGktQWdF", "weXBpLUFnR", "ZG9wX3YxX", "RvcF92MV", "kb3BfdjFf", "aHZzL", "h2cy4", "h2cy5", "h2cy6", "h2cy7",
    "odnMu", "c2hwYXRf", "NocGF0X", "zaHBhdF", "QWNjb3VudEtleT", "FjY291bnRLZXk9", "BY2NvdW50S2V5P",
    "cG9zdGdyZXM6Ly", "Bvc3RncmVzOi8v", "wb3N0Z3JlczovL", "cG9zdGdyZXNxbDovL", "Bvc3RncmVzcWw6Ly",
    "wb3N0Z3Jlc3FsOi8v", "bXlzcWw6Ly", "15c3FsOi8v", "teXNxbDovL", "bW9uZ29kY", "1vbmdvZG", "tb25nb2Ri",
    "cmVkaXM6Ly", "JlZGlzOi8v", "yZWRpczovL", "YW1xcDovL", "FtcXA6Ly", "hbXFwOi8v", "cGFzc3dvcm", "Bhc3N3b3Jk",
    "wYXNzd29yZ", "UEFTU1dPUk", "BBU1NXT1JE", "QQVNTV09SR", "UGFzc3dvcm", "QYXNzd29yZ", "cGFzc3dk", "Bhc3N3Z",
    "wYXNzd2", "c2VjcmV0", "NlY3Jld", "zZWNyZX", "U0VDUkVU", "NFQ1JFV", "TRUNSRV", "U2VjcmV0", "TZWNyZX", "dG9rZW",
    "Rva2Vu", "0b2tlb", "VE9LRU", "RPS0VO", "UT0tFT", "VG9rZW", "Ub2tlb", "X0tFW", "9LRVk", "9LRVl", "9LRVm",
    "9LRVn", "fS0VZ", "X2tle", "9rZXk", "9rZXl", "9rZXm", "9rZXn", "fa2V5", "YXBpa2V5", "FwaWtle", "hcGlrZX",
    "YXBpS2V5", "FwaUtle", "hcGlLZX", "QVBJS0VZ", "FQSUtFW", "BUElLRV", "QmVhcmVy", "JlYXJlc", "CZWFyZX",
];

/// The shortest text that is decoded, in digits.
const MIN_DIGITS: usize = 24;
/// How many digits of something else can stand in front of a stretch: the rest of a group, or a path.
const MAX_BEFORE: usize = 64;
/// A line with fewer digits is not followed by another one: programs wrap at 64 or 76.
const MIN_WRAPPED_DIGITS: usize = 60;

/// A digit of base64 in a text.
#[derive(Clone, Copy, Default)]
struct Digit {
    value: u32,
    at: usize,
}

/// Returns what a text has encoded in base64, each stretch in a line of its own. `None` if there is none. A stretch is decoded from
/// where it reads as ASCII: in front can stand other letters, or a group that was cut.
pub fn decoded(source: &[u8]) -> Option<View> {
    let mut view: Option<View> = None;
    let mut at = 0;
    while let Some(start) = source[at..].iter().position(is_digit).map(|offset| at + offset) {
        at = start + source[start..].iter().take_while(|byte| is_digit(byte)).count();
        let begins_with_text = |start: &usize| {
            at.saturating_sub(*start) >= MIN_DIGITS
                && source[*start..start + MIN_DIGITS].chunks(4).all(|group| bytes_of(group).iter().all(is_text))
        };
        let Some(start) = (start..start + MAX_BEFORE).find(begins_with_text) else { continue };
        let view = view.get_or_insert_with(|| View::at(start));
        view.skip_to(b"\n", start);
        at = decode(source, start, view);
    }
    view
}

/// Adds what the stretch of base64 from `start` on says, and returns its end.
fn decode(source: &[u8], start: usize, view: &mut View) -> usize {
    let (mut group, mut count) = ([Digit::default(); 4], 0);
    let (mut at, mut line, mut end) = (start, start, start);
    let mut add = |group: &[Digit]| {
        let (first, last) = (group[0].at, group[group.len() - 1].at + 1);
        if first != end {
            view.skip_to(b"", first);
        }
        let bits = (0..4).fold(0, |bits: u32, at| bits << 6 | group.get(at).map_or(0, |digit| digit.value));
        let [_, bytes @ ..] = bits.to_be_bytes();
        // Bytes that stand for something else in a view.
        let bytes = bytes.map(|byte| if byte >= 0xFE { 0x80 } else { byte });
        view.add(&bytes[..group.len() * 3 / 4], first..last);
        end = last;
    };
    loop {
        while let Some(byte) = source.get(at).filter(|byte| is_digit(byte)) {
            group[count] = Digit { value: value(*byte), at };
            (count, at) = (count + 1, at + 1);
            if count == 4 {
                add(&group);
                count = 0;
            }
        }
        let rest = &source[at..];
        let break_bytes = if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
        // The last line is shorter, and has nothing else.
        let next = &rest[break_bytes..];
        let digits = next.iter().take_while(|byte| is_digit(byte)).count();
        let is_line = next.get(digits).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'=' | b'"'));
        if break_bytes == 0 || digits == 0 || !is_line || at - line < MIN_WRAPPED_DIGITS {
            break;
        }
        at += break_bytes;
        line = at;
    }
    if count > 1 {
        add(&group[..count]);
    }
    at
}

fn is_digit(byte: &u8) -> bool {
    is_in(*byte, B64 | URL64)
}

fn is_text(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// Returns the three bytes of four digits.
fn bytes_of(group: &[u8]) -> [u8; 3] {
    let [_, bytes @ ..] = group.iter().fold(0, |bits: u32, digit| bits << 6 | value(*digit)).to_be_bytes();
    bytes
}

fn value(digit: u8) -> u32 {
    u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use bstr::ByteSlice as _;

    use super::super::{Redactor, Settings};
    use super::*;

    /// The words that [`WORDS`] are made of.
    const PLAIN: &str = "\
    ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- sk-ant- sk-proj- sk_live_
        rk_live_ whsec_ AKIA ASIA AIza GOCSPX- ya29. xoxb- xoxp- xapp- npm_
        pypi-AgE dop_v1_ hvs. shpat_ AccountKey= postgres:// postgresql:// mysql://
        mongodb redis:// amqp:// password PASSWORD Password passwd secret SECRET Secret
        token TOKEN Token _KEY _key apikey apiKey APIKEY Bearer";

    #[test]
    fn the_words_are_those_of_secrets_at_each_place_of_a_group() {
        let mut made = Vec::new();
        for word in PLAIN.split_ascii_whitespace() {
            for before in 0..3_usize {
                let inner = (8 * before).div_ceil(6)..8 * (before + word.len()) / 6;
                // Four digits occur by chance; the next one has two bits of the byte behind the word.
                let is_short = inner.len() < 5;
                for next in (0..4_u8).take(if is_short { 4 } else { 1 }) {
                    let bytes = [&[0; 3][..before], word.as_bytes(), &[next << 6, 0, 0]].concat();
                    let digits = STANDARD.encode(bytes)[inner.start..inner.end + usize::from(is_short)].to_owned();
                    if !made.contains(&digits) {
                        made.push(digits);
                    }
                }
            }
        }
        assert_eq!(WORDS, made);
    }

    #[test]
    fn text_in_base64_is_read_and_leads_back() {
        let text = "DB_HOST=localhost\nDB_USER=relay\nnames: M\u{fc}ller, and a line that is long enough to be wrapped twice\n";
        for encoded in [STANDARD.encode(text), URL_SAFE_NO_PAD.encode(text)] {
            for (columns, end) in [(1000, "\n"), (76, "\n"), (64, "\n"), (76, "\r\n"), (70, "\n")] {
                let lines: Vec<String> =
                    encoded.as_bytes().chunks(columns).map(|line| line.to_str_lossy().into_owned()).collect();
                let source = format!("$ base64 .env\n{}{end}and {encoded} again", lines.join(end));
                let view = decoded(source.as_bytes()).expect("it has text");
                assert_eq!(view.text.to_str_lossy(), format!("\n{text}\n{text}"), "{source}");
                let at = view.text.find("relay").expect("it is there");
                let span = view.source(at..at + 5);
                // Seven or eight digits hold five bytes.
                assert!(span.len() >= 7 && span.len() <= 10, "{span:?}");
                assert!(encoded.contains(&source[span.clone()].replace(end, "")), "{}", &source[span]);
            }
        }
        let image = STANDARD.encode([0x89, b'P', b'N', b'G', 13, 10, 26, 10].repeat(30));
        for none in [image.as_str(), "toolu_01A09q90qw90lq917835lq9", "a/path/of/many/words/that/ends.rs", "QUJD", ""] {
            assert!(decoded(none.as_bytes()).is_none(), "{none}");
        }
    }

    #[test]
    fn a_secret_in_base64_goes_and_what_is_encoded_beside_it_stays() {
        let redactor = Redactor::new(&Settings::default()).expect("there are no patterns");
        let token = format!("ghp_{}", "k3Zr9QxW2m".repeat(4)[..36].to_owned());
        let (mark, inner) = ("[REDACTED:github-token]", |text: &str| text.replace("\\n", ""));
        for before in ["", " ", "a ", "PORT=8080\nGITHUB_TOKEN=", "{\"type\": \"file\", \"auth\": {\"token\": \""] {
            for after in ["", "\nDEBUG=1\nthe end of this file is here\n", "\"}}"] {
                let encoded = STANDARD.encode(format!("{before}{token}{after}"));
                let lines: Vec<&str> =
                    encoded.as_bytes().chunks(76).map(|line| line.to_str().expect("ASCII")).collect();
                let json = serde_json::json!({ "content": [{ "type": "text", "text": lines.join("\n") }] }).to_string();
                for source in [format!("{encoded}\n"), format!("{json}\n")] {
                    let redacted = redactor.redact(source.as_bytes()).0.to_str_lossy().into_owned();
                    let (kept, rest) =
                        redacted.split_once(mark).unwrap_or_else(|| panic!("{before:?} {after:?} {source}"));
                    assert!(source.starts_with(kept) && source.ends_with(rest), "{redacted}");
                    // Digits that hold bits of the token go, and at most two bytes behind it.
                    let gone = inner(&source).len() - inner(kept).len() - inner(rest).len();
                    assert!((54..=57).contains(&gone), "{before:?} {after:?} {gone}: {redacted}");
                }
            }
        }
        // Behind other letters, in lines as mail has them, before a line of another kind, and far behind in a long text.
        let file = STANDARD.encode(format!("PORT=8080\nGITHUB_TOKEN={token}\nDEBUG=1\n# the end is near\n"));
        let mail: Vec<&str> = file.as_bytes().chunks(76).map(|line| line.to_str().expect("ASCII")).collect();
        let long = STANDARD.encode(format!("{}{token}\n", "a line of plain text\n".repeat(60_000)));
        for text in
            [format!("out/{file}"), format!("id_{file}"), mail.join("\r\n"), format!("x{long}"), format!("xy {long}")]
        {
            let source = serde_json::json!({ "text": format!("{text}\ndone\n") }).to_string() + "\n";
            let redacted = redactor.redact(source.as_bytes()).0.to_str_lossy().into_owned();
            assert_eq!(redacted.matches(mark).count(), 1, "{}", &source[..80]);
        }
        let short = STANDARD.encode("a password=Zq9ZJzzgEOzdmenCkhvx");
        let source =
            serde_json::json!({ "text": format!("{}\ndone\n", short.trim_end_matches('=')) }).to_string() + "\n";
        assert!(redactor.redact(source.as_bytes()).0.contains_str("[REDACTED:"), "{source}");
        for short in ["ab", "abc", "Zm9v", "a b c d"] {
            assert!(decoded(short.as_bytes()).is_none());
        }
        let plain =
            format!("{}\n", STANDARD.encode("nothing secret is in this text, which is in base64: token, password"));
        assert_eq!(redactor.redact(plain.as_bytes()).0, plain.as_bytes());
    }
}
