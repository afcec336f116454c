//! The explanation of a line, for the hover of an editor.

use std::ffi::OsString;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use serde_json::{Value, json};

use crate::agent;
use crate::capture::agents;
use crate::error::{Kind, Result};
use crate::git::{BlameRequest, Commit, Repository, date};
use crate::pretty::{Style, WhyView, more_command, why_markdown, write_why};
use crate::record::{self, Reader, redaction};
use crate::replay::{Block, Certainty, Explainer, blocks};

/// The longest hover, in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The explanation of a line.
pub struct Explained {
    block: Block,
    path: String,
    commit: Option<Commit>,
    commit_name: String,
    top: PathBuf,
}

/// Returns the explanation of a line, which is counted from 0; `None` if nothing is recorded, or there is no such file
/// in a repository. `text` is the file as the editor shows it.
///
/// # Errors
///
/// If Git or a record cannot be read.
pub fn explain(address: &str, text: Option<&str>, line: u32) -> Result<Option<Explained>> {
    let Some(file) = agent::path_of_uri(address).map(PathBuf::from) else {
        return Ok(None);
    };
    let (Some(folder), Some(name)) = (file.parent().and_then(|folder| folder.canonicalize().ok()), file.file_name())
    else {
        return Ok(None);
    };
    let repo = match Repository::open(&folder) {
        Err(error) if error.kind() == Kind::Missing => return Ok(None),
        opened => opened?,
    };
    agents::define(&repo);
    let Some(top) = repo.worktree().and_then(|top| top.canonicalize().ok()) else { return Ok(None) };
    let path = folder.join(name);
    let Ok(path) = path.strip_prefix(&top) else { return Ok(None) };
    let number = u64::from(line) + 1;
    let mut options = ["-w", "-M", "-C", &format!("-L{number},{number}")].map(OsString::from).to_vec();
    options.extend(text.map(|_| OsString::from("--contents=-")));
    let shown = text.map(|text| text.as_bytes().to_vec());
    let content = shown.clone().or_else(|| repo.worktree_content(path));
    let request = BlameRequest { options, path: path.into(), contents: shown, ..BlameRequest::default() };
    let reader = Reader::new(&repo, record::configured_notes_ref(&repo).as_deref());
    let mut explainer = Explainer::new(&reader, content, Some(redaction::redactor(&repo)?));
    let mut explained = Vec::new();
    for lines in repo.blame_through_ignored(request)? {
        let found = explainer.explain(&lines)?;
        explained.push((lines, found));
    }
    let is_known = |block: &Block| match block.found.certainty {
        Certainty::None => false,
        // That a running session edited the file says nothing of what somebody types into it.
        certainty => certainty.names_a_call() || !block.commit.commit_id.is_null(),
    };
    let known = blocks(&explained).into_iter().find(is_known);
    let Some(block) = known else { return Ok(None) };
    let commit_id = block.commit.commit_id;
    let commit = if commit_id.is_null() { None } else { Some(repo.commit(commit_id)?) };
    let commit_name = repo.abbreviate(commit_id);
    Ok(Some(Explained { block, path: path.to_string_lossy().into_owned(), commit, commit_name, top }))
}

impl Explained {
    /// Returns the hover that an editor shows beside the line.
    pub fn hover(&self, takes_markdown: bool) -> Hover {
        let view = WhyView {
            path: &self.path,
            commit: self.commit.as_ref(),
            commit_name: &self.commit_name,
            ..WhyView::default()
        };
        let (kind, mut value) = if takes_markdown {
            (MarkupKind::Markdown, why_markdown(&self.block, &view))
        } else {
            let style = Style { date: date::Format::SHORT, ..Style::default() };
            let mut text = Vec::new();
            // Writing to memory does not fail.
            let _ = write_why(&mut text, &self.block, &view, &style);
            (MarkupKind::PlainText, text.to_str_lossy().into_owned())
        };
        if value.len() > MAX_BYTES {
            let end = (0..=MAX_BYTES).rev().find(|at| value.is_char_boundary(*at)).unwrap_or(0);
            value.replace_range(end.., "…\n");
        }
        Hover { contents: HoverContents::Markup(MarkupContent { kind, value }), range: None }
    }

    /// Returns the shell's command that shows the conversation, and the directory to run it in.
    pub fn command(&self) -> Option<Value> {
        let command = more_command(&self.block, &self.commit_name)?;
        Some(json!({ "command": command, "directory": self.top.to_string_lossy() }))
    }
}
