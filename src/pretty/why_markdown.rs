//! The explanation of a line, as Markdown for an editor.

use super::markdown::{inert, quotation};
use super::why::{WhyView, more_command, short_session};
use crate::git::date;
use crate::outside;
use crate::replay::Block;
use crate::transcript::REMARK_MARK;

/// The longest prompt and reasoning, in characters.
const MAX_CHARS: usize = 1200;

/// Returns a block as Markdown: the commit, the session, how sure it is, the prompt, the words before the edit, and the
/// command that shows more. Markdown in the words of others has no effect.
pub fn why_markdown(block: &Block, view: &WhyView<'_>) -> String {
    let found = &block.found;
    let mut parts: Vec<String> = Vec::new();
    parts.push(match view.commit {
        None => "not committed yet".to_owned(),
        Some(commit) => {
            let day = date::Format::SHORT.show(commit.author.time);
            let author = commit.author.name.to_string();
            format!("**{}** {} {} {}", plain(&commit.subject().to_string()), view.commit_name, day, plain(&author))
        }
    });
    if let Some(work) = found.work() {
        let mut facts = vec![format!("{} {}", work.key.agent, short_session(&work.key, &found.source.keys))];
        facts.extend(found.model().map(str::to_owned));
        if let Some(call) = found.call() {
            facts.extend((call.turn > 0).then(|| format!("turn {} of {}", call.turn, work.turns)));
            facts.push(call.tool.clone());
        }
        let certainty = found.sentence(block.lines.len() == 1);
        parts.push(format!("{}\n*{certainty}*", plain(&facts.join(", "))));
    }
    parts.extend(found.continues.as_ref().map(|begun| format!("continues {}:", begun.commit_name)));
    if let Some(prompt) = found.prompt() {
        parts.push(quoted(&view.clean(&prompt)));
    }
    if let Some(call) = found.call() {
        parts.extend(call.task.as_ref().map(|task| quoted(&view.clean(task))));
        parts.extend(call.remark.as_ref().map(|remark| quoted(&format!("{REMARK_MARK}{}", view.clean(remark)))));
        let words = call.reasoning.iter().map(|words| view.clean(words.text.trim())).collect::<Vec<_>>().join("\n\n");
        // The last words are the nearest to the edit.
        let start = words.char_indices().rev().nth(MAX_CHARS).map_or(0, |(at, _)| at);
        let mark = if start > 0 { "…" } else { "" };
        parts.push(inert(&format!("{mark}{}", outside::text(&words[start..]))));
    }
    parts.extend(more_command(block, view.commit_name).map(|command| format!("```sh\n{command}\n```")));
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n") + "\n"
}

/// Returns words as a quotation.
fn quoted(words: &str) -> String {
    let end = words.char_indices().nth(MAX_CHARS).map_or(words.len(), |(at, _)| at);
    let mark = if end < words.len() { "…" } else { "" };
    let text = inert(&format!("{}{mark}", outside::text(words[..end].trim())));
    quotation(&text).trim_end().to_owned()
}

/// Returns one line whose characters mean nothing in Markdown.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    for c in outside::line(line).chars() {
        if c.is_ascii_punctuation() && !".,:;-/()'".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}
