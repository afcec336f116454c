//! The files that a Markdown text imports with `@path`, and the names of files that are never read.

/// How many imports of one file are looked at.
const MAX_IMPORTS: usize = 64;

/// Returns what a Markdown text imports: each `@path` at the beginning of a line or behind white space, outside of code. A space
/// in a path is written `\ `.
pub fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    // In a list, what is indented belongs to an item.
    let (mut is_in_list, mut is_after_blank, mut is_in_code) = (false, true, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(open) = fence {
            if is_end_of_fence(trimmed, open) {
                fence = None;
            }
            continue;
        }
        if trimmed.is_empty() {
            is_after_blank = true;
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
        fence = fence_of(item.unwrap_or(trimmed));
        if fence.is_none() {
            in_line(line, &mut found);
        }
    }
    found.truncate(MAX_IMPORTS);
    found
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

/// Adds the imports in one line.
fn in_line(line: &str, found: &mut Vec<String>) {
    // Of the parts between backticks, every other one is code, unless the last backtick has no partner.
    let parts: Vec<&str> = line.split('`').collect();
    for (at, part) in parts.iter().enumerate() {
        let is_code = at % 2 == 1 && at + 1 < parts.len();
        if is_code {
            continue;
        }
        // No path has the letter that stands for a space.
        let part = part.replace("\\ ", "\0");
        let words = part.split([' ', '\t']).filter_map(|word| word.strip_prefix('@'));
        let path =
            |word: &str| word.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']).replace('\0', " ");
        found.extend(words.map(path).filter(|path| !path.is_empty()));
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
