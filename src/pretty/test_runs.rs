//! How often an agent ran tests, how the last run ended, and which other commands failed, from the tool calls of a
//! conversation.
//!
//! As runs of tests count the commands of well-known programs. How a run ended is reported only if its output says so,
//! or the agent noted that the command failed: the exit status of most agents' commands is not recorded.

use std::collections::HashMap;

use super::count;
use super::html::beginning;
use crate::evidence::counts::{has_count, has_failures};
use crate::outside;
use crate::transcript::shell::commands_in;
use crate::transcript::{Message, Part, ToolResult};

/// The longest beginning of a command that is printed, in characters.
const MAX_COMMAND_CHARS: usize = 60;

/// Programs that check what was written and run no tests: the words of a command begin with these, options left out.
const CHECKERS: &[&[&str]] = &[
    &["cargo", "check"],
    &["cargo", "clippy"],
    &["cargo", "build"],
    &["cargo", "bench"],
    &["npm", "run", "build"],
    &["npm", "run", "check"],
    &["npm", "run", "lint"],
    &["npm", "run", "typecheck"],
    &["yarn", "build"],
    &["yarn", "lint"],
    &["pnpm", "build"],
    &["pnpm", "lint"],
    &["bun", "run", "build"],
    &["deno", "check"],
    &["deno", "lint"],
    &["npx", "eslint"],
    &["npx", "tsc"],
    &["eslint"],
    &["tsc"],
    &["ruff"],
    &["mypy"],
    &["pyright"],
    &["flake8"],
    &["pylint"],
    &["python", "mypy"],
    &["python3", "mypy"],
    &["python", "unittest"],
    &["python3", "unittest"],
    &["uv", "run", "mypy"],
    &["uv", "run", "ruff"],
    &["pre-commit", "run"],
    &["go", "build"],
    &["go", "vet"],
    &["golangci-lint", "run"],
    &["mvn", "compile"],
    &["mvn", "verify"],
    &["mvn", "package"],
    &["gradle", "build"],
    &["gradle", "check"],
    &["./gradlew", "build"],
    &["./gradlew", "check"],
    &["make", "all"],
    &["make", "build"],
    &["make", "lint"],
    &["ninja"],
    &["rubocop"],
    &["bundle", "exec", "rubocop"],
    &["phpstan"],
    &["vendor/bin/phpstan"],
    &["dotnet", "build"],
    &["mix", "compile"],
    &["swift", "build"],
    &["shellcheck"],
];

/// Programs that run tests: the words of a command begin with these, options left out.
const PROGRAMS: &[&[&str]] = &[
    &["cargo", "test"],
    &["cargo", "t"],
    &["cargo", "nextest", "run"],
    &["npm", "test"],
    &["npm", "t"],
    &["npm", "run", "test"],
    &["yarn", "test"],
    &["pnpm", "test"],
    &["bun", "test"],
    &["deno", "test"],
    &["npx", "jest"],
    &["npx", "vitest"],
    &["jest"],
    &["vitest"],
    &["pytest"],
    &["python", "pytest"],
    &["python3", "pytest"],
    &["uv", "run", "pytest"],
    &["tox"],
    &["go", "test"],
    &["mvn", "test"],
    &["gradle", "test"],
    &["./gradlew", "test"],
    &["make", "test"],
    &["make", "check"],
    &["ctest"],
    &["rspec"],
    &["bundle", "exec", "rspec"],
    &["phpunit"],
    &["vendor/bin/phpunit"],
    &["dotnet", "test"],
    &["mix", "test"],
    &["swift", "test"],
    &["sf", "apex", "run", "test"],
];
/// Words of summaries that tell a failure.
const FAILED: &[&str] = &["test result: FAILED", "BUILD FAILURE", "BUILD FAILED", "Test Run Failed", "--- FAIL: "];
/// Words of summaries that tell success, if nothing tells a failure. Those behind a number need one that is not 0.
const PASSED: &[&str] = &["test result: ok.", "BUILD SUCCESS", "100% tests passed", "Test Run Successful"];
const PASSED_COUNTS: &[&str] =
    &["passed", "passing", "example, 0 failures", "examples, 0 failures", "test, 0 failures", "tests, 0 failures"];

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    Passed,
    Failed,
    Unknown,
}

/// Returns a sentence about the runs of tests in a conversation: `3 test runs, the last passed`, or how many failed if
/// it is not known how the last one ended. `None` if there are none, or if nothing is known.
pub(super) fn test_runs(messages: &[Message]) -> Option<String> {
    let runs: Vec<_> = commands(messages).filter(|(command, _)| runs_tests(command)).collect();
    let endings: Vec<Ending> = runs.iter().map(|(_, result)| result.map_or(Ending::Unknown, ending_of)).collect();
    let failed = endings.iter().filter(|ending| **ending == Ending::Failed).count();
    let subject = if runs.len() == 1 { "it" } else { "the last" };
    let runs = count(runs.len() as u64, "test run");
    match endings.last()? {
        Ending::Passed => Some(format!("{runs}, {subject} passed")),
        Ending::Failed => Some(format!("{runs}, {subject} failed")),
        Ending::Unknown => (failed > 0).then(|| format!("{runs}, {failed} failed")),
    }
}

/// Returns how a run ended. A command line that failed although its tests passed has failed elsewhere, as
/// `cargo test && cargo clippy` can: it counts as a command that failed.
fn ending_of(result: &ToolResult) -> Ending {
    match (ending(&result.text), result.is_error) {
        (Ending::Passed, true) => Ending::Unknown,
        (Ending::Unknown, true) => Ending::Failed,
        (ending, _) => ending,
    }
}

/// Returns a sentence about the other commands that failed, as the agent noted: `2 commands failed, the last was: make`.
pub(super) fn failed_commands(messages: &[Message]) -> Option<String> {
    let has_failed = |(command, result): &(&str, Option<&ToolResult>)| {
        result.is_some_and(|result| result.is_error && (!runs_tests(command) || ending_of(result) != Ending::Failed))
    };
    let failed: Vec<_> = commands(messages).filter(has_failed).collect();
    let (last, _) = failed.last()?;
    let shown = beginning(last, MAX_COMMAND_CHARS);
    Some(match failed.len() {
        1 => format!("1 command failed: {shown}"),
        number => format!("{number} commands failed, the last was: {shown}"),
    })
}

/// Returns the command lines of a conversation, with their results.
fn commands(messages: &[Message]) -> impl Iterator<Item = (&str, Option<&ToolResult>)> {
    let parts = || messages.iter().filter(|message| !message.is_abandoned).flat_map(|message| &message.parts);
    let results: HashMap<&str, &ToolResult> = parts()
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some((result.call_id.as_str(), result)),
            _ => None,
        })
        .collect();
    parts().filter_map(move |part| match part {
        Part::ToolCall(call) => Some((call.command.as_deref()?, results.get(call.call_id.as_str()).copied())),
        _ => None,
    })
}

/// Says whether a command line runs tests. What is only quoted, as in a here-document or a message, is no command.
fn runs_tests(line: &str) -> bool {
    runs(line, |words| PROGRAMS.iter().any(|program| words.starts_with(program)))
}

/// Says whether a command line runs tests, or checks in another way what was written.
pub fn runs_checks(line: &str) -> bool {
    let is_check = |words: &[&str]| *words == ["make"] || CHECKERS.iter().any(|program| words.starts_with(program));
    runs_tests(line) || runs(line, is_check)
}

/// Says whether a command in a line, of which options are left out, is one of those that are meant.
fn runs(line: &str, is_meant: impl Fn(&[&str]) -> bool) -> bool {
    let is_word = |word: &&str| !word.starts_with(['-', '+']);
    commands_in(line)
        .iter()
        .any(|words| is_meant(&words.iter().map(String::as_str).filter(is_word).collect::<Vec<_>>()))
}

/// Tells from the output of a run whether it passed; `None` if the output does not say so.
pub fn has_passed(output: &str) -> Option<bool> {
    match ending(output) {
        Ending::Passed => Some(true),
        Ending::Failed => Some(false),
        Ending::Unknown => None,
    }
}

/// Tells from the output of a run how it ended.
fn ending(output: &str) -> Ending {
    // Colours stand around the numbers.
    let plain = output.contains('\u{1b}').then(|| outside::text(output));
    let output = plain.as_deref().unwrap_or(output);
    let has = |marks: &[&str]| marks.iter().any(|mark| output.contains(mark));
    if has(FAILED) || has_failures(output) {
        return Ending::Failed;
    }
    // 'go test' prints a line for each package.
    let packages = || output.lines().filter(|line| line.starts_with("ok  \t") || line.starts_with("FAIL\t"));
    if packages().any(|line| line.starts_with("FAIL")) {
        return Ending::Failed;
    }
    let is_passed = has(PASSED) || packages().next().is_some();
    if is_passed || PASSED_COUNTS.iter().any(|mark| has_count(output, mark)) { Ending::Passed } else { Ending::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Role, ToolCall, ToolResult};

    #[test]
    fn commands_that_run_tests_are_told_from_others() {
        for line in [
            "cargo test",
            "cd x && RUST_BACKTRACE=1 cargo +nightly test --lib a",
            "npm -s test | tail -5",
            "python3 -m pytest -q",
            "(cd web; npx vitest run)",
            "go test ./...",
            "cat >x <<'E'\n two\nE\ncargo test",
            "timeout 600 bash -c 'cd x && cargo test -q' 2>&1 | tail -3",
        ] {
            assert!(runs_tests(line), "{line}");
        }
        for line in [
            "cargo build",
            "echo cargo test",
            "grep -rn pytest .",
            "git commit -m 'cargo test'",
            "git commit -m \"one\n\ncargo test is green; cargo test\"",
            "go vet",
            "",
        ] {
            assert!(!runs_tests(line), "{line}");
        }
    }

    #[test]
    fn a_check_is_told_by_its_program_and_subcommand_and_not_by_a_word() {
        for line in
            ["cargo test", "cargo clippy --all-targets -- -D warnings", "make -j8", "npx tsc --noEmit", "go vet ./..."]
        {
            assert!(runs_checks(line), "{line}");
        }
        for line in [
            "git commit -m 'make the test build pass'",
            "ls tests/",
            "cat src/check.rs",
            "vim Makefile",
            "make clean",
            "rg -n 'cargo check' .",
            "git checkout build",
            "cargo add vet",
        ] {
            assert!(!runs_checks(line), "{line}");
        }
    }

    #[test]
    fn an_ending_is_told_only_where_the_output_says_it() {
        for (output, expected) in [
            ("test result: ok. 3 passed; 0 failed; 0 ignored", Ending::Passed),
            ("test result: ok. 3 passed; 0 failed\ntest result: FAILED. 1 passed; 2 failed", Ending::Failed),
            ("==== 12 passed in 0.1s ====", Ending::Passed),
            ("==== 1 failed, 11 passed in 0.1s ====", Ending::Failed),
            ("ok  \texample.com/a\t0.1s\n", Ending::Passed),
            ("ok  \texample.com/a\t0.1s\nFAIL\texample.com/b\t0.1s\n", Ending::Failed),
            ("Tests:       10 failed, 3 passed", Ending::Failed),
            ("  12 passing (3s)\n", Ending::Passed),
            ("3 examples, 0 failures", Ending::Passed),
            ("3 examples, 1 failure", Ending::Failed),
            ("1 example, 0 failures", Ending::Passed),
            ("test handles_404 failed_login ... ok\ntest result: ok. 5 passed; 0 failed", Ending::Passed),
            ("\u{1b}[31m1 failed\u{1b}[39m | \u{1b}[32m2 passed\u{1b}[39m", Ending::Failed),
            ("0 passed", Ending::Unknown),
            ("compiling", Ending::Unknown),
            ("", Ending::Unknown),
        ] {
            assert_eq!(ending(output), expected, "{output}");
        }
    }

    #[test]
    fn runs_are_counted_and_the_last_is_judged() {
        let run = |number: usize, command: &str, output: Option<(&str, bool)>| {
            let call_id = number.to_string();
            let mut message = Message::new(Role::Assistant, 0..0);
            message.parts.push(Part::ToolCall(ToolCall {
                call_id: call_id.clone(),
                name: "Bash".into(),
                input: serde_json::Value::Null,
                command: Some(command.into()),
                edits: Vec::new(),
            }));
            if let Some((text, is_error)) = output {
                message.parts.push(Part::ToolResult(ToolResult::new(call_id, text, is_error)));
            }
            message
        };
        let (bad, good) = (Some(("test result: FAILED.", true)), Some(("test result: ok. 1 passed", false)));
        let told = test_runs;
        assert_eq!(told(&[run(1, "ls", good)]), None);
        assert_eq!(told(&[run(1, "cargo test", bad)]).as_deref(), Some("1 test run, it failed"));
        let two = [run(1, "cargo test", bad), run(2, "cargo test", good)];
        assert_eq!(told(&two).as_deref(), Some("2 test runs, the last passed"));
        assert_eq!(told(&[run(1, "cargo test", None)]), None);
        assert_eq!(told(&[run(1, "cargo test", Some(("quiet", true)))]).as_deref(), Some("1 test run, it failed"));
        let quiet = Some(("quiet", false));
        assert_eq!(told(&[run(1, "cargo test", quiet)]), None);
        let unknown = [run(1, "npm test", bad), run(2, "npm test", quiet)];
        assert_eq!(told(&unknown).as_deref(), Some("2 test runs, 1 failed"));
        assert_eq!(told(&[run(1, "npm test", good), run(2, "npm test", quiet)]), None);
        // Tests that pass before something else fails.
        let line = "cargo test && cargo clippy";
        let elsewhere = [run(1, line, Some(("test result: ok. 5 passed\nerror: could not compile", true)))];
        assert_eq!(told(&elsewhere), None);
        let listed = failed_commands(&elsewhere);
        assert_eq!(listed.as_deref(), Some("1 command failed: cargo test && cargo clippy"));
        let failed = failed_commands;
        assert_eq!(failed(&[run(1, "cargo test", bad), run(2, "ls", good), run(3, "make", None)]), None);
        assert_eq!(failed(&[run(1, "make all\nmake", bad)]).as_deref(), Some("1 command failed: make all"));
        let three = [run(1, "make", bad), run(2, "tsc\u{1b}[2J", bad), run(3, "tsc", good)];
        assert_eq!(failed(&three).as_deref(), Some("2 commands failed, the last was: tsc"));
    }
}
