//! The files that a Markdown text imports with `@path`, and the names of files that are never read.

use std::collections::HashSet;

/// How many imports of one file are looked at.
const MAX_IMPORTS: usize = 64;

/// Returns what a Markdown text imports: each `@path` at the beginning of a line or behind white space, outside of code. A space
/// in a path is written `\ `.
///
/// A parser of Markdown knows where code is, too. But this is part of the hook's program, which would be a twentieth larger.
pub fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // The lines since the last empty one: a span of code can go over several.
    let mut paragraph = String::new();
    // The fence that was opened last, in how many quotes that was, and whether it was in a list.
    let mut fence: Option<(&str, usize, bool)> = None;
    // In a list, what is indented belongs to an item.
    let (mut is_in_list, mut is_after_blank, mut is_in_code) = (false, true, false);
    for line in text.lines() {
        let (line, quotes) = without_quotes(line);
        let trimmed = line.trim_start();
        if let Some((open, depth, is_in_item)) = fence {
            // It ends with the quote or the list that it is in.
            let is_left = quotes < depth || is_in_item && !trimmed.is_empty() && trimmed.len() == line.len();
            if is_left || is_end_of_fence(trimmed, open) {
                fence = None;
            }
            if !is_left {
                continue;
            }
        }
        if trimmed.is_empty() || is_break(trimmed) {
            in_paragraph(&mut paragraph, &mut found);
            is_after_blank = true;
            is_in_list &= trimmed.is_empty();
            continue;
        }
        let is_indented = line.starts_with("    ") || line.trim_start_matches(' ').starts_with('\t');
        is_in_code = is_indented && !is_in_list && (is_after_blank || is_in_code);
        let item = list_item(trimmed);
        is_in_list = match item {
            Some(_) => !is_in_code,
            // A paragraph goes on without being indented.
            None => is_in_list && (trimmed.len() < line.len() || !is_after_blank),
        };
        is_after_blank = false;
        if is_in_code {
            continue;
        }
        let is_in_item = is_in_list && (item.is_some() || trimmed.len() < line.len());
        let is_opened = is_in_list || !is_indented;
        fence = fence_of(item.unwrap_or(trimmed)).filter(|_| is_opened).map(|fence| (fence, quotes, is_in_item));
        let is_heading = trimmed.starts_with('#');
        if item.is_some() || fence.is_some() || is_heading {
            in_paragraph(&mut paragraph, &mut found);
        }
        if fence.is_none() {
            paragraph.push_str(line);
            paragraph.push('\n');
        }
        if is_heading {
            in_paragraph(&mut paragraph, &mut found);
            is_after_blank = true;
        }
    }
    in_paragraph(&mut paragraph, &mut found);
    found.truncate(MAX_IMPORTS);
    found
}

/// Returns a line without the marks of the quotes that it is in, and how many these are.
fn without_quotes(line: &str) -> (&str, usize) {
    let (mut rest, mut quotes) = (line, 0);
    loop {
        let inner = rest.trim_start_matches(' ');
        let Some(quoted) = inner.strip_prefix('>').filter(|_| rest.len() - inner.len() < 4) else {
            return (rest, quotes);
        };
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
        quotes += 1;
    }
}

/// Says whether a line is a rule across the page: three or more of one mark.
fn is_break(line: &str) -> bool {
    let marks = line.chars().filter(|letter| !letter.is_whitespace());
    ['*', '-', '_'].iter().any(|mark| marks.clone().all(|letter| letter == *mark)) && marks.count() >= 3
}

/// Returns the fence of code that a line opens: three or more of one mark.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    let (fence, info) = line.split_at(length);
    // Text between backticks is code in a line.
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(fence)
}

/// Says whether a line ends code: it has the mark of the fence, no fewer times, and nothing else.
fn is_end_of_fence(line: &str, open: &str) -> bool {
    line.starts_with(open) && line.trim_end().trim_start_matches(&open[..1]).is_empty()
}

/// Returns what follows the mark of an item of a list, if a line begins one.
fn list_item(line: &str) -> Option<&str> {
    let after_digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = match after_digits.len() < line.len() {
        true => after_digits.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    };
    rest.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])).map(str::trim_start)
}

/// Adds the imports in a paragraph, and empties it.
fn in_paragraph(paragraph: &mut String, found: &mut Vec<String>) {
    // No path has the letter that stands for a space.
    let words = without_spans(paragraph).replace("\\ ", "\0");
    let paths = words.split_ascii_whitespace().filter_map(|word| word.strip_prefix('@'));
    let paths =
        paths.map(|path| path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']).replace('\0', " "));
    found.extend(paths.filter(|path| !path.is_empty()));
    paragraph.clear();
}

/// Returns a paragraph with a space for each span of code: it ends at as many backticks as it began with.
fn without_spans(paragraph: &str) -> String {
    let mut rest = paragraph;
    let mut words = String::with_capacity(paragraph.len());
    let mut lone = HashSet::new();
    while let Some(at) = rest.find('`') {
        let after = rest[at..].trim_start_matches('`');
        let ticks = rest.len() - at - after.len();
        let end = if lone.contains(&ticks) { None } else { end_of_span(after, ticks) };
        let Some(end) = end else {
            // No later one has a partner either.
            lone.insert(ticks);
            words.push_str(&rest[..at + ticks]);
            rest = after;
            continue;
        };
        words.push_str(&rest[..at]);
        words.push(' ');
        rest = &after[end..];
    }
    words + rest
}

/// Returns where a span of code ends that was begun with so many backticks.
fn end_of_span(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('`')?;
        let run = text[at..].bytes().take_while(|byte| *byte == b'`').count();
        at += run;
        if run == ticks {
            return Some(at);
        }
    }
}

/// Says whether a path names a file of a kind that holds secrets, or one of Git's own.
pub fn is_secret(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_named = |word: &str| name.contains(word) && !is_prose(name);
    is_place(&path, name) || WORDS.iter().copied().any(is_named)
}

/// Says whether a path names a file that holds secrets and no code: as `is_secret`, but a source file may have a word such as
/// `token` in its name.
pub fn is_secret_data(path: &str) -> bool {
    const DATA: &[&str] =
        &["json", "yml", "yaml", "toml", "ini", "cfg", "conf", "properties", "xml", "csv", "txt", "plist", "env", "db"];
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_data = name.rsplit_once('.').is_none_or(|(stem, end)| stem.is_empty() || DATA.contains(&end));
    is_place(&path, name) || is_data && WORDS.iter().any(|word| name.contains(word))
}

/// Words in the names of files that hold secrets.
const WORDS: &[&str] = &["secret", "credential", "token", "password", "oauth"];

/// Says whether a path, in small letters, is one that programs use for secrets, or one of Git's own.
fn is_place(path: &str, name: &str) -> bool {
    const DIRECTORIES: &[&str] = &[".git", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"];
    const NAMES: &[&str] = &[
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        ".htpasswd",
        "credentials",
        "auth.json",
        "hosts.yml",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    const ENDS: &[&str] =
        &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfvars", ".tfstate", ".ovpn"];
    let is_env = name == ".env" || name.starts_with(".env.") || name == ".envrc";
    is_env
        || path.split('/').any(|part| DIRECTORIES.contains(&part))
        || NAMES.contains(&name)
        || ENDS.iter().any(|end| name.ends_with(end))
}

/// Says whether a file is prose, by its name.
pub fn is_prose(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".md", ".mdc", ".mdx", ".markdown", ".txt", ".rst", ".adoc"].iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_words_outside_of_code() {
        let text = "See @README and @docs/style.md.\n- git @~/.claude/own.md\nmail a@example.com, `@code.md`, `a` @b.md\n\
                    ```sh\n@fenced.md\n```\n@./last.md\n    @indented.md";
        assert_eq!(imports(text), ["README", "docs/style.md", "~/.claude/own.md", "b.md", "./last.md", "indented.md"]);
        assert!(imports("``` \n@never.md").is_empty(), "a fence that is not closed goes to the end");
        assert_eq!(imports("See @my\\ own\\ file.md."), ["my own file.md"]);
    }

    #[test]
    fn code_ends_at_a_fence_of_its_own_length_and_begins_at_an_indented_line_too() {
        for (text, expected) in [
            ("~~~~\n~~~\n@a.md\n~~~~\n@b.md", vec!["b.md"]),
            ("```\n```js\n@a.md\n```\n@b.md", vec!["b.md"]),
            ("```js\n@a.md\n`````  \n@b.md", vec!["b.md"]),
            ("``` a ``` @b.md\n@c.md", vec!["b.md", "c.md"]),
            ("Text.\n\n    @a.md\n\n\t@a.md\n@b.md", vec!["b.md"]),
            ("- item\n\n    @a.md\n\nText.\n\n    @b.md", vec!["a.md"]),
            ("1. item\nits text\n\n   - ```\n     @b.md\n     ```\n\n    @a.md", vec!["a.md"]),
            ("* * *\n\n    @a.md\n", vec![]),
            ("> ```\n> @a.md\n@b.md", vec!["b.md"]),
            ("- ```\n  @a.md\n\nText @b.md", vec!["b.md"]),
            ("> ```\n> @a.md\n> ```\n> @b.md", vec!["b.md"]),
            ("``a ` @a.md`` @b.md `code\n @a.md` @c.md", vec!["b.md", "c.md"]),
            ("a ` lone, @a.md\n\nand ` another @b.md", vec!["a.md", "b.md"]),
        ] {
            assert_eq!(imports(text), expected, "{text:?}");
        }
    }

    #[test]
    fn files_that_hold_secrets_are_known_by_their_names() {
        let secret =
            [".env", "a/.env.local", "x/.ssh/config", ".git/config", "server.pem", ".credentials.json", "token"];
        assert!(secret.iter().all(|path| is_secret(path)));
        for path in ["AGENTS.md", "docs/tokens.md", "package.json", ".github/copilot-instructions.md", "environment.md"]
        {
            assert!(!is_secret(path), "{path}");
        }
        let data = ["a/.env.local", ".ssh/config", "server.key", "token", "secrets.yaml", ".credentials.json"];
        assert!(data.iter().all(|path| is_secret_data(path)));
        for path in ["src/tokens.rs", "auth/password_reset.py", "OAuthClient.java", "docs/tokens.md", "package.json"] {
            assert!(!is_secret_data(path), "{path}");
        }
    }
}
