//! Asking an agent one question without a terminal: starting it so that it only answers, and reading the answer.
//!
//! Read [`Ask::answer`]. Each agent's file has its own [`Ask`], whose arguments turn off hooks, tools and stored
//! sessions as far as the agent has options for that. It also runs in an empty directory, without Git's variables.

mod process;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::git::child;
use crate::redact::{Redactor, Settings};

/// The longest question on standard input, in bytes.
const MAX_INPUT_BYTES: usize = 200_000;
/// The longest question that is an argument: one argument has at most 128 KiB on Linux.
const MAX_ARGUMENT_BYTES: usize = 100 << 10;

/// How an agent is asked.
#[derive(Debug)]
pub struct Ask {
    /// The agent's name, as in records.
    pub name: &'static str,
    pub(super) program: &'static str,
    pub(super) words: &'static [&'static str],
    /// The option that chooses a model.
    pub(super) model_option: Option<&'static str>,
    /// Whether the question is read from standard input; otherwise it is the word after `words`.
    pub(super) is_on_stdin: bool,
    /// The member of a JSON object that holds the answer; `None` if the answer is printed as it is.
    pub(super) answer_key: Option<&'static str>,
    pub(super) environment: &'static [(&'static str, &'static str)],
}

/// An agent that is asked by words alone.
pub const PLAIN: Ask = Ask {
    name: "",
    program: "",
    words: &[],
    model_option: Some("--model"),
    is_on_stdin: true,
    answer_key: None,
    environment: &[],
};

impl Ask {
    /// Says whether the agent's program is on `PATH`.
    pub fn is_installed(&self) -> bool {
        self.find_program().is_some()
    }

    /// Returns how long a question may be, in bytes.
    pub fn max_question_bytes(&self) -> usize {
        if self.is_on_stdin { MAX_INPUT_BYTES } else { MAX_ARGUMENT_BYTES }
    }

    /// Returns where the agent's program is.
    ///
    /// # Errors
    ///
    /// If the agent is not installed.
    pub fn required_program(&self) -> Result<PathBuf> {
        let why = || format!("'{}' is not on PATH", self.program);
        self.find_program().ok_or_else(|| Error::other(format!("cannot ask {}", self.name)).because(why()))
    }

    /// Asks the agent and returns its answer, without a code fence around it. The answer is unchecked text.
    ///
    /// The agent and all that it has started end after `limit`, and when this process does. Its hooks find
    /// `SHIFTLOG_HOOK=off`.
    ///
    /// # Errors
    ///
    /// If the agent is not installed, fails, prints nothing, or needs longer; the reason is its last output.
    pub fn answer(&self, question: &str, model: Option<&str>, limit: Duration) -> Result<String> {
        let failed =
            |reason: String| Error::other(format!("cannot ask {}", self.name)).because(without_secrets(&reason));
        let program = self.required_program()?;
        let words = self.words(question, model).map_err(failed)?;
        let input = if self.is_on_stdin { question } else { "" };
        let ended = process::run(&program, &words, self.environment, input, limit).map_err(failed)?;
        match self.parse(&ended.stdout) {
            Ok(answer) if ended.status.success() => Ok(answer),
            Err(reason) if ended.status.success() => Err(failed(reason)),
            answer => {
                let last = ended.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
                // Some tell what went wrong where the answer should be.
                let reason =
                    last.or_else(|| answer.err()).unwrap_or_else(|| format!("it failed with {}", ended.status));
                Err(failed(reason))
            }
        }
    }

    /// Returns the arguments; a question on standard input is none of them.
    fn words(&self, question: &str, model: Option<&str>) -> Result<Vec<String>, String> {
        let model = match (model, self.model_option) {
            (Some(model), Some(option)) => vec![option.to_owned(), model.to_owned()],
            (Some(_), None) => return Err("it cannot be told which model to use".to_owned()),
            (None, _) => Vec::new(),
        };
        let question = (!self.is_on_stdin).then(|| question.to_owned());
        let mut words: Vec<String> = self.words.iter().map(|word| (*word).to_owned()).collect();
        // What must stand last is an operand or takes the question; the model goes before it.
        let at = if words.first().is_some_and(|word| !word.starts_with('-')) { 1 } else { 0 };
        words.splice(at..at, model);
        words.extend(question);
        Ok(words)
    }

    fn find_program(&self) -> Option<PathBuf> {
        child::find_program(self.program)
    }

    /// Returns the answer from the output of an agent.
    fn parse(&self, printed: &str) -> Result<String, String> {
        let answer = match self.answer_key {
            None => printed.to_owned(),
            Some(key) => {
                // Some print a line of news first.
                let start = if printed.starts_with('{') { 0 } else { printed.find("\n{").map_or(0, |at| at + 1) };
                let mut values = serde_json::Deserializer::from_str(&printed[start..]).into_iter::<Value>();
                let Some(Ok(object)) = values.next() else { return Err("its answer is no JSON".to_owned()) };
                let answer = object.get(key).and_then(Value::as_str).unwrap_or_default();
                if let Some(reason) = object.pointer("/error/message").and_then(Value::as_str) {
                    return Err(reason.to_owned());
                }
                if object.get("is_error").and_then(Value::as_bool) == Some(true) {
                    return Err(answer.to_owned());
                }
                answer.to_owned()
            }
        };
        let answer = without_fence(answer.trim()).trim();
        if answer.is_empty() { Err("it gave no answer".to_owned()) } else { Ok(answer.to_owned()) }
    }
}

/// Returns an agent's error message without secrets, such as the key that was refused: the message also gets into a log.
fn without_secrets(reason: &str) -> String {
    match Redactor::new(&Settings::default()) {
        Ok(redactor) => redactor.without_secrets(reason).trim_end().to_owned(),
        Err(_) => "it failed".to_owned(),
    }
}

/// Returns the text inside a code fence, if the whole text is in one.
fn without_fence(text: &str) -> &str {
    let inner =
        text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| rest.split_once('\n'));
    match inner {
        Some((_, inner)) if !inner.contains("```") => inner,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> &'static Ask {
        crate::agent::find(name).and_then(|agent| agent.ask()).expect("an agent that can be asked")
    }

    #[test]
    fn each_agent_is_told_its_model_and_gets_the_question_where_it_reads_it() {
        let words = |name: &str| asked(name).words("Q", Some("m")).map(|words| words.join(" "));
        let claude = "--model m -p --output-format json --setting-sources  --strict-mcp-config --tools  \
                      --no-session-persistence";
        assert_eq!(words("claude").as_deref(), Ok(claude));
        let codex =
            "exec --model m --sandbox read-only --skip-git-repo-check --ephemeral -c mcp_servers={} -c hooks={} -";
        assert_eq!(words("codex").as_deref(), Ok(codex));
        assert_eq!(words("copilot").as_deref(), Ok("--model m -s --no-ask-user -p Q"));
        assert_eq!(words("droid").as_deref(), Ok("exec --model m -o text Q"));
        assert_eq!(words("opencode").as_deref(), Ok("run --model m --title git shiftlog summarise"));
        assert!(words("amp").is_err());
        assert!(
            crate::agent::ALL
                .iter()
                .filter_map(|agent| agent.ask())
                .all(|ask| ask.words("Q", None).is_ok_and(|words| words.contains(&"Q".into()) != ask.is_on_stdin))
        );
    }

    #[test]
    fn an_answer_is_found_in_what_each_agent_prints() {
        let parse = |name: &str, printed: &str| asked(name).parse(printed);
        let said = |text: &str| Ok(text.to_owned());
        assert_eq!(parse("claude", "{\"result\":\"It backs off.\\n\",\"is_error\":false}\n"), said("It backs off."));
        assert_eq!(parse("claude", "{\"result\":\"Not logged in\",\"is_error\":true}"), Err("Not logged in".into()));
        assert_eq!(parse("gemini", "News.\n{\n \"response\": \"It backs off.\"\n}\nmore"), said("It backs off."));
        assert_eq!(parse("gemini", "{\"error\":{\"message\":\"no quota\"}}"), Err("no quota".into()));
        assert_eq!(parse("gemini", "It backs off."), Err("its answer is no JSON".into()));
        assert_eq!(parse("codex", "```text\nIt backs off.\n```\n"), said("It backs off."));
        let two = "```a\nx\n```\nand\n```b\ny\n```";
        assert_eq!(parse("codex", two), said(two), "a fence around a part stays");
        assert_eq!(parse("codex", " \n"), Err("it gave no answer".into()));
    }
}
