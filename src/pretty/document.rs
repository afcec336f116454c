//! A conversation as a Markdown document, for a pull request or a wiki.

use std::io::{self, Write};

use bstr::ByteSlice as _;

use super::count;
use super::human::{Depth, ToolOutput, argument};
use super::markdown::inert;
use crate::git::{Commit, date};
use crate::outside;
use crate::record::Conversation;
use crate::transcript::{Message, Part, Role};

/// Longer text is shown as it stands, as code.
const MAX_MARKDOWN_BYTES: usize = 1 << 20;

/// Writes a conversation as Markdown.
///
/// # Errors
///
/// If writing fails.
pub fn write_document(
    out: &mut dyn Write,
    commit: &Commit,
    conversation: &Conversation,
    depth: Depth,
) -> io::Result<()> {
    write_head(out, commit, conversation)?;
    conversation.messages.iter().try_for_each(|message| write_message(out, message, depth))
}

/// Returns what stands above the messages of a conversation.
pub fn document_head(commit: &Commit, conversation: &Conversation) -> String {
    let mut head = Vec::new();
    // Writing to memory does not fail.
    let _ = write_head(&mut head, commit, conversation);
    String::from_utf8_lossy(&head).into_owned()
}

/// Returns one message as [`write_document`] has it.
pub fn document_message(message: &Message, depth: Depth) -> String {
    let mut text = Vec::new();
    let _ = write_message(&mut text, message, depth);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_head(out: &mut dyn Write, commit: &Commit, conversation: &Conversation) -> io::Result<()> {
    let summary = &conversation.summary;
    writeln!(out, "# {}\n", prose(&outside::line(&commit.subject().to_str_lossy())))?;
    writeln!(out, "- commit: `{}`", commit.commit_id)?;
    writeln!(out, "- date: {}", date::Format::STRICT.show(commit.author.time))?;
    writeln!(out, "- session: {} {}", prose(&summary.key.agent), code(&summary.key.id))?;
    if let Some(model) = &summary.model {
        writeln!(out, "- model: {}", prose(model))?;
    }
    writeln!(out, "- size: {}, {}", count(summary.turns, "turn"), count(summary.messages, "message"))?;
    let notice = summary.newer_notice();
    for problem in notice.iter().chain(&conversation.problems) {
        writeln!(out, "- problem: {}", prose(problem))?;
    }
    if let Some(text) = &summary.summary {
        writeln!(out, "\n**Summary:** {}", inert(&outside::text(text)))?;
    }
    Ok(())
}

fn write_message(out: &mut dyn Write, message: &Message, depth: Depth) -> io::Result<()> {
    for part in &message.parts {
        match part {
            // To read that much as Markdown would take many times its size.
            Part::Text(text) | Part::Notice(text) | Part::Attachment(text) if text.len() > MAX_MARKDOWN_BYTES => {
                write_fenced(out, "", &outside::text(text))?;
            }
            Part::Text(text) if message.role == Role::User => {
                writeln!(out)?;
                for line in inert(&outside::text(text)).lines() {
                    writeln!(out, "> {line}")?;
                }
            }
            Part::Text(text) => writeln!(out, "\n{}", inert(&outside::text(text.trim_end())))?,
            Part::Thinking(text) if depth.has_thinking && text.len() > MAX_MARKDOWN_BYTES => {
                write_fenced(out, "", &outside::text(text))?;
            }
            Part::Thinking(text) if depth.has_thinking => {
                let text = inert(&outside::text(text.trim()));
                writeln!(out, "\n<details><summary>thinking</summary>\n\n{text}\n\n</details>")?;
            }
            Part::ToolCall(call) if depth.has_tools => {
                writeln!(out, "\n- **{}** {}", prose(&call.name), code(&argument(call)))?;
                for edit in &call.edits {
                    let lines = crate::pretty::diff::lines(edit, usize::MAX - 1, &crate::pretty::Style::default());
                    write_fenced(out, "diff", &lines.join("\n"))?;
                }
            }
            Part::ToolResult(result) if depth.has_tools && depth.tool_output != ToolOutput::None => {
                let text = outside::text(result.text.trim_end());
                let max_lines = if depth.tool_output == ToolOutput::Full { usize::MAX } else { 20 };
                let shown: Vec<&str> = text.lines().take(max_lines).collect();
                write_fenced(out, "", &shown.join("\n"))?;
            }
            Part::Attachment(what) => writeln!(out, "\n*[{}]*", prose(what))?,
            Part::Notice(text) => writeln!(out, "\n*{}*", prose(text))?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns a name as Markdown, on one line.
fn prose(text: &str) -> String {
    inert(&outside::line(text))
}

/// Returns text as inline code, with as many backticks as it needs.
fn code(text: &str) -> String {
    let text = &outside::line(text);
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn write_fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    writeln!(out, "\n{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
