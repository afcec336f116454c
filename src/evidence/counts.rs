//! Counts in the output of programs that run tests: `3 failed, 11 passed`.

/// The words behind a count of failures.
const FAILED: &[&str] = &["failed", "failures", "failure", "failing"];
/// Marks of a test that passed, in front of its title.
const CHECKS: [char; 3] = ['✓', '✔', '√'];

/// Says whether a text counts failures, more than none. The title of a test, such as `handles_404 failed_login`, counts
/// none.
pub fn has_failures(text: &str) -> bool {
    let is_title = |line: &str| line.trim_start().starts_with(CHECKS);
    text.lines().any(|line| FAILED.iter().any(|word| has_count(line, word)) && !is_title(line))
}

/// Says whether a number that is not 0 stands before some words, and neither the number nor the words are a part of more.
pub fn has_count(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let Some(before) = text[..at].strip_suffix(' ') else { return false };
        let other = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = !other.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        let is_some = before[other.len()..].bytes().any(|byte| byte != b'0');
        is_number && is_some && is_end(&text[at + words.len()..])
    })
}

/// Says whether a count ends before a text: what follows on the line is no other word, but where `in 0.1s` says how
/// long it took, or `out of 3` of how many.
fn is_end(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    if line.starts_with(['_', '-']) {
        return false;
    }
    let word = line.trim_start();
    let is_word = word.starts_with(char::is_alphanumeric);
    !is_word || word.len() < line.len() && (word.starts_with("in ") || word.starts_with("out of "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_told_from_a_title() {
        for line in [
            "1 failed, 11 passed in 0.1s",
            "==== 2 failed in 0.1s ====",
            "Tests:       3 failed, 1 passed, 4 total",
            "      Tests  1 failed | 3 passed (4)",
            "  2 failing",
            "3 examples, 1 failure",
            "3 tests, 2 failures",
            "test result: FAILED. 1 passed; 1 failed; 0 ignored",
            "10 failed",
            "(1 failed)",
        ] {
            assert!(has_failures(line), "{line}");
        }
        for line in [
            "test handles_404 failed_login ... ok",
            "test handles 404 failed logins ... ok",
            "  ✓ tells of 2 failed (3 ms)",
            "0 failed",
            "00 failed, 3 passed",
            "3 examples, 0 failures",
            "0.404 failed",
            "x1 failed",
            "1 failed-over node",
            "failed",
            "",
        ] {
            assert!(!has_failures(line), "{line}");
        }
    }
}
