//! The tools that list, read and search conversations, with the same reader as `log`, `show` and `branches`.

use std::ops::ControlFlow;

use bstr::ByteSlice as _;
use serde_json::{Value, json};

use super::arguments::{Arguments, commit_id, flag, number, range, string};
use super::texts::{LIST_BYTES, age, cleaned, date, shortened};
use super::{Answer, Context, Refusal, refusal};
use crate::error::Kind;
use crate::git::{FilesSince, ObjectId, Range, Repository};
use crate::outside;
use crate::pretty::{self, Amount, Depth};
use crate::record::{Conversation, Evidence, Listed, Query, Reader, Words, redaction};
use crate::transcript::{Message, Role, turn_numbers};

/// The most bytes of a transcript that one call answers with.
const PAGE_BYTES: usize = 40_000;
/// How many sessions of a commit an answer names.
const MAX_SESSIONS: usize = 200;

/// `list_conversations`.
pub fn list(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let (limit, offset) = (number(arguments, "limit", 20), number(arguments, "offset", 0));
    let range = range(&repo, string(arguments, "branch"))?;
    let (listed, has_more) = page(context, &context.reader(&repo), range, limit, offset).map_err(|e| refusal(&e))?;
    let mut conversations = Vec::new();
    let mut bytes = 0;
    for listed in &listed {
        let entry = entry(listed);
        bytes += entry.to_string().len();
        if bytes > LIST_BYTES && !conversations.is_empty() {
            break;
        }
        conversations.push(entry);
    }
    let mut structured = json!({ "conversations": conversations });
    if has_more || conversations.len() < listed.len() {
        structured["nextOffset"] = json!(offset + conversations.len());
    }
    Ok(Answer { text: json!(conversations), structured })
}

/// Returns a page of the noted commits of a range, newest first, and whether there are more.
pub(super) fn page(
    context: &Context<'_>,
    reader: &Reader<'_>,
    range: Range,
    limit: usize,
    offset: usize,
) -> crate::error::Result<(Vec<Listed>, bool)> {
    let mut listed = Vec::new();
    let query = Query { range, skip: offset, max_count: Some(limit + 1), ..Query::default() };
    reader.each(&query, |each| {
        context.go_on()?;
        // A note that cannot be read has nothing to list.
        if !each.summaries.is_empty() {
            listed.push(each);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let has_more = listed.len() > limit;
    listed.truncate(limit);
    Ok((listed, has_more))
}

fn entry(listed: &Listed) -> Value {
    json!({
        "sha": listed.commit.commit_id.to_string(),
        "message": shortened(&listed.commit.subject().to_str_lossy()),
        "author": outside::line(&listed.commit.author.name.to_str_lossy()),
        "date": date(listed.commit.author.time.seconds),
        "messageCount": listed.summaries.iter().map(|summary| summary.messages).fold(0, u64::saturating_add),
    })
}

/// `get_conversation`.
pub fn get(context: &Context<'_>, arguments: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let revision = string(arguments, "commit_sha").unwrap_or_default();
    let id = commit_id(&repo, revision)?;
    let is_incremental = flag(arguments, "incremental");
    let read = read(context, &repo, id, string(arguments, "session"), !is_incremental)?;
    let offset = number(arguments, "offset", 0);
    let format = string(arguments, "format").unwrap_or("messages");
    let page = Page::of(&read.conversation, &repo, id, format, offset, number(arguments, "limit", usize::MAX))?;
    let mut structured = json!({
        "sha": id.to_string(),
        "sessionId": outside::line(&read.conversation.summary.key.id),
        "timestamp": outside::line(&read.conversation.summary.time),
        "age": repo.commit(id).map(|commit| age(commit.author.time)).unwrap_or_default(),
        "messageCount": read.message_count,
        "transcript": page.text,
        "isIncremental": is_incremental,
        "entryCount": page.entry_count,
    });
    let head = repo.head().ok().and_then(|head| head.commit_id);
    // What was said of files that were changed since may no longer hold.
    if let Some(since) = head.and_then(|head| repo.files_since(id, head)) {
        mark_changed(&mut structured, since);
    }
    if let Some(rules) = &read.conversation.summary.rules {
        structured["rules"] = cleaned(pretty::told_value(&rules.files()));
    }
    if !read.evidence.is_empty() {
        structured["evidence"] = cleaned(json!(read.evidence));
    }
    let notice = read.conversation.summary.newer_notice();
    let notes = notice.iter().chain(&read.conversation.problems);
    let mut notes: Vec<String> = notes.map(|problem| outside::line(problem)).collect();
    if let Some(next) = page.next_offset {
        structured["nextOffset"] = json!(next);
        notes.push(format!(
            "this is not the end: entries {offset} to {} of {}; call again with offset={next} for the rest",
            next - 1,
            page.entry_count
        ));
    }
    if page.has_cut {
        notes.push("an entry that is too long for one answer was cut; 'git shiftlog show --raw' has all of it".into());
    }
    if read.sessions.len() > 1 {
        structured["sessions"] = cleaned(json!(read.sessions));
        notes.push("several sessions made this commit; name another one with session".into());
    }
    if !notes.is_empty() {
        structured["note"] = json!(notes.join("; "));
    }
    Ok(Answer { text: structured.clone(), structured })
}

/// Adds the later history of a commit's files to an entry from that commit.
pub(super) fn mark_changed(of: &mut Value, since: FilesSince) {
    of["fileChangesSince"] = json!(since.changes);
    if since.deleted > 0 {
        of["filesDeletedSince"] = json!(since.deleted);
    }
}

/// A conversation of a commit.
pub(super) struct Read {
    pub conversation: Conversation,
    pub message_count: usize,
    /// The ids of all sessions that made the commit.
    pub sessions: Vec<String>,
    /// The evidence of the commit, a text each.
    pub evidence: Vec<String>,
}

/// Reads one conversation of a commit, redacted: another tool may have stored it with secrets.
pub(super) fn read(
    context: &Context<'_>,
    repo: &Repository,
    id: ObjectId,
    session: Option<&str>,
    is_full: bool,
) -> Result<Read, Refusal> {
    let short = repo.abbreviate(id);
    let nothing = || {
        format!("no conversation recorded for {short}; call shiftlog_list_conversations to see which commits have one")
    };
    let reader = context.reader(repo);
    let note = reader.note(id).map_err(|error| refusal(&error))?.ok_or_else(nothing)?;
    let nothing = || match note.evidence().is_empty() {
        true => nothing(),
        false => format!(
            "no conversation recorded for {short}, but evidence of what was observed; read it with shiftlog_get_value \
             and the path [commit][{short}][evidence]"
        ),
    };
    let mut sessions: Vec<String> = note.summaries().into_iter().map(|summary| summary.key.id).collect();
    sessions.dedup();
    let wanted = session.or(sessions.first().map(String::as_str)).ok_or_else(nothing)?.to_owned();
    let mut found = None;
    let walked = reader.each_conversation(&note, Some(&wanted), is_full, Words::Shown, |conversation| {
        found = Some(conversation);
        Ok(ControlFlow::Break(()))
    });
    sessions.truncate(MAX_SESSIONS);
    walked.map_err(|error| match error.kind() {
        Kind::Missing => outside::line(&format!("{error}; sessions of {short}: {}", sessions.join(", "))),
        _ => refusal(&error),
    })?;
    let mut conversation = found.ok_or_else(nothing)?;
    conversation.problems.extend_from_slice(note.problems());
    let redactor = redaction::redactor(repo).map_err(|error| refusal(&error))?;
    conversation.redact(&redactor);
    let is_message = |message: &&Message| message.role != Role::System && !message.text().is_empty();
    let message_count = conversation.messages.iter().filter(is_message).count();
    let described = |one: &Evidence| {
        let what = format!("{} {} {}", one.evidence, one.id, one.name);
        let text = [vec![outside::line(&what)], pretty::evidence_lines(one)].concat().join("\n");
        redactor.without_secrets(&text).trim_end().to_owned()
    };
    let evidence = note.evidence().iter().map(described).collect();
    Ok(Read { conversation, message_count, sessions, evidence })
}

/// Some entries of a transcript.
pub(super) struct Page {
    pub text: String,
    pub entry_count: usize,
    pub next_offset: Option<usize>,
    pub has_cut: bool,
}

impl Page {
    /// Returns as many whole entries from `offset` on as fit.
    pub fn of(
        conversation: &Conversation,
        repo: &Repository,
        id: ObjectId,
        format: &str,
        offset: usize,
        limit: usize,
    ) -> Result<Page, Refusal> {
        let lines = || conversation.bytes.split_inclusive(|byte| *byte == b'\n');
        let entry_count = if format == "raw" { lines().count() } else { conversation.messages.len() };
        let mut lines = lines().skip(offset);
        let turns = turn_numbers(&conversation.messages);
        let mut page = Page { text: String::new(), entry_count, next_offset: None, has_cut: false };
        if format == "markdown" && offset == 0 {
            let commit = repo.commit(id).map_err(|error| refusal(&error))?;
            page.text = pretty::document_head(&commit, conversation);
        }
        let mut entry = |at: usize| match format {
            "raw" => outside::text(&lines.next().unwrap_or_default().to_str_lossy()),
            "markdown" => pretty::document_message(&conversation.messages[at], DEPTH),
            _ => format!("{}\n", message(&conversation.messages[at], turns[at])),
        };
        for at in offset..entry_count {
            let mut entry = entry(at);
            let is_first = at == offset;
            if at - offset >= limit || (page.text.len() + entry.len() > PAGE_BYTES && !is_first) {
                page.next_offset = Some(at);
                break;
            }
            if entry.len() > PAGE_BYTES {
                let cut = (0..=PAGE_BYTES).rev().find(|at| entry.is_char_boundary(*at)).unwrap_or(0);
                entry.truncate(cut);
                entry.push_str("…\n");
                page.has_cut = true;
            }
            page.text.push_str(&entry);
        }
        Ok(page)
    }
}

const DEPTH: Depth = Depth { thinking: Amount::Full, ..Depth::BRIEF };

/// Returns a message as an object without invisible characters, with the number of its turn.
fn message(message: &Message, turn: usize) -> Value {
    let mut object = cleaned(pretty::message_object(message).unwrap_or_default());
    if let Some(object) = object.as_object_mut() {
        object.insert("turn".to_owned(), json!(turn));
    }
    object
}

/// Returns a message as [`message`] does, with its whole text as the member `text`.
pub(super) fn message_with_text(of: &Message, turn: usize) -> Value {
    let mut object = message(of, turn);
    object["text"] = json!(outside::text(&of.text()));
    object
}

/// `list_branches`.
pub fn branches(context: &Context<'_>, _: &Arguments) -> Result<Answer, Refusal> {
    let repo = context.repository()?;
    let branches = repo.branches(true, false).map_err(|error| refusal(&error))?;
    let summaries = context.reader(&repo).branches(branches, None).map_err(|error| refusal(&error))?;
    let mut listed = Vec::new();
    let mut bytes = 0;
    for summary in &summaries {
        let branch = json!({
            "name": outside::line(&summary.branch.name),
            "headSha": summary.branch.commit_id.to_string(),
            "isCurrent": summary.is_current,
            "conversationCount": summary.conversations,
        });
        bytes += branch.to_string().len();
        if bytes > LIST_BYTES && !summary.is_current {
            continue;
        }
        listed.push(branch);
    }
    let mut structured = json!({ "branches": listed });
    if listed.len() < summaries.len() {
        structured["note"] =
            json!(format!("{} branches more; 'git shiftlog branches' lists all", summaries.len() - listed.len()));
    }
    Ok(Answer { text: json!(listed), structured })
}
