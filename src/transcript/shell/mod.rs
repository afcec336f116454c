//! The commands of a shell line, the commits that they make, and the commits that an answer of Git names.
//!
//! Read [`commands_in`], [`commits_in`] and [`named_in`]. All of it is text from a transcript: nothing is run, and
//! nothing is believed that the repository does not bear out.

mod lexer;

use self::lexer::Lexer;

/// How deep shells within shell lines are followed.
const MAX_DEPTH: u32 = 4;
/// The longest command line that is read; a longer one is cut.
const MAX_COMMAND_BYTES: usize = 256 << 10;
/// Shells, which can be given a script as an argument.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh"];

/// A `git commit` in a shell line.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CommitCommand {
    /// The subject that the line gives it, if it does.
    pub subject: Option<String>,
    /// Whether it replaces the commit before.
    pub is_amend: bool,
    /// Where it runs, if the line says so with an absolute path.
    pub directory: Option<String>,
}

/// A commit as `git commit` prints it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamedCommit {
    /// The id, abbreviated, in hex.
    pub id: String,
    /// The subject.
    pub subject: String,
}

/// Returns the words of each command in a shell line, in order, without wrappers such as `sudo` and variables in front.
/// A shell that is given a script stands for the commands of the script.
pub fn commands_in(line: &str) -> Vec<Vec<String>> {
    fn collect(text: &str, depth: u32, found: &mut Vec<Vec<String>>) {
        for simple in Lexer::new(text).commands() {
            let words = simple.program();
            match script_of(words).filter(|_| depth < MAX_DEPTH) {
                Some(script) => collect(script, depth + 1, found),
                None => found.push(words.to_vec()),
            }
        }
    }
    let mut found = Vec::new();
    collect(beginning(line), 0, &mut found);
    found
}

/// Returns the commits that a shell line makes, in order.
pub fn commits_in(command: &str) -> Vec<CommitCommand> {
    let mut found = Vec::new();
    collect(beginning(command), None, 0, &mut found);
    found
}

fn beginning(line: &str) -> &str {
    let mut end = line.len().min(MAX_COMMAND_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}

/// Returns the script that a shell is given.
fn script_of(words: &[String]) -> Option<&str> {
    let (program, args) = words.split_first()?;
    let is_shell = SHELLS.contains(&program.rsplit('/').next().unwrap_or_default());
    let script = args.iter().position(|arg| arg.starts_with('-') && arg.ends_with('c')).filter(|_| is_shell)?;
    args.get(script + 1).map(String::as_str)
}

fn collect(text: &str, directory: Option<&str>, depth: u32, found: &mut Vec<CommitCommand>) {
    // Most command lines have nothing to do with it.
    if depth > MAX_DEPTH || !text.contains("commit") {
        return;
    }
    let mut directory = directory.map(str::to_owned);
    for simple in Lexer::new(text).commands() {
        let Some((program, args)) = simple.program().split_first() else { continue };
        let program = program.rsplit('/').next().unwrap_or_default();
        if program == "cd" {
            directory = args.first().filter(|path| path.starts_with('/')).cloned().or(directory);
        } else if let Some(script) = script_of(simple.program()) {
            collect(script, directory.as_deref(), depth + 1, found);
        } else if program == "git" || program == "git.exe" {
            found.extend(commit_of(args, directory.as_deref(), simple.input.as_deref()));
        }
    }
}

/// Reads the arguments of `git`; `None` unless they make a commit.
fn commit_of(args: &[String], directory: Option<&str>, input: Option<&str>) -> Option<CommitCommand> {
    let mut made = CommitCommand { directory: directory.map(str::to_owned), ..CommitCommand::default() };
    let mut args = args.iter();
    loop {
        let arg = args.next()?;
        match arg.as_str() {
            "-C" => made.directory = args.next().filter(|path| path.starts_with('/')).cloned().or(made.directory),
            "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(args.next()),
            "commit" => break,
            option if option.starts_with('-') => {}
            _ => return None,
        }
    }
    let mut message: Option<String> = None;
    let mut file: Option<String> = None;
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        if let Some(option) = arg.strip_prefix("--") {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let mut value = || value.map(str::to_owned).or_else(|| args.next().cloned());
            match name {
                "amend" => made.is_amend = true,
                "dry-run" => return None,
                "message" => message = message.or_else(value),
                "file" => file = value(),
                _ => {}
            }
        } else if let Some(letters) = arg.strip_prefix('-') {
            // Of several letters in one word, the first that takes a value takes the rest.
            if let Some(at) = letters.find(['m', 'F', 'C', 'c', 't', 'S', 'u']) {
                let rest = &letters[at + 1..];
                let is_optional = matches!(&letters[at..=at], "S" | "u");
                let value = if rest.is_empty() && !is_optional { args.next().cloned() } else { Some(rest.to_owned()) };
                match &letters[at..=at] {
                    "m" => message = message.or(value),
                    "F" => file = value,
                    _ => {}
                }
            }
        }
    }
    if file.as_deref() == Some("-") {
        message = message.or_else(|| input.map(str::to_owned));
    }
    made.subject = message.map(|text| subject(&text)).filter(|subject| !subject.is_empty());
    Some(made)
}

/// Returns the subject of a message, by Git's rule: the lines up to the first blank one, joined by a space.
fn subject(message: &str) -> String {
    let lines = message.lines().map(str::trim_end).skip_while(|line| line.is_empty());
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Returns the commits that an answer names as `git commit` does: `[main 4e1c2aa] subject`, also `(root-commit)`. aider says
/// `Commit 4e1c2aa subject`.
pub fn named_in(answer: &str) -> Vec<NamedCommit> {
    let is_id = |id: &str| (4..=64).contains(&id.len()) && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let mut found = Vec::new();
    for line in answer.lines() {
        let told = line.strip_prefix("Commit ").and_then(|told| told.split_once(' '));
        if let Some((id, subject)) = told.filter(|(id, _)| is_id(id)) {
            found.push(NamedCommit { id: id.to_owned(), subject: subject.trim_end().to_owned() });
        }
        let Some(inside) = line.trim_start().strip_prefix('[') else { continue };
        // A branch can have a ']' in its name.
        for (at, _) in inside.match_indices("] ") {
            let id = inside[..at].rsplit(' ').next().unwrap_or_default();
            if is_id(id) && id.len() < at {
                found.push(NamedCommit { id: id.to_owned(), subject: inside[at + 2..].trim_end().to_owned() });
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subjects(command: &str) -> Vec<Option<String>> {
        commits_in(command).into_iter().map(|made| made.subject).collect()
    }

    #[test]
    fn the_subject_is_read_however_it_is_quoted() {
        let heredoc =
            "git add -A && git commit -m \"$(cat <<'EOF'\nDon't (yet) \"quote\"\n\nBody; git commit -m no\nEOF\n)\"";
        let fed = "git commit -q -F - <<'EOF' && git push\nfed in\n\nbody\nEOF\necho done";
        for (command, subject) in [
            ("git commit -m 'add x'", "add x"),
            ("cd /repo && git commit -qam \"it's $done\" | tail -1", "it's $done"),
            ("git -C /repo -c user.name=x commit --message=one -m two", "one"),
            ("FOO=1 sudo /usr/bin/git commit -mstuck", "stuck"),
            ("bash -lc \"git commit -m 'from a shell'\"", "from a shell"),
            ("git commit -m two\\ words > log 2>&1", "two words"),
            (heredoc, "Don't (yet) \"quote\""),
            (fed, "fed in"),
        ] {
            assert_eq!(subjects(command), [Some(subject.to_owned())], "{command}");
        }
    }

    #[test]
    fn what_only_mentions_a_commit_makes_none() {
        for command in [
            "echo 'git commit -m x'",
            "grep -r 'git commit' .",
            "git log --grep commit",
            "git show commit",
            "cat <<EOF\ngit commit -m x\nEOF",
            "# git commit -m x",
            "git commit --dry-run -m x",
            "git commit-tree HEAD^{tree} -m x",
        ] {
            assert_eq!(subjects(command), [], "{command}");
        }
    }

    #[test]
    fn amending_and_the_place_are_told() {
        let made = commits_in("cd /a; git commit -m x; git -C /b commit --amend --no-edit");
        assert_eq!(made[0], CommitCommand { subject: Some("x".into()), is_amend: false, directory: Some("/a".into()) });
        assert_eq!(made[1], CommitCommand { subject: None, is_amend: true, directory: Some("/b".into()) });
    }

    #[test]
    fn a_commit_is_named_by_the_line_that_git_prints() {
        let named = |text: &str| named_in(text).into_iter().map(|named| (named.id, named.subject)).collect::<Vec<_>>();
        let one = |id: &str, subject: &str| vec![(id.to_owned(), subject.to_owned())];
        assert_eq!(named("lint ok\n[main 4e1c2aa] Add x\n 1 file changed"), one("4e1c2aa", "Add x"));
        assert_eq!(named("[main (root-commit) 4e1c2aa] a [b] c"), one("4e1c2aa", "a [b] c"));
        assert_eq!(named("[detached HEAD 4e1c2aa] x"), one("4e1c2aa", "x"));
        assert_eq!(named("[a]b 4e1c2aa] x"), one("4e1c2aa", "x"));
        assert_eq!(named("Commit 4e1c2aa feat: x"), one("4e1c2aa", "feat: x"));
        for none in ["[main 4E1C2AA] x", "[4e1c2aa] x", "[main 4e1] x", "see [main 4e1c2aa] x", "[main nothing] x"] {
            assert_eq!(named(none), [], "{none}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_survived(text in "[ a-z'\"$()<>\\\\\n;|&#é-]{0,80}") {
            let _ = (commits_in(&format!("git commit {text}")), named_in(&text));
        }
    }
}
