//! Quoting words for a shell.

/// Returns a word so that a POSIX shell reads it as it is.
pub fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn odd_words_are_quoted() {
        assert_eq!(super::shell("/usr/bin/git-shiftlog--hook"), "/usr/bin/git-shiftlog--hook");
        assert_eq!(super::shell("it's here"), r"'it'\''s here'");
        assert_eq!(super::shell(""), "''");
    }
}
