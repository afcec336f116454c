//! The usage of a command as `-h` prints it, and what helps after an option that it does not have.

use clap::Command;

use crate::git::git;
use crate::outside;

/// The columns of a usage, as in a terminal of the usual size.
const COLUMNS: usize = 80;

/// Returns the usage of a command. Lines have at most 80 columns, where words are short enough.
pub(super) fn usage(command: &mut Command) -> String {
    command.render_help().to_string().lines().map(|line| wrapped(line) + "\n").collect()
}

/// Returns the first line of a usage, which says how the command is called.
pub(super) fn synopsis(usage: &str) -> &str {
    usage.find("\n\n").map_or(usage, |end| &usage[..=end])
}

/// Wraps a line of a usage. What goes on in the next line stands below the help of the option, or below the first
/// argument.
fn wrapped(line: &str) -> String {
    let is_command_line = line.starts_with("usage: ");
    let indent = match is_command_line {
        true => line.find('[').unwrap_or_default(),
        false => {
            let option = line.trim_start();
            let gap = option.find("  ").unwrap_or_default();
            line.len() - option[gap..].trim_start().len()
        }
    };
    let (head, rest) = line.split_at(indent);
    let words = if is_command_line { arguments(rest) } else { rest.split(' ').map(str::to_owned).collect() };
    let (mut wrapped, mut column) = (head.to_owned(), indent);
    for (number, word) in words.iter().enumerate() {
        let width = word.chars().count();
        match column + 1 + width > COLUMNS {
            _ if number == 0 => {}
            true => {
                wrapped.push('\n');
                wrapped.push_str(&" ".repeat(indent));
                column = indent;
            }
            false => {
                wrapped.push(' ');
                column += 1;
            }
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped
}

/// Splits a line of arguments at spaces outside brackets, and in front of each `|`.
fn arguments(line: &str) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut depth = 0;
    for word in line.split(' ') {
        match arguments.last_mut() {
            Some(last) if depth > 0 && word != "|" => *last = format!("{last} {word}"),
            _ => arguments.push(word.to_owned()),
        }
        depth += word.matches(['[', '(']).count();
        depth -= word.matches([']', ')']).count().min(depth);
    }
    arguments
}

/// Returns the way to what an unknown option means in Git: one of `git diff`, which `git log` and `git show` take too, or one
/// by which `git log` chooses commits.
pub(super) fn way(command: &str, option: &str) -> Option<String> {
    // '--output', which can be shortened, empties a file; '--stdin' reads what is typed.
    if option.starts_with("--ou") || option == "--stdin" {
        return None;
    }
    let quoted = outside::shell(option);
    // Git itself knows best; two files that are the same have no difference to print.
    let is_of_diff = || git(["diff", "--no-index", option, "/dev/null", "/dev/null"]).capture().is_ok();
    let is_of_log = || match git(["log", "--max-count=0", "--no-patch", option]).capture() {
        Ok(_) => true,
        // It may be known, and want a path. Without a commit Git does not look at it.
        Err(error) => {
            let why = error.to_string();
            !["unrecognized argument", "not a git repository", "does not have any commits"]
                .iter()
                .any(|part| why.contains(part))
        }
    };
    match command {
        "git-shiftlog-log" if is_of_diff() => Some(format!(
            "'git shiftlog log --format=%H | git log --no-walk=unsorted --stdin {quoted}' prints what Git has"
        )),
        "git-shiftlog-log" if is_of_log() => Some(format!(
            "'git log --format=%H --no-patch {quoted} ... | xargs -r git shiftlog show' shows the commits that Git finds"
        )),
        "git-shiftlog-show" if count(option).is_some() => Some(match count(option)? {
            "" | "1" => "'git shiftlog show HEAD' shows the last commit".to_owned(),
            count => format!("'git shiftlog show HEAD~{count}..' shows the last {count} commits"),
        }),
        "git-shiftlog-show" if is_of_diff() => Some(format!("'git show {quoted}' prints what Git has")),
        _ => None,
    }
}

/// Returns the number in an option that counts commits, `-3` or `-n3`; it is empty for `-n` alone.
fn count(option: &str) -> Option<&str> {
    let count = option.strip_prefix('-')?;
    let count = count.strip_prefix('n').unwrap_or(count);
    count.bytes().all(|byte| byte.is_ascii_digit()).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_usage_are_wrapped_below_where_they_begin() {
        let line =
            "      --all            Exchange transcripts too, also where the config says notes, everywhere and always";
        assert_eq!(
            wrapped(line),
            "      --all            Exchange transcripts too, also where the config says\n                       notes, everywhere and always"
        );
        assert_eq!(wrapped("  -q  Quiet"), "  -q  Quiet");
        assert_eq!(wrapped(""), "");
        let line = "usage: git shiftlog purge [<options>] (<commit>... | --session=<id> | --match=<regex> | --secrets)";
        let expected = "usage: git shiftlog purge [<options>] (<commit>... | --session=<id>\n                          | --match=<regex> | --secrets)";
        assert_eq!(wrapped(line), expected);
        let line = "usage: git shiftlog search [<options>] <word>... [<revision-range>] [-- <path>...]";
        let expected = "usage: git shiftlog search [<options>] <word>... [<revision-range>]\n                           [-- <path>...]";
        assert_eq!(wrapped(line), expected);
    }
}
