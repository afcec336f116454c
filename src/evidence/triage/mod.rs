//! The findings in a text, in a few lines: for an Apex log its first exception, the limits that it comes near to and
//! its slowest query; for another text the first line that tells a failure.

mod apex_log;

use std::io::{self, BufRead};

use self::apex_log::ApexLog;
use super::counts::has_failures;

/// The longest line that is kept, in characters.
const MAX_CHARS: usize = 240;
/// How much of a line is looked at, in bytes: a dump of a variable can have megabytes.
const MAX_LINE_BYTES: usize = 64 << 10;
/// The longest word that is left out where a line is cut, in bytes: it can be a part of a secret.
const MAX_WORD_BYTES: usize = 4 << 10;

/// The findings in a text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Triage {
    /// Whether it is an Apex debug log.
    pub is_apex: bool,
    /// The first failure, on one line.
    pub error: Option<String>,
    /// Other findings, a line each.
    pub lines: Vec<String>,
}

/// Reads a text of any length, line by line. `clean` removes secrets from a line, before the line is cut: of a secret
/// that was cut in two it would not know the first half.
///
/// # Errors
///
/// If the text cannot be read.
pub fn triage(mut text: impl BufRead, clean: &dyn Fn(&str) -> String) -> io::Result<Triage> {
    let mut apex = ApexLog::default();
    let mut failure = None;
    let mut line = Vec::new();
    let mut is_apex = false;
    let mut number = 0_u64;
    while read_line(&mut text, &mut line)? {
        let shown = String::from_utf8_lossy(&line);
        let shown = shown.trim_end();
        is_apex |= number < 3 && apex_log::is_head(shown);
        number += 1;
        if is_apex {
            apex.line(shown);
        } else if failure.is_none() && tells_failure(shown) {
            failure = Some(short(shown.trim(), clean));
        }
    }
    Ok(if is_apex { apex.triage(clean) } else { Triage { is_apex, error: failure, lines: Vec::new() } })
}

/// Reads the beginning of the next line; the rest of a long one is left out, with the word that is cut. Returns whether
/// there is a line.
fn read_line(text: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let (mut has_read, mut is_cut) = (false, false);
    let ended = |line: &mut Vec<u8>, is_cut: bool| {
        let space = || line.iter().rposition(u8::is_ascii_whitespace);
        let space = is_cut.then(space).flatten().filter(|space| line.len() - space <= MAX_WORD_BYTES);
        line.truncate(space.unwrap_or(line.len()));
    };
    loop {
        let piece = match text.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            piece => piece?,
        };
        if piece.is_empty() {
            ended(line, is_cut);
            return Ok(has_read);
        }
        has_read = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(piece.len());
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        is_cut |= length > room;
        line.extend_from_slice(&piece[..length.min(room)]);
        let used = end.map_or(length, |end| end + 1);
        text.consume(used);
        if end.is_some() {
            ended(line, is_cut);
            return Ok(true);
        }
    }
}

/// Says whether a line of a test's or a build's output tells a failure. Lines that only count none do not.
fn tells_failure(line: &str) -> bool {
    // Colours stand around the words.
    let plain = line.contains('\u{1b}').then(|| crate::outside::line(line));
    let line = without_time(plain.as_deref().unwrap_or(line).trim_start());
    let begins = [
        "error:",
        "error[",
        "Error:",
        "ERROR",
        "[ERROR]",
        "##[error]",
        "::error",
        "FAIL",
        "npm ERR!",
        "npm error ",
        "panic:",
        "Traceback ",
        "E   ",
        "Unhandled exception",
        "Unhandled Exception",
        "Bus error",
    ];
    let has = [
        " panicked at ",
        ": error: ",
        " fatal error: ",
        " FAILED",
        "--- FAIL: ",
        "***Failed",
        ": *** ",
        "Exception: ",
        "AssertionError",
        "not ok ",
        "Segmentation fault",
        "(core dumped)",
    ];
    let has_word = begins.iter().any(|word| line.starts_with(word)) || has.iter().any(|word| line.contains(word));
    has_word || has_failures(line)
}

/// Returns a line without the time that services for CI put in front, such as `2026-11-20T12:00:00.1234567Z `.
fn without_time(line: &str) -> &str {
    let is_time = |word: &str| {
        let (date, time) = word.strip_suffix('Z').and_then(|word| word.split_once('T')).unwrap_or_default();
        let is_of = |text: &str, marks: &[u8]| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || marks.contains(&byte))
        };
        is_of(date, b"-") && is_of(time, b":.")
    };
    line.split_once(' ').filter(|(word, _)| is_time(word)).map_or(line, |(_, rest)| rest.trim_start())
}

/// Returns a text on one line without secrets, at most as long as is kept.
fn short(text: &str, clean: &dyn Fn(&str) -> String) -> String {
    let line = clean(text);
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Triage {
        read(text.as_bytes())
    }

    fn read(text: &[u8]) -> Triage {
        triage(text, &|line| crate::outside::line(line).replace("hunter2", "***")).expect("text")
    }

    #[test]
    fn the_first_exception_is_told_with_its_code_unit() {
        let log = "64.0 APEX_CODE,FINEST;APEX_PROFILING,INFO\n\
            12:00:00.0 (100)|EXECUTION_STARTED\n\
            12:00:00.0 (200)|CODE_UNIT_STARTED|[EXTERNAL]|01q5|AccountTrigger on Account trigger event BeforeInsert\n\
            12:00:00.1 (1000000)|SOQL_EXECUTE_BEGIN|[3]|Aggregations:0|SELECT Id FROM Contact\n\
            12:00:00.1 (8000000)|SOQL_EXECUTE_END|[3]|Rows:7\n\
            12:00:00.1 (9000000)|SOQL_EXECUTE_BEGIN|[4]|Aggregations:0|SELECT Id FROM Account\n\
            12:00:00.1 (9100000)|SOQL_EXECUTE_END|[4]|Rows:1\n\
            12:00:00.2 (9200000)|EXCEPTION_THROWN|[12]|System.NullPointerException: Attempt to de-reference a null object\n\
            12:00:00.2 (9300000)|FATAL_ERROR|System.NullPointerException: Attempt to de-reference a null object\n\n\
            Trigger.AccountTrigger: line 12, column 1\n\
            \x20 Number of SOQL queries: 81 out of 100\n\
            \x20 Number of query rows: 80 out of 100\n\
            \x20 Maximum heap size: 0 out of 6000000\n\
            12:00:00.3 (9400000)|CODE_UNIT_FINISHED|AccountTrigger\n";
        let told = of(log);
        assert!(told.is_apex);
        assert_eq!(
            told.error.as_deref(),
            Some(
                "System.NullPointerException: Attempt to de-reference a null object (in AccountTrigger on Account \
                 trigger event BeforeInsert, line 12)"
            )
        );
        assert_eq!(
            told.lines,
            ["limit: Number of SOQL queries 81 of 100", "slowest SOQL: 7 ms, 7 rows: SELECT Id FROM Contact"]
        );
    }

    #[test]
    fn of_a_log_without_a_failure_nothing_is_told() {
        let told = of("64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|USER_INFO|x\n\
            12:00:00.0 (2)|USER_DEBUG|[3]|DEBUG|batch: 9 out of 10\n");
        assert_eq!(told, Triage { is_apex: true, ..Triage::default() });
    }

    #[test]
    fn the_first_failure_of_a_test_is_told() {
        for (text, expected) in [
            ("running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' panicked at x\n", "test b ... FAILED"),
            ("ok\n  error[E0425]: cannot find value\n", "error[E0425]: cannot find value"),
            ("src/a.c:3:1: error: expected ';'\n", "src/a.c:3:1: error: expected ';'"),
            ("=== RUN TestA\n--- FAIL: TestA (0.00s)\nFAIL\n", "--- FAIL: TestA (0.00s)"),
            ("cc x.c\nmake: *** [Makefile:2: check] Error 1\n", "make: *** [Makefile:2: check] Error 1"),
            ("\u{1b}[1m\u{1b}[38;5;9merror[E0425]\u{1b}[0m: no value\n", "error[E0425]: no value"),
            (
                "2026-11-20T12:00:00.1234567Z ok\n2026-11-20T12:00:01.1Z Error: it broke\n",
                "2026-11-20T12:00:01.1Z Error: it broke",
            ),
        ] {
            assert_eq!(of(text).error.as_deref(), Some(expected));
        }
        for line in [
            "npm error code 1",
            "##[error]Process completed with exit code 1.",
            "::error file=a.ts,line=1::it broke",
            "Tests: 3 failed",
            "1 failed, 2 passed in 0.1s",
            "3 examples, 1 failure",
            "FAILED (failures=1)",
            "Segmentation fault",
            "sh: line 1:    12 Segmentation fault      (core dumped) ./a",
            "12 Aborted                 (core dumped) ./a",
            "Unhandled exception. System.Exception: x",
        ] {
            assert_eq!(of(&format!("ok\n{line}\nmore\n")).error.as_deref(), Some(line));
        }
        for text in ["", "all 3 tests passed\n0 failed\n", "no errors\n", "test a_404 failed_login ... ok\n"] {
            assert_eq!(of(text), Triage::default(), "{text}");
        }
    }

    #[test]
    fn a_secret_is_removed_before_a_line_is_cut() {
        for before in MAX_CHARS - 16..=MAX_CHARS + 1 {
            let told = of(&format!("error: {}hunter2 and more\n", "x".repeat(before - 7)));
            let error = told.error.expect("a failure");
            assert!(!error.contains('h'), "{error}");
        }
        let query = format!("SELECT Id FROM A WHERE B = '{}hunter2'", "x".repeat(MAX_CHARS - 31));
        let log = format!(
            "64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|SOQL_EXECUTE_BEGIN|[3]|Aggregations:0|{query}\n\
             12:00:00.0 (2)|SOQL_EXECUTE_END|[3]|Rows:1\n"
        );
        let line = of(&log).lines.remove(0);
        assert!(line.contains("WHERE B") && !line.contains("hu"), "{line}");
        // What follows the part of a line that is looked at is not in it with its first half.
        let long = format!("error: {} hunter2\n", "\u{1b}[31m".repeat((MAX_LINE_BYTES - 20) / 5));
        let cut = (0..12).map(|more| format!("error:{}{}", " ".repeat(more), &long[6..]));
        for text in cut {
            let error = of(&text).error.expect("a failure");
            assert!(!error.contains('h'), "{error}");
        }
    }

    #[test]
    fn a_trigger_has_its_name_and_a_query_its_bars() {
        let told = of("64.0 APEX_CODE,FINEST\n\
            12:00:00.0 (1)|CODE_UNIT_STARTED|[EXTERNAL]|01q5|T on Account trigger event BeforeInsert|__sfdc_trigger/T\n\
            12:00:00.0 (2)|SOQL_EXECUTE_BEGIN|[3]|Aggregations:0|SELECT Id FROM A WHERE B = 'x|y'\n\
            12:00:00.0 (3)|SOQL_EXECUTE_END|[3]|Rows:1\n\
            12:00:00.0 (4)|FATAL_ERROR|System.LimitException: Too many SOQL queries: 101\n");
        let error = "System.LimitException: Too many SOQL queries: 101 (in T on Account trigger event BeforeInsert)";
        assert_eq!(told.error.as_deref(), Some(error));
        assert_eq!(told.lines, ["slowest SOQL: 0 ms, 1 rows: SELECT Id FROM A WHERE B = 'x|y'"]);
    }

    #[test]
    fn long_lines_and_odd_bytes_do_no_harm() {
        let mut text = b"64.0 APEX_CODE,FINEST\n12:00:00.0 (1)|FATAL_ERROR|\xff\x1b[31m".to_vec();
        text.extend(std::iter::repeat_n(b'x', 1 << 20));
        text.extend_from_slice(
            b"\n12:00:00.0 (99999999999999999999)|FATAL_ERROR|later\n(|||\n||\n  a: 1 out of 18446744073709551615\n",
        );
        let told = read(&text);
        let error = told.error.expect("an error");
        assert!(error.chars().count() <= MAX_CHARS + 1 && !error.contains('\u{1b}'), "{error}");
        assert!(error.contains("xxxx"), "a word that is longer than any secret is told: {error}");
    }
}
