//! The files that a Markdown text imports with `@path`, and the names of files that are never read.

use pulldown_cmark::{Event, Parser, Tag};

/// How many imports of one file are looked at.
const MAX_IMPORTS: usize = 64;

/// Returns what a Markdown text imports: each `@path` at the beginning of a line or behind white space, outside of code. A space
/// in a path is written `\ `.
pub fn imports(text: &str) -> Vec<String> {
    let is_code = |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
    let (mut words, mut end) = (String::with_capacity(text.len()), 0);
    for (_, code) in Parser::new(text).into_offset_iter().filter(|(event, _)| is_code(event)) {
        words.push_str(&text[end..code.start.max(end)]);
        words.push(' ');
        end = code.end.max(end);
    }
    words.push_str(&text[end..]);
    // No path has the letter that stands for a space.
    let words = words.replace("\\ ", "\0");
    let paths = words.split_ascii_whitespace().filter_map(|word| word.strip_prefix('@'));
    let paths = paths.map(|path| path.trim_end_matches(['.', ',', ';', ':', ')', '!', '?', '"', '\'']).replace('\0', " "));
    paths.filter(|path| !path.is_empty()).take(MAX_IMPORTS).collect()
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
