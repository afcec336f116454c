//! A file with the turn behind each line, as a page of the server.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use maud::{Markup, html};

use super::head::document;
use super::listing::{problems, subject};
use super::page::agent_name;
use super::words::beginning;
use super::{PageOptions, address};
use crate::git::date::Format;
use crate::git::{BlamedLines, Commit, ObjectId};
use crate::outside;
use crate::redact::without_key_parts;
use crate::replay::{Certainty, Explanation};
use crate::transcript::SessionKey;

/// The longest prompt beside lines, in characters.
const PROMPT_CHARS: usize = 140;

/// Returns the name of a session as it is shown.
type Shown<'a> = &'a dyn Fn(&SessionKey) -> SessionKey;

/// Returns the page of a file as a commit has it, with what its lines are explained by and the names of their sessions.
/// `commits` are those that `explained` names.
pub fn file_page(
    path: &str,
    commit: &Commit,
    (explained, shown): (&[(BlamedLines, Vec<Explanation>)], Shown<'_>),
    commits: &HashMap<ObjectId, Commit>,
    warnings: &[String],
    shape: &PageOptions,
) -> String {
    let body = html! {
        p.by { "as of " a href=(address::commit(commit.commit_id)) { code { (commit.commit_id.to_hex_with_len(7)) } " " bdi { (subject(commit)) } } }
        (problems(warnings))
        div.blamed {
            @for (lines, found) in explained {
                @let commit = commits.get(&lines.commit.commit_id);
                @for (at, run) in runs(found) { (block(lines, commit, (at, run), shown)) }
            }
        }
    };
    document(path, "", &body, shape)
}

/// Returns the runs of lines with the same explanation, each with the index of its first line.
fn runs(found: &[Explanation]) -> impl Iterator<Item = (usize, &[Explanation])> {
    let mut at = 0;
    found.chunk_by(|one, next| one.is_same(next)).map(move |run| {
        at += run.len();
        (at - run.len(), run)
    })
}

fn block(lines: &BlamedLines, commit: Option<&Commit>, (at, run): (usize, &[Explanation]), shown: Shown<'_>) -> Markup {
    let Some(found) = run.first() else { return html! {} };
    let class = if found.certainty == Certainty::None { "block" } else { "block told" };
    html! {
        div.(class) {
            div.from { (origin(commit, found, run.len() == 1, shown)) }
            pre tabindex="0" {
                @for (nth, text) in lines.texts.iter().skip(at).take(run.len()).enumerate() {
                    @let number = lines.final_line + at + nth;
                    span id={ "L" (number) } {
                        a.line-number href={ "#L" (number) } { (number) } " " (outside::line(&text.to_str_lossy())) "\n"
                    }
                }
            }
        }
    }
}

/// Returns the column beside lines: the turn with its prompt, and the commit.
fn origin(commit: Option<&Commit>, found: &Explanation, is_one: bool, shown: Shown<'_>) -> Markup {
    let turn = found.work().zip(found.call());
    let recorded_on = found.recorded_on.or(commit.map(|commit| commit.commit_id));
    let link =
        turn.zip(recorded_on).map(|((work, call), recorded_on)| match (work.key.parent_id(), work.is_beyond_record) {
            (Some(_), _) => address::commit(recorded_on),
            (None, true) => format!("{}#t{}", address::session(&shown(&work.key)), call.turn),
            (None, false) => format!("{}#t{}", address::part(recorded_on, &shown(&work.key)), call.turn),
        });
    let prompt = found.prompt().map(|prompt| beginning(&without_key_parts(&prompt), PROMPT_CHARS));
    html! {
        @if let (Some((work, call)), Some(link)) = (turn, &link) {
            a.turn-link href=(link) title=(found.sentence(is_one)) { (agent_name(&shown(&work.key).agent)) ", turn " (call.turn) }
            @if let Some(prompt) = &prompt { p.asked { (prompt) } }
        }
        @if let Some(commit) = commit {
            p.by {
                a href=(address::commit(commit.commit_id)) { code { (commit.commit_id.to_hex_with_len(7)) } } " "
                (Format::SHORT.show(commit.author.time)) " " bdi { (outside::line(&commit.author.name.to_str_lossy())) }
                @if turn.is_none() && found.certainty != Certainty::None { ", " (found.sentence(is_one)) }
            }
        }
    }
}
